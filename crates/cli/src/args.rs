//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

use flowloom_core::time::Duration;
use flowloom_core::units::{Limit, Rate};
use flowloom_report::export;
use flowloom_store::formats::Format;

use flowloom::experiment::{self, MOST_HOSTS, Quantity, RateChoice};
use flowloom::input::Kind;
use flowloom::{CaptureOptions, Driver, HostOptions, LiveCapture, Overrides};

mod compare;
mod fit;
mod lab;
mod lab_members;
mod model;
mod overhead;

pub use compare::Compare;
pub use fit::{Fit, FittedModel};
pub use lab::{Lab, LabCheck, LabCommand, LabFormat, LabRun, ScriptForm};
pub use lab_members::{Agent, LabAdmit, LabEnrol, LabInit, LabInvite, LabLogs, LabMembers, LabRevoke, LabStatus};
pub use model::{Calculation, Model, PipeModel, QueueModel};
pub use overhead::Overhead;

const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 could not, 2 wrong usage, 3 ran but the result is INVALID or was interrupted, \
4 different (compare --check, lab format --check).";

/// Turn the traffic of a real link into a workload, replay it closed-loop, and see how near it came.
#[derive(Debug, Parser)]
#[command(name = "flowloom", version, after_help = EXIT_CODES, propagate_version = true)]
pub struct Cli {
    /// Print only errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Explain decisions
    #[arg(short, long, global = true)]
    pub verbose: bool,
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// The commands, one file each in `commands/`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Turn captures into a workload of connection vectors
    #[command(after_help = "\
Examples:
  flowloom extract campus.pcapng.gz -o campus.parquet
  flowloom extract left.pcap right.pcap -o both.parquet --inside 10.0.0.0/8
  flowloom extract ring/ -o week.parquet --allow-truncated
  tcpdump -w - -s 96 tcp | flowloom extract - -o live.parquet
  flowloom extract --interface eth0 --duration 10m -o live.parquet
  flowloom extract campus.pcap -o campus.parquet --hosts cryptopan --key campus.key")]
    Extract(Extract),
    /// Write connection vectors, or the results of a run, in another form
    #[command(after_help = "\
Forms, by the ending of the output or by --to:
  .parquet  Flowloom's workload      .cvec, .v1.cvec, .tcvec  Tmix vectors, original spelling
  .jsonl    JSON lines               .alt.cvec, .v2.cvec      Tmix vectors, alternate spelling
  .csv      a row per connection     conn.log, .tsv           in the form of Zeek's conn.log

Examples:
  flowloom convert campus.parquet -o campus.cvec
  flowloom convert 1of2.cinit.tcvec 1of2.crecv.tcvec -o link.parquet
  flowloom convert conn.log.gz -o campus.parquet --hosts number
  flowloom convert exporters.pcap --from flows -o campus.parquet
  flowloom convert campus.cvec -o - --to jsonl | jq .start_ns
  flowloom convert runs/a -o a.flent.gz    (also .iperf3.json, .hlog, .hgrm, .dat)")]
    Convert(Convert),
    /// Print the characteristics of captures and workloads, or of a run
    #[command(after_help = "\
Examples:
  flowloom describe campus.pcap
  flowloom describe monday.pcap tuesday.pcap --html days.html
  flowloom describe campus.pcap --conversations --silence 5min
  flowloom describe campus.parquet --json
  flowloom describe runs/campus-20261121-140359")]
    Describe(Describe),
    /// Fit laws to the variables of a workload, or a traffic model, and write them as experiments take them
    #[command(after_help = "\
Examples:
  flowloom fit campus.parquet
  flowloom fit campus.pcap --variable response-size --variable rtt -o laws.html
  flowloom fit campus.parquet --json
  flowloom fit campus.pcap --model swing -o swing.json
  flowloom fit campus.pcap --model harpoon -o campus.xml")]
    Fit(Box<Fit>),
    /// Say what datagrams cost on a line: transmission efficiency of any stack of framings, cells among them
    #[command(after_help = overhead::AFTER_HELP)]
    Overhead(Box<Overhead>),
    /// Make the workload of an experiment: drawn from a source model, or changed from a capture's
    #[command(after_help = "\
The [workload] part of the experiment says what is made (docs/reference/models.md); `flowloom run` makes the same for itself.

Examples:
  flowloom model exchanges.toml -o w.parquet --duration 10min
  flowloom model half-the-load.toml -o half.parquet --seed 2
  flowloom model queue --help
  flowloom model pipe --help")]
    Model(Box<Model>),
    /// Find the rates at which a source model would load the bottleneck so much, were nothing in its way
    #[command(after_help = "\
The experiment has a model with a rate in [workload], network.bottleneck.rate and measure.duration. Each load is run in the
simulator over links ten times as fast, with the same random numbers, until what passes in measure.window is within half a
percent of what is asked.

Examples:
  flowloom calibrate web.toml --load 50%,85%,105%
  flowloom calibrate web.toml --load 85% --duration 2400s -o calibrated    (writes calibrated/web-85.toml)")]
    Calibrate(Calibrate),
    /// Replay a capture, a workload or an experiment, or simulate the virtual circuits of a specification
    #[command(after_help = "\
Examples:
  flowloom run campus.pcap
  flowloom run campus.parquet --rate 105% --queue 500p -o runs/tight
  flowloom run experiment.toml --json")]
    Run(Box<Run>),
    /// Run a program inside a side of a live run
    #[command(after_help = "\
The program and its peer find their own address in FLOWLOOM_ADDRESS and the other side's in FLOWLOOM_PEER. The run goes on
until the program ends, whose exit code is that of this command; connections of the workload start for measure.duration.

Examples:
  flowloom shell campus.toml -- bash
  flowloom shell campus.toml --peer 'iperf3 -s -1' -- sh -c 'sleep 1; iperf3 -c $FLOWLOOM_PEER'
  flowloom shell campus.toml -o runs/ping -- sh -c 'ping -c 20 $FLOWLOOM_PEER'")]
    Shell(Shell),
    /// Experiments over several hosts: check their scripts, lay them out
    Lab(Lab),
    /// Serve the controllers of a lab on this host, within the limits that its folder sets, until Ctrl-C or SIGTERM
    #[command(after_help = "\
Examples:
  flowloom agent --dir agent
  flowloom agent --dir /var/lib/flowloom/agent --listen 10.0.0.1:42010")]
    Agent(Agent),
    /// Compare variants of an experiment with each other, or a replay with its original
    #[command(after_help = "\
Examples:
  flowloom compare runs/a
  flowloom compare runs/drop-tail runs/small-buffer --check
  flowloom compare runs/codel runs/red runs/pie --all-pairs --metric response_time,goodput
  flowloom compare new-1 new-2 new-3 new-4 new-5 --against old-1 old-2 old-3 old-4 old-5
  flowloom compare runs/base runs/change --check rules.toml --json
  flowloom compare monday.json tuesday.flent.gz")]
    Compare(Compare),
    /// Write one self-contained HTML report of one or more runs
    #[command(after_help = "\
Examples:
  flowloom report runs/a -o a.html
  flowloom report runs/a runs/b -o both.html")]
    Report(Report),
    /// Say what this host can do
    #[command(after_help = "\
Examples:
  flowloom doctor
  flowloom doctor --clean --runs runs")]
    Doctor(Doctor),
    /// Print the JSON Schema of what a command prints with --json or --json-stream
    #[command(after_help = "\
Examples:
  flowloom schema
  flowloom schema run > run.schema.json")]
    Schema(Schema),
    /// Play ends of connections for a live run, which starts this and talks to it over standard input and output
    #[command(hide = true)]
    LiveWorker(LiveWorker),
    /// Keep a program inside a side of a live run, which starts this
    #[command(hide = true)]
    LiveGuest(LiveGuest),
    /// Play a side of a run on another host; an agent starts this, and the run talks to it over standard input and output
    #[command(hide = true)]
    LiveSide(LiveSide),
    /// Play a side of a share of a workload with another host; an agent starts this, and talks to it over standard input and output
    #[command(hide = true)]
    LiveShare,
    /// Keep a program that an agent runs, which starts this
    #[command(hide = true)]
    LabKeeper(LabKeeper),
}

