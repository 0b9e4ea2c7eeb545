//! A picture as PNG, drawn point by point, with its resolution.

use std::io::Write as _;

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use tiny_skia::{Color, FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Stroke, StrokeDash, Transform};

use super::font::Font;
use super::scene::{Anchor, Colour, Scene, Segment, Shape, Text};

/// Pixels at most in a direction: a picture has 400 MB then.
pub(super) const MOST_PIXELS: f64 = 10_000.0;

/// The whole file at `dpi` pixels per inch; `None` where that makes no pixel or more than [`MOST_PIXELS`] in a direction.
pub(super) fn write(scene: &Scene, font: &Font, dpi: f64) -> Option<Vec<u8>> {
    let scale = dpi / 72.0;
    let (width, height) = (libm::round(scene.size.0 * scale), libm::round(scene.size.1 * scale));
    if width > MOST_PIXELS || height > MOST_PIXELS {
        return None;
    }
    let mut pixels = Pixmap::new(width as u32, height as u32)?;
    pixels.fill(Color::WHITE);
    let view = Transform::from_scale(scale as f32, scale as f32);
    for shape in scene.groups.iter().flat_map(|group| &group.shapes) {
        match shape {
            Shape::Stroke { path, stroke } => {
                let Some(path) = traced(path) else { continue };
                let dash: Vec<f32> = stroke.dash.iter().map(|length| *length as f32).collect();
                let look = Stroke {
                    width: stroke.width as f32,
                    line_join: LineJoin::Round,
                    line_cap: LineCap::Butt,
                    dash: StrokeDash::new(dash, 0.0),
                    ..Stroke::default()
                };
                pixels.stroke_path(&path, &paint(stroke.colour, 1.0), &look, view, None);
            }
            Shape::Fill { path, colour, opacity } => {
                let Some(path) = traced(path) else { continue };
                pixels.fill_path(&path, &paint(*colour, *opacity), FillRule::Winding, view, None);
            }
            Shape::Text(text) => write_text(&mut pixels, text, font, view),
        }
    }
    Some(file(&pixels, dpi))
}

fn paint([red, green, blue]: Colour, opacity: f64) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color_rgba8(red, green, blue, (opacity * 255.0).round() as u8);
    paint.anti_alias = true;
    paint
}

fn traced(path: &[Segment]) -> Option<Path> {
    let mut builder = PathBuilder::new();
    for segment in path {
        match segment {
            Segment::Move((x, y)) => builder.move_to(*x as f32, *y as f32),
            Segment::Line((x, y)) => builder.line_to(*x as f32, *y as f32),
            Segment::Curve(a, b, to) => {
                builder.cubic_to(a.0 as f32, a.1 as f32, b.0 as f32, b.1 as f32, to.0 as f32, to.1 as f32);
            }
            Segment::Close => builder.close(),
        }
    }
    builder.finish()
}

fn write_text(pixels: &mut Pixmap, text: &Text, font: &Font, view: Transform) {
    let Some(path) = traced(&font.outline(&text.text, text.size)) else { return };
    let back = match text.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => font.width(&text.text, text.size) / 2.0,
        Anchor::End => font.width(&text.text, text.size),
    };
    let turn = if text.is_upright { -90.0 } else { 0.0 };
    let placed =
        view.pre_translate(text.at.0 as f32, text.at.1 as f32).pre_rotate(turn).pre_translate(-back as f32, 0.0);
    pixels.fill_path(&path, &paint(text.colour, 1.0), FillRule::Winding, placed, None);
}

/// The file of an opaque picture: three bytes a pixel, each row as what it adds to the row above.
fn file(pixels: &Pixmap, dpi: f64) -> Vec<u8> {
    const UP: u8 = 2;
    let (width, height) = (pixels.width(), pixels.height());
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    let mut above = vec![0; 3 * width as usize];
    for row in pixels.data().chunks_exact(4 * width as usize) {
        let row: Vec<u8> = row.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
        let added: Vec<u8> = row.iter().zip(&above).map(|(here, above)| here.wrapping_sub(*above)).collect();
        // A vector takes everything.
        let _ = encoder.write_all(&[UP]).and_then(|()| encoder.write_all(&added));
        above = row;
    }
    let data = encoder.finish().unwrap_or_default();
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut chunk = |name: &[u8; 4], bytes: &[u8]| {
        let mut crc = Crc::new();
        crc.update(name);
        crc.update(bytes);
        out.extend((bytes.len() as u32).to_be_bytes());
        out.extend(name);
        out.extend(bytes);
        out.extend(crc.sum().to_be_bytes());
    };
    // Eight bits a sample, colour without opacity, the only compression and filters, rows in order.
    chunk(b"IHDR", &[&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 2, 0, 0, 0]].concat());
    let per_metre = (libm::round(dpi / 0.0254) as u32).to_be_bytes();
    chunk(b"pHYs", &[&per_metre[..], &per_metre, &[1]].concat());
    chunk(b"IDAT", &data);
    chunk(b"IEND", &[]);
    out
}
