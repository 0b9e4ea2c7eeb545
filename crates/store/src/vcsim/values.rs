//! Reads the values of parameters. Each function returns `None` after it has reported a problem.

use std::fmt::Display;
use std::ops::RangeInclusive;

use flowloom_core::keys::nearest;

use super::problem::{Problem, shown};
use super::reader::{Parameter, Reader};
use super::words::{FILE, Word, closes, is_name};
use super::{NONE, Placed};

/// The most of any amount: a hundred years of seconds.
const MOST: f64 = 3.2e9;
/// Bits per second.
const RATES: RangeInclusive<f64> = 1.0..=1e15;

impl<'a> Reader<'a> {
    /// The value of `parameter` as a word. If a name comes next, the value is missing.
    fn value(&mut self, parameter: Parameter) -> Option<Word<'a>> {
        self.value_unless(parameter, is_name)
    }

    fn value_unless(&mut self, parameter: Parameter, is_none: impl Fn(&str) -> bool) -> Option<Word<'a>> {
        let word = self.words.next_if(|word| !is_none(word.text));
        if word.is_none() {
            let key = parameter.key();
            self.problems.push(Problem::new(parameter.at, format_args!("{key} lacks a value")).about(key));
        }
        word
    }

    /// Reports a problem of a value; its text follows the key.
    fn refuse<T>(&mut self, parameter: Parameter, word: Word<'_>, problem: impl Display) -> Option<T> {
        let key = parameter.key();
        self.problems.push(Problem::new(word.at, format_args!("{key}{problem}")).about(key));
        None
    }

    /// A number of at least 0, with its word.
    fn number_and_word(&mut self, parameter: Parameter) -> Option<(f64, Word<'a>)> {
        let word = self.value(parameter)?;
        match word.text.parse::<f64>() {
            Ok(number) if number.is_finite() && number >= 0.0 => Some((number, word)),
            _ => self.refuse(parameter, word, format_args!(": \"{}\" is not a number of at least 0", shown(word.text))),
        }
    }

    /// A number of at least 0.
    pub fn number(&mut self, parameter: Parameter) -> Option<f64> {
        Some(self.number_and_word(parameter)?.0)
    }

    /// A number above 0.
    pub fn above_zero(&mut self, parameter: Parameter) -> Option<f64> {
        match self.number_and_word(parameter)? {
            (number, _) if number > 0.0 => Some(number),
            (_, word) => self.refuse(parameter, word, " must be above 0"),
        }
    }

    fn amount_and_word(&mut self, parameter: Parameter, unit: &str) -> Option<(f64, Word<'a>)> {
        match self.number_and_word(parameter)? {
            (amount, word) if amount <= MOST => Some((amount, word)),
            (_, word) => {
                let problem = format!(" of {} must be at most {MOST:e} {unit}", shown(word.text));
                self.refuse(parameter, word, problem)
            }
        }
    }

    /// A number of at least 0 and at most 3.2e9.
    pub fn amount(&mut self, parameter: Parameter, unit: &str) -> Option<f64> {
        Some(self.amount_and_word(parameter, unit)?.0)
    }

    fn seconds_and_word(&mut self, parameter: Parameter) -> Option<(f64, Word<'a>)> {
        match self.amount_and_word(parameter, "seconds")? {
            (seconds, word) if seconds == 0.0 || seconds >= 1e-9 => Some((seconds, word)),
            (_, word) => {
                let problem = format!(" of {} must be 0, or at least 1e-9 seconds", shown(word.text));
                self.refuse(parameter, word, problem)
            }
        }
    }

    /// A time that does not round to 0 ns: 0 or at least 1 ns.
    pub fn seconds(&mut self, parameter: Parameter) -> Option<f64> {
        Some(self.seconds_and_word(parameter)?.0)
    }

    /// A time above 0.
    pub fn seconds_above_zero(&mut self, parameter: Parameter) -> Option<f64> {
        match self.seconds_and_word(parameter)? {
            (seconds, _) if seconds > 0.0 => Some(seconds),
            (_, word) => self.refuse(parameter, word, " must be above 0"),
        }
    }

    /// Bits per second.
    pub fn rate(&mut self, parameter: Parameter) -> Option<f64> {
        match self.number_and_word(parameter)? {
            (rate, _) if RATES.contains(&rate) => Some(rate),
            (_, word) => {
                let problem = format!(" of {} must be from 1 to 1e15 bits per second", shown(word.text));
                self.refuse(parameter, word, problem)
            }
        }
    }

    /// Bits per second; 0 is no limit.
    pub fn rate_or_none(&mut self, parameter: Parameter) -> Option<f64> {
        match self.number_and_word(parameter)? {
            (rate, _) if rate == 0.0 || RATES.contains(&rate) => Some(rate),
            (_, word) => {
                let shown = shown(word.text);
                let problem = format!(" of {shown} must be 0 (none), or from 1 to 1e15 bits per second");
                self.refuse(parameter, word, problem)
            }
        }
    }

    /// A whole number of `range`.
    pub fn count(&mut self, parameter: Parameter, range: RangeInclusive<u32>) -> Option<u32> {
        let word = self.value(parameter)?;
        match word.text.parse::<u32>() {
            Ok(count) if range.contains(&count) => Some(count),
            _ => {
                let (text, least, most) = (shown(word.text), range.start(), range.end());
                let problem = format!(": \"{text}\" is not a whole number from {least} to {most}");
                self.refuse(parameter, word, problem)
            }
        }
    }

    /// 0 or 1.
    pub fn switch(&mut self, parameter: Parameter) -> Option<bool> {
        let word = self.value(parameter)?;
        match word.text.parse::<u32>() {
            Ok(0) => Some(false),
            Ok(1) => Some(true),
            _ => self.refuse(parameter, word, format_args!(": \"{}\" is neither 0 nor 1", shown(word.text))),
        }
    }

    /// The number of a node or a link.
    pub fn id(&mut self, parameter: Parameter) -> Option<Placed<u64>> {
        let word = self.value(parameter)?;
        match word.text.parse() {
            Ok(value) if value != NONE => Some(Placed { value, at: word.at }),
            _ => {
                let problem = format!(": \"{}\" is not a whole number below {NONE}", shown(word.text));
                self.refuse(parameter, word, problem)
            }
        }
    }

    /// One of some words.
    pub fn one_of<T: Copy>(&mut self, parameter: Parameter, known: &[(&'static str, T)]) -> Option<T> {
        let word = self.value(parameter)?;
        if let Some((_, value)) = known.iter().find(|(known, _)| *known == word.text) {
            return Some(*value);
        }
        let words: Vec<&'static str> = known.iter().map(|(known, _)| *known).collect();
        let key = parameter.key();
        let problem = Problem::new(word.at, format_args!("{key}: unknown word \"{}\"", shown(word.text)));
        self.problems.push(problem.about(key).known(&words, nearest(word.text, &words)));
        None
    }

    /// The name of a folder. It may be called as a parameter of a block, but not as a block.
    pub fn folder(&mut self, parameter: Parameter) -> Option<Placed<String>> {
        let word = self.value_unless(parameter, |word| FILE.names.contains(&word) || closes(word))?;
        Some(Placed { value: word.text.to_owned(), at: word.at })
    }
}
