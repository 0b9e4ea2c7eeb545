use flowloom_core::keys::Quantity;
use flowloom_core::workload::{Pattern, Protocol};

use super::*;

fn leaf(traffic: Traffic, protocol: Transport) -> Leaf {
    Leaf { traffic, duration: None, protocol, count: 1, speed: None, ends: Ends::default() }
}

fn vectors(leaf: &Leaf, seconds: u64) -> Vec<ConnectionVector> {
    let model = Netspec::new(vec![leaf.clone()]);
    model.check().unwrap();
    model.vectors(1, Duration::from_secs(seconds)).collect()
}

fn number(value: f64) -> Parameter {
    Parameter::Number(value)
}

/// Payload each second.
fn rate(vectors: &[ConnectionVector], seconds: u64) -> f64 {
    8.0 * vectors.iter().map(|vector| vector.bytes(Side::Initiator)).sum::<u64>() as f64 / seconds as f64
}

/// Methods J.4: 125,000 bytes every 10,000 us are 100 Mbit/s, 32,768 every 8,000 us 32.768 Mbit/s.
#[test]
fn bursts_have_their_rates() {
    for (blocksize, period, wanted) in [(125_000.0, 10_000.0, 100e6), (32_768.0, 8_000.0, 32.768e6)] {
        for protocol in [Transport::Tcp, Transport::Udp] {
            let traffic = Traffic::Burst { blocksize: number(blocksize), period: number(period) };
            let found = vectors(&leaf(traffic, protocol), 4);
            assert!((rate(&found, 4) / wanted - 1.0).abs() < 1e-9, "{protocol:?}: {}", rate(&found, 4));
        }
        let cbr = Traffic::Cbr { blocksize: blocksize as u64, period };
        assert!((rate(&vectors(&leaf(cbr, Transport::Udp), 4), 4) / wanted - 1.0).abs() < 1e-9);
    }
}

#[test]
fn full_blast_is_what_the_path_can_take_in_whole_blocks() {
    let full = leaf(Traffic::Full { blocksize: 32_768 }, Transport::Tcp);
    let full = Leaf { speed: Some(Quantity::of("10mbit")), duration: Some(10.0), ..full };
    let found = vectors(&full, 60);
    assert_eq!((found.len(), found[0].adus.len(), found[0].bytes(Side::Initiator)), (1, 1, 382 * 32_768));
    assert_eq!((found[0].protocol, found[0].pattern), (Protocol::Tcp, Pattern::Sequential));
    let found = vectors(&Leaf { protocol: Transport::Udp, ..full }, 60);
    let adu = found[0].adus[0];
    assert_eq!((adu.bytes, adu.packets), (382 * 32_768, Some(382 * 23)));
    assert!((9.9..=10.0).contains(&adu.seen.unwrap().length().as_secs_f64()));
}

/// A block takes 1.5 periods to leave: of `burst` every other is sent, on its grid; of `burstq` all, one after the other.
#[test]
fn late_blocks_are_left_out_or_wait() {
    let blocks = |traffic| {
        let leaf = Leaf { speed: Some(Quantity::of("8mbit")), ..leaf(traffic, Transport::Tcp) };
        vectors(&leaf, 1).remove(0)
    };
    // 1,500 bytes at 8 Mbit/s take 1.5 ms.
    let vector = blocks(Traffic::Burst { blocksize: number(1_500.0), period: number(1_000.0) });
    assert_eq!(vector.adus.len(), 500);
    assert_eq!(vector.adus[0].wait, Some(Duration::from_micros(500)));
    let repeats = number(2.0);
    let vector =
        blocks(Traffic::Burstq { blocksize: number(1_500.0), period: number(10_000.0), repeats: repeats.clone() });
    let waits: Vec<_> = vector.adus.iter().take(3).map(|adu| adu.wait.unwrap()).collect();
    assert_eq!(vector.adus.len(), 200);
    assert_eq!(waits, [Duration::ZERO, Duration::from_millis(7), Duration::ZERO]);
    let vector = blocks(Traffic::Burstq { blocksize: number(1_500.0), period: number(1_000.0), repeats });
    assert_eq!(vector.adus.len(), 2_000);
    assert!(vector.adus.iter().all(|adu| adu.wait.unwrap_or_default().is_zero()), "it never catches up");
}

