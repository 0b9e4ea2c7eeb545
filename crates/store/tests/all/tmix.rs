//! Tmix vector files: the counts of an independent program, every bad input's error, and both spellings there and back.

use std::collections::BTreeSet;
use std::path::PathBuf;

use flowloom_core::play::{self, ReplayModel, Script};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{Adu, Close, ConnectionVector, Endpoint, LinkSide, Pattern, PerSide, Side, Span};
use flowloom_store::formats::tmix::{self, Assumptions, Spelling, TmixWriter};
use flowloom_store::formats::{FormatError, Notes, Remark};
use proptest::prelude::*;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The folder of sample vectors, if it is there.
fn samples() -> Option<PathBuf> {
    flowloom_needs::shared("store: Tmix samples", "tmix")
}

fn sample(name: &str) -> Option<Vec<u8>> {
    Some(std::fs::read(samples()?.join(name)).unwrap())
}

fn written(vectors: &[ConnectionVector], spelling: Spelling) -> (String, Notes) {
    let assumptions = Assumptions { rtt: Duration::from_millis(100) };
    let mut writer = TmixWriter::new(Vec::new(), spelling, assumptions).unwrap();
    vectors.iter().for_each(|vector| writer.write(vector).unwrap());
    let (out, notes) = writer.finish().unwrap();
    (String::from_utf8(out).unwrap(), notes)
}

/// The lines that are neither comments nor blank.
fn bare(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

/// Asserts that two texts have the same bare lines, and shows where they first do not.
#[track_caller]
fn assert_same(found: &str, expected: &str, name: &str) {
    let (found, expected) = (sides_apart(found), sides_apart(expected));
    for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert_eq!(found, expected, "{name}: bare line {}", index + 1);
    }
    assert_eq!(found.len(), expected.len(), "{name}: length");
}

/// The bare lines, those of concurrent vectors initiator first: how writers interleave the sides carries no meaning.
fn sides_apart(text: &str) -> Vec<&str> {
    let mut lines = bare(text);
    let mut begin = 0;
    while begin < lines.len() {
        let next = |line: &&str| line.starts_with(['S', 'C']);
        let end = lines[begin + 1..].iter().position(next).map_or(lines.len(), |at| begin + 1 + at);
        if lines[begin].starts_with('C') {
            lines[begin + 1..end].sort_by_key(|line| line.starts_with('A') || line[1..].starts_with('<'));
        }
        begin = end;
    }
    lines
}

fn us(duration: Duration) -> u64 {
    assert_eq!(duration.as_nanos() % 1_000, 0);
    duration.as_nanos() / 1_000
}

/// Side, bytes, wait before.
type Step = (Side, u64, Option<u64>);

/// A sequential vector's exchange as the file has it: (side, bytes, wait before, whether that follows the other side),
/// a close by the side that did not send last being an ADU of zero bytes; and the close of the one that did.
fn exchange(vector: &ConnectionVector) -> (Vec<Step>, Option<u64>) {
    let mut steps = Vec::new();
    let mut wait = None;
    for adu in &vector.adus {
        steps.push((adu.side, adu.bytes, wait));
        wait = adu.wait.map(us);
    }
    let last = vector.adus.last().unwrap().side;
    match (vector.close, vector.t_close) {
        (Close::Fin(side), Some(time)) if side == last => (steps, Some(us(time))),
        (Close::Fin(side), Some(time)) => {
            steps.push((side, 0, Some(us(time))));
            (steps, None)
        }
        (Close::Fin(side), None) => {
            assert_eq!(side, last, "without a stated close who sent last closes");
            (steps, None)
        }
        (Close::Rst(_) | Close::NotSeen, _) => panic!("no file says so"),
    }
}

#[derive(Default)]
struct Waits {
    count: u64,
    sum: u64,
    long: u64,
}

impl Waits {
    fn add(&mut self, wait: u64) {
        self.count += 1;
        self.sum += wait;
        self.long += u64::from(wait >= 500_000);
    }

    fn json(&self) -> Value {
        json!({ "count": self.count, "sum_us": self.sum, "at_least_500ms": self.long })
    }
}

