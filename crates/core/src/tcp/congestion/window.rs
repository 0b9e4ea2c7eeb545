//! The congestion window that every algorithm moves, and why it moved last.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use std::fmt;

use super::control::Cause;

/// Which rules govern the window: what a reduction is a share of, when the window grows, what becomes of one that is not used.
/// `docs/reference/tcp.md` sets them side by side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowRules {
    /// RFC 5681, 6675, 9438, 9937: reductions take a share of what was in flight, at most of the window; an idle connection
    /// starts again from its initial window.
    #[default]
    Rfc,
    /// Linux: reductions take a share of the window, which grows only while it limits the sender and decays while it does
    /// not; an idle connection loses half of its window for each timeout that passes (RFC 2861).
    Linux,
}

/// Congestion window and slow start threshold of one end, in bytes. Whatever is asked for, the window stays within 1
/// byte and [`Self::MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The congestion window cwnd, in bytes.
    bytes: u32,
    /// The slow start threshold ssthresh, in bytes.
    threshold: u32,
    mss: u32,
    cause: WindowCause,
    /// L of RFC 3465: segments by which one acknowledgement may widen the window in slow start; 0 for no limit.
    growth_limit: u8,
    rules: WindowRules,
}

/// What changed a congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowCause {
    /// Nothing yet: the initial window.
    Initial,
    /// Slow start widened the window.
    SlowStart,
    /// Congestion avoidance widened the window.
    Avoidance,
    /// Conservative slow start (HyStart++).
    HyStart,
    /// HyStart or HyStart++ ended slow start; the window stayed.
    HyStartExit,
    /// Congestion avoidance of CUBIC at the pace of Reno.
    RenoFriendly,
    /// Round-trip times that show a queue (Vegas).
    Delay,
    /// A loss noticed without a timeout.
    Loss,
    /// A congestion mark (ECN) reduced the window.
    Mark,
    /// The retransmission timer expired.
    Timeout,
    /// Fast recovery, which the sender conducts: it begins on top of a reduction that was made already, or moves what may be
    /// outstanding (RFC 5681 section 3.2, RFC 6582).
    Recovery,
    /// Fast recovery ended, and the window became the threshold.
    Recovered,
    /// A time in which the window was not used, or not in full.
    Restart,
    /// A reduction without cause was taken back.
    Undone,
    /// BBR set the window in this state.
    Bbr(BbrState),
    /// A reason of a user's own algorithm, by a number that has its meaning there.
    Custom(u8),
}

impl fmt::Display for WindowCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WindowCause::Initial => "initial window",
            WindowCause::SlowStart => "slow start",
            WindowCause::Avoidance => "congestion avoidance",
            WindowCause::HyStart => "conservative slow start",
            WindowCause::HyStartExit => "end of slow start by HyStart",
            WindowCause::RenoFriendly => "Reno-friendly congestion avoidance",
            WindowCause::Delay => "delay",
            WindowCause::Loss => "loss",
            WindowCause::Mark => "congestion mark",
            WindowCause::Timeout => "retransmission timeout",
            WindowCause::Recovery => "fast recovery",
            WindowCause::Recovered => "end of recovery",
            WindowCause::Restart => "restart after idle",
            WindowCause::Undone => "reduction undone",
            WindowCause::Bbr(BbrState::Startup) => "BBR startup",
            WindowCause::Bbr(BbrState::Drain) => "BBR drain",
            WindowCause::Bbr(BbrState::ProbeBandwidth) => "BBR bandwidth probing",
            WindowCause::Bbr(BbrState::ProbeRtt) => "BBR round-trip time probing",
            WindowCause::Custom(reason) => return write!(f, "custom {reason}"),
        })
    }
}

impl Window {
    /// The largest window: more than any that 16 bits shifted by 14 can advertise.
    pub const MAX: u32 = u32::MAX / 2;

    /// A window of `initial` bytes for segments of `mss`. In slow start one acknowledgement adds at most `growth_limit`
    /// segments (L of RFC 3465; 1 is RFC 5681), or as much as it acknowledges if that is `None`.
    pub fn new(initial: u32, mss: u32, growth_limit: Option<u8>) -> Window {
        Window {
            bytes: initial.clamp(1, Window::MAX),
            threshold: Window::MAX,
            mss: mss.clamp(1, u32::from(u16::MAX)),
            cause: WindowCause::Initial,
            growth_limit: growth_limit.map_or(0, |limit| limit.max(1)),
            rules: WindowRules::Rfc,
        }
    }

    /// The same window under `rules`. [`Self::new`] gives those of the RFCs.
    #[must_use]
    pub fn under(mut self, rules: WindowRules) -> Window {
        self.rules = rules;
        self
    }

    /// The rules that govern the window.
    pub fn rules(&self) -> WindowRules {
        self.rules
    }

    /// The congestion window cwnd, in bytes.
    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    /// ssthresh; [`Self::MAX`] until it is set.
    pub fn threshold(&self) -> u32 {
        self.threshold
    }

    /// The payload of a full segment, in bytes.
    pub fn mss(&self) -> u32 {
        self.mss
    }