/// A session every 0.1 s (lambda = 0.00001) of one file or more, none smaller than 8 bytes.
#[test]
fn ftp_is_queued_bursts_of_files() {
    let found = vectors(&leaf(Traffic::Ftp { lambda: 1e-5 }, Transport::Tcp), 1_000);
    let sessions = found[0].adus.iter().filter(|adu| adu.wait.is_some_and(|wait| !wait.is_zero())).count();
    assert!((9_500..10_500).contains(&sessions), "{sessions}");
    let files = found[0].adus.len() as f64 / sessions as f64;
    // The mean of the summary, each number rounded up.
    assert!((7.0..9.0).contains(&files), "{files}");
    assert!(found[0].adus.iter().all(|adu| adu.bytes >= 8));
}

/// Ten sessions a second of a median of 240 s: those of the first 1,000 s that are not cut, and Poisson.
#[test]
fn telnet_is_sessions_of_packets() {
    let found = vectors(&leaf(Traffic::Telnet { lambda: 1e-6 }, Transport::Tcp), 2_000);
    // Those whose first gap is longer than the session have no data.
    assert!((1_700..2_100).contains(&found.len()), "{}", found.len());
    assert!(found.iter().all(|vector| vector.ends.acceptor.port == Some(23)));
    let long = found.iter().take(800).filter(|vector| {
        let waits: Duration = vector.adus.iter().filter_map(|adu| adu.wait).sum();
        waits > Duration::from_secs(240)
    });
    let share = long.count() as f64 / 800.0;
    assert!((0.4..0.55).contains(&share), "{share}");
}

/// 0.1 calls a second of 100 s in the mean, at 64 kbit/s: ten at a time.
#[test]
fn voice_is_calls_at_a_constant_rate() {
    let voice = Traffic::Voice { lambda: 1e-7, duration_lambda: 1e-8, blocksize: 160 };
    let found = vectors(&leaf(voice, Transport::Udp), 20_000);
    let adu = found[0].adus[0];
    assert_eq!(adu.bytes, 160 * u64::from(adu.packets.unwrap()));
    let gap = adu.seen.unwrap().length().as_secs_f64() / f64::from(adu.packets.unwrap() - 1);
    assert!((gap - 0.02).abs() < 1e-9);
    assert!((found.len() as f64 / 2_000.0 - 1.0).abs() < 0.08, "{}", found.len());
    assert!((rate(&found, 20_000) / 640e3 - 1.0).abs() < 0.1, "{}", rate(&found, 20_000));
    assert!(found.windows(2).all(|pair| pair[0].start < pair[1].start));
}

/// The Pareto law of sizes: 2,000 bytes at least, half of them below 2,000 * 2^(1 / 0.5).
#[test]
fn www_sizes_are_pareto() {
    let www = Traffic::Www { lambda: 1e-5, shape: 0.5, min: 2_000.0 };
    let found = vectors(&leaf(www, Transport::Tcp), 1_000);
    let sizes: Vec<u64> = found[0].adus.iter().map(|adu| adu.bytes).collect();
    assert!(sizes.iter().all(|size| *size >= 2_000));
    let below = sizes.iter().filter(|size| **size < 8_000).count() as f64 / sizes.len() as f64;
    assert!((below - 0.5).abs() < 0.02, "{below}");
}

fn mpeg() -> Mpeg {
    Mpeg {
        frame_rate: 25.0,
        gop: "IBBPBB".into(),
        scene_length_mean: 5.0,
        scene_mean: 20_000.0,
        scene_sd: 5_000.0,
        i_weights: [0.5, 0.15],
        i_sd: 800.0,
        p_mean: 8_000.0,
        p_sd: 3_000.0,
        b_mean: 3_000.0,
        b_sd: 1_000.0,
    }
}

fn frames(traffic: Traffic, seconds: u64) -> Vec<f64> {
    let found = vectors(&leaf(traffic, Transport::Tcp), seconds);
    assert!(
        found[0].adus.windows(2).all(|pair| pair[0].wait == Some(Duration::from_millis(40)) || pair[0].wait.is_none())
    );
    found[0].adus.iter().map(|adu| adu.bytes as f64).collect()
}

fn moments(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (mean, (values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / values.len() as f64).sqrt())
}

fn correlation(values: &[f64]) -> f64 {
    let (mean, sd) = moments(values);
    let sum: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    sum / (values.len() - 1) as f64 / (sd * sd)
}

