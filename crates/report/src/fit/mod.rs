//! Laws fitted to the variables of a workload: which fits best, and how it is written in an experiment.

pub mod experiment;
pub mod harpoon;
pub mod swing;
pub mod text;
mod variable;
mod written;

use std::collections::BTreeMap;

use flowloom_core::distribution::{Distribution, Law};
use flowloom_core::play::Waits;
use flowloom_core::sketch::Sketch;
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{Adu, ConnectionVector, Evidence, LinkSide, Pattern, Protocol, Side, sum};
use flowloom_models::fit::{Family, Fit, Tail, Values, fit, largest_distance};
use flowloom_store::silence::JUMP;
use serde::Serialize;

pub use variable::FitVariable;

use crate::metric::Unit;
use written::{as_numbers, as_quantities, empirical_law, rounded, smallest_in_key, time};

/// Takes the connections of a workload in, in the order of their starts; its memory is bounded: at most 2.3 MB for each variable.
#[derive(Clone, Debug, Default)]
pub struct Fitter {
    sketches: BTreeMap<FitVariable, Sketch>,
    last_start: Option<Time>,
    connections: u64,
    from_left: u64,
    observed: Option<Duration>,
    /// Exchanges that have a request.
    exchanges: u64,
    /// Bytes of their answers, 0 where there is none.
    answers: Sketch,
    /// Payload of all connections, and of the exchanges.
    payload: [u64; 2],
}

/// The exchanges of sequential connections that have a request: what an experiment draws.
#[derive(Clone, Debug)]
pub(crate) struct Exchanges {
    pub(crate) count: u64,
    /// What the acceptor answers, nothing where it does not.
    pub(crate) answers: FittedVariable,
    /// Share of the payload of all connections that is in them.
    pub(crate) payload_share: f64,
}

/// What was found: the object that `fit --json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct Fitted {
    /// The file, as given; `None` if names are to be left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// TCP connections.
    pub connections: u64,
    /// How long the input was observed, in nanoseconds; null where it does not say.
    pub observed_ns: Option<u64>,
    /// Share of them whose initiator is on the left of the link.
    pub from_left: f64,
    /// The variables that have values.
    pub variables: Vec<FittedVariable>,
    /// The exchanges, if there are any.
    #[serde(skip)]
    pub(crate) exchanges: Option<Exchanges>,
}

/// A variable and the laws that were fitted to it.
#[derive(Clone, Debug, Serialize)]
pub struct FittedVariable {
    /// Its name, as `--variable` takes it.
    #[serde(rename = "variable")]
    pub name: &'static str,
    /// Which.
    #[serde(skip)]
    pub variable: FitVariable,
    /// What its values are counted in: `ns`, `bytes` or nothing.
    pub unit: &'static str,
    /// How many values.
    pub n: u64,
    /// How many of them are zero; laws are fitted to the others.
    pub zeros: u64,
    /// Mean of all.
    pub mean: f64,
    /// Median of all.
    pub median: f64,
    /// Quantile 0.99 of all.
    pub p99: f64,
    /// Largest.
    pub max: f64,
    /// The laws, the nearest by Kolmogorov-Smirnov distance first.
    pub laws: Vec<FittedLaw>,
    /// The largest distance of a law that describes the values (methods E.7); null where none is above zero.
    pub largest_ks: Option<f64>,
    /// The family that the values are most likely of (Akaike's criterion); null without laws.
    pub most_likely: Option<&'static str>,
    /// What to write in an experiment: the nearest law that has a mean, if it describes the values, else the values themselves.
    pub proposed: Proposed,
    /// Families that do not fit, with the reason.
    pub refused: Vec<Refused>,
    /// The tail, where there are enough values.
    pub tail: Option<Tail>,
    /// The values above zero.
    #[serde(skip)]
    pub(crate) values: Values,
}

