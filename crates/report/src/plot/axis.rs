//! Axes: their domains and their ticks.

/// What stands along an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Axis {
    /// Numbers of a quantity.
    Numbers {
        /// The quantity.
        label: String,
        /// The word for its unit that the page has.
        unit: &'static str,
        is_log: bool,
        /// Whether only whole numbers mean something.
        is_whole: bool,
    },
    /// Names, the first at 0, the second at 1...
    Names {
        /// What they are of; may be empty.
        label: String,
        names: Vec<String>,
    },
}

impl Axis {
    pub(super) fn is_log(&self) -> bool {
        matches!(self, Axis::Numbers { is_log: true, .. })
    }
}

/// A mark on an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    /// The value in the axis's smallest unit.
    pub value: f64,
    /// What stands beside it; empty: nothing.
    pub label: String,
}

/// The marks of an axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Ticks {
    pub ticks: Vec<Tick>,
    /// Values of marks without labels.
    pub minor: Vec<f64>,
    /// Quantity and unit.
    pub title: String,
}

/// The multiples of a unit, largest first, with the value from which on each is used.
fn multiples(unit: &str) -> &'static [(f64, &'static str, f64)] {
    match unit {
        "time" => &[(1e9, "s", 1e9), (1e6, "ms", 1e6), (1e3, "µs", 1e3), (1.0, "ns", 0.0)],
        "bytes" => &[(1e9, "GB", 1e9), (1e6, "MB", 1e6), (1e3, "kB", 1e3), (1.0, "B", 0.0)],
        "rate" => &[(1e9, "Gbit/s", 1e9), (1e6, "Mbit/s", 1e6), (1e3, "kbit/s", 1e3), (1.0, "bit/s", 0.0)],
        "packets" => &[(1e6, "Mpackets/s", 1e6), (1e3, "kpackets/s", 1e3), (1.0, "packets/s", 0.0)],
        "clock" => &[(86_400.0, "days", 2_592_000.0), (3_600.0, "h", 36_000.0), (1.0, "s", 0.0)],
        _ => &[(1.0, "", 0.0)],
    }
}

/// The multiple in which `value` reads well: its size and name.
fn multiple(unit: &str, value: f64) -> (f64, &'static str) {
    let all = multiples(unit);
    let found = all.iter().find(|(_, _, from)| value.abs() >= from * 0.9995).or(all.last());
    found.map_or((1.0, ""), |(size, name, _)| (*size, *name))
}

/// Marks of a numeric axis, about `wanted` of them with labels.
pub(super) fn ticks(axis: &Axis, domain: [f64; 2], wanted: usize) -> Ticks {
    match axis {
        Axis::Names { label, names } => Ticks {
            ticks: names.iter().enumerate().map(|(at, name)| Tick { value: at as f64, label: name.clone() }).collect(),
            minor: Vec::new(),
            title: label.clone(),
        },
        Axis::Numbers { label, unit, is_log, is_whole } => {
            let title = |unit: &str| if unit.is_empty() { label.clone() } else { format!("{label} ({unit})") };
            let wanted = wanted.max(2);
            if *is_log && libm::log10(domain[1] / domain[0]) >= 1.2 {
                let middle = libm::sqrt(domain[0] * domain[1]);
                // A tenth of a second is read more easily than a hundred thousand microseconds.
                let (size, name) = multiple(unit, middle * if *unit == "count" { 1.0 } else { 3.0 });
                return Ticks { title: title(name), ..decades(domain, size, wanted) };
            }
            let (size, name) = multiple(unit, domain[0].abs().max(domain[1].abs()));
            Ticks { title: title(name), ..linear(domain, size, wanted, *is_whole) }
        }
    }
}

/// Powers of ten, of which every so many have labels that there is room.
fn decades([low, high]: [f64; 2], size: f64, wanted: usize) -> Ticks {
    let exponent = |value: f64, round: fn(f64) -> f64, bit: f64| round(libm::log10(value / size) + bit) as i32;
    let (first, last) = (exponent(low, libm::ceil, -1e-9), exponent(high, libm::floor, 1e-9));
    let stride = ((last - first + 1) as usize).div_ceil(wanted).max(1) as i32;
    // Long numbers make powers of all.
    let is_short = first >= -3 && last <= 4;
    let label = |exponent: i32| match (is_short, exponent) {
        _ if (exponent - first) % stride != 0 => String::new(),
        (true, exponent) if exponent < 0 => format!("{:.*}", -exponent as usize, libm::exp10(f64::from(exponent))),
        (true, exponent) => format!("{:.0}", libm::exp10(f64::from(exponent))),
        (false, exponent) => power(exponent),
    };
    let ten = |exponent: i32| libm::exp10(f64::from(exponent)) * size;
    let minor = (first - 1..=last).flat_map(|exponent| (2..10).map(move |factor| f64::from(factor) * ten(exponent)));
    Ticks {
        ticks: (first..=last).map(|exponent| Tick { value: ten(exponent), label: label(exponent) }).collect(),
        minor: if stride > 2 { Vec::new() } else { minor.filter(|value| *value > low && *value < high).collect() },
        title: String::new(),
    }
}

