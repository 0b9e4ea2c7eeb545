//! Ranks of values: where in a law the values of one connection lie.
//!
//! All values together have the published law, those of one connection have not: a connection waits for long or does not, and one
//! of a thousand exchanges has small ones. A law is therefore cut into parts by shares of its values, and each kind of connection
//! has its own shares of these parts, so chosen that over all kinds they add up to the parts.

/// Maps a uniform variable to ranks, of which a part of the law has the share that a kind of connection has of it.
#[derive(Clone, Debug)]
pub(super) struct Ranks {
    /// Up to where, the factor, and what is added.
    pieces: Box<[(f64, f64, f64)]>,
}

impl Ranks {
    /// For a law cut into `parts`, shares of all its values, by a kind that has these `shares` of them.
    pub(super) fn new(parts: &[f64], shares: &[f64]) -> Ranks {
        let (mut upto, mut from) = (0.0, 0.0);
        let mut pieces = Vec::with_capacity(parts.len());
        for (part, share) in parts.iter().zip(shares) {
            if *share > 0.0 {
                let factor = part / share;
                pieces.push((upto + share, factor, from - factor * upto));
            }
            (upto, from) = (upto + share, from + part);
        }
        Ranks { pieces: pieces.into() }
    }

    /// The rank, in [0, 1), for `u` in [0, 1).
    pub(super) fn of(&self, u: f64) -> f64 {
        let within = self.pieces.iter().find(|piece| u < piece.0);
        // Shares add up to 1 but for rounding.
        let (_, factor, added) = *within.unwrap_or(&self.pieces[self.pieces.len() - 1]);
        (u * factor + added).clamp(0.0, BELOW_ONE)
    }
}

const BELOW_ONE: f64 = 1.0 - f64::EPSILON;

/// A uniform variable near `rank`: at most half of `spread` away, reflected at 0 and 1, so that it is uniform if `rank` is.
pub(super) fn near(rank: f64, spread: f64, u: f64) -> f64 {
    let moved = (rank + spread * (u - 0.5)).abs();
    if moved > 1.0 { 2.0 - moved } else { moved.min(BELOW_ONE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_have_the_shares_of_their_kind() {
        let ranks = Ranks::new(&[0.8, 0.15, 0.05], &[0.5, 0.0, 0.5]);
        for (u, rank) in [(0.0, 0.0), (0.25, 0.4), (0.5, 0.95), (0.75, 0.975)] {
            assert!((ranks.of(u) - rank).abs() < 1e-12, "{u}: {}", ranks.of(u));
        }
        assert!(ranks.of(1.0 - f64::EPSILON) < 1.0);
    }

    #[test]
    fn kinds_together_have_the_whole_law() {
        let parts = [0.8, 0.2];
        let (one, other) = (Ranks::new(&parts, &[0.9, 0.1]), Ranks::new(&parts, &[0.7, 0.3]));
        let places = || (0..10_000).map(|at| (f64::from(at) + 0.5) / 10_000.0);
        for share in [0.1, 0.5, 0.8, 0.85, 0.99] {
            let below =
                places().map(|u| f64::from(u8::from(one.of(u) < share)) + f64::from(u8::from(other.of(u) < share)));
            let found = below.sum::<f64>() / 20_000.0;
            assert!((found - share).abs() < 1e-3, "{found} below {share}");
        }
    }

    #[test]
    fn neighbours_of_uniform_ranks_are_uniform() {
        for spread in [0.2, 1.0, 1.9] {
            let grid = || (0..400).map(|at| (f64::from(at) + 0.5) / 400.0);
            let near = grid().flat_map(|rank| grid().map(move |u| near(rank, spread, u)));
            let below = near.filter(|at| *at < 0.1).count() as f64 / 160_000.0;
            assert!((below - 0.1).abs() < 2e-3, "{below} with {spread}");
        }
    }
}
