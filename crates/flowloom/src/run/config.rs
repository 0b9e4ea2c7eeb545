//! An experiment and its workload as the simulator's numbers.

use std::sync::Arc;

use flowloom_core::extract::TrafficSeries;
use flowloom_core::path::{Placement, Trace};
use flowloom_core::time::Duration;
use flowloom_core::units::{Limit, Rate, three_digits};
use flowloom_core::workload::LinkSide;
use flowloom_report::facts::{LinkFacts, Topology};
use flowloom_sim::{Config, ConfigError, LinkNumber, PacketCounts, Summary};

use crate::error::{Error, KeyError};
use crate::experiment::{DatagramModel, Experiment, LossChoice, Network, Part, Quantity, Queue, RateChoice, Shape};
use crate::run::changes::replay_model;
use crate::run::senders::Senders;
use crate::workload::source::Source;

/// The simulator's numbers of an experiment whose network has this shape.
pub fn config(
    experiment: &Experiment,
    shape: &Shape,
    senders: &Senders<'_>,
    source: &Source,
    traces: Option<[Arc<Trace>; 2]>,
) -> Result<Config, Error> {
    let facts = &source.facts;
    let length = Duration::from_nanos(facts.capture.duration_ns);
    // A capture of one instant still has connections that start in it.
    if let Some(prefill) = &experiment.workload.prefill
        && prefill.value > length
    {
        return Err(Error::from(KeyError::new(
            "workload.prefill",
            format_args!("of {prefill} is longer than the workload: {length}"),
        ))
        .hint("the run begins where the connections of so long a beginning are in progress"));
    }
    let rest = length.saturating_sub(experiment.workload.prefill().shift()) + Duration::from_nanos(1);
    let window = experiment.measure.duration.as_ref().map_or(rest, |given| given.value);
    if let Some([start, end]) = &experiment.measure.window
        && end.value > window
    {
        return Err(Error::from(KeyError::new(
            "measure.window",
            format_args!("[{start}, {end}] ends after the run, which lasts {window}"),
        ))
        .hint("connections start for measure.duration; without it, for the length of the capture"));
    }
    let datagrams = experiment.workload.datagrams;
    let rate = |key: &str, choice: &Quantity<RateChoice>| link_rate(key, choice, source, datagrams);
    let network: Config = experiment.network.config(shape, window, traces, rate)?;
    let config = Config {
        classes: senders.classes(),
        traced: experiment.measure.tcp_trace.traced(),
        rules: network.rules.clone().with_measured_loss(experiment.workload.loss == LossChoice::Measured),
        replay: replay_model(experiment, facts),
        knows_adus: true,
        placement: Placement::Measured,
        unknown_rtt: Duration::from_nanos(facts.rtt_median_ns.unwrap_or(UNKNOWN_RTT.as_nanos())),
        drain: experiment.measure.drain.value,
        monitored: shape.monitored(&experiment.measure.monitor).map_err(Error::usage)?,
        queue_every: experiment.measure.queue_every.value,
        throughput_every: experiment.measure.throughput_every.value,
        ..network
    };
    config.validate().map_err(|error| match error {
        ConfigError::TooLong { name: "window", value, most } if experiment.measure.duration.is_none() => {
            let name = if source.name.is_empty() { "the workload" } else { &source.name };
            Error::new(format_args!("{name} lasts {value}, and a run at most {}", most.written()))
                .hint("is a time in it wrong? --duration replays a part from its beginning")
        }
        error => Error::usage(error),
    })?;
    senders.check(&config)?;
    Ok(config)
}

