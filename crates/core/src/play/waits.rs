//! Which part of a measured quiet time is replayed (methods A.5.9, A.5.10, M.3).

use serde::{Deserialize, Serialize};

use crate::time::Duration;
use crate::transits::TransitModel;

/// Quiet times shorter than this may be network effects (methods A.5.9).
pub const MIN_WAIT: Duration = Duration::from_millis(500);

/// What is subtracted from a quiet time that contains a transit of the side that waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Correction {
    /// Nothing: as measured at the monitor.
    #[default]
    None,
    /// The one-side transit time (OSTT) of the side that waited, where it is known: the one that is replayed.
    Ostt,
}

/// The two switches of methods A.5.10.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Waits {
    /// Raw quiet times below this are replayed as zero.
    pub min: Duration,
    /// What is subtracted from the others.
    pub correct: Correction,
}

impl Waits {
    /// The published setting: below 500 ms nothing, from 500 ms as measured (Aikat 2010).
    pub const PUBLISHED: Waits = Waits { min: MIN_WAIT, correct: Correction::None };
    /// Keeps short times and takes the counted transit out.
    pub const CORRECTED: Waits = Waits { min: Duration::ZERO, correct: Correction::Ostt };
    /// All four settings.
    pub const ALL: [Waits; 4] = [
        Waits { min: Duration::ZERO, correct: Correction::None },
        Waits::CORRECTED,
        Waits::PUBLISHED,
        Waits { min: MIN_WAIT, correct: Correction::Ostt },
    ];

    /// The wait to replay for `raw`. `transit` is the transit counted in it: `None` if it contains none (same-side
    /// and concurrent waits) or if it is unknown. The minimum is tested on the raw value.
    pub fn replayed(&self, raw: Duration, transit: Option<Duration>) -> Duration {
        if raw < self.min { Duration::ZERO } else { self.corrected(raw, transit) }
    }

    /// `raw` without the transit counted in it, whatever its length (lead-in and time to close).
    pub fn corrected(&self, raw: Duration, transit: Option<Duration>) -> Duration {
        match self.correct {
            Correction::None => raw,
            Correction::Ostt => raw.saturating_sub(transit.unwrap_or_default()),
        }
    }
}

/// What of a vector's times is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ReplayModel {
    /// Quiet times between ADUs.
    pub waits: Waits,
    /// Wait between the handshake and an end's first ADU, where the vector has one.
    pub lead_in: bool,
    /// Wait between the last ADU and the close.
    pub t_close: bool,
    /// Pauses inside ADUs.
    pub writes: bool,
    /// Windows at the start.
    pub first_flight: bool,
    /// Rates of ends that hold back.
    pub rate: bool,
    /// How ends acknowledge.
    pub acks: bool,
    /// SYNs and SYN/ACKs that were sent again.
    pub syn: bool,
    /// Losses at their places.
    pub losses: bool,
    /// Pauses of ends that do not read.
    pub reads: bool,
    /// Transit times of the ends, which [`Self::waits`] are corrected by.
    pub transits: TransitModel,
}

impl ReplayModel {
    /// Waits alone.
    const BARE: ReplayModel = ReplayModel {
        waits: Waits::CORRECTED,
        lead_in: false,
        t_close: false,
        writes: false,
        first_flight: false,
        rate: false,
        acks: false,
        syn: false,
        losses: false,
        reads: false,
        transits: TransitModel::Minimum,
    };

    /// Profile `aikat-2010`: {500 ms, none}, no lead-in, closes at once.
    pub const AIKAT_2010: ReplayModel =
        ReplayModel { waits: Waits::PUBLISHED, lead_in: false, t_close: false, ..ReplayModel::BARE };

    /// The same for a connection in progress, whose first waits are the rest of waits between data.
    pub const fn in_progress(self) -> ReplayModel {
        ReplayModel { lead_in: true, ..self }
    }

    /// `waits` with lead-in and time to close (the default of methods M.3), and all else but losses, which a network makes of its own.
    pub const fn with_waits(waits: Waits) -> ReplayModel {
        ReplayModel {
            waits,
            lead_in: true,
            t_close: true,
            writes: true,
            first_flight: true,
            rate: true,
            acks: true,
            syn: true,
            losses: false,
            reads: true,
            transits: TransitModel::Minimum,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn the_minimum_is_tested_on_the_raw_value() {
        let waits = Waits { min: MIN_WAIT, correct: Correction::Ostt };
        assert_eq!(waits.replayed(MS(510), Some(MS(40))), MS(470), "470 ms is replayed: its raw value passed");
        assert_eq!(waits.replayed(MS(499), Some(MS(40))), MS(0));
        assert_eq!(waits.replayed(MS(500), None), MS(500), "500 ms exactly is emulated");
    }

    #[test]
    fn a_transit_is_taken_out_once_and_never_below_zero() {
        assert_eq!(Waits::CORRECTED.replayed(MS(149), Some(MS(40))), MS(109));
        assert_eq!(Waits::CORRECTED.replayed(MS(30), Some(MS(40))), MS(0));
        assert_eq!(Waits::CORRECTED.replayed(MS(149), None), MS(149));
        assert_eq!(Waits::PUBLISHED.replayed(MS(1210), Some(MS(10))), MS(1210));
    }
}
