//! How work fails: what, where, why, and what to do now, as data.

use std::fmt::{self, Display};
use std::io;
use std::path::Path;

pub use flowloom_core::keys::{KeyError, nearest};

/// What a failure means for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The work was well defined and could not be done.
    Failed,
    /// Options, an experiment or another specification that cannot mean anything.
    Usage,
    /// The work was stopped before it had a result.
    Interrupted,
}

/// A place in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The name of the file.
    pub file: String,
    /// The line, from 1 on, if it is known.
    pub line: Option<usize>,
    /// The column in characters, from 1 on, if it is known.
    pub column: Option<usize>,
}

impl Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        match (self.line, self.column) {
            (None, _) => Ok(()),
            (Some(line), None) => write!(f, ":{line}"),
            (Some(line), Some(column)) => write!(f, ":{line}:{column}"),
        }
    }
}

/// The place of the byte at `offset` in the text of a file.
pub fn place(text: &str, offset: usize, file: &str) -> Place {
    let mut end = offset.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    Place {
        file: file.to_owned(),
        line: Some(1 + before.matches('\n').count()),
        // A byte order mark is no column.
        column: Some(1 + before[line_start..].trim_start_matches('\u{feff}').chars().count()),
    }
}

/// The text that `bytes` of the file called `name` are.
///
/// # Errors
/// They are not UTF-8; where. `hint` says what they should be.
pub fn decoded(bytes: Vec<u8>, name: &str, hint: &str) -> Result<String, Error> {
    String::from_utf8(bytes).map_err(|error| {
        let (sound, _) = error.as_bytes().split_at(error.utf8_error().valid_up_to());
        let at = place(&String::from_utf8_lossy(sound), sound.len(), name);
        let (byte, offset) = (error.as_bytes()[sound.len()], sound.len());
        Error::usage(format_args!("this is not UTF-8: byte 0x{byte:02x} at offset {offset}")).hint(hint).at(at)
    })
}

/// Why something could not be done.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    /// What it means for the caller.
    pub kind: ErrorKind,
    /// Where in a file it is, if it is about a text.
    pub place: Option<Box<Place>>,
    /// The dotted path of the key it is about, if there is one: `network.bottleneck.queue.limit`.
    pub key: Option<String>,
    /// What is wrong: lower case, no full stop. It names the key, but not the place.
    pub cause: String,
    /// Further lines: what was done until then, what is known.
    pub notes: Vec<String>,
    /// What to do now.
    pub hint: Option<String>,
    /// Further errors that were found in the same input.
    pub others: Vec<Error>,
    /// Whether there was no room left on a disk, which is not the fault of what was being done.
    pub is_of_full_disk: bool,
}

impl Error {
    /// The work could not be done.
    pub fn new(cause: impl Display) -> Error {
        Error {
            kind: ErrorKind::Failed,
            place: None,
            key: None,
            cause: cause.to_string(),
            notes: Vec::new(),
            hint: None,
            others: Vec::new(),
            is_of_full_disk: false,
        }
    }

