//! What happens to the packets of one flow and direction on their way beside being delayed: loss, duplication, reordering,
//! jitter.
//!
//! The order is that of methods F.6 and of tc-netem(8): first a packet may be lost; what is not lost may be doubled; then
//! each is delayed, with jitter, or changes places with others.

use super::delay_box::DelayBox;
use super::loss::{Loss, LossModel};
use super::rules::flow_stream;
use crate::distribution::Distribution;
use crate::rng::{Purpose, Stream};
use crate::time::{Duration, Time};
use crate::units::Probability;
use crate::workload::Side;

/// What may happen to packets. Nothing, by default.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Impairments {
    /// Which packets are lost.
    pub loss: LossModel,
    /// Share of the packets, of those not lost, that arrive twice. The copy is right behind the packet; it is neither lost
    /// nor doubled nor reordered itself.
    pub duplicate: Probability,
    /// Which packets change places.
    pub reorder: Option<Reorder>,
    /// Delay that differs from packet to packet.
    pub jitter: Option<Jitter>,
}

impl Impairments {
    /// Whether nothing can happen.
    pub fn is_none(&self) -> bool {
        self.loss.is_none() && self.duplicate == Probability::ZERO && self.reorder.is_none() && self.jitter.is_none()
    }

    /// Whether packets may leave in another order than they came in.
    pub fn may_reorder(&self) -> bool {
        self.reorder.is_some() || self.jitter.as_ref().is_some_and(|jitter| !jitter.keeps_order)
    }
}

/// Which packets change places with others, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reorder {
    /// Share of the packets whose turn it may be.
    pub share: Probability,
    /// At least so many packets from one that changes places to the next: with 5 and a share of 1, the 5th, 10th, ... do
    /// (netem's `gap`). 1 for no such rule.
    pub gap: u32,
    /// How.
    pub manner: Reordering,
}

/// How a packet changes places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reordering {
    /// It is handed on at once, without the delay of this part of the path, as netem does: it overtakes the packets
    /// that are being delayed. Where there is no delay there is nothing to overtake.
    Overtake,
    /// It is handed on so much later than it would be: the packets behind it overtake it.
    Late(Duration),
}

/// Delay on top of the path's own, drawn for each packet, in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Jitter {
    /// Its distribution.
    pub distribution: Distribution,
    /// Whether a packet that is drawn a short delay waits for those before it: it goes through the delta queue. If not, it
    /// overtakes them.
    pub keeps_order: bool,
}

impl Jitter {
    /// The most that is ever added: an hour, whatever the distribution says.
    pub const MOST: Duration = Duration::from_secs(3_600);
}

/// When a packet is handed on, if it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was lost ([`DropReason::Loss`](crate::record::DropReason::Loss)).
    Lost,
    /// It is handed on once, or twice.
    Passed {
        /// When.
        due: Time,
        /// When its copy is.
        copy: Option<Time>,
    },
}

/// One flow and direction on its way through [`Impairments`], which all flows share and which are given at each call.
///
/// There is a stream of random numbers for each purpose and direction of a connection, and each packet takes as many numbers
/// from it as any other: what is drawn for a packet depends on its number in its flow and on nothing else.
#[derive(Clone, Debug)]
pub struct Impaired {
    loss: Option<Box<Loss>>,
    /// The flow's own, from its rule (methods F.6), before all else.
    own: Option<Box<(LossModel, Loss)>>,
    duplicates: Option<Box<Stream>>,
    reorder: Option<Box<Stream>>,
    /// Packets since one changed places.
    in_order: u32,
    jitter: Option<Box<Stream>>,
}

/// One flow and direction behind the link, where it loses packets at a rate of its own.
#[derive(Clone, Debug)]
pub struct LossBehind {
    model: LossModel,
    loss: Loss,
}

impl LossBehind {
    /// The packets that `sender` sends in `connection`, of which a share `rate` is lost; `None` if none is.
    pub fn new(rate: Probability, seed: u64, connection: u64, sender: Side) -> Option<LossBehind> {
        let model = LossModel::Bernoulli(rate);
        let loss = Loss::new(&model, flow_stream(seed, Purpose::OwnLossBehind, connection, sender));
        (!model.is_none()).then_some(LossBehind { model, loss })
    }