/// What expected.json says of a file, counted in the vectors that were read from it.
fn census(bytes: &[u8]) -> Value {
    let (vectors, notes) = tmix::read(bytes).unwrap();
    let starts: Vec<u64> = vectors.iter().map(|vector| us(vector.start.since(Time::ZERO))).collect();
    let mut rtts: Vec<u64> = vectors.iter().map(|vector| us(vector.stated_rtt.unwrap())).collect();
    rtts.sort_unstable();
    let windows = |side: Side| {
        let all: Vec<u64> = vectors.iter().map(|vector| vector.window(side).unwrap()).collect();
        json!({
            "min": all.iter().min(), "max": all.iter().max(), "sum": all.iter().sum::<u64>(),
            "distinct": all.iter().collect::<BTreeSet<_>>().len(),
        })
    };
    let losses = |side: Side| vectors.iter().map(move |vector| u64::from(vector.ends[side].stated_loss_ppm.unwrap()));
    let labels = || vectors.iter().map(|vector| vector.label.unwrap());
    let sequential = || vectors.iter().filter(|vector| vector.pattern == Pattern::Sequential);
    let concurrent = || vectors.iter().filter(|vector| vector.pattern == Pattern::Concurrent);
    let middle = rtts.len() / 2;
    let median = if rtts.len() % 2 == 1 { rtts[middle] as f64 } else { (rtts[middle - 1] + rtts[middle]) as f64 / 2.0 };
    let original = std::str::from_utf8(bytes).unwrap().lines().any(|line| line.starts_with("SEQ"));
    let mut found = json!({
        "sha256": Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
        "size": bytes.len(),
        "lines": bytes.iter().filter(|byte| **byte == b'\n').count(),
        "connections": notes.vectors,
        "first_start_us": starts[0],
        "last_start_us": starts[starts.len() - 1],
        "starts_nondecreasing": notes.count(Remark::OutOfOrder) == 0,
        "rtt_us": { "min": rtts[0], "max": rtts[rtts.len() - 1], "sum": rtts.iter().sum::<u64>(), "median": median },
        "window_init": windows(Side::Initiator),
        "window_acc": windows(Side::Acceptor),
        "loss_i2a_nonzero": losses(Side::Initiator).filter(|loss| *loss > 0).count(),
        "loss_a2i_nonzero": losses(Side::Acceptor).filter(|loss| *loss > 0).count(),
        "loss_i2a_sum": losses(Side::Initiator).sum::<u64>() as f64 / 1e6,
        "loss_a2i_sum": losses(Side::Acceptor).sum::<u64>() as f64 / 1e6,
        "mss_lines": vectors.iter().filter(|vector| vector.ends.initiator.mss.is_some()).count(),
        "mss_init_sum": vectors.iter().filter_map(|vector| vector.ends.initiator.mss).map(u64::from).sum::<u64>(),
        "distinct_global_ids": labels().map(|label| label.id).collect::<BTreeSet<_>>().len(),
        "distinct_subset_ids": labels().map(|label| label.subset).collect::<BTreeSet<_>>().len(),
        "format": if original { "v1 (SEQ/CONC)" } else { "v2 (S/C)" },
        "seq": sequential().count(),
        "conc": concurrent().count(),
    });
    let more = if original { original_census(&vectors, &notes) } else { alternate_census(&vectors) };
    found.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    found
}

