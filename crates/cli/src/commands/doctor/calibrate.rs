//! `flowloom doctor --calibrate`: what this host can do in live runs.

use flowloom::capacity::{Limit, Load, TIME};
use flowloom::{CapacityOptions, Error, MeasuredCapacity, measure_capacity};
use serde_json::json;

use crate::args::{self, Form};
use crate::commands::{cache_folder, this_program};
use crate::exit::Exit;
use crate::output::Manner;

/// Runs the command.
pub fn run(args: &args::Doctor, quiet: bool) -> Result<Exit, Error> {
    let form = Form { json: args.json, json_stream: false };
    let manner = Manner { quiet, verbose: false, form, gives_way: false };
    let cache = cache_folder().ok_or_else(|| {
        Error::usage("there is no folder for the result: neither XDG_CACHE_HOME nor HOME is an absolute path")
            .hint("set XDG_CACHE_HOME")
    })?;
    let options =
        CapacityOptions { program: this_program()?, loads: Load::ALL.to_vec(), time: TIME, cache: Some(cache) };
    let measured = measure_capacity(&options, manner.observer().context())?;
    manner.answer(
        || {
            json!({
                "host": measured.capacity.host,
                "limits": measured.capacity.limits,
                "other_work": measured.other_work,
                "interrupted": measured.is_interrupted,
                "file": measured.file.as_ref().map(|file| file.display().to_string()),
            })
        },
        || text(&measured),
    )?;
    Ok(if measured.is_interrupted { Exit::Invalid } else { Exit::Done })
}

/// A line for each kind of load.
fn text(measured: &MeasuredCapacity) -> String {
    let host = &measured.capacity.host;
    let mut text = format!("{}: kernel {}, {} cores, Flowloom {}\n", host.name, host.kernel, host.cores, host.flowloom);
    for load in Load::ALL {
        let limit: Option<&Limit> = measured.capacity.limits.get(&load);
        let words = limit.map_or_else(|| "not measured".to_owned(), |limit| limit.words(load));
        text.push_str(&format!("{:<24} {words}\n", load.words()));
        if let Some(why) = limit.and_then(|limit| limit.why.as_ref()) {
            text.push_str(&format!("{:24} {why}\n", ""));
        }
    }
    if measured.is_interrupted {
        text.push_str("interrupted: limits of what was not finished are rough, or missing\n");
    }
    if let Some(share) = measured.other_work {
        text.push_str(&format!(
            "other work took {:.0} % of this host: it can do more; stop the other work, and measure again\n",
            100.0 * share
        ));
    }
    match &measured.file {
        Some(file) => text.push_str(&format!("kept in {}\n", file.display())),
        None => text.push_str("nothing was measured, and nothing is kept\n"),
    }
    text
}
