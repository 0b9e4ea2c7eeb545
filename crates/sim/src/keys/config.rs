//! The keys of a network as the simulator's numbers.

use std::sync::Arc;

use flowloom_core::keys::{KeyError, Quantity};
use flowloom_core::path::cell_keys::Cells;
use flowloom_core::path::keys::{Bucket, DelayBox};
use flowloom_core::path::{Rules, Trace};
use flowloom_core::queue::keys::Queue;
use flowloom_core::time::Duration;
use flowloom_core::units::Rate;
use flowloom_core::workload::LinkSide;

use super::{Network, Part, RateChoice, Shape};
use crate::{Config, Grouping, LinkConfig, LinkNumber};

impl Network {
    /// The links, impairments and rules of this network, which has this shape, in a run of `window`; all else is as by
    /// [`Config::new`]. `traces` are those of the bottleneck, of the packets from the left and from the right. `rate` gives the
    /// rate of the link whose table has this key.
    ///
    /// # Errors
    /// That of `rate`, or of a queue that cannot be at the rate of its link.
    pub fn config<E: From<KeyError>>(
        &self,
        shape: &Shape,
        window: Duration,
        traces: Option<[Arc<Trace>; 2]>,
        rate: impl Fn(&str, &Quantity<RateChoice>) -> Result<Rate, E>,
    ) -> Result<Config, E> {
        const BOTTLENECK: &str = "network.bottleneck";
        let bottleneck = &self.bottleneck;
        let discipline = |key: &str, queue: &Queue, rate: Rate| {
            queue.discipline_at(rate).map_err(|error| E::from(error.within(format_args!("{key}.queue"))))
        };
        // What is told of a link with a trace, and what its queue takes its parameters from.
        let told = match &traces {
            Some([left, right]) => left.mean_rate().max(right.mean_rate()),
            None => rate(BOTTLENECK, &bottleneck.rate)?,
        };
        let monitored = LinkConfig {
            rate: told,
            delay: bottleneck.delay.value,
            queue: discipline(BOTTLENECK, &bottleneck.queue, told)?,
            per: grouping(&bottleneck.queue, bottleneck.cells.as_ref()),
            cells: bottleneck.cells.as_ref().map(|cells| cells.params(shaped(told, bottleneck.shaper.as_ref()))),
            trace: traces,
            shaper: bottleneck.shaper.as_ref().map(Bucket::config),
            policer: bottleneck.policer.as_ref().map(Bucket::config),
        };
        let other = |part: Part| {
            Ok::<_, E>(match part {
                Part::Alike(LinkSide::Left) => monitored.clone(),
                Part::Alike(LinkSide::Right) => {
                    // Every other link sends what comes from its left.
                    let trace = monitored.trace.clone().map(|[left, right]| [right, left]);
                    LinkConfig { trace, ..monitored.clone() }
                }
                Part::Link(place) => {
                    let link = &self.links[place];
                    let key = format!("network.links[{place}]");
                    let rate = rate(&key, &link.rate)?;
                    LinkConfig {
                        rate,
                        delay: link.delay.value,
                        queue: discipline(&key, &link.queue, rate)?,
                        per: grouping(&link.queue, link.cells.as_ref()),
                        cells: link.cells.as_ref().map(|cells| cells.params(shaped(rate, link.shaper.as_ref()))),
                        trace: None,
                        shaper: link.shaper.as_ref().map(Bucket::config),
                        policer: link.policer.as_ref().map(Bucket::config),
                    }
                }
            })
        };
        // The first two are the bottleneck's.
        let others = shape.graph.links().iter().skip(LinkNumber::other(0).index());
        Ok(Config {
            links: others.map(|joined| other(joined.link)).collect::<Result<_, _>>()?,
            bottleneck: monitored,
            path: self.path.impairments(),
            rules: Rules::new(self.delay_box.iter().map(DelayBox::rule).collect()),
            ..Config::new(Rate::UNLIMITED, window)
        })
    }
}

/// What a link of `rate` carries in the long run.
fn shaped(rate: Rate, shaper: Option<&Bucket>) -> Rate {
    shaper.map_or(rate, |shaper| rate.min(shaper.config().rate()))
}

/// What packets of a link belong together.
fn grouping(queue: &Queue, cells: Option<&Cells>) -> Grouping {
    match cells {
        Some(cells) => {
            let (mapping, paced) = cells.circuits();
            Grouping::Circuit(mapping, paced)
        }
        None => queue.per().into(),
    }
}
