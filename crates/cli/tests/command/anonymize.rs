//! `--anonymize`: nothing that a command writes or prints names its input files.

use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use flowloom_testkit::command::contents;

use crate::support::{Bench, Traffic};

/// What the name of every input holds, and nothing else does.
const SECRET: &str = "zwxq";

/// Commands that take the option; `OUT` is a folder of outputs, whose names do not tell.
const COMMANDS: [&str; 42] = [
    "extract zwxq.pcap -o OUT/e.parquet --anonymize",
    "extract zwxq.pcap -o OUT/ej.parquet --anonymize --json",
    "convert zwxq.parquet -o OUT/c.jsonl --anonymize",
    "convert zwxq.parquet -o OUT/c2.parquet --anonymize --json",
    "convert zwxq.pcap -o OUT/c.cvec --anonymize",
    "convert zwxq.jsonl -o OUT/c.csv --anonymize -v",
    "convert zwxq.log -o OUT/l.parquet --anonymize",
    "convert zwxq.log -o - --to jsonl --anonymize",
    "describe zwxq.pcap --anonymize --html OUT/d.html",
    "describe zwxq.parquet --anonymize --html OUT/dp.html -v",
    "describe zwxq.log zwxq.jsonl zwxq-cut.pcap zwxq.parquet --anonymize --html OUT/d4.html",
    "describe zwxq.log zwxq.parquet --anonymize --json",
    "fit zwxq.parquet --anonymize --html OUT/f.html",
    "fit zwxq.pcap --anonymize -o OUT/f.toml",
    "fit zwxq.jsonl --anonymize --json",
    "fit zwxq.pcap --model swing -o OUT/swing.json --anonymize",
    "overhead zwxq.parquet --anonymize --stack ethernet",
    "overhead zwxq.pcap --anonymize --stack ethernet --json",
    "model zwxq-load.toml -o OUT/m.parquet --anonymize",
    "model zwxq-swing.toml -o OUT/ms.parquet --anonymize --json",
    "model queue zwxq.pcap --anonymize",
    "model queue zwxq.parquet --anonymize --json",
    "run zwxq.pcap -o OUT/r1 --anonymize",
    "run zwxq.parquet -o OUT/r2 --anonymize --json",
    "run zwxq.parquet -o OUT/r3 --anonymize --seed 1 --seed 2",
    "run zwxq.jsonl -o OUT/r4 --anonymize --json-stream",
    "run zwxq.log -o OUT/r5 --anonymize -v",
    "run zwxq-cut.pcap zwxq.pcap -o OUT/r6 --anonymize --pcap",
    "run zwxq-load.toml -o OUT/r7 --anonymize",
    "run zwxq-swing.toml -o OUT/r8 --anonymize",
    "run zwxq.spec -o OUT/r9 --anonymize",
    "run zwxq.spec --anonymize --json",
    "extract zwxq-ring -o OUT/ring.parquet --anonymize -v",
    "describe zwxq-ring --anonymize -v",
    "run zwxq-ring -o OUT/r10 --anonymize -v",
    "model zwxq-harpoon.toml -o OUT/mh.parquet --anonymize -v",
    "run zwxq-harpoon.toml -o OUT/r11 --anonymize -v --json",
    "convert zwxq-odd.cvec -o OUT/odd.jsonl --anonymize -v",
    "run zwxq-odd.cvec -o OUT/r12 --anonymize -v",
    "convert zwxq.nf5 -o OUT/nf5.jsonl --anonymize -v --allow-truncated",
    "run zwxq.nf5 -o OUT/r13 --anonymize -v --allow-truncated",
    "convert zwxq.csv -o OUT/rows.jsonl --anonymize -v",
];

/// Commands with the option in their help that are tried elsewhere: `init` refuses it.
const OTHERS: [&str; 2] = ["sweep", "init"];

