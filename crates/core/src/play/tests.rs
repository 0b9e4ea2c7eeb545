//! Tests of scripts and players over an ideal transport.

use std::collections::BTreeMap;

use super::*;
use crate::contract::{Machine, check};
use crate::play::{Correction, MIN_WAIT, ReplayModel, Waits};
use crate::time::{Duration, Time};
use crate::transits::{Ends, TransitModel};
use crate::workload::*;

use Side::{Acceptor as A, Initiator as I};

fn seconds(value: f64) -> Duration {
    Duration::from_secs_f64(value)
}

pub(super) fn at(value: f64) -> Time {
    Time::ZERO + seconds(value)
}

/// A vector of (side, bytes, wait after it in s; negative for none). OSTT: initiator 10 ms, acceptor 40 ms.
pub(super) fn vector(pattern: Pattern, adus: &[(Side, u64, f64)], close: Close) -> ConnectionVector {
    let mut clock = Duration::ZERO;
    let next_of = |index: usize| match pattern {
        Pattern::Sequential => adus.get(index + 1),
        Pattern::Concurrent => None,
    };
    let adus = adus.iter().enumerate().map(|(index, &(side, bytes, wait))| {
        clock += Duration::from_millis(1);
        let waiter = next_of(index).map_or(side, |next| next.0);
        let wait = (wait >= 0.0).then(|| seconds(wait));
        Adu {
            side,
            bytes,
            missing_bytes: 0,
            wait,
            waiter,
            seen: Some(Span { first: clock, last: clock }),
            packets: None,
        }
    });
    let end = |transit| Endpoint { min_transit: Some(Duration::from_millis(transit)), ..Endpoint::default() };
    ConnectionVector {
        id: 0,
        start: Time::ZERO,
        initiator_side: LinkSide::Left,
        initiator_rule: InitiatorRule::Syn,
        pattern,
        complete: true,
        handshake_repeated: false,
        syn_rtt: None,
        ends: PerSide { initiator: end(10), acceptor: end(40) },
        close,
        t_close: None,
        adus: adus.collect(),
        ..ConnectionVector::default()
    }
}

/// methods A.12, TV1.
fn test_vector() -> ConnectionVector {
    let adus = [(I, 329, 0.149), (A, 3403, 1.21), (I, 403, 0.040), (A, 1000, -1.0)];
    vector(Pattern::Sequential, &adus, Close::Fin(A))
}

fn waits(script: &Script) -> Vec<Duration> {
    script.steps().iter().map(|step| step.wait).collect()
}

const CORRECTED: ReplayModel = ReplayModel::with_waits(Waits::CORRECTED);

#[test]
fn waits_of_the_test_vector() {
    let waits_under = |waits_model| waits(&Script::new(&test_vector(), &ReplayModel::with_waits(waits_model)));
    assert_eq!(waits_under(Waits::PUBLISHED), [0.0, 0.0, 1.21, 0.0].map(seconds));
    assert_eq!(waits_under(Waits::CORRECTED), [0.0, 0.109, 1.20, 0.0].map(seconds));
    let uncorrected = Waits { min: Duration::ZERO, correct: Correction::None };
    assert_eq!(waits_under(uncorrected), [0.0, 0.149, 1.21, 0.040].map(seconds));
    let long_only = Waits { min: MIN_WAIT, correct: Correction::Ostt };
    assert_eq!(waits_under(long_only), [0.0, 0.0, 1.20, 0.0].map(seconds));
}

#[test]
fn waits_after_oneself_are_never_corrected() {
    // methods A.12, TV3: half epochs.
    let adus = [(I, 100, 0.849), (I, 150, 0.100), (A, 500, 1.0), (A, 300, -1.0)];
    let script = Script::new(&vector(Pattern::Sequential, &adus, Close::NotSeen), &CORRECTED);
    assert_eq!(waits(&script), [0.0, 0.849, 0.060, 1.0].map(seconds));
    // TV2: concurrent.
    let adus = [(I, 100, 0.949), (A, 50, 1.56), (I, 220, -1.0), (A, 70, -1.0)];
    let script = Script::new(&vector(Pattern::Concurrent, &adus, Close::NotSeen), &CORRECTED);
    assert_eq!(waits(&script), [0.0, 0.0, 0.949, 1.56].map(seconds));
}

