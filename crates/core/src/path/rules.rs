//! DelayBox's rule table and flow table (methods F.6, Weigle 2003; `delaybox` of ns-2).
//!
//! A *rule* says for the flows it matches from which distributions their delay, loss rate and bottleneck are drawn. An entry
//! of the *flow table* holds what was drawn for one connection: it is made with its first SYN, used for all its packets, and
//! removed when both ends have sent their FIN.
//!
//! A connection's values are drawn from streams of its own, one per variable and direction, so that they depend on the seed
//! and its id and neither on other connections nor on the order in which they start.

use std::collections::BTreeMap;
use std::fmt;

use crate::distribution::Distribution;
use crate::rng::{Purpose, Stream};
use crate::time::{Duration, Time};
use crate::units::{Probability, Rate};
use crate::workload::{ConnectionVector, LinkSide, PerSide, Side};

/// Which packets a rule is for. What is not given matches all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Matching {
    /// The side of the link they come from.
    pub from: Option<LinkSide>,
    /// The end of the connection that sends them.
    pub sender: Option<Side>,
    /// The acceptor's port.
    pub port: Option<u16>,
    /// The subset of the workload that the vector is of.
    pub subset: Option<u64>,
}

impl Matching {
    fn matches(&self, vector: &ConnectionVector, sender: Side) -> bool {
        let from = match sender {
            Side::Initiator => vector.initiator_side,
            Side::Acceptor => vector.initiator_side.other(),
        };
        self.from.is_none_or(|side| side == from)
            && self.sender.is_none_or(|side| side == sender)
            && self.port.is_none_or(|port| vector.ends.acceptor.port == Some(port))
            && self.subset.is_none_or(|subset| vector.label.is_some_and(|label| label.subset == subset))
    }
}

/// Where a flow's loss rate comes from.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum LossRate {
    /// No loss of its own.
    #[default]
    None,
    /// A distribution of rates.
    Drawn(Distribution),
    /// The loss of the original, as measured or stated for the direction.
    Measured,
}

/// A row of the rule table.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Rule {
    /// Which packets it is for.
    pub matching: Matching,
    /// One-way delay between an end and the link, in nanoseconds; `None` keeps the delays of the vector.
    pub delay: Option<Distribution>,
    /// Share of the packets lost before they are delayed.
    pub loss: LossRate,
    /// The flow's own bottleneck, in bit/s; `None` for none.
    pub rate: Option<Distribution>,
}

/// What was drawn for one direction of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowValues {
    /// The rule, by its place in the table; `None` if none matched, which leaves everything as it is.
    pub rule: Option<usize>,
    /// Its delay; `None` for that of the vector.
    pub delay: Option<Duration>,
    /// Its loss rate: before the link, unless some of it is known to be behind.
    pub loss: Probability,
    /// Its loss rate between the link and the other end.
    pub loss_behind: Probability,
    /// Its bottleneck.
    pub rate: Rate,
}

impl FlowValues {
    /// As without a rule.
    pub const UNTOUCHED: FlowValues = FlowValues {
        rule: None,
        delay: None,
        loss: Probability::ZERO,
        loss_behind: Probability::ZERO,
        rate: Rate::UNLIMITED,
    };

    /// Share of its packets that are lost, before or behind the link.
    pub fn total_loss(&self) -> f64 {
        1.0 - (1.0 - self.loss.get()) * (1.0 - self.loss_behind.get())
    }
}

/// The rule table.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Rules {
    rules: Vec<Rule>,
    /// Flows to which no rule gives a loss lose what the original's did.
    measured_loss: bool,
}

impl Rules {
    /// Longest delay that is ever drawn, whatever the distribution says.
    pub const MAX_DELAY: Duration = Duration::from_secs(3_600);

    /// A table of `rules`: the first that matches is used.
    pub fn new(rules: Vec<Rule>) -> Rules {
        Rules { rules, measured_loss: false }
    }

