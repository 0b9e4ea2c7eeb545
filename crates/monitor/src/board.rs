//! What a monitor knows now, for those who look at it while it runs: as Prometheus text.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flowloom_store::monitor::{Kind, MILLIONTHS, Reason, SampleRow, Series};

use crate::registry::Registry;

/// Shared by the monitor and those who look at it.
#[derive(Clone, Debug, Default)]
pub struct Board(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    targets: Vec<TargetState>,
    series: BTreeMap<u32, SeriesState>,
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
    last: Option<u64>,
    /// What was counted since the monitor began.
    total: u64,
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
        let state = SeriesState { series: Arc::clone(series), last: None, total: 0 };
        self.lock().series.insert(series.id, state);
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

    pub(crate) fn gap(&self, id: u32, reason: Reason) {
        let mut board = self.lock();
        if let Some(state) = board.series.get_mut(&id) {
            state.last = None;
        }
        *board.gaps.entry(reason).or_default() += 1;
    }

    /// The targets.
    pub fn targets(&self) -> Vec<TargetState> {
        self.lock().targets.clone()
    }

    /// All of it in Prometheus' text form (version 0.0.4).
    pub fn prometheus(&self) -> String {
        let board = self.lock();
        let mut text = String::new();
        let head = |text: &mut String, name: &str, kind: &str, help: &str| {
            let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        };
        head(&mut text, "flowloom_target_up", "gauge", "Whether the last question was answered.");
        for target in &board.targets {
            if let Some(is_up) = target.is_up {
                let _ = writeln!(text, "flowloom_target_up{{target=\"{}\"}} {}", label(&target.name), u8::from(is_up));
            }
        }
        let counts: [(&str, &str, Count); 3] = [
            ("flowloom_target_questions_total", "Questions.", |target| target.asked),
            ("flowloom_target_failures_total", "Questions without an answer.", |target| target.failed),
            ("flowloom_target_late_total", "Questions left out because the one before took too long.", |t| t.late),
        ];
        for (name, help, count) in counts {
            head(&mut text, name, "counter", help);
            for target in &board.targets {
                let _ = writeln!(text, "{name}{{target=\"{}\"}} {}", label(&target.name), count(target));
            }
        }
        head(&mut text, "flowloom_gaps_total", "counter", "Times in which a rate is unknown, by reason.");
        for (reason, count) in &board.gaps {
            let _ = writeln!(text, "flowloom_gaps_total{{reason=\"{}\"}} {count}", reason.name());
        }
        let kinds = [
            ("flowloom_counted_total", "counter", "What was counted since the monitor began.", Kind::Counter),
            ("flowloom_value", "gauge", "The last value.", Kind::Gauge),
        ];
        for (name, kind, help, of) in kinds {
            head(&mut text, name, kind, help);
            for state in board.series.values().filter(|state| state.series.kind == of) {
                let labels = labels(&state.series);
                let _ = match (of, state.last) {
                    (Kind::Counter, _) => writeln!(text, "{name}{{{labels}}} {}", state.total),
                    (Kind::Gauge, Some(last)) => writeln!(text, "{name}{{{labels}}} {}", last / MILLIONTHS),
                    (Kind::Gauge, None) => Ok(()),
                };
            }
        }
        head(&mut text, "flowloom_rate", "gauge", "The last rate in units per second.");
        let counters = board.series.values().filter(|state| state.series.kind == Kind::Counter);
        for (state, last) in counters.filter_map(|state| Some((state, state.last?))) {
            let _ = writeln!(text, "flowloom_rate{{{}}} {}", labels(&state.series), last as f64 / MILLIONTHS as f64);
        }
        text
    }
}

fn labels(series: &Series) -> String {
    format!(
        "target=\"{}\",port=\"{}\",counter=\"{}\",unit=\"{}\"",
        label(&series.target),
        label(&series.port),
        label(&series.counter),
        label(&series.unit)
    )
}

/// The value of a label.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

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
        board.gap(3, Reason::Restart);
        let text = board.prometheus();
        assert!(text.contains("flowloom_gaps_total{reason=\"restart\"} 1\n") && !text.contains("flowloom_rate{"));
    }
}
