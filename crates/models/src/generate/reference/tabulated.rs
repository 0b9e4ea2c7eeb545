//! Laws looked up in tables: a value takes a few nanoseconds whatever its law is.

use flowloom_core::distribution::Distribution;

/// Equal shares between which values are linear.
const CELLS: usize = 4_096;

/// Those that are: of the last sixty-fourth, where tails are steep, there is another table.
const LINEAR: usize = CELLS - CELLS / 64;

/// Where the second table begins.
const BODY: f64 = LINEAR as f64 / CELLS as f64;

/// A law and its quantiles. In the last sixty-fourth of the last sixty-fourth the law itself is inverted.
#[derive(Clone, Debug)]
pub(super) struct Tabulated {
    law: Distribution,
    body: Box<[f64]>,
    tail: Box<[f64]>,
}

impl Tabulated {
    pub(super) fn new(law: &Distribution) -> Tabulated {
        let place = |cell: usize| cell as f64 / CELLS as f64;
        let body = (0..=LINEAR).map(|cell| law.quantile(place(cell))).collect();
        let tail = (0..=LINEAR).map(|cell| law.quantile(BODY + (1.0 - BODY) * place(cell))).collect();
        Tabulated { law: law.clone(), body, tail }
    }

    /// The value below which a share `u` of all values lies, with `u` in [0, 1).
    pub(super) fn quantile(&self, u: f64) -> f64 {
        let looked_up = if u < BODY { linear(&self.body, u) } else { linear(&self.tail, (u - BODY) / (1.0 - BODY)) };
        looked_up.unwrap_or_else(|| self.law.quantile(u))
    }
}

/// Between the values of a table, `None` behind its end.
fn linear(values: &[f64], u: f64) -> Option<f64> {
    let place = u * CELLS as f64;
    let cell = place as usize;
    let &[from, to] = values.get(cell..cell + 2)? else { return None };
    Some(from + (place - cell as f64) * (to - from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowloom_core::distribution::Law;

    #[test]
    fn a_table_is_its_law() {
        let sizes = Law::LogLog(vec![(-3.32, 13.7), (-2.32, 12.0), (-1.0, 8.7), (0.0, 4.3)]);
        for law in [sizes, Law::Lognormal { median: 0.02, mean: 0.1 }, Law::Pareto { min: 1.0, shape: 0.5 }] {
            let law = Distribution::new(law).unwrap();
            let table = Tabulated::new(&law);
            for u in [
                0.01,
                0.123_4,
                0.5,
                0.799_99,
                0.9,
                0.97,
                0.984_3,
                0.984_4,
                0.999_7,
                0.999_76,
                0.999_9,
                1.0 - 2f64.powi(-53),
            ] {
                let (found, wanted) = (table.quantile(u), law.quantile(u));
                assert!((found / wanted - 1.0).abs() < 1e-3, "{law:?} at {u}: {found}, not {wanted}");
            }
            assert_eq!(table.quantile(0.0), law.quantile(0.0));
        }
    }
}
