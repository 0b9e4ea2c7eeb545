//! Links of cells between kernels: a capture and a mix of NetSpec's sources over an OC-3.

use flowloom::store::run_folder::RunFolder;

use crate::support::Bench;
use crate::{can_run, demo, experiment, one_run};

const CELLS: &str =
    "[network.bottleneck]\nrate = \"149.76mbit\"\n[network.bottleneck.cells]\nbuffer = 500\ndiscard = \"early\"\n";

const MIX: &str = r#"
[workload]
[workload.model]
kind = "netspec"
sources = [
    { traffic = { type = "www", lambda = 0.00001, shape = 0.5, min = 100 }, protocol = "tcp", count = 3 },
    { traffic = { type = "cbr", blocksize = 1000, period = 4000 }, protocol = "udp" },
]
[measure]
duration = "3s"
drain = "2s"
"#;

#[test]
fn a_capture_and_a_mix_cross_an_oc3_of_cells_live() {
    if !can_run() {
        return;
    }
    for (name, text) in [("capture", experiment(&demo(), "3s")), ("mix", MIX.to_owned())] {
        let _run = one_run();
        let bench = Bench::new();
        bench.file("x.toml", format!("{text}{CELLS}").as_bytes());
        let said = bench.flowloom(&["run", "x.toml", "--on", "live", "-o", "live"]);
        assert!([0, 3].contains(&said.code), "{name}: {}\n{}", said.out, said.err);
        bench.flowloom(&["run", "x.toml", "-o", "sim"]).succeeded();
        let cut = ["live", "sim"].map(|folder| {
            let run = RunFolder::open(&bench.path(folder)).unwrap();
            let links = run.run()["topology"]["links"].as_array().unwrap().clone();
            let counts = links.iter().map(|link| {
                let count = |key: &str| link["cells"][key].as_u64().unwrap();
                let lost = count("full") + count("rest") + count("early");
                assert_eq!(count("cut"), count("sent") + lost + count("waiting"), "{name} {folder}");
                count("cut")
            });
            counts.sum::<u64>()
        });
        // Kernels acknowledge and repeat in their own manner.
        let ratio = cut[0] as f64 / cut[1] as f64;
        assert!(ratio > 0.7 && ratio < 1.5, "{name}: {cut:?}");
    }
}
