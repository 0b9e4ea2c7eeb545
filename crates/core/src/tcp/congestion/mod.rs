//! Congestion control: how much may be outstanding, and how fast it may leave. One file per algorithm.
//!
//! | file | algorithm, as the field spells it | source |
//! |---|---|---|
//! | `tahoe` | `tahoe`: slow start, congestion avoidance, fast retransmit without fast recovery | Jacobson 1988 |
//! | `reno` | `reno`, `newreno`: one law of growth; they differ in what a partial acknowledgement means | RFC 5681, RFC 6582 |
//! | `cubic`, `hystart` | `cubic`, with HyStart++ as its slow start | RFC 9438, RFC 9406 |
//! | `linux_cubic`, `classic_hystart` | `cubic` under [`WindowRules::Linux`], with HyStart as its slow start | Linux 6; Ha, Rhee and Xu 2008; Ha and Rhee 2011 |
//! | `dctcp` | `dctcp` | RFC 8257 |
//! | `bbr` | `bbr`, version 1 | draft-cardwell-iccrg-bbr-congestion-control-00, Linux |
//! | `vegas` | `vegas` | Brakmo and Peterson 1995 |
//!
//! # What is whose
//!
//! The sender notices losses, decides what is sent again, and says what may be sent *during* fast recovery: NewReno's
//! inflated window, or proportional rate reduction over SACK, from [`Window::threshold`]. The algorithm owns the window
//! at all other times. [`CongestionControl::recovery`] says which recovery an algorithm was published with; an
//! algorithm that answers [`Recovery::Own`] is asked for the window during recovery, too.
//!
//! # Calls
//!
//! The sender makes these calls, `now` never decreasing. A `flight` outside an [`Ack`] is the FlightSize of RFC 5681: what was
//! sent and is not acknowledged cumulatively; [`Window::base`] says what a reduction makes of it. After each, [`Congestion::window`] and
//! [`Congestion::pacing_rate`] may have changed in either direction.
//!
//! 0. [`Congestion::on_established`], once, when the handshake is done and before data is sent.
//! 1. [`Congestion::on_ack`], for every acknowledgement of data that says that something arrived (cumulatively or by
//!    SACK), in recovery and outside. It comes *before* what else the same acknowledgement brings about, and
//!    [`Ack::in_recovery`] tells the state in which the acknowledgement found the sender. So an acknowledgement that ends
//!    recovery comes as `on_ack` with `in_recovery`, then `on_recovered`; one with a mark as `on_ack` with `marked`, then,
//!    if the window was not reduced in this round trip yet, `on_congestion`.
//! 2. [`Congestion::on_congestion`] when fast recovery begins ([`Cause::Loss`]) or a mark asks for a reduction, at most
//!    once per round trip ([`Cause::Mark`]). Threshold and window are then set; a sender in fast recovery takes the
//!    threshold and sends what its recovery allows.
//! 3. [`Congestion::on_recovered`] when recovery ends, with the window that its recovery arrived at: the threshold, or
//!    less if so little is in flight that a burst would follow.
//! 4. [`Congestion::on_timeout`] when the retransmission timer expires, in recovery or outside. It ends recovery. What it does for a
//!    lost SYN does not matter: [`Congestion::negotiated`] sets the window anew.
//! 5. [`Congestion::on_restart`] just before something is sent with nothing in flight.
//! 6. [`Congestion::on_spurious`] when the last reduction turns out to have had no cause (RFC 3522, RFC 3708, RFC 5682): with
//!    the window and threshold that the sender noted before it.
//!
//! # Why
//!
//! [`Congestion::why`] is the cause of the last change of window or threshold; whoever moves the threshold alone sets the
//! window to what it was. A recorder that wants the story of a window asks for them after each call
//! ([`crate::tcp::Endpoint::window_cause`] has what the sender does in recovery, too); nobody else pays more than the store of two
//! bytes.
//!
//! # A user's own
//!
//! Implement [`CongestionControl`], where an example stands, and run it as [`Algorithm::Custom`]. The built-in algorithms implement the same
//! trait but are called through an enum, without dynamic dispatch. Whatever an algorithm asks for, [`Window`] keeps
//! within 1 byte and [`Window::MAX`].

mod bbr;
mod classic_hystart;
mod control;
mod cubic;
mod dctcp;
mod hystart;
mod linux_cubic;
mod max_filter;
mod reno;
mod tahoe;
#[cfg(test)]
mod testing;
mod vegas;
mod window;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

