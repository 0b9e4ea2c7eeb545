//! Small multiples: the same figure for each variant, side by side, with the same axes in all panels.

use serde::Serialize;

use super::figure::{Figure, View};
use super::figures::Source;
use flowloom_store::run_folder::Point;

/// Fewer variants are told apart in one picture.
const FEWEST: usize = 3;
/// Panels beside each other where neither rows nor columns mean anything.
const COLUMNS: usize = 4;
/// The figures that are drawn as panels, by their ids.
const OF: [&str; 4] = ["response-time", "duration", "active", "throughput-left"];

/// Panels that show lines of another figure.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Grid {
    pub id: String,
    /// The figure whose lines they show.
    pub of: String,
    pub title: String,
    pub finding: String,
    pub view: View,
    pub cells: Vec<Cell>,
    /// What rows and columns are, in a sentence.
    #[serde(skip)]
    pub arrangement: String,
}

/// A panel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Cell {
    pub row: usize,
    pub column: usize,
    pub title: String,
    /// The roles of its lines.
    pub roles: Vec<String>,
}

/// The grids of a report: none if there are few variants.
pub(super) fn grids(sources: &[Source<'_>], figures: &[Figure]) -> Vec<Grid> {
    let replays: Vec<&Source<'_>> = sources.iter().filter(|source| source.point != Point::Original).collect();
    if replays.len() < FEWEST {
        return Vec::new();
    }
    let settings: Vec<[String; 2]> =
        replays.iter().map(|source| settings(&source.variant.runs[0].facts.experiment)).collect();
    let names: Vec<&str> = replays.iter().map(|source| source.name.as_str()).collect();
    let roles: Vec<&str> = replays.iter().map(|source| source.role.name.as_str()).collect();
    let (mut cells, arrangement) = arrange(&settings, &names, &roles);
    if sources.len() > replays.len() {
        cells.iter_mut().for_each(|cell| cell.roles.insert(0, "original".to_owned()));
    }
    let drawn = OF.iter().filter_map(|id| figures.iter().find(|figure| figure.id == **id));
    let grids = drawn.map(|figure| Grid {
        id: format!("{}-multiples", figure.id),
        of: figure.id.clone(),
        title: format!("{}: small multiples", figure.title),
        finding: "All panels have the same axes.".to_owned(),
        view: figure.view,
        cells: cells.clone(),
        arrangement: arrangement.clone(),
    });
    grids.collect()
}

/// Structure and round-trip time model of an experiment as resolved; empty where it does not say.
fn settings(experiment: &str) -> [String; 2] {
    let table: toml::Table = experiment.parse().unwrap_or_default();
    ["structure", "rtt"].map(|key| match table.get("workload").and_then(|workload| workload.get(key)) {
        Some(toml::Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    })
}

/// A panel for each variant, or for all that have one structure and one model, and what rows and columns are.
fn arrange(settings: &[[String; 2]], names: &[&str], roles: &[&str]) -> (Vec<Cell>, String) {
    let different = |key: usize| {
        let mut seen: Vec<&String> = Vec::new();
        for setting in settings {
            if !seen.contains(&&setting[key]) {
                seen.push(&setting[key]);
            }
        }
        seen
    };
    let (structures, models) = (different(0), different(1));
    if structures.len() == 1 && models.len() == 1 {
        let cell = |(index, (name, role)): (usize, (&&str, &&str))| Cell {
            row: index / COLUMNS,
            column: index % COLUMNS,
            title: (*name).to_owned(),
            roles: vec![(*role).to_owned()],
        };
        let cells = names.iter().zip(roles).enumerate().map(cell).collect();
        return (cells, "A panel for each run: neither structure nor round-trip time model varies.".to_owned());
    }
    let mut cells: Vec<Cell> = Vec::new();
    for (setting, role) in settings.iter().zip(roles) {
        let place = |of: &[&String], key: usize| of.iter().position(|one| **one == setting[key]).unwrap_or(0);
        let (row, column) = (place(&structures, 0), place(&models, 1));
        match cells.iter_mut().find(|cell| (cell.row, cell.column) == (row, column)) {
            Some(cell) => cell.roles.push((*role).to_owned()),
            None => {
                let title = match (structures.len(), models.len()) {
                    (_, 1) => setting[0].clone(),
                    (1, _) => setting[1].clone(),
                    _ => format!("{}, {}", setting[0], setting[1]),
                };
                cells.push(Cell { row, column, title, roles: vec![(*role).to_owned()] });
            }
        }
    }
    // One structure with many models, or the other way round, is one row of panels, broken where it gets too long.
    if structures.len() == 1 || models.len() == 1 {
        for (index, cell) in cells.iter_mut().enumerate() {
            (cell.row, cell.column) = (index / COLUMNS, index % COLUMNS);
        }
    }
    let arrangement = match (structures.len(), models.len()) {
        (_, 1) => "A panel for each structure.",
        (1, _) => "A panel for each round-trip time model.",
        _ => "Rows are structures, columns are round-trip time models.",
    };
    (cells, arrangement.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(of: &[(&str, &str)]) -> (Vec<Cell>, String) {
        let settings: Vec<[String; 2]> = of.iter().map(|(a, b)| [(*a).to_owned(), (*b).to_owned()]).collect();
        let names: Vec<String> = (0..of.len()).map(|index| format!("n{index}")).collect();
        let roles: Vec<String> = (0..of.len()).map(|index| format!("run{index}")).collect();
        let all = |texts: &'static [String]| texts.iter().map(String::as_str).collect::<Vec<&str>>();
        arrange(&settings, &all(names.leak()), &all(roles.leak()))
    }

    #[test]
    fn structures_are_rows_and_models_columns() {
        let (cells, arrangement) =
            grid(&[("a-b", "usernet"), ("a-b", "mean"), ("a-t-b-t", "mean"), ("a-t-b-t", "usernet"), ("a-b", "mean")]);
        let places: Vec<(usize, usize, usize)> =
            cells.iter().map(|cell| (cell.row, cell.column, cell.roles.len())).collect();
        assert_eq!(places, [(0, 0, 1), (0, 1, 2), (1, 1, 1), (1, 0, 1)]);
        assert_eq!(cells[1].title, "a-b, mean");
        assert!(arrangement.starts_with("Rows"), "{arrangement}");
    }

    #[test]
    fn what_does_not_vary_has_no_axis() {
        let (cells, arrangement) = grid(&[("a-b", "usernet"); 6]);
        assert_eq!((cells.len(), cells[5].row, cells[5].column, cells[5].title.as_str()), (6, 1, 1, "n5"));
        assert!(arrangement.contains("neither"), "{arrangement}");
        let (cells, _) = grid(&[("a-b", "x"), ("a-b", "y"), ("a-b", "z")]);
        assert_eq!(cells.iter().map(|cell| cell.title.as_str()).collect::<Vec<_>>(), ["x", "y", "z"]);
    }

    #[test]
    fn experiments_that_cannot_be_read_say_nothing() {
        assert_eq!(settings("[workload]\nstructure = \"a-b\"\nrtt = { model = \"mean\" }\n")[0], "a-b");
        assert!(settings("[workload]\nrtt = { model = \"mean\" }\n")[1].contains("mean"));
        assert_eq!(settings("= not toml"), [String::new(), String::new()]);
    }
}
