//! Help in terminals of any width: rows of tables and examples go on below their own second column.

use clap::{Command, CommandFactory, FromArgMatches};

use crate::args::Cli;
use crate::terminal;

/// Characters of a line where nothing says how wide the terminal is.
const USUAL_WIDTH: usize = 100;
/// A second column is at least this wide.
const LEAST_COLUMN: usize = 16;
/// The indentation of a continued line that has no second column, beyond that of its first line.
const HANG: usize = 4;

/// The command line, with help for this terminal.
///
/// # Errors
/// What is wrong with it; help and version, if they are asked for.
pub fn parse() -> Result<Cli, clap::Error> {
    let command = fitted(Cli::command(), width()).color(terminal::color_among(std::env::args_os()));
    let matches = command.try_get_matches()?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut Cli::command()))
}

/// The command line as users see it, without the commands that programs of ours start.
pub fn public() -> Command {
    let whole = Cli::command();
    let mut bare = Command::new("flowloom").version(env!("CARGO_PKG_VERSION")).propagate_version(true);
    if let (Some(about), Some(terms)) = (whole.get_about(), whole.get_after_help()) {
        bare = bare.about(about.clone()).after_help(terms.clone());
    }
    let shown = whole.get_subcommands().filter(|below| !below.is_hide_set());
    bare.args(whole.get_arguments()).subcommands(shown).subcommand_required(true)
}

/// Characters of a line, as clap counts them for the rest of the help.
fn width() -> usize {
    let terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let stated = || std::env::var("COLUMNS").ok()?.parse().ok();
    terminal.or_else(stated).filter(|width| *width > 0).unwrap_or(USUAL_WIDTH)
}

/// The same command, and those below it, with texts behind their options that fit into `width`.
fn fitted(command: Command, width: usize) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    let text = command.get_after_help().map(|text| fit(&text.to_string(), width));
    let command = match text {
        Some(text) => command.after_help(text),
        None => command,
    };
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, |below| fitted(below, width)))
}

/// Lines of at most `width` characters, unless a word is longer.
fn fit(text: &str, width: usize) -> String {
    let mut fitted = String::new();
    for line in text.lines() {
        let hang = hang(line, width);
        let mut rest = line;
        let mut indent = 0;
        while indent + rest.chars().count() > width {
            let Some((head, tail)) = split(rest, width - indent.min(width)) else { break };
            fitted.push_str(head);
            fitted.push('\n');
            fitted.extend(std::iter::repeat_n(' ', hang));
            (rest, indent) = (tail, hang);
        }
        fitted.push_str(rest);
        fitted.push('\n');
    }
    fitted.truncate(fitted.trim_end().len());
    fitted
}

/// The indentation of the lines that continue `line`: that of its second column, which two spaces or more precede, if there is room.
fn hang(line: &str, width: usize) -> usize {
    let indent = line.len() - line.trim_start().len();
    if indent == 0 {
        return 0;
    }
    let column = line[indent..].find("  ").map(|at| {
        let gap = &line[indent + at..];
        indent + at + gap.len() - gap.trim_start().len()
    });
    match column {
        Some(column) if column + LEAST_COLUMN <= width => column,
        _ => indent + HANG,
    }
}

/// What of a line fits into `width`, and what is left; nothing if there is no space to break at.
fn split(line: &str, width: usize) -> Option<(&str, &str)> {
    let begin = line.len() - line.trim_start().len();
    let breaks = line.match_indices(' ').map(|(at, _)| at).filter(|at| *at > begin && !line[..*at].ends_with(' '));
    let fits = |at: &usize| line[..*at].chars().count() <= width;
    let all: Vec<usize> = breaks.collect();
    let at = all.iter().copied().rfind(fits).or_else(|| all.first().copied())?;
    Some((&line[..at], line[at..].trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_go_on_below_their_column() {
        let text = "Values:\n  TIME   a number with its unit: 20ms, 60s, 10min\n  SIZE   bytes\n\nEnd.";
        let wanted =
            "Values:\n  TIME   a number with its\n         unit: 20ms, 60s,\n         10min\n  SIZE   bytes\n\nEnd.";
        assert_eq!(fit(text, 28), wanted);
        assert_eq!(fit(text, 100), text);
    }

    #[test]
    fn no_word_is_broken() {
        for width in [1, 10, 20, 40, 60, 100] {
            let text = "  flowloom convert campus.parquet -o campus.cvec --to tmix\n  a-word-that-is-longer-than-forty-characters-by-far  x y";
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&fit(text, width)), words(text));
        }
    }

    #[test]
    fn all_help_fits_and_loses_nothing() {
        fn check(command: &Command) {
            for width in [40, 60] {
                let Some(text) = command.get_after_help().map(ToString::to_string) else { continue };
                let fitted = fit(&text, width);
                let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
                assert_eq!(words(&fitted), words(&text));
                let wide = fitted.lines().find(|line| line.chars().count() > width && line.trim().contains(' '));
                assert_eq!(wide, None, "{} at {width}", command.get_name());
            }
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }
}
