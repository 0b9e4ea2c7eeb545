//! Reports that no capture at hand would give, for the browser to be tried on: ten million values, a grid of twelve runs, a real link.
//!
//! `cargo run --release -p flowloom-report --example made_up_reports -- FOLDER` writes `large.html`, `grid.html`, `seeds.html` and
//! `real-link.html`.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

use flowloom_report::html::{ReportOptions, write_report};
use flowloom_report::{Run, Variant};
use flowloom_testkit::reports::large::ten_million_values;
use flowloom_testkit::reports::{MadeUp, grid, seeds};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("give the folder to write to")?;
    let folder = Path::new(&folder);
    fs::create_dir_all(folder)?;
    let write = |name: &str, variants: &[Variant]| {
        write_report(variants, BufWriter::new(File::create(folder.join(name))?), &ReportOptions::default())
    };
    write("large.html", &[Variant::of_run(ten_million_values())])?;
    let load = |run: MadeUp, name: &str| Run::load(&run.write(&folder.join(name)));
    let grid: Result<Vec<Variant>, _> =
        grid().into_iter().map(|(name, run)| load(run, &name).map(Variant::of_run)).collect();
    write("grid.html", &grid?)?;
    let runs: Result<Vec<Run>, _> = seeds().into_iter().map(|(name, run)| load(run, &name)).collect();
    let other = load(MadeUp { slower: 1.2, ..MadeUp::default() }, "slower")?;
    write("seeds.html", &[Variant { name: "seeds".into(), runs: runs? }, Variant::of_run(other)])?;
    let beside = load(MadeUp { real_link: true, ..MadeUp::default() }, "beside")?;
    write("real-link.html", &[Variant::of_run(beside)])?;
    Ok(())
}
