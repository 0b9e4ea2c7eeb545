//! Flows beside their response functions, in whole runs: what is judged, what is not, and a sender that ignores losses.

use std::ops::ControlFlow;

use crate::common::*;
use flowloom_core::path::{Impairments, LossModel, PacketList};
use flowloom_core::plausibility::Response;
use flowloom_core::queue::{Discipline, RedParams};
use flowloom_core::tcp;
use flowloom_core::tcp::congestion::{
    Ack, Algorithm, Cause, CongestionControl, CubicParameters, Custom, DctcpParameters, VegasParameters, Window,
    WindowCause,
};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::{Limit, Probability};
use flowloom_core::workload::*;
use flowloom_sim::*;

/// A window of so many bytes, whatever happens.
#[derive(Clone, Debug)]
struct Stubborn(u32);

impl CongestionControl for Stubborn {
    fn on_ack(&mut self, window: &mut Window, _: &Ack) {
        window.set(self.0, WindowCause::Custom(0));
    }

    fn on_congestion(&mut self, window: &mut Window, _: Time, _: u64, _: Cause) {
        window.set_threshold(self.0);
        window.set(self.0, WindowCause::Custom(0));
    }
}

fn stubborn(bytes: u32) -> Algorithm {
    Algorithm::Custom(Custom::new("stubborn", move |_| Stubborn(bytes)))
}

fn probability(p: f64) -> Probability {
    Probability::new(p).unwrap()
}

/// The textbook's TCP with SACK and this congestion control.
fn tcp(congestion: Algorithm) -> tcp::Config {
    tcp::Config { congestion, sack: tcp::Sack::On, ..tcp::Config::of(tcp::Profile::Plain) }
}

/// 100 s over a link of 20 Mbit/s, round trips of 80 ms (133 packets), and a buffer of 100 packets.
fn config(congestion: Algorithm) -> Config {
    let mut config = Config::new("20mbit".parse().unwrap(), ms(100_000));
    config.bottleneck.queue = Discipline::DropTail(Limit::Packets(100));
    config.classes = vec![Class { tcp: tcp(congestion), ..Class::default() }];
    config.monitor = false;
    config
}

/// The same, and so many of the packets from the left are lost.
fn lossy(congestion: Algorithm, loss: f64) -> Config {
    let path = Impairments { loss: LossModel::Bernoulli(probability(loss)), ..Impairments::default() };
    Config { path: [path, Impairments::default()], ..config(congestion) }
}

/// A sender on the left that never ends, to a receiver with this window.
fn bulk(id: u64, class: u16, receive_window: u64) -> Classed {
    let vector = exchange(id, at(0), 1, 1);
    let mut vector = ConnectionVector { adus: Vec::new(), ..vector };
    vector.ends.acceptor.max_window = Some(receive_window);
    vector.ends.acceptor.window_scale = Some(8);
    vector.ends.initiator.window_scale = Some(8);
    Classed { vector, class, origin: Origin::Source { endless_until: Some(at(100_000)) } }
}

fn found(classed: Vec<Classed>, config: &Config) -> Plausibility {
    let vectors = classed.into_iter().map(Ok::<_, ()>);
    let summary = run(vectors, config, &mut Log::default(), |_| ControlFlow::Continue(())).unwrap();
    summary.plausibility
}

fn one(config: &Config) -> Plausibility {
    found(vec![bulk(1, 0, 4 << 20)], config)
}

fn cubic() -> Algorithm {
    Algorithm::Cubic(CubicParameters::default())
}

#[test]
fn standard_algorithms_are_inside() {
    for congestion in [Algorithm::Tahoe, Algorithm::Reno, Algorithm::NewReno, cubic()] {
        for loss in [0.001, 0.02] {
            let flows = one(&lossy(congestion.clone(), loss)).flows;
            assert_eq!((flows.judged, flows.outside), (1, 0), "{congestion}: {:?}", flows.farthest);
        }
        // Ten share a queue that overflows.
        let flows = found((0..10).map(|id| bulk(id, 0, 4 << 20)).collect(), &config(congestion.clone())).flows;
        assert_eq!((flows.judged, flows.outside), (10, 0), "{congestion}: {:?}", flows.farthest);
    }
}

/// A window of 200 segments, of which one in a hundred is lost: Reno would have 12.
#[test]
fn a_sender_that_ignores_losses_is_outside() {
    for response in [Response::Reno { segments_per_ack: 1 }, Response::Cubic] {
        let mut config = lossy(stubborn(100 * 1_460), 0.01);
        config.classes[0].response = Some(response);
        let flows = one(&config).flows;
        assert_eq!((flows.judged, flows.outside), (1, 1), "{flows:?}");
        let JudgedFlow { id, class, from, finding } = flows.farthest[0];
        assert_eq!((id, class, from), (1, 0, LinkSide::Left));
        assert!(finding.loss_events > 500 && finding.ratio() > 4.0, "{finding:?}");
    }
}

