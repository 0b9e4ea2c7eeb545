//! How bursty runs are beside their original: the logscale diagram of the bytes and packets on the link (methods D.2, K.2).
//!
//! `cargo run --release -p flowloom-report --example logscale -- SECONDS RUN...`
//!
//! Prints, for both directions and every octave of 1 ms bins, the energy log2 of the original in the first run folder (if it has
//! one) and of the replay in each, over the first SECONDS of each, and half of the 95 % interval of the last. No run may be
//! shorter: time without traffic counts. Runs of other lengths are asked for one by one.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use flowloom_core::workload::LinkSide;
use flowloom_models::lrd::{Wavelet, logscale};
use flowloom_store::run_folder::{RunFolder, TrafficPoint};

const BIN_NS: u64 = 1_000_000;

/// Octaves with fewer coefficients say nothing (methods D.4).
const FEWEST: usize = 8;

/// Bytes and packets in each bin.
type Counts = [Vec<f64>; 2];

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let seconds: u64 = words.next().ok_or("how many seconds?")?.parse()?;
    let runs: Vec<String> = words.collect();
    let mut columns = Vec::new();
    for (number, run) in runs.iter().enumerate() {
        let points = [("original", TrafficPoint::Original), (run.as_str(), TrafficPoint::ReplayCarried)];
        for (name, point) in points.into_iter().skip(usize::from(number > 0)) {
            let counts = counts(Path::new(run), point, seconds)?;
            if !counts.is_empty() {
                columns.push((name.to_owned(), counts));
            }
        }
    }
    for side in [LinkSide::Left, LinkSide::Right] {
        for (at, what) in ["bytes", "packets"].into_iter().enumerate() {
            println!("\n{what} from the {}: log2 of the energy of 1 ms bins", side.word());
            print!("{:>7} {:>9}", "octave", "seconds");
            columns.iter().for_each(|(name, _)| print!(" {:>14}", name.rsplit('/').next().unwrap_or(name)));
            println!(" {:>8}", "+-");
            let diagrams: Vec<_> = columns
                .iter()
                .map(|(_, counts)| counts.get(&side.word()).map(|counts| logscale(&counts[at], Wavelet::Three)))
                .collect();
            let most = diagrams.iter().flatten().map(Vec::len).max().unwrap_or(0);
            for octave in 0..most {
                print!("{:>7} {:>9.3}", octave + 1, (1u64 << (octave + 1)) as f64 / 1e3);
                let mut half = 0.0;
                for diagram in &diagrams {
                    let found = diagram.as_ref().and_then(|diagram| diagram.get(octave));
                    match found.filter(|octave| octave.coefficients >= FEWEST) {
                        Some(found) => {
                            half = 1.96 * found.variance.sqrt();
                            print!(" {:>14.2}", found.energy);
                        }
                        None => print!(" {:>14}", "-"),
                    }
                }
                println!(" {half:>8.2}");
            }
        }
    }
    Ok(())
}

/// What passed at `point` of `run`, by the side it came from.
fn counts(run: &Path, point: TrafficPoint, seconds: u64) -> Result<BTreeMap<&'static str, Counts>, Box<dyn Error>> {
    let bins = (seconds * 1_000_000_000 / BIN_NS) as usize;
    let mut counts: BTreeMap<&'static str, Counts> = BTreeMap::new();
    for row in RunFolder::open(run)?.throughput()? {
        let row = row?;
        if row.point != point || row.link > 1 {
            continue;
        }
        let sides = counts.entry(row.from.word()).or_insert_with(|| [vec![0.0; bins], vec![0.0; bins]]);
        if let Some(bin) = sides[0].get_mut((row.start.as_nanos() / BIN_NS) as usize) {
            *bin += row.traffic.bytes as f64;
            sides[1][(row.start.as_nanos() / BIN_NS) as usize] += row.traffic.packets as f64;
        }
    }
    Ok(counts)
}
