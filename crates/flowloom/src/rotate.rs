//! An interface captured into one workload after another, each of a whole hour, or of another length.

use std::fs::{self, File, TryLockError};
use std::io;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::ConnectionVector;
use flowloom_store::capture::Part;
use flowloom_store::formats::Format;
use flowloom_store::monitor::{is_store, of_utc_name, utc_name};
use flowloom_store::workload::{CAPTURED, WorkloadWriter};
use serde_json::json;

use crate::clock;
use crate::context::{Context, Event};
use crate::error::Error;
use crate::extract::ExtractOptions;
use crate::extraction::{self, Extracted, LiveCapture};
use crate::input::{self, Kind};
use crate::workload::hosts;

/// How long a packet may take from its time stamp to the capture. A workload is completed this long after its end, if no packet follows.
const GRACE: Duration = Duration::from_millis(200);

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

    /// When the part begins that follows the border `last_ns`, at `now_ns`, if a packet of the time `waiting_ns` is its first: at the border,
    /// also where the clock was set back a little; where it was set farther, now; where packets had to wait for longer than a part, in that of
    /// the packet.
    ///
    /// It holds that packet, or is not over now: without either, empty parts would follow each other as fast as they can be written.
    fn follows(&self, last_ns: u64, now_ns: u64, waiting_ns: Option<u64>) -> u64 {
        // What was stamped before the clock was set back says nothing.
        let known_ns = waiting_ns.filter(|waiting_ns| *waiting_ns >= last_ns).map_or(now_ns, |one| one.min(now_ns));
        let is_near = known_ns >= self.earliest(last_ns) && known_ns < self.border(last_ns);
        if is_near { last_ns } else { known_ns }
    }

    /// A clock that shows less than this was set back while a part that began at `begin_ns` was captured.
    fn earliest(&self, begin_ns: u64) -> u64 {
        begin_ns.saturating_sub(self.every.as_nanos())
    }

    /// The part that begins at `begin_ns`.
    fn part(&self, begin_ns: u64) -> Part {
        Part {
            end: Time::from_nanos(self.border(begin_ns)),
            earliest: Time::from_nanos(self.earliest(begin_ns)),
            grace: GRACE,
            clock: Box::new(|| Time::from_nanos(clock::unix_nanos())),
        }
    }
}

/// Captures from `interface` into workloads in `folder`, one for each `rotation.every`, until the time of `live` is over or the work is
/// stopped. `told` is called with each that is complete. The names have the interface and the time (UTC) of the beginning:
/// `eth0-20261128T100000Z.parquet`.
///
/// # Errors
/// What is wrong with the options, the folder or the interface; another capture of the interface writes there; what could not be written; the
/// interface went down; those of `told`. Workloads that were complete before stay.
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
    options.capture.check()?;
    // A key is read once: the names of addresses are the same in all workloads.
    let first_book = hosts::book(&options.hosts, false, context)?;
    let prefix = if options.capture.anonymize { "capture" } else { interface };
    let mut captures = extraction::open_interface(interface, live, context)?;
    fs::create_dir_all(folder).map_err(|error| Error::of_file(folder, &error))?;
    let _lock = lock(folder, prefix)?;
    context.event(&Event::Capturing(interface));
    let mut rotated = Rotated::default();
    let mut own = Vec::new();
    let mut begin_ns = clock::unix_nanos();
    loop {
        let end_ns = rotation.border(begin_ns);
        captures.begin_part(rotation.part(begin_ns));
        let path = free(folder, prefix, begin_ns);
        let mut writer = WorkloadWriter::stage(&path, false).map_err(Error::new)?;
        let mut book = first_book.clone();
        let sink = |vector: ConnectionVector| writer.write_owned(vector).map_err(Error::new);
        let mut extracted = extraction::part(&mut captures, &options.capture, &mut book, folder, context, sink)?;
        let mut provenance = extracted.provenance();
        hosts::note(&options.hosts, &mut provenance);
        if !options.capture.anonymize {
            let to_ns = clock::unix_nanos().clamp(begin_ns, end_ns);
            provenance.options.insert(CAPTURED.to_owned(), json!([begin_ns, to_ns]));
        }
        writer.finish(provenance, extracted.facts(), &extracted.traffic()).map_err(Error::new)?;
        extracted.workload.clone_from(&path);
        extracted.warn(context);
        rotated.workloads += 1;
        rotated.packets += extracted.packets;
        rotated.bytes += extracted.captured_bytes;
        rotated.drops += extracted.inputs.iter().filter_map(|input| input.drops).sum::<u64>();
        told(&extracted)?;
        if let Some(keep) = rotation.keep {
            own.push(path);
            rotated.deleted += delete(folder, prefix, keep, &mut own)?;
        }
        if captures.has_ended() {
            hosts::warn(&options.hosts, context);
            return match captures.inputs().iter().any(|input| input.went_down) {
                true => Err(Error::new(format_args!("{interface} went down, and the capture ended there"))
                    .note(format_args!("complete workloads: {}", rotated.workloads))
                    .hint("start it again when the interface is up; a service does so with Restart=on-failure")),
                false => Ok(rotated),
            };
        }
        begin_ns = rotation.follows(end_ns, clock::unix_nanos(), captures.waiting().map(Time::as_nanos));
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
        Err(_) if Format::of_name(&folder.to_string_lossy()).is_some() => {
            Err(Error::usage(format_args!("{shown} is the name of a file, and --rotate writes into a folder"))
                .hint("name a folder: -o traffic"))
        }
        _ => Ok(()),
    }
}

