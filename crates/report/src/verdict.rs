//! Whether a run can be believed, why, and what to do about it.

use std::fmt;

use serde::Serialize;

use flowloom_core::time::{Duration, Time};
use flowloom_core::units::three_digits;
use flowloom_store::run_folder::Point;

use crate::facts::{ClassFacts, Late, LiveFacts};
use crate::metric::{Metric, Unit};
use crate::plausibility::Plausibility;
use crate::run::Run;
use crate::text::{counted, thousands};

/// Whether the result can be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// Every gate passed.
    Valid,
    /// Usable, with a reservation that the gates name.
    Degraded,
    /// Not a measurement of what was asked for.
    Invalid,
}

impl Verdict {
    /// The worst that a gate says.
    pub fn of(gates: &[Gate]) -> Verdict {
        gates.iter().map(|gate| gate.verdict).max().unwrap_or(Verdict::Invalid)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Valid => "VALID",
            Verdict::Degraded => "DEGRADED",
            Verdict::Invalid => "INVALID",
        })
    }
}

/// One thing that was checked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gate {
    /// What.
    pub name: &'static str,
    /// What it allows of the verdict.
    pub verdict: Verdict,
    /// What was found.
    pub found: String,
    /// What would pass.
    pub wanted: &'static str,
}

/// More than this share of unfinished connections leaves out so many of the longest that the tail is biased.
const UNFINISHED_SHARE: f64 = 0.01;

/// What was checked of `run`.
pub fn gates(run: &Run) -> Vec<Gate> {
    let measured = &run.measurements;
    let outcomes = measured.outcomes;
    let started = outcomes.started();
    let ended = outcomes.completed + outcomes.reset;
    let connections = run.connections();
    let share = connections.unfinished as f64 / started.max(1) as f64;
    let unaccounted = measured.unaccounted_packets();
    let missing = measured.payload_bytes.saturating_sub(measured.delivered_bytes);
    // Packets may wait in the queue only when the run was cut off with work left.
    let sum = |count: fn(&ClassFacts) -> u64| run.facts.sources().map(count).sum::<u64>();
    let (sources, received) = (sum(|source| source.started), sum(|source| source.to_acceptors_bytes));
    // A live run without a workload is there for programs of the user's.
    let guests = if run.facts.live.is_some() { measured.carried_packets.iter().sum::<u64>() } else { 0 };
    let is_cut = outcomes.unfinished + sum(|source| source.unfinished) > 0 || run.facts.interrupted;
    // Nobody waits for the last datagrams of a flow: those that were neither received nor dropped may be in the queue.
    let gone = sum(|source| source.received_datagrams) + measured.dropped_datagrams;
    let datagrams = sum(|source| source.sent_datagrams).saturating_sub(gone);
    let may_wait = is_cut || i64::try_from(datagrams).is_ok_and(|datagrams| unaccounted <= datagrams);
    [
        Gate {
            name: "something happened",
            verdict: if ended > 0 || (started == 0 && received + guests > 0) {
                Verdict::Valid
            } else {
                Verdict::Invalid
            },
            found: match (started, sources) {
                (0, 0) if guests > 0 => format!("{} of other programs", counted(guests, "packet")),
                (0, 1..) => {
                    format!("{} of sources delivered {}", counted(sources, "flow"), Unit::Bytes.show(received as f64))
                }
                _ => format!("{} of {} connections ended", thousands(ended), thousands(started)),
            },
            wanted: "at least one",
        },
        Gate {
            name: "packets accounted for",
            verdict: if unaccounted == 0 || (may_wait && unaccounted > 0) { Verdict::Valid } else { Verdict::Invalid },
            found: match unaccounted {
                0 => "sent = delivered + dropped".to_owned(),
                1.. if may_wait => format!("{unaccounted} packets were in the queue when the run ended"),
                _ => format!("sent - delivered - dropped = {unaccounted} packets"),
            },
            wanted: "sent = delivered + dropped + queued",
        },
        Gate {
            name: "payload delivered",
            verdict: if missing == 0 || outcomes.completed < started { Verdict::Valid } else { Verdict::Invalid },
            found: if missing == 0 {
                "every byte arrived".to_owned()
            } else {
                format!(
                    "{missing} bytes did not arrive; {} connections were reset or unfinished",
                    started - outcomes.completed
                )
            },
            wanted: "every byte of every completed connection",
        },
        Gate {
            name: "connections finished",
            verdict: if share <= UNFINISHED_SHARE { Verdict::Valid } else { Verdict::Degraded },
            found: match (connections.unfinished, connections.cut) {
                (0, 0) => "none unfinished".to_owned(),
                (0, cut) => format!("none unfinished, {cut} cut by the end of the experiment"),
                (n, 0) => format!("{n} unfinished ({} %)", three_digits(share * 100.0)),
                (n, cut) => format!(
                    "{n} unfinished ({} %), {cut} cut by the end of the experiment",
                    three_digits(share * 100.0)
                ),
            },
            wanted: "at most 1 % unfinished",
        },
        Gate {
            name: "ran to its end",
            verdict: match (run.facts.disk_full, run.facts.interrupted) {
                (true, _) => Verdict::Invalid,
                (false, true) => Verdict::Degraded,
                (false, false) => Verdict::Valid,
            },
            found: match (run.facts.disk_full, run.facts.interrupted) {
                (true, _) => "cut short: the disk is full",
                (false, true) => "interrupted",
                (false, false) => "yes",
            }
            .to_owned(),
            wanted: "neither interrupted nor cut by a full disk",
        },
    ]
    .into_iter()
    .chain(run.facts.live.iter().flat_map(live_gates))
    .collect()
}

