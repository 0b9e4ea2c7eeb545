//! How lines look: the colours, patterns and marks of the page, read from its style sheet.

use super::scene::{Colour, Place, Segment, Stroke};
use crate::html::figure::Role;
use crate::html::palette::{dash, light};

/// Width of a line in points.
const WIDTH: f64 = 1.1;
/// The same of the original's, which lies behind the others.
const WIDE: f64 = 2.6;
/// Points of a picture for each pixel of the page, in patterns of lines.
const PATTERN: f64 = 0.62;
/// Share of the ground that a band covers.
pub(super) const BAND: f64 = 0.2;

/// Words and axes.
pub(super) fn ink() -> Colour {
    light("ink")
}

/// Lines of the grid.
pub(super) fn hairline() -> Colour {
    light("hairline")
}

/// Lines of axes.
pub(super) fn strong() -> Colour {
    light("quiet")
}

/// `colour` on white, of which it covers this share.
fn lighter(colour: Colour, share: f64) -> Colour {
    colour.map(|part| (255.0 - share * (255.0 - f64::from(part))).round() as u8)
}

/// The parts of a role's class: the name of its colour, the number of its pattern.
fn parts(role: &Role) -> (&str, usize) {
    let mut words = role.class.split(' ');
    let colour = words.next().unwrap_or("original");
    let pattern = words.next().and_then(|word| word.strip_prefix("dash")?.parse().ok());
    (colour, pattern.unwrap_or(0))
}

/// The colour of a role; what was set aside has that of the original, and a real link that of words.
pub(super) fn colour(role: &Role) -> Colour {
    let (name, _) = parts(role);
    light(match name {
        "aside" => "original",
        "link" => "ink",
        name => name,
    })
}

/// The line of a role.
pub(super) fn stroke(role: &Role) -> Stroke {
    let colour = colour(role);
    if *role == Role::original() {
        return Stroke::plain(lighter(colour, 0.5), WIDE);
    }
    let dash = dash(parts(role).1).iter().map(|length| length * PATTERN).collect();
    Stroke { colour, width: WIDTH, dash }
}

/// The mark of a role's points around `at`: a shape for each pattern, as on the page.
pub(super) fn mark(role: &Role, at: Place) -> Vec<Segment> {
    const R: f64 = 2.1;
    /// Share of the radius at which a curve's control points make a quarter of a circle.
    const ROUND: f64 = 0.552_3;
    let (x, y) = at;
    let polygon = |corners: &[Place]| {
        let mut path = super::scene::through(corners.iter().map(|(dx, dy)| (x + dx * R, y + dy * R)));
        path.push(Segment::Close);
        path
    };
    match parts(role).1 {
        1 => polygon(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
        2 => polygon(&[(0.0, -1.2), (1.15, 0.85), (-1.15, 0.85)]),
        3 => polygon(&[(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)]),
        4 => polygon(&[(0.0, 1.2), (1.15, -0.85), (-1.15, -0.85)]),
        5 => {
            let [near, far] = [0.4, 1.2];
            polygon(&[
                (-far, -near),
                (-near, -near),
                (-near, -far),
                (near, -far),
                (near, -near),
                (far, -near),
                (far, near),
                (near, near),
                (near, far),
                (-near, far),
                (-near, near),
                (-far, near),
            ])
        }
        _ => {
            let at = |dx: f64, dy: f64| (x + dx * R, y + dy * R);
            let quarter = |from: Place, to: Place| {
                let bend = |end: Place, other: Place| (end.0 + ROUND * other.0, end.1 + ROUND * other.1);
                let (a, b) = (bend(from, to), bend(to, from));
                Segment::Curve(at(a.0, a.1), at(b.0, b.1), at(to.0, to.1))
            };
            let ends = [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0), (1.0, 0.0)];
            let mut path = vec![Segment::Move(at(1.0, 0.0))];
            path.extend(ends.windows(2).map(|pair| quarter(pair[0], pair[1])));
            path.push(Segment::Close);
            path
        }
    }
}