/// The keys that only files in the original spelling have.
fn original_census(vectors: &[ConnectionVector], notes: &Notes) -> Value {
    let sequential = || vectors.iter().filter(|vector| vector.pattern == Pattern::Sequential);
    let concurrent = || vectors.iter().filter(|vector| vector.pattern == Pattern::Concurrent);
    let [mut answers, mut thinking, mut initiator, mut acceptor, mut trailing] = [(); 5].map(|()| Waits::default());
    let (mut zero, mut replayed, mut acceptor_first, mut only) = (0, 0, 0, [0; 2]);
    let (mut adus, mut largest) = ([0u64; 2], [0u64; 2]);
    for vector in sequential() {
        let (steps, close) = exchange(vector);
        acceptor_first += u64::from(steps[0].0 == Side::Acceptor);
        for side in Side::BOTH {
            only[side as usize] += u64::from(vector.bytes(side.other()) == 0);
        }
        for &(side, bytes, _) in &steps {
            adus[side as usize] += 1;
            largest[side as usize] = largest[side as usize].max(bytes);
        }
        for pair in steps.windows(2) {
            let wait = pair[1].2.unwrap();
            zero += u64::from(wait == 0);
            replayed += u64::from(wait >= 500_000);
            match (pair[0].0, pair[1].0) {
                (Side::Initiator, Side::Acceptor) => answers.add(wait),
                (Side::Acceptor, Side::Initiator) => thinking.add(wait),
                (Side::Initiator, Side::Initiator) => initiator.add(wait),
                (Side::Acceptor, Side::Acceptor) => acceptor.add(wait),
            }
        }
        if let Some(wait) = close {
            trailing.add(wait);
            zero += u64::from(wait == 0);
        }
    }
    let of = |side: Side| concurrent().flat_map(move |vector| vector.adus.iter().filter(move |adu| adu.side == side));
    let waits = |side: Side| {
        let between: u64 = of(side).filter_map(|adu| adu.wait).map(us).sum();
        between + concurrent().filter_map(|vector| vector.ends[side].fin_wait).map(us).sum::<u64>()
    };
    let bytes = |side: Side| sequential().map(|vector| vector.bytes(side)).sum::<u64>();
    let all = |side: Side| vectors.iter().map(|vector| vector.bytes(side)).sum::<u64>();
    // A direction without an ADU makes no connection; an ADU of zero bytes is one in the counts of the file.
    let directions = vectors.iter().map(|vector| Side::BOTH.into_iter().filter(|side| vector.bytes(*side) > 0).count());
    let mismatches = notes.count(Remark::CountMismatch);
    json!({
        "seq_adus_i2a": adus[0],
        "seq_adus_a2i": adus[1],
        "seq_bytes_i2a": bytes(Side::Initiator),
        "seq_bytes_a2i": bytes(Side::Acceptor),
        "seq_max_adu_i2a": largest[0],
        "seq_max_adu_a2i": largest[1],
        "epochs_declared_sum": sequential().map(|vector| vector.epochs().count()).sum::<usize>(),
        "epochs_match_pairing_rule": sequential().count() as u64 - mismatches,
        "t_request_to_response": answers.json(),
        "t_response_to_request": thinking.json(),
        "t_same_side_initiator": initiator.json(),
        "t_same_side_acceptor": acceptor.json(),
        "t_trailing": trailing.json(),
        "t_zero": zero,
        // Two ADUs without a wait between them would have been an error.
        "adjacent_adus_without_t": 0,
        "acceptor_first": acceptor_first,
        "seq_only_i2a": only[0],
        "seq_only_a2i": only[1],
        "conc_adus_i2a": of(Side::Initiator).count(),
        "conc_adus_a2i": of(Side::Acceptor).count(),
        "conc_bytes_i2a": of(Side::Initiator).map(|adu| adu.bytes).sum::<u64>(),
        "conc_bytes_a2i": of(Side::Acceptor).map(|adu| adu.bytes).sum::<u64>(),
        "conc_t_i_sum_us": waits(Side::Initiator),
        "conc_t_a_sum_us": waits(Side::Acceptor),
        "conc_counts_match": concurrent().count() as u64 - mismatches,
        "models": {
            "harpoon_tcp_connections": directions.sum::<usize>(),
            "block_connections": vectors.len(),
            "block_bytes_i2a": all(Side::Initiator),
            "block_bytes_a2i": all(Side::Acceptor),
            "a_t_b_t_waits_kept_with_500ms_rule_no_trailing": replayed,
        },
    })
}

/// The keys that only files in the alternate spelling have.
fn alternate_census(vectors: &[ConnectionVector]) -> Value {
    let (mut rows, mut adus, mut closes) = ([0u64; 2], [0u64; 2], 0u64);
    let (mut send, mut receive, mut acceptor_first, mut unclosed) = (0, 0, 0, 0);
    for vector in vectors {
        let mut closed = 0;
        if vector.pattern == Pattern::Sequential {
            let (steps, close) = exchange(vector);
            acceptor_first += u64::from(steps[0].0 == Side::Acceptor);
            for (index, (side, bytes, wait)) in steps.iter().enumerate() {
                rows[*side as usize] += 1;
                adus[*side as usize] += u64::from(*bytes > 0);
                closed += u64::from(*bytes == 0);
                let own = index > 0 && steps[index - 1].0 == *side;
                *if own { &mut send } else { &mut receive } += wait.unwrap_or(0);
            }
            if let Some(wait) = close {
                rows[steps[steps.len() - 1].0 as usize] += 1;
                closed += 1;
                send += wait;
            }
        } else {
            for adu in &vector.adus {
                rows[adu.side as usize] += 1;
                adus[adu.side as usize] += 1;
                send += adu.wait.map_or(0, us);
            }
            for side in Side::BOTH {
                if let Some(wait) = vector.ends[side].fin_wait {
                    rows[side as usize] += 1;
                    closed += 1;
                    send += us(wait);
                }
            }
        }
        closes += closed;
        unclosed += u64::from(closed == 0);
    }
    let all = |side: Side| vectors.iter().map(|vector| vector.bytes(side)).sum::<u64>();
    json!({
        "rows_I": rows[0],
        "rows_A": rows[1],
        "fin_rows": closes,
        // A row with two waits would have been an error.
        "both_waits_nonzero": 0,
        "adus_i2a": adus[0],
        "adus_a2i": adus[1],
        "bytes_i2a": all(Side::Initiator),
        "bytes_a2i": all(Side::Acceptor),
        "send_wait_sum_us": send,
        "recv_wait_sum_us": receive,
        "acceptor_first": acceptor_first,
        "connections_without_fin_row": unclosed,
    })
}

