use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{LinkSide, Side};
use flowloom_sim::Origin;

use crate::error::by_line;
use crate::experiment::Experiment;
use crate::experiment::sources::*;

const ALL: &str = r#"
[[sources]]
name = "ftp"
kind = "bulk"
count = 20
start = { kind = "uniform", min = "0s", max = "5s" }
rtt = { kind = "lognormal", median = "64ms", mean = "101ms" }
tcp = { congestion = "reno", sack = "off" }
[[sources]]
name = "file"
kind = "bulk"
from = "right"
to = "left"
rtt = "80ms"
bytes = { kind = "pareto", min = "10k", shape = 1.2 }
mss = 536
[[sources]]
name = "voice"
kind = "cbr"
rate = "64kbit"
payload = "160b"
[[sources]]
name = "noise"
kind = "poisson"
gap = "2ms"
payload = { kind = "exponential", mean = "700b" }
[[sources]]
name = "video"
kind = "on-off"
rate = "2mbit"
stop = "30s"
on = { kind = "pareto", min = "100ms", shape = 1.5 }
off = "500ms"
[measure]
tcp-trace = [1, 5]
"#;

fn parse(text: &str) -> Result<Experiment, String> {
    Experiment::parse(text, "x.toml").map_err(by_line)
}

#[test]
fn every_kind_reads_and_is_written_as_it_was() {
    let experiment = parse(ALL).unwrap();
    let again = parse(&experiment.to_toml()).unwrap();
    assert_eq!((&again.sources, &again.measure), (&experiment.sources, &experiment.measure));
    assert!(experiment.sources_draw());
    let shape = experiment.network.shape().unwrap();
    let mut flows = Flows::default();
    let mut first = FIRST_FLOW;
    for (class, source) in (1..).zip(&experiment.sources) {
        let (_, from) = source.way(&shape).unwrap();
        assert_eq!(from, if source.name == "file" { LinkSide::Right } else { LinkSide::Left });
        Placed { source, class, from, first, runs: None }.add_to(&mut flows, 7, Duration::from_secs(60));
        first += source.flows();
    }
    assert_eq!((flows.connections.len(), flows.datagrams.len()), (21, 3));
    let [ftp, file] = [0, 20].map(|at| &flows.connections[at]);
    assert_eq!(ftp.origin, Origin::Source { endless_until: Some(Time::ZERO + Duration::from_secs(60)) });
    assert_eq!((ftp.vector.id, ftp.vector.window(Side::Acceptor)), (FIRST_FLOW, Some(4 << 20)));
    assert!(file.vector.bytes(Side::Initiator) >= 10_240 && file.vector.min_rtt() == Some(Duration::from_millis(80)));
    assert_eq!(Side::BOTH.map(|side| file.vector.ends[side].mss), [Some(536); 2]);
    assert_eq!(ftp.vector.ends.initiator.mss, None);
    let starts: Vec<Time> = flows.connections[..20].iter().map(|flow| flow.vector.start).collect();
    assert!(starts.iter().all(|start| *start <= Time::ZERO + Duration::from_secs(5)) && starts[0] != starts[1]);
    let gaps: Vec<Duration> = flows.datagrams.iter().map(|flow| flow.datagrams.gap).collect();
    assert_eq!(gaps, [20_000, 2_000, 4_000].map(Duration::from_micros));
    assert_eq!(flows.datagrams[2].datagrams.stop, Time::ZERO + Duration::from_secs(30));
}

