//! The live commands of `docs/recipes` run.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use flowloom_testkit::recipes::{Recipe, pages, recipes, root};

use crate::support::Bench;
use crate::{can_run, one_run};

#[test]
fn live_recipes_run() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let bench = Bench::new();
    for folder in ["testdata", "examples"] {
        symlink(root().join(folder).canonicalize().unwrap(), bench.path(folder)).unwrap();
    }
    let programs = Path::new(env!("CARGO_BIN_EXE_flowloom")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut live = 0;
    for page in pages() {
        let commands = recipes(&page);
        // What a live run is compared with.
        let needed = |recipe: &Recipe| recipe.is_live || page == "live.md";
        for Recipe { command, is_live } in commands.iter().filter(|recipe| needed(recipe)) {
            let said =
                Command::new("sh").args(["-c", command]).current_dir(bench.folder.path()).env("PATH", &path).output();
            let said = said.unwrap();
            // A busy host makes a run INVALID, which is no fault of the command.
            let allowed = if *is_live { &[0, 3][..] } else { &[0] };
            let told = String::from_utf8_lossy(&said.stderr);
            assert!(said.status.code().is_some_and(|code| allowed.contains(&code)), "{page}: {command}: {told}");
            live += usize::from(*is_live);
        }
    }
    assert!(live >= 2, "{live}");
}