/// Keeps other captures of the same names out of `folder`, as long as the file that it returns is open.
fn lock(folder: &Path, prefix: &str) -> Result<File, Error> {
    let path = folder.join(format!(".flowloom-{prefix}.lock"));
    let failed = |error: io::Error| Error::of_file(&path, &error);
    let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(Error::new(format_args!("another capture writes workloads {prefix}-... into {}", folder.display()))
                .hint("end it, or name another folder"))
        }
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// The name of a workload that begins at `begin_ns`, without its ending.
fn stem(prefix: &str, begin_ns: u64) -> String {
    format!("{prefix}-{}", utc_name(begin_ns))
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
    Some((of_utc_name(utc)?, number))
}

/// Deletes the oldest workloads of `prefix`, until `keep` are left: how many. `own` are those of this capture, in the order in which they
/// were written, of which those that are gone are taken out. They are newer than all others, whatever a clock that was set says in the names.
fn delete(folder: &Path, prefix: &str, keep: NonZeroU32, own: &mut Vec<PathBuf>) -> Result<u64, Error> {
    let cannot = |error: io::Error| Error::of_file(folder, &error);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let begin = entry.file_name().to_str().and_then(|name| begin_of(prefix, name));
        if let Some(begin) = begin.filter(|_| entry.file_type().is_ok_and(|kind| kind.is_file())) {
            let path = entry.path();
            found.push((own.iter().position(|one| *one == path), begin, path));
        }
    }
    found.sort_unstable();
    let kept = found.split_off(found.len().saturating_sub(keep.get() as usize));
    own.retain(|path| kept.iter().any(|(.., one)| one == path));
    for (.., path) in &found {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::of_file(path, &error)),
            _ => {}
        }
    }
    Ok(found.len() as u64)
}

#[cfg(test)]
mod tests {
    use flowloom_store::monitor::{SECOND, utc_ns, utc_text};

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
    }

    #[test]
    fn a_part_follows_the_last_whatever_the_clock_shows() {
        let hourly = Rotation { every: Duration::from_secs(3_600), keep: None };
        let (hour, border) = (3_600 * SECOND, hourly.border(BEGIN));
        // (the clock, the packet that waits, the beginning)
        for (now, waiting, begin) in [
            // Completed late, and after a clock that was set back a little.
            (border + 5 * SECOND, None, border),
            (border + 5 * SECOND, Some(border), border),
            (border - 1, Some(border), border),
            (border - hour, None, border),
            // Set ahead, and back for longer than a part.
            (border + hour, None, border + hour),
            (border - hour - 1, None, border - hour - 1),
            (border - 9 * hour, Some(border + 1), border - 9 * hour),
            // What waited is in its own hour: the disk was slow, or nothing was sent.
            (border + 9 * hour, Some(border + 1), border),
            (border + 9 * hour, Some(border + 5 * hour + 7), border + 5 * hour + 7),
            (border + 9 * hour, Some(7), border + 9 * hour),
        ] {
            assert_eq!(hourly.follows(border, now, waiting), begin, "{now} {waiting:?}");
        }
    }

    #[test]
    fn parts_do_not_follow_each_other_while_the_clock_stands() {
        let rotation = Rotation { every: Duration::from_secs(10), keep: None };
        let times: Vec<u64> =
            (0..80).map(|number| BEGIN + number * SECOND - 40 * SECOND).chain([0, 1, u64::MAX / 2]).collect();
        let last = rotation.border(BEGIN);
        for now in &times {
            for waiting in times.iter().map(|time| Some(*time)).chain([None]) {
                let begin = rotation.follows(last, *now, waiting);
                let mut part = rotation.part(begin);
                let shown = Time::from_nanos(*now);
                part.clock = Box::new(move || shown);
                let holds_first = waiting.is_some_and(|time| (begin..rotation.border(begin)).contains(&time));
                let goes_on = part.earliest <= shown && shown < part.end;
                assert!(holds_first || goes_on, "{now} {waiting:?} {part:?}");
            }
        }
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
        let keep = |number: u32| NonZeroU32::new(number).unwrap();
        assert_eq!(delete(folder.path(), "eth0", keep(2), &mut Vec::new()).unwrap(), 2);
        let left = |name: &&&str| at(name).exists();
        assert_eq!(names.iter().filter(left).collect::<Vec<_>>(), [&names[1], &names[3]]);
        assert!(others.iter().all(|name| at(name).exists()) && at("eth0-20240101T000000Z.parquet").is_symlink());
        assert_eq!(delete(folder.path(), "eth0", keep(9), &mut Vec::new()).unwrap(), 0);
        // Those of this capture are the newest, also after a clock that was ahead: the last that was written stays.
        let mut own = ["eth0-20380101T000000Z.parquet", "eth0-20261128T103000Z.parquet"].map(at).to_vec();
        own.iter().for_each(|path| fs::write(path, "x").unwrap());
        let last = own[1].clone();
        assert_eq!(delete(folder.path(), "eth0", keep(1), &mut own).unwrap(), 3);
        assert!(last.exists() && own == [last], "{own:?}");
        assert!(!names.iter().any(|name| at(name).exists()) && others.iter().all(|name| at(name).exists()));
    }

    #[test]
    fn one_capture_of_a_name_writes_into_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let held = lock(folder.path(), "eth0").unwrap();
        let refused = lock(folder.path(), "eth0").unwrap_err().to_string();
        assert!(refused.contains("another capture writes workloads eth0-... into"), "{refused}");
        lock(folder.path(), "eth1").unwrap();
        drop(held);
        lock(folder.path(), "eth0").unwrap();
    }
}
