//! Where something stands in which file.

use std::sync::Arc;

/// Where something stands: in which of the files that make up a script, at which line and column.
///
/// Places play no part in whether two trees are equal: a script is the same however it is laid out. So all places are equal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// The file, by its number in [`Files`].
    pub file: u32,
    /// The line, from 1 on.
    pub line: u32,
    /// The column in characters, from 1 on.
    pub column: u32,
    /// How many characters.
    pub length: u32,
}

impl PartialEq for Place {
    fn eq(&self, _: &Place) -> bool {
        true
    }
}

impl Eq for Place {}

impl Place {
    /// From the begin of this one to the end of `last`, if that is on the same line.
    pub fn to(self, last: Place) -> Place {
        let end = last.column + last.length;
        match self.line == last.line && end > self.column {
            true => Place { length: end - self.column, ..self },
            false => self,
        }
    }
}

/// A file of a script.
#[derive(Clone, Debug)]
pub struct File {
    /// Its name, as errors have it.
    pub name: String,
    /// What stands in it.
    pub text: Arc<str>,
    /// The line that includes it, if one does.
    pub included_at: Option<Place>,
    /// Where lines begin, and in long lines some places more.
    marks: Vec<Mark>,
}

/// A place in a file that is known.
#[derive(Clone, Copy, Debug)]
struct Mark {
    byte: usize,
    line: u32,
    column: u32,
}

/// Bytes between marks in a line that is longer.
const STRIDE: usize = 1_024;

/// The marks of a text.
fn marks(text: &str) -> Vec<Mark> {
    let mut here = Mark { byte: 0, line: 1, column: 1 };
    let mut marks = vec![here];
    let mut last = 0;
    for (byte, c) in text.char_indices() {
        if byte >= last + STRIDE {
            marks.push(Mark { byte, ..here });
            last = byte;
        }
        here.column += 1;
        if c == '\n' {
            here = Mark { byte: byte + 1, line: here.line + 1, column: 1 };
            marks.push(here);
            last = byte + 1;
        }
    }
    marks
}

/// The files that make up a script; the first is the script itself.
#[derive(Clone, Debug, Default)]
pub struct Files {
    files: Vec<File>,
}

impl Files {
    /// None yet.
    pub fn new() -> Files {
        Files::default()
    }

    /// Takes a file up, and gives it its number.
    pub fn add(&mut self, name: &str, text: &str, included_at: Option<Place>) -> u32 {
        self.files.push(File { name: name.to_owned(), text: text.into(), included_at, marks: marks(text) });
        (self.files.len() - 1) as u32
    }

    /// The file with this number.
    pub fn get(&self, file: u32) -> &File {
        &self.files[file as usize]
    }

    /// All of them, by number.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &File> {
        self.files.iter()
    }

    /// `name:line:column`
    pub fn locate(&self, place: Place) -> String {
        format!("{}:{}:{}", self.get(place.file).name, place.line, place.column)
    }

    /// The line that `place` is in.
    pub fn line(&self, place: Place) -> &str {
        let File { text, marks, .. } = self.get(place.file);
        let begin = |line: u32| marks.get(marks.partition_point(|mark| mark.line < line));
        let [from, to] = [place.line, place.line + 1].map(|line| begin(line).map_or(text.len(), |mark| mark.byte));
        text[from..to].trim_end_matches(['\n', '\r'])
    }

    /// The place of the bytes from `from` to `to` of a file.
    pub fn place(&self, file: u32, from: usize, to: usize) -> Place {
        let File { text, marks, .. } = self.get(file);
        let floor = |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let (from, to) = (floor(from), floor(to));
        let mark = marks[marks.partition_point(|mark| mark.byte <= from) - 1];
        let column = mark.column + text[mark.byte..from].chars().count() as u32;
        let stretch = text[from..floor(to.min(from + 4 * STRIDE)).max(from)].split('\n').next().unwrap_or_default();
        Place { file, line: mark.line, column, length: stretch.chars().count().min(STRIDE) as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_lines_and_columns() {
        let mut files = Files::new();
        let file = files.add("a.ns", "é = 1;\r\nb = 22;\n", None);
        let place = files.place(file, 13, 15);
        assert_eq!((place.line, place.column, place.length), (2, 5, 2));
        assert_eq!(files.line(place), "b = 22;");
        let place = files.place(file, 3, 99);
        assert_eq!((place.line, place.column, files.line(place)), (1, 3, "é = 1;"));
        let end = files.place(file, 99, 99);
        assert_eq!((end.line, end.column, files.line(end)), (3, 1, ""));
        assert_eq!(files.locate(end), "a.ns:3:1");
        let long = files.add("long", &("é".repeat(5_000) + "\nx"), None);
        let place = files.place(long, 6_000, 6_002);
        assert_eq!((place.line, place.column, place.length), (1, 3_001, 1));
        let last = files.place(long, 10_001, 10_002);
        assert_eq!((last.line, last.column, files.line(last)), (2, 1, "x"));
    }
}
