//! The kernel's repetitions, as they are kept: a line of JSON each, in the order of the cells and seeds.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Problem;
use super::cells::Cell;
use super::measure::Measured;
use super::world::Run;

/// A run of a cell through the kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repetition {
    /// The name of the cell.
    pub cell: String,
    /// The seed: that of the draws of the path, which are the simulator's under the same one.
    pub seed: u64,
    /// The fingerprint of the cell as it was then.
    pub fingerprint: String,
    /// The day of the run, as YYYY-MM-DD.
    pub date: String,
    /// The release of the kernel.
    pub kernel: String,
    /// The kind of device that carried the packets.
    pub devices: String,
    /// `VALID`, `DEGRADED` or `INVALID`.
    pub verdict: String,
    /// Gates that were missed; none of them is about lateness.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reservations: Vec<String>,
    /// By how much 99 % of the packets were late at most, in microseconds.
    pub late_p99_us: u64,
    /// What was measured.
    #[serde(flatten)]
    pub measured: Measured,
}

impl Repetition {
    /// The repetition that a live run of `cell` gave.
    pub fn new(cell: &Cell, seed: u64, run: Run) -> Repetition {
        Repetition {
            cell: cell.name.clone(),
            seed,
            fingerprint: cell.fingerprint(),
            date: run.date,
            kernel: run.kernel,
            devices: run.devices,
            verdict: run.verdict,
            reservations: run.reservations,
            late_p99_us: run.late_p99_us,
            measured: run.measured,
        }
    }
}

/// The committed file of repetitions.
pub fn committed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("parity/kernel.jsonl")
}

/// All repetitions in the file at `path`; none if there is no file.
///
/// # Errors
/// The file cannot be read, or a line of it is not a repetition.
pub fn read(path: &Path) -> Result<Vec<Repetition>, Problem> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Problem::new(format_args!("{}: {error}", path.display()))),
    };
    let line = |(number, line): (usize, &str)| {
        serde_json::from_str(line)
            .map_err(|error| Problem::new(format_args!("{}:{}: {error}", path.display(), number + 1)))
    };
    text.lines().enumerate().map(line).collect()
}

/// Replaces the file at `path` by one of `repetitions`, in the order of `cells` and of seeds. It is whole at every
/// instant.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, repetitions: &[Repetition], cells: &[Cell]) -> Result<(), Problem> {
    let place = |one: &&Repetition| cells.iter().position(|cell| cell.name == one.cell).unwrap_or(usize::MAX);
    let mut sorted: Vec<&Repetition> = repetitions.iter().collect();
    sorted.sort_by_key(|one| (place(one), one.cell.clone(), one.seed));
    let mut text = String::new();
    for one in sorted {
        let _ = writeln!(text, "{}", serde_json::to_string(one).map_err(Problem::new)?);
    }
    let beside = path.with_extension("jsonl.tmp");
    let done = path.parent().map_or(Ok(()), fs::create_dir_all);
    done.and_then(|()| fs::write(&beside, text))
        .and_then(|()| fs::rename(&beside, path))
        .map_err(|error| Problem::new(format_args!("{}: {error}", path.display())))
}

/// Those of `cell` as it is now.
pub fn of<'a>(cell: &Cell, repetitions: &'a [Repetition]) -> Vec<&'a Repetition> {
    let fingerprint = cell.fingerprint();
    repetitions.iter().filter(|one| one.cell == cell.name && one.fingerprint == fingerprint).collect()
}

#[cfg(test)]
mod tests {
    use super::super::cells;
    use super::*;

    fn repetition(cell: &Cell, seed: u64) -> Repetition {
        Repetition {
            cell: cell.name.clone(),
            seed,
            fingerprint: cell.fingerprint(),
            date: "2026-11-24".to_owned(),
            kernel: "6.18".to_owned(),
            devices: "TUN devices".to_owned(),
            verdict: "VALID".to_owned(),
            reservations: Vec::new(),
            late_p99_us: 100,
            measured: Measured { goodput_mbit: 18.8, queue_packets: vec![0, 3, 70], ..Measured::default() },
        }
    }

    #[test]
    fn the_file_is_sorted_and_read_back() {
        let cells = cells::all();
        let folder = std::env::temp_dir().join(format!("parity-{}", std::process::id()));
        let path = folder.join("kernel.jsonl");
        let [first, second] = [repetition(&cells[0], 2), repetition(&cells[1], 1)];
        let other = repetition(&cells[0], 1);
        write(&path, &[second.clone(), first.clone(), other.clone()], &cells).unwrap();
        let back = read(&path).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(back, [other, first, second]);
    }

    #[test]
    fn repetitions_of_a_changed_cell_do_not_count() {
        let cells = cells::all();
        let old = Repetition { fingerprint: "another".to_owned(), ..repetition(&cells[0], 1) };
        assert_eq!(of(&cells[0], &[old, repetition(&cells[0], 2), repetition(&cells[1], 3)]).len(), 1);
    }
}
