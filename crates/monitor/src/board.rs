//! What a monitor knows now, for those who look at it while it runs: as metrics.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flowloom_store::monitor::{GapRow, Kind, MILLIONTHS, Reason, SampleRow, Series};

use crate::metric::{MetricKind, Metrics, Number, PrometheusText};
use crate::registry::Registry;
use crate::target::speaks_for_target;

/// Shared by the monitor and those who look at it.
#[derive(Clone, Debug, Default)]
pub struct Board(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    targets: Vec<TargetState>,
    series: BTreeMap<u32, SeriesState>,
    /// The series of each target.
    of_targets: BTreeMap<String, Vec<u32>>,
    gaps: BTreeMap<Reason, u64>,
    has_ended: bool,
}

/// A target at the moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetState {
    /// Its name.
    pub name: String,
    /// Whether its last question was answered; `None` before the first.
    pub is_up: Option<bool>,
    /// Its ports.
    pub ports: usize,
    /// Questions.
    pub asked: u64,
    /// Questions without an answer.
    pub failed: u64,
    /// Questions that were left out because the one before took too long.
    pub late: u64,
}

#[derive(Debug)]
struct SeriesState {
    series: Arc<Series>,
    /// The last rate or value in millionths.
    last: Option<u128>,
    /// What was counted since the monitor began.
    total: u64,
    /// Why its rate was unknown last, and until when.
    unknown: Option<(Reason, u64)>,
}

/// A count of a target.
type Count = fn(&TargetState) -> u64;

impl Board {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn begin(&self, registry: &Registry) {
        let targets = registry.target.iter();
        self.lock().targets =
            targets.map(|target| TargetState { name: target.name.clone(), ..TargetState::default() }).collect();
    }

    pub(crate) fn end(&self) {
        self.lock().has_ended = true;
    }

    pub(crate) fn asked(&self, target: usize, state: &Result<usize, String>, late: u64) {
        let mut board = self.lock();
        let target = &mut board.targets[target];
        target.asked += 1;
        target.failed += u64::from(state.is_err());
        target.late += late;
        target.is_up = Some(state.is_ok());
        target.ports = *state.as_ref().unwrap_or(&target.ports);
    }

    pub(crate) fn defined(&self, series: &Arc<Series>) {
        let state = SeriesState { series: Arc::clone(series), last: None, total: 0, unknown: None };
        let mut board = self.lock();
        if board.series.insert(series.id, state).is_none() {
            board.of_targets.entry(series.target.clone()).or_default().push(series.id);
        }
    }

    pub(crate) fn sampled(&self, time_ns: u64, span_ns: u64, samples: &[(u32, u64)]) {
        let mut board = self.lock();
        for (id, amount) in samples {
            if let Some(state) = board.series.get_mut(id) {
                let sample = SampleRow { series: *id, time_ns, span_ns, amount: *amount };
                state.last = Some(sample.millionths(state.series.kind));
                state.total = state.total.wrapping_add(*amount);
            }
        }
    }

    /// The rate of a series is unknown for a while, but for what it counted in all, if that is known. A gap of its answers is one of all
    /// series of a target.
    pub(crate) fn gap(&self, gap: &GapRow) {
        let mut board = self.lock();
        let State { series, of_targets, gaps, .. } = &mut *board;
        let Some(state) = series.get_mut(&gap.series) else { return };
        // What lasts is recorded in parts, each of which begins where the one before ended.
        if state.unknown.replace((gap.reason, gap.end_ns)) != Some((gap.reason, gap.start_ns)) {
            *gaps.entry(gap.reason).or_default() += 1;
        }
        state.last = None;
        state.total = state.total.wrapping_add(gap.amount.unwrap_or(0));
        if speaks_for_target(&state.series) {
            for id in of_targets.get(&state.series.target).into_iter().flatten() {
                if let Some(state) = series.get_mut(id) {
                    state.last = None;
                }
            }
        }
    }

    /// The targets.
    pub fn targets(&self) -> Vec<TargetState> {
        self.lock().targets.clone()
    }

    /// All of it in Prometheus' text form.
    pub fn prometheus(&self) -> String {
        PrometheusText::of(|metrics| self.tell(metrics))
    }

