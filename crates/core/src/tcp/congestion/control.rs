//! The interface of a congestion control: what it is told, and what it answers.

use std::fmt;

use super::window::{Window, WindowCause};
use crate::time::{Duration, Time};
use crate::units::Rate;

/// The longest burst that Linux hands to a device, in bytes: what IP allows, less the room for headers (`sk_gso_max_size`).
pub(in crate::tcp) const LONGEST_BURST: u64 = 65_536 - 321;

/// What an acknowledgement told. Sizes are in payload bytes, positions are offsets into the stream.
#[derive(Clone, Debug)]
pub struct Ack {
    /// The time at which the acknowledgement arrived.
    pub now: Time,
    /// Bytes newly acknowledged cumulatively.
    pub acked: u64,
    /// Bytes that newly arrived as far as this acknowledgement tells: cumulatively and not by SACK before, or by SACK.
    pub delivered: u64,
    /// Bytes newly taken for lost.
    pub lost: u64,
    /// Bytes in flight before it arrived: sent, not acknowledged, and, where SACK tells, neither arrived nor taken for lost
    /// (pipe of RFC 6675).
    pub flight_before: u64,
    /// Bytes in flight after it arrived, counted as in `flight_before`.
    pub flight: u64,
    /// SND.UNA after it: the first offset that is not acknowledged.
    pub unacknowledged: u64,
    /// SND.NXT: what is sent from now on begins here. Counts round trips.
    pub next: u64,
    /// Round-trip time of something that was sent once and newly arrived: the shortest if there are several.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time (RFC 6298), this sample included.
    pub smoothed: Option<Duration>,
    /// The window held the sender back, as opposed to the application or the receiver, so that it may grow: by
    /// [`Window::was_used`], or as Linux tells it ([`WindowRules::Linux`]).
    pub window_limited: bool,
    /// It echoes a congestion mark (ECE; RFC 3168, RFC 8257).
    pub marked: bool,
    /// It found the sender in fast recovery, or in the reduction after a mark, or it is the mark that is answered.
    pub in_recovery: bool,
    /// The sender spaces its segments by pacing.
    pub paced: bool,
    /// The delivery rate, for an algorithm that [`CongestionControl::wants_rate`].
    pub rate: Option<RateSample>,
    /// When the next segment may leave, now or later, where paced segments leave in bursts
    /// ([`Config::bursts`](crate::tcp::Config::bursts)); else `None`.
    pub departure: Option<Time>,
}

/// How fast the path delivered what an acknowledgement was for (draft-cheng-iccrg-delivery-rate-estimation-00).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Bytes delivered over `interval`.
    pub delivered: u64,
    /// The longer of the times that sending and acknowledging these bytes took; zero if there is no valid sample.
    pub interval: Duration,
    /// All bytes that the connection had delivered when the newest of them was sent...
    pub prior_delivered: u64,
    /// All bytes that the connection has delivered by now.
    pub total_delivered: u64,
    /// The sender had nothing more to send at some time meanwhile: the path may be faster than this.
    pub application_limited: bool,
    /// The acknowledgement was for a single short segment, alone in its round trip, so the receiver may have delayed it.
    pub ack_delayed: bool,
}

/// Why a window must be reduced at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A loss that was noticed without a timeout.
    Loss,
    /// A congestion mark that the peer echoed (ECE).
    Mark,
}

/// What a sender does about a loss that it notices without a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Fast retransmit alone: send again from the first hole on, as after a timeout (Tahoe).
    Restart,
    /// Fast recovery until the first acknowledgement of new data (RFC 2581, RFC 5681). Where SACK is in use the same as
    /// [`Self::Full`].
    First,
    /// Fast recovery until all that was outstanding at its beginning is acknowledged (RFC 6582, RFC 6675).
    Full,
    /// The same, with the window the algorithm gives.
    Own,
}

/// What names the random numbers of one end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The seed of the run, the first half of the name.
    pub seed: u64,
    /// ... and the number of the connection end in it, which together name its random stream
    /// ([`crate::rng::Purpose::CongestionControl`]).
    pub stream: u64,
}