#[test]
fn the_transit_that_is_replayed_is_taken_out() {
    let mut vector = test_vector();
    let q50 = Duration::from_millis(90);
    vector.ends.acceptor.transits = Some(TransitQuantiles { q10: q50, q50, q90: q50 });
    let of = |transits| waits(&Script::new(&vector, &ReplayModel { transits, ..CORRECTED }));
    assert_eq!(of(TransitModel::Minimum), [0.0, 0.109, 1.20, 0.0].map(seconds));
    assert_eq!(of(TransitModel::Median(Ends::Both)), [0.0, 0.059, 1.20, 0.0].map(seconds));
}

#[test]
fn delays_before_the_monitor_are_no_waits() {
    // Half epochs; the second data unit of each end is written in two.
    let adus = [(I, 100, 0.849), (I, 150, 0.100), (A, 500, 1.0), (A, 300, -1.0)];
    let mut vector = vector(Pattern::Sequential, &adus, Close::NotSeen);
    vector.ends.initiator.lead_in = Some(seconds(0.3));
    let pause = |after_bytes| vec![Pause { after_bytes, length: seconds(0.02), heard: None }];
    vector.pauses = PerSide { initiator: pause(200), acceptor: pause(600) };
    let delays = |delays: &[(u64, u64)]| {
        let delay = |&(from_bytes, millis)| ExtraDelay { from_bytes, delay: Duration::from_millis(millis) };
        delays.iter().map(delay).collect::<Vec<_>>()
    };
    vector.delays.initiator = delays(&[(0, 30), (50, 10), (100, 200), (200, 0)]);
    vector.delays.acceptor = delays(&[(0, 0), (499, 25)]);
    let of = |model| waits(&Script::new(&vector, &model));
    // The lead-in was 30 ms shorter; 849 ms contain 200 and lack 10; the pause lacks 200; 100 ms contain the acceptor's transit alone.
    let as_seen = ReplayModel { transits: TransitModel::AsSeen(Ends::Both), ..CORRECTED };
    assert_eq!(of(as_seen), [0.27, 0.659, 0.22, 0.060, 1.0, 0.02].map(seconds));
    assert_eq!(of(CORRECTED), [0.3, 0.849, 0.02, 0.060, 1.0, 0.02].map(seconds));
    let uncorrected = Waits { min: Duration::ZERO, correct: Correction::None };
    let uncorrected = ReplayModel { waits: uncorrected, ..as_seen };
    assert_eq!(of(uncorrected), [0.3, 0.849, 0.02, 0.100, 1.0, 0.02].map(seconds));
}

/// All in turn where they are, else those of the side that waits for longer.
#[test]
fn no_replay_is_shorter_than_its_waits() {
    assert_eq!(Script::new(&test_vector(), &CORRECTED).waits(), seconds(1.309));
    let adus = [(I, 100, 0.949), (A, 50, 1.56), (I, 220, -1.0), (A, 70, -1.0)];
    assert_eq!(Script::new(&vector(Pattern::Concurrent, &adus, Close::NotSeen), &CORRECTED).waits(), seconds(1.56));
}

#[test]
fn lead_in_and_time_to_close_lose_the_transit_they_contain() {
    let mut vector = test_vector();
    vector.ends.initiator.lead_in = Some(seconds(0.3));
    vector.ends.acceptor.lead_in = Some(seconds(0.4));
    vector.t_close = Some(seconds(2.0));
    let script = |vector: &ConnectionVector, model| Script::new(vector, &model);
    assert_eq!(script(&vector, CORRECTED).steps()[0].wait, seconds(0.3), "the initiator's contains none");
    assert_eq!(script(&vector, CORRECTED).close_wait(), seconds(2.0), "the acceptor sent last and closes");
    vector.close = Close::Rst(I);
    assert_eq!(script(&vector, CORRECTED).close_wait(), seconds(1.99), "the initiator answers the last ADU");
    assert_eq!(script(&vector, ReplayModel::with_waits(Waits::PUBLISHED)).close_wait(), seconds(2.0));
    assert_eq!(script(&vector, ReplayModel::AIKAT_2010).close_wait(), Duration::ZERO);
    assert_eq!(script(&vector, ReplayModel::AIKAT_2010).steps()[0].wait, Duration::ZERO);
    vector.adus.remove(0);
    assert_eq!(script(&vector, CORRECTED).steps()[0].wait, seconds(0.36), "the acceptor speaks first");
    vector.ends.acceptor.min_transit = None;
    assert_eq!(script(&vector, CORRECTED).steps()[0].wait, seconds(0.4), "unknown transit: as measured");
    vector.pattern = Pattern::Concurrent;
    assert_eq!(waits(&script(&vector, CORRECTED))[..2], [0.4, 0.3].map(seconds), "each side its own");
}

