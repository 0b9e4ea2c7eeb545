//! How Flowloom's types sit in Parquet columns.
//!
//! Numbers are signed 64-bit integers, because users subtract columns, and unsigned columns wrap around or fail
//! when they do. Values of 2^63 and above (292 years, 8 EiB) come back unchanged but look negative to others.

use std::net::IpAddr;

use bytes::Bytes;
use flowloom_core::record::{DropReason, Outcome, PacketKind, ProbeKind, QueueFate, TrafficClass};
use flowloom_core::tcp::Phase;
use flowloom_core::tcp::congestion::{BbrState, WindowCause};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{
    Close, Evidence, InitiatorRule, IpVersion, LinkSide, Pattern, Protocol, Side, SynAnswer,
};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int64Type};

/// A Parquet type that we use.
pub(crate) trait Physical: DataType + Sized {
    /// The typed reader inside `reader`, `None` if it is of another type.
    fn reader(reader: &mut ColumnReader) -> Option<&mut ColumnReaderImpl<Self>>;
}

macro_rules! physical {
    ($($type:ident in $variant:ident),*) => {$(
        impl Physical for $type {
            fn reader(reader: &mut ColumnReader) -> Option<&mut ColumnReaderImpl<$type>> {
                match reader {
                    ColumnReader::$variant(reader) => Some(reader),
                    _ => None,
                }
            }
        }
    )*};
}

physical!(BoolType in BoolColumnReader, Int64Type in Int64ColumnReader, ByteArrayType in ByteArrayColumnReader);

/// A type that one required column holds.
pub(crate) trait Value: Copy {
    /// The Parquet type.
    type Physical: Physical;
    /// Whether the column is text.
    const TEXT: bool = false;
    /// The stored form.
    fn store(self) -> <Self::Physical as DataType>::T;
    /// The value of a stored form, `None` if no value is stored like this.
    fn load(stored: &<Self::Physical as DataType>::T) -> Option<Self>;
}

/// A [`Value`], or an `Option` of one, which makes the column nullable.
pub(crate) trait Field: Copy {
    /// What the column holds.
    type Value: Value;
    /// Whether nulls may be stored.
    const OPTIONAL: bool;
    /// The value to store.
    fn into_value(self) -> Option<Self::Value>;
    /// The field of a stored value, `None` if it must not be missing.
    fn from_value(value: Option<Self::Value>) -> Option<Self>;
}

impl<V: Value> Field for V {
    type Value = V;
    const OPTIONAL: bool = false;
    fn into_value(self) -> Option<V> {
        Some(self)
    }
    fn from_value(value: Option<V>) -> Option<V> {
        value
    }
}

impl<V: Value> Field for Option<V> {
    type Value = V;
    const OPTIONAL: bool = true;
    fn into_value(self) -> Option<V> {
        self
    }
    fn from_value(value: Option<V>) -> Option<Option<V>> {
        Some(value)
    }
}

impl Value for u64 {
    type Physical = Int64Type;
    fn store(self) -> i64 {
        self.cast_signed()
    }
    fn load(stored: &i64) -> Option<u64> {
        Some(stored.cast_unsigned())
    }
}

macro_rules! small_integers {
    ($($type:ty),*) => {$(
        impl Value for $type {
            type Physical = Int64Type;
            fn store(self) -> i64 {
                i64::from(self)
            }
            fn load(stored: &i64) -> Option<$type> {
                <$type>::try_from(*stored).ok()
            }
        }
    )*};
}

small_integers!(u8, u16, u32);

impl Value for IpAddr {
    type Physical = ByteArrayType;
    const TEXT: bool = true;

    fn store(self) -> ByteArray {
        ByteArray::from(self.to_string().into_bytes())
    }

    fn load(stored: &ByteArray) -> Option<IpAddr> {
        std::str::from_utf8(stored.data()).ok()?.parse().ok()
    }
}

impl Value for Time {
    type Physical = Int64Type;
    fn store(self) -> i64 {
        self.as_nanos().store()
    }
    fn load(stored: &i64) -> Option<Time> {
        u64::load(stored).map(Time::from_nanos)
    }
}

