//! Plain pictures for readers without JavaScript; the script puts its own in their place.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::figure::{Figure, Kind, Line, Number, Points, Role, unit_word};
use super::grid::Cell;
use crate::metric::Unit;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 268.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 546.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 228.0;
/// The same of a grid of panels.
const GRID_WIDTH: f64 = 1_160.0;
const PANEL_HEIGHT: f64 = 150.0;
const PANEL_HEAD: f64 = 20.0;
const PANEL_GAP: f64 = 14.0;
/// Points that a drawn line may have: about one for every other pixel.
const MAX_POINTS: usize = 250;
/// So many lines have all of them; more share what these have.
const MANY_LINES: usize = 6;

/// An axis in pixels. A logarithmic one has the values below its first at its beginning.
pub(crate) struct Scale {
    pub low: f64,
    pub high: f64,
    pub log: bool,
    pub from: f64,
    pub to: f64,
}

impl Scale {
    pub(crate) fn at(&self, value: f64) -> f64 {
        let place = |value: f64| if self.log { libm::log10(value.max(self.low)) } else { value };
        let (low, high) = (place(self.low), place(self.high));
        let share = if high > low { (place(value) - low) / (high - low) } else { 0.0 };
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Decades of a logarithmic axis; of a linear one multiples of 1, 2 or 5 times a power of ten, three to eight.
    pub(super) fn ticks(&self) -> Vec<f64> {
        if !self.log {
            let raw = ((self.high - self.low) / 5.0).max(f64::MIN_POSITIVE);
            let magnitude = libm::exp10(libm::floor(libm::log10(raw)));
            let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * magnitude >= raw).unwrap_or(10.0);
            let step = factor * magnitude;
            let (first, last) = (libm::ceil(self.low / step) as i64, libm::floor(self.high / step) as i64);
            return (first..=last).map(|index| index as f64 * step).collect();
        }
        let decades = libm::ceil(libm::log10(self.low)) as i32..=libm::floor(libm::log10(self.high)) as i32;
        decades.map(|exponent| libm::exp10(f64::from(exponent))).collect()
    }
}

/// A part of a picture with axes of its own.
struct Panel<'a> {
    /// Left, right, top, bottom.
    area: [f64; 4],
    title: &'a str,
    /// Whether the numbers of the axes stand beside it.
    labelled: [bool; 2],
    /// The roles of its lines; empty: all.
    roles: &'a [String],
}

/// The picture of `figure`, a distribution always as CDF.
pub(super) fn still(figure: &Figure) -> Markup {
    let panel = Panel { area: [LEFT, RIGHT, TOP, BOTTOM], title: "", labelled: [true; 2], roles: &[] };
    picture(figure, &figure.title, [WIDTH, HEIGHT], &[panel])
}

/// The same with a panel for each of `cells`.
pub(super) fn still_grid(figure: &Figure, title: &str, cells: &[Cell]) -> Markup {
    let count = |of: fn(&Cell) -> usize| 1 + cells.iter().map(of).max().unwrap_or(0);
    let (rows, columns) = (count(|cell| cell.row), count(|cell| cell.column));
    let wide = (GRID_WIDTH - LEFT - (WIDTH - RIGHT) + PANEL_GAP) / columns as f64 - PANEL_GAP;
    let panel = |cell: &Cell| {
        let left = LEFT + cell.column as f64 * (wide + PANEL_GAP);
        let top = TOP + PANEL_HEAD + cell.row as f64 * (PANEL_HEIGHT + PANEL_HEAD + PANEL_GAP);
        [left, left + wide, top, top + PANEL_HEIGHT]
    };
    let lowest = |cell: &Cell| !cells.iter().any(|other| other.column == cell.column && other.row > cell.row);
    let panels: Vec<Panel<'_>> = cells
        .iter()
        .map(|cell| Panel {
            area: panel(cell),
            title: &cell.title,
            labelled: [cell.column == 0, lowest(cell)],
            roles: &cell.roles,
        })
        .collect();
    let height = TOP + rows as f64 * (PANEL_HEIGHT + PANEL_HEAD + PANEL_GAP) - PANEL_GAP + (HEIGHT - BOTTOM);
    picture(figure, title, [GRID_WIDTH, height], &panels)
}

