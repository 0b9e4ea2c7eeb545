//! Why a distribution is not possible.

/// Why a law has impossible parameters.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DistributionError {
    /// A parameter is out of its range.
    #[error("{name} of {value} is not possible: {expected}")]
    Parameter {
        /// Which.
        name: &'static str,
        /// What was given.
        value: f64,
        /// What would be possible.
        expected: &'static str,
    },
    /// The probabilities do not add up.
    #[error("the probabilities add up to {sum}, not to 1")]
    Sum {
        /// What they add up to.
        sum: f64,
    },
    /// Knots are out of order.
    #[error("a distribution function rises: {what} of {after} at point {knot} comes after {before}")]
    NotRising {
        /// What of them.
        what: &'static str,
        /// Which knot, from 1.
        knot: usize,
        /// Its predecessor's.
        before: f64,
        /// Its own.
        after: f64,
    },
    /// Too few knots.
    #[error("a distribution function needs points: at least {needed}")]
    Empty {
        /// How many there must be.
        needed: usize,
    },
    /// A law is cut where it has nothing.
    #[error("nothing of the distribution lies between {min} and {max}")]
    NothingLeft {
        /// Lower limit.
        min: f64,
        /// Upper limit.
        max: f64,
    },
    /// Laws within laws within laws.
    #[error("distributions within distributions: at most {most} deep")]
    TooDeep {
        /// How deep they may be.
        most: usize,
    },
    /// Keys of a written law that do not go together.
    #[error("a {law} distribution is given by {expected}")]
    Keys {
        /// Its kind.
        law: &'static str,
        /// What goes together.
        expected: &'static str,
    },
}
