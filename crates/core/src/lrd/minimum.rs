//! Where a function of one variable is least.

/// The place of the minimum of `f` between `low` and `high` by golden section, to 1e-8; of several minima, one.
pub(super) fn minimum(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let (mut left, mut right) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
    let (mut at_left, mut at_right) = (f(left), f(right));
    while high - low > 1e-8 {
        if at_left < at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - GOLDEN * (high - low);
            at_left = f(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + GOLDEN * (high - low);
            at_right = f(right);
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::minimum;

    #[test]
    fn minima_inside_and_at_an_end() {
        for at in [0.3, -1.0, 2.0] {
            let found = minimum(-1.0, 2.0, |x| (x - at) * (x - at) * (1.0 + x * x));
            assert!((found - at).abs() < 1e-7, "{found}, not {at}");
        }
    }
}
