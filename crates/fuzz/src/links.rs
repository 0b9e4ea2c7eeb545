//! Traces of links, and what other tools measured over them.

use std::sync::Arc;

use flowloom::core::path::Schedule;
use flowloom::core::path::schedule::OPPORTUNITY_BYTES;
use flowloom::store::mahimahi;
use flowloom::store::rates::{self, Rates};
use flowloom::store::results::Results;
use flowloom::time::Time;

/// A trace of mahimahi: what is taken has an opportunity per line at most, and packets that always wait are carried in order,
/// the last of a round's at its end.
pub fn mahimahi(data: &[u8]) {
    let trace = match mahimahi::read(data) {
        Ok(trace) => trace,
        Err(error) => {
            let message = error.to_string();
            assert!(message.starts_with("trace:"), "{message}");
            return;
        }
    };
    assert!(!trace.period().is_zero() && trace.mean_rate().bits_per_second().is_some());
    let (opportunities, period) = (trace.opportunities(), trace.period());
    let mut schedule = Schedule::new(Arc::new(trace));
    let mut before = Time::ZERO;
    for _ in 0..opportunities.min(10_000) {
        let first = schedule.next(Time::ZERO);
        let last = schedule.transmit(Time::ZERO, OPPORTUNITY_BYTES);
        assert!(before <= first && first == last, "out of order");
        before = last;
    }
    assert!(opportunities > 10_000 || before == Time::ZERO + period, "a round does not end with its last opportunity");
}

/// Rates over time: what is taken goes forward in time and has rates that are numbers from zero on.
pub fn rates(data: &[u8]) {
    match rates::read(data) {
        Err(error) => {
            let message = error.to_string();
            assert!(message.starts_with("rates:"), "{message}");
        }
        Ok(Rates::Times(times)) => {
            assert!(times.len() > 1 && times.is_sorted() && times.iter().all(|time| time.is_finite() && *time >= 0.0));
        }
        Ok(Rates::Cells(series) | Rates::Bits(series)) => {
            assert!(series.len() > 1);
            assert!(
                series.iter().all(|(seconds, rate)| *seconds > 0.0 && rate.is_finite() && *rate >= 0.0),
                "{series:?}"
            );
        }
    }
}

/// Results of iperf3 or flent: what is taken has finite values, none of them without an instant.
pub fn results(data: &[u8]) {
    match Results::read(data) {
        Err(problem) => assert!(!problem.is_empty()),
        Ok(results) => {
            assert!(!results.tool.is_empty() && results.seconds >= 0.0);
            for series in &results.series {
                assert!(!series.points.is_empty(), "{} is empty", series.name);
                assert!(series.points.iter().all(|(at, value)| at.is_finite() && value.is_finite()), "{}", series.name);
            }
        }
    }
}