/// A request, and a response in two parts, a second apart; the initiator closes before the second.
fn half_closed() -> ConnectionVector {
    let mut vector = vector(Pattern::Sequential, &[(I, 100, 0.0), (A, 500, 1.0), (A, 300, -1.0)], Close::Fin(I));
    vector.adus[2].seen = Some(Span { first: seconds(3.0), last: seconds(3.0) });
    vector.ends.initiator.fin_wait = Some(seconds(0.0005));
    vector.ends.acceptor.fin_wait = Some(seconds(0.2));
    vector.t_close = Some(Duration::ZERO);
    vector
}

#[test]
fn a_half_close_follows_the_data_of_its_end() {
    let script = Script::new(&half_closed(), &CORRECTED);
    let stage = Stage::play(&script, seconds(0.1), None);
    let write = |bytes| Action::Write(bytes);
    let expected = [
        (0.0, I, write(100)),
        (0.0005, I, Action::Close),
        (0.05, A, write(500)),
        (1.05, A, write(300)),
        (1.25, A, Action::Close),
    ];
    assert_eq!(stage.actions, expected.map(|(time, side, action)| (at(time), side, action)));
    assert_eq!(stage.epochs, [EpochTimes { epoch: 0, start: at(0.0), end: at(0.1) }]);
    assert!(stage.all_exchanged());
    // Without times to close, as published, whoever closed first does so when all data has passed.
    let script = Script::new(&half_closed(), &ReplayModel::AIKAT_2010);
    let stage = Stage::play(&script, seconds(0.1), None);
    assert_eq!(stage.actions[3..], [(at(1.1), I, Action::Close), (at(1.15), A, Action::Close)]);
}

#[test]
fn an_end_without_data_closes_as_long_after_the_handshake_as_it_did() {
    let mut vector = half_closed();
    vector.adus.remove(0);
    vector.ends.initiator.fin_wait = Some(seconds(0.5));
    let script = Script::new(&vector, &CORRECTED);
    assert_eq!(script.half_close_wait(I), Some(seconds(0.45)), "the round trip is the handshake's");
    let stage = Stage::play(&script, seconds(0.1), None);
    assert_eq!(stage.actions[1], (at(0.45), I, Action::Close));
    // The handshake's end at an acceptor is beyond the monitor.
    vector.adus.iter_mut().for_each(|adu| adu.side = I);
    (vector.ends.initiator, vector.ends.acceptor) = (
        Endpoint { fin_wait: Some(seconds(0.2)), ..vector.ends.initiator },
        Endpoint { fin_wait: Some(seconds(0.5)), ..vector.ends.acceptor },
    );
    vector.close = Close::Fin(A);
    assert_eq!(Script::new(&vector, &CORRECTED).half_close_wait(A), Some(seconds(0.41)));
}

#[test]
fn a_close_behind_all_data_is_no_half_close() {
    let mut vector = half_closed();
    vector.ends.initiator.fin_wait = Some(seconds(3.0));
    assert_eq!(vector.half_close(), None);
    vector.ends.initiator.fin_wait = Some(seconds(2.998));
    assert_eq!(vector.half_close(), Some((I, seconds(2.999))));
    vector.close = Close::Rst(I);
    assert_eq!(vector.half_close(), None, "a reset ends both directions");
}

#[test]
fn empty_adus_are_left_out_of_a_script() {
    let adus = [(I, 0, 5.0), (I, 10, 1.0), (A, 0, 3.0), (A, 20, -1.0)];
    let script = Script::new(&vector(Pattern::Sequential, &adus, Close::NotSeen), &ReplayModel::AIKAT_2010);
    assert_eq!(script.steps().iter().map(|step| step.end).collect::<Vec<_>>(), [10, 20]);
    assert_eq!(waits(&script), [0.0, 1.0].map(seconds));
    assert!(script.steps()[1].is_response);
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Established,
    Received(u64),
    Transmitted(u64),
    PeerClosed,
}

