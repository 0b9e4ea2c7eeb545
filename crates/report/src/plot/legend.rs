//! The legend above the curves: columns as wide as the longest name.

use super::draw::{PAD, sample, word};
use super::font::Font;
use super::picture::{Curve, Picture};
use super::scene::Group;

/// Size of its words in points.
pub(super) const SIZE: f64 = 7.0;
/// From row to row.
const ROW: f64 = 9.5;
/// Width of the sample of a line, and room after it.
const SAMPLE: f64 = 19.0;
const GAP: f64 = 4.0;
/// Room between columns.
const BETWEEN: f64 = 9.0;

/// Samples of lines with their names.
pub(super) struct Legend<'a> {
    entries: Vec<(&'a Curve, String)>,
    columns: usize,
    column: f64,
}

impl<'a> Legend<'a> {
    /// That of `picture`, as wide as the whole.
    pub(super) fn new(picture: &'a Picture, font: &Font, width: f64) -> Legend<'a> {
        let room = width - 2.0 * PAD;
        let most = room - SAMPLE - GAP;
        let entries: Vec<(&Curve, String)> =
            picture.curves.iter().map(|curve| (curve, font.shortened(&font.shown(&curve.name), SIZE, most))).collect();
        let longest = entries.iter().map(|(_, name)| font.width(name, SIZE)).fold(0.0, f64::max);
        let column = SAMPLE + GAP + longest + BETWEEN;
        let fit = (((room + BETWEEN) / column) as usize).clamp(1, entries.len().max(1));
        // As few columns as have the same number of rows.
        let rows = entries.len().div_ceil(fit).max(1);
        Legend { columns: entries.len().div_ceil(rows).max(1), column, entries }
    }

    fn rows(&self) -> usize {
        self.entries.len().div_ceil(self.columns)
    }

    /// Its height with the room below it, in points.
    pub(super) fn height(&self) -> f64 {
        ROW * self.rows() as f64 + 3.0
    }

    /// Its shapes, from `top` on, by columns.
    pub(super) fn group(&self, top: f64) -> Group {
        let rows = self.rows().max(1);
        let mut shapes = Vec::new();
        for (index, (curve, name)) in self.entries.iter().enumerate() {
            let left = PAD + (index / rows) as f64 * self.column;
            let middle = top + ROW * ((index % rows) as f64 + 0.5);
            shapes.extend(sample(curve, (left, middle), SAMPLE));
            shapes.push(word(name, (left + SAMPLE + GAP, middle)));
        }
        Group { class: "legend", name: String::new(), shapes }
    }
}
