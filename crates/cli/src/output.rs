//! What a command prints: its answer on standard output, all else on standard error. A reader that went away
//! (`flowloom ... | head`) is no error.

use std::io::{ErrorKind, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use flowloom::json::versioned;
use flowloom::monitoring::PushNews;
use flowloom::targets::is_standard_output;
use flowloom::time::Duration;
use flowloom::{Context, Error, Event, Observer};
use serde::Serialize;
use serde_json::{Value, json};

use crate::args::Form;
use crate::diagnostics::{self, one_line};
use crate::interrupt;
use crate::monitor_view;
use crate::narrow::narrowed;
use crate::progress::Bar;
use crate::terminal;

/// Writes `text` as it is.
pub fn text(text: &str) -> Result<(), Error> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Error::new(format_args!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes an answer for people, in lines as wide as the terminal. It may name what a file holds: nothing of that acts on the terminal.
pub fn shown(text: &str) -> Result<(), Error> {
    let text = diagnostics::lines(text, colour());
    self::text(&match std::io::stdout().is_terminal() {
        true => narrowed(&text, width()),
        false => text,
    })
}

/// Characters of a line on standard output: those of the terminal, or the usual number where that is none.
pub fn width() -> usize {
    let terminal = terminal_size::terminal_size_of(std::io::stdout());
    terminal.map_or(flowloom::report::text::WIDTH, |(width, _)| usize::from(width.0))
}

/// How much a command says, and in which form.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// Only errors.
    pub quiet: bool,
    /// Decisions explained.
    pub verbose: bool,
    /// The answer as JSON.
    pub form: Form,
    /// Standard output has a file of the command's: no answer is printed there.
    pub gives_way: bool,
}

impl Manner {
    /// The same for a command that writes these files: an answer gives way to a file that goes to standard output.
    ///
    /// # Errors
    /// Two of them would write there, or one and an answer as JSON.
    pub fn beside<'a>(self, files: impl IntoIterator<Item = &'a PathBuf>) -> Result<Manner, Error> {
        match files.into_iter().filter(|path| is_standard_output(path)).count() {
            0 => Ok(self),
            1 if self.form.json || self.form.json_stream => {
                Err(Error::usage("-o - and --json would both write to standard output").hint("name a file with -o"))
            }
            1 => Ok(Manner { gives_way: true, ..self }),
            _ => Err(Error::usage("two outputs would both go to standard output").hint("name a file for one of them")),
        }
    }

    /// That of a command whose answer is `object` in JSON, `text` otherwise.
    pub fn answer(self, object: impl FnOnce() -> Value, text: impl FnOnce() -> String) -> Result<(), Error> {
        self.answer_by(shown, object, text)
    }

    /// The same with a text that is a file's, whose lines stay whole.
    pub fn answer_file(self, object: impl FnOnce() -> Value, text: impl FnOnce() -> String) -> Result<(), Error> {
        self.answer_by(|text| self::text(&diagnostics::lines(text, false)), object, text)
    }

    fn answer_by(
        self,
        print: impl FnOnce(&str) -> Result<(), Error>,
        object: impl FnOnce() -> Value,
        text: impl FnOnce() -> String,
    ) -> Result<(), Error> {
        if self.form.json_stream {
            event(&json!({ "event": "end", "result": versioned(object()) }))
        } else if self.form.json {
            json(&object())
        } else if self.quiet || self.gives_way {
            Ok(())
        } else {
            print(&text())
        }
    }

    /// Says that `command` begins, where that is asked for.
    pub fn start(self, command: &str) -> Result<(), Error> {
        if !self.form.json_stream {
            return Ok(());
        }
        event(&json!({ "event": "start", "command": command, "version": env!("CARGO_PKG_VERSION") }))
    }

    /// Prints a warning with its remedy, if there is one, unless quiet.
    pub fn warn(self, cause: &str, remedy: Option<&str>) {
        if !self.quiet {
            let remedy = remedy.map_or_else(String::new, |remedy| format!("\n  remedy: {}", one_line(remedy)));
            tell!("warning: {}{remedy}", one_line(cause));
        }
    }

    /// Says what happens during the work of a command.
    pub fn observer(self) -> Terminal {
        Terminal { manner: self, bar: Mutex::new(None) }
    }
}

