//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum};

use flowloom::report::export;
use flowloom::store::formats::Format;
use flowloom::time::Duration;
use flowloom::units::Rate;

use flowloom::experiment::{Quantity, Vary};
use flowloom::input::Kind;
use flowloom::{Driver, HostOptions, LiveCapture, Rotation};

mod compare;
mod fit;
mod lab;
mod lab_members;
mod model;
mod monitor;
#[cfg(test)]
mod outputs;
mod overhead;
mod plot;
mod settings;
mod shared;
mod shell;
mod sweep;
mod view;
mod watch;

pub use compare::Compare;
pub use fit::{Fit, FittedModel};
pub use lab::{Lab, LabCheck, LabCommand, LabFormat, LabRun, ScriptForm};
pub use lab_members::{Agent, LabAdmit, LabEnrol, LabInit, LabInvite, LabLogs, LabMembers, LabRevoke, LabStatus};
pub use model::{Calculation, Model, PipeModel, QueueModel};
pub use monitor::{HistoryForm, Monitor, MonitorCheck, MonitorCommand, MonitorList, MonitorRun, MonitorShow};
pub use overhead::Overhead;
pub use plot::{PictureFormat, Plot};
pub use settings::Settings;
pub use shared::{Capture, Form, GuestSide, Load};
use shared::{Watching, seed, whole};
pub use shell::Shell;
pub use sweep::{RateOf, Sweep};
pub use view::View;
pub use watch::Watch;

const TERMS_AND_EXIT_CODES: &str = "\
Terms:
  connection vector  what both ends of a connection sent, and how long their applications waited
  wait               time in which an application has nothing to send, such as think time
  workload           a file of connection vectors, and of UDP and QUIC flows
  vector file        connections in the format of another tool: Tmix, conn.log, CSV, JSON lines
  experiment         a TOML file: workload, network, TCP, measurement, seeds
  run folder         the results of a run: tables, run.json, report.html
  live run           a run with kernel TCP over an emulated path, in real time
  lab                hosts that run experiments together: a controller, and an agent on each host

Values:
  TIME   a number with its unit: 20ms, 60s, 10min, 1h (also ns, us)
  RATE   a number with its unit: 10mbit, 1gbit; a plain number is bit/s
  LIMIT  packets, 500p, or bytes, 64k (k is 1,024)
  SIZE   bytes of memory: 500mb, 4gb

Exit codes:
  0  success
  1  failure
  2  wrong usage: error in options, an experiment or a script
  3  interrupted; or a run that is INVALID or partly failed
  4  difference found by compare --check or lab format --check

First steps: flowloom run CAPTURE, then docs/start/first-run.md.";

/// Turn the traffic of a real link into a workload, replay it closed-loop, and compare it with the original.
#[derive(Debug, Parser)]
#[command(name = "flowloom", version, after_help = TERMS_AND_EXIT_CODES, propagate_version = true)]
pub struct Cli {
    /// Print only errors
    #[arg(short, long, global = true, display_order = 900, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Explain decisions on standard error
    #[arg(short, long, global = true, display_order = 901)]
    pub verbose: bool,
    /// Colour answers and messages: always, never, or auto (on terminals; NO_COLOR and CLICOLOR_FORCE take precedence)
    #[arg(
        long,
        global = true,
        display_order = 902,
        value_enum,
        default_value_t,
        value_name = "WHEN",
        hide_possible_values = true
    )]
    pub color: ColorChoice,
    /// Do not show progress
    #[arg(long, global = true, display_order = 903)]
    pub no_progress: bool,
    /// The command
    #[command(subcommand)]
    pub command: Command,
}

/// The commands, one file each in `commands/`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Extract a workload of connection vectors from captures
    #[command(after_help = "\
Examples:
  flowloom extract campus.pcapng.gz -o campus.parquet
  flowloom extract left.pcap right.pcap -o both.parquet --inside 10.0.0.0/8
  flowloom extract ring/ -o week.parquet
  tcpdump -w - -s 96 tcp | flowloom extract - -o live.parquet
  flowloom extract --interface eth0 --duration 10min -o live.parquet
  flowloom extract campus.pcap -o campus.parquet --hosts cryptopan --key campus.key")]
    Extract(Extract),
    /// Convert workloads, or the results of a run, to another format
    #[command(after_help = "\
