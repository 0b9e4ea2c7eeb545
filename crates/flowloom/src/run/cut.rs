//! Connections that the end of the experiment cuts, whatever the network does: they are no sign of a network that is too slow.

use std::ops::Range;

use flowloom_core::play::{ReplayModel, Script};
use flowloom_core::record::{ConnectionRecord, Outcome};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{Close, ConnectionVector, Pattern, Side};

use crate::experiment::{CutChoice, Workload};

/// Counts them among the unfinished connections of the part of a run that results are of.
pub struct Cut {
    /// Starts in nanoseconds.
    window: Range<u64>,
    /// The end of the run.
    end: Time,
    replay: ReplayModel,
    /// Whether connections wait as long as in the original.
    keeps_times: bool,
    /// Whether connections that do not close were in progress when their workload ended.
    ends_as_trace: bool,
    connections: u64,
}

impl Cut {
    /// None yet, of the connections of `workload` that start in `window`, in a run that is over at `end`.
    pub fn new(workload: &Workload, replay: ReplayModel, window: Range<u64>, end: Time) -> Cut {
        Cut {
            window,
            end,
            replay,
            ends_as_trace: workload.cut == Some(CutChoice::Trace),
            keeps_times: !workload.settles_waits() && workload.waits.min.value.is_zero(),
            connections: 0,
        }
    }

    /// Takes a connection that ended like this.
    pub fn connection(&mut self, vector: &ConnectionVector, ended: &ConnectionRecord) {
        if ended.outcome == Outcome::Unfinished && self.window.contains(&vector.start.since(Time::ZERO).as_nanos()) {
            self.connections += u64::from(self.is_cut(vector, ended));
        }
    }

    /// How many.
    pub fn connections(&self) -> u64 {
        self.connections
    }

    /// Whether its waits and round trips alone, or its own end in the original, lie behind the end of the run; or whether all its data
    /// arrived, and only its close was outstanding. One that is in progress at the end of a workload that was cut as a trace does not end
    /// before it.
    fn is_cut(&self, vector: &ConnectionVector, ended: &ConnectionRecord) -> bool {
        let to_arrive = Side::BOTH.map(|side| vector.bytes(side)).iter().sum::<u64>();
        if ended.delivered_bytes.iter().sum::<u64>() >= to_arrive {
            return true;
        }
        if self.ends_as_trace && vector.close == Close::NotSeen {
            return true;
        }
        let script = Script::new(vector, &self.replay);
        let close_wait = (script.close() != Close::NotSeen).then(|| script.close_wait());
        let waits = ended.start + script.waits() + round_trips(&script, ended.rtt) + close_wait.unwrap_or_default();
        let data = vector.data_span().map(|data| vector.start + data.last);
        let closed = vector.end().filter(|_| self.replay.t_close);
        waits > self.end || (self.keeps_times && closed.or(data).is_some_and(|end| end > self.end))
    }
}

