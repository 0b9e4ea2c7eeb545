//! Connections that the end of the experiment cuts, whatever the network does: they are no sign of a network that is too slow.

use std::ops::Range;

use flowloom_core::play::{ReplayModel, Script};
use flowloom_core::record::Outcome;
use flowloom_core::time::Time;
use flowloom_core::workload::{Close, ConnectionVector};

use crate::experiment::Workload;

/// Counts them among the unfinished connections of the part of a run that results are of.
pub struct Cut {
    /// Starts in nanoseconds.
    window: Range<u64>,
    /// The end of the run.
    end: Time,
    replay: ReplayModel,
    /// Whether connections wait as long as in the original.
    keeps_times: bool,
    connections: u64,
}

impl Cut {
    /// None yet, of the connections of `workload` that start in `window`, in a run that is over at `end`.
    pub fn new(workload: &Workload, replay: ReplayModel, window: Range<u64>, end: Time) -> Cut {
        Cut {
            window,
            end,
            replay,
            keeps_times: !workload.settles_waits() && workload.waits.min.value.is_zero(),
            connections: 0,
        }
    }

    /// Takes a connection that ended like this.
    pub fn connection(&mut self, vector: &ConnectionVector, outcome: Outcome) {
        if outcome == Outcome::Unfinished && self.window.contains(&vector.start.since(Time::ZERO).as_nanos()) {
            self.connections += u64::from(self.is_cut(vector));
        }
    }

    /// How many.
    pub fn connections(&self) -> u64 {
        self.connections
    }

    /// Whether its waits alone, or its own end in the original, lie behind the end of the run.
    fn is_cut(&self, vector: &ConnectionVector) -> bool {
        let script = Script::new(vector, &self.replay);
        let close_wait = (script.close() != Close::NotSeen).then(|| script.close_wait());
        let waits = vector.start + script.waits() + close_wait.unwrap_or_default();
        let data = vector.data_span().map(|data| vector.start + data.last);
        let closed = vector.end().filter(|_| self.replay.t_close);
        waits > self.end || (self.keeps_times && closed.or(data).is_some_and(|end| end > self.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use flowloom_core::time::Duration;
    use flowloom_core::workload::{Adu, Side, Span};

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
        cut.connection(vector, outcome);
        cut.connections()
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

    /// Where waits are left out the original's end says nothing about the replay's.
    #[test]
    fn without_its_waits_only_what_is_left_counts() {
        let closed = vector(Close::Fin(Side::Initiator));
        let keys = [("workload.waits.min", "500ms"), ("workload.t-close", "false")];
        assert_eq!(cut(&keys, 11, &closed, Outcome::Unfinished), 0);
    }
}