Formats of workloads (docs/reference/formats.md):
  ending of OUTPUT     --to      format
  .parquet             parquet   Flowloom's workload
  .jsonl               jsonl     JSON lines
  .csv                 csv       a row per connection; with --adus a row per ADU
  .cvec, .tcvec        tmix      Tmix, original spelling
  .alt.cvec, .v2.cvec  tmix-alt  Tmix, alternate spelling
  conn.log, .tsv       zeek      Zeek's conn.log
  .astf.json           astf      TRex's ASTF profile
  .graphml             tgen      tgen's graph

Formats of run results (docs/reference/exports.md):
  ending of OUTPUT  --to         format
  .iperf3.json      iperf3       as printed by iperf3 --json
  .flent.gz         flent        flent
  .hlog             hdr-log      HdrHistogram's log
  .hgrm             percentiles  HdrHistogram's percentiles
  .dat              columns      columns for gnuplot

Examples:
  flowloom convert campus.parquet -o campus.cvec
  flowloom convert 1of2.cinit.tcvec 1of2.crecv.tcvec -o link.parquet
  flowloom convert conn.log.gz -o campus.parquet --hosts number
  flowloom convert exporters.pcap --from flows -o campus.parquet
  flowloom convert campus.cvec -o - --to jsonl | jq .start_ns
  flowloom convert runs/a -o a.flent.gz")]
    Convert(Convert),
    /// Print the characteristics of captures, workloads or a run
    #[command(after_help = "\
Examples:
  flowloom describe campus.pcap
  flowloom describe monday.pcap tuesday.pcap --html days.html
  flowloom describe campus.pcap --conversations --silence 5min
  flowloom describe campus.parquet --json
  flowloom describe runs/campus-20261121-140359")]
    Describe(Describe),
    /// Fit distributions or a traffic model to a workload
    #[command(after_help = "\
Examples:
  flowloom fit campus.parquet
  flowloom fit campus.pcap --variable response-size --variable rtt --html fits.html
  flowloom fit campus.parquet --json
  flowloom fit campus.pcap --model swing -o swing.json
  flowloom fit campus.pcap --model harpoon -o campus.xml")]
    Fit(Box<Fit>),
    /// Compute how many bytes tunnels, other framings and cells add
    #[command(after_help = overhead::AFTER_HELP)]
    Overhead(Box<Overhead>),
    /// Generate or transform the workload of an experiment
    #[command(after_help = "\
The [workload] section of the experiment describes the workload (docs/reference/models.md).
`flowloom run` generates the same workload by itself.

Examples:
  flowloom model exchanges.toml -o w.parquet --duration 10min
  flowloom model half-the-load.toml -o half.parquet --seed 2
  flowloom model queue --help
  flowloom model pipe --help")]
    Model(Box<Model>),
    /// Find the model rates that produce a target load
    #[command(after_help = "\
The experiment needs a model with a rate in [workload], network.bottleneck.rate and
measure.duration. Flowloom simulates the model over links ten times as fast as yours, with the same
random numbers each time, and adjusts the rates until the traffic in measure.window is within 0.5 %
of the target load. With -o it writes an experiment for each load, such as calibrated/web-85.toml.

Examples:
  flowloom calibrate web.toml --load 50%,85%,105%
  flowloom calibrate web.toml --load 85% --duration 2400s -o calibrated")]
    Calibrate(Calibrate),
    /// Replay a capture or a workload, or run an experiment
    #[command(after_help = "\
Options replace the values of an experiment file; docs/reference/experiment.md lists its keys.

Examples:
  flowloom run campus.pcap
  flowloom run campus.parquet --rate 105% --queue 500p -o runs/tight
  flowloom run campus.pcap --rate 105% --queue fq-codel --profile linux --congestion bbr
  flowloom run experiment.toml --set tcp.ecn=on --dry-run
  flowloom run experiment.toml --json
  flowloom run runs/tight --queue codel
  sudo flowloom run experiment.toml --on live
  flowloom run multiplexing.spec")]
    Run(Box<Run>),
    /// Run an experiment in many variants, and say which is best
    #[command(after_help = "\
