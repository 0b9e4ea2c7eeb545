//! What would FQ-CoDel do to the users of a captured link? `two_queues CAPTURE FOLDER`
use std::path::Path;

use flowloom::{Context, Error, Event, Experiment, ExtractOptions, Packets, RunOptions, Stop, extract, run};

/// The median response time over each queue, in milliseconds.
fn medians(capture: &Path, folder: &Path, context: Context<'_>) -> Result<[f64; 2], Error> {
    let workload = folder.join("workload.parquet");
    extract(Packets::Files(&[capture.to_owned()]), &workload, &ExtractOptions::default(), context)?;
    let experiment = Experiment::of(&workload).with("network.bottleneck.rate", "105%")?;
    let median = |queue: &str| -> Result<f64, Error> {
        let experiment = experiment.clone().with("network.bottleneck.queue", queue)?;
        let ran = run(experiment, &RunOptions::to(folder.join(queue)), context)?;
        context.proceed()?;
        Ok(ran.conclusions[0].summary.response_time_ns.p50.unwrap_or(f64::NAN) / 1e6)
    };
    Ok([median("drop-tail")?, median("fq-codel")?])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().collect();
    let [_, capture, folder] = &words[..] else { return Err("two_queues CAPTURE FOLDER".into()) };
    let stop = Stop::new();
    signal_hook::flag::register(signal_hook::consts::SIGINT, stop.flag())?;
    let progress = |event: &Event<'_>| match event {
        Event::Advanced { step, done } => eprint!("\r{} {done} {:?}  ", step.name(), step.unit()),
        Event::Warning(warning) => eprintln!("\nwarning: {warning}"),
        _ => {}
    };
    let [drop_tail, fq_codel] = medians(capture.as_ref(), folder.as_ref(), Context::new(&progress, &stop))?;
    println!("median response: drop-tail {drop_tail:.1} ms, fq-codel {fq_codel:.1} ms");
    Ok(())
}

#[cfg(test)]
mod tests {
    use flowloom::{ErrorKind, Silent};

    use super::*;

    const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/demo.pcap.gz");

    #[test]
    fn fq_codel_changes_the_median() {
        let folder = tempfile::tempdir().unwrap();
        let [drop_tail, fq_codel] = medians(DEMO.as_ref(), folder.path(), Context::new(&Silent, &Stop::new())).unwrap();
        assert!(drop_tail > 0.0 && fq_codel > 0.0 && drop_tail != fq_codel, "{drop_tail} {fq_codel}");
    }

    #[test]
    fn a_stop_ends_it_cleanly() {
        let (folder, stop) = (tempfile::tempdir().unwrap(), Stop::new());
        stop.request();
        let stopped = medians(DEMO.as_ref(), folder.path(), Context::new(&Silent, &stop));
        assert_eq!(stopped.unwrap_err().kind, ErrorKind::Interrupted);
        // What was extracted until then is kept and replayed, and the run says so.
        let text = std::fs::read_to_string(folder.path().join("drop-tail/run.json")).unwrap();
        assert!(text.contains("interrupted after 4,096 packets"), "{text}");
        let left = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let hidden: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with('.')).collect();
        assert!(hidden.is_empty(), "{hidden:?}");
    }
}
