//! How far a run can be trusted: three words, each with its reasons (`docs/guide/trust.md`).

pub(crate) mod words;

pub use words::{Accounted, Light, Likeness, Plausible, Verdict, Word};

use crate::compare::{Comparison, Judgement, Method, Score};
use crate::gates::Gate;
use crate::run::Run;
use crate::warning::Warning;

impl Accounted {
    /// The worst that a gate says.
    pub fn of(gates: &[Gate]) -> Accounted {
        gates.iter().map(|gate| gate.verdict).max().unwrap_or(Accounted::Invalid)
    }
}

impl Verdict {
    /// Of a run with these gates and warnings; `with_original` is the run beside its original, where it has one.
    pub fn new(run: &Run, gates: &[Gate], warnings: &[Warning], with_original: Option<&Comparison>) -> Verdict {
        let doubts: Vec<String> =
            warnings.iter().filter(|warning| warning.is_doubt()).map(|doubt| doubt.cause()).collect();
        let word = if doubts.is_empty() { Plausible::Yes } else { Plausible::Doubtful };
        Verdict {
            accounted: Word::accounted(gates),
            plausible: Word { word, reasons: doubts },
            fidelity: fidelity(run, with_original),
        }
    }
}

impl Word<Accounted> {
    /// What these gates come to.
    pub fn accounted(gates: &[Gate]) -> Word<Accounted> {
        let word = Accounted::of(gates);
        let worst = gates.iter().filter(|gate| gate.verdict == word && word != Accounted::Valid);
        Word { word, reasons: worst.map(|gate| format!("{}: {}", gate.name, gate.found)).collect() }
    }
}

/// `None` of too few values.
fn likeness(judgement: Judgement) -> Option<Likeness> {
    match judgement {
        Judgement::Same => Some(Likeness::Same),
        Judgement::Close => Some(Likeness::Close),
        Judgement::Different => Some(Likeness::Different),
        Judgement::CannotTell => None,
    }
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
        comparison.card.iter().filter_map(|score| Some((score, likeness(score.judgement)?))).collect();
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
