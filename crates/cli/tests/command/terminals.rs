//! What terminals get: colours, lines that fit, completions, manual pages.

use std::process::{Command, Stdio};

use flowloom_needs::{Need, skip};
use flowloom_testkit::command::{Bench, Traffic};

/// The command run with these variables, without those of this test's environment that say something about colours.
fn with(bench: &Bench, variables: &[(&str, &str)], words: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flowloom"));
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
        command.env_remove(name);
    }
    let said = command.envs(variables.iter().copied()).args(words).current_dir(bench.folder.path()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (said.status.code().unwrap_or(-1), text(&said.stdout), text(&said.stderr))
}

#[test]
fn colours_follow_options_and_environment() {
    let bench = Bench::new();
    for (variables, words, coloured) in [
        (&[][..], &["describe", "no.pcap"][..], false),
        (&[], &["--color", "always", "describe", "no.pcap"], true),
        (&[], &["describe", "no.pcap", "--color=always"], true),
        (&[("CLICOLOR_FORCE", "1")], &["describe", "no.pcap"], true),
        (&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], &["describe", "no.pcap"], false),
        (&[("CLICOLOR_FORCE", "1")], &["describe", "no.pcap", "--color", "never"], false),
        (&[("NO_COLOR", "1")], &["describe", "no.pcap", "--color", "always"], true),
        // What clap says of a wrong option.
        (&[], &["--color", "always", "describe", "--no-such"], true),
        (&[], &["--color", "never", "describe", "--no-such"], false),
    ] {
        let (code, _, err) = with(&bench, variables, words);
        assert!(code > 0 && err.contains('\u{1b}') == coloured, "{variables:?} {words:?}: {err:?}");
    }
    let (code, _, err) = with(&bench, &[], &["describe", "no.pcap", "--color", "mauve"]);
    assert!(code == 2 && err.contains("auto") && err.contains("never"), "{err}");
}

/// A word of the shell's: nothing of what goes to standard error is on the terminal.
const SILENT: &str = "2>/dev/null";

/// What `words` print on a terminal of `columns`; nothing where there is no `script`.
fn on_terminal(bench: &Bench, columns: u16, variables: &[(&str, &str)], words: &[&str]) -> Option<String> {
    let quoted: Vec<String> =
        words.iter().map(|word| if *word == SILENT { SILENT.into() } else { format!("'{word}'") }).collect();
    let line = format!("stty rows 24 cols {columns}; '{}' {}", env!("CARGO_BIN_EXE_flowloom"), quoted.join(" "));
    let said = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .envs(variables.iter().copied())
        .current_dir(bench.folder.path())
        .stdin(Stdio::null())
        .output();
    let Ok(said) = said else {
        skip("cli: widths of terminals", Need::new("script", "apt-get install bsdutils"));
        return None;
    };
    Some(String::from_utf8_lossy(&said.stdout).replace("\r\n", "\n"))
}

#[test]
fn answers_fit_narrow_terminals() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(40).pcap());
    bench.flowloom(&["run", "c.pcap", "-o", "a"]).succeeded();
    bench.flowloom(&["run", "c.pcap", "-o", "b", "--rate", "101%", "--queue", "10p"]).succeeded();
    bench.flowloom(&["run", "c.pcap", "-o", "s", "--seed", "1", "--seed", "2"]).succeeded();
    bench.file("k.toml", crate::calibrate::EXCHANGES.as_bytes());
    bench.file("lab.ns", crate::lab::SCRIPT.as_bytes());
    let plain = [("NO_COLOR", "1"), ("TERM", "dumb")];
    for words in [
        &["run", "c.pcap", "-o", "r"][..],
        &["run", "c.pcap", "-o", "t", "--seed", "1", "--seed", "2"],
        &["sweep", "c.pcap", "-o", "w", "--vary", "queue=10p,50p", "--seeds", "2"],
        &["compare", "a"],
        &["compare", "a", "b"],
        &["compare", "a", "--explain"],
        &["describe", "c.pcap"],
        &["describe", "a"],
        &["describe", "s"],
        &["fit", "c.pcap"],
        &["fit", "c.pcap", "--model", "swing"],
        &["overhead", "c.pcap"],
        &["calibrate", "k.toml", "--load", "20%"],
        &["model", "queue", "c.pcap"],
        &["lab", "check", "lab.ns"],
        &["verify", "a"],
        &["doctor"],
    ] {
        // What is said on standard error is not laid out in columns.
        let Some(shown) = on_terminal(&bench, 60, &plain, &[words, &[SILENT]].concat()) else { return };
        let wide: Vec<&str> =
            shown.lines().filter(|line| line.chars().count() > 60 && line.trim().contains(' ')).collect();
        assert!(shown.lines().count() > 1 && wide.is_empty(), "{words:?}: {wide:#?}\n{shown}");
    }
}

