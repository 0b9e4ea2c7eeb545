//! A run as a list of numbers with stable names: what sweeps tabulate, one row per name.

use std::collections::BTreeMap;

use serde::Serialize;

use flowloom_core::record::{ProbeKind, QueueFate, TrafficClass};
use flowloom_core::time::Duration;
use flowloom_core::workload::LinkSide;
use flowloom_store::run_folder::Point;

use crate::dependence::HurstFit;
use crate::facts::HurstChoice;
use crate::marginals::{Marginal, marginals};
use crate::metric::Metric;
use crate::probes::KINDS;
use crate::run::{Arrivals, Measurements, Run};
use crate::sojourn::{QueueCounts, class_name};
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
    /// A number of packets.
    #[serde(rename = "packets")]
    Packets,
    /// Packets per second.
    #[serde(rename = "packets/s")]
    PacketsPerSecond,
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
            ScalarUnit::PacketsPerSecond => "packets/s",
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
    /// Each direction, and each class of packets in it: `NAME.up`, `NAME.up.sequential`.
    Class,
}

/// What a quantity is to be measured of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    /// The side that packets come from; of the whole run of no meaning.
    from: LinkSide,
    /// The class; `None` for all.
    class: Option<TrafficClass>,
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
    of: fn(&Source<'_>, Place) -> Found,
}

impl Quantity {
    /// The names of its scalars.
    pub fn scalars(&self) -> impl Iterator<Item = String> + use<> {
        let name = self.name;
        places_of(self.scope).map(move |(direction, class)| scalar_name(name, direction, class))
    }
}

/// What a quantity of this scope is measured of: directions, and classes in them.
fn places_of(scope: Scope) -> impl Iterator<Item = (Option<Heading>, Option<TrafficClass>)> {
    let directions = match scope {
        Scope::Run => &[None][..],
        Scope::Direction | Scope::Class => &[Some(Heading::Up), Some(Heading::Down)][..],
    };
    let with_classes = move |direction: &Option<Heading>| {
        let direction = *direction;
        classes().filter(move |class| scope == Scope::Class || class.is_none()).map(move |class| (direction, class))
    };
    directions.iter().flat_map(with_classes)
}

