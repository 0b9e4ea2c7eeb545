//! Whether flows reacted to losses as their congestion controls do, and whether too much was lost: `plausibility` of `run.json`.

use serde::{Deserialize, Serialize};

use flowloom_core::plausibility::MOST_FACTOR;
use flowloom_core::plausibility::response::mathis_window;
use flowloom_core::units::three_digits;

use crate::metric::Unit;
use crate::warning::Warning;
use crate::words::{counted, thousands};

/// A run whose judged flows are outside in more than this share is implausible. One of thousands may be outside by chance.
const MOST_OUTSIDE: f64 = 0.05;

/// More than this share of dropped packets needs an explanation: closed loops that can slow down do so long before.
pub(crate) const MOST_DROPPED: f64 = 0.2;

/// More than this share of retransmissions among data packets needs one too.
const MOST_RETRANSMITTED: f64 = 0.25;

/// An overload explains heavy losses: so many flows share a link, or so little is left of it, that each has only a few segments on the
/// way, or its losses come many at a time. Flows with larger windows than their loss events allow did not react: at a loss event in five
/// packets a window of sqrt(3 / (2 * 0.2)) = 2.7 segments follows (Mathis), 6.8 at the factor from which on a flow is outside; at one in
/// 300, as when a long queue overflows and a whole flight is lost at a time, 53. A flow that never reacts has a loss event in each round
/// trip, whatever its window is. Where packets wait so long that a retransmission timer expires meanwhile, as many copies of each segment
/// are on the way besides.
fn largest_overloaded_window(loss_event_rate: Option<f64>, expiries: f64) -> f64 {
    let segments = mathis_window(loss_event_rate.unwrap_or(1.0).clamp(1e-9, MOST_DROPPED), 1.0);
    MOST_FACTOR * segments * (1.0 + expiries)
}

/// More retransmissions than this many for each dropped packet are not due to drops.
const MOST_FOR_A_DROP: f64 = 2.0;

/// Times that a retransmission timer expires while a segment and its acknowledgement wait for `queueing`, if the timer did not expect
/// that: it doubles each time (RFC 6298 section 5.5), so that n timeouts take 2^n - 1 times the first.
fn expiries(queueing_ns: u64, timeout_ns: u64) -> f64 {
    (1.0 + queueing_ns as f64 / timeout_ns.max(1) as f64).log2().floor()
}

/// Shares of fewer packets mean nothing.
pub(crate) const LEAST_PACKETS: u64 = 100;

/// What of a run bears on its plausibility (`docs/guide/plausibility.md`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Plausibility {
    /// Flows whose mean window was set beside the response function of their congestion control. A flow is one direction of a connection.
    pub judged_flows: u64,
    /// Of them, flows whose mean window is more than 2.5 times too large or too small.
    pub outside_flows: u64,
    /// Flows that lost packets and were not judged.
    pub not_judged: NotJudged,
    /// The judged flows farthest from their response function, the farthest first; 20 at most.
    pub flows: Vec<FlowPlausibility>,
    /// TCP packets by class of connections or source; classes without any are left out.
    pub classes: Vec<ClassPlausibility>,
}

/// Why flows were not judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NotJudged {
    /// Fewer than ten loss events.
    pub few_loss_events: u64,
    /// Their congestion control has no response function: BBR, and algorithms of users.
    pub no_response_function: u64,
    /// The application had nothing to send for more than a tenth of the time.
    pub application_limited: u64,
    /// The receive window is smaller than what losses allow.
    pub receiver_limited: u64,
}

/// A flow beside its response function.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FlowPlausibility {
    /// The number of its connection.
    pub connection_id: u64,
    /// Its class or source.
    pub class: String,
    /// The side that it comes from.
    pub from_side: String,
    /// Its congestion control.
    pub congestion: String,
    /// Its loss events.
    pub loss_events: u64,
    /// Loss events per data packet.
    pub loss_event_rate: f64,
    /// Mean round-trip time.
    pub rtt_ns: u64,
    /// Retransmission timeout, not backed off.
    pub timeout_ns: u64,
    /// Its mean window, in segments.
    pub window_segments: f64,
    /// The smallest mean window that the response function gives; 0 where it gives only a largest one.
    pub expected_low_segments: f64,
    /// The largest one.
    pub expected_high_segments: f64,
    /// Its mean window over the nearest expected one; 1 between the two.
    pub ratio: f64,
    /// Whether that is more than 2.5 or less than 1 / 2.5.
    pub outside: bool,
}

