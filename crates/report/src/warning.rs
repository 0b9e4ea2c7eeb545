//! What the user should know about a run, and what to do about it.

use serde::Serialize;

use flowloom_core::time::Duration;
use flowloom_core::units::three_digits;

use crate::metric::Unit;
use crate::words::{DATAGRAMS, counted, thousands};

/// Why TCP gives up.
pub(crate) const GAVE_UP: &str = "no acknowledgement for any retry (15 of data, 6 of a SYN)";

/// What the user should know about a run: a cause and, where there is one, a remedy.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Warning {
    /// No connection ended.
    NothingEnded {
        /// Connections that started.
        started: u64,
    },
    /// No byte arrived.
    NothingDelivered {
        /// Connections and flows of sources that started.
        flows: u64,
    },
    /// Packets disappeared without a record, or appeared.
    Unaccounted {
        /// Sent - delivered - dropped.
        packets: i64,
    },
    /// Connections were unfinished when the run ended, for which a faster network would have had time.
    Unfinished {
        /// Number of connections.
        connections: u64,
        /// Their share of all that started.
        share: f64,
    },
    /// TCP gave up many connections.
    GaveUp {
        /// Number of connections.
        connections: u64,
        /// Their share of all that started.
        share: f64,
    },
    /// Many datagrams had neither arrived nor been dropped when the run ended.
    WaitingDatagrams {
        /// Their class or source.
        class: String,
        /// How many had not ended.
        datagrams: u64,
        /// Their share of those that were sent.
        share: f64,
    },
    /// Somebody stopped the run.
    Interrupted {
        /// The beginning of what was measured.
        start_ns: u64,
        /// Its end; a nanosecond later where the run was stopped before the window.
        end_ns: u64,
    },
    /// Load changed over the window (methods A.11: thirds more than 5 % apart).
    NotStationary {
        /// Mean throughput of each third relative to the whole.
        thirds: [f64; 3],
    },
    /// Connections lost packets in the original, which the replay does not repeat (methods M.7).
    LossInOriginal {
        /// Number of connections.
        connections: u64,
        /// Their share of all that started.
        share: f64,
    },
    /// Connections that are not clean, because one world did not see their close (methods M.4).
    CloseNotSeen {
        /// Number of connections.
        connections: u64,
        /// Their share of all that started.
        share: f64,
    },
    /// Mean windows are far from what losses allow (`docs/guide/plausibility.md`).
    ImplausibleWindows {
        /// Number of flows outside.
        flows: u64,
        /// Of so many that were judged.
        judged_flows: u64,
        /// The farthest of them, in words.
        farthest: String,
    },
    /// More TCP packets were dropped than closed loops let happen.
    ImplausibleLoss {
        /// Whose.
        class: String,
        /// The side that they come from.
        from_side: &'static str,
        /// Of all of them.
        share: f64,
        /// Where most of them were dropped; `None`: by a loss model.
        link: Option<String>,
    },
    /// Many TCP packets were dropped, and the flows could not slow down any further.
    Overload {
        /// Whose.
        class: String,
        /// The side that they come from.
        from_side: &'static str,
        /// Of all of them.
        share: f64,
        /// Where most of them were dropped; `None`: by a loss model.
        link: Option<String>,
        /// What the flows that lost packets had on the way in the mean.
        window_segments: f64,
    },
    /// Many TCP packets were dropped of flows whose congestion control has no response function.
    LossesIgnored {
        /// Whose.
        class: String,
        /// The side that they come from.
        from_side: &'static str,
        /// Of all of them.
        share: f64,
        /// Where most of them were dropped; `None`: by a loss model.
        link: Option<String>,
    },
    /// Many TCP packets were dropped, most of them of first flights, which no sender can hold back.
    FirstFlights {
        /// Whose.
        class: String,
        /// The side that they come from.
        from_side: &'static str,
        /// Of all of them.
        share: f64,
        /// Where most of them were dropped; `None`: by a loss model.
        link: Option<String>,
        /// The share of all of them that are packets of first flights and were dropped.
        first_share: f64,
    },
    /// More was sent again than closed loops let happen.
    ImplausibleRetransmissions {
        /// By whom.
        class: String,
        /// Of all data packets.
        share: f64,
    },
    /// Much was sent again because packets wait in queues for longer than the retransmission timeout.
    Bufferbloat {
        /// The class of connections, or the source.
        class: String,
        /// Of all data packets.
        share: f64,
        /// The mean time in queues, there and back.
        queueing_ns: u64,
    },
    /// Much was sent again because round trips are longer than the first retransmission timeout.
    LongRoundTrips {
        /// The class of connections, or the source.
        class: String,
        /// Of all data packets.
        share: f64,
        /// The mean round-trip time.
        round_trip_ns: u64,
        /// The timeout before the first sample of it.
        first_timeout_ns: u64,
    },
    /// Many datagrams were dropped.
    DroppedDatagrams {
        /// The class or source.
        class: String,
        /// Of all that were sent.
        share: f64,
        /// Where most of them were dropped; `None`: by a loss model.
        link: Option<String>,
    },
    /// Much was sent again because most of it stands in a queue.
    StandingQueue {
        /// The class of connections or the source.
        class: String,
        /// Retransmissions of its data packets.
        share: f64,
        /// The link that the queue is in front of.
        link: String,
        /// How long the link takes to send what waited there at most.
        holds_ns: u64,
    },
    /// A queue was deep, and may become far deeper before it drops.
    DeepQueue {
        /// The link that it is in front of.
        link: String,
        /// How long the link takes to send what waited there at most.
        holds_ns: u64,
        /// How long it takes to send all that the limit allows; `None` if there is no limit.
        limit_ns: Option<u64>,
        /// The queue, in words.
        queue: String,
    },
    /// Bytes that were acknowledged are not replayed, because of the side that sent them no data was captured.
    UnseenPayload {
        /// Those bytes.
        acknowledged_bytes: u64,
    },
    /// The capture lacks much payload that nobody acknowledged, and it is not replayed.
    MissingPayload {
        /// Those bytes.
        missing_bytes: u64,
        /// Their share of the payload that was sent.
        share: f64,
    },
    /// Connections of which the capture lacks bytes were left out.
    LeftOutPayload {
        /// Payload that was captured of them.
        left_out_bytes: u64,
        /// The same of the connections that are replayed.
        replayed_bytes: u64,
    },
    /// Results are of less time than a bin of their series.
    ShortWindow {
        /// How long the window is.
        window_ns: u64,
        /// The width of the bin.
        bin_ns: u64,
    },
    /// The original holds packets more than once.
    CapturedTwice {
        /// Packets that are copies of one shortly before.
        packets: u64,
        /// Their share of the packets of which that can be told.
        share: f64,
    },
    /// More or less is sent than was to be.
    OtherPayload {
        /// Payload that was to be sent: what was captured without holes, or what load and structure ask for.
        asked_bytes: u64,
        /// Payload of the workload that was replayed.
        sent_bytes: u64,
        /// The side of the link that it comes from, of a workload that was drawn; `None`: both, of a capture.
        from_side: Option<&'static str>,
    },
    /// The comparison with the original rests on few connections.
    FewCompared {
        /// Connections whose durations are compared, of all.
        share: f64,
    },
    /// Something is as the kernel of a live run has it.
    Kernel {
        /// In words.
        text: String,
    },
    /// Said by what made the run.
    Other {
        /// In words.
        text: String,
    },
}