/// Every number as one kind of number, so that 50000 and 50000.0 are the same.
fn as_floats(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Object(members) => members.iter().map(|(key, value)| (key.clone(), as_floats(value))).collect(),
        other => other.clone(),
    }
}

#[test]
fn every_key_of_the_independent_count_is_reproduced() {
    let Some(expected) = sample("expected.json") else { return };
    let expected: Value = serde_json::from_slice(&expected).unwrap();
    let files = expected.as_object().unwrap();
    assert_eq!(files.len(), 6);
    for (name, expected) in files {
        let found = census(&sample(name).unwrap());
        for (key, expected) in expected.as_object().unwrap() {
            assert_eq!(as_floats(&found[key]), as_floats(expected), "{name}: {key}");
        }
    }
}

#[test]
fn the_generators_totals_are_reproduced() {
    for name in ["synthetic-200", "synthetic-60-mss"] {
        let Some(truth) = sample(&format!("{name}.truth.json")) else { return };
        let truth: Value = serde_json::from_slice(&truth).unwrap();
        let [v1, v2] = ["v1", "v2"].map(|spelling| census(&sample(&format!("{name}.{spelling}.cvec")).unwrap()));
        for key in ["connections", "seq", "conc", "first_start_us", "last_start_us", "acceptor_first"] {
            assert_eq!((&v1[key], &v2[key]), (&truth[key], &truth[key]), "{name}: {key}");
        }
        for key in ["adus_i2a", "adus_a2i", "bytes_i2a", "bytes_a2i"] {
            assert_eq!(v2[key], truth[key], "{name}: {key}");
        }
        assert_eq!(v1["epochs_declared_sum"], truth["epochs_declared"], "{name}");
        assert_eq!(v1["rtt_us"]["sum"], truth["rtt_sum_us"], "{name}");
        assert_eq!(v1["t_trailing"]["count"], truth["seq_trailing_t"], "{name}");
    }
}

/// What each file of bad/ must say.
const BAD: [(&str, u64, &str); 7] = [
    ("body-before-header.v1.cvec", 1, "this stands before the first header: \"> 300\"; expected a header first"),
    ("both-waits-nonzero.v2.cvec", 6, "both waits are set: \"A 5 7 10\""),
    ("conc-body-in-seq.v1.cvec", 5, "a line of a CONC vector in a SEQ vector: \"c> 300\""),
    ("loss-above-one.v1.cvec", 4, "a loss of 1.5: \"l 0 1.5\"; expected l INITIATOR_LOSS ACCEPTOR_LOSS, fractions"),
    ("negative-time.v1.cvec", 6, "-5 is negative: \"t -5\""),
    ("two-adus-without-t.v1.cvec", 6, "two ADUs without a wait between them: \"< 5000\""),
    ("window-one-field.v1.cvec", 2, "a field is missing: \"w 65535\"; expected w INITIATOR_WINDOW ACCEPTOR_WINDOW"),
];

#[test]
fn every_bad_file_gives_its_error() {
    let Some(folder) = samples() else { return };
    let mut seen = 0;
    for entry in std::fs::read_dir(folder.join("bad")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let result = tmix::read(&std::fs::read(&path).unwrap());
        seen += 1;
        if let Some((_, line, words)) = BAD.iter().find(|(bad, ..)| *bad == name) {
            let message = result.unwrap_err().to_string();
            assert!(message.starts_with(&format!("vectors:{line}: {words}")), "{name}: {message}");
            continue;
        }
        let (vectors, notes) = result.unwrap();
        assert_eq!(vectors.len(), 1);
        match &name[..] {
            "epoch-count-mismatch.v1.cvec" => {
                let found = notes.remarks[&Remark::CountMismatch];
                assert_eq!((found.count, found.first_line), (1, 1));
            }
            "no-final-newline-is-fine.v1.cvec" => assert!(notes.remarks.is_empty()),
            other => panic!("nobody says what {other} must give"),
        }
    }
    assert_eq!(seen, BAD.len() + 2);
}

