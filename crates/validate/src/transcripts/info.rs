//! What `tcp_info` calls the state of a connection.

use flowloom_core::tcp::Endpoint;

/// A field of `tcp_info` that scripts may compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// `tcpi_snd_cwnd`: the congestion window in whole segments.
    CongestionWindow,
    /// `tcpi_snd_ssthresh`: the slow start threshold in whole segments.
    Threshold,
    /// `tcpi_ca_state`: what loss recovery is doing.
    State,
    /// `tcpi_unacked`: segments sent and not acknowledged.
    Unacknowledged,
    /// `tcpi_sacked`: segments of those that the peer reported to have.
    Sacked,
    /// `tcpi_total_retrans`: segments sent again.
    Retransmissions,
    /// `tcpi_rtt`: the smoothed round-trip time in microseconds.
    SmoothedRtt,
    /// `tcpi_rto`: the retransmission timeout in microseconds.
    Timeout,
    /// `tcpi_notsent_bytes`: bytes written and not sent yet.
    Unsent,
    /// `tcpi_bytes_acked`: payload that the peer acknowledged.
    BytesAcknowledged,
    /// `tcpi_bytes_received`: payload received in order.
    BytesReceived,
}

/// The constants that may stand for numbers.
const CONSTANTS: [(&str, i64); 5] =
    [("TCP_CA_Open", 0), ("TCP_CA_Disorder", 1), ("TCP_CA_CWR", 2), ("TCP_CA_Recovery", 3), ("TCP_CA_Loss", 4)];

/// The number that `name` stands for.
pub(super) fn constant(name: &str) -> Option<i64> {
    CONSTANTS.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

impl Field {
    /// All fields that scripts can read.
    pub const ALL: [Field; 11] = [
        Field::CongestionWindow,
        Field::Threshold,
        Field::State,
        Field::Unacknowledged,
        Field::Sacked,
        Field::Retransmissions,
        Field::SmoothedRtt,
        Field::Timeout,
        Field::Unsent,
        Field::BytesAcknowledged,
        Field::BytesReceived,
    ];

    /// The name of the field in scripts.
    pub fn name(self) -> &'static str {
        match self {
            Field::CongestionWindow => "tcpi_snd_cwnd",
            Field::Threshold => "tcpi_snd_ssthresh",
            Field::State => "tcpi_ca_state",
            Field::Unacknowledged => "tcpi_unacked",
            Field::Sacked => "tcpi_sacked",
            Field::Retransmissions => "tcpi_total_retrans",
            Field::SmoothedRtt => "tcpi_rtt",
            Field::Timeout => "tcpi_rto",
            Field::Unsent => "tcpi_notsent_bytes",
            Field::BytesAcknowledged => "tcpi_bytes_acked",
            Field::BytesReceived => "tcpi_bytes_received",
        }
    }

    /// Finds the field of this name.
    pub fn named(name: &str) -> Option<Field> {
        Field::ALL.into_iter().find(|field| field.name() == name)
    }

    /// The value of the field at `endpoint`.
    pub fn of(self, endpoint: &Endpoint) -> i64 {
        let sender = endpoint.snapshot();
        let mss = i64::from(sender.mss);
        let segments = |bytes: u64| (bytes as i64 + mss - 1) / mss;
        match self {
            Field::CongestionWindow => i64::from(endpoint.congestion_window()) / mss,
            Field::Threshold => i64::from(sender.threshold) / mss,
            Field::State => i64::from(sender.phase as u8),
            Field::Unacknowledged => segments(sender.in_flight),
            Field::Sacked => segments(sender.sacked),
            Field::Retransmissions => i64::from(endpoint.retransmissions()),
            Field::SmoothedRtt => endpoint.smoothed_rtt().map_or(0, |rtt| (rtt.as_nanos() / 1_000) as i64),
            Field::Timeout => (sender.timeout.as_nanos() / 1_000) as i64,
            Field::Unsent => endpoint.bytes_unsent() as i64,
            Field::BytesAcknowledged => endpoint.bytes_acknowledged() as i64,
            Field::BytesReceived => endpoint.bytes_received() as i64,
        }
    }
}