pub use bbr::Bbr;
pub use cubic::{Cubic, CubicParameters};
pub use dctcp::{Dctcp, DctcpParameters};
pub use reno::Reno;
pub use tahoe::Tahoe;
pub use vegas::{Vegas, VegasParameters};
pub use window::BbrState;
pub(super) use window::saturate;
pub use window::{Window, WindowCause, WindowRules};

use crate::time::{Duration, Time};
use crate::units::Rate;
pub(super) use control::LONGEST_BURST;
pub use control::{Ack, Cause, CloneBoxed, CongestionControl, RateSample, Recovery, Setup};

/// The choice of a congestion control algorithm, with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Fast retransmit, no fast recovery.
    Tahoe,
    /// RFC 5681: fast recovery ends with the first acknowledgement of new data.
    Reno,
    /// RFC 5681 with the recovery of RFC 6582.
    NewReno,
    /// CUBIC (RFC 9438), or the CUBIC of Linux under [`WindowRules::Linux`].
    Cubic(CubicParameters),
    /// DCTCP (RFC 8257), which needs ECN and a queue that marks.
    Dctcp(DctcpParameters),
    /// Vegas, which keeps a few packets in the queue (Brakmo and Peterson 1995).
    Vegas(VegasParameters),
    /// BBR version 1, which paces by a model of the path.
    Bbr,
    /// An algorithm of the user's own.
    Custom(Custom),
}

/// A user's own algorithm: its name, and how one connection's state is made.
#[derive(Clone)]
pub struct Custom {
    name: Arc<str>,
    make: Arc<Make>,
}

type Make = dyn Fn(&Setup) -> Box<dyn CongestionControl> + Send + Sync;

impl Custom {
    /// An algorithm called `name`; `make` is called once per end of a connection.
    pub fn new<C: CongestionControl + 'static>(
        name: &str,
        make: impl Fn(&Setup) -> C + Send + Sync + 'static,
    ) -> Custom {
        Custom { name: name.into(), make: Arc::new(move |setup| Box::new(make(setup))) }
    }
}

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Custom").field(&self.name).finish()
    }
}

/// The same algorithm: copies of one [`Custom`].
impl PartialEq for Custom {
    fn eq(&self, other: &Custom) -> bool {
        Arc::ptr_eq(&self.make, &other.make)
    }
}

impl Eq for Custom {}

impl Algorithm {
    /// The built-in algorithms with their default parameters.
    pub fn all() -> [Algorithm; 7] {
        [
            Algorithm::Tahoe,
            Algorithm::Reno,
            Algorithm::NewReno,
            Algorithm::Cubic(CubicParameters::default()),
            Algorithm::Dctcp(DctcpParameters::default()),
            Algorithm::Vegas(VegasParameters::default()),
            Algorithm::Bbr,
        ]
    }

    /// Its name, whatever its parameters.
    pub fn name(&self) -> &str {
        match self {
            Algorithm::Tahoe => "tahoe",
            Algorithm::Reno => "reno",
            Algorithm::NewReno => "newreno",
            Algorithm::Cubic(_) => "cubic",
            Algorithm::Dctcp(_) => "dctcp",
            Algorithm::Vegas(_) => "vegas",
            Algorithm::Bbr => "bbr",
            Algorithm::Custom(custom) => &custom.name,
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A congestion control that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{name}\" is not a congestion control; known are {}", Algorithm::all().map(|known| known.to_string()).join(", "))]
pub struct UnknownAlgorithm {
    /// The name that no algorithm has.
    pub name: String,
}

/// Reads the name of one of [`Algorithm::all`], in lower case.
impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(name: &str) -> Result<Algorithm, UnknownAlgorithm> {
        let mut known = Algorithm::all().into_iter();
        known.find(|known| known.name() == name).ok_or_else(|| UnknownAlgorithm { name: name.to_owned() })
    }
}

/// The congestion control of one end of a connection: its window and the state of its law.
#[derive(Clone, Debug)]
pub struct Congestion {
    window: Window,
    law: Law,
}

