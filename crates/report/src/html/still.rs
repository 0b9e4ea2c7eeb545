//! Plain pictures for readers without JavaScript; `report.js` puts its own in their place.

use std::fmt::Write as _;

use super::escaped;
use super::figure::{Figure, Line, Number, Points};
use crate::metric::Unit;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 268.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 546.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 228.0;
/// Points that a drawn line may have: about one for every other pixel.
const MAX_POINTS: usize = 250;

/// An axis in pixels.
struct Scale {
    low: f64,
    high: f64,
    log: bool,
    from: f64,
    to: f64,
}

impl Scale {
    fn at(&self, value: f64) -> f64 {
        let place = |value: f64| if self.log { libm::log10(value.max(self.low)) } else { value };
        let (low, high) = (place(self.low), place(self.high));
        let share = if high > low { (place(value) - low) / (high - low) } else { 0.0 };
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Decades of a logarithmic axis; of a linear one multiples of 1, 2 or 5 times a power of ten, three to eight.
    fn ticks(&self) -> Vec<f64> {
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

/// The picture of `figure`, a distribution always as CDF.
pub(super) fn still(figure: &Figure) -> String {
    let distribution = figure.kind == "distribution";
    let lines: Vec<(&Line, Vec<(f64, f64)>)> = figure
        .lines
        .iter()
        .filter(|line| line.role != "aside")
        .map(|line| (line, points(&line.points, figure)))
        .collect();
    let xs = || lines.iter().flat_map(|(_, points)| points.iter().map(|point| point.0));
    let ys = || lines.iter().flat_map(|(_, points)| points.iter().map(|point| point.1));
    let log = distribution && figure.x.log;
    let smallest = xs().filter(|&value| !log || value > 0.0).fold(f64::MAX, f64::min);
    let largest = xs().fold(f64::MIN, f64::max);
    let (low, high) = match (log, distribution) {
        // A single value has an axis around it.
        (true, _) if largest < 3.0 * smallest => (smallest / 2.0, largest * 2.0),
        (true, _) => (smallest, largest),
        (false, true) => (smallest.min(0.0), largest),
        (false, false) => (smallest, largest),
    };
    let x = Scale { low, high, log, from: LEFT, to: RIGHT };
    let high = if distribution { 1.0 } else { ys().fold(0.0, f64::max) * 1.05 };
    let y = Scale { low: 0.0, high, log: false, from: BOTTOM, to: TOP };

    let mut svg = format!(
        "<svg class=\"chart\" role=\"img\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" aria-label=\"{}. {}\"><g class=\"axes\">",
        escaped(&figure.title),
        escaped(&figure.finding)
    );
    for tick in y.ticks() {
        let label = if distribution { format!("{tick:.1}") } else { short(figure.unit.show(tick)) };
        let at = y.at(tick);
        let _ = write!(
            svg,
            "<g class=\"grid\"><line x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/></g>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            LEFT - 8.0,
            at + 4.0
        );
    }
    for tick in x.ticks() {
        let label = if distribution { short(figure.unit.show(tick)) } else { short(Unit::Time.show(tick * 1e9)) };
        let at = x.at(tick);
        let _ = write!(svg, "<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{label}</text>", BOTTOM + 17.0);
    }
    let title = if distribution { format!("share of {} ≤ x", figure.plural) } else { figure.y.label.to_owned() };
    let _ = write!(
        svg,
        "<text class=\"title\" x=\"0\" y=\"11\">{title}</text>\
         <text class=\"title\" x=\"{RIGHT}\" y=\"{}\" text-anchor=\"end\">{}</text></g>",
        BOTTOM + 34.0,
        figure.x.label
    );
    for (line, points) in &lines {
        let _ = write!(
            svg,
            "<path class=\"line {}\" d=\"{}\"/>",
            line.role,
            path(points, &x, &y, distribution && !line.smooth)
        );
    }
    svg.push_str("</svg>");
    svg
}

/// Up to [`MAX_POINTS`] points of a line, the first and the last among them.
fn points(points: &Points, figure: &Figure) -> Vec<(f64, f64)> {
    let all: Vec<(f64, f64)> = match points {
        Points::Distribution { n, x, above } => {
            x.iter().zip(above).map(|(&Number(x), &above)| (x, 1.0 - above as f64 / *n as f64)).collect()
        }
        Points::Series { y, .. } => {
            let (Number(start), Number(step)) = (figure.start, figure.step);
            y.iter().enumerate().map(|(bin, &Number(y))| (start + step * bin as f64, y)).collect()
        }
    };
    let stride = all.len().div_ceil(MAX_POINTS).max(1);
    let last = all.len().saturating_sub(1);
    all.into_iter().enumerate().filter(|(index, _)| index % stride == 0 || *index == last).map(|(_, p)| p).collect()
}

fn path(points: &[(f64, f64)], x: &Scale, y: &Scale, steps: bool) -> String {
    let mut path = String::new();
    if steps {
        let _ = write!(path, "M{LEFT},{BOTTOM}");
    }
    for (index, &(px, py)) in points.iter().enumerate() {
        let (px, py) = (x.at(px), y.at(py));
        let _ = match (steps, index) {
            (true, _) => write!(path, "H{px:.1}V{py:.1}"),
            (false, 0) => write!(path, "M{px:.1},{py:.1}"),
            (false, _) => write!(path, "L{px:.1},{py:.1}"),
        };
    }
    if steps {
        let _ = write!(path, "H{RIGHT}");
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
        let flat = Scale { low: 2.0, high: 2.0, log: false, from: 10.0, to: 20.0 };
        assert_eq!((flat.at(2.0), flat.ticks().len()), (10.0, 1));
    }
}