    /// The work could not be done because of `error`. Whether a disk was full is known from the kind of an error of the system, which may be
    /// its source.
    pub(crate) fn of(error: impl std::error::Error + 'static) -> Error {
        let mut sources = std::iter::successors(Some(&error as &(dyn std::error::Error + 'static)), |one| one.source());
        let is_of_full_disk = sources.any(|one| one.downcast_ref().is_some_and(is_full));
        Error { is_of_full_disk, ..Error::new(&error) }
    }

    /// The work could not be done because of what the system says of the file or folder at `path`.
    pub(crate) fn of_file(path: &Path, error: &io::Error) -> Error {
        Error { is_of_full_disk: is_full(error), ..Error::new(format_args!("{}: {error}", path.display())) }
    }

    /// What was asked for cannot mean anything.
    pub fn usage(cause: impl Display) -> Error {
        Error { kind: ErrorKind::Usage, ..Error::new(cause) }
    }

    /// The work was stopped.
    pub fn interrupted(cause: impl Display) -> Error {
        Error { kind: ErrorKind::Interrupted, ..Error::new(cause) }
    }

    /// The user stopped what has written nothing yet.
    pub(crate) fn stopped() -> Error {
        Error::interrupted("interrupted: nothing was written")
    }

    /// An output that exists and may not be replaced.
    pub fn exists(path: &Path) -> Error {
        Error::new(format_args!("{}: exists already", path.display()))
            .hint("--force replaces it, another name leaves it")
    }

    /// Adds a line below the cause.
    #[must_use]
    pub fn note(mut self, note: impl Display) -> Error {
        self.notes.push(note.to_string());
        self
    }

    /// Says what to do now.
    #[must_use]
    pub fn hint(self, hint: impl Display) -> Error {
        Error { hint: Some(hint.to_string()), ..self }
    }

    /// Says what to do now, if anything is known.
    #[must_use]
    pub fn hint_if(self, hint: Option<impl Display>) -> Error {
        match hint {
            Some(hint) => self.hint(hint),
            None => self,
        }
    }

    /// Adds further errors of the same input.
    #[must_use]
    pub fn and(mut self, others: impl IntoIterator<Item = Error>) -> Error {
        self.others.extend(others);
        self
    }

    /// Adds another error of the same input, with its others.
    #[must_use]
    pub(crate) fn with(self, other: Option<Error>) -> Error {
        let Some(mut other) = other else { return self };
        let others = std::mem::take(&mut other.others);
        self.and(std::iter::once(other).chain(others))
    }

    /// The first of these errors with all others in [`Error::others`]; none of none.
    pub fn all(errors: impl IntoIterator<Item = Error>) -> Option<Error> {
        let mut errors = errors.into_iter();
        Some(errors.next()?.and(errors))
    }

    /// The same, by place.
    #[must_use]
    pub(crate) fn in_order(mut self) -> Error {
        let others = std::mem::take(&mut self.others);
        let mut errors: Vec<Error> = std::iter::once(self).chain(others).collect();
        errors
            .sort_by_key(|error| (error.place.is_none(), error.place.as_ref().map(|place| (place.line, place.column))));
        let first = errors.remove(0);
        first.and(errors)
    }

    /// It and [`Error::others`], one by one.
    pub fn each(&self) -> impl Iterator<Item = &Error> {
        std::iter::once(self).chain(&self.others)
    }

    /// It and its others without places.
    #[must_use]
    pub(crate) fn nowhere(mut self) -> Error {
        let others = std::mem::take(&mut self.others).into_iter().map(Error::nowhere).collect();
        Error { place: None, others, ..self }
    }

    /// Whether a full disk is the reason of it or of one of its others.
    pub(crate) fn has_full_disk(&self) -> bool {
        self.each().any(|error| error.is_of_full_disk)
    }

    /// Says where it is.
    #[must_use]
    pub fn at(self, place: Place) -> Error {
        Error { place: Some(Box::new(place)), ..self }
    }
}

/// Whether the system had no room.
fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// The place and the cause, the notes and the hint below them; then the other errors.
impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.cause)?;
        for note in &self.notes {
            write!(f, "\n  {note}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        self.others.iter().try_for_each(|other| write!(f, "\n{other}"))
    }
}

impl std::error::Error for Error {}

impl From<KeyError> for Error {
    fn from(error: KeyError) -> Error {
        Error { key: Some(error.key.clone()), ..Error::usage(error) }
    }
}

/// An error and its others as text without their columns, for tests of what is said about a line.
#[cfg(test)]
pub fn by_line(mut error: Error) -> String {
    let others = std::mem::take(&mut error.others);
    if let Some(place) = &mut error.place {
        place.column = None;
    }
    let others = others.into_iter().map(|other| format!("\n{}", by_line(other)));
    error.to_string() + &others.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_nearest() {
        let known = ["drop-tail", "codel", "fq-codel", "red"];
        assert_eq!(nearest("fqcodel", &known), Some("fq-codel"));
        assert_eq!(nearest("droptail", &known), Some("drop-tail"));
        assert_eq!(nearest("hierarchical-token-bucket", &known), None);
    }

    /// By the kind of the system's error, wherever it is in the chain, and not by words.
    #[test]
    fn a_full_disk_is_known_by_its_kind() {
        let full = || io::Error::from_raw_os_error(28);
        let of_table = |source| flowloom_store::FileError::Write { path: "queue.parquet".into(), source };
        let of_folder = flowloom_store::run_folder::RunFolderError::File(of_table(full()));
        assert!(Error::of(of_folder).note("what was recorded is in x").has_full_disk());
        assert!(Error::usage("x").and([Error::of(of_table(io::ErrorKind::QuotaExceeded.into()))]).has_full_disk());
        assert!(Error::of_file(Path::new("a"), &full()).has_full_disk());
        let words = full().to_string();
        assert!(!Error::new(&words).has_full_disk() && !Error::of(of_table(io::Error::other(words))).has_full_disk());
    }

    #[test]
    fn an_error_reads_place_cause_notes_hint() {
        let error = Error::from(KeyError::new("queue.limit", "must hold a packet").within("network.bottleneck"));
        assert_eq!(error.key.as_deref(), Some("network.bottleneck.queue.limit"));
        let place = Place { file: "x.toml".to_owned(), line: Some(7), column: Some(3) };
        let text = error.at(place).note("known: a, b").hint("give a larger one").to_string();
        assert_eq!(
            text,
            "x.toml:7:3: network.bottleneck.queue.limit must hold a packet\n  known: a, b\n  hint: give a larger one"
        );
    }
}