    /// Why the window changed last.
    pub fn why(&self) -> WindowCause {
        self.cause
    }

    /// The window is below the threshold.
    pub fn in_slow_start(&self) -> bool {
        self.bytes < self.threshold
    }

    /// Sets the window, within its bounds.
    pub fn set(&mut self, bytes: u32, why: WindowCause) {
        self.bytes = bytes.clamp(1, Window::MAX);
        self.cause = why;
    }

    /// Names another cause for what was just set.
    pub(super) fn explain(&mut self, why: WindowCause) {
        self.cause = why;
    }

    /// Sets the threshold, to two segments at least (RFC 5681 equation 4); Linux counts whole segments.
    pub fn set_threshold(&mut self, bytes: u32) {
        let whole = match self.rules {
            WindowRules::Linux if bytes < Window::MAX => bytes - bytes % self.mss,
            _ => bytes,
        };
        self.threshold = whole.max(2 * self.mss).min(Window::MAX);
    }

    /// Widens the window by `bytes`.
    pub fn grow(&mut self, bytes: u32, why: WindowCause) {
        self.set(self.bytes.saturating_add(bytes), why);
    }

    /// What slow start makes of `acked` bytes: a window wider by as much, but by the growth limit at most (RFC 5681
    /// equation 2, RFC 3465); in Linux not beyond the threshold either.
    pub fn slow_start(&mut self, acked: u64) {
        let _ = self.slow_start_to_threshold(acked);
    }

    /// [`Self::slow_start`]; returns the bytes that are left for congestion avoidance, in Linux.
    pub(super) fn slow_start_to_threshold(&mut self, acked: u64) -> u64 {
        let step = self.slow_start_step(acked);
        match self.rules {
            WindowRules::Rfc => {
                self.grow(step, WindowCause::SlowStart);
                0
            }
            WindowRules::Linux => {
                let step = step.min(self.threshold.saturating_sub(self.bytes));
                self.grow(step, WindowCause::SlowStart);
                acked - u64::from(step)
            }
        }
    }

    /// By how much slow start would widen the window.
    pub fn slow_start_step(&self, acked: u64) -> u32 {
        let acked = saturate(acked);
        if self.growth_limit == 0 { acked } else { acked.min(u32::from(self.growth_limit) * self.mss) }
    }

    /// Whether an acknowledgement that found `used` bytes in flight may widen the window under the rules of the RFCs: in slow
    /// start if more than half of it was used, after that if no full segment would have fitted. A window that was not
    /// filled says nothing about the path (RFC 7661).
    pub fn was_used(&self, used: u64) -> bool {
        if self.in_slow_start() {
            2 * used > u64::from(self.bytes)
        } else {
            used + u64::from(self.mss) > u64::from(self.bytes)
        }
    }

    /// What a reduction is a share of, with `flight` bytes in flight: the window in Linux, else the flight, but not more than the
    /// window. FlightSize counts data that was sent during a recovery and reported by SACK; were it not held to the window, each
    /// recovery would raise the threshold of the next.
    pub fn base(&self, flight: u64) -> u32 {
        match self.rules {
            WindowRules::Rfc => saturate(flight).min(self.bytes),
            WindowRules::Linux => self.bytes,
        }
    }

    /// Raises the threshold to three quarters of the window, which is about to shrink for want of use (RFC 2861 section 3.1).
    pub fn remember(&mut self) {
        if self.threshold < Window::MAX {
            self.set_threshold(self.threshold.max(self.bytes - self.bytes / 4));
        }
    }

    /// Moves the window halfway to the `used` bytes of it that were needed lately (RFC 2861 section 3.1).
    pub fn decay_to(&mut self, used: u32) {
        if used < self.bytes {
            self.remember();
            self.set(self.bytes.midpoint(used), WindowCause::Restart);
        }
    }

    /// The window after a time without sending: `bytes`, or what it was if that is less (RFC 5681 section 4.1).
    pub fn restart(&mut self, bytes: u32) {
        if bytes < self.bytes {
            self.set(bytes, WindowCause::Restart);
        }
    }

    /// Half of [`Self::base`], but two segments at least: the threshold of RFC 5681 equation 4.
    pub fn half(&self, flight: u64) -> u32 {
        (self.base(flight) / 2).max(2 * self.mss)
    }
}

impl From<Cause> for WindowCause {
    fn from(cause: Cause) -> WindowCause {
        match cause {
            Cause::Loss => WindowCause::Loss,
            Cause::Mark => WindowCause::Mark,
        }
    }
}

/// `bytes`, but at most [`Window::MAX`].
pub(in crate::tcp) fn saturate(bytes: u64) -> u32 {
    bytes.min(u64::from(Window::MAX)) as u32
}

/// The states of section 4.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BbrState {
    /// Doubles the rate each round trip, until it is that of the path.
    Startup,
    /// Lets the queue that this made drain.
    Drain,
    /// Cruises, with a probe for more every eighth round trip.
    ProbeBandwidth,
    /// Empties the path, to see the shortest round-trip time.
    ProbeRtt,
}
