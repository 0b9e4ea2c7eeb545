//! The forms of vectors that files of other tools may have.

use std::path::Path;

use super::error::FormatError;
use super::lines::Lines;
use super::tmix::Spelling;
use super::{csv_table, json_lines, zeek};

/// The first bytes of the file at `path`, decompressed: what [`Format::of_content`] looks at.
///
/// # Errors
/// If it cannot be opened, or its compressed data are damaged at once.
pub fn head(path: &Path) -> Result<Vec<u8>, FormatError> {
    Ok(Lines::open_file(path)?.head()?.to_vec())
}

/// A format of vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Flowloom's workload file.
    Parquet,
    /// Tmix connection vectors.
    Tmix(Spelling),
    /// Zeek's conn.log.
    Zeek,
    /// CSV.
    Csv,
    /// JSON lines.
    JsonLines,
    /// A profile of TRex's advanced stateful mode; written only.
    Astf,
    /// A graph of tgen; written only.
    Tgen,
}

impl Format {
    /// Every format with the name that `--to` takes, and `--from` of those that are read.
    pub const NAMES: [(&'static str, Format); 8] = [
        ("parquet", Format::Parquet),
        ("tmix", Format::Tmix(Spelling::Original)),
        ("tmix-alt", Format::Tmix(Spelling::Alternate)),
        ("zeek", Format::Zeek),
        ("csv", Format::Csv),
        ("jsonl", Format::JsonLines),
        ("astf", Format::Astf),
        ("tgen", Format::Tgen),
    ];

    /// Whether it is read, and not only written.
    pub fn is_read(self) -> bool {
        !matches!(self, Format::Astf | Format::Tgen)
    }

    /// The format that a file name asks for.
    pub fn of_name(name: &str) -> Option<Format> {
        const ENDINGS: [(&str, Format); 12] = [
            (".parquet", Format::Parquet),
            (".alt.cvec", Format::Tmix(Spelling::Alternate)),
            (".v2.cvec", Format::Tmix(Spelling::Alternate)),
            (".cvec", Format::Tmix(Spelling::Original)),
            (".tcvec", Format::Tmix(Spelling::Original)),
            (".jsonl", Format::JsonLines),
            (".csv", Format::Csv),
            (".conn.log", Format::Zeek),
            ("conn.log", Format::Zeek),
            (".tsv", Format::Zeek),
            (".astf.json", Format::Astf),
            (".graphml", Format::Tgen),
        ];
        ENDINGS.into_iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, format)| format)
    }

    /// The format of a file that begins with `head`, `None` if it is none of these.
    pub fn of_content(head: &[u8]) -> Option<Format> {
        if head.starts_with(b"PAR1") {
            return Some(Format::Parquet);
        }
        if json_lines::begins(head) {
            return Some(Format::JsonLines);
        }
        if csv_table::begins(head) {
            return Some(Format::Csv);
        }
        // Before conn.log, whose head may stand in a comment of Tmix, as no row of a log reads like a line of vectors.
        if let Some(spelling) = tmix_spelling(head) {
            return Some(Format::Tmix(spelling));
        }
        (zeek::is_tsv(head) || zeek::is_json(head)).then_some(Format::Zeek)
    }
}

/// The spelling of a text whose first line that is no comment is a line of Tmix vectors.
fn tmix_spelling(head: &[u8]) -> Option<Spelling> {
    let end = head.iter().rposition(|byte| *byte == b'\n').unwrap_or(head.len());
    let mut statements = head[..end].split(|byte| *byte == b'\n').map(|line| {
        let statement = line.split(|byte| *byte == b'#').next().unwrap_or_default();
        statement.trim_ascii()
    });
    let line = String::from_utf8_lossy(statements.find(|statement| !statement.is_empty())?);
    let mut tokens = line.split_ascii_whitespace();
    let word = tokens.next()?;
    // A line without its header is one of these too: the reader says what is wrong with it.
    let is_number =
        |token: &str| token.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let numbers = tokens.clone().count() > 0 && tokens.all(is_number);
    match word {
        _ if !numbers => None,
        "I" | "A" => Some(Spelling::Alternate),
        "m" | "w" | "r" | "l" | ">" | "<" | "t" | "c>" | "c<" | "t>" | "t<" => Some(Spelling::Original),
        word => Spelling::of(word),
    }
}