A variant is one value of each axis. The first variant is the control: ratios are relative to it
(docs/guide/sweep.md).

Examples:
  flowloom sweep campus.pcap --vary queue=drop-tail,codel,fq-codel --rate 105% --seeds 10
  flowloom sweep campus.pcap --vary rate=80%,90%,100% --vary tcp.congestion=cubic,bbr --seeds 5
  flowloom sweep campus.pcap --vary queue=50p,500p --rate 105% --seeds 10 --most-seeds 80
  flowloom sweep experiment.toml --dry-run")]
    Sweep(Box<Sweep>),
    /// Run your own program over the emulated link of an experiment
    #[command(after_help = "\
A shell run is a live run (docs/guide/live.md): it ends when your program ends, and exits with that
program's code. Connections of the workload start during measure.duration.

Environment of the program and of its peer:
  FLOWLOOM_ADDRESS  its own address
  FLOWLOOM_PEER     the address of the other side
  FLOWLOOM_HOST     with --hosts: the number of its host

Examples:
  flowloom shell campus.toml -- bash
  flowloom shell campus.toml --peer 'iperf3 -s -1' -- sh -c 'sleep 1; iperf3 -c $FLOWLOOM_PEER'
  flowloom shell campus.toml -o runs/ping -- sh -c 'ping -c 20 $FLOWLOOM_PEER'")]
    Shell(Box<Shell>),
    /// Run experiments over several hosts
    #[command(after_help = "\
docs/guide/agents.md shows how to set up a lab, docs/guide/lab.md how to write scripts.")]
    Lab(Lab),
    /// Run the agent of this host for a lab, until Ctrl-C or SIGTERM
    #[command(after_help = "\
Examples:
  flowloom agent --dir agent
  flowloom agent --dir /var/lib/flowloom/agent --listen 10.0.0.1:42010")]
    Agent(Agent),
    /// Collect and print counters of links and queues over months
    #[command(after_help = "\
docs/guide/monitor.md shows how to set up a monitor.")]
    Monitor(Monitor),
    /// Show how the runs of other processes go on, or ask them to stop
    #[command(after_help = "\
DIR is searched with its unfinished run folders, those of several seeds and of sweeps among them
(docs/guide/watch.md). A run that is asked to stop ends as after Ctrl-C: its folder keeps what was
measured until then.

Examples:
  flowloom watch
  flowloom watch runs --follow
  flowloom watch runs/campus.partial-x3Vq9Z --stop
  flowloom watch --json | jq '.runs[].observation.verdict'")]
    Watch(Watch),
    /// Show monitors, runs and sweeps in the browser
    #[command(after_help = "\
It serves until Ctrl-C, and prints its link. docs/guide/view.md shows what the pages can do, and
docs/reference/view-api.md what programs can ask.

Examples:
  flowloom view counters runs --open
  flowloom view . --listen 127.0.0.1:8080
  flowloom view /srv/flowloom --listen 0.0.0.0:8080 --host lab.example:8080 --token-file view.token")]
    View(View),
    /// Compare runs with each other, or a replay with its original
    #[command(after_help = "\
Examples:
  flowloom compare runs/a
  flowloom compare runs/drop-tail runs/small-buffer --check
  flowloom compare runs/codel runs/red runs/pie --all-pairs --metric response_time,goodput
  flowloom compare new-1 new-2 new-3 new-4 new-5 --against old-1 old-2 old-3 old-4 old-5
  flowloom compare runs/base runs/change --check rules.toml --json
  flowloom compare runs/a runs/b --html both.html
  flowloom compare runs/a --explain --html why.html
  flowloom compare monday.json tuesday.flent.gz")]
    Compare(Compare),
    /// Write an HTML report of one or more runs
    #[command(after_help = "\
Examples:
  flowloom report runs/a -o a.html
  flowloom report runs/a runs/b -o both.html")]
    Report(Report),
    /// Draw a figure of runs or of a sweep as SVG, PDF or PNG
    #[command(after_help = "\
