//! What connections share, and the little that is one connection's own.

use std::num::{NonZeroU16, NonZeroU32};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::congestion::{Algorithm, CubicParameters, WindowRules};
use crate::time::Duration;

/// The parameters of TCP that connections of a run share. Immutable; passed into every call. A run may have several,
/// as long as a connection is always given the same one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Congestion control. Default NewReno.
    pub congestion: Algorithm,
    /// Which rules govern the congestion window. Default those of the RFCs.
    pub window_rules: WindowRules,
    /// Congestion window at the start and after idling.
    pub initial_window: InitialWindow,
    /// Ends may have an initial window of their own ([`Habits`]). Default on.
    pub own_initial_windows: bool,
    /// L of RFC 3465: segments by which one acknowledgement may widen the window in slow start; `None` for as much as it
    /// acknowledges (as Linux does). Default 1 (RFC 5681 equation 2).
    pub slow_start_limit: Option<u8>,
    /// An acknowledgement counts for what it acknowledges (RFC 3465); else for a segment at most (RFC 5681 equation 3), so
    /// that delayed acknowledgements halve the growth in congestion avoidance, as in stacks before RFC 3465. Default on.
    pub byte_counting: bool,
    /// How long an acknowledgement may be delayed (RFC 9293 section 3.8.6.3 wants less than 500 ms); `None`
    /// acknowledges every segment at once. Default 100 ms.
    pub delayed_ack: Option<Duration>,
    /// How many segments are acknowledged at once before acknowledgements are delayed, at the start and after a pause
    /// of more than a retransmission timeout, as long as the program does not answer (Linux: 16). Default 0.
    pub quick_acks: u8,
    /// Ends may acknowledge in a way of their own ([`Habits`]). Default on.
    pub own_acks: bool,
    /// While there is a hole, acknowledgements after the third duplicate wait for others: 5 % of the round-trip time, 1 ms at
    /// most (Linux, `tcp_comp_sack_delay_ns`). Default off.
    pub sack_compression: bool,
    /// A receive window of more than 65,535 bytes begins there and grows by two segments with each that arrives, every one of
    /// which is acknowledged meanwhile, as long as the program does not answer (Linux). Default off: it is there at once.
    pub window_growth: bool,
    /// A receive buffer that grows with what arrives and limits the window meanwhile (Linux). Default `None`: it is large from
    /// the start and limits nothing.
    pub receive_buffer: Option<ReceiveBuffer>,
    /// The bounds and margins of the retransmission timeout.
    pub rto: RtoConfig,
    /// Fast retransmit starts the retransmission timer anew (as in BSD and ns-2), so that what it sends again has a whole
    /// timeout to be acknowledged. Default off: the timer is about the last new acknowledgement (RFC 6298 section 5).
    pub recovery_restarts_timer: bool,
    /// After an idle time of more than one retransmission timeout, start again from the initial window
    /// (RFC 5681 section 4.1); in Linux ([`WindowRules::Linux`]) with half the window for each timeout that passed, and no less
    /// than that. Default on.
    pub restart_after_idle: bool,
    /// Offer the window scale option (RFC 7323). Default on.
    pub window_scaling: bool,
    /// Offer timestamps (RFC 7323): a round-trip sample with every acknowledgement of new data, 12 bytes less of each
    /// segment. Default off.
    pub timestamps: bool,
    /// Offer selective acknowledgements, and which to send. Default off.
    pub sack: Sack,
    /// Where SACK is agreed, tell losses by time (RACK-TLP, RFC 8985), not by what was acknowledged above them (RFC 6675).
    /// Default off.
    pub rack: bool,
    /// Where SACK is agreed, spread what recovery sends over a round trip (RFC 9937). Default on.
    pub prr: bool,
    /// Take reductions back that had no cause, as timestamps (RFC 3522, 4015) or reported duplicates (RFC 3708) tell. Default
    /// off.
    pub undo: bool,
    /// After a timeout, see from the first acknowledgements whether it had a cause (RFC 5682). Default off.
    pub f_rto: bool,
    /// Send a new segment for each of the first two duplicate acknowledgements (RFC 3042). Default off.
    pub limited_transmit: bool,
    /// Pace algorithms that have no rate of their own as Linux does, at 200 % of the window a round trip in slow start and
    /// 120 % after. Default off.
    pub pacing: bool,
    /// Segments leave in bursts of about a millisecond of the sending rate, of two segments at least, and a smaller burst waits
    /// where the next acknowledgement is near (Linux, `tcp_tso_autosize` and `tcp_tso_should_defer`). Default off: each leaves by itself.
    pub bursts: bool,
    /// Offer ECN (RFC 3168), and how marks are echoed. Default off.
    pub ecn: EcnEcho,
    /// Timeouts in a row after which a connection that never was established gives up. Default 6.
    pub syn_retries: u8,
    /// Timeouts in a row after which an established connection gives up (RFC 9293 section 3.8.3, R2). Default 15.
    pub data_retries: u8,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            congestion: Algorithm::NewReno,
            window_rules: WindowRules::Rfc,
            initial_window: InitialWindow::Rfc5681,
            own_initial_windows: true,
            slow_start_limit: Some(1),
            byte_counting: true,
            delayed_ack: Some(Duration::from_millis(100)),
            quick_acks: 0,
            own_acks: true,
            sack_compression: false,
            window_growth: false,
            receive_buffer: None,
            rto: RtoConfig::default(),
            recovery_restarts_timer: false,
            restart_after_idle: true,
            window_scaling: true,
            timestamps: false,
            sack: Sack::Off,
            rack: false,
            prr: true,
            undo: false,
            f_rto: false,
            limited_transmit: false,
            pacing: false,
            bursts: false,
            ecn: EcnEcho::Off,
            syn_retries: 6,
            data_retries: 15,
        }
    }
}

