//! Values of keys as options: those that replace the values of an experiment.

use clap::{Args, ValueEnum};
use flowloom::Error;
use flowloom::experiment::{Quantity, RateChoice, Setting};
use flowloom::time::Duration;

use super::shared::rate;

/// Values that replace those of an experiment.
#[derive(Clone, Debug, Default, Args)]
pub struct Settings {
    /// Rate of the bottleneck: "496mbit", 496000000 (bit/s), "unlimited", or "105%" (of the mean load offered in the busier
    /// direction) [default: 1gbit, or twice the peak rate of the capture if that is more]
    #[arg(long, value_parser = rate::<Quantity<RateChoice>>, allow_hyphen_values = true, help_heading = "Network")]
    pub rate: Option<Quantity<RateChoice>>,
    /// One-way propagation delay of the bottleneck [default: 0ms]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Network")]
    pub delay: Option<Quantity<Duration>>,
    /// Queue of the bottleneck: a kind, a limit in packets or bytes, other keys: "fq-codel", "500p", "codel,limit=64k",
    /// "red,min=20p,max=60p,ecn" [default: drop-tail,65000p]
    #[arg(long, value_name = "QUEUE", value_parser = queue, allow_hyphen_values = true, help_heading = "Network")]
    pub queue: Option<Setting>,
    /// Congestion control: "newreno", "cubic", "bbr" ... [default: newreno]
    #[arg(long, value_name = "NAME", help_heading = "TCP")]
    pub congestion: Option<String>,
    /// TCP of the ends: "linux", "rfc", "bsd-2008" ... [default: plain]
    #[arg(long, value_name = "NAME", help_heading = "TCP")]
    pub profile: Option<String>,
    /// Do not replay waits shorter than this [default: 0ms, replay all]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Workload")]
    pub wait_min: Option<Quantity<Duration>>,
    /// Subtract network time from measured waits [default: ostt]
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Workload")]
    pub wait_correct: Option<CorrectionChoice>,
    /// Time during which connections start [default: the length of the capture]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Workload")]
    pub duration: Option<Quantity<Duration>>,
    /// Port of a monitor whose throughput is drawn beside that of the run: its store, relative to the experiment file, and keys of
    /// `measure.real-link`: "counters,target=core-1,port=ge-0/0/1,from=2026-11-27T10:00"
    #[arg(long, value_name = "STORE,KEY=VALUE", value_parser = real_link, help_heading = "Results")]
    pub real_link: Option<Setting>,
    /// Any other key, such as tcp.ecn=on (docs/reference/keys.md); may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", help_heading = "Other keys")]
    pub others: Vec<Setting>,
}

fn queue(text: &str) -> Result<Setting, String> {
    Setting::of("queue", text)
}

fn real_link(text: &str) -> Result<Setting, String> {
    Setting::of("real-link", text)
}

/// What is taken off a measured wait before it is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CorrectionChoice {
    /// Replay waits as measured
    None,
    /// Subtract the one-side transit time (OSTT): from the monitor to the waiting end and back, as it is replayed
    Ostt,
}

impl Settings {
    /// As the library takes them: options go before `--set`, in whichever order they were typed.
    ///
    /// # Errors
    /// What no type could refuse.
    pub fn all(&self) -> Result<Vec<Setting>, Error> {
        let correction = self.wait_correct.and_then(|choice| choice.to_possible_value());
        let named = [
            ("rate", self.rate.as_ref().map(ToString::to_string)),
            ("delay", self.delay.as_ref().map(ToString::to_string)),
            ("congestion", self.congestion.clone()),
            ("profile", self.profile.clone()),
            ("wait-min", self.wait_min.as_ref().map(ToString::to_string)),
            ("wait-correct", correction.map(|value| value.get_name().to_owned())),
            ("duration", self.duration.as_ref().map(ToString::to_string)),
        ];
        let given = named.into_iter().filter_map(|(name, text)| Some((name, text?)));
        let mut all =
            given.map(|(name, text)| Setting::of(name, &text)).collect::<Result<Vec<_>, _>>().map_err(Error::usage)?;
        all.extend(self.queue.clone());
        all.extend(self.real_link.clone());
        all.extend(self.others.iter().cloned());
        Ok(all)
    }
}
