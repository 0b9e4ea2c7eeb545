//! Loss models: which packets of a flow disappear on the way.
//!
//! | model | parameters | source |
//! |---|---|---|
//! | Bernoulli | `p` | each packet by itself |
//! | Gilbert-Elliott | `p`, `r`, `1-h`, `1-k` | Gilbert 1960, Elliott 1963; spelled as in tc-netem(8), `loss gemodel` |
//! | Gilbert | `p`, `r` (`1-h` = 1, `1-k` = 0) | the same: every packet in the bad state is lost |
//! | list | numbers of packets and intervals of them | tests of retransmission |

use crate::rng::Stream;
use crate::units::Probability;

/// A loss model. The packets of one flow in one direction are its time: each asks once, in order.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum LossModel {
    /// Nothing is lost.
    #[default]
    None,
    /// Each packet is lost with this probability, whatever became of the others.
    Bernoulli(Probability),
    /// Losses in bursts.
    GilbertElliott(GilbertElliott),
    /// These packets are lost.
    List(PacketList),
}

impl LossModel {
    /// The share of packets lost in the long run; `None` where that depends on how many there are (lists).
    pub fn mean_loss(&self) -> Option<f64> {
        match self {
            LossModel::None => Some(0.0),
            LossModel::Bernoulli(p) => Some(p.get()),
            LossModel::GilbertElliott(model) => Some(model.mean_loss()),
            LossModel::List(_) => None,
        }
    }

    /// Whether nothing can ever be lost.
    pub fn is_none(&self) -> bool {
        *self == LossModel::None || *self == LossModel::Bernoulli(Probability::ZERO)
    }
}

/// The Gilbert-Elliott model: a channel that is good or bad, and loses packets with a probability of either state.
///
/// The names are netem's: the literature writes h and k for the probability that a packet *survives* the bad and the good
/// state, so that `1-h` and `1-k` are the losses. Each packet meets the state the channel is in, and then the channel may
/// change. The first packet of a flow meets either state as often as any other packet does (netem begins in the good one;
/// with flows of a few packets that would lose fewer than [`GilbertElliott::mean_loss`] says).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GilbertElliott {
    /// From good to bad, per packet.
    pub p: Probability,
    /// From bad to good, per packet.
    pub r: Probability,
    /// Loss in the bad state, `1-h`.
    pub bad_loss: Probability,
    /// Loss in the good state, `1-k`.
    pub good_loss: Probability,
}

impl GilbertElliott {
    /// Gilbert's simple model: no loss in the good state, nothing but loss in the bad one. Mean loss p / (p + r), bursts of
    /// 1 / r packets.
    pub fn simple(p: Probability, r: Probability) -> GilbertElliott {
        let certain = Probability::new(1.0).unwrap_or_default();
        GilbertElliott { p, r, bad_loss: certain, good_loss: Probability::ZERO }
    }

    /// Share of packets that meet the bad state: p / (p + r); none if the state never changes.
    pub fn bad_share(&self) -> f64 {
        let (p, r) = (self.p.get(), self.r.get());
        if p + r > 0.0 { p / (p + r) } else { 0.0 }
    }

    /// Share of packets lost in the long run: (1-k) r / (p + r) + (1-h) p / (p + r).
    pub fn mean_loss(&self) -> f64 {
        let bad = self.bad_share();
        (1.0 - bad) * self.good_loss.get() + bad * self.bad_loss.get()
    }

    /// Mean number of packets lost in a row: the share of packets lost over the share that is lost behind one that is not.
    /// 1 / r for the simple model; infinite if everything is lost, and zero if nothing is.
    pub fn mean_burst(&self) -> f64 {
        let (p, r) = (self.p.get(), self.r.get());
        let (good, bad) = (self.good_loss.get(), self.bad_loss.get());
        let share = self.bad_share();
        let loss = self.mean_loss();
        if loss == 0.0 {
            return 0.0;
        }
        let both = (1.0 - share) * good * ((1.0 - p) * good + p * bad) + share * bad * (r * good + (1.0 - r) * bad);
        loss / (loss - both)
    }
}