impl Value for Duration {
    type Physical = Int64Type;
    fn store(self) -> i64 {
        self.as_nanos().store()
    }
    fn load(stored: &i64) -> Option<Duration> {
        u64::load(stored).map(Duration::from_nanos)
    }
}

impl Value for bool {
    type Physical = BoolType;
    fn store(self) -> bool {
        self
    }
    fn load(stored: &bool) -> Option<bool> {
        Some(*stored)
    }
}

/// A choice stored by name.
pub(crate) trait Text: Copy + PartialEq + 'static {
    /// Every value and its name.
    const NAMES: &'static [(&'static str, Self)];
}

impl<T: Text> Value for T {
    type Physical = ByteArrayType;
    const TEXT: bool = true;

    fn store(self) -> ByteArray {
        let name = T::NAMES.iter().find(|(_, value)| *value == self).map(|(name, _)| *name);
        // Borrowed from the program: a column has one per row.
        ByteArray::from(Bytes::from_static(name.expect("NAMES lists every value").as_bytes()))
    }

    fn load(stored: &ByteArray) -> Option<T> {
        T::NAMES.iter().find(|(name, _)| name.as_bytes() == stored.data()).map(|(_, value)| *value)
    }
}

impl Text for Side {
    const NAMES: &'static [(&'static str, Side)] = &[("initiator", Side::Initiator), ("acceptor", Side::Acceptor)];
}

impl Text for LinkSide {
    const NAMES: &'static [(&'static str, LinkSide)] = &[("left", LinkSide::Left), ("right", LinkSide::Right)];
}

impl Text for TrafficClass {
    const NAMES: &'static [(&'static str, TrafficClass)] = &[
        ("sequential", TrafficClass::Sequential),
        ("concurrent", TrafficClass::Concurrent),
        ("datagram", TrafficClass::Datagram),
        ("source", TrafficClass::Source),
        ("other", TrafficClass::Other),
        ("probe", TrafficClass::Probe),
    ];
}

impl Text for ProbeKind {
    const NAMES: &'static [(&'static str, ProbeKind)] =
        &[("datagram", ProbeKind::Datagram), ("request", ProbeKind::Request)];
}

impl Text for QueueFate {
    const NAMES: &'static [(&'static str, QueueFate)] = &[
        ("transmitted", QueueFate::Transmitted),
        ("dropped-at-arrival", QueueFate::DroppedAtArrival),
        ("dropped-from-queue", QueueFate::DroppedFromQueue),
    ];
}

impl Text for Pattern {
    const NAMES: &'static [(&'static str, Pattern)] =
        &[("sequential", Pattern::Sequential), ("concurrent", Pattern::Concurrent)];
}

impl Text for Protocol {
    const NAMES: &'static [(&'static str, Protocol)] =
        &[("tcp", Protocol::Tcp), ("udp", Protocol::Udp), ("quic", Protocol::Quic)];
}

impl Text for IpVersion {
    const NAMES: &'static [(&'static str, IpVersion)] = &[("ipv4", IpVersion::V4), ("ipv6", IpVersion::V6)];
}

impl Text for Evidence {
    const NAMES: &'static [(&'static str, Evidence)] = &[
        ("packets", Evidence::Packets),
        ("vector-file", Evidence::VectorFile),
        ("flow-record", Evidence::FlowRecord),
        ("model", Evidence::Model),
    ];
}

impl Text for SynAnswer {
    const NAMES: &'static [(&'static str, SynAnswer)] =
        &[("none", SynAnswer::None), ("reset", SynAnswer::Reset), ("syn", SynAnswer::Syn)];
}

impl Text for InitiatorRule {
    const NAMES: &'static [(&'static str, InitiatorRule)] = &[
        ("syn", InitiatorRule::Syn),
        ("syn-ack", InitiatorRule::SynAck),
        ("port", InitiatorRule::Port),
        ("first-packet", InitiatorRule::FirstPacket),
        ("cut", InitiatorRule::Cut),
    ];
}

impl Text for Close {
    const NAMES: &'static [(&'static str, Close)] = &[
        ("initiator-fin", Close::Fin(Side::Initiator)),
        ("acceptor-fin", Close::Fin(Side::Acceptor)),
        ("initiator-rst", Close::Rst(Side::Initiator)),
        ("acceptor-rst", Close::Rst(Side::Acceptor)),
        ("not-seen", Close::NotSeen),
    ];
}

