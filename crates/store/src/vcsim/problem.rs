//! Problems of a specification.

use std::fmt::{self, Display};

use super::position::Position;

/// Most problems of one specification that are kept; further ones are counted.
pub const MOST_PROBLEMS: usize = 20;

/// Most characters of a word that a message repeats.
const MOST_CHARACTERS: usize = 40;

/// A problem of a specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The word to blame; `None` if the file lacks something.
    pub at: Option<Position>,
    /// The parameter it is about, after the name of its block: `router.idle_time`.
    pub key: Option<String>,
    /// What is wrong: lower case, no full stop. It names the key, but not the place.
    pub message: String,
    /// The words that are known there.
    pub known: Vec<&'static str>,
    /// What to do now.
    pub hint: Option<String>,
}

impl Problem {
    /// A problem of the word at `at`.
    pub fn new(at: impl Into<Option<Position>>, message: impl Display) -> Problem {
        Problem { at: at.into(), key: None, message: message.to_string(), known: Vec::new(), hint: None }
    }

    /// Adds the parameter it is about.
    #[must_use]
    pub fn about(self, key: impl Display) -> Problem {
        Problem { key: Some(key.to_string()), ..self }
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(self, hint: impl Display) -> Problem {
        Problem { hint: Some(hint.to_string()), ..self }
    }

    /// Adds the known words, and the one that was probably meant.
    #[must_use]
    pub(super) fn known(self, known: &[&'static str], meant: Option<&str>) -> Problem {
        let known = known.to_vec();
        match meant {
            Some(meant) => Problem { known, ..self }.hint(format_args!("did you mean \"{meant}\"?")),
            None => Problem { known, ..self },
        }
    }
}

impl Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Position { line, column }) = self.at {
            write!(f, "{line}:{column}: ")?;
        }
        f.write_str(&self.message)
    }
}

/// All problems of a specification, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    found: Vec<Problem>,
    more: usize,
}

impl Problems {
    /// Adds a problem. Of more than [`MOST_PROBLEMS`] the first of the file are kept.
    pub fn push(&mut self, problem: Problem) {
        let order = |problem: &Problem| (problem.at.is_none(), problem.at);
        let place = self.found.partition_point(|other| order(other) <= order(&problem));
        self.found.insert(place, problem);
        if self.found.len() > MOST_PROBLEMS {
            self.found.truncate(MOST_PROBLEMS);
            self.more += 1;
        }
    }

    /// The problems that are kept.
    pub fn found(&self) -> &[Problem] {
        &self.found
    }

    /// The number of further problems.
    pub fn more(&self) -> usize {
        self.more
    }

    /// The number of all problems.
    pub fn count(&self) -> usize {
        self.found.len() + self.more
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }
}

/// The beginning of a word as messages show it.
pub(super) fn shown(word: &str) -> String {
    word.chars().take(MOST_CHARACTERS).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_first_of_the_file() {
        let mut problems = Problems::default();
        for line in (1..=30).rev() {
            problems.push(Problem::new(Position { line, column: 1 }, line));
        }
        problems.push(Problem::new(None, "nothing would be sent"));
        let lines: Vec<String> = problems.found().iter().map(Problem::to_string).collect();
        assert_eq!((lines.len(), &lines[0][..], &lines[19][..]), (20, "1:1: 1", "20:1: 20"));
        assert_eq!((problems.more(), problems.count()), (11, 31));
    }
}
