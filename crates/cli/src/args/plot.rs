//! Options of `plot`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::shared::Form;

/// `flowloom plot`
#[derive(Debug, Args)]
pub struct Plot {
    /// Run folders to draw in one picture, or the folder of a sweep
    #[arg(required = true, value_name = "RUN")]
    pub inputs: Vec<PathBuf>,
    /// Figure to draw; --list prints the names
    #[arg(short, long, value_name = "NAME", required_unless_present = "list")]
    pub figure: Option<String>,
    /// Print the figures, what they show, and whether these runs or this sweep have the data
    #[arg(long, conflicts_with_all = ["figure", "output", "data", "force", "title"])]
    pub list: bool,
    /// Picture to write: .svg, .pdf or .png; "-" writes standard output
    #[arg(short, long, value_name = "FILE", required_unless_present_any = ["list", "data"])]
    pub output: Option<PathBuf>,
    /// Format of the picture [default: from the name of the file]
    #[arg(long, value_enum, value_name = "FORMAT", requires = "output")]
    pub format: Option<PictureFormat>,
    /// Table of the figure to write as CSV; "-" writes standard output
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// Replace the files if they exist
    #[arg(long)]
    pub force: bool,
    /// Width in millimetres; 85 is the width of a column in a paper
    #[arg(long, value_name = "MM", default_value_t = 85.0, allow_negative_numbers = true, help_heading = "Picture")]
    pub width: f64,
    /// Height in millimetres [default: what the legend and the rows need]
    #[arg(long, value_name = "MM", allow_negative_numbers = true, help_heading = "Picture")]
    pub height: Option<f64>,
    /// Pixels per inch of a PNG
    #[arg(long, value_name = "N", default_value_t = 300.0, value_parser = above_zero, allow_negative_numbers = true, help_heading = "Picture")]
    pub dpi: f64,
    /// Title above the picture [default: none]
    #[arg(long, value_name = "TEXT", help_heading = "Picture")]
    pub title: Option<String>,
    /// How to answer
    #[command(flatten)]
    pub form: Form,
}

/// A finite number above zero.
fn above_zero(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().map_err(|error| error.to_string())?;
    if number > 0.0 && number.is_finite() { Ok(number) } else { Err("it must be above 0".to_owned()) }
}

/// The format of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PictureFormat {
    /// Lines and text with an embedded font
    Svg,
    /// Lines and text with an embedded font, for LaTeX
    Pdf,
    /// Pixels
    Png,
}