/// A worker process of a live run.
#[derive(Clone, Debug, Args)]
pub struct LiveWorker {
    /// The network namespace it works in: the number of an inherited descriptor
    #[arg(long, value_name = "FD")]
    pub namespace: u32,
}

/// A side of a run on another host.
#[derive(Clone, Debug, Args)]
pub struct LiveSide {
    /// Where the emulator is
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub emulator: SocketAddr,
    /// What is sent there, at most
    #[arg(long, allow_hyphen_values = true)]
    pub rate: Rate,
}

/// `flowloom shell`
#[derive(Clone, Debug, Args)]
pub struct Shell {
    /// The experiment; its workload, if it has one, is the background traffic
    #[arg(value_name = "EXPERIMENT")]
    pub experiment: PathBuf,
    /// The side that the program is on
    #[arg(long, value_enum, default_value_t)]
    pub side: GuestSide,
    /// Run the program on each of so many hosts of that side, with addresses and TCP of their own (FLOWLOOM_HOST counts them)
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u8).range(1..=i64::from(MOST_HOSTS)))]
    pub hosts: Option<u8>,
    /// A command for the shell (sh -c) that runs on the other side and is ended with the program
    #[arg(long, value_name = "COMMAND")]
    pub peer: Option<String>,
    /// The run folder to write [default: runs/NAME-DATE-TIME]
    #[arg(short, long, value_name = "RUN")]
    pub output: Option<PathBuf>,
    /// Replace the run folder if it exists
    #[arg(long)]
    pub force: bool,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<std::ffi::OsString>,
}

