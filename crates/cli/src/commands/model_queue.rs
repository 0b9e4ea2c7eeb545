//! `flowloom model queue`: delay and loss of phase-modulated cells.

use flowloom::core::workload::LinkSide;
use flowloom::{Error, QueueModelOptions, RateOptions, queue_model, queue_text};
use serde_json::json;

use crate::args::{GuestSide, QueueModel};
use crate::exit::Exit;
use crate::output::Manner;

/// Runs the command.
pub fn run(args: &QueueModel, manner: Manner) -> Result<Exit, Error> {
    let rates = RateOptions {
        from: match args.from {
            GuestSide::Left => LinkSide::Left,
            GuestSide::Right => LinkSide::Right,
        },
        cell_payload: args.cell_payload,
        bin: args.bin,
        capture: args.capture.options(),
    };
    let options = QueueModelOptions {
        series: args.series.clone(),
        rates,
        phases: args.phases.clone(),
        boundaries: args.boundaries.clone().unwrap_or_default(),
        shares: args.shares.iter().map(|share| share.0).collect(),
        least: args.least,
        most: args.most,
        pareto_shape: args.pareto_shape,
        sojourn: args.sojourn,
        gaps: args.gaps.clone(),
        loads: args.load.iter().map(|load| load.0).collect(),
        buffers: args.buffer.clone(),
        simulate: args.simulate,
        seed: args.seed,
        lags: args.lags,
    };
    manner.start("model queue")?;
    let answer = queue_model(&options, manner.observer().context())?;
    manner.answer(|| json!(answer), || queue_text(&answer))?;
    Ok(Exit::Done)
}
