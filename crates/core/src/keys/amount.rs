//! Amounts of which keys have bounds.

use std::cmp::Ordering;

use crate::time::Duration;
use crate::units::text::{beside_rounded, number_and_unit};
use crate::units::{Limit, Rate};

/// What a text counts, in the smallest unit. Amounts of different things have no order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// A time in nanoseconds.
    Time(u64),
    /// A size in bytes.
    Bytes(u64),
    /// A number of packets.
    Packets(u64),
    /// A rate in bits per second.
    Rate(u64),
}

impl Amount {
    /// The amount that a bound states, behind a word (`jitter 1h`) or alone; `None` if it states none.
    pub fn of_bound(text: &str) -> Option<Amount> {
        let text = without_word(text);
        let time = || text.parse::<Duration>().ok().map(Amount::from);
        let limit = || text.parse::<Limit>().ok().map(Amount::from);
        let rate = || text.parse::<Rate>().ok().and_then(Amount::of_rate);
        // A bound in bits says "bit", so that "4k" can be of bytes.
        time().or_else(limit).or_else(rate)
    }

    /// Of a rate; `None` if it is unlimited.
    pub fn of_rate(rate: Rate) -> Option<Amount> {
        rate.bits_per_second().map(Amount::Rate)
    }

    /// How what `text` says compares with the whole number that it was rounded to: `99.5bit` is less than 100 bit/s. Of a plain
    /// number the smallest unit is meant.
    pub(super) fn of_text(self, text: &str) -> Ordering {
        let Some((number, unit)) = number_and_unit(without_word(text)) else { return Ordering::Equal };
        let scale_in = |units: &[(&str, u64)]| {
            units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).map(|(_, scale)| *scale)
        };
        let scale = match self {
            _ if unit.is_empty() => Some(1),
            Amount::Time(_) => scale_in(&Duration::UNITS),
            Amount::Bytes(_) => scale_in(&Limit::UNITS),
            Amount::Packets(_) => None,
            Amount::Rate(_) => Rate::scale_of(unit),
        };
        scale.and_then(|scale| beside_rounded(number, scale, self.number())).unwrap_or(Ordering::Equal)
    }

    /// How many of the smallest unit.
    pub(super) const fn number(self) -> u64 {
        match self {
            Amount::Time(number) | Amount::Bytes(number) | Amount::Packets(number) | Amount::Rate(number) => number,
        }
    }

    /// Whether both count the same thing.
    pub(super) fn is_like(self, other: Amount) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

/// An amount without the word in front of it, if there is one.
pub(super) fn without_word(text: &str) -> &str {
    let is_word = |word: &str| word.chars().all(|c| c.is_ascii_lowercase());
    text.split_once(' ').filter(|(word, _)| is_word(word)).map_or(text, |(_, amount)| amount)
}

impl From<Duration> for Amount {
    fn from(time: Duration) -> Amount {
        Amount::Time(time.as_nanos())
    }
}

impl From<Limit> for Amount {
    fn from(limit: Limit) -> Amount {
        match limit {
            Limit::Packets(packets) => Amount::Packets(packets),
            Limit::Bytes(bytes) => Amount::Bytes(bytes),
        }
    }
}

impl PartialOrd for Amount {
    fn partial_cmp(&self, other: &Amount) -> Option<Ordering> {
        self.is_like(*other).then(|| self.number().cmp(&other.number()))
    }
}
