//! A run folder depends on inputs, options and seed: not on threads, nor on what the event queue is made of.

use crate::support::{Bench, Traffic, contents};

/// Networks and senders of which each does something that others do not.
const EXPERIMENTS: [(&str, &str); 7] = [
    ("dumbbell", "[network]\nbottleneck = { rate = \"1mbit\", delay = \"3ms\", queue = { limit = \"8p\" } }\n"),
    (
        "parking lot",
        "[network]\ntopology = \"parking-lot\"\nhops = 4\n\
         bottleneck = { rate = \"1500kbit\", delay = \"1ms\", queue = { limit = \"12p\" } }\n",
    ),
    (
        "graph",
        "[network]\ntopology = \"graph\"\nends = { left = \"a\", right = \"c\" }\n\
         bottleneck = { from = \"a\", to = \"b\", rate = \"5mbit\", queue = { kind = \"drr\" } }\n\
         [[network.links]]\nname = \"tail\"\nfrom = \"b\"\nto = \"c\"\nrate = \"1mbit\"\ndelay = \"2ms\"\n\
         queue = { kind = \"red\", min = \"5p\", max = \"15p\", limit = \"20p\" }\n[tcp]\nprofile = \"linux\"\n\
         [measure]\nmonitor = [\"tail\"]\n",
    ),
    (
        "AQM that decides at arrival",
        "[network]\nbottleneck = { rate = \"1mbit\", queue = { kind = \"pie\" } }\n[tcp]\ncongestion = \"reno\"\n",
    ),
    (
        "AQM that decides at departure",
        "[network]\nbottleneck = { rate = \"1mbit\", queue = { kind = \"fq-codel\" } }\n[tcp]\ncongestion = \"bbr\"\n",
    ),
    (
        "sources, classes, traces, a run from the middle",
        "prefill = \"100ms\"\n[network]\nbottleneck = { rate = \"2mbit\", queue = { kind = \"red\", min = \"5p\", max = \"15p\", limit = \"20p\" } }\n\
         [tcp]\nprofile = \"linux\"\n[[tcp.classes]]\nname = \"bbr\"\nshare = \"40%\"\ntcp = { congestion = \"bbr\" }\n\
         [[sources]]\nname = \"ftp\"\nkind = \"bulk\"\ncount = 2\nrtt = { kind = \"uniform\", min = \"10ms\", max = \"90ms\" }\n\
         [[sources]]\nname = \"noise\"\nkind = \"on-off\"\nfrom = \"right\"\nto = \"left\"\nrate = \"1mbit\"\nrtt = \"20ms\"\n\
         on = { kind = \"pareto\", min = \"20ms\", shape = 1.5 }\noff = { kind = \"exponential\", mean = \"50ms\" }\n\
         [measure]\ntcp-trace = \"all\"\n",
    ),
    (
        "impaired path",
        "[network]\nbottleneck = { rate = \"2mbit\" }\n\
         [network.path]\nloss = \"1%\"\nduplicate = \"0.5%\"\nreorder = { share = \"2%\", late = \"3ms\" }\n\
         jitter = { kind = \"exponential\", mean = \"1ms\" }\n\
         [[network.delay-box]]\nfrom = \"left\"\ndelay = { kind = \"uniform\", min = \"1ms\", max = \"40ms\" }\n",
    ),
];

#[test]
fn run_folders_are_the_same_whatever_the_threads_and_the_event_queue() {
    let bench = Bench::new();
    bench.file(
        "c.pcap",
        &Traffic::many(400).connection(400, flowloom::time::Duration::from_secs(1), 300, 400_000).pcap(),
    );
    bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet"]).succeeded();
    for (name, experiment) in EXPERIMENTS {
        let text = format!("[workload]\nsource = \"w.parquet\"\n{experiment}[run]\nseeds = [1, 2, 3]\n");
        bench.file("e.toml", text.as_bytes());
        let run = |options: &[&str]| {
            let said = bench.flowloom(&[&["run", "e.toml", "--pcap", "--force", "-o", "r"], options].concat());
            assert!([0, 3].contains(&said.code), "{name}: {}", said.err);
            let found = contents(&bench.path("r"));
            assert!(found.iter().any(|(path, bytes)| path.ends_with("drops.parquet") && bytes.len() > 1_000), "{name}");
            found
        };
        let usual = run(&["--jobs", "1"]);
        assert_eq!(usual.len(), 50, "three folders of sixteen files, index.json and report.html");
        // Two and four threads: seeds side by side; a thread is left for reading and writing with four.
        for options in [
            &["--jobs", "2"][..],
            &["--jobs", "4"],
            &["--jobs", "1", "--event-queue", "heap"],
            &["--jobs", "4", "--event-queue", "heap"],
        ] {
            for ((path, bytes), (other, others)) in usual.iter().zip(run(options)) {
                assert!(*path == other && *bytes == others, "{name}: {} differs with {options:?}", path.display());
            }
        }
    }
}

/// Seeds are told to be alike where they are, and nowhere else.
#[test]
fn several_seeds_are_advised_against_where_nothing_is_drawn() {
    let bench = Bench::new();
    let big = flowloom::time::Duration::from_secs(1);
    bench.file("c.pcap", &Traffic::many(100).connection(100, big, 300, 200_000).pcap());
    bench.flowloom(&["extract", "c.pcap", "-o", "w.parquet"]).succeeded();
    let kinds = [
        "drop-tail",
        "head-drop",
        "step",
        "red",
        "adaptive-red",
        "blue",
        "pi",
        "rem",
        "pie",
        "codel",
        "fq-codel",
        "drr",
        "round-robin",
        "priority",
    ];
    let queues = kinds.map(|kind| ("", format!("queue = {{ kind = \"{kind}\" }}")));
    let senders = ["bbr", "cubic", "vegas"].map(|name| ("", format!("[tcp]\ncongestion = \"{name}\"")));
    let paths = [("jitter = \"1ms\"", String::new()), ("loss = \"2%\"", String::new())];
    let mut told = Vec::new();
    for (path, rest) in queues.into_iter().chain(senders).chain(paths) {
        let text = format!(
            "[workload]\nsource = \"w.parquet\"\n[network.path]\n{path}\n[network.bottleneck]\nrate = \"700kbit\"\n\
             {rest}\n[run]\nseeds = [1, 2]\nvary = \"nothing\"\n"
        );
        bench.file("e.toml", text.as_bytes());
        let said = bench.flowloom(&["run", "e.toml", "-o", "r", "--force"]);
        assert!([0, 3].contains(&said.code), "{}", said.err);
        let words = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
        let alike = words.contains("runs with other seeds are alike");
        let [one, two] =
            [1, 2].map(|seed| std::fs::read(bench.path(&format!("r/seed-{seed}/connections.parquet"))).unwrap());
        assert!(!alike || one == two, "said to be alike and not: {text}");
        told.push(alike);
    }
    assert!(told.contains(&true) && told.contains(&false));
}
