//! The options that name something to write, for a test that forgets none.

use clap::CommandFactory;

use super::Cli;

/// Options that are called like those, and name something to read.
const INPUTS: [(&str, &str); 3] = [("lab admit", "request"), ("lab enrol", "answer"), ("schema", "answer")];

/// Options whose folder is added to, and never replaced.
const ADDED_TO: [(&str, &str); 1] = [("monitor run", "output")];

/// Every other option that names something to write. `cli/tests/command/outputs.rs` tries each on what exists already.
const OUTPUTS: [(&str, &str); 22] = [
    ("calibrate", "output"),
    ("compare", "html"),
    ("convert", "output"),
    ("describe", "html"),
    ("extract", "output"),
    ("fit", "html"),
    ("fit", "output"),
    ("init", "output"),
    ("lab admit", "answer"),
    ("lab enrol", "request"),
    ("lab format", "output"),
    ("lab run", "output"),
    ("man", "output"),
    ("model", "output"),
    ("overhead", "html"),
    ("plot", "data"),
    ("plot", "output"),
    ("report", "output"),
    ("run", "cell_trace"),
    ("run", "output"),
    ("shell", "output"),
    ("sweep", "output"),
];

#[test]
fn every_output_is_known_and_has_force() {
    const NAMES: [&str; 6] = ["output", "html", "cell_trace", "data", "request", "answer"];
    fn outputs(command: &clap::Command, name: &str, found: &mut Vec<(String, String)>) {
        let is_output = |argument: &&clap::Arg| NAMES.contains(&argument.get_id().as_str());
        for argument in command.get_arguments().filter(is_output) {
            let id = argument.get_id().to_string();
            let has_force = command.get_arguments().any(|other| other.get_id() == "force");
            if ADDED_TO.contains(&(name, &*id)) {
                assert!(!has_force, "{name} {id} is added to");
                continue;
            }
            assert!(has_force || ["request", "answer"].contains(&&*id), "{name} {id} has no --force");
            found.push((name.to_owned(), id));
        }
        for below in command.get_subcommands() {
            outputs(below, format!("{name} {}", below.get_name()).trim_start(), found);
        }
    }
    let mut found = Vec::new();
    outputs(&Cli::command(), "", &mut found);
    let mut known: Vec<(String, String)> = OUTPUTS.map(|(command, id)| (command.to_owned(), id.to_owned())).to_vec();
    let is_input = |one: &(String, String)| INPUTS.contains(&(&*one.0, &*one.1));
    found.retain(|one| !is_input(one));
    found.sort();
    known.sort();
    assert_eq!(found, known, "those that exist, and those that are tried");
}
