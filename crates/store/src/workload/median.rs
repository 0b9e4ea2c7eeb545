//! The median of many times in bounded memory.

use std::collections::BTreeMap;

/// Bits of a value that its bucket keeps below the leading one: buckets are 2^-11 (0.05 %) of their values wide.
const BITS: u32 = 11;

/// Counts of values in buckets of equal relative width, each with its smallest value. There are at most
/// `53 * 2^11` buckets, and no more than values. The median of values that are far enough apart, or few, is exact.
#[derive(Clone, Debug, Default)]
pub(super) struct Median {
    buckets: BTreeMap<u64, Bucket>,
    count: u64,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    count: u64,
    smallest: u64,
}

impl Median {
    /// Counts `value`.
    pub(super) fn add(&mut self, value: u64) {
        let exponent = value.checked_ilog2().unwrap_or(0).saturating_sub(BITS);
        // Exponents order buckets first, the kept bits within one exponent.
        let key = (u64::from(exponent) << (BITS + 1)) | (value >> exponent);
        let bucket = self.buckets.entry(key).or_insert(Bucket { count: 0, smallest: value });
        bucket.count += 1;
        bucket.smallest = bucket.smallest.min(value);
        self.count += 1;
    }

    /// How many values were counted.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The inverse-CDF median (methods C.7) or a smaller value of its bucket; `None` without values.
    pub(super) fn get(&self) -> Option<u64> {
        let rank = self.count.div_ceil(2);
        let mut passed = 0;
        self.buckets.values().find_map(|bucket| {
            passed += bucket.count;
            (passed >= rank).then_some(bucket.smallest)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Median;

    fn median(values: &[u64]) -> Option<u64> {
        let mut median = Median::default();
        values.iter().for_each(|value| median.add(*value));
        median.get()
    }

    #[test]
    fn of_a_few_distinct_times_is_exact() {
        // methods C.7: q(0.5) = 3 of this sample.
        assert_eq!(median(&[1, 1, 2, 3, 3, 4, 5, 5, 6, 9]), Some(3));
        assert_eq!(median(&[40_000_001, 90_000_000, 10_000_000]), Some(40_000_001));
        assert_eq!(median(&[u64::MAX]), Some(u64::MAX));
        assert_eq!(median(&[]), None);
    }

    proptest! {
        #[test]
        fn is_a_value_at_most_five_in_ten_thousand_below_the_exact_one(mut values in prop::collection::vec(any::<u64>(), 1..200)) {
            let found = median(&values).unwrap();
            values.sort_unstable();
            let exact = values[values.len().div_ceil(2) - 1];
            prop_assert!(values.contains(&found));
            prop_assert!(found <= exact && (exact - found) as f64 <= exact as f64 / 2048.0);
        }
    }
}
