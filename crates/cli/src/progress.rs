//! How far work is: one line on standard error, gone at the end, nothing when that is no terminal; or JSON lines on
//! standard output.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use flowloom_core::units::three_digits;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use serde_json::json;

use crate::clock::Stopwatch;
use crate::output::{self, Manner};

/// Between two lines.
const EVERY_NANOS: u64 = 100_000_000;

/// The progress of one step.
pub struct Progress {
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

impl Progress {
    /// That of a step over `total` bytes, if that is known.
    pub fn bytes(step: &'static str, total: Option<u64>, manner: Manner) -> Progress {
        let template = match total {
            Some(_) => "{msg}  {percent} %  {decimal_bytes_per_sec}  {eta} left",
            None => "{msg}  {decimal_bytes}  {decimal_bytes_per_sec}",
        };
        Progress::new(step, "bytes", total, template, manner)
    }

    /// That of a step over `total` milliseconds of simulated time, of all runs together.
    pub fn simulated(step: &'static str, total: u64, manner: Manner) -> Progress {
        let template = "{msg}  {percent} %  {simulated}  {simulated_per_second}  {eta} left";
        Progress::new(step, "simulated_ms", Some(total), template, manner)
    }

    fn new(step: &'static str, unit: &'static str, total: Option<u64>, template: &str, manner: Manner) -> Progress {
        let hidden = manner.quiet || manner.form.json_stream;
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
        let bar = ProgressBar::with_draw_target(total, target).with_style(style).with_message(step);
        let lines = Lines { step, unit, clock: Stopwatch::start(), next: AtomicU64::new(0) };
        let progress = Progress { bar, lines: manner.form.json_stream.then_some(lines) };
        progress.say();
        progress
    }

    /// Whether it is told in lines on standard output.
    pub fn is_in_lines(&self) -> bool {
        self.lines.is_some()
    }

    /// So much further.
    pub fn advance(&self, by: u64) {
        self.bar.inc(by);
        self.say();
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

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
