//! What is said of a monitor's reports and values.

use flowloom::monitoring::{Report, bits_of};
use flowloom::report::words::counted;
use flowloom::store::monitor::{Kind, MILLIONTHS};
use flowloom::time::Duration;
use flowloom::units::{Rate, three_digits};

use crate::diagnostics::one_line;

/// A report of a monitor at work, as a line.
pub fn line(report: &Report<'_>) -> String {
    one_line(&match report {
        Report::Answers { target, ports } => {
            format!("{target} answers: {}", counted(*ports as u64, "port"))
        }
        Report::Unread { target, values } => {
            format!("warning: {target}: {values} values cannot be read, and their counters are missing")
        }
        Report::Silent { target, problem } => format!("warning: {target}: {problem}"),
        Report::Lost(error) => format!("warning: not recorded: {error}"),
        Report::Store(error) => format!("warning: {error}"),
        Report::ActionFailed { alert, problem } => format!("warning: action of alert {alert}: {problem}"),
        Report::Alert(raised) => {
            let state = raised.state.name();
            let value = value_text((raised.value * MILLIONTHS as f64) as u128, &raised.unit, raised.kind);
            format!("alert {} {state}: {} {} {}: {value}", raised.alert, raised.target, raised.port, raised.counter)
        }
    })
}

/// A rate of bits, which may be none.
pub fn rate_text(bits_per_second: u64) -> String {
    Rate::from_bits_per_second(bits_per_second).map_or_else(|| "0 bit/s".to_owned(), |rate| rate.to_string())
}

/// A rate or value with its unit: bit/s of octets and cells.
pub fn value_text(millionths: u128, unit: &str, kind: Kind) -> String {
    let value = millionths as f64 / MILLIONTHS as f64;
    match (kind, bits_of(unit)) {
        (Kind::Counter, Some(bits)) => rate_text((value * bits as f64).round() as u64),
        (Kind::Gauge, _) if unit == "ns" => Duration::from_nanos(value as u64).to_string(),
        (Kind::Counter, None) => format!("{} {unit}/s", three_digits(value)),
        (Kind::Gauge, _) => format!("{} {unit}", three_digits(value)),
    }
}
