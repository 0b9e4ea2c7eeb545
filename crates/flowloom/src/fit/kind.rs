//! The kind of an input that values are fitted to.

use std::path::Path;

use crate::error::Error;
use crate::extraction::CaptureOptions;
use crate::input::{self, Kind};

/// What `input` is, if something can be fitted to it.
pub(super) fn kind(input: &Path, capture: &CaptureOptions) -> Result<Kind, Error> {
    let kind = input::kind(input);
    if let Kind::Experiment | Kind::Specification | Kind::RunFolder = kind {
        return Err(Error::usage(format_args!("{} is {}, not a workload", input.display(), kind.words()))
            .hint("fit the capture or the workload it replays"));
    }
    input::refuse_idle_options(capture, kind, input)?;
    Ok(kind)
}
