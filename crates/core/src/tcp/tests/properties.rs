//! Whatever the network does, every byte arrives once and in order, and both ends close.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::pair::Pair;
use crate::rng::{Purpose, Stream};
use crate::tcp::congestion::{Algorithm, WindowRules};
use crate::tcp::{Config, EcnEcho, InitialWindow, Limits, RtoConfig, RtoVariation, Sack};
use crate::time::{Duration, Time};
use crate::wire::Ecn;

#[derive(Clone, Debug)]
pub(super) struct Scenario {
    seed: u64,
    /// Shares in 1/1000 of segments lost, duplicated and held back.
    faults: [u64; 3],
    limits: [Limits; 2],
    pub(super) writes: [Vec<u64>; 2],
    delayed_ack: Option<Duration>,
    initial_window: u16,
    scaling: bool,
    mode: Mode,
}

/// What differs between stacks.
#[derive(Clone, Debug)]
struct Mode {
    algorithm: Algorithm,
    sack: Sack,
    ecn: EcnEcho,
    quick_acks: u8,
    /// Share in 1/1000 of capable packets that are marked.
    marks: u64,
    timestamps: bool,
    rack: bool,
    prr: bool,
    limited_transmit: bool,
    pacing: bool,
    undo: bool,
    f_rto: bool,
    linux: bool,
}

fn mode() -> impl Strategy<Value = Mode> {
    let sack = prop_oneof![Just(Sack::Off), Just(Sack::On), Just(Sack::WithDuplicates)];
    let ecn = prop_oneof![Just(EcnEcho::Off), Just(EcnEcho::UntilAnswered), Just(EcnEcho::EachMark)];
    let algorithms = Algorithm::all().to_vec();
    let switches = any::<[bool; 8]>();
    (prop::sample::select(algorithms), sack, ecn, 0u8..20, 0u64..300, switches).prop_map(
        |(
            algorithm,
            sack,
            ecn,
            quick_acks,
            marks,
            [timestamps, rack, prr, limited_transmit, pacing, undo, f_rto, linux],
        )| {
            Mode {
                algorithm,
                sack,
                ecn,
                quick_acks,
                marks,
                timestamps,
                rack,
                prr,
                limited_transmit,
                pacing,
                undo,
                f_rto,
                linux,
            }
        },
    )
}

fn limits() -> impl Strategy<Value = Limits> {
    (1u16..3000, 1u32..200_000).prop_map(|(mss, max_window)| {
        // Windows of a few bytes are legal but send a byte at a time.
        Limits { mss: mss.max(50), max_window: max_window.max(500) }
    })
}

pub(super) fn scenario() -> impl Strategy<Value = Scenario> {
    let writes = || prop::collection::vec(prop_oneof![Just(0), 1u64..100, 1u64..60_000], 0..4);
    let faults = [0u64..300, 0u64..300, 0u64..500];
    // Shorter than the least retransmission timeout less the round trip: a delayed acknowledgement is no loss.
    let delayed = prop_oneof![Just(None), (1u64..150).prop_map(|ms| Some(Duration::from_millis(ms)))];
    (any::<u64>(), faults, [limits(), limits()], [writes(), writes()], delayed, 1u16..11, any::<bool>(), mode())
        .prop_map(|(seed, faults, limits, writes, delayed_ack, initial_window, scaling, mode)| Scenario {
            seed,
            faults,
            limits,
            writes,
            delayed_ack,
            initial_window,
            scaling,
            mode,
        })
}

