//! How far a run can be trusted: three words, each with its reasons (`docs/guide/trust.md`).

use std::fmt::{self, Display};

use serde::Serialize;

use crate::compare::{Comparison, Judgement, Method, Score};
use crate::gates::Gate;
use crate::run::Run;
use crate::warning::Warning;

/// Whether everything that happened is accounted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Accounted {
    /// Every gate passed.
    Valid,
    /// Usable, with a reservation that the gates name.
    Degraded,
    /// Not a measurement of what was asked for.
    Invalid,
}

/// Whether what happened can be true of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Plausible {
    /// Nothing speaks against it.
    Yes,
    /// Something does.
    Doubtful,
}

/// How far a replay is from its original.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Likeness {
    /// Every metric of the score card is judged the same.
    #[serde(rename = "same")]
    Same,
    /// There is no original, or the run is under other conditions.
    #[serde(rename = "not compared")]
    NotCompared,
    /// Every metric is the same or close.
    #[serde(rename = "close")]
    Close,
    /// A metric is different.
    #[serde(rename = "different")]
    Different,
}

/// What a reader sees first of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Light {
    /// Nothing to say.
    Green,
    /// Read the reasons.
    Yellow,
    /// Do not use it before the reasons are understood.
    Red,
}

impl Accounted {
    /// The worst that a gate says.
    pub fn of(gates: &[Gate]) -> Accounted {
        gates.iter().map(|gate| gate.verdict).max().unwrap_or(Accounted::Invalid)
    }

    /// Its colour.
    pub fn light(self) -> Light {
        match self {
            Accounted::Valid => Light::Green,
            Accounted::Degraded => Light::Yellow,
            Accounted::Invalid => Light::Red,
        }
    }
}

impl Display for Accounted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Accounted::Valid => "VALID",
            Accounted::Degraded => "DEGRADED",
            Accounted::Invalid => "INVALID",
        })
    }
}

impl Plausible {
    fn light(self) -> Light {
        match self {
            Plausible::Yes => Light::Green,
            Plausible::Doubtful => Light::Red,
        }
    }
}

impl Display for Plausible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Plausible::Yes => "yes",
            Plausible::Doubtful => "doubtful",
        })
    }
}

impl Likeness {
    /// `None` of too few values.
    fn of(judgement: Judgement) -> Option<Likeness> {
        match judgement {
            Judgement::Same => Some(Likeness::Same),
            Judgement::Close => Some(Likeness::Close),
            Judgement::Different => Some(Likeness::Different),
            Judgement::CannotTell => None,
        }
    }

    fn light(self) -> Light {
        match self {
            Likeness::Same | Likeness::NotCompared => Light::Green,
            Likeness::Close => Light::Yellow,
            Likeness::Different => Light::Red,
        }
    }
}

impl Display for Likeness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Likeness::Same => "same",
            Likeness::NotCompared => "not compared",
            Likeness::Close => "close",
            Likeness::Different => "different",
        })
    }
}

/// A word and why it is this one; the best words have no reasons.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Word<T> {
    /// The word.
    pub word: T,
    /// The reasons, each in a few words.
    pub reasons: Vec<String>,
}

/// The three words.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Whether everything that happened is accounted for.
    pub accounted: Word<Accounted>,
    /// Whether it can be true of a network.
    pub plausible: Word<Plausible>,
    /// How far the replay is from its original.
    pub fidelity: Word<Likeness>,
}

impl Verdict {
    /// Of a run with these gates and warnings; `with_original` is the run beside its original, where it has one.
    pub fn new(run: &Run, gates: &[Gate], warnings: &[Warning], with_original: Option<&Comparison>) -> Verdict {
        let doubts: Vec<String> =
            warnings.iter().filter(|warning| warning.is_doubt()).map(|doubt| doubt.cause()).collect();
        let word = if doubts.is_empty() { Plausible::Yes } else { Plausible::Doubtful };
        Verdict {
            accounted: accounted(gates),
            plausible: Word { word, reasons: doubts },
            fidelity: fidelity(run, with_original),
        }
    }

    /// The worst of the three colours.
    pub fn light(&self) -> Light {
        self.accounted.word.light().max(self.plausible.word.light()).max(self.fidelity.word.light())
    }

    /// The words with what they are words for.
    pub fn words(&self) -> [(&'static str, String, Light); 3] {
        let Verdict { accounted, plausible, fidelity } = self;
        [
            ("accounted", accounted.word.to_string(), accounted.word.light()),
            ("plausible", plausible.word.to_string(), plausible.word.light()),
            ("fidelity", fidelity.word.to_string(), fidelity.word.light()),
        ]
    }
}

fn accounted(gates: &[Gate]) -> Word<Accounted> {
    let word = Accounted::of(gates);
    let worst = gates.iter().filter(|gate| gate.verdict == word && word != Accounted::Valid);
    Word { word, reasons: worst.map(|gate| format!("{}: {}", gate.name, gate.found)).collect() }
}

/// The worst judgement of the card decides, metrics that are not the same are the reasons.
fn fidelity(run: &Run, with_original: Option<&Comparison>) -> Word<Likeness> {
    let not_compared = |why: String| Word { word: Likeness::NotCompared, reasons: vec![why] };
    // What was replayed in another structure has an original, and nothing that could be compared.
    if !run.facts.changes.is_empty() && (with_original.is_some() || run.facts.original.is_some()) {
        return not_compared(format!("under other conditions: {}", run.facts.changes.join(", ")));
    }
    let Some(comparison) = with_original else { return not_compared("there is no original".to_owned()) };
    let judged: Vec<(&Score, Likeness)> =
        comparison.card.iter().filter_map(|score| Some((score, Likeness::of(score.judgement)?))).collect();
    let worst = judged.iter().map(|(_, likeness)| *likeness).max();
    // What unfinished values leave open may be the worst.
    let open = comparison.card.iter().find(|score| score.is_open()).filter(|_| worst != Some(Likeness::Different));
    if let Some(score) = open {
        let why = "depend on connections and exchanges that had not ended with the run";
        return not_compared(format!("{} {why}", score.metric.plural()));
    }
    // A series has ten bins soon, of a single connection too.
    let Some(word) = worst.filter(|_| judged.iter().any(|(score, _)| !score.metric.is_series())) else {
        return not_compared("neither response times nor durations have ten values".to_owned());
    };
    let mut apart: Vec<&Score> =
        judged.iter().filter(|(_, likeness)| *likeness != Likeness::Same).map(|(score, _)| *score).collect();
    // Without a distance the original has nothing of what the replay has.
    let distance = |score: &Score| score.distance.unwrap_or(f64::MAX);
    apart.sort_by(|a, b| distance(b).total_cmp(&distance(a)));
    let reason = |score: &Score| {
        let how = match (score.method, &score.ratio, score.distance) {
            (Method::RatioOfMeans, Some(ratio), _) => {
                format!("ratio of means {}", ratio.show(flowloom_core::units::three_digits))
            }
            (_, _, Some(distance)) => format!("tolerant KS {distance:.3}"),
            (_, _, None) => "none in the original".to_owned(),
        };
        format!("{}: {how}", score.metric.plural())
    };
    Word { word, reasons: apart.into_iter().map(reason).collect() }
}
