//! Where commands write, and what they never write over.

use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt, symlink};
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};

use flowloom_testkit::command::{Bench, Traffic};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

/// A folder with a capture, its workload, an experiment and a run.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(30).pcap());
    bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet"]).succeeded();
    bench.flowloom(&["run", "w.parquet", "-o", "r", "-q"]).succeeded();
    bench
}

#[test]
fn devices_and_pipes_are_written_into() {
    let bench = bench();
    symlink("/dev/null", bench.path("null")).unwrap();
    mkfifo(&bench.path("fifo"), Mode::S_IRWXU).unwrap();
    // Both ends in one: otherwise writing would wait for the reader.
    let mut fifo = fs::File::options().read(true).write(true).open(bench.path("fifo")).unwrap();
    let names = bench.names();
    for command in [
        &["extract", "c.pcap", "-o"][..],
        &["convert", "w.parquet", "--to", "jsonl", "-o"],
        &["convert", "r", "--to", "columns", "-o"],
        &["describe", "c.pcap", "--html"],
        &["fit", "c.pcap", "--model", "swing", "-o"],
        &["report", "r", "-o"],
    ] {
        bench.flowloom(&[command, &["null", "--force"]].concat());
        assert!(bench.path("null").is_symlink() && bench.names() == names, "{command:?}");
    }
    bench.flowloom(&["extract", "c.pcap", "-o", "/dev/null"]).succeeded();
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    bench.flowloom(&["convert", "r", "--to", "percentiles", "-o", "fifo", "-q"]).succeeded();
    let mut begin = [0; 8];
    std::io::Read::read_exact(&mut fifo, &mut begin).unwrap();
    assert!(fs::metadata(bench.path("fifo")).unwrap().file_type().is_fifo());
    bench.flowloom(&["extract", "c.pcap", "-o", "fifo", "--force"]).failed(2, &["fifo", "pipe", "jsonl"]);
    bench.flowloom(&["convert", "w.parquet", "--to", "parquet", "-o", "fifo"]).failed(2, &["fifo", "pipe", "jsonl"]);
    let _listener = UnixListener::bind(bench.path("socket")).unwrap();
    bench.flowloom(&["convert", "w.parquet", "--to", "csv", "-o", "socket", "--force"]).failed(1, &["a socket"]);
    for target in ["fifo", "socket", "null"] {
        bench.flowloom(&["run", "c.pcap", "-o", target, "--force"]).failed(1, &[target, "not a run folder"]);
    }
}

#[test]
fn links_are_kept_and_followed() {
    let bench = bench();
    fs::create_dir(bench.path("far")).unwrap();
    bench.file("far/old.csv", b"old");
    for (link, end) in [("link.csv", "far/old.csv"), ("loose.csv", "far/new.csv"), ("folder", "far/run")] {
        symlink(end, bench.path(link)).unwrap();
    }
    for (link, end) in [("link.csv", "far/old.csv"), ("loose.csv", "far/new.csv")] {
        let words = ["convert", "w.parquet", "-o", link];
        bench.flowloom(&words).failed(1, &[link, "--force"]);
        bench.flowloom(&[&words[..], &["--force"]].concat()).succeeded();
        assert!(bench.path(link).is_symlink() && fs::read(bench.path(end)).unwrap().len() > 100, "{link}");
    }
    bench.flowloom(&["run", "w.parquet", "-o", "folder"]).failed(1, &["exists already"]);
    for seeds in [&["--seed", "1"][..], &["--seed", "1", "--seed", "2"], &["--seed", "3"]] {
        bench.flowloom(&[&["run", "w.parquet", "-o", "folder", "--force", "-q"], seeds].concat()).succeeded();
        assert!(bench.path("folder").is_symlink() && bench.path("far/run/report.html").is_file());
    }
    assert_eq!(fs::read_dir(bench.path("far")).unwrap().count(), 3, "nothing temporary is left");
}