/// A fitted law.
#[derive(Clone, Debug, Serialize)]
pub struct FittedLaw {
    /// Its family.
    pub kind: &'static str,
    /// Kolmogorov-Smirnov distance to the values above zero.
    pub ks: f64,
    /// Anderson and Darling's statistic; null where the law calls a value impossible or is discrete.
    pub anderson_darling: Option<f64>,
    /// Logarithm of the likelihood.
    pub log_likelihood: f64,
    /// Akaike's criterion, less that of the best.
    pub delta_aic: f64,
    /// Its mean, zeros included; null if it is infinite.
    pub mean: Option<f64>,
    /// As keys of source models take it: times in milliseconds, sizes in bytes.
    pub numbers: String,
    /// As keys with quantities take it; null of counts.
    pub quantities: Option<String>,
    /// The law of the values above zero.
    #[serde(skip)]
    pub(crate) law: Distribution,
}

/// What to write in an experiment.
#[derive(Clone, Debug, Serialize)]
pub struct Proposed {
    /// The kind of law: `empirical` if none describes the values.
    pub kind: &'static str,
    /// As keys of source models take it: times in milliseconds, sizes in bytes.
    pub numbers: String,
    /// As keys with quantities take it; null of counts.
    pub quantities: Option<String>,
}

/// A family that does not fit.
#[derive(Clone, Debug, Serialize)]
pub struct Refused {
    /// Which.
    pub kind: &'static str,
    /// Why.
    pub reason: String,
}

impl Fitter {
    /// Takes one more vector into account; flows of datagrams are not looked at.
    pub fn add(&mut self, vector: &ConnectionVector) {
        if vector.protocol != Protocol::Tcp {
            return;
        }
        self.connections += 1;
        self.from_left += u64::from(vector.initiator_side == LinkSide::Left);
        let nanos = |time: Option<Duration>| time.map(Duration::as_nanos);
        let last = self.last_start.replace(vector.start);
        // A jump of the clock is no time between two connections.
        let gap = last.map(|last| vector.start.since(last)).filter(|gap| *gap <= JUMP);
        self.put(FitVariable::Interarrival, nanos(gap));
        let bytes = Side::BOTH.map(|side| vector.bytes(side)).iter().sum();
        self.payload[0] = sum([self.payload[0], bytes]);
        self.put(FitVariable::ConnectionBytes, [bytes]);
        self.put(FitVariable::Duration, nanos(vector.duration()));
        self.put(FitVariable::Rtt, nanos(vector.min_rtt()));
        self.put(FitVariable::InitiatorWindow, vector.window(Side::Initiator));
        self.put(FitVariable::AcceptorWindow, vector.window(Side::Acceptor));
        // One request and one response stand for all that were: nothing of them is an observation.
        if vector.evidence == Evidence::FlowRecord {
            return;
        }
        self.put(FitVariable::AduBytes, vector.adus.iter().map(|adu| adu.bytes));
        for adu in &vector.adus {
            let waited = match adu.waiter {
                Side::Initiator => FitVariable::InitiatorWait,
                Side::Acceptor => FitVariable::AcceptorWait,
            };
            self.put(waited, nanos(adu.wait));
        }
        if vector.pattern == Pattern::Sequential {
            let mut epochs = 0;
            for epoch in vector.epochs() {
                epochs += 1;
                let bytes = |adu: Option<Adu>| adu.map_or(0, |adu| adu.bytes);
                if epoch.request.is_some() {
                    self.exchanges += 1;
                    self.answers.add(bytes(epoch.response));
                    self.payload[1] = sum([self.payload[1], bytes(epoch.request), bytes(epoch.response)]);
                }
                self.put(FitVariable::RequestBytes, epoch.request.map(|adu| adu.bytes));
                self.put(FitVariable::ResponseBytes, epoch.response.map(|adu| adu.bytes));
                // Models add the path's transits again, as a replay does.
                let think = epoch.request.filter(|_| epoch.response.is_some()).and_then(|request| request.wait);
                let transit = vector.ends.acceptor.min_transit;
                self.put(FitVariable::ThinkTime, nanos(think.map(|raw| Waits::CORRECTED.replayed(raw, transit))));
            }
            self.put(FitVariable::Epochs, [epochs]);
        }
    }

