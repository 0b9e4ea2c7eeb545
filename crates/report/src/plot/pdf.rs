//! A picture as a PDF of one page, with the part of the font that it needs. It has no date: the same picture is the same file.

use std::collections::BTreeMap;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use pdf_writer::types::{CidFontType, FontFlags, LineJoinStyle, SystemInfo, UnicodeCmap};
use pdf_writer::writers::FontDescriptor;
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref, Settings, Str, TextStr};

use super::font::{Font, Subset};
use super::scene::{Anchor, Place, Scene, Segment, Shape, Text};

const CATALOG: Ref = Ref::new(1);
const PAGES: Ref = Ref::new(2);
const PAGE: Ref = Ref::new(3);
const CONTENT: Ref = Ref::new(4);
const FONT: Ref = Ref::new(5);
const CID_FONT: Ref = Ref::new(6);
const DESCRIPTOR: Ref = Ref::new(7);
const FONT_FILE: Ref = Ref::new(8);
const CHARACTERS: Ref = Ref::new(9);
const INFO: Ref = Ref::new(10);
/// The first of the graphics states, one for each opacity.
const STATES: i32 = 11;

const SYSTEM: SystemInfo<'_> = SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };
const FONT_NAME: Name<'_> = Name(b"F");
/// The name of a subset has six letters before it.
const SUBSET_NAME: Name<'_> = Name(b"FLWLMP+Arimo");

/// The whole file.
pub(super) fn write(scene: &Scene, font: &Font) -> Vec<u8> {
    let mut pdf = Pdf::with_settings(Settings { pretty: false });
    let (width, height) = scene.size;
    let subset = font.subset(scene.texts().map(|text| text.text.as_str()));
    pdf.catalog(CATALOG).pages(PAGES);
    pdf.pages(PAGES).kids([PAGE]).count(1);
    pdf.document_info(INFO).title(TextStr(&scene.title)).creator(TextStr("Flowloom"));

    let opacities = opacities(scene);
    let mut page = pdf.page(PAGE);
    page.media_box(Rect::new(0.0, 0.0, width as f32, height as f32)).parent(PAGES).contents(CONTENT);
    let mut resources = page.resources();
    resources.fonts().pair(FONT_NAME, FONT);
    let mut states = resources.ext_g_states();
    for (name, state, _) in opacities.values() {
        states.pair(Name(name.as_bytes()), state);
    }
    states.finish();
    resources.finish();
    page.finish();
    for (_, state, opacity) in opacities.values() {
        pdf.ext_graphics(*state).non_stroking_alpha(*opacity);
    }

    let content = compressed(&content(scene, font, &subset, &opacities));
    pdf.stream(CONTENT, &content).filter(Filter::FlateDecode);
    write_font(&mut pdf, font, &subset);
    pdf.finish()
}

/// The opacities below 1 of areas: each with its name, its object and its value.
type Opacities = BTreeMap<u64, (String, Ref, f32)>;

