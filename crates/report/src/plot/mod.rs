//! Pictures for papers and slides: the figures of the page as SVG, PDF or PNG, without a browser.
//!
//! | file | holds |
//! |---|---|
//! | `catalog` | the figures by their names, and why data may lack them |
//! | `picture` | curves, axes and tables of the page's figures |
//! | `answers` | the same of a sweep's answer |
//! | `axis` | scales and ticks |
//! | `draw`, `legend`, `look` | where things are on paper; samples of lines; colours, patterns and marks of the page |
//! | `scene` | what is drawn: paths and texts |
//! | `font` | widths and outlines of letters, parts of the font for files |
//! | `svg`, `pdf`, `png` | a scene in each form |
//!
//! The same picture and style make the same bytes: nothing here reads a clock, a font of the host or an environment.

mod answers;
mod axis;
mod catalog;
mod draw;
mod font;
mod legend;
mod look;
mod pdf;
mod picture;
mod png;
mod scene;
mod svg;

pub use catalog::{Offer, offers_of_runs, offers_of_sweep};
pub use draw::{Style, TooSmall};
pub use picture::Picture;

use font::Font;

/// The form of a picture's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Lines and text, for pages.
    Svg,
    /// Lines and text, for LaTeX.
    Pdf,
    /// Pixels, for slides.
    Png,
}

impl Form {
    /// All of them, by the endings of their files.
    pub const ALL: [(&'static str, Form); 3] = [("svg", Form::Svg), ("pdf", Form::Pdf), ("png", Form::Png)];
}

/// Why a picture cannot be drawn in a style.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum DrawError {
    /// Its words and curves have no room.
    #[error("the picture has no room: it needs at least {} x {} mm", .0.width, .0.height)]
    TooSmall(TooSmall),
    /// It has no pixels, or too many.
    #[error("the picture would have no pixels, or more than {} in one direction", png::MOST_PIXELS)]
    Pixels,
}

impl Picture {
    /// The bytes of its file.
    ///
    /// # Errors
    /// The style has no room for it, or too many pixels.
    pub fn file(&self, form: Form, style: &Style) -> Result<Vec<u8>, DrawError> {
        let font = Font::new();
        let scene = draw::draw(self, style, &font).map_err(DrawError::TooSmall)?;
        match form {
            Form::Svg => Ok(svg::write(&scene, &font).into_bytes()),
            Form::Pdf => Ok(pdf::write(&scene, &font)),
            Form::Png => png::write(&scene, &font, style.dpi).ok_or(DrawError::Pixels),
        }
    }
}