    /// Says how long the input was observed, jumps of its clock left out.
    pub fn set_observed(&mut self, observed: Duration) {
        self.observed = Some(observed).filter(|observed| !observed.is_zero());
    }

    fn put(&mut self, variable: FitVariable, values: impl IntoIterator<Item = u64>) {
        let mut values = values.into_iter().peekable();
        if values.peek().is_some() {
            self.sketches.entry(variable).or_default().extend(values);
        }
    }

    /// Fits every law to those of `variables` that have values.
    pub fn finish(self, name: Option<String>, variables: &[FitVariable]) -> Fitted {
        let wanted = variables.iter().filter_map(|variable| Some((*variable, self.sketches.get(variable)?)));
        let [payload, in_exchanges] = self.payload;
        Fitted {
            name,
            connections: self.connections,
            observed_ns: self.observed.map(Duration::as_nanos),
            from_left: self.from_left as f64 / self.connections.max(1) as f64,
            variables: wanted.filter_map(|(variable, sketch)| fitted(variable, sketch)).collect(),
            exchanges: fitted(FitVariable::ResponseBytes, &self.answers).filter(|_| variables.len() > 1).map(
                |answers| Exchanges {
                    count: self.exchanges,
                    answers,
                    payload_share: in_exchanges as f64 / payload.max(1) as f64,
                },
            ),
        }
    }
}

fn fitted(variable: FitVariable, sketch: &Sketch) -> Option<FittedVariable> {
    let empirical = sketch.empirical();
    let all = Values::new(empirical.steps().iter().map(|step| (step.value as f64, step.count)));
    let values = all.positive();
    let zeros = all.zeros();
    let share = zeros as f64 / all.count() as f64;
    let (mut fits, mut refused) = (Vec::new(), Vec::new());
    // One value is no law: what an experiment needs is the value.
    let only = values.min().filter(|min| values.count() >= 5 && Some(*min) == values.max());
    if let Some(value) = only {
        let (numbers, unit) = (rounded(value / smallest_in_key(variable.unit())), variable.unit());
        let written = match unit {
            Unit::Time => format!("\"{}\"", time(value)),
            Unit::Bytes => format!("\"{value:.0}b\""),
            _ => numbers.to_string(),
        };
        let reason =
            format!("all values above zero are equal: write {written} or, where plain numbers stand, {numbers}");
        refused.push(Refused { kind: "any law", reason });
    }
    for family in Family::ALL.into_iter().filter(|_| only.is_none()) {
        // Bytes and nanoseconds are whole too, but nobody counts them.
        if family == Family::Geometric && variable.unit() != Unit::Count {
            continue;
        }
        match fit(family, &values) {
            Ok(fit) => fits.push(fit),
            Err(reason) => refused.push(Refused { kind: family.name(), reason: reason.to_string() }),
        }
    }
    fits.sort_by(|one, other| one.ks.total_cmp(&other.ks));
    let likeliest = fits.iter().min_by(|one, other| one.aic.total_cmp(&other.aic));
    let (most_likely, least) = (likeliest.map(|fit| fit.family.name()), likeliest.map_or(0.0, |fit| fit.aic));
    let laws: Vec<FittedLaw> = fits.into_iter().map(|fit| fitted_law(fit, share, least, variable.unit())).collect();
    let largest_ks = (values.count() > 0).then(|| largest_distance(values.count()));
    // Without a mean there is no load, and results depend on the longest draw.
    let nearest = laws.iter().find(|law| law.mean.is_some());
    let proposed = match nearest.filter(|law| largest_ks.is_some_and(|largest| law.ks <= largest)) {
        Some(law) => Proposed { kind: law.kind, numbers: law.numbers.clone(), quantities: law.quantities.clone() },
        None => {
            let law = empirical_law(&all);
            Proposed {
                kind: "empirical",
                numbers: as_numbers(&law, variable.unit()),
                quantities: as_quantities(&law, variable.unit()),
            }
        }
    };
    Some(FittedVariable {
        name: variable.name(),
        variable,
        unit: match variable.unit() {
            Unit::Time => "ns",
            Unit::Bytes => "bytes",
            _ => "",
        },
        n: all.count(),
        zeros,
        mean: empirical.mean()?,
        median: empirical.quantile(0.5)? as f64,
        p99: empirical.quantile(0.99)? as f64,
        max: empirical.max()? as f64,
        laws,
        largest_ks,
        most_likely,
        proposed,
        refused,
        tail: Tail::of(&values),
        values,
    })
}

