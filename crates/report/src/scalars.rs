//! A run as a list of numbers with stable names: what sweeps tabulate, one row per name.

use serde::Serialize;

use flowloom_core::workload::LinkSide;
use flowloom_store::run_folder::Point;

use crate::metric::Metric;
use crate::run::{Measurements, Run};
use crate::statistics::{Quantile, Sample};

/// A direction of the bottleneck under a name that a reader understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Heading {
    /// From the side where most initiators of connections are.
    Up,
    /// Towards that side.
    Down,
}

impl Heading {
    /// Both, in the order of tables.
    pub const BOTH: [Heading; 2] = [Heading::Up, Heading::Down];

    /// Its name behind the dot.
    pub fn name(self) -> &'static str {
        match self {
            Heading::Up => "up",
            Heading::Down => "down",
        }
    }
}

/// Which side of the link *up* comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headings {
    /// The side that packets of [`Heading::Up`] come from.
    pub up: LinkSide,
}

impl Headings {
    /// By the connections of a run: *up* comes from the side where most of the initiators are, from the left where neither side has
    /// more. Cells that are tabulated together must share the headings of one run: draws of a workload whose initiators are on
    /// both sides alike may differ in it.
    pub fn of(run: &Run) -> Headings {
        Headings::of_initiators(run.measurements.initiators)
    }

    /// The same by how many connections were opened from the left and from the right.
    pub fn of_initiators([left, right]: [u64; 2]) -> Headings {
        Headings { up: if right > left { LinkSide::Right } else { LinkSide::Left } }
    }

    /// The side that packets of `heading` come from.
    pub fn side(self, heading: Heading) -> LinkSide {
        match heading {
            Heading::Up => self.up,
            Heading::Down => self.up.other(),
        }
    }
}

/// The unit of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum ScalarUnit {
    /// Milliseconds.
    #[serde(rename = "ms")]
    Milliseconds,
    /// 10^6 bit/s.
    #[serde(rename = "Mbit/s")]
    MegabitsPerSecond,
    /// A part of a whole, 0 to 1.
    #[serde(rename = "share")]
    Share,
    /// Packets.
    #[serde(rename = "packets")]
    Packets,
    /// Things that are counted: connections, retransmissions.
    #[serde(rename = "count")]
    Count,
    /// A number without a unit.
    #[serde(rename = "1")]
    One,
}

impl ScalarUnit {
    /// As JSON and documentation have it.
    pub fn name(self) -> &'static str {
        match self {
            ScalarUnit::Milliseconds => "ms",
            ScalarUnit::MegabitsPerSecond => "Mbit/s",
            ScalarUnit::Share => "share",
            ScalarUnit::Packets => "packets",
            ScalarUnit::Count => "count",
            ScalarUnit::One => "1",
        }
    }
}

/// Which values of a quantity users want.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Smaller ones.
    Lower,
    /// Larger ones.
    Higher,
    /// Neither: it describes the load or the network.
    Neither,
}

impl Better {
    /// As documentation has it.
    pub fn name(self) -> &'static str {
        match self {
            Better::Lower => "lower",
            Better::Higher => "higher",
            Better::Neither => "neither",
        }
    }
}

/// What a quantity is measured of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The run: one scalar, named as the quantity.
    Run,
    /// Each direction of the bottleneck: `NAME.up`, `NAME.down`.
    Direction,
}

