//! An experiment and its workload as the simulator's numbers.

use std::sync::Arc;

use flowloom_core::path::{Placement, Trace};
use flowloom_core::time::Duration;
use flowloom_core::units::Limit;
use flowloom_core::workload::LinkSide;
use flowloom_report::facts::{CellFacts, LinkFacts, Topology};
use flowloom_sim::{Config, ConfigError, LinkConfig, LinkNumber, PacketCounts, Summary};

use crate::error::{Error, KeyError};
use crate::experiment::{Bottleneck, Experiment, LossChoice, Network, Part, Quantity, Queue, RateChoice, Shape};
use crate::run::changes::replay_model;
use crate::run::load::link_rate;
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
    let rate = |key: &str, choice: &Quantity<RateChoice>| link_rate(key, choice, source, experiment);
    let network: Config = experiment.network.config(shape, window, traces, rate)?;
    let config = Config {
        classes: senders.classes(),
        traced: experiment.measure.tcp_trace.traced(),
        rules: network.rules.clone().with_measured_loss(experiment.workload.loss == LossChoice::Measured),
        replay: replay_model(experiment, facts),
        knows_adus: true,
        placement: Placement::Measured,
        unknown_rtt: source.unknown_rtt(),
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
        let Bottleneck { queue, .. } = &network.bottleneck;
        let words = network.bottleneck.buffer();
        (&config.bottleneck, (queue, words), direction.offered, direction.dropped, direction.link)
    };
    let links = shape.graph.links().iter().enumerate().map(|(number, joined)| {
        let (link, (queue, words), offered, dropped, measured) = match number.checked_sub(LinkNumber::other(0).index())
        {
            None => bottleneck(if number == 0 { LinkSide::Left } else { LinkSide::Right }),
            Some(place) => {
                let queue = match joined.link {
                    Part::Alike(_) => (&network.bottleneck.queue, network.bottleneck.buffer()),
                    Part::Link(place) => (&network.links[place].queue, network.links[place].buffer()),
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
            queue: words,
            offered_packets: offered.total(),
            offered_bytes: offered.bytes,
            dropped_packets: dropped.total(),
            dropped_bytes: dropped.bytes,
            utilisation: measured.utilisation(),
            queue_mean_packets: measured.mean_packets(),
            queue_max_packets: measured.max().packets,
            queue_max_ns: link.rate.bits_per_second().map(|rate| time_of(measured.max().bytes, rate)),
            queue_limit_ns: limit_time(queue, link, mean_packet(offered)),
            cells: measured.cells().map(CellFacts::from),
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

/// Nanoseconds that `link` takes for all that the limit of its queue allows, of packets of `mean` bytes, or that of its buffer of cells;
/// `None` without a rate or a limit, and of queues that drop for other reasons.
pub fn limit_time(queue: &Queue, link: &LinkConfig, mean: u64) -> Option<u64> {
    let rate = link.rate;
    if let Some(cells) = &link.cells {
        return cells.most_waiting().zip(rate.bits_per_second()).map(|(bytes, rate)| time_of(bytes, rate));
    }
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
