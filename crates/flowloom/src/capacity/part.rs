//! The part of a live run that failed first: by the checks that failed, by how busy each part was, and by what was dropped where.

use flowloom_live::Observed;
use flowloom_report::Accounted;
use flowloom_report::gates::Gate;
use serde::{Deserialize, Serialize};

/// A part of a live run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The worker processes that open connections and send datagrams.
    Initiators,
    /// The worker processes that accept connections and receive datagrams.
    Acceptors,
    /// The thread that reads packets, decides about them and hands them on.
    Emulator,
    /// The threads that take in what the monitor recorded, and write it.
    Monitor,
}

impl Part {
    /// In words: `the emulator fails`.
    pub const fn fails(self) -> &'static str {
        match self {
            Part::Initiators => "the initiators fail",
            Part::Acceptors => "the acceptors fail",
            Part::Emulator => "the emulator fails",
            Part::Monitor => "the monitor fails",
        }
    }

    /// What it is called in answers: `emulator`.
    pub const fn name(self) -> &'static str {
        match self {
            Part::Initiators => "initiators",
            Part::Acceptors => "acceptors",
            Part::Emulator => "emulator",
            Part::Monitor => "monitor",
        }
    }

    const ALL: [Part; 4] = [Part::Initiators, Part::Acceptors, Part::Emulator, Part::Monitor];
}

/// What was observed of the parts. Initiators and senders are on the left in all loads.
#[derive(Clone, Copy, Debug, Default)]
pub struct Observations {
    /// CPU time of each part as a share of the run, for each of its threads or processes.
    pub busy: [f64; 4],
    /// Share of the host's cores that was busy with other work.
    pub other: f64,
    /// 99 % of the waits of initiators and of acceptors were kept within this, in nanoseconds.
    pub waits_late: [u64; 2],
    /// Datagrams that sockets dropped, and packets that devices did.
    pub dropped: [u64; 2],
}

impl From<&Observed> for Observations {
    fn from(observed: &Observed) -> Observations {
        let [left, right] = &observed.sides;
        let length = observed.length.as_secs_f64().max(1e-3);
        let workers = f64::from(observed.workers.max(1));
        let sockets = left.datagram_drops + right.datagram_drops;
        let cores = std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64);
        let own = left.cpu + right.cpu + observed.cpu[0] + observed.recording_cpu;
        Observations {
            busy: [
                left.cpu.as_secs_f64() / length / workers,
                right.cpu.as_secs_f64() / length / workers,
                observed.cpu[0].as_secs_f64() / length,
                observed.recording_cpu.as_secs_f64() / length,
            ],
            other: (observed.usage.busy() - own.as_secs_f64() / length / cores).max(0.0),
            waits_late: [&left.waits, &right.waits].map(|waits| waits.quantile(0.99).as_nanos()),
            dropped: [sockets, observed.device_drops.saturating_sub(sockets)],
        }
    }
}

/// What failed in a run with these gates; `None` if all of it is VALID.
pub fn failure(gates: &[Gate], observed: &Observations) -> Option<Failure> {
    let worst = Accounted::of(gates);
    if worst == Accounted::Valid {
        return None;
    }
    let failed: Vec<&Gate> = gates.iter().filter(|gate| gate.verdict == worst).collect();
    let parts = failed.iter().filter_map(|gate| part(gate.name, observed));
    // Where several fail because the host has no time left, it is the busiest that takes it.
    let part = parts.max_by(|one, other| observed.busy[*one as usize].total_cmp(&observed.busy[*other as usize]));
    let why: Vec<String> = failed.iter().map(|gate| format!("{}: {}", gate.name, gate.found)).collect();
    Some(Failure { part, why: format!("{}; {}", why.join("; "), busy_words(observed)) })
}

/// A run that is VALID and had less than was asked for: the busiest part kept it from more.
pub fn too_little(asked: &str, reached: &str, observed: &Observations) -> Failure {
    let busiest =
        |one: &&Part, other: &&Part| observed.busy[**one as usize].total_cmp(&observed.busy[**other as usize]);
    let part = Part::ALL.iter().max_by(busiest).copied();
    Failure { part, why: format!("{reached} of {asked}; {}", busy_words(observed)) }
}

