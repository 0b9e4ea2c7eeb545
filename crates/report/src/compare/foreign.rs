//! Results of other tools beside each other or beside a run's, where metrics match: payload that passed, both ways together, and between
//! tools the round-trip times that they sampled.

use std::collections::BTreeMap;

use flowloom_core::time::Duration;
use flowloom_core::workload::{sum, sum_of_known};
use flowloom_store::results::{Quantity, Results, Series, Way};
use flowloom_store::run_folder::Point;

use super::comparable::{Incomparable, Missing, Unpaired};
use super::comparison::{Comparison, Draft};
use super::difference::{Difference, difference};
use super::effect::{Evidence, Known, statistics_of};
use super::group::Group;
use super::options::{Options, Pairing};
use super::series::SeriesDistance;
use super::verdict::settle;
use crate::metric::Metric;
use crate::run::Run;
use crate::statistics::Sample;

/// One side of a comparison: replications of a variant, or of a test of another tool.
#[derive(Clone, Copy, Debug)]
pub enum Party<'a> {
    /// Runs.
    Runs(Group<'a>),
    /// What another tool measured, once per replication.
    Results {
        /// What it is called.
        name: &'a str,
        /// At least one.
        files: &'a [Results],
    },
}

/// Values in bins of one width.
#[derive(Clone, Debug, PartialEq)]
struct Binned {
    width: Duration,
    values: Vec<f64>,
}

impl Binned {
    /// Means of `together` bins.
    fn wider(&self, together: usize) -> Binned {
        let mean = |bins: &[f64]| bins.iter().sum::<f64>() / together as f64;
        Binned { width: self.width * together as u64, values: self.values.chunks_exact(together).map(mean).collect() }
    }
}

impl Party<'_> {
    fn name(&self) -> &str {
        match self {
            Party::Runs(group) => group.name,
            Party::Results { name, .. } => name,
        }
    }

    /// `metric` of each replication; an error says why there is none.
    fn binned(&self, metric: Metric) -> Result<Vec<Binned>, Missing> {
        let nothing = || Missing::In(self.name().to_owned());
        match (self, metric) {
            (Party::Runs(group), Metric::Goodput) => {
                let of = |run: &Run| Binned {
                    width: run.measurements.series_bin(metric),
                    values: run.measurements.series(metric, Point::Endpoint),
                };
                Ok(group.runs.iter().map(of).collect())
            }
            (Party::Results { files, .. }, Metric::Goodput) => {
                files.iter().map(|file| goodput(file).ok_or_else(nothing)).collect()
            }
            (Party::Results { files, .. }, Metric::RoundTripTime) => {
                files.iter().map(|file| round_trips(file).ok_or_else(nothing)).collect()
            }
            (Party::Runs(_), Metric::RoundTripTime) => Err(Missing::OtherRoundTrips),
            _ => Err(Missing::OtherTool),
        }
    }

    fn replications(&self) -> usize {
        match self {
            Party::Runs(group) => group.runs.len(),
            Party::Results { files, .. } => files.len(),
        }
    }

    fn retransmissions(&self) -> Option<u64> {
        match self {
            Party::Runs(group) => Some(sum(group.runs.iter().map(|run| run.measurements.all_totals().retransmissions))),
            Party::Results { files, .. } => sum_of_known(files.iter().map(|file| file.retransmissions)),
        }
    }
}

/// Instants in milliseconds and values, of equal instants in all of `series` the sum.
fn added(series: &[&Series]) -> BTreeMap<i64, f64> {
    let mut sums: BTreeMap<i64, (usize, f64)> = BTreeMap::new();
    for (at, value) in series.iter().flat_map(|series| &series.points) {
        let sum = sums.entry((at * 1e3).round() as i64).or_default();
        *sum = (sum.0 + 1, sum.1 + value);
    }
    sums.into_iter().filter(|(_, (count, _))| *count == series.len()).map(|(at, (_, sum))| (at, sum)).collect()
}

/// Values whose instants are equally far apart, by the median distance; `None` of fewer than two.
fn of_points(points: &BTreeMap<i64, f64>) -> Option<Binned> {
    let instants: Vec<i64> = points.keys().copied().collect();
    let mut gaps: Vec<i64> = instants.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    gaps.sort_unstable();
    let gap = gaps.get(gaps.len() / 2).copied().filter(|gap| *gap > 0)?;
    Some(Binned { width: Duration::from_millis(gap as u64), values: points.values().copied().collect() })
}

