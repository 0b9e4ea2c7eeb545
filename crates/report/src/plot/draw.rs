//! A picture on paper: where its axes, curves and words are.

use super::axis::{Axis, Ticks, ticks};
use super::font::Font;
use super::legend::{self, Legend};
use super::look;
use super::picture::{Curve, Form, Picture, Point};
use super::scene::{Anchor, Group, Place, Scene, Segment, Shape, Stroke, Text, through};
use crate::html::figure::Role;
use crate::html::still::Scale;

/// Points of a millimetre.
const MM: f64 = 72.0 / 25.4;
/// Sizes of words in points.
pub(super) const SMALL: f64 = 7.0;
const LABEL: f64 = 7.5;
const TITLE: f64 = 8.5;
/// The smallest size to which a label is brought that has no room.
const LEAST: f64 = 5.0;
/// Room around everything.
pub(super) const PAD: f64 = 3.0;
/// Share of the width that names of rows may have.
const NAMES: f64 = 0.42;
/// Height of the area of curves where nobody gives that of the picture; and of each row of names.
const USUAL_HEIGHT: f64 = 42.0 * MM;
const ROW_HEIGHT: f64 = 4.2 * MM;
/// The least that the area of curves has in each direction.
const LEAST_AREA: f64 = 14.0 * MM;
/// Share of a text's size by which its baseline is below its middle.
const MIDDLE: f64 = 0.35;
const TICK: f64 = 2.5;

/// How a picture is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Style {
    /// Width in millimetres: 85 is the column of a paper.
    pub width: f64,
    /// Height in millimetres; `None`: as the legend and the rows need.
    pub height: Option<f64>,
    /// Pixels per inch of a PNG.
    pub dpi: f64,
    /// Words above it.
    pub title: Option<String>,
}

impl Default for Style {
    fn default() -> Style {
        Style { width: 85.0, height: None, dpi: 300.0, title: None }
    }
}

/// A picture has no room in the size that was given: the least width and height in millimetres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TooSmall {
    /// Least width.
    pub width: f64,
    /// Least height.
    pub height: f64,
}