/// Two segments at a loss rate of one in a thousand, where Reno has 38.
#[test]
fn a_sender_that_never_grows_is_outside() {
    let mut config = lossy(stubborn(2 * 1_460), 0.001);
    config.classes[0].response = Some(Response::Cubic);
    config.window = ms(600_000);
    let mut classed = bulk(1, 0, 4 << 20);
    classed.origin = Origin::Source { endless_until: Some(at(600_000)) };
    let flows = found(vec![classed], &config).flows;
    assert_eq!((flows.judged, flows.outside), (1, 1), "{flows:?}");
    assert!(flows.farthest[0].finding.ratio() < 0.1, "{flows:?}");
}

#[test]
fn a_user_s_algorithm_and_bbr_are_not_judged() {
    for congestion in [stubborn(100 * 1_460), Algorithm::Bbr] {
        let flows = one(&lossy(congestion, 0.01)).flows;
        assert_eq!((flows.judged, flows.no_response_function), (0, 1), "{flows:?}");
    }
}

#[test]
fn a_flow_without_losses_is_not_counted() {
    let mut config = config(cubic());
    config.bottleneck.queue = Discipline::DropTail(Limit::Packets(65_000));
    let found = found(vec![bulk(1, 0, 200_000)], &config);
    assert_eq!(found.flows, FlowFindings::default());
    assert!(found.classes[0].arrived.iter().all(|packets| *packets > 50_000), "{:?}", found.classes);
    assert!(found.classes[0].dropped.is_empty());
}

/// These packets from the left are lost, and no others.
fn losing(intervals: impl IntoIterator<Item = (u64, u64)>) -> Config {
    let mut config = config(cubic());
    config.bottleneck.queue = Discipline::DropTail(Limit::Packets(65_000));
    let loss = LossModel::List(PacketList::new(intervals).unwrap());
    config.path = [Impairments { loss, ..Impairments::default() }, Impairments::default()];
    config
}

#[test]
fn nine_loss_events_are_too_few() {
    for (events, judged) in [(9, 0), (10, 1)] {
        let config = losing((1..=events).map(|n| (3_000 * n, 3_000 * n)));
        let flows = found(vec![bulk(1, 0, 4 << 20)], &config).flows;
        assert_eq!((flows.judged, flows.few_loss_events), (judged, 1 - judged), "{flows:?}");
    }
}

/// Four packets in a row, a dozen times.
#[test]
fn a_burst_of_losses_is_one_event() {
    let flows = found(vec![bulk(1, 0, 4 << 20)], &losing((1..=12).map(|n| (3_000 * n, 3_000 * n + 3)))).flows;
    assert_eq!(flows.farthest.first().map(|flow| flow.finding.loss_events), Some(12), "{flows:?}");
}

#[test]
fn a_small_receive_window_excuses_a_small_window() {
    let flows = found(vec![bulk(1, 0, 16 << 10)], &lossy(cubic(), 0.001)).flows;
    assert_eq!((flows.judged, flows.receiver_limited), (0, 1), "{flows:?}");
}

/// Blocks of 100 kB with half a second between them, as long as the run lasts.
#[test]
fn pauses_of_the_application_are_told() {
    let adus: Vec<_> = (0..150).map(|_| (Side::Initiator, 100_000, ms(500))).collect();
    let mut vector = vector(1, at(0), Pattern::Sequential, &adus);
    vector.ends.acceptor.max_window = Some(4 << 20);
    let flows = found(vec![Classed::from(vector)], &lossy(Algorithm::NewReno, 0.01)).flows;
    assert_eq!((flows.judged, flows.application_limited), (0, 1), "{flows:?}");
}

/// A connection of the workload that sends 30 MB at once is a bulk flow like any other, in either direction.
#[test]
fn connections_of_the_workload_are_judged() {
    for side in Side::BOTH {
        let mut vector = vector(1, at(0), Pattern::Sequential, &[(side, 30_000_000, Duration::ZERO)]);
        vector.ends.acceptor.max_window = Some(4 << 20);
        vector.ends.initiator.max_window = Some(4 << 20);
        let mut config = lossy(Algorithm::NewReno, 0.005);
        config.path[1] = config.path[0].clone();
        let flows = found(vec![Classed::from(vector)], &config).flows;
        assert_eq!((flows.judged, flows.outside), (1, 0), "{flows:?}");
        let from = if side == Side::Initiator { LinkSide::Left } else { LinkSide::Right };
        assert_eq!(flows.farthest[0].from, from);
    }
}

#[test]
fn vegas_is_not_too_small() {
    let flows = one(&lossy(Algorithm::Vegas(VegasParameters::default()), 0.000_5)).flows;
    assert_eq!((flows.judged, flows.outside), (1, 0), "{flows:?}");
}

