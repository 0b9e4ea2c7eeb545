//! Round trips of slow start.

use flowloom_core::path::{Link, LossModel};
use flowloom_core::queue::{Admission, DropTail, Queue};
use flowloom_core::tcp::InitialWindow;
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::{Limit, Rate};

use crate::check::{Expected, Row};
use crate::lab::{Flow, Lab};
use crate::profiles::{Stack, payload};

const SEGMENTS: [u64; 4] = [7, 14, 70, 700];

/// By initial window: round trips to send [`SEGMENTS`] segments, every segment acknowledged, and with delayed
/// acknowledgements.
///
/// Without delay a round has twice the segments of the one before. With it, w segments are acknowledged ceil(w / 2) times,
/// each of which adds one: 1, 2, 3, 5, 8, 12, 18, ... from 1; 10, 15, 23, 35, ... from 10.
const ROUNDS: [(u16, [u64; 4], [u64; 4]); 4] = [
    (1, [3, 4, 7, 10], [4, 5, 8, 14]),
    (2, [3, 3, 6, 9], [3, 4, 7, 13]),
    (4, [2, 3, 5, 8], [2, 3, 6, 11]),
    (10, [1, 2, 3, 7], [1, 2, 4, 9]),
];

/// The same of profiles with initial windows of their own. `rfc` has 3 segments of 1,460 bytes: 3, 5, 8, 12, 18, ... with delayed
/// acknowledgements. `linux` has 10, and its slow start adds all that is acknowledged: delay changes nothing. `classic` has 2.
fn profiles() -> [(Stack, u16, [u64; 4], [u64; 4]); 3] {
    [
        (Stack::rfc(), 3, [2, 3, 5, 8], [2, 3, 6, 12]),
        (Stack::linux(), 10, [1, 2, 3, 7], [1, 2, 3, 7]),
        (Stack::classic(), 2, [3, 3, 6, 9], [3, 4, 7, 13]),
    ]
}

/// Round trips until the last of `segments` was sent. The link takes 1 ms for a segment, and a lone segment is acknowledged
/// after 1.5 ms, so that what it brings joins the end of its round. A round trip of 10 s is long against all that.
fn rounds(segments: u64, stack: &Stack, delayed: bool) -> u64 {
    let rtt = Duration::from_secs(10);
    let mut tcp = stack.tcp.clone();
    tcp.delayed_ack = delayed.then_some(Duration::from_micros(1_500));
    tcp.rto.initial = Duration::from_secs(60);
    tcp.rto.min = Duration::from_secs(60);
    let queue = Queue::Arrival(Admission::DropTail(DropTail::new(Limit::Packets(10_000))));
    let rate = Rate::from_bits_per_second(1_514 * 8 * 1_000).unwrap_or(Rate::UNLIMITED);
    let link = Link::new(queue, rate, Duration::ZERO, Duration::from_secs(1));
    let lab = Lab { trace: true, ..Lab::new(Some(link), LossModel::None, 1_000.0) };
    let flow = Flow { bytes: segments * u64::from(payload(&tcp, 1_460)), ..Flow::endless(rtt, tcp) };
    let sent: Vec<Time> = lab.run(&[flow]).departures.iter().map(|departure| departure.0).collect();
    match (sent.first(), sent.last()) {
        (Some(first), Some(last)) if sent.len() as u64 == segments => {
            last.since(*first).as_nanos() / rtt.as_nanos() + 1
        }
        _ => 0,
    }
}

pub(crate) fn rows() -> Vec<Row> {
    let plain = ROUNDS.map(|(initial, without, with)| {
        let stack = Stack::plain().with(|tcp| tcp.initial_window = InitialWindow::Segments(initial));
        (stack, initial, without, with)
    });
    let mut rows = Vec::new();
    for (stack, initial, without, with) in plain.into_iter().chain(profiles()) {
        for (delayed, expected, what) in [(false, without, "every segment acknowledged"), (true, with, "delayed ACKs")]
        {
            for (segments, value) in SEGMENTS.into_iter().zip(expected) {
                let name = format!("initial window {initial}, {what}: round trips to send {segments} segments");
                let ours = rounds(segments, &stack, delayed) as f64;
                let source = "RFC 5681 3.1, by arithmetic";
                rows.push(Row::new("Slow start", stack.row(&name), source, Expected::Exactly(value as f64), ours));
            }
        }
    }
    rows
}