/// Prints events: warnings, decisions and progress on standard error, JSON lines on standard output.
pub struct Terminal {
    manner: Manner,
    bar: Mutex<Option<Bar>>,
}

impl Terminal {
    /// What is given to the work of a command.
    pub fn context(&self) -> Context<'_> {
        Context::new(self, interrupt::stop())
    }

    fn bar(&self) -> MutexGuard<'_, Option<Bar>> {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Terminal {
    fn event(&self, event: &Event<'_>) {
        let Manner { quiet, form, .. } = self.manner;
        match event {
            Event::Began { step, total } => {
                *self.bar() = Some(Bar::new(
                    *step,
                    *total,
                    quiet || form.json_stream || !terminal::draws_progress(),
                    form.json_stream,
                ));
            }
            Event::Advanced { done, .. } => {
                if let Some(bar) = &*self.bar() {
                    bar.set(*done);
                }
            }
            Event::Ended(_) => *self.bar() = None,
            Event::Interval(interval) => {
                let mut line = json!(interval);
                line["event"] = json!("interval");
                // What cannot be said stops nothing; the answer will fail in the same way and say why.
                let _ = self::event(&line);
            }
            Event::Observation(observation) if form.json_stream => {
                let mut line = json!(observation);
                line["event"] = json!("observation");
                let _ = self::event(&line);
            }
            Event::Observation(_) => {}
            Event::Decisions(text) => tell_as_is!("{}", diagnostics::lines(text, false)),
            Event::Warning(warning) => self.manner.warn(&warning.cause(), warning.remedy()),
            Event::Monitor(report) if !quiet || report.is_problem() => tell!("{}", monitor_view::line(report)),
            Event::Push(PushNews::Fails(problem)) if !quiet => {
                tell!("warning: metrics are not pushed: {}", one_line(problem));
            }
            Event::Push(PushNews::Works) if !quiet => tell!("metrics are pushed again"),
            _ if quiet => {}
            Event::About(input) => tell!("{}:", one_line(&input.display().to_string())),
            Event::Capturing(interface) => {
                tell!("capturing from {interface}; Ctrl-C ends it and keeps what was captured");
            }
            Event::Monitor(_) | Event::Push(_) => {}
            Event::ServesMetrics(address) => tell!("metrics at http://{address}/metrics"),
            Event::RunsLive { runs, length, at_most } => tell!("{}", live_runs(*runs, *length, *at_most)),
            Event::LoadTried(tried) => tell!("{}", one_line(&tried.words())),
            Event::Checkpoint { seconds, text } => tell!("checkpoint at {seconds:.3} s\n{text}"),
        }
    }

    fn wants_decisions(&self) -> bool {
        self.manner.verbose
    }

    fn wants_intervals(&self) -> bool {
        self.manner.form.json_stream
    }
}

/// How long live runs take, said before they begin.
fn live_runs(runs: u64, length: Duration, at_most: Duration) -> String {
    let what = if runs == 1 { "a live run takes".to_owned() } else { format!("{runs} live runs take, each,") };
    let all = Duration::from_nanos(at_most.as_nanos().saturating_mul(runs));
    let drain = match at_most.saturating_sub(length) {
        Duration::ZERO => String::new(),
        drain => format!(", and up to {drain} until its connections are done"),
    };
    format!("{what} {length}{drain}: {all} at most")
}

/// Writes `object` as one line.
pub fn event(object: &Value) -> Result<(), Error> {
    text(&format!("{object}\n"))
}

/// Writes `object` as one indented JSON object, with the version of the answers.
pub fn json(object: &impl Serialize) -> Result<(), Error> {
    let cannot = |error| Error::new(format_args!("JSON: {error}"));
    let object = versioned(serde_json::to_value(object).map_err(cannot)?);
    text(&format!("{}\n", serde_json::to_string_pretty(&object).map_err(cannot)?))
}

/// Whether text for standard output is coloured.
pub fn colour() -> bool {
    terminal::colour(&std::io::stdout())
}