/// Payload both ways together. Where a tool has a sum of its streams, the streams and their mean are left out.
fn goodput(file: &Results) -> Option<Binned> {
    let of_way = |way: Way| -> Vec<&Series> {
        let all = file.series.iter().filter(|one| one.quantity == Quantity::BitsPerSecond && one.way == Some(way));
        let all: Vec<&Series> = all.filter(|one| !one.name.ends_with(" avg")).collect();
        match all.iter().find(|one| one.name.ends_with(" sum")) {
            Some(sum) => vec![*sum],
            None => all,
        }
    };
    let ways = [of_way(Way::Forward), of_way(Way::Back)].concat();
    of_points(&added(&ways)).filter(|_| !ways.is_empty())
}

/// Round-trip times: a mean over what was pinged if the tool has one, else the first that it has.
fn round_trips(file: &Results) -> Option<Binned> {
    let all = || file.series.iter().filter(|one| one.quantity == Quantity::RoundTripNanos);
    let one = all().find(|one| one.name.ends_with(" avg")).or_else(|| all().next())?;
    of_points(&added(&[one]))
}

/// Both sides' values of each replication in bins of one width.
type SameBins = (Duration, [Vec<Vec<f64>>; 2]);

/// Makes the bins of both equally wide, if the ones are so many of the others.
fn same_bins(metric: Metric, names: [&str; 2], a: Vec<Binned>, b: Vec<Binned>) -> Result<SameBins, Incomparable> {
    let widest = a.iter().chain(&b).map(|one| one.width).max().unwrap_or(Duration::ZERO);
    let fitted = |all: Vec<Binned>, name: &str, other: &str| -> Result<Vec<Vec<f64>>, Incomparable> {
        all.into_iter()
            .map(|one| {
                let (wide, narrow) = (widest.as_nanos(), one.width.as_nanos().max(1));
                let together = ((wide + narrow / 2) / narrow).max(1);
                // A tool's second may be a millisecond short.
                match (together * narrow).abs_diff(wide) <= wide / 100 {
                    true => Ok(one.wider(together as usize).values),
                    false => Err(Incomparable::Bins {
                        metric,
                        reference: other.to_owned(),
                        here: widest,
                        other: name.to_owned(),
                        there: one.width,
                    }),
                }
            })
            .collect()
    };
    Ok((widest, [fitted(a, names[0], names[1])?, fitted(b, names[1], names[0])?]))
}