/// TCP packets of a class of connections or of a source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClassPlausibility {
    /// Its name.
    pub class: String,
    /// Its congestion control has no response function: BBR's window follows the path, not losses, and one of the user's own is unknown.
    pub ignores_losses: bool,
    /// Packets from the left.
    pub from_left: DirectionPlausibility,
    /// Packets from the right.
    pub from_right: DirectionPlausibility,
    /// Packets that were sent and are sent again if they are lost, both directions: with payload, SYN or FIN; retransmissions included.
    pub data_packets: u64,
    /// Copies that the path made of packets, both directions. Each may make its receiver send a duplicate acknowledgement.
    pub copies: u64,
    /// Retransmissions, both directions.
    pub retransmissions: u64,
    /// Retransmissions over data packets; null without any.
    pub retransmitted_share: Option<f64>,
    /// How long data packets waited in queues in the mean, there and back.
    pub queueing_ns: u64,
    /// The shortest retransmission timeout of its TCP.
    pub timeout_ns: u64,
    /// The mean round-trip time of data packets.
    pub round_trip_ns: u64,
    /// The retransmission timeout of its TCP before the first sample of the round-trip time.
    pub first_timeout_ns: u64,
    /// Where most of its data packets did not arrive although few were dropped: the queue that holds them; absent elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standing: Option<StandingQueue>,
    /// Its TCP has no SACK: after a timeout it sends again what it had on the way, arrived or not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub without_sack: bool,
}

/// A queue in which most of a class's data packets wait when the run ends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StandingQueue {
    /// The link that it is in front of.
    pub link: String,
    /// How long the link takes to send what waited there at most.
    pub holds_ns: u64,
}

/// TCP packets of one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DirectionPlausibility {
    /// Packets that were sent and are sent again if they are lost: with payload, SYN or FIN; retransmissions included.
    pub packets: u64,
    /// Of them, packets that queues, policers and loss models dropped. Copies that a path made of them do not count.
    pub dropped_packets: u64,
    /// Bare acknowledgements that were dropped, which nothing has to react to.
    pub dropped_acknowledgements: u64,
    /// The share; null without packets.
    pub dropped_share: Option<f64>,
    /// Of the dropped ones, those of first flights: of each flow as many as were dropped in its first loss event, at most its initial window.
    pub dropped_first_packets: u64,
    /// Segments that the flows with dropped packets had on the way in the mean, while they had something to send; null without any.
    pub lossy_window_segments: Option<f64>,
    /// Segments that these flows had on the way when a loss event began, in the mean; null without any.
    pub lossy_flight_segments: Option<f64>,
    /// Loss events of these flows for each of their data packets; null without any.
    pub loss_event_rate: Option<f64>,
    /// The link where most of them were dropped; null where that was a loss model, or none was dropped.
    pub most_dropped_at: Option<String>,
}

impl Plausibility {
    /// What the user should know of it.
    pub fn warnings(&self) -> Vec<Warning> {
        let flows = self.is_outside().then(|| {
            let farthest = self.flows.first().map(FlowPlausibility::text).unwrap_or_default();
            Warning::ImplausibleWindows { flows: self.outside_flows, judged_flows: self.judged_flows, farthest }
        });
        let drops = self.classes.iter().flat_map(|class_of| {
            let directions = [("left", &class_of.from_left), ("right", &class_of.from_right)];
            directions.into_iter().filter(|(_, direction)| direction.is_lossy()).map(|(from_side, direction)| {
                let (class, link) = (class_of.class.clone(), direction.most_dropped_at.clone());
                let share = direction.dropped_share.unwrap_or_default();
                match class_of.overloaded_window(direction) {
                    _ if class_of.ignores_losses => Warning::LossesIgnored { class, from_side, share, link },
                    Some(window_segments) => Warning::Overload { class, from_side, share, link, window_segments },
                    None if direction.is_of_first_flights() => {
                        let first_share = direction.dropped_first_packets as f64 / direction.packets as f64;
                        Warning::FirstFlights { class, from_side, share, link, first_share }
                    }
                    None => Warning::ImplausibleLoss { class, from_side, share, link },
                }
            })
        });
        let retransmissions = self.classes.iter().filter(|class| class.is_repetitive()).map(|class| {
            let (share, name) = (class.retransmitted_share.unwrap_or_default(), class.class.clone());
            let standing = class.standing.clone().filter(|standing| class.is_bloated_by(standing.holds_ns));
            if class.is_bloated_by(class.queueing_ns) {
                Warning::Bufferbloat { class: name, share, queueing_ns: class.queueing_ns }
            } else if let Some(StandingQueue { link, holds_ns }) = standing {
                Warning::StandingQueue { class: name, share, link, holds_ns }
            } else if class.is_of_long_round_trips() {
                let ClassPlausibility { round_trip_ns, first_timeout_ns, .. } = *class;
                Warning::LongRoundTrips { class: name, share, round_trip_ns, first_timeout_ns }
            } else {
                Warning::ImplausibleRetransmissions { class: name, share }
            }
        });
        flows.into_iter().chain(drops).chain(retransmissions).collect()
    }