/// Packets by their number in the flow and direction, from 1: `3`, or `5-8` with both ends.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct PacketList {
    /// First and last of each interval, ascending, with gaps between them.
    intervals: Vec<(u64, u64)>,
}

/// Why a list of packets makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PacketListError {
    /// An interval ends before it begins, or begins at 0.
    #[error("{first}-{last} is no interval of packets: they are numbered from 1, the first comes first")]
    Interval {
        /// Its first packet.
        first: u64,
        /// Its last.
        last: u64,
    },
}

impl PacketList {
    /// The packets of these intervals, in any order; those that overlap are joined.
    ///
    /// # Errors
    /// If an interval ends before it begins, or begins before packet 1.
    pub fn new(intervals: impl IntoIterator<Item = (u64, u64)>) -> Result<PacketList, PacketListError> {
        let mut sorted: Vec<_> = intervals.into_iter().collect();
        if let Some(&(first, last)) = sorted.iter().find(|(first, last)| *first == 0 || last < first) {
            return Err(PacketListError::Interval { first, last });
        }
        sorted.sort_unstable();
        let mut intervals: Vec<(u64, u64)> = Vec::with_capacity(sorted.len());
        for (first, last) in sorted {
            match intervals.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
                _ => intervals.push((first, last)),
            }
        }
        Ok(PacketList { intervals })
    }

    fn contains(&self, packet: u64) -> bool {
        let after = self.intervals.partition_point(|interval| interval.0 <= packet);
        after > 0 && packet <= self.intervals[after - 1].1
    }
}

/// Where a flow and direction stands in its loss model. The model itself is given at each call, since all flows share it.
#[derive(Clone, Debug)]
pub struct Loss {
    stream: Stream,
    /// Packets that asked.
    packets: u64,
    bad: bool,
}

impl Loss {
    /// Before the first packet. `stream` is this flow's and direction's own.
    pub fn new(model: &LossModel, mut stream: Stream) -> Loss {
        let bad = match model {
            LossModel::GilbertElliott(model) => stream.uniform() < model.bad_share(),
            _ => false,
        };
        Loss { stream, packets: 0, bad }
    }

