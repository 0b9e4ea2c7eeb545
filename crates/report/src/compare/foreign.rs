//! Results of other tools beside each other or beside a run's, where metrics match: payload that passed, both ways together, and between
//! tools the round-trip times that they sampled.

use std::collections::{BTreeMap, BTreeSet};

use flowloom_core::time::Duration;
use flowloom_core::workload::{sum, sum_of_known};
use flowloom_store::results::{Quantity, Results, Series, View, Way};
use flowloom_store::run_folder::Point;

use super::binned::{Binned, Unbinned};
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

impl Party<'_> {
    fn name(&self) -> &str {
        match self {
            Party::Runs(group) => group.name,
            Party::Results { name, .. } => name,
        }
    }

    /// `metric` of each replication, of round-trip times the series called `ping`; an error says why there is none.
    fn binned(&self, metric: Metric, ping: Option<&str>) -> Result<Vec<Binned>, Missing> {
        let why = |unbinned| match unbinned {
            Unbinned::TooFew => Missing::In(self.name().to_owned()),
            Unbinned::Gaps { without, of } => Missing::Gaps { name: self.name().to_owned(), without, of },
        };
        match (self, metric) {
            (Party::Runs(group), Metric::Goodput) => {
                let of = |run: &Run| {
                    let values = run.measurements.series(metric, Point::Endpoint);
                    Binned::to_a_bin(run.measurements.series_bin(metric), values)
                };
                Ok(group.runs.iter().map(of).collect())
            }
            (Party::Results { files, .. }, Metric::Goodput) => {
                files.iter().map(|file| Binned::sum(&payload(file)).map_err(why)).collect()
            }
            (Party::Results { files, .. }, Metric::RoundTripTime) => {
                let of = |file: &Results| match pings(file).find(|one| Some(&*one.name) == ping) {
                    Some(one) if one.lengths.is_empty() => Binned::samples(one),
                    Some(one) => Binned::sum(&[one]),
                    None => Err(Unbinned::TooFew),
                };
                files.iter().map(|file| of(file).map_err(why)).collect()
            }
            (Party::Runs(_), Metric::RoundTripTime) => Err(Missing::OtherRoundTrips),
            _ => Err(Missing::OtherTool),
        }
    }

    /// The names of round-trip times that all files have, and the tool; `None` of runs.
    fn common_pings(&self) -> Option<(&'static str, BTreeSet<&str>)> {
        let Party::Results { files, .. } = self else { return None };
        let (first, others) = files.split_first()?;
        let everywhere = |one: &&Series| others.iter().all(|file| pings(file).any(|other| other.name == one.name));
        Some((first.tool, pings(first).filter(everywhere).map(|one| &*one.name).collect()))
    }

    /// Whose counts of payload the files have, with the names of the series.
    fn views(&self) -> BTreeMap<View, BTreeSet<&str>> {
        let mut views: BTreeMap<View, BTreeSet<&str>> = BTreeMap::new();
        let Party::Results { files, .. } = self else { return views };
        for series in files.iter().flat_map(payload) {
            if let Some(view) = series.view {
                views.entry(view).or_default().insert(&series.name);
            }
        }
        views
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

/// Payload both ways. Where a tool has a sum of its streams, the streams and their mean are left out.
fn payload(file: &Results) -> Vec<&Series> {
    let of_way = |way: Way| -> Vec<&Series> {
        let all = file.series.iter().filter(|one| one.quantity == Quantity::BitsPerSecond && one.way == Some(way));
        let all: Vec<&Series> = all.filter(|one| !one.name.ends_with(" avg")).collect();
        match all.iter().find(|one| one.name.ends_with(" sum")) {
            Some(sum) => vec![*sum],
            None => all,
        }
    };
    [of_way(Way::Forward), of_way(Way::Back)].concat()
}

fn pings(file: &Results) -> impl Iterator<Item = &Series> {
    file.series.iter().filter(|one| one.quantity == Quantity::RoundTripNanos)
}

/// The series of round-trip times of each of two parties: of one tool the same of both, a mean over what was pinged if there is one, else
/// the first; of two tools each one's mean or first. `None` where a party has none.
///
/// # Errors
///
/// Two results of one tool that have none in common.
fn same_pings<'a>(reference: &'a Party<'_>, other: &'a Party<'_>) -> Result<[Option<&'a str>; 2], Missing> {
    let best =
        |names: &BTreeSet<&'a str>| names.iter().find(|name| name.ends_with(" avg")).or_else(|| names.first()).copied();
    let (here, there) = match (reference.common_pings(), other.common_pings()) {
        (Some((tool, here)), Some((other, there))) if tool == other && !here.is_empty() && !there.is_empty() => {
            (here, there)
        }
        sides => return Ok([sides.0, sides.1].map(|side| side.and_then(|(_, names)| best(&names)))),
    };
    let shared: BTreeSet<&str> = here.intersection(&there).copied().collect();
    match best(&shared) {
        Some(name) => Ok([Some(name), Some(name)]),
        None => {
            let listed = |names: BTreeSet<&str>| names.into_iter().collect::<Vec<_>>().join(", ");
            Err(Missing::OtherPings { reference: listed(here), other: listed(there) })
        }
    }
}

/// Both sides' values of each replication in bins of one width.
type SameBins = (Duration, [Vec<Vec<f64>>; 2]);

