//! `flowloom lab`: who takes part.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use flowloom_core::time::Duration;
use flowloom_lab::authority::identity::Name;

use super::Form;

/// What is done about the members of a lab.
#[derive(Debug, Subcommand)]
pub enum LabMembers {
    /// Create a lab: its certificate authority and a controller
    #[command(after_help = "\
Example:
  flowloom lab init lab --name campus-testbed")]
    Init(LabInit),
    /// Invite a host: print a token that works once and expires soon
    #[command(after_help = "\
The token goes to the host that is invited, by a way that nobody else reads.

Examples:
  flowloom lab invite east --address controller.example.org:42011
  flowloom lab invite east    (without an address, for enrolment by files)")]
    Invite(LabInvite),
    /// Admit invited hosts until all have enrolled
    #[command(after_help = "\
Examples:
  flowloom lab admit
  flowloom lab admit --request east.request --answer east.answer")]
    Admit(LabAdmit),
    /// Enrol this host with a token; its private key never leaves it
    #[command(after_help = "\
Examples:
  flowloom lab enrol TOKEN --dir agent
  flowloom lab enrol TOKEN --dir agent --request east.request    (then, with what comes back:)
  flowloom lab enrol --dir agent --answer east.answer")]
    Enrol(LabEnrol),
    /// Revoke a member's certificates
    #[command(after_help = "\
Agents learn of it from the next controller that connects to them; `flowloom lab status HOSTS.toml` tells all of them.

Example:
  flowloom lab revoke east")]
    Revoke(LabRevoke),
    /// Show the identity, runs, limits and clock offset of agents
    #[command(after_help = "\
HOSTS.toml has the agents' names and addresses:
  [hosts]
  east = \"10.0.0.1:42010\"
  west = \"[2001:db8::2]:42010\"

Examples:
  flowloom lab status HOSTS.toml
  flowloom lab status 10.0.0.1 west.example.org:42010 --json")]
    Status(LabStatus),
    /// Show the audit logs of agents, merged by time
    #[command(after_help = "\
Examples:
  flowloom lab logs HOSTS.toml
  flowloom lab logs HOSTS.toml --experiment 91169d6c0df8fe98dd421543407d399d --lines 1000")]
    Logs(LabLogs),
}

/// `flowloom lab init`
#[derive(Clone, Debug, Args)]
pub struct LabInit {
    /// The folder to create, readable by its owner only
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Name of the lab [default: the folder's name]
    #[arg(long, value_name = "LAB")]
    pub name: Option<String>,
}

/// `flowloom lab invite`
#[derive(Clone, Debug, Args)]
pub struct LabInvite {
    /// Name of the host
    #[arg(value_name = "NAME")]
    pub name: Name,
    /// Where `flowloom lab admit` will listen, as the invited host sees it
    #[arg(long, value_name = "HOST:PORT")]
    pub address: Option<String>,
    /// How long the token is valid
    #[arg(long, value_name = "TIME", default_value = "1h")]
    pub within: Duration,
    /// How long the certificate is valid, in days
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(i64).range(1..=3650))]
    pub days: i64,
    /// Invite a controller, not an agent
    #[arg(long)]
    pub controller: bool,
    /// The lab's folder
    #[arg(long, value_name = "DIR", default_value = "lab")]
    pub dir: PathBuf,
}

/// `flowloom lab admit`
#[derive(Clone, Debug, Args)]
pub struct LabAdmit {
    /// Where to listen
    #[arg(long, value_name = "ADDRESS", default_value = "[::]:42011")]
    pub listen: SocketAddr,
    /// Answer this file instead of listening
    #[arg(long, value_name = "FILE", requires = "answer")]
    pub request: Option<PathBuf>,
    /// The answer to write
    #[arg(long, value_name = "FILE", requires = "request")]
    pub answer: Option<PathBuf>,
    /// The lab's folder
    #[arg(long, value_name = "DIR", default_value = "lab")]
    pub dir: PathBuf,
}

/// `flowloom lab enrol`
#[derive(Clone, Debug, Args)]
pub struct LabEnrol {
    /// The token that `flowloom lab invite` printed
    #[arg(value_name = "TOKEN", required_unless_present = "answer", conflicts_with = "answer")]
    pub token: Option<String>,
    /// The folder to create, readable by its owner only
    #[arg(long, value_name = "DIR")]
    pub dir: PathBuf,
    /// Write the request to this file instead of asking over the network
    #[arg(long, value_name = "FILE", conflicts_with = "answer")]
    pub request: Option<PathBuf>,
    /// End an enrolment by files with what came back
    #[arg(long, value_name = "FILE")]
    pub answer: Option<PathBuf>,
}

/// `flowloom lab revoke`
#[derive(Clone, Debug, Args)]
pub struct LabRevoke {
    /// Name of the member
    #[arg(value_name = "NAME")]
    pub name: Name,
    /// The lab's folder
    #[arg(long, value_name = "DIR", default_value = "lab")]
    pub dir: PathBuf,
}

/// `flowloom lab status`
#[derive(Clone, Debug, Args)]
pub struct LabStatus {
    /// A file of hosts, or addresses of agents [port: 42010]
    #[arg(required = true, value_name = "HOSTS.toml|HOST")]
    pub hosts: Vec<String>,
    /// The folder of a controller
    #[arg(long, value_name = "DIR", default_value = "lab")]
    pub dir: PathBuf,
    /// How to answer
    #[command(flatten)]
    pub form: Form,
}

/// `flowloom lab logs`
#[derive(Clone, Debug, Args)]
pub struct LabLogs {
    /// A file of hosts, or addresses of agents [port: 42010]
    #[arg(required = true, value_name = "HOSTS.toml|HOST")]
    pub hosts: Vec<String>,
    /// Only lines of this experiment
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub experiment: String,
    /// Number of lines of each agent, from the end
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub lines: u32,
    /// The folder of a controller
    #[arg(long, value_name = "DIR", default_value = "lab")]
    pub dir: PathBuf,
    /// How to answer
    #[command(flatten)]
    pub form: Form,
}

/// `flowloom agent`
#[derive(Clone, Debug, Args)]
pub struct Agent {
    /// The folder that `flowloom lab enrol` made
    #[arg(long, value_name = "DIR")]
    pub dir: PathBuf,
    /// Where to listen
    #[arg(long, value_name = "ADDRESS", default_value = "[::]:42010")]
    pub listen: SocketAddr,
}
