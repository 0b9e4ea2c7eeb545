//! The command that makes a run again, as the command line spells it.

use flowloom_store::capture::Truncation;

use crate::experiment::{Setting, Vary};
use crate::extraction::{ACTIVE_TIMEOUT, CaptureOptions, IDLE_TIMEOUT, MAX_MEMORY, Monitor, UDP_IDLE_TIMEOUT};
use crate::run::options::{Driver, RunOptions};
use crate::run::plan::Plan;

/// The command; empty for an experiment that was made in memory.
pub fn command(plan: &Plan, options: &RunOptions, seed: u64) -> String {
    if plan.inputs.is_empty() {
        return String::new();
    }
    let mut words = vec!["flowloom".to_owned(), "run".to_owned()];
    if options.capture.anonymize {
        words.extend(["INPUT".to_owned(), "--anonymize".to_owned()]);
    } else {
        words.extend(plan.inputs.iter().map(|input| quoted(&input.to_string_lossy())));
    }
    match &options.on {
        Driver::Sim => {}
        Driver::Live => words.extend(["--on".to_owned(), "live".to_owned()]),
        Driver::Lab(file) => {
            let hosts = if options.capture.anonymize { "HOSTS.toml".into() } else { file.display().to_string() };
            words.extend(["--on".to_owned(), quoted(&format!("lab:{hosts}"))]);
            if !options.lab.as_os_str().is_empty() {
                words.extend(["--lab".to_owned(), quoted(&options.lab.to_string_lossy())]);
            }
        }
    }
    for setting in options.settings.iter().filter(|setting| !is_of_seeds(setting)) {
        let [option, value] = setting.words();
        let value = if options.capture.anonymize { setting.without_names() } else { value.clone() };
        words.extend([option.clone(), quoted(&value)]);
    }
    words.extend(reading(&options.capture));
    match options.pcap.as_deref() {
        None => {}
        Some([]) => words.push("--pcap".to_owned()),
        Some(links) => words.push(format!("--pcap={}", links.join(","))),
    }
    words.extend(["--seed".to_owned(), seed.to_string()]);
    let vary = &plan.experiment.run.vary;
    // One seed alone would vary nothing.
    if vary.value != Vary::Auto {
        words.extend(["--vary".to_owned(), quoted(&vary.to_string())]);
    }
    words.join(" ")
}

/// Whether it is about seeds, of which the command names its own.
fn is_of_seeds(setting: &Setting) -> bool {
    setting.keys().all(|key| key == "run" || key.starts_with("run."))
}

/// The options that say how captures are read, where they differ from the defaults; without `--anonymize`, which stands by the input.
pub fn reading(capture: &CaptureOptions) -> Vec<String> {
    let mut words = Vec::new();
    if !capture.anonymize {
        words.extend(capture.inside.iter().flat_map(|prefix| ["--inside".to_owned(), quoted(prefix)]));
    }
    for (option, value, usual) in [
        ("--idle-timeout", capture.idle_timeout, IDLE_TIMEOUT),
        ("--udp-idle-timeout", capture.udp_idle_timeout, UDP_IDLE_TIMEOUT),
        ("--active-timeout", capture.active_timeout, ACTIVE_TIMEOUT),
    ] {
        if value != usual {
            // Exact: the shorter way to print a duration has three digits.
            words.extend([option.to_owned(), format!("{}ns", value.as_nanos())]);
        }
    }
    if capture.monitor != Monitor::Mid {
        words.extend(["--monitor".to_owned(), capture.monitor.word().to_owned()]);
    }
    if let Some(missing) = capture.missing {
        words.extend(["--missing".to_owned(), missing.word().to_owned()]);
    }
    if capture.max_memory != MAX_MEMORY {
        words.extend(["--max-memory".to_owned(), format!("{}kb", capture.max_memory as f64 / 1e3)]);
    }
    for (option, given) in [
        ("--complete-only", capture.complete_only),
        ("--allow-truncated", capture.truncation == Truncation::Allow),
        ("--strict", capture.truncation == Truncation::Refuse),
        ("--tcp-only", capture.tcp_only),
        ("--vlan-key", capture.vlan_key),
        ("--allow-sampled", capture.allow_sampled),
    ] {
        words.extend(given.then(|| option.to_owned()));
    }
    words
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./+=:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_on_a_lab_names_its_hosts_and_its_controller() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.toml");
        let text = "sources = [{ name = \"a\", kind = \"bulk\", rtt = \"20ms\" }]\nmeasure = { duration = \"1s\" }";
        std::fs::write(&file, text).unwrap();
        let options =
            RunOptions { on: Driver::Lab("hosts.toml".into()), lab: "my lab".into(), ..RunOptions::default() };
        let plan =
            Plan::of_files(std::slice::from_ref(&file), &options, &flowloom_store::interrupt::Interrupt::never())
                .unwrap();
        let command = command(&plan, &options, 3);
        assert!(command.ends_with("x.toml --on lab:hosts.toml --lab 'my lab' --seed 3"), "{command}");
        assert_eq!(options.on.name(), "lab");
    }
}
