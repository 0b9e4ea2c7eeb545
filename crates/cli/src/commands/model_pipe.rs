//! `flowloom model pipe`: what a window, slow start and recovery make of a pipe (methods I.4).

use flowloom::core::tcp::arithmetic;
use flowloom::time::Duration;
use flowloom::units::{Limit, Rate, three_digits};
use serde::Serialize;
use serde_json::json;

use crate::args::PipeModel;
use crate::exit::Exit;
use crate::output::Manner;
use flowloom::Error;

/// IP and TCP headers: packets are counted with them where the source does.
const HEADERS: u64 = 40;
const MB: f64 = 1_048_576.0;
/// Share of lost packets up to which the formula of congestion avoidance holds: with more, timeouts decide (Padhye et al. 1998).
const MOST_LOSS: f64 = 0.02;

#[derive(Serialize)]
struct Answer {
    rtt_ns: u64,
    mss_bytes: u64,
    usable_bits_per_second: f64,
    window_needed_bytes: f64,
    window_bytes: f64,
    window_segments: u64,
    window_bits_per_second: f64,
    limit_bits_per_second: f64,
    slow_start_round_trips: f64,
    slow_start_ns: f64,
    transfer_windows: f64,
    transfer_round_trips: f64,
    transfer_ns: f64,
    efficiency: f64,
    recovery_round_trips: f64,
    recovery_ns: f64,
    fast_recovery_round_trips: f64,
    fast_recovery_ns: f64,
    packet_loss: Option<f64>,
    loss_bits_per_second: Option<f64>,
}

/// Runs the command.
pub fn run(args: &PipeModel, manner: Manner) -> Result<Exit, Error> {
    let answer = calculate(args)?;
    manner.answer(|| json!(answer), || text(&answer))?;
    Ok(Exit::Done)
}

fn calculate(args: &PipeModel) -> Result<Answer, Error> {
    let usage = |option: &str, problem: &str, hint: &str| Error::usage(format_args!("{option} {problem}")).hint(hint);
    let Some(rate) = Rate::bits_per_second(args.rate) else {
        return Err(usage("--rate unlimited", "makes no pipe", "write it like 622mbit"));
    };
    if args.rtt.is_zero() {
        return Err(usage("--rtt 0s", "makes no pipe", "write it like 534ms"));
    }
    if !(args.growth > 1.0 && args.growth <= 2.0) {
        return Err(usage("--growth", "is above 1 and at most 2", "1.5 with delayed acknowledgements, 2 without"));
    }
    if !(1.0..=1e15).contains(&args.windows) {
        return Err(usage(
            "--windows",
            "is a number from 1 to 1e15",
            "a transfer of less than a window ends within slow start",
        ));
    }
    if args.bit_errors.is_some_and(|errors| !(errors > 0.0 && errors < 1.0)) {
        return Err(usage("--bit-errors", "is a share above 0 and below 1", "write it like 1e-9"));
    }
    let (rtt, mss) = (args.rtt.as_secs_f64(), u64::from(args.mss));
    let usable = if args.cells { arithmetic::over_cells(rate as f64, mss) } else { rate as f64 };
    let needed = arithmetic::window_needed(usable, rtt);
    let window = match args.window {
        None => needed,
        Some(Limit::Packets(segments)) => segments as f64 * mss as f64,
        Some(Limit::Bytes(bytes)) => bytes as f64,
    };
    if window < mss as f64 {
        let (option, holds) = match args.window {
            None => ("--rate and --rtt", "make a pipe that holds"),
            Some(_) => ("--window", "is"),
        };
        let problem = format!("{holds} less than a segment of {mss} bytes, and TCP sends whole segments");
        return Err(usage(option, &problem, "give a smaller --mss, or a --window like 10mb or 1148p"));
    }
    let segments = (window / mss as f64).ceil();
    let slow_start = arithmetic::slow_start(segments, args.growth);
    let transfer = arithmetic::transfer(args.windows, slow_start);
    let packets = (window / (mss + HEADERS) as f64).ceil();
    let (recovery, fast_recovery) = (arithmetic::recovery(packets), arithmetic::fast_recovery(packets));
    let packet_loss = args.bit_errors.map(|errors| arithmetic::packet_loss(errors, mss + HEADERS));
    if let Some(loss) = packet_loss.filter(|loss| *loss > MOST_LOSS) {
        return Err(Error::usage(format_args!(
            "--bit-errors loses {} % of the packets, and the formula of congestion avoidance holds up to {} %",
            three_digits(100.0 * loss),
            100.0 * MOST_LOSS
        ))
        .hint("give fewer errors or a smaller --mss; flowloom run simulates such losses: loss in [network.path]"));
    }
    let loss_limit = packet_loss.map(|loss| arithmetic::loss_limit(loss, mss, rtt));
    let window_limit = arithmetic::window_limit(window, rtt);
    let ns = |round_trips: f64| round_trips * rtt * 1e9;
    Ok(Answer {
        rtt_ns: args.rtt.as_nanos(),
        mss_bytes: mss,
        usable_bits_per_second: usable,
        window_needed_bytes: needed,
        window_bytes: window,
        window_segments: segments as u64,
        window_bits_per_second: window_limit,
        limit_bits_per_second: usable.min(window_limit).min(loss_limit.unwrap_or(f64::INFINITY)),
        slow_start_round_trips: slow_start,
        slow_start_ns: ns(slow_start),
        transfer_windows: args.windows,
        transfer_round_trips: transfer,
        transfer_ns: ns(transfer),
        efficiency: args.windows / transfer,
        recovery_round_trips: recovery,
        recovery_ns: ns(recovery),
        fast_recovery_round_trips: fast_recovery,
        fast_recovery_ns: ns(fast_recovery),
        packet_loss,
        loss_bits_per_second: loss_limit,
    })
}