/// Means and deviations of each kind of frame; I frames' variance is that of scenes plus that of the AR(2) process, and neighbours are
/// alike as both say: mostly the same scene (geometric, 4 of 5).
#[test]
fn mpeg_frames_are_those_of_scenes() {
    let all = frames(Traffic::Mpeg(mpeg()), 20_000);
    assert_eq!(all.len(), 500_000);
    let of = |place: usize| all.iter().skip(place).step_by(6).copied().collect::<Vec<f64>>();
    for (place, mean, sd) in [(1, 3_000.0, 1_000.0), (3, 8_000.0, 3_000.0)] {
        let (found_mean, found_sd) = moments(&of(place));
        assert!(
            (found_mean / mean - 1.0).abs() < 0.01 && (found_sd / sd - 1.0).abs() < 0.03,
            "{found_mean} {found_sd}"
        );
    }
    let (first, second) = (0.5, 0.15);
    let noise = 800.0_f64.powi(2) * (1.0 - second) / ((1.0 + second) * ((1.0_f64 - second).powi(2) - first * first));
    let ((mean, sd), wanted) = (moments(&of(0)), (5_000.0_f64.powi(2) + noise).sqrt());
    assert!((mean / 20_000.0 - 1.0).abs() < 0.01 && (sd / wanted - 1.0).abs() < 0.03, "{mean}, {sd} for {wanted}");
    let alike = (0.8 * 5_000.0_f64.powi(2) + first / (1.0 - second) * noise) / (5_000.0_f64.powi(2) + noise);
    assert!((correlation(&of(0)) - alike).abs() < 0.02, "{} for {alike}", correlation(&of(0)));
}

#[test]
fn conferences_have_gamma_frames_that_remember() {
    for memory in [Memory::Dar, Memory::Ar] {
        let conference = Conference { frame_rate: 25.0, shape: 3.0, scale: 1_000.0, correlation: 0.9, memory };
        let all = frames(Traffic::Videoconference(conference), 8_000);
        let (mean, sd) = moments(&all);
        assert!((mean / 3_000.0 - 1.0).abs() < 0.03, "{memory:?}: {mean}");
        assert!((sd / (3.0_f64.sqrt() * 1_000.0) - 1.0).abs() < 0.05, "{memory:?}: {sd}");
        assert!((correlation(&all) - 0.9).abs() < 0.02, "{memory:?}: {}", correlation(&all));
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let problem = |leaf: Leaf| Netspec::new(vec![leaf]).check().unwrap_err().to_string();
    let tcp = |traffic| leaf(traffic, Transport::Tcp);
    assert_eq!(
        problem(tcp(Traffic::Full { blocksize: 1 })),
        "sources[0].speed is missing: it says how much full blast is"
    );
    let burst = |period| tcp(Traffic::Burst { blocksize: number(1.0), period });
    assert_eq!(problem(burst(number(0.0))), "sources[0].traffic.period of 0 never ends");
    assert_eq!(
        problem(burst(Parameter::Call(Call::new("x")))),
        "sources[0].traffic.period is no function of NetSpec: \"x\""
    );
    let video = |mpeg| tcp(Traffic::Mpeg(mpeg));
    assert!(
        problem(video(Mpeg { gop: "BBI".into(), ..mpeg() }))
            .starts_with("sources[0].traffic.gop of \"BBI\" is no pattern")
    );
    let wild = video(Mpeg { i_weights: [0.9, 0.2], ..mpeg() });
    assert_eq!(problem(wild), "sources[0].traffic.i-weights make a process that grows without bounds");
    assert_eq!(problem(Leaf { count: 0, ..burst(number(1.0)) }), "sources[0].count of 0 sends nothing");
    assert_eq!(Netspec::new(Vec::new()).check().unwrap_err().to_string(), "sources are none");
}

#[test]
fn many_sources_are_one_workload() {
    let cbr = Leaf { count: 3, ..leaf(Traffic::Cbr { blocksize: 100, period: 1e4 }, Transport::Udp) };
    let sink = leaf(Traffic::Sink {}, Transport::Tcp);
    let found: Vec<_> = Netspec::new(vec![sink, cbr]).vectors(1, Duration::from_secs(1)).collect();
    assert_eq!(found.len(), 3);
    assert!(found.iter().zip(0..).all(|(vector, id)| vector.id == id && vector.protocol == Protocol::Udp));
}

#[test]
fn what_is_clipped_or_has_no_mean_is_said() {
    let remarks = |traffic| Netspec::new(vec![leaf(traffic, Transport::Tcp)]).remarks();
    let blocksize = Parameter::Call(Call { min: Some(34.166_667), ..Call::new("ftpItemSize") });
    let said = remarks(Traffic::Burst { blocksize, period: number(1.0) });
    assert_eq!(said, ["blocksize: 10.0 % of what is drawn is clipped"]);
    let said = remarks(Traffic::Www { lambda: 1.0, shape: 0.5, min: 1.0 });
    assert_eq!(said, ["www: a shape of 0.5 has no mean, so that the load grows with the run"]);
    assert!(remarks(Traffic::Ftp { lambda: 1.0 }).is_empty());
}
