//! When an end should have done what it did: how much time its own program has lost so far.
//!
//! The rule is stated at [`LiveEpoch::intended`](crate::control::LiveEpoch::intended). The state is small because time
//! is lost in three places only, and because what an end lost before it sent something is all that what follows inherits.

use flowloom_core::time::{Duration, Time};

/// Changes smaller than this are not reported of acceptors.
const GRAIN: Duration = Duration::from_millis(1);

/// The time that the program of one end has lost.
///
/// Call the methods beside those of a [`Player`](flowloom_core::play::Player), with the same `now`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lost {
    /// By the moment from which the player counts its next wait.
    base: Duration,
    /// By what was sent last.
    sent: Duration,
    /// When that was: what the peer answers cannot have come before.
    written: Time,
    /// As it was reported last.
    reported: Duration,
}

impl Lost {
    /// It asked for its connection, which it should have done at `at`.
    pub fn connected(&mut self, now: Time, at: Time) {
        self.sent = now.since(at);
        self.written = now;
    }

    /// The connection came to be at `came` and the program took note of it.
    pub fn established(&mut self, now: Time, came: Time) {
        self.base = self.sent + now.since(came.max(self.written));
    }

    /// It writes an ADU that was due at `due`. Gives the time at which it should have done so: as late as it is, less all
    /// that was lost.
    pub fn wrote(&mut self, now: Time, due: Time) -> Time {
        self.sent = self.base + now.since(due);
        self.written = now;
        now.before(self.sent)
    }

    /// What it wrote was transmitted. If that was at once the player counts its next wait from when the ADU was due, and makes
    /// up for what this one was late.
    pub fn transmitted(&mut self, now: Time) {
        if now != self.written {
            self.base = self.sent;
        }
    }

    /// The last byte of the peer's ADU came at `came` and the program took note of it.
    pub fn received(&mut self, now: Time, came: Time) {
        self.base = self.sent + now.since(came.max(self.written));
    }

    /// What was lost by what it sent last, if that is so much more or less than what this gave before that it matters.
    pub fn news(&mut self) -> Option<Duration> {
        let change = self.sent.saturating_sub(self.reported) + self.reported.saturating_sub(self.sent);
        (change >= GRAIN).then(|| {
            self.reported = self.sent;
            self.sent
        })
    }
}

#[cfg(test)]
mod tests {
    use flowloom_core::play::{Action, Player, ReplayModel, Script, Waits};
    use flowloom_core::workload::{Adu, Close, ConnectionVector, Side};

    use super::*;
    use crate::control::{LiveEpoch, settle_intended};

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// An end whose worker does not run while it is stopped.
    struct End {
        player: Player,
        lost: Lost,
        stops: Vec<(Time, Time)>,
        written: u64,
    }

    impl End {
        /// When its worker gets to what comes at `time`.
        fn runs(&self, time: Time) -> Time {
            self.stops.iter().find(|stop| stop.0 <= time && time < stop.1).map_or(time, |stop| stop.1)
        }

        /// What it writes next, as soon as its worker runs and it is due: how much, when, and the intended time.
        fn write(&mut self, now: Time, script: &Script) -> Option<(u64, Time, Time)> {
            let now = self.player.next_timeout().map_or(now, |due| self.runs(due.max(now)));
            self.player.handle_timeout(now);
            let due = self.player.due();
            let Some(Action::Write(bytes)) = self.player.poll_action(script) else { return None };
            self.written += bytes;
            let intended = self.lost.wrote(now, due);
            let step = self.player.step();
            self.player.handle_transmitted(now, self.written, script);
            assert!(self.player.step() > step);
            self.lost.transmitted(now);
            Some((self.written, now, intended))
        }
    }

    /// `exchanges` of one connection that asks for `at`, over a network that takes `network` each way; the acceptor thinks for
    /// `think` before each response, the initiator before each request. Workers are stopped as told.
    fn play(
        exchanges: usize,
        at: Time,
        network: Duration,
        think: Duration,
        stops: [Vec<(Time, Time)>; 2],
    ) -> Vec<LiveEpoch> {
        let adu = |n: usize| Adu {
            side: Side::BOTH[n % 2],
            bytes: 100,
            missing_bytes: 0,
            wait: Some(think),
            waiter: Side::BOTH[(n + 1) % 2],
            seen: None,
            packets: None,
        };
        let vector = ConnectionVector {
            adus: (0..2 * exchanges).map(adu).collect(),
            close: Close::NotSeen,
            ..ConnectionVector::default()
        };
        let script = Script::new(&vector, &ReplayModel::with_waits(Waits::CORRECTED));
        let [mut client, mut server] = Side::BOTH.map(|side| End {
            player: Player::new(side),
            lost: Lost::default(),
            stops: stops[side as usize].clone(),
            written: 0,
        });
        let connected = client.runs(at);
        client.lost.connected(connected, at);
        let came = connected + network * 2;
        let established = client.runs(came);
        client.player.handle_established(established, &script);
        client.lost.established(established, came);
        server.player.handle_established(server.runs(connected + network), &script);
        server.lost.established(server.runs(connected + network), connected + network);
        let (mut epochs, mut late) = (Vec::new(), Vec::new());
        let mut now = established;
        while let Some((bytes, start, intended)) = client.write(now, &script) {
            let came = start + network;
            let read = server.runs(came);
            assert!(server.player.handle_received(read, bytes, &script).is_none());
            server.lost.received(read, came);
            let (bytes, sent, _) = server.write(read, &script).expect("it answers");
            late.extend(server.lost.news().map(|lost| (epochs.len() as u32, lost)));
            let came = sent + network;
            now = client.runs(came);
            let epoch = client.player.handle_received(now, bytes, &script).expect("the epoch is over");
            client.lost.received(now, came);
            epochs.push(LiveEpoch { epoch: epoch.epoch, intended, start, end: now });
        }
        assert_eq!(epochs.len(), exchanges);
        settle_intended(&mut epochs, &late);
        assert!(epochs.iter().all(|epoch| epoch.intended <= epoch.start));
        epochs
    }

