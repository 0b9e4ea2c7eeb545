//! Stacks as text: framings from the inside out with `+` between them, `wireguard+udp+ipv4+ethernet`; or the name of a stack.

use std::fmt;
use std::str::FromStr;

use super::known::{KNOWN, NAMED_STACKS, Shape};
use super::stack::{Cells, Framing, Stack, Step};

/// Most framings of a stack.
const MOST_FRAMINGS: usize = 32;
/// Largest number of bytes in a framing: the length of the largest datagram.
const MOST_BYTES: u32 = 65_535;
/// How framings are written whose overhead is given in numbers.
const NUMBERS: &str = "bytes:N (so many more), multiple:N and least:N (padding), cells:PAYLOAD/OVERHEAD";

/// A stack that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrittenError {
    /// No framing has this name.
    #[error("unknown framing \"{name}\"")]
    Unknown {
        /// As it was written.
        name: String,
    },
    /// A number that is none, or too large.
    #[error("framing \"{framing}\": {problem}; {NUMBERS}")]
    Number {
        /// As it was written.
        framing: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// Cells before another framing.
    #[error(
        "framing \"{after}\" comes after the cells of \"{cells}\": cells are what goes on the line, and are the last"
    )]
    AfterCells {
        /// The cells.
        cells: String,
        /// What follows.
        after: String,
    },
    /// XFRS has its rules from the cells.
    #[error("framing \"{framing}\" has to be the one before cells, as in {framing}+atm")]
    NotBeforeCells {
        /// As it was written.
        framing: String,
    },
    /// More framings than a stack may have.
    #[error("a stack of more than {MOST_FRAMINGS} framings")]
    TooMany,
}

/// What may stand between the `+`, or alone: names of stacks and framings, and how others are written.
pub fn known_names() -> Vec<&'static str> {
    let stacks = NAMED_STACKS.iter().map(|stack| stack.name);
    let framings = KNOWN.iter().map(|known| known.name);
    stacks.chain(framings).chain(["bytes:N", "multiple:N", "least:N", "cells:PAYLOAD/OVERHEAD"]).collect()
}

/// One of the parts between the `+`.
enum Part {
    Framing(Framing),
    Cells(Cells),
}

impl FromStr for Stack {
    type Err = WrittenError;

    fn from_str(text: &str) -> Result<Stack, WrittenError> {
        let text = NAMED_STACKS.iter().find(|stack| stack.name == text).map_or(text, |stack| stack.written);
        let mut stack = Stack { framings: Vec::new(), cells: None };
        for name in text.split('+') {
            if stack.framings.len() == MOST_FRAMINGS {
                return Err(WrittenError::TooMany);
            }
            let part = part(name)?;
            if let Some(cells) = &stack.cells {
                return Err(WrittenError::AfterCells { cells: cells.name.clone(), after: name.to_owned() });
            }
            match part {
                Part::Framing(framing) => stack.framings.push(framing),
                Part::Cells(cells) => stack.cells = Some(cells),
            }
        }
        let last = stack.framings.len().saturating_sub(1);
        let is_trailer = |step: &Step| matches!(step, Step::Trailer { .. });
        let misplaced =
            stack.framings.iter().enumerate().find(|(place, framing)| {
                framing.steps.iter().any(is_trailer) && (*place != last || stack.cells.is_none())
            });
        match misplaced {
            Some((_, framing)) => Err(WrittenError::NotBeforeCells { framing: framing.name.clone() }),
            None => Ok(stack),
        }
    }
}