/// Refuses tests one of which lasted longer than the other by more than 5 %; that of a run is known to a bin.
fn same_length(names: [&str; 2], a: &Binned, b: &Binned) -> Result<(), Incomparable> {
    let longer = a.length.max(b.length).as_nanos();
    if a.length.as_nanos().abs_diff(b.length.as_nanos()) <= longer / 20 + a.rounding.max(b.rounding).as_nanos() {
        return Ok(());
    }
    let [reference, other] = names.map(str::to_owned);
    Err(Incomparable::Windows { reference, here: a.length.to_string(), other, there: b.length.to_string() })
}

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
            taken: taken(reference, other, &draft),
            ..draft.comparison([reference.name(), other.name()], false, replications, options)
        }
    };
    Ok(drafts.into_iter().map(finish).collect())
}

/// What was taken of the files: whose count goodput is, and which round-trip times, of the metrics that were compared.
fn taken(reference: &Party<'_>, other: &Party<'_>, draft: &Draft) -> Vec<String> {
    let has = |metric| draft.found.iter().any(|(difference, _)| difference.metric == metric);
    let mut taken = Vec::new();
    for party in [reference, other].into_iter().filter(|_| has(Metric::Goodput)) {
        for (view, names) in party.views() {
            let names = names.into_iter().collect::<Vec<_>>().join(", ");
            taken.push(format!("goodput of {} ({names}): {}", party.name(), view.text()));
        }
    }
    if has(Metric::RoundTripTime)
        && let Ok([Some(here), Some(there)]) = same_pings(reference, other)
    {
        taken.push(match here == there {
            true => format!("round-trip times: {here}"),
            false => format!("round-trip times: {here} of {}, {there} of {}", reference.name(), other.name()),
        });
    }
    taken
}

fn draft(reference: &Party<'_>, other: &Party<'_>, options: &Options) -> Result<Draft, Incomparable> {
    let mut draft = Draft { found: Vec::new(), left_out: BTreeMap::new() };
    let [of_reference, of_other] = [reference, other].map(Party::replications);
    if options.pairing == Pairing::Paired && of_reference != of_other {
        let why = Unpaired::Numbers { reference: of_reference, other: of_other };
        let (reference, other) = (reference.name().to_owned(), other.name().to_owned());
        return Err(Incomparable::NotPaired { reference, other, why });
    }
    let pings = same_pings(reference, other);
    for metric in Metric::ALL.into_iter().filter(|metric| options.wants(*metric)) {
        let names = match &pings {
            Err(why) if metric == Metric::RoundTripTime => Err(why.clone()),
            names => Ok(names.clone().unwrap_or_default()),
        };
        let both = names.map(|[here, there]| (reference.binned(metric, here), other.binned(metric, there)));
        match both.unwrap_or_else(|why| (Err(why.clone()), Err(why))) {
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
    let of_lengths = a.first().map_or(Ok(()), |first| b.iter().try_for_each(|one| same_length(names, first, one)));
    let (bin, series) = same_bins(metric, names, a, b)?;
    of_lengths?;
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
        other_draws: false,
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
            lengths: Vec::new(),
            view: None,
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

    #[test]
    fn the_shared_ping_is_compared_and_named() {
        let pinged = |names: &[&str]| {
            let mut results = results(60, 1e7);
            let ping = results.series.iter().position(|one| one.quantity == Quantity::RoundTripNanos).unwrap();
            let ping = results.series.remove(ping);
            // Each has a round-trip time of its own, that of UDP ten times as long.
            for name in names {
                let factor = if name.contains("UDP") { 10.0 } else { 1.0 };
                let points = ping.points.iter().map(|(at, value)| (*at, value * factor)).collect();
                results.series.push(Series { name: (*name).to_owned(), points, ..ping.clone() });
            }
            results.tool = "flent";
            results
        };
        let (icmp, udp) = ("Ping (ms) ICMP", "Ping (ms) UDP BE");
        let comparison = compared(&[pinged(&[udp])], &[pinged(&[icmp, udp])]).unwrap().remove(0);
        assert_eq!(comparison.difference(Metric::RoundTripTime).unwrap().verdict.outcome, Outcome::Same);
        assert_eq!(comparison.taken, ["round-trip times: Ping (ms) UDP BE"]);
        let comparison = compared(&[pinged(&[udp])], &[pinged(&[icmp])]).unwrap().remove(0);
        let why = "no series in common: Ping (ms) UDP BE; Ping (ms) ICMP";
        assert_eq!(comparison.left_out["round_trip_time"], why);
    }

    #[test]
    fn the_answer_says_whose_count_goodput_is() {
        let mut sent = results(60, 1e7);
        sent.series.iter_mut().for_each(|one| one.view = one.way.map(|_| View::Sender));
        let comparison = compared(&[results(60, 1e7)], &[sent]).unwrap().remove(0);
        let expected =
            "goodput of b (TCP download, TCP upload sum): what the socket of the sender took, not what arrived";
        assert_eq!(comparison.taken[0], expected);
    }

    #[test]
    fn lengths_of_short_tests_agree_within_5_percent() {
        assert!(matches!(compared(&[results(10, 1e7)], &[results(11, 1e7)]), Err(Incomparable::Windows { .. })));
        assert!(compared(&[results(40, 1e7)], &[results(41, 1e7)]).is_ok());
    }
}