#[derive(Clone, Debug)]
enum Law {
    Tahoe(Tahoe),
    Reno(Reno),
    Cubic(Cubic),
    Dctcp(Box<Dctcp>),
    Vegas(Box<Vegas>),
    Bbr(Box<Bbr>),
    /// Boxed twice: one word, so that no connection is larger for it.
    Custom(Box<Box<dyn CongestionControl>>),
}

/// One call to whatever the law is, statically but for [`Law::Custom`].
macro_rules! law {
    ($law:expr, $it:ident => $call:expr) => {
        match $law {
            Law::Tahoe($it) => $call,
            Law::Reno($it) => $call,
            Law::Cubic($it) => $call,
            Law::Dctcp($it) => $call,
            Law::Vegas($it) => $call,
            Law::Bbr($it) => $call,
            Law::Custom($it) => $call,
        }
    };
}

impl Congestion {
    /// Starts `algorithm` with `window`.
    pub fn new(algorithm: &Algorithm, window: Window, setup: &Setup) -> Congestion {
        let law = match algorithm {
            Algorithm::Tahoe => Law::Tahoe(Tahoe::default()),
            Algorithm::Reno => Law::Reno(Reno::new(Recovery::First)),
            Algorithm::NewReno => Law::Reno(Reno::new(Recovery::Full)),
            Algorithm::Cubic(parameters) => Law::Cubic(Cubic::new(*parameters)),
            Algorithm::Dctcp(parameters) => Law::Dctcp(Box::new(Dctcp::new(*parameters))),
            Algorithm::Vegas(parameters) => Law::Vegas(Box::new(Vegas::new(*parameters))),
            Algorithm::Bbr => Law::Bbr(Box::new(Bbr::new(*setup))),
            Algorithm::Custom(custom) => Law::Custom(Box::new((custom.make)(setup))),
        };
        Congestion { window, law }
    }

    /// The handshake told the segment size, and with it the initial window.
    pub fn negotiated(&mut self, window: Window) {
        self.window = window;
    }

    /// The congestion window in bytes. At least 1, at most [`Window::MAX`].
    pub fn window(&self) -> u32 {
        self.window.bytes()
    }

    /// The slow start threshold in bytes; [`Window::MAX`] before the first loss.
    pub fn threshold(&self) -> u32 {
        self.window.threshold()
    }

    /// [`Window::was_used`].
    pub fn was_used(&self, used: u64) -> bool {
        self.window.was_used(used)
    }

    /// Why the window last changed.
    pub fn why(&self) -> WindowCause {
        self.window.why()
    }

    /// At which rate to send; `None` leaves it to the sender.
    pub fn pacing_rate(&self) -> Option<Rate> {
        law!(&self.law, law => law.pacing_rate())
    }

    /// The fewest segments that make a burst.
    pub fn least_burst(&self) -> u32 {
        law!(&self.law, law => law.least_burst())
    }

    /// What the sender does about a loss.
    pub fn recovery(&self) -> Recovery {
        law!(&self.law, law => law.recovery())
    }

    /// Acknowledgements are to bring [`Ack::rate`]. Never changes.
    pub fn wants_rate(&self) -> bool {
        law!(&self.law, law => law.wants_rate())
    }

    /// Every acknowledgement is to bring [`Ack::rtt`] if it can. May change with each acknowledgement.
    pub fn wants_rtt(&self) -> bool {
        law!(&self.law, law => law.wants_rtt())
    }

    /// The handshake is done, with this round-trip time.
    pub fn on_established(&mut self, now: Time, rtt: Option<Duration>) {
        law!(&mut self.law, law => law.on_established(&mut self.window, now, rtt));
    }

    /// An acknowledgement arrived.
    #[inline]
    pub fn on_ack(&mut self, ack: &Ack) {
        law!(&mut self.law, law => law.on_ack(&mut self.window, ack));
    }

    /// Fast recovery begins, or a mark asks for a reduction.
    pub fn on_congestion(&mut self, now: Time, flight: u64, cause: Cause) {
        law!(&mut self.law, law => law.on_congestion(&mut self.window, now, flight, cause));
    }

    /// Fast recovery begins while the reduction for a mark is under way and has brought the window to `wide` bytes.
    pub fn on_loss_after_mark(&mut self, wide: u32) {
        law!(&mut self.law, law => law.on_loss_after_mark(&mut self.window, wide));
    }

    /// Recovery is over and arrived at `target` bytes.
    pub fn on_recovered(&mut self, now: Time, target: u32) {
        law!(&mut self.law, law => law.on_recovered(&mut self.window, now, target));
    }

