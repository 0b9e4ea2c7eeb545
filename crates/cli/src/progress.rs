//! One line on standard error while work goes on, gone at the end; nothing when that is no terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The progress line of one step.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A line that says `what`, of `total` bytes if that is known.
    pub fn bytes(what: &'static str, total: Option<u64>, quiet: bool) -> Progress {
        let template = match total {
            Some(_) => "{msg}  {percent} %  {decimal_bytes_per_sec}  {eta} left",
            None => "{msg}  {decimal_bytes}  {decimal_bytes_per_sec}",
        };
        Progress::new(what, total, template, quiet)
    }

    /// A line that says `what`, of `total` milliseconds of simulated time.
    pub fn simulated(what: &'static str, total: u64, quiet: bool) -> Progress {
        Progress::new(what, Some(total), "{msg}  {percent} %  {eta} left", quiet)
    }

    fn new(what: &'static str, total: Option<u64>, template: &str, quiet: bool) -> Progress {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(10) };
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner());
        let bar = ProgressBar::with_draw_target(total, target).with_style(style).with_message(what);
        Progress { bar }
    }

    /// So much further.
    pub fn advance(&self, by: u64) {
        self.bar.inc(by);
    }

    /// How far it is.
    pub fn set(&self, position: u64) {
        self.bar.set_position(position);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