/// A congestion control. See the module for which call comes when; each gets the window that it may change.
///
/// The window begins at the initial window, with an unlimited threshold. What has a default here is what RFC 5681 says.
///
/// # Example
///
/// Scalable TCP (Kelly, CCR 33(2), 2003): a hundredth of what is acknowledged is added, and a loss takes an eighth.
///
/// ```
/// use flowloom_core::tcp::congestion::{Ack, Algorithm, Cause, CongestionControl, Custom, Window, WindowCause};
/// use flowloom_core::tcp::{Config, Endpoint, Limits};
/// use flowloom_core::time::{Duration, Time};
///
/// #[derive(Clone, Debug, Default)]
/// struct Scalable {
///     acked: u64,
/// }
///
/// impl CongestionControl for Scalable {
///     fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
///         if ack.in_recovery || !ack.window_limited {
///             return;
///         }
///         if window.in_slow_start() {
///             return window.slow_start(ack.acked);
///         }
///         self.acked += ack.acked;
///         window.grow((self.acked / 100) as u32, WindowCause::Avoidance);
///         self.acked %= 100;
///     }
///
///     fn on_congestion(&mut self, window: &mut Window, _now: Time, _flight: u64, cause: Cause) {
///         window.set_threshold(window.bytes() - window.bytes() / 8);
///         window.set(window.threshold(), cause.into());
///     }
/// }
///
/// // For all connections of a run:
/// let scalable = Custom::new("scalable", |_setup| Scalable::default());
/// let config = Config { congestion: Algorithm::Custom(scalable), ..Config::default() };
///
/// // Two ends, 20 ms apart, and 200,000 bytes.
/// let mut ends = [Endpoint::connect(&config, Limits::default()), Endpoint::listen(&config, Limits::default())];
/// ends[0].write(200_000);
/// let (mut now, mut from) = (Time::ZERO, 0);
/// while ends[1].bytes_received() < 200_000 {
///     while let Some(segment) = ends[from].poll_transmit(now, &config) {
///         ends[1 - from].handle_segment(now + Duration::from_millis(20), &segment, &config);
///     }
///     now += Duration::from_millis(20);
///     from = 1 - from;
/// }
/// assert_eq!(config.congestion.name(), "scalable");
/// assert!(ends[0].congestion_window() > config.initial_window.bytes(1460));
/// assert_eq!(ends[0].window_cause(), WindowCause::SlowStart);
/// ```
pub trait CongestionControl: fmt::Debug + Send + Sync + CloneBoxed {
    /// The handshake is done; `rtt` is its round-trip time, if it gave one.
    fn on_established(&mut self, _window: &mut Window, _now: Time, _rtt: Option<Duration>) {}

    /// An acknowledgement arrived.
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);

    /// The window must be reduced, with `flight` bytes in flight: set threshold and window, to a share of [`Window::base`].
    fn on_congestion(&mut self, window: &mut Window, now: Time, flight: u64, cause: Cause);

    /// A loss is noticed while the reduction for a mark is under way and has brought the window to `wide` bytes. The window was
    /// reduced for this round trip already; this is for algorithms of Linux that reduce it again.
    fn on_loss_after_mark(&mut self, _window: &mut Window, _wide: u32) {}

    /// Recovery is over and arrived at `target` bytes.
    fn on_recovered(&mut self, window: &mut Window, _now: Time, target: u32) {
        window.set(target, WindowCause::Recovered);
    }

    /// The retransmission timer expired with `flight` bytes in flight; `again` if the threshold is already set for this
    /// loss. One segment (RFC 5681 section 3.1).
    fn on_timeout(&mut self, window: &mut Window, _now: Time, flight: u64, again: bool) {
        if !again {
            window.set_threshold(window.half(flight));
        }
        window.set(window.mss(), WindowCause::Timeout);
    }

    /// Sending begins again `idle` after the last segment was sent, with nothing in flight; at most with `restart` bytes
    /// if that is given (RFC 5681 section 4.1).
    fn on_restart(&mut self, window: &mut Window, _now: Time, _idle: Duration, restart: Option<u32>) {
        if let Some(restart) = restart {
            window.restart(restart);
        }
    }

    /// The last reduction had no cause; before it there were a window of `bytes` and `threshold`.
    fn on_spurious(&mut self, window: &mut Window, _now: Time, bytes: u32, threshold: u32) {
        window.set_threshold(threshold.max(window.threshold()));
        window.set(bytes.max(window.bytes()), WindowCause::Undone);
    }

    /// At which rate to send; `None` leaves it to the sender.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// The fewest segments that make a burst ([`Config::bursts`](crate::tcp::Config::bursts)).
    fn least_burst(&self) -> u32 {
        2
    }

    /// What the sender does about a loss.
    fn recovery(&self) -> Recovery {
        Recovery::Full
    }

    /// Acknowledgements are to bring [`Ack::rate`].
    fn wants_rate(&self) -> bool {
        false
    }

    /// At the present, one round-trip sample per window is too few: every acknowledgement is to bring [`Ack::rtt`] if
    /// it can.
    fn wants_rtt(&self) -> bool {
        false
    }
}

/// Lets a boxed [`CongestionControl`] be cloned; every type that is `Clone` has it.
pub trait CloneBoxed {
    /// Returns a copy in a box of its own.
    fn clone_boxed(&self) -> Box<dyn CongestionControl>;
}

impl<T: CongestionControl + Clone + 'static> CloneBoxed for T {
    fn clone_boxed(&self) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn CongestionControl> {
    fn clone(&self) -> Self {
        (**self).clone_boxed()
    }
}
