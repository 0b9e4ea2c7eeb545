//! A run's results in forms that other tools show (`docs/reference/exports.md`).

mod columns;
mod flent;
mod histogram;
mod iperf3;
mod payload;

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
