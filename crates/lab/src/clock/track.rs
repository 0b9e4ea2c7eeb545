//! The far clock over time: every exchange bounds its offset at one time, and clocks drift by no more than is known of them, so that
//! all exchanges together bound it at any time. A clock that is set contradicts what was known before; that is noticed, what was
//! known before it is no longer used after it, and times between the last exchange before and the first after it are bounded by both.

use super::exchange::{Bounds, Exchange};

/// How much faster or slower than another a clock may run, in parts per million: what the kernel's discipline may slew it by
/// (RFC 5905 section 7.2, MAXFREQ), which holds for a crystal's own error too.
pub const MOST_DRIFT_PPM: i64 = 500;

/// Exchanges that are kept of a stretch without steps; when there are more, every second one of the older goes.
const MOST_KEPT: usize = 256;

/// What a new exchange showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learnt {
    /// It agrees with those before.
    Agrees,
    /// No drift explains it: one of the clocks was set, by at least so many nanoseconds (positive: the far one forward, or ours back).
    Step(i64),
    /// Its own timestamps contradict each other, so it says nothing.
    Nothing,
}

/// What one exchange said: the offset's bounds at a time of ours.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    at_ns: i64,
    /// It holds at some time within so many nanoseconds of `at_ns`.
    within_ns: i64,
    bounds: Bounds,
}

/// All that is known of one far clock.
#[derive(Clone, Debug, Default)]
pub struct Track {
    /// Stretches without a step, in order of time.
    stretches: Vec<Vec<Point>>,
}

impl Track {
    /// Adds an exchange. They come in the order of our clock.
    pub fn add(&mut self, exchange: Exchange) -> Learnt {
        let Some(bounds) = exchange.offset() else { return Learnt::Nothing };
        let at_ns = exchange.t1_ns + (exchange.t4_ns - exchange.t1_ns) / 2;
        let point = Point { at_ns, within_ns: exchange.t4_ns - at_ns, bounds };
        let Some(points) = self.stretches.last_mut() else {
            self.stretches.push(vec![point]);
            return Learnt::Agrees;
        };
        let here = point.at(at_ns);
        let gap = points.iter().map(|known| gap(&known.at(at_ns), &here)).max_by_key(|gap| gap.abs()).unwrap_or(0);
        if gap != 0 {
            self.stretches.push(vec![point]);
            return Learnt::Step(gap);
        }
        points.push(point);
        if points.len() > MOST_KEPT {
            let newest = points.len() - MOST_KEPT / 2;
            let mut i = 0;
            points.retain(|_| {
                i += 1;
                i > newest || i % 2 == 1
            });
        }
        Learnt::Agrees
    }

    /// How often a step was noticed.
    pub fn steps(&self) -> usize {
        self.stretches.len().saturating_sub(1)
    }

    /// The far clock's reading less ours at the time `at_ns` of our clock; `None` before the first exchange that says something.
    ///
    /// It is certain as long as no clock was set since the last exchange and none drifts by more than [`MOST_DRIFT_PPM`].
    pub fn offset(&self, at_ns: i64) -> Option<Bounds> {
        let after = self.stretches.partition_point(|points| points[0].at_ns <= at_ns);
        let stretch = |i: usize| self.stretches.get(i).and_then(|points| known(points, at_ns));
        let Some(now) = after.checked_sub(1) else { return stretch(0) };
        let ended = self.stretches[now].last().is_some_and(|last| last.at_ns < at_ns);
        match (stretch(now), stretch(now + 1)) {
            // Between two stretches: the step was at some time between them.
            (Some(before), Some(later)) if ended => Some(before.or(&later)),
            (now, _) => now,
        }
    }