/// Sets of values that belong together. Both ends of a connection have the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// What Flowloom does unless told otherwise: NewReno without options but window scaling, initial window 10,
    /// acknowledgements delayed by 40 ms, timeouts at least 200 ms above the round-trip time.
    #[default]
    Plain,
    /// The standards track, without what is experimental: NewReno (RFC 5681, 6582) with SACK (RFC 2018, 2883, 6675),
    /// F-RTO (RFC 5682; what else tells of reductions without cause is experimental), limited transmit (RFC 3042), timestamps and window scaling (RFC 7323), timeouts of RFC 6298 (1 s at least), initial
    /// window of RFC 5681 (2 to 4 segments, not the 10 of the experimental RFC 6928), proportional rate reduction (RFC 9937),
    /// acknowledgements of every second segment delayed by 200 ms (RFC 1122 wants less than 500 ms).
    Rfc,
    /// FreeBSD 6, on which the published usernet experiments ran: NewReno with SACK, no D-SACK, initial window of RFC
    /// 3390, limited transmit, timestamps, acknowledgements counted and not what they acknowledge, acknowledgements delayed by 100 ms (`net.inet.tcp.delacktime`), timeouts at least
    /// 30 ms (`rexmit_min`) and 200 ms more than estimated (`rexmit_slop`), 3 s before the first sample.
    #[serde(rename = "bsd-2008")]
    Bsd2008,
    /// Linux 6 as it comes, with segmentation offload off: CUBIC with HyStart, Linux's rules for the window, initial window 10, slow start by all that is acknowledged, SACK with D-SACK,
    /// RACK-TLP, PRR, reductions without cause taken back, F-RTO, timestamps (of 1 ms), 16 quick acknowledgements, then delayed by 40 ms (TCP_DELACK_MIN), windows that grow from
    /// 65,535 bytes, timeouts at
    /// least 200 ms above the round-trip time (TCP_RTO_MIN), 120 s at most (TCP_RTO_MAX). ECN is granted but not asked for,
    /// so it is off where both ends are alike. No pacing without the fq discipline; BBR paces itself.
    Linux,
    /// The TCP that ns-2 and the Mathis formula assume: NewReno without options but window scaling, acknowledgements counted
    /// and not what they acknowledge, limited transmit, no PRR, F-RTO, HyStart++ or undoing. The values are the defaults of
    /// ns-2.35: initial window 2 (`windowInit_`), acknowledgements delayed by 100 ms (`interval_` of `TCPSink/DelAck`),
    /// timeouts of at least 200 ms (`minrto_`) and at most 60 s (`maxrto_`) with a granularity of 10 ms (`tcpTick_`), 3 s
    /// before the first sample (`rtxcur_init_`), limited transmit (`singledup_`).
    Classic,
}

