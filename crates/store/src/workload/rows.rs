//! The columns of a workload file.

use std::net::IpAddr;

use flowloom_core::time::Duration;
use flowloom_core::workload::{
    AckPolicy, Adu, ConnectionVector, DatagramSizes, Endpoint, ExtraDelay, Host, Label, LostSegment, Pause, Repaired,
    Repeated, SeenDatagram, Segments, Side, Span, SynAnswer, SynRepeat, TransitQuantiles,
};

use crate::table::{Column, Row, column, derived, element, list};

impl Row for ConnectionVector {
    const TABLE: &'static str = "workload";
    const GROUP_ROWS: usize = 8_192;

    fn blank() -> ConnectionVector {
        ConnectionVector::default()
    }

    fn columns() -> Vec<Column<ConnectionVector>> {
        let mut columns = vec![
            column("id", |v: &Self| v.id, |v, x| v.id = x),
            column(
                "label_subset",
                |v: &Self| v.label.map(|label| label.subset),
                |v, x: Option<u64>| v.label = x.map(|subset| Label { subset, ..v.label.unwrap_or_default() }),
            ),
            column(
                "label_id",
                |v: &Self| v.label.map(|label| label.id),
                |v, x: Option<u64>| v.label = x.map(|id| Label { id, ..v.label.unwrap_or_default() }),
            ),
            column("protocol", |v: &Self| v.protocol, |v, x| v.protocol = x),
            column("ip_version", |v: &Self| v.ip_version, |v, x| v.ip_version = x).since(2),
            column("evidence", |v: &Self| v.evidence, |v, x| v.evidence = x),
            column("start_ns", |v: &Self| v.start, |v, x| v.start = x),
            column("initiator_side", |v: &Self| v.initiator_side, |v, x| v.initiator_side = x),
            column("initiator_rule", |v: &Self| v.initiator_rule, |v, x| v.initiator_rule = x),
            column("pattern", |v: &Self| v.pattern, |v, x| v.pattern = x),
            column("complete", |v: &Self| v.complete, |v, x| v.complete = x),
            column("handshake_repeated", |v: &Self| v.handshake_repeated, |v, x| v.handshake_repeated = x),
            column("syn_rtt_ns", |v: &Self| v.syn_rtt, |v, x| v.syn_rtt = x),
            column("stated_rtt_ns", |v: &Self| v.stated_rtt, |v, x| v.stated_rtt = x),
            column("lifetime_ns", |v: &Self| v.lifetime, |v, x| v.lifetime = x),
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
        for side in Side::BOTH {
            columns.extend(habit_columns(side));
            columns.extend(transit_columns(side));
        }
        columns.push(adus());
        columns.extend([
            pauses("initiator_pauses", |v| &v.pauses.initiator, |v| &mut v.pauses.initiator),
            pauses("acceptor_pauses", |v| &v.pauses.acceptor, |v| &mut v.pauses.acceptor),
            datagrams("initiator_datagrams", |v| &v.datagrams.initiator, |v| &mut v.datagrams.initiator),
            datagrams("acceptor_datagrams", |v| &v.datagrams.acceptor, |v| &mut v.datagrams.acceptor),
            syn_repeats(),
            losses("initiator_losses", |v| &v.losses.initiator, |v| &mut v.losses.initiator),
            losses("acceptor_losses", |v| &v.losses.acceptor, |v| &mut v.losses.acceptor),
            read_pauses("initiator_read_pauses", |v| &v.read_pauses.initiator, |v| &mut v.read_pauses.initiator),
            read_pauses("acceptor_read_pauses", |v| &v.read_pauses.acceptor, |v| &mut v.read_pauses.acceptor),
            delays("initiator_delays", |v| &v.delays.initiator, |v| &mut v.delays.initiator),
            delays("acceptor_delays", |v| &v.delays.acceptor, |v| &mut v.delays.acceptor),
        ]);
        columns
    }

    fn weight(&self) -> usize {
        let of_ends = Side::BOTH.map(|side| {
            let pauses = self.pauses[side].len() + self.read_pauses[side].len();
            pauses + self.datagrams[side].len() + self.losses[side].len() + self.delays[side].len()
        });
        1 + self.adus.len() + self.syn_repeats.len() + of_ends.iter().sum::<usize>()
    }
}

/// The columns of one end, named after it.
fn endpoint_columns(side: Side) -> Vec<Column<ConnectionVector>> {
    let mut columns = host_columns(side);
    columns.extend(end_columns(side));
    columns.extend(size_columns(side));
    columns.extend(segment_columns(side));
    columns.push(column(
        &name(side, "stated_loss_ppm"),
        move |v: &ConnectionVector| v.ends[side].stated_loss_ppm,
        move |v, x| v.ends[side].stated_loss_ppm = x,
    ));
    columns
}

/// The name of a column of one end.
fn name(side: Side, column: &str) -> String {
    match side {
        Side::Initiator => format!("initiator_{column}"),
        Side::Acceptor => format!("acceptor_{column}"),
    }
}

/// The columns of an end's host, of which one has a value.
fn host_columns(side: Side) -> Vec<Column<ConnectionVector>> {
    vec![
        column(
            &name(side, "host_number"),
            move |v: &ConnectionVector| match v.ends[side].host {
                Some(Host::Number(number)) => Some(number),
                Some(Host::Address(_)) | None => None,
            },
            move |v, x: Option<u32>| v.ends[side].host = x.map(Host::Number).or(v.ends[side].host),
        ),
        column(
            &name(side, "address"),
            move |v: &ConnectionVector| match v.ends[side].host {
                Some(Host::Address(address)) => Some(address),
                Some(Host::Number(_)) | None => None,
            },
            move |v, x: Option<IpAddr>| v.ends[side].host = x.map(Host::Address).or(v.ends[side].host),
        ),
    ]
}

/// The columns of what is known of every end.
fn end_columns(side: Side) -> Vec<Column<ConnectionVector>> {
    macro_rules! end {
        ($name:literal, $($field:tt)+) => {
            column(
                &name(side, $name),
                move |v: &ConnectionVector| v.ends[side].$($field)+,
                move |v, x| v.ends[side].$($field)+ = x,
            )
        };
    }
    // A field added to it must become a column: this stops compiling until it does.
    let Endpoint {
        host: _,
        port: _,
        syn_seen: _,
        mss: _,
        max_window: _,
        max_window_unscaled: _,
        window_scale: _,
        sack: _,
        timestamps: _,
        ecn: _,
        min_transit: _,
        lead_in: _,
        fin_wait: _,
        rst_seen: _,
        packets: _,
        ip_bytes: _,
        bare_acks: _,
        oversized: _,
        datagram_sizes: _,
        segments: _,
        stated_loss_ppm: _,
        first_flight: _,
        rate: _,
        nagle: _,
        acks: _,
        transits: _,
    } = Endpoint::default();
    vec![
        end!("port", port),
        end!("syn_seen", syn_seen),
        end!("mss_bytes", mss),
        end!("max_window_bytes", max_window),
        end!("max_window_unscaled_bytes", max_window_unscaled),
        end!("window_scale", window_scale),
        end!("sack", sack).since(2),
        end!("timestamps", timestamps).since(2),
        end!("ecn", ecn).since(2),
        end!("min_transit_ns", min_transit),
        end!("lead_in_ns", lead_in),
        end!("fin_wait_ns", fin_wait),
        end!("rst_seen", rst_seen),
        end!("packets", packets),
        end!("ip_bytes", ip_bytes),
        end!("bare_acks", bare_acks).since(2),
        end!("oversized_segments", oversized).since(2),
    ]
}

/// The columns of an end's datagrams.
fn size_columns(side: Side) -> Vec<Column<ConnectionVector>> {
    macro_rules! sizes {
        ($name:literal, $field:ident) => {
            column(
                &name(side, $name),
                move |v: &ConnectionVector| v.ends[side].datagram_sizes.map(|sizes| sizes.$field),
                move |v, x: Option<u32>| {
                    if let Some(x) = x {
                        v.ends[side].datagram_sizes.get_or_insert_default().$field = x;
                    }
                },
            )
        };
    }
    // A field added to it must become a column: this stops compiling until it does.
    let DatagramSizes { smallest: _, largest: _ } = DatagramSizes::default();
    vec![sizes!("smallest_datagram_bytes", smallest), sizes!("largest_datagram_bytes", largest)]
}

/// The columns of an end's segments, which are counted in captures.
fn segment_columns(side: Side) -> Vec<Column<ConnectionVector>> {
    macro_rules! segments {
        ($name:literal, $($field:tt)+) => {
            column(
                &name(side, $name),
                move |v: &ConnectionVector| v.ends[side].segments.map(|segments| segments.$($field)+),
                move |v, x: Option<u64>| {
                    if let Some(x) = x {
                        v.ends[side].segments.get_or_insert_default().$($field)+ = x;
                    }
                },
            )
        };
    }
    // A field added to it must become a column: this stops compiling until it does.
    let Segments {
        data: _,
        duplicates: _,
        late: _,
        lost_before: _,
        uncaptured: _,
        repeated: Repeated { timeout: _, fast: _, other: _, spurious: _, copies: _, unknown: _ },
        repaired: Repaired { timeout: _, fast: _, other: _ },
        keep_alives: _,
        window_probes: _,
        missing_bytes: _,
        missing_acked_bytes: _,
        unacked_bytes: _,
    } = Segments::default();
    vec![
        segments!("data_segments", data),
        segments!("duplicate_segments", duplicates),
        segments!("late_segments", late),
        segments!("lost_before_segments", lost_before),
        segments!("uncaptured_segments", uncaptured),
        segments!("duplicate_timeout_segments", repeated.timeout),
        segments!("duplicate_fast_segments", repeated.fast),
        segments!("duplicate_other_segments", repeated.other),
        segments!("duplicate_spurious_segments", repeated.spurious),
        segments!("duplicate_copy_segments", repeated.copies),
        segments!("duplicate_unknown_segments", repeated.unknown),
        segments!("lost_before_timeout_segments", repaired.timeout),
        segments!("lost_before_fast_segments", repaired.fast),
        segments!("lost_before_other_segments", repaired.other),
        segments!("keep_alive_segments", keep_alives),
        segments!("window_probe_segments", window_probes),
        segments!("missing_bytes", missing_bytes),
        segments!("missing_acked_bytes", missing_acked_bytes),
        segments!("unacked_bytes", unacked_bytes),
    ]
}

/// The columns of what an end's TCP was seen to do.
fn habit_columns(side: Side) -> [Column<ConnectionVector>; 8] {
    macro_rules! acks {
        ($name:literal, $field:ident) => {
            column(
                &name(side, $name),
                move |v: &ConnectionVector| v.ends[side].acks.map(|acks| acks.$field),
                move |v, x: Option<u32>| {
                    if let Some(x) = x {
                        v.ends[side].acks.get_or_insert_default().$field = x;
                    }
                },
            )
            .since(2)
        };
    }
    // A field added to it must become a column: this stops compiling until it does.
    let AckPolicy { quick: _, prompt: _, prompt_segments: _, carried: _, delay: _ } = AckPolicy::default();
    let first_flight = column(
        &name(side, "first_flight_bytes"),
        move |v: &ConnectionVector| v.ends[side].first_flight,
        move |v, x| v.ends[side].first_flight = x,
    );
    let rate =
        column(&name(side, "rate"), move |v: &ConnectionVector| v.ends[side].rate, move |v, x| v.ends[side].rate = x);
    let nagle = column(
        &name(side, "nagle"),
        move |v: &ConnectionVector| v.ends[side].nagle,
        move |v, x| v.ends[side].nagle = x,
    );
    let delay = column(
        &name(side, "ack_delay_ns"),
        move |v: &ConnectionVector| v.ends[side].acks.and_then(|acks| acks.delay),
        move |v, x: Option<Duration>| {
            if x.is_some() {
                v.ends[side].acks.get_or_insert_default().delay = x;
            }
        },
    );
    [
        first_flight.since(2),
        rate.since(2),
        nagle.since(2).optional(),
        acks!("quick_acks", quick),
        acks!("prompt_acks", prompt),
        acks!("prompt_ack_segments", prompt_segments),
        acks!("carried_acks", carried),
        delay.since(2),
    ]
}

/// The columns of the distribution of an end's transit times.
fn transit_columns(side: Side) -> [Column<ConnectionVector>; 3] {
    macro_rules! transit {
        ($name:literal, $field:ident) => {
            column(
                &name(side, $name),
                move |v: &ConnectionVector| v.ends[side].transits.map(|transits| transits.$field),
                move |v, x: Option<Duration>| {
                    if let Some(x) = x {
                        v.ends[side].transits.get_or_insert_default().$field = x;
                    }
                },
            )
            .since(2)
        };
    }
    // A field added to it must become a column: this stops compiling until it does.
    let TransitQuantiles { q10: _, q50: _, q90: _ } = TransitQuantiles::default();
    [transit!("transit_q10_ns", q10), transit!("transit_q50_ns", q50), transit!("transit_q90_ns", q90)]
}

/// The list of ADUs.
fn adus() -> Column<ConnectionVector> {
    let blank = Adu {
        side: Side::Initiator,
        bytes: 0,
        missing_bytes: 0,
        wait: None,
        waiter: Side::Initiator,
        seen: None,
        packets: None,
    };
    list(
        "adus",
        blank,
        |v: &ConnectionVector| &v.adus,
        |v| &mut v.adus,
        vec![
            element("side", |adu: &Adu| adu.side, |adu, x| adu.side = x),
            element("bytes", |adu: &Adu| adu.bytes, |adu, x| adu.bytes = x),
            element("missing_bytes", |adu: &Adu| adu.missing_bytes, |adu, x| adu.missing_bytes = x),
            element("wait_ns", |adu: &Adu| adu.wait, |adu, x| adu.wait = x),
            element("waiter", |adu: &Adu| adu.waiter, |adu, x| adu.waiter = x),
            element(
                "first_seen_ns",
                |adu: &Adu| adu.seen.map(|seen| seen.first),
                |adu, x: Option<Duration>| adu.seen = x.map(|first| Span { first, ..adu.seen.unwrap_or_default() }),
            ),
            element(
                "last_seen_ns",
                |adu: &Adu| adu.seen.map(|seen| seen.last),
                |adu, x: Option<Duration>| adu.seen = x.map(|last| Span { last, ..adu.seen.unwrap_or_default() }),
            ),
            element("packets", |adu: &Adu| adu.packets, |adu, x| adu.packets = x),
        ],
    )
}

/// The pauses of one end while it writes.
fn pauses(
    name: &str,
    get: fn(&ConnectionVector) -> &Vec<Pause>,
    get_mut: fn(&mut ConnectionVector) -> &mut Vec<Pause>,
) -> Column<ConnectionVector> {
    let members = vec![
        element("after_bytes", |pause: &Pause| pause.after_bytes, |pause, x| pause.after_bytes = x),
        element("length_ns", |pause: &Pause| pause.length, |pause, x| pause.length = x),
        element("heard_bytes", |pause: &Pause| pause.heard, |pause, x| pause.heard = x),
    ];
    list(name, Pause::default(), get, get_mut, members).since(2)
}

/// The pauses of one end while it reads: it waits for nothing that the other end sends.
fn read_pauses(
    name: &str,
    get: fn(&ConnectionVector) -> &Vec<Pause>,
    get_mut: fn(&mut ConnectionVector) -> &mut Vec<Pause>,
) -> Column<ConnectionVector> {
    let members = vec![
        element("after_bytes", |pause: &Pause| pause.after_bytes, |pause, x| pause.after_bytes = x),
        element("length_ns", |pause: &Pause| pause.length, |pause, x| pause.length = x),
    ];
    list(name, Pause::default(), get, get_mut, members).since(2)
}

/// The datagrams of one end in its ADUs of several.
fn datagrams(
    name: &str,
    get: fn(&ConnectionVector) -> &Vec<SeenDatagram>,
    get_mut: fn(&mut ConnectionVector) -> &mut Vec<SeenDatagram>,
) -> Column<ConnectionVector> {
    let members = vec![
        element("bytes", |datagram: &SeenDatagram| datagram.bytes, |datagram, x| datagram.bytes = x),
        element("gap_ns", |datagram: &SeenDatagram| datagram.gap, |datagram, x| datagram.gap = x),
    ];
    list(name, SeenDatagram::default(), get, get_mut, members).since(2)
}

/// The SYNs and SYN/ACKs that were sent again.
fn syn_repeats() -> Column<ConnectionVector> {
    let blank = SynRepeat { side: Side::Initiator, wait: Duration::ZERO, answer: SynAnswer::None };
    let members = vec![
        element("side", |repeat: &SynRepeat| repeat.side, |repeat, x| repeat.side = x),
        element("wait_ns", |repeat: &SynRepeat| repeat.wait, |repeat, x| repeat.wait = x),
        element("answer", |repeat: &SynRepeat| repeat.answer, |repeat, x| repeat.answer = x),
    ];
    list("syn_repeats", blank, |v: &ConnectionVector| &v.syn_repeats, |v| &mut v.syn_repeats, members).since(2)
}

/// The segments of one end that were lost.
fn losses(
    name: &str,
    get: fn(&ConnectionVector) -> &Vec<LostSegment>,
    get_mut: fn(&mut ConnectionVector) -> &mut Vec<LostSegment>,
) -> Column<ConnectionVector> {
    let members = vec![
        element("after_bytes", |lost: &LostSegment| lost.after_bytes, |lost, x| lost.after_bytes = x),
        element("bytes", |lost: &LostSegment| lost.bytes, |lost, x| lost.bytes = x),
        element("copy", |lost: &LostSegment| lost.copy, |lost, x| lost.copy = x),
        element("before_monitor", |lost: &LostSegment| lost.before_monitor, |lost, x| lost.before_monitor = x),
        element("repaired_ns", |lost: &LostSegment| lost.repaired, |lost, x| lost.repaired = x),
    ];
    list(name, LostSegment::default(), get, get_mut, members).since(2)
}

/// The delays of one end's data before the monitor.
fn delays(
    name: &str,
    get: fn(&ConnectionVector) -> &Vec<ExtraDelay>,
    get_mut: fn(&mut ConnectionVector) -> &mut Vec<ExtraDelay>,
) -> Column<ConnectionVector> {
    let members = vec![
        element("from_bytes", |delay: &ExtraDelay| delay.from_bytes, |delay, x| delay.from_bytes = x),
        element("delay_ns", |delay: &ExtraDelay| delay.delay, |delay, x| delay.delay = x),
    ];
    list(name, ExtraDelay::default(), get, get_mut, members).since(2)
}