pub(super) fn build(scenario: &Scenario) -> Pair {
    let mode = scenario.mode.clone();
    let config = Config {
        congestion: mode.algorithm,
        sack: mode.sack,
        ecn: mode.ecn,
        quick_acks: mode.quick_acks,
        timestamps: mode.timestamps,
        rack: mode.rack,
        prr: mode.prr,
        limited_transmit: mode.limited_transmit,
        pacing: mode.pacing,
        undo: mode.undo,
        f_rto: mode.f_rto,
        window_rules: if mode.linux { WindowRules::Linux } else { WindowRules::Rfc },
        sack_compression: mode.linux,
        bursts: mode.linux,
        delayed_ack: scenario.delayed_ack,
        initial_window: InitialWindow::Segments(scenario.initial_window),
        window_scaling: scenario.scaling,
        rto: RtoConfig {
            min: Duration::from_millis(200),
            max: Duration::from_secs(4),
            variation: if mode.linux { RtoVariation::Linux } else { RtoVariation::Rfc },
            ..RtoConfig::default()
        },
        // Nobody gives up: a lossy path is no dead path.
        syn_retries: 255,
        data_retries: 255,
        ..Config::default()
    };
    let mut pair = Pair::new(config, scenario.limits, Duration::from_millis(10));
    let mut stream = Stream::new(scenario.seed, Purpose::Loss, 0);
    let [loss, duplication, holding] = scenario.faults;
    pair.pipe = Some(Box::new(move |_, segment| {
        if segment.ecn.is_capable() && stream.below(1000) < mode.marks {
            segment.ecn = Ecn::Ce;
        }
        if stream.below(1000) < loss {
            return Vec::new();
        }
        let copies = 1 + usize::from(stream.below(1000) < duplication);
        let delay = |stream: &mut Stream| match stream.below(1000) < holding {
            true => Duration::from_micros(stream.below(40_000)),
            false => Duration::ZERO,
        };
        (0..copies).map(|_| delay(&mut stream)).collect()
    }));
    pair
}

fn run(scenario: &Scenario) -> Pair {
    let mut pair = build(scenario);
    for end in 0..2 {
        scenario.writes[end].iter().for_each(|&bytes| pair.ends[end].write(bytes));
        pair.ends[end].close();
    }
    pair.kick();
    pair.run_until(Time::ZERO + Duration::from_secs(1_000_000));
    pair
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, rng_seed: RngSeed::Fixed(2), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_once_and_both_ends_close(scenario in scenario()) {
        let pair = run(&scenario);
        for end in 0..2 {
            let written: u64 = scenario.writes[1 - end].iter().sum();
            prop_assert_eq!(pair.ends[end].bytes_received(), written);
            prop_assert_eq!(pair.ends[end].bytes_acknowledged(), pair.ends[end].bytes_transmitted());
            prop_assert!(pair.ends[end].is_peer_closed());
            prop_assert!(pair.ends[end].is_closed() && !pair.ends[end].is_reset());
            prop_assert_eq!(pair.ends[end].next_timeout(), None);
        }
        let again = run(&scenario);
        prop_assert!(again.sent == pair.sent, "the same seed gave other segments");
    }

    /// No segment leaves the receiver's window, exceeds the MSS, or advertises what its header cannot say.
    #[test]
    fn windows_and_segment_sizes_are_kept(scenario in scenario()) {
        let pair = run(&scenario);
        let mss = u32::from(scenario.limits[0].mss.min(scenario.limits[1].mss));
        let mut edge = [0; 2];
        for (_, end, segment) in &pair.sent {
            if segment.flags.ack() {
                edge[1 - end] = edge[1 - end].max(segment.acknowledgement + u64::from(segment.window));
            }
            prop_assert!(segment.payload_bytes + segment.option_bytes() <= mss || segment.payload_bytes <= 1);
            prop_assert!(segment.payload_bytes == 0 || segment.sequence + u64::from(segment.payload_bytes) <= edge[*end]);
            prop_assert!(segment.window <= scenario.limits[*end].max_window);
            prop_assert_eq!(u32::from(segment.window_field()) << segment.window_shift, segment.window);
        }
    }

    #[test]
    fn without_faults_nothing_is_sent_twice(scenario in scenario()) {
        let pair = run(&Scenario { faults: [0; 3], ..scenario });
        prop_assert_eq!(pair.ends[0].retransmissions() + pair.ends[1].retransmissions(), 0);
    }
}