    /// Whether the next packet is lost.
    pub fn takes(&mut self) -> bool {
        self.loss.takes(&self.model)
    }
}

impl Impaired {
    /// The packets that `sender` sends in `connection`, which lose a share `own_loss` beside what is lost by the model;
    /// `None` if nothing can happen to them.
    pub fn new(
        config: &Impairments,
        own_loss: Probability,
        seed: u64,
        connection: u64,
        sender: Side,
    ) -> Option<Box<Impaired>> {
        if config.is_none() && own_loss == Probability::ZERO {
            return None;
        }
        let stream = |purpose| flow_stream(seed, purpose, connection, sender);
        let own = LossModel::Bernoulli(own_loss);
        Some(Box::new(Impaired {
            loss: (!config.loss.is_none()).then(|| Box::new(Loss::new(&config.loss, stream(Purpose::Loss)))),
            own: (!own.is_none()).then(|| {
                let loss = Loss::new(&own, stream(Purpose::OwnLoss));
                Box::new((own, loss))
            }),
            duplicates: (config.duplicate != Probability::ZERO).then(|| Box::new(stream(Purpose::Duplicates))),
            reorder: config.reorder.map(|_| Box::new(stream(Purpose::Reordering))),
            in_order: 0,
            jitter: config.jitter.as_ref().map(|_| Box::new(stream(Purpose::Jitter))),
        }))
    }

    /// A packet of `bytes` comes at `now`, which never decreases, on its way to `path`.
    pub fn pass(&mut self, config: &Impairments, path: &mut DelayBox, now: Time, bytes: u32) -> Fate {
        let own = self.own.as_mut().is_some_and(|own| own.1.takes(&own.0));
        let lost = self.loss.as_mut().is_some_and(|loss| loss.takes(&config.loss)) || own;
        let doubled = self.duplicates.as_mut().is_some_and(|stream| stream.uniform() < config.duplicate.get());
        let chosen = match (&mut self.reorder, &config.reorder) {
            (Some(stream), Some(reorder)) => (stream.uniform() < reorder.share.get()).then_some(reorder),
            _ => None,
        };
        // The copy's is drawn for every packet too.
        let [jitter, of_copy] = [self.jitter(config), self.jitter(config)];
        if lost {
            return Fate::Lost;
        }
        let moved = chosen.filter(|reorder| self.in_order + 1 >= reorder.gap).map(|reorder| reorder.manner);
        self.in_order = if moved.is_some() { 0 } else { self.in_order.saturating_add(1) };
        let keeps_order = config.jitter.as_ref().is_none_or(|jitter| jitter.keeps_order);
        let mut delayed = |extra: Duration| match keeps_order {
            true => path.pass_after(now, extra, bytes),
            false => path.pass(now, bytes) + extra,
        };
        let due = match moved {
            Some(Reordering::Overtake) => now,
            Some(Reordering::Late(by)) => delayed(jitter) + by,
            None => delayed(jitter),
        };
        Fate::Passed { due, copy: doubled.then(|| delayed(of_copy)) }
    }