/// How many packets were dropped in all of the run, and where: answers have the losses of the window beside it.
fn dropped(packets: &str, share: f64, link: Option<&str>) -> String {
    format!(
        "over the whole run {} % of the {packets} were dropped, {}",
        three_digits(share * 100.0),
        match link {
            Some(link) => format!("most of them at the link {link}"),
            None => "most of them by a loss model".to_owned(),
        }
    )
}

/// The TCP packets of a class from a side that were dropped, and where.
fn dropped_tcp(class: &str, from_side: &str, share: f64, link: Option<&str>) -> String {
    dropped(&format!("TCP packets of {class} from the {from_side}"), share, link)
}

/// What [`Warning::StandingQueue`] says.
fn standing_queue(class: &str, share: &str, link: &str, holds_ns: u64) -> String {
    let held = Unit::Time.show(holds_ns as f64);
    format!(
        "bufferbloat: {share} of the data packets of {class} were retransmissions; most of them did not arrive, because the queue of {link} \
         held {held} of traffic, and retransmission timers expired meanwhile"
    )
}

/// What [`Warning::DeepQueue`] says.
fn deep_queue(link: &str, holds_ns: u64, limit_ns: Option<u64>, queue: &str) -> String {
    let held = Unit::Time.show(holds_ns as f64);
    let allowed = limit_ns.map_or_else(
        || format!("it has no limit ({queue})"),
        |time| format!("its limit ({queue}) allows {}", Unit::Time.show(time as f64)),
    );
    format!("the queue of {link} held up to {held} of traffic; {allowed}")
}