fn inputs(bench: &Bench) {
    let pcap = Traffic::many(40).pcap();
    bench.file("zwxq.pcap", &pcap);
    bench.file("zwxq-cut.pcap", &pcap[..pcap.len() - 7]);
    bench.file(
        "zwxq.log",
        b"#separator \\x09\n#path\tconn\n\
          #fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tduration\torig_bytes\tresp_bytes\tconn_state\tmissed_bytes\torig_pkts\torig_ip_bytes\tresp_pkts\tresp_ip_bytes\n\
          #types\ttime\tstring\taddr\tport\taddr\tport\tenum\tinterval\tcount\tcount\tstring\tcount\tcount\tcount\tcount\tcount\n\
          1.0\tCa\t10.0.0.1\t5000\t10.0.0.2\t80\ttcp\t2.5\t300\t7000\tSF\t1460\t6\t620\t8\t7420\n",
    );
    bench.file("zwxq.up", b"1\n2\n3\n");
    bench.file(
        "zwxq-load.toml",
        b"[workload]\nsource = \"zwxq.parquet\"\nload = { method = \"thinning\", factor = 0.9 }\n\
          [network]\nbottleneck = { trace = \"zwxq.up\", queue = { limit = \"100p\" } }\n",
    );
    let swing = b"[workload]\nmodel = { kind = \"swing\", config = \"zwxq.json\" }\n[measure]\nduration = \"5s\"\n";
    bench.file("zwxq-swing.toml", swing);
    let spec = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/multiplexing.spec");
    std::fs::copy(spec, bench.path("zwxq.spec")).unwrap();
    // These hold the names of what they were made of, in what is printed of them too.
    bench.flowloom(&["extract", "zwxq.pcap", "-o", "zwxq.parquet"]).succeeded();
    bench.flowloom(&["convert", "zwxq.log", "-o", "zwxq.jsonl"]).succeeded();
    bench.flowloom(&["fit", "zwxq.pcap", "--model", "swing", "-o", "zwxq.json"]).succeeded();
    std::fs::create_dir_all(bench.path("zwxq-ring/zwxq-sub")).unwrap();
    bench.file("zwxq-ring/zwxq-1.pcap", &pcap);
    bench.file("zwxq-ring/zwxq.txt", b"notes");
    bench.file("zwxq-ring/zwxq-empty.pcap", b"");
    bench.file(
        "zwxq.xml",
        b"<harpoon_plugins>\n\
          <plugin name=\"C\" objfile=\"tcp_plugin.so\" maxthreads=\"7\" personality=\"client\">\n\
          <active_sessions>1 2 3</active_sessions><interconnection_times>0.5 1</interconnection_times>\n\
          <odd/><address_pool name=\"client_src_pool\"><address ipv4=\"10.0.0.0/24\" port=\"0\"/></address_pool>\n\
          <address_pool name=\"client_dst_pool\"><address ipv4=\"10.0.1.1\" port=\"80\"/></address_pool></plugin>\n\
          <plugin name=\"S\" objfile=\"tcp_plugin.so\" maxthreads=\"7\" personality=\"server\">\n\
          <file_sizes>1000 2000</file_sizes>\n\
          <address_pool name=\"server_pool\"><address ipv4=\"10.0.1.1\" port=\"80\"/></address_pool></plugin>\n\
          </harpoon_plugins>\n",
    );
    let harpoon = b"[workload]\nmodel = { kind = \"harpoon\", config = \"zwxq.xml\", repeat = true }\n[measure]\nduration = \"5s\"\n";
    bench.file("zwxq-harpoon.toml", harpoon);
    let said = bench.flowloom(&["model", "zwxq-harpoon.toml", "-o", "zwxq-h.parquet"]);
    assert!(said.succeeded().err.contains("zwxq.xml:"), "a warning with a line: {}", said.err);
    bench.file("zwxq-odd.cvec", b"SEQ 0 9 1 1\nw 65535 65535\nr 1000\nl 0 0\n> 100\nt 10\n< 200\nt 5\n> 0\n");
    bench.file("zwxq.nf5", &netflow());
    bench.flowloom(&["convert", "zwxq.pcap", "-o", "zwxq.csv"]).succeeded();
    assert!(std::fs::read_to_string(bench.path("zwxq.jsonl")).unwrap().contains("zwxq.log:5"), "a warning with a line");
}

