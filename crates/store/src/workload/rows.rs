//! The columns of a workload file.

use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{
    Adu, Close, ConnectionVector, Endpoint, InitiatorRule, LinkSide, Pattern, PerSide, Side,
};

use crate::table::{Column, Row, column, derived, element, list};

impl Row for ConnectionVector {
    const TABLE: &'static str = "workload";

    fn blank() -> ConnectionVector {
        ConnectionVector {
            id: 0,
            start: Time::ZERO,
            initiator_side: LinkSide::Left,
            initiator_rule: InitiatorRule::Syn,
            pattern: Pattern::Sequential,
            complete: false,
            handshake_repeated: false,
            syn_rtt: None,
            ends: PerSide::default(),
            close: Close::NotSeen,
            t_close: None,
            adus: Vec::new(),
        }
    }

    fn columns() -> Vec<Column<ConnectionVector>> {
        let mut columns = vec![
            column("id", |v: &Self| v.id, |v, x| v.id = x),
            column("start_ns", |v: &Self| v.start, |v, x| v.start = x),
            column("initiator_side", |v: &Self| v.initiator_side, |v, x| v.initiator_side = x),
            column("initiator_rule", |v: &Self| v.initiator_rule, |v, x| v.initiator_rule = x),
            column("pattern", |v: &Self| v.pattern, |v, x| v.pattern = x),
            column("complete", |v: &Self| v.complete, |v, x| v.complete = x),
            column("handshake_repeated", |v: &Self| v.handshake_repeated, |v, x| v.handshake_repeated = x),
            column("syn_rtt_ns", |v: &Self| v.syn_rtt, |v, x| v.syn_rtt = x),
            column("close", |v: &Self| v.close, |v, x| v.close = x),
            column("t_close_ns", |v: &Self| v.t_close, |v, x| v.t_close = x),
            derived("initiator_bytes", |v: &Self| v.bytes(Side::Initiator)),
            derived("acceptor_bytes", |v: &Self| v.bytes(Side::Acceptor)),
            derived("min_rtt_ns", ConnectionVector::min_rtt),
            derived("duration_ns", ConnectionVector::duration),
        ];
        for side in Side::BOTH {
            columns.extend(endpoint_columns(side));
        }
        columns.push(adus());
        columns
    }

    fn weight(&self) -> usize {
        1 + self.adus.len()
    }
}

/// The columns of one end, named after it.
fn endpoint_columns(side: Side) -> Vec<Column<ConnectionVector>> {
    let prefix = match side {
        Side::Initiator => "initiator",
        Side::Acceptor => "acceptor",
    };
    macro_rules! end {
        ($name:literal, $($field:tt)+) => {
            column(
                &format!("{prefix}_{}", $name),
                move |v: &ConnectionVector| v.ends[side].$($field)+,
                move |v, x| v.ends[side].$($field)+ = x,
            )
        };
    }
    // A field added to `Endpoint` must become a column: this stops compiling until it does.
    let Endpoint {
        syn_seen: _,
        mss: _,
        max_window: _,
        window_scale: _,
        min_transit: _,
        lead_in: _,
        packets: _,
        data_segments: _,
        duplicates: _,
        late: _,
        lost_before: _,
        missing_bytes: _,
    } = Endpoint::default();
    vec![
        end!("syn_seen", syn_seen),
        end!("mss_bytes", mss),
        end!("max_window_bytes", max_window),
        end!("window_scale", window_scale),
        end!("min_transit_ns", min_transit),
        end!("lead_in_ns", lead_in),
        end!("packets", packets),
        end!("data_segments", data_segments),
        end!("duplicate_segments", duplicates),
        end!("late_segments", late),
        end!("lost_before_segments", lost_before),
        end!("missing_bytes", missing_bytes),
    ]
}

/// The list of ADUs.
fn adus() -> Column<ConnectionVector> {
    let blank = Adu {
        side: Side::Initiator,
        bytes: 0,
        wait: None,
        waiter: Side::Initiator,
        first_seen: Duration::ZERO,
        last_seen: Duration::ZERO,
    };
    list(
        "adus",
        blank,
        |v: &ConnectionVector| &v.adus,
        |v| &mut v.adus,
        vec![
            element("side", |adu: &Adu| adu.side, |adu, x| adu.side = x),
            element("bytes", |adu: &Adu| adu.bytes, |adu, x| adu.bytes = x),
            element("wait_ns", |adu: &Adu| adu.wait, |adu, x| adu.wait = x),
            element("waiter", |adu: &Adu| adu.waiter, |adu, x| adu.waiter = x),
            element("first_seen_ns", |adu: &Adu| adu.first_seen, |adu, x| adu.first_seen = x),
            element("last_seen_ns", |adu: &Adu| adu.last_seen, |adu, x| adu.last_seen = x),
        ],
    )
}
