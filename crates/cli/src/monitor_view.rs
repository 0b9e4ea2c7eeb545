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

#[cfg(test)]
mod tests {
    use flowloom::monitoring::{AlertState, Raised};

    use super::*;

    #[test]
    fn alerts_of_gauges_have_values() {
        let told = |value, unit: &str, kind| {
            let name = || "x".to_owned();
            let raised = Raised {
                alert: name(),
                state: AlertState::Raised,
                target: name(),
                port: name(),
                counter: name(),
                value,
                unit: unit.to_owned(),
                kind,
                time_ns: 0,
            };
            line(&Report::Alert(&raised)).rsplit_once(": ").unwrap().1.to_owned()
        };
        assert_eq!(told(5_000.0, "octets", Kind::Counter), "40.0 kbit/s");
        assert_eq!(told(5_000.0, "octets", Kind::Gauge), "5000 octets");
        assert_eq!(told(21.0, "celsius", Kind::Gauge), "21.0 celsius");
        assert_eq!(told(24_500_000.0, "ns", Kind::Gauge), "24.5 ms");
    }
}