/// Two players over a transport that delays by half the round trip and, if it has a rate, takes its time to send.
struct Stage<'a> {
    script: &'a Script,
    players: PerSide<Player>,
    rtt: Duration,
    bytes_per_second: Option<u64>,
    events: BTreeMap<(Time, u64), (Side, Event)>,
    count: u64,
    written: PerSide<u64>,
    sending_until: PerSide<Time>,
    actions: Vec<(Time, Side, Action)>,
    epochs: Vec<EpochTimes>,
    received_at: PerSide<Time>,
}

impl<'a> Stage<'a> {
    /// Plays to the end. The initiator is established at 0, the acceptor half a round trip later.
    fn play(script: &'a Script, rtt: Duration, bytes_per_second: Option<u64>) -> Stage<'a> {
        let mut stage = Stage {
            script,
            players: PerSide { initiator: Player::new(I), acceptor: Player::new(A) },
            rtt,
            bytes_per_second,
            events: BTreeMap::new(),
            count: 0,
            written: PerSide::default(),
            sending_until: PerSide::default(),
            actions: Vec::new(),
            epochs: Vec::new(),
            received_at: PerSide::default(),
        };
        stage.schedule(Time::ZERO, I, Event::Established);
        stage.schedule(Time::ZERO + rtt / 2, A, Event::Established);
        stage.run();
        stage
    }

    fn schedule(&mut self, time: Time, side: Side, event: Event) {
        self.count += 1;
        self.events.insert((time, self.count), (side, event));
    }

    fn run(&mut self) {
        loop {
            let timer =
                Side::BOTH.into_iter().filter_map(|side| Some((self.players[side].next_timeout()?, side))).min();
            let event = self.events.keys().next().map(|key| key.0);
            match (timer, event) {
                (Some((due, side)), event) if event.is_none_or(|event| due < event) => {
                    self.players[side].handle_timeout(due);
                    self.act(due, side);
                }
                (_, Some(_)) => self.serve(),
                _ => return,
            }
        }
    }

    fn serve(&mut self) {
        let ((now, _), (side, event)) = self.events.pop_first().unwrap();
        let player = &mut self.players[side];
        match event {
            Event::Established => player.handle_established(now, self.script),
            Event::Transmitted(total) => player.handle_transmitted(now, total, self.script),
            Event::PeerClosed => player.handle_peer_closed(now, self.script),
            Event::Received(total) => {
                self.received_at[side] = now;
                self.epochs.extend(player.handle_received(now, total, self.script));
            }
        }
        self.act(now, side);
    }

    fn act(&mut self, now: Time, side: Side) {
        while let Some(action) = self.players[side].poll_action(self.script) {
            self.actions.push((now, side, action));
            let half = self.rtt / 2;
            match action {
                Action::Write(bytes) => {
                    assert!(bytes > 0);
                    self.written[side] += bytes;
                    let total = self.written[side];
                    let sent = match self.bytes_per_second {
                        None => {
                            self.players[side].handle_transmitted(now, total, self.script);
                            now
                        }
                        Some(rate) => {
                            // A first byte at once, the last when the line has carried it.
                            self.players[side].handle_transmitted(now, total - bytes + 1, self.script);
                            let sent = now + Duration::from_secs_f64(bytes as f64 / rate as f64);
                            self.schedule(sent, side, Event::Transmitted(total));
                            sent
                        }
                    };
                    self.sending_until[side] = sent;
                    self.schedule(sent + half, side.other(), Event::Received(total));
                }
                Action::Close => {
                    let sent = now.max(self.sending_until[side]);
                    self.schedule(sent + half, side.other(), Event::PeerClosed);
                }
                Action::Abort => {}
            }
        }
    }

    fn all_exchanged(&self) -> bool {
        Side::BOTH.into_iter().all(|side| self.players[side].has_exchanged_all(self.script))
    }

    /// First data byte sent to last data byte received.
    fn duration(&self) -> Duration {
        self.received_at.initiator.max(self.received_at.acceptor).since(self.actions[0].0)
    }
}

fn play(vector: &ConnectionVector, model: ReplayModel, rtt: f64) -> (Duration, Vec<EpochTimes>) {
    let script = Script::new(vector, &model);
    let stage = Stage::play(&script, seconds(rtt), None);
    assert!(stage.all_exchanged());
    (stage.duration(), stage.epochs)
}

fn epoch(epoch: u32, start: f64, end: f64) -> EpochTimes {
    EpochTimes { epoch, start: at(start), end: at(end) }
}

#[test]
fn ideal_durations_of_sequential_vectors() {
    // methods B.2: E epochs without waits take E round trips.
    for epochs in 1..6u32 {
        let adus: Vec<_> = (0..epochs).flat_map(|_| [(I, 100, 0.0), (A, 200, 0.0)]).collect();
        let (duration, recorded) =
            play(&vector(Pattern::Sequential, &adus, Close::Fin(A)), ReplayModel::AIKAT_2010, 0.1);
        assert_eq!(duration, seconds(0.1) * u64::from(epochs));
        let expected: Vec<_> = (0..epochs).map(|i| epoch(i, 0.1 * f64::from(i), 0.1 * f64::from(i + 1))).collect();
        assert_eq!(recorded, expected);
    }
}

#[test]
fn ideal_durations_add_the_waits() {
    let adus = [(I, 1, 0.7), (A, 1, 2.0), (I, 1, 0.5), (A, 1, -1.0)];
    let vector = vector(Pattern::Sequential, &adus, Close::Fin(I));
    let (duration, epochs) = play(&vector, ReplayModel::AIKAT_2010, 0.1);
    assert_eq!(duration, seconds(2.0 * 0.1 + 0.7 + 2.0 + 0.5));
    // Response times contain ta, not tb (methods C.3); duration = sum of both.
    assert_eq!(epochs, [epoch(0, 0.0, 0.8), epoch(1, 2.8, 3.4)]);
}

/// A pause is counted from the last byte before it, inside the response that it belongs to; one at its border is none.
#[test]
fn pauses_inside_adus_are_played() {
    let adus = [(I, 100, 0.2), (A, 300, 1.0), (I, 100, 0.2), (A, 50, -1.0)];
    let mut vector = vector(Pattern::Sequential, &adus, Close::Fin(A));
    let pause = |after_bytes, length| Pause { after_bytes, length: seconds(length), heard: None };
    vector.pauses.acceptor = vec![pause(10, 0.1), pause(200, 0.4), pause(300, 9.0), pause(310, 0.3), pause(350, 9.0)];
    vector.pauses.initiator = vec![pause(0, 9.0), pause(50, 0.05)];
    let uncorrected = ReplayModel::with_waits(Waits { min: Duration::ZERO, correct: Correction::None });
    let script = Script::new(&vector, &uncorrected);
    let ends: Vec<_> = script.steps().iter().map(|step| (step.side, step.end, step.goes_on)).collect();
    let expected = [
        (I, 50, true),
        (I, 100, false),
        (A, 10, true),
        (A, 200, true),
        (A, 300, false),
        (I, 200, false),
        (A, 310, true),
        (A, 350, false),
    ];
    assert_eq!(ends, expected);
    assert_eq!(waits(&script), [0.0, 0.05, 0.2, 0.1, 0.4, 1.0, 0.2, 0.3].map(seconds));
    let (duration, epochs) = play(&vector, uncorrected, 0.1);
    assert_eq!(epochs, [epoch(0, 0.0, 0.85), epoch(1, 1.85, 2.45)], "from the first write to the last");
    assert_eq!(duration, seconds(2.45));
    let (_, epochs) = play(&vector, ReplayModel { writes: false, ..uncorrected }, 0.1);
    assert_eq!(epochs, [epoch(0, 0.0, 0.3), epoch(1, 1.3, 1.6)]);
}

/// Either end waits for what it heard, whatever its place in its own data; the wait holds a transit of its side.
#[test]
fn ends_of_concurrent_connections_answer_each_other() {
    let mut both = vector(Pattern::Concurrent, &[(I, 150, -1.0), (A, 300, -1.0)], Close::NotSeen);
    let waits = |after_bytes, length, heard| Pause { after_bytes, length: seconds(length), heard: Some(heard) };
    both.pauses.initiator = vec![waits(100, 0.2, 200)];
    both.pauses.acceptor = vec![waits(0, 0.35, 100), waits(200, 0.3, 150)];
    both.ends.initiator.min_transit = Some(seconds(0.01));
    both.ends.acceptor.min_transit = Some(seconds(0.1));
    let script = Script::new(&both, &CORRECTED);
    let step = |(at, step): (usize, &Step)| (step.side, step.end, script.heard_before(at));
    let heard: Vec<_> = script.steps().iter().enumerate().map(step).collect();
    assert_eq!(heard, [(I, 100, 0), (I, 150, 200), (A, 200, 100), (A, 300, 150)]);
    let stage = Stage::play(&script, seconds(0.1), None);
    let expected = [
        (at(0.0), I, Action::Write(100)),
        (at(0.3), A, Action::Write(200)),
        (at(0.54), I, Action::Write(50)),
        (at(0.79), A, Action::Write(100)),
    ];
    assert_eq!(stage.actions, expected);
    assert!(stage.all_exchanged());
    // Twice as far apart, both take as much longer as the bytes that they wait for.
    let slower = Stage::play(&script, seconds(0.2), None);
    assert_eq!(slower.actions.last(), Some(&(at(0.94), A, Action::Write(100))));
}

#[test]
fn ideal_duration_of_concurrent_blocks() {
    let both = vector(Pattern::Concurrent, &[(I, 100, -1.0), (A, 200, -1.0)], Close::Fin(I));
    let script = Script::new(&both, &ReplayModel::AIKAT_2010);
    let stage = Stage::play(&script, seconds(0.1), None);
    assert_eq!(stage.duration(), seconds(0.1));
    assert_eq!(stage.received_at, PerSide { initiator: at(0.1), acceptor: at(0.05) });
    assert!(stage.epochs.is_empty());
}

#[test]
fn concurrent_sides_keep_their_own_time() {
    // TV2: each side waits after its own last transmission, whatever the other does.
    let adus = [(I, 100, 0.949), (A, 50, 1.56), (I, 220, -1.0), (A, 70, -1.0)];
    let script = Script::new(&vector(Pattern::Concurrent, &adus, Close::NotSeen), &CORRECTED);
    let stage = Stage::play(&script, seconds(0.1), None);
    let expected = [
        (at(0.0), I, Action::Write(100)),
        (at(0.05), A, Action::Write(50)),
        (at(0.949), I, Action::Write(220)),
        (at(1.61), A, Action::Write(70)),
    ];
    assert_eq!(stage.actions, expected);
    assert!(stage.all_exchanged());
}

#[test]
fn half_epochs_wait_for_the_senders_own_last_byte() {
    // 1,000 bytes take 1 s to leave: the wait of 2 s runs from there, not from the write.
    let adus = [(I, 1000, 2.0), (I, 1000, 0.0), (A, 500, 3.0), (A, 500, 0.0), (I, 100, -1.0)];
    let vector = vector(Pattern::Sequential, &adus, Close::NotSeen);
    let script = Script::new(&vector, &ReplayModel::AIKAT_2010);
    let stage = Stage::play(&script, seconds(0.1), Some(1000));
    let expected = [
        (at(0.0), I, Action::Write(1000)),
        (at(3.0), I, Action::Write(1000)),
        (at(4.05), A, Action::Write(500)),
        (at(7.55), A, Action::Write(500)),
        (at(8.1), I, Action::Write(100)),
    ];
    assert_eq!(stage.actions, expected);
    // The epoch with both is the second; it starts with its own request.
    assert_eq!(stage.epochs, [epoch(1, 3.0, 4.6)]);
    assert_eq!(vector.epochs().filter(|epoch| epoch.response_time().is_some()).count(), 1);
}

#[test]
fn epochs_are_numbered_as_the_vector_numbers_them() {
    let adus = [(A, 9, 0.0), (I, 1, 0.0), (I, 1, 0.0), (A, 1, 0.0), (A, 1, 0.0), (I, 1, 0.0), (A, 1, -1.0)];
    let vector = vector(Pattern::Sequential, &adus, Close::NotSeen);
    let full = vector.epochs().enumerate().filter(|(_, epoch)| epoch.response_time().is_some());
    let (_, recorded) = play(&vector, ReplayModel::AIKAT_2010, 0.1);
    assert_eq!(
        recorded.iter().map(|epoch| epoch.epoch as usize).collect::<Vec<_>>(),
        full.map(|(index, _)| index).collect::<Vec<_>>()
    );
}

#[test]
fn an_acceptor_that_speaks_first_starts_on_being_established() {
    let adus = [(A, 90, 0.0), (I, 10, -1.0)];
    let script = Script::new(&vector(Pattern::Sequential, &adus, Close::NotSeen), &ReplayModel::AIKAT_2010);
    let stage = Stage::play(&script, seconds(0.1), None);
    assert_eq!(stage.actions, [(at(0.05), A, Action::Write(90)), (at(0.1), I, Action::Write(10))]);
}

#[test]
fn lead_in_runs_from_the_handshake() {
    let mut vector = vector(Pattern::Sequential, &[(A, 90, 0.0), (I, 10, -1.0)], Close::NotSeen);
    vector.ends.acceptor.lead_in = Some(seconds(1.04));
    let script = Script::new(&vector, &CORRECTED);
    let stage = Stage::play(&script, seconds(0.1), None);
    assert_eq!(stage.actions[0], (at(1.05), A, Action::Write(90)));
}

#[test]
fn one_sided_connections_complete() {
    for pattern in [Pattern::Sequential, Pattern::Concurrent] {
        for (side, closer) in [(I, I), (I, A), (A, I), (A, A)] {
            let vector = vector(pattern, &[(side, 5_000_000_000, 1.0), (side, 1, -1.0)], Close::Fin(closer));
            let script = Script::new(&vector, &ReplayModel::AIKAT_2010);
            let stage = Stage::play(&script, seconds(0.1), None);
            assert!(stage.all_exchanged(), "{pattern:?} {side:?} {closer:?}");
            let writes = stage.actions.iter().filter(|action| matches!(action.2, Action::Write(_))).count();
            assert_eq!(writes, 2);
            assert_eq!(stage.written[side], 5_000_000_001);
            let closes: Vec<_> = stage.actions.iter().filter(|action| action.2 == Action::Close).collect();
            assert_eq!(closes.iter().map(|close| close.1).collect::<Vec<_>>(), [closer, closer.other()]);
        }
    }
}

#[test]
fn a_vector_without_data_only_closes() {
    let script = Script::new(&vector(Pattern::Sequential, &[], Close::Fin(A)), &ReplayModel::AIKAT_2010);
    let stage = Stage::play(&script, seconds(0.1), None);
    assert_eq!(stage.actions, [(at(0.05), A, Action::Close), (at(0.1), I, Action::Close)]);
}

#[test]
fn the_close_comes_from_its_side_after_its_wait() {
    let closes = |close, t_close| {
        let mut vector = test_vector();
        (vector.close, vector.t_close) = (close, Some(seconds(t_close)));
        let script = Script::new(&vector, &CORRECTED);
        let stage = Stage::play(&script, seconds(0.05), None);
        assert!(stage.all_exchanged());
        let is_close = |action: &&(Time, Side, Action)| !matches!(action.2, Action::Write(_));
        stage.actions.iter().filter(is_close).copied().collect::<Vec<_>>()
    };
    // The last response is written at 0.109 + 1.2 + 0.05 + 0.025 and received half a round trip later.
    assert_eq!(closes(Close::Fin(A), 2.0), [(at(3.384), A, Action::Close), (at(3.409), I, Action::Close)]);
    assert_eq!(closes(Close::Fin(I), 2.0), [(at(3.399), I, Action::Close), (at(3.424), A, Action::Close)]);
    assert_eq!(closes(Close::Rst(I), 2.0), [(at(3.399), I, Action::Abort)]);
    assert_eq!(closes(Close::Fin(I), 0.0), [(at(1.409), I, Action::Close), (at(1.434), A, Action::Close)]);
    assert_eq!(closes(Close::NotSeen, 2.0), []);
}

#[test]
fn an_end_with_data_left_closes_only_when_it_is_sent() {
    let adus = [(I, 100, -1.0), (A, 10, 5.0), (A, 10, -1.0)];
    let script = Script::new(&vector(Pattern::Concurrent, &adus, Close::Fin(I)), &ReplayModel::AIKAT_2010);
    let mut player = Player::new(A);
    player.handle_established(at(0.0), &script);
    assert_eq!(player.poll_action(&script), Some(Action::Write(10)));
    player.handle_transmitted(at(0.0), 10, &script);
    player.handle_received(at(0.1), 100, &script);
    player.handle_peer_closed(at(0.1), &script);
    assert_eq!(player.poll_action(&script), None);
    assert_eq!(player.next_timeout(), Some(at(5.0)));
    player.handle_timeout(at(5.0));
    assert_eq!(player.poll_action(&script), Some(Action::Write(10)));
    player.handle_transmitted(at(5.0), 20, &script);
    assert_eq!(player.poll_action(&script), Some(Action::Close));
    assert_eq!(player.poll_action(&script), None);
}

#[test]
fn one_report_may_complete_several_adus() {
    // The hole that held both responses back is filled: the epoch ends, then its half epoch.
    let adus = [(I, 100, 0.0), (A, 10, 0.6), (A, 20, 0.0), (I, 5, -1.0)];
    let script = Script::new(&vector(Pattern::Sequential, &adus, Close::NotSeen), &ReplayModel::AIKAT_2010);
    let mut player = Player::new(I);
    player.handle_established(at(0.0), &script);
    assert_eq!(player.poll_action(&script), Some(Action::Write(100)));
    player.handle_transmitted(at(0.0), 100, &script);
    assert_eq!(player.handle_received(at(0.9), 30, &script), Some(epoch(0, 0.0, 0.9)));
    assert_eq!(player.poll_action(&script), Some(Action::Write(5)));
}

#[test]
fn scripts_and_players_are_small() {
    assert!(size_of::<Player>() <= 48, "{}", size_of::<Player>());
    assert!(size_of::<Script>() <= 72, "{}", size_of::<Script>());
    assert!(size_of::<Step>() <= 24, "{}", size_of::<Step>());
}

/// A player over a transport that transmits at once.
struct Driven<'a> {
    script: &'a Script,
    player: Player,
    written: u64,
}

