//! Counters into amounts: wraps, restarts, resets, gaps (methods I.5). No I/O and no clock.

use flowloom_store::monitor::Reason;

const SECOND: u128 = 1_000_000_000;

/// Units per second that no counter of any port passes: 100 Tbit/s in octets.
const IMPOSSIBLE: u64 = 12_500_000_000_000;

/// How many bits a counter has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// It wraps at 2^32.
    Bits32,
    /// It wraps at 2^64.
    Bits64,
}

impl Width {
    const fn modulus(self) -> u128 {
        match self {
            Width::Bits32 => 1 << 32,
            Width::Bits64 => 1 << 64,
        }
    }
}

/// How many units of a counter a port can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// In a second.
    pub per_second: u64,
    /// Whether more than that is impossible: the registry says it. Agents name speeds of ports that are too low.
    pub is_stated: bool,
}

/// What was counted between two answers that are `elapsed_ns` apart.
///
/// `capacity` is what the port can carry, if that is known. A counter that went back wrapped if the port can have carried the difference,
/// twice over, because agents may answer with values that are an interval old. It was reset if not, or if nothing is known of the port.
///
/// # Errors
/// Why that is unknown: [`Reason::Ambiguous`], [`Reason::Reset`] or [`Reason::AboveCapacity`].
pub fn counted(
    before: u64,
    after: u64,
    width: Width,
    elapsed_ns: u64,
    capacity: Option<Capacity>,
) -> Result<u64, Reason> {
    if let Some(capacity) = capacity
        && ambiguity_ns(width, capacity.per_second).is_some_and(|ambiguity| elapsed_ns > ambiguity)
    {
        return Err(Reason::Ambiguous);
    }
    let modulus = width.modulus();
    let most = |per_second: u64| u128::from(per_second) * 2 * u128::from(elapsed_ns) / SECOND;
    let limit = capacity.map(|capacity| most(capacity.per_second));
    if after < before {
        let wrapped = modulus.saturating_sub(u128::from(before)) + u128::from(after);
        // A value of more than 32 bits is none of a counter of 32.
        let is_wrap = u128::from(before) < modulus && limit.is_some_and(|limit| wrapped <= limit);
        return if is_wrap { Ok(wrapped as u64) } else { Err(Reason::Reset) };
    }
    let amount = after - before;
    // The speed that an agent names may be too low, so that of a wide counter only the impossible is refused.
    let limit = match (width, capacity) {
        (Width::Bits32, _) => limit.unwrap_or(modulus),
        (Width::Bits64, Some(Capacity { per_second, is_stated: true })) => most(per_second),
        (Width::Bits64, _) => most(IMPOSSIBLE),
    };
    if u128::from(amount) > limit { Err(Reason::AboveCapacity) } else { Ok(amount) }
}

/// The time in which a counter can wrap once at `capacity` units per second, in nanoseconds; `None` if that is longer than any.
pub fn ambiguity_ns(width: Width, capacity: u64) -> Option<u64> {
    let nanos = width.modulus() * SECOND / u128::from(capacity.max(1));
    u64::try_from(nanos).ok()
}

/// Hundredths of a second that the uptimes of an agent may be off, beside a hundredth of the time that passed.
const TOLERANCE: u64 = 200;

