//! Flows of sources that never sent: a run of 300 flows of which 240 never opened is no run of 300 flows.

use flowloom_core::record::{Outcome, SourceRecord};
use flowloom_core::time::Time;
use flowloom_core::workload::Protocol;

use crate::words::{counted, thousands};

/// TCP flows of sources that had time to send, and those of them that never sent a byte, by why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Silent {
    /// Flows that had time to send.
    pub flows: u64,
    /// Not open yet when the run ended.
    pub opening: u64,
    /// Refused, reset, or out of attempts to open.
    pub reset: u64,
    /// Open only when their time to send was over.
    pub late: u64,
}

impl Silent {
    /// Takes a flow of a source in a run whose results end at `end`. One that starts within a round trip of that has no time to send,
    /// whatever the network does.
    pub(crate) fn source(&mut self, row: &SourceRecord, end: Time) {
        if row.protocol != Protocol::Tcp || row.start + row.rtt >= end {
            return;
        }
        self.flows += 1;
        let count = match row.outcome {
            _ if row.sent_bytes > 0 => return,
            Outcome::Unfinished => &mut self.opening,
            Outcome::Reset | Outcome::GaveUp => &mut self.reset,
            Outcome::Completed => &mut self.late,
        };
        *count += 1;
    }

    /// All that never sent.
    pub fn total(&self) -> u64 {
        self.opening + self.reset + self.late
    }

    /// Their share of the flows that had time to send.
    pub fn share(&self) -> f64 {
        self.total() as f64 / self.flows.max(1) as f64
    }

    /// How many, and why.
    pub fn text(&self) -> String {
        if self.total() == 0 {
            return "all sent".to_owned();
        }
        let reasons = [
            (self.opening, "not open yet when the run ended"),
            (self.reset, "refused, reset or out of attempts to open"),
            (self.late, "open only when their time to send was over"),
        ];
        let reasons = reasons.into_iter().filter(|(count, _)| *count > 0);
        let reasons: Vec<String> = reasons.map(|(count, why)| format!("{} {why}", thousands(count))).collect();
        let of = counted(self.flows, "TCP flow");
        format!("{} of {of} never sent a byte: {}", thousands(self.total()), reasons.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowloom_core::time::Duration;
    use flowloom_core::workload::LinkSide;

    fn flow(start_ms: u64, outcome: Outcome, sent_bytes: u64) -> SourceRecord {
        SourceRecord {
            id: 0,
            class: 1,
            protocol: Protocol::Tcp,
            from: LinkSide::Left,
            start: Time::ZERO + Duration::from_millis(start_ms),
            last: None,
            outcome,
            rtt: Duration::from_millis(40),
            sent_bytes,
            received_bytes: 0,
            sent_packets: None,
            received_packets: None,
            late_packets: None,
            repeated_packets: None,
            delays: None,
            retransmissions: Some(0),
            timeouts: Some(0),
        }
    }

    fn counted_of(flows: &[SourceRecord]) -> Silent {
        let mut silent = Silent::default();
        flows.iter().for_each(|flow| silent.source(flow, Time::ZERO + Duration::from_secs(1)));
        silent
    }

    #[test]
    fn silent_flows_are_named_by_reason() {
        let flows = [
            flow(0, Outcome::Unfinished, 1),
            flow(0, Outcome::Unfinished, 0),
            flow(0, Outcome::Unfinished, 0),
            flow(0, Outcome::Reset, 0),
            flow(0, Outcome::Completed, 0),
        ];
        let silent = counted_of(&flows);
        assert_eq!((silent.total(), silent.share()), (4, 0.8));
        assert_eq!(
            silent.text(),
            "4 of 5 TCP flows never sent a byte: 2 not open yet when the run ended, 1 refused, reset or out of attempts to open, \
             1 open only when their time to send was over"
        );
        assert_eq!(counted_of(&flows[..1]).text(), "all sent");
    }

    #[test]
    fn flows_without_time_to_send_do_not_count() {
        assert_eq!(counted_of(&[flow(959, Outcome::Unfinished, 0)]).total(), 1);
        assert_eq!(counted_of(&[flow(960, Outcome::Unfinished, 0)]).flows, 0, "its handshake ends with the run");
        let datagrams = SourceRecord { protocol: Protocol::Udp, ..flow(0, Outcome::Completed, 0) };
        assert_eq!(counted_of(&[datagrams]).flows, 0);
    }
}
