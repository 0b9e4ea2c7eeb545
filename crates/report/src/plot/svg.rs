//! A picture as SVG: text as text, with the part of the font that it needs.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::font::{FAMILIES, Font, NAME};
use super::scene::{Anchor, Colour, Place, Scene, Segment, Shape, Text};

/// Millimetres of a point.
const MM: f64 = 25.4 / 72.0;

/// The whole file.
pub(super) fn write(scene: &Scene, font: &Font) -> String {
    let (width, height) = scene.size;
    let subset = font.subset(scene.texts().map(|text| text.text.as_str()));
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}mm\" height=\"{}mm\" viewBox=\"0 0 {} {}\" role=\"img\">\n\
         <title>{}</title>\n\
         <style>@font-face{{font-family:{NAME};src:url(data:font/ttf;base64,{}) format(\"truetype\")}}</style>\n\
         <rect width=\"{2}\" height=\"{3}\" fill=\"#ffffff\"/>",
        short(width * MM),
        short(height * MM),
        short(width),
        short(height),
        escaped(&scene.title),
        STANDARD.encode(subset.with_characters()),
    );
    for group in &scene.groups {
        let name =
            if group.name.is_empty() { String::new() } else { format!(" data-name=\"{}\"", escaped(&group.name)) };
        let _ = writeln!(out, "<g class=\"{}\"{name}>", group.class);
        for shape in &group.shapes {
            shape_element(&mut out, shape);
        }
        out.push_str("</g>\n");
    }
    out.push_str("</svg>\n");
    out
}

fn shape_element(out: &mut String, shape: &Shape) {
    let _ = match shape {
        Shape::Stroke { path, stroke } => {
            let dash: Vec<String> = stroke.dash.iter().map(|length| short(*length)).collect();
            let dash =
                if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{}\"", dash.join(" ")) };
            writeln!(
                out,
                "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"{dash}/>",
                data(path),
                hex(stroke.colour),
                short(stroke.width)
            )
        }
        Shape::Fill { path, colour, opacity } => {
            let opacity = if *opacity < 1.0 { format!(" fill-opacity=\"{}\"", short(*opacity)) } else { String::new() };
            writeln!(out, "<path d=\"{}\" fill=\"{}\"{opacity}/>", data(path), hex(*colour))
        }
        Shape::Text(Text { text, at: (x, y), size, anchor, is_upright, colour }) => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let place = match is_upright {
                true => format!("transform=\"translate({} {}) rotate(-90)\"", short(*x), short(*y)),
                false => format!("x=\"{}\" y=\"{}\"", short(*x), short(*y)),
            };
            writeln!(
                out,
                "<text {place} font-family=\"{FAMILIES}\" font-size=\"{}\" text-anchor=\"{anchor}\" fill=\"{}\">{}</text>",
                short(*size),
                hex(*colour),
                escaped(text)
            )
        }
    };
}

/// Three decimals at most, without zeros at the end.
fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

fn hex([red, green, blue]: Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn data(path: &[Segment]) -> String {
    let place = |(x, y): Place| format!("{},{}", short(x), short(y));
    let of = |segment: &Segment| match segment {
        Segment::Move(to) => format!("M{}", place(*to)),
        Segment::Line(to) => format!("L{}", place(*to)),
        Segment::Curve(a, b, to) => format!("C{} {} {}", place(*a), place(*b), place(*to)),
        Segment::Close => "Z".to_owned(),
    };
    path.iter().map(of).collect()
}

/// `text` in XML, without the characters that XML cannot hold.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}
