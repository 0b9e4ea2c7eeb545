//! A flow's mean window beside its algorithm's response function.

use super::losses::Stretch;
use super::response::{
    CUBIC_C, cubic_response, dctcp_excess, dctcp_kept, dctcp_least_window, dctcp_random_window, dctcp_step_window,
    mathis_window, with_timeouts,
};
use crate::tcp::Config;
use crate::tcp::congestion::Algorithm;
use crate::time::Duration;

/// A mean window this many times above or below what the response function gives is outside.
pub const MOST_FACTOR: f64 = 2.5;

/// Below so many segments a loss brings no three duplicate acknowledgements (RFC 5681 section 3.2): timeouts and their back-off, which
/// differ widely from flow to flow, decide the mean window of such a flow.
const FAST_RETRANSMIT: f64 = 4.0;

/// A flow is limited by its application if the application had nothing to send for more than this share of the time.
pub const MOST_IDLE: f64 = 0.1;

/// The largest window of a sawtooth over its mean: 4/3 of Reno, less of CUBIC. A receive window below this many mean windows limits the flow.
const PEAK: f64 = 1.5;

/// What a congestion control makes of a rate of loss events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// Reno, NewReno and Tahoe, where an acknowledgement that counts as one segment stands for so many.
    Reno {
        /// 2 where acknowledgements are delayed and the sender counts them instead of bytes, otherwise 1.
        segments_per_ack: u8,
    },
    /// CUBIC.
    Cubic,
    /// DCTCP, where an acknowledgement that counts as one segment stands for so many.
    Dctcp {
        /// As of Reno: the window grows as Reno's does.
        segments_per_ack: u8,
        /// The gain of Alpha is 2^-this (RFC 8257 section 4.2).
        gain_shift: u8,
    },
    /// Vegas, which is Reno where it loses packets and gives way to delay before that: the response function is only an upper bound.
    Vegas,
}

impl Response {
    /// That of a configuration. `None` for BBR, whose window follows the rate and not losses, and for a user's own algorithm, of which nothing is known.
    pub fn of(config: &Config) -> Option<Response> {
        let counts_acks = !config.byte_counting && config.delayed_ack.is_some();
        let segments_per_ack = if counts_acks { 2 } else { 1 };
        match config.congestion {
            Algorithm::Tahoe | Algorithm::Reno | Algorithm::NewReno => Some(Response::Reno { segments_per_ack }),
            Algorithm::Cubic(_) => Some(Response::Cubic),
            Algorithm::Dctcp(of) => Some(Response::Dctcp { segments_per_ack, gain_shift: of.gain_shift }),
            Algorithm::Vegas(_) => Some(Response::Vegas),
            Algorithm::Bbr | Algorithm::Custom(_) => None,
        }
    }