#[test]
fn what_cannot_be_is_refused_with_key_and_line() {
    let source = |rest: &str| format!("[[sources]]\nname = \"a\"\n{rest}\n");
    for (text, wanted) in [
        (source("kind = \"ftp\""), "x.toml:3: sources[0].kind: unknown word \"ftp\""),
        (source("kind = \"cbr\""), "x.toml:1: sources[0].rate is missing"),
        (source("kind = \"cbr\"\nrate = \"0bit\""), "x.toml:4: sources[0].rate: \"0bit\" is not a rate above zero"),
        (source("kind = \"cbr\"\nrate = \"1mbit\"\ngap = \"1ms\""), "x.toml:5: sources[0].gap and rate"),
        (source("kind = \"cbr\"\nrate = \"1mbit\"\nbytes = \"1k\""), "x.toml:5: sources[0].bytes is not a key of cbr"),
        (source("kind = \"bulk\"\nrate = \"1mbit\""), "x.toml:4: sources[0].rate is not a key of bulk"),
        (source("kind = \"poisson\"\ngap = \"0ms\""), "x.toml:4: sources[0].gap leaves 0 s between datagrams"),
        (source("kind = \"cbr\"\nrate = \"100gbit\""), "x.toml:4: sources[0].rate leaves 80 ns between"),
        (
            source("kind = \"cbr\"\ngap = \"1us\"\nrtt = \"20s\""),
            "x.toml:5: sources[0].rtt of 20s keeps more than 10000000",
        ),
        (source("kind = \"bulk\"\nbytes = \"18446744073709551615b\""), "x.toml:4: sources[0].bytes of"),
        (
            source("kind = \"bulk\"\nstart = \"10min\"\n[measure]\nduration = \"60s\""),
            "x.toml:4: sources[0].start of 600 s is not before measure.duration of 60s",
        ),
        (
            source("kind = \"poisson\"\ngap = \"1ms\"\npayload = \"9000b\""),
            "x.toml:5: sources[0].payload of 9000b does not fit",
        ),
        (source("kind = \"on-off\"\ngap = \"1ms\"\non = \"1s\""), "sources[0].off is missing"),
        (source("kind = \"bulk\"\ncount = 0"), "x.toml:4: sources[0].count of 0"),
        (source("kind = \"bulk\"\ncount = 2000000"), "sources[0].count of 2000000 must be between 1 and 1000000"),
        (source("kind = \"bulk\"\nto = \"nowhere\""), "x.toml:4: sources[0].to: there is no node nowhere"),
        (source("kind = \"bulk\"\nto = \"left\""), "x.toml:4: sources[0].to is left, where it comes from"),
        (source("kind = \"bulk\"\nstart = \"5s\"\nstop = \"4s\""), "x.toml:5: sources[0].stop of 4s is not after"),
        (source("kind = \"bulk\"\nwindow = \"0b\""), "x.toml:4: sources[0].window must be between"),
        (source("kind = \"bulk\"\nmss = 47"), "x.toml:4: sources[0].mss of 47 must be between 48 and 65495"),
        (source("kind = \"bulk\"\nmss = 65496"), "x.toml:4: sources[0].mss of 65496 must be between"),
        (source("kind = \"bulk\"\nmss = -1"), "x.toml:4: sources[0].mss"),
        (source("kind = \"cbr\"\nrate = \"1mbit\"\nmss = 536"), "x.toml:5: sources[0].mss is not a key of cbr"),
        (source("kind = \"bulk\"\ntcp = { congestion = \"cubik\" }"), "did you mean \"cubic\"?"),
        (
            source("kind = \"bulk\"\ntcp = { recovery = \"rack\" }"),
            "x.toml:4: sources[0].tcp.recovery = \"rack\" needs SACK",
        ),
        (source("kind = \"bulk\"").repeat(2), "there are two sources or classes named a"),
        (
            "[[sources]]\nname = \"workload\"\nkind = \"bulk\"\n".to_owned(),
            "there are two sources or classes named workload",
        ),
        ("[[tcp.classes]]\nname = \"a\"\ntcp = {}\n".to_owned(), "x.toml:1: tcp.classes[0] chooses no connections"),
        (
            "[[tcp.classes]]\nname = \"a\"\nshare = \"120%\"\ntcp = {}\n".to_owned(),
            "x.toml:3: tcp.classes[0].share: \"120%\" is not a share",
        ),
        ("[measure]\ntcp-trace = \"some\"\n".to_owned(), "x.toml:2: measure.tcp-trace: unknown word \"some\""),
    ] {
        let message = parse(&text).unwrap_err();
        assert!(message.contains(wanted), "{text} gave {message}");
    }
    let share =
        |name: &str| format!("[[tcp.classes]]\nname = \"{name}\"\nshare = \"60%\"\ntcp = {{ congestion = \"bbr\" }}\n");
    let message = parse(&[share("a"), share("b")].concat()).unwrap_err();
    assert!(message.contains("tcp.classes: their shares add up to 120 %"), "{message}");
}

/// The datagrams of a source that follows rates, of 1,000 bytes on the link each: first, last (in milliseconds), number.
fn followed(rates: &[(f64, f64)]) -> Vec<(u64, u64, u64)> {
    let text = "sources = [{ name = \"a\", kind = \"cbr\", rates = \"r.csv\", payload = \"958b\", rtt = \"20ms\" }]\n\
                measure.duration = \"1s\"\n";
    let experiment = Experiment::parse(text, "x").unwrap();
    let runs = experiment.sources[0].runs(rates).unwrap();
    assert!(runs.iter().all(|run| run.bytes() == 958 * run.packets()));
    let millis = |time: Duration| time.as_nanos() / 1_000_000;
    runs.iter().map(|run| (millis(run.span().first), millis(run.span().last), run.packets())).collect()
}

#[test]
fn datagrams_follow_rates() {
    // One a second for two seconds, silence for one, four a second for half of one.
    assert_eq!(followed(&[(2.0, 8_000.0), (1.0, 0.0), (0.5, 32_000.0)]), [(500, 1_500, 2), (3_125, 3_375, 2)]);
    // Half a datagram each: they leave together, in the middle of the second time.
    assert_eq!(followed(&[(0.5, 8_000.0), (0.5, 8_000.0)]), [(750, 750, 1)]);
    // Nothing is lost by rounding: a third of a datagram in each of 3,000 times is 1,000 datagrams.
    let thirds = followed(&vec![(1.0, 8_000.0 / 3.0); 3_000]);
    assert_eq!(thirds.iter().map(|(_, _, packets)| packets).sum::<u64>(), 1_000);
    // An hour is several runs of datagrams.
    let hour = followed(&[(3_600.0, 8_000.0)]);
    assert_eq!((hour.len(), hour[0]), (4, (500, 899_500, 900)));
}

#[test]
fn rates_that_cannot_be_sent_are_refused() {
    let text =
        "sources = [{ name = \"a\", kind = \"cbr\", rates = \"r.csv\", rtt = \"20ms\" }]\nmeasure.duration = \"1s\"\n";
    let source = &Experiment::parse(text, "x").unwrap().sources[0];
    let error = source.runs(&[(1.0, 1e6), (1.0, 1e13)]).unwrap_err();
    assert!(error.to_string().contains("less than 1.00 us between datagrams"), "{error}");
    let refused = |keys: &str| {
        let text = format!("measure.duration = \"1s\"\n[[sources]]\nname = \"a\"\nrtt = \"20ms\"\n{keys}");
        Experiment::parse(&text, "x").unwrap_err().to_string()
    };
    assert!(refused("kind = \"cbr\"\nrates = \"r.csv\"\nrate = \"1mbit\"\n").contains("rates say the same"));
    assert!(refused("kind = \"poisson\"\nrates = \"r.csv\"\n").contains("rates"));
}
