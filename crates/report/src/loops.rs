//! Which share of the original's bytes a run replays in a closed loop, which in an open one, and which it leaves out
//! (`docs/guide/trust.md`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use flowloom_core::time::Duration;
use flowloom_core::units::three_digits;
use flowloom_core::workload::{LinkSide, sum};
use flowloom_store::workload::{FlowFacts, TrafficFacts, WorkloadFacts};

use crate::facts::Facts;
use crate::metric::Unit;

/// What bytes are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Counted {
    /// Bytes of captured packets on the link: of TCP and UDP IP bytes + 14 (methods C.6), of others their length. Fragments count
    /// once their packet is complete, and never if it stays incomplete.
    #[default]
    Link,
    /// Payload of vectors, where nobody saw packets.
    Payload,
}

/// The bytes of an original by what a run does with them. `closed_bytes`, `open_bytes` and `left_out_bytes` add up to all that
/// was captured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Loops {
    /// What is counted.
    pub counted: Counted,
    /// TCP connections that are replayed: acknowledgements and the other end's answers release their bytes.
    pub closed_bytes: u64,
    /// Datagrams that are sent as they were seen, whatever becomes of them.
    pub open_bytes: u64,
    /// All others.
    pub left_out_bytes: u64,
    /// Those by reason: `datagrams` of flows that are not sent, `outside` of the run's window, `set_aside` connections and datagrams
    /// without payload, `other_packets` that are neither TCP nor UDP.
    pub left_out: BTreeMap<String, u64>,
}

/// What a run replays of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Scope {
    /// The part of the original's time that results are of: it begins here...
    pub start: Duration,
    /// ... and has this length.
    pub length: Duration,
    /// Datagrams are sent.
    pub datagrams: bool,
    /// Payload of the connections that begin in that time.
    pub payload_bytes: u64,
}

impl Loops {
    /// The bytes of a workload's original in a run of this scope.
    pub fn new(workload: &WorkloadFacts, scope: Scope) -> Loops {
        match workload.traffic == TrafficFacts::default() {
            true => Loops::of_payload(workload, scope),
            false => Loops::of_packets(workload, scope),
        }
    }

    fn of_packets(workload: &WorkloadFacts, scope: Scope) -> Loops {
        let WorkloadFacts { traffic, capture, .. } = workload;
        let end = scope.start + scope.length;
        // The last packet passes when the capture ends.
        let is_open = end >= Duration::from_nanos(capture.duration_ns);
        let (mut inside, mut all) = ([0; 2], [0; 3]);
        for side in [LinkSide::Left, LinkSide::Right] {
            let kinds = [&traffic.replayed, &traffic.datagrams, &traffic.set_aside];
            for (kind, series) in kinds.into_iter().map(|kind| kind.from(side)).enumerate() {
                all[kind] = sum([all[kind], series.total().bytes]);
                let within = series.bins().filter(|(bin, _)| {
                    let from = Duration::from_nanos(bin.saturating_mul(series.width().as_nanos()));
                    from >= scope.start && (is_open || from < end)
                });
                if let Some(inside) = inside.get_mut(kind) {
                    *inside = sum(within.map(|(_, traffic)| traffic.bytes).chain([*inside]));
                }
            }
        }
        let [closed, datagrams] = inside;
        let [all_closed, all_datagrams, set_aside] = all;
        // Datagrams that were not read from the capture are left out whatever the run asks for.
        let not_read = capture.set_aside_bytes.get("packets-udp").copied().unwrap_or(0);
        let (open, not_sent) =
            if scope.datagrams { (datagrams, not_read) } else { (0, sum([all_datagrams, not_read])) };
        let outside = sum([all_closed - closed, if scope.datagrams { all_datagrams - datagrams } else { 0 }]);
        // Those of doubled acceptors and complete fragments are TCP and UDP, which the series have; UDP that was not read is
        // counted above.
        let of_series = ["packets-doubled", "packets-ip-fragment", "packets-udp-fragment", "packets-udp"];
        let is_other = |name: &str| name.starts_with("packets-") && !of_series.contains(&name);
        let others = sum(capture.set_aside_bytes.iter().filter(|(name, _)| is_other(name)).map(|(_, bytes)| *bytes));
        let reasons =
            [("datagrams", not_sent), ("other_packets", others), ("outside", outside), ("set_aside", set_aside)];
        Loops::adding_up(Counted::Link, closed, open, &reasons)
    }

