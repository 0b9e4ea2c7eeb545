//! Workloads of cells that no capture has, as vectors of Tmix.

use std::fmt::Write as _;

use flowloom_core::rng::{Purpose, Stream};

/// The draws of all workloads here: they are the same in every run.
const SEED: u64 = 31;

/// Between `least` and `most`, evenly by logarithm.
fn log_uniform(stream: &mut Stream, least: f64, most: f64) -> u64 {
    (least * libm::pow(most / least, stream.uniform())).round() as u64
}

/// Forty connections of five large writes, each answered with 100 bytes; 0.3 to 5 s pass from an answer to the next
/// write, so that the window is validated after an idle time.
pub fn pauses() -> String {
    let mut text = String::new();
    for id in 1..=40_u64 {
        let mut stream = Stream::new(SEED, Purpose::Sizes, id);
        header(&mut text, id, (id - 1) * 250_000, 5, 40_000);
        for write in 0..5 {
            if write > 0 {
                let _ = writeln!(text, "t {}", log_uniform(&mut stream, 0.3e6, 5e6));
            }
            let _ = writeln!(text, "> {}\nt 0\n< 100", log_uniform(&mut stream, 20e3, 200e3));
        }
    }
    text
}

/// 240 connections of four requests of 400 bytes, with responses of 1 to 100 kB.
pub fn requests() -> String {
    let mut text = String::new();
    for id in 1..=240_u64 {
        let mut stream = Stream::new(SEED, Purpose::Sizes, id);
        header(&mut text, id, (id - 1) * 80_000, 4, 50_000);
        for request in 0..4 {
            if request > 0 {
                let _ = writeln!(text, "t {}", log_uniform(&mut stream, 1e3, 100e3));
            }
            let _ = writeln!(text, "> 400\nt 0\n< {}", log_uniform(&mut stream, 1e3, 100e3));
        }
    }
    text
}

/// A sequential connection that starts at so many microseconds, with windows of 1 MB.
fn header(text: &mut String, id: u64, start: u64, epochs: u64, rtt: u64) {
    let _ = writeln!(text, "SEQ {start} {epochs} 1 {id}\nw 1000000 1000000\nr {rtt}\nl 0 0");
}
