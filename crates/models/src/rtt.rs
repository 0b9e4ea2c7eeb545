//! Round-trip time models (methods B.3; Aikat 2010): which round-trip time a connection's path has.

use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::time::Duration;
use flowloom_core::workload::{ConnectionVector, Label, LinkSide, PerSide, Protocol, Side};

/// Which round-trip time each connection gets, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundTrips {
    /// Which.
    pub assignment: Assignment,
    /// Where.
    pub place: Place,
}

/// Which round-trip time a connection gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assignment {
    /// Its own (usernet).
    Own,
    /// This one.
    One(Duration),
    /// That of its path: connection i takes path i mod n.
    Paths(Vec<Duration>),
    /// One of `min`, `min + step`, ... up to `max`, all equally likely, drawn for each connection.
    Uniform {
        /// The least.
        min: Duration,
        /// None is above this.
        max: Duration,
        /// From one to the next, above zero.
        step: Duration,
    },
}

/// On which side of the monitored link the round-trip time is spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// Where it was measured; half and half where nothing was.
    #[default]
    Measured,
    /// Half of it on each.
    Halves,
    /// All of it on one.
    One(LinkSide),
}

impl RoundTrips {
    /// Everything as it was.
    pub const MEASURED: RoundTrips = RoundTrips { assignment: Assignment::Own, place: Place::Measured };

    /// Whether vectors stay as they are.
    pub fn keeps_all(&self) -> bool {
        *self == RoundTrips::MEASURED
    }

    /// Gives `vector`, whose waits are settled ([`settle`](super::settle)), the round-trip time of connection number `connection`. A
    /// connection of which no round-trip time is known and that gets none keeps to that. The path taken is recorded as the subset of a
    /// vector without a label.
    pub fn apply(&self, seed: u64, connection: u64, vector: &mut ConnectionVector) {
        if vector.protocol != Protocol::Tcp || self.keeps_all() {
            return;
        }
        let rtt = match &self.assignment {
            Assignment::Own => vector.min_rtt(),
            Assignment::One(rtt) => Some(*rtt),
            Assignment::Paths(paths) => {
                let path = connection % paths.len().max(1) as u64;
                vector.label.get_or_insert(Label { subset: path, id: connection });
                paths.get(path as usize).copied()
            }
            Assignment::Uniform { min, max, step } => {
                let places = max.saturating_sub(*min).as_nanos() / step.as_nanos().max(1) + 1;
                let place = Stream::new(seed, Purpose::RoundTripModel, connection).below(places);
                Some(*min + *step * place)
            }
        };
        let Some(rtt) = rtt else { return };
        (vector.syn_rtt, vector.handshake_repeated) = (None, false);
        for side in Side::BOTH {
            let on = if side == Side::Initiator { vector.initiator_side } else { vector.initiator_side.other() };
            vector.ends[side].min_transit = match self.place {
                Place::Measured | Place::Halves => None,
                Place::One(all) if on == all => Some(rtt),
                Place::One(_) => Some(Duration::ZERO),
            };
            vector.ends[side].transits = None;
        }
        vector.delays = PerSide::default();
        vector.stated_rtt = Some(rtt);
    }
}

/// The mean of round-trip times; `None` of none.
pub fn mean_rtt(rtts: &[Duration]) -> Option<Duration> {
    let sum: u128 = rtts.iter().map(|rtt| u128::from(rtt.as_nanos())).sum();
    let count = rtts.len() as u128;
    (count > 0).then(|| Duration::from_nanos(((sum + count / 2) / count) as u64))
}

/// The median of ascending round-trip times, of an even number the mean of the middle two; `None` of none.
pub fn median_rtt(sorted: &[Duration]) -> Option<Duration> {
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = sorted[(sorted.len() - 1) / 2];
    Some(lower + upper.saturating_sub(lower) / 2)
}

/// How a distribution of round-trip times becomes that of a few paths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Approximation {
    /// How many, above zero.
    pub paths: usize,
    /// Share of the round-trip times left out at each end, below a half.
    pub trim: f64,
    /// What they are multiples of; `None` keeps them as they are.
    pub quantum: Option<Duration>,
}