/// The area of curves: left, right, top, bottom.
#[derive(Clone, Copy, Debug)]
struct Area {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

/// The picture in the size that `style` gives.
pub(super) fn draw(picture: &Picture, style: &Style, font: &Font) -> Result<Scene, TooSmall> {
    let width = style.width * MM;
    let title = style.title.as_deref().map(|title| font.shown(title)).filter(|title| !title.is_empty());
    let head = PAD + if title.is_some() { TITLE + 5.0 } else { 0.0 };
    let legend = picture.has_legend.then(|| Legend::new(picture, font, width));
    let top = head + legend.as_ref().map_or(SMALL / 2.0, Legend::height);
    let x_label = matches!(&picture.x, Axis::Numbers { .. })
        || matches!(&picture.x, Axis::Names { label, .. } if !label.is_empty());
    let foot = TICK + SMALL + 4.0 + if x_label { LABEL + 3.5 } else { 0.0 } + PAD;
    let usual = match &picture.y {
        Axis::Names { names, .. } => LEAST_AREA.max(ROW_HEIGHT * names.len() as f64),
        Axis::Numbers { .. } => USUAL_HEIGHT,
    };
    let height = style.height.map_or(top + usual + foot, |height| height * MM);
    let mut area = Area { left: 0.0, right: width - PAD, top, bottom: height - foot };

    let rows = ((area.bottom - area.top) / (3.0 * SMALL)).max(2.0) as usize;
    let up = ticks(&picture.y, picture.domains[1], rows);
    let up = shown(up, font, width * NAMES);
    let widest = up.ticks.iter().map(|tick| font.width(&tick.label, SMALL)).fold(0.0, f64::max);
    area.left = PAD + if up.title.is_empty() { 0.0 } else { LABEL + 4.0 } + widest + TICK + 2.0;
    let least_height = match &picture.y {
        Axis::Names { names, .. } => LEAST_AREA.max(SMALL * names.len() as f64),
        Axis::Numbers { .. } => LEAST_AREA,
    };
    let [wide, high] = [area.right - area.left - LEAST_AREA, area.bottom - area.top - least_height];
    if wide < 0.0 || high < 0.0 {
        let least = |has: f64, lacks: f64| libm::ceil((has - lacks.min(0.0)) / MM);
        return Err(TooSmall { width: least(width, wide), height: least(height, high) });
    }
    let across = across(picture, &mut area, font);
    let x = scale(&picture.x, picture.domains[0], [area.left, area.right]);
    // Rows are read from the top down.
    let ends = if matches!(picture.y, Axis::Names { .. }) { [area.top, area.bottom] } else { [area.bottom, area.top] };
    let y = scale(&picture.y, picture.domains[1], ends);

    let mut groups = vec![grid(picture, [&across, &up], area, &x, &y)];
    // The original is wide and lies below the others.
    groups.extend(picture.curves.iter().map(|curve| Group {
        class: "line",
        name: curve.name.clone(),
        shapes: curve_shapes(curve, area, &x, &y),
    }));
    groups.push(x_axis(&across, area, &x, height, font));
    groups.push(y_axis(&up, area, &y, height, font));
    groups.extend(legend.map(|legend| legend.group(head)));
    if let Some(title) = &title {
        let size = fitted(font, title, TITLE, width - 2.0 * PAD);
        groups.push(Group {
            class: "title",
            name: String::new(),
            shapes: vec![text(
                &font.shortened(title, size, width - 2.0 * PAD),
                (PAD, PAD + TITLE - 1.0),
                size,
                Anchor::Start,
            )],
        });
    }
    let title = title.unwrap_or_else(|| picture.title.clone());
    Ok(Scene { size: (width, height), title, groups })
}

fn scale(axis: &Axis, [low, high]: [f64; 2], [from, to]: [f64; 2]) -> Scale {
    Scale { low, high, log: axis.is_log(), from, to }
}

/// Ticks whose labels the font has, and that have room.
fn shown(ticks: Ticks, font: &Font, room: f64) -> Ticks {
    let of = |label: &str| font.shortened(&font.shown(label), SMALL, room);
    let labelled = ticks.ticks.into_iter().map(|tick| super::axis::Tick { label: of(&tick.label), ..tick });
    Ticks { ticks: labelled.collect(), title: font.shown(&ticks.title), ..ticks }
}

/// The ticks across, as many as have room for their labels; the area gives way to the last of these.
fn across(picture: &Picture, area: &mut Area, font: &Font) -> Ticks {
    let wide = area.right - area.left;
    if let Axis::Names { names, .. } = &picture.x {
        return shown(ticks(&picture.x, picture.domains[0], names.len()), font, wide / names.len().max(1) as f64 - 4.0);
    }
    let most = (wide / (3.0 * SMALL)) as usize;
    let mut found = Ticks::default();
    for wanted in (2..=most.max(2)).rev() {
        found = shown(ticks(&picture.x, picture.domains[0], wanted), font, wide);
        let x = scale(&picture.x, picture.domains[0], [area.left, area.right]);
        let labelled: Vec<(f64, f64)> = found
            .ticks
            .iter()
            .filter(|tick| !tick.label.is_empty())
            .map(|tick| (x.at(tick.value), font.width(&tick.label, SMALL) / 2.0))
            .collect();
        let has_room = labelled.windows(2).all(|pair| pair[0].0 + pair[0].1 + 5.0 <= pair[1].0 - pair[1].1);
        if has_room {
            let over = labelled.last().map_or(0.0, |(at, half)| at + half - area.right);
            area.right -= over.max(0.0);
            break;
        }
    }
    found
}

/// The largest size at which `words` have `room`, up to `size`.
fn fitted(font: &Font, words: &str, size: f64, room: f64) -> f64 {
    let wide = font.width(words, size);
    if wide > room { (size * room / wide).max(LEAST) } else { size }
}

fn text(words: &str, at: Place, size: f64, anchor: Anchor) -> Shape {
    Shape::Text(Text { text: words.to_owned(), at, size, anchor, is_upright: false, colour: look::ink() })
}

fn line(from: Place, to: Place, stroke: Stroke) -> Shape {
    Shape::Stroke { path: through([from, to]), stroke }
}

/// Faint lines at ticks: of numbers up, and of numbers across where they have no natural steps.
fn grid(picture: &Picture, [across, up]: [&Ticks; 2], area: Area, x: &Scale, y: &Scale) -> Group {
    let faint = || Stroke::plain(look::hairline(), 0.5);
    let mut shapes = Vec::new();
    for tick in &up.ticks {
        let at = y.at(tick.value);
        shapes.push(line((area.left, at), (area.right, at), faint()));
    }
    let has_rows = matches!(picture.y, Axis::Names { .. });
    if picture.x.is_log() || has_rows {
        for tick in &across.ticks {
            let at = x.at(tick.value);
            shapes.push(line((at, area.top), (at, area.bottom), faint()));
        }
    }
    if let Some(value) = picture.reference {
        let at = x.at(value);
        shapes.push(line((at, area.top), (at, area.bottom), Stroke::plain(look::strong(), 0.8)));
    }
    Group { class: "grid", name: String::new(), shapes }
}

fn axis_stroke() -> Stroke {
    Stroke::plain(look::strong(), 0.6)
}

/// Each tick that has a label is a mark followed by the label; marks without labels come after all of them.
fn x_axis(ticks: &Ticks, area: Area, x: &Scale, height: f64, font: &Font) -> Group {
    let mut shapes = vec![line((area.left, area.bottom), (area.right, area.bottom), axis_stroke())];
    let mark =
        |value: f64, long: f64| line((x.at(value), area.bottom), (x.at(value), area.bottom + long), axis_stroke());
    for tick in ticks.ticks.iter().filter(|tick| !tick.label.is_empty()) {
        shapes.push(mark(tick.value, TICK));
        let at = (x.at(tick.value), area.bottom + TICK + SMALL + 0.5);
        shapes.push(text(&tick.label, at, SMALL, Anchor::Middle));
    }
    let without = ticks.ticks.iter().filter(|tick| tick.label.is_empty()).map(|tick| (tick.value, TICK));
    shapes.extend(without.chain(ticks.minor.iter().map(|value| (*value, 1.4))).map(|(value, long)| mark(value, long)));
    if !ticks.title.is_empty() {
        let size = fitted(font, &ticks.title, LABEL, area.right - PAD);
        // In the middle of the axis, unless it is longer than that.
        let half = font.width(&ticks.title, size) / 2.0;
        let middle = ((area.left + area.right) / 2.0).min(area.right - half).max(PAD + half);
        shapes.push(text(&ticks.title, (middle, height - PAD - 1.5), size, Anchor::Middle));
    }
    Group { class: "x-axis", name: String::new(), shapes }
}

fn y_axis(ticks: &Ticks, area: Area, y: &Scale, height: f64, font: &Font) -> Group {
    let mut shapes = vec![line((area.left, area.bottom), (area.left, area.top), axis_stroke())];
    let mark = |value: f64, long: f64| line((area.left - long, y.at(value)), (area.left, y.at(value)), axis_stroke());
    for tick in ticks.ticks.iter().filter(|tick| !tick.label.is_empty()) {
        shapes.push(mark(tick.value, TICK));
        let at = (area.left - TICK - 2.0, y.at(tick.value) + MIDDLE * SMALL);
        shapes.push(text(&tick.label, at, SMALL, Anchor::End));
    }
    let without = ticks.ticks.iter().filter(|tick| tick.label.is_empty()).map(|tick| (tick.value, TICK));
    shapes.extend(without.chain(ticks.minor.iter().map(|value| (*value, 1.4))).map(|(value, long)| mark(value, long)));
    if !ticks.title.is_empty() {
        // In the middle of the axis, unless it is longer than that; never beside the legend.
        let size = fitted(font, &ticks.title, LABEL, height - PAD - area.top);
        let half = font.width(&ticks.title, size) / 2.0;
        let middle = ((area.top + area.bottom) / 2.0).min(height - PAD - half).max(area.top + half);
        shapes.push(Shape::Text(Text {
            text: ticks.title.clone(),
            at: (PAD + LABEL - 1.0, middle),
            size,
            anchor: Anchor::Middle,
            is_upright: true,
            colour: look::ink(),
        }));
    }
    Group { class: "y-axis", name: String::new(), shapes }
}

fn curve_shapes(curve: &Curve, area: Area, x: &Scale, y: &Scale) -> Vec<Shape> {
    let at = |point: &Point| (x.at(point.x), y.at(point.y));
    let stroke = look::stroke(&curve.role);
    let colour = look::colour(&curve.role);
    let stroked = |path: Vec<Segment>| Shape::Stroke { path, stroke: stroke.clone() };
    let places = || curve.points.iter().map(at);
    match curve.form {
        Form::Steps { before, goes_on } => {
            let mut path = vec![(area.left, y.at(before))];
            for point in &curve.points {
                let (across, up) = at(point);
                let level = path.last().map_or(up, |last| last.1);
                path.push((across, level));
                if !(y.log && point.y <= 0.0) {
                    path.push((across, up));
                }
            }
            if let (true, Some((_, level))) = (goes_on, path.last().copied()) {
                path.push((area.right, level));
            }
            vec![stroked(through(path))]
        }
        Form::Line | Form::Area => {
            let band = band(curve, x, y);
            let band = band.map(|path| Shape::Fill { path, colour, opacity: look::BAND });
            let line = (curve.form == Form::Line).then(|| stroked(broken(curve, x, y)));
            band.into_iter().chain(line).collect()
        }
        Form::Joined => {
            let marks =
                places().map(|place| Shape::Fill { path: look::mark(&curve.role, place), colour, opacity: 1.0 });
            std::iter::once(stroked(through(places()))).chain(marks).collect()
        }
        Form::Marks { fit } => {
            let mut shapes = Vec::new();
            for point in &curve.points {
                let (across, _) = at(point);
                if let Some([low, high]) = point.interval {
                    shapes.push(line((across, y.at(low)), (across, y.at(high)), Stroke::plain(colour, 0.8)));
                }
            }
            if let Some(ends) = fit {
                shapes.push(stroked(through(ends.map(|(across, up)| (x.at(across), y.at(up))))));
            }
            shapes.extend(places().map(|place| Shape::Fill {
                path: look::mark(&curve.role, place),
                colour,
                opacity: 1.0,
            }));
            shapes
        }
        Form::Across => curve.points.iter().flat_map(|point| row_shapes(curve, point, at(point), x)).collect(),
    }
}

/// A value in a row, with its interval; an arrow where it may be more.
fn row_shapes(curve: &Curve, point: &Point, place: Place, x: &Scale) -> Vec<Shape> {
    let colour = look::colour(&curve.role);
    let (across, up) = place;
    let mut shapes = Vec::new();
    if let Some([low, high]) = point.interval {
        let plain = || Stroke::plain(colour, 1.0);
        shapes.push(line((x.at(low), up), (x.at(high), up), plain()));
        shapes.extend([low, high].map(|end| line((x.at(end), up - 1.8), (x.at(end), up + 1.8), plain())));
    }
    if point.is_bound {
        let arrow = [(across + 3.5, up - 2.0), (across + 6.5, up), (across + 3.5, up + 2.0)];
        shapes.push(Shape::Stroke { path: through(arrow), stroke: Stroke::plain(colour, 1.0) });
    }
    shapes.push(Shape::Fill { path: look::mark(&Role::run(0), place), colour, opacity: 1.0 });
    shapes
}

/// The stretches of a curve between its gaps.
fn stretches(curve: &Curve) -> impl Iterator<Item = &[Point]> {
    curve.points.split(|point| point.y.is_nan()).filter(|stretch| !stretch.is_empty())
}

/// The line through a curve's points, with its gaps. A point between two gaps is a short dash.
fn broken(curve: &Curve, x: &Scale, y: &Scale) -> Vec<Segment> {
    const HALF: f64 = 0.8;
    let line = |stretch: &[Point]| match stretch {
        [only] => through([-HALF, HALF].map(|aside| (x.at(only.x) + aside, y.at(only.y)))),
        _ => through(stretch.iter().map(|point| (x.at(point.x), y.at(point.y)))),
    };
    stretches(curve).flat_map(line).collect()
}

/// The area between the ends of a curve's intervals.
fn band(curve: &Curve, x: &Scale, y: &Scale) -> Option<Vec<Segment>> {
    let area = |stretch: &[Point]| {
        let edge = |end: usize| {
            let places = stretch.iter().filter_map(|point| Some((x.at(point.x), y.at(point.interval?[end]))));
            places.collect::<Vec<Place>>()
        };
        let (low, high) = (edge(0), edge(1));
        if low.len() < 2 {
            return Vec::new();
        }
        let mut path = through(high.into_iter().chain(low.into_iter().rev()));
        path.push(Segment::Close);
        path
    };
    let path: Vec<Segment> = stretches(curve).flat_map(area).collect();
    (!path.is_empty()).then_some(path)
}

/// What stands for a curve in the legend, in the middle of a field from here to there.
pub(super) fn sample(curve: &Curve, (left, middle): Place, width: f64) -> Vec<Shape> {
    let ends = [(left, middle), (left + width, middle)];
    let colour = look::colour(&curve.role);
    let mark = || {
        let at = (left + width / 2.0, middle);
        Shape::Fill { path: look::mark(&curve.role, at), colour, opacity: 1.0 }
    };
    let stroked = || Shape::Stroke { path: through(ends), stroke: look::stroke(&curve.role) };
    match curve.form {
        Form::Area => {
            let [(left, _), (right, _)] = ends;
            let corners = [(left, middle - 2.5), (right, middle - 2.5), (right, middle + 2.5), (left, middle + 2.5)];
            let mut path = through(corners);
            path.push(Segment::Close);
            vec![Shape::Fill { path, colour, opacity: look::BAND }]
        }
        Form::Marks { fit: None } | Form::Across => vec![mark()],
        Form::Marks { fit: Some(_) } | Form::Joined => vec![stroked(), mark()],
        Form::Steps { .. } | Form::Line => vec![stroked()],
    }
}

/// A word of the legend.
pub(super) fn word(words: &str, at: Place) -> Shape {
    text(words, (at.0, at.1 + MIDDLE * legend::SIZE), legend::SIZE, Anchor::Start)
}
