//! What a live run needs of its host, beside what the host can do.

use std::fmt::{self, Display};
use std::path::Path;

use flowloom_live::plan::Need;
use serde::Serialize;

use super::limits::Limit;
use super::load::Load;
use super::part::Part;
use super::saved::{Known, known};

/// A need above this share of a limit is worth a warning.
const HIGH: f64 = 0.8;

/// What a live run needs at a time, by kinds of load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoadNeeds([f64; 4]);

impl From<&Need> for LoadNeeds {
    fn from(need: &Need) -> LoadNeeds {
        LoadNeeds([need.starts_in_a_second as f64, need.open as f64, need.packets_per_second, need.bits_per_second])
    }
}

impl LoadNeeds {
    /// Of each kind the more.
    #[must_use]
    pub fn or_more(self, other: LoadNeeds) -> LoadNeeds {
        LoadNeeds(std::array::from_fn(|load| self.0[load].max(other.0[load])))
    }
}

/// The need of one kind of load, beside the limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LoadCheck {
    /// Which kind of load it is.
    pub load: Load,
    /// What the run needs: starts in the busiest second, the most connections open at once, packets and bits in an average second.
    pub needs: f64,
    /// What the host can do; `None` if that was not measured.
    pub limit: Option<f64>,
    /// The least level that failed; `None` if none did: the host may be able to do more.
    pub failed: Option<f64>,
    /// The part that fails first, if that is known.
    pub part: Option<Part>,
}

impl LoadCheck {
    /// Whether the need is near the limit, or above it.
    pub fn is_high(&self) -> bool {
        let share = if self.failed.is_none() { 1.0 } else { HIGH };
        self.limit.is_some_and(|limit| self.needs > share * limit)
    }

    /// In a clause: `the run needs 3,500 starts/s, and this host can do 3,700 starts/s (the emulator fails first)`.
    pub fn cause(&self) -> String {
        format!("the run needs {}, and this host can do {}", self.load.show(self.needs), self.limit_words())
    }

    fn limit_words(&self) -> String {
        let Some(most) = self.limit else { return "not measured".to_owned() };
        Limit { most, failed: self.failed, part: self.part, ..Limit::default() }.words(self.load)
    }
}

/// What a run needs of this host, and what the host can do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostCheck {
    /// Why there are no limits; `None` if there are.
    pub not_calibrated: Option<String>,
    /// Each kind of load.
    pub loads: Vec<LoadCheck>,
}

impl HostCheck {
    /// What the file in the cache folder says of these needs; without a folder nothing is known.
    pub fn new(needs: &LoadNeeds, cache: Option<&Path>) -> HostCheck {
        HostCheck::of(needs, &cache.map_or(Known::Nothing, known))
    }

    fn of(needs: &LoadNeeds, known: &Known) -> HostCheck {
        let (not_calibrated, capacity) = match known {
            Known::Nothing => (Some("this host is not calibrated".to_owned()), None),
            Known::Unusable(why) => (Some(format!("the calibration is not used: {why}")), None),
            Known::Measured(capacity) => (None, Some(capacity)),
        };
        let loads = Load::ALL.map(|load| {
            let limit = capacity.and_then(|capacity| capacity.limits.get(&load));
            LoadCheck {
                load,
                needs: needs.0[load as usize],
                limit: limit.map(|limit| limit.most),
                failed: limit.and_then(|limit| limit.failed),
                part: limit.and_then(|limit| limit.part),
            }
        });
        HostCheck { not_calibrated, loads: loads.to_vec() }
    }

    /// What the run needs, of each kind of load.
    pub fn needs(&self) -> LoadNeeds {
        let needs = |load: Load| self.loads.iter().find(|check| check.load == load).map_or(0.0, |check| check.needs);
        LoadNeeds(Load::ALL.map(needs))
    }

    /// What is near a limit, or above it.
    pub fn high(&self) -> impl Iterator<Item = &LoadCheck> {
        self.loads.iter().filter(|check| check.is_high())
    }
}

/// In comments of TOML, as the head of an experiment.
impl Display for HostCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for check in &self.loads {
            let needs = check.load.show(check.needs);
            match (&self.not_calibrated, check.limit) {
                (Some(_), _) => writeln!(f, "# needs {needs}")?,
                (None, None) => writeln!(f, "# needs {needs}; the limit of this host was not measured")?,
                (None, Some(_)) => {
                    let high = if check.is_high() { ": too near, or too much" } else { "" };
                    writeln!(f, "# needs {needs}; this host can do {}{high}", check.limit_words())?;
                }
            }
        }
        match &self.not_calibrated {
            Some(why) => writeln!(f, "# {why}: `flowloom doctor --calibrate` measures what it can do"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::Capacity;

    fn checked(needs: [f64; 4]) -> HostCheck {
        let limit = |most, failed| Limit { most, failed, part: failed.map(|_| Part::Emulator), ..Limit::default() };
        let mut capacity = Capacity::of_this_host();
        capacity.limits.insert(Load::Starts, limit(4_000.0, Some(4_800.0)));
        capacity.limits.insert(Load::Open, limit(32_000.0, None));
        capacity.limits.insert(Load::Packets, limit(0.0, Some(500.0)));
        HostCheck::of(&LoadNeeds(needs), &Known::Measured(capacity))
    }

    #[test]
    fn a_need_near_the_limit_is_warned_of() {
        let high = |needs| checked(needs).high().map(LoadCheck::cause).collect::<Vec<_>>();
        assert_eq!(high([3_200.0, 32_000.0, 0.0, 1e12]), [""; 0]);
        assert_eq!(
            high([3_201.0, 0.0, 0.0, 0.0]),
            ["the run needs 3,201 starts/s, and this host can do 4,000 starts/s (the emulator fails first)"]
        );
        assert_eq!(
            high([0.0, 33_000.0, 0.0, 0.0]),
            ["the run needs 33,000 open connections, and this host can do at least 32,000 open connections"]
        );
        assert_eq!(high([0.0, 0.0, 10.0, 0.0]).len(), 1);
    }

    #[test]
    fn the_text_names_need_limit_and_part() {
        let text = checked([3_900.0, 100.0, 0.0, 2e6]).to_string();
        assert_eq!(
            text,
            "# needs 3,900 starts/s; this host can do 4,000 starts/s (the emulator fails first): too near, or too much\n\
             # needs 100 open connections; this host can do at least 32,000 open connections\n\
             # needs 0 packets/s; this host can do less than 500 packets/s (the emulator fails first)\n\
             # needs 2.00 Mbit/s; the limit of this host was not measured\n"
        );
        let none = HostCheck::of(&LoadNeeds::default(), &Known::Nothing).to_string();
        assert!(
            none.ends_with("# this host is not calibrated: `flowloom doctor --calibrate` measures what it can do\n")
        );
        let other = HostCheck::of(&LoadNeeds::default(), &Known::Unusable("it is of kernel 5".to_owned()));
        assert!(other.to_string().contains("# the calibration is not used: it is of kernel 5: `flowloom doctor"));
        assert_eq!(other.high().count(), 0);
    }

    #[test]
    fn needs_of_variants_are_the_most_of_each() {
        let [one, other] = [[1.0, 20.0, 3.0, 4.0], [2.0, 10.0, 3.0, 5.0]].map(LoadNeeds);
        assert_eq!(one.or_more(other), LoadNeeds([2.0, 20.0, 3.0, 5.0]));
        assert_eq!(HostCheck::of(&one, &Known::Nothing).needs(), one);
    }
}