    fn of_payload(workload: &WorkloadFacts, scope: Scope) -> Loops {
        let capture = &workload.capture;
        let of_flows = |flows: &FlowFacts| sum([flows.payload_bytes.initiator, flows.payload_bytes.acceptor]);
        let datagrams = sum([of_flows(&capture.datagrams.udp), of_flows(&capture.datagrams.quic)]);
        let (open, not_sent) = if scope.datagrams { (datagrams, 0) } else { (0, datagrams) };
        let all = capture.payload.total().replayed;
        let closed = all.min(scope.payload_bytes);
        // Of other packets the length on the wire is known, and no payload.
        let has_payload = |name: &str| name.starts_with("connections-") || name == "packets-doubled";
        let set_aside = capture.set_aside_bytes.iter().filter(|(name, _)| has_payload(name));
        let set_aside = sum(set_aside.map(|(_, bytes)| *bytes));
        let reasons = [("datagrams", not_sent), ("outside", all - closed), ("set_aside", set_aside)];
        Loops::adding_up(Counted::Payload, closed, open, &reasons)
    }

    fn adding_up(counted: Counted, closed_bytes: u64, open_bytes: u64, left_out: &[(&str, u64)]) -> Loops {
        let left_out = left_out.iter().filter(|(_, bytes)| *bytes > 0);
        let left_out: BTreeMap<String, u64> = left_out.map(|(name, bytes)| ((*name).to_owned(), *bytes)).collect();
        Loops { counted, closed_bytes, open_bytes, left_out_bytes: sum(left_out.values().copied()), left_out }
    }

    /// Those of two runs together.
    fn plus(mut self, other: &Loops) -> Loops {
        let so_far = [
            (&mut self.closed_bytes, other.closed_bytes),
            (&mut self.open_bytes, other.open_bytes),
            (&mut self.left_out_bytes, other.left_out_bytes),
        ];
        so_far.into_iter().for_each(|(bytes, more)| *bytes = sum([*bytes, more]));
        for (reason, more) in &other.left_out {
            let bytes = self.left_out.entry(reason.clone()).or_default();
            *bytes = sum([*bytes, *more]);
        }
        self
    }

    /// All bytes.
    pub fn captured_bytes(&self) -> u64 {
        sum([self.closed_bytes, self.open_bytes, self.left_out_bytes])
    }

    /// `99.1 % of 12.3 MB closed-loop, 0.600 % open-loop (datagrams as seen), 0.300 % left out (set aside)`.
    fn text(&self) -> String {
        let all = self.captured_bytes();
        let share = |bytes: u64| format!("{} %", three_digits(100.0 * bytes as f64 / all.max(1) as f64));
        let of = match self.counted {
            Counted::Link => "on the link",
            Counted::Payload => "of payload",
        };
        let mut parts =
            vec![format!("{} of {} {of} closed-loop", share(self.closed_bytes), Unit::Bytes.show(all as f64))];
        if self.open_bytes > 0 {
            parts.push(format!("{} open-loop (datagrams as seen)", share(self.open_bytes)));
        }
        match self.left_out.keys().map(|name| reason(name)).collect::<Vec<_>>() {
            reasons if reasons.is_empty() => parts.push("nothing left out".to_owned()),
            reasons => parts.push(format!("{} left out ({})", share(self.left_out_bytes), reasons.join(", "))),
        }
        parts.join(", ")
    }
}

/// The share of bytes that the clock releases, in words.
pub fn clocked_text(share: f64) -> String {
    format!(
        "the clock releases {} of the payload of connections; acknowledgements and answers the rest",
        Unit::Share.show(share)
    )
}

/// A reason as a reader expects it.
fn reason(name: &str) -> &str {
    match name {
        "datagrams" => "datagrams",
        "other_packets" => "neither TCP nor UDP",
        "outside" => "outside of the window",
        "set_aside" => "set aside",
        other => other,
    }
}

/// Payload that the sources of a run delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceLoops {
    /// Of TCP sources.
    pub closed_bytes: u64,
    /// Of sources of datagrams.
    pub open_bytes: u64,
}

impl SourceLoops {
    fn of(facts: &Facts) -> SourceLoops {
        let mut loops = SourceLoops::default();
        for source in facts.sources().filter(|source| !source.is_of_workload()) {
            let so_far = if source.congestion.is_empty() { &mut loops.open_bytes } else { &mut loops.closed_bytes };
            *so_far = sum([*so_far, source.to_acceptors_bytes, source.to_initiators_bytes]);
        }
        loops
    }

