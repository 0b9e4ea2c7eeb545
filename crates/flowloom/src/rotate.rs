//! An interface captured into one workload after another, each of a whole hour, or of another length.

use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::ConnectionVector;
use flowloom_store::monitor::{is_store, utc_ns, utc_text};
use flowloom_store::workload::WorkloadWriter;

use crate::clock;
use crate::context::Context;
use crate::error::Error;
use crate::extract::ExtractOptions;
use crate::extraction::{self, Extracted, LiveCapture};
use crate::input::{self, Kind};
use crate::workload::hosts;

/// How long a packet may take from its time stamp to the capture: so long after its end a workload is completed, if nothing follows.
const GRACE_NS: u64 = 200_000_000;

/// The end of the names of workloads.
const ENDING: &str = ".parquet";

/// How an interface is captured into one workload after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// The length of each. Borders are whole multiples of it since 1970 UTC.
    pub every: Duration,
    /// How many are kept: older ones are deleted; `None`: all.
    pub keep: Option<NonZeroU32>,
}

/// What was captured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rotated {
    /// Workloads that were written.
    pub workloads: u64,
    /// Workloads that were deleted, because [`Rotation::keep`] says so.
    pub deleted: u64,
    /// Packets in all.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Packets that the kernel dropped.
    pub drops: u64,
}

impl Rotation {
    /// Shortest length: the start of a workload costs some milliseconds.
    const LEAST: Duration = Duration::from_secs(1);

    /// The border behind `time_ns`.
    fn border(&self, time_ns: u64) -> u64 {
        (time_ns / self.every.as_nanos() + 1).saturating_mul(self.every.as_nanos())
    }

    /// When the part begins that follows the border `last_ns` at `now_ns`: at the border, unless the clock was set since.
    fn follows(&self, last_ns: u64, now_ns: u64) -> u64 {
        let is_near = last_ns <= now_ns && now_ns < self.border(last_ns);
        if is_near { last_ns } else { now_ns }
    }
}

/// Captures from `interface` into workloads in `folder`, one for each `rotation.every`, until the time of `live` is over or the work is
/// stopped; `told` gets each when it is complete. The names have the interface and the time (UTC) of the beginning:
/// `eth0-20261128T100000Z.parquet`.
///
/// # Errors
/// What is wrong with the options, the folder or the interface; what could not be written; those of `told`. Workloads that were complete
/// before stay.
pub fn extract_rotating(
    interface: &str,
    live: &LiveCapture,
    folder: &Path,
    rotation: &Rotation,
    options: &ExtractOptions,
    context: Context<'_>,
    mut told: impl FnMut(&Extracted) -> Result<(), Error>,
) -> Result<Rotated, Error> {
    check(live, folder, rotation)?;
    hosts::book(&options.hosts, false, context)?;
    let prefix = if options.capture.anonymize { "capture" } else { interface };
    let mut captures = extraction::open_interface(interface, live, context)?;
    fs::create_dir_all(folder).map_err(|error| Error::of_file(folder, &error))?;
    let mut rotated = Rotated::default();
    let mut begin_ns = clock::unix_nanos();
    loop {
        let end_ns = rotation.border(begin_ns);
        let is_past = move || clock::unix_nanos() >= end_ns.saturating_add(GRACE_NS);
        captures.begin_part(Time::from_nanos(end_ns), Box::new(is_past));
        let path = free(folder, prefix, begin_ns);
        let mut writer = WorkloadWriter::stage(&path, false).map_err(Error::new)?;
        let mut book = hosts::book(&options.hosts, false, context)?;
        let sink = |vector: ConnectionVector| writer.write_owned(vector).map_err(Error::new);
        let mut extracted = extraction::part(&mut captures, &options.capture, &mut book, folder, context, sink)?;
        let mut provenance = extracted.provenance();
        hosts::note(&options.hosts, &mut provenance);
        writer.finish(provenance, extracted.facts(), &extracted.traffic()).map_err(Error::new)?;
        extracted.workload = path;
        extracted.warn(context);
        rotated.workloads += 1;
        rotated.packets += extracted.packets;
        rotated.bytes += extracted.captured_bytes;
        rotated.drops += extracted.inputs.iter().filter_map(|input| input.drops).sum::<u64>();
        told(&extracted)?;
        if let Some(keep) = rotation.keep {
            rotated.deleted += delete(folder, prefix, keep)?;
        }
        if captures.has_ended() {
            hosts::warn(&options.hosts, context);
            return Ok(rotated);
        }
        begin_ns = rotation.follows(end_ns, clock::unix_nanos());
    }
}

/// Refuses what cannot be meant.
fn check(live: &LiveCapture, folder: &Path, rotation: &Rotation) -> Result<(), Error> {
    if rotation.every < Rotation::LEAST {
        let least = Rotation::LEAST.written();
        return Err(Error::usage(format_args!("--rotate {}: at least {least} is needed", rotation.every.written()))
            .hint("write it like 1h"));
    }
    if live.packets.is_some() {
        return Err(Error::usage("--packets and --rotate do not go together").hint("give --duration instead"));
    }
    let shown = folder.display();
    match fs::metadata(folder) {
        Ok(found) if !found.is_dir() => {
            Err(Error::usage(format_args!("{shown} is a file, and --rotate writes into a folder")))
        }
        Ok(_) if is_store(folder) || input::kind(folder) == Kind::RunFolder => {
            Err(Error::usage(format_args!("{shown} is the folder of a monitor or of a run"))
                .hint("name a folder beside it"))
        }
        _ => Ok(()),
    }
}

/// The name of a workload that begins at `begin_ns`, without its ending.
fn stem(prefix: &str, begin_ns: u64) -> String {
    let utc: String = utc_text(begin_ns).chars().filter(|letter| !"-:".contains(*letter)).collect();
    format!("{prefix}-{utc}")
}