    /// When, by our clock, the far clock showed `theirs_ns`: not before, not after. A clock that was set back showed it more than once.
    pub fn moment(&self, theirs_ns: i64) -> Option<Bounds> {
        // The offset changes by parts in ten thousand: each stretch's own is near enough to find the moment that it would make of it.
        let near = self.stretches.iter().filter_map(|points| points.last());
        let moments = near.filter_map(|point| {
            let offset = self.offset(theirs_ns.saturating_sub(point.bounds.middle_ns()))?;
            let (low_ns, high_ns) = (theirs_ns.saturating_sub(offset.high_ns), theirs_ns.saturating_sub(offset.low_ns));
            Some(Bounds { low_ns, high_ns })
        });
        moments.reduce(|one, other| one.or(&other))
    }

    /// How much faster the far clock ran than ours, in parts per thousand million, since the last step: bounds of the mean.
    pub fn drift_ppb(&self) -> Option<Bounds> {
        let points = self.stretches.last()?;
        let (first, last) = (points.first()?, points.last()?);
        let span_ns = (last.at_ns - last.within_ns) - (first.at_ns + first.within_ns);
        if span_ns <= 0 {
            return None;
        }
        let per_span = |ns: i64| i64::try_from(i128::from(ns) * 1_000_000_000 / i128::from(span_ns)).ok();
        let most = MOST_DRIFT_PPM * 1_000;
        let measured = Bounds {
            low_ns: per_span(last.bounds.low_ns.saturating_sub(first.bounds.high_ns))?.saturating_sub(1),
            high_ns: per_span(last.bounds.high_ns.saturating_sub(first.bounds.low_ns))?.saturating_add(1),
        };
        measured.and(&Bounds { low_ns: -most, high_ns: most })
    }
}

impl Point {
    /// What it says of another time.
    fn at(&self, at_ns: i64) -> Bounds {
        let apart_ns = i128::from(at_ns.abs_diff(self.at_ns)) + i128::from(self.within_ns);
        // Rounded up.
        let drifted = (apart_ns * i128::from(MOST_DRIFT_PPM) + 999_999) / 1_000_000;
        self.bounds.widened(i64::try_from(drifted).unwrap_or(i64::MAX))
    }
}

/// What all points say together.
fn known(points: &[Point], at_ns: i64) -> Option<Bounds> {
    let mut all = points.iter().map(|point| point.at(at_ns));
    let first = all.next()?;
    all.try_fold(first, |known, next| known.and(&next))
}

