//! What a run says of its plausibility, with the names of classes and links.

use flowloom_core::tcp::Sack;
use flowloom_core::workload::LinkSide;
use flowloom_report::facts::{ClassFacts, Topology};
use flowloom_report::plausibility::{
    ClassPlausibility, DirectionPlausibility, FlowPlausibility, NotJudged, Plausibility, StandingQueue,
};
use flowloom_sim::{ClassPackets, Config, JudgedFlow, Summary};

use crate::experiment::WORKLOAD;

/// What `summary` says, whose classes and links have these names.
pub fn facts(config: &Config, summary: &Summary, classes: &[ClassFacts], topology: &Topology) -> Plausibility {
    let found = &summary.plausibility;
    // Where there is only the workload there is no list of classes.
    let name = |class: usize| classes.get(class).map_or(WORKLOAD, |class| &class.name).to_owned();
    let flows = &found.flows;
    Plausibility {
        judged_flows: flows.judged,
        outside_flows: flows.outside,
        not_judged: NotJudged {
            few_loss_events: flows.few_loss_events,
            no_response_function: flows.no_response_function,
            application_limited: flows.application_limited,
            receiver_limited: flows.receiver_limited,
        },
        flows: flows.farthest.iter().map(|flow| flow_facts(flow, name(flow.class.into()), config)).collect(),
        classes: (found.classes.iter().zip(&summary.classes).enumerate())
            .map(|(class, (packets, counts))| {
                let data_packets = packets.data_packets();
                let tcp = config.tcp(class as u16);
                ClassPlausibility {
                    class: name(class),
                    ignores_losses: config.class(class as u16).response().is_none(),
                    from_left: direction(packets, LinkSide::Left, topology),
                    from_right: direction(packets, LinkSide::Right, topology),
                    data_packets,
                    copies: packets.copies,
                    retransmissions: counts.retransmissions,
                    retransmitted_share: share(counts.retransmissions, data_packets),
                    queueing_ns: packets.queueing.mean().as_nanos(),
                    timeout_ns: tcp.rto.min.as_nanos(),
                    round_trip_ns: packets.queueing.mean_round_trip().as_nanos(),
                    first_timeout_ns: tcp.rto.initial.as_nanos(),
                    standing: standing(packets, topology),
                    without_sack: tcp.sack == Sack::Off,
                }
            })
            .filter(|class| class.from_left.packets + class.from_right.packets > 0)
            .collect(),
    }
}

/// The deepest queue, if less than half of the data packets that were not dropped arrived.
fn standing(packets: &ClassPackets, topology: &Topology) -> Option<StandingQueue> {
    let dropped: u64 = [LinkSide::Left, LinkSide::Right].map(|side| packets.dropped_from(side)).iter().sum();
    let remained = packets.data_packets().saturating_sub(dropped);
    let deepest = topology.links.iter().max_by_key(|link| link.queue_max_ns)?;
    let holds_ns = deepest.queue_max_ns.filter(|_| packets.queueing.arrived() * 2 < remained)?;
    Some(StandingQueue { link: deepest.name.clone(), holds_ns })
}

fn flow_facts(flow: &JudgedFlow, class: String, config: &Config) -> FlowPlausibility {
    let finding = &flow.finding;
    FlowPlausibility {
        connection_id: flow.id,
        class,
        from_side: flow.from.word().to_owned(),
        congestion: config.tcp(flow.class).congestion.name().to_owned(),
        loss_events: finding.loss_events,
        loss_event_rate: finding.loss_event_rate,
        rtt_ns: finding.rtt.as_nanos(),
        timeout_ns: finding.timeout.as_nanos(),
        window_segments: finding.window,
        expected_low_segments: finding.expected.low,
        expected_high_segments: finding.expected.high,
        ratio: finding.ratio(),
        outside: finding.is_outside(),
    }
}

fn direction(packets: &ClassPackets, from: LinkSide, topology: &Topology) -> DirectionPlausibility {
    let dropped_packets = packets.dropped_from(from);
    let all = packets.data[from as usize];
    DirectionPlausibility {
        packets: all,
        dropped_packets,
        dropped_acknowledgements: packets.dropped_acknowledgements[from as usize],
        dropped_share: share(dropped_packets, all),
        dropped_first_packets: packets.first_flights[from as usize].min(dropped_packets),
        lossy_window_segments: packets.lossy[from as usize].mean_window(),
        lossy_flight_segments: packets.lossy[from as usize].mean_flight(),
        loss_event_rate: packets.lossy[from as usize].loss_event_rate(),
        most_dropped_at: packets
            .most_dropped_at(from)
            .and_then(|link| Some(topology.links.get(usize::from(link))?.name.clone())),
    }
}

fn share(count: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| count as f64 / of as f64)
}
