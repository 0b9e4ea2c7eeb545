//! `flowloom calibrate`: find the model rates that produce a target load.

use flowloom::{CalibrateOptions, Error, calibrate};

use crate::args;
use crate::exit::Exit;
use crate::output::Manner;

/// Runs the command.
pub fn run(args: &args::Calibrate, manner: Manner) -> Result<Exit, Error> {
    let options = CalibrateOptions {
        loads: args.load.iter().map(|load| load.0).collect(),
        duration: args.duration.clone(),
        seed: args.seed,
        jobs: args.jobs,
        target: args.output.clone(),
        replace: args.force,
    };
    manner.start("calibrate")?;
    let found = calibrate(&args.experiment, &options, manner.observer().context())?;
    manner.answer(|| found.json, || found.text)?;
    Ok(Exit::Done)
}