/// A NetFlow v5 message with a flow of each end of a connection, and a message that is cut off.
fn netflow() -> Vec<u8> {
    let mut message = vec![0; 24];
    message[..4].copy_from_slice(&[0, 5, 0, 2]);
    message[4..8].copy_from_slice(&10_000_u32.to_be_bytes());
    message[8..12].copy_from_slice(&1_000_000_000_u32.to_be_bytes());
    for (hosts, ports) in [([1, 2], [5_000_u16, 80]), ([2, 1], [80, 5_000])] {
        let mut record = [0; 48];
        record[..8].copy_from_slice(&[10, 0, 0, hosts[0], 10, 0, 0, hosts[1]]);
        for (at, number) in [(16, 9_u32), (20, 9_000), (24, 1_000), (28, 5_000)] {
            record[at..at + 4].copy_from_slice(&number.to_be_bytes());
        }
        record[32..34].copy_from_slice(&ports[0].to_be_bytes());
        record[34..36].copy_from_slice(&ports[1].to_be_bytes());
        (record[37], record[38]) = (0x1b, 6);
        message.extend(record);
    }
    [&message[..], &message[..50]].concat()
}

/// Whether `bytes`, or what they unpack to, hold the secret.
fn tells(bytes: &[u8]) -> bool {
    let holds = |bytes: &[u8]| bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
    let mut unpacked = Vec::new();
    // What is no gzip unpacks to nothing.
    let _ = MultiGzDecoder::new(bytes).read_to_end(&mut unpacked);
    holds(bytes) || holds(&unpacked)
}

#[test]
fn no_output_names_an_input() {
    let bench = Bench::new();
    inputs(&bench);
    std::fs::create_dir(bench.path("out")).unwrap();
    let mut telling = Vec::new();
    for command in COMMANDS {
        let command = command.replace("OUT", "out");
        let words: Vec<&str> = command.split(' ').collect();
        let said = bench.flowloom(&words);
        assert_eq!(said.code, 0, "{command}: {}", said.err);
        if tells((said.out.clone() + &said.err).as_bytes()) {
            telling.push(format!("{command}\n{}{}", said.out, said.err));
        }
    }
    // A run folder that was made without names has none in other forms either.
    bench.flowloom(&["convert", "out/r2", "-o", "out/r2.flent.gz"]).succeeded();
    bench.flowloom(&["report", "out/r2", "out/r7", "-o", "out/both.html"]).succeeded();
    // Columns of a workload are packed.
    for workload in ["e", "c2", "l", "m", "ms"] {
        let name = format!("out/{workload}.parquet");
        let vectors = bench.flowloom(&["convert", &name, "-o", "-", "--to", "jsonl"]);
        telling.extend(tells(vectors.succeeded().out.as_bytes()).then_some(name));
    }
    let files = contents(&bench.path("out"));
    assert!(files.len() > 60, "{} files", files.len());
    telling.extend(files.iter().filter(|(_, bytes)| tells(bytes)).map(|(name, _)| name.display().to_string()));
    assert!(telling.is_empty(), "{}", telling.join("\n\n"));
}

#[test]
fn a_run_folder_keeps_the_names_it_was_made_with() {
    let bench = Bench::new();
    bench.file("c.pcap", &Traffic::many(20).pcap());
    bench.flowloom(&["run", "c.pcap", "-o", "r"]).succeeded();
    let refused = "r: --anonymize is about reading captures, workloads and experiments, and this is a run folder";
    for command in
        ["describe r --anonymize", "describe r --anonymize --html d.html", "convert r -o a.flent.gz --anonymize"]
    {
        bench.flowloom(&command.split(' ').collect::<Vec<_>>()).failed(2, &[refused, "`flowloom run` that makes"]);
    }
}

/// A command that gets the option belongs into this test.
#[test]
fn every_command_with_the_option_is_tried() {
    let bench = Bench::new();
    let help = bench.flowloom(&["--help"]).succeeded().out.clone();
    let names = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names: Vec<&str> =
        names.take_while(|line| !line.is_empty()).filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.contains(&"extract") && names.len() > 10, "{names:?}");
    for name in names.into_iter().filter(|name| *name != "help") {
        let takes_it = bench.flowloom(&[name, "--help"]).out.contains("--anonymize");
        let is_tried =
            COMMANDS.iter().any(|command| command.starts_with(&format!("{name} ")) && command.contains("--anonymize"));
        assert_eq!(takes_it, is_tried || OTHERS.contains(&name), "{name}");
    }
}