impl Machine for Driven<'_> {
    type Input = Event;
    type Output = Action;

    fn input(&mut self, now: Time, input: &Event) {
        match *input {
            Event::Established => self.player.handle_established(now, self.script),
            Event::Transmitted(total) => self.player.handle_transmitted(now, total, self.script),
            Event::PeerClosed => self.player.handle_peer_closed(now, self.script),
            Event::Received(total) => {
                self.player.handle_received(now, total, self.script);
            }
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        self.player.handle_timeout(now);
    }

    fn poll(&mut self, now: Time) -> Option<Action> {
        let action = self.player.poll_action(self.script);
        if let Some(Action::Write(bytes)) = action {
            self.written += bytes;
            self.player.handle_transmitted(now, self.written, self.script);
        }
        action
    }

    fn next_timeout(&self) -> Option<Time> {
        self.player.next_timeout()
    }
}

#[test]
fn player_keeps_the_contract() {
    let adus = [(I, 1, 0.7), (I, 2, 0.6), (A, 3, 0.9), (A, 4, 0.5), (I, 5, 0.8), (I, 6, 0.5), (I, 7, -1.0)];
    for (pattern, close) in [
        (Pattern::Sequential, Close::Fin(I)),
        (Pattern::Sequential, Close::Rst(A)),
        (Pattern::Concurrent, Close::Fin(I)),
        (Pattern::Concurrent, Close::NotSeen),
    ] {
        let mut vector = vector(pattern, &adus, close);
        vector.t_close = Some(seconds(1.5));
        vector.ends.initiator.lead_in = Some(seconds(0.4));
        let script = Script::new(&vector, &CORRECTED);
        let own_last = script.total(A);
        let inputs = [
            (at(0.1), Event::Established),
            (at(1.75), Event::Received(3)),
            (at(3.25), Event::Received(own_last)),
            (at(9.0), Event::PeerClosed),
        ];
        let make = |side| Driven { script: &script, player: Player::new(side), written: 0 };
        // Long enough to sleep through several waits.
        check(|| make(I), &inputs, seconds(1.4));
        let inputs = [
            (at(0.1), Event::Established),
            (at(0.2), Event::Received(1)),
            (at(0.9), Event::Received(3)),
            (at(3.25), Event::Received(8)),
            (at(3.30), Event::Received(script.total(I))),
            (at(9.0), Event::PeerClosed),
        ];
        check(|| make(A), &inputs, seconds(1.4));
    }
}
