//! How far a step is: one line on standard error, gone at the end, nothing when that is no terminal; or JSON lines on
//! standard output.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use flowloom::units::three_digits;
use flowloom::{Step, Stopwatch, Unit};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use serde_json::json;

use crate::output;

/// Between two lines.
const EVERY_NANOS: u64 = 100_000_000;

/// The progress of one step.
pub struct Bar {
    bar: ProgressBar,
    lines: Option<Lines>,
}

/// Progress as JSON lines.
struct Lines {
    step: &'static str,
    unit: &'static str,
    clock: Stopwatch,
    next: AtomicU64,
}

impl Bar {
    /// That of a step over `total` units, if that is known; drawn unless `hidden`, or in lines.
    pub fn new(step: Step, total: Option<u64>, hidden: bool, in_lines: bool) -> Bar {
        let (unit, template) = match (step.unit(), total) {
            (Unit::Bytes, Some(_)) => ("bytes", "{msg}  {percent} %  {decimal_bytes_per_sec}  {eta} left"),
            (Unit::Runs, _) => ("runs", "{msg}  {pos} of {len} runs  {eta} left"),
            (Unit::Bytes, None) => ("bytes", "{msg}  {decimal_bytes}  {decimal_bytes_per_sec}"),
            (Unit::SimulatedMilliseconds, _) => {
                ("simulated_ms", "{msg}  {percent} %  {simulated}  {simulated_per_second}  {eta} left")
            }
        };
        let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(10) };
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner());
        let seconds = |millis: f64| three_digits(millis / 1e3);
        // A terminal that cannot be written to is no reason to stop.
        let style = style
            .with_key("simulated", move |state: &ProgressState, line: &mut dyn Write| {
                let [now, end] = [state.pos(), state.len().unwrap_or(0)].map(|millis| seconds(millis as f64));
                let _ = write!(line, "{now} of {end} s");
            })
            .with_key("simulated_per_second", move |state: &ProgressState, line: &mut dyn Write| {
                let _ = write!(line, "{} s/s", seconds(state.per_sec()));
            });
        let bar = ProgressBar::with_draw_target(total, target).with_style(style).with_message(step.name());
        let lines = Lines { step: step.name(), unit, clock: Stopwatch::start(), next: AtomicU64::new(0) };
        let bar = Bar { bar, lines: in_lines.then_some(lines) };
        bar.say();
        bar
    }

    /// How far it is.
    pub fn set(&self, position: u64) {
        self.bar.set_position(position);
        self.say();
    }

    fn say(&self) {
        let Some(Lines { step, unit, clock, next }) = &self.lines else { return };
        let now = clock.nanos();
        if now < next.load(Ordering::Relaxed) {
            return;
        }
        next.store(now + EVERY_NANOS, Ordering::Relaxed);
        let per_second = self.bar.per_sec();
        let left = self.bar.length().filter(|_| per_second > 0.0);
        let left = left.map(|total| total.saturating_sub(self.bar.position()) as f64 / per_second);
        let line = json!({
            "event": "progress", "step": step, "unit": unit, "done": self.bar.position(), "total": self.bar.length(),
            "per_second": per_second, "left_seconds": left,
        });
        // Progress that cannot be said stops nothing; the answer will fail in the same way and say why.
        let _ = output::event(&line);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