fn error(text: &str) -> String {
    match tmix::read(text.as_bytes()) {
        Err(error @ FormatError::Line(_)) => error.to_string(),
        other => panic!("{text:?} gave {other:?}"),
    }
}

#[test]
fn what_is_wrong_is_refused_with_its_line() {
    const SEQ: &str = "SEQ 1 1 1 1\n";
    const CONC: &str = "CONC 1 1 1 1 1\n";
    const S: &str = "S 1 1 1 1\n";
    for (text, words) in [
        ("SEQ 1 1 1\n> 1".into(), "vectors:1: a field is missing"),
        ("SEQ 1 1 1 1 1\n> 1".into(), "one field too many"),
        ("SEQ x 1 1 1\n> 1".into(), "x is not a whole number"),
        ("SEQ +1 1 1 1\n> 1".into(), "+1 is not a whole number"),
        ("SEQ 18446744073709551616 1 1 1\n> 1".into(), "is too large"),
        ("SEQ 18446744073709551615 1 1 1\n> 1".into(), "a start of 18446744073709551615 us is too large"),
        ("SEQ -1 1 1 1\n> 1".into(), "-1 is negative"),
        (SEQ.to_owned(), "a vector without data"),
        (format!("{SEQ}{SEQ}> 1"), "vectors:1: a vector without data"),
        (format!("{SEQ}> 0"), "closes before any data"),
        (format!("{SEQ}t 5\n> 1"), "a wait before any ADU"),
        (format!("{SEQ}> 1\nt 5\nt 6\n> 1"), "vectors:4: two waits in a row"),
        (format!("{SEQ}> 1\nt 5\n< 0\nt 6\n> 1"), "data after the close"),
        (format!("{SEQ}> 1\nt 5\n> 0\nt 6\n> 1"), "data after the close"),
        (format!("{SEQ}> 1.5"), "1.5 is not a whole number"),
        (format!("{SEQ}> 281474976710657"), "more than 281474976710656 bytes"),
        (format!("{SEQ}w 1 1\nw 1 1\n> 1"), "vectors:3: a second w line"),
        (format!("{SEQ}> 1\nw 1 1"), "an w line below ADUs"),
        (format!("{SEQ}m 0 1460\n> 1"), "no segment size"),
        (format!("{SEQ}m 65536 1460\n> 1"), "no segment size"),
        (format!("{SEQ}l 0 nan\n> 1"), "a loss of nan"),
        (format!("{SEQ}l 0 -0.1\n> 1"), "a loss of -0.1"),
        (format!("{SEQ}l 0 x\n> 1"), "x is not a number"),
        (format!("{SEQ}x 1"), "an unknown line"),
        (format!("{SEQ}I 0 0 1"), "a row of the alternate spelling"),
        (format!("{SEQ}> 1\n{S}I 0 0 1"), "vectors:3: the other spelling in one file"),
        (format!("{CONC}> 1"), "a line of a SEQ vector in a CONC vector"),
        (format!("{CONC}c> 1\nc> 1"), "two ADUs without a wait between them"),
        (format!("{CONC}t> 1\nc> 1"), "a wait before any ADU"),
        (format!("{CONC}c> 1\nt> 1\nc> 0\nt> 1\nc> 5"), "data after the close"),
        (format!("{S}> 1"), "a line of the original spelling"),
        (format!("{S}I 0 0"), "a field is missing"),
        (format!("{S}I 5 0 1"), "the first ADU waits"),
        (format!("{S}I 0 0 1\nA 5 0 1"), "a send wait after the other side's data"),
        (format!("{S}I 0 0 1\nI 0 5 1"), "a receive wait after the same side's data"),
        (format!("{S}I 0 0 1\nI 5 0 0\nI 5 0 0"), "the same side closes twice"),
        ("C 1 1 1 1 1\nI 0 0 1\nI 0 5 1".into(), "a receive wait in a concurrent vector"),
        ("C 1 1 1 1 1\nI 0 0 1\nA 0 0 0".into(), "a side closes before it sent data"),
        ("SEQ 1 1 1 1\0\n> 1".into(), "a NUL byte"),
    ] {
        let found = error(&text);
        assert!(found.contains(words), "{text:?}: {found}");
    }
}