/// Whether an agent restarted between two answers that are `elapsed_ns` apart, by its sysUpTime in hundredths of a second: it went down,
/// or rose by less than the time that passed. It wraps after 497 days, which is no restart, and neither is a clock of the agent that was
/// set forward.
pub fn restarted(before: u32, after: u32, elapsed_ns: u64) -> bool {
    let elapsed = elapsed_ns / 10_000_000;
    let rose = u64::from(after.wrapping_sub(before));
    let slack = TOLERANCE + elapsed / 100;
    let went_down = after < before && rose > elapsed + slack;
    went_down || rose + slack < elapsed
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const S: u64 = 1_000_000_000;
    /// Cells per second of an OC-12 and of an OC-3.
    const OC12: u64 = 1_412_830;
    const OC3: u64 = 353_208;

    /// What an agent says.
    fn named(per_second: u64) -> Option<Capacity> {
        Some(Capacity { per_second, is_stated: false })
    }

    #[test]
    fn figures_of_methods_i5() {
        let (before, after) = (4_294_960_000, 12_000);
        assert_eq!(counted(before, after, Width::Bits32, 60 * S, named(OC12)), Ok(19_296));
        assert_eq!(counted(before, after, Width::Bits32, 60_370_000_000, named(OC3)), Ok(19_296));
        for (capacity, seconds) in [(OC12, 3_040), (OC3, 12_160)] {
            let ambiguity = ambiguity_ns(Width::Bits32, capacity).unwrap();
            assert_eq!((ambiguity as f64 / S as f64).round() as u64, seconds);
            let counted = |elapsed| counted(before, after, Width::Bits32, elapsed, named(capacity));
            assert_eq!((counted(ambiguity), counted(ambiguity + 1)), (Ok(19_296), Err(Reason::Ambiguous)));
        }
    }

    #[test]
    fn counters_become_amounts() {
        use Reason::*;
        use Width::*;
        let gigabit = named(125_000_000);
        let stated = Some(Capacity { per_second: 125_000_000, is_stated: true });
        for (before, after, width, seconds, capacity, expected) in [
            (0, 0, Bits32, 1, None, Ok(0)),
            (5, 12, Bits32, 1, None, Ok(7)),
            // Wraps: at the last value, within what the port carries, beyond it, of an unknown port.
            (u64::from(u32::MAX), 0, Bits32, 1, gigabit, Ok(1)),
            (4_294_967_000, 1_000, Bits32, 10, gigabit, Ok(1_296)),
            (3_000_000_000, 1_000, Bits32, 1, gigabit, Err(Reset)),
            (4_294_967_000, 1_000, Bits32, 10, None, Err(Reset)),
            // More than one wrap may have passed.
            (5, 12, Bits32, 35, gigabit, Err(Ambiguous)),
            (5, 12, Bits32, 34, gigabit, Ok(7)),
            // No port carries that.
            (0, 251_000_000, Bits32, 1, gigabit, Err(AboveCapacity)),
            (0, 250_000_000, Bits32, 1, gigabit, Ok(250_000_000)),
            // Wide counters: a reset is no wrap (3.8e17 bit/s once), and speeds that agents name may be too low.
            (1 << 50, 1_000, Bits64, 10, gigabit, Err(Reset)),
            (u64::MAX, 0, Bits64, 1, gigabit, Ok(1)),
            (u64::MAX, 0, Bits64, 1, None, Err(Reset)),
            (0, 1_000_000_000, Bits64, 1, named(1_250_000), Ok(1_000_000_000)),
            // Those of the registry are not.
            (0, 250_000_000, Bits64, 1, stated, Ok(250_000_000)),
            (0, 250_000_001, Bits64, 1, stated, Err(AboveCapacity)),
            (0, 1 << 60, Bits64, 1, None, Err(AboveCapacity)),
            // A value of more than 32 bits of a counter of 32.
            (1 << 40, 7, Bits32, 1, gigabit, Err(Reset)),
            // No time passed: nothing can have been carried.
            (5, 6, Bits32, 0, gigabit, Err(AboveCapacity)),
            (5, 5, Bits32, 0, gigabit, Ok(0)),
        ] {
            let found = counted(before, after, width, seconds * S, capacity);
            assert_eq!(found, expected, "{before} to {after} of {width:?} in {seconds} s at {capacity:?}");
        }
    }

    #[test]
    fn agents_restart_when_their_uptime_goes_down() {
        for (before, after, seconds, expected) in [
            (1_000, 2_000, 10, false),
            (1_000, 2_150, 10, false),
            (1_000, 1_850, 10, false),
            (1_000, 500, 10, true),
            // It restarted in the first second of a gap and is up for longer than before.
            (500, 5_900, 60, true),
            // 497 days wrap.
            (u32::MAX - 499, 500, 10, false),
            (u32::MAX - 499, 400_000, 10, true),
            (0, 0, 0, false),
            // The clock of the agent was set forward.
            (1_000, 362_000, 10, false),
        ] {
            assert_eq!(restarted(before, after, seconds * S), expected, "{before} to {after} in {seconds} s");
        }
    }

    proptest! {
        /// Whatever agents say, no amount is above what the port can carry.
        #[test]
        fn no_spike_passes(before: u32, after: u32, elapsed in 0..120 * S, capacity in 1..1u64 << 40) {
            if let Ok(amount) = counted(before.into(), after.into(), Width::Bits32, elapsed, named(capacity)) {
                prop_assert!(u128::from(amount) <= 2 * u128::from(capacity) * u128::from(elapsed) / SECOND);
            }
        }

        /// A counter that counts what a port carries is read right, wherever it wraps.
        #[test]
        fn no_amount_is_lost(start: u32, elapsed in 1..60u64, load in 0.0..1.0) {
            let capacity = 1_250_000_000 / 30;
            let amount = (load * (capacity * elapsed) as f64) as u64;
            let after = (u64::from(start) + amount) % (1 << 32);
            prop_assert_eq!(counted(start.into(), after, Width::Bits32, elapsed * S, named(capacity)), Ok(amount));
        }
    }
}