    /// All of it.
    pub fn tell(&self, metrics: &mut dyn Metrics) {
        let board = self.lock();
        metrics.head("flowloom_target_up", MetricKind::Gauge, "Whether the last question was answered.");
        for target in &board.targets {
            if let Some(is_up) = target.is_up {
                metrics.point(&[("target", &target.name)], Number::Integer(is_up.into()));
            }
        }
        let counts: [(&str, &str, Count); 3] = [
            ("flowloom_target_questions_total", "Questions.", |target| target.asked),
            ("flowloom_target_failures_total", "Questions without an answer.", |target| target.failed),
            ("flowloom_target_late_total", "Questions left out because the one before took too long.", |t| t.late),
        ];
        for (name, help, count) in counts {
            metrics.head(name, MetricKind::Counter, help);
            for target in &board.targets {
                metrics.point(&[("target", &target.name)], Number::Integer(count(target)));
            }
        }
        metrics.head("flowloom_gaps_total", MetricKind::Counter, "Times in which a rate is unknown, by reason.");
        for (reason, count) in &board.gaps {
            metrics.point(&[("reason", reason.name())], Number::Integer(*count));
        }
        let of = |kind| board.series.values().filter(move |state| state.series.kind == kind);
        metrics.head("flowloom_counted_total", MetricKind::Counter, "What was counted since the monitor began.");
        for state in of(Kind::Counter) {
            metrics.point(&labels(&state.series), Number::Integer(state.total));
        }
        metrics.head("flowloom_value", MetricKind::Gauge, "The last value.");
        for (state, last) in of(Kind::Gauge).filter_map(|state| Some((state, state.last?))) {
            let whole = u64::try_from(last / u128::from(MILLIONTHS)).unwrap_or(u64::MAX);
            metrics.point(&labels(&state.series), Number::Integer(whole));
        }
        metrics.head("flowloom_rate", MetricKind::Gauge, "The last rate in units per second.");
        for (state, last) in of(Kind::Counter).filter_map(|state| Some((state, state.last?))) {
            metrics.point(&labels(&state.series), Number::Real(last as f64 / MILLIONTHS as f64));
        }
    }
}

fn labels(series: &Series) -> [(&str, &str); 4] {
    [("target", &series.target), ("port", &series.port), ("counter", &series.counter), ("unit", &series.unit)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_target_has_no_rates_and_loses_no_counts() {
        let board = Board::default();
        let series = |id, port: &str, counter: &str, kind| {
            let (target, port, counter, unit) =
                ("core".to_owned(), port.to_owned(), counter.to_owned(), "x".to_owned());
            Arc::new(Series { id, target, port, counter, unit, kind, interval_ns: 1_000_000_000 })
        };
        board.defined(&series(0, "", "answer-time", Kind::Gauge));
        board.defined(&series(2, "p", "in", Kind::Counter));
        board.defined(&series(3, "p", "backlog", Kind::Gauge));
        let second = 1_000_000_000;
        board.sampled(10 * second, second, &[(0, 5), (2, 100), (3, 7)]);
        assert!(board.prometheus().contains("flowloom_rate{target=\"core\",port=\"p\",counter=\"in\",unit=\"x\"} 100"));
        let gap =
            |series, amount| GapRow { series, start_ns: 10 * second, end_ns: 11 * second, amount, ..GapRow::default() };
        board.gap(&gap(0, None));
        let text = board.prometheus();
        assert!(!text.contains("flowloom_rate{") && !text.contains("flowloom_value{"), "{text}");
        // It went on counting.
        board.gap(&gap(2, Some(40)));
        let text = board.prometheus();
        assert!(
            text.contains("flowloom_counted_total{target=\"core\",port=\"p\",counter=\"in\",unit=\"x\"} 140"),
            "{text}"
        );
    }

    #[test]
    fn labels_hold_any_name() {
        let board = Board::default();
        let registry: Registry = toml::from_str("[[target]]\nname = \"core\"\nkind = \"local\"\n").unwrap();
        board.begin(&registry);
        let series = Series {
            id: 3,
            target: "core".to_owned(),
            port: "a\"b\\c\nd".to_owned(),
            counter: "in".to_owned(),
            unit: "octets".to_owned(),
            kind: Kind::Counter,
            interval_ns: 1,
        };
        board.defined(&Arc::new(series));
        board.sampled(10, 2_000_000_000, &[(3, 5)]);
        board.asked(0, &Ok(2), 0);
        let text = board.prometheus();
        let labels = "target=\"core\",port=\"a\\\"b\\\\c\\nd\",counter=\"in\",unit=\"octets\"";
        assert!(text.contains(&format!("\nflowloom_rate{{{labels}}} 2.5\n")), "{text}");
        assert!(text.contains(&format!("\nflowloom_counted_total{{{labels}}} 5\n")), "{text}");
        assert!(text.contains("\nflowloom_target_up{target=\"core\"} 1\n"), "{text}");
        let gap = |start_ns, end_ns, reason| GapRow { series: 3, start_ns, end_ns, reason, amount: None };
        board.gap(&gap(10, 20, Reason::Restart));
        let text = board.prometheus();
        assert!(text.contains("flowloom_gaps_total{reason=\"restart\"} 1\n") && !text.contains("flowloom_rate{"));
        // Of an absence that is recorded in parts, one counts; then another.
        for (from, to) in [(20, 30), (30, 50), (50, 90), (95, 99)] {
            board.gap(&gap(from, to, Reason::Absent));
        }
        assert!(board.prometheus().contains("flowloom_gaps_total{reason=\"absent\"} 2\n"));
    }
}