impl Text for Outcome {
    const NAMES: &'static [(&'static str, Outcome)] = &[
        ("completed", Outcome::Completed),
        ("reset", Outcome::Reset),
        ("gave-up", Outcome::GaveUp),
        ("unfinished", Outcome::Unfinished),
    ];
}

impl Text for PacketKind {
    const NAMES: &'static [(&'static str, PacketKind)] =
        &[("data", PacketKind::Data), ("ack", PacketKind::Ack), ("control", PacketKind::Control)];
}

impl Text for Phase {
    const NAMES: &'static [(&'static str, Phase)] = &[
        ("open", Phase::Open),
        ("disorder", Phase::Disorder),
        ("reduced", Phase::Reduced),
        ("recovery", Phase::Recovery),
        ("loss", Phase::Loss),
    ];
}

/// The reasons of a user's own algorithm have one name, by which their numbers are lost.
impl Value for WindowCause {
    type Physical = ByteArrayType;
    const TEXT: bool = true;

    fn store(self) -> ByteArray {
        ByteArray::from(Bytes::from_static(window_cause(self).as_bytes()))
    }

    fn load(stored: &ByteArray) -> Option<WindowCause> {
        WINDOW_CAUSES.into_iter().find(|cause| window_cause(*cause).as_bytes() == stored.data())
    }
}

const WINDOW_CAUSES: [WindowCause; 19] = [
    WindowCause::Initial,
    WindowCause::SlowStart,
    WindowCause::Avoidance,
    WindowCause::HyStart,
    WindowCause::HyStartExit,
    WindowCause::RenoFriendly,
    WindowCause::Delay,
    WindowCause::Loss,
    WindowCause::Mark,
    WindowCause::Timeout,
    WindowCause::Recovery,
    WindowCause::Recovered,
    WindowCause::Restart,
    WindowCause::Undone,
    WindowCause::Bbr(BbrState::Startup),
    WindowCause::Bbr(BbrState::Drain),
    WindowCause::Bbr(BbrState::ProbeBandwidth),
    WindowCause::Bbr(BbrState::ProbeRtt),
    WindowCause::Custom(0),
];

fn window_cause(cause: WindowCause) -> &'static str {
    match cause {
        WindowCause::Initial => "initial",
        WindowCause::SlowStart => "slow-start",
        WindowCause::Avoidance => "avoidance",
        WindowCause::HyStart => "hystart",
        WindowCause::HyStartExit => "hystart-exit",
        WindowCause::RenoFriendly => "reno-friendly",
        WindowCause::Delay => "delay",
        WindowCause::Loss => "loss",
        WindowCause::Mark => "mark",
        WindowCause::Timeout => "timeout",
        WindowCause::Recovery => "recovery",
        WindowCause::Recovered => "recovered",
        WindowCause::Restart => "restart",
        WindowCause::Undone => "undone",
        WindowCause::Bbr(BbrState::Startup) => "bbr-startup",
        WindowCause::Bbr(BbrState::Drain) => "bbr-drain",
        WindowCause::Bbr(BbrState::ProbeBandwidth) => "bbr-probe-bandwidth",
        WindowCause::Bbr(BbrState::ProbeRtt) => "bbr-probe-rtt",
        WindowCause::Custom(_) => "custom",
    }
}

impl Text for DropReason {
    const NAMES: &'static [(&'static str, DropReason)] = &[
        ("queue-full", DropReason::QueueFull),
        ("loss", DropReason::Loss),
        ("policed", DropReason::Policed),
        ("early", DropReason::Early),
        ("overflow", DropReason::Overflow),
        ("spoilt", DropReason::Spoilt),
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_come_back_by_their_names() {
        for cause in WINDOW_CAUSES {
            assert_eq!(WindowCause::load(&cause.store()), Some(cause));
        }
        assert_eq!(WindowCause::load(&WindowCause::Custom(7).store()), Some(WindowCause::Custom(0)));
        assert_eq!(WindowCause::load(&ByteArray::from("none")), None);
    }
}
