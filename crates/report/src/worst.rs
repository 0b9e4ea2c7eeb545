//! The verdict over several runs: the worst of each word, which runs have it, and why.

use std::fmt::Display;

use serde::Serialize;

use crate::verdict::words::{Accounted, Likeness, Plausible, Verdict, Word};

/// The worst of each word over several runs, each of which is called by an `R`: its seed, or its name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorstVerdict<R> {
    /// Whether everything that happened is accounted for.
    pub accounted: WorstWord<Accounted, R>,
    /// Whether it can be true of a network.
    pub plausible: WorstWord<Plausible, R>,
    /// How far the replays are from their original.
    pub fidelity: WorstWord<Likeness, R>,
}

/// The worst word that a run has.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorstWord<T, R> {
    /// The word.
    pub word: T,
    /// The runs that have it.
    #[serde(rename = "seeds")]
    pub runs: Vec<R>,
    /// Why, each reason once; the best words have none.
    pub reasons: Vec<Reason<R>>,
    /// Whether all runs have it.
    #[serde(skip)]
    is_of_all: bool,
}

/// Why runs have a word.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reason<R> {
    /// The reason.
    pub reason: String,
    /// The runs that have it.
    #[serde(rename = "seeds")]
    pub runs: Vec<R>,
}

/// Reasons told of a word that several runs have, at most; JSON has all of them.
const MOST_REASONS: usize = 6;

impl<R: Clone + Display> WorstVerdict<R> {
    /// That of runs with these verdicts; `None` without any.
    pub fn of<'a>(verdicts: impl IntoIterator<Item = (R, &'a Verdict)>) -> Option<WorstVerdict<R>> {
        let verdicts: Vec<(R, &Verdict)> = verdicts.into_iter().collect();
        Some(WorstVerdict {
            accounted: worst(&verdicts, |verdict| &verdict.accounted)?,
            plausible: worst(&verdicts, |verdict| &verdict.plausible)?,
            fidelity: worst(&verdicts, |verdict| &verdict.fidelity)?,
        })
    }

    /// The words as one verdict. A reason that not all runs have names those that do, with `noun` before them.
    pub fn told(&self, noun: &str) -> Verdict {
        Verdict {
            accounted: self.accounted.told(noun),
            plausible: self.plausible.told(noun),
            fidelity: self.fidelity.told(noun),
        }
    }

    /// What stands behind each word: the runs that have it, if some have a better one.
    pub fn owners(&self, noun: &str) -> [String; 3] {
        [self.accounted.owners(noun), self.plausible.owners(noun), self.fidelity.owners(noun)]
    }
}

impl WorstVerdict<u64> {
    /// `INVALID (seed 3): packets: 5 are unaccounted for; doubtful: ...`: what keeps runs from being compared without a second thought;
    /// `None` if there is nothing.
    pub fn told_if_bad(&self) -> Option<String> {
        let [accounted, plausible, _] = self.owners("seed");
        let Verdict { accounted: first, plausible: second, .. } = self.told("seed");
        let words = [
            (first.word != Accounted::Valid)
                .then(|| format!("{}{accounted}: {}", first.word, first.reasons.join("; "))),
            (second.word != Plausible::Yes)
                .then(|| format!("{}{plausible}: {}", second.word, second.reasons.join("; "))),
        ];
        let told: Vec<String> = words.into_iter().flatten().collect();
        (!told.is_empty()).then(|| told.join("; "))
    }
}