    /// The mean windows that it allows under `conditions`.
    pub fn expected(self, conditions: &Conditions) -> Expected {
        let Conditions { stretch, .. } = conditions;
        let data = stretch.data.max(1) as f64;
        let p = (stretch.intervals as f64 / data).min(1.0);
        // A sender takes what it sends again needlessly for lost, and may have reduced its window for each.
        let most_p = ((stretch.intervals + conditions.needless_retransmissions) as f64 / data).min(1.0);
        // Where losses change meanwhile, most packets are of the times with few of them, and most of the time may be that of many.
        let most_p = most_p.max(1.0 / stretch.packets_over_time.max(1.0));
        let delayed = |window: f64, b: f64| {
            with_timeouts(window, most_p, stretch.rtt.as_secs_f64().max(1e-9), conditions.timeout.as_secs_f64(), b)
        };
        match self {
            Response::Reno { segments_per_ack } => {
                let (b, high) = (f64::from(segments_per_ack), mathis_window(p, 1.0));
                Expected { low: delayed(mathis_window(most_p, b), b), high, needed: high }
            }
            Response::Cubic => {
                let rtt = stretch.rtt.as_secs_f64();
                let high = cubic_response(p, rtt, CUBIC_C);
                // On paths of seconds it grows back faster than in the fluid model, and then no faster than by half in a round trip: one
                // goes by in recovery and one in growth before the next loss event.
                let low = cubic_response(most_p, rtt, CUBIC_C).min(1.0 / (2.0 * most_p.max(1e-9)));
                Expected { low: delayed(low, 1.0), high, needed: high }
            }
            Response::Vegas => {
                let high = mathis_window(p, 1.0);
                Expected { low: 0.0, high, needed: high }
            }
            Response::Dctcp { segments_per_ack, .. } if stretch.marked == 0 => {
                Response::Reno { segments_per_ack }.expected(conditions)
            }
            Response::Dctcp { segments_per_ack, gain_shift } => {
                let b = f64::from(segments_per_ack);
                let marked = (stretch.marked as f64 / data).min(1.0);
                let (random, lost) = (dctcp_random_window(marked), stretch.dropped as f64 / data);
                // In balance a segment gained in b round trips equals alpha / 2 of the window lost in each of them; where marks are rarer a
                // window does not grow in the round trips in which it is reduced, and starts low after slow start.
                let gain = 0.5f64.powi(gain_shift.into());
                let alpha = (marked + stretch.remembered(gain)).min(1.0);
                let low = (random / b).min(dctcp_least_window(1.0 / p, stretch.intervals as f64, alpha, b));
                // Losses beside marks reduce the window further.
                let low = if lost > 0.0 { low.min(delayed(mathis_window(most_p.min(lost), b), b)) } else { low };
                Expected { low, high: dctcp_step_window(marked), needed: random }
            }
        }
    }
}

/// What a flow met and what else its window depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// Its later part.
    pub stretch: Stretch,
    /// Segments of the whole flow that were sent again although none was dropped.
    pub needless_retransmissions: u64,
    /// The retransmission timeout, not backed off.
    pub timeout: Duration,
    /// The largest window that the receiver offers, in segments.
    pub receive_window: f64,
    /// Share of the time in which the receive window held the sender back, where the sender tells; else 0.
    pub receiver_limited: f64,
    /// Share of the time in which the application had nothing to send, or the host kept it from sending.
    pub idle: f64,
}

/// Mean windows in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// The smallest: with all timeouts that PFTK expects; of DCTCP with marks at random. 0 where there is no lower bound.
    pub low: f64,
    /// The largest: without timeouts; of DCTCP with marks of whole windows.
    pub high: f64,
    /// What the receiver has to allow, lest it be the receiver that limits the window.
    needed: f64,
}

impl Stretch {
    /// Data packets sent per second times the round-trip time: the mean window in segments.
    fn window(&self) -> f64 {
        self.data as f64 / self.time.as_secs_f64().max(1e-9) * self.rtt.as_secs_f64()
    }

    /// By how much the mean of DCTCP's Alpha may be above the share of marked packets: it begins at 1, and at the beginning of the stretch
    /// it remembers what was marked before, at most as if all of that had been marked just then.
    fn remembered(&self, gain: f64) -> f64 {
        let round_trips = |time: Duration| time.as_nanos() / self.rtt.as_nanos().max(1);
        let of_marks = gain * self.marked_before as f64 / self.window().max(1.0);
        let first = (dctcp_kept(gain, round_trips(self.before)) + of_marks).min(1.0);
        dctcp_excess(first, gain, round_trips(self.time))
    }
}

impl Expected {
    /// Where what timers sent again was dropped, too, timeouts grow, which no response function of steady losses knows: there the smallest
    /// window is that of the rest of the time.
    fn while_heard(self, stretch: &Stretch) -> Expected {
        let heard = stretch.time.saturating_sub(stretch.shut_out).as_secs_f64();
        Expected { low: self.low * heard / stretch.time.as_secs_f64().max(1e-9), ..self }
    }
}