/// A quantity that every run has, known or not.
#[derive(Debug)]
pub struct Quantity {
    /// Its name, with the unit.
    pub name: &'static str,
    /// Its unit.
    pub unit: ScalarUnit,
    /// Which values users want.
    pub better: Better,
    /// What it is measured of.
    pub scope: Scope,
    /// What it is, in a phrase.
    pub meaning: &'static str,
    of: fn(&Source<'_>, LinkSide) -> Found,
}

impl Quantity {
    /// The names of its scalars.
    pub fn scalars(&self) -> impl Iterator<Item = String> + use<> {
        let (name, scope) = (self.name, self.scope);
        let directions = match scope {
            Scope::Run => &[None][..],
            Scope::Direction => &[Some(Heading::Up), Some(Heading::Down)][..],
        };
        directions.iter().map(move |direction| match direction {
            None => name.to_owned(),
            Some(heading) => format!("{name}.{}", heading.name()),
        })
    }
}

/// A quantity of a run, or of one of its directions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scalar {
    /// Its name, which does not change from version to version: `response_time_p50_ms`, `throughput_mean_mbps.down`.
    pub name: String,
    /// The quantity: the name without direction.
    pub quantity: &'static str,
    /// Its unit.
    pub unit: ScalarUnit,
    /// Which values users want.
    pub better: Better,
    /// The direction; null of the whole run.
    pub direction: Option<Heading>,
    /// The side of the bottleneck that packets of this direction come from, as tables have it; null of the whole run.
    pub from_side: Option<&'static str>,
    /// The value; null where it is not known.
    pub value: Option<f64>,
    /// The value is a lower bound: exchanges or connections that had not ended with the run decide it, and may last longer than
    /// they were seen to.
    pub is_lower_bound: bool,
    /// How many values it is a statistic of, unfinished ones among them; null where it is none.
    pub n: Option<u64>,
}

/// What a quantity comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Found {
    value: Option<f64>,
    is_lower_bound: bool,
    n: Option<u64>,
}

impl Found {
    fn known(value: f64) -> Found {
        Found::of(Some(value))
    }

    fn of(value: Option<f64>) -> Found {
        Found { value: value.filter(|value| value.is_finite()), ..Found::default() }
    }

    fn count(value: u64) -> Found {
        Found::known(value as f64)
    }

    /// A part of `whole`; not known where that is nothing.
    fn share(part: u64, whole: u64) -> Found {
        Found::of((whole > 0).then(|| part as f64 / whole as f64))
    }

    /// A quantile of times in nanoseconds, in milliseconds.
    fn quantile_ms(sample: &Sample, p: f64) -> Found {
        let found = sample.quantile_or_bound(p);
        Found {
            value: found.map(|quantile| quantile.at_least() / 1e6),
            is_lower_bound: matches!(found, Some(Quantile::Above(_))),
            n: Some(sample.len() as u64),
        }
    }

    /// The mean of times in nanoseconds, in milliseconds.
    fn mean_ms(sample: &Sample) -> Found {
        Found {
            value: sample.mean().map(|mean| mean / 1e6),
            is_lower_bound: sample.unfinished() > 0,
            n: Some(sample.len() as u64),
        }
    }

    /// A statistic of a series over time.
    fn series(sample: &Sample, value: Option<f64>) -> Found {
        Found { n: Some(sample.len() as u64), ..Found::of(value) }
    }
}

/// A run, and the samples that several quantities need.
struct Source<'a> {
    run: &'a Run,
    durations: Sample,
    response_times: Sample,
    goodput: Sample,
    active: Sample,
    /// By the side packets come from.
    throughput: [Sample; 2],
    queues: [Sample; 2],
}

impl Source<'_> {
    fn of(run: &Run) -> Source<'_> {
        let at = |metric, point| run.measurements.sample(metric, point, |_| true);
        Source {
            run,
            durations: at(Metric::Duration, Point::Endpoint),
            response_times: at(Metric::ResponseTime, Point::Endpoint),
            goodput: at(Metric::Goodput, Point::Monitor),
            active: at(Metric::ActiveConnections, Point::Monitor),
            throughput: [Metric::ThroughputFromLeft, Metric::ThroughputFromRight].map(|one| at(one, Point::Monitor)),
            queues: [Metric::QueueFromLeft, Metric::QueueFromRight].map(|one| at(one, Point::Monitor)),
        }
    }

    fn measured(&self) -> &Measurements {
        &self.run.measurements
    }

    fn throughput(&self, from: LinkSide) -> &Sample {
        &self.throughput[from as usize]
    }

    fn queue(&self, from: LinkSide) -> &Sample {
        &self.queues[from as usize]
    }

    /// Retransmissions over data packets, of connections and sources, where both were counted.
    fn retransmitted(&self) -> Found {
        let Some(known) = &self.run.facts.plausibility else { return Found::default() };
        let sum = |of: fn(&crate::plausibility::ClassPlausibility) -> u64| known.classes.iter().map(of).sum();
        Found::share(sum(|class| class.retransmissions), sum(|class| class.data_packets))
    }
}