/// Nanoseconds. A live run in which something was later than the first had a stall, which few packets show, since closed loops wait
/// for it: it is not VALID; later than the second, INVALID.
const STALL: [u64; 2] = [100_000_000, 500_000_000];

/// Whether the host kept up with a live run.
fn live_gates(live: &LiveFacts) -> Vec<Gate> {
    let late = |name, late: &Late, wanted, [valid, degraded]: [u64; 2]| Gate {
        name,
        verdict: match (late.p99, late.max) {
            (p99, max) if p99 <= valid && max <= STALL[0] => Verdict::Valid,
            (p99, max) if p99 <= degraded && max <= STALL[1] => Verdict::Degraded,
            _ => Verdict::Invalid,
        },
        found: format!(
            "median {}, 99 % within {}, longest {}",
            Unit::Time.show(late.p50 as f64),
            Unit::Time.show(late.p99 as f64),
            Unit::Time.show(late.max as f64)
        ),
        wanted,
    };
    let none = |name, count: u64, what: &str, wanted| Gate {
        name,
        verdict: if count == 0 { Verdict::Valid } else { Verdict::Invalid },
        found: if count == 0 { "none".to_owned() } else { counted(count, what) },
        wanted,
    };
    let missed = live.scheduled_connections - live.started_connections.min(live.scheduled_connections);
    vec![
        late(
            "packets handed on in time",
            &live.releases,
            "99 % within 0.5 ms, all within 0.1 s; with reservation 2 ms, 0.5 s",
            [500_000, 2_000_000],
        ),
        late(
            "connections started in time",
            &live.starts,
            "99 % within 1 ms, all within 0.1 s; with reservation 10 ms, 0.5 s",
            [1_000_000, 10_000_000],
        ),
        late(
            "waits kept",
            &live.waits,
            "99 % within 1 ms, all within 0.1 s; with reservation 10 ms, 0.5 s",
            [1_000_000, 10_000_000],
        ),
        Gate {
            name: "starts achieved",
            verdict: match missed as f64 / live.scheduled_connections.max(1) as f64 {
                0.0 => Verdict::Valid,
                share if share <= UNFINISHED_SHARE => Verdict::Degraded,
                _ => Verdict::Invalid,
            },
            found: format!(
                "{} of {}",
                thousands(live.started_connections),
                counted(live.scheduled_connections, "connection")
            ),
            wanted: "all that were scheduled; with reservation 99 %",
        },
        none("no drop outside the model", live.device_dropped_packets, "packet", "no packet dropped by devices"),
        none(
            "listeners kept up",
            live.listen_dropped_connections,
            "connection",
            "no connection refused for lack of room",
        ),
        Gate {
            name: "nothing broke",
            verdict: if live.problems.is_empty() { Verdict::Valid } else { Verdict::Invalid },
            found: if live.problems.is_empty() { "nothing".to_owned() } else { live.problems.join("; ") },
            wanted: "no worker lost, no device gone",
        },
    ]
}

