//! How an experiment is run, beside what the experiment says.

use std::net::SocketAddr;
use std::path::PathBuf;

use flowloom_live::guests::Guest;
use flowloom_monitor::PushOptions;
use flowloom_sim::events::Implementation;

use crate::experiment::Setting;
use crate::extraction::CaptureOptions;

/// Where a run happens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Driver {
    /// The packet simulator.
    #[default]
    Sim,
    /// The kernel's TCP, in network namespaces on this host, in real time.
    Live,
    /// The kernel's TCP on the hosts that this file names.
    Lab(PathBuf),
}

impl Driver {
    /// What `run.json` calls it.
    pub const fn name(&self) -> &'static str {
        match self {
            Driver::Sim => "sim",
            Driver::Live => "live",
            Driver::Lab(_) => "lab",
        }
    }
}

impl std::str::FromStr for Driver {
    type Err = String;

    fn from_str(text: &str) -> Result<Driver, String> {
        match (text, text.strip_prefix("lab:")) {
            ("sim", _) => Ok(Driver::Sim),
            ("live", _) => Ok(Driver::Live),
            (_, Some(file)) if !file.is_empty() => Ok(Driver::Lab(file.into())),
            _ => Err("write sim, live, or lab:HOSTS.toml".to_owned()),
        }
    }
}

/// How an experiment is run, beside what the experiment says.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// The run folder to write; `None`: `runs/NAME-DATE-TIME`.
    pub target: Option<PathBuf>,
    /// Replace the run folder if it exists.
    pub replace: bool,
    /// Where to run.
    pub on: Driver,
    /// The folder of a controller, for [`Driver::Lab`].
    pub lab: PathBuf,
    /// The `flowloom` command, which [`Driver::Live`] starts as its workers.
    pub program: PathBuf,
    /// Programs of the user's inside the sides of a live run; the run ends with the one that it is there for.
    pub guests: Vec<Guest>,
    /// Values that replace those of the experiment.
    pub settings: Vec<Setting>,
    /// How many threads may be busy at once: seeds run side by side. `None`: as many as there are cores.
    pub jobs: Option<u16>,
    /// The simulator's event queue; results are the same with either.
    pub events: Implementation,
    /// Names of the links whose packets are captured; an empty list is the bottleneck.
    pub pcap: Option<Vec<String>>,
    /// The folder in which Flowloom keeps what it measured of this host, for plans of live runs; `None`: nothing is known of the host.
    pub cache: Option<PathBuf>,
    /// Where the present state is served as Prometheus text; `None` for nowhere.
    pub metrics: Option<SocketAddr>,
    /// Where it is pushed to; `None` for nowhere.
    pub push: Option<PushOptions>,
    /// How captures are read.
    pub capture: CaptureOptions,
}

impl RunOptions {
    /// A simulation whose results go to the run folder `target`, which does not exist.
    pub fn to(target: impl Into<PathBuf>) -> RunOptions {
        RunOptions { target: Some(target.into()), ..RunOptions::default() }
    }
}
