//! What the comparison of a cell came to.

use std::collections::BTreeMap;
use std::path::Path;

use super::Problem;
use super::bands::{Judgement, judge};
use super::cells::Cell;
use super::measure::Measured;
use super::repetitions::{self, Repetition};
use super::world::{World, run};

/// The runs of a cell in the simulator and through the kernel.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The cell that was run.
    pub cell: Cell,
    /// The repetitions through the kernel's TCP.
    pub kernel: Vec<Repetition>,
    /// The simulator's runs, by seed.
    pub simulator: Vec<Measured>,
    /// Metric by metric; `None` while the kernel has too few repetitions.
    pub judged: Option<Vec<Judgement>>,
}

impl Outcome {
    /// The metrics that are outside.
    pub fn outside(&self) -> impl Iterator<Item = &Judgement> {
        self.judged.iter().flatten().filter(|one| !one.is_inside())
    }

    /// Whether every metric is inside; `None` while that cannot be said.
    pub fn is_inside(&self) -> Option<bool> {
        self.judged.as_ref().map(|judged| judged.iter().all(Judgement::is_inside))
    }

    /// Whether a metric has used up half of its margin, or is outside: more repetitions of the kernel could decide.
    pub fn is_near_a_bar(&self) -> bool {
        self.judged.iter().flatten().any(|one| one.used() >= 0.5)
    }
}

/// Runs `cell` in the simulator under each of its seeds, in folders below `runs`, and judges it by `repetitions` of
/// the kernel.
///
/// # Errors
/// A run fails.
pub fn compare(
    flowloom: &Path,
    cell: &Cell,
    repetitions: &[Repetition],
    runs: &Path,
    with_packets: bool,
) -> Result<Outcome, Problem> {
    let kernel: Vec<Repetition> = repetitions::of(cell, repetitions).into_iter().cloned().collect();
    let mut simulator = Vec::new();
    for seed in cell.simulator_seeds() {
        let folder = runs.join(format!("{}-{seed}", cell.name));
        simulator.push(run(flowloom, cell, seed, World::Simulator, &folder, with_packets)?.measured);
    }
    let of_kernel: Vec<&Measured> = kernel.iter().map(|one| &one.measured).collect();
    let judged = judge(cell, &of_kernel, &simulator.iter().collect::<Vec<_>>());
    Ok(Outcome { cell: cell.clone(), kernel, simulator, judged })
}

/// The hand-written explanations of cells that are outside, by cell: in the file at `path` each is headed by
/// `[CELL]`; lines that begin with `#` are comments.
///
/// # Errors
/// The file cannot be read, or explains a cell that there is not, or one twice.
pub fn explanations(path: &Path, cells: &[Cell]) -> Result<BTreeMap<String, String>, Problem> {
    let text =
        std::fs::read_to_string(path).map_err(|error| Problem::new(format_args!("{}: {error}", path.display())))?;
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    let mut about: Option<String> = None;
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        let at = format!("{}:{}", path.display(), number + 1);
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            if cells.iter().all(|cell| cell.name != name) {
                return Err(Problem::new(format_args!("{at}: no cell is called {name:?}")));
            }
            if all.insert(name.to_owned(), String::new()).is_some() {
                return Err(Problem::new(format_args!("{at}: {name:?} is explained twice")));
            }
            about = Some(name.to_owned());
        } else if let Some(text) = about.as_ref().and_then(|name| all.get_mut(name)) {
            text.push_str(line);
            text.push('\n');
        } else if !line.trim().is_empty() {
            return Err(Problem::new(format_args!("{at}: an explanation begins with [CELL]")));
        }
    }
    all.retain(|_, text| {
        *text = text.trim().to_owned();
        !text.is_empty()
    });
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::super::cells;
    use super::*;

    fn read(text: &str) -> Result<BTreeMap<String, String>, Problem> {
        let path = std::env::temp_dir().join(format!("explanations-{}-{}", std::process::id(), text.len()));
        std::fs::write(&path, text).unwrap();
        let read = explanations(&path, &cells::all());
        std::fs::remove_file(&path).unwrap();
        read
    }

    #[test]
    fn explanations_stand_under_their_cell() {
        let read = read("# a comment\n[pauses]\nOne line.\nAnother.\n\n[two-way]\n\n").unwrap();
        assert_eq!(read.into_iter().collect::<Vec<_>>(), [("pauses".to_owned(), "One line.\nAnother.".to_owned())]);
    }

    #[test]
    fn explanations_of_no_cell_are_rejected() {
        assert!(read("[cubic-3-pie-20m40]\nWords.\n").unwrap_err().to_string().contains(":1: no cell is called"));
        assert!(read("Words.\n").unwrap_err().to_string().contains("begins with [CELL]"));
        assert!(
            read("[pauses]\na\n[pauses]\nb\n").unwrap_err().to_string().contains(":3: \"pauses\" is explained twice")
        );
    }
}