fn text(answer: &Answer) -> String {
    let mbit = |bits: f64| format!("{:.3} Mbit/s", bits / 1e6);
    let time = |ns: f64| match ns / 1e9 {
        seconds if seconds >= 0.1 => format!("{seconds:.3} s"),
        seconds => Duration::from_secs_f64(seconds).to_string(),
    };
    let s = if answer.window_segments == 1 { "" } else { "s" };
    let mut lines = vec![
        ("usable rate", mbit(answer.usable_bits_per_second)),
        ("window needed", format!("{:.3} MB", answer.window_needed_bytes / MB)),
        ("window", format!("{:.3} MB, {} segment{s}", answer.window_bytes / MB, answer.window_segments)),
        ("one window a round trip", mbit(answer.window_bits_per_second)),
    ];
    if let (Some(loss), Some(limit)) = (answer.packet_loss, answer.loss_bits_per_second) {
        lines.push(("with bit errors", format!("{} ({} of packets lost)", mbit(limit), three_digits(loss))));
    }
    lines.extend([
        ("limit", mbit(answer.limit_bits_per_second)),
        ("slow start", format!("{:.3} round trips, {}", answer.slow_start_round_trips, time(answer.slow_start_ns))),
        (
            "transfer",
            format!(
                "{} windows in {:.3} round trips, {}: efficiency {:.5}",
                answer.transfer_windows,
                answer.transfer_round_trips,
                time(answer.transfer_ns),
                answer.efficiency
            ),
        ),
        (
            "recovery from a loss",
            format!("{:.1} round trips, {}", answer.recovery_round_trips, time(answer.recovery_ns)),
        ),
        (
            "with fast recovery",
            format!("{:.1} round trips, {}", answer.fast_recovery_round_trips, time(answer.fast_recovery_ns)),
        ),
    ]);
    lines.into_iter().map(|(name, value)| format!("{name:<25}{value}\n")).collect()
}
