//! One exchange of four timestamps (RFC 5905 section 8), and what it proves.
//!
//! An answer cannot come before its question: with the offset `o` of the far clock (its reading less ours at one instant), the way
//! there took `t2 - (t1 + o) >= 0` and the way back `(t4 + o) - t3 >= 0`. So `t3 - t4 <= o <= t2 - t1`, whatever the two ways took.
//! The middle is NTP's offset, half the width is half its round-trip delay: here it is a bound, not an estimate.

/// Four timestamps, in nanoseconds: `t1` and `t4` by our clock, `t2` and `t3` by the far one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The question leaves, by our clock.
    pub t1_ns: i64,
    /// It comes, by the far clock.
    pub t2_ns: i64,
    /// The answer leaves, by the far clock.
    pub t3_ns: i64,
    /// It comes, by our clock.
    pub t4_ns: i64,
}

/// Where an offset is, for certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Not below, in nanoseconds.
    pub low_ns: i64,
    /// Not above, in nanoseconds.
    pub high_ns: i64,
}

impl Exchange {
    /// The offset of the far clock during the exchange; `None` if the timestamps contradict each other, as when a clock was set
    /// meanwhile.
    pub fn offset(&self) -> Option<Bounds> {
        let low_ns = self.t3_ns.checked_sub(self.t4_ns)?;
        let high_ns = self.t2_ns.checked_sub(self.t1_ns)?;
        let ordered = self.t4_ns.checked_sub(self.t1_ns)? >= 0 && self.t2_ns <= self.t3_ns;
        (ordered && low_ns <= high_ns).then_some(Bounds { low_ns, high_ns })
    }

    /// How long question and answer were on their ways, in nanoseconds: the width of the bounds.
    pub fn round_trip_ns(&self) -> Option<i64> {
        self.offset().map(|bounds| bounds.high_ns - bounds.low_ns)
    }
}

impl Bounds {
    /// The middle, rounded down.
    pub fn middle_ns(&self) -> i64 {
        ((i128::from(self.low_ns) + i128::from(self.high_ns)).div_euclid(2)) as i64
    }

    /// How far the middle may be off: not less than half the width.
    pub fn error_ns(&self) -> i64 {
        self.high_ns.saturating_sub(self.middle_ns())
    }

    /// As far wider on either side.
    pub fn widened(&self, by_ns: i64) -> Bounds {
        Bounds { low_ns: self.low_ns.saturating_sub(by_ns), high_ns: self.high_ns.saturating_add(by_ns) }
    }

    /// What both say, unless they contradict each other.
    pub fn and(&self, other: &Bounds) -> Option<Bounds> {
        let both = Bounds { low_ns: self.low_ns.max(other.low_ns), high_ns: self.high_ns.min(other.high_ns) };
        (both.low_ns <= both.high_ns).then_some(both)
    }

    /// What covers both.
    pub fn or(&self, other: &Bounds) -> Bounds {
        Bounds { low_ns: self.low_ns.min(other.low_ns), high_ns: self.high_ns.max(other.high_ns) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truth_table() {
        // Offset, way there, time there, way back -> bounds; then their middle and error.
        let table = [
            ((0, 10, 5, 10), Some((-10, 10)), 0, 10),
            ((1_000, 10, 5, 10), Some((990, 1_010)), 1_000, 10),
            ((-1_000, 30, 0, 10), Some((-1_010, -970)), -990, 20),
            ((7, 0, 0, 0), Some((7, 7)), 7, 0),
            ((0, 1, 0, 0), Some((0, 1)), 0, 1),
            ((-3, 0, 4, 1), Some((-4, -3)), -4, 1),
            ((i64::MAX / 2, 5, 0, 5), Some((i64::MAX / 2 - 5, i64::MAX / 2 + 5)), i64::MAX / 2, 5),
        ];
        for ((offset, there, at, back), bounds, middle, error) in table {
            let t1_ns = 100;
            let t2_ns = t1_ns + there + offset;
            let exchange = Exchange { t1_ns, t2_ns, t3_ns: t2_ns + at, t4_ns: t1_ns + there + at + back };
            let found = exchange.offset();
            assert_eq!(found.map(|found| (found.low_ns, found.high_ns)), bounds, "{exchange:?}");
            let found = found.unwrap();
            assert_eq!((found.middle_ns(), found.error_ns()), (middle, error), "{exchange:?}");
            assert!(found.low_ns <= offset && offset <= found.high_ns);
            assert!((found.middle_ns() - offset).abs() <= found.error_ns());
            assert_eq!(exchange.round_trip_ns(), Some(there + back));
        }
    }

    #[test]
    fn contradictions_are_none() {
        let good = Exchange { t1_ns: 0, t2_ns: 10, t3_ns: 20, t4_ns: 30 };
        assert!(good.offset().is_some());
        for bad in [
            Exchange { t4_ns: -1, ..good },                 // our clock went back
            Exchange { t3_ns: 9, ..good },                  // theirs did
            Exchange { t3_ns: 20 + 5_000_000_000, ..good }, // theirs was set forward while it answered
            Exchange { t1_ns: i64::MAX, t2_ns: i64::MIN, t3_ns: i64::MIN, t4_ns: i64::MAX },
        ] {
            assert_eq!(bad.offset(), None, "{bad:?}");
        }
    }

    #[test]
    fn sets_of_offsets() {
        let bounds = |low_ns, high_ns| Bounds { low_ns, high_ns };
        assert_eq!(bounds(0, 10).and(&bounds(5, 15)), Some(bounds(5, 10)));
        assert_eq!(bounds(0, 10).and(&bounds(10, 15)), Some(bounds(10, 10)));
        assert_eq!(bounds(0, 10).and(&bounds(11, 15)), None);
        assert_eq!(bounds(0, 10).or(&bounds(20, 25)), bounds(0, 25));
        assert_eq!(bounds(i64::MIN, 10).widened(5), bounds(i64::MIN, 15));
        assert_eq!(bounds(i64::MIN, i64::MAX).middle_ns(), -1);
        assert_eq!(bounds(i64::MIN, i64::MAX).error_ns(), i64::MAX);
    }
}