    fn is_outside(&self) -> bool {
        self.outside_flows as f64 > MOST_OUTSIDE * self.judged_flows as f64
    }

    /// Flows that were judged and those that were not, in words.
    pub fn text(&self) -> String {
        let NotJudged { few_loss_events, no_response_function, application_limited, receiver_limited } =
            self.not_judged;
        let mut text = format!(
            "{} judged, {} more than a factor of {MOST_FACTOR} off",
            counted(self.judged_flows, "flow"),
            thousands(self.outside_flows)
        );
        for (count, why) in [
            (few_loss_events, "with fewer than ten loss events"),
            (application_limited, "limited by the application"),
            (receiver_limited, "limited by the receiver"),
            (no_response_function, "without a response function"),
        ] {
            if count > 0 {
                text += &format!("; {} {why}", thousands(count));
            }
        }
        text
    }
}

impl DirectionPlausibility {
    fn is_lossy(&self) -> bool {
        self.packets >= LEAST_PACKETS && self.dropped_share.is_some_and(|share| share > MOST_DROPPED)
    }

    /// What was on the way at all loss events together, in segments: without SACK a timeout in each may send it again. Where the window varies, it
    /// is at loss events larger than in the mean.
    fn lossy_windows(&self) -> f64 {
        let events = self.loss_event_rate.unwrap_or_default() * self.packets as f64;
        let [mean, at_events] = [self.lossy_window_segments, self.lossy_flight_segments].map(Option::unwrap_or_default);
        events * mean.max(at_events)
    }

    /// Whether no more than a fifth is dropped of what flows sent after their first flights: of these a sender does not know before a round
    /// trip that it lost anything, however much that was.
    fn is_of_first_flights(&self) -> bool {
        let first = self.dropped_first_packets.min(self.dropped_packets);
        let later = |packets: u64| (packets - first) as f64;
        first > 0 && later(self.dropped_packets) <= MOST_DROPPED * later(self.packets.max(self.dropped_packets))
    }
}

impl ClassPlausibility {
    /// The mean window of flows from a side that cannot slow down any further, or had no time to.
    fn overloaded_window(&self, from: &DirectionPlausibility) -> Option<f64> {
        let most = largest_overloaded_window(from.loss_event_rate, expiries(self.queueing_ns, self.timeout_ns));
        from.lossy_window_segments.filter(|window| *window <= most)
    }

    /// Whether more was sent again than an overload explains.
    fn is_repetitive(&self) -> bool {
        let directions = [&self.from_left, &self.from_right];
        let is_explained = |from: &&DirectionPlausibility| {
            self.overloaded_window(from).is_some() || (from.is_lossy() && from.is_of_first_flights())
        };
        let is_overloaded = (self.ignores_losses || directions.iter().any(is_explained))
            && self.retransmissions as f64 <= self.due_to_drops();
        // Each copy makes a sender take one acknowledgement more for a duplicate, and send at most one segment again. Many copies excuse
        // no more than half of what is sent.
        let of_copies = self.copies.min(self.data_packets / 2);
        let not_of_copies = self.retransmissions.saturating_sub(of_copies) as f64;
        self.data_packets >= LEAST_PACKETS
            && not_of_copies > MOST_RETRANSMITTED * self.data_packets as f64
            && !is_overloaded
    }