    /// A loss was repaired before it was known, by a probe: one reduction, and no recovery (RFC 8985 section 7.4.2).
    pub fn on_repaired_loss(&mut self, now: Time, flight: u64) {
        let before = (self.window(), self.threshold());
        let why = self.why();
        self.on_congestion(now, flight, Cause::Loss);
        self.on_recovered(now, self.threshold());
        // After a timeout the window may be below what a loss leaves.
        self.window.set(self.window().min(before.0), WindowCause::Loss);
        let changed = before != (self.window(), self.threshold());
        self.window.explain(if changed { WindowCause::Loss } else { why });
    }

    /// The retransmission timer expired; `again` if the threshold is already set for this loss.
    pub fn on_timeout(&mut self, now: Time, flight: u64, again: bool) {
        law!(&mut self.law, law => law.on_timeout(&mut self.window, now, flight, again));
    }

    /// Something is about to be sent, `idle` after the last segment, with nothing in flight; at most `restart` bytes if
    /// given.
    pub fn on_restart(&mut self, now: Time, idle: Duration, restart: Option<u32>) {
        law!(&mut self.law, law => law.on_restart(&mut self.window, now, idle, restart));
    }

    /// The timer expired and left `flight` bytes in the network: Linux goes on with one segment more (`tcp_enter_loss`).
    pub fn keep_in_flight(&mut self, flight: u64) {
        if self.recovery() != Recovery::Own {
            let bytes = saturate(flight).saturating_add(self.window.mss());
            self.window.set(bytes, WindowCause::Timeout);
        }
    }

    /// The window is about to shrink after idling ([`Window::remember`]), where the algorithm does not own it altogether.
    pub fn remember(&mut self) {
        if self.recovery() != Recovery::Own {
            self.window.remember();
        }
    }

    /// For a timeout no more than `used` bytes of the window were needed.
    pub fn on_application_limited(&mut self, used: u32) {
        if self.recovery() != Recovery::Own {
            self.window.decay_to(used);
        }
    }

    /// The last reduction had no cause; before it there were a window of `bytes` and `threshold`.
    pub fn on_spurious(&mut self, now: Time, bytes: u32, threshold: u32) {
        law!(&mut self.law, law => law.on_spurious(&mut self.window, now, bytes, threshold));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for algorithm in Algorithm::all() {
            assert_eq!(algorithm.to_string().parse(), Ok(algorithm));
        }
        let error = "Reno ".parse::<Algorithm>().unwrap_err().to_string();
        let known = "tahoe, reno, newreno, cubic, dctcp, vegas, bbr";
        assert_eq!(error, format!("\"Reno \" is not a congestion control; known are {known}"));
    }

    #[test]
    fn the_state_of_a_connection_is_small() {
        assert!(size_of::<Congestion>() <= 32, "{}", size_of::<Congestion>());
    }

    /// A user's own that asks for what it cannot have.
    #[derive(Clone, Debug)]
    struct Absurd;

    impl CongestionControl for Absurd {
        fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
            let bytes = if ack.marked { 0 } else { u32::MAX };
            window.set(bytes, WindowCause::Custom(1));
            window.grow(bytes, WindowCause::Custom(2));
        }

