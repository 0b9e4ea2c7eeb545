//! Leaves that are no `test`: what they are asked for, and what is said of what cannot be.

use flowloom_core::cell::{Discard, Mapping, Order};
use flowloom_core::path::cell_keys::Paced;
use flowloom_core::path::{Abr, GilbertElliott, LossModel, Reorder, Reordering};
use flowloom_core::queue::Discipline;
use flowloom_core::tcp;
use flowloom_core::tcp::congestion::Algorithm;
use flowloom_core::time::Duration;
use flowloom_core::units::{Limit, Probability};
use flowloom_core::workload::LinkSide;
use flowloom_sim::Grouping;

use super::super::diagnostic::Diagnostic;
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
        (text("profile = windows;"), "profile: unknown word \"windows\""),
        (text("congestion = cubik;"), "cubik"),
        (text("").replace("right", "up"), "there is no side up"),
        (text("").replace("workload = campus;", ""), "replay needs workload"),
        (text("").replace("rate = 50M;", ""), "replay needs rate"),
        (text("").replace("50M", "\"50mbps\""), "rate: \"50mbps\" has two readings"),
    ] {
        let (replay, found) = read(&wrong);
        assert!(replay.is_none() && found.iter().any(|one| one.contains(said)), "{said}: {found:?}");
    }
}

#[test]
fn rates_in_quotes_have_units() {
    for rate in ["10M", "\"10 Mbit/s\"", "\"10Mbps\"", "10e6"] {
        let Tool::Path(path) = tool(&format!("path r {{ left = eth1; right = eth2; rate = {rate}; duration = 20; }}"))
        else {
            panic!("{rate}")
        };
        assert_eq!(path.config().unwrap().bottleneck.rate, "10mbit".parse().unwrap(), "{rate}");
    }
}

#[test]
fn a_path_is_what_an_experiment_would_have() {
    let plain = path("");
    assert_eq!(plain.interfaces, ["eth1", "eth2"]);
    let config = |parameters: &str| path(parameters).config().unwrap();
    let link = config("").bottleneck;
    assert_eq!((link.rate, link.delay), ("10mbit".parse().unwrap(), Duration::ZERO));
    assert_eq!(link.queue, Discipline::DropTail(Limit::Packets(65_000)));
    let share = |share| Probability::new(share).unwrap();
    let full = config(
        "delay = \"20ms\"; queue = drop-tail(limit = 100); loss = \"1%\"; duplicate = 0.002; reorder = late(share = 0.01, by = 5000); seed = 7;",
    );
    assert_eq!((full.bottleneck.delay, full.seed), (Duration::from_millis(20), 7));
    assert_eq!(full.bottleneck.queue, Discipline::DropTail(Limit::Packets(100)));
    assert_eq!(full.path[0], full.path[1]);
    assert_eq!(full.path[0].loss, LossModel::Bernoulli(share(0.01)));
    assert_eq!(full.path[0].duplicate, share(0.002));
    let late = Reordering::Late(Duration::from_millis(5));
    assert_eq!(full.path[0].reorder, Some(Reorder { share: share(0.01), gap: 1, manner: late }));
    let bursts = config("loss = gilbert-elliott(p = 0.01, r = \"25%\", bad-loss = 0.5);").path[0].loss.clone();
    let simple = GilbertElliott::simple(share(0.01), share(0.25));
    assert_eq!(bursts, LossModel::GilbertElliott(GilbertElliott { bad_loss: share(0.5), ..simple }));
    assert_eq!(config("delay = 250;").bottleneck.delay, Duration::from_micros(250), "as periods are");
}