fn opacities(scene: &Scene) -> Opacities {
    let shapes = scene.groups.iter().flat_map(|group| &group.shapes);
    let mut found: Vec<u64> = shapes
        .filter_map(|shape| match shape {
            Shape::Fill { opacity, .. } if *opacity < 1.0 => Some(opacity.to_bits()),
            _ => None,
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    let entry = |(index, bits): (i32, u64)| {
        (bits, (format!("G{index}"), Ref::new(STATES + index), f64::from_bits(bits) as f32))
    };
    (0..).zip(found).map(entry).collect()
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    // A vector takes everything.
    encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap_or_default()
}

fn content(scene: &Scene, font: &Font, subset: &Subset, opacities: &Opacities) -> Vec<u8> {
    let mut content = Content::with_settings(Settings { pretty: false });
    // From the top left corner down, as in the scene.
    let height = scene.size.1;
    let down = |(x, y): Place| (x as f32, (height - y) as f32);
    content.set_line_join(LineJoinStyle::RoundJoin);
    for shape in scene.groups.iter().flat_map(|group| &group.shapes) {
        match shape {
            Shape::Stroke { path, stroke } => {
                let [red, green, blue] = stroke.colour.map(|part| f32::from(part) / 255.0);
                content.set_stroke_rgb(red, green, blue).set_line_width(stroke.width as f32);
                content.set_dash_pattern(stroke.dash.iter().map(|length| *length as f32), 0.0);
                trace(&mut content, path, down);
                content.stroke();
            }
            Shape::Fill { path, colour, opacity } => {
                let [red, green, blue] = colour.map(|part| f32::from(part) / 255.0);
                content.save_state();
                if let Some((name, ..)) = opacities.get(&opacity.to_bits()) {
                    content.set_parameters(Name(name.as_bytes()));
                }
                content.set_fill_rgb(red, green, blue);
                trace(&mut content, path, down);
                content.fill_nonzero().restore_state();
            }
            Shape::Text(text) => write_text(&mut content, text, font, subset, down),
        }
    }
    content.finish().to_vec()
}

fn trace(content: &mut Content, path: &[Segment], down: impl Fn(Place) -> (f32, f32)) {
    for segment in path {
        match segment {
            Segment::Move(to) => {
                let (x, y) = down(*to);
                content.move_to(x, y);
            }
            Segment::Line(to) => {
                let (x, y) = down(*to);
                content.line_to(x, y);
            }
            Segment::Curve(a, b, to) => {
                let [a, b, to] = [*a, *b, *to].map(&down);
                content.cubic_to(a.0, a.1, b.0, b.1, to.0, to.1);
            }
            Segment::Close => {
                content.close_path();
            }
        }
    }
}

fn write_text(content: &mut Content, text: &Text, font: &Font, subset: &Subset, down: impl Fn(Place) -> (f32, f32)) {
    let glyphs = text.text.chars().filter_map(|letter| subset.glyphs.get(&letter));
    let glyphs: Vec<u8> = glyphs.flat_map(|glyph| glyph.to_be_bytes()).collect();
    let [red, green, blue] = text.colour.map(|part| f32::from(part) / 255.0);
    let back = match text.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => font.width(&text.text, text.size) / 2.0,
        Anchor::End => font.width(&text.text, text.size),
    };
    let (x, y) = text.at;
    let matrix = match text.is_upright {
        true => {
            let (x, y) = down((x, y + back));
            [0.0, 1.0, -1.0, 0.0, x, y]
        }
        false => {
            let (x, y) = down((x - back, y));
            [1.0, 0.0, 0.0, 1.0, x, y]
        }
    };
    content.set_fill_rgb(red, green, blue).begin_text().set_font(FONT_NAME, text.size as f32);
    content.set_text_matrix(matrix).show(Str(&glyphs)).end_text();
}

fn write_font(pdf: &mut Pdf, font: &Font, subset: &Subset) {
    let face = font.face();
    let scale = |value: f64| (value * 1000.0 / font.units()) as f32;
    let scaled = |value: i16| scale(f64::from(value));
    pdf.type0_font(FONT)
        .base_font(SUBSET_NAME)
        .encoding_predefined(Name(b"Identity-H"))
        .descendant_font(CID_FONT)
        .to_unicode(CHARACTERS);
    let by_glyph: BTreeMap<u16, char> = subset.glyphs.iter().map(|(letter, glyph)| (*glyph, *letter)).collect();
    let mut cid = pdf.cid_font(CID_FONT);
    cid.subtype(CidFontType::Type2).base_font(SUBSET_NAME).system_info(SYSTEM).font_descriptor(DESCRIPTOR);
    cid.cid_to_gid_map_predefined(Name(b"Identity"));
    let mut widths = cid.widths();
    for (glyph, letter) in &by_glyph {
        widths.consecutive(*glyph, [scale(font.advance(*letter))]);
    }
    widths.finish();
    cid.finish();
    let mut descriptor: FontDescriptor<'_> = pdf.font_descriptor(DESCRIPTOR);
    let bounds = face.global_bounding_box();
    let [left, low, right, high] = [bounds.x_min, bounds.y_min, bounds.x_max, bounds.y_max].map(scaled);
    descriptor.name(SUBSET_NAME).flags(FontFlags::NON_SYMBOLIC).bbox(Rect::new(left, low, right, high));
    descriptor.italic_angle(0.0).ascent(scaled(face.ascender())).descent(scaled(face.descender()));
    descriptor.cap_height(scaled(face.capital_height().unwrap_or(face.ascender()))).stem_v(80.0).font_file2(FONT_FILE);
    descriptor.finish();
    let file = compressed(&subset.file);
    let mut stream = pdf.stream(FONT_FILE, &file);
    stream.filter(Filter::FlateDecode).pair(Name(b"Length1"), subset.file.len() as i32);
    stream.finish();
    let mut characters = UnicodeCmap::new(Name(b"Flowloom"), SYSTEM);
    for (glyph, letter) in by_glyph {
        characters.pair(glyph, letter);
    }
    pdf.cmap(CHARACTERS, &characters.finish());
}