/// What the user should know about a run: a cause and, where there is one, a remedy.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Warning {
    /// No connection ended.
    NothingEnded {
        /// Connections that started.
        started: u64,
    },
    /// Packets disappeared without a record, or appeared.
    Unaccounted {
        /// Sent - delivered - dropped.
        packets: i64,
    },
    /// Connections were cut by the end of the run.
    Unfinished {
        /// How many.
        connections: u64,
        /// Of all.
        share: f64,
    },
    /// Somebody stopped the run.
    Interrupted {
        /// The beginning of what was measured.
        start_ns: u64,
        /// Its end; a nanosecond later where the run was stopped before the window.
        end_ns: u64,
    },
    /// Load changed over the window (methods A.11: thirds more than 5 % apart).
    NotStationary {
        /// Mean throughput of each third relative to the whole.
        thirds: [f64; 3],
    },
    /// Connections lost packets in the original, which the replay does not repeat (methods M.7).
    LossInOriginal {
        /// How many.
        connections: u64,
        /// Of all.
        share: f64,
    },
    /// Connections whose durations cannot be compared, because one world did not see their close (methods M.4).
    CloseNotSeen {
        /// How many.
        connections: u64,
        /// Of all.
        share: f64,
    },
    /// Mean windows are far from what losses allow (`docs/guide/plausibility.md`).
    ImplausibleWindows {
        /// How many.
        flows: u64,
        /// Of so many that were judged.
        judged_flows: u64,
        /// The farthest of them, in words.
        farthest: String,
    },
    /// More TCP packets were dropped than closed loops let happen.
    ImplausibleLoss {
        /// Whose.
        class: String,
        /// The side that they come from.
        from_side: &'static str,
        /// Of all of them.
        share: f64,
        /// Where most of them were dropped; `None`: by a loss model.
        link: Option<String>,
    },
    /// More was sent again than closed loops let happen.
    ImplausibleRetransmissions {
        /// By whom.
        class: String,
        /// Of all data packets.
        share: f64,
    },
    /// Something is as the kernel of a live run has it.
    Kernel {
        /// In words.
        text: String,
    },
    /// Said by what made the run.
    Other {
        /// In words.
        text: String,
    },
}

/// Shares from which a loss or an unseen close is worth a warning.
const NOTABLE_SHARE: f64 = 0.05;

/// What the user should know about `run`.
pub fn warnings(run: &Run, gates: &[Gate]) -> Vec<Warning> {
    let measured = &run.measurements;
    let outcomes = measured.outcomes;
    let started = outcomes.started();
    let share = |count: u64| count as f64 / started.max(1) as f64;
    let mut warnings = Vec::new();
    if gates.iter().any(|gate| gate.name == "something happened" && gate.verdict == Verdict::Invalid) {
        warnings.push(Warning::NothingEnded { started });
    }
    if gates.iter().any(|gate| gate.name == "packets accounted for" && gate.verdict == Verdict::Invalid) {
        warnings.push(Warning::Unaccounted { packets: measured.unaccounted_packets() });
    }
    let unfinished = run.connections().unfinished;
    if share(unfinished) > UNFINISHED_SHARE {
        warnings.push(Warning::Unfinished { connections: unfinished, share: share(unfinished) });
    }
    if run.facts.interrupted {
        let [start_ns, end_ns] = [measured.window.0, measured.window.1].map(Time::as_nanos);
        warnings.push(Warning::Interrupted { start_ns, end_ns });
    }
    if measured.has_original && !run.facts.replays_losses && share(measured.lost_in_original) > NOTABLE_SHARE {
        let connections = measured.lost_in_original;
        warnings.push(Warning::LossInOriginal { connections, share: share(connections) });
    }
    let unseen = measured.endings.only_original + measured.endings.only_replay + measured.endings.neither;
    if measured.has_original && share(unseen) > NOTABLE_SHARE {
        warnings.push(Warning::CloseNotSeen { connections: unseen, share: share(unseen) });
    }
    if let Some(thirds) = uneven_thirds(run) {
        warnings.push(Warning::NotStationary { thirds });
    }
    warnings.extend(run.facts.plausibility.iter().flat_map(Plausibility::warnings));
    let notes = run.facts.live.iter().flat_map(|live| &live.notes);
    warnings.extend(notes.map(|text| Warning::Kernel { text: text.clone() }));
    warnings.extend(run.facts.warnings.iter().map(|text| Warning::Other { text: text.clone() }));
    warnings
}