fn picture(figure: &Figure, title: &str, [width, height]: [f64; 2], panels: &[Panel<'_>]) -> Markup {
    let distribution = figure.kind == Kind::Distribution;
    let lines: Vec<(&Line, Vec<(f64, f64)>)> = figure
        .lines
        .iter()
        .filter(|line| line.role != Role::aside())
        .map(|line| (line, points(&line.points, figure)))
        .collect();
    let xs = || lines.iter().flat_map(|(_, points)| points.iter().map(|point| point.0));
    let ys = || lines.iter().flat_map(|(_, points)| points.iter().map(|point| point.1));
    let log = distribution && figure.x.log;
    let smallest = xs().filter(|&value| !log || value > 0.0).fold(f64::MAX, f64::min);
    let largest = xs().fold(f64::MIN, f64::max);
    let across = match (log, distribution) {
        // A single value has an axis around it.
        (true, _) if largest < 3.0 * smallest => (smallest / 2.0, largest * 2.0),
        (true, _) => (smallest, largest),
        (false, true) => (smallest.min(0.0), largest),
        (false, false) => (smallest, largest),
    };
    let up = match figure.kind {
        Kind::Distribution => (0.0, 1.0),
        Kind::Series => (0.0, ys().fold(0.0, f64::max) * 1.05),
        // Energies are logarithms, which have no zero to begin at.
        Kind::Octaves => (ys().fold(f64::MAX, f64::min) - 1.0, ys().fold(f64::MIN, f64::max) + 1.0),
    };

    let label = if distribution { format!("share of {} ≤ x", figure.plural) } else { figure.y.label.clone() };
    html! {
        svg class="chart" role="img" viewBox=(format_args!("0 0 {width} {height:.0}"))
            aria-label={ (title) ". " (figure.finding) } {
            @for panel in panels {
                @let [left, right, top, bottom] = panel.area;
                @let x = Scale { low: across.0, high: across.1, log, from: left, to: right };
                @let y = Scale { low: up.0, high: up.1, log: false, from: bottom, to: top };
                (axes(figure, panel, &x, &y))
                @for (line, points) in &lines {
                    @if panel.roles.is_empty() || panel.roles.contains(&line.role.name) {
                        path class={ "line " (line.role.class) } d=(path(points, &x, &y, distribution && !line.smooth)) {}
                    }
                }
                @if !panel.title.is_empty() {
                    text class="panel" x=(pixels(left)) y=(pixels(top - 7.0)) { (panel.title) }
                }
            }
            text class="title" x="0" y="11" { (label) }
            text class="title" x=(width - (WIDTH - RIGHT)) y=(format_args!("{:.0}", height - 6.0)) text-anchor="end" {
                (figure.x.label)
            }
        }
    }
}

/// A place in a picture, to the tenth of a pixel.
pub(super) fn pixels(place: f64) -> String {
    format!("{place:.1}")
}

fn axes(figure: &Figure, panel: &Panel<'_>, x: &Scale, y: &Scale) -> Markup {
    let [left, right, _, bottom] = panel.area;
    let label_up = |tick: f64| match figure.kind {
        Kind::Distribution => format!("{tick:.1}"),
        Kind::Series => short(figure.unit.show(tick)),
        Kind::Octaves => format!("{tick:.0}"),
    };
    let label_across = |tick: f64| match figure.kind {
        Kind::Distribution => short(figure.unit.show(tick)),
        Kind::Octaves => format!("{tick:.0}"),
        Kind::Series if figure.x.unit == unit_word(Unit::Bytes) => short(Unit::Bytes.show(tick)),
        Kind::Series => short(Unit::Time.show(tick * 1e9)),
    };
    html! {
        g class="axes" {
            @for tick in y.ticks() {
                @let at = y.at(tick);
                g class="grid" { line x1=(pixels(left)) x2=(pixels(right)) y1=(pixels(at)) y2=(pixels(at)) {} }
                @if panel.labelled[0] {
                    text x=(pixels(left - 8.0)) y=(pixels(at + 4.0)) text-anchor="end" { (label_up(tick)) }
                }
            }
            @if panel.labelled[1] {
                @for tick in x.ticks() {
                    text x=(pixels(x.at(tick))) y=(pixels(bottom + 17.0)) text-anchor="middle" { (label_across(tick)) }
                }
            }
        }
    }
}

/// Up to [`MAX_POINTS`] points of a line, the extremes among them.
fn points(points: &Points, figure: &Figure) -> Vec<(f64, f64)> {
    let all: Vec<(f64, f64)> = match points {
        Points::Distribution { n, x, above } => {
            x.iter().zip(above).map(|(&Number(x), &above)| (x, 1.0 - above as f64 / *n as f64)).collect()
        }
        Points::Series { y, .. } => {
            let (Number(start), Number(step)) = (figure.start, figure.step);
            y.iter().enumerate().map(|(bin, &Number(y))| (start + step * bin as f64, y)).collect()
        }
        Points::Octaves { octave, energy, .. } => {
            octave.iter().zip(energy).map(|(&octave, &Number(energy))| (f64::from(octave), energy)).collect()
        }
    };
    let most = MAX_POINTS / figure.lines.len().div_ceil(MANY_LINES).max(1);
    if all.len() <= most {
        return all;
    }
    if figure.kind == Kind::Series {
        // The lowest and the highest of each stretch, so that no peak is lost; then a gap, if there is one.
        let stretch = (2 * all.len()).div_ceil(most);
        let ends = |stretch: &[(f64, f64)]| {
            let known: Vec<(f64, f64)> = stretch.iter().copied().filter(|point| !point.1.is_nan()).collect();
            let at = |better: fn(f64, f64) -> bool| {
                (1..known.len()).fold(0, |best, at| if better(known[at].1, known[best].1) { at } else { best })
            };
            let (low, high) = (at(|a, b| a < b), at(|a, b| a > b));
            let ends = [low.min(high), low.max(high)].into_iter().filter_map(|at| known.get(at).copied());
            ends.chain(stretch.iter().copied().find(|point| point.1.is_nan())).collect::<Vec<_>>()
        };
        return all.chunks(stretch).flat_map(ends).collect();
    }
    let stride = all.len().div_ceil(most);
    let last = all.len() - 1;
    all.into_iter().enumerate().filter(|(index, _)| index % stride == 0 || *index == last).map(|(_, p)| p).collect()
}

/// A line through `points`, in steps or straight; it has a gap at each point whose value is NaN.
fn path(points: &[(f64, f64)], x: &Scale, y: &Scale, steps: bool) -> String {
    let mut path = String::new();
    if steps {
        let _ = write!(path, "M{:.1},{:.1}", x.from, y.from);
    }
    for run in points.split(|point| point.1.is_nan()) {
        for (index, &(px, py)) in run.iter().enumerate() {
            let (px, py) = (x.at(px), y.at(py));
            let _ = match (steps, index) {
                (true, _) => write!(path, "H{px:.1}V{py:.1}"),
                // A point between two gaps is a dash of three pixels.
                (false, 0) if run.len() == 1 => write!(path, "M{:.1},{py:.1}h3", px - 1.5),
                (false, 0) => write!(path, "M{px:.1},{py:.1}"),
                (false, _) => write!(path, "L{px:.1},{py:.1}"),
            };
        }
    }
    if steps {
        let _ = write!(path, "H{:.1}", x.to);
    }
    path
}

/// `10.0 ms` reads `10 ms`.
fn short(text: String) -> String {
    text.replace(".00 ", " ").replace(".0 ", " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_stay_within_their_pixels() {
        let log = Scale { low: 1e3, high: 1e6, log: true, from: 0.0, to: 300.0 };
        assert_eq!((log.at(1e3), log.at(1e6), log.at(0.0)), (0.0, 300.0, 0.0));
        assert!((log.at(1e4) - 100.0).abs() < 1e-9);
        assert_eq!(log.ticks().len(), 4);
        let linear = Scale { low: 0.0, high: 89.2, log: false, from: 0.0, to: 1.0 };
        assert_eq!(linear.ticks(), [0.0, 20.0, 40.0, 60.0, 80.0]);
        let gap = [(0.0, 1.0), (1.0, f64::NAN), (2.0, 1.0), (3.0, 1.0)];
        let across = Scale { low: 0.0, high: 3.0, log: false, from: 0.0, to: 300.0 };
        assert_eq!(path(&gap, &across, &linear, false), "M-1.5,0.0h3M200.0,0.0L300.0,0.0");
        let flat = Scale { low: 2.0, high: 2.0, log: false, from: 10.0, to: 20.0 };
        assert_eq!((flat.at(2.0), flat.ticks().len()), (10.0, 1));
    }
}