/// What [`Warning::LongRoundTrips`] says.
fn long_round_trips(class: &str, share: &str, round_trip_ns: u64, first_timeout_ns: u64) -> String {
    let [round_trip, timeout] = [round_trip_ns, first_timeout_ns].map(|time| Unit::Time.show(time as f64));
    format!(
        "long round trips: {share} of the data packets of {class} were retransmissions; a round trip takes {round_trip} in the mean, and the \
         first retransmission timeout is {timeout}"
    )
}

/// What [`Warning::MissingPayload`] says.
fn missing_payload(missing_bytes: u64, share: &str) -> String {
    let missing = Unit::Bytes.show(missing_bytes as f64);
    format!(
        "doubtful: {missing} of payload ({share}) are missing from the capture and not replayed: nobody acknowledged them"
    )
}

/// What [`Warning::LeftOutPayload`] says.
fn left_out_payload(left_out_bytes: u64, replayed_bytes: u64) -> String {
    let [left_out, replayed] = [left_out_bytes, replayed_bytes].map(|bytes| Unit::Bytes.show(bytes as f64));
    format!(
        "doubtful: {left_out} of captured payload are left out, because bytes are missing in the same connections; {replayed} are replayed"
    )
}

/// How much is sent from a side, or from both, and how much was to be.
fn other_payload(asked_bytes: u64, sent_bytes: u64, from_side: Option<&str>) -> String {
    let [asked, sent] = [asked_bytes, sent_bytes].map(|bytes| Unit::Bytes.show(bytes as f64));
    match from_side {
        None => format!("doubtful: {sent} of payload are replayed where {asked} were captured without holes"),
        Some(side) => {
            format!("doubtful: {sent} of payload are replayed from the {side} where load and structure ask for {asked}")
        }
    }
}

/// Datagrams of a class that have not ended, with their share.
fn waiting(class: &str, datagrams: u64, share: &str) -> String {
    let (class, datagrams) = (sender(class), counted(datagrams, "datagram"));
    format!(
        "{datagrams} of {class} ({share}) were on their way when the run ended: they count neither as arrived nor as lost"
    )
}

/// Whose datagrams those of a class are: the workload's are a class of their own.
fn sender(class: &str) -> &str {
    if class == DATAGRAMS { "the workload" } else { class }
}

/// Packets that are copies, with their share.
fn captured_twice(packets: u64, share: &str) -> String {
    let packets = counted(packets, "packet");
    format!(
        "doubtful: {packets} of the original ({share} of those with data that can be told) are copies of others; its throughput and load \
         count them, and flows of datagrams are sent with them"
    )
}

fn few_compared(share: &str) -> String {
    format!("doubtful: the durations of only {share} of the connections are compared with the original's")
}