/// A path in `folder` that nothing has: a clock that was set back may give a time twice.
fn free(folder: &Path, prefix: &str, begin_ns: u64) -> PathBuf {
    let stem = stem(prefix, begin_ns);
    let numbers = (2_u32..).map(|number| format!("{stem}-{number}{ENDING}"));
    let mut names = std::iter::once(format!("{stem}{ENDING}")).chain(numbers).map(|name| folder.join(name));
    names.find(|path| fs::symlink_metadata(path).is_err()).unwrap_or_else(|| unreachable!("there are free names"))
}

/// The beginning that the name of a workload of `prefix` has, and its number among those of one beginning; `None` of other names.
fn begin_of(prefix: &str, name: &str) -> Option<(u64, u32)> {
    let rest = name.strip_prefix(prefix)?.strip_prefix('-')?.strip_suffix(ENDING)?;
    let (utc, number) = match rest.split_once('-') {
        Some((utc, number)) => (utc, number.parse().ok().filter(|number| *number > 1)?),
        None => (rest, 1),
    };
    let part = |from: usize, to: usize| utc.get(from..to);
    let (date, time) =
        ([part(0, 4)?, part(4, 6)?, part(6, 8)?].join("-"), [part(9, 11)?, part(11, 13)?, part(13, 15)?]);
    let begin_ns = utc_ns(&format!("{date}T{}Z", time.join(":")))?;
    // No other text means the same.
    (stem(prefix, begin_ns) == format!("{prefix}-{utc}")).then_some((begin_ns, number))
}

/// Deletes the oldest workloads of `prefix`, until `keep` are left: how many.
fn delete(folder: &Path, prefix: &str, keep: NonZeroU32) -> Result<u64, Error> {
    let cannot = |error: std::io::Error| Error::of_file(folder, &error);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let begin = entry.file_name().to_str().and_then(|name| begin_of(prefix, name));
        if let Some(begin) = begin.filter(|_| entry.file_type().is_ok_and(|kind| kind.is_file())) {
            found.push((begin, entry.path()));
        }
    }
    found.sort_unstable();
    found.truncate(found.len().saturating_sub(keep.get() as usize));
    for (_, path) in &found {
        fs::remove_file(path).map_err(|error| Error::of_file(path, &error))?;
    }
    Ok(found.len() as u64)
}

#[cfg(test)]
mod tests {
    use flowloom_store::monitor::SECOND;

    use super::*;

    /// 2026-11-28T10:17:33Z.
    const BEGIN: u64 = 1_795_861_053 * SECOND;

    #[test]
    fn borders_are_those_of_the_clock() {
        let hourly = Rotation { every: Duration::from_secs(3_600), keep: None };
        assert_eq!(utc_text(BEGIN), "2026-11-28T10:17:33Z");
        let border = hourly.border(BEGIN);
        assert_eq!(utc_text(border), "2026-11-28T11:00:00Z");
        assert_eq!(hourly.border(border), border + 3_600 * SECOND);
        // A part that is completed late begins at its border; after a clock that was set it begins now.
        assert_eq!(hourly.follows(border, border + 5 * SECOND), border);
        let later = border + 9_000 * SECOND;
        assert_eq!(hourly.follows(border, later), later);
        assert_eq!(hourly.follows(border, BEGIN), BEGIN);
    }

    #[test]
    fn names_say_when_a_workload_begins() {
        assert_eq!(stem("eth0", BEGIN), "eth0-20261128T101733Z");
        assert_eq!(begin_of("eth0", "eth0-20261128T101733Z.parquet"), Some((BEGIN, 1)));
        assert_eq!(begin_of("eth0", "eth0-20261128T101733Z-3.parquet"), Some((BEGIN, 3)));
        for other in [
            "eth0-20261128T101733Z",
            "eth00-20261128T101733Z.parquet",
            "eth0-20261128T101760Z.parquet",
            "eth0-20261128T101733Z-1.parquet",
            "eth0-20261128x101733Z.parquet",
            "eth0-20261128T101733.parquet",
            "eth0-é0261128T101733Z.parquet",
            "eth0-.parquet",
            "eth0-20261128T101733Z.parquet.partial-abc",
        ] {
            assert_eq!(begin_of("eth0", other), None, "{other}");
        }
    }

    #[test]
    fn the_oldest_workloads_are_deleted_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let names = [
            "eth0-20261128T090000Z.parquet",
            "eth0-20261128T100000Z-2.parquet",
            "eth0-20261128T100000Z.parquet",
            "eth0-20261128T110000Z.parquet",
        ];
        let others = ["eth1-20250101T000000Z.parquet", "eth0-notes.parquet", "eth0-20250101T000000Z.toml"];
        names.iter().chain(&others).for_each(|name| fs::write(at(name), "x").unwrap());
        std::os::unix::fs::symlink("eth0-notes.parquet", at("eth0-20240101T000000Z.parquet")).unwrap();
        assert_eq!(
            free(folder.path(), "eth0", utc_ns("2026-11-28T10:00").unwrap()),
            at("eth0-20261128T100000Z-3.parquet")
        );
        assert_eq!(delete(folder.path(), "eth0", NonZeroU32::new(2).unwrap()).unwrap(), 2);
        let left = |name: &&&str| at(name).exists();
        assert_eq!(names.iter().filter(left).collect::<Vec<_>>(), [&names[1], &names[3]]);
        assert!(others.iter().all(|name| at(name).exists()) && at("eth0-20240101T000000Z.parquet").is_symlink());
        assert_eq!(delete(folder.path(), "eth0", NonZeroU32::new(9).unwrap()).unwrap(), 0);
    }
}