    /// Retransmissions that drops explain.
    fn due_to_drops(&self) -> f64 {
        let dropped = |from: &DirectionPlausibility| from.dropped_packets + from.dropped_acknowledgements;
        let windows =
            if self.without_sack { self.from_left.lossy_windows() + self.from_right.lossy_windows() } else { 0.0 };
        MOST_FOR_A_DROP * (dropped(&self.from_left) + dropped(&self.from_right)) as f64 + windows
    }

    /// Whether the rest is sent again because packets wait in queues for longer than the retransmission timeout: each time that a timer
    /// expires meanwhile it sends every segment again at most once.
    fn is_bloated_by(&self, waits_ns: u64) -> bool {
        waits_ns > self.timeout_ns && self.is_due_to(expiries(waits_ns, self.timeout_ns))
    }

    /// Whether the rest is sent again because a round trip takes longer than the timeout that holds until the first sample of one: of what
    /// was sent twice there is none (RFC 6298 section 3), so that the flights of several round trips may be sent again.
    fn is_of_long_round_trips(&self) -> bool {
        self.round_trip_ns > self.first_timeout_ns
            && self.is_due_to(expiries(self.round_trip_ns, self.first_timeout_ns))
    }

    /// Whether drops explain what was sent again if timers also send each segment again `expiries` times.
    fn is_due_to(&self, expiries: f64) -> bool {
        let segments = self.data_packets.saturating_sub(self.retransmissions) as f64;
        self.retransmissions as f64 <= self.due_to_drops() + expiries * segments
    }
}

impl FlowPlausibility {
    /// The windows that are expected, in words.
    pub fn expected(&self) -> String {
        let [low, high] = [self.expected_low_segments, self.expected_high_segments].map(three_digits);
        match self.expected_low_segments {
            0.0 => format!("at most {high}"),
            _ if low == high => high,
            _ => format!("{low} to {high}"),
        }
    }