/// Each party after the first beside the first, or each beside each before it. What is not measured by both is left out and named.
/// Results have no seeds: they are pairs only where that is asked for, in the order in which they are named.
///
/// # Errors
///
/// [`Incomparable`] where bins do not fit each other, a test lasted longer than the other, a metric that was asked for is not
/// measured, or there are not as many results of one as of the other to make pairs of.
pub fn compare_parties(parties: &[Party<'_>], options: &Options) -> Result<Vec<Comparison>, Incomparable> {
    let mut drafts = Vec::new();
    for (place, other) in parties.iter().enumerate() {
        let references = if options.all_pairs { &parties[..place] } else { &parties[..place.min(1)] };
        for reference in references {
            drafts.push((reference, other, draft(reference, other, options)?));
        }
    }
    settle(drafts.iter_mut().flat_map(|(_, _, draft)| draft.effects()), options);
    let finish = |(reference, other, draft): (&Party<'_>, &Party<'_>, Draft)| {
        let replications = [reference.replications(), other.replications()];
        let told = match options.pairing {
            Pairing::Paired => "paired: in the order in which they are named",
            Pairing::Auto | Pairing::Unpaired => "not paired: results of tools have no seeds",
        };
        Comparison {
            pairing: Some(told.to_owned()),
            ..draft.comparison([reference.name(), other.name()], false, replications, options)
        }
    };
    Ok(drafts.into_iter().map(finish).collect())
}

fn draft(reference: &Party<'_>, other: &Party<'_>, options: &Options) -> Result<Draft, Incomparable> {
    let mut draft = Draft { found: Vec::new(), left_out: BTreeMap::new() };
    let [of_reference, of_other] = [reference, other].map(Party::replications);
    if options.pairing == Pairing::Paired && of_reference != of_other {
        let why = Unpaired::Numbers { reference: of_reference, other: of_other };
        let (reference, other) = (reference.name().to_owned(), other.name().to_owned());
        return Err(Incomparable::NotPaired { reference, other, why });
    }
    for metric in Metric::ALL.into_iter().filter(|metric| options.wants(*metric)) {
        match (reference.binned(metric), other.binned(metric)) {
            (Ok(a), Ok(b)) => match drafted(metric, [reference.name(), other.name()], a, b, options)? {
                Some(found) => draft.found.push(found),
                None => {
                    draft.left_out.insert(metric.name(), Missing::Everywhere.to_string());
                }
            },
            (Err(why), _) | (_, Err(why)) if options.metrics.is_empty() => {
                draft.left_out.insert(metric.name(), why.to_string());
            }
            (Err(why), _) | (_, Err(why)) => return Err(Incomparable::NoValues { metric, why }),
        }
    }
    if let (Some(a), Some(b)) = (reference.retransmissions(), other.retransmissions()) {
        let told = format!("{a} in {}, {b} in {}: totals, which are not judged", reference.name(), other.name());
        draft.left_out.insert("retransmissions", told);
    }
    Ok(draft)
}

fn drafted(
    metric: Metric,
    names: [&str; 2],
    a: Vec<Binned>,
    b: Vec<Binned>,
    options: &Options,
) -> Result<Option<(Difference, Evidence)>, Incomparable> {
    let (bin, series) = same_bins(metric, names, a, b)?;
    let [here, there] = [&series[0][0], &series[1][0]].map(|series| bin * series.len() as u64);
    if here.as_nanos().abs_diff(there.as_nanos()) > here.max(there).as_nanos() / 20 + bin.as_nanos() {
        let [reference, other] = names.map(str::to_owned);
        return Err(Incomparable::Windows { reference, here: here.to_string(), other, there: there.to_string() });
    }
    let samples = series
        .each_ref()
        .map(|side| -> Vec<Sample> { side.iter().map(|series| Sample::new(series.iter().copied())).collect() });
    let [a, b] = [Sample::pooled(&samples[0]), Sample::pooled(&samples[1])];
    let Some(mut difference) = difference(metric, &a, &b, names[0], names[1]) else { return Ok(None) };
    let single = series.iter().all(|side| side.len() == 1);
    difference.series =
        SeriesDistance::new(&series[0][0], &series[1][0], bin.as_nanos()).filter(|_| single && metric.is_series());
    let [first, second] = series;
    let known = Known {
        metric,
        samples: [&samples[0], &samples[1]],
        series: [first, second].map(|mut side| side.swap_remove(0)),
        bin_ns: bin.as_nanos(),
        paired: options.pairing == Pairing::Paired,
        same_workload: false,
        one_draw: false,
        original: false,
    };
    let asked = options.statistics.iter().filter(|(of, _)| *of == metric);
    difference.asked = asked.filter_map(|(_, statistic)| known.asked(*statistic, options)).collect();
    let evidence = known.evidence(statistics_of(metric), options);
    Ok(Some((difference, evidence)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Basis, Outcome};

    /// A test of so many seconds, both ways, with a mean of `rate` forward and a tenth of that back.
    fn results(seconds: u32, rate: f64) -> Results {
        let series = |name: &str, quantity, way, value: &dyn Fn(u32) -> f64| Series {
            name: name.to_owned(),
            quantity,
            way,
            points: (1..=seconds).map(|second| (f64::from(second), value(second))).collect(),
        };
        let wave = |second: u32| 1.0 + 0.1 * f64::from(second % 7) - 0.3;
        Results {
            tool: "iperf3",
            title: String::new(),
            seconds: f64::from(seconds),
            series: vec![
                series("TCP upload sum", Quantity::BitsPerSecond, Some(Way::Forward), &|second| rate * wave(second)),
                series("TCP upload BE", Quantity::BitsPerSecond, Some(Way::Forward), &|_| 1e12),
                series("TCP upload avg", Quantity::BitsPerSecond, Some(Way::Forward), &|_| 1e12),
                series("TCP download", Quantity::BitsPerSecond, Some(Way::Back), &|second| rate / 10.0 * wave(second)),
                series("Ping (ms) ICMP", Quantity::RoundTripNanos, None, &|second| 20e6 + f64::from(second % 5) * 1e5),
                series("cwnd", Quantity::Other, None, &|_| 10.0),
            ],
            retransmissions: Some(7),
        }
    }

    fn compared(a: &[Results], b: &[Results]) -> Result<Vec<Comparison>, Incomparable> {
        let parties = [Party::Results { name: "a", files: a }, Party::Results { name: "b", files: b }];
        compare_parties(&parties, &Options::default())
    }

    #[test]
    fn what_two_tests_share_is_compared_and_the_rest_named() {
        let comparison = compared(&[results(900, 1e7)], &[results(900, 8e6)]).unwrap().remove(0);
        let goodput = comparison.difference(Metric::Goodput).unwrap();
        assert!((goodput.reference.mean.unwrap() / 1.1e7 - 1.0).abs() < 0.01, "both ways, streams counted once");
        assert_eq!((goodput.verdict.outcome, goodput.verdict.basis), (Outcome::Different, Basis::Blocks));
        assert_eq!(comparison.difference(Metric::RoundTripTime).unwrap().verdict.outcome, Outcome::Same);
        assert!(comparison.left_out["retransmissions"].starts_with("7 in a, 7 in b"));
        assert!(comparison.left_out.contains_key("response_time"));
    }

    #[test]
    fn repeated_tests_are_replications() {
        let tests = |factor: f64| -> Vec<Results> {
            (0..5).map(|test| results(30, 1e7 * factor * (1.0 + f64::from(test) / 500.0))).collect()
        };
        let comparison = compared(&tests(1.0), &tests(1.1)).unwrap().remove(0);
        let goodput = comparison.difference(Metric::Goodput).unwrap();
        assert_eq!((goodput.verdict.outcome, goodput.verdict.basis), (Outcome::Different, Basis::Replications));
        assert_eq!(comparison.replications, [5, 5]);
    }

    #[test]
    fn tests_are_paired_in_their_order_where_that_is_asked_for() {
        // From one pair to the next everything changes by a third, within a pair by a tenth.
        let tests = |factor: f64| -> Vec<Results> {
            (0..5).map(|test| results(30, 1e7 * factor * (1.0 + f64::from(test) / 3.0))).collect()
        };
        let compared = |a: &[Results], b: &[Results], pairing| {
            let parties = [Party::Results { name: "a", files: a }, Party::Results { name: "b", files: b }];
            compare_parties(&parties, &Options { pairing, ..Options::default() })
        };
        let (a, b) = (tests(1.0), tests(1.1));
        let paired = compared(&a, &b, Pairing::Paired).unwrap().remove(0);
        assert_eq!(paired.pairing.as_deref(), Some("paired: in the order in which they are named"));
        let goodput = &paired.difference(Metric::Goodput).unwrap().verdict;
        assert_eq!((goodput.basis, goodput.outcome), (Basis::PairedReplications, Outcome::Different));
        let apart = compared(&a, &b, Pairing::Auto).unwrap().remove(0);
        let goodput = &apart.difference(Metric::Goodput).unwrap().verdict;
        assert_eq!((goodput.basis, goodput.outcome), (Basis::Replications, Outcome::CannotTell));
        let refused = compared(&a, &b[1..], Pairing::Paired).unwrap_err();
        assert_eq!(refused.to_string(), "b and a cannot be paired: there are 4 and 5 results");
    }

    #[test]
    fn tests_that_do_not_fit_are_refused() {
        assert!(matches!(compared(&[results(60, 1e7)], &[results(30, 1e7)]), Err(Incomparable::Windows { .. })));
        let mut odd = results(60, 1e7);
        odd.series.iter_mut().flat_map(|series| &mut series.points).for_each(|point| point.0 *= 1.3);
        assert!(matches!(compared(&[results(60, 1e7)], &[odd]), Err(Incomparable::Bins { .. })));
        let mut half = results(120, 1e7);
        half.series.iter_mut().flat_map(|series| &mut series.points).for_each(|point| point.0 /= 2.0);
        assert!(compared(&[results(60, 1e7)], &[half]).is_ok(), "two halves of a second are one");
    }
}
