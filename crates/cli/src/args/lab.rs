//! `flowloom lab`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::lab_members::LabMembers;
use super::shared::Form;

/// `flowloom lab`
#[derive(Debug, Args)]
pub struct Lab {
    /// The command
    #[command(subcommand)]
    pub command: LabCommand,
}

/// What is done with the lab.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Manage members
    #[command(flatten)]
    Members(LabMembers),
    /// Check a script: explain its actions, find errors and likely mistakes
    #[command(after_help = "\
Scripts are in NetSpec's block language (docs/guide/lab.md). Files with the ending .toml have the
same blocks in TOML.

Examples:
  flowloom lab check congestion.ns
  flowloom lab check congestion.ns --strict --json | jq .hosts")]
    Check(LabCheck),
    /// Run a script on the agents of a lab
    #[command(after_help = "\
The leaves of a script are the blocks that do the work. Each runs on the agent (flowloom agent) of
its host. HOSTS.toml maps hosts to the addresses of agents. A host that it does not list is expected
to run its agent at port 42010.

RESULTS contains:
  script.ns        the script
  results.jsonl    a line for each leaf
  experiment.json  failures, and the start and end of each leaf (earliest and latest possible time,
                   by this host's clock)

Examples:
  flowloom lab run congestion.ns --hosts hosts.toml -o results
  flowloom lab run congestion.ns --dir ~/lab -o results --force
  flowloom lab run congestion.ns -o results --take-up 91169d6c0df8fe98dd421543407d399d")]
    Run(LabRun),
    /// Format a script, or convert it between the block language and TOML
    #[command(after_help = "\
Comments are kept, except in a conversion to or from TOML.

Examples:
  flowloom lab format congestion.ns
  flowloom lab format congestion.ns -o congestion.ns --force
  flowloom lab format *.ns --check
  flowloom lab format congestion.ns --to toml -o congestion.toml")]
    Format(LabFormat),
}

/// `flowloom lab check`
#[derive(Clone, Debug, Args)]
pub struct LabCheck {
    /// Script; "-" reads standard input
    #[arg(value_name = "SCRIPT")]
    pub script: PathBuf,
    /// Accept only the strict grammar (";" after every parameter)
    #[arg(long)]
    pub strict: bool,
    /// How to answer
    #[command(flatten)]
    pub form: Form,
}

/// `flowloom lab run`
#[derive(Clone, Debug, Args)]
pub struct LabRun {
    /// Script; "-" reads standard input
    #[arg(value_name = "SCRIPT")]
    pub script: PathBuf,
    /// File with the names and addresses of agents, under [hosts]
    #[arg(long, value_name = "HOSTS.toml")]
    pub hosts: Option<PathBuf>,
    /// Folder of the controller
    #[arg(long, value_name = "DIR", default_value = "lab")]
    pub dir: PathBuf,
    /// Folder for the results
    #[arg(short, long, value_name = "RESULTS")]
    pub output: PathBuf,
    /// Replace the folder if it exists
    #[arg(long)]
    pub force: bool,
    /// Fetch the results of an earlier `lab run` whose process or host was lost; NAME is what it printed first
    #[arg(long, value_name = "NAME")]
    pub take_up: Option<String>,
}

/// `flowloom lab format`
#[derive(Clone, Debug, Args)]
pub struct LabFormat {
    /// Script, or several with --check; "-" reads standard input
    #[arg(required = true, value_name = "SCRIPT")]
    pub scripts: Vec<PathBuf>,
    /// Write nothing, and list unformatted scripts (exit code 4)
    #[arg(long, conflicts_with_all = ["to", "output"])]
    pub check: bool,
    /// Language to write [default: that of the script]
    #[arg(long, value_enum, value_name = "LANGUAGE")]
    pub to: Option<ScriptForm>,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long, requires = "output")]
    pub force: bool,
}

/// A language of scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScriptForm {
    /// NetSpec's block language
    Netspec,
    /// The same blocks in TOML
    Toml,
}