/// The discrete approximation of ascending round-trip times: what is left of them at each end is trimmed, the rest divided into
/// bins of equal probability, and each path gets the mean of a bin. Where a bin's edge falls inside a rank the rank counts in parts.
/// None of none.
pub fn discrete_approximation(sorted: &[Duration], how: Approximation) -> Vec<Duration> {
    let trimmed = (how.trim * sorted.len() as f64).floor() as usize;
    let kept = sorted.get(trimmed..sorted.len().saturating_sub(trimmed)).unwrap_or_default();
    if kept.is_empty() || how.paths == 0 {
        return Vec::new();
    }
    let edge = |bin: usize| (bin * kept.len()) as f64 / how.paths as f64;
    let mean = |bin: usize| {
        let (from, to) = (edge(bin), edge(bin + 1));
        let last = (to.ceil() as usize).min(kept.len());
        let ranks = (from.floor() as usize..last).map(|rank| {
            let share = (to.min((rank + 1) as f64) - from.max(rank as f64)).max(0.0);
            kept[rank].as_nanos() as f64 * share
        });
        ranks.sum::<f64>() / (to - from)
    };
    (0..how.paths)
        .map(mean)
        .map(|nanos| Duration::from_nanos(nanos.round() as u64))
        .map(|rtt| match how.quantum.filter(|quantum| !quantum.is_zero()) {
            // Halves go up.
            Some(quantum) => quantum * ((rtt + quantum / 2).as_nanos() / quantum.as_nanos()),
            None => rtt,
        })
        .collect()
}

/// Round-trip times published for two traces, the University of North Carolina's and IBM's (Aikat 2010; methods B.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// One value.
    Milliseconds(u64),
    /// A path each.
    Paths(&'static [u64]),
    /// Any whole number of milliseconds in this range.
    Uniform(u64, u64),
}

/// The published models by their names.
pub const PUBLISHED: [(&str, Published); 9] = [
    ("unc-mean", Published::Milliseconds(80)),
    ("ibm-mean", Published::Milliseconds(92)),
    ("unc-median", Published::Milliseconds(36)),
    ("ibm-median", Published::Milliseconds(68)),
    ("10-path", Published::Paths(&[4, 16, 28, 54, 74, 98, 124, 150, 174, 200])),
    (
        "unc-30-path",
        Published::Paths(&[
            8, 8, 10, 10, 12, 14, 14, 16, 18, 20, 22, 24, 26, 30, 34, 38, 42, 48, 52, 60, 74, 80, 82, 86, 92, 98, 124,
            172, 258, 420,
        ]),
    ),
    (
        "ibm-30-path",
        Published::Paths(&[
            22, 28, 32, 36, 40, 44, 46, 46, 48, 52, 54, 56, 58, 62, 66, 70, 74, 78, 82, 86, 92, 96, 102, 108, 114, 122,
            136, 154, 188, 310,
        ]),
    ),
    ("unc-uniform", Published::Uniform(10, 200)),
    ("ibm-uniform", Published::Uniform(30, 150)),
];

