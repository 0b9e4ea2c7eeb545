//! A value for each of the replays that explain a run.

/// One of each replay.
#[derive(Clone, Debug, PartialEq)]
pub struct Replays<T> {
    /// Of the one that leaves out every cause.
    pub nothing: T,
    /// Of the one that leaves out none.
    pub all: T,
    /// Of those that have or lack a single cause, in the order of the causes.
    pub causes: Vec<Tried<T>>,
}

/// One of the two replays that differ from the others in a single cause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tried<T> {
    /// Of the one that replays this cause alone.
    pub alone: T,
    /// Of the one that replays all but this cause.
    pub left_out: T,
}

impl<T> Replays<T> {
    /// The same with `of` of each.
    pub fn map<U>(&self, of: impl Fn(&T) -> U) -> Replays<U> {
        let causes = self.causes.iter().map(|tried| Tried { alone: of(&tried.alone), left_out: of(&tried.left_out) });
        Replays { nothing: of(&self.nothing), all: of(&self.all), causes: causes.collect() }
    }
}

impl Replays<Option<f64>> {
    /// How much nearer to the original each cause brings a replay: the one without anything, and that with all the others.
    pub fn worth(&self) -> impl Iterator<Item = Tried<Option<f64>>> + '_ {
        let less = |from: Option<f64>, to: Option<f64>| Some(from? - to?);
        self.causes.iter().map(move |tried| Tried {
            alone: less(self.nothing, tried.alone),
            left_out: less(tried.left_out, self.all),
        })
    }

    /// The place of the cause that is worth most, by the larger of its two values; `None` if what is left with all of them is more than
    /// that, which is unknown then.
    pub fn explained_by(&self) -> Option<usize> {
        let (place, worth) = self.most(|worth| worth)?;
        (worth > 0.0 && worth >= self.all.unwrap_or(0.0)).then_some(place)
    }

    /// Where the replay with all causes is farther from the original than that without any: the place of the cause that brings it
    /// farthest away, by the larger of its two values.
    pub fn worsened_by(&self) -> Option<usize> {
        let (place, harm) = self.most(|worth| -worth)?;
        (harm > 0.0 && self.all > self.nothing).then_some(place)
    }

    /// The cause with the largest value that `of` makes of what it is worth, alone or left out; of equal ones the first.
    fn most(&self, of: impl Fn(f64) -> f64) -> Option<(usize, f64)> {
        let larger =
            |tried: Tried<Option<f64>>| tried.alone.into_iter().chain(tried.left_out).map(&of).reduce(f64::max);
        let known = self.worth().map(larger).enumerate().filter_map(|(place, value)| Some((place, value?)));
        known.reduce(|most, next| if next.1 > most.1 { next } else { most })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replays(nothing: f64, all: f64, causes: &[[f64; 2]]) -> Replays<Option<f64>> {
        let tried = |&[alone, left_out]: &[f64; 2]| Tried { alone: Some(alone), left_out: Some(left_out) };
        Replays { nothing: Some(nothing), all: Some(all), causes: causes.iter().map(tried).collect() }
    }

    #[test]
    fn the_cause_that_is_worth_most_explains() {
        assert_eq!(replays(9.0, 1.0, &[[9.0, 1.0], [2.0, 8.0]]).explained_by(), Some(1));
        // Two causes that work together only: alone neither is worth anything.
        assert_eq!(replays(9.0, 1.0, &[[9.0, 1.0], [9.0, 8.0]]).explained_by(), Some(1));
        assert_eq!(replays(9.0, 5.0, &[[6.0, 7.0], [9.0, 5.0]]).explained_by(), None, "more is left than explained");
        assert_eq!(replays(0.0, 0.0, &[[0.0, 0.0]]).explained_by(), None, "nothing differs");
        assert_eq!(replays(1.0, 0.0, &[[2.0, 0.0]]).explained_by(), None, "worse with it");
        assert_eq!(replays(0.0, 0.0, &[[0.0, 0.0]]).worsened_by(), None);
        assert_eq!(replays(9.0, 1.0, &[[10.0, 0.5]]).worsened_by(), None, "all together are nearer");
        assert_eq!(replays(1.0, 9.0, &[[0.9, 9.1], [9.0, 1.0]]).worsened_by(), Some(1));
        let unknown = Replays { nothing: None, all: None, causes: vec![Tried { alone: None, left_out: None }] };
        assert_eq!((unknown.explained_by(), unknown.worsened_by()), (None, None));
    }

    #[test]
    fn worth_is_what_a_cause_brings_nearer() {
        let worth: Vec<_> = replays(9.0, 1.0, &[[2.0, 8.5]]).worth().collect();
        assert_eq!(worth, [Tried { alone: Some(7.0), left_out: Some(7.5) }]);
    }
}
