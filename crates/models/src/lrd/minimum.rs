//! Where a function of one variable is least.

/// How close to the minimum is close enough.
const CLOSE: f64 = 1e-8;
/// The smaller part of a golden section.
const GOLDEN: f64 = 0.381_966_011_250_105_1;

/// The place of the minimum of `f` between `low` and `high`, to 1e-8 (Brent 1973, chapter 5: parabolas through the best three
/// places, and golden sections where these do not help); of several minima, one.
pub(super) fn minimum(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    let first = low + GOLDEN * (high - low);
    let value = f(first);
    // The best place so far, the second, and the one that was second before it.
    let (mut best, mut second, mut third) = ((first, value), (first, value), (first, value));
    let (mut step, mut before) = (0.0_f64, 0.0_f64);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if (best.0 - middle).abs() + (high - low) / 2.0 <= 2.0 * CLOSE {
            break;
        }
        let r = (best.0 - second.0) * (best.1 - third.1);
        let q = (best.0 - third.0) * (best.1 - second.1);
        let (p, q) = ((best.0 - third.0) * q - (best.0 - second.0) * r, 2.0 * (q - r));
        let parabola = if q == 0.0 { f64::NAN } else { -p / q };
        let to = best.0 + parabola;
        // A parabola must lead inside, and by less than half of the step before the last.
        let helps = before.abs() > CLOSE && parabola.abs() < before.abs() / 2.0 && low < to && to < high;
        before = step;
        step = if helps {
            let near_end = to - low < 2.0 * CLOSE || high - to < 2.0 * CLOSE;
            if near_end { CLOSE.copysign(middle - best.0) } else { parabola }
        } else {
            before = if best.0 >= middle { low - best.0 } else { high - best.0 };
            GOLDEN * before
        };
        let place = best.0 + if step.abs() >= CLOSE { step } else { CLOSE.copysign(step) };
        let tried = (place, f(place));
        if tried.1 <= best.1 {
            *(if place >= best.0 { &mut low } else { &mut high }) = best.0;
            (third, second, best) = (second, best, tried);
        } else {
            *(if place < best.0 { &mut low } else { &mut high }) = place;
            if tried.1 <= second.1 || second.0 == best.0 {
                (third, second) = (second, tried);
            } else if tried.1 <= third.1 || third.0 == best.0 || third.0 == second.0 {
                third = tried;
            }
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::minimum;

    #[test]
    fn minima_inside_and_at_an_end() {
        for at in [0.3, -1.0, 2.0, 1.999] {
            let calls = std::cell::Cell::new(0);
            let found = minimum(-1.0, 2.0, |x| {
                calls.set(calls.get() + 1);
                (x - at) * (x - at) * (1.0 + x * x)
            });
            assert!((found - at).abs() < 1e-7 && calls.get() < 60, "{found}, not {at}: {} calls", calls.get());
        }
        let kinked = minimum(0.0, 1.0, |x| (x - 0.7).abs());
        assert!((kinked - 0.7).abs() < 1e-7, "{kinked}");
    }
}
