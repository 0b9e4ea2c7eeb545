//! Silences so long that they are no part of the time that was observed: captures that were pasted together have them, and captures
//! whose clock was set.

use flowloom_core::time::{Duration, Time};

/// A silence longer than this is a jump of the clock.
pub const JUMP: Duration = Duration::from_secs(86_400);

/// When one direction of a link had traffic: from the first to the last instant of each stretch without a jump.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stretches(Vec<[Time; 2]>);

impl Stretches {
    /// Takes an instant with traffic; they come in order.
    pub fn add(&mut self, at: Time) {
        match self.0.last_mut() {
            Some([_, last]) if at.since(*last) <= JUMP => *last = at.max(*last),
            _ => self.0.push([at, at]),
        }
    }
}

impl FromIterator<Time> for Stretches {
    fn from_iter<T: IntoIterator<Item = Time>>(instants: T) -> Stretches {
        let mut stretches = Stretches::default();
        instants.into_iter().for_each(|at| stretches.add(at));
        stretches
    }
}

/// The jumps of a clock: from the last instant with traffic in any direction to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClockJumps(Vec<[Time; 2]>);

impl ClockJumps {
    /// Those that all directions have in common. At the instants `beside` something was seen that is in no direction: a capture may
    /// begin with packets that no link carries as traffic. None where no direction has traffic at all.
    pub fn between<'a>(beside: &[Time], directions: impl IntoIterator<Item = &'a Stretches>) -> ClockJumps {
        let beside: Vec<Stretches> = beside.iter().map(|at| Stretches(vec![[*at, *at]])).collect();
        let mut all: Vec<&Stretches> = directions.into_iter().filter(|one| !one.0.is_empty()).collect();
        if all.is_empty() {
            return ClockJumps::default();
        }
        all.extend(&beside);
        let mut stretches: Vec<[Time; 2]> = all.into_iter().flat_map(|one| &one.0).copied().collect();
        stretches.sort_unstable();
        let Some(&[_, mut latest]) = stretches.first() else { return ClockJumps::default() };
        let mut jumps = Vec::new();
        for [first, last] in stretches {
            if first.since(latest) > JUMP {
                jumps.push([latest, first]);
            }
            latest = latest.max(last);
        }
        ClockJumps(jumps)
    }

    /// Their length in all.
    pub fn total(&self) -> Duration {
        self.before(Time::from_nanos(u64::MAX))
    }

    /// The length of those before `time`.
    pub fn before(&self, time: Time) -> Duration {
        self.0.iter().map(|[from, to]| time.min(*to).since(*from)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hours(hours: &[u64]) -> Stretches {
        hours.iter().map(|hour| Time::ZERO + Duration::from_secs(3_600 * hour)).collect()
    }

    fn jumps(directions: &[Stretches]) -> Vec<[u64; 2]> {
        let hour = |time: Time| time.as_nanos() / 3_600_000_000_000;
        ClockJumps::between(&[], directions).0.into_iter().map(|jump| jump.map(hour)).collect()
    }

    #[test]
    fn a_jump_is_silent_in_all_directions() {
        assert_eq!(jumps(&[hours(&[0, 24, 49])]), [[24, 49]], "a day is no jump");
        assert_eq!(jumps(&[hours(&[0, 100]), hours(&[0, 20, 40, 60, 80])]), [] as [[u64; 2]; 0]);
        assert_eq!(jumps(&[hours(&[0, 100]), hours(&[1, 30, 31])]), [[1, 30], [31, 100]]);
        assert_eq!(jumps(&[Stretches::default(), hours(&[90])]), [] as [[u64; 2]; 0], "nothing before the first");
    }

    #[test]
    fn what_is_no_traffic_bounds_silences() {
        let within = |hours_of: [u64; 2], directions: &[Stretches]| {
            let whole = hours_of.map(|hour| Time::ZERO + Duration::from_secs(3_600 * hour));
            ClockJumps::between(&whole, directions).total().as_secs_f64() / 3_600.0
        };
        assert_eq!(within([0, 130], &[hours(&[100, 101])]), 100.0 + 29.0);
        assert_eq!(within([0, 101], &[hours(&[1, 101]), Stretches::default()]), 100.0);
        assert_eq!(within([0, 1_000], &[Stretches::default()]), 0.0, "there is nothing to be silent");
    }

    #[test]
    fn time_without_jumps() {
        let jumps = ClockJumps::between(&[], &[hours(&[1, 101, 102, 202])]);
        let before = |hour: u64| jumps.before(Time::ZERO + Duration::from_secs(3_600 * hour)).as_secs_f64() / 3_600.0;
        assert_eq!([0, 1, 51, 101, 102, 202, 500].map(before), [0.0, 0.0, 50.0, 100.0, 100.0, 200.0, 200.0]);
        assert_eq!(jumps.total(), Duration::from_secs(200 * 3_600));
    }
}
