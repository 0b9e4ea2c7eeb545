//! Jain's fairness index (methods C.8).

/// (sum x)^2 / (n sum x^2), in [1/n, 1]. Values of zero count. Undefined, hence NaN, if all are zero or there are none.
pub fn jain(values: &[f64]) -> f64 {
    let mut shares = Shares::default();
    values.iter().for_each(|value| shares.add(*value));
    shares.jain()
}

/// What the index is made of: any number of values in three numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shares {
    count: u64,
    sum: f64,
    squares: f64,
}

impl Shares {
    /// Of so many values with this sum and this sum of squares.
    pub fn of_sums(count: u64, sum: f64, squares: f64) -> Shares {
        Shares { count, sum, squares }
    }

    /// Takes a value.
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        self.squares += value * value;
    }

    /// How many were taken.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean; `None` without any.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    /// The index, as of [`jain`].
    pub fn jain(&self) -> f64 {
        self.sum * self.sum / (self.count as f64 * self.squares)
    }
}

#[cfg(test)]
mod tests {
    use super::super::vectors::assert_near;
    use super::*;

    #[test]
    fn values_of_methods_c8() {
        assert_near(jain(&[1.0, 2.0, 3.0, 4.0]), 0.833_333_3, 1e-7);
        assert_near(jain(&[350.0, 250.0, 320.0, 280.0, 300.0]), 0.987_275_1, 1e-7);
        assert_near(jain(&[9.0, 1.0, 1.0, 1.0]), 0.428_571_4, 1e-7);
        assert_near(jain(&[1500.0, 0.0, 0.0, 0.0, 0.0]), 0.2, 1e-12);
        assert!(jain(&[0.0, 0.0]).is_nan());
        assert!(jain(&[]).is_nan());
    }
}