/// How far `new` is above (positive) or below what was `known`; 0 if they meet.
fn gap(known: &Bounds, new: &Bounds) -> i64 {
    if new.low_ns > known.high_ns {
        new.low_ns.saturating_sub(known.high_ns)
    } else {
        new.high_ns.saturating_sub(known.low_ns).min(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;
    const S: i64 = 1_000 * MS;

    /// Two clocks: ours is true time, the far one drifts and is set.
    struct Far {
        drift_ppm: i64,
        offset: i64,
        steps: Vec<(i64, i64)>,
    }

    impl Far {
        fn offset(&self, at: i64) -> i64 {
            let steps: i64 = self.steps.iter().filter(|(when, _)| *when <= at).map(|(_, by)| by).sum();
            self.offset + at * self.drift_ppm / 1_000_000 + steps
        }

        fn exchange(&self, t1: i64, there: i64, back: i64) -> Exchange {
            let (came, left) = (t1 + there, t1 + there + 20_000);
            Exchange { t1_ns: t1, t2_ns: came + self.offset(came), t3_ns: left + self.offset(left), t4_ns: left + back }
        }
    }

    /// Ways that differ by direction and from time to time.
    fn ways(i: i64) -> (i64, i64) {
        (100_000 + (i * 7919) % 400_000, 50_000 + (i * 104_729) % 3_000_000)
    }

    #[test]
    fn the_offset_is_always_within_its_bounds() {
        for drift_ppm in [-499, -20, 0, 3, 499] {
            let far = Far { drift_ppm, offset: 123 * S, steps: vec![] };
            let mut track = Track::default();
            assert_eq!(track.offset(0), None);
            for i in 1..600 {
                let (there, back) = ways(i);
                assert_eq!(track.add(far.exchange(i * S / 10, there, back)), Learnt::Agrees, "{drift_ppm} {i}");
                for at in [i * S / 10, i * S / 20, i * S / 10 + 30 * S, 0] {
                    let found = track.offset(at).unwrap();
                    assert!(found.low_ns <= far.offset(at) && far.offset(at) <= found.high_ns, "{drift_ppm} {i} {at}");
                    assert!((found.middle_ns() - far.offset(at)).abs() <= found.error_ns());
                }
            }
            let moment = track.moment(30 * S + far.offset(30 * S)).unwrap();
            assert!(moment.low_ns <= 30 * S && 30 * S <= moment.high_ns && moment.error_ns() < 2_000_000, "{moment:?}");
            let last = track.offset(599 * S / 10).unwrap();
            // No exchange alone is wider than half of 3.55 ms; all together are not either.
            assert!(last.error_ns() < 1_775_000, "{drift_ppm}: {last:?}");
            let drift = track.drift_ppb().unwrap();
            assert!(drift.low_ns <= drift_ppm * 1_000 && drift_ppm * 1_000 <= drift.high_ns, "{drift_ppm}: {drift:?}");
            assert!(drift.high_ns - drift.low_ns < 200_000);
            assert_eq!(track.steps(), 0);
        }
    }

    #[test]
    fn a_step_by_5_s_is_noticed_and_the_bound_is_truthful() {
        for by in [5 * S, -5 * S, 20 * MS, -20 * MS] {
            let far = Far { drift_ppm: 40, offset: -3 * S, steps: vec![(10 * S + S / 2, by)] };
            let mut track = Track::default();
            let mut learnt = Vec::new();
            for i in 1..20 {
                let (there, back) = ways(i);
                learnt.push(track.add(far.exchange(i * S, there, back)));
            }
            let steps: Vec<&Learnt> = learnt.iter().filter(|learnt| **learnt != Learnt::Agrees).collect();
            let [Learnt::Step(least)] = steps[..] else { panic!("{by}: {steps:?}") };
            assert!(
                least.signum() == by.signum() && least.abs() <= by.abs() && least.abs() >= by.abs() - 15 * MS,
                "{by} {least}"
            );
            assert_eq!(track.steps(), 1);
            for at in (0..40).map(|i| i * S / 2) {
                let found = track.offset(at).unwrap();
                assert!(found.low_ns <= far.offset(at) && far.offset(at) <= found.high_ns, "{by} at {at}: {found:?}");
            }
            for at in (2..40).map(|i| i * S / 2) {
                let found = track.moment(at + far.offset(at)).unwrap();
                assert!(found.low_ns <= at && at <= found.high_ns, "{by} at {at}: {found:?}");
            }
            // Surely known but where the step may have been.
            assert!(track.offset(9 * S).unwrap().error_ns() < 4 * MS);
            assert!(track.offset(12 * S).unwrap().error_ns() < 4 * MS);
            assert!(track.offset(10 * S + S / 2).unwrap().error_ns() >= by.abs() / 2);
        }
    }

    #[test]
    fn a_step_within_an_exchange_is_never_believed() {
        let far = Far { drift_ppm: 0, offset: 0, steps: vec![(S + 1, 5 * S)] };
        let during =
            Exchange { t1_ns: S, t2_ns: S + far.offset(S), t3_ns: S + 100 + far.offset(S + 100), t4_ns: S + 200 };
        let mut track = Track::default();
        assert_eq!(track.add(during), Learnt::Nothing);
        assert_eq!(track.offset(S), None);
    }

    #[test]
    fn nothing_overflows() {
        let mut track = Track::default();
        for i in [i64::MIN / 4, -1, 0, 1, i64::MAX / 4] {
            track.add(Exchange { t1_ns: i, t2_ns: -i, t3_ns: -i, t4_ns: i + 1 });
            track.offset(i64::MAX);
            track.offset(i64::MIN);
            track.drift_ppb();
        }
    }
}
