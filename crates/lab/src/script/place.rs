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
    /// At which byte each line begins.
    lines: Vec<usize>,
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
        let begins = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(begins).collect();
        self.files.push(File { name: name.to_owned(), text: text.into(), included_at, lines });
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
        let file = self.get(place.file);
        let at = (place.line as usize).saturating_sub(1);
        let from = file.lines.get(at).copied().unwrap_or(file.text.len());
        let to = file.lines.get(at + 1).copied().unwrap_or(file.text.len());
        file.text[from..to].trim_end_matches(['\n', '\r'])
    }

    /// The place of the bytes from `from` to `to` of a file.
    pub fn place(&self, file: u32, from: usize, to: usize) -> Place {
        let File { text, lines, .. } = self.get(file);
        let floor = |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let (from, to) = (floor(from), floor(to));
        let line = lines.partition_point(|begin| *begin <= from);
        let column = text[lines[line - 1]..from].chars().count() + 1;
        let stretch = text[from..to.max(from)].split('\n').next().unwrap_or_default();
        Place { file, line: line as u32, column: column as u32, length: stretch.chars().count() as u32 }
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
    }
}