    fn text(&self) -> String {
        let kinds = [(self.closed_bytes, "closed-loop"), (self.open_bytes, "open-loop")];
        let told = kinds.into_iter().filter(|(bytes, _)| *bytes > 0);
        told.map(|(bytes, how)| format!("{} {how}", Unit::Bytes.show(bytes as f64))).collect::<Vec<_>>().join(", ")
    }
}

/// Which bytes of a run are sent in a closed loop and which in an open one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Feedback {
    /// The original's; null without a workload, and of runs of earlier versions.
    pub original: Option<Loops>,
    /// What sources delivered beside it.
    pub sources: SourceLoops,
    /// The share of the payload of replayed connections that the clock releases in a replay by default, and not an acknowledgement or the
    /// other end's data; null where it is not known.
    pub clocked_share: Option<f64>,
}

impl Feedback {
    /// That of a run.
    pub fn of(facts: &Facts) -> Feedback {
        let original = facts.original.as_ref().and_then(|original| original.loops.clone());
        let clocked_share = facts.original.as_ref().and_then(|original| original.payload.clocked_share());
        Feedback { original, sources: SourceLoops::of(facts), clocked_share }
    }

    /// The bytes of two draws; which share the clock releases is not known of both.
    pub(crate) fn plus(self, more: &Feedback) -> Feedback {
        let [one, other] = [self.sources, more.sources];
        Feedback {
            original: self.original.zip(more.original.as_ref()).map(|(one, other)| one.plus(other)),
            sources: SourceLoops {
                closed_bytes: sum([one.closed_bytes, other.closed_bytes]),
                open_bytes: sum([one.open_bytes, other.open_bytes]),
            },
            clocked_share: None,
        }
    }

    /// What releases the bytes of connections, in words; `None` where that is not known.
    pub fn clocked_text(&self) -> Option<String> {
        self.clocked_share.map(clocked_text)
    }

    /// In words; `None` where nothing is known.
    pub fn text(&self) -> Option<String> {
        let sources = self.sources.text();
        match (&self.original, sources.is_empty()) {
            (None, true) => None,
            (None, false) => Some(format!("sources: {sources}")),
            (Some(loops), true) => Some(loops.text()),
            (Some(loops), false) => Some(format!("{}; sources: {sources}", loops.text())),
        }
    }
}

#[cfg(test)]
mod tests {
    use flowloom_core::record::{Series, Traffic};
    use flowloom_core::time::Time;
    use flowloom_core::workload::{Payload, PerSide};
    use flowloom_store::workload::{CaptureFacts, DirectionSeries, PayloadFacts};

    use super::*;
    use crate::facts::{AS_SEEN, ClassFacts, Original};

    const SECS: fn(u64) -> Duration = Duration::from_secs;

    /// A capture of 3 s: each second 1,000 bytes of connections and 100 of datagrams from the left, 10 of others from the right.
    fn workload() -> WorkloadFacts {
        let series = |bytes: u64| {
            let mut series = Series::new(Duration::from_millis(10));
            let traffic = Traffic { packets: 1, bytes, payload_bytes: bytes };
            (0..3).for_each(|second| series.add(Time::ZERO + SECS(second), traffic));
            series
        };
        let none = DirectionSeries::default();
        let traffic = TrafficFacts {
            replayed: DirectionSeries { from_left: series(1_000), ..none.clone() },
            datagrams: DirectionSeries { from_left: series(100), ..none.clone() },
            set_aside: DirectionSeries { from_right: series(10), ..none },
        };
        let bytes =
            [("packets-icmp", 60), ("packets-doubled", 7), ("packets-udp-fragment", 9), ("connections-one-way", 5)];
        let capture = CaptureFacts {
            duration_ns: SECS(2).as_nanos(),
            set_aside_bytes: bytes.map(|(name, bytes)| (name.to_owned(), bytes)).into(),
            ..CaptureFacts::default()
        };
        WorkloadFacts { traffic, capture, ..WorkloadFacts::default() }
    }

    fn loops(start: u64, length: u64, datagrams: bool) -> Loops {
        Loops::new(&workload(), Scope { start: SECS(start), length: SECS(length), datagrams, payload_bytes: 0 })
    }