/// A flow's mean window beside what its response function gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finding {
    /// Loss events of the whole flow.
    pub loss_events: u64,
    /// Loss events per data packet.
    pub loss_event_rate: f64,
    /// Mean round-trip time.
    pub rtt: Duration,
    /// Retransmission timeout.
    pub timeout: Duration,
    /// The mean window in segments: data packets sent per second times the round-trip time.
    pub window: f64,
    /// What the response function gives.
    pub expected: Expected,
}

/// Why a flow is not judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Excuse {
    /// Its congestion control has no response function.
    NoResponseFunction,
    /// Its application limits it.
    Application,
    /// Its receiver limits it.
    Receiver,
}

impl Finding {
    /// A flow of an algorithm with this response function under these conditions.
    ///
    /// # Errors
    /// Why it cannot be judged.
    pub fn of(response: Option<Response>, conditions: &Conditions) -> Result<Finding, Excuse> {
        let response = response.ok_or(Excuse::NoResponseFunction)?;
        if conditions.idle > MOST_IDLE {
            return Err(Excuse::Application);
        }
        let Conditions { stretch, timeout, receive_window, receiver_limited, .. } = *conditions;
        let finding = Finding {
            loss_events: stretch.loss_events,
            loss_event_rate: stretch.intervals as f64 / stretch.data.max(1) as f64,
            rtt: stretch.rtt,
            timeout,
            window: stretch.window(),
            expected: response.expected(conditions).while_heard(&stretch),
        };
        // A receiver that would have let less through than the losses cannot explain a window that is too large.
        let is_limited = receive_window < PEAK * finding.expected.needed || receiver_limited > MOST_IDLE;
        if is_limited && finding.ratio() <= MOST_FACTOR { Err(Excuse::Receiver) } else { Ok(finding) }
    }

    /// The window over the nearest one that the response function allows: above 1 it is too large, below 1 too small.
    pub fn ratio(&self) -> f64 {
        let Expected { low, high, .. } = self.expected;
        if self.window > high {
            self.window / high
        } else if self.window < low {
            self.window / low
        } else {
            1.0
        }
    }

    /// Whether that is more than [`MOST_FACTOR`] in either direction. A window is too small only where losses allow one that needs
    /// no timeouts.
    pub fn is_outside(&self) -> bool {
        let is_too_large = self.ratio() > 1.0;
        self.distance() > MOST_FACTOR && (is_too_large || self.expected.low >= FAST_RETRANSMIT)
    }