#[test]
fn a_path_can_be_any_network() {
    let lot = path("topology = parking-lot; hops = 3;").config().unwrap();
    assert_eq!((lot.links.len(), lot.classes[0].way.there.len()), (4, 3));
    let graph = path(
        "topology = graph; ends = table(left = a, right = d); bottleneck = table(from = b, to = c, delay = \"5ms\"); links = \
         [table(name = in, from = a, to = b, rate = 100M), table(name = out, from = c, to = d, rate = \"1gbit\", queue = \
         red(min = 5, max = 15, max_p = 0.1))]; routes = [table(from = a, to = d, via = [b, c])];",
    );
    let config = graph.config().unwrap();
    assert_eq!((config.links.len(), config.bottleneck.delay), (4, Duration::from_millis(5)));
    assert_eq!(config.links[0].rate, "100mbit".parse().unwrap());
    assert_eq!(graph.network.kind(), "graph of 3 links, the bottleneck");
    let ways =
        path("path = table(jitter = uniform(min = 0, max = 2000), from-left = table(loss = 0.5));").config().unwrap();
    assert!(ways.path.iter().all(|path| path.jitter.is_some()) && ways.path[0].loss != ways.path[1].loss);
    let listed = path("loss = list(packets = [1, \"5-8\"]); delay-box = [table(from = left, delay = 5000)];").config();
    let listed = listed.unwrap();
    assert!(matches!(listed.path[0].loss, LossModel::List(_)) && !listed.rules.is_empty());
    let bucket = path("bottleneck = table(shaper = table(rate = 5M, burst = 32K));").config().unwrap();
    assert!(bucket.bottleneck.shaper.is_some() && bucket.bottleneck.policer.is_none());
}

#[test]
fn a_path_can_carry_cells() {
    let cells = "cells = table(buffer = 500, discard = early, threshold = 300, access = 10M, peak-rate = 1M, \
                 order = fifo, framing = \"llc-snap+aal5+atm\", abr = 20000);";
    let link = path(cells).config().unwrap().bottleneck;
    let params = link.cells.unwrap();
    assert_eq!((params.room, params.discard, params.order), (Some(500), Discard::Early(300), Order::Fifo));
    assert_eq!((params.access, params.peak), ("10mbit".parse().unwrap(), "1mbit".parse().unwrap()));
    assert_eq!(params.framing, "llc-snap+aal5+atm".parse().unwrap());
    assert_eq!(params.abr, Some(Abr { every: Duration::from_millis(20), rate: link.rate }));
    assert_eq!(link.per, Grouping::Circuit(Mapping::PerConversation, Paced::Both));
    let other = "topology = graph; ends = table(left = a, right = c); bottleneck = table(from = a, to = b); links = \
                 [table(name = out, from = b, to = c, rate = 1M, cells = table(circuits = destination))];";
    assert!(path(other).config().unwrap().links[0].cells.is_some());
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
        ("red(above-max = drop, ecn = 1)", "Red"),
        ("adaptive-red(target = \"5ms\")", "AdaptiveRed"),
        ("blue(freeze-time = 1000)", "Blue"),
        ("pi(target = 50)", "Pi(PiParams { limit: Packets(65000), target: 50"),
        ("rem(target = 20, interval = 2000)", "Rem"),
        ("pie(target = 15000, ecn = yes, estimator = timestamp)", "Pie(PieParams { limit: Packets(65000), target"),
        ("codel(target = \"5ms\", interval = \"100ms\", limit = 1000)", "Codel(CodelParams { limit: Packets(1000)"),
        ("fq_codel(flows = 64, quantum = 300, memory = \"4m\", ce-threshold = 1000)", "FqCodel"),
        ("drr(quantum = 500, limit = 100)", "DeficitRoundRobin { limit: Packets(100), quantum: 500 }"),
        ("RoundRobin(limit = 100)", "RoundRobin(Packets(100))"),
        ("step(threshold = 20, at = dequeue)", "Step"),
        ("priority(bands = 2)", "Priority"),
        ("table(kind = codel, limit = 100)", "Codel(CodelParams { limit: Packets(100)"),
    ] {
        let queue = format!("{:?}", path(&format!("queue = {text};")).config().unwrap().bottleneck.queue);
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
    assert_eq!(path("delay = \"10ms\";").words(), "is a path of 10.0 Mbit/s and 0.01 s between eth1 and eth2");
    let unknown = "capture a { interface = eth1; duration = 3; snapp = 9; x = 1; }";
    let (tool, found) = read(unknown);
    assert!(tool.is_some(), "what is not known is passed on");
    assert_eq!(
        found,
        ["snapp means nothing to a capture, and is passed on", "x means nothing to a capture, and is passed on"]
    );
}