The figures are those of the report (docs/guide/plot.md), with the same colours. No browser is needed.

Examples:
  flowloom plot runs/a --list
  flowloom plot runs/a --figure response-cdf -o response.pdf
  flowloom plot runs/drop-tail runs/codel --figure queue-delay -o delay.svg --data delay.csv
  flowloom plot runs/demo-queue --figure answer -o answer.png --width 160 --title 'Response times'")]
    Plot(Plot),
    /// Check workloads and run folders for damage
    #[command(after_help = "\
The command reads every file to its end and compares it with the digests in the file itself or in
manifest.json (docs/reference/schemas.md). The exit code is 1 if a file is damaged or missing, and
3 if the command was interrupted before it had read all files.

Lines of the answer:
  whole        the file has the bytes that were written
  unprotected  the file can be read but has no digest (written by an earlier version)
  unlisted     manifest.json or index.json does not list it: another program put it there, or
               renamed it
  damaged      the file has other bytes than were written, or cannot be read
  missing      manifest.json or index.json lists it, and it is not there

Examples:
  flowloom verify campus.parquet
  flowloom verify runs/a runs/b
  flowloom verify runs --json")]
    Verify(Verify),
    /// Check the capabilities of this host, and suggest remedies
    #[command(after_help = "\
Examples:
  flowloom doctor
  flowloom doctor --calibrate
  flowloom doctor --clean --runs runs")]
    Doctor(Doctor),
    /// Write a commented experiment to begin with
    #[command(after_help = "\
Examples:
  flowloom init
  flowloom init --from capture.pcap -o campus.toml")]
    Init(Init),
    /// Print the JSON Schema of experiments, of registries or of a command's JSON output
    #[command(after_help = "\
Examples:
  flowloom schema
  flowloom schema experiment > experiment.schema.json
  flowloom schema run > run.schema.json")]
    Schema(Schema),
    /// Print a script that completes commands and options in a shell
    #[command(after_help = "\
Examples:
  source <(flowloom completions bash)
  flowloom completions bash > ~/.local/share/bash-completion/completions/flowloom
  flowloom completions zsh > ~/.zfunc/_flowloom
  flowloom completions fish > ~/.config/fish/completions/flowloom.fish")]
    Completions(Completions),
    /// Write manual pages, one for each command
    #[command(after_help = "\
Examples:
  flowloom man man1 && man -l man1/flowloom-run.1
  flowloom man ~/.local/share/man/man1")]
    Man(Man),
    /// Play ends of connections in a live run (internal: `run` and `shell` start it)
    #[command(hide = true)]
    LiveWorker(LiveWorker),
    /// Supervise a program on a side of a live run (internal: `shell` starts it)
    #[command(hide = true)]
    LiveGuest(LiveGuest),
    /// Play a side of a run on another host (internal: an agent starts it)
    #[command(hide = true)]
    LiveSide(LiveSide),
    /// Play a side of a share of a workload with another host (internal: an agent starts it)
    #[command(hide = true)]
    LiveShare,
    /// Supervise a program of a lab experiment (internal: an agent starts it)
    #[command(hide = true)]
    LabKeeper(LabKeeper),
}

/// `flowloom completions`
#[derive(Clone, Debug, Args)]
pub struct Completions {
    /// Shell to complete in
    #[arg(value_name = "SHELL", value_enum)]
    pub shell: clap_complete::Shell,
}

/// `flowloom man`
#[derive(Clone, Debug, Args)]
pub struct Man {
    /// Folder for the pages
    #[arg(value_name = "DIR")]
    pub output: PathBuf,
    /// Replace pages that exist
    #[arg(long)]
    pub force: bool,
}

/// A worker process of a live run.
#[derive(Clone, Debug, Args)]
pub struct LiveWorker {
    /// Number of an inherited descriptor of the worker's network namespace
    #[arg(long, value_name = "FD")]
    pub namespace: u32,
}

/// A side of a run on another host.
#[derive(Clone, Debug, Args)]
pub struct LiveSide {
    /// Address of the emulator
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub emulator: SocketAddr,
    /// Highest rate of sending to the emulator
    #[arg(long, allow_hyphen_values = true)]
    pub rate: Rate,
}

