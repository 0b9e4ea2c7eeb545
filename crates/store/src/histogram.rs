//! Cumulative histograms as tables: tcplib's as CSV (`value,cumprob`) and those of ns-2's HTTP sources (value, count, cumulative
//! probability). Source models draw from them (`docs/reference/models.md`); compressed files are read too.

use std::path::Path;

use crate::formats::FormatError;
use crate::formats::error::Flaw;
use crate::formats::lines::Lines;

/// Longest line: three numbers.
const MOST_LINE_BYTES: usize = 256;
/// Most rows: 16 MB of memory.
const MOST_ROWS: usize = 1 << 20;
/// How far the last share may be from 1: it was written with so many digits.
const SLACK: f64 = 1e-6;
/// Endings of files that have tables.
const ENDINGS: [&str; 2] = ["csv", "cdf"];

/// A table: values and the share of values up to each, neither falling, the last share 1.
pub type Rows = Vec<(f64, f64)>;

/// Reads table `name` of the folder `folder`, from the file of that name that ends in `.csv` or `.cdf`.
///
/// # Errors
/// A file that cannot be read, and the first line that is no row of a table, with its number.
pub fn open(folder: &Path, name: &str) -> Result<Rows, FormatError> {
    let [first, second] = ENDINGS.map(|ending| folder.join(format!("{name}.{ending}")));
    let path = if !first.exists() && second.exists() { second } else { first };
    rows(Lines::open_file(&path)?)
}

/// Reads a table in memory.
///
/// # Errors
/// As [`open`].
pub fn read(text: &[u8]) -> Result<Rows, FormatError> {
    rows(Lines::of("table", text)?)
}

fn rows(mut lines: Lines) -> Result<Rows, FormatError> {
    const ROW: &str = "a value and the share of values up to it, as 840,0.82";
    let mut rows: Rows = Vec::new();
    let mut columns = None;
    while lines.advance(MOST_LINE_BYTES)? {
        let flaw = |problem: &str| lines.flaw(&Flaw::new(problem, ROW));
        let fields: Vec<&str> = lines.text()?.split([',', ' ', '\t', '\r']).filter(|field| !field.is_empty()).collect();
        if fields.is_empty() || fields[0].starts_with('#') {
            continue;
        }
        let numbers: Option<Vec<f64>> = fields.iter().map(|field| field.parse().ok()).collect();
        let Some(numbers) = numbers else {
            // The names of the columns.
            if rows.is_empty() && columns.is_none() && fields.iter().all(|field| field.parse::<f64>().is_err()) {
                columns = Some(fields.len());
                continue;
            }
            return Err(flaw("not a row of numbers"));
        };
        let (value, share) = match numbers[..] {
            [value, share] => (value, share),
            // ns-2 has a count between them.
            [value, count, share] if count >= 0.0 => (value, share),
            [_, _, _] => return Err(flaw("a count below zero")),
            [_] => return Err(flaw("samples, of which no table is made: a row of one number")),
            _ => return Err(flaw("a row of more than three numbers")),
        };
        if *columns.get_or_insert(numbers.len()) != numbers.len() {
            return Err(flaw("a row of other columns than the first line"));
        }
        if !(value >= 0.0 && value.is_finite()) {
            return Err(flaw("a value that is not a number from zero on"));
        }
        if !(0.0..=1.0 + SLACK).contains(&share) {
            return Err(flaw("a share that is not from 0 to 1"));
        }
        if rows.last().is_some_and(|(last, before)| value < *last || share < *before) {
            return Err(flaw("a value or a share below the one in the line above"));
        }
        if rows.len() == MOST_ROWS {
            return Err(flaw("more rows than a table may have: 1,048,576"));
        }
        rows.push((value, share.min(1.0)));
    }
    // The empty file has no line to blame: the first is missing.
    let line = lines.number().max(1);
    match rows.last_mut() {
        None => Err(lines.flaw_at(line, &Flaw::new("the table has no rows", ROW))),
        Some((_, share)) if *share < 1.0 - SLACK => {
            let problem = format!("the table ends at a share of {share}");
            Err(lines.flaw_at(line, &Flaw::new(problem, "1 in the last row")))
        }
        Some((_, share)) => {
            *share = 1.0;
            Ok(rows)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_forms() {
        assert_eq!(read(b"value,cumprob\n3.000000,0.003000\n\n4,1\r\n").unwrap(), [(3.0, 0.003), (4.0, 1.0)]);
        assert_eq!(read(b"# ns-2\n1 739 0.5\n2\t739 0.9999999").unwrap(), [(1.0, 0.5), (2.0, 1.0)]);
    }

    #[test]
    fn every_fault_has_its_line() {
        for (text, wanted) in [
            (&b""[..], "table:1: the table has no rows"),
            (b"value,cumprob\n", "table:1: the table has no rows"),
            (b"1,0.5\n", "table:1: the table ends at a share of 0.5"),
            (b"1,0.5\n0.5,1\n", "table:2: a value or a share below the one in the line above"),
            (b"1,0.5\n2,0.4\n", "table:2: a value or a share below"),
            (b"1,0.5\n2,1.1\n", "table:2: a share that is not from 0 to 1"),
            (b"1,NaN\n", "table:1: a share that is not from 0 to 1"),
            (b"-1,0.5\n", "table:1: a value that is not a number from zero on"),
            (b"inf,0.5\n", "table:1: a value that is not a number"),
            (b"seconds\n0.1\n0.2\n", "table:2: samples, of which no table is made"),
            (b"1,2,3,4\n", "table:1: a row of more than three numbers"),
            (b"1,-2,1\n", "table:1: a count below zero"),
            (b"1,0.5\n2,7,1\n", "table:2: a row of other columns"),
            (b"value,cumprob\n1,2,1\n", "table:2: a row of other columns"),
            (b"1,0.5\nx,y\n", "table:2: not a row of numbers"),
            (b"value,cumprob\nvalue,cumprob\n", "table:2: not a row of numbers"),
            (b"1,half\n", "table:1: not a row of numbers"),
            (b"1\n\xff\n", "table:1: samples"),
            (b"1,0.5\n\xff\n", "table:2: this is not UTF-8"),
            (&[b'1'; 257], "table:1: a line of more than 256 bytes"),
        ] {
            let message = read(text).unwrap_err().to_string();
            assert!(message.starts_with(wanted), "{message}");
        }
        let missing = open(Path::new("/no/such"), "ftp_nitems").unwrap_err().to_string();
        assert!(missing.starts_with("/no/such/ftp_nitems.csv: cannot open"), "{missing}");
    }
}