fn busy_words(observed: &Observations) -> String {
    let busy = Part::ALL.map(|part| format!("{} {:.0} %", part.name(), 100.0 * observed.busy[part as usize]));
    format!("busy: {}; other work took {:.0} % of the host", busy.join(", "), 100.0 * observed.other)
}

/// The part that a gate is about, by its name in `flowloom_report::gates`.
fn part(gate: &str, observed: &Observations) -> Option<Part> {
    let [sockets, devices] = observed.dropped;
    let busy = |part: Part| observed.busy[part as usize];
    match gate {
        // Both share the cores, and the monitor makes more work than it is given time for.
        "packets handed on in time" if busy(Part::Monitor) > busy(Part::Emulator) => Some(Part::Monitor),
        "packets handed on in time" => Some(Part::Emulator),
        "connections started in time" | "starts achieved" => Some(Part::Initiators),
        "waits kept" if observed.waits_late[1] > observed.waits_late[0] => Some(Part::Acceptors),
        "waits kept" => Some(Part::Initiators),
        "no drop outside the model" if sockets > devices => Some(Part::Acceptors),
        "no drop outside the model" => Some(Part::Emulator),
        "listeners kept up" => Some(Part::Acceptors),
        _ => None,
    }
}

/// What failed in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The part that failed first, if that is known.
    pub part: Option<Part>,
    /// What failed, in words.
    pub why: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(name: &'static str, verdict: Accounted) -> Gate {
        Gate { name, verdict, found: "found".to_owned(), wanted: "wanted" }
    }

    fn failed(gates: &[(&'static str, Accounted)], observed: &Observations) -> Option<Part> {
        let gates: Vec<Gate> = gates.iter().map(|(name, verdict)| gate(name, *verdict)).collect();
        failure(&gates, observed).unwrap().part
    }

    #[test]
    fn the_worst_check_decides_and_then_the_busiest_part() {
        use Accounted::{Degraded, Invalid, Valid};
        let busy = Observations { busy: [0.3, 0.2, 0.9, 0.4], ..Observations::default() };
        let [packets, starts] = ["packets handed on in time", "connections started in time"];
        assert_eq!(failed(&[(packets, Degraded), (starts, Degraded)], &busy), Some(Part::Emulator));
        assert_eq!(failed(&[(packets, Degraded), (starts, Invalid)], &busy), Some(Part::Initiators));
        let recording = Observations { busy: [0.3, 0.2, 0.5, 0.8], ..busy };
        assert_eq!(failed(&[(packets, Invalid)], &recording), Some(Part::Monitor));
        let late = Observations { waits_late: [1, 2], ..busy };
        assert_eq!(failed(&[("waits kept", Degraded)], &late), Some(Part::Acceptors));
        let sockets = Observations { dropped: [5, 0], ..busy };
        assert_eq!(failed(&[("no drop outside the model", Invalid)], &sockets), Some(Part::Acceptors));
        assert_eq!(failed(&[("original read to its end", Degraded)], &busy), None);
        assert_eq!(failure(&[gate(packets, Valid)], &busy), None);
        let failure = failure(&[gate(packets, Invalid)], &busy).unwrap();
        assert_eq!(
            failure.why,
            "packets handed on in time: found; busy: initiators 30 %, acceptors 20 %, emulator 90 %, monitor 40 %; other work took 0 % of the host"
        );
        assert_eq!(too_little("100 Mbit/s", "50 Mbit/s", &busy).part, Some(Part::Emulator));
    }

    #[test]
    fn every_check_with_a_part_is_one_of_the_report() {
        let report = include_str!("../../../report/src/gates.rs");
        for name in [
            "packets handed on in time",
            "connections started in time",
            "starts achieved",
            "waits kept",
            "no drop outside the model",
            "listeners kept up",
        ] {
            assert!(part(name, &Observations::default()).is_some(), "{name}");
            assert!(report.contains(&format!("\"{name}\"")), "{name}");
        }
    }
}
