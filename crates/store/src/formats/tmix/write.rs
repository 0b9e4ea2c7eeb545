//! Vectors to files in either spelling.

use std::fmt::Write as _;
use std::io::{self, Write};

use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{ConnectionVector, Evidence, Pattern, PerSide, Side};

use super::super::notes::{Notes, Remark};
use super::comment::{PAYLOAD, Told, ToldClose};
use super::row::{After, Row, Spelling};
use super::rows::{self, micros};
use crate::workload::PayloadFacts;

/// The window of a connection of which none is known: the largest without scaling, as in the simulator.
const UNKNOWN_WINDOW: u64 = 65_535;

/// What is written where a vector does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assumptions {
    /// The round-trip time of connections without one.
    pub rtt: Duration,
}

/// Writes Tmix connection vectors one after the other.
pub struct TmixWriter<W> {
    out: W,
    spelling: Spelling,
    assumptions: Assumptions,
    notes: Notes,
    text: String,
}

impl<W: Write> TmixWriter<W> {
    /// Starts a file, of the original spelling with the comment that its readers know it by.
    ///
    /// # Errors
    /// `out`'s.
    pub fn new(mut out: W, spelling: Spelling, assumptions: Assumptions) -> io::Result<TmixWriter<W>> {
        if spelling == Spelling::Original {
            writeln!(out, "# tcvec format version 2")?;
        }
        Ok(TmixWriter { out, spelling, assumptions, notes: Notes::default(), text: String::new() })
    }

    /// Says in a comment what a capture lacked of the payload, for readers that look for it; to be called before the first vector.
    ///
    /// # Errors
    /// `out`'s.
    pub fn state_payload(&mut self, payload: &PayloadFacts) -> io::Result<()> {
        writeln!(self.out, "{PAYLOAD}{}", serde_json::to_string(payload)?)
    }

    /// Adds a vector. Datagrams, and connections without data, are left out, and the notes say so.
    ///
    /// # Errors
    /// `out`'s.
    pub fn write(&mut self, vector: &ConnectionVector) -> io::Result<()> {
        if let Some(reason) = Remark::for_leaving_out(vector) {
            self.notes.remark(reason, 0);
            return Ok(());
        }
        let (mut rows, remarks) = rows::of(vector);
        let close = match (self.spelling, vector.pattern) {
            (Spelling::Original, Pattern::Sequential) => ToldClose::of(&rows).map(|(at, close)| {
                rows.remove(at);
                close
            }),
            _ => None,
        };
        self.text.clear();
        self.header(vector, &rows);
        self.parameters(vector, close);
        match self.spelling {
            Spelling::Original => self.original(vector.pattern, &rows),
            Spelling::Alternate => self.alternate(vector.pattern, &rows),
        }
        remarks.into_iter().for_each(|remark| self.notes.remark(remark, 0));
        self.notes.without_places(vector);
        self.notes.vectors += 1;
        self.out.write_all(self.text.as_bytes())
    }

    /// Completes the file.
    ///
    /// # Errors
    /// `out`'s.
    pub fn finish(mut self) -> io::Result<(W, Notes)> {
        self.out.flush()?;
        Ok((self.out, self.notes))
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing into a String cannot fail.
        let _ = self.text.write_fmt(line);
        self.text.push('\n');
    }

    fn header(&mut self, vector: &ConnectionVector, rows: &[Row]) {
        let start = micros(vector.start.since(Time::ZERO));
        let (subset, id) = match vector.label {
            Some(label) => (label.subset, label.id),
            None => (1, vector.id),
        };
        let adus = |side| rows.iter().filter(|row| row.side == side && row.bytes > 0).count();
        let (initiator, acceptor) = (adus(Side::Initiator), adus(Side::Acceptor));
        match (self.spelling, vector.pattern) {
            (Spelling::Original, Pattern::Sequential) => {
                self.line(format_args!("SEQ {start} {} {subset} {id}", epochs(rows)));
            }
            (Spelling::Original, Pattern::Concurrent) => {
                self.line(format_args!("CONC {start} {initiator} {acceptor} {subset} {id}"));
            }
            (Spelling::Alternate, Pattern::Sequential) => {
                self.line(format_args!("S {start} {} {subset} {id}", epochs(rows)));
            }
            (Spelling::Alternate, Pattern::Concurrent) => {
                self.line(format_args!("C {start} {initiator} {acceptor} {subset} {id}"));
            }
        }
    }