#[test]
fn what_real_files_contain_is_taken() {
    let text = "\r\n  # a comment\r\n\tSEQ  7 2 3 9  # why not here\r\n l 0 0.5\r\n m 536 1460 \r\nr 8074\r\n\
                # between\r\nw 64240 17520\r\n > 527\r\n t 0\r\n < 4589\r\n\r\n t 9616 \r\n >\t1";
    let (vectors, notes) = tmix::read(text.as_bytes()).unwrap();
    assert!(notes.remarks.is_empty(), "{notes:?}");
    let (out, _) = written(&vectors, Spelling::Original);
    assert_eq!(
        bare(&out),
        [
            "SEQ 7 2 3 9",
            "m 536 1460",
            "w 64240 17520",
            "r 8074",
            "l 0.000000 0.500000",
            "> 527",
            "t 0",
            "< 4589",
            "t 9616",
            "> 1"
        ]
    );
    assert_eq!(tmix::read(b"# nothing but comments\n").unwrap().0.len(), 0);
}

/// The example of methods A.10.
#[test]
fn the_example_of_the_methods() {
    let text = "SEQ 6851 1 0 7\nw 64800 6432\nr 1176194\nl 0 0\n> 245\nt 51257\n< 510\nt 6304943\n";
    let (vectors, _) = tmix::read(text.as_bytes()).unwrap();
    let [vector] = &vectors[..] else { panic!("{vectors:?}") };
    assert_eq!(vector.start, Time::ZERO + Duration::from_micros(6_851));
    let adus: Vec<_> = vector.adus.iter().map(|adu| (adu.side, adu.bytes, adu.wait, adu.waiter)).collect();
    let answer = Some(Duration::from_micros(51_257));
    assert_eq!(adus, [(Side::Initiator, 245, answer, Side::Acceptor), (Side::Acceptor, 510, None, Side::Acceptor),]);
    assert_eq!(vector.min_rtt(), Some(Duration::from_micros(1_176_194)));
    assert_eq!((vector.close, vector.t_close), (Close::Fin(Side::Acceptor), Some(Duration::from_micros(6_304_943))));
    assert_eq!(vector.initiator_side, LinkSide::Left);
    let (alternate, _) = written(&vectors, Spelling::Alternate);
    assert_eq!(bare(&alternate)[4..], ["I 0 0 245", "A 0 51257 510", "A 6304943 0 0"]);
}

/// A sample without the close by the end that did not send last: it has no line in the original spelling, and is written in a comment.
fn closed_by_comment(sample: Vec<u8>) -> String {
    String::from_utf8(sample).unwrap().replace("\nt 123\n< 0", "")
}

#[test]
fn samples_come_back_as_they_were() {
    for name in ["handmade", "synthetic-200", "synthetic-60-mss"] {
        for (spelling, ending) in [(Spelling::Original, "v1"), (Spelling::Alternate, "v2")] {
            let Some(text) = sample(&format!("{name}.{ending}.cvec")) else { return };
            let (vectors, _) = tmix::read(&text).unwrap();
            let (out, notes) = written(&vectors, spelling);
            assert_same(&out, &closed_by_comment(text), &format!("{name}.{ending}"));
            assert!(notes.remarks.is_empty(), "{notes:?}");
        }
    }
}

#[test]
fn one_spelling_becomes_the_other() {
    for name in ["handmade", "synthetic-200", "synthetic-60-mss"] {
        let [Some(v1), Some(v2)] = ["v1", "v2"].map(|spelling| sample(&format!("{name}.{spelling}.cvec"))) else {
            return;
        };
        let (from_v1, notes) = tmix::read(&v1).unwrap();
        assert_eq!(notes.count(Remark::ZeroAdu), u64::from(name == "handmade"));
        let (alternate, _) = written(&from_v1, Spelling::Alternate);
        assert_same(&alternate, std::str::from_utf8(&v2).unwrap(), name);
        // Back, all that is lost is that a wait of zero was one: it is a microsecond now.
        let (back, _) = written(&tmix::read(alternate.as_bytes()).unwrap().0, Spelling::Original);
        let expected = closed_by_comment(v1);
        let replaced = [("\nt 0\n", "\nt 1\n"), ("\nt> 0\n", "\nt> 1\n"), ("\nt< 0\n", "\nt< 1\n")];
        let expected = replaced.iter().fold(expected, |text, (zero, one)| text.replace(zero, one));
        assert_same(&back, &expected, name);
    }
}

