//! Every transcript of the suite, and what the language promises.

use flowloom_validate::transcripts::{Script, folder, suite};
use proptest::prelude::*;

#[test]
fn the_suite_holds() {
    let transcripts = suite(&folder()).unwrap();
    assert!(transcripts.len() > 100, "only {} transcripts were found", transcripts.len());
    let mut wrong = Vec::new();
    for transcript in &transcripts {
        assert!(!transcript.title.is_empty() && !transcript.source.is_empty(), "{} has no head", transcript.name);
        match (transcript.play(), &transcript.departs) {
            (Ok(()), None) | (Err(_), Some(_)) => {}
            (Err(failure), None) => wrong.push(failure),
            // `make validate` insists that the head is changed then.
            (Ok(()), Some(reason)) => eprintln!("{} holds; it is said not to: {reason}", transcript.name),
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), transcripts.len(), wrong.join("\n\n"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = Script::parse("bytes", &bytes);
    }

    /// Random bytes rarely get past the first token; these do.
    #[test]
    fn no_tokens_make_parser_or_endpoint_panic(tokens in prop::collection::vec(prop_oneof![
        Just("+0"), Just("0"), Just("+.1"), Just("*"), Just("0~1"), Just("+0~+.1"), Just("..."), Just("0...1"), Just("<"), Just(">"),
        Just("S"), Just("S."), Just("."), Just("P."), Just("FP."), Just("R"), Just("SEW"), Just("-"),
        Just("0:0(0)"), Just("1:1(0)"), Just("1:1001(1000)"), Just("4294967295:4294967295(0)"),
        Just("ack 1"), Just("ack 1001"), Just("win 0"), Just("win 65535"), Just("[ce]"), Just("[ect01]"),
        Just("<mss 1000>"), Just("<mss 0,wscale 255>"), Just("<sackOK,TS val 0 ecr 0>"), Just("<nop,nop,sack 5:1 1:1 1:9 2:3>"), Just("<...>"),
        Just("socket(..., SOCK_STREAM, IPPROTO_TCP) = 3"), Just("listen(3, 1) = 0"), Just("connect(3, ..., ...) = 0"),
        Just("accept(3, ..., ...) = 4"), Just("write(4, ..., 5000) = 5000"), Just("read(4, ..., 100) = 0"), Just("close(4) = 0"),
        Just("%{ assert tcpi_snd_cwnd == 10 }%"), Just("`sysctl net.ipv4.tcp_sack=1`"), Just("--define=MSS=1"), Just("["), Just("{"), Just("\n"),
    ], 0..60)) {
        if let Ok(script) = Script::parse("tokens", tokens.join(" ").as_bytes()) {
            let _ = script.run();
        }
    }

    #[test]
    fn no_change_of_a_byte_makes_anything_panic(which in any::<prop::sample::Index>(), place in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let transcripts = suite(&folder()).unwrap();
        let path = folder().join(format!("{}.pkt", transcripts[which.index(transcripts.len())].name));
        let mut text = std::fs::read(path).unwrap();
        let place = place.index(text.len());
        text[place] = byte;
        if let Ok(script) = Script::parse("changed", &text) {
            let _ = script.run();
        }
    }
}

fn error(text: &str) -> String {
    Script::parse("a.pkt", text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn what_cannot_be_read_is_said_with_its_place() {
    assert_eq!(
        error("0 socket(...) = 3\n+0 < Q 0:0(0) win 1\n"),
        "a.pkt:2:6: Q is no flag; they are S F R P E W and \".\" for ACK"
    );
    assert_eq!(error("0 < . 1:5(9) ack 1 win 1"), "a.pkt:1:7: 1:5 does not span 9 bytes");
    assert_eq!(error("0 < . 1:1(0) win 1"), "a.pkt:1:14: the ACK flag \".\" and \"ack N\" go together");
    assert_eq!(error("0 < . 1:1(0) ack 1"), "a.pkt:1:19: a packet that arrives needs \"win N\"");
    assert_eq!(
        error("0 < . 1:1(0) ack 1 win 70000"),
        "a.pkt:1:24: a window field is 0 to 65535, 70000 is outside of it"
    );
    assert_eq!(error("0 < S 0:0(0) win 1 <mss 1,mss 2>"), "a.pkt:1:27: mss stands here twice");
    assert_eq!(
        error("0~1 < S 0:0(0) win 1"),
        "a.pkt:1:1: only a packet that is expected (\">\") can have a range or * as its time"
    );
    assert_eq!(error("2~1 > S 0:0(0)"), "a.pkt:1:1: this range ends before it begins");
    assert!(
        error("0 %{\n  assert tcpi_cwnd == 1 }%")
            .starts_with("a.pkt:2:3: \"tcpi_cwnd\" is neither a number nor one of ")
    );
    assert_eq!(error("0 %{ import os }%"), "a.pkt:1:6: only \"assert A == B\" can be read here, not \"import os\"");
    assert_eq!(error("// nothing\n"), "a.pkt:2:1: expected an event, found the end of the script");
    assert_eq!(Script::parse("a.pkt", b"0 a\n\xff").unwrap_err().to_string(), "a.pkt:2:1: this is not UTF-8");
}

const OPEN: &str =
    "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 listen(3, 1) = 0\n+0 < S 0:0(0) win 65535 <mss 1000>\n";

fn failure(lines: &str) -> String {
    let text = format!("{OPEN}{lines}");
    Script::parse("a.pkt", text.as_bytes()).unwrap().run().unwrap_err().to_string()
}

#[test]
fn a_transcript_that_does_not_hold_says_line_expectation_and_packets() {
    let log = "\n  packets so far:\n    0.000000 < S 0:0(0) win 65535 <mss 1000>\n    0.000000 > S. 0:0(0) ack 1 win 65535 <mss 1460>";
    assert_eq!(
        failure("+0 > S. 0:0(0) ack 2 <mss 1460>\n"),
        format!(
            "a.pkt:4:1: expected 0.000000 > S. 0:0(0) ack 2 <mss 1460>\n  found 0.000000 > S. 0:0(0) ack 1 win 65535 \
             <mss 1460>: acknowledgement 1 instead of 2{log}"
        )
    );
    assert_eq!(
        failure("+0 > S. 0:0(0) ack 1 <...>\n+.5 > . 1:1(0) ack 1"),
        format!("a.pkt:5:1: expected 0.500000 > . 1:1(0) ack 1\n  found nothing sent by 0.504000{log}")
    );
    assert!(
        failure("+0 > S. 0:0(0) ack 1 <...>\n+0 accept(3, ..., ...) = 4\n")
            .contains("expected accept(...) = 4\n  found it would block")
    );
    assert!(
        failure("+0 > S. 0:0(0) ack 1 <...>\n+0 %{ assert tcpi_unacked == 7 }%")
            .contains("expected tcpi_unacked == 7\n  found 1 and 7")
    );
    assert!(failure("+0 %{ assert tcpi_unacked == 1 }%").contains("expected no packet after this line"));
    assert!(failure("+.1 %{ assert tcpi_unacked == 1 }%").contains("expected no packet before this line"));
    assert!(
        failure("+0 > S. 0:0(0) ack 1 <...>\n+0 fork() = 1")
            .contains("expected a system call of the subset\n  found fork")
    );
}

#[test]
fn times_are_checked_to_the_tolerance() {
    let at = |line: &str, tolerance: &str| {
        let text = format!("{tolerance}{OPEN}+0 > S. 0:0(0) ack 1 <...>\n{line} > S. 0:0(0) ack 1 <...>\n");
        Script::parse("a.pkt", text.as_bytes()).unwrap().run().is_ok()
    };
    // The SYN/ACK is sent again after 1 s.
    for (line, default, exact) in [
        ("+1", true, true),
        ("+0.996", true, false),
        ("+1.004", true, false),
        ("+0.9959", false, false),
        ("+1.0041", false, false),
        ("+0.5~+1", true, true),
        ("+0.5~+0.9", false, false),
        ("+1.1~+1.2", false, false),
        ("1", true, true),
        ("0~1", true, true),
        ("*", true, true),
    ] {
        assert_eq!(at(line, ""), default, "{line}");
        assert_eq!(at(line, "--tolerance_usecs=0\n"), exact, "{line}");
    }
}

#[test]
fn the_page_names_every_transcript() {
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/evidence/validation.md")).unwrap();
    for transcript in suite(&folder()).unwrap() {
        let row = format!("| {}: {} |", transcript.name, transcript.title);
        assert!(page.contains(&row), "docs/evidence/validation.md lacks {}: run `make validate`", transcript.name);
    }
}