    fn at(time: u64) -> Time {
        Time::ZERO + millis(time)
    }

    /// The delay that a hundredth of the exchanges exceed, from when they were intended and from when they began.
    fn p99(epochs: &[LiveEpoch]) -> [f64; 2] {
        [|epoch: &LiveEpoch| epoch.intended, |epoch: &LiveEpoch| epoch.start].map(|from| {
            let mut times: Vec<_> = epochs.iter().map(|epoch| epoch.end.since(from(epoch)).as_secs_f64()).collect();
            times.sort_by(f64::total_cmp);
            times[times.len() * 99 / 100]
        })
    }

    #[test]
    fn without_a_stop_every_request_is_intended_for_when_it_began() {
        for think in [0, 7] {
            let epochs = play(50, at(20), millis(5), millis(think), [vec![], vec![]]);
            assert!(epochs.iter().all(|epoch| epoch.intended == epoch.start));
            assert_eq!(p99(&epochs)[0], 0.01 + think as f64 / 1e3);
        }
    }

    #[test]
    fn a_stop_of_either_program_shows_in_all_exchanges_that_depend_on_it() {
        for (think, exchanges) in [(0, 700), (10, 230), (100, 30)] {
            let undisturbed = play(exchanges, at(0), millis(5), millis(think), [vec![], vec![]]);
            for stopped in 0..2 {
                let mut stops = [vec![], vec![]];
                stops[stopped] = vec![(at(3_000), at(4_000))];
                let epochs = play(exchanges, at(0), millis(5), millis(think), stops);
                let [intended, measured] = p99(&epochs);
                assert!((0.85..1.12).contains(&intended), "{think} ms, {stopped}: {intended}");
                assert!(exchanges < 100 || measured < 0.1, "measured from the start it is hidden: {measured}");
                // Every request is intended for when it began in the run without the stop.
                for (epoch, other) in epochs.iter().zip(&undisturbed) {
                    assert!(other.start.since(epoch.intended) <= GRAIN, "{epoch:?} {other:?}");
                    assert!(epoch.intended <= other.start);
                }
            }
        }
    }

    #[test]
    fn a_stop_shows_in_connections_with_one_exchange_on_a_schedule() {
        for stopped in 0..2 {
            let mut stops = [vec![], vec![]];
            stops[stopped] = vec![(at(3_000), at(4_000))];
            let epochs: Vec<_> =
                (0..1_600).flat_map(|n| play(1, at(n * 5), millis(5), millis(0), stops.clone())).collect();
            let [intended, measured] = p99(&epochs);
            assert!((0.85..1.05).contains(&intended), "{stopped}: {intended}");
            assert!(stopped == 1 || measured < 0.03, "of a late start the measured time knows nothing: {measured}");
            let handshake = millis(10);
            assert!(epochs.iter().zip(0..).all(|(epoch, n)| epoch.intended == at(n * 5) + handshake));
        }
    }

    #[test]
    fn no_more_is_lost_than_the_time_since_it_spoke() {
        let mut lost = Lost::default();
        lost.connected(at(15), at(10));
        // The kernel knows the time of an arrival to a few milliseconds, and said 12.
        lost.established(at(20), at(12));
        assert_eq!(lost.wrote(at(20), at(20)), at(10));
        lost.received(at(30), at(18));
        assert_eq!(lost.wrote(at(30), at(30)), at(10));
    }

    #[test]
    fn what_the_player_makes_up_for_is_not_lost() {
        let mut lost = Lost::default();
        lost.established(at(0), at(0));
        assert_eq!(lost.wrote(at(15), at(10)), at(10));
        lost.transmitted(at(15));
        // The next wait, of 10 ms, is counted from 10.
        assert_eq!(lost.wrote(at(20), at(20)), at(20));
        lost.transmitted(at(20));
        // This one leaves later than it was written, so that the player counts from then.
        assert_eq!(lost.wrote(at(33), at(30)), at(30));
        lost.transmitted(at(40));
        assert_eq!(lost.wrote(at(50), at(50)), at(47));
        assert_eq!(lost.news(), Some(millis(3)));
        assert_eq!(lost.news(), None);
    }
}
