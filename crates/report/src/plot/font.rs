//! The font of pictures: Arimo, whose letters are as wide as Arial's, so that an SVG whose font is replaced keeps its shape.
//!
//! `font/Arimo-Regular.ttf` is Arimo 1.33 of Debian's `fonts-croscore` with Latin, Greek and Cyrillic letters and the signs of
//! formulas, without hints. Its licence is `font/OFL.txt`.

use std::collections::BTreeMap;

use subsetter::GlyphRemapper;
use ttf_parser::{Face, GlyphId, OutlineBuilder};

use super::scene::{Place, Segment};

const FILE: &[u8] = include_bytes!("font/Arimo-Regular.ttf");
/// Its name, and names of fonts with the same widths.
pub(super) const FAMILIES: &str = "Arimo, 'Liberation Sans', Arial, Helvetica, sans-serif";
pub(super) const NAME: &str = "Arimo";
/// What stands for letters that the font lacks.
const UNKNOWN: char = '?';

/// The font, read.
pub(super) struct Font {
    face: Face<'static>,
}

/// The part of the font that some texts need.
pub(super) struct Subset {
    /// An OpenType font without a table of characters, as PDF embeds it.
    pub file: Vec<u8>,
    /// The number of each character's glyph in it.
    pub glyphs: BTreeMap<char, u16>,
}

impl Font {
    pub(super) fn new() -> Font {
        // A test reads the file.
        Font { face: Face::parse(FILE, 0).expect("the font of pictures is sound") }
    }

    /// Size of the square in which glyphs are drawn.
    pub(super) fn units(&self) -> f64 {
        f64::from(self.face.units_per_em())
    }

    /// The font, for facts that only one form needs.
    pub(super) fn face(&self) -> &Face<'static> {
        &self.face
    }

    fn glyph(&self, letter: char) -> GlyphId {
        self.face.glyph_index(letter).unwrap_or_default()
    }

    /// `text` as the font can show it.
    pub(super) fn shown(&self, text: &str) -> String {
        let known = |letter: char| if self.face.glyph_index(letter).is_some() { letter } else { UNKNOWN };
        text.chars().map(known).collect()
    }

    /// How wide a letter is, in units of the font.
    pub(super) fn advance(&self, letter: char) -> f64 {
        f64::from(self.face.glyph_hor_advance(self.glyph(letter)).unwrap_or(0))
    }

    /// How wide `text` is at this size.
    pub(super) fn width(&self, text: &str, size: f64) -> f64 {
        text.chars().map(|letter| self.advance(letter)).sum::<f64>() * size / self.units()
    }

    /// `text` as far as there is room, with its end, which tells more than its beginning: folders differ in their last parts.
    pub(super) fn shortened(&self, text: &str, size: f64, room: f64) -> String {
        if self.width(text, size) <= room {
            return text.to_owned();
        }
        let ends = text.char_indices().map(|(at, _)| format!("…{}", &text[at..]));
        ends.skip(1).find(|end| self.width(end, size) <= room).unwrap_or_else(|| "…".to_owned())
    }

    /// The outline of `text` at this size, with its baseline from the origin to the right and its letters above it, where values are
    /// negative.
    pub(super) fn outline(&self, text: &str, size: f64) -> Vec<Segment> {
        let scale = size / self.units();
        let mut pen = Pen { path: Vec::new(), at: 0.0, scale, last: (0.0, 0.0) };
        for letter in text.chars() {
            self.face.outline_glyph(self.glyph(letter), &mut pen);
            pen.at += self.advance(letter) * scale;
        }
        pen.path
    }

    /// What `texts` need of the font.
    pub(super) fn subset<'a>(&self, texts: impl Iterator<Item = &'a str>) -> Subset {
        let mut letters: Vec<char> = texts.flat_map(str::chars).collect();
        letters.sort_unstable();
        letters.dedup();
        let mut remapper = GlyphRemapper::new();
        let glyphs = letters.into_iter().map(|letter| (letter, remapper.remap(self.glyph(letter).0))).collect();
        let file = subsetter::subset(FILE, 0, &remapper).expect("a sound font has every subset");
        Subset { file, glyphs }
    }
}

/// Writes outlines of glyphs beside each other.
struct Pen {
    path: Vec<Segment>,
    at: f64,
    scale: f64,
    last: Place,
}

impl Pen {
    fn place(&self, x: f32, y: f32) -> Place {
        (self.at + f64::from(x) * self.scale, -f64::from(y) * self.scale)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.last = self.place(x, y);
        self.path.push(Segment::Move(self.last));
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.last = self.place(x, y);
        self.path.push(Segment::Line(self.last));
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let (from, bend, to) = (self.last, self.place(x1, y1), self.place(x, y));
        let third = |end: Place| (end.0 + (bend.0 - end.0) * 2.0 / 3.0, end.1 + (bend.1 - end.1) * 2.0 / 3.0);
        self.path.push(Segment::Curve(third(from), third(to), to));
        self.last = to;
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.last = self.place(x, y);
        self.path.push(Segment::Curve(self.place(x1, y1), self.place(x2, y2), self.last));
    }

    fn close(&mut self) {
        self.path.push(Segment::Close);
    }
}