    /// Whether the next packet is lost.
    pub fn takes(&mut self, model: &LossModel) -> bool {
        self.packets += 1;
        match model {
            LossModel::None => false,
            LossModel::Bernoulli(p) => self.stream.uniform() < p.get(),
            LossModel::GilbertElliott(model) => {
                // Both numbers are drawn for every packet, so that packet n's are the same in every variant.
                let (loss, change) = (self.stream.uniform(), self.stream.uniform());
                let (loses, changes) = match self.bad {
                    true => (model.bad_loss, model.r),
                    false => (model.good_loss, model.p),
                };
                self.bad ^= change < changes.get();
                loss < loses.get()
            }
            LossModel::List(list) => list.contains(self.packets),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Purpose;

    fn probability(p: f64) -> Probability {
        Probability::new(p).unwrap()
    }

    fn model(p: f64, r: f64, bad: f64, good: f64) -> GilbertElliott {
        let [p, r, bad_loss, good_loss] = [p, r, bad, good].map(probability);
        GilbertElliott { p, r, bad_loss, good_loss }
    }

    fn stream(id: u64) -> Stream {
        Stream::new(1, Purpose::Loss, id)
    }

    /// Share lost and mean run of losses of a million packets.
    fn measured(model: &LossModel, id: u64) -> (f64, f64) {
        let mut loss = Loss::new(model, stream(id));
        let lost: Vec<bool> = (0..1_000_000).map(|_| loss.takes(model)).collect();
        let count = lost.iter().filter(|&&lost| lost).count() as f64;
        let runs = lost.windows(2).filter(|pair| pair[1] && !pair[0]).count() as f64;
        (count / 1e6, count / runs)
    }

    #[test]
    fn means_of_known_parameters() {
        // Simple Gilbert: p / (p + r) and 1 / r.
        let simple = GilbertElliott::simple(probability(0.01), probability(0.25));
        assert!((simple.mean_loss() - 1.0 / 26.0).abs() < 1e-15);
        assert!((simple.mean_burst() - 4.0).abs() < 1e-12);
        // Equal losses in both states are Bernoulli: runs of 1 / (1 - p).
        let equal = model(0.1, 0.3, 0.2, 0.2);
        assert!((equal.mean_loss() - 0.2).abs() < 1e-15 && (equal.mean_burst() - 1.25).abs() < 1e-12);
        // A worked case: bad share 1/4, loss 0.75 * 0.01 + 0.25 * 0.5 = 0.1325; lost behind lost
        // 0.75 * 0.01 * (0.9 * 0.01 + 0.1 * 0.5) + 0.25 * 0.5 * (0.3 * 0.01 + 0.7 * 0.5) = 0.0445675.
        let full = model(0.1, 0.3, 0.5, 0.01);
        assert!((full.mean_loss() - 0.1325).abs() < 1e-15);
        assert!((full.mean_burst() - 0.1325 / (0.1325 - 0.044_567_5)).abs() < 1e-12);
        assert_eq!(model(0.0, 0.0, 1.0, 0.0).mean_loss(), 0.0, "it never leaves the good state");
        assert_eq!(model(0.0, 0.5, 1.0, 0.0).mean_burst(), 0.0);
    }

    /// A million packets; the standard error of the rarest is 2 % (Gilbert with bursts), so the tolerance is 5 %.
    #[test]
    fn losses_are_as_frequent_and_as_long_as_the_means_say() {
        let bernoulli = LossModel::Bernoulli(probability(0.02));
        let (share, run) = measured(&bernoulli, 0);
        assert!((share / 0.02 - 1.0).abs() < 0.05 && (run / (1.0 / 0.98) - 1.0).abs() < 0.05, "{share} {run}");
        for (id, gilbert) in
            (1..).zip([model(0.01, 0.25, 1.0, 0.0), model(0.1, 0.3, 0.5, 0.01), model(0.001, 0.05, 0.9, 0.0)])
        {
            let (share, run) = measured(&LossModel::GilbertElliott(gilbert), id);
            assert!((share / gilbert.mean_loss() - 1.0).abs() < 0.05, "{gilbert:?}: {share}");
            assert!((run / gilbert.mean_burst() - 1.0).abs() < 0.05, "{gilbert:?}: {run}");
        }
    }

    /// Flows of one packet lose as many as a long one does: 100,000 of them, standard error 1.6 %.
    #[test]
    fn short_flows_lose_no_fewer() {
        let gilbert = GilbertElliott::simple(probability(0.01), probability(0.25));
        let model = LossModel::GilbertElliott(gilbert);
        let lost = (0..100_000).filter(|&id| Loss::new(&model, stream(id)).takes(&model)).count() as f64;
        assert!((lost / 1e5 / gilbert.mean_loss() - 1.0).abs() < 0.06, "{lost}");
    }

    #[test]
    fn extremes() {
        let certain = LossModel::Bernoulli(probability(1.0));
        let never = LossModel::Bernoulli(Probability::ZERO);
        let (mut one, mut other) = (Loss::new(&certain, stream(0)), Loss::new(&never, stream(0)));
        assert!((0..1_000).all(|_| one.takes(&certain) && !other.takes(&never)));
        assert!(never.is_none() && !certain.is_none());
    }

    #[test]
    fn lists_name_packets() {
        let list = PacketList::new([(7, 9), (2, 2), (8, 12), (13, 13), (20, u64::MAX)]).unwrap();
        assert_eq!(list.intervals, [(2, 2), (7, 13), (20, u64::MAX)]);
        let model = LossModel::List(list);
        let mut loss = Loss::new(&model, stream(0));
        let lost: Vec<u64> = (1..=21).filter(|_| loss.takes(&model)).collect();
        assert_eq!(lost, [2, 7, 8, 9, 10, 11, 12, 13, 20, 21]);
        assert_eq!(PacketList::new([(0, 1)]), Err(PacketListError::Interval { first: 0, last: 1 }));
        let backwards = PacketList::new([(5, 4)]).unwrap_err().to_string();
        assert!(backwards.starts_with("5-4 is no interval"), "{backwards}");
    }
}