    fn jitter(&mut self, config: &Impairments) -> Duration {
        match (&mut self.jitter, &config.jitter) {
            (Some(stream), Some(jitter)) => {
                let nanos = jitter.distribution.sample(stream).round();
                Duration::from_nanos(nanos as u64).min(Jitter::MOST)
            }
            _ => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{self, Machine};
    use crate::distribution::Law;
    use crate::path::loss::PacketList;
    use crate::units::Rate;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn at(millis: u64) -> Time {
        Time::ZERO + MS(millis)
    }

    fn probability(p: f64) -> Probability {
        Probability::new(p).unwrap()
    }

    fn certain() -> Probability {
        probability(1.0)
    }

    fn jitter(law: Law, keeps_order: bool) -> Option<Jitter> {
        Some(Jitter { distribution: Distribution::new(law).unwrap(), keeps_order })
    }

    /// What becomes of a packet of 1,000 bytes every millisecond over a path of `delay`: when it is due and when its copy is,
    /// in milliseconds; -1 for a lost one.
    fn fates(config: &Impairments, delay: u64, packets: u64) -> Vec<(f64, Option<f64>)> {
        let mut path = DelayBox::new(MS(delay), Rate::UNLIMITED);
        let mut flow = Impaired::new(config, Probability::ZERO, 1, 0, Side::Initiator).unwrap();
        let millis = |time: Time| time.as_nanos() as f64 / 1e6;
        let mut fate = |n| match flow.pass(config, &mut path, at(n), 1_000) {
            Fate::Lost => (-1.0, None),
            Fate::Passed { due, copy } => (millis(due), copy.map(millis)),
        };
        (0..packets).map(&mut fate).collect()
    }

    fn dues(config: &Impairments, delay: u64, packets: u64) -> Vec<f64> {
        fates(config, delay, packets).into_iter().map(|fate| fate.0).collect()
    }

    #[test]
    fn nothing_is_nothing() {
        assert!(Impaired::new(&Impairments::default(), Probability::ZERO, 1, 0, Side::Initiator).is_none());
    }

    #[test]
    fn every_fifth_packet_overtakes_as_netem_has_it() {
        let reorder = Some(Reorder { share: certain(), gap: 5, manner: Reordering::Overtake });
        let config = Impairments { reorder, ..Impairments::default() };
        assert_eq!(dues(&config, 10, 10), [10.0, 11.0, 12.0, 13.0, 4.0, 15.0, 16.0, 17.0, 18.0, 9.0]);
        assert!(config.may_reorder());
    }

    #[test]
    fn late_packets_are_overtaken_and_hold_nobody_up() {
        let reorder = Some(Reorder { share: certain(), gap: 3, manner: Reordering::Late(MS(2)) });
        let config = Impairments { reorder, ..Impairments::default() };
        assert_eq!(dues(&config, 10, 6), [10.0, 11.0, 14.0, 13.0, 14.0, 17.0]);
    }

    #[test]
    fn the_share_of_moved_packets_is_the_share_asked_for() {
        let reorder = Some(Reorder { share: probability(0.1), gap: 1, manner: Reordering::Overtake });
        let config = Impairments { reorder, ..Impairments::default() };
        let moved = dues(&config, 10, 100_000).iter().zip(0..).filter(|&(&due, n)| due == f64::from(n)).count();
        // Standard error 95: five of them.
        assert!(moved.abs_diff(10_000) < 500, "{moved}");
    }

    #[test]
    fn constant_jitter_is_more_delay() {
        for keeps_order in [true, false] {
            let config = Impairments { jitter: jitter(Law::Constant(3e6), keeps_order), ..Impairments::default() };
            assert_eq!(dues(&config, 10, 3), [13.0, 14.0, 15.0]);
        }
    }

    #[test]
    fn jitter_keeps_the_order_or_not() {
        let law = Law::Exponential { mean: 5e6 };
        let free = dues(&Impairments { jitter: jitter(law.clone(), false), ..Impairments::default() }, 10, 1_000);
        let kept = dues(&Impairments { jitter: jitter(law, true), ..Impairments::default() }, 10, 1_000);
        assert!(free.windows(2).any(|pair| pair[1] < pair[0]) && kept.is_sorted());
        // With the same numbers drawn, what keeps the order is the largest so far of what does not.
        let mut largest = 0.0_f64;
        for (free, kept) in free.iter().zip(kept) {
            largest = largest.max(*free);
            assert_eq!(kept, largest);
        }
        let extra = free.iter().zip(0..).map(|(due, n)| due - 10.0 - f64::from(n)).sum::<f64>() / 1e3;
        assert!((extra / 5.0 - 1.0).abs() < 0.16, "standard error 3 %: {extra}");
    }

    #[test]
    fn jitter_and_a_bottleneck_share_the_delta_queue() {
        // The bottleneck of methods F.6's test vector; 2 ms of jitter move every arrival of it.
        let config = Impairments { jitter: jitter(Law::Constant(2e6), true), ..Impairments::default() };
        let mut path = DelayBox::new(MS(20), "1mbit".parse().unwrap());
        let mut flow = Impaired::new(&config, Probability::ZERO, 1, 0, Side::Initiator).unwrap();
        for (micros, bytes, start) in
            [(0, 40, 22_000), (1_000, 1_000, 23_000), (1_500, 1_000, 31_000), (50_000, 40, 72_000)]
        {
            let due = Time::ZERO + Duration::from_micros(start);
            let fate = flow.pass(&config, &mut path, Time::ZERO + Duration::from_micros(micros), bytes);
            assert_eq!(fate, Fate::Passed { due, copy: None });
        }
    }

    #[test]
    fn doubled_packets_come_twice() {
        let config = Impairments { duplicate: certain(), ..Impairments::default() };
        assert_eq!(fates(&config, 10, 2), [(10.0, Some(10.0)), (11.0, Some(11.0))]);
        let config = Impairments { duplicate: probability(0.03), ..Impairments::default() };
        let doubled = fates(&config, 10, 100_000).iter().filter(|fate| fate.1.is_some()).count();
        assert!(doubled.abs_diff(3_000) < 270, "five standard errors: {doubled}");
    }

    #[test]
    fn lost_packets_take_no_place_in_the_queue() {
        let loss = LossModel::List(PacketList::new([(2, 2), (4, 5)]).unwrap());
        let config = Impairments { loss, duplicate: certain(), ..Impairments::default() };
        let expected = [(10.0, Some(10.0)), (-1.0, None), (12.0, Some(12.0)), (-1.0, None), (-1.0, None)];
        assert_eq!(fates(&config, 10, 5), expected);
    }

    /// Methods L.5: another impairment does not change which packets are lost.
    #[test]
    fn purposes_do_not_shift_each_other() {
        let loss = LossModel::Bernoulli(probability(0.1));
        let alone = Impairments { loss, ..Impairments::default() };
        let reorder = Some(Reorder { share: probability(0.2), gap: 1, manner: Reordering::Late(MS(3)) });
        let jitter = jitter(Law::Exponential { mean: 1e6 }, false);
        let all = Impairments { duplicate: probability(0.1), reorder, jitter, ..alone.clone() };
        let lost = |config| dues(config, 10, 1_000).iter().map(|&due| due < 0.0).collect::<Vec<_>>();
        assert_eq!(lost(&alone), lost(&all));
    }

    #[test]
    fn directions_and_connections_lose_different_packets_whenever_they_start() {
        let config = Impairments { loss: LossModel::Bernoulli(probability(0.5)), ..Impairments::default() };
        let fates = |connection, side| -> Vec<bool> {
            let mut path = DelayBox::new(MS(1), Rate::UNLIMITED);
            let mut flow = Impaired::new(&config, Probability::ZERO, 1, connection, side).unwrap();
            (0..64).map(|n| flow.pass(&config, &mut path, at(n), 40) == Fate::Lost).collect()
        };
        let before = fates(7, Side::Initiator);
        let others: Vec<_> =
            [(7, Side::Acceptor), (8, Side::Initiator), (3, Side::Acceptor)].map(|(id, side)| fates(id, side)).into();
        assert!(others.iter().all(|other| *other != before));
        assert_eq!(fates(7, Side::Initiator), before);
    }

    struct Contract(Impairments, Box<Impaired>, DelayBox, Option<Fate>);

    impl Machine for Contract {
        type Input = u32;
        type Output = Fate;

        fn input(&mut self, now: Time, &bytes: &u32) {
            self.3 = Some(self.1.pass(&self.0, &mut self.2, now, bytes));
        }

        /// It answers at once and has no deadlines.
        fn handle_timeout(&mut self, _: Time) {}

        fn poll(&mut self, _: Time) -> Option<Fate> {
            self.3.take()
        }

        fn next_timeout(&self) -> Option<Time> {
            None
        }
    }

    #[test]
    fn keeps_the_calling_contract() {
        let config = Impairments {
            loss: LossModel::Bernoulli(probability(0.1)),
            duplicate: probability(0.1),
            reorder: Some(Reorder { share: probability(0.3), gap: 2, manner: Reordering::Late(MS(1)) }),
            jitter: jitter(Law::Exponential { mean: 1e6 }, true),
        };
        let packets: Vec<_> = (0..200).map(|n| (at(n * 2), 40 + 300 * (n as u32 % 5))).collect();
        let make = || {
            let flow = Impaired::new(&config, probability(0.05), 1, 0, Side::Initiator).unwrap();
            Contract(config.clone(), flow, DelayBox::new(MS(20), "1mbit".parse().unwrap()), None)
        };
        contract::check(make, &packets, Duration::from_secs(1));
    }
}
