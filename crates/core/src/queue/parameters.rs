//! Limits that parameters of several disciplines share, and what is wrong with one.

use crate::time::Duration;
use crate::units::{LINK_HEADER_BYTES, Limit};

/// The largest packet of an Ethernet without jumbo frames, as methods C.6 counts it: 1,500 bytes of IP and 14.
pub const FULL_PACKET_BYTES: u32 = 1_514;

/// A packet of nothing but the headers of the link and of IP.
const LEAST_PACKET_BYTES: u64 = LINK_HEADER_BYTES as u64 + 20;

/// A packet as long as IP's length field can say.
const MOST_PACKET_BYTES: u64 = LINK_HEADER_BYTES as u64 + u16::MAX as u64;

/// Between the updates of a discipline that has them.
pub(super) const LEAST_INTERVAL: Duration = Duration::from_micros(1);

/// The largest coefficient or frequency of a controller. One that is larger moves the probability from 0 to 1 at every update, and
/// sums of very large ones are no numbers any more.
pub(super) const MOST_COEFFICIENT: f64 = 1e6;

/// A parameter of a discipline that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} {problem}")]
pub struct ParameterError {
    /// Its key in an experiment file.
    pub key: &'static str,
    /// What is wrong with it.
    pub problem: String,
}

impl ParameterError {
    pub(super) fn new(key: &'static str, problem: impl Into<String>) -> ParameterError {
        ParameterError { key, problem: problem.into() }
    }

    /// Those of `checks` that failed.
    pub(super) fn all<const N: usize>(checks: [Result<(), ParameterError>; N]) -> Vec<ParameterError> {
        checks.into_iter().filter_map(Result::err).collect()
    }

    /// The first of `problems`, if there are any.
    pub(super) fn first(problems: Vec<ParameterError>) -> Result<(), ParameterError> {
        problems.into_iter().next().map_or(Ok(()), Err)
    }

    /// Whether `value` is in (0, 1].
    pub(super) fn check_probability(key: &'static str, value: f64) -> Result<(), ParameterError> {
        if value > 0.0 && value <= 1.0 {
            Ok(())
        } else {
            Err(ParameterError::new(key, format!("of {} must be above 0 and at most 1", number(value))))
        }
    }

    /// Whether `value` is in (0, [`MOST_COEFFICIENT`]].
    pub(super) fn check_coefficient(key: &'static str, value: f64) -> Result<(), ParameterError> {
        if value > 0.0 && value <= MOST_COEFFICIENT {
            Ok(())
        } else {
            Err(ParameterError::new(
                key,
                format!("of {} must be above 0 and at most {MOST_COEFFICIENT}", number(value)),
            ))
        }
    }

    /// Whether `value` is not zero.
    pub(super) fn check_above_zero(key: &'static str, value: u64) -> Result<(), ParameterError> {
        if value > 0 { Ok(()) } else { Err(ParameterError::new(key, "must be above zero")) }
    }

    /// Whether updates may follow each other so soon. Each that was due is made up for, so that very many of them would hold up a run.
    pub(super) fn check_interval(key: &'static str, value: Duration) -> Result<(), ParameterError> {
        if value >= LEAST_INTERVAL { Ok(()) } else { Err(ParameterError::new(key, "must be at least 1 us")) }
    }

    /// The most that can wait within `limit`, in the unit of `threshold`. Where one is in packets and the other in bytes: packets
    /// have what IP's length field allows at most, and the headers of the link and of IP at least.
    pub(super) fn most_waiting(limit: Limit, threshold: Limit) -> u64 {
        match (threshold, limit) {
            (Limit::Packets(_), Limit::Packets(most)) | (Limit::Bytes(_), Limit::Bytes(most)) => most,
            (Limit::Bytes(_), Limit::Packets(packets)) => packets.saturating_mul(MOST_PACKET_BYTES),
            (Limit::Packets(_), Limit::Bytes(bytes)) => bytes / LEAST_PACKET_BYTES,
        }
    }

    /// The smallest packet, in the unit of `threshold`.
    pub(super) const fn least_packet(threshold: Limit) -> u64 {
        match threshold {
            Limit::Packets(_) => 1,
            Limit::Bytes(_) => LEAST_PACKET_BYTES,
        }
    }

    /// Whether a queue of `limit` can ever hold `threshold`, which is what `name` says.
    pub(super) fn check_threshold(name: &str, threshold: Limit, limit: Limit) -> Result<(), ParameterError> {
        let (Limit::Packets(needed) | Limit::Bytes(needed)) = threshold;
        if needed <= ParameterError::most_waiting(limit, threshold) {
            return Ok(());
        }
        let problem = format!("of {limit} is below {name}, which is {threshold}: the queue is full before that");
        Err(ParameterError::new("limit", problem))
    }

    /// Whether a queue of `limit` holds a packet.
    pub(super) fn check_limit(limit: Limit) -> Result<(), ParameterError> {
        match limit {
            Limit::Packets(1..) => Ok(()),
            Limit::Bytes(bytes) if bytes >= u64::from(FULL_PACKET_BYTES) => Ok(()),
            _ => Err(ParameterError::new("limit", "must hold at least one packet of 1514 bytes")),
        }
    }
}

/// A number without thirty zeros.
fn number(value: f64) -> String {
    if value.abs() < 1e15 { value.to_string() } else { format!("{value:e}") }
}