/// A side of the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum GuestSide {
    /// The left one
    #[default]
    Left,
    /// The right one
    Right,
}

/// A program inside a side.
#[derive(Clone, Debug, Args)]
pub struct LiveGuest {
    /// The process whose run it is
    #[arg(long, value_name = "PID")]
    pub run: u32,
    /// The network namespace it is in: the number of an inherited descriptor
    #[arg(long, value_name = "FD")]
    pub namespace: u32,
    /// The inode of the network namespace that it must not be in
    #[arg(long, value_name = "INODE")]
    pub host_namespace: u64,
    /// What it has left in the background goes on until the run is over
    #[arg(long)]
    pub stays: bool,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<std::ffi::OsString>,
}

/// A command of an agent.
#[derive(Clone, Debug, Args)]
pub struct LabKeeper {
    /// The agent
    #[arg(long, value_name = "PID")]
    pub parent: u32,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<std::ffi::OsString>,
}

/// How captures are read and cut into connections.
#[derive(Clone, Debug, Args)]
pub struct Capture {
    /// Addresses on the left (inside) of the link, as a prefix; may be repeated
    #[arg(long, value_name = "PREFIX")]
    pub inside: Vec<String>,
    /// Use what is readable of a capture that was cut off
    #[arg(long)]
    pub allow_truncated: bool,
    /// Keep only TCP connections whose SYN and whose FIN or RST were seen
    #[arg(long)]
    pub complete_only: bool,
    /// A connection ends after this long without a packet [flow records: 60s]
    #[arg(long, value_name = "TIME", default_value = "1h", allow_hyphen_values = true)]
    pub idle_timeout: Duration,
    /// A flow of UDP or QUIC datagrams ends after this long without one
    #[arg(long, value_name = "TIME", default_value = "60s", allow_hyphen_values = true)]
    pub udp_idle_timeout: Duration,
    /// Leave UDP and QUIC out
    #[arg(long)]
    pub tcp_only: bool,
    /// Where the monitor stood: near one end of every path, segments that pass twice or late mean something else
    #[arg(long, value_enum, default_value_t, value_name = "WHERE")]
    pub monitor: Monitor,
    /// Connections with the same addresses and ports in different VLANs are different ones
    #[arg(long)]
    pub vlan_key: bool,
    /// Memory for connections; above it those end that were silent for longest
    #[arg(long, value_name = "SIZE", default_value = "4gb", allow_hyphen_values = true)]
    pub max_memory: Memory,
    /// Threads for reading captures; the result is the same with any number [default: the cores, at most 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64), allow_negative_numbers = true)]
    pub threads: Option<u16>,
    /// Take flow records although they were made from a sample of the packets
    #[arg(long)]
    pub allow_sampled: bool,
    /// The longest time after which the exporter of flow records sends a slice of a flow that goes on
    #[arg(long, value_name = "TIME", default_value = "30min", allow_hyphen_values = true)]
    pub active_timeout: Duration,
    /// Leave the names of the input files out of everything that is written
    #[arg(long)]
    pub anonymize: bool,
}