    #[test]
    fn all_bytes_are_in_one_of_three() {
        let whole = loops(0, 2, true);
        assert_eq!((whole.closed_bytes, whole.open_bytes, whole.left_out_bytes), (3_000, 300, 90));
        let reasons: Vec<(&str, u64)> = whole.left_out.iter().map(|(name, bytes)| (&**name, *bytes)).collect();
        assert_eq!(reasons, [("other_packets", 60), ("set_aside", 30)]);
        let without = loops(0, 2, false);
        assert_eq!((without.closed_bytes, without.open_bytes, without.left_out["datagrams"]), (3_000, 0, 300));
        // A capture that was read without its datagrams.
        let mut tcp_only = workload();
        tcp_only.traffic.datagrams = DirectionSeries::default();
        tcp_only.capture.set_aside_bytes.insert("packets-udp".to_owned(), 300);
        for datagrams in [true, false] {
            let scope = Scope { start: SECS(0), length: SECS(2), datagrams, payload_bytes: 0 };
            assert_eq!(Loops::new(&tcp_only, scope), without);
        }
        // The second that begins at 1 s, of connections and datagrams.
        let part = loops(1, 1, true);
        assert_eq!((part.closed_bytes, part.open_bytes, part.left_out["outside"]), (2_000, 200, 1_100), "to the end");
        let part = loops(0, 1, true);
        assert_eq!((part.closed_bytes, part.open_bytes, part.left_out["outside"]), (1_000, 100, 2_200));
        for start in 0..4 {
            for (length, datagrams) in [(0, true), (1, false), (1, true), (9, false)] {
                assert_eq!(loops(start, length, datagrams).captured_bytes(), 3_390);
            }
        }
    }

    #[test]
    fn what_nobody_saw_as_packets_is_counted_by_payload() {
        let payload = |replayed| Payload { replayed, ..Payload::default() };
        let mut workload = WorkloadFacts::default();
        workload.capture.payload =
            PayloadFacts { initiator: payload(100), acceptor: payload(800), ..PayloadFacts::default() };
        workload.capture.datagrams.udp.payload_bytes = PerSide { initiator: 60, acceptor: 40 }.into();
        let scope = Scope { start: SECS(0), length: SECS(1), datagrams: true, payload_bytes: 900 };
        let loops = Loops::new(&workload, scope);
        assert_eq!((loops.counted, loops.closed_bytes, loops.open_bytes), (Counted::Payload, 900, 100));
        let loops = Loops::new(&workload, Scope { datagrams: false, ..scope });
        assert_eq!((loops.closed_bytes, loops.left_out_bytes, loops.captured_bytes()), (900, 100, 1_000));
        // What was set aside, and connections that begin behind the window, are left out.
        workload.capture.set_aside_bytes =
            [("connections-one-way", 3_000), ("packets-icmp", 60)].map(|(name, bytes)| (name.to_owned(), bytes)).into();
        let loops = Loops::new(&workload, Scope { payload_bytes: 500, ..scope });
        assert_eq!((loops.closed_bytes, loops.left_out["outside"], loops.left_out["set_aside"]), (500, 400, 3_000));
    }

    #[test]
    fn an_answer_begins_with_the_shares() {
        let class = |kind: &str, congestion: &str, bytes| ClassFacts {
            kind: kind.to_owned(),
            congestion: congestion.to_owned(),
            to_acceptors_bytes: bytes,
            ..ClassFacts::default()
        };
        let original = Original { loops: Some(loops(0, 2, true)), ..Original::default() };
        let mut facts = Facts { original: Some(original), ..Facts::default() };
        let own = "88.5 % of 3.39 kB on the link closed-loop, 8.85 % open-loop (datagrams as seen), 2.65 % left out \
                   (neither TCP nor UDP, set aside)";
        assert_eq!(Feedback::of(&facts).text().as_deref(), Some(own));
        facts.classes = vec![class(AS_SEEN, "", 5), class("bulk", "cubic", 2_000), class("cbr", "", 30)];
        let text = Feedback::of(&facts).text().unwrap();
        assert_eq!(text, format!("{own}; sources: 2.00 kB closed-loop, 30 B open-loop"));
        facts.original = None;
        assert_eq!(Feedback::of(&facts).text().unwrap(), "sources: 2.00 kB closed-loop, 30 B open-loop");
        assert_eq!(Feedback::of(&Facts::default()).text(), None);
    }
}