/// A program inside a side.
#[derive(Clone, Debug, Args)]
pub struct LiveGuest {
    /// Process of the run
    #[arg(long, value_name = "PID")]
    pub run: u32,
    /// Number of an inherited descriptor of the program's network namespace
    #[arg(long, value_name = "FD")]
    pub namespace: u32,
    /// Inode of the host's network namespace, which the program must not be in
    #[arg(long, value_name = "INODE")]
    pub host_namespace: u64,
    /// Keep the program's background processes until the end of the run
    #[arg(long)]
    pub stays: bool,
    /// Program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<std::ffi::OsString>,
}

/// A command of an agent.
#[derive(Clone, Debug, Args)]
pub struct LabKeeper {
    /// Process of the agent
    #[arg(long, value_name = "PID")]
    pub parent: u32,
    /// Program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<std::ffi::OsString>,
}

/// What to keep of addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum HostChoice {
    /// No addresses, only the acceptor's port
    #[default]
    None,
    /// A number for each address
    Number,
    /// Addresses encrypted with Crypto-PAn, which keeps common prefixes
    Cryptopan,
    /// Addresses as captured; do not publish such a workload
    Captured,
}

impl From<HostChoice> for flowloom::HostChoice {
    fn from(choice: HostChoice) -> flowloom::HostChoice {
        match choice {
            HostChoice::None => flowloom::HostChoice::None,
            HostChoice::Number => flowloom::HostChoice::Number,
            HostChoice::Cryptopan => flowloom::HostChoice::Cryptopan,
            HostChoice::Captured => flowloom::HostChoice::Captured,
        }
    }
}

/// What becomes of the addresses of connections.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Addresses")]
pub struct Hosts {
    /// Addresses to keep in the output [default: none; of a Flowloom workload, those that it has]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub hosts: Option<HostChoice>,
    /// Key file for --hosts cryptopan: 32 bytes or 64 hexadecimal digits
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// With --hosts cryptopan: leave private, multicast and other special addresses unencrypted
    #[arg(long)]
    pub keep_special: bool,
}

impl Hosts {
    /// As the library takes them.
    pub fn options(&self) -> HostOptions {
        HostOptions { keep: self.hosts.map(Into::into), key: self.key.clone(), keep_special: self.keep_special }
    }
}

/// Packets from a network interface.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Capturing from an interface")]
pub struct Live {
    /// Capture from this network interface, until Ctrl-C, --duration or --packets
    #[arg(long, value_name = "NAME")]
    pub interface: Option<String>,
    /// Length of the capture
    #[arg(long, value_name = "TIME", requires = "interface", conflicts_with = "captures", allow_hyphen_values = true)]
    pub duration: Option<Duration>,
    /// Number of packets to capture
    #[arg(long, value_name = "N", requires = "interface", conflicts_with = "captures", value_parser = whole, allow_negative_numbers = true)]
    pub packets: Option<u64>,
    /// Capture only this host's own packets, broadcast and multicast
    #[arg(long, requires = "interface", conflicts_with = "captures")]
    pub no_promiscuous: bool,
    /// Write a workload for each time of this length, such as 1h, into the folder that -o names, until Ctrl-C or --duration
    #[arg(long, value_name = "TIME", requires = "interface", conflicts_with_all = ["captures", "packets", "force"], allow_hyphen_values = true)]
    pub rotate: Option<Duration>,
    /// Keep the last N workloads of the interface in the folder, and delete older ones [default: all]
    #[arg(long, value_name = "N", requires = "rotate", allow_negative_numbers = true)]
    pub keep: Option<std::num::NonZeroU32>,
}

impl Live {
    /// As the library takes it.
    pub fn options(&self) -> LiveCapture {
        LiveCapture { duration: self.duration, packets: self.packets, no_promiscuous: self.no_promiscuous }
    }

    /// How the interface is captured into one workload after another, if it is.
    pub fn rotation(&self) -> Option<Rotation> {
        Some(Rotation { every: self.rotate?, keep: self.keep })
    }
}

