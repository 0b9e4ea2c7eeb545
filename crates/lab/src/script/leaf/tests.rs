use flowloom_core::units::Rate;
use flowloom_models::generate::netspec::{Call, Parameter as Drawn, Traffic};

use super::super::diagnostic::Diagnostic;
use super::super::parser::{Mode, script};
use super::super::place::Files;
use super::*;

/// A leaf with these parameters, and what is said of it.
fn leaf(parameters: &str) -> (Option<Leaf>, Vec<String>) {
    let mut files = Files::new();
    let file = files.add("a.ns", &format!("test h {{\n{parameters}\n}}"), None);
    let (body, found) = script(&files, file, Mode::Strict);
    assert!(!found.iter().any(Diagnostic::is_error), "{found:?}");
    let (leaf, found) = Leaf::read(body.blocks().next().unwrap());
    let told = found.iter().map(|one| {
        let hint = one.hint.as_ref().map_or(String::new(), |hint| format!(" | {hint}"));
        format!("{}: {}:{}: {}{hint}", one.severity.word(), one.place.line, one.place.column, one.message)
    });
    (leaf, told.collect())
}

const ENDS: &str = "own = a:1; peer = b:2;";

fn of_type(kind: &str) -> (Option<Leaf>, Vec<String>) {
    leaf(&format!("type = {kind}; protocol = tcp; {ENDS}"))
}

/// Methods J.4.
#[test]
fn bursts_offer_their_rates() {
    for (kind, wanted) in [
        ("burst(blocksize = 125000, period = 10000, duration = 10)", Some(100e6)),
        ("burst(blocksize = 32768, period = 8000, duration = 10)", Some(32.768e6)),
        ("burst(blocksize = 32K, period = 8K, duration = 10)", Some(32.768e6)),
        ("BurstQ(BlockSize = 1000, Period = 1000, repeats = 3, buffer = 256K, Duration = 0.5)", Some(24e6)),
        ("cbr(blocksize = 1250, period = 1000, duration = 1)", Some(10e6)),
        ("full(blocksize = 32768, duration = 10)", None),
        ("sink(blocksize = 32768, duration = 10)", None),
        ("burstq(blocksize = ftpItemSize(min = 8), period = 1000, duration = 10)", None),
    ] {
        let (leaf, said) = of_type(kind);
        let leaf = leaf.unwrap_or_else(|| panic!("{kind}: {said:?}"));
        assert_eq!(leaf.offered_bits_per_second(), wanted, "{kind}");
    }
}

#[test]
fn what_is_given_is_what_is_meant() {
    let (leaf, said) = leaf(
        "Type = burst(blocksize = ftpitemsize(min = 1K), period = telnetPacketInterarrival(max = 1K), duration = 15.5); \
         PROTOCOL = TCP(window = 16K, tcpmtu = 1500, no_delay = on, rate = 1.5M); own = [::1]:0; peer = Host-B:65535; extra = 1;",
    );
    assert_eq!(said[0], "warning: 2:221: extra means nothing to a test, and is passed on");
    for (note, key) in said[1..].iter().zip(["blocksize", "period"]) {
        assert!(
            note.starts_with(&format!("note: 2:8: burst: {key}: ")) && note.ends_with(" % of what is drawn is clipped"),
            "{note}"
        );
    }
    let leaf = leaf.unwrap();
    let blocksize = Drawn::Call(Call { min: Some(1_024.0), ..Call::new("ftpItemSize") });
    let period = Drawn::Call(Call { max: Some(1_000.0), ..Call::new("telnetPktInterarrival") });
    let traffic = Box::new(Traffic::Burst { blocksize, period });
    assert_eq!(leaf.work, Work::Source { traffic, buffer_bytes: None });
    assert_eq!(leaf.duration, Duration::from_millis(15_500));
    let tcp = Tcp {
        window_bytes: Some(16_384),
        mss_bytes: Some(1_460),
        no_delay: Some(true),
        rate: Rate::from_bits_per_second(1_500_000),
        congestion: None,
    };
    assert_eq!(leaf.protocol, Protocol::Tcp(tcp));
    assert_eq!((leaf.own.to_string(), leaf.peer.to_string()), ("[::1]:0".to_owned(), "host-b:65535".to_owned()));
}

