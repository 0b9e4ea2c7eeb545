//! Line charts for the documentation.

use std::fmt::Write as _;

use crate::check::number;

/// A line chart that is written as an SVG file.
pub(crate) struct Figure {
    /// The name of its file.
    pub file: &'static str,
    /// The title above the chart.
    pub title: &'static str,
    /// The label of the horizontal axis.
    pub x: &'static str,
    /// The label of the vertical axis.
    pub y: &'static str,
    /// One over the other, told apart by their colours.
    pub lines: Vec<Line>,
}

/// One line of a chart.
pub(crate) struct Line {
    /// The name in the legend.
    pub name: String,
    /// The points from left to right.
    pub points: Vec<Point>,
}

/// x, y, and the interval of y if there is one.
pub(crate) type Point = (f64, f64, Option<(f64, f64)>);

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 320.0;
/// The margins at the left, right, top and bottom, in pixels.
const MARGINS: [f64; 4] = [64.0, 230.0, 16.0, 44.0];
/// Of Okabe and Ito: told apart by everybody.
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];

impl Figure {
    /// Draws the chart as an SVG document.
    pub(crate) fn drawn(&self) -> String {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let least_x = points().map(|point| point.0).fold(f64::INFINITY, f64::min);
        let most_x = points().map(|point| point.0).fold(least_x + f64::MIN_POSITIVE, f64::max);
        let low = points().map(|point| point.2.map_or(point.1, |ends| ends.0)).fold(0.0, f64::min);
        let high = points().map(|point| point.2.map_or(point.1, |ends| ends.1)).fold(0.0, f64::max);
        let step = step_of((high - low).max(f64::MIN_POSITIVE));
        let (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
        let [left, right, top, bottom] = MARGINS;
        let x = |value: f64| left + (value - least_x) / (most_x - least_x) * (WIDTH - left - right);
        let y = |value: f64| HEIGHT - bottom - (value - low) / (high - low) * (HEIGHT - top - bottom);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\" role=\"img\">\n\
             <title>{}</title>\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n",
            self.title
        );
        let ticks = ((high - low) / step).round() as u32;
        for tick in 0..=ticks {
            let value = low + f64::from(tick) * step;
            let at = y(value);
            let _ = writeln!(
                svg,
                "<path d=\"M{left} {at:.1}H{:.1}\" stroke=\"#ddd\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                WIDTH - right,
                left - 6.0,
                at + 4.0,
                number(value)
            );
        }
        let step_x = step_of(most_x - least_x).max(if self.x.contains("conversations") { 1.0 } else { 0.0 });
        let mut value = (least_x / step_x).ceil() * step_x;
        while value <= most_x + 1e-9 {
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                x(value),
                HEIGHT - bottom + 16.0,
                number(value)
            );
            value += step_x;
        }
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            f64::midpoint(left, WIDTH - right),
            HEIGHT - 8.0,
            self.x
        );
        let middle = f64::midpoint(top, HEIGHT - bottom);
        let _ = writeln!(
            svg,
            "<text transform=\"translate(14 {middle:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            self.y
        );
        for (place, line) in self.lines.iter().enumerate() {
            let colour = COLOURS[place % COLOURS.len()];
            let path: Vec<String> =
                line.points.iter().map(|point| format!("{:.1} {:.1}", x(point.0), y(point.1))).collect();
            let _ = writeln!(
                svg,
                "<path d=\"M{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>",
                path.join("L")
            );
            for (at, _, ends) in &line.points {
                if let Some((low, high)) = ends {
                    let _ = writeln!(
                        svg,
                        "<path d=\"M{:.1} {:.1}V{:.1}\" stroke=\"{colour}\" stroke-width=\"3\" stroke-opacity=\"0.4\"/>",
                        x(*at),
                        y(*low),
                        y(*high)
                    );
                }
            }
            let at = top + 14.0 + 18.0 * place as f64;
            let from = WIDTH - right + 12.0;
            let _ = writeln!(
                svg,
                "<path d=\"M{from} {:.1}h18\" stroke=\"{colour}\" stroke-width=\"2\"/><text x=\"{}\" y=\"{at}\">{}</text>",
                at - 4.0,
                from + 24.0,
                line.name
            );
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// A round step for about six ticks.
fn step_of(range: f64) -> f64 {
    let raw = range / 6.0;
    let power = libm::pow(10.0, libm::log10(raw).floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|step| *step >= raw).unwrap_or(raw)
}
