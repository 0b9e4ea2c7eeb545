//! `flowloom shell`: programs of the user's across the path.

use assert_cmd::cargo::CommandCargoExt;
use flowloom::core::record::Outcome;
use flowloom::store::run_folder::RunFolder;

use crate::host::{Host, processes_in, workers_in};
use crate::support::Bench;
use crate::{can_run, demo, experiment, one_run, pause, signal};

const SERVER: &str = "import socket\ns = socket.create_server(('0.0.0.0', 7000))\nc, _ = s.accept()\nn = 0\n\
                      while True:\n    d = c.recv(65536)\n    if not d: break\n    n += len(d)\nc.sendall(str(n).encode())\n";

const CLIENT: &str = "import os, socket, sys, time\nfor _ in range(100):\n    try:\n        c = socket.create_connection((os.environ['FLOWLOOM_PEER'], 7000))\n        \
                      break\n    except OSError:\n        time.sleep(0.05)\nt = time.monotonic()\nc.sendall(bytes(1_000_000))\nc.shutdown(1)\n\
                      n = int(c.recv(100))\nprint(n, time.monotonic() - t)\nsys.exit(7 if n == 1_000_000 else 1)\n";

#[test]
fn a_program_of_the_users_crosses_the_path() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let (bench, before) = (Bench::new(), Host::now());
    bench.file("server.py", SERVER.as_bytes());
    bench.file("client.py", CLIENT.as_bytes());
    bench.file("x.toml", b"[network.bottleneck]\nrate = \"10mbit\"\ndelay = \"10ms\"\nqueue = { kind = \"codel\" }\n");
    let words = ["shell", "x.toml", "-o", "run", "--peer", "python3 server.py", "--", "python3", "client.py"];
    let said = bench.flowloom(&words);
    assert_eq!(said.code, 7, "the exit code is the program's: {}{}", said.out, said.err);
    let took: f64 = said.out.split_whitespace().nth(1).unwrap().parse().unwrap();
    // A megabyte takes 0.83 s at 10 Mbit/s, and slow start over 20 ms some more.
    assert!((0.8..5.0).contains(&took), "{took} s");
    assert!(said.err.contains("report run/report.html"), "{}", said.err);
    let run = RunFolder::open(&bench.path("run")).unwrap();
    let gate = &run.run()["summary"]["gates"][0];
    assert!(gate["verdict"] == "VALID" && gate["found"].as_str().unwrap().contains("other programs"), "{gate}");
    assert_eq!(Host::now(), before);
    assert!(workers_in(bench.folder.path()).is_empty());
}

#[test]
fn it_has_the_workload_for_background() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let bench = Bench::new();
    bench.file("x.toml", experiment(&demo(), "30s").as_bytes());
    // Once the program ends the run does, long before its time.
    let said = bench.flowloom(&[
        "shell",
        "x.toml",
        "-o",
        "run",
        "--side",
        "right",
        "--",
        "sh",
        "-c",
        "sleep 3; echo $FLOWLOOM_ADDRESS",
    ]);
    assert_eq!((said.code, said.out.trim()), (0, "198.19.0.1"), "{}", said.err);
    let run = RunFolder::open(&bench.path("run")).unwrap();
    assert!(run.connections().unwrap().count() > 5);
}

#[test]
fn a_program_that_is_not_there_is_named() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let bench = Bench::new();
    bench.file("x.toml", b"title = \"empty\"\n");
    let said = bench.flowloom(&["shell", "x.toml", "-o", "run", "--", "no-such-program"]);
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(said.err.contains("no-such-program"), "{}", said.err);
}

#[test]
fn a_program_runs_on_each_of_several_hosts() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let (bench, before) = (Bench::new(), Host::now());
    bench.file("server.py", b"import socket\ns = socket.create_server(('0.0.0.0', 7000))\nwhile True:\n    c, a = s.accept()\n    c.sendall(a[0].encode())\n    c.close()\n");
    bench.file("client.py", b"import os, socket, sys, time\nfor _ in range(100):\n    try:\n        c = socket.create_connection((os.environ['FLOWLOOM_PEER'], 7000))\n        \
                      break\n    except OSError:\n        time.sleep(0.05)\nassert c.recv(100).decode() == os.environ['FLOWLOOM_ADDRESS']\n\
                      sys.exit(5 if os.environ['FLOWLOOM_HOST'] == '2' else 0)\n");
    bench.file("x.toml", b"[network.bottleneck]\nrate = \"10mbit\"\n");
    let words =
        ["shell", "x.toml", "-o", "run", "--hosts", "4", "--peer", "python3 server.py", "--", "python3", "client.py"];
    let said = bench.flowloom(&words);
    assert_eq!(said.code, 5, "the exit code is that of the one that failed: {}{}", said.out, said.err);
    assert!(!said.err.contains("Traceback"), "each sends from its own address: {}", said.err);
    assert_eq!(Host::now(), before);
    bench.flowloom(&["shell", "x.toml", "--hosts", "65", "--", "true"]).failed(2, &["65"]);
}

/// A command that leaves a process behind which nothing ties to it: another session, another parent, no terminal.
const LEAVES: &str = "setsid sh -c 'sleep 1000 & echo left > left' </dev/null >/dev/null 2>&1 &";

