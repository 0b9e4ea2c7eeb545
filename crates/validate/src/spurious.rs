//! Timeouts without a loss: a link that pauses now and then, as a mobile one does.

use std::sync::Arc;

use flowloom_core::path::{Link, LossModel, Schedule, Trace, Transmitter};
use flowloom_core::queue::{Admission, DropTail, Queue};
use flowloom_core::tcp::{Config, Profile};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::Limit;

use crate::check::{Effort, Expected, Row};
use crate::lab::{Flow, Lab};

const GROUP: &str = "Timeouts without a loss";
const MSS: u16 = 1_388;
/// How often a retransmission timer of 0.4 to 0.6 s that doubles expires in 1.5 s.
const TIMEOUTS: f64 = 2.0;

/// A link of a packet each millisecond that stands for the last part of each 12 s, with room for 100 packets, over `pauses` of them: segments
/// that arrived although they had before, per pause, and bytes delivered.
fn pausing(tcp: &Config, pause: u64, pauses: u64) -> [f64; 2] {
    let opportunities = (1..=12_000 - pause).chain([12_000]).map(Duration::from_millis);
    let Ok(trace) = Trace::new(opportunities.collect()) else { return [f64::NAN; 2] };
    let transmitter = Transmitter::Trace(Schedule::new(Arc::new(trace)));
    let queue = Queue::Arrival(Admission::DropTail(DropTail::new(Limit::Packets(100))));
    let link = Link::through(queue, transmitter, Duration::ZERO, [Time::ZERO, Time::MAX]);
    // Half of the time between two pauses after the last: what waits behind a hole just after a pause would count as come twice.
    let seconds = 12.0 * pauses as f64 + 6.0;
    let marks = vec![Time::ZERO + Duration::from_secs_f64(seconds)];
    let flow = Flow { mss: MSS, ..Flow::endless(Duration::from_millis(100), tcp.clone()) };
    let outcome = Lab { marks, ..Lab::new(Some(link), LossModel::None, seconds) }.run(&[flow]);
    let delivered = outcome.delivered[0][0] as f64;
    // 12 bytes of a segment are timestamps.
    let needed = delivered / f64::from(MSS - 12);
    [(outcome.arrived as f64 - needed) / pauses as f64, delivered]
}

pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    let pauses = if effort == Effort::Full { 100 } else { 20 };
    let mut rows = Vec::new();
    for (profile, name) in [(Profile::Rfc, "rfc"), (Profile::Linux, "linux")] {
        let with = Config::of(profile);
        let without = Config { undo: false, f_rto: false, ..with.clone() };
        let ([repeated, delivered], [needless, plain]) =
            (pausing(&with, 1_500, pauses), pausing(&without, 1_500, pauses));
        let rule = "RFC 5682 1: nothing is sent again but the first segment, with each of two timeouts";
        // A live run with a drop-tail queue of 100 packets, 10 pauses: the receiver reported 2 duplicates. Most copies of the first
        // segment met a full queue.
        let kernel = "; Linux 6.18 over the same trace: 0.2";
        let source = format!("{rule}{}", if profile == Profile::Linux { kernel } else { "" });
        rows.push(Row::new(
            GROUP,
            format!("{name}, pauses of 1.5 s: segments that arrive twice, per pause"),
            source,
            Expected::AtMost(TIMEOUTS),
            repeated,
        ));
        let mut push = |what: &str, source: &str, expected, ours| {
            rows.push(Row::new(GROUP, format!("{name}, {what}"), source, expected, ours));
        };
        push("pauses of 1.5 s: the same without F-RTO and undoing", rule, Expected::AtLeast(10.0 * TIMEOUTS), needless);
        let source = "RFC 4015 1: the window is what it was";
        push("pauses of 1.5 s: bytes delivered, over those without", source, Expected::AtLeast(1.0), delivered / plain);
        let [real, plainly] = [&with, &without].map(|tcp| pausing(tcp, 0, pauses)[1]);
        let source = "RFC 3522 1: a reduction that had a cause stays";
        push(
            "no pauses, all losses real: bytes delivered, over those without",
            source,
            Expected::Exactly(1.0),
            real / plainly,
        );
    }
    rows
}
