//! Long flows: no discipline makes one lose more than it must, two share alike, and PIE keeps its target.
//!
//! Short connections never reach their second recovery. A sender whose recoveries raise the threshold of the next runs away there
//! and nowhere else, so these rows run every profile that recovers by SACK for half a minute and more.

use flowloom_core::path::LossModel;
use flowloom_core::queue::{
    Admission, Codel, CodelParams, DropTail, FqCodel, FqCodelParams, Pie, PieParams, Queue, Red, RedParams, Scheduler,
};
use flowloom_core::tcp::congestion::{Algorithm, CubicParameters};
use flowloom_core::tcp::{Config, Profile};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::{Limit, Probability, Rate};

use crate::aqm::{link, mean, stream};
use crate::check::{Effort, Expected, Row};
use crate::lab::{Flow, Lab, Outcome};

const GROUP: &str = "Long flows";

/// Rate in Mbit/s and round-trip time in milliseconds.
const PATHS: [(u64, u64); 4] = [(20, 40), (50, 50), (10, 100), (100, 20)];

/// What a path does to packets: its queue, or random loss.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Hurdle {
    DropTail,
    Codel,
    FqCodel,
    Red,
    Pie,
    Loss(f64),
}

const HURDLES: [Hurdle; 7] = [
    Hurdle::DropTail,
    Hurdle::Codel,
    Hurdle::FqCodel,
    Hurdle::Red,
    Hurdle::Pie,
    Hurdle::Loss(0.01),
    Hurdle::Loss(0.001),
];

impl Hurdle {
    fn name(self) -> String {
        match self {
            Hurdle::DropTail => "drop-tail of 1 BDP".to_owned(),
            Hurdle::Codel => "CoDel".to_owned(),
            Hurdle::FqCodel => "FQ-CoDel".to_owned(),
            Hurdle::Red => "RED 15/45".to_owned(),
            Hurdle::Pie => "PIE".to_owned(),
            Hurdle::Loss(p) => format!("random loss {p}"),
        }
    }

    fn queue(self, rate: u64, rtt: u64) -> Option<Queue> {
        let thousand = Limit::Packets(1_000);
        let admission = match self {
            Hurdle::DropTail => {
                let packets = rate * 1_000_000 * rtt / 1_000 / 8 / 1_514;
                Admission::DropTail(DropTail::new(Limit::Packets(packets)))
            }
            Hurdle::Red => {
                let (limit, min, max) = (Limit::Packets(200), Limit::Packets(15), Limit::Packets(45));
                let params = RedParams { limit, min, max, ..RedParams::default() };
                Admission::Red(Box::new(Red::new(params, line(rate), stream()).ok()?))
            }
            Hurdle::Pie => {
                let params = PieParams { limit: thousand, ..PieParams::default() };
                Admission::Pie(Box::new(Pie::new(params, stream()).ok()?))
            }
            Hurdle::Codel => {
                let params = CodelParams { limit: thousand, ..CodelParams::default() };
                return Some(Queue::Departure(Scheduler::Codel(Box::new(Codel::new(params).ok()?))));
            }
            Hurdle::FqCodel => {
                let discipline = FqCodel::new(FqCodelParams::default(), stream()).ok()?;
                return Some(Queue::Departure(Scheduler::FqCodel(Box::new(discipline))));
            }
            Hurdle::Loss(_) => Admission::DropTail(DropTail::new(Limit::Packets(10_000))),
        };
        Some(Queue::Arrival(admission))
    }

    fn losses(self) -> LossModel {
        match self {
            Hurdle::Loss(p) => Probability::new(p).map_or(LossModel::None, LossModel::Bernoulli),
            _ => LossModel::None,
        }
    }
}

fn line(rate: u64) -> Rate {
    Rate::from_bits_per_second(rate * 1_000_000).unwrap_or(Rate::UNLIMITED)
}

fn cubic(profile: Profile) -> Config {
    Config { congestion: Algorithm::Cubic(CubicParameters::default()), ..Config::of(profile) }
}