#[test]
fn no_input_is_replaced() {
    let bench = bench();
    symlink("w.parquet", bench.path("soft.parquet")).unwrap();
    fs::hard_link(bench.path("w.parquet"), bench.path("hard.csv")).unwrap();
    bench.file("e.toml", b"workload.source = \"w.parquet\"\nworkload.load = { method = \"thinning\", factor = 0.5 }\n");
    let before = fs::read(bench.path("w.parquet")).unwrap();
    for words in [
        &["convert", "w.parquet", "-o", "hard.csv"][..],
        &["convert", "w.parquet", "-o", "./soft.parquet"],
        &["extract", "c.pcap", "-o", "r/../c.pcap"],
        &["model", "e.toml", "-o", "w.parquet"],
        &["model", "e.toml", "-o", "e.toml"],
        &["fit", "w.parquet", "-o", "hard.csv"],
        &["describe", "w.parquet", "--html", "w.parquet"],
        &["report", "r", "-o", "r/queue.parquet"],
        &["convert", "r", "--to", "iperf3", "-o", "r/run.json"],
    ] {
        let said = bench.flowloom(&[words, &["--force"]].concat());
        assert!(matches!(said.code, 1 | 2) && said.err.contains("also"), "{words:?}: {}", said.err);
    }
    assert_eq!(fs::read(bench.path("w.parquet")).unwrap(), before);
    bench.flowloom(&["verify", "r", "w.parquet"]).succeeded();
    // A key is an input, too, and so is a file that standard input comes from.
    bench.file("campus.key", &[7; 32]);
    let words = ["extract", "c.pcap", "-o", "campus.key", "--hosts", "cryptopan", "--key", "campus.key", "--force"];
    bench.flowloom(&words).failed(1, &["campus.key", "also"]);
    assert_eq!(fs::read(bench.path("campus.key")).unwrap(), [7; 32]);
    let input = fs::read(bench.path("c.pcap")).unwrap();
    let status = Command::new(env!("CARGO_BIN_EXE_flowloom"))
        .current_dir(bench.folder.path())
        .args(["extract", "-", "-o", "c.pcap", "--force", "-q"])
        .stdin(File::open(bench.path("c.pcap")).unwrap())
        .stderr(Stdio::null())
        .status();
    assert_eq!(status.unwrap().code(), Some(1));
    assert_eq!(fs::read(bench.path("c.pcap")).unwrap(), input);
}

#[test]
fn a_run_folder_with_inputs_in_it_stays() {
    let bench = bench();
    fs::copy(bench.path("c.pcap"), bench.path("r/c.pcap")).unwrap();
    bench.file("r/e.toml", b"workload.source = \"../w.parquet\"\n");
    bench.file("out.toml", b"workload.source = \"r/c.pcap\"\n");
    for words in [&["r/c.pcap"][..], &["r/e.toml"], &["out.toml"], &["out.toml", "--seed", "1", "--seed", "2"]] {
        bench
            .flowloom(&[&["run"], words, &["-o", "r", "--force"]].concat())
            .failed(1, &["r: the input ", "in this folder", "hint"]);
    }
    assert!(bench.path("r/c.pcap").is_file() && bench.path("r/e.toml").is_file());
    fs::create_dir(bench.path("notes")).unwrap();
    bench.file("notes/thesis.tex", b"x");
    bench.flowloom(&["run", "c.pcap", "-o", "notes", "--force"]).failed(1, &["notes", "not a run folder"]);
}

/// Other programs have files with the names of ours.
#[test]
fn a_folder_of_another_program_stays() {
    let bench = bench();
    bench.file("two.spec", crate::internetworks::TWO.as_bytes());
    for (marker, input) in [("index.json", "w.parquet"), ("run.json", "w.parquet"), ("results.json", "two.spec")] {
        fs::create_dir_all(bench.path("web")).unwrap();
        bench.file(&format!("web/{marker}"), b"{\"pages\":[\"a\"]}");
        bench.flowloom(&["run", input, "-o", "web", "--force"]).failed(1, &["web"]);
        assert!(bench.path(&format!("web/{marker}")).is_file(), "{marker}");
        fs::remove_dir_all(bench.path("web")).unwrap();
    }
    // A page that was changed is the user's.
    bench.flowloom(&["run", "w.parquet", "-o", "r", "-q", "--force"]).succeeded();
    bench.file("r/report.html", b"notes");
    bench.flowloom(&["run", "w.parquet", "-o", "r", "--force"]).failed(1, &["report.html", "no run wrote"]);
}

