//! Metrics as their readers want them: each is told once, and written as Prometheus text or in another form.

use std::fmt::{self, Display, Write as _};

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// It goes up and down.
    Gauge,
    /// It only goes up, until it begins again at zero.
    Counter,
}

/// A number of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An exact one.
    Integer(u64),
    /// A real one.
    Real(f64),
}

impl Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Integer(number) => number.fmt(f),
            Number::Real(number) => number.fmt(f),
        }
    }
}

/// Takes metrics one after the other: a head, then the points of the metric with that head.
pub trait Metrics {
    /// A metric begins. A name holds its unit, and ends in `_total` if it is a counter; `help` is a sentence.
    fn head(&mut self, name: &'static str, kind: MetricKind, help: &'static str);

    /// A point of the metric of the last head, by its labels.
    fn point(&mut self, labels: &[(&str, &str)], number: Number);
}

/// Metrics in Prometheus' text form (version 0.0.4).
#[derive(Clone, Debug, Default)]
pub struct PrometheusText {
    text: String,
    name: &'static str,
}

impl PrometheusText {
    /// The text of what `tell` tells.
    pub fn of(tell: impl FnOnce(&mut dyn Metrics)) -> String {
        let mut text = PrometheusText::default();
        tell(&mut text);
        text.text
    }
}

impl Metrics for PrometheusText {
    fn head(&mut self, name: &'static str, kind: MetricKind, help: &'static str) {
        let kind = match kind {
            MetricKind::Gauge => "gauge",
            MetricKind::Counter => "counter",
        };
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        self.name = name;
    }

    fn point(&mut self, labels: &[(&str, &str)], number: Number) {
        self.text.push_str(self.name);
        for (place, (label, value)) in labels.iter().enumerate() {
            self.text.push(if place == 0 { '{' } else { ',' });
            let _ = write!(self.text, "{label}=\"");
            escape(value, &mut self.text);
            self.text.push('"');
        }
        let _ = writeln!(self.text, "{} {number}", if labels.is_empty() { "" } else { "}" });
    }
}

/// The value of a label.
fn escape(value: &str, text: &mut String) {
    for letter in value.chars() {
        match letter {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            other => text.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_point_is_a_line() {
        let text = PrometheusText::of(|metrics| {
            metrics.head("flowloom_a_total", MetricKind::Counter, "Things.");
            metrics.point(&[], Number::Integer(u64::MAX));
            metrics.point(&[("of", "a\"b\\c\nd"), ("to", "")], Number::Real(0.25));
        });
        let wanted = "# HELP flowloom_a_total Things.\n# TYPE flowloom_a_total counter\nflowloom_a_total 18446744073709551615\n\
                      flowloom_a_total{of=\"a\\\"b\\\\c\\nd\",to=\"\"} 0.25\n";
        assert_eq!(text, wanted);
    }
}