    /// The ratio or its inverse, whichever is larger.
    pub fn distance(&self) -> f64 {
        let ratio = self.ratio();
        if ratio >= 1.0 { ratio } else { 1.0 / ratio }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::{CubicParameters, DctcpParameters, VegasParameters};

    const RENO: Option<Response> = Some(Response::Reno { segments_per_ack: 1 });
    const DCTCP: Response = Response::Dctcp { segments_per_ack: 1, gain_shift: 4 };

    /// 100 ms round trips, timeouts of 300 ms, and one loss event in so many packets; over a time in which the mean window is `window`.
    fn conditions(packets: u64, window: f64) -> Conditions {
        let (intervals, rtt) = (100, Duration::from_millis(100));
        let data = intervals * packets;
        let stretch = Stretch {
            loss_events: intervals + 2,
            intervals,
            data,
            dropped: intervals,
            marked: 0,
            marked_before: 0,
            before: Duration::from_secs(3_600),
            time: Duration::from_secs_f64(data as f64 * 0.1 / window),
            shut_out: Duration::ZERO,
            rtt,
            packets_over_time: packets as f64,
        };
        Conditions {
            stretch,
            needless_retransmissions: 0,
            timeout: Duration::from_millis(300),
            receive_window: 1e6,
            receiver_limited: 0.0,
            idle: 0.0,
        }
    }

    fn marked(share: f64, window: f64) -> Conditions {
        let mut conditions = conditions(100, window);
        conditions.stretch.marked = (share * conditions.stretch.data as f64) as u64;
        conditions.stretch.dropped = 0;
        conditions
    }

    fn is_outside(response: Response, conditions: &Conditions) -> bool {
        Finding::of(Some(response), conditions).unwrap().is_outside()
    }

    /// 100 packets between loss events hold two flights of 50, however long the path; the fluid model has 177 at 10 s.
    #[test]
    fn cubic_needs_two_flights_between_losses() {
        let mut long = conditions(100, 20.0);
        long.stretch.rtt = Duration::from_secs(10);
        let expected = Response::Cubic.expected(&long);
        assert!(expected.low <= 50.0 && (170.0..190.0).contains(&expected.high), "{expected:?}");
        // At 100 ms the fluid model has fewer.
        assert!((Response::Cubic.expected(&conditions(100, 12.0)).high - 12.0).abs() < 1.0);
    }

    /// Windows around 120 of Reno and 187.4 of CUBIC at p = 1e-4 and 100 ms (RFC 9438 table 1; Mathis has 122.47 for Reno). Timeouts take 0.02 % of Reno's.
    #[test]
    fn a_factor_of_2_4_is_inside_and_2_6_outside() {
        for (response, window) in [(RENO.unwrap(), 122.5), (Response::Cubic, 187.4)] {
            for (factor, outside) in [(2.6, true), (2.4, false), (1.0, false), (1.0 / 2.4, false), (1.0 / 2.6, true)] {
                assert_eq!(
                    is_outside(response, &conditions(10_000, factor * window)),
                    outside,
                    "{response:?} {factor}"
                );
            }
        }
    }

    #[test]
    fn a_finding_states_what_was_measured() {
        let finding = Finding::of(RENO, &conditions(100, 24.5)).unwrap();
        assert_eq!((finding.loss_events, finding.rtt), (102, Duration::from_millis(100)));
        assert!((finding.loss_event_rate - 0.01).abs() < 1e-12);
        assert!((finding.window - 24.5).abs() < 1e-6, "{}", finding.window);
        assert!((finding.expected.high - 12.247).abs() < 0.001);
        assert!((finding.ratio() - 2.0).abs() < 0.001);
    }

    /// At 10 % loss and timeouts of ten round trips PFTK gives 1 / (0.2582 + 10 * 0.5809 * 0.132) = 0.9757.
    #[test]
    fn timeouts_lower_the_bound_and_not_the_ceiling() {
        let mut lossy = conditions(10, 0.5);
        lossy.timeout = Duration::from_secs(1);
        assert!(!is_outside(RENO.unwrap(), &lossy));
        let finding = Finding::of(RENO, &lossy).unwrap();
        assert!((finding.expected.low - 0.9757).abs() < 0.0005, "{}", finding.expected.low);
        lossy.timeout = Duration::from_millis(100);
        assert!(Finding::of(RENO, &lossy).unwrap().ratio() < 1.0 / MOST_FACTOR);
        assert!(is_outside(RENO.unwrap(), &conditions(10, 2.6 * 3.873)));
    }

    /// PFTK at 4 % and timeouts of a round trip: 1 / (0.1633 + 0.3674 * 0.04 * 1.0512) = 5.59. At 8 %: 1 / (0.2309 + 0.5196 * 0.08 * 1.2048) = 3.56.
    #[test]
    fn where_timeouts_decide_no_window_is_too_small() {
        let of = |packets, window| {
            let mut lossy = conditions(packets, window);
            lossy.timeout = Duration::from_millis(100);
            Finding::of(RENO, &lossy).unwrap()
        };
        assert!((of(25, 1.0).expected.low - 5.59).abs() < 0.01);
        assert!(of(25, 1.0).is_outside());
        let [small, large] = [0.5, 26.0].map(|window| conditions(12, window));
        assert!((of(12, 0.5).expected.low - 3.45).abs() < 0.02, "{}", of(12, 0.5).expected.low);
        assert!(!is_outside(RENO.unwrap(), &small) && is_outside(RENO.unwrap(), &large));
    }

    /// Nine tenths of the time behind a queue that drops one packet in four, and then alone with one in a hundred: 50 packets in the mean.
    #[test]
    fn a_flow_is_judged_by_the_losses_of_its_time() {
        let of = |packets_over_time, window| {
            let mut lossy = conditions(50, window);
            lossy.timeout = Duration::from_millis(100);
            lossy.stretch.packets_over_time = packets_over_time;
            Finding::of(RENO, &lossy).unwrap()
        };
        assert!(of(50.0, 1.5).is_outside() && of(60.0, 1.5).is_outside());
        let over_time = (0.9 * 4.0f64.sqrt() + 0.1 * 100.0f64.sqrt()).powi(2);
        let finding = of(over_time, 1.5);
        assert!(!finding.is_outside() && finding.expected.low < 4.0, "{finding:?}");
        assert!(
            (finding.expected.high - 8.66).abs() < 0.01 && of(over_time, 26.0).is_outside(),
            "too large is too large"
        );
    }

    /// Half of the time behind timers that grow excuses half of the window, and no large one.
    #[test]
    fn a_sender_that_is_shut_out_may_have_a_small_window() {
        let of = |share: f64, window| {
            let mut shut_out = conditions(10_000, window);
            shut_out.stretch.shut_out = Duration::from_secs_f64(share * shut_out.stretch.time.as_secs_f64());
            Finding::of(RENO, &shut_out).unwrap().is_outside()
        };
        assert_eq!(
            [(0.0, 30.0), (0.5, 30.0), (0.5, 20.0), (0.5, 400.0)].map(|(s, w)| of(s, w)),
            [true, false, true, true]
        );
    }

    #[test]
    fn needless_retransmissions_excuse_a_small_window() {
        let mut reordered = conditions(10_000, 12.0);
        assert!(is_outside(RENO.unwrap(), &reordered));
        // As if 1 % of the packets had been lost.
        reordered.needless_retransmissions = 99 * 100;
        assert!(!is_outside(RENO.unwrap(), &reordered));
        // They excuse no large one.
        let large = Conditions { needless_retransmissions: 99 * 100, ..conditions(10_000, 400.0) };
        assert!(is_outside(RENO.unwrap(), &large));
    }

    #[test]
    fn an_application_that_pauses_is_not_judged() {
        let pauses = Conditions { idle: 0.11, ..conditions(10_000, 1_000.0) };
        assert_eq!(Finding::of(RENO, &pauses), Err(Excuse::Application));
        assert!(Finding::of(RENO, &Conditions { idle: 0.09, ..pauses }).is_ok());
    }

    #[test]
    fn a_receiver_excuses_only_small_windows() {
        let limited = Conditions { receive_window: 20.0, ..conditions(10_000, 18.0) };
        assert_eq!(Finding::of(RENO, &limited), Err(Excuse::Receiver));
        assert_eq!(
            Finding::of(RENO, &Conditions { receive_window: 1e6, receiver_limited: 0.5, ..limited }),
            Err(Excuse::Receiver)
        );
        // Losses of 1 % allow 12 segments; one that keeps 100 in flight does not react to them, whatever the receive window.
        let ignorant = Conditions { receive_window: 100.0, ..conditions(100, 95.0) };
        assert!(is_outside(RENO.unwrap(), &ignorant));
        let open = Conditions { receiver_limited: 0.9, ..conditions(100, 95.0) };
        assert!(is_outside(RENO.unwrap(), &open));
    }

    /// A tenth of the packets is marked: 20 segments if the marks come at random, 200 if a queue marks whole windows.
    #[test]
    fn dctcp_is_judged_by_its_marks() {
        for (window, outside) in [(20.0 / 2.6, true), (20.0 / 2.4, false), (200.0 * 2.4, false), (200.0 * 2.6, true)] {
            assert_eq!(is_outside(DCTCP, &marked(0.1, window)), outside, "{window}");
        }
        // Half of it where the window grows with every second segment.
        let slower = Response::Dctcp { segments_per_ack: 2, gain_shift: 4 };
        for (window, outside) in [(10.0 / 2.6, true), (10.0 / 2.4, false), (200.0 * 2.6, true)] {
            assert_eq!(is_outside(slower, &marked(0.1, window)), outside, "{window}");
        }
        // Without marks it is Reno: 12.2 segments at 1 %.
        assert!(is_outside(DCTCP, &conditions(100, 12.25 * 2.6)));
        assert!(!is_outside(DCTCP, &conditions(100, 12.25 * 2.4)));
        // Losses beside marks allow for less: 1 % of losses and 1 % of marks.
        let mut both = marked(0.01, 8.0);
        assert!(is_outside(DCTCP, &both));
        both.stretch.dropped = both.stretch.data / 100;
        assert!(!is_outside(DCTCP, &both));
    }

    /// A flow that fills 2 Mbit/s behind RED for a minute, and one on twice the path for as long: 50 and 11 loss events, a window of 40 and
    /// 45 segments, where marks at random in balance leave 110 and 215. Slow start marked a hundred packets before.
    #[test]
    fn dctcp_may_be_small_while_marks_are_few() {
        let of = |events: u64, packets: u64, share: f64, before: u64, window: f64| {
            let mut few = marked(share, window);
            few.stretch.data = events * packets;
            few.stretch.intervals = events;
            few.stretch.marked = (share * few.stretch.data as f64).round() as u64;
            few.stretch.time = Duration::from_secs_f64(few.stretch.data as f64 * 0.1 / window);
            (few.stretch.marked_before, few.stretch.before) = (100, few.stretch.rtt * before);
            few
        };
        for few in [of(50, 100, 0.018_2, 50, 40.8), of(11, 285, 0.009_3, 30, 44.7)] {
            assert!(!is_outside(DCTCP, &few), "{:?}", DCTCP.expected(&few));
        }
        // As of Reno, which halves its window at each mark: sqrt(1.5 / p) segments, of 1 % and 0.1 %.
        for reno in [of(30, 100, 0.01, 200, 12.2), of(100, 100, 0.01, 1_000, 12.2), of(20, 1_000, 0.001, 400, 38.7)] {
            assert!(is_outside(DCTCP, &reno), "{:?}", DCTCP.expected(&reno));
        }
        // However few they are, no window is too large.
        assert!(is_outside(DCTCP, &of(11, 285, 0.1, 30, 200.0 * 2.6)));
    }

    #[test]
    fn vegas_is_judged_from_above_alone() {
        assert!(!is_outside(Response::Vegas, &conditions(10_000, 2.0)));
        assert!(is_outside(Response::Vegas, &conditions(10_000, 122.5 * 2.6)));
    }

    #[test]
    fn each_algorithm_has_its_response_function() {
        let of = |congestion: Algorithm, byte_counting: bool| {
            Response::of(&Config { congestion, byte_counting, ..Config::default() })
        };
        let reno = |segments_per_ack| Some(Response::Reno { segments_per_ack });
        for congestion in [Algorithm::Tahoe, Algorithm::Reno, Algorithm::NewReno] {
            assert_eq!((of(congestion.clone(), true), of(congestion, false)), (reno(1), reno(2)));
        }
        assert_eq!(of(Algorithm::Cubic(CubicParameters::default()), false), Some(Response::Cubic));
        let dctcp = |byte_counting| of(Algorithm::Dctcp(DctcpParameters::default()), byte_counting);
        let slower = Some(Response::Dctcp { segments_per_ack: 2, gain_shift: 4 });
        assert_eq!((dctcp(true), dctcp(false)), (Some(DCTCP), slower));
        assert_eq!(of(Algorithm::Vegas(VegasParameters::default()), true), Some(Response::Vegas));
        assert_eq!(of(Algorithm::Bbr, true), None);
    }
}