impl FittedVariable {
    /// The values themselves as a law, as keys of source models take it.
    pub(crate) fn empirical(&self) -> String {
        let zeros = std::iter::once((0.0, self.zeros)).filter(|(_, count)| *count > 0);
        let all = Values::new(zeros.chain(self.values.steps().iter().copied()));
        as_numbers(&empirical_law(&all), self.variable.unit())
    }
}

/// A law of the values above zero as experiments write it for all values, of which `zeros` is the share of zeros; `least` is the smallest of
/// Akaike's criteria.
fn fitted_law(fit: Fit, zeros: f64, least: f64, unit: Unit) -> FittedLaw {
    let whole = match zeros {
        0.0 => fit.law.law().clone(),
        _ => Law::Mixture(vec![(zeros, Law::Constant(0.0)), (1.0 - zeros, fit.law.law().clone())]),
    };
    FittedLaw {
        kind: fit.family.name(),
        ks: fit.ks,
        anderson_darling: fit.anderson_darling,
        log_likelihood: fit.log_likelihood,
        delta_aic: fit.aic - least,
        mean: fit.law.mean().map(|mean| mean * (1.0 - zeros)),
        numbers: as_numbers(&whole, unit),
        quantities: as_quantities(&whole, unit),
        law: fit.law,
    }
}

#[cfg(test)]
mod tests {
    use flowloom_core::rng::{Purpose, Stream};

    use super::*;

    fn sketch(law: Law, draws: u64) -> Sketch {
        let (law, mut stream) = (Distribution::new(law).unwrap(), Stream::new(1, Purpose::Sizes, 0));
        let mut sketch = Sketch::default();
        (0..draws).for_each(|_| sketch.add(law.sample(&mut stream).round() as u64));
        sketch
    }

    #[test]
    fn the_law_that_made_the_values_is_the_nearest() {
        let laws = [
            ("lognormal", Law::LognormalMuSigma { mu: 18.0, sigma: 1.2 }),
            ("weibull", Law::Weibull { shape: 0.5, scale: 1e7 }),
            ("gamma", Law::Gamma { shape: 4.0, scale: 1e7 }),
            ("normal", Law::Normal { mean: 5e7, sd: 1e7 }),
        ];
        for (kind, law) in laws {
            let found = fitted(FitVariable::Rtt, &sketch(law, 100_000)).unwrap();
            assert_eq!(found.laws[0].kind, kind, "{:?}", found.laws);
            // Of 100,000 independent values 1.63 / sqrt(n) is exceeded once in a hundred times.
            assert!(found.laws[0].ks < 0.005_2 && found.laws[0].delta_aic < 10.0, "{:?}", found.laws[0]);
            assert!(found.laws.iter().all(|law| law.kind != "geometric"));
        }
    }

