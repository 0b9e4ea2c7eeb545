//! A run's results in forms that other tools show (`docs/reference/exports.md`).

mod columns;
mod flent;
mod histogram;
mod iperf3;
mod payload;

use std::fmt::{self, Display};
use std::io::{self, Write};

use crate::run::Run;

/// A form of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// iperf3's JSON.
    Iperf3,
    /// A data file of flent.
    Flent,
    /// A log of HdrHistograms: response times, durations, round-trip times.
    HistogramLog,
    /// The percentiles of the response times, as HdrHistogram prints them.
    Percentiles,
    /// Columns for gnuplot: series and distributions, one after the other.
    Columns,
}

/// Values of a quantity that a form leaves out because they had not ended with the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The tag of the quantity.
    pub name: &'static str,
    /// How many had not ended.
    pub unfinished: usize,
    /// How many there are in all.
    pub of: usize,
}

impl Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LeftOut { name, unfinished, of } = self;
        write!(
            f,
            "{unfinished} of {of} values of {name} had not ended with the run and are left out: its quantiles are too low"
        )
    }
}

impl Form {
    /// Every form with the name that `--to` takes and the ending of its files.
    pub const ALL: [(&'static str, &'static str, Form); 5] = [
        ("iperf3", ".iperf3.json", Form::Iperf3),
        ("flent", ".flent.gz", Form::Flent),
        ("hdr-log", ".hlog", Form::HistogramLog),
        ("percentiles", ".hgrm", Form::Percentiles),
        ("columns", ".dat", Form::Columns),
    ];

    /// The form that a file name asks for.
    pub fn of_name(name: &str) -> Option<Form> {
        Form::ALL.into_iter().find(|(_, ending, _)| name.ends_with(ending)).map(|(_, _, form)| form)
    }

    /// What this form leaves out of `run` because it had not ended.
    pub fn left_out(self, run: &Run) -> Vec<LeftOut> {
        match self {
            Form::HistogramLog => histogram::left_out(run, false),
            Form::Percentiles => histogram::left_out(run, true),
            Form::Iperf3 | Form::Flent | Form::Columns => Vec::new(),
        }
    }

    /// Writes `run` in this form.
    ///
    /// # Errors
    ///
    /// What `out` says.
    pub fn write(self, run: &Run, out: impl Write) -> io::Result<()> {
        match self {
            Form::Iperf3 => iperf3::write(run, out),
            Form::Flent => flent::write(run, out),
            Form::HistogramLog => histogram::write_log(run, out),
            Form::Percentiles => histogram::write_percentiles(run, out),
            Form::Columns => columns::write(run, out),
        }
    }
}
