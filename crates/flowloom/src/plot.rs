//! Pictures of runs and sweeps: the figures of their reports as SVG, PDF and PNG files, and the tables behind them.

use std::path::{Path, PathBuf};

use flowloom_report::plot::{DrawError, Form, Offer, Picture, Style, offers_of_runs, offers_of_sweep};
use flowloom_store::staged;

use crate::context::Stop;
use crate::error::{Error, nearest};
use crate::results::{is_sweep, load_variants};
use crate::sweep::load_sweep;
use crate::targets::{check_target, is_standard_output, write_page};

/// What is drawn, how, and where it goes.
#[derive(Clone, Debug, Default)]
pub struct PlotOptions {
    /// The name of the figure.
    pub figure: String,
    /// The file of the picture; `-` is standard output. `None`: no picture is written.
    pub output: Option<PathBuf>,
    /// Its form; `None`: that of the file's ending.
    pub form: Option<Form>,
    /// The file of the figure's table as CSV; `None`: no table is written.
    pub data: Option<PathBuf>,
    /// How the picture is drawn.
    pub style: Style,
    /// Whether files that exist may be replaced.
    pub replace: bool,
}

/// What was drawn.
#[derive(Clone, Debug)]
pub struct Plotted {
    /// The name of the figure.
    pub figure: String,
    /// What it shows.
    pub shows: String,
    /// Runs or variants that are not in the picture.
    pub left_out: Vec<String>,
}

/// The figures of the runs in `inputs`, whose lines share each picture, or of one sweep: those without data among them, with the reason.
///
/// # Errors
/// A folder that is no run and no sweep, or that is damaged; a sweep beside other folders; a sweep without an answer.
pub fn plot_offers(inputs: &[PathBuf]) -> Result<Vec<Offer>, Error> {
    match inputs {
        [only] if is_sweep(only) => {
            let (grid, answer) = load_sweep(only)?;
            Ok(offers_of_sweep(&grid, &answer))
        }
        several => match several.iter().find(|input| is_sweep(input)) {
            Some(sweep) => {
                Err(Error::usage(format_args!("{} is a sweep, which has pictures of its own", sweep.display()))
                    .hint("plot it alone, or name runs only"))
            }
            None => Ok(offers_of_runs(&load_variants(several)?)),
        },
    }
}

/// Draws a figure of the runs or of the sweep in `inputs`. `stop` ends the wait for the reader of a pipe.
///
/// # Errors
/// Those of [`plot_offers`]; a figure that does not exist, or has no data; a size in which the picture has no room; an output that
/// may not be written, or whose ending is no form.
pub fn plot(inputs: &[PathBuf], options: &PlotOptions, stop: &Stop) -> Result<Plotted, Error> {
    let form = options.output.as_deref().map(|output| form_of(output, options.form)).transpose()?;
    check_style(&options.style)?;
    let outputs = || options.output.iter().chain(&options.data);
    if let (Some(output), Some(data)) = (&options.output, &options.data)
        && place(output) == place(data)
    {
        return Err(Error::usage(format_args!("{}: picture and table would be one file", output.display()))
            .hint("give --data another name"));
    }
    outputs().try_for_each(|path| check_target(path, options.replace, inputs))?;
    let offers = plot_offers(inputs)?;
    let offer = find(&offers, &options.figure)?;
    let picture = picture_of(offer, inputs)?;
    // The picture is whole before anything is written.
    let file = form.map(|form| picture.file(form, &options.style).map_err(|error| no_room(error, &options.style)));
    if let (Some(path), Some(file)) = (&options.output, file.transpose()?) {
        write_page(path, options.replace, stop, |out| out.write_all(&file))?;
    }
    if let Some(path) = &options.data {
        write_page(path, options.replace, stop, |out| out.write_all(picture.csv().as_bytes()))?;
    }
    Ok(Plotted { figure: offer.name.clone(), shows: offer.shows.clone(), left_out: offer.left_out.clone() })
}

/// Where `path` leads to, however it is written.
fn place(path: &Path) -> PathBuf {
    staged::real(path).and_then(|end| staged::real_path(&end)).unwrap_or_else(|_| path.to_owned())
}

/// The form of the picture that goes to `output`.
fn form_of(output: &Path, given: Option<Form>) -> Result<Form, Error> {
    let endings = || Form::ALL.map(|(ending, _)| ending).join(", ");
    if let Some(form) = given {
        return Ok(form);
    }
    if is_standard_output(output) {
        return Err(Error::usage("which form should go to standard output?")
            .note(format_args!("known: {}", endings()))
            .hint("say it with --format, as in --format svg"));
    }
    let ending = output.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
    let found = Form::ALL.iter().find(|(known, _)| *known == ending);
    found.map(|(_, form)| *form).ok_or_else(|| {
        Error::usage(format_args!("{}: no form of a picture has this ending", output.display()))
            .note(format_args!("known: {}", endings()))
            .hint("give the file one of these endings, or say the form with --format")
    })
}

