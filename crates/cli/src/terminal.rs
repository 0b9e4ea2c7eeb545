//! What terminals are used for: colours and progress, by options (`--color`, `--no-progress`) and by the environment (NO_COLOR,
//! CLICOLOR_FORCE, CLICOLOR, TERM).

use std::ffi::OsString;
use std::io::IsTerminal;
use std::sync::OnceLock;

use clap::ColorChoice;

static ASKED: OnceLock<Asked> = OnceLock::new();

/// What the options ask for.
#[derive(Clone, Copy, Debug)]
struct Asked {
    color: ColorChoice,
    no_progress: bool,
}

/// Keeps what the options ask for; the first call counts.
pub fn ask(color: ColorChoice, no_progress: bool) {
    let _ = ASKED.set(Asked { color, no_progress });
}

fn asked() -> Asked {
    ASKED.get().copied().unwrap_or(Asked { color: ColorChoice::Auto, no_progress: false })
}

/// Whether text for `stream` is coloured.
pub fn colour(stream: &impl IsTerminal) -> bool {
    is_coloured(asked().color, stream.is_terminal(), variable)
}

/// Whether progress may be drawn on a terminal: a line that is drawn over and over.
pub fn draws_progress() -> bool {
    !asked().no_progress && variable("TERM").as_deref() != Some("dumb")
}

/// A variable of the environment that is not empty.
fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()).filter(|value| !value.is_empty())
}

/// An option goes before NO_COLOR, that before CLICOLOR_FORCE, and that before what the terminal is.
fn is_coloured(choice: ColorChoice, is_terminal: bool, variable: impl Fn(&str) -> Option<String>) -> bool {
    let is = |name, value: &str| variable(name).as_deref() == Some(value);
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto if variable("NO_COLOR").is_some() => false,
        ColorChoice::Auto if variable("CLICOLOR_FORCE").is_some_and(|value| value != "0") => true,
        ColorChoice::Auto => is_terminal && !is("CLICOLOR", "0") && !is("TERM", "dumb"),
    }
}

/// What `--color` among `words` asks for, before they are read: messages about wrong words are coloured, too.
pub fn color_among(words: impl IntoIterator<Item = OsString>) -> ColorChoice {
    let words = words.into_iter().map(|word| word.to_string_lossy().into_owned()).take_while(|word| word != "--");
    let words: Vec<String> = words.collect();
    let value = words.iter().enumerate().rev().find_map(|(place, word)| match word.strip_prefix("--color") {
        Some("") => words.get(place + 1).cloned(),
        Some(rest) => rest.strip_prefix('=').map(str::to_owned),
        None => None,
    });
    value.and_then(|value| value.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coloured(choice: ColorChoice, is_terminal: bool, environment: &[(&str, &str)]) -> bool {
        is_coloured(choice, is_terminal, |name| {
            environment
                .iter()
                .find(|(known, value)| *known == name && !value.is_empty())
                .map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn options_go_before_the_environment() {
        use ColorChoice::{Always, Auto, Never};
        for (choice, is_terminal, environment, wanted) in [
            (Auto, true, &[][..], true),
            (Auto, false, &[], false),
            (Auto, true, &[("NO_COLOR", "1")], false),
            (Auto, true, &[("NO_COLOR", "")], true),
            (Auto, false, &[("CLICOLOR_FORCE", "1")], true),
            (Auto, false, &[("CLICOLOR_FORCE", "0")], false),
            (Auto, false, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
            (Auto, true, &[("CLICOLOR", "0")], false),
            (Auto, true, &[("TERM", "dumb")], false),
            (Always, false, &[("NO_COLOR", "1"), ("TERM", "dumb")], true),
            (Never, true, &[("CLICOLOR_FORCE", "1")], false),
        ] {
            assert_eq!(coloured(choice, is_terminal, environment), wanted, "{choice} {is_terminal} {environment:?}");
        }
    }

    #[test]
    fn the_last_choice_counts() {
        let among = |words: &str| color_among(words.split(' ').map(OsString::from));
        assert_eq!(among("flowloom --color never run --color=always x"), ColorChoice::Always);
        assert_eq!(among("flowloom run --color"), ColorChoice::Auto);
        assert_eq!(among("flowloom shell x -- ls --color=always"), ColorChoice::Auto);
    }
}