/// `flowloom extract`
#[derive(Debug, Args)]
pub struct Extract {
    /// Captures (pcap, pcapng, ERF or snoop; plain, gzip, zstd or xz) or folders of them; "-" reads standard input
    #[arg(required_unless_present = "interface", conflicts_with = "interface", value_name = "CAPTURE")]
    pub captures: Vec<PathBuf>,
    /// Capturing instead
    #[command(flatten)]
    pub live: Live,
    /// Workload file to write; with --rotate the folder for workloads
    #[arg(short, long, value_name = "W.parquet", help_heading = "Input and output")]
    pub output: PathBuf,
    /// Replace the output if it exists
    #[arg(long, help_heading = "Input and output")]
    pub force: bool,
    /// How to read the captures
    #[command(flatten)]
    pub capture: Capture,
    /// What to keep of addresses
    #[command(flatten)]
    pub hosts: Hosts,
    /// How to answer
    #[command(flatten)]
    pub form: Form,
}

/// `flowloom convert`
#[derive(Debug, Args)]
pub struct Convert {
    /// Workloads, other vector files (Tmix, Zeek's conn.log, CSV, JSON lines), NetFlow, IPFIX, captures, or one run folder; "-"
    /// reads standard input
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// File to write; "-" writes standard output
    #[arg(short, long, value_name = "OUTPUT", help_heading = "Input and output")]
    pub output: PathBuf,
    /// Output format [default: from the name of the file]
    #[arg(long, value_name = "FORMAT", value_parser = forms(), help_heading = "Input and output")]
    pub to: Option<Target>,
    /// Input format; "flows" also reads captures of an exporter's packets [default: from the content]
    #[arg(long, value_name = "FORMAT", value_parser = sources(), help_heading = "Input and output")]
    pub from: Option<Kind>,
    /// Write CSV with a row per ADU (application data unit) instead of per connection
    #[arg(long, help_heading = "Input and output")]
    pub adus: bool,
    /// For Tmix: round-trip time of connections with an unknown one [default: the median of the others]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Input and output")]
    pub rtt: Option<Duration>,
    /// Replace the output if it exists
    #[arg(long, help_heading = "Input and output")]
    pub force: bool,
    /// How to read captures and flow records
    #[command(flatten)]
    pub capture: Capture,
    /// What to keep of addresses
    #[command(flatten)]
    pub hosts: Hosts,
    /// How to answer
    #[command(flatten)]
    pub form: Form,
}

/// What `convert` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Vectors.
    Vectors(Format),
    /// Results of a run.
    Results(export::Form),
}

/// Forms that are written, by name.
fn forms() -> impl TypedValueParser<Value = Target> {
    let vectors = || Format::NAMES.into_iter().map(|(name, format)| (name, Target::Vectors(format)));
    let results = || export::Form::ALL.into_iter().map(|(name, _, form)| (name, Target::Results(form)));
    let all = move || vectors().chain(results());
    PossibleValuesParser::new(all().map(|(name, _)| name))
        .try_map(move |typed| all().find(|(name, _)| *name == typed).map(|(_, target)| target).ok_or("unknown"))
}

/// Forms that are read, by name.
fn sources() -> impl TypedValueParser<Value = Kind> {
    let others = [("flows", Kind::Flows), ("capture", Kind::Capture)];
    let read = || Format::NAMES.into_iter().filter(|(_, format)| format.is_read());
    let all = move || read().map(|(name, format)| (name, Kind::of(format))).chain(others);
    PossibleValuesParser::new(all().map(|(name, _)| name))
        .try_map(move |typed| all().find(|(name, _)| *name == typed).map(|(_, kind)| kind).ok_or("unknown"))
}

