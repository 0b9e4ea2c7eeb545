//! `path { left = eth1; right = eth2; rate = 10M; delay = "20ms"; queue = drop-tail(limit = 100); duration = 20; }`: a host that stands
//! between two network interfaces, as a path.

use flowloom_core::path::{GilbertElliott, Impairments, LossModel, Reorder, Reordering};
use flowloom_core::queue::Discipline;
use flowloom_core::time::Duration;
use flowloom_core::units::{Limit, Probability, Rate};
use flowloom_sim::{Config, LinkConfig};

use super::super::diagnostic::Diagnostic;
use super::super::tree::{Argument, Value};
use super::arguments::{Arguments, same_name};

/// What a `path` is asked to do. Both directions are alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The network interfaces that it stands between.
    pub interfaces: [String; 2],
    /// How long.
    pub duration: Duration,
    /// Of the link.
    pub rate: Rate,
    /// Propagation, one way.
    pub delay: Duration,
    /// Before the link.
    pub queue: Discipline,
    /// What else happens on the way, before the queue.
    pub impairments: Impairments,
    /// What is drawn is drawn by this.
    pub seed: u64,
}

impl Path {
    pub(super) const KEYWORD: &str = "path";

    pub(super) fn read(given: &mut Arguments<'_>) -> Option<Path> {
        let left = given.needed_name("left", "a network interface");
        let right = given.needed_name("right", "the other network interface");
        let duration = given.duration();
        let rate = given.needed_rate("rate", "bit/s of the link");
        let delay = given.optional("delay").map_or(Some(Duration::ZERO), |delay| given.time(delay));
        let queue = given.optional("queue");
        let queue_place = queue.map(|queue| queue.place);
        let queue = queue.map_or(Some(Discipline::DropTail(Limit::Packets(65_000))), |queue| given.queue(queue));
        let loss = given.optional("loss").map_or(Some(LossModel::None), |loss| given.loss(loss));
        let duplicate = given.optional("duplicate").map_or(Some(Probability::ZERO), |duplicate| given.share(duplicate));
        let reorder = given.optional("reorder").map_or(Some(None), |reorder| given.reorder(reorder).map(Some));
        let seed = given.optional("seed").map_or(Some(1), |seed| given.whole(seed, 1..=u64::MAX >> 12));
        let impairments = Impairments { loss: loss?, duplicate: duplicate?, reorder: reorder?, jitter: None };
        let path = Path {
            interfaces: [left?, right?],
            duration: duration?,
            rate: rate?,
            delay: delay?,
            queue: queue?,
            impairments,
            seed: seed?,
        };
        if path.interfaces[0] == path.interfaces[1] {
            let place = given.place();
            given.wrong(place, "left and right are two interfaces", "name another one for right");
            return None;
        }
        if let Err(impossible) = path.config().validate() {
            let place = queue_place.unwrap_or(given.place());
            given.found().push(Diagnostic::error(place, impossible.to_string()));
            return None;
        }
        Some(path)
    }

    /// The same as an experiment has it.
    pub fn config(&self) -> Config {
        let link = LinkConfig { delay: self.delay, queue: self.queue.clone(), ..LinkConfig::new(self.rate) };
        Config {
            bottleneck: link,
            path: [self.impairments.clone(), self.impairments.clone()],
            seed: self.seed,
            monitor: false,
            ..Config::new(self.rate, self.duration)
        }
    }

    pub(super) fn words(&self) -> String {
        let [left, right] = &self.interfaces;
        format!("is a path of {} and {} s between {left} and {right}", self.rate, self.delay.as_secs_f64())
    }
}

impl Arguments<'_> {
    /// A share of packets, or a model of losses: `gilbert-elliott(p = 0.01, r = 0.25)`.
    fn loss(&mut self, argument: &Argument) -> Option<LossModel> {
        let Value::Function(function) = &argument.value else {
            return self.share(argument).map(LossModel::Bernoulli);
        };
        if !same_name(&function.name, "gilbert-elliott") {
            self.wrong(function.place, format!("there is no loss {}", function.name), "known: gilbert-elliott");
            return None;
        }
        self.within(function, |inner| {
            let p = inner.needed("p", "from the good to the bad state, each packet").and_then(|p| inner.share(p));
            let r = inner.needed("r", "from the bad to the good state, each packet").and_then(|r| inner.share(r));
            let bad = inner.optional("bad-loss").map(|share| inner.share(share));
            let good = inner.optional("good-loss").map(|share| inner.share(share));
            let simple = GilbertElliott::simple(p?, r?);
            Some(LossModel::GilbertElliott(GilbertElliott {
                bad_loss: bad.map_or(Some(simple.bad_loss), |bad| bad)?,
                good_loss: good.map_or(Some(simple.good_loss), |good| good)?,
                ..simple
            }))
        })
    }

    /// `reorder = late(share = 0.01, by = "5ms")`: so many packets are handed on later than the others.
    fn reorder(&mut self, argument: &Argument) -> Option<Reorder> {
        let function = match &argument.value {
            Value::Function(function) if same_name(&function.name, "late") => function,
            value => {
                let hint = "write reorder = late(share = 0.01, by = \"5ms\");";
                self.wrong(value.place(), "reorder says how many packets are late, and by how much", hint);
                return None;
            }
        };
        self.within(function, |inner| {
            let share = inner.needed("share", "of the packets").and_then(|share| inner.share(share));
            let by = inner.needed("by", "how much later").and_then(|by| inner.time(by));
            Some(Reorder { share: share?, gap: 1, manner: Reordering::Late(by?) })
        })
    }
}