    /// The same, where `measured` with the losses of the original for all flows to which no rule gives a loss: each direction's
    /// own, before the link what was lost before the monitor, and behind it what was lost there.
    #[must_use]
    pub fn with_measured_loss(self, measured: bool) -> Rules {
        Rules { measured_loss: measured, ..self }
    }

    /// Whether every flow loses what the original's did: no rule draws losses.
    pub fn replay_all_losses(&self) -> bool {
        self.measured_loss && !self.rules.iter().any(|rule| matches!(rule.loss, LossRate::Drawn(_)))
    }

    /// The same without what keeps packets back or loses them: with the delays alone.
    #[must_use]
    pub fn delays_only(self) -> Rules {
        let delays = |rule: Rule| Rule { matching: rule.matching, delay: rule.delay, ..Rule::default() };
        Rules::new(self.rules.into_iter().map(delays).collect())
    }

    /// Whether there is a table of rules, whatever becomes of measured losses.
    pub fn has_table(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Whether no flow gets anything.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && !self.measured_loss
    }

    /// The values of a connection. Each direction's are drawn from the first rule that matches its packets. If the acceptor's
    /// packets have no rule, or the same one as the initiator's, the connection is symmetric: they get the initiator's
    /// values, and only a measured loss is each direction's own.
    pub fn values(&self, seed: u64, vector: &ConnectionVector) -> PerSide<FlowValues> {
        let rule = |sender| self.rules.iter().position(|rule| rule.matching.matches(vector, sender));
        let draw = |sender| rule(sender).map_or(FlowValues::UNTOUCHED, |rule| self.draw(rule, seed, vector, sender));
        let initiator = draw(Side::Initiator);
        let acceptor = match rule(Side::Acceptor) {
            Some(own) if Some(own) != initiator.rule => self.draw(own, seed, vector, Side::Acceptor),
            _ => match initiator.rule.map(|rule| &self.rules[rule].loss) {
                Some(LossRate::Measured) => FlowValues { loss: measured_loss(vector, Side::Acceptor), ..initiator },
                _ => initiator,
            },
        };
        let mut values = PerSide { initiator, acceptor };
        if self.measured_loss {
            for side in Side::BOTH {
                let values = &mut values[side];
                if values.rule.is_none_or(|rule| self.rules[rule].loss == LossRate::None) {
                    (values.loss, values.loss_behind) = measured_losses(vector, side);
                }
            }
        }
        values
    }

    fn draw(&self, index: usize, seed: u64, vector: &ConnectionVector, sender: Side) -> FlowValues {
        let rule = &self.rules[index];
        let sample = |distribution: &Distribution, purpose| {
            distribution.sample(&mut flow_stream(seed, purpose, vector.id, sender))
        };
        FlowValues {
            rule: Some(index),
            delay: rule
                .delay
                .as_ref()
                .map(|delay| Duration::from_nanos(sample(delay, Purpose::Delays).round() as u64).min(Rules::MAX_DELAY)),
            loss: match &rule.loss {
                LossRate::None => Probability::ZERO,
                LossRate::Drawn(loss) => share(sample(loss, Purpose::LossRates)),
                LossRate::Measured => measured_loss(vector, sender),
            },
            loss_behind: Probability::ZERO,
            rate: rule.rate.as_ref().map_or(Rate::UNLIMITED, |rate| {
                let bits = sample(rate, Purpose::Bottlenecks).round() as u64;
                Rate::from_bits_per_second(bits.clamp(Rate::SLOWEST, Rate::FASTEST)).unwrap_or(Rate::UNLIMITED)
            }),
        }
    }
}

fn measured_loss(vector: &ConnectionVector, sender: Side) -> Probability {
    share(vector.ends[sender].loss_rate().unwrap_or(0.0))
}