#[test]
fn what_a_program_leaves_in_the_background_ends_with_the_run() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let (bench, before) = (Bench::new(), Host::now());
    bench.file("x.toml", b"title = \"empty\"\n");
    // What the peer leaves is there for the program, when its own command is long over.
    let peer = format!("{LEAVES} echo peer > peer");
    let here = "for p in $(pgrep -x sleep); do [ \"$(readlink /proc/$p/cwd)\" = \"$(pwd -P)\" ] && echo $p; done";
    let program = format!("{LEAVES} sleep 2; {here}; exit 9");
    let said = bench.flowloom(&["shell", "x.toml", "-o", "run", "--peer", &peer, "--", "sh", "-c", &program]);
    assert_eq!(said.code, 9, "{}", said.err);
    assert_eq!(said.out.lines().count(), 2, "{}", said.out);
    assert!(bench.path("left").exists() && bench.path("peer").exists());
    // When the command is back they are gone, and not some time after.
    assert!(processes_in(bench.folder.path()).is_empty(), "{:?}", processes_in(bench.folder.path()));
    assert_eq!(Host::now(), before);
}

/// Runs a program that leaves another in the background, kills the run with SIGKILL, and looks that nothing of them stays. What keeps
/// the program may have been stopped before that, so that it hears of nothing.
fn kill_run(is_stopped: bool) {
    let (bench, before) = (Bench::new(), Host::now());
    bench.file("x.toml", b"title = \"empty\"\n");
    let program = format!("{LEAVES} sleep 1000");
    let mut command = std::process::Command::cargo_bin("flowloom").unwrap();
    command.current_dir(bench.folder.path()).args(["shell", "x.toml", "-o", "run", "--", "sh", "-c", &program]);
    let mut run = command.spawn().unwrap();
    let processes = || processes_in(bench.folder.path());
    let comes = |wanted: &dyn Fn() -> bool| {
        (0..400).any(|_| {
            pause(50);
            wanted()
        })
    };
    let is_left = comes(&|| bench.path("left").exists());
    let mut keeper = processes().into_iter().filter(|(_, words)| words.get(1).is_some_and(|word| word == "live-guest"));
    let keeper = keeper.next().map(|keeper| keeper.0);
    if let Some(keeper) = keeper.filter(|_| is_stopped) {
        signal("STOP", keeper);
    }
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(is_left && keeper.is_some());
    if is_stopped {
        assert!(comes(&|| processes().len() >= 3), "the keeper and two programs: {:?}", processes());
        let said = bench.flowloom(&["doctor", "--clean"]);
        let ended = format!("ended process {}, whose run is gone", keeper.unwrap());
        assert!(said.succeeded().out.contains(&ended), "{}", said.out);
    }
    assert!(comes(&|| processes().is_empty()), "{:?}", processes());
    assert_eq!(Host::now(), before);
}

#[test]
fn what_a_program_leaves_in_the_background_ends_with_a_run_that_is_killed() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    kill_run(false);
}

#[test]
fn what_a_run_could_not_end_is_cleaned_up() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    kill_run(true);
}

#[test]
fn connections_are_spread_over_hosts_with_stacks_of_their_own() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let (bench, before) = (Bench::new(), Host::now());
    let more = "[live]\nhosts = 3\nworkers = 2\n[[sources]]\nkind = \"cbr\"\nname = \"voice\"\ncount = 6\nrate = \"64kbit\"\nrtt = \"20ms\"\n";
    bench.file("x.toml", (experiment(&demo(), "10s") + more).as_bytes());
    // Connections that were asked for (Tcp ActiveOpens) on a host that connections are on, and on one that they are not.
    let count = "sleep 6; echo $FLOWLOOM_HOST $(grep ^Tcp: /proc/thread-self/net/snmp | tail -1 | cut -d' ' -f6)";
    let said = bench.flowloom(&["shell", "x.toml", "-o", "run", "--hosts", "4", "--", "sh", "-c", count]);
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    let mut opens: Vec<(u8, u64)> = said
        .out
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(host, opens)| (host.parse().unwrap(), opens.parse().unwrap()))
        .collect();
    opens.sort_unstable();
    let run = RunFolder::open(&bench.path("run")).unwrap();
    let live = &run.run()["live"];
    assert_eq!((&live["hosts"], &live["workers"]), (&3.into(), &2.into()));
    assert_eq!((&live["device_dropped_packets"], &live["stranger_packets"]), (&0.into(), &0.into()), "{live}");
    assert!(opens[..3].iter().all(|(_, opens)| *opens >= 2), "each has its turn: {opens:?}");
    assert_eq!(opens[3], (3, 0), "{opens:?}");
    let completed = run.connections().unwrap().map(Result::unwrap).filter(|row| row.outcome == Outcome::Completed);
    assert!(completed.count() > 5);
    let received: Vec<u64> = run.sources().unwrap().map(|row| row.unwrap().received_bytes).collect();
    assert!(received.len() == 6 && received.iter().all(|bytes| *bytes > 8_000), "{received:?}");
    assert_eq!(Host::now(), before);
}