#[test]
fn a_half_close_comes_back() {
    let text = "S 0 1 1 1\nw 1 1\nr 1\nl 0.000000 0.000000\nI 0 0 100\nI 5 0 0\nA 0 7 50\nA 600000 0 9\n";
    let (vectors, _) = tmix::read(text.as_bytes()).unwrap();
    assert_eq!(vectors[0].close, Close::Fin(Side::Initiator));
    assert_eq!(vectors[0].t_close, Some(Duration::ZERO), "data passed after it");
    assert_eq!(vectors[0].ends.initiator.fin_wait, Some(Duration::from_micros(5)));
    // By the pairing rule these are two epochs.
    assert_eq!(bare(&written(&vectors, Spelling::Alternate).0)[4..], bare(text)[4..]);
    let original = written(&vectors, Spelling::Original).0;
    assert_eq!(bare(&original)[4..], ["> 100", "t 7", "< 50", "t 600000", "< 9"]);
    let (back, notes) = tmix::read(original.as_bytes()).unwrap();
    assert!(back == vectors && notes.remarks.is_empty(), "the comment has the close: {original}");
    // Of lines that were changed, a close that cannot be is not believed.
    for changed in ["\"behind\":0", "\"behind\":2", "\"behind\":3", "\"behind\":99"] {
        let text = original.replace("\"behind\":1", changed);
        assert_ne!(text, original);
        let (read, _) = tmix::read(text.as_bytes()).unwrap();
        assert_eq!(
            (read[0].close, read[0].adus.len()),
            (Close::Fin(if changed.ends_with('3') { Side::Initiator } else { Side::Acceptor }), 3)
        );
    }
}

/// A data unit: side, bytes, first and last milliseconds, milliseconds of wait, and who waits.
type Unit = (Side, u64, u64, u64, Option<u64>, Side);

/// A connection of a capture: 5 ms from the monitor to the initiator and back, 40 ms to the acceptor and back.
fn captured(pattern: Pattern, adus: &[Unit]) -> ConnectionVector {
    let ms = Duration::from_millis;
    let adu = |&(side, bytes, first, last, wait, waiter): &Unit| Adu {
        side,
        bytes,
        missing_bytes: 0,
        wait: wait.map(ms),
        waiter,
        seen: Some(Span { first: ms(first), last: ms(last) }),
        packets: None,
    };
    let end = |transit, lead_in: Option<u64>| Endpoint {
        syn_seen: true,
        max_window: Some(60_000),
        min_transit: Some(ms(transit)),
        lead_in: lead_in.map(ms),
        ..Endpoint::default()
    };
    let lead_in = |of: Side| adus.iter().find(|adu| adu.0 == of).map(|adu| adu.2 - 45);
    ConnectionVector {
        id: 7,
        start: Time::ZERO + ms(1_500),
        initiator_side: LinkSide::Right,
        pattern,
        ends: PerSide { initiator: end(5, lead_in(Side::Initiator)), acceptor: end(40, lead_in(Side::Acceptor)) },
        close: Close::Fin(Side::Initiator),
        t_close: Some(ms(300)),
        adus: adus.iter().map(adu).collect(),
        ..ConnectionVector::default()
    }
}

