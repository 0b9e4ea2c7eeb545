//! Answers of agents, registries, journals, observations of runs.

use flowloom::store::monitor::{Batch, GapRow, Kind, MonitorWriter, SECOND, Series, WriterOptions};

/// A value as it is on the wire.
fn value(kind: u8, contents: &[u8]) -> Vec<u8> {
    let length = u8::try_from(contents.len()).expect("a short value");
    let long: &[u8] = if length < 0x80 { &[length] } else { &[0x81, length] };
    [&[kind], long, contents].concat()
}

/// An answer with these values.
fn answer(bindings: &[(&[u8], Vec<u8>)]) -> Vec<u8> {
    let binding = |(name, contents): &(&[u8], Vec<u8>)| value(0x30, &[value(6, name), contents.clone()].concat());
    let bindings: Vec<u8> = bindings.iter().flat_map(binding).collect();
    let pdu = [value(2, &[7]), value(2, &[0]), value(2, &[0]), value(0x30, &bindings)].concat();
    value(0x30, &[value(2, &[1]), value(4, b"public"), value(0xa2, &pdu)].concat())
}

/// Answers of agents: rows of two columns, an end, an index that comes twice.
pub fn answers() -> Vec<Vec<u8>> {
    let narrow = |index| [&[0x2b, 6, 1, 2, 1, 2, 2, 1, 10][..], index].concat();
    let wide = |index| [&[0x2b, 6, 1, 2, 1, 31, 1, 1, 1, 6][..], index].concat();
    let (one, two): (&[u8], &[u8]) = (&[1], &[0x81, 0]);
    let count = || value(0x41, &[0, 0xff, 0xff]);
    vec![
        answer(&[
            (&narrow(one), count()),
            (&wide(one), value(0x46, &[1, 2, 3, 4, 5, 6])),
            (&narrow(two), count()),
            (&wide(two), vec![0x82, 0]),
        ]),
        answer(&[(&narrow(two), count()), (&narrow(two), value(4, b"ge-0/0/1"))]),
        answer(&[]),
    ]
}

/// Registries: every table, and one that is small.
pub fn registries() -> Vec<Vec<u8>> {
    let all = "interval = \"10s\"\ntimeout = \"500ms\"\nretries = 2\n[keep]\nsamples = \"720h\"\n[[site]]\nname = \"north\"\nplace = \"Hall 1\"\n\
        latitude = 38.9\nlongitude = -95.2\n[[target]]\nname = \"core-1\"\nsite = \"north\"\ntype = \"switch\"\n\
        addresses = [\"10.0.0.1\", \"[::1]:1161\"]\ncommunity = \"hush-hush\"\nports = [\"ge-*\"]\nrepetitions = 20\n[[target.port]]\n\
        name = \"ge-0/0/1\"\nsince = \"2026-01-01\"\ncapacity = \"1gbit\"\ncarries = \"to core-2\"\n[[target.counter]]\nname = \"cells\"\n\
        oid = \"1.3.6.1.4.1.326.2.2.2.1\"\nunit = \"cells\"\ntable = true\nnames = \"1.3.6.1.4.1.326.2.2.2.2\"\nkind = \"counter\"\n\
        capacity = 353208\n[[target]]\nname = \"here\"\nkind = \"local\"\ninterval = \"10ms\"\n[[target]]\nname = \"core-2\"\n\
        addresses = [\"core-2\"]\n[target.user]\nname = \"watcher\"\nauthentication = \"sha-512\"\nauthentication-key = \"hush-hush\"\n\
        privacy = \"aes-256\"\nprivacy-key = \"file:key\"\n[[link]]\nfrom = \"core-1:ge-0/0/1\"\nto = \"core-2:a\"\nuntil = \"2027-01-01\"\n\
        [[alert]]\nname = \"busy\"\ncounter = \"in\"\nrate-above = \"800mbit\"\nlasts = \"5min\"\ncommand = [\"true\"]\n\
        url = \"https://example.org/x\"\n";
    [all, "[[target]]\nname = \"a\"\naddresses = [\"h\"]\ncommunity = \"hush-hush\"\n", ""]
        .map(|text| text.as_bytes().to_vec())
        .into()
}

/// What stores keep of registries.
pub fn kept() -> Vec<Vec<u8>> {
    let of = |text: Vec<u8>| {
        let text = String::from_utf8(text).expect("a text");
        let registry = flowloom::Registered::parse(&text, "seed.toml").expect("a registry");
        flowloom::monitoring::kept_text(&registry).expect("a text").into_bytes()
    };
    registries().into_iter().take(2).map(of).collect()
}

/// Journals: every record, and one that only begins.
pub fn journals() -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut writer = MonitorWriter::open(folder.path(), WriterOptions::default(), SECOND).expect("a store");
    let series = Series {
        id: 0,
        target: "core-1".to_owned(),
        port: "ge-0/0/1".to_owned(),
        counter: "in".to_owned(),
        unit: "octets".to_owned(),
        kind: Kind::Counter,
        interval_ns: SECOND,
    };
    let (id, _) = writer.series(series).expect("a series");
    writer
        .samples(Batch { time_ns: SECOND, span_ns: SECOND, samples: vec![(id, 5), (300, u64::MAX)] })
        .expect("samples");
    writer.gap(GapRow { series: id, end_ns: 9, amount: Some(7), ..GapRow::default() }).expect("a gap");
    let path = folder.path().join("journal/00000001.journal");
    let whole = std::fs::read(path).expect("a segment");
    vec![whole[..19].to_vec(), whole]
}

/// What runs say of themselves: a simulation, a live run, and nothing.
pub fn running() -> Vec<Vec<u8>> {
    let link = "{\"name\":\"bottleneck\",\"from\":\"left\",\"to\":\"right\",\"bottleneck\":true,\"rate_bps\":10000000,\
                \"carried_packets\":5,\"carried_bytes\":7570,\"dropped_packets\":1,\"lost_packets\":0,\"queue_packets\":2,\
                \"queue_bytes\":3028,\"waited_packets\":7,\"waited_ns\":9000000,\"throughput_bps\":9.5e6,\"queue_delay_ns\":1.25e6}";
    let whole = |driver: &str, lateness: &str, events: &str| {
        format!(
            "{{\"version\":1,\"run\":\"a\",\"target\":\"runs/a\",\"driver\":\"{driver}\",\"seed\":1,\"process\":7,\"phase\":\"running\",\
             \"begun_unix_ns\":1,\"observed_unix_ns\":2,\"time_ns\":3,\"links_time_ns\":3,\"window_ns\":4,\"at_most_ns\":5,\
             \"share_done\":0.75,\"events\":{events},\"connections\":{{\"started\":3,\"active\":1,\"completed\":1,\"reset\":1,\
             \"gave_up\":0}},\"links\":[{link}],\"lateness\":{lateness},\"verdict\":\"VALID\",\"reasons\":[\"x\"],\
             \"log\":[{{\"unix_ns\":1,\"text\":\"said\"}}]}}"
        )
        .into_bytes()
    };
    let late = "{\"count\":4,\"p50_ns\":1000,\"p99_ns\":2000,\"max_ns\":3000}";
    vec![whole("sim", "null", "9"), whole("live", late, "null"), Vec::new()]
}