fn scalar_name(quantity: &str, direction: Option<Heading>, class: Option<TrafficClass>) -> String {
    let parts = direction.map(Heading::name).into_iter().chain(class.map(class_name));
    std::iter::once(quantity).chain(parts).collect::<Vec<_>>().join(".")
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
    /// What the packets belong to, as in `sojourn.parquet`; null of all together.
    pub class: Option<&'static str>,
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

    /// A statistic of times over time, in nanoseconds, in milliseconds.
    fn over_time_ms(sample: &Sample, of: fn(&Sample) -> Option<f64>) -> Found {
        Found::of(of(sample).map(|nanos| nanos / 1e6))
    }

    /// A statistic of the rates in bins.
    fn bins(found: Option<&Marginal>, of: fn(&Marginal) -> Option<f64>) -> Found {
        found.map_or(Found::default(), |one| Found { n: Some(one.bins as u64), ..Found::of(of(one)) })
    }

    /// The mean of a series over time.
    fn mean_of(sample: &Sample) -> Found {
        Found::series(sample, sample.mean())
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
    last_bytes: Sample,
    goodput: Sample,
    active: Sample,
    /// By the side packets come from.
    throughput: [Sample; 2],
    queues: [Sample; 2],
    over_time: [Sample; 2],
    rates: [Vec<Marginal>; 2],
    queue_delays: BTreeMap<Place, Sample>,
    queue_counts: BTreeMap<Place, QueueCounts>,
    /// Times of probes, by kind.
    probes: [Sample; 2],
    /// One-way delays of probes, by the side packets come from.
    one_way: [Sample; 2],
}

impl Source<'_> {
    fn of(run: &Run) -> Source<'_> {
        let measured = &run.measurements;
        let at = |metric, point| measured.sample(metric, point, |_| true);
        let sides = [LinkSide::Left, LinkSide::Right];
        let places = || sides.into_iter().flat_map(|from| classes().map(move |class| Place { from, class }));
        let delays = |Place { from, class }| measured.sojourns.per_packet(from, class, QueueFate::Transmitted);
        Source {
            run,
            durations: at(Metric::Duration, Point::Endpoint),
            response_times: at(Metric::ResponseTime, Point::Endpoint),
            last_bytes: measured.times_to_last_byte(),
            goodput: at(Metric::Goodput, Point::Monitor),
            active: at(Metric::ActiveConnections, Point::Monitor),
            throughput: [Metric::ThroughputFromLeft, Metric::ThroughputFromRight].map(|one| at(one, Point::Monitor)),
            queues: [Metric::QueueFromLeft, Metric::QueueFromRight].map(|one| at(one, Point::Monitor)),
            rates: sides.map(|from| measured.arrivals_from(from).map_or(Vec::new(), marginals)),
            over_time: sides.map(|from| measured.queue_delay_over_time(from)),
            queue_delays: places().map(|place| (place, delays(place))).collect(),
            probes: KINDS.map(|kind| measured.probes.times(kind)),
            one_way: sides.map(|from| measured.probes.one_way(from)),
            queue_counts: places().map(|place| (place, measured.sojourns.counts(place.from, place.class))).collect(),
        }
    }

    fn measured(&self) -> &Measurements {
        &self.run.measurements
    }

    fn queue_delay(&self, place: Place) -> &Sample {
        &self.queue_delays[&place]
    }

    /// Rates of a direction in bins of so many milliseconds.
    fn rate(&self, place: Place, millis: u64) -> Option<&Marginal> {
        let width = Duration::from_millis(millis).as_nanos();
        self.rates[place.from as usize].iter().find(|one| one.bin_ns == width)
    }

    /// The Hurst parameter of a direction.
    fn hurst(&self, place: Place, of: fn(&Arrivals, HurstChoice) -> Option<HurstFit>) -> Found {
        let arrivals = self.measured().arrivals_from(place.from);
        let found = |arrivals: &Arrivals| Found {
            n: Some(arrivals.packets.len() as u64),
            ..Found::of(of(arrivals, self.run.facts.hurst).map(|fit| fit.h))
        };
        arrivals.map_or(Found::default(), found)
    }

    /// A part of the packets that reached the queue and left it.
    fn queue_share(&self, place: Place, of: fn(&QueueCounts) -> u64) -> Found {
        let counts = &self.queue_counts[&place];
        Found { n: Some(counts.offered()), ..Found::share(of(counts), counts.offered()) }
    }

    /// Lost probes of a kind over lost and answered ones.
    fn probe_loss(&self, kind: ProbeKind) -> Found {
        let counts = self.measured().probes.counts(kind);
        Found { n: Some(counts.lost + counts.answered), ..Found::of(counts.loss_share()) }
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
pub const QUANTITIES: [Quantity; 67] = {
    use Better::{Higher, Lower, Neither};
    use ScalarUnit::{Count, MegabitsPerSecond, Milliseconds, One, Packets, PacketsPerSecond, Share};
    use Scope::{Class, Direction, Run};
    const fn of(
        name: &'static str,
        unit: ScalarUnit,
        better: Better,
        scope: Scope,
        meaning: &'static str,
        of: fn(&Source<'_>, Place) -> Found,
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
            "time_to_last_byte_mean_ms",
            Milliseconds,
            Lower,
            Run,
            "mean time from the SYN of a connection to its last byte",
            |s, _| Found::mean_ms(&s.last_bytes),
        ),
        of("time_to_last_byte_p50_ms", Milliseconds, Lower, Run, "median time to the last byte", |s, _| {
            Found::quantile_ms(&s.last_bytes, 0.5)
        }),
        of("time_to_last_byte_p90_ms", Milliseconds, Lower, Run, "90 % quantile of times to the last byte", |s, _| {
            Found::quantile_ms(&s.last_bytes, 0.9)
        }),
        of("time_to_last_byte_p99_ms", Milliseconds, Lower, Run, "99 % quantile of times to the last byte", |s, _| {
            Found::quantile_ms(&s.last_bytes, 0.99)
        }),
        of(
            "queue_delay_mean_ms",
            Milliseconds,
            Lower,
            Class,
            "mean sojourn time in the queue of the packets that the link transmitted",
            |s, q| Found::mean_ms(s.queue_delay(q)),
        ),
        of("queue_delay_p50_ms", Milliseconds, Lower, Class, "median sojourn time", |s, q| {
            Found::quantile_ms(s.queue_delay(q), 0.5)
        }),
        of("queue_delay_p90_ms", Milliseconds, Lower, Class, "90 % quantile of sojourn times", |s, q| {
            Found::quantile_ms(s.queue_delay(q), 0.9)
        }),
        of("queue_delay_p99_ms", Milliseconds, Lower, Class, "99 % quantile of sojourn times", |s, q| {
            Found::quantile_ms(s.queue_delay(q), 0.99)
        }),
        of(
            "queue_delay_over_time_mean_ms",
            Milliseconds,
            Lower,
            Direction,
            "mean over time of the sojourn time of the packet that the link took last, 0 while it is idle",
            |s, q| Found::over_time_ms(&s.over_time[q.from as usize], Sample::mean),
        ),
        of(
            "queue_delay_over_time_p99_ms",
            Milliseconds,
            Lower,
            Direction,
            "99 % quantile over time of the same",
            |s, q| Found::over_time_ms(&s.over_time[q.from as usize], |sample| sample.quantile(0.99)),
        ),
        of(
            "loss_share",
            Share,
            Lower,
            Class,
            "packets that the queue dropped over those that it dropped or the link transmitted",
            |s, q| s.queue_share(q, QueueCounts::dropped),
        ),
        of(
            "loss_at_arrival_share",
            Share,
            Lower,
            Class,
            "of the same packets those dropped at the instant at which they arrived",
            |s, q| s.queue_share(q, |counts| counts.dropped_at_arrival),
        ),
        of(
            "mark_share",
            Share,
            Neither,
            Class,
            "of the same packets those that the queue gave the ECN mark",
            |s, q| s.queue_share(q, |counts| counts.marked),
        ),
        of(
            "dropped_wait_mean_ms",
            Milliseconds,
            Neither,
            Direction,
            "mean time that packets had waited which were dropped from within the queue",
            |s, q| Found::mean_ms(&s.measured().sojourns.per_packet(q.from, None, QueueFate::DroppedFromQueue)),
        ),
        of(
            "throughput_mean_mbps",
            MegabitsPerSecond,
            Higher,
            Direction,
            "mean rate on the link, IP bytes + 14",
            |s, Place { from, .. }| Found::series(s.throughput(from), s.throughput(from).mean().map(|bits| bits / 1e6)),
        ),
        of(
            "throughput_sd_10ms_mbps",
            MegabitsPerSecond,
            Neither,
            Direction,
            "standard deviation of the rate in bins of 10 ms",
            |s, q| Found::bins(s.rate(q, 10), |one| one.bits_per_second.sd.map(|bits| bits / 1e6)),
        ),
        of(
            "throughput_cv_10ms",
            One,
            Neither,
            Direction,
            "coefficient of variation: that deviation over the mean",
            |s, q| Found::bins(s.rate(q, 10), |one| one.bits_per_second.cov),
        ),
        of(
            "throughput_sd_1s_mbps",
            MegabitsPerSecond,
            Neither,
            Direction,
            "standard deviation of the rate in bins of 1 s",
            |s, q| Found::bins(s.rate(q, 1000), |one| one.bits_per_second.sd.map(|bits| bits / 1e6)),
        ),
        of(
            "throughput_cv_1s",
            One,
            Neither,
            Direction,
            "coefficient of variation: that deviation over the mean",
            |s, q| Found::bins(s.rate(q, 1000), |one| one.bits_per_second.cov),
        ),
        of(
            "throughput_sd_5s_mbps",
            MegabitsPerSecond,
            Neither,
            Direction,
            "standard deviation of the rate in bins of 5 s",
            |s, q| Found::bins(s.rate(q, 5000), |one| one.bits_per_second.sd.map(|bits| bits / 1e6)),
        ),
        of(
            "throughput_cv_5s",
            One,
            Neither,
            Direction,
            "coefficient of variation: that deviation over the mean",
            |s, q| Found::bins(s.rate(q, 5000), |one| one.bits_per_second.cov),
        ),
        of("packet_rate_mean_pps", PacketsPerSecond, Neither, Direction, "mean rate of packets on the link", |s, q| {
            // Of the narrowest bins, which leave out the least at the end of the window.
            Found::bins(s.rate(q, 10), |one| one.packets_per_second.mean)
        }),
        of(
            "packet_rate_sd_10ms_pps",
            PacketsPerSecond,
            Neither,
            Direction,
            "standard deviation of the rate of packets in bins of 10 ms",
            |s, q| Found::bins(s.rate(q, 10), |one| one.packets_per_second.sd),
        ),
        of(
            "packet_rate_cv_10ms",
            One,
            Neither,
            Direction,
            "coefficient of variation: that deviation over the mean",
            |s, q| Found::bins(s.rate(q, 10), |one| one.packets_per_second.cov),
        ),
        of(
            "packet_rate_sd_1s_pps",
            PacketsPerSecond,
            Neither,
            Direction,
            "standard deviation of the rate of packets in bins of 1 s",
            |s, q| Found::bins(s.rate(q, 1000), |one| one.packets_per_second.sd),
        ),
        of(
            "packet_rate_cv_1s",
            One,
            Neither,
            Direction,
            "coefficient of variation: that deviation over the mean",
            |s, q| Found::bins(s.rate(q, 1000), |one| one.packets_per_second.cov),
        ),
        of(
            "packet_rate_sd_5s_pps",
            PacketsPerSecond,
            Neither,
            Direction,
            "standard deviation of the rate of packets in bins of 5 s",
            |s, q| Found::bins(s.rate(q, 5000), |one| one.packets_per_second.sd),
        ),
        of(
            "packet_rate_cv_5s",
            One,
            Neither,
            Direction,
            "coefficient of variation: that deviation over the mean",
            |s, q| Found::bins(s.rate(q, 5000), |one| one.packets_per_second.cov),
        ),
        of(
            "hurst_bytes",
            One,
            Neither,
            Direction,
            "Hurst parameter of the bytes in bins of 10 ms, by wavelets over octaves from 1 s on",
            |s, q| s.hurst(q, Arrivals::hurst_of_bytes),
        ),
        of("hurst_packets", One, Neither, Direction, "the same of the numbers of packets", |s, q| {
            s.hurst(q, Arrivals::hurst_of_packets)
        }),
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
            |s, Place { from, .. }| Found::of(s.run.facts.utilisation(from)),
        ),
        of(
            "dead_cells_share",
            Share,
            Lower,
            Direction,
            "cells of packets that died / cells that the line sent, whole run; null where the link carries packets",
            |s, Place { from, .. }| Found::of(s.run.facts.cells(from).and_then(|cells| cells.dead_share())),
        ),
        of(
            "queue_length_mean_packets",
            Packets,
            Lower,
            Direction,
            "mean queue length at the sampling instants",
            |s, Place { from, .. }| Found::series(s.queue(from), s.queue(from).mean()),
        ),
        of(
            "queue_length_sd_packets",
            Packets,
            Neither,
            Direction,
            "standard deviation of the queue length over the sampling instants",
            |s, Place { from, .. }| Found::series(s.queue(from), s.queue(from).standard_deviation()),
        ),
        of(
            "queue_length_p99_packets",
            Packets,
            Lower,
            Direction,
            "99 % quantile of queue lengths",
            |s, Place { from, .. }| Found::series(s.queue(from), s.queue(from).quantile(0.99)),
        ),
        of(
            "queue_empty_share",
            Share,
            Neither,
            Direction,
            "share of the sampling instants at which no packet waited",
            |s, Place { from, .. }| Found::series(s.queue(from), s.queue(from).cdf(0.0)),
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
            "active_connections_instant_mean",
            Count,
            Neither,
            Run,
            "active connections at whole seconds, mean",
            |s, _| Found::mean_of(&s.measured().active_at_seconds()),
        ),
        of(
            "active_connections_presence_mean",
            Count,
            Neither,
            Run,
            "connections open at any moment of a second, mean over the seconds",
            |s, _| Found::mean_of(&s.measured().active_in_seconds()),
        ),
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
        of(
            "probe_round_trip_mean_ms",
            Milliseconds,
            Lower,
            Run,
            "mean time from the datagram of a probe to its answer",
            |s, _| Found::mean_ms(&s.probes[0]),
        ),
        of("probe_round_trip_p50_ms", Milliseconds, Lower, Run, "median of the same", |s, _| {
            Found::quantile_ms(&s.probes[0], 0.5)
        }),
        of("probe_round_trip_p95_ms", Milliseconds, Lower, Run, "95 % quantile of the same", |s, _| {
            Found::quantile_ms(&s.probes[0], 0.95)
        }),
        of("probe_round_trip_p99_ms", Milliseconds, Lower, Run, "99 % quantile of the same", |s, _| {
            Found::quantile_ms(&s.probes[0], 0.99)
        }),
        of(
            "probe_loss_share",
            Share,
            Lower,
            Run,
            "datagrams of probes that were lost or whose answer was, over those lost and answered",
            |s, _| s.probe_loss(ProbeKind::Datagram),
        ),
        of(
            "probe_one_way_mean_ms",
            Milliseconds,
            Lower,
            Direction,
            "mean one-way delay of the datagrams of probes and of their answers",
            |s, q| Found::mean_ms(&s.one_way[q.from as usize]),
        ),
        of("probe_one_way_p99_ms", Milliseconds, Lower, Direction, "99 % quantile of the same", |s, q| {
            Found::quantile_ms(&s.one_way[q.from as usize], 0.99)
        }),
        of(
            "probe_request_mean_ms",
            Milliseconds,
            Lower,
            Run,
            "mean time from the SYN of a probe to the last byte of its response",
            |s, _| Found::mean_ms(&s.probes[1]),
        ),
        of("probe_request_p50_ms", Milliseconds, Lower, Run, "median of the same", |s, _| {
            Found::quantile_ms(&s.probes[1], 0.5)
        }),
        of("probe_request_p95_ms", Milliseconds, Lower, Run, "95 % quantile of the same", |s, _| {
            Found::quantile_ms(&s.probes[1], 0.95)
        }),
        of("probe_request_p99_ms", Milliseconds, Lower, Run, "99 % quantile of the same", |s, _| {
            Found::quantile_ms(&s.probes[1], 0.99)
        }),
        of(
            "probe_request_failed_share",
            Share,
            Lower,
            Run,
            "requests of probes whose connection broke, over those that broke and were answered",
            |s, _| s.probe_loss(ProbeKind::Request),
        ),
    ]
};

/// The classes that queues are broken down by, and all of them together first. What probes wait is no queue delay.
fn classes() -> impl Iterator<Item = Option<TrafficClass>> {
    let shown = TrafficClass::ALL.into_iter().filter(|class| *class != TrafficClass::Probe);
    std::iter::once(None).chain(shown.map(Some))
}

/// All scalars of `run`: the same names in the same order for every run. A value that a run does not have is `None`.
pub fn scalars(run: &Run, headings: Headings) -> Vec<Scalar> {
    let source = Source::of(run);
    let mut all = Vec::new();
    for quantity in &QUANTITIES {
        for (direction, class) in places_of(quantity.scope) {
            let from = headings.side(direction.unwrap_or(Heading::Up));
            let Found { value, is_lower_bound, n } = (quantity.of)(&source, Place { from, class });
            all.push(Scalar {
                name: scalar_name(quantity.name, direction, class),
                quantity: quantity.name,
                unit: quantity.unit,
                better: quantity.better,
                direction,
                from_side: direction.map(|_| from.word()),
                class: class.map(class_name),
                value,
                is_lower_bound,
                n,
            });
        }
    }
    all
}