/// What a report says of the network and its links.
pub fn topology(network: &Network, shape: &Shape, config: &Config, summary: &Summary) -> Topology {
    let bottleneck = |side: LinkSide| {
        let direction = &summary.directions[side as usize];
        (&config.bottleneck, &network.bottleneck.queue, direction.offered, direction.dropped, direction.link)
    };
    let links = shape.graph.links().iter().enumerate().map(|(number, joined)| {
        let (link, queue, offered, dropped, measured) = match number.checked_sub(LinkNumber::other(0).index()) {
            None => bottleneck(if number == 0 { LinkSide::Left } else { LinkSide::Right }),
            Some(place) => {
                let queue = match joined.link {
                    Part::Alike(_) => &network.bottleneck.queue,
                    Part::Link(place) => &network.links[place].queue,
                };
                let counts = &summary.links[place];
                (&config.links[place], queue, counts.offered, counts.dropped, counts.link)
            }
        };
        LinkFacts {
            name: joined.name.clone(),
            from: shape.graph.name(joined.from).to_owned(),
            to: shape.graph.name(joined.to).to_owned(),
            monitored: number < LinkNumber::other(0).index(),
            rate_bits_per_second: link.rate.bits_per_second(),
            delay_ns: link.delay.as_nanos(),
            queue: queue.to_string(),
            offered_packets: offered.total(),
            offered_bytes: offered.bytes,
            dropped_packets: dropped.total(),
            dropped_bytes: dropped.bytes,
            utilisation: measured.utilisation(),
            queue_mean_packets: measured.mean_packets(),
            queue_max_packets: measured.max().packets,
            queue_max_ns: link.rate.bits_per_second().map(|rate| time_of(measured.max().bytes, rate)),
            queue_limit_ns: queue_time(queue, link.rate, mean_packet(offered)),
        }
    });
    Topology {
        nodes: shape.graph.nodes().to_vec(),
        ends: shape.ends.map(|node| shape.graph.name(node).to_owned()),
        links: links.collect(),
    }
}

/// A packet that fills a frame of Ethernet, in bytes on the link.
pub const FULL_PACKET: u64 = 1_514;

/// Nanoseconds that a line of `rate` takes for all that the limit of `queue` allows, of packets of `mean` bytes; `None` without a rate, and
/// of queues that drop for other reasons.
pub fn queue_time(queue: &Queue, rate: Rate, mean: u64) -> Option<u64> {
    let bytes = match queue.limit().value {
        Limit::Bytes(bytes) => bytes,
        Limit::Packets(packets) => packets.saturating_mul(mean),
    };
    rate.bits_per_second().filter(|_| queue.is_held_by_limit()).map(|rate| time_of(bytes, rate))
}

/// The mean length of packets; of none that of a full one.
fn mean_packet(packets: PacketCounts) -> u64 {
    packets.bytes.checked_div(packets.total()).unwrap_or(FULL_PACKET)
}

/// Nanoseconds that a line of `rate` in bit/s takes for so many bytes.
fn time_of(bytes: u64, rate: u64) -> u64 {
    let nanos = u128::from(bytes) * 8_000_000_000 / u128::from(rate.max(1));
    u64::try_from(nanos).unwrap_or(u64::MAX)
}

/// Round-trip time of connections in a workload without a single sample.
pub const UNKNOWN_RTT: Duration = Duration::from_millis(100);

/// The rate of the link with this key (methods M.9).
pub fn link_rate(
    key: &str,
    choice: &Quantity<RateChoice>,
    source: &Source,
    datagrams: DatagramModel,
) -> Result<Rate, Error> {
    const DEFAULT: f64 = 1e9;
    let computed = |bits: f64| {
        let possible = Some(bits.ceil() as u64).filter(|bits| (Rate::SLOWEST..=Rate::FASTEST).contains(bits));
        possible.and_then(Rate::from_bits_per_second).ok_or_else(|| {
            let bound = if bits < 1e9 { "at least 100 bit/s" } else { "at most 100 Tbit/s" };
            let problem = format_args!("of {choice} comes to {} bit/s, and a link has {bound}", three_digits(bits));
            Error::from(KeyError::new(format!("{key}.rate"), problem)).hint("give another share of the load, or a rate")
        })
    };
    let bits_per_second = |bytes: u64, time: Duration| 8.0 * bytes as f64 / time.as_secs_f64().max(1e-9);
    let bits = match choice.value {
        RateChoice::Fixed(rate) => return Ok(rate),
        RateChoice::Auto => {
            let peak = bits_per_second(source.facts.capture.peak_10ms_bytes, TrafficSeries::WIDTH);
            (2.0 * peak).max(DEFAULT)
        }
        RateChoice::OfLoad(factor) => {
            let Some(bytes) = source.link_bytes(datagrams)? else {
                return Err(Error::from(KeyError::new(
                    format!("{key}.rate"),
                    format_args!("of {choice} is relative to the original's load, which this workload does not know"),
                ))
                .hint(
                    "give a rate, as in --rate 100mbit; captures and workloads extracted from them know their load",
                ));
            };
            // Jumps of the clock are no part of the time that carried the load.
            let load = bytes.map(|bytes| bits_per_second(bytes, source.facts.observed()));
            factor * load[0].max(load[1])
        }
    };
    computed(bits)
}
