//! Source models of the literature in experiments: each is spelt as `docs/reference/models.md` says, makes a workload and runs.

use flowloom::core::workload::{ConnectionVector, Evidence, Protocol};
use flowloom::store::workload::WorkloadReader;

use crate::support::Bench;

/// Models, whether they are of TCP, and how many vectors they have in three seconds, at least.
const MODELS: [(&str, bool, usize); 18] = [
    ("{ kind = \"tcplib\", application = \"ftp\", hosts = 3 }", true, 3),
    (
        "{ kind = \"tcplib\", application = \"smtp\", connection = \"per-conversation\", speed = \"10mbit\", gap-s = 0.1 }",
        true,
        10,
    ),
    (
        "{ kind = \"tcplib\", application = \"telnet\", hosts = 9, ends = { rtt = \"20ms\", mss = 536, window-bytes = 8192, \
            initiators = \"right\" } }",
        true,
        5,
    ),
    (
        "{ kind = \"tcplib-misc\", packets = { kind = \"exponential\", mean = 9 }, packet-gap-s = 0.01, bytes = 100, gap-s = 0.5 }",
        false,
        3,
    ),
    (
        "{ kind = \"web\", browsing = \"surge\", users = 40, largest-bytes = 100000, ends = { rtt = \"50ms\" } }",
        true,
        10,
    ),
    (
        "{ kind = \"web\", browsing = \"mah\", users = 99, connection = \"per-page\", ends = { rtt = \"50ms\" } }",
        true,
        10,
    ),
    (
        "{ kind = \"netspec\", sources = [{ traffic = { type = \"full\", blocksize = 32768 }, protocol = \"tcp\", \
            speed = \"2mbit\", duration = 1, ends = { rtt = \"10ms\" } }] }",
        true,
        1,
    ),
    (
        "{ kind = \"netspec\", sources = [{ traffic = { type = \"burstq\", blocksize = { function = \"ftpItemSize\", min = 8, \
            max = 1e4 }, repeats = { function = \"ftpNOfItems\", min = 1 }, period = { function = \"ftpSessionInterarrival\", \
            lambda = 0.00001, min = 1000 } }, protocol = \"tcp\", ends = { rtt = \"10ms\" } }] }",
        true,
        1,
    ),
    (
        "{ kind = \"netspec\", sources = [{ traffic = { type = \"mpeg\", frame-rate = 25, gop = \"IBBPBB\", scene-length-mean = 5, \
            scene-mean = 9000, scene-sd = 900, i-weights = [0.5, 0.1], i-sd = 90, p-mean = 4000, p-sd = 400, b-mean = 2000, \
            b-sd = 200 }, protocol = \"udp\" }, { traffic = { type = \"videoconference\", frame-rate = 15, shape = 3, \
            scale = 500, correlation = 0.9, memory = \"dar\" }, protocol = \"udp\" }] }",
        false,
        2,
    ),
    (
        "{ kind = \"netspec\", sources = [{ traffic = { type = \"voice\", lambda = 0.000003, duration-lambda = 0.000001, \
            blocksize = 160 }, protocol = \"udp\", count = 2 }] }",
        false,
        5,
    ),
    (
        "{ kind = \"on-off\", sources = 5, rate = \"100kbit\", on = { min = \"100ms\", shape = 1.5 }, off = { min = \"200ms\", \
            shape = 1.2 } }",
        false,
        3,
    ),
    ("{ kind = \"cbr\", flows = 2, rate = \"64kbit\", payload-bytes = 160 }", false, 2),
    ("{ kind = \"poisson\", rate = \"64kbit\" }", false, 1),
    ("{ kind = \"d-itg\", profile = \"voip\", codec = \"g729-2\", flows = 4 }", false, 4),
    ("{ kind = \"campus-2008\", scale = 0.01 }", true, 20),
    ("{ kind = \"enterprise-2006\", scale = 0.01 }", true, 10),
    (
        "{ kind = \"harpoon\", interval = \"1s\", sessions = [5, 6, 7], gap-ms = { kind = \"exponential\", mean = 100 }, \
            file-bytes = { kind = \"pareto\", min = 1500, shape = 1.2 }, clients = [\"10.0.0.0/24\"], port = 80, \
            ends = { rtt = \"20ms\" } }",
        true,
        100,
    ),
    (
        "{ kind = \"harpoon\", traffic = \"udp-exponential\", sessions = 2, users = 3, period-ms = 200, request-bytes = 40, \
            file-bytes = { kind = \"uniform\", min = 60, max = 300 } }",
        false,
        5,
    ),
];

