//! Tables of distributions.

use flowloom_core::model::{Distribution, Law};
use flowloom_store::histogram;

/// A cumulative histogram: what is taken is a law, whose values rise from the first row's to the last's.
pub fn histogram(data: &[u8]) {
    let rows = match histogram::read(data) {
        Ok(rows) => rows,
        Err(error) => {
            let message = error.to_string();
            assert!(message.starts_with("table:"), "{message}");
            return;
        }
    };
    let (first, last) = (rows[0].0, rows[rows.len() - 1].0);
    let law = Distribution::new(Law::Linear(rows)).expect("a table that was taken is a law");
    let mut before = first;
    for step in 0..64 {
        let value = law.quantile(f64::from(step) / 64.0);
        assert!(before <= value && value <= last, "{value} after {before}, at most {last}");
        before = value;
    }
}
