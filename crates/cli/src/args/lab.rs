//! `flowloom lab`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::Form;
use super::lab_members::LabMembers;

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
    /// Explain what a script will do, and find errors and likely mistakes
    #[command(after_help = "\
The language is that of NetSpec (docs/guide/lab.md), or the same in TOML where the name ends in .toml.

Examples:
  flowloom lab check congestion.ns
  flowloom lab check congestion.ns --strict --json | jq .hosts")]
    Check(LabCheck),
    /// Run a script on its agents
    #[command(after_help = "\
Leaves are run by agents (flowloom agent), found by their names in HOSTS.toml or by their hosts. Results are a folder: the script,
results.jsonl with a line for each leaf, experiment.json with what failed, when leaves started by this host's clock, and how sure that is.

Examples:
  flowloom lab run congestion.ns --hosts hosts.toml -o results
  flowloom lab run congestion.ns --dir ~/lab -o results --force
  flowloom lab run congestion.ns -o results --take-up 91169d6c0df8fe98dd421543407d399d")]
    Run(LabRun),
    /// Format a script, or convert it between the block language and TOML
    #[command(after_help = "\
Comments stay. They are lost in TOML, in both directions.

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
    /// The script; "-" reads standard input
    #[arg(value_name = "SCRIPT")]
    pub script: PathBuf,
    /// Accept only the strict grammar: every parameter ends with ";"
    #[arg(long)]
    pub strict: bool,
    /// How to answer
    #[command(flatten)]
    pub form: Form,
}

/// `flowloom lab run`
#[derive(Clone, Debug, Args)]
pub struct LabRun {
    /// The script; "-" reads standard input
    #[arg(value_name = "SCRIPT")]
    pub script: PathBuf,
    /// Where agents are: [hosts] with their names and addresses
    #[arg(long, value_name = "HOSTS.toml")]
    pub hosts: Option<PathBuf>,
    /// The folder of a controller
    #[arg(long, value_name = "DIR", default_value = "lab")]
    pub dir: PathBuf,
    /// The folder of the results
    #[arg(short, long, value_name = "RESULTS")]
    pub output: PathBuf,
    /// Replace the folder if it exists
    #[arg(long)]
    pub force: bool,
    /// Run nothing: fetch the results of an experiment whose controller was lost, by the name that it printed
    #[arg(long, value_name = "EXPERIMENT")]
    pub take_up: Option<String>,
}

/// `flowloom lab format`
#[derive(Clone, Debug, Args)]
pub struct LabFormat {
    /// The script; "-" reads standard input. With --check several
    #[arg(required = true, value_name = "SCRIPT")]
    pub scripts: Vec<PathBuf>,
    /// Write nothing; list the scripts that are not formatted (exit code 4)
    #[arg(long, conflicts_with_all = ["to", "output"])]
    pub check: bool,
    /// The form to write [default: that of the script]
    #[arg(long, value_enum, value_name = "FORM")]
    pub to: Option<ScriptForm>,
    /// The file to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long, requires = "output")]
    pub force: bool,
}

/// A form of scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScriptForm {
    /// NetSpec's block language
    Netspec,
    /// The same in TOML
    Toml,
}