impl Config {
    /// The configuration that `profile` stands for.
    pub fn of(profile: Profile) -> Config {
        let plain = Config {
            initial_window: InitialWindow::Segments(10),
            delayed_ack: Some(Duration::from_millis(40)),
            rto: RtoConfig::with_margin(Duration::from_millis(200)),
            ..Config::default()
        };
        let rfc = Config {
            delayed_ack: Some(Duration::from_millis(200)),
            timestamps: true,
            sack: Sack::WithDuplicates,
            f_rto: true,
            limited_transmit: true,
            ..Config::default()
        };
        match profile {
            Profile::Plain => plain,
            Profile::Rfc => rfc,
            Profile::Bsd2008 => Config {
                byte_counting: false,
                delayed_ack: Some(Duration::from_millis(100)),
                sack: Sack::On,
                prr: false,
                f_rto: false,
                rto: RtoConfig {
                    initial: Duration::from_secs(3),
                    min: Duration::from_millis(30),
                    max: Duration::from_secs(64),
                    slop: Duration::from_millis(200),
                    ..RtoConfig::default()
                },
                ..rfc
            },
            Profile::Linux => Config {
                congestion: Algorithm::Cubic(CubicParameters::default()),
                window_rules: WindowRules::Linux,
                slow_start_limit: None,
                quick_acks: 16,
                sack_compression: true,
                window_growth: true,
                timestamps: true,
                sack: Sack::WithDuplicates,
                rack: true,
                undo: true,
                f_rto: true,
                limited_transmit: true,
                bursts: true,
                rto: RtoConfig { max: Duration::from_secs(120), variation: RtoVariation::Linux, ..plain.rto },
                ..plain
            },
            Profile::Classic => Config {
                initial_window: InitialWindow::Segments(2),
                byte_counting: false,
                delayed_ack: Some(Duration::from_millis(100)),
                rto: RtoConfig {
                    initial: Duration::from_secs(3),
                    min: Duration::from_millis(200),
                    granularity: Duration::from_millis(10),
                    ..RtoConfig::default()
                },
                recovery_restarts_timer: true,
                prr: false,
                limited_transmit: true,
                ..Config::default()
            },
        }
    }
}

/// A receive buffer that Linux sizes once per round trip by what the application reads (dynamic right-sizing).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveBuffer {
    /// Memory at the start of a connection in bytes (`tcp_rmem[1]`; Linux: 131,072).
    pub bytes: u32,
    /// How many bytes of payload 256 bytes of memory hold (`scaling_ratio`; Linux: 128 before the first segment, and then
    /// what the driver's packets have). At least 1.
    pub payload_ratio: u8,
}

impl ReceiveBuffer {
    /// The most memory that a connection gets, in bytes (`tcp_rmem[2]` of Linux 6.18 on a host with memory for it).
    pub const LARGEST: u32 = 32 << 20;
}

/// Selective acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sack {
    /// SACK is not offered.
    Off,
    /// SACK is offered (RFC 2018).
    On,
    /// RFC 2018, and what arrives twice is reported as well (D-SACK, RFC 2883).
    WithDuplicates,
}

/// Explicit congestion notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnEcho {
    /// ECN is not offered.
    Off,
    /// A mark is echoed with every acknowledgement until the sender answers with CWR (RFC 3168 section 6.1.3).
    UntilAnswered,
    /// Each acknowledgement tells whether what it acknowledges was marked (RFC 8257 section 3.2, for DCTCP).
    EachMark,
}

/// Congestion window at the start of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialWindow {
    /// 2 to 4 segments by their size (RFC 5681 section 3.1).
    Rfc5681,
    /// min(10 MSS, max(2 MSS, 14,600 bytes)) (RFC 6928).
    Rfc6928,
    /// This many segments (at least 1).
    Segments(u16),
}

impl InitialWindow {
    /// In bytes, for segments of `mss` bytes.
    pub fn bytes(self, mss: u32) -> u32 {
        match self {
            InitialWindow::Rfc5681 if mss > 2190 => 2 * mss,
            InitialWindow::Rfc5681 if mss > 1095 => 3 * mss,
            InitialWindow::Rfc5681 => 4 * mss,
            InitialWindow::Rfc6928 => (10 * mss).min((2 * mss).max(14_600)),
            InitialWindow::Segments(segments) => mss * u32::from(segments.max(1)),
        }
    }
}

