//! Distributions and models fitted to what an input holds.

mod harpoon;
mod kind;
mod swing;

use std::path::Path;

use flowloom_report::fit::{FitVariable, Fitted, Fitter};

use crate::context::Context;
use crate::error::Error;
use crate::extraction::CaptureOptions;
use crate::workload::hosts::HostOptions;
use crate::workload::load;

pub use harpoon::{FittedHarpoon, HarpoonFitOptions, fit_harpoon};
use kind::kind;
pub use swing::{FittedSwing, SwingFitOptions, fit_swing};

/// Fits distributions to variables of the workload in `input`; to all of them if `variables` is empty.
///
/// # Errors
/// What is wrong with the input; nothing to fit.
pub fn fit(
    input: &Path,
    variables: &[FitVariable],
    capture: &CaptureOptions,
    context: Context<'_>,
) -> Result<Fitted, Error> {
    let kind = kind(input, capture)?;
    let paths = [input.to_owned()];
    let scratch = std::env::temp_dir();
    let mut loaded = load::open(&paths, kind, capture, &HostOptions::default(), &scratch, context)?;
    loaded.warn(context);
    let mut fitter = Fitter::default();
    fitter.set_observed(loaded.facts.observed());
    for vector in &mut loaded.vectors {
        fitter.add(&vector?);
    }
    let name = (!capture.anonymize).then(|| input.display().to_string());
    let wanted = if variables.is_empty() { &FitVariable::ALL[..] } else { variables };
    let fitted = fitter.finish(name, wanted);
    if fitted.variables.is_empty() {
        let what = if variables.is_empty() { "TCP connections" } else { "values of what --variable names" };
        return Err(Error::new(format_args!("{}: holds no {what}: nothing to fit", input.display()))
            .hint("flowloom describe says what is in it"));
    }
    Ok(fitted)
}