/// What a handshake and transits of data take at least, each of them begun when the last is over, on a path with this round-trip time.
fn round_trips(script: &Script, rtt: Duration) -> Duration {
    let steps = script.steps();
    let turns = match script.pattern() {
        Pattern::Sequential => steps.chunk_by(|one, next| one.side == next.side).count() as u64,
        Pattern::Concurrent => 1,
    };
    // The acceptor is established half a round trip after the initiator.
    let is_acceptors =
        script.pattern() == Pattern::Sequential && steps.first().is_some_and(|step| step.side == Side::Acceptor);
    rtt + rtt * (turns + u64::from(is_acceptors)) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use flowloom_core::workload::{Adu, Span};

    const SECS: fn(u64) -> Duration = Duration::from_secs;

    /// Data from 1 to 5 s after its start at 10 s, closed after 9 s more.
    fn vector(close: Close) -> ConnectionVector {
        let seen = Some(Span { first: SECS(1), last: SECS(5) });
        let side = Side::Initiator;
        let adu = Adu { side, bytes: 1_000, missing_bytes: 0, wait: None, waiter: side, seen, packets: None };
        ConnectionVector {
            start: Time::ZERO + SECS(10),
            adus: vec![adu],
            close,
            t_close: (close != Close::NotSeen).then_some(SECS(9)),
            ..ConnectionVector::default()
        }
    }

    /// How many are cut by a run that starts connections for `window` seconds and then drains for one.
    fn cut(keys: &[(&str, &str)], window: u64, vector: &ConnectionVector, outcome: Outcome) -> u64 {
        let experiment = keys.iter().try_fold(Experiment::of("a.pcap"), |made, (key, value)| made.with(key, value));
        let workload = experiment.unwrap().workload;
        let replay = workload.replay_model();
        let (window, drain) = (SECS(window), SECS(1));
        let mut cut = Cut::new(&workload, replay, 0..window.as_nanos(), Time::ZERO + window + drain);
        cut.connection(vector, &ended(vector, outcome));
        cut.connections()
    }

    /// Nothing arrived, on a path without any delay.
    fn ended(vector: &ConnectionVector, outcome: Outcome) -> ConnectionRecord {
        ConnectionRecord {
            id: 0,
            class: 0,
            start: vector.start,
            outcome,
            established: None,
            first_data: None,
            last_data: None,
            closed: None,
            rtt: Duration::ZERO,
            retransmissions: 0,
            timeouts: 0,
            delivered_bytes: [0; 2],
            carried_bytes: None,
        }
    }

    /// A request, half a second of thought, and a response: two round trips of 400 ms and the wait, 1.3 s from the SYN.
    #[test]
    fn what_no_network_could_finish_is_cut() {
        let adu = |side, wait| Adu {
            side,
            bytes: 100,
            missing_bytes: 0,
            wait,
            waiter: side.other(),
            seen: None,
            packets: None,
        };
        let thought = Some(Duration::from_millis(500));
        let mut vector = ConnectionVector {
            start: Time::ZERO + SECS(10),
            adus: vec![adu(Side::Initiator, thought), adu(Side::Acceptor, None)],
            ..ConnectionVector::default()
        };
        let is_cut = |vector: &ConnectionVector, end_ms: u64, delivered_bytes| {
            let end = Time::ZERO + Duration::from_millis(end_ms);
            let workload = Experiment::of("a.pcap").workload;
            let mut cut = Cut::new(&workload, workload.replay_model(), 0..end.as_nanos(), end);
            let rtt = Duration::from_millis(400);
            cut.connection(vector, &ConnectionRecord { rtt, delivered_bytes, ..ended(vector, Outcome::Unfinished) });
            cut.connections() == 1
        };
        assert!(is_cut(&vector, 11_299, [100, 0]) && !is_cut(&vector, 11_300, [100, 0]));
        assert!(is_cut(&vector, 20_000, [100, 100]), "only its close is outstanding");
        // An acceptor that speaks first waits for the end of the handshake: half a round trip more.
        vector.adus.reverse();
        vector.adus[0].wait = vector.adus[1].wait.take();
        assert!(is_cut(&vector, 11_499, [0, 100]) && !is_cut(&vector, 11_500, [0, 100]));
        vector.pattern = Pattern::Concurrent;
        // Ends that do not take turns: each wait is of its own data, of which there is no more.
        assert!(is_cut(&vector, 10_599, [0, 100]) && !is_cut(&vector, 10_600, [0, 100]));
    }

    #[test]
    fn a_close_behind_the_end_is_cut() {
        let closed = vector(Close::Fin(Side::Initiator));
        // It closes at 24 s.
        assert_eq!(cut(&[], 22, &closed, Outcome::Unfinished), 1);
        assert_eq!(cut(&[], 23, &closed, Outcome::Unfinished), 0, "there was time for it");
        assert_eq!(cut(&[], 22, &closed, Outcome::Completed), 0, "it came to its end");
        assert_eq!(cut(&[], 10, &closed, Outcome::Unfinished), 0, "it is not of the window");
    }

    #[test]
    fn data_behind_the_end_are_cut() {
        let open = vector(Close::NotSeen);
        // Its data end at 15 s.
        assert_eq!(cut(&[], 13, &open, Outcome::Unfinished), 1);
        assert_eq!(cut(&[], 14, &open, Outcome::Unfinished), 0);
        let closed = vector(Close::Fin(Side::Initiator));
        assert_eq!(cut(&[("workload.t-close", "false")], 14, &closed, Outcome::Unfinished), 0);
    }

    /// It was in progress when its workload ended.
    #[test]
    fn what_the_second_cut_of_a_trace_ends_is_cut() {
        let is_cut = |how: &str, vector: &ConnectionVector| {
            let text = format!(
                "workload.model = {{ kind = \"exchanges\", connections-per-second = 1.0, request-bytes = 1, response-bytes = 1, rtt-ms = 1 }}\n\
                 workload.cut = \"{how}\"\nmeasure.duration = \"30s\"\n"
            );
            let workload = Experiment::parse(&text, "x.toml").unwrap().workload;
            let end = Time::ZERO + SECS(30);
            let mut cut = Cut::new(&workload, workload.replay_model(), 0..end.as_nanos(), end);
            cut.connection(vector, &ended(vector, Outcome::Unfinished));
            cut.connections() == 1
        };
        assert!(is_cut("trace", &vector(Close::NotSeen)));
        assert!(!is_cut("none", &vector(Close::NotSeen)), "there was time for its data");
        assert!(!is_cut("trace", &vector(Close::Fin(Side::Initiator))), "it ends in its workload");
    }

    /// Where waits are left out the original's end says nothing about the replay's.
    #[test]
    fn without_its_waits_only_what_is_left_counts() {
        let closed = vector(Close::Fin(Side::Initiator));
        let keys = [("workload.waits.min", "500ms"), ("workload.t-close", "false")];
        assert_eq!(cut(&keys, 11, &closed, Outcome::Unfinished), 0);
    }
}