impl Published {
    /// As it was used: uniform times all on one side, the others half and half.
    pub fn round_trips(self) -> RoundTrips {
        let assignment = match self {
            Published::Milliseconds(value) => Assignment::One(Duration::from_millis(value)),
            Published::Paths(values) => {
                Assignment::Paths(values.iter().map(|value| Duration::from_millis(*value)).collect())
            }
            Published::Uniform(min, max) => {
                let step = Duration::from_millis(1);
                Assignment::Uniform { min: Duration::from_millis(min), max: Duration::from_millis(max), step }
            }
        };
        let place = match self {
            Published::Uniform(..) => Place::One(LinkSide::Right),
            Published::Milliseconds(_) | Published::Paths(_) => Place::Halves,
        };
        RoundTrips { assignment, place }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowloom_core::path::{PathDelays, Placement, Propagation};
    use flowloom_core::transits::TransitModel;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn millis(durations: &[Duration]) -> Vec<f64> {
        durations.iter().map(|duration| duration.as_nanos() as f64 / 1e6).collect()
    }

    fn near(found: f64, wanted: f64, within: f64) {
        assert!((found - wanted).abs() <= within, "{found}, not {wanted}");
    }

    fn named(name: &str) -> RoundTrips {
        PUBLISHED.iter().find(|(known, _)| *known == name).unwrap().1.round_trips()
    }

    /// The first test vector of methods B.3.
    #[test]
    fn bins_of_equal_probability() {
        let rtts: Vec<Duration> = (1..=1000).map(MS).collect();
        let how = Approximation { paths: 30, trim: 0.01, quantum: None };
        let found = millis(&discrete_approximation(&rtts, how));
        for (bin, wanted) in [(0, 26.8367), (1, 59.5), (2, 92.1633), (29, 974.1633)] {
            near(found[bin], wanted, 5e-5);
        }
        near(found.iter().sum::<f64>() / 30.0, 500.5, 1e-5);
        let even = discrete_approximation(&rtts, Approximation { quantum: Some(MS(2)), ..how });
        assert_eq!(even[..5], [26, 60, 92, 124, 158].map(MS));
    }

    /// The second: 10 * 1.02^i.
    #[test]
    fn bins_of_a_skewed_distribution() {
        let rtts: Vec<Duration> = (0..300).map(|i| Duration::from_secs_f64(0.01 * 1.02_f64.powi(i))).collect();
        let found = millis(&discrete_approximation(&rtts, Approximation { paths: 30, trim: 0.01, quantum: None }));
        for (bin, wanted) in [(0, 11.5982), (1, 14.0815), (2, 17.0962), (29, 3224.1884)] {
            near(found[bin], wanted, 5e-5);
        }
        near(found.iter().sum::<f64>() / 30.0, 607.5549, 5e-5);
    }

    #[test]
    fn fewer_round_trip_times_than_paths_share_them() {
        let how = Approximation { paths: 6, trim: 0.01, quantum: None };
        assert_eq!(discrete_approximation(&[MS(10), MS(20), MS(30)], how), [10, 10, 20, 20, 30, 30].map(MS));
        assert_eq!(discrete_approximation(&[MS(7)], how), [MS(7); 6]);
        assert!(discrete_approximation(&[], how).is_empty());
    }

    #[test]
    fn published_sets_have_their_moments() {
        let moments = |name: &str| {
            let Assignment::Paths(paths) = named(name).assignment else { panic!("{name}") };
            (millis(&[mean_rtt(&paths).unwrap()])[0], median_rtt(&paths).unwrap())
        };
        assert_eq!(moments("unc-30-path"), (66.4, MS(36)));
        near(moments("ibm-30-path").0, 83.4, 1e-6);
        assert_eq!(moments("ibm-30-path").1, MS(68));
        assert_eq!(moments("10-path"), (92.2, MS(86)));
    }

    #[test]
    fn uniform_times_are_whole_numbers_with_the_moments_of_theirs() {
        for (name, mean, sd) in [("unc-uniform", 105.0, 55.136_195), ("ibm-uniform", 90.0, 34.928_498)] {
            let model = named(name);
            let drawn: Vec<f64> = (0..100_000)
                .map(|id| {
                    let mut vector = ConnectionVector { id, ..ConnectionVector::default() };
                    model.apply(1, id, &mut vector);
                    vector.min_rtt().unwrap().as_nanos() as f64 / 1e6
                })
                .collect();
            assert!(drawn.iter().all(|rtt| rtt.fract() == 0.0));
            let found = drawn.iter().sum::<f64>() / 1e5;
            // Standard errors: 0.17 and 0.12 ms.
            near(found, mean, 0.9);
            near((drawn.iter().map(|rtt| (rtt - found).powi(2)).sum::<f64>() / 1e5).sqrt(), sd, 0.6);
        }
    }

    #[test]
    fn a_connection_takes_the_path_of_its_number() {
        let model = named("10-path");
        for (connection, path, rtt) in [(0, 0, 4), (9, 9, 200), (10, 0, 4), (23, 3, 54)] {
            let mut vector = ConnectionVector::default();
            model.apply(1, connection, &mut vector);
            assert_eq!(vector.min_rtt(), Some(MS(rtt)));
            assert_eq!(vector.label, Some(Label { subset: path, id: connection }));
        }
    }

    #[test]
    fn halves_and_sides_are_where_the_path_has_them() {
        let mut measured = ConnectionVector::default();
        measured.ends.initiator.min_transit = Some(MS(30));
        measured.ends.acceptor.min_transit = Some(MS(10));
        let legs = |place: Place, assignment: Assignment| {
            let mut vector = measured.clone();
            RoundTrips { assignment, place }.apply(1, 0, &mut vector);
            let delays =
                PathDelays::new(&vector, TransitModel::Minimum, Placement::Measured, Propagation::default(), MS(999));
            let round = |side| delays.leg(side).to_link + delays.leg(side).from_link;
            (round(Side::Initiator), round(Side::Acceptor))
        };
        assert_eq!(legs(Place::Measured, Assignment::Own), (MS(30), MS(10)));
        assert_eq!(legs(Place::Halves, Assignment::Own), (MS(20), MS(20)));
        assert_eq!(legs(Place::Measured, Assignment::One(MS(50))), (MS(25), MS(25)), "none was measured");
        assert_eq!(legs(Place::One(LinkSide::Left), Assignment::One(MS(50))), (MS(50), MS(0)));
        assert_eq!(legs(Place::One(LinkSide::Right), Assignment::Own), (MS(0), MS(40)));
        assert_eq!(legs(Place::Halves, Assignment::One(MS(0))), (MS(0), MS(0)));
    }

    #[test]
    fn what_is_not_known_is_not_made_up() {
        let mut unknown = ConnectionVector::default();
        RoundTrips { assignment: Assignment::Own, place: Place::Halves }.apply(1, 0, &mut unknown);
        assert_eq!(unknown, ConnectionVector::default());
    }
}
