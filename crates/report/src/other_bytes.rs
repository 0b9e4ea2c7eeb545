//! Runs beside each other that do not have the same bytes to replay: what differs between them is not only what was varied (methods B.5).

use crate::metric::Unit;
use crate::run::Run;

/// The largest difference that is no matter.
const MOST_APART: f64 = 0.01;

/// What may help.
pub const REMEDY: &str =
    "structures of a model carry the same bytes with workload.cut = \"trace\" (docs/reference/models.md)";

/// Payload of a run: its seed, and the bytes that it was to replay.
pub type ToReplay = (u64, u64);

/// What a run was to replay, if it had a workload.
pub fn to_replay(run: &Run) -> Option<ToReplay> {
    Some((run.facts.seed, run.facts.to_replay_bytes?))
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
