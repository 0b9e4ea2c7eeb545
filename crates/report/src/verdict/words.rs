//! The words of a verdict.

use std::fmt::{self, Display};

use serde::{Deserialize, Serialize};

/// Whether everything that happened is accounted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Plausible {
    /// Nothing speaks against it.
    Yes,
    /// Something does.
    Doubtful,
}

/// How far a replay is from its original.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Word<T> {
    /// The word.
    pub word: T,
    /// The reasons, each in a few words.
    pub reasons: Vec<String>,
}

/// The three words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether everything that happened is accounted for.
    pub accounted: Word<Accounted>,
    /// Whether it can be true of a network.
    pub plausible: Word<Plausible>,
    /// How far the replay is from its original.
    pub fidelity: Word<Likeness>,
}

impl Verdict {
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
