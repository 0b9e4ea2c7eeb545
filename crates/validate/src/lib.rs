//! Checks of the simulator, of statistics and of the reference workloads against what is published: `make validate`, and quick forms of the same in
//! `cargo test`.
//!
//! | file | holds |
//! |---|---|
//! | `check` | rows: published value, ours, tolerance, verdict |
//! | `table` | rows as `docs/evidence/validation.md` and `docs/evidence/references.md` |
//! | `transcripts`, `conformance` | TCP as RFCs have it, packet by packet |
//! | `queueing` | one link under open load |
//! | `cell_queue` | phase-modulated cells: formulas beside the queue |
//! | `satellite` | TCP on long fat pipes beside arithmetic |
//! | `lab` | flows over one link, without the rest of the simulator |
//! | `profiles` | the TCPs that laws of flows are checked with |
//! | `slow_start`, `buffers`, `loss_response`, `cubic` | laws of flows |
//! | `spurious` | timeouts without a loss |
//! | `aqm`, `control`, `sharing` | laws of queue disciplines |
//! | `long_flows` | flows of half a minute and more over every queue |
//! | `marks`, `dctcp`, `delay` | laws of flows that heed marks, or delay and rate: ECN; DCTCP; Vegas, BBR |
//! | `closed_loop` | replays beside the programs that they are of, over networks that change |
//! | `first_flight` | first-flight windows and acknowledgement policies found at a monitor, beside the true ones |
//! | `rates` | rates of senders that hold back, and what only looks like one |
//! | `reads` | pauses of programs that do not read, and what only looks like one |
//! | `metamorphic` | what must not change |
//! | `dependence` | estimates of the Hurst parameter |
//! | `efficiency`, `lengths` | datagrams in cells; the histogram of lengths that a linear programme finds |
//! | `draws` | what intervals over the seeds of a capture are worth |
//! | `selection` | what a sweep's decision for the best variant is worth, and its intervals |
//! | `verdicts` | what verdicts of `compare` are worth: false ones, and differences found |
//! | `transit_times` | transit times above the minimum: their distribution, and delays before the monitor |
//! | `writes` | pauses of programs inside data units, and what only looks like one |
//! | `losses` | SYNs that are sent again, and losses at their places |
//! | `multiplexing`, `reproduction` | the study of virtual circuits of 1992; as `docs/evidence/reproductions/caceres-1992.md` |
//! | `aikat` | the study of structure, round-trip times and windows of 2010, as `docs/evidence/reproductions/aikat-2010.md` |
//! | `parity` | the simulator beside the kernel, cell by cell |
//! | `references` | the workloads `campus-2008` and `enterprise-2006` |

#![forbid(unsafe_code)]

mod aqm;
mod buffers;
mod cell_queue;
mod closed_loop;
mod conformance;
mod control;
mod cubic;
mod dctcp;
mod delay;
mod dependence;
mod draws;
mod efficiency;
mod figure;
mod first_flight;
mod lab;
mod long_flows;
mod loss_response;
mod losses;
mod marks;
mod metamorphic;
pub mod multiplexing;
mod profiles;
mod queueing;
mod rates;
mod reads;
mod references;
mod sawtooth;
mod selection;
mod sharing;
mod slow_start;
mod sojourn;
mod spurious;
mod transit_times;
mod verdicts;
mod writes;

pub mod aikat;
pub mod check;
pub mod lengths;
pub mod parity;
pub mod reproduction;
pub mod satellite;
pub mod table;
pub mod transcripts;

use check::{Effort, Row};

/// The group of checks of the reference workloads, which have a page of their own.
pub const REFERENCES: &str = "references";

/// The names of all groups of checks of the simulator and of statistics, for selecting some.
pub const GROUPS: [&str; 29] = [
    "transcripts",
    "queueing",
    "sojourn",
    "slow-start",
    "buffers",
    "loss-response",
    "cubic",
    "spurious",
    "marks",
    "delay",
    "aqm",
    "long-flows",
    "metamorphic",
    "dependence",
    "efficiency",
    "verdicts",
    "selection",
    "draws",
    "writes",
    "rates",
    "reads",
    "cell-queue",
    "satellite",
    "multiplexing",
    "structure",
    "first-flight",
    "losses",
    "transit-times",
    "closed-loop",
];

/// The rows of one of [`GROUPS`], or of [`REFERENCES`]; none of another name.
pub fn rows(group: &str, effort: Effort) -> Vec<Row> {
    match group {
        "transcripts" => conformance::rows(),
        "queueing" => queueing::rows(effort),
        "sojourn" => sojourn::rows(effort),
        "slow-start" => slow_start::rows(),
        "buffers" => buffers::rows(effort),
        "loss-response" => loss_response::rows(effort),
        "cubic" => cubic::rows(effort),
        "spurious" => spurious::rows(effort),
        "marks" => marks::rows(effort),
        "delay" => delay::rows(effort),
        "aqm" => [aqm::rows(effort), control::rows(effort), sharing::rows()].concat(),
        "long-flows" => long_flows::rows(effort),
        "metamorphic" => metamorphic::rows(effort),
        "dependence" => dependence::rows(effort),
        "efficiency" => efficiency::rows(),
        "verdicts" => verdicts::rows(effort),
        "selection" => selection::rows(effort),
        "draws" => draws::rows(effort),
        "writes" => writes::rows(effort),
        "rates" => rates::rows(effort),
        "reads" => reads::rows(effort),
        "cell-queue" => cell_queue::rows(effort),
        "satellite" => satellite::rows(effort),
        "multiplexing" => multiplexing::rows(effort),
        "structure" => aikat::rows(effort),
        "first-flight" => first_flight::rows(effort),
        "losses" => losses::rows(effort),
        "transit-times" => transit_times::rows(effort),
        "closed-loop" => closed_loop::rows(effort),
        REFERENCES => references::rows(effort),
        _ => Vec::new(),
    }
}
