//! Rates over time as CSV: what `flowloom model queue` reads (`docs/guide/queue-model.md`); compressed files are read too.

use std::path::Path;

use crate::capture::Input;
use crate::formats::FormatError;
use crate::formats::error::Flaw;
use crate::formats::lines::Lines;
use crate::interrupt::Interrupt;

/// Longest line: two numbers.
const MOST_LINE_BYTES: usize = 256;
/// Most rows: 256 MB of memory.
const MOST_ROWS: usize = 1 << 24;
/// Longest time and highest rate: a century, and more than any link.
const MOST_SECONDS: f64 = 3.2e9;
const MOST_RATE: f64 = 1e15;

/// What a file holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Rates {
    /// `seconds,cells_per_second`: how many seconds each rate lasts, and the rate.
    Cells(Vec<(f64, f64)>),
    /// `seconds,bits_per_second`: the same of bits.
    Bits(Vec<(f64, f64)>),
    /// `cell_seconds`: when cells came, in seconds, not falling.
    Times(Vec<f64>),
}

/// Reads `path`, a pipe until `interrupt` is requested.
///
/// # Errors
/// A file that cannot be read, and the first line that is wrong, with its number.
pub fn open(path: &Path, interrupt: &Interrupt) -> Result<Rates, FormatError> {
    rates(Lines::open(&Input::File(path.to_owned()), interrupt)?)
}

/// Reads a file in memory.
///
/// # Errors
/// As [`open`].
pub fn read(text: &[u8]) -> Result<Rates, FormatError> {
    rates(Lines::of("rates", text)?)
}

fn rates(mut lines: Lines) -> Result<Rates, FormatError> {
    const HEAD: &str = "the names of the columns: seconds,cells_per_second or seconds,bits_per_second or cell_seconds";
    let mut columns: Option<(Vec<&str>, &'static str)> = None;
    let (mut times, mut values): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
    while lines.advance(MOST_LINE_BYTES)? {
        let text = lines.text()?.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let fields: Vec<&str> = text.split(',').map(str::trim).collect();
        let Some((names, row)) = &columns else {
            columns = Some(match fields[..] {
                ["seconds", "cells_per_second"] => {
                    (vec!["seconds", "cells_per_second"], "a time and a rate, as 0.01,2500")
                }
                ["seconds", "bits_per_second"] => {
                    (vec!["seconds", "bits_per_second"], "a time and a rate, as 0.01,1.5e6")
                }
                ["cell_seconds"] => (vec!["cell_seconds"], "a time, as 0.000127"),
                _ => return Err(lines.flaw(&Flaw::new("not the first line of rates", HEAD))),
            });
            continue;
        };
        let flaw = |problem: &str| lines.flaw(&Flaw::new(problem, row));
        let numbers: Option<Vec<f64>> = fields.iter().map(|field| field.parse().ok()).collect();
        let Some(numbers) = numbers.filter(|numbers| numbers.len() == names.len()) else {
            return Err(flaw("not a row of such columns"));
        };
        let time = numbers[0];
        if !(0.0..=MOST_SECONDS).contains(&time) {
            return Err(flaw("a time that is not from 0 to 3.2e9 s"));
        }
        match times.last() {
            Some(last) if time < *last => return Err(flaw("a time below the one in the line above")),
            Some(last) if time == *last && names.len() == 2 => {
                return Err(flaw("the time of the line above again, with another rate"));
            }
            _ => {}
        }
        if let Some(rate) = numbers.get(1) {
            if !(0.0..=MOST_RATE).contains(rate) {
                return Err(flaw("a rate that is not from 0 to 1e15 per second"));
            }
            values.push(*rate);
        }
        if times.len() == MOST_ROWS {
            return Err(flaw("more rows than can be taken: 16,777,216"));
        }
        times.push(time);
    }
    let end = lines.number().max(1);
    let Some((names, row)) = columns else {
        return Err(lines.flaw_at(end, &Flaw::new("the file is empty", HEAD)));
    };
    if times.len() < 2 || times.first() == times.last() {
        return Err(lines.flaw_at(end, &Flaw::new("the file ends before a second time", row)));
    }
    if names.len() == 1 {
        return Ok(Rates::Times(times));
    }
    // The last rate lasts as long as the one before it: a row is what was counted in a bin.
    let mut seconds: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    seconds.extend(seconds.last().copied());
    let series = seconds.into_iter().zip(values).collect();
    Ok(if names[1] == "bits_per_second" { Rates::Bits(series) } else { Rates::Cells(series) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_all_three() {
        let rates = read(b"# a link\nseconds,cells_per_second\n0,10\n0.5, 20.5\r\n\n2,0\n").unwrap();
        assert_eq!(rates, Rates::Cells(vec![(0.5, 10.0), (1.5, 20.5), (1.5, 0.0)]));
        let rates = read(b"seconds,bits_per_second\n1,1e6\n2,2e6\n").unwrap();
        assert_eq!(rates, Rates::Bits(vec![(1.0, 1e6), (1.0, 2e6)]));
        assert_eq!(read(b"cell_seconds\n0\n0.25\n0.25").unwrap(), Rates::Times(vec![0.0, 0.25, 0.25]));
    }

    #[test]
    fn every_fault_has_its_line() {
        for (text, wanted) in [
            (&b""[..], "rates:1: the file is empty"),
            (
                b"seconds,cells\n",
                "rates:1: not the first line of rates: \"seconds,cells\"; expected the names of the columns",
            ),
            (b"0,10\n1,20\n", "rates:1: not the first line of rates"),
            (b"seconds,cells_per_second\n", "rates:1: the file ends before a second time"),
            (b"seconds,cells_per_second\n1,1\n", "rates:2: the file ends before a second time"),
            (b"cell_seconds\n1\n1\n", "rates:3: the file ends before a second time"),
            (b"cell_seconds\n1,1\n", "rates:2: not a row of such columns: \"1,1\"; expected a time, as 0.000127"),
            (b"seconds,cells_per_second\n1\n", "rates:2: not a row of such columns"),
            (b"seconds,cells_per_second\n1,x\n", "rates:2: not a row of such columns"),
            (b"seconds,cells_per_second\n1,1\n0.5,1\n", "rates:3: a time below the one in the line above"),
            (b"seconds,cells_per_second\n1,1\n1,2\n", "rates:3: the time of the line above again"),
            (b"seconds,cells_per_second\n-1,1\n", "rates:2: a time that is not from 0"),
            (b"seconds,cells_per_second\nNaN,1\n", "rates:2: a time that is not from 0"),
            (b"seconds,cells_per_second\n1,-1\n", "rates:2: a rate that is not from 0"),
            (b"seconds,cells_per_second\n1,inf\n", "rates:2: a rate that is not from 0"),
            (b"seconds,cells_per_second\n1,1e16\n", "rates:2: a rate that is not from 0"),
            (b"cell_seconds\n\xff\n", "rates:2: this is not UTF-8"),
            (&[b'1'; 257], "rates:1: a line of more than 256 bytes"),
        ] {
            let message = read(text).unwrap_err().to_string();
            assert!(message.starts_with(wanted), "{message}");
        }
        let missing = open(Path::new("/no/such.csv"), &Interrupt::never()).unwrap_err().to_string();
        assert!(missing.starts_with("/no/such.csv: cannot open"), "{missing}");
    }
}