/// What was lost of the packets of `sender` before and behind the monitor; what is only stated counts as before.
fn measured_losses(vector: &ConnectionVector, sender: Side) -> (Probability, Probability) {
    match vector.ends[sender].segments {
        Some(segments) => {
            let loss = segments.loss();
            (share(loss.before), share(loss.after))
        }
        None => (measured_loss(vector, sender), Probability::ZERO),
    }
}

fn share(loss: f64) -> Probability {
    Probability::new(loss.clamp(0.0, 1.0)).unwrap_or_default()
}

/// What the flow table knows of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// When its first SYN was sent.
    pub opened: Time,
    /// What was drawn for the packets that each end sends.
    pub values: PerSide<FlowValues>,
    finished: PerSide<bool>,
}

/// The flow table: connections that are open, by id.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct FlowTable {
    flows: BTreeMap<u64, Flow>,
}

impl FlowTable {
    /// The first SYN of `connection` is sent at `now`: it gets an entry. A repeated SYN changes nothing.
    pub fn open(&mut self, now: Time, connection: u64, values: PerSide<FlowValues>) -> &Flow {
        self.flows.entry(connection).or_insert(Flow { opened: now, values, finished: PerSide::default() })
    }

    /// `sender` sent a FIN; with that of the other end the entry is removed.
    pub fn finish(&mut self, connection: u64, sender: Side) {
        if let Some(flow) = self.flows.get_mut(&connection) {
            flow.finished[sender] = true;
            if flow.finished == (PerSide { initiator: true, acceptor: true }) {
                self.flows.remove(&connection);
            }
        }
    }

    /// The connection is gone, with or without FINs.
    pub fn remove(&mut self, connection: u64) {
        self.flows.remove(&connection);
    }

    /// The open flows by id.
    pub fn flows(&self) -> impl Iterator<Item = (u64, &Flow)> {
        self.flows.iter().map(|(&connection, flow)| (connection, flow))
    }

    /// How many are open.
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }
}

/// A line per flow and direction: connection, sender, rule (from 1), delay in ms, loss in percent, bottleneck.
impl fmt::Display for FlowTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (connection, flow) in self.flows() {
            for (sender, name) in Side::BOTH.into_iter().zip(["initiator", "acceptor"]) {
                let values = flow.values[sender];
                let rule = values.rule.map_or("-".to_owned(), |rule| (rule + 1).to_string());
                let delay =
                    values.delay.map_or("-".to_owned(), |delay| format!("{:.3}", delay.as_nanos() as f64 / 1e6));
                let loss = 100.0 * values.total_loss();
                writeln!(f, "{connection:>8} {name:<9} {rule:>4} {delay:>10} ms {loss:>8.4} % {}", values.rate)?;
            }
        }
        Ok(())
    }
}