#[test]
fn answers_are_coloured() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(40).pcap());
    let Some(shown) = on_terminal(&bench, 100, &[("TERM", "xterm")], &["run", "c.pcap", "-o", "a"]) else { return };
    assert!(shown.contains("accounted \u{1b}[1;32mVALID\u{1b}[0m") && !shown.contains("\\u{"), "{shown}");
}

#[test]
fn progress_is_drawn_unless_it_is_not_wanted() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(40).pcap());
    let sweep = |folder: &'static str| ["sweep", "c.pcap", "-o", folder, "--vary", "queue=10p,50p", "--seeds", "2"];
    let usual = [("TERM", "xterm"), ("NO_COLOR", "1")];
    let Some(shown) = on_terminal(&bench, 100, &usual, &sweep("a")) else { return };
    assert!(shown.contains("sweeping"), "{shown:?}");
    let quiet = [&sweep("b")[..], &["--no-progress"]].concat();
    for (variables, words) in [(usual, quiet), ([("TERM", "dumb"), ("NO_COLOR", "1")], sweep("c").to_vec())] {
        let shown = on_terminal(&bench, 100, &variables, &words).unwrap_or_default();
        assert!(!shown.contains("sweeping") && !shown.contains('\u{1b}'), "{words:?}: {shown:?}");
    }
}

#[test]
fn names_act_on_no_terminal_and_no_page() {
    let bench = Bench::new();
    let name = "a\u{202e}b\u{1b}[31mc.pcap";
    bench.file(name, &Traffic::many(10).pcap());
    let said = bench.flowloom(&["run", name, "-o", "r"]);
    let acts = |text: &str| text.contains(['\u{202e}', '\u{1b}']);
    assert!(!acts(&said.succeeded().out) && said.out.contains("a\\u{202e}b\\u{1b}[31mc"), "{}", said.out);
    let page = std::fs::read_to_string(bench.path("r/report.html")).unwrap();
    assert!(!acts(&page) && page.contains("a\\u{202e}b"), "the page has the name as it is");
    assert!(page.contains("script-src 'sha256-") && !page.contains("unsafe-inline"));
}

#[test]
fn shells_complete_commands() {
    let bench = Bench::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let said = bench.flowloom(&["completions", shell]);
        assert!(said.succeeded().out.contains("calibrate") && !said.out.contains("live-worker"), "{shell}");
    }
    bench.file("complete.sh", bench.flowloom(&["completions", "bash"]).out.as_bytes());
    let tried = "bash -n complete.sh && source ./complete.sh && COMP_WORDS=(flowloom comp) COMP_CWORD=1 && \
                 _flowloom flowloom comp flowloom && echo \"${COMPREPLY[@]}\"";
    let said = Command::new("bash").args(["-c", tried]).current_dir(bench.folder.path()).output().unwrap();
    let found = String::from_utf8_lossy(&said.stdout);
    assert_eq!(found.trim(), "compare completions", "{}", String::from_utf8_lossy(&said.stderr));
}

#[test]
fn manual_pages_are_written_once() {
    let bench = Bench::new();
    bench.flowloom(&["man", "pages"]).succeeded();
    let page = std::fs::read_to_string(bench.path("pages/flowloom-sweep.1")).unwrap();
    assert!(page.contains(".SH SYNOPSIS") && page.contains("\\-\\-most\\-seeds"), "{page}");
    let page = std::fs::read_to_string(bench.path("pages/flowloom-convert.1")).unwrap();
    assert!(
        page.contains("\n.nf\n") && page.contains("\n  .csv                 csv       a row per connection"),
        "{page}"
    );
    bench.flowloom(&["man", "pages"]).failed(1, &["exists already", "--force"]);
    bench.flowloom(&["man", "pages", "--force", "-q"]).succeeded();
    bench.flowloom(&["man", "-"]).failed(2, &["hint"]);
}
