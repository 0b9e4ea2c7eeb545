//! Flowloom as a library: captures into workloads, workloads through networks, and what became of them.
//!
//! This crate is the front door: the command line, and every other client, goes through it. Work takes a [`Context`], which
//! says where its events go and what stops it; it prints nothing and reads no global state. What goes wrong is an [`Error`]
//! with its parts as fields, what is doubtful a [`Warning`].
//!
//! | module | holds |
//! |---|---|
//! | `context` | observers, events, progress, the stop token |
//! | `error`, `warning`, `finding` | what goes wrong, what is doubtful |
//! | `experiment` | experiment files: `keys` has the whole, a file each the larger tables; `schema` checks keys, `set` changes one, `diagnosis` finds where an error is |
//! | `input` | what a path holds |
//! | `extract`, `rotate`, `extraction` | captures into workload files; an interface into one after another; threads, memory and what was learnt beside the vectors |
//! | `workload` | any input as vectors (`load`), workloads drawn or changed (`generation`), a run's workload on disk (`source`), addresses (`hosts`) |
//! | `init` | a commented experiment to begin with |
//! | `make`, `convert` | the workload of an experiment; one form into another |
//! | `run` | from an experiment to complete run folders; it lists its files in the order of a run |
//! | `targets` | outputs: what may be written where |
//! | `sweep` | one experiment in many variants, and which is best |
//! | `results`, `compare`, `rules` | run folders read again, reports; comparisons; `compare --check` |
//! | `plot` | pictures of runs and sweeps for papers and slides |
//! | `explain` | what each cause is worth that a replay can leave out |
//! | `describe`, `fit`, `overhead` | the characteristics of traffic; distributions and models; what framings cost |
//! | `capacity` | what this host can do in live runs: measured, kept, compared with what a run needs |
//! | `calibrate`, `rates`, `queue_model`, `vcsim` | rates for a load; rates over time; cells at a queue; internetworks of circuits |
//! | `monitor`, `metrics` | counters of links over months; the present state of long work as Prometheus text |
//! | `store::running` | runs while they go on, for other processes |
//! | `verify` | workloads, run folders and stores of monitors read to their end |
//! | `view` | folders of monitors, runs and sweeps: questions over HTTP, answered |
//! | `json` | the version of answers |
//! | `lab_watch` | a script over the agents of a lab while it runs, for those who watch |
//! | `observation` | what is said first of runs and scripts to those who watch them |
//! | `clock`, `parallel` | wall time, the only clock here; work on several threads |

#![forbid(unsafe_code)]

mod bits;
mod calibrate;
pub mod capacity;
mod clock;
mod compare;
mod contents;
mod context;
mod convert;
mod describe;
mod error;
pub mod experiment;
mod explain;
mod extract;
mod extraction;
mod finding;
mod fit;
mod init;
pub mod input;
pub mod json;
mod lab_watch;
mod make;
mod metrics;
mod monitor;
mod observation;
mod overhead;
mod parallel;
mod plot;
mod queue_model;
mod rates;
pub mod results;
mod rotate;
pub mod rules;
pub mod run;
mod sweep;
pub mod targets;
mod vcsim;
pub mod verify;
pub mod view;
mod warning;
pub mod workload;

/// Times; rates, sizes and limits.
pub use flowloom_core::extract::Missing;
pub use flowloom_core::{time, units};
pub use flowloom_store::capture::Truncation;
/// Runs while they go on: what they say of themselves, and how they are stopped.
pub use flowloom_store::running::{Observation, may_request_stop, observe, request_stop, running_in};
/// What is in the name of a file or folder while it is unfinished.
pub use flowloom_store::staged::UNFINISHED;
/// The crates below: for clients that show more of results, or drive more of the lab, than these functions do.
pub use {
    flowloom_core as core, flowloom_lab as lab, flowloom_live as live, flowloom_models as models,
    flowloom_monitor as monitoring, flowloom_report as report, flowloom_sim as sim, flowloom_store as store,
};

pub use calibrate::{CalibrateOptions, Calibrated, calibrate};
pub use capacity::{CapacityOptions, MeasuredCapacity, measure_capacity};
pub use clock::Stopwatch;
pub use compare::{Compared, beside_each_other, compare};
pub use contents::Contents;
pub use context::{Context, Event, Observer, Silent, Step, Stop, Unit};
pub use convert::{Conversion, Converted, convert};
pub use describe::{DescribeOptions, Description, RunDescription, describe, describe_run};
pub use error::{Error, ErrorKind, KeyError, Place, decoded, nearest};
pub use experiment::Experiment;
pub use explain::{explain, write_explanation};
pub use extract::{ExtractOptions, Packets, check_output, extract};
pub use extraction::{
    ACTIVE_TIMEOUT, CaptureOptions, Extracted, IDLE_TIMEOUT, LiveCapture, MAX_MEMORY, Monitor, Summary,
    UDP_IDLE_TIMEOUT,
};
pub use finding::{FlowFinding, Lost, NotModelled, PhaseFinding};
pub use fit::{FittedHarpoon, FittedSwing, HarpoonFitOptions, SwingFitOptions, fit, fit_harpoon, fit_swing};
pub use init::{InitOptions, init};
pub use lab_watch::{BlockState, Blocks, ScriptWatch};
pub use make::{MakeOptions, make};
pub use monitor::{
    CheckedPort, CheckedTarget, ConnectionChange, History, HistoryOptions, MonitorChecked, MonitorOptions, Period,
    Registered, StoredRates, check_monitor, history, history_csv, history_rates, monitor, monitored_series,
    registry_page, registry_schema,
};
pub use overhead::{Datagrams, OverheadOptions, overhead};
pub use plot::{PlotOptions, Plotted, plot, plot_offers};
pub use queue_model::{Boundaries, QueueAnswer, QueueModelOptions, queue_model, queue_text};
pub use rates::RateOptions;
pub use rotate::{Rotated, Rotation, extract_rotating};
pub use run::{Driver, Needs, Ran, RunOptions, plan, plan_files, run, run_files};
pub use sweep::{Budget, RESULTS_VERSION, SweepOptions, SweepPlan, Swept, plan_sweep, sweep};
pub use vcsim::{Nodes, SpecificationFinding, VcsimOptions, VcsimResults, run_vcsim};
pub use warning::Warning;
pub use workload::{HostChoice, HostOptions, Made, load_json};