/// The stream of `purpose` of the packets that `sender` sends in `connection`.
pub fn flow_stream(seed: u64, purpose: Purpose, connection: u64, sender: Side) -> Stream {
    Stream::new(seed, purpose, connection << 1 | sender as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::Law;
    use crate::workload::Label;

    fn of(law: Law) -> Distribution {
        Distribution::new(law).unwrap()
    }

    fn vector(id: u64) -> ConnectionVector {
        ConnectionVector { id, ..ConnectionVector::default() }
    }

    fn constant(millis: f64) -> Option<Distribution> {
        Some(of(Law::Constant(millis * 1e6)))
    }

    fn delays(rules: &Rules, vector: &ConnectionVector) -> [Option<u64>; 2] {
        let values = rules.values(1, vector);
        [values.initiator, values.acceptor].map(|values| values.delay.map(|delay| delay.as_nanos() / 1_000_000))
    }

    #[test]
    fn the_first_rule_that_matches_is_used() {
        let rule = |matching, millis| Rule { matching, delay: constant(millis), ..Rule::default() };
        let any = Matching::default();
        let rules = Rules::new(vec![
            rule(Matching { port: Some(443), ..any }, 1.0),
            rule(Matching { subset: Some(7), ..any }, 2.0),
            rule(Matching { from: Some(LinkSide::Right), sender: Some(Side::Acceptor), ..any }, 3.0),
            rule(Matching { from: Some(LinkSide::Left), ..any }, 4.0),
        ]);
        let mut web = vector(1);
        web.ends.acceptor.port = Some(443);
        assert_eq!(delays(&rules, &web), [Some(1), Some(1)]);
        let labelled = ConnectionVector { label: Some(Label { subset: 7, id: 1 }), ..vector(1) };
        assert_eq!(delays(&rules, &labelled), [Some(2), Some(2)]);
        assert_eq!(delays(&rules, &vector(1)), [Some(4), Some(3)], "an initiator on the left");
        let right = ConnectionVector { initiator_side: LinkSide::Right, ..vector(1) };
        assert_eq!(delays(&rules, &right), [None, Some(4)], "packets without a rule pass as they are");
        assert_eq!(Rules::default().values(1, &right).initiator, FlowValues::UNTOUCHED);
    }

    #[test]
    fn without_a_rule_of_its_own_the_way_back_is_the_same() {
        let uniform = || Some(of(Law::Uniform { min: 1e6, max: 1e9 }));
        let forward = Matching { sender: Some(Side::Initiator), ..Matching::default() };
        let back = Matching { sender: Some(Side::Acceptor), ..Matching::default() };
        let loss = LossRate::Drawn(of(Law::Uniform { min: 0.0, max: 0.1 }));
        let one = Rule { matching: forward, delay: uniform(), loss, rate: Some(of(Law::Constant(1e6))) };
        let symmetric = Rules::new(vec![one.clone()]).values(1, &vector(5));
        assert_eq!(symmetric.initiator, symmetric.acceptor);
        assert_eq!(symmetric.initiator.rate, "1mbit".parse().unwrap());
        let other = Rule { matching: back, delay: uniform(), ..Rule::default() };
        let both = Rules::new(vec![one, other]).values(1, &vector(5));
        assert_eq!(both.initiator, symmetric.initiator, "its values do not depend on other rules");
        assert_ne!(both.acceptor.delay, both.initiator.delay);
        assert_eq!(
            (both.acceptor.rule, both.acceptor.loss, both.acceptor.rate),
            (Some(1), Probability::ZERO, Rate::UNLIMITED)
        );
    }

    #[test]
    fn values_do_not_depend_on_the_order_of_connections() {
        let delay = Some(of(Law::Lognormal { median: 64e6, mean: 101e6 }));
        let rules = Rules::new(vec![Rule { delay, ..Rule::default() }]);
        let draw = |id| rules.values(3, &vector(id)).initiator.delay.unwrap();
        let forwards: Vec<_> = (0..100).map(draw).collect();
        let mut backwards: Vec<_> = (0..100).rev().map(draw).collect();
        backwards.reverse();
        assert_eq!(forwards, backwards);
        let mut sorted = forwards;
        sorted.sort_unstable();
        // The median of 100: standard error of its place 5 %, so between the quantiles 0.25 and 0.75 for sure (64 ms e^(+-0.645)).
        assert!((33..123).contains(&(sorted[50].as_nanos() / 1_000_000)), "{}", sorted[50]);
    }

    #[test]
    fn a_measured_loss_is_that_of_the_direction() {
        let mut lossy = vector(1);
        lossy.ends.initiator.stated_loss_ppm = Some(20_000);
        lossy.ends.acceptor.stated_loss_ppm = Some(1_000);
        let rules = Rules::new(vec![Rule { loss: LossRate::Measured, ..Rule::default() }]);
        let values = rules.values(1, &lossy);
        assert_eq!((values.initiator.loss.get(), values.acceptor.loss.get()), (0.02, 0.001));
        assert_eq!(rules.values(1, &vector(1)).initiator.loss, Probability::ZERO, "unknown is none");
    }

    #[test]
    fn measured_losses_are_where_the_monitor_saw_them() {
        use crate::workload::{Repeated, Segments};
        let mut lossy = vector(1);
        // Of 80 segments sent once 8 were lost before the monitor; 20 of the 100 that passed came again.
        let repeated = Repeated { fast: 20, ..Repeated::default() };
        let segments = Segments { data: 100, duplicates: 20, late: 8, lost_before: 8, repeated, ..Segments::default() };
        lossy.ends.acceptor.segments = Some(segments);
        lossy.ends.initiator.stated_loss_ppm = Some(20_000);
        let rules = Rules::default().with_measured_loss(true);
        let values = rules.values(1, &lossy);
        assert_eq!((values.initiator.loss.get(), values.initiator.loss_behind.get()), (0.02, 0.0));
        assert_eq!((values.acceptor.loss.get(), values.acceptor.loss_behind.get()), (0.1, 0.2));
        assert!((values.acceptor.total_loss() - 0.28).abs() < 1e-12);
        assert!(!rules.is_empty() && !rules.has_table() && Rules::default().is_empty());
        let drawn = LossRate::Drawn(of(Law::Constant(0.5)));
        let own = Rules::new(vec![Rule { loss: drawn, ..Rule::default() }]).with_measured_loss(true);
        let values = own.values(1, &lossy).acceptor;
        assert_eq!((values.loss.get(), values.loss_behind.get()), (0.5, 0.0), "what a rule gives is that");
        assert_eq!(
            rules.values(1, &vector(1)),
            PerSide { initiator: FlowValues::UNTOUCHED, acceptor: FlowValues::UNTOUCHED }
        );
    }

    #[test]
    fn extreme_draws_stay_possible() {
        let huge = || Some(of(Law::Constant(1e300)));
        let loss = LossRate::Drawn(of(Law::Constant(7.0)));
        let values = |rule| Rules::new(vec![rule]).values(1, &vector(1)).initiator;
        let most = values(Rule { delay: huge(), loss, rate: huge(), ..Rule::default() });
        assert_eq!((most.delay, most.loss.get()), (Some(Rules::MAX_DELAY), 1.0));
        assert_eq!(most.rate.bits_per_second(), Some(Rate::FASTEST));
        let least = values(Rule { rate: Some(of(Law::Constant(0.0))), ..Rule::default() });
        assert_eq!(least.rate.bits_per_second(), Some(Rate::SLOWEST));
    }

    #[test]
    fn entries_live_from_the_first_syn_to_the_second_fin() {
        let mut table = FlowTable::default();
        let values = |millis| {
            let delay = Some(Duration::from_millis(millis));
            let values = FlowValues { rule: Some(0), delay, ..FlowValues::UNTOUCHED };
            PerSide { initiator: values, acceptor: FlowValues { delay: None, rule: None, ..values } }
        };
        table.open(Time::from_nanos(5), 1, values(20));
        table.open(Time::from_nanos(9), 1, values(99));
        table.open(Time::from_nanos(7), 2, values(30));
        assert_eq!(
            table.to_string(),
            "       1 initiator    1     20.000 ms   0.0000 % unlimited\n       \
             1 acceptor     -          - ms   0.0000 % unlimited\n       \
             2 initiator    1     30.000 ms   0.0000 % unlimited\n       \
             2 acceptor     -          - ms   0.0000 % unlimited\n"
        );
        assert_eq!(table.flows().map(|(id, flow)| (id, flow.opened.as_nanos())).collect::<Vec<_>>(), [(1, 5), (2, 7)]);
        table.finish(1, Side::Acceptor);
        table.finish(1, Side::Acceptor);
        assert_eq!(table.len(), 2, "a repeated FIN is not the other's");
        table.finish(1, Side::Initiator);
        table.remove(2);
        table.finish(3, Side::Initiator);
        assert!(table.is_empty());
    }
}