/// Where the monitor stood on the paths of the connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Monitor {
    /// Between the ends
    #[default]
    Mid,
    /// At the hosts on the left (inside) of the link
    Left,
    /// At the hosts on the right of the link
    Right,
    /// At the initiators
    Initiator,
    /// At the acceptors
    Acceptor,
}

impl From<Monitor> for flowloom::Monitor {
    fn from(monitor: Monitor) -> flowloom::Monitor {
        match monitor {
            Monitor::Mid => flowloom::Monitor::Mid,
            Monitor::Left => flowloom::Monitor::Left,
            Monitor::Right => flowloom::Monitor::Right,
            Monitor::Initiator => flowloom::Monitor::Initiator,
            Monitor::Acceptor => flowloom::Monitor::Acceptor,
        }
    }
}

/// What to keep of addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum HostChoice {
    /// Nothing; the port of the service stays
    #[default]
    None,
    /// A dense number per address
    Number,
    /// Addresses encrypted with Crypto-PAn, which keeps common prefixes
    Cryptopan,
    /// Addresses as captured, for your own use
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
pub struct Hosts {
    /// What to keep of the addresses of connections [default: none; what Flowloom's own files keep stays]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub hosts: Option<HostChoice>,
    /// The key of --hosts cryptopan: a file of 32 bytes or 64 hexadecimal digits
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Leave private, multicast and other special addresses as they are under --hosts cryptopan
    #[arg(long)]
    pub keep_special: bool,
}

impl Hosts {
    /// As the library takes them.
    pub fn options(&self) -> HostOptions {
        HostOptions { keep: self.hosts.map(Into::into), key: self.key.clone(), keep_special: self.keep_special }
    }
}

/// A size in memory: `2gb`, `500mb`; at least 100 MB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory(u64);

impl Memory {
    /// In bytes.
    pub fn bytes(self) -> u64 {
        self.0
    }
}

impl std::str::FromStr for Memory {
    type Err = String;

    fn from_str(text: &str) -> Result<Memory, String> {
        let units = [("kb", 1_000u64), ("mb", 1_000_000), ("gb", 1_000_000_000), ("tb", 1_000_000_000_000)];
        let size = units.iter().find_map(|(unit, bytes)| {
            let number: f64 = text.strip_suffix(unit)?.parse().ok()?;
            (number.is_finite() && number >= 0.0).then_some((number * *bytes as f64) as u64)
        });
        match size {
            Some(bytes) if bytes < 100_000_000 => Err("less than 100mb".to_owned()),
            Some(bytes) => Ok(Memory(bytes)),
            None => Err("not a size in memory; write it like 500mb or 2gb".to_owned()),
        }
    }
}

impl Capture {
    /// As the library takes them.
    pub fn options(&self) -> CaptureOptions {
        CaptureOptions {
            inside: self.inside.clone(),
            allow_truncated: self.allow_truncated,
            complete_only: self.complete_only,
            idle_timeout: self.idle_timeout,
            udp_idle_timeout: self.udp_idle_timeout,
            tcp_only: self.tcp_only,
            monitor: self.monitor.into(),
            vlan_key: self.vlan_key,
            max_memory: self.max_memory.bytes(),
            threads: self.threads,
            allow_sampled: self.allow_sampled,
            active_timeout: self.active_timeout,
            anonymize: self.anonymize,
        }
    }
}

/// The form of the answer of a command that takes its time.
#[derive(Clone, Copy, Debug, Args)]
pub struct Form {
    /// Print one JSON object on standard output
    #[arg(long)]
    pub json: bool,
    /// Print JSON lines on standard output as things happen: start, progress, end with the object of --json
    #[arg(long, conflicts_with = "json")]
    pub json_stream: bool,
}

/// Packets from a network interface.
#[derive(Clone, Debug, Args)]
pub struct Live {
    /// Capture from this network interface instead, until Ctrl-C
    #[arg(long, value_name = "NAME")]
    pub interface: Option<String>,
    /// Capture for this long
    #[arg(long, value_name = "TIME", requires = "interface", conflicts_with = "captures", allow_hyphen_values = true)]
    pub duration: Option<Duration>,
    /// Capture so many packets
    #[arg(long, value_name = "N", requires = "interface", conflicts_with = "captures", value_parser = whole, allow_negative_numbers = true)]
    pub packets: Option<u64>,
    /// Capture only packets from and to this host, broadcast and multicast
    #[arg(long, requires = "interface", conflicts_with = "captures")]
    pub no_promiscuous: bool,
}

