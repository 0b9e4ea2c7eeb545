//! The report: one HTML file with script, style and data inside, that opens from a disk without a network.
//!
//! Order: what was compared and whether to believe it; the answer in numbers and words; what the trust rests on; the
//! pictures; breakdowns; how it was made. Every picture has its data beside it as a table. The file holds no addresses
//! (methods M.12): nothing it is made from does.

mod description;
mod figure;
mod fits;
mod network;
mod page;
mod senders;
mod still;

use std::io::{self, Write};

use crate::answer::Answer;
use crate::describe::Described;
use crate::fit::Fitted;
use crate::run::Run;

/// How a report is written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportOptions {
    /// The title; made from the runs' own if `None`.
    pub title: Option<String>,
}

/// Writes the report of `runs`. Those that replay one original are set beside it, at the monitor; others beside the
/// first of them, at their ends (methods M.1).
///
/// # Errors
///
/// What `out` says.
pub fn write_report(runs: &[Run], mut out: impl Write, options: &ReportOptions) -> io::Result<()> {
    let answer = Answer::of(runs);
    let figures = figure::figures(runs, &answer);
    out.write_all(page::page(runs, &answer, &figures, options).as_bytes())?;
    out.flush()
}

/// Writes the page of captures and workloads: their distributions overlaid, their tables side by side.
///
/// # Errors
///
/// What `out` says.
pub fn write_description(described: &[Described], mut out: impl Write) -> io::Result<()> {
    out.write_all(description::page(described).as_bytes())?;
    out.flush()
}

/// Writes the page of laws fitted to a workload: values and laws in one picture for each variable, and their quantiles.
///
/// # Errors
///
/// What `out` says.
pub fn write_fits(fitted: &Fitted, mut out: impl Write) -> io::Result<()> {
    out.write_all(fits::page(fitted).as_bytes())?;
    out.flush()
}

/// Text that is safe within HTML, attributes included.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        assert_eq!(escaped("<b a=\"1\">&'"), "&lt;b a=&quot;1&quot;&gt;&amp;&#39;");
    }
}
