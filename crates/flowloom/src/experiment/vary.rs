//! `run.vary`: what differs between the seeds of a captured or fixed workload (methods M.5).

use std::str::FromStr;

use flowloom_core::keys::{Amount, Written};
use flowloom_core::time::Duration;
use flowloom_core::units::ParseQuantityError;

/// What differs between seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vary {
    /// Blocks with several seeds, nothing with one.
    Auto,
    /// Each seed draws blocks of the workload.
    Blocks,
    /// Each start moves by at most this.
    Jitter(Duration),
    /// Nothing: all seeds replay the workload as it is.
    Nothing,
}

impl FromStr for Vary {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Vary, ParseQuantityError> {
        let jitter = text.strip_prefix("jitter ").and_then(|by| by.parse::<Duration>().ok());
        match (text, jitter) {
            ("auto", _) => Ok(Vary::Auto),
            ("blocks", _) => Ok(Vary::Blocks),
            ("nothing", _) => Ok(Vary::Nothing),
            (_, Some(by)) if !by.is_zero() && by <= Vary::MOST_JITTER => Ok(Vary::Jitter(by)),
            _ => Err(ParseQuantityError::Form {
                text: text.to_owned(),
                expected: Vary::MEANING,
                example: "blocks, jitter 2s or nothing",
            }),
        }
    }
}

impl Vary {
    /// A start that moves farther has nothing to do with the old one.
    const MOST_JITTER: Duration = Duration::from_secs(3_600);
}

impl Written for Vary {
    const FORMAT: &'static str = "vary";
    const MEANING: &'static str = "auto, blocks, nothing, or jitter with a time";
    const EXAMPLES: &'static [&'static str] = &["blocks", "jitter 2s", "nothing"];

    fn pattern() -> String {
        format!("auto|blocks|nothing|jitter {}", Duration::pattern())
    }

    fn amount(&self) -> Option<Amount> {
        match self {
            Vary::Jitter(by) => Some((*by).into()),
            Vary::Auto | Vary::Blocks | Vary::Nothing => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_times() {
        for (text, vary) in [
            ("auto", Vary::Auto),
            ("blocks", Vary::Blocks),
            ("nothing", Vary::Nothing),
            ("jitter 2s", Vary::Jitter(Duration::from_secs(2))),
            ("jitter 500ms", Vary::Jitter(Duration::from_millis(500))),
        ] {
            assert_eq!(text.parse(), Ok(vary));
        }
        for text in ["", "jitter", "jitter 0s", "jitter 2", "jitter 2h", "2s", "block"] {
            assert!(text.parse::<Vary>().is_err(), "{text}");
        }
    }
}
