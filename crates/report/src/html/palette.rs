//! The looks of lines in `report.css`, for pictures outside the page; and a test of the colours, seen with ordinary eyes and with those that
//! lack one kind of cones.

const STYLE: &str = include_str!("report.css");

/// What stands behind the first `key` of `style`, as far as `end`.
fn behind<'a>(style: &'a str, key: &str, end: char) -> Option<&'a str> {
    style.split_once(key)?.1.split(end).next()
}

/// The colour called `name` for a light ground: red, green, blue. Black where the style sheet has none.
pub(crate) fn light(name: &str) -> [u8; 3] {
    let hex = behind(STYLE, &format!("--{name}: #"), ';').unwrap_or("000000");
    [0, 2, 4].map(|at| hex.get(at..at + 2).and_then(|part| u8::from_str_radix(part, 16).ok()).unwrap_or(0))
}

/// Lengths of strokes and gaps in the pattern with this number, in pixels of the page; none of an unbroken line.
pub(crate) fn dash(number: usize) -> Vec<f64> {
    let lengths = behind(STYLE, &format!(".dash{number} {{ --dash: "), ';').unwrap_or_default();
    lengths.split(' ').filter_map(|length| length.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::{STYLE, dash, light};

    /// A linear-light colour: red, green, blue.
    type Light = [f64; 3];

    /// How protanopes, deuteranopes and tritanopes see linear light (Machado, Oliveira and Fernandes 2009, table 1, severity 1).
    const VISIONS: [(&str, [Light; 3]); 4] = [
        ("all cones", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        (
            "protanopia",
            [
                [0.152_286, 1.052_583, -0.204_868],
                [0.114_503, 0.786_281, 0.099_216],
                [-0.003_882, -0.048_116, 1.051_998],
            ],
        ),
        (
            "deuteranopia",
            [[0.367_322, 0.860_646, -0.227_968], [0.280_085, 0.672_501, 0.047_413], [-0.011_820, 0.042_940, 0.968_881]],
        ),
        (
            "tritanopia",
            [
                [1.255_528, -0.076_749, -0.178_779],
                [-0.078_411, 0.930_809, 0.147_602],
                [0.004_733, 0.691_367, 0.303_900],
            ],
        ),
    ];
    /// Contrast that lines need against their ground (WCAG 2.1, 1.4.11), and that words need (1.4.3): names are in the colours of lines.
    const LINE_CONTRAST: f64 = 3.0;
    const WORD_CONTRAST: f64 = 4.5;
    /// CIE 1976 difference that two colours have at least, ten times what can just be seen.
    const APART: f64 = 20.0;

    const LINES: [&str; 7] = ["original", "run0", "run1", "run2", "run3", "run4", "run5"];

    /// The two schemes: light comes first in the style sheet.
    fn schemes() -> [&'static str; 2] {
        let (light, dark) = STYLE.split_once("prefers-color-scheme: dark").expect("a dark scheme");
        [light, dark]
    }

    fn colour(scheme: &str, name: &str) -> Light {
        let hex = scheme.split_once(&format!("--{name}: #")).expect(name).1;
        [0, 2, 4].map(|at| {
            let share = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).expect(name)) / 255.0;
            if share <= 0.040_45 { share / 12.92 } else { libm::pow((share + 0.055) / 1.055, 2.4) }
        })
    }

    fn luminance([red, green, blue]: Light) -> f64 {
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    fn contrast(a: Light, b: Light) -> f64 {
        let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
        a.max(b) / a.min(b)
    }

    fn seen(light: Light, vision: &[Light; 3]) -> Light {
        vision.map(|row| row.iter().zip(light).map(|(weight, part)| weight * part).sum::<f64>().clamp(0.0, 1.0))
    }

    /// CIE L*a*b* under daylight.
    fn lab(light: Light) -> [f64; 3] {
        let [red, green, blue] = light;
        let x = 0.4124 * red + 0.3576 * green + 0.1805 * blue;
        let z = 0.0193 * red + 0.1192 * green + 0.9505 * blue;
        let f = |t: f64| if t > 0.008_856 { libm::cbrt(t) } else { 7.787 * t + 16.0 / 116.0 };
        let (x, y, z) = (f(x / 0.950_47), f(luminance(light)), f(z / 1.088_83));
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    #[test]
    fn lines_and_their_names_stand_out_from_the_ground() {
        for scheme in schemes() {
            let ground = colour(scheme, "ground");
            for name in LINES {
                let found = contrast(colour(scheme, name), ground);
                assert!(found >= LINE_CONTRAST.max(WORD_CONTRAST), "{name}: {found:.2}");
            }
            for name in ["ink", "quiet", "accent", "valid", "degraded", "invalid"] {
                let found = contrast(colour(scheme, name), ground);
                assert!(found >= WORD_CONTRAST, "{name}: {found:.2}");
            }
        }
    }

    #[test]
    fn no_two_lines_look_alike_to_any_eyes() {
        for scheme in schemes() {
            for (vision, matrix) in &VISIONS {
                for (place, one) in LINES.iter().enumerate() {
                    for other in &LINES[place + 1..] {
                        let [a, b] = [one, other].map(|name| lab(seen(colour(scheme, name), matrix)));
                        let apart = libm::sqrt(a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum());
                        assert!(apart >= APART, "{one} and {other} with {vision}: {apart:.1}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_measure_knows_black_from_white() {
        assert!((contrast([0.0; 3], [1.0; 3]) - 21.0).abs() < 1e-9);
        assert!((lab([1.0; 3])[0] - 100.0).abs() < 0.1 && lab([1.0; 3])[1].abs() < 0.1);
    }

    #[test]
    fn looks_are_those_of_the_style_sheet() {
        assert_eq!(light("run0"), [0xbd, 0x53, 0x15]);
        assert_eq!(light("original"), [0x39, 0x41, 0x4b]);
        assert_eq!((dash(0), dash(3)), (Vec::new(), vec![9.0, 3.0, 2.0, 3.0]));
        assert!((1..6).all(|number| !dash(number).is_empty()));
    }
}