/// `flowloom describe`
#[derive(Debug, Args)]
pub struct Describe {
    /// Captures, workloads or other vector files (side by side), or one run folder
    #[arg(required = true, value_name = "FILE")]
    pub inputs: Vec<PathBuf>,
    /// Also write one self-contained HTML file with plots; for a run folder, its report; "-" writes standard output instead
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Replace the HTML file if it exists
    #[arg(long, requires = "html")]
    pub force: bool,
    /// Also describe conversations by application, as in Cáceres 1992 (docs/guide/describe.md); captures only
    #[arg(long)]
    pub conversations: bool,
    /// With --conversations: idle time after which a conversation ends
    #[arg(long, value_name = "TIME", default_value = "20min", requires = "conversations", allow_hyphen_values = true)]
    pub silence: Duration,
    /// How to read a capture
    #[command(flatten)]
    pub capture: Capture,
    /// How to answer
    #[command(flatten)]
    pub form: Form,
}

/// `flowloom calibrate`
#[derive(Debug, Args)]
pub struct Calibrate {
    /// Experiment with the model to calibrate
    #[arg(value_name = "EXPERIMENT")]
    pub experiment: PathBuf,
    /// Target loads of the bottleneck, 1% to 500%, such as 50%,85%: of the busier direction, or of each direction for a model
    /// with two rates
    #[arg(long, value_name = "LOADS", value_delimiter = ',', required = true, allow_hyphen_values = true)]
    pub load: Vec<Load>,
    /// Folder for the table (calibration.json) and an experiment for each load
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// Write into an existing folder
    #[arg(long)]
    pub force: bool,
    /// Time during which connections start [default: measure.duration]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub duration: Option<Quantity<Duration>>,
    /// Seed [default: the experiment's first]
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Number of loads to calibrate in parallel [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), allow_negative_numbers = true)]
    pub jobs: Option<u16>,
    /// How to answer
    #[command(flatten)]
    pub form: Form,
}

/// What the event queue is made of: the second is there to check the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum EventQueue {
    /// The timing wheel
    #[default]
    Wheel,
    /// A binary heap
    Heap,
}

/// `flowloom run`
#[derive(Debug, Args)]
pub struct Run {
    /// Captures, a workload, other vector files, an experiment (.toml), a run folder (to run it again), or a VCSIM
    /// specification (.spec: cells over virtual circuits); "-" reads a capture from standard input
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// Run folder to write [default: runs/NAME-DATE-TIME; none for a specification]
    #[arg(short, long, value_name = "RUN", help_heading = "Run")]
    pub output: Option<PathBuf>,
    /// Replace the run folder and the file of --cell-trace if they exist
    #[arg(long, help_heading = "Run")]
    pub force: bool,
    /// Print the experiment with all its values, and what it needs, instead of running it
    #[arg(long, conflicts_with_all = ["output", "force"], help_heading = "Run")]
    pub dry_run: bool,
    /// Where to run: sim (packet simulator), live (kernel TCP on this host, in real time) or lab:HOSTS.toml (kernel TCP on the
    /// hosts of a lab, over a path emulated by this host) [default: sim]
    #[arg(long, value_name = "DRIVER", help_heading = "Run")]
    pub on: Option<Driver>,
    /// With --on lab:HOSTS.toml: folder of the lab's controller [default: lab]
    #[arg(long, value_name = "DIR", help_heading = "Run")]
    pub lab: Option<PathBuf>,
    /// Values that replace those of the experiment
    #[command(flatten)]
    pub settings: Settings,
    /// Seed; may be repeated, for a run with each
    #[arg(long = "seed", value_name = "N", value_parser = seed, allow_negative_numbers = true, help_heading = "Run")]
    pub seeds: Vec<u64>,
    /// What each seed changes in a capture or workload: "blocks" (replay a random selection of its blocks), "jitter 2s" (start
    /// each connection up to 2 s earlier or later), "nothing" or "auto" [default: auto: blocks with several seeds, else nothing]
    #[arg(long, value_name = "HOW", help_heading = "Run")]
    pub vary: Option<Quantity<Vary>>,
    /// Number of threads, for parallel seeds and for input and output [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), allow_negative_numbers = true, help_heading = "Run")]
    pub jobs: Option<u16>,
    /// The simulator's event queue; results are the same with either
    #[arg(long, value_enum, default_value_t, hide = true)]
    pub event_queue: EventQueue,
    /// Capture packets into the run folder: at the bottleneck (link.pcap) or at the named links (link-NAME.pcap)
    #[arg(long, value_name = "LINK,...", num_args = 0.., require_equals = true, value_delimiter = ',', help_heading = "Records")]
    pub pcap: Option<Vec<String>>,
    /// With a .spec: write each event of every cell to this file
    #[arg(long, value_name = "FILE", help_heading = "Records")]
    pub cell_trace: Option<PathBuf>,
    /// How to watch it
    #[command(flatten)]
    pub watching: Watching,
    /// How to read captures
    #[command(flatten)]
    pub capture: Capture,
    /// How to answer
    #[command(flatten)]
    pub form: Form,
}