        fn on_congestion(&mut self, window: &mut Window, _now: Time, _flight: u64, cause: Cause) {
            window.set_threshold(0);
            window.set(0, cause.into());
        }
    }

    #[derive(Clone, Debug)]
    enum Call {
        Ack(Box<Ack>),
        Congestion(u64, Cause),
        Recovered(u32),
        Timeout(u64, bool),
        Restart(Option<u32>),
        Spurious(u32, u32),
    }

    /// Small, usual and absurd.
    fn bytes() -> impl Strategy<Value = u64> {
        prop_oneof![0..3u64, 0..200_000u64, Just(1 << 31), Just(1 << 40), 0..1u64 << 45]
    }

    fn duration() -> impl Strategy<Value = Duration> {
        prop_oneof![0..3u64, 0..500_000_000u64, 0..1u64 << 45].prop_map(Duration::from_nanos)
    }

    fn acknowledgement() -> impl Strategy<Value = Call> {
        let sizes = (bytes(), bytes(), bytes(), bytes(), bytes());
        let flags = any::<(bool, bool, bool, bool, bool)>();
        let times = (prop::option::of(duration()), prop::option::of(duration()));
        let rate = prop::option::of((bytes(), duration(), bytes(), bytes()));
        (sizes, flags, times, bytes(), bytes(), rate).prop_map(|(sizes, flags, times, position, ahead, rate)| {
            let (acked, delivered, lost, flight_before, flight) = sizes;
            Call::Ack(Box::new(Ack {
                now: Time::ZERO,
                acked,
                delivered,
                lost,
                flight_before,
                flight,
                unacknowledged: position,
                next: position + ahead,
                rtt: times.0,
                smoothed: times.1,
                window_limited: flags.0,
                marked: flags.1,
                in_recovery: flags.2,
                paced: flags.3,
                departure: flags.4.then(|| Time::ZERO + Duration::from_millis(7)),
                rate: rate.map(|(delivered, interval, prior_delivered, more)| RateSample {
                    delivered,
                    interval,
                    prior_delivered,
                    total_delivered: prior_delivered + more,
                    application_limited: flags.3,
                    ack_delayed: flags.4,
                }),
            }))
        })
    }

    fn call() -> impl Strategy<Value = Call> {
        let cause = prop_oneof![Just(Cause::Loss), Just(Cause::Mark)];
        prop_oneof![
            6 => acknowledgement(),
            1 => (bytes(), cause).prop_map(|(flight, cause)| Call::Congestion(flight, cause)),
            1 => any::<u32>().prop_map(Call::Recovered),
            1 => (bytes(), any::<bool>()).prop_map(|(flight, again)| Call::Timeout(flight, again)),
            1 => any::<Option<u32>>().prop_map(Call::Restart),
            1 => any::<(u32, u32)>().prop_map(|(window, threshold)| Call::Spurious(window, threshold)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, rng_seed: RngSeed::Fixed(7), failure_persistence: None, ..ProptestConfig::default() })]

        /// Whatever is called in whatever order with whatever numbers: no window of nothing, none above the limit, no
        /// threshold below two segments, no pacing rate of nothing, no overflow; and a copy does the same.
        #[test]
        fn no_algorithm_leaves_the_bounds(
            mss in 1..65_535u32,
            initial in 1..100u32,
            limit in any::<Option<u8>>(),
            calls in prop::collection::vec((duration(), call()), 1..60),
        ) {
            let own = Algorithm::Custom(Custom::new("absurd", |_| Absurd));
            let algorithms = Algorithm::all().into_iter().chain([own]);
            let rules = [WindowRules::Rfc, WindowRules::Linux];
            for (algorithm, rules) in algorithms.flat_map(|algorithm| rules.map(|rules| (algorithm.clone(), rules))) {
                let window = Window::new(mss * initial, mss, limit).under(rules);
                let mut congestion = Congestion::new(&algorithm, window, &Setup { seed: 1, stream: 2 });
                let mut copy = congestion.clone();
                let mut now = Time::ZERO;
                for (pause, call) in &calls {
                    now += *pause;
                    for congestion in [&mut congestion, &mut copy] {
                        match call {
                            Call::Ack(ack) => congestion.on_ack(&Ack { now, ..(**ack).clone() }),
                            Call::Congestion(flight, cause) => congestion.on_congestion(now, *flight, *cause),
                            Call::Recovered(target) => congestion.on_recovered(now, *target),
                            Call::Timeout(flight, again) => congestion.on_timeout(now, *flight, *again),
                            Call::Restart(restart) => congestion.on_restart(now, *pause, *restart),
                            Call::Spurious(window, threshold) => congestion.on_spurious(now, *window, *threshold),
                        }
                    }
                    let window = congestion.window();
                    prop_assert!((1..=Window::MAX).contains(&window), "{} {}: {}", algorithm, window, congestion.why());
                    let threshold = congestion.threshold();
                    prop_assert!((2 * mss..=Window::MAX).contains(&threshold), "{} {}", algorithm, threshold);
                    let pacing = congestion.pacing_rate().map(Rate::bits_per_second);
                    prop_assert_ne!(pacing, Some(Some(0)));
                    let again = (copy.window(), copy.threshold(), copy.why(), copy.pacing_rate());
                    let first = (window, threshold, congestion.why(), congestion.pacing_rate());
                    prop_assert_eq!(again, first, "{}", algorithm);
                }
            }
        }
    }
}