    /// Two answers after 60 and 25 ms, of which 40 and all 25 ms are the transit to the acceptor and back; the request without an
    /// answer, and waits of concurrent connections, are no think times.
    #[test]
    fn think_times_are_those_of_answers_at_the_acceptor() {
        let ms = Duration::from_millis;
        let adu =
            |side, wait, waiter| Adu { side, bytes: 10, missing_bytes: 0, wait, waiter, seen: None, packets: None };
        let request = |wait| adu(Side::Initiator, Some(ms(wait)), Side::Acceptor);
        let mut vector = ConnectionVector {
            adus: vec![
                request(60),
                adu(Side::Acceptor, Some(ms(7)), Side::Initiator),
                request(25),
                adu(Side::Acceptor, Some(ms(7)), Side::Initiator),
                adu(Side::Initiator, Some(ms(900)), Side::Initiator),
                adu(Side::Initiator, None, Side::Initiator),
            ],
            ..ConnectionVector::default()
        };
        vector.ends.acceptor.min_transit = Some(ms(40));
        let mut fitter = Fitter::default();
        fitter.add(&vector);
        vector.pattern = Pattern::Concurrent;
        fitter.add(&vector);
        let think = fitter.sketches[&FitVariable::ThinkTime].empirical();
        let values: Vec<(u64, u64)> = think.steps().iter().map(|step| (step.value, step.count)).collect();
        assert_eq!(values, [(0, 1), (20_000_000, 1)]);
        assert_eq!(fitter.sketches[&FitVariable::AcceptorWait].count(), 4, "waits are as the monitor saw them");
    }

    #[test]
    fn a_tail_index_is_found_within_its_error() {
        let found =
            fitted(FitVariable::ResponseBytes, &sketch(Law::Pareto { min: 1e6, shape: 1.23 }, 200_000)).unwrap();
        assert!(found.laws[0].kind.ends_with("pareto"));
        let tail = found.tail.unwrap();
        assert!((tail.hill.alpha - 1.23).abs() < 0.05 && tail.level, "{tail:?}");
    }

    #[test]
    fn zeros_are_a_part_of_what_is_written() {
        let mut sketch = sketch(Law::Exponential { mean: 8e6 }, 3_000);
        sketch.extend([0; 1_000]);
        let found = fitted(FitVariable::AcceptorWait, &sketch).unwrap();
        assert_eq!((found.n, found.zeros), (4_000, 1_000));
        let exponential = found.laws.iter().find(|law| law.kind == "exponential").unwrap();
        let beginning = "{ kind = \"mixture\", parts = [{ of = { kind = \"constant\", value = ";
        assert!(
            exponential
                .numbers
                .starts_with(&format!("{beginning}0 }}, weight = 0.25 }}, {{ of = {{ kind = \"exponential\""))
        );
        assert!(
            exponential.quantities.as_ref().unwrap().starts_with(&format!("{beginning}\"0ns\" }}, weight = 0.25 }}"))
        );
        assert!((exponential.mean.unwrap() / 6e6 - 1.0).abs() < 0.1);
    }

    #[test]
    fn one_value_is_no_law() {
        let mut sketch = Sketch::default();
        sketch.extend([40_000_000; 7]);
        let found = fitted(FitVariable::Rtt, &sketch).unwrap();
        assert!(found.laws.is_empty());
        assert!(
            found.refused[0].reason.ends_with("write \"40ms\" or, where plain numbers stand, 40"),
            "{:?}",
            found.refused
        );
    }

    #[test]
    fn a_law_without_a_mean_is_not_proposed() {
        let cases =
            [0.5, 0.6, 0.7, 0.8, 0.9].into_iter().flat_map(|shape| [100, 300, 1_000].map(|draws| (shape, draws)));
        let mut nearest = 0;
        for (shape, draws) in cases {
            let found = fitted(FitVariable::Rtt, &sketch(Law::Pareto { min: 1e5, shape }, draws)).unwrap();
            let proposed = found.laws.iter().find(|law| law.kind == found.proposed.kind);
            assert!(proposed.is_none_or(|law| law.mean.is_some()), "{shape} {draws}: {:?}", found.proposed);
            if found.laws[0].mean.is_none() {
                nearest += 1;
                let line = &text::finding_lines(&found)[0];
                assert!(line.contains(found.laws[0].kind) && line.contains("no mean"), "{line}");
            }
        }
        assert!(nearest > 0, "Pareto is nearest to none of its own draws");
    }