#[test]
fn a_folder_with_a_users_files_stays() {
    let bench = bench();
    bench.file("two.spec", crate::internetworks::TWO.as_bytes());
    bench.flowloom(&["run", "two.spec", "-o", "v", "-q"]).succeeded();
    for (folder, words) in [
        ("r", ["run", "w.parquet", "-o", "r", "-q", "--force"]),
        ("v", ["run", "two.spec", "-o", "v", "-q", "--force"]),
    ] {
        bench.flowloom(&words).succeeded();
        for name in ["b.txt", "a.txt", "d.txt", "c.txt"] {
            bench.file(&format!("{folder}/{name}"), b"mine");
        }
        bench.flowloom(&words).failed(1, &[folder, "a.txt, b.txt, c.txt and 1 more", "move that", "-o"]);
        assert_eq!(fs::read(bench.path(folder).join("d.txt")).unwrap(), b"mine");
    }
}

/// Each output of each command (`OUTPUTS` in `cli/src/args/outputs.rs`) on what exists: an error that names it, and the same bytes as before.
#[test]
fn nothing_is_overwritten_without_force() {
    let bench = bench();
    bench.file("m.toml", crate::models::EXCHANGES.as_bytes());
    bench.file("k.toml", crate::calibrate::EXCHANGES.as_bytes());
    bench.file("two.spec", crate::internetworks::TWO.as_bytes());
    bench.file("lab.ns", crate::lab::SCRIPT.as_bytes());
    bench.file("mine", b"mine");
    fs::create_dir(bench.path("folder")).unwrap();
    bench.file("folder/mine", b"mine");
    bench.file("folder/flowloom.1", b"mine");
    for words in [
        &["extract", "c.pcap", "-o", "mine"][..],
        &["convert", "w.parquet", "--to", "csv", "-o", "mine"],
        &["convert", "r", "--to", "iperf3", "-o", "mine"],
        &["describe", "c.pcap", "--html", "mine"],
        &["describe", "r", "--html", "mine"],
        &["fit", "w.parquet", "--html", "mine"],
        &["fit", "w.parquet", "-o", "mine"],
        &["fit", "w.parquet", "--model", "swing", "-o", "mine"],
        &["fit", "w.parquet", "--model", "harpoon", "-o", "mine"],
        &["overhead", "w.parquet", "--html", "mine"],
        &["plot", "r", "--figure", "response-cdf", "-o", "mine", "--format", "svg"],
        &["plot", "r", "--figure", "response-cdf", "--data", "mine"],
        &["model", "m.toml", "-o", "mine", "--duration", "3s"],
        &["calibrate", "k.toml", "--load", "20%", "-o", "folder"],
        &["calibrate", "k.toml", "--load", "20%", "-o", "mine"],
        &["run", "w.parquet", "-o", "folder"],
        &["run", "w.parquet", "-o", "mine"],
        &["run", "two.spec", "-o", "folder"],
        &["run", "two.spec", "--cell-trace", "mine"],
        &["sweep", "w.parquet", "--vary", "queue=10p,20p", "-o", "folder"],
        &["sweep", "w.parquet", "--vary", "queue=10p,20p", "-o", "mine"],
        &["report", "r", "-o", "mine"],
        &["compare", "r", "--html", "mine"],
        &["compare", "r", "--explain", "--html", "mine"],
        &["init", "-o", "mine"],
        &["lab", "format", "lab.ns", "-o", "mine"],
        &["lab", "run", "lab.ns", "-o", "folder"],
        &["shell", "m.toml", "--duration", "1s", "-o", "folder", "--", "true"],
        &["man", "folder"],
        &["man", "mine"],
    ] {
        let said = bench.flowloom(words);
        let target = if words.contains(&"folder") { "folder" } else { "mine" };
        assert!(matches!(said.code, 1 | 2) && said.err.contains(target), "{words:?}: {} {}", said.code, said.err);
        for name in ["mine", "folder/mine", "folder/flowloom.1"] {
            assert_eq!(fs::read(bench.path(name)).unwrap(), b"mine", "{words:?}");
        }
        assert_eq!(fs::read_dir(bench.path("folder")).unwrap().count(), 2, "{words:?}");
    }
    // Enrolment by files.
    bench.flowloom(&["lab", "init", "lab"]).succeeded();
    let token = bench.flowloom(&["lab", "invite", "east"]).succeeded().out.trim().to_owned();
    bench.flowloom(&["lab", "enrol", &token, "--dir", "agent", "--request", "mine"]);
    assert_eq!(fs::read(bench.path("mine")).unwrap(), b"mine");
    // Without its request the key goes again, and the next attempt finds nothing.
    assert!(!bench.path("agent.pending").exists());
    bench.flowloom(&["lab", "enrol", &token, "--dir", "agent", "--request", "first.request"]).succeeded();
    bench
        .flowloom(&["lab", "enrol", &token, "--dir", "agent", "--request", "second.request"])
        .failed(1, &["a request was made before", "agent.pending"]);
    assert!(!bench.path("second.request").exists() && bench.path("agent.pending").is_dir());
    bench.flowloom(&["lab", "enrol", &token, "--dir", "other", "--request", "east.request"]).succeeded();
    bench.flowloom(&["lab", "admit", "--request", "east.request", "--answer", "mine"]);
    assert_eq!(fs::read(bench.path("mine")).unwrap(), b"mine");
}