/// The thirds' mean throughput relative to the whole, if they differ by more than 5 % (methods A.11).
fn uneven_thirds(run: &Run) -> Option<[f64; 3]> {
    let [left, right] = [Metric::ThroughputFromLeft, Metric::ThroughputFromRight]
        .map(|metric| run.measurements.series(metric, Point::Monitor));
    let bins = left.len().max(right.len());
    let total: Vec<f64> = (0..bins).map(|bin| left.get(bin).unwrap_or(&0.0) + right.get(bin).unwrap_or(&0.0)).collect();
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let whole = mean(&total);
    let third = bins / 3;
    if third == 0 || whole == 0.0 {
        return None;
    }
    let thirds = [&total[..third], &total[third..2 * third], &total[2 * third..]].map(|part| mean(part) / whole);
    let spread = thirds.iter().copied().fold(f64::MIN, f64::max) - thirds.iter().copied().fold(f64::MAX, f64::min);
    (spread > 0.05).then_some(thirds)
}

impl Warning {
    /// What is the matter.
    pub fn cause(&self) -> String {
        let percent = |share: &f64| format!("{} %", three_digits(share * 100.0));
        match self {
            Warning::NothingEnded { started: 0 } => "no connection started within the window".to_owned(),
            Warning::NothingEnded { started } => format!("none of {started} connections ended"),
            Warning::Unaccounted { packets } => {
                format!("sent, delivered and dropped packets do not add up: {packets} are unaccounted for")
            }
            Warning::Unfinished { connections, share } => format!(
                "{connections} connections ({}) were cut by the end of the run; they are the longest, so the tail of \
                 the durations is too short",
                percent(share)
            ),
            Warning::Interrupted { start_ns, end_ns } => {
                let [start, end] = [*start_ns, *end_ns].map(Duration::from_nanos);
                match end_ns.saturating_sub(*start_ns) {
                    _ if start.is_zero() => {
                        format!("the run was interrupted; results cover what had happened by then, in its first {end}")
                    }
                    0 | 1 => format!(
                        "the run was interrupted before the window that results are of, which begins at {start}"
                    ),
                    _ => format!(
                        "the run was interrupted; results cover what had happened by then, from {start} to {end} of it"
                    ),
                }
            }
            Warning::NotStationary { thirds } => format!(
                "the load is not steady: throughput of the three thirds is {} of the mean",
                thirds.map(|third| percent(&third)).join(", ")
            ),
            Warning::LossInOriginal { connections, share } => format!(
                "{connections} connections ({}) lost packets in the original, and the replay does not repeat the \
                 losses; they are reported apart",
                percent(share)
            ),
            Warning::CloseNotSeen { connections, share } => format!(
                "{connections} connections ({}) were not closed in both worlds; their durations are not compared",
                percent(share)
            ),
            Warning::ImplausibleWindows { flows, judged_flows, farthest } => format!(
                "implausible: {} of {} {} not keep the window that {} losses allow; {farthest}",
                thousands(*flows),
                counted(*judged_flows, "judged flow"),
                if *flows == 1 { "does" } else { "do" },
                if *flows == 1 { "its" } else { "their" }
            ),
            Warning::ImplausibleLoss { class, from_side, share, link } => format!(
                "implausible: {} of the TCP packets of {class} from the {from_side} were dropped, {}",
                percent(share),
                match link {
                    Some(link) => format!("most of them at the link {link}"),
                    None => "most of them by a loss model".to_owned(),
                }
            ),
            Warning::ImplausibleRetransmissions { class, share } => {
                format!("implausible: {} of the data packets of {class} were retransmissions", percent(share))
            }
            Warning::Kernel { text } | Warning::Other { text } => text.clone(),
        }
    }

    /// Whether it is only good to know: the report says it, the terminal does not.
    pub fn is_note(&self) -> bool {
        matches!(self, Warning::NotStationary { .. } | Warning::Kernel { .. })
    }

    /// What to do about it, where something can be done.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Warning::NothingEnded { .. } => {
                Some("run for longer (measure.duration), or check the workload's start times")
            }
            Warning::Unaccounted { .. } => Some("this is a defect in Flowloom: please report it with the run folder"),
            Warning::Unfinished { .. } => {
                Some("let the run drain for longer (measure.drain), or raise the link's rate")
            }
            Warning::Interrupted { .. } => Some("run it again to its end"),
            Warning::NotStationary { .. } => {
                Some("compare windows of steady load (measure.window) before quoting a load")
            }
            Warning::ImplausibleWindows { .. } => {
                Some("run the experiment both in the simulator and live (--on sim, --on live), and report a difference")
            }
            Warning::ImplausibleLoss { .. } | Warning::ImplausibleRetransmissions { .. } => {
                Some("check loss models, queue limits and the number of flows")
            }
            Warning::CloseNotSeen { .. } => Some("use a longer capture"),
            Warning::LossInOriginal { .. } | Warning::Kernel { .. } | Warning::Other { .. } => None,
        }
    }
}
