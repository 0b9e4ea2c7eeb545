//! What a browser asks.

use flowloom::ErrorKind;
use flowloom::view::{MOST_POINTS, MOST_RUNS, MOST_SERIES, Question, Span};

/// A path and a query: a question within its bounds, or an error of whoever asked.
pub fn question(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (path, query) = text.split_once('?').unwrap_or((text, ""));
    let Some(read) = Question::parse(path, query) else {
        assert!(!path.starts_with("/api/folders") || path.len() > "/api/folders".len());
        return;
    };
    match read {
        Ok(question) => bounded(&question),
        Err(error) => assert!(error.kind == ErrorKind::Usage && !error.cause.is_empty()),
    }
}

fn bounded(question: &Question) {
    match question {
        Question::Period { span, points, percentile_ns, .. } => {
            assert!((1..=MOST_POINTS).contains(points) && percentile_ns.is_none_or(|width| width > 0));
            possible(span);
        }
        Question::Days { span, offset_ns, days_ns } => {
            assert!(offset_ns.unsigned_abs() <= 86_400_000_000_000);
            assert!(days_ns.is_empty() || days_ns.is_sorted());
            possible(span);
        }
        Question::Correlation { span, width_ns, .. } => {
            assert!(span.series.len() == 2 && *width_ns > 0);
            possible(span);
        }
        Question::Bursts { span, .. } => possible(span),
        Question::Marks { period_ns } | Question::Map { period_ns, .. } => assert!(period_ns.start < period_ns.end),
        Question::Compare { runs } => assert!((1..=MOST_RUNS).contains(&runs.len())),
        _ => {}
    }
}

fn possible(span: &Span) {
    assert!(span.period_ns.start < span.period_ns.end && span.period_ns.end <= i64::MAX as u64);
    let mut series = span.series.clone();
    series.sort_unstable();
    series.dedup();
    assert!(series.len() == span.series.len() && (1..=MOST_SERIES).contains(&series.len()));
}