impl Subset {
    /// The same as a whole font, as browsers read it: with tables of characters, names and measures.
    pub(super) fn with_characters(&self) -> Vec<u8> {
        let mut tables: BTreeMap<[u8; 4], Vec<u8>> = tables(&self.file);
        for name in [*b"OS/2", *b"name"] {
            if let Some(table) = self::tables(FILE).remove(&name) {
                tables.insert(name, table);
            }
        }
        tables.insert(*b"cmap", character_map(&self.glyphs));
        // Version 3: glyphs have no names.
        tables.insert(*b"post", [&[0, 3, 0, 0][..], &[0; 28]].concat());
        assembled(&tables)
    }
}

fn number(bytes: &[u8], at: usize) -> usize {
    bytes.get(at..at + 4).map_or(0, |four| four.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)))
}

/// The tables of an OpenType file.
fn tables(file: &[u8]) -> BTreeMap<[u8; 4], Vec<u8>> {
    let count = number(file, 4) >> 16;
    let table = |index: usize| {
        let at = 12 + 16 * index;
        let name = file.get(at..at + 4)?.try_into().ok()?;
        let (offset, length) = (number(file, at + 8), number(file, at + 12));
        Some((name, file.get(offset..offset + length)?.to_vec()))
    };
    (0..count).filter_map(table).collect()
}

/// A table of characters with a segment for each (format 4: all characters of the font are in the basic plane).
fn character_map(glyphs: &BTreeMap<char, u16>) -> Vec<u8> {
    let known: Vec<(u16, u16)> =
        glyphs.iter().filter_map(|(letter, glyph)| Some((u16::try_from(u32::from(*letter)).ok()?, *glyph))).collect();
    let ends: Vec<u16> = known.iter().map(|(letter, _)| *letter).chain([u16::MAX]).collect();
    let deltas = known.iter().map(|(letter, glyph)| glyph.wrapping_sub(*letter)).chain([1]);
    let count = ends.len() as u16;
    let steps = count.ilog2() as u16;
    let searched = 2 << steps;
    let mut words: Vec<u16> = vec![4, 16 + 8 * count, 0, 2 * count, searched, steps, 2 * count - searched];
    words.extend(&ends);
    words.push(0);
    words.extend(&ends);
    words.extend(deltas);
    words.extend(std::iter::repeat_n(0, ends.len()));
    // Version 0, one table: of Windows, Unicode, 12 bytes from here.
    let head: [u16; 6] = [0, 1, 3, 1, 0, 12];
    head.iter().chain(&words).flat_map(|word| word.to_be_bytes()).collect()
}

/// An OpenType file of `tables`.
fn assembled(tables: &BTreeMap<[u8; 4], Vec<u8>>) -> Vec<u8> {
    let count = tables.len() as u16;
    let steps = count.ilog2() as u16;
    let searched = 16 << steps;
    let sum = |bytes: &[u8]| {
        let words =
            bytes.chunks(4).map(|four| four.iter().zip([24, 16, 8, 0]).map(|(byte, by)| u32::from(*byte) << by).sum());
        words.fold(0_u32, |sum, word: u32| sum.wrapping_add(word))
    };
    let mut file = vec![0, 1, 0, 0];
    for word in [count, searched, steps, 16 * count - searched] {
        file.extend(word.to_be_bytes());
    }
    let mut body = Vec::new();
    let mut head = None;
    for (name, table) in tables {
        let offset = 12 + 16 * tables.len() + body.len();
        let mut table = table.clone();
        if name == b"head" {
            head = Some(offset + 8);
            table[8..12].fill(0);
        }
        file.extend(name);
        for word in [sum(&table), offset as u32, table.len() as u32] {
            file.extend(word.to_be_bytes());
        }
        body.extend(&table);
        body.resize(body.len().next_multiple_of(4), 0);
    }
    file.extend(body);
    if let Some(at) = head {
        let adjustment = 0xb1b0_afba_u32.wrapping_sub(sum(&file));
        file[at..at + 4].copy_from_slice(&adjustment.to_be_bytes());
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_as_wide_as_those_of_arial() {
        let font = Font::new();
        // Arial's letters have 1,139 units for "a" and 1,706 for "m", of 2,048.
        assert_eq!((font.units(), font.advance('a'), font.advance('m')), (2048.0, 1139.0, 1706.0));
        assert!((font.width("ma", 10.0) - 10.0 * 2845.0 / 2048.0).abs() < 1e-9);
        assert_eq!(font.shown("≤ µs → 10⁻³ 队"), "≤ µs → 10⁻³ ?");
    }

    #[test]
    fn a_subset_with_characters_is_a_font() {
        let font = Font::new();
        let subset = font.subset(["share ≤ x (ms)", "10⁻³"].into_iter());
        let file = subset.with_characters();
        let face = Face::parse(&file, 0).unwrap();
        for letter in "share≤xm(10⁻³) ".chars() {
            let glyph = face.glyph_index(letter).unwrap();
            assert_eq!(f64::from(face.glyph_hor_advance(glyph).unwrap()), font.advance(letter), "{letter}");
        }
        assert_eq!(face.glyph_index('Z'), None);
        assert!(file.len() < 8_000, "{}", file.len());
    }

    #[test]
    fn long_names_keep_their_ends() {
        let font = Font::new();
        let long = "runs/a-very-long-name/seed-7";
        let short = font.shortened(long, 7.5, 60.0);
        assert!(short.starts_with('…') && short.ends_with("seed-7") && font.width(&short, 7.5) <= 60.0, "{short}");
        assert_eq!(font.shortened("short", 7.5, 60.0), "short");
    }
}