/// `flowloom report`
#[derive(Debug, Args)]
pub struct Report {
    /// Run folders to report on
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// File to write; "-" writes standard output
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    pub force: bool,
    /// Open the report in the browser
    #[arg(long)]
    pub open: bool,
}

/// `flowloom verify`
#[derive(Debug, Args)]
pub struct Verify {
    /// Workloads, run folders, folders of several runs, or folders with these in them
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// How to answer
    #[command(flatten)]
    pub form: Form,
}

/// `flowloom init`
#[derive(Debug, Args)]
pub struct Init {
    /// Name this capture or workload as the source, and describe it in comments
    #[arg(long, value_name = "CAPTURE")]
    pub from: Option<PathBuf>,
    /// Write the experiment to this file, or to standard output if it is -
    #[arg(short, long, value_name = "FILE", default_value = "experiment.toml")]
    pub output: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub capture: Capture,
}

/// `flowloom schema`
#[derive(Debug, Args)]
pub struct Schema {
    /// `experiment`, `registry`, or the name of a command or event whose JSON output you read [default: list the names]
    #[arg(value_name = "NAME")]
    pub answer: Option<String>,
}

/// `flowloom doctor`
#[derive(Debug, Args)]
pub struct Doctor {
    /// Print the result as JSON on standard output
    #[arg(long)]
    pub json: bool,
    /// Kill and list the orphaned worker processes of earlier runs
    #[arg(long)]
    pub clean: bool,
    /// Measure what this host can do in live runs, in about five minutes, and keep it for `run --dry-run`
    #[arg(long, conflicts_with = "clean")]
    pub calibrate: bool,
    /// With --clean: also remove unfinished run folders from this folder
    #[arg(long, value_name = "FOLDER", requires = "clean")]
    pub runs: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Error, error::ErrorKind};

    use flowloom::CaptureOptions;
    use flowloom::report::metric::Metric;

    use super::*;

    /// Otherwise a minus sign makes an option of the value, and the error speaks of that.
    #[test]
    fn what_is_wrong_with_a_negative_value_is_said_of_the_value() {
        let mut options = 0;
        for command in Cli::command().get_subcommands() {
            for option in command.get_arguments().filter_map(|argument| {
                let name = argument.get_value_names()?.first()?.as_str();
                ["TIME", "SIZE", "LIMIT", "RATE", "N"].contains(&name).then(|| argument.get_long())?
            }) {
                let words = ["flowloom", command.get_name(), &format!("--{option}"), "-5"];
                let kind = Cli::try_parse_from(words).as_ref().map_err(Error::kind).err();
                assert_eq!(kind, Some(ErrorKind::ValueValidation), "{words:?}");
                options += 1;
            }
        }
        assert!(options > 20, "{options} options");
    }

    #[test]
    fn help_names_every_metric() {
        let command = Cli::command();
        let compare = command.find_subcommand("compare").unwrap();
        let metric = compare.get_arguments().find(|argument| argument.get_long() == Some("metric")).unwrap();
        let help = metric.get_help().unwrap().to_string();
        let names = help.rsplit_once(": ").unwrap().1;
        assert_eq!(names.split(", ").collect::<Vec<_>>(), Metric::ALL.map(Metric::name));
    }

    #[test]
    fn the_defaults_are_those_of_the_library() {
        let cli = Cli::try_parse_from(["flowloom", "describe", "c.pcap"]).unwrap();
        let Command::Describe(Describe { capture, .. }) = cli.command else { panic!("{:?}", cli.command) };
        assert_eq!(capture.options(), CaptureOptions::default());
    }
}