/// Parameters of the retransmission timeout (RFC 6298).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoConfig {
    /// Before the first round-trip sample. RFC 6298 (2.1): 1 s.
    pub initial: Duration,
    /// Lower bound. RFC 6298 (2.4): 1 s.
    pub min: Duration,
    /// Upper bound, also of the backed-off timeout. RFC 6298 (2.5) allows 60 s or more.
    pub max: Duration,
    /// Clock granularity G, the least margin over the smoothed round-trip time.
    pub granularity: Duration,
    /// Added to every timeout that follows a sample (FreeBSD: 200 ms, `net.inet.tcp.rexmit_slop`). Default 0.
    pub slop: Duration,
    /// How the variation follows the samples.
    pub variation: RtoVariation,
}

/// How the variation of round-trip times is estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RtoVariation {
    /// RFC 6298: a moving average.
    #[default]
    Rfc,
    /// Linux (`tcp_rtt_estimator`): the largest deviation within a round trip at once, and down by a quarter of the difference
    /// with each; samples below the smoothed time count an eighth. Needs SACK and a profile that notes each transmission.
    Linux,
}

impl RtoConfig {
    /// RFC 6298 as Linux has it (`tcp_rto_min`): `min` bounds the margin over the smoothed round-trip time, and with it
    /// the timeout. A bound on the timeout alone does nothing on a path longer than it: a steady round-trip time lets
    /// the variation vanish, and then one delayed acknowledgement is taken for a loss.
    pub fn with_margin(min: Duration) -> RtoConfig {
        RtoConfig { min, granularity: min, ..RtoConfig::default() }
    }
}

impl Default for RtoConfig {
    fn default() -> RtoConfig {
        RtoConfig {
            initial: Duration::from_secs(1),
            min: Duration::from_secs(1),
            max: Duration::from_secs(60),
            granularity: Duration::from_millis(1),
            slop: Duration::ZERO,
            variation: RtoVariation::Rfc,
        }
    }
}

/// The options that an endpoint offers in its SYN. What both ends offer is in effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offers {
    /// Window scale.
    pub window_scaling: bool,
    /// Timestamps.
    pub timestamps: bool,
    /// SACK-permitted.
    pub sack: bool,
    /// ECN. RFC 3168 section 6.1.1: ECE and CWR ask for it, ECE alone grants it.
    pub ecn: bool,
}

impl Offers {
    /// Those of `config`.
    pub fn of(config: &Config) -> Offers {
        Offers {
            window_scaling: config.window_scaling,
            timestamps: config.timestamps,
            sack: config.sack != Sack::Off,
            ecn: config.ecn != EcnEcho::Off,
        }
    }
}

/// What one endpoint brings of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The MSS it announces, and the largest payload it sends. At least 1.
    pub mss: u16,
    /// The largest receive window it advertises, in bytes. What the header can express is less where it takes a
    /// scale (the multiple of the scale below) or where no scaling is agreed (65,535). At least 1.
    pub max_window: u32,
}

/// What one end does in its own way and not as its [`Config`] says: a few bytes beside what connections share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Habits {
    /// Bytes of its congestion window at the start and after idling, to the nearest number of segments.
    pub initial_window: Option<NonZeroU32>,
    /// How it acknowledges data in order.
    pub acks: Option<AckHabit>,
    /// Most bytes of payload that it sends in a second, as `SO_MAX_PACING_RATE` of Linux has it.
    pub rate: Option<NonZeroU32>,
    /// It holds a small segment back until what it sent before is acknowledged (Nagle's algorithm, RFC 9293 section 3.7.4); by Linux's rules
    /// ([`WindowRules::Linux`]) until the small segment before is, as `TCP_NODELAY` that is off has it.
    pub nagle: bool,
}

/// How one end acknowledges data in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckHabit {
    /// Segments that are acknowledged one by one at the start.
    pub quick: u8,
    /// Full-sized segments after which it acknowledges at once. At least 1.
    pub every: u8,
    /// How long fewer of them wait, in milliseconds; `None` for as long as the configuration says.
    pub delay: Option<NonZeroU16>,
}

impl Default for Limits {
    /// Segments of 1,460 bytes and a window of 65,535 bytes.
    fn default() -> Limits {
        Limits { mss: 1460, max_window: 65_535 }
    }
}