/// Methods J.5: every parameter without a published value is a required argument.
#[test]
fn emulated_sources_need_what_is_not_published() {
    for kind in [
        "ftp(lambda = 0.00001, duration = 20)",
        "telnet(lambda = 0.00001, duration = 20)",
        "www(lambda = 0.00001, shape = 1.1, min = 2K, duration = 20)",
        "voice(lambda = 0.00001, durationLambda = 5e-9, blocksize = 160, duration = 20)",
        "videoconference(frameRate = 25, shape = 3, scale = 500, correlation = 0.98, memory = dar, duration = 20)",
        "mpeg(frame-rate = 25, gop = IBBPBBPBB, sceneLengthMean = 10, sceneMean = 9000, sceneSd = 3000, iWeight1 = 0.5, \
         iWeight2 = -0.1, iSd = 400, pMean = 4000, pSd = 1000, bMean = 2000, bSd = 500, duration = 20)",
        "burst(period = 40000, duration = 20, blocksize = videoMpegFrameSize(gop = IBBPBBPBB, sceneLengthMean = 10, \
         sceneMean = 9000, sceneSd = 3000, iWeight1 = 0.5, iWeight2 = -0.1, iSd = 400, pMean = 4000, pSd = 1000, bMean = \
         2000, bSd = 500))",
    ] {
        let (leaf, said) = of_type(kind);
        assert!(leaf.is_some() && said.is_empty(), "{kind}: {said:?}");
    }
    let (_, said) = of_type("www(duration = 20)");
    assert_eq!(
        said,
        [
            "error: 2:8: www needs lambda: one over the mean time between, per microsecond",
            "error: 2:8: www needs shape: tail index of the sizes, published from 0.40 to 0.63",
            "error: 2:8: www needs min: the smallest size in bytes"
        ]
    );
    assert_eq!(of_type("videoconference(duration = 1)").1.len(), 5);
    assert_eq!(of_type("mpeg(duration = 1)").1.len(), 12);
}

