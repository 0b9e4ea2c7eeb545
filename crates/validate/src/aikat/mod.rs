//! Aikat's study of 2010 run again: `docs/evidence/reproductions/aikat-2010.md`.
//!
//! Sweeps of `examples/aikat-2010` make runs; [`collect`] turns each into a row of numbers, which is kept beside the page, so that the
//! grid can grow over days; the page is written from these rows alone. Runs that are missing are said to be.
//!
//! | module | what is in it |
//! |---|---|
//! | `cells` | the rows, and the file that keeps them |
//! | `collect` | rows from folders of sweeps |
//! | `over_time` | numbers of a run over time: when it is steady |
//! | `parts`, `prepare` | parts and a twin of a workload, which sweeps take as files |
//! | `scaling` | how often window scaling was in use: counts of captures |
//! | `claims` | what was published as something that can be looked up or tested in the rows |
//! | `published` | what was published |
//! | `questions` | what was left open, and what the rows say |
//! | `page` | the page |
//! | `small` | its first orderings over a small link, as checks |

mod cells;
mod claims;
mod collect;
mod over_time;
mod page;
mod parts;
mod prepare;
mod published;
mod questions;
mod scaling;
mod small;

use std::fs;
use std::path::Path;

pub use cells::{CellRow, Key, Network, read, write};
pub use collect::collect;
pub use page::files;
pub use prepare::{prepare_parts, prepare_twin};
pub use scaling::{SCALING_FILE, count_scaling, read_counts};
pub(crate) use small::rows;

/// The file of the rows, in the folder of the page's pictures.
pub const CELLS_FILE: &str = "cells.csv";

/// Takes the finished runs of `sweeps` into the rows in `folder`, and writes the page and its pictures anew; how many rows there are.
///
/// # Errors
/// A file cannot be read or written, or is not what it should be, in words.
pub fn reproduce(folder: &Path, sweeps: &[impl AsRef<Path>]) -> Result<usize, String> {
    let path = folder.join("aikat-2010").join(CELLS_FILE);
    let mut rows = if path.exists() { read(&path)? } else { Vec::new() };
    for sweep in sweeps {
        for row in collect(sweep.as_ref())? {
            rows.retain(|old| old.key != row.key);
            rows.push(row);
        }
    }
    rows.sort_by(|a, b| a.key.order(&b.key));
    write(&path, &rows)?;
    // The page is that of the file, whose numbers are rounded.
    let rows = read(&path)?;
    let scaling = read_counts(&folder.join("aikat-2010").join(SCALING_FILE))?;
    for (name, content) in files(&rows, &scaling) {
        let path = folder.join(&name);
        fs::write(&path, content).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(rows.len())
}

#[cfg(test)]
mod tests;
