//! `flowloom man`: a manual page for each command.

use std::fs;
use std::io::{self, Write};

use clap_mangen::Man;

use flowloom::Error;
use flowloom::targets::{check_target, is_standard_output, write_page};

use crate::exit::Exit;
use crate::{args, help, interrupt, output};

/// Runs the command.
pub fn run(args: &args::Man, quiet: bool) -> Result<Exit, Error> {
    let folder = args.output.display();
    if is_standard_output(&args.output) {
        return Err(Error::usage("manual pages are several files, and do not go to standard output")
            .hint("name a folder: flowloom man DIR"));
    }
    let pages = pages().map_err(|error| Error::new(format_args!("manual pages: {error}")))?;
    for (name, _) in &pages {
        check_target(&args.output.join(name), args.force, &[])?;
    }
    fs::create_dir_all(&args.output)
        .map_err(|error| Error::new(format_args!("{folder}: {error}")).hint("name a folder that can be written"))?;
    for (name, page) in &pages {
        write_page(&args.output.join(name), args.force, interrupt::stop(), |out| out.write_all(page))?;
    }
    if !quiet {
        output::shown(&format!("{} pages in {folder}        next  man -l {folder}/flowloom.1\n", pages.len()))?;
    }
    Ok(Exit::Done)
}

/// The pages by their file names: of the program, of each command, and of each command below one.
fn pages() -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut command = help::public().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    let mut left = vec![command];
    while let Some(command) = left.pop() {
        left.extend(command.get_subcommands().cloned());
        let notes = command.get_after_help().map(ToString::to_string);
        let man = Man::new(command).manual("Flowloom");
        pages.push((man.get_filename(), page(&man, notes.as_deref())?));
    }
    pages.sort();
    Ok(pages)
}

/// One page; `notes` are what stands below the options in the help.
fn page(man: &Man, notes: Option<&str>) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    man.render_subcommands_section(&mut page)?;
    if let Some(notes) = notes {
        // Line by line: tables and examples are laid out already.
        writeln!(page, ".SH NOTES\n.nf\n{}\n.fi", notes.lines().map(literal).collect::<Vec<_>>().join("\n"))?;
    }
    man.render_version_section(&mut page)?;
    Ok(page)
}

/// A line of roff that shows `text` as it is.
fn literal(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use clap::Command;

    use super::*;

    #[test]
    fn every_command_has_a_page() {
        fn names(command: &Command, above: &str) -> Vec<String> {
            let below = command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help");
            let name = if above.is_empty() { "flowloom".to_owned() } else { format!("{above}-{}", command.get_name()) };
            let below: Vec<String> = below.flat_map(|below| names(below, &name)).collect();
            [vec![format!("{name}.1")], below].concat()
        }
        let mut wanted = names(&help::public(), "");
        wanted.sort();
        let pages = pages().unwrap();
        assert_eq!(pages.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), wanted);
        assert!(wanted.contains(&"flowloom-lab-check.1".to_owned()) && wanted.len() > 25, "{wanted:?}");
        for (name, page) in &pages {
            let text = String::from_utf8_lossy(page);
            assert!(!text.contains("live-worker"), "{name}");
        }
    }

    #[test]
    fn lines_of_notes_are_literal() {
        assert_eq!(literal(".parquet  a\\b --to"), "\\&.parquet  a\\eb \\-\\-to");
    }
}