    /// Two lumps of 20 ms and 3 s: no law has them, and the proposal is what was seen.
    #[test]
    fn values_without_a_law_are_proposed_themselves() {
        let mut sketch = Sketch::default();
        sketch.extend((0..300).flat_map(|i| [20_000_000 + 1_000 * i, 3_000_000_000 + 70_000 * i]));
        let found = fitted(FitVariable::InitiatorWait, &sketch).unwrap();
        assert_eq!(found.largest_ks, Some(0.05));
        assert!(found.laws[0].ks > 0.05, "{:?}", found.laws[0]);
        assert_eq!(found.proposed.kind, "empirical");
        let law: Distribution =
            toml::from_str::<toml::Table>(&format!("law = {}", found.proposed.numbers)).unwrap()["law"]
                .clone()
                .try_into()
                .unwrap();
        assert!((law.mean().unwrap() * 1e6 / found.mean - 1.0).abs() < 1e-4);
        let milliseconds: Values = found.values.steps().iter().map(|(value, _)| value / 1e6).collect();
        assert!(flowloom_models::fit::kolmogorov_smirnov(&milliseconds, &law) < 0.011);
        let lines = text::finding_lines(&found);
        assert!(lines[0].starts_with("no law describes these values: the nearest, "), "{lines:?}");
        assert!(lines[0].contains("kind = \"empirical\""), "{lines:?}");
    }

    /// Of a mixture the body decides the distance and the tail the likelihood.
    #[test]
    fn criteria_that_disagree_are_told() {
        let mut sketch = sketch(Law::LognormalMuSigma { mu: 18.0, sigma: 1.2 }, 3_000);
        let mut one = fitted(FitVariable::Rtt, &sketch).unwrap();
        assert_eq!(
            (one.laws[0].kind, one.most_likely, one.proposed.kind),
            ("lognormal", Some("lognormal"), "lognormal")
        );
        assert_eq!(text::finding_lines(&one).len(), 1);
        // A little less likely is as likely.
        one.most_likely = Some("gamma");
        one.laws[0].delta_aic = 2.0;
        assert_eq!(text::finding_lines(&one).len(), 1);
        one.laws[0].delta_aic = 2.1;
        assert!(text::finding_lines(&one)[1].contains("gamma is most likely"), "{:?}", text::finding_lines(&one));
        // All equal, or too few for any law: the values are the proposal too.
        sketch = Sketch::default();
        sketch.extend([300, 300, 300, 7]);
        let few = fitted(FitVariable::RequestBytes, &sketch).unwrap();
        assert_eq!(few.proposed.numbers, "{ kind = \"empirical\", values = [[7, 0.25], [300, 0.75]] }");
    }

    #[test]
    fn waits_belong_to_who_waited_and_what_is_not_known_is_left_out() {
        let adu = |side, bytes, wait: Option<u64>, waiter| Adu {
            side,
            bytes,
            missing_bytes: 0,
            wait: wait.map(Duration::from_millis),
            waiter,
            seen: None,
            packets: None,
        };
        let (client, server) = (Side::Initiator, Side::Acceptor);
        let adus = vec![
            adu(client, 300, Some(20), server),
            adu(server, 9_000, Some(700), client),
            adu(client, 200, Some(30), server),
            adu(server, 1_000, None, server),
        ];
        let vector = ConnectionVector { adus, start: Time::from_nanos(5_000), ..ConnectionVector::default() };
        let mut fitter = Fitter::default();
        fitter.add(&vector);
        fitter.add(&ConnectionVector { start: Time::from_nanos(12_000), ..vector.clone() });
        fitter.add(&ConnectionVector { protocol: Protocol::Udp, ..vector });
        let count = |variable| fitter.sketches.get(&variable).map_or(0, Sketch::count);
        assert_eq!(fitter.connections, 2);
        let counts =
            [FitVariable::AcceptorWait, FitVariable::InitiatorWait, FitVariable::Epochs, FitVariable::AduBytes];
        assert_eq!(counts.map(count), [4, 2, 2, 8]);
        assert_eq!(fitter.sketches[&FitVariable::Interarrival].empirical().max(), Some(7_000));
        assert_eq!(count(FitVariable::Duration), 0, "nobody saw when data passed");
    }
}
