//! Leaves that are no `test`: what they are asked for, and what is said of what cannot be.

use flowloom_core::path::{GilbertElliott, LossModel, Reorder, Reordering};
use flowloom_core::queue::Discipline;
use flowloom_core::tcp;
use flowloom_core::tcp::congestion::Algorithm;
use flowloom_core::time::Duration;
use flowloom_core::units::{Limit, Probability};
use flowloom_core::workload::LinkSide;

use super::super::parser::{self, Mode};
use super::super::place::Files;
use super::*;

fn read(text: &str) -> (Option<Tool>, Vec<String>) {
    let mut files = Files::new();
    let file = files.add("a.ns", text, None);
    let (body, found) = parser::script(&files, file, Mode::Strict);
    assert!(
        !found.iter().any(Diagnostic::is_error),
        "{text}: {:?}",
        found.iter().map(|one| one.summary(&files)).collect::<Vec<_>>()
    );
    let (tool, found) = Tool::read(body.blocks().next().unwrap()).unwrap();
    (tool, found.iter().map(|one| one.message.clone()).collect())
}

fn tool(text: &str) -> Tool {
    let (tool, found) = read(text);
    assert_eq!(found, [""; 0], "{text}");
    tool.unwrap()
}

fn path(parameters: &str) -> super::Path {
    let text = format!("path r {{ left = eth1; right = eth2; rate = 10M; duration = 20; {parameters} }}");
    match tool(&text) {
        Tool::Path(path) => *path,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_replay_is_one_side_of_a_workload() {
    let text = |more: &str| {
        format!(
            "replay {{ own = a:43000; peer = 192.0.2.1:43001; side = right; workload = campus; duration = 60; rate = 50M; {more} }}"
        )
    };
    let Tool::Replay(plain) = tool(&text("")) else { panic!() };
    assert_eq!((plain.side, plain.workload.as_str()), (LinkSide::Right, "campus"));
    assert_eq!((plain.own.to_string(), plain.peer.port), ("a:43000".to_owned(), 43_001));
    assert_eq!((plain.rate, plain.duration), ("50mbit".parse().unwrap(), Duration::from_secs(60)));
    assert_eq!((plain.part, plain.parts, plain.delays, plain.workers), (1, 1, true, 1));
    assert_eq!(*plain.tcp, tcp::Config::of(tcp::Profile::Linux));
    let Tool::Replay(bsd) = tool(&text("profile = bsd-2008; congestion = vegas;")) else { panic!() };
    assert!(matches!(bsd.tcp.congestion, Algorithm::Vegas(_)), "{:?}", bsd.tcp);
    let as_profile = tcp::Config { congestion: bsd.tcp.congestion.clone(), ..tcp::Config::of(tcp::Profile::Bsd2008) };
    assert_eq!(*bsd.tcp, as_profile);
    let Tool::Replay(part) = tool(&text("part = 2; parts = 3; delays = off; workers = 4;")) else { panic!() };
    assert_eq!((part.part, part.parts, part.delays, part.workers), (2, 3, false, 4));
    for (wrong, said) in [
        (text("part = 4; parts = 3;"), "there is no part 4 of 3"),
        (text("workers = 17;"), "workers is from 1 to 16"),
        (text("profile = windows;"), "there is no profile windows"),
        (text("congestion = cubik;"), "cubik"),
        (text("").replace("right", "up"), "there is no side up"),
        (text("").replace("workload = campus;", ""), "replay needs workload"),
        (text("").replace("rate = 50M;", ""), "replay needs rate"),
    ] {
        let (replay, found) = read(&wrong);
        assert!(replay.is_none() && found.iter().any(|one| one.contains(said)), "{said}: {found:?}");
    }
}

#[test]
fn a_path_is_what_an_experiment_would_have() {
    let plain = path("");
    assert_eq!(plain.interfaces, ["eth1", "eth2"]);
    assert_eq!((plain.rate, plain.delay), ("10mbit".parse().unwrap(), Duration::ZERO));
    assert_eq!(plain.queue, Discipline::DropTail(Limit::Packets(65_000)));
    let share = |share| Probability::new(share).unwrap();
    let full = path(
        "delay = \"20ms\"; queue = drop-tail(limit = 100); loss = \"1%\"; duplicate = 0.002; reorder = late(share = 0.01, by = 5000); seed = 7;",
    );
    assert_eq!((full.delay, full.seed), (Duration::from_millis(20), 7));
    assert_eq!(full.queue, Discipline::DropTail(Limit::Packets(100)));
    assert_eq!(full.impairments.loss, LossModel::Bernoulli(share(0.01)));
    assert_eq!(full.impairments.duplicate, share(0.002));
    let late = Reordering::Late(Duration::from_millis(5));
    assert_eq!(full.impairments.reorder, Some(Reorder { share: share(0.01), gap: 1, manner: late }));
    let bursts = path("loss = gilbert-elliott(p = 0.01, r = \"25%\", bad-loss = 0.5);").impairments.loss;
    let simple = GilbertElliott::simple(share(0.01), share(0.25));
    assert_eq!(bursts, LossModel::GilbertElliott(GilbertElliott { bad_loss: share(0.5), ..simple }));
    assert_eq!(path("delay = 250;").delay, Duration::from_micros(250), "as periods are");
}

#[test]
fn every_queue_takes_its_arguments() {
    for (text, begins) in [
        ("drop-tail(limit = \"64k\")", "DropTail(Bytes(65536))"),
        ("head-drop", "HeadDrop"),
        (
            "red(min = 50, max = 150, max-p = 0.1, weight = 0.002, gentle = true, ecn = true, limit = 400)",
            "Red(RedParams { limit: Packets(400), min: Packets(50), max: Packets(150)",
        ),
        ("adaptive-red(target = \"5ms\")", "AdaptiveRed"),
        ("blue(freeze-time = 1000)", "Blue"),
        ("pi(target = 50)", "Pi(PiParams { limit: Packets(65000), target: 50"),
        ("rem(target = 20, interval = 2000)", "Rem"),
        ("pie(target = \"15ms\", ecn = yes)", "Pie(PieParams { limit: Packets(65000), target"),
        ("codel(target = \"5ms\", interval = \"100ms\", limit = 1000)", "Codel(CodelParams { limit: Packets(1000)"),
        ("fq_codel(flows = 64, quantum = 300)", "FqCodel"),
        ("drr(quantum = 500, limit = 100)", "DeficitRoundRobin { limit: Packets(100), quantum: 500 }"),
        ("RoundRobin(limit = 100)", "RoundRobin(Packets(100))"),
    ] {
        let queue = format!("{:?}", path(&format!("queue = {text};")).queue);
        assert!(queue.starts_with(begins), "{text}: {queue}");
    }
}

#[test]
fn the_others_say_what_they_do() {
    for (text, words) in [
        ("sleep a { duration = 2.5; }", "does nothing"),
        ("capture a { interface = eth1; duration = 3; }", "captures at eth1, 128 bytes of each packet"),
        (
            "capture a { interface = \"eth0.100\"; snap = 64; duration = 3; }",
            "captures at eth0.100, 64 bytes of each packet",
        ),
        (
            "watch a { interface = eth1; protocol = udp; from = 10.0.0.1:0; to = b:5000; numbered = true; duration = 3; }",
            "watches udp from 10.0.0.1:0 to b:5000 at eth1",
        ),
        ("monitor a { period = \"1s\"; duration = 3; }", "reads counters of the host every 1 s"),
        (
            "monitor a { interface = eth1; period = 50000; duration = 3; }",
            "reads counters of the host and eth1 every 0.05 s",
        ),
        ("command a { name = trace; duration = 3; }", "runs the command trace"),
    ] {
        assert_eq!(tool(text).words(), words, "{text}");
    }
    assert_eq!(path("delay = \"10ms\";").config().bottleneck.delay, Duration::from_millis(10));
    let unknown = "capture a { interface = eth1; duration = 3; snapp = 9; x = 1; }";
    let (tool, found) = read(unknown);
    assert!(tool.is_some(), "what is not known is passed on");
    assert_eq!(
        found,
        ["snapp means nothing to a capture, and is passed on", "x means nothing to a capture, and is passed on"]
    );
}

#[test]
fn what_cannot_be_is_said() {
    let path = |parameters: &str| format!("path r {{ left = a; right = b; duration = 1; {parameters} }}");
    for (text, wanted) in [
        (path(""), "path needs rate: bit/s of the link"),
        (path("rate = 10;"), "too slow"),
        (path("rate = 1M; delay = \"2h\";"), "delay"),
        (path("rate = 1M; delay = soon;"), "delay is a time: microseconds, or with a unit as in \"20ms\""),
        (path("rate = 1M; loss = 1.5;"), "loss is a share, from 0 to 1, or as in \"1%\""),
        (path("rate = 1M; loss = bursts(p = 1);"), "there is no loss bursts"),
        (path("rate = 1M; queue = codle;"), "there is no queue codle here"),
        (path("rate = 1M; queue = priority;"), "there is no queue priority here"),
        (path("rate = 1M; queue = step(threshold = 20);"), "there is no queue step here"),
        (path("rate = 1M; queue = codel(ce-threshold = \"1ms\");"), "codel takes no ce-threshold"),
        (path("rate = 1M; queue = red(above-max = drop);"), "red takes no above-max"),
        (path("rate = 1M; queue = codel(min = 5);"), "codel takes no min"),
        (path("rate = 1M; queue = red(min = 150, max = 50);"), "min of 150p must not be above max of 50p"),
        (path("rate = 1M; queue = drop-tail(limit = 0);"), "limit is a number of packets"),
        (path("rate = 1M; reorder = 0.5;"), "reorder says how many packets are late"),
        ("path r { left = a; right = a; rate = 1M; duration = 1; }".into(), "left and right are two interfaces"),
        ("capture a { interface = eth1; snap = 3; duration = 3; }".into(), "snap is from 14 to 262144"),
        ("capture a { interface = eth1; }".into(), "capture needs duration: how long, in seconds"),
        (
            "watch a { interface = e; protocol = icmp; from = a:1; to = b:2; duration = 1; }".into(),
            "a flow is of tcp or of udp",
        ),
        (
            "watch a { interface = e; protocol = tcp; from = a:1; to = b:2; duration = 1; numbered = true; }".into(),
            "segments of TCP have numbers of their own",
        ),
        (
            "watch a { interface = e; protocol = tcp; from = a; to = b:2; duration = 1; }".into(),
            "from is a host and a port",
        ),
        ("monitor a { period = 10; duration = 3; }".into(), "period is 10 ms at least"),
        ("monitor a { duration = 3; }".into(), "monitor needs period"),
        ("command a { duration = 3; }".into(), "command needs name"),
        ("sleep a { duration = -1; }".into(), "duration is a number of seconds above 0"),
    ] {
        let (tool, found) = read(&text);
        assert!(tool.is_none(), "{text}");
        assert!(found.iter().any(|one| one.contains(wanted)), "{text}: {found:?}");
    }
    assert!(
        Tool::read(&{
            let mut files = Files::new();
            let file = files.add("a.ns", "probe a { x = 1; }", None);
            parser::script(&files, file, Mode::Strict).0.blocks().next().unwrap().clone()
        })
        .is_none()
    );
}