impl Live {
    /// As the library takes it.
    pub fn options(&self) -> LiveCapture {
        LiveCapture { duration: self.duration, packets: self.packets, no_promiscuous: self.no_promiscuous }
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
    /// The workload file to write
    #[arg(short, long, value_name = "W.parquet")]
    pub output: PathBuf,
    /// Replace the output if it exists
    #[arg(long)]
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
    /// Workloads, Tmix vectors, Zeek's conn.log, NetFlow or IPFIX, CSV, JSON lines, captures, or one run folder; "-" reads standard input
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// The file to write; "-" writes standard output
    #[arg(short, long, value_name = "OUTPUT")]
    pub output: PathBuf,
    /// The form of the output [default: by its name]
    #[arg(long, value_name = "FORM", value_parser = forms())]
    pub to: Option<Target>,
    /// The form of the inputs; "flows" also reads captures of the packets that exporters send [default: by content]
    #[arg(long, value_name = "FORM", value_parser = sources())]
    pub from: Option<Kind>,
    /// Write a row of CSV per ADU instead of one per connection
    #[arg(long)]
    pub adus: bool,
    /// For Tmix: the round-trip time of connections of which it is not known [default: the median of the known ones]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub rtt: Option<Duration>,
    /// Replace the output if it exists
    #[arg(long)]
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

/// A count or a seed.
fn whole(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("not a whole number from 0 to {}", u64::MAX))
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
    /// Captures, workloads and other files of vectors, described side by side, or one run folder
    #[arg(required = true, value_name = "FILE")]
    pub inputs: Vec<PathBuf>,
    /// Also write one self-contained HTML file with pictures; of a run folder, its report
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Also tell the conversations of captures, by application (Cáceres 1992)
    #[arg(long)]
    pub conversations: bool,
    /// A silence this long ends a conversation
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
    /// The experiment whose model is calibrated for its bottleneck
    #[arg(value_name = "EXPERIMENT")]
    pub experiment: PathBuf,
    /// Shares of the bottleneck's rate in its busier direction; of models with a rate for each direction, in both
    #[arg(long, value_name = "SHARES", value_delimiter = ',', required = true, allow_hyphen_values = true)]
    pub load: Vec<Load>,
    /// The folder to write the table (calibration.json) and an experiment for each load to
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// Write into the folder if it exists
    #[arg(long)]
    pub force: bool,
    /// How long connections start [default: measure.duration]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub duration: Option<Quantity<Duration>>,
    /// Seed [default: the first of the experiment's]
    #[arg(long, value_name = "N", value_parser = whole, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Loads that are searched for at a time [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), allow_negative_numbers = true)]
    pub jobs: Option<u16>,
    /// How to answer
    #[command(flatten)]
    pub form: Form,
}

/// A share of a link's rate: `85%`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load(pub f64);

impl std::str::FromStr for Load {
    type Err = String;

