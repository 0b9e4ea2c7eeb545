//! Runs beside each other that do not have the same bytes to replay, or not the same part of their workload: what differs between them is
//! not only what was varied (methods B.5).

use flowloom_core::time::Duration;

use crate::metric::Unit;
use crate::run::Run;
use crate::variant::Variant;

/// The largest difference that is no matter.
const MOST_APART: f64 = 0.01;

/// What may help where bytes differ.
pub const REMEDY: &str = "replay the same part of the workload (measure.duration, measure.window, workload.prefill); structures of a model \
                          carry the same bytes with workload.cut = \"trace\" (docs/reference/models.md)";

/// What may help where parts differ.
const REMEDY_OF_PARTS: &str = "give both the same workload.prefill, or compare each with its original";

/// Payload of a run: its seed, and the bytes that it was to replay by the end of its window.
pub type ToReplay = (u64, u64);

/// What a run was to replay, if it had a workload.
fn to_replay(run: &Run) -> Option<ToReplay> {
    Some((run.facts.seed, run.facts.to_replay_bytes?))
}

/// What differs between variants beside each other that is not only what was varied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Apart {
    /// Which variants replay another part of their workload than the first.
    pub parts: Option<String>,
    /// Which variants have other bytes to replay than the first, and by how much.
    pub bytes: Option<String>,
}

impl Apart {
    /// Of variants that are set beside the first of them.
    pub fn of(variants: &[Variant]) -> Apart {
        let Some((first, others)) = variants.split_first() else { return Apart::default() };
        let of = |variant: &Variant| variant.runs.iter().filter_map(to_replay).collect::<Vec<_>>();
        let bytes = other_bytes((&first.name, &of(first)), others.iter().map(|other| (other.name.as_str(), of(other))));
        Apart { parts: other_parts(variants.iter().flat_map(|variant| &variant.runs)), bytes }
    }

    /// What the user should know, each with its remedy.
    pub fn warnings(&self) -> impl Iterator<Item = (&str, &'static str)> {
        [(&self.parts, REMEDY_OF_PARTS), (&self.bytes, REMEDY)]
            .into_iter()
            .filter_map(|(cause, remedy)| Some((cause.as_deref()?, remedy)))
    }
}

/// Says which of `runs` has results of another part of a captured workload than the first; `None` if none has. Runs that are compared have the
/// same window: what differs is where they begin in the workload.
fn other_parts<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Option<String> {
    let part = |run: &'a Run| {
        let original = run.facts.original.as_ref().filter(|_| !run.facts.of_model)?;
        let (start, end) = run.measurements.window;
        let [from, to] = [start, end].map(|at| at.since(Default::default()) + Duration::from_nanos(original.begin_ns));
        Some((run.name.as_str(), original.begin_ns, format!("{from} to {to}")))
    };
    let mut parts = runs.into_iter().filter_map(part);
    let (name, begin, first) = parts.next()?;
    let (other, _, there) = parts.find(|(_, there, _)| *there != begin)?;
    Some(format!("parts differ: {other} replays {there} of its workload, {name} {first}"))
}

/// Says which of `others` have other bytes to replay than what they are set beside, each with the same seed; `None` if none has, or no
/// seed is the same.
pub fn other_bytes<'a>(
    reference: (&str, &[ToReplay]),
    others: impl IntoIterator<Item = (&'a str, Vec<ToReplay>)>,
) -> Option<String> {
    let (name, of_reference) = reference;
    let apart = |(seed, bytes): &ToReplay| {
        let (_, beside) = of_reference.iter().find(|(known, _)| known == seed)?;
        Some((*bytes as f64 - *beside as f64) / (*beside).max(1) as f64)
    };
    let worst = |others: &[ToReplay]| others.iter().filter_map(apart).max_by(|a, b| a.abs().total_cmp(&b.abs()));
    let found = others.into_iter().filter_map(|(other, bytes)| Some((other, worst(&bytes)?)));
    let (other, apart) = found.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
    let word = if apart > 0.0 { "more" } else { "less" };
    (apart.abs() > MOST_APART)
        .then(|| format!("bytes differ: {other} has {} {word} to replay than {name}", Unit::Share.show(apart.abs())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_with_one_seed_are_set_beside_each_other() {
        let reference = ("a-t-b-t", &[(1, 1_000), (2, 5_000)][..]);
        let others = |others: &[(&'static str, &[ToReplay])]| {
            other_bytes(reference, others.iter().map(|(name, bytes)| (*name, bytes.to_vec())))
        };
        assert_eq!(others(&[("a-b", &[(1, 1_010), (2, 4_950)])]), None, "within 1 %");
        assert_eq!(others(&[("a-b", &[(3, 9_000)])]), None, "no seed is the same");
        let told = others(&[("a-b", &[(1, 1_000), (2, 4_900)]), ("block-sequential", &[(1, 940)])]).unwrap();
        assert_eq!(told, "bytes differ: block-sequential has 6.00 % less to replay than a-t-b-t");
    }
}