/// All quantities, in the order of tables.
pub const QUANTITIES: [Quantity; 25] = {
    use Better::{Higher, Lower, Neither};
    use ScalarUnit::{Count, MegabitsPerSecond, Milliseconds, Packets, Share};
    use Scope::{Direction, Run};
    const fn of(
        name: &'static str,
        unit: ScalarUnit,
        better: Better,
        scope: Scope,
        meaning: &'static str,
        of: fn(&Source<'_>, LinkSide) -> Found,
    ) -> Quantity {
        Quantity { name, unit, better, scope, meaning, of }
    }
    [
        of("connections_started", Count, Neither, Run, "connections that began in the window", |s, _| {
            Found::count(s.run.connections().started)
        }),
        of(
            "connections_completed_share",
            Share,
            Higher,
            Run,
            "share of the connections whose data all arrived",
            |s, _| {
                let connections = s.run.connections();
                Found::share(connections.completed, connections.started)
            },
        ),
        of("response_time_mean_ms", Milliseconds, Lower, Run, "mean response time at the ends", |s, _| {
            Found::mean_ms(&s.response_times)
        }),
        of("response_time_p50_ms", Milliseconds, Lower, Run, "median response time", |s, _| {
            Found::quantile_ms(&s.response_times, 0.5)
        }),
        of("response_time_p90_ms", Milliseconds, Lower, Run, "90 % quantile of response times", |s, _| {
            Found::quantile_ms(&s.response_times, 0.9)
        }),
        of("response_time_p99_ms", Milliseconds, Lower, Run, "99 % quantile of response times", |s, _| {
            Found::quantile_ms(&s.response_times, 0.99)
        }),
        of(
            "duration_mean_ms",
            Milliseconds,
            Lower,
            Run,
            "mean connection duration: first data byte sent to last received",
            |s, _| Found::mean_ms(&s.durations),
        ),
        of("duration_p50_ms", Milliseconds, Lower, Run, "median connection duration", |s, _| {
            Found::quantile_ms(&s.durations, 0.5)
        }),
        of("duration_p90_ms", Milliseconds, Lower, Run, "90 % quantile of connection durations", |s, _| {
            Found::quantile_ms(&s.durations, 0.9)
        }),
        of("duration_p99_ms", Milliseconds, Lower, Run, "99 % quantile of connection durations", |s, _| {
            Found::quantile_ms(&s.durations, 0.99)
        }),
        of(
            "loss_share",
            Share,
            Lower,
            Direction,
            "packets that the queue dropped over those that reached it",
            |s, from| {
                let measured = s.measured();
                Found::share(measured.dropped_from(from), measured.offered_packets[from as usize])
            },
        ),
        of(
            "throughput_mean_mbps",
            MegabitsPerSecond,
            Higher,
            Direction,
            "mean rate on the link, IP bytes + 14",
            |s, from| Found::series(s.throughput(from), s.throughput(from).mean().map(|bits| bits / 1e6)),
        ),
        of(
            "throughput_sd_mbps",
            MegabitsPerSecond,
            Neither,
            Direction,
            "standard deviation of the rate over the bins of the report",
            |s, from| Found::series(s.throughput(from), s.throughput(from).standard_deviation().map(|bits| bits / 1e6)),
        ),
        of(
            "goodput_mean_mbps",
            MegabitsPerSecond,
            Higher,
            Run,
            "mean rate of payload that passed for the first time, both directions",
            |s, _| Found::series(&s.goodput, s.goodput.mean().map(|bits| bits / 1e6)),
        ),
        of(
            "utilisation_share",
            Share,
            Neither,
            Direction,
            "share of the window in which the link was sending",
            |s, from| {
                let links = s.run.facts.topology.as_ref().map(|topology| &topology.links[..]);
                Found::of(links.and_then(|links| links.get(from as usize)).map(|link| link.utilisation))
            },
        ),
        of(
            "queue_length_mean_packets",
            Packets,
            Lower,
            Direction,
            "mean queue length at the sampling instants",
            |s, from| Found::series(s.queue(from), s.queue(from).mean()),
        ),
        of(
            "queue_length_sd_packets",
            Packets,
            Neither,
            Direction,
            "standard deviation of the queue length over the sampling instants",
            |s, from| Found::series(s.queue(from), s.queue(from).standard_deviation()),
        ),
        of("queue_length_p99_packets", Packets, Lower, Direction, "99 % quantile of queue lengths", |s, from| {
            Found::series(s.queue(from), s.queue(from).quantile(0.99))
        }),
        of(
            "queue_empty_share",
            Share,
            Neither,
            Direction,
            "share of the sampling instants at which no packet waited",
            |s, from| Found::series(s.queue(from), s.queue(from).cdf(0.0)),
        ),
        of("retransmissions_count", Count, Lower, Run, "segments sent again, of connections and sources", |s, _| {
            Found::count(s.measured().all_totals().retransmissions)
        }),
        of(
            "retransmissions_share",
            Share,
            Lower,
            Run,
            "retransmissions over packets with payload, SYN or FIN, over the whole run",
            |s, _| s.retransmitted(),
        ),
        of("timeouts_count", Count, Lower, Run, "retransmission timeouts", |s, _| {
            Found::count(s.measured().all_totals().timeouts)
        }),
        of(
            "active_connections_mean",
            Count,
            Neither,
            Run,
            "connections between SYN and first FIN or RST, mean over time",
            |s, _| Found::series(&s.active, s.active.mean()),
        ),
        of(
            "active_connections_max",
            Count,
            Neither,
            Run,
            "largest mean number of active connections in a bin",
            |s, _| Found::series(&s.active, s.active.max()),
        ),
        of("delivered_share", Share, Higher, Run, "payload that arrived over payload to be sent", |s, _| {
            let totals = s.measured().all_totals();
            Found::share(totals.delivered_bytes, totals.payload_bytes)
        }),
    ]
};

/// All scalars of `run`: the same names in the same order for every run. A value that a run does not have is `None`.
pub fn scalars(run: &Run, headings: Headings) -> Vec<Scalar> {
    let source = Source::of(run);
    let mut all = Vec::new();
    for quantity in &QUANTITIES {
        let mut push = |direction: Option<Heading>| {
            let from = headings.side(direction.unwrap_or(Heading::Up));
            let Found { value, is_lower_bound, n } = (quantity.of)(&source, from);
            let suffix = direction.map_or_else(String::new, |direction| format!(".{}", direction.name()));
            all.push(Scalar {
                name: format!("{}{suffix}", quantity.name),
                quantity: quantity.name,
                unit: quantity.unit,
                better: quantity.better,
                direction,
                from_side: direction.map(|_| side_name(from)),
                value,
                is_lower_bound,
                n,
            });
        };
        match quantity.scope {
            Scope::Run => push(None),
            Scope::Direction => Heading::BOTH.into_iter().for_each(|heading| push(Some(heading))),
        }
    }
    all
}

/// A side as tables have it.
fn side_name(side: LinkSide) -> &'static str {
    match side {
        LinkSide::Left => "left",
        LinkSide::Right => "right",
    }
}