/// Waits stand in the file as the monitor saw them, and are replayed as those of the workload: without the transit of who answers, and
/// with what passed before the first data of either end.
#[test]
fn a_converted_workload_waits_alike() {
    let (i, a) = (Side::Initiator, Side::Acceptor);
    let turns = captured(
        Pattern::Sequential,
        &[
            (a, 90, 145, 145, Some(5), i),
            (i, 300, 150, 150, Some(60), a),
            (a, 5_000, 210, 250, Some(705), i),
            (i, 200, 955, 955, Some(25), a),
            (a, 100, 980, 980, None, a),
        ],
    );
    let apart = captured(
        Pattern::Concurrent,
        &[
            (i, 1_000, 50, 60, Some(40), i),
            (i, 500, 100, 100, None, i),
            (a, 2_000, 2_045, 2_055, Some(1_000), a),
            (a, 700, 3_055, 3_055, None, a),
        ],
    );
    let model = ReplayModel::with_waits(play::Waits::CORRECTED);
    let waits = |vector: &ConnectionVector| {
        Script::new(vector, &model).steps().iter().map(|step| step.wait.as_nanos() / 1_000_000).collect::<Vec<_>>()
    };
    // 100 ms less 40 ms; 5 less 5; 60 less 40; 705 less 5; 25 less 40 is nothing.
    assert_eq!(waits(&turns), [60, 0, 20, 700, 0]);
    assert_eq!(waits(&apart), [5, 40, 1_960, 1_000], "after their own data only");
    let told = "# flowloom connection {\"min_transit_ns\":[5000000,40000000],\"lead_in_ns\":";
    let header = "w 60000 60000\nr 45000\nl 0.000000 0.000000\n";
    let of_turns = format!(
        "SEQ 1500000 3 1 7\n{header}{told}[105000000,100000000],\"from_right\":true,\
         \"close\":{{\"by_acceptor\":false,\"behind\":5,\"wait_us\":300000}}}}\n\
         < 90\nt 5000\n> 300\nt 60000\n< 5000\nt 705000\n> 200\nt 25000\n< 100\n"
    );
    assert_eq!(
        written(std::slice::from_ref(&turns), Spelling::Original).0,
        format!("# tcvec format version 2\n{of_turns}")
    );
    for spelling in [Spelling::Original, Spelling::Alternate] {
        let (text, _) = written(&[turns.clone(), apart.clone()], spelling);
        let (back, _) = tmix::read(text.as_bytes()).unwrap();
        assert_eq!(waits(&back[0]), waits(&turns), "{text}");
        // The lines of a concurrent connection do not say whose data came first.
        assert_eq!(waits(&back[1]), waits(&apart), "{text}");
        assert!(back.iter().all(|vector| vector.initiator_side == LinkSide::Right), "{text}");
        assert_eq!(written(&back, spelling).0, text, "there and back again");
        // Without the comments, as other programs write: nothing is known of transits.
        let (bare, _) = tmix::read(bare(&text).join("\n").as_bytes()).unwrap();
        assert_eq!((bare[0].ends[a].min_transit, bare[0].stated_rtt), (None, Some(Duration::from_millis(45))));
        assert_eq!(waits(&bare[0]), [0, 5, 60, 705, 25]);
    }
}

fn sequential_body() -> impl Strategy<Value = Vec<(bool, u64, u64)>> {
    prop::collection::vec((any::<bool>(), 1u64..10_000_000, 1u64..1_000_000), 1..12)
}

proptest! {
    #[test]
    fn any_sequential_vector_comes_back(
        body in sequential_body(),
        close in prop::option::of((any::<bool>(), 1u64..5_000_000)),
        start in 0u64..1 << 40,
    ) {
        let side = |initiator: bool| if initiator { 'I' } else { 'A' };
        let mut text = String::new();
        let mut epochs = 0;
        let mut before: Option<bool> = None;
        for &(initiator, wait, bytes) in &body {
            epochs += u64::from(initiator || before != Some(true));
            let row = match before {
                None => format!("{} 0 0 {bytes}\n", side(initiator)),
                Some(same) if same == initiator => format!("{} {wait} 0 {bytes}\n", side(initiator)),
                Some(_) => format!("{} 0 {wait} {bytes}\n", side(initiator)),
            };
            text.push_str(&row);
            before = Some(initiator);
        }
        if let Some((own, wait)) = close {
            let last = before.unwrap();
            let row = if own { format!("{} {wait} 0 0\n", side(last)) } else { format!("{} 0 {wait} 0\n", side(!last)) };
            text.push_str(&row);
        }
        let text = format!("S {start} {epochs} 1 2\nw 1 2\nr 3\nl 0.000001 1.000000\n{text}");
        let (vectors, notes) = tmix::read(text.as_bytes()).unwrap();
        prop_assert!(notes.remarks.is_empty());
        let (alternate, _) = written(&vectors, Spelling::Alternate);
        prop_assert_eq!(bare(&alternate), bare(&text));
        let original = written(&vectors, Spelling::Original).0;
        prop_assert_eq!(tmix::read(original.as_bytes()).unwrap().0, vectors);
    }

    /// Cut or damaged anywhere, a file is read or refused, never more.
    #[test]
    fn damaged_files_never_panic(at in 0usize..2_000, byte: u8, cut: bool) {
        const TEXT: &str = include_str!("data/all-cases.v1.cvec");
        let mut bytes = TEXT.as_bytes().to_vec();
        let at = at % bytes.len();
        if cut { bytes.truncate(at) } else { bytes[at] = byte }
        let _ = tmix::read(&bytes);
    }
}

#[test]
fn cut_at_every_byte() {
    const TEXT: &str = include_str!("data/all-cases.v1.cvec");
    let (all, _) = tmix::read(TEXT.as_bytes()).unwrap();
    for length in 0..TEXT.len() {
        if let Ok((vectors, _)) = tmix::read(&TEXT.as_bytes()[..length]) {
            assert!(vectors.len() <= all.len());
        }
    }
}