#[test]
fn standard_output_is_written_alike() {
    let bench = bench();
    bench.file("s.ns", b"cluster { test a { duration = 1; } }\n");
    for (words, begin) in [
        (&["convert", "w.parquet", "--to", "jsonl", "-o", "-"][..], "{"),
        (&["convert", "w.parquet", "--to", "csv", "-o", "/dev/stdout"], "id,start_ns"),
        (&["fit", "c.pcap", "--model", "swing", "-o", "-"], "{\"model\":\"swing\""),
        (&["report", "r", "-o", "-"], "<!DOCTYPE html>"),
        (&["describe", "w.parquet", "--html", "-"], "<!DOCTYPE html>"),
        (&["init", "-o", "-"], "#"),
        (&["lab", "format", "s.ns", "-o", "-"], "cluster"),
    ] {
        let said = bench.flowloom(words);
        assert!(
            said.code == 0 && said.out.to_lowercase().starts_with(&begin.to_lowercase()),
            "{words:?}: {}",
            said.out
        );
        assert!(!bench.path("-").exists());
    }
    for words in [
        &["extract", "c.pcap", "-o", "-"][..],
        &["run", "c.pcap", "-o", "-"],
        &["calibrate", "e.toml", "--load", "50%", "-o", "-"],
        &["lab", "run", "s.ns", "-o", "-"],
    ] {
        let said = bench.flowloom(words);
        assert!(said.code == 2 && said.err.contains("hint") && !bench.path("-").exists(), "{words:?}: {}", said.err);
    }
    bench.flowloom(&["describe", "w.parquet", "--html", "-", "--json"]).failed(2, &["standard output"]);
}

#[test]
fn shell_takes_experiments() {
    let bench = bench();
    bench.flowloom(&["shell", "no.toml", "--", "true"]).failed(1, &["no.toml: there is no such file", "hint"]);
    bench.flowloom(&["shell", "c.pcap", "--", "true"]).failed(2, &["c.pcap is a capture", "experiment (.toml)"]);
}

#[test]
fn sources_alone_refuse_what_they_ignore() {
    let bench = Bench::new();
    let sources = "measure.duration = \"1s\"\n[[sources]]\nname = \"s\"\nkind = \"bulk\"\n";
    bench.file("s.toml", sources.as_bytes());
    for option in [
        &["--missing", "all"][..],
        &["--complete-only"],
        &["--tcp-only"],
        &["--strict"],
        &["--inside", "10.0.0.0/8"],
        &["--wait-min", "1s"],
        &["--wait-correct", "none"],
        &["--vary", "blocks"],
    ] {
        bench.flowloom(&[&["run", "s.toml", "-o", "r"], option].concat()).failed(2, &[option[0], "hint"]);
    }
    let keys = "[workload]\nwaits.min = \"1s\"\nlead-in = false\n[run]\nvary = \"jitter 1s\"\n";
    bench.file("k.toml", format!("{sources}{keys}").as_bytes());
    bench
        .flowloom(&["run", "k.toml", "-o", "r"])
        .failed(2, &["k.toml:6: workload.waits", "k.toml:7: workload.lead-in", "k.toml:9: run.vary"]);
}