/// The share of what `flow` sends that is lost.
fn lost(hurdle: Hurdle, (rate, rtt): (u64, u64), tcp: &Config, seconds: f64) -> f64 {
    let Some(queue) = hurdle.queue(rate, rtt) else { return f64::NAN };
    let lab = Lab::new(Some(link(queue, rate * 1_000_000)), hurdle.losses(), seconds);
    let window = 4 << 20;
    let outcome = lab.run(&[Flow { window, ..Flow::endless(Duration::from_millis(rtt), tcp.clone()) }]);
    outcome.lost as f64 / outcome.sent as f64
}

/// Flows of `tcp` that start a tenth of a second apart, over PIE.
fn over_pie(count: u64, rate: u64, rtt: u64, tcp: &Config, seed: u64, seconds: f64) -> Option<Outcome> {
    let queue = Hurdle::Pie.queue(rate, rtt)?;
    let lab = Lab::new(Some(link(queue, rate * 1_000_000)), LossModel::None, seconds);
    let marks = vec![Time::ZERO + Duration::from_secs_f64(seconds / 10.0), lab.until];
    let lab = Lab { seed, marks, trace: true, ..lab };
    let flows: Vec<Flow> = (0..count)
        .map(|n| Flow {
            start: Time::ZERO + Duration::from_millis(97 * n + 31 * seed),
            window: 4 << 20,
            ..Flow::endless(Duration::from_millis(rtt), tcp.clone())
        })
        .collect();
    Some(lab.run(&flows))
}

pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    let full = effort == Effort::Full;
    let mut rows = Vec::new();
    let profiles = [("linux", Profile::Linux), ("rfc", Profile::Rfc), ("plain", Profile::Plain)];
    for (name, profile) in profiles.into_iter().take(if full { 3 } else { 2 }) {
        for (rate, rtt) in PATHS.into_iter().take(if full { 4 } else { 1 }) {
            for hurdle in HURDLES {
                let ours = lost(hurdle, (rate, rtt), &cubic(profile), if full { 30.0 } else { 15.0 });
                let what = hurdle.name();
                let name = format!("{name}: one CUBIC flow, {what}, {rate} Mbit/s, {rtt} ms: share lost");
                let source = "Linux loses less than 1.2 % in all of them (docs/evidence/parity.md)";
                rows.push(Row::new(GROUP, name, source, Expected::AtMost(0.03), ours));
            }
        }
    }
    for (name, profile) in profiles.into_iter().take(2) {
        let seeds = if full { 5 } else { 1 };
        for seed in 1..=seeds {
            let outcome = over_pie(2, 50, 50, &cubic(profile), seed, if full { 200.0 } else { 60.0 });
            let share = outcome.map_or(f64::NAN, |it| it.between(0, 0) / (it.between(0, 0) + it.between(1, 0)));
            let name = format!("{name}: two CUBIC flows over PIE, 50 Mbit/s, 50 ms, seed {seed}: share of the first");
            let expected = Expected::Within { value: 0.5, by: if full { 0.1 } else { 0.2 } };
            rows.push(Row::new(GROUP, name, "equal flows share alike", expected, share));
        }
    }
    let counts: &[u64] = if full { &[5, 20, 50] } else { &[20] };
    for (name, profile) in profiles {
        for &count in counts {
            let seconds = if full { 60.0 } else { 30.0 };
            let outcome = over_pie(count, 20, 40, &Config::of(profile), 1, seconds);
            let settled = Time::ZERO + Duration::from_secs_f64(seconds / 3.0);
            let waits = outcome.unwrap_or_default().waits;
            let waits = waits.iter().filter(|(time, _)| *time > settled).map(|(_, wait)| wait.as_secs_f64() * 1e3);
            let name = format!("{name}: {count} flows over PIE, 20 Mbit/s, 40 ms: mean wait, ms");
            let expected = Expected::Near { value: 15.0, share: 0.2 };
            rows.push(Row::new(GROUP, name, "RFC 8033 section 4: QDELAY_REF of 15 ms", expected, mean(waits)));
        }
    }
    rows
}
