//! `flowloom plot`: a figure of runs or of a sweep as a file.

use std::fmt::Write as _;

use flowloom::report::plot::{Form, Offer, Style};
use flowloom::{Error, PlotOptions, plot, plot_offers};
use serde_json::json;

use crate::args::{self, PictureFormat};
use crate::exit::Exit;
use crate::interrupt;
use crate::output::Manner;

/// Runs the command.
pub fn run(args: &args::Plot, manner: Manner) -> Result<Exit, Error> {
    let manner = manner.beside(args.output.iter().chain(&args.data))?;
    manner.start("plot")?;
    let Some(figure) = args.figure.as_ref().filter(|_| !args.list) else {
        let offers = plot_offers(&args.inputs)?;
        manner.answer(|| json!({ "figures": offers.iter().map(object).collect::<Vec<_>>() }), || table(&offers))?;
        return Ok(Exit::Done);
    };
    let options = PlotOptions {
        figure: figure.clone(),
        output: args.output.clone(),
        form: args.format.map(|format| match format {
            PictureFormat::Svg => Form::Svg,
            PictureFormat::Pdf => Form::Pdf,
            PictureFormat::Png => Form::Png,
        }),
        data: args.data.clone(),
        style: Style { width: args.width, height: args.height, dpi: args.dpi, title: args.title.clone() },
        replace: args.force,
    };
    let plotted = plot(&args.inputs, &options, interrupt::stop())?;
    if !plotted.left_out.is_empty() {
        let cause = format!("the picture lacks {}", plotted.left_out.join(", "));
        manner.warn(
            &cause,
            Some("plot them alone: they have no such values, or another window or other bins than the first"),
        );
    }
    let path = |path: &std::path::PathBuf| path.display().to_string();
    let (output, data) = (args.output.as_ref().map(path), args.data.as_ref().map(path));
    manner.answer(
        || json!({ "figure": plotted.figure, "shows": plotted.shows, "left_out": plotted.left_out, "output": output, "data": data }),
        || {
            let line = |name: &str, path: &Option<String>| {
                path.as_ref().map_or_else(String::new, |path| format!("{name:<9}{path}\n"))
            };
            line("picture", &output) + &line("data", &data)
        },
    )?;
    Ok(Exit::Done)
}

fn object(offer: &Offer) -> serde_json::Value {
    json!({ "figure": offer.name, "shows": offer.shows, "missing": offer.picture.as_ref().err() })
}

/// A line for each figure, those without data after the others.
fn table(offers: &[Offer]) -> String {
    let wide = offers.iter().map(|offer| offer.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    let (there, missing): (Vec<&Offer>, Vec<&Offer>) = offers.iter().partition(|offer| offer.picture.is_ok());
    for offer in there.iter().chain(&missing) {
        let why = offer.picture.as_ref().err().map_or_else(String::new, |why| format!(" (no data: {why})"));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:<wide$}  {}{why}", offer.name, offer.shows);
    }
    text
}