fn worst<T: Copy + Ord, R: Clone>(
    verdicts: &[(R, &Verdict)],
    word_of: impl Fn(&Verdict) -> &Word<T>,
) -> Option<WorstWord<T, R>> {
    let word = verdicts.iter().map(|(_, verdict)| word_of(verdict).word).max()?;
    let (mut runs, mut reasons): (Vec<R>, Vec<Reason<R>>) = (Vec::new(), Vec::new());
    for (run, verdict) in verdicts.iter().filter(|(_, verdict)| word_of(verdict).word == word) {
        runs.push(run.clone());
        for reason in &word_of(verdict).reasons {
            match reasons.iter_mut().find(|known| known.reason == *reason) {
                Some(known) => known.runs.push(run.clone()),
                None => reasons.push(Reason { reason: reason.clone(), runs: vec![run.clone()] }),
            }
        }
    }
    Some(WorstWord { word, is_of_all: runs.len() == verdicts.len(), runs, reasons })
}

impl<T: Copy, R: Display> WorstWord<T, R> {
    fn told(&self, noun: &str) -> Word<T> {
        let most = if self.runs.len() == 1 { usize::MAX } else { MOST_REASONS };
        let is_of_these = |reason: &Reason<R>| reason.runs.len() == self.runs.len();
        let told = self.reasons.iter().take(most).map(|reason| match is_of_these(reason) {
            true => reason.reason.clone(),
            false => format!("{}: {}", named(noun, &reason.runs), reason.reason),
        });
        let more = self.reasons.len().saturating_sub(most);
        let more = (more > 0).then(|| format!("{more} more in each run's own report"));
        Word { word: self.word, reasons: told.chain(more).collect() }
    }

    fn owners(&self, noun: &str) -> String {
        if self.is_of_all { String::new() } else { format!(" ({})", named(noun, &self.runs)) }
    }
}

/// `seed 3`, `seeds 3, 5`; without a noun the names alone.
fn named<R: Display>(noun: &str, runs: &[R]) -> String {
    let names: Vec<String> = runs.iter().map(R::to_string).collect();
    let names = names.join(", ");
    match (noun, runs.len()) {
        ("", _) => names,
        (noun, 1) => format!("{noun} {names}"),
        (noun, _) => format!("{noun}s {names}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(accounted: Accounted, reasons: &[&str]) -> Verdict {
        let reasons = reasons.iter().map(|&reason| reason.to_owned()).collect();
        Verdict {
            accounted: Word { word: accounted, reasons },
            plausible: Word { word: Plausible::Yes, reasons: Vec::new() },
            fidelity: Word { word: Likeness::NotCompared, reasons: vec!["there is no original".to_owned()] },
        }
    }

    #[test]
    fn the_worst_word_names_its_runs() {
        let verdicts = [
            verdict(Accounted::Degraded, &["a"]),
            verdict(Accounted::Valid, &[]),
            verdict(Accounted::Degraded, &["b", "a"]),
        ];
        let worst = WorstVerdict::of((1_u64..).zip(&verdicts)).unwrap();
        assert_eq!((worst.accounted.word, &worst.accounted.runs[..]), (Accounted::Degraded, &[1, 3][..]));
        let told = worst.told("seed");
        assert_eq!(told.accounted.reasons, ["a", "seed 3: b"]);
        assert_eq!(told.fidelity.reasons, ["there is no original"], "once for all");
        assert_eq!(worst.owners("seed"), [" (seeds 1, 3)", "", ""]);
        assert!(WorstVerdict::<u64>::of([]).is_none());
        let json = serde_json::to_value(&worst.accounted).unwrap();
        assert_eq!(json["seeds"], serde_json::json!([1, 3]));
        assert_eq!(json["reasons"][1], serde_json::json!({ "reason": "b", "seeds": [3] }));
    }

    #[test]
    fn many_reasons_are_cut() {
        let verdicts: Vec<Verdict> =
            (0..20).map(|number| verdict(Accounted::Invalid, &[&format!("reason {number}")])).collect();
        let worst = WorstVerdict::of((0_u64..).zip(&verdicts)).unwrap();
        assert_eq!(worst.accounted.reasons.len(), 20);
        let told = worst.told("seed").accounted.reasons;
        assert_eq!((told.len(), &*told[0], &*told[6]), (7, "seed 0: reason 0", "14 more in each run's own report"));
    }
}