    /// In a sentence.
    fn text(&self) -> String {
        format!(
            "connection {} ({}, {}) has a mean window of {} segments, while {} follow from a loss event in every {} packets \
             and round trips of {}",
            self.connection_id,
            self.class,
            self.congestion,
            three_digits(self.window_segments),
            self.expected(),
            three_digits(1.0 / self.loss_event_rate.max(1e-12)),
            Unit::Time.show(self.rtt_ns as f64)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flows(judged_flows: u64, outside_flows: u64) -> Plausibility {
        Plausibility { judged_flows, outside_flows, flows: vec![flow(320.4)], ..Plausibility::default() }
    }

    fn flow(window_segments: f64) -> FlowPlausibility {
        FlowPlausibility {
            connection_id: 7,
            class: "bulk".into(),
            congestion: "cubic".into(),
            loss_event_rate: 0.0026,
            rtt_ns: 154_000_000,
            window_segments,
            expected_low_segments: 22.98,
            expected_high_segments: 23.53,
            ..FlowPlausibility::default()
        }
    }

    fn class(packets: u64, dropped_packets: u64, data_packets: u64, retransmissions: u64) -> Plausibility {
        let share = |count: u64, of: u64| (of > 0).then(|| count as f64 / of as f64);
        let from_left = DirectionPlausibility {
            packets,
            dropped_packets,
            dropped_acknowledgements: 0,
            dropped_share: share(dropped_packets, packets),
            dropped_first_packets: 0,
            lossy_window_segments: (dropped_packets > 0).then_some(20.0),
            lossy_flight_segments: None,
            loss_event_rate: (dropped_packets > 0).then_some(0.05),
            most_dropped_at: Some("uplink".into()),
        };
        let retransmitted_share = share(retransmissions, data_packets);
        let class = ClassPlausibility {
            class: "web".into(),
            from_left,
            data_packets,
            retransmissions,
            retransmitted_share,
            ..ClassPlausibility::default()
        };
        Plausibility { classes: vec![class], ..Plausibility::default() }
    }

    #[test]
    fn one_of_twenty_flows_may_be_outside() {
        for (judged, outside, warned) in [(0, 0, 0), (1, 0, 0), (1, 1, 1), (19, 1, 1), (20, 1, 0), (40, 3, 1)] {
            assert_eq!(flows(judged, outside).warnings().len(), warned, "{outside} of {judged}");
        }
    }

    #[test]
    fn the_farthest_flow_is_named() {
        let [warning] = &flows(3, 1).warnings()[..] else { panic!() };
        assert_eq!(
            warning.cause(),
            "implausible: 1 of 3 judged flows does not keep the window that its losses allow; connection 7 (bulk, cubic) has a mean \
             window of 320 segments, while 23.0 to 23.5 follow from a loss event in every 385 packets and round trips of 154 ms"
        );
    }

    #[test]
    fn losses_are_warned_of_from_a_fifth_on() {
        assert!(class(1_000, 200, 0, 0).warnings().is_empty());
        let [warning] = &class(1_000, 201, 0, 0).warnings()[..] else { panic!() };
        assert_eq!(
            warning.cause(),
            "implausible: over the whole run 20.1 % of the TCP packets of web from the left were dropped, most of them at the link uplink"
        );
        assert!(class(99, 99, 0, 0).warnings().is_empty(), "too few packets");
    }

    #[test]
    fn retransmissions_are_warned_of_from_a_quarter_on() {
        assert!(class(0, 0, 1_000, 250).warnings().is_empty());
        let [warning] = &class(0, 0, 1_000, 251).warnings()[..] else { panic!() };
        assert_eq!(warning.cause(), "implausible: 25.1 % of the data packets of web were retransmissions");
        assert!(class(0, 0, 99, 99).warnings().is_empty(), "too few packets");
    }

    /// Copies make receivers send duplicate acknowledgements, which senders take for losses: one retransmission for each is no doubt.
    #[test]
    fn retransmissions_that_follow_from_copies_are_no_doubt() {
        let copied = |copies, retransmissions| {
            let mut found = class(1_000, 0, 1_000, retransmissions);
            found.classes[0].copies = copies;
            found.warnings().iter().any(Warning::is_doubt)
        };
        assert_eq!(
            [(0, 266), (500, 266), (500, 750), (500, 751), (2_000, 751)].map(|(c, r)| copied(c, r)),
            [true, false, false, true, true]
        );
    }

    #[test]
    fn an_overload_is_named_and_not_doubted() {
        let overloaded = |window| {
            let mut found = class(1_000, 400, 900, 450);
            found.classes[0].from_left.lossy_window_segments = Some(window);
            found
        };
        let [warning] = &overloaded(1.5).warnings()[..] else { panic!() };
        assert!(!warning.is_doubt());
        assert_eq!(
            warning.cause(),
            "overload: over the whole run 40.0 % of the TCP packets of web from the left were dropped, most of them at the link uplink; its flows \
             have 1.50 segments on the way in the mean, no more than their losses allow"
        );
        // Flows that keep large windows in spite of such losses do not react to them.
        let warnings = overloaded(20.0).warnings();
        assert!(warnings.len() == 2 && warnings.iter().all(Warning::is_doubt), "{warnings:?}");
        // A flight of 40 is lost at a time: 2.5 * sqrt(1.5 * 300) = 53.
        let bursts = |window, rate| {
            let mut found = overloaded(window);
            found.classes[0].from_left.loss_event_rate = Some(rate);
            found.warnings().iter().any(Warning::is_doubt)
        };
        assert_eq!(
            [(52.0, 1.0 / 300.0), (54.0, 1.0 / 300.0)].map(|(window, rate)| bursts(window, rate)),
            [false, true]
        );
        // Long flows that lose two fifths and do not react: an event in each round trip.
        assert!(bursts(30.0, 1.0 / 30.0) && bursts(13.0, 1.0 / 13.0));
        // 950 retransmissions are not due to 400 drops.
        let mut needless = overloaded(1.5);
        needless.classes[0].retransmissions = 950;
        assert!(needless.warnings().iter().any(Warning::is_doubt));
    }

    /// Ten flows of 40 segments at once over a queue of three packets, and of as many that go on as if nothing had been lost.
    #[test]
    fn losses_of_first_flights_are_named_and_not_doubted() {
        let of = |dropped_first_packets, dropped| {
            let mut found = class(1_000, dropped, 1_000, dropped);
            found.classes[0].from_left.dropped_first_packets = dropped_first_packets;
            found.warnings()
        };
        // 500 of 1,000, and then 125 of the other 500 would be a quarter; 100 are a fifth.
        let [warning] = &of(500, 600)[..] else { panic!() };
        assert!(!warning.is_doubt());
        assert_eq!(
            warning.cause(),
            "overload: over the whole run 60.0 % of the TCP packets of web from the left were dropped, most of them at the link uplink; 83.3 % of them are of \
             initial windows, which are sent before a loss can slow a flow down"
        );
        for (first, dropped) in [(500, 625), (0, 400), (100, 400), (10, 250)] {
            assert!(of(first, dropped).iter().all(Warning::is_doubt), "{first} {dropped}");
        }
        // More was sent again than was lost, twice.
        let mut needless = class(1_000, 400, 1_000, 900);
        needless.classes[0].from_left.dropped_first_packets = 400;
        assert!(needless.warnings().iter().any(Warning::is_doubt));
    }

    /// BBR over a short queue: the kernel's loses as much.
    #[test]
    fn losses_of_what_ignores_them_are_named_and_not_doubted() {
        let ignoring = |retransmissions| {
            let mut found = class(1_000, 326, 900, retransmissions);
            found.classes[0].ignores_losses = true;
            found.warnings()
        };
        let [warning] = &ignoring(326)[..] else { panic!() };
        assert!(!warning.is_doubt());
        assert_eq!(
            warning.cause(),
            "overload: over the whole run 32.6 % of the TCP packets of web from the left were dropped, most of them at the link uplink; no window follows \
             from losses for its congestion control"
        );
        assert!(ignoring(700).iter().any(Warning::is_doubt), "more than two for each dropped packet");
    }

    /// 3.1 s are four timeouts of 0.2 s: 0.2, 0.4, 0.8, 1.6 s after each other.
    #[test]
    fn timers_that_expire_in_a_queue_are_named_and_not_doubted() {
        assert_eq!(
            [99, 100, 299, 300, 1_499, 1_500].map(|queueing| expiries(queueing, 100)),
            [0.0, 1.0, 1.0, 2.0, 3.0, 4.0]
        );
        let waiting = |queueing_ns, retransmissions| {
            let mut found = class(1_000, 0, 1_000, retransmissions);
            (found.classes[0].queueing_ns, found.classes[0].timeout_ns) = (queueing_ns, 200_000_000);
            found.warnings()
        };
        // 200 segments, each sent again four times.
        let [warning] = &waiting(3_100_000_000, 800)[..] else { panic!() };
        assert!(!warning.is_doubt());
        assert_eq!(
            warning.cause(),
            "bufferbloat: 80.0 % of the data packets of web were retransmissions; packets wait in queues for 3.10 s in the mean, and \
             retransmission timers expire meanwhile"
        );
        for (queueing, retransmissions) in [(3_100_000_000, 801), (200_000_000, 300), (0, 300)] {
            let [warning] = &waiting(queueing, retransmissions)[..] else { panic!() };
            assert!(warning.is_doubt(), "{queueing} {retransmissions}");
        }
    }

    /// Nothing arrived: 200 s are nine timeouts of 0.2 s, and a queue holds so much.
    #[test]
    fn a_queue_that_holds_all_packets_is_named_and_not_doubted() {
        let held = |holds_ns, retransmissions| {
            let mut found = class(1_000, 0, 1_000, retransmissions);
            found.classes[0].timeout_ns = 200_000_000;
            found.classes[0].standing = Some(StandingQueue { link: "uplink".into(), holds_ns });
            found.warnings()
        };
        let [warning] = &held(200_000_000_000, 890)[..] else { panic!() };
        assert!(!warning.is_doubt());
        assert_eq!(
            warning.cause(),
            "bufferbloat: 89.0 % of the data packets of web were retransmissions; most of them did not arrive, because the queue of uplink \
             held 200 s of traffic, and retransmission timers expired meanwhile"
        );
        for (holds_ns, retransmissions) in [(200_000_000_000, 901), (100_000_000, 300)] {
            let [warning] = &held(holds_ns, retransmissions)[..] else { panic!() };
            assert!(warning.is_doubt(), "{holds_ns} {retransmissions}");
        }
    }

    /// 18 loss events in 1,000 packets, of 14 segments each: without SACK a timeout sends these again.
    #[test]
    fn windows_sent_again_without_sack_are_no_doubt() {
        let doubted = |without_sack, retransmissions| {
            let mut found = class(1_000, 127, 1_000, retransmissions);
            let class = &mut found.classes[0];
            (class.ignores_losses, class.without_sack) = (true, without_sack);
            class.from_left.lossy_window_segments = Some(14.0);
            class.from_left.loss_event_rate = Some(0.018);
            found.warnings().iter().any(Warning::is_doubt)
        };
        assert_eq!(
            [(true, 360), (false, 360), (true, 506), (true, 507)].map(|(w, r)| doubted(w, r)),
            [false, true, false, true]
        );
    }

    /// 14 segments in the mean, and 28 when the 18 loss events begin.
    #[test]
    fn what_is_on_the_way_at_a_loss_is_sent_again_without_sack() {
        let doubted = |without_sack, retransmissions| {
            let mut found = class(1_000, 50, 1_000, retransmissions);
            let class = &mut found.classes[0];
            (class.ignores_losses, class.without_sack) = (true, without_sack);
            class.from_left.lossy_window_segments = Some(14.0);
            class.from_left.lossy_flight_segments = Some(28.0);
            class.from_left.loss_event_rate = Some(0.018);
            found.warnings().iter().any(Warning::is_doubt)
        };
        assert_eq!([(true, 604), (true, 605), (false, 604)].map(|(w, r)| doubted(w, r)), [false, true, true]);
    }

    /// 10 s are three timeouts of 1 s: 1, 2, 4 s after each other.
    #[test]
    fn round_trips_longer_than_the_first_timeout_are_named() {
        let over = |round_trip_ns, retransmissions| {
            let mut found = class(1_000, 0, 1_000, retransmissions);
            (found.classes[0].round_trip_ns, found.classes[0].first_timeout_ns) = (round_trip_ns, 1_000_000_000);
            found.classes[0].timeout_ns = 200_000_000;
            found.warnings()
        };
        let [warning] = &over(10_000_000_000, 750)[..] else { panic!() };
        assert!(!warning.is_doubt());
        assert_eq!(
            warning.cause(),
            "long round trips: 75.0 % of the data packets of web were retransmissions; a round trip takes 10.0 s in the mean, and the \
             first retransmission timeout is 1.00 s"
        );
        for (round_trip, retransmissions) in [(10_000_000_000, 751), (900_000_000, 300)] {
            let [warning] = &over(round_trip, retransmissions)[..] else { panic!() };
            assert!(warning.is_doubt(), "{round_trip} {retransmissions}");
        }
    }

    /// A loss event in five packets allows 6.8 segments; where each is sent again twice behind a queue, there are three copies.
    #[test]
    fn copies_behind_a_long_queue_are_no_large_window() {
        let doubted = |window, queueing_ns| {
            let mut found = class(1_000, 400, 900, 450);
            found.classes[0].from_left.lossy_window_segments = Some(window);
            found.classes[0].from_left.loss_event_rate = Some(0.3);
            (found.classes[0].queueing_ns, found.classes[0].timeout_ns) = (queueing_ns, 200_000_000);
            found.warnings().iter().any(Warning::is_doubt)
        };
        assert_eq!(
            [(7.0, 0), (7.0, 600_000_000), (20.6, 600_000_000)].map(|(w, q)| doubted(w, q)),
            [true, false, true]
        );
    }

    #[test]
    fn nothing_happened_is_no_warning() {
        assert!(Plausibility::default().warnings().is_empty());
        assert!(class(0, 0, 0, 0).warnings().is_empty());
    }

    #[test]
    fn run_json_keeps_it() {
        let found = Plausibility { flows: vec![flow(5.0)], ..class(1_000, 201, 500, 3) };
        let stored = serde_json::to_value(&found).unwrap();
        assert_eq!(serde_json::from_value::<Plausibility>(stored).unwrap(), found);
    }

    #[test]
    fn expected_windows_are_a_range_or_a_bound() {
        let flow = |low, high| FlowPlausibility {
            expected_low_segments: low,
            expected_high_segments: high,
            ..FlowPlausibility::default()
        };
        assert_eq!(flow(10.0, 12.25).expected(), "10.0 to 12.2");
        assert_eq!(flow(12.24, 12.21).expected(), "12.2");
        assert_eq!(flow(0.0, 12.25).expected(), "at most 12.2");
    }
}