/// `10⁻³`.
fn power(exponent: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let digits = exponent.unsigned_abs().to_string();
    let raised = digits.chars().filter_map(|digit| digit.to_digit(10)).map(|digit| DIGITS[digit as usize]);
    let sign = if exponent < 0 { "⁻" } else { "" };
    format!("10{sign}{}", raised.collect::<String>())
}

/// Multiples of 1, 2, 2.5 or 5 times a power of ten.
fn linear(domain: [f64; 2], size: f64, wanted: usize, is_whole: bool) -> Ticks {
    let [low, high] = domain.map(|value| value / size);
    let smallest = if is_whole { 1.0 } else { 0.0 };
    let raw = ((high - low) / wanted as f64).max(smallest).max(f64::MIN_POSITIVE);
    let magnitude = libm::exp10(libm::floor(libm::log10(raw) + 1e-12));
    let factors =
        [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().filter(|factor| !is_whole || (factor * magnitude).fract() == 0.0);
    let step = factors.map(|factor| factor * magnitude).find(|step| *step >= raw * 0.999).unwrap_or(10.0 * magnitude);
    let places = (0..12).find(|places| {
        let scaled = step * libm::exp10(f64::from(*places));
        (scaled - libm::round(scaled)).abs() < 1e-6 * scaled
    });
    let places = places.unwrap_or(12) as usize;
    let (first, last) = (libm::ceil(low / step - 1e-9) as i64, libm::floor(high / step + 1e-9) as i64);
    let tick = |index: i64| {
        let value = index as f64 * step;
        Tick { value: value * size, label: format!("{value:.places$}") }
    };
    Ticks { ticks: (first..=last).map(tick).collect(), minor: Vec::new(), title: String::new() }
}

/// The first and the last of `values` with a little room around them on a logarithmic axis; from 0 on a linear one.
pub(super) fn around(values: impl Iterator<Item = f64>, is_log: bool) -> [f64; 2] {
    let values = values.filter(|value| value.is_finite() && (!is_log || *value > 0.0));
    let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
    match is_log {
        _ if low > high => [1.0, 10.0],
        true if high < 3.0 * low => [low / 2.0, high * 2.0],
        true => [low / 1.12, high * 1.12],
        false => {
            let low = low.min(0.0);
            [low, if high > low { high } else { low + 1.0 }]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(unit: &'static str, is_log: bool, domain: [f64; 2]) -> (Vec<String>, String) {
        let axis = Axis::Numbers { label: "delay".to_owned(), unit, is_log, is_whole: false };
        let found = ticks(&axis, domain, 6);
        let labels = found.ticks.iter().filter(|tick| !tick.label.is_empty()).map(|tick| tick.label.clone());
        (labels.collect(), found.title)
    }

    #[test]
    fn axes_read_in_one_unit() {
        let (found, title) = labels("time", true, [2e6, 2e10]);
        assert_eq!((found.join(" "), title.as_str()), ("10 100 1000 10000".to_owned(), "delay (ms)"));
        let (found, title) = labels("time", false, [0.0, 9e7]);
        assert_eq!((found.join(" "), title.as_str()), ("0 20 40 60 80".to_owned(), "delay (ms)"));
        let (found, title) = labels("share", true, [1e-5, 1.0]);
        assert_eq!((found.join(" "), title.as_str()), ("10⁻⁵ 10⁻⁴ 10⁻³ 10⁻² 10⁻¹ 10⁰".to_owned(), "delay"));
        let (found, _) = labels("count", false, [0.0, 1.0]);
        assert_eq!(found.join(" "), "0.0 0.2 0.4 0.6 0.8 1.0");
    }

    #[test]
    fn counts_have_whole_ticks() {
        let axis = Axis::Numbers { label: String::new(), unit: "count", is_log: false, is_whole: true };
        let found = ticks(&axis, [0.0, 3.0], 20);
        assert_eq!(found.ticks.iter().map(|tick| tick.label.as_str()).collect::<Vec<_>>(), ["0", "1", "2", "3"]);
        let found = ticks(&axis, [0.0, 11.0], 5);
        assert!(found.ticks.iter().all(|tick| tick.value.fract() == 0.0), "{found:?}");
    }

    #[test]
    fn domains_leave_room() {
        assert_eq!(around([5.0].into_iter(), true), [2.5, 10.0]);
        assert_eq!(around([0.0, 0.0].into_iter(), false), [0.0, 1.0]);
        assert_eq!(around(std::iter::empty(), true), [1.0, 10.0]);
    }
}