fn experiment(model: &str) -> String {
    format!(
        "[workload]\nmodel = {model}\ndatagrams = \"as-seen\"\n[measure]\nduration = \"3s\"\n\
            [network]\nbottleneck = {{ rate = \"100mbit\", delay = \"5ms\" }}\n"
    )
}

#[test]
fn each_model_makes_a_workload_and_runs() {
    for (model, is_tcp, least) in MODELS {
        let bench = Bench::new();
        bench.file("e.toml", experiment(model).as_bytes());
        bench.flowloom(&["model", "e.toml", "-o", "w.parquet"]).succeeded();
        let made: Vec<ConnectionVector> =
            WorkloadReader::open(&bench.path("w.parquet")).unwrap().map(|vector| vector.unwrap()).collect();
        assert!(made.len() >= least, "{model}: {}", made.len());
        let protocol = if is_tcp { Protocol::Tcp } else { Protocol::Udp };
        assert!(made.iter().zip(0..).all(|(vector, id)| vector.id == id && vector.protocol == protocol), "{model}");
        assert!(made.iter().all(|vector| vector.evidence == Evidence::Model && !vector.adus.is_empty()), "{model}");
        assert!(made.is_sorted_by_key(|vector| vector.start), "{model}");
        let run = bench.json(&["run", "e.toml", "-o", "r", "--json"]);
        assert!(run.is_object(), "{model}");
    }
}

#[test]
fn what_has_no_mean_is_warned_of() {
    let bench = Bench::new();
    bench.file("e.toml", experiment("{ kind = \"d-itg\", profile = \"telnet\" }").as_bytes());
    bench.flowloom(&["run", "e.toml", "-o", "r"]).succeeded();
    let run = flowloom::store::run_folder::RunFolder::open(&bench.path("r")).unwrap();
    let warnings = run.run()["warnings"].to_string();
    assert!(warnings.contains("gaps of this profile have no mean"), "{warnings}");
}

#[test]
fn tables_are_where_the_experiment_says() {
    let bench = Bench::new();
    let model = "{ kind = \"tcplib\", application = \"smtp\", tables = \"tables\" }";
    bench.file("e.toml", experiment(model).as_bytes());
    bench
        .flowloom(&["model", "e.toml", "-o", "w.parquet"])
        .failed(2, &["workload.model.tables: ", "tables/smtp_itemsize.csv: cannot open", "docs/reference/models.md"]);
    std::fs::create_dir(bench.path("tables")).unwrap();
    bench.file("tables/smtp_itemsize.csv", b"value,cumprob\n700,1\n");
    bench.file("tables/ftp_ctlsize.cdf", b"20 5 0.5\n20 5 1\n");
    bench.flowloom(&["model", "e.toml", "-o", "w.parquet"]).succeeded();
    let vector = WorkloadReader::open(&bench.path("w.parquet")).unwrap().next().unwrap().unwrap();
    assert_eq!(vector.adus.iter().take(3).map(|adu| adu.bytes).collect::<Vec<_>>(), [20, 20, 700]);
    bench.file("tables/smtp_itemsize.csv", b"700,1\n600,1\n");
    bench
        .flowloom(&["model", "e.toml", "-o", "w.parquet", "--force"])
        .failed(2, &["smtp_itemsize.csv:2: a value or a share below the one in the line above"]);
}

#[test]
fn models_that_cannot_be_are_refused() {
    let bench = Bench::new();
    let (voip, surge) = (MODELS[13].0, MODELS[4].0);
    for (model, words) in [
        (voip.replace("voip", "dns"), ["e.toml:2: workload.model.codec is of profile = \"voip\"", ""]),
        (voip.replace("g729-2", "g729"), ["unknown word \"g729\"", "g729-2"]),
        (voip.replace("flows = 4", "flows = 0"), ["workload.model.flows of 0 sends nothing", ""]),
        (surge.replace("users = 40", "pages = 40"), ["unknown key \"pages\"", ""]),
        (surge.replace("50ms", "50"), ["e.toml:2: workload.model.ends.rtt: \"50\" is not a time", "20ms"]),
        (MODELS[6].0.replace("speed = \"2mbit\", ", ""), ["workload.model.sources[0].speed is missing", ""]),
        (MODELS[10].0.replace("1.2", "0.8"), ["workload.model.off has no mean with a shape of 0.8", "silent"]),
    ] {
        bench.file("e.toml", experiment(&model).as_bytes());
        bench.flowloom(&["model", "e.toml", "-o", "w.parquet"]).failed(2, &words);
    }
}
