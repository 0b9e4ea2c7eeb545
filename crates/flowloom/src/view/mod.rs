//! What `flowloom view` shows: monitors, runs, sweeps and notes in some folders, as answers to questions over HTTP
//! (`docs/reference/view-api.md`). Nothing here speaks HTTP, and nothing is written but the request that a run stop.
//!
//! | file | holds |
//! |---|---|
//! | `question` | what can be asked: the path and query of a URL, with bounds |
//! | `shelf` | folders, found again when they change; a question answered |
//! | `folders` | what is in a folder and below it, symbolic links left out |
//! | `insides` | whether stores, runs and sweeps have symbolic links in them |
//! | `series` | periods, days, correlations and bursts of a monitor |
//! | `map` | sites and links at a time, with their load |
//! | `runs` | runs: what a list shows of each; search |
//! | `running` | runs under way: a list, one that is followed, the request to stop |
//! | `notes` | `notes.toml`: periods and tags that people write |
//! | `marks` | runs, workloads and notes as periods of time |

mod folders;
mod insides;
mod map;
mod marks;
mod notes;
mod question;
mod running;
mod runs;
mod series;
mod shelf;

pub use folders::{Folder, FolderKind};
pub use question::{MOST_POINTS, MOST_RUNS, MOST_SERIES, Question, Span, StopRequest};
pub use running::{Followed, News};
pub use shelf::{Answer, Shelf};

#[cfg(test)]
mod tests;