/// Refuses sizes that no paper has.
fn check_style(style: &Style) -> Result<(), Error> {
    let bounded = |name: &str, value: f64, most: f64, unit: &str| match value > 0.0 && value <= most {
        true => Ok(()),
        false => Err(Error::usage(format_args!("{name} is {value} {unit}, and has to be above 0 and at most {most}"))),
    };
    bounded("--width", style.width, 2_000.0, "mm")?;
    style.height.map_or(Ok(()), |height| bounded("--height", height, 2_000.0, "mm"))?;
    bounded("--dpi", style.dpi, 2_400.0, "pixels per inch")
}

/// The figure of this name.
fn find<'a>(offers: &'a [Offer], name: &str) -> Result<&'a Offer, Error> {
    if let Some(found) = offers.iter().find(|offer| offer.name == name) {
        return Ok(found);
    }
    let names: Vec<&str> = offers.iter().map(|offer| offer.name.as_str()).collect();
    // Of a name without its ending, the first figure that has it.
    let meant = nearest(name, &names).or_else(|| {
        let begins = |known: &&&str| !name.is_empty() && known.starts_with(name);
        names.iter().find(begins).copied()
    });
    let error =
        Error::usage(format_args!("there is no figure \"{name}\"")).note(format_args!("known: {}", names.join(", ")));
    Err(match meant {
        Some(meant) => error.hint(format_args!("did you mean \"{meant}\"?")),
        None => error.hint("--list says what each of them shows"),
    })
}

/// The picture of `offer`.
fn picture_of<'a>(offer: &'a Offer, inputs: &[PathBuf]) -> Result<&'a Picture, Error> {
    let shown = || inputs.iter().map(|input| input.display().to_string()).collect::<Vec<_>>().join(", ");
    offer.picture.as_ref().map_err(|why| {
        Error::new(format_args!("{}: nothing to draw for {}: {why}", shown(), offer.name))
            .hint("--list says which figures have data")
    })
}

fn no_room(error: DrawError, style: &Style) -> Error {
    let size = |height: Option<f64>| height.map_or_else(String::new, |height| format!(" x {height}"));
    match error {
        DrawError::TooSmall(_) => Error::usage(error)
            .note(format_args!("--width and --height give {}{} mm", style.width, size(style.height)))
            .hint("give more, or leave --height out"),
        DrawError::Pixels => Error::usage(error).hint("give a smaller --dpi, --width or --height"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_known_by_endings() {
        let form = |path: &str| form_of(Path::new(path), None);
        assert_eq!(form("a/b.SVG"), Ok(Form::Svg));
        assert_eq!(form("b.png"), Ok(Form::Png));
        assert_eq!(form_of(Path::new("b.jpeg"), Some(Form::Pdf)), Ok(Form::Pdf));
        for wrong in ["b.jpeg", "b", "-"] {
            let error = form(wrong).unwrap_err();
            assert_eq!(error.kind, crate::error::ErrorKind::Usage);
            assert!(error.to_string().contains("svg, pdf, png"), "{error}");
        }
    }

    #[test]
    fn names_are_guessed() {
        let offer = |name: &str| Offer {
            name: name.to_owned(),
            shows: String::new(),
            picture: Err("none".to_owned()),
            left_out: Vec::new(),
        };
        let offers = [offer("response-cdf"), offer("queue-delay")];
        assert_eq!(find(&offers, "queue-delay").unwrap().name, "queue-delay");
        for (name, meant) in
            [("respons-cdf", "response-cdf"), ("response", "response-cdf"), ("queue_delay", "queue-delay")]
        {
            let said = find(&offers, name).unwrap_err().to_string();
            assert!(said.contains(&format!("did you mean \"{meant}\"?")), "{said}");
        }
        let said = picture_of(&offers[0], &[PathBuf::from("runs/a")]).unwrap_err().to_string();
        assert!(said.starts_with("runs/a: nothing to draw for response-cdf: none"), "{said}");
    }

    #[test]
    fn sizes_have_bounds() {
        check_style(&Style::default()).unwrap();
        for style in [
            Style { width: 0.0, ..Style::default() },
            Style { height: Some(f64::NAN), ..Style::default() },
            Style { dpi: 1e9, ..Style::default() },
        ] {
            check_style(&style).unwrap_err();
        }
    }
}
