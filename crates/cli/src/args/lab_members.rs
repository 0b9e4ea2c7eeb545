//! `flowloom lab`: who takes part.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use flowloom::lab::authority::identity::Name;
use flowloom::time::Duration;

use super::shared::Form;

/// What is done about the members of a lab.
#[derive(Debug, Subcommand)]
pub enum LabMembers {
    /// Create a lab: its certificate authority and a controller
    #[command(after_help = "\
Example:
  flowloom lab init lab --name campus-testbed")]
    Init(LabInit),
    /// Invite a host: print a token that can be used once
    #[command(after_help = "\
Carry the token to the invited host over a private channel.

Examples:
  flowloom lab invite east --address controller.example.org:42011

For enrolment by files, without a connection:
  flowloom lab invite east")]
    Invite(LabInvite),
    /// Admit invited hosts until all have enrolled
    #[command(after_help = "\
Example:
  flowloom lab admit

For enrolment by files, without a connection:
  flowloom lab admit --request east.request --answer east.answer")]
    Admit(LabAdmit),
    /// Enrol this host in a lab with a token
    #[command(after_help = "\
The private key is created on this host, and never leaves it.

Example:
  flowloom lab enrol TOKEN --dir agent

For enrolment by files, without a connection: write a request, then use the answer to it.
  flowloom lab enrol TOKEN --dir agent --request east.request
  flowloom lab enrol --dir agent --answer east.answer")]
    Enrol(LabEnrol),
    /// Revoke the certificates of a member: an enrolled host or controller
    #[command(after_help = "\
An agent learns of the revocation when a controller connects. `flowloom lab status HOSTS.toml`
informs all agents at once.

Example:
  flowloom lab revoke east")]
    Revoke(LabRevoke),
    /// Show the name, running experiments, limits and clock offset of each agent
    #[command(after_help = "\
HOSTS.toml lists names and addresses of agents:
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
    /// Folder to create, readable only by its owner
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
    /// Address of `flowloom lab admit`, as reachable from the invited host
    #[arg(long, value_name = "HOST:PORT", value_parser = host_and_port)]
    pub address: Option<String>,
    /// Validity of the token
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = validity)]
    pub within: Duration,
    /// Validity of the certificate, in days
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(i64).range(1..=3650))]
    pub days: i64,
    /// Invite a controller instead of an agent
    #[arg(long)]
    pub controller: bool,
    /// Folder of the lab
    #[arg(long, value_name = "DIR", default_value = "lab")]
    pub dir: PathBuf,
}

/// `flowloom lab admit`
#[derive(Clone, Debug, Args)]
pub struct LabAdmit {
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "[::]:42011")]
    pub listen: SocketAddr,
    /// Answer this request file instead of listening
    #[arg(long, value_name = "FILE", requires = "answer")]
    pub request: Option<PathBuf>,
    /// Answer file to write
    #[arg(long, value_name = "FILE", requires = "request")]
    pub answer: Option<PathBuf>,
    /// Folder of the lab
    #[arg(long, value_name = "DIR", default_value = "lab")]
    pub dir: PathBuf,
}

/// `flowloom lab enrol`
#[derive(Clone, Debug, Args)]
pub struct LabEnrol {
    /// Token printed by `flowloom lab invite`
    #[arg(value_name = "TOKEN", required_unless_present = "answer", conflicts_with = "answer")]
    pub token: Option<String>,
    /// Folder to create, readable only by its owner
    #[arg(long, value_name = "DIR")]
    pub dir: PathBuf,
    /// Write the enrolment request to this file instead of sending it
    #[arg(long, value_name = "FILE", conflicts_with = "answer")]
    pub request: Option<PathBuf>,
    /// Complete the enrolment with this answer file
    #[arg(long, value_name = "FILE")]
    pub answer: Option<PathBuf>,
}

/// `flowloom lab revoke`
#[derive(Clone, Debug, Args)]
pub struct LabRevoke {
    /// Name of the member
    #[arg(value_name = "NAME")]
    pub name: Name,
    /// Folder of the lab
    #[arg(long, value_name = "DIR", default_value = "lab")]
    pub dir: PathBuf,
}

/// `flowloom lab status`
#[derive(Clone, Debug, Args)]
pub struct LabStatus {
    /// File of hosts, or addresses of agents (default port 42010)
    #[arg(required = true, value_name = "HOSTS.toml|HOST")]
    pub hosts: Vec<String>,
    /// Folder of the controller
    #[arg(long, value_name = "DIR", default_value = "lab")]
    pub dir: PathBuf,
    /// How to answer
    #[command(flatten)]
    pub form: Form,
}

/// `flowloom lab logs`
#[derive(Clone, Debug, Args)]
pub struct LabLogs {
    /// File of hosts, or addresses of agents (default port 42010)
    #[arg(required = true, value_name = "HOSTS.toml|HOST")]
    pub hosts: Vec<String>,
    /// Show only this experiment; NAME is what `lab run` printed first
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub experiment: String,
    /// Number of lines per agent, from the end
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub lines: u32,
    /// Folder of the controller
    #[arg(long, value_name = "DIR", default_value = "lab")]
    pub dir: PathBuf,
    /// How to answer
    #[command(flatten)]
    pub form: Form,
}

/// `flowloom agent`
#[derive(Clone, Debug, Args)]
pub struct Agent {
    /// Folder created by `flowloom lab enrol`
    #[arg(long, value_name = "DIR")]
    pub dir: PathBuf,
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "[::]:42010")]
    pub listen: SocketAddr,
}

/// How long a token is valid: whole seconds are counted.
fn validity(text: &str) -> Result<Duration, String> {
    let time = text.parse::<Duration>().map_err(|error| error.to_string())?;
    match time < Duration::from_secs(1) {
        true => Err("a token is valid for 1s or longer".to_owned()),
        false => Ok(time),
    }
}

/// An address that others can connect to: `controller.example.org:42011`, `[2001:db8::1]:42011`.
fn host_and_port(text: &str) -> Result<String, String> {
    let (host, port) = text.rsplit_once(':').ok_or("the port is missing; write it like HOST:42011")?;
    let is_bare = host.contains(':') && !(host.starts_with('[') && host.ends_with(']'));
    if host.is_empty() || is_bare || host.contains(char::is_whitespace) {
        return Err("no host with a port; write it like HOST:42011 or [2001:db8::1]:42011".to_owned());
    }
    match port.parse::<u16>() {
        Ok(1..) => Ok(text.to_owned()),
        _ => Err(format!("\"{port}\" is no port from 1 to 65535")),
    }
}