#[test]
fn what_a_path_has_no_means_for_is_warned_of() {
    for (parameters, wanted) in [
        ("bottleneck = table(trace = \"cell.up\");", "a path plays no trace"),
        ("rate = 1M; delay-box = [table(port = 80, delay = 1000)];", "delay-box[0].port is of connections"),
        ("rate = 1M; cells = table(circuits = type);", "cells.circuits is of connections of a workload and of sources"),
        (
            "rate = 1M; bottleneck = table(cells = table(peak-rate = 1M, paced = target));",
            "bottleneck.cells.paced is of connections of a workload",
        ),
        ("rate = 1M; delay-box = [table(loss = measured)];", "delay-box[0].loss is that of the workload's connections"),
    ] {
        let (path, found) = read(&format!("path r {{ left = a; right = b; duration = 1; {parameters} }}"));
        assert!(path.is_some() && matches!(&found[..], [one] if one.starts_with(wanted)), "{parameters}: {found:?}");
    }
}

#[test]
fn errors_stand_where_their_arguments_do() {
    let mut files = Files::new();
    let text = "path r {\n  left = a; right = b; duration = 1; rate = 1M;\n  queue = red(min = 5,\n    maxp = 1,\n    \
                weigth = 0.1, gentle = maybe);\n  links = [table(name = x, from = a, to = b, rat = 1M)];\n}\n";
    let file = files.add("a.ns", text, None);
    let (body, _) = parser::script(&files, file, Mode::Strict);
    let (_, found) = Tool::read(body.blocks().next().unwrap()).unwrap();
    let said: Vec<String> = found
        .iter()
        .map(|one| {
            format!("{} | {} | {}", one.summary(&files), one.notes.join(", "), one.hint.clone().unwrap_or_default())
        })
        .collect();
    assert!(said.iter().any(|one| one.starts_with("a.ns:5:5: unknown key \"weigth\" | known: ")), "{said:#?}");
    assert!(said.iter().any(|one| one.ends_with("| did you mean \"weight\"?")), "{said:#?}");
    assert!(said.iter().any(|one| one.starts_with("a.ns:5:28: queue.gentle: expected true or false")), "{said:#?}");
    assert!(said.iter().any(|one| one.starts_with("a.ns:6:46: unknown key \"rat\"")), "{said:#?}");
    assert!(said.iter().any(|one| one.contains("missing key \"rate\"")), "{said:#?}");
    // A key spelt without its "-" is the key.
    assert_eq!(said.iter().filter(|one| one.contains("maxp")).count(), 0, "{said:#?}");
}

#[test]
fn what_cannot_be_is_said() {
    let path = |parameters: &str| format!("path r {{ left = a; right = b; duration = 1; {parameters} }}");
    for (text, wanted) in [
        (path(""), "path needs rate: bit/s of the link"),
        (path("rate = 10;"), "must be between 100bit and 100tbit"),
        (path("rate = 1M; delay = \"2h\";"), "delay"),
        (path("rate = 1M; delay = soon;"), "delay: \"soon\" is not a time"),
        (path("rate = 1M; loss = 1.5;"), "loss: \"150%\" is not a share"),
        (path("rate = 1M; loss = bursts(p = 1);"), "loss.kind: unknown word \"bursts\""),
        (path("rate = 1M; cells = table(buffer = 0);"), "cells.buffer"),
        (path("rate = 1M; cells = table(framing = ethernet);"), "cells.framing: "),
        (path("rate = 1M; queue = codel; cells = table(buffer = 9);"), "queue is of links without cells"),
        (path("rate = 1M; queue = codle;"), "queue.kind: unknown word \"codle\""),
        (path("rate = 1M; queue = codel(min = 5);"), "queue.min is not a key of codel"),
        (path("rate = 1M; queue = red(min = 150, max = 50);"), "min of 150p must not be above max of 50p"),
        (path("rate = 1M; queue = drop-tail(limit = 0);"), "queue.limit of 0p must be 1p or more"),
        (path("rate = 1M; queue = drop-tail(limit = 0.5);"), "queue.limit: \"0.5\" is not"),
        (path("rate = 1M; reorder = 0.5;"), "reorder: expected a table"),
        (path("rate = 1M; bottleneck = table(rate = 2M);"), "rate is given twice"),
        (path("rate = 1M; bottleneck = link(delay = 2);"), "there is no link here"),
        (path("rate = \"105%\";"), "rate of 105% is relative to a workload, which a path has none of"),
        (path("rate = auto;"), "rate of auto is relative to a workload"),
        (path("rate = 1M; hops = 3;"), "hops is of networks with topology = \"parking-lot\""),
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