    fn from_str(text: &str) -> Result<Load, String> {
        let percent = text.trim().strip_suffix('%').and_then(|number| number.trim_end().parse::<f64>().ok());
        match percent {
            Some(percent) if (1.0..=500.0).contains(&percent) => Ok(Load(percent / 100.0)),
            _ => Err("a load is a share of the bottleneck's rate, from 1% to 500%".to_owned()),
        }
    }
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
    /// An experiment (.toml), captures, a workload or other files of vectors, or a VCSIM specification (.spec); "-" reads a capture
    /// from standard input
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// The run folder to write [default: runs/NAME-DATE-TIME; of a specification none]
    #[arg(short, long, value_name = "RUN")]
    pub output: Option<PathBuf>,
    /// Replace the run folder if it exists, and the file of --cell-trace
    #[arg(long)]
    pub force: bool,
    /// Where to run: "sim", the packet simulator; "live", kernel TCP in network namespaces on this host, in real time; or
    /// "lab:HOSTS.toml", kernel TCP on the hosts of a lab, across the path that this host emulates
    #[arg(long, value_name = "DRIVER", default_value = "sim")]
    pub on: Driver,
    /// With --on lab: the folder of a controller
    #[arg(long, value_name = "DIR", default_value = "lab")]
    pub lab: PathBuf,
    /// Rate of the bottleneck: "496mbit", "unlimited", or "105%" of the offered load
    #[arg(long, allow_hyphen_values = true)]
    pub rate: Option<Quantity<RateChoice>>,
    /// Propagation delay of the bottleneck, one way
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub delay: Option<Quantity<Duration>>,
    /// Queue limit: "65000p" in packets or "64k" in bytes
    #[arg(long, value_name = "LIMIT", allow_hyphen_values = true)]
    pub queue: Option<Quantity<Limit>>,
    /// Replay no wait shorter than this ("0ms" takes all, "500ms" leaves short ones to the network)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub wait_min: Option<Quantity<Duration>>,
    /// What to take off a measured wait before replaying it
    #[arg(long, value_enum)]
    pub wait_correct: Option<CorrectionChoice>,
    /// How long connections start [default: the length of the capture]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub duration: Option<Quantity<Duration>>,
    /// Seed; may be repeated for several runs
    #[arg(long = "seed", value_name = "N", value_parser = whole, allow_negative_numbers = true)]
    pub seeds: Vec<u64>,
    /// Threads: seeds run side by side, and a run reads and writes beside its own if one is left [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), allow_negative_numbers = true)]
    pub jobs: Option<u16>,
    /// The simulator's event queue; results are the same with either
    #[arg(long, value_enum, default_value_t, hide = true)]
    pub event_queue: EventQueue,
    /// Also write the packets at the bottleneck to link.pcap in the run folder, or those at the links named to link-NAME.pcap
    #[arg(long, value_name = "LINK,...", num_args = 0.., require_equals = true, value_delimiter = ',')]
    pub pcap: Option<Vec<String>>,
    /// Of a specification: also write what happens to each cell, a line each
    #[arg(long, value_name = "FILE")]
    pub cell_trace: Option<PathBuf>,
    /// How to read captures
    #[command(flatten)]
    pub capture: Capture,
    /// How to answer
    #[command(flatten)]
    pub form: Form,
}

impl Run {
    /// Values that replace those of the experiment.
    pub fn overrides(&self) -> Overrides {
        Overrides {
            rate: self.rate.clone(),
            delay: self.delay.clone(),
            queue: self.queue.clone(),
            wait_min: self.wait_min.clone(),
            wait_correct: self.wait_correct.map(Into::into),
            duration: self.duration.clone(),
            seeds: self.seeds.clone(),
        }
    }
}

/// What is taken off a measured wait before it is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CorrectionChoice {
    /// Nothing
    None,
    /// The minimum transit between the monitor and the side that answered
    Ostt,
}

impl From<CorrectionChoice> for experiment::Correction {
    fn from(choice: CorrectionChoice) -> experiment::Correction {
        match choice {
            CorrectionChoice::None => experiment::Correction::None,
            CorrectionChoice::Ostt => experiment::Correction::Ostt,
        }
    }
}

/// `flowloom report`
#[derive(Debug, Args)]
pub struct Report {
    /// Run folders
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// The file to write
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
    /// Open it in the browser
    #[arg(long)]
    pub open: bool,
}

/// `flowloom schema`
#[derive(Debug, Args)]
pub struct Schema {
    /// Of which answer or event; all their names without one
    #[arg(value_name = "ANSWER")]
    pub answer: Option<String>,
}

/// `flowloom doctor`
#[derive(Debug, Args)]
pub struct Doctor {
    /// Print one JSON object on standard output
    #[arg(long)]
    pub json: bool,
    /// End worker processes that lost their run, and say what was done
    #[arg(long)]
    pub clean: bool,
    /// With --clean: remove the folders in this one that runs left unfinished
    #[arg(long, value_name = "FOLDER", requires = "clean")]
    pub runs: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Error, error::ErrorKind};

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
    fn sizes_of_memory_have_a_unit_and_a_least_value() {
        assert_eq!("2gb".parse(), Ok(Memory(2_000_000_000)));
        assert_eq!("0.5gb".parse(), Ok(Memory(500_000_000)));
        for bad in ["2", "gb", "-1gb", "1mb", "2gib", "nangb", "1e400gb"] {
            assert!(bad.parse::<Memory>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_defaults_are_those_of_the_library() {
        let cli = Cli::try_parse_from(["flowloom", "describe", "c.pcap"]).unwrap();
        let Command::Describe(Describe { capture, .. }) = cli.command else { panic!("{:?}", cli.command) };
        assert_eq!(capture.options(), CaptureOptions::default());
    }
}