/// RED over the backlog itself, which marks more the longer it is.
#[test]
fn dctcp_is_judged_by_marks() {
    let congestion = Algorithm::Dctcp(DctcpParameters::default());
    let mut config = config(congestion);
    config.classes[0].tcp.ecn = tcp::EcnEcho::EachMark;
    config.bottleneck.queue = Discipline::Red(RedParams {
        limit: Limit::Packets(1_000),
        min: Limit::Packets(30),
        max: Limit::Packets(300),
        weight: 1.0,
        ecn: true,
        ..RedParams::default()
    });
    let flows = one(&config).flows;
    assert_eq!((flows.judged, flows.outside), (1, 0), "{flows:?}");
    assert!(flows.farthest[0].finding.loss_events > 100, "{flows:?}");
}

/// A quarter of the packets from the left is lost on the path: 25 % within three standard deviations.
#[test]
fn lost_packets_are_counted_by_class_and_place() {
    let mut config = lossy(Algorithm::NewReno, 0.25);
    config.classes.push(Class { tcp: tcp(cubic()), ..Class::default() });
    let Plausibility { classes, .. } =
        found(vec![bulk(1, 0, 4 << 20), bulk(2, 1, 4 << 20), bulk(3, 1, 4 << 20)], &config);
    for class in &classes {
        let dropped = class.dropped_from(LinkSide::Left);
        let all = (class.arrived[0] + dropped) as f64;
        let share = dropped as f64 / all;
        assert!(all > 300.0 && (share - 0.25).abs() < 3.0 * (0.25 * 0.75 / all).sqrt(), "{share} of {all}");
        assert_eq!((class.dropped_from(LinkSide::Right), class.most_dropped_at(LinkSide::Left)), (0, None));
        assert!(class.data_packets() > class.arrived[1]);
    }
}

/// Nothing has to react to lost acknowledgements: the next one says as much.
#[test]
fn lost_acknowledgements_are_no_lost_data() {
    let mut config = lossy(Algorithm::NewReno, 0.0);
    config.path.swap(0, 1);
    config.path[1].loss = LossModel::Bernoulli(probability(0.3));
    config.window = ms(20_000);
    let class = &one(&config).classes[0];
    assert!(class.dropped_acknowledgements[1] > 1_000, "{class:?}");
    let dropped = class.dropped_from(LinkSide::Right);
    assert!(dropped <= 2 && dropped <= class.data[1], "SYN and FIN: {class:?}");
}

/// Every second packet comes twice, and the queue overflows: dropped copies are no losses, as their originals arrived.
#[test]
fn dropped_copies_are_no_losses() {
    let mut config = config(cubic());
    config.classes[0].tcp = tcp::Config { congestion: cubic(), ..tcp::Config::of(tcp::Profile::Linux) };
    config.bottleneck.rate = "10mbit".parse().unwrap();
    config.path[0].duplicate = probability(0.5);
    config.window = ms(60_000);
    let Plausibility { flows, classes } = one(&config);
    assert_eq!((flows.judged, flows.outside), (1, 0), "{flows:?}");
    let class = &classes[0];
    assert!((0.45..0.55).contains(&(class.copies as f64 / class.data[0] as f64)), "{class:?}");
}

#[test]
fn packets_dropped_at_a_queue_have_its_number() {
    let mut config = config(Algorithm::NewReno);
    config.bottleneck.queue = Discipline::DropTail(Limit::Packets(5));
    let classes = one(&config).classes;
    assert!(classes[0].dropped_from(LinkSide::Left) > 20);
    assert_eq!(classes[0].most_dropped_at(LinkSide::Left), Some(0));
}

/// A thousand classes and flows: the list stays short and has the farthest.
#[test]
fn many_classes_leave_a_short_list() {
    let mut config = lossy(stubborn(10 * 1_460), 0.05);
    config.bottleneck.rate = "1gbit".parse().unwrap();
    config.window = ms(30_000);
    let class = config.classes[0].clone();
    config.classes = vec![Class { response: Some(Response::Cubic), ..class }; 100];
    let flows = (0..100).map(|n| {
        let mut flow = bulk(n, n as u16, 4 << 20);
        flow.origin = Origin::Source { endless_until: Some(at(30_000)) };
        flow
    });
    let Plausibility { flows, classes } = found(flows.collect(), &config);
    assert_eq!((flows.judged, flows.farthest.len(), classes.len()), (100, 20, 100));
    let distances: Vec<f64> = flows.farthest.iter().map(|flow| flow.finding.distance()).collect();
    assert!(distances.is_sorted_by(|one, other| one >= other), "{distances:?}");
    assert!(classes.iter().all(|class| class.dropped_from(LinkSide::Left) > 0));
}