/// What an interruption leaves of results from `start_ns` to `end_ns`.
fn interruption(start_ns: u64, end_ns: u64) -> String {
    let [start, end] = [start_ns, end_ns].map(Duration::from_nanos);
    match end_ns.saturating_sub(start_ns) {
        _ if start.is_zero() => {
            format!("the run was interrupted; results cover what had happened by then, in its first {end}")
        }
        0 | 1 => format!("the run was interrupted before the window that results are of, which begins at {start}"),
        _ => format!("the run was interrupted; results cover what had happened by then, from {start} to {end} of it"),
    }
}

impl Warning {
    /// Whether it makes the run doubtful.
    pub fn is_doubt(&self) -> bool {
        matches!(
            self,
            Warning::ImplausibleWindows { .. }
                | Warning::ImplausibleLoss { .. }
                | Warning::ImplausibleRetransmissions { .. }
                | Warning::CapturedTwice { .. }
                | Warning::OtherPayload { .. }
                | Warning::LeftOutPayload { .. }
                | Warning::UnseenPayload { .. }
                | Warning::MissingPayload { .. }
                | Warning::FewCompared { .. }
        )
    }

    /// Whether both say the same of a run, if with other numbers.
    pub fn is_alike(&self, other: &Warning) -> bool {
        match (self, other) {
            (Warning::Other { text }, Warning::Other { text: other })
            | (Warning::Kernel { text }, Warning::Kernel { text: other }) => text == other,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other) && self.subject() == other.subject(),
        }
    }

    /// Whose traffic it is about, from which side, and at which link; `None` of what it does not say.
    fn subject(&self) -> [Option<&str>; 3] {
        match self {
            Warning::ImplausibleLoss { class, from_side, link, .. }
            | Warning::Overload { class, from_side, link, .. }
            | Warning::FirstFlights { class, from_side, link, .. }
            | Warning::LossesIgnored { class, from_side, link, .. } => [Some(class), Some(from_side), link.as_deref()],
            Warning::DroppedDatagrams { class, link, .. } => [Some(class), None, link.as_deref()],
            Warning::ImplausibleRetransmissions { class, .. }
            | Warning::Bufferbloat { class, .. }
            | Warning::StandingQueue { class, .. }
            | Warning::LongRoundTrips { class, .. } => [Some(class), None, None],
            Warning::OtherPayload { from_side, .. } => [None, *from_side, None],
            Warning::DeepQueue { link, .. } => [None, None, Some(link)],
            _ => [None; 3],
        }
    }

    /// What is the matter.
    pub fn cause(&self) -> String {
        let percent = |share: &f64| format!("{} %", three_digits(share * 100.0));
        match self {
            Warning::NothingEnded { started: 0 } => "no connection started within the window".to_owned(),
            Warning::NothingEnded { started } => format!("none of {started} connections ended"),
            Warning::NothingDelivered { flows } => {
                format!("{} began, and no byte arrived in the window of the results", counted(*flows, "flow"))
            }
            Warning::Unaccounted { packets } => {
                format!("sent, delivered and dropped packets do not add up: {packets} are unaccounted for")
            }
            Warning::Unfinished { connections, share } => format!(
                "{} ({}) did not end before the run did; of quantiles that depend on how long they last there are lower bounds",
                counted(*connections, "connection"),
                percent(share)
            ),
            Warning::GaveUp { connections, share } => {
                format!("TCP gave up {} ({}): {GAVE_UP}", counted(*connections, "connection"), percent(share))
            }
            Warning::WaitingDatagrams { class, datagrams, share } => waiting(class, *datagrams, &percent(share)),
            Warning::Interrupted { start_ns, end_ns } => interruption(*start_ns, *end_ns),
            Warning::NotStationary { thirds } => format!(
                "the load is not steady: throughput of the three thirds is {} of the mean",
                thirds.map(|third| percent(&third)).join(", ")
            ),
            Warning::LossInOriginal { connections, share } => format!(
                "{} ({}) lost packets in the original, and the replay does not repeat the losses; they are reported apart",
                counted(*connections, "connection"),
                percent(share)
            ),
            Warning::CloseNotSeen { connections, share } => format!(
                "of {} ({}) the close is not seen in both the original and the replay; the distances of clean connections leave them out",
                counted(*connections, "connection"),
                percent(share)
            ),
            Warning::ImplausibleWindows { flows, judged_flows, farthest } => format!(
                "implausible: {} of {} {} not keep the window that {} losses allow; {farthest}",
                thousands(*flows),
                counted(*judged_flows, "judged flow"),
                if *flows == 1 { "does" } else { "do" },
                if *flows == 1 { "its" } else { "their" }
            ),
            Warning::ImplausibleLoss { class, from_side, share, link } => {
                format!("implausible: {}", dropped_tcp(class, from_side, *share, link.as_deref()))
            }
            Warning::Overload { class, from_side, share, link, window_segments } => format!(
                "overload: {}; its flows have {} segments on the way in the mean, no more than their losses allow",
                dropped_tcp(class, from_side, *share, link.as_deref()),
                three_digits(*window_segments)
            ),
            Warning::LossesIgnored { class, from_side, share, link } => format!(
                "overload: {}; no window follows from losses for its congestion control",
                dropped_tcp(class, from_side, *share, link.as_deref())
            ),
            Warning::FirstFlights { class, from_side, share, link, first_share } => format!(
                "overload: {}; {} of them are of initial windows, which are sent before a loss can slow a flow down",
                dropped_tcp(class, from_side, *share, link.as_deref()),
                percent(&(first_share / share))
            ),
            Warning::ImplausibleRetransmissions { class, share } => {
                format!("implausible: {} of the data packets of {class} were retransmissions", percent(share))
            }
            Warning::Bufferbloat { class, share, queueing_ns } => format!(
                "bufferbloat: {} of the data packets of {class} were retransmissions; packets wait in queues for {} in the mean, \
                 and retransmission timers expire meanwhile",
                percent(share),
                Unit::Time.show(*queueing_ns as f64)
            ),
            Warning::StandingQueue { class, share, link, holds_ns } => {
                standing_queue(class, &percent(share), link, *holds_ns)
            }
            Warning::DeepQueue { link, holds_ns, limit_ns, queue } => deep_queue(link, *holds_ns, *limit_ns, queue),
            Warning::LongRoundTrips { class, share, round_trip_ns, first_timeout_ns } => {
                long_round_trips(class, &percent(share), *round_trip_ns, *first_timeout_ns)
            }
            Warning::DroppedDatagrams { class, share, link } => {
                format!("overload: {}", dropped(&format!("datagrams of {}", sender(class)), *share, link.as_deref()))
            }
            Warning::UnseenPayload { acknowledged_bytes } => format!(
                "doubtful: {} of acknowledged payload are not replayed: of the sides that sent them no data was captured",
                Unit::Bytes.show(*acknowledged_bytes as f64)
            ),
            Warning::MissingPayload { missing_bytes, share } => missing_payload(*missing_bytes, &percent(share)),
            Warning::LeftOutPayload { left_out_bytes, replayed_bytes } => {
                left_out_payload(*left_out_bytes, *replayed_bytes)
            }
            Warning::ShortWindow { window_ns, bin_ns } => {
                let [window, bin] = [*window_ns, *bin_ns].map(Duration::from_nanos);
                format!("results are of {window}, and rates of whole bins of {bin}: they are too low")
            }
            Warning::OtherPayload { asked_bytes, sent_bytes, from_side } => {
                other_payload(*asked_bytes, *sent_bytes, *from_side)
            }
            Warning::CapturedTwice { packets, share } => captured_twice(*packets, &percent(share)),
            Warning::FewCompared { share } => few_compared(&percent(share)),
            Warning::Kernel { text } | Warning::Other { text } => text.clone(),
        }
    }

    /// Whether it is only good to know: the report says it, the terminal does not.
    pub fn is_note(&self) -> bool {
        matches!(self, Warning::NotStationary { .. } | Warning::Kernel { .. })
    }

    /// What to do about it, where something can be done.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Warning::NothingEnded { .. } => {
                Some("run for longer (measure.duration), or check the workload's start times")
            }
            Warning::NothingDelivered { .. } => {
                Some("run for longer than a round trip (measure.duration), or check delays and losses of the path")
            }
            Warning::Unaccounted { .. } => Some("this is a defect in Flowloom: please report it with the run folder"),
            Warning::Unfinished { .. } => {
                Some("let the run drain for longer (measure.drain), or raise the link's rate")
            }
            Warning::GaveUp { .. } => Some(
                "if this is not what was meant, give the link a higher rate or a shorter queue, or check loss models",
            ),
            Warning::WaitingDatagrams { .. } => Some("raise the link's rate, or give it a shorter queue"),
            Warning::Interrupted { .. } => Some("run it again to its end"),
            Warning::NotStationary { .. } => {
                Some("compare windows of steady load (measure.window) before quoting a load")
            }
            Warning::ImplausibleWindows { .. } => {
                Some("run the experiment both in the simulator and live (--on sim, --on live), and report a difference")
            }
            Warning::ImplausibleLoss { .. } | Warning::ImplausibleRetransmissions { .. } => {
                Some("check loss models, queue limits and the number of flows")
            }
            Warning::Overload { .. } | Warning::LossesIgnored { .. } => {
                Some("if this is not what was meant, give the link a higher rate or fewer flows")
            }
            Warning::FirstFlights { .. } => {
                Some("if this is not what was meant, give the link a longer queue or TCP a smaller initial window")
            }
            Warning::DeepQueue { .. } => Some(
                "if this is not what was meant, set a limit: --queue drop-tail,limit=100p, or in the experiment limit of the link's queue, or buffer of its cells",
            ),
            Warning::Bufferbloat { .. } | Warning::StandingQueue { .. } => {
                Some("if this is not what was meant, give the link a shorter queue or a higher rate")
            }
            Warning::LongRoundTrips { .. } => {
                Some("if this is not what was meant, give the path shorter delays or timestamps (tcp.timestamps)")
            }
            Warning::DroppedDatagrams { .. } => {
                Some("if this is not what was meant, give the link a higher rate or the datagrams a lower one")
            }
            Warning::LeftOutPayload { .. } => Some("capture without losses"),
            Warning::MissingPayload { .. } => {
                Some("capture without losses, or replay them too with --missing all and compare")
            }
            Warning::UnseenPayload { .. } => Some("capture both directions of the link, without losses"),
            Warning::CapturedTwice { .. } => {
                Some("remove copies from the capture (editcap -w 0.005), and extract it again")
            }
            Warning::ShortWindow { .. } => Some("make measure.window longer"),
            Warning::OtherPayload { from_side: None, .. } => Some(
                "capture without losses, or leave out what is missing with --missing skip; of records of flows, take the capture itself",
            ),
            Warning::OtherPayload { from_side: Some(_), .. } => Some(
                "check workload.load and workload.structure; where few connections carry most of the payload, use a longer capture",
            ),
            Warning::CloseNotSeen { .. } | Warning::FewCompared { .. } => Some("use a longer capture"),
            Warning::LossInOriginal { .. } | Warning::Kernel { .. } | Warning::Other { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_of_seeds_are_alike_by_their_subject() {
        let dropped = |class: &str, share, link: &str| Warning::DroppedDatagrams {
            class: class.to_owned(),
            share,
            link: Some(link.to_owned()),
        };
        assert!(dropped("film", 0.243, "bottleneck").is_alike(&dropped("film", 0.24, "bottleneck")));
        assert!(!dropped("film", 0.243, "bottleneck").is_alike(&dropped("calls", 0.243, "bottleneck")));
        assert!(!dropped("film", 0.243, "bottleneck").is_alike(&dropped("film", 0.243, "uplink")));
        let overload = |from_side| Warning::Overload {
            class: "workload".to_owned(),
            from_side,
            share: 0.78,
            link: None,
            window_segments: 1.5,
        };
        assert!(!overload("left").is_alike(&overload("right")));
    }
}
