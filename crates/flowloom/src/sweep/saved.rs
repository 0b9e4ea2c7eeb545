//! Which cell is whose, in a file, so that a sweep can be read again without its question.

use std::path::Path;

use flowloom_report::statistics::Looks;
use flowloom_report::sweep::{Absent, Cell, Grid, GridAxis, Objective, SweepAnswer, Variant};
use flowloom_store::regular;
use serde::{Deserialize, Serialize};

use crate::error::{Error, nearest};

use super::cells::{Names, Wanted};
use super::store::{GRID_FILE, cannot, read_cell};

const FORMAT: &str = "sweep-grid";
const VERSION: u64 = 1;

/// What the file holds.
#[derive(Serialize, Deserialize)]
struct SavedGrid {
    format: String,
    version: u64,
    axes: Vec<SavedAxis>,
    objective: String,
    margin: f64,
    /// Seeds of each variant at each planned look.
    looks: Vec<usize>,
    look: usize,
    is_one_draw: bool,
    /// The cell of the capture alone.
    baseline: Option<String>,
    variants: Vec<SavedVariant>,
}

#[derive(Serialize, Deserialize)]
struct SavedAxis {
    axis: String,
    values: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct SavedVariant {
    name: String,
    /// Its place on each axis.
    points: Vec<usize>,
    cells: Vec<SavedCell>,
}

/// A cell by its name, or why it is missing.
#[derive(Serialize, Deserialize)]
struct SavedCell {
    seed: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cell: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    missing: Option<String>,
}

/// The file's text; `names` are those of the cells.
pub fn text(grid: &Grid, names: &Names) -> Result<Vec<u8>, Error> {
    let variants = grid.variants.iter().enumerate().map(|(place, variant)| SavedVariant {
        name: variant.name.clone(),
        points: variant.points.clone(),
        cells: variant.cells.iter().map(|cell| saved(cell, place, names)).collect(),
    });
    let saved = SavedGrid {
        format: FORMAT.to_owned(),
        version: VERSION,
        axes: grid.axes.iter().map(|axis| SavedAxis { axis: axis.name.clone(), values: axis.points.clone() }).collect(),
        objective: grid.objective.name.clone(),
        margin: grid.margin,
        looks: grid.looks.at().to_vec(),
        look: grid.look,
        is_one_draw: grid.is_one_draw,
        baseline: grid.baseline.is_some().then(|| names.get(&Wanted::Baseline).cloned()).flatten(),
        variants: variants.collect(),
    };
    let mut text = serde_json::to_vec_pretty(&saved).map_err(Error::new)?;
    text.push(b'\n');
    Ok(text)
}

fn saved(cell: &Result<Cell, Absent>, variant: usize, names: &Names) -> SavedCell {
    match cell {
        Ok(Cell { seed, .. }) => {
            let name = names.get(&Wanted::Cell { variant, seed: *seed }).cloned();
            // Every cell that was looked for has a name.
            let missing =
                name.is_none().then(|| "its cell has no name: give the command of the sweep again".to_owned());
            SavedCell { seed: *seed, cell: name, missing }
        }
        Err(Absent { seed, why }) => SavedCell { seed: *seed, cell: None, missing: Some(why.clone()) },
    }
}

/// Up to three cells in the folder `cells` whose names are most like `name`.
fn nearest_cells(cells: &Path, name: &str) -> Vec<String> {
    const LISTED: usize = 3;
    let entries = std::fs::read_dir(cells).into_iter().flatten().filter_map(Result::ok);
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut known: Vec<String> = names.filter(|known| !known.contains('.')).collect();
    known.sort_unstable();
    let mut found: Vec<String> = Vec::new();
    while found.len() < LISTED {
        let rest: Vec<&str> =
            known.iter().map(String::as_str).filter(|known| !found.iter().any(|one| one == known)).collect();
        let Some(near) = nearest(name, &rest) else { break };
        found.push(near.to_owned());
    }
    found
}

/// Reads a sweep that has an answer: its cells, and the answer that they give.
///
/// # Errors
/// It has no answer yet, or one of an earlier version; a file is damaged.
pub fn load_sweep(folder: &Path) -> Result<(Grid, SweepAnswer), Error> {
    const AGAIN: &str = "give the command of the sweep again: it runs no cell twice";
    let path = folder.join(GRID_FILE);
    let text = match regular::read(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(cannot(folder, "this sweep is not complete: it has no grid.json").hint(AGAIN));
        }
        other => other.map_err(|error| cannot(&path, error))?,
    };
    let saved: SavedGrid = serde_json::from_slice(&text).map_err(|error| cannot(&path, error).hint(AGAIN))?;
    if saved.format != FORMAT {
        return Err(cannot(&path, "it says not which cell is whose").hint(AGAIN));
    }
    if saved.look >= saved.looks.len() {
        let problem = format_args!("look {} is none of the {} that were planned", saved.look + 1, saved.looks.len());
        return Err(cannot(&path, problem).hint(AGAIN));
    }
    if saved.version != VERSION {
        let problem = format_args!("it has version {}, and this version of Flowloom reads {VERSION}", saved.version);
        return Err(cannot(&path, problem).hint(AGAIN));
    }
    let Ok(objective) = Objective::named(&saved.objective) else {
        return Err(cannot(&path, format_args!("there is no objective \"{}\"", saved.objective)).hint(AGAIN));
    };
    let cell = |name: &str| {
        let cells = folder.join("cells");
        // A name is no path.
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(cannot(&path, format_args!("{name:?} is no name of a cell")).hint(AGAIN));
        }
        let at = cells.join(name);
        let near = if at.exists() { Vec::new() } else { nearest_cells(&cells, name) };
        read_cell(&at).map(|(cell, _)| cell).map_err(|why| {
            let error = cannot(&at, format_args!("this cell is damaged or missing: {why}")).hint(AGAIN);
            if near.is_empty() { error } else { error.note(format_args!("nearest names: {}", near.join(", "))) }
        })
    };
    let one = |saved: SavedCell| -> Result<Result<Cell, Absent>, Error> {
        match saved.cell {
            Some(name) => cell(&name).map(Ok),
            None => Ok(Err(Absent { seed: saved.seed, why: saved.missing.unwrap_or_default() })),
        }
    };
    let axes: Vec<GridAxis> =
        saved.axes.into_iter().map(|axis| GridAxis { name: axis.axis, points: axis.values }).collect();
    let fits = |points: &[usize]| {
        points.len() == axes.len() && points.iter().zip(&axes).all(|(point, axis)| *point < axis.points.len())
    };
    if saved.variants.is_empty() || !saved.variants.iter().all(|variant| fits(&variant.points)) {
        return Err(cannot(&path, "its variants are not on its axes").hint(AGAIN));
    }
    let variants = saved.variants.into_iter().map(|variant| {
        let cells = variant.cells.into_iter().map(one).collect::<Result<Vec<_>, Error>>()?;
        Ok(Variant { name: variant.name, points: variant.points, cells })
    });
    let grid = Grid {
        variants: variants.collect::<Result<Vec<_>, Error>>()?,
        axes,
        objective,
        margin: saved.margin,
        looks: Looks::at_counts(saved.looks),
        look: saved.look,
        baseline: saved.baseline.map(|name| cell(&name)).transpose()?,
        is_one_draw: saved.is_one_draw,
    };
    let answer = SweepAnswer::of(&grid);
    Ok((grid, answer))
}