#[test]
fn what_cannot_be_is_told() {
    for (kind, wanted) in [
        ("sink(duration = 1)", "error: 2:8: sink needs blocksize: bytes to read at a time"),
        ("sink", "error: 2:8: sink needs duration: how long, in seconds"),
        ("snk(duration = 1)", "error: 2:8: there is no type snk | did you mean \"sink\"?"),
        (
            "full(blocksize = 0.3K, duration = 1)",
            "error: 2:25: blocksize takes a whole number of bytes, one at least, as in 32768 or 32K",
        ),
        (
            "full(blocksize = 1, duration = 0)",
            "error: 2:39: duration is a number of seconds above 0, and a year at most",
        ),
        (
            "full(blocksize = 1, duration = 1, perod = 5)",
            "error: 2:42: full takes no perod | it takes duration, blocksize",
        ),
        (
            "burst(blocksize = 1, perod = 5, duration = 1)",
            "error: 2:8: burst needs period: microseconds from a block to the next, or a function that draws them",
        ),
        ("burst(blocksize = 1, period = 0, duration = 1)", "error: 2:8: burst: period of 0 never ends"),
        (
            "burst(blocksize = ftpItemSise(), period = 1, duration = 1)",
            "error: 2:26: there is no function ftpItemSise | did you mean \"ftpItemSize\"?",
        ),
        (
            "burst(blocksize = ftpItemSize(lambda = 1), period = 1, duration = 1)",
            "error: 2:26: ftpItemSize takes no lambda",
        ),
        (
            "burst(blocksize = ftpItemSize(mni = 1), period = 1, duration = 1)",
            "error: 2:38: ftpItemSize takes no mni | did you mean \"min\"?",
        ),
        ("burst(blocksize = wwwItemSize(shape = 1), period = 1, duration = 1)", "error: 2:26: wwwItemSize needs min"),
        ("burst(blocksize = ftpItemSize(min = a), period = 1, duration = 1)", "error: 2:44: min takes a number"),
        (
            "\"full\"",
            "error: 2:8: type is a name with arguments | type = burst(blocksize = 125000, period = 10000, duration = 10);",
        ),
    ] {
        let (leaf, said) = of_type(kind);
        assert_eq!((leaf, said.first().map(String::as_str)), (None, Some(wanted)), "{kind}");
    }
    let with = |protocol: &str, ends: &str| {
        let (leaf, said) = leaf(&format!("type = sink(blocksize = 1, duration = 1);\nprotocol = {protocol};\n{ends}"));
        assert_eq!(leaf, None);
        said[0].clone()
    };
    assert_eq!(with("sctp", ENDS), "error: 3:12: there is no protocol sctp | known: tcp, udp");
    assert_eq!(with("tcp(windw = 1)", ENDS), "error: 3:16: tcp takes no windw | did you mean \"window\"?");
    assert_eq!(with("tcp(tcpmtu = 40)", ENDS), "error: 3:25: tcpmtu is from 41 to 65535");
    assert_eq!(
        with("tcp(mss = 1, tcpmtu = 1500)", ENDS),
        "error: 3:16: tcpmtu and mss say the same of a segment | leave one of them out"
    );
    assert_eq!(with("tcp(nodelay = 2)", ENDS), "error: 3:26: nodelay is true or false");
    assert_eq!(with("udp(rate = 0)", ENDS), "error: 3:23: rate is one bit per second at least");
    assert_eq!(with("udp", "own = a; peer = b:1;"), "error: 4:7: own is a host and a port | write HOST:PORT");
    assert_eq!(
        with("udp", "own = a:0; peer = b:1;"),
        "error: 1:1: port 0 of own is none that something could be sent to"
    );
    assert_eq!(with("udp", "own = a:1;"), "error: 1:1: the test has no peer | peer = HOST:PORT;");
}

#[test]
fn a_socket_is_told_its_congestion_control() {
    let of = |arguments: &str| {
        leaf(&format!("type = full(blocksize = 1K, duration = 1); protocol = tcp({arguments}); {ENDS}"))
    };
    let (asked, said) = of("window = 64K, congestion = bbr");
    let Some(Leaf { protocol: Protocol::Tcp(tcp), .. }) = asked else { panic!("{said:?}") };
    assert_eq!((tcp.congestion.as_deref(), said), (Some("bbr"), Vec::new()));
    let (asked, said) = of("initial-window = 4, prr = off, sack = on, congestion = reno");
    assert!(asked.is_some(), "{said:?}");
    let wanted = [
        "initial-window = 4 is not a socket's to choose: the kernel's own setting holds",
        "prr = false is not the kernel's to choose: it has PRR always",
        "sack = on is not a socket's to choose: the kernel's own setting holds",
        "congestion = reno is not the kernel's to choose: its reno recovers as newreno does (RFC 6582)",
    ];
    assert!(
        said.iter().zip(wanted).all(|(one, wanted)| one.starts_with("note: 2:") && one.ends_with(wanted)),
        "{said:?}"
    );
    assert_eq!(said.len(), wanted.len(), "{said:?}");
    for (arguments, wanted) in [
        ("congestion = cubik", "congestion: unknown word \"cubik\""),
        ("initial-window = 2000", "initial-window of 2000 must be between 0 and 1000"),
        ("congestoin = cubic", "tcp takes no congestoin | did you mean \"congestion\"?"),
    ] {
        let (asked, said) = of(arguments);
        assert!(asked.is_none() && said.iter().any(|one| one.contains(wanted)), "{arguments}: {said:?}");
    }
}