    fn parameters(&mut self, vector: &ConnectionVector, close: Option<ToldClose>) {
        let ends = &vector.ends;
        if let (Some(initiator), Some(acceptor)) = (ends.initiator.mss, ends.acceptor.mss) {
            self.line(format_args!("m {initiator} {acceptor}"));
        }
        let windows = Side::BOTH.map(|side| match vector.evidence {
            // As the file had it, zero included.
            Evidence::VectorFile => ends[side].max_window,
            Evidence::Packets | Evidence::FlowRecord | Evidence::Model => vector.window(side),
        });
        if windows.contains(&None) {
            self.notes.remark(Remark::AssumedWindow, 0);
        }
        let [initiator, acceptor] = windows.map(|window| window.unwrap_or(UNKNOWN_WINDOW));
        self.line(format_args!("w {initiator} {acceptor}"));
        let rtt = vector.min_rtt().unwrap_or_else(|| {
            self.notes.remark(Remark::AssumedRtt, 0);
            self.assumptions.rtt
        });
        self.line(format_args!("r {}", micros(rtt)));
        let losses = Side::BOTH.map(|side| ends[side].loss_rate());
        if losses.contains(&None) {
            self.notes.remark(Remark::AssumedLossless, 0);
        }
        let [initiator, acceptor] = losses.map(Option::unwrap_or_default);
        self.line(format_args!("l {initiator:.6} {acceptor:.6}"));
        if let Some(comment) = Told::comment(vector, close) {
            self.line(format_args!("{comment}"));
        }
    }

    fn original(&mut self, pattern: Pattern, rows: &[Row]) {
        if pattern == Pattern::Concurrent {
            for (index, row) in rows.iter().enumerate().filter(|(_, row)| row.bytes > 0) {
                let mark = mark(row.side);
                self.line(format_args!("c{mark} {}", row.bytes));
                // The wait before the next row of the side, be it data or the close, stands below this one.
                if let Some(next) = rows[index + 1..].iter().find(|next| next.side == row.side) {
                    self.line(format_args!("t{mark} {}", next.wait_us));
                }
            }
            return;
        }
        for (index, row) in rows.iter().enumerate() {
            if index > 0 {
                self.line(format_args!("t {}", row.wait_us));
            }
            // A last wait alone is the close by who sent last; any other is in the comment.
            if row.bytes > 0 {
                self.line(format_args!("{} {}", mark(row.side), row.bytes));
            }
        }
    }

    fn alternate(&mut self, pattern: Pattern, rows: &[Row]) {
        let mut begun = PerSide::<bool>::default();
        for row in rows {
            let first = match pattern {
                Pattern::Sequential => !begun.initiator && !begun.acceptor,
                Pattern::Concurrent => !begun[row.side],
            };
            begun[row.side] = true;
            // A wait of zero is written as a microsecond, so that it is seen whose it is.
            let wait = if first { 0 } else { row.wait_us.max(1) };
            let (send, receive) = match row.after {
                After::Sending => (wait, 0),
                After::Receiving => (0, wait),
            };
            let side = match row.side {
                Side::Initiator => 'I',
                Side::Acceptor => 'A',
            };
            self.line(format_args!("{side} {send} {receive} {}", row.bytes));
        }
    }
}

fn mark(side: Side) -> char {
    match side {
        Side::Initiator => '>',
        Side::Acceptor => '<',
    }
}

/// Epochs by the pairing rule: a request opens one, a response if none is open.
fn epochs(rows: &[Row]) -> u64 {
    let mut open = false;
    rows.iter().filter(|row| row.bytes > 0).fold(0, |epochs, row| {
        let opens = row.side == Side::Initiator || !open;
        open = row.side == Side::Initiator;
        epochs + u64::from(opens)
    })
}