fn part(written: &str) -> Result<Part, WrittenError> {
    let name = written.to_owned();
    if let Some(known) = KNOWN.iter().find(|known| known.name == written) {
        return Ok(match known.shape {
            Shape::Around(steps) => Part::Framing(Framing { name, steps: steps.to_vec() }),
            Shape::Cells { payload, overhead } => {
                Part::Cells(Cells { name, payload_bytes: payload, overhead_bytes: overhead })
            }
        });
    }
    let Some((kind, numbers)) = written.split_once(':') else { return Err(WrittenError::Unknown { name }) };
    let fail = |problem| WrittenError::Number { framing: written.to_owned(), problem };
    let number = |text: &str| match text.parse::<u32>() {
        Ok(bytes) if bytes <= MOST_BYTES => Ok(bytes),
        Ok(_) => Err(fail("more than 65,535 bytes")),
        Err(_) => Err(fail("a number that is not whole and from 0 on")),
    };
    let above_zero = |bytes: u32, problem| if bytes == 0 { Err(fail(problem)) } else { Ok(bytes) };
    let step = match kind {
        "bytes" => Step::Add(number(numbers)?),
        "least" => Step::Least(number(numbers)?),
        "multiple" => Step::Multiple(above_zero(number(numbers)?, "nothing is a multiple of 0")?),
        "cells" => {
            let (payload, overhead) =
                numbers.split_once('/').ok_or_else(|| fail("payload and overhead are missing"))?;
            let payload_bytes = above_zero(number(payload)?, "a cell with a payload of 0 carries nothing")?;
            return Ok(Part::Cells(Cells { name, payload_bytes, overhead_bytes: number(overhead)? }));
        }
        _ => return Err(WrittenError::Unknown { name }),
    };
    Ok(Part::Framing(Framing { name, steps: vec![step] }))
}

/// As it is read again; a stack with a name has it.
impl fmt::Display for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let framings = self.framings.iter().map(|framing| framing.name.as_str());
        let parts: Vec<&str> = framings.chain(self.cells.iter().map(|cells| cells.name.as_str())).collect();
        let written = parts.join("+");
        let named = NAMED_STACKS.iter().find(|stack| stack.written == written);
        f.write_str(named.map_or(&written, |stack| stack.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_are_written_as_they_are_read() {
        let all = KNOWN.iter().map(|known| known.name).filter(|name| !["xfrs", "sar"].contains(name));
        let names = all.chain(NAMED_STACKS.iter().map(|stack| stack.name));
        for text in names.chain(["pppoe+mac+llc-bridged+aal5+atm", "bytes:7+multiple:4+least:20+cells:60/4"]) {
            assert_eq!(text.parse::<Stack>().unwrap().to_string(), text);
        }
        assert_eq!("smds+aal34".parse::<Stack>().unwrap().to_string(), "smds-802.6");
    }

    #[test]
    fn every_fault_is_told() {
        for (text, wanted) in [
            ("", "unknown framing \"\""),
            ("ethernet+", "unknown framing \"\""),
            ("ether", "unknown framing \"ether\""),
            ("pad:3", "unknown framing \"pad:3\""),
            ("ethernet+smds-802.6", "unknown framing \"smds-802.6\""),
            ("cells:0/5", "framing \"cells:0/5\": a cell with a payload of 0 carries nothing"),
            ("cells:48", "framing \"cells:48\": payload and overhead are missing"),
            ("cells:48/", "framing \"cells:48/\": a number that is not whole"),
            ("multiple:0", "framing \"multiple:0\": nothing is a multiple of 0"),
            ("bytes:-1", "framing \"bytes:-1\": a number that is not whole"),
            ("bytes:65536", "framing \"bytes:65536\": more than 65,535 bytes"),
            ("atm+ethernet", "framing \"ethernet\" comes after the cells of \"atm\""),
            ("atm+atm", "framing \"atm\" comes after the cells of \"atm\""),
            ("xfrs", "framing \"xfrs\" has to be the one before cells"),
            ("xfrs+aal5+atm", "framing \"xfrs\" has to be the one before cells"),
        ] {
            let error = text.parse::<Stack>().unwrap_err();
            assert!(error.to_string().starts_with(wanted), "{text}: {error}");
        }
        let deep = vec!["udp"; 33].join("+");
        assert_eq!(deep.parse::<Stack>(), Err(WrittenError::TooMany));
    }
}
