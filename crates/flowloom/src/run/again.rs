//! Runs made again: what `run.json` says of how a run was asked for, and that read back.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use flowloom_core::extract::Missing;
use flowloom_core::time::Duration;
use flowloom_report::Facts;
use flowloom_report::facts::Again;
use flowloom_store::capture::Truncation;
use flowloom_store::run_folder::RunFolder;

use crate::error::Error;
use crate::experiment::{Experiment, Vary};
use crate::extraction::{CaptureOptions, Monitor};

use super::command_line::reading;
use super::options::RunOptions;
use super::plan::Plan;

/// How the runs of `plan` were asked for; nothing where the names of its inputs are to be left out.
pub fn facts(plan: &Plan, options: &RunOptions) -> Option<Again> {
    let given = plan.file.is_none().then_some(&plan.inputs).into_iter().flatten();
    let (keys, folder) = plan.keys.clone()?;
    (!options.capture.anonymize).then(|| Again {
        inputs: given.map(|input| input.to_string_lossy().into_owned()).collect(),
        keys,
        folder: folder.to_string_lossy().into_owned(),
        reading: reading_words(&options.capture),
        links: options.pcap.clone(),
    })
}

/// What was asked for.
pub struct Asked {
    pub experiment: Experiment,
    /// Inputs beside it: captures, a workload.
    pub inputs: Vec<PathBuf>,
    /// With the values that replace those of the experiment already in it.
    pub options: RunOptions,
    /// Names and hashes of what the run read.
    pub provenance: BTreeMap<String, String>,
}

/// What was asked for when the run folder `folder` was made, with `options` for what happens now: of several seeds all of them.
///
/// # Errors
/// The folder cannot be read, or does not say.
pub fn of_folder(folder: &Path, options: &RunOptions) -> Result<Asked, Error> {
    let runs = RunFolder::open_all(folder).map_err(Error::new)?;
    let named = |what: &str| Error::new(format_args!("{}: {what}", folder.display()));
    let read =
        |run: &RunFolder| serde_json::from_value(run.run().clone().into()).map_err(|error| named(&error.to_string()));
    let facts: Vec<Facts> = runs.iter().map(read).collect::<Result<_, _>>()?;
    let Some(first) = facts.first() else { return Err(named("it lists no run")) };
    let Some(again) = &first.again else {
        return Err(named("it does not say how it was asked for").hint(
            "runs of earlier versions and runs with --anonymize do not; repeat the command: give the capture, workload or experiment",
        ));
    };
    let mut experiment = Experiment::of_keys(&again.keys, Path::new(&again.folder))?;
    if facts.len() == 1 {
        experiment = experiment.with("run.seeds", &format!("[{}]", first.seed))?;
        // With one seed alone nothing would vary, and this run may be one of several.
        let vary = Experiment::parse(&first.experiment, "").map_err(Error::nowhere)?.run.vary;
        if vary.value != Vary::Auto {
            experiment = experiment.with("run.vary", &vary.to_string())?;
        }
    }
    let capture = read_words(&again.reading).map_err(|problem| named(&problem))?;
    let pcap = options.pcap.clone().or_else(|| again.links.clone());
    let options =
        RunOptions { capture: CaptureOptions { threads: options.capture.threads, ..capture }, pcap, ..options.clone() };
    let inputs = again.inputs.iter().map(PathBuf::from).collect();
    Ok(Asked { experiment, inputs, options, provenance: first.provenance.clone() })
}

/// The options of reading that are not the defaults, as the command line has them.
fn reading_words(capture: &CaptureOptions) -> Vec<String> {
    // Quotes are of a shell, and this is read by none.
    let prefixes = capture.inside.iter().flat_map(|prefix| ["--inside".to_owned(), prefix.clone()]);
    let others = reading(&CaptureOptions { inside: Vec::new(), ..capture.clone() });
    prefixes.chain(others).collect()
}

/// The options that [`reading_words`] writes.
fn read_words(words: &[String]) -> Result<CaptureOptions, String> {
    let mut options = CaptureOptions::default();
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} has no value"));
        let time = |text: &str| text.parse::<Duration>().map_err(|error| format!("{word}: {error}"));
        match word {
            "--inside" => options.inside.push(value()?.to_owned()),
            "--idle-timeout" => options.idle_timeout = time(value()?)?,
            "--udp-idle-timeout" => options.udp_idle_timeout = time(value()?)?,
            "--active-timeout" => options.active_timeout = time(value()?)?,
            "--monitor" => {
                let name = value()?;
                let found = Monitor::ALL.into_iter().find(|monitor| monitor.word() == name);
                options.monitor = found.ok_or_else(|| format!("there is no place of a monitor \"{name}\""))?;
            }
            "--missing" => {
                let name = value()?;
                let found = Missing::ALL.into_iter().find(|missing| missing.word() == name);
                options.missing = Some(found.ok_or_else(|| format!("there is no choice of missing bytes \"{name}\""))?);
            }
            "--max-memory" => {
                let kilobytes = value()?.trim_end_matches("kb").parse::<f64>();
                options.max_memory = (kilobytes.map_err(|error| format!("{word}: {error}"))? * 1e3) as u64;
            }
            "--complete-only" => options.complete_only = true,
            "--allow-truncated" => options.truncation = Truncation::Allow,
            "--strict" => options.truncation = Truncation::Refuse,
            "--tcp-only" => options.tcp_only = true,
            "--vlan-key" => options.vlan_key = true,
            "--allow-sampled" => options.allow_sampled = true,
            other => return Err(format!("it was made with {other}, which this version does not know")),
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_reading_are_read_as_they_were_written() {
        let usual = CaptureOptions::default();
        let all = CaptureOptions {
            inside: vec!["10.0.0.0/8".to_owned(), "2001:db8::/32".to_owned()],
            truncation: Truncation::Allow,
            complete_only: true,
            missing: Some(Missing::Skip),
            idle_timeout: Duration::from_millis(1_500),
            udp_idle_timeout: Duration::from_secs(7),
            active_timeout: Duration::from_secs(9),
            tcp_only: true,
            monitor: Monitor::Left,
            vlan_key: true,
            max_memory: 123_456_789,
            allow_sampled: true,
            ..usual.clone()
        };
        let strict = CaptureOptions { truncation: Truncation::Refuse, ..usual.clone() };
        for options in [usual, all, strict] {
            assert_eq!(read_words(&reading_words(&options)), Ok(options));
        }
        assert!(read_words(&["--new".to_owned()]).unwrap_err().contains("--new"));
    }
}
