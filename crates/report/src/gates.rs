//! What is checked of a run's accounts, and what the user should know about it.

use serde::Serialize;

use flowloom_core::time::Time;
use flowloom_core::units::three_digits;
use flowloom_core::workload::Payload;
use flowloom_store::run_folder::Point;

use crate::compare::Comparison;
use crate::connections::Connections;
use crate::facts::{ClassFacts, DrawnBytes, DrawnPayload, Facts, Late, LiveFacts};
use crate::metric::{Metric, Unit};
use crate::plausibility::{LEAST_PACKETS, MOST_DROPPED, Plausibility};
use crate::run::Run;
use crate::silent::Silent;
use crate::verdict::{Accounted, Word};
use crate::warning::{GAVE_UP, Warning};
use crate::words::{counted, thousands};

/// One thing that was checked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gate {
    /// What.
    pub name: &'static str,
    /// What it allows of the verdict.
    pub verdict: Accounted,
    /// What was found.
    pub found: String,
    /// What would pass.
    pub wanted: &'static str,
}

/// More than this share of unfinished connections leaves out so many of the longest that the tail is biased.
const UNFINISHED_SHARE: f64 = 0.01;

/// What was checked of `run`.
pub fn gates(run: &Run) -> Vec<Gate> {
    let measured = &run.measurements;
    let outcomes = measured.outcomes;
    let started = outcomes.started();
    let ended = outcomes.completed + outcomes.reset + outcomes.gave_up;
    let missing = measured.payload_bytes.saturating_sub(measured.delivered_bytes);
    let sum = |count: fn(&ClassFacts) -> u64| run.facts.sources().map(count).sum::<u64>();
    let (sources, received) = (sum(|source| source.started), measured.source_bytes());
    // A live run without a workload is there for programs of the user's.
    let guests = if run.facts.live.is_some() { measured.carried_packets.iter().sum::<u64>() } else { 0 };
    let probes = measured.probes.answered();
    let is_void = nothing_arrived(run) && received + guests + probes == 0;
    // Of sources all that arrived is counted, the drain's included.
    let is_outside = started == 0 && measured.carried_packets != [0, 0] && !measured.carried_in_window;
    [
        Gate {
            name: "something happened",
            verdict: if !is_void
                && !is_outside
                && (ended > 0 || measured.delivered_bytes > 0 || (started == 0 && received + guests + probes > 0))
            {
                Accounted::Valid
            } else {
                Accounted::Invalid
            },
            found: match (started, sources) {
                _ if is_void => format!("no byte of {} arrived", counted(started, "connection")),
                _ if is_outside => "no packet passed the link in the window".to_owned(),
                (0, 0) if probes > 0 => format!("{} answered", counted(probes, "probe")),
                (0, 0) if guests > 0 => format!("{} of other programs", counted(guests, "packet")),
                (0, 1..) => {
                    format!("{} of sources delivered {}", counted(sources, "flow"), Unit::Bytes.show(received as f64))
                }
                _ => format!("{} of {} connections ended", thousands(ended), thousands(started)),
            },
            wanted: "at least one, or a byte delivered",
        },
        packets_gate(run),
        Gate {
            name: "payload delivered",
            verdict: if missing == 0 || outcomes.completed < started { Accounted::Valid } else { Accounted::Invalid },
            found: if started == 0 {
                "there were no connections".to_owned()
            } else if missing == 0 {
                "every byte arrived".to_owned()
            } else {
                format!(
                    "{missing} bytes did not arrive; {} connections were reset, given up, unfinished or cut",
                    started - outcomes.completed
                )
            },
            wanted: "every byte of every completed connection",
        },
        connections_gate(run.connections()),
        Gate {
            name: "ran to its end",
            verdict: match (run.facts.disk_full, run.facts.interrupted) {
                (true, _) => Accounted::Invalid,
                (false, true) => Accounted::Degraded,
                (false, false) => Accounted::Valid,
            },
            found: match (run.facts.disk_full, run.facts.interrupted) {
                (true, _) => "cut short: the disk is full",
                (false, true) => "interrupted",
                (false, false) => "yes",
            }
            .to_owned(),
            wanted: "neither interrupted nor cut by a full disk",
        },
    ]
    .into_iter()
    .chain(original_gate(&run.facts))
    .chain(sources_gate(&measured.silent))
    .chain(transfers_gate(&run.facts))
    .chain(endless_gate(&run.facts))
    .chain(run.facts.live.iter().flat_map(live_gates))
    .collect()
}

/// Whether every packet that reached the queues of the link is known to have passed it, to be dropped, or to be there still.
fn packets_gate(run: &Run) -> Gate {
    let missing = run.measurements.unaccounted_packets();
    let is_accounted = match run.facts.remaining_packets {
        Some(remaining) => i64::try_from(remaining) == Ok(missing),
        None => missing == 0 || (missing > 0 && may_wait(run, missing)),
    };
    Gate {
        name: "packets accounted for",
        verdict: if is_accounted { Accounted::Valid } else { Accounted::Invalid },
        found: match (is_accounted, missing) {
            (true, 0) => "sent = delivered + dropped".to_owned(),
            (true, _) => format!("{missing} packets were in the queue when the run ended"),
            (false, _) => {
                let remaining = run.facts.remaining_packets.map(|packets| format!(", {packets} queued at the end"));
                format!("sent - delivered - dropped = {missing} packets{}", remaining.unwrap_or_default())
            }
        },
        wanted: "sent = delivered + dropped + queued",
    }
}

/// Whether so many packets may have been in the queue when a run ended that did not count them: something was cut, or they may be the
/// last datagrams of flows, for which nobody waits.
fn may_wait(run: &Run, missing: i64) -> bool {
    let sum = |count: fn(&ClassFacts) -> u64| run.facts.sources().map(count).sum::<u64>();
    let is_cut = run.measurements.outcomes.unfinished + sum(|source| source.unfinished) > 0 || run.facts.interrupted;
    let gone = sum(|source| source.received_datagrams) + run.measurements.dropped_datagrams;
    let datagrams = sum(|source| source.sent_datagrams).saturating_sub(gone);
    is_cut || i64::try_from(datagrams).is_ok_and(|datagrams| missing <= datagrams)
}

/// Whether connections came to their ends. One that TCP gave up did not.
fn connections_gate(connections: Connections) -> Gate {
    let Connections { started, gave_up, unfinished, cut, .. } = connections;
    let share = |count: u64| count as f64 / started.max(1) as f64;
    let [lost, waiting, cut] = [
        (gave_up, format!("{gave_up} given up by TCP ({} %): {GAVE_UP}", three_digits(share(gave_up) * 100.0))),
        (unfinished, format!("{unfinished} unfinished ({} %)", three_digits(share(unfinished) * 100.0))),
        (cut, format!("{cut} cut by the end of the experiment")),
    ]
    .map(|(count, text)| (count > 0).then_some(text));
    let waiting = waiting.or_else(|| lost.is_none().then(|| "none unfinished".to_owned()));
    Gate {
        name: "connections finished",
        verdict: if share(unfinished + gave_up) <= UNFINISHED_SHARE { Accounted::Valid } else { Accounted::Degraded },
        found: [waiting, lost, cut].into_iter().flatten().collect::<Vec<_>>().join(", "),
        wanted: "at most 1 % unfinished or given up",
    }
}

/// Whether connections had payload of which not one byte arrived.
fn nothing_arrived(run: &Run) -> bool {
    let measured = &run.measurements;
    measured.outcomes.started() > 0 && measured.payload_bytes > 0 && measured.delivered_bytes == 0
}

/// Whether the workload holds all of its original.
fn original_gate(facts: &Facts) -> Option<Gate> {
    let original = facts.original.as_ref().filter(|original| original.extraction_interrupted)?;
    Some(Gate {
        name: "original read to its end",
        verdict: Accounted::Degraded,
        found: format!("its extraction was interrupted after {}", counted(original.packets, "packet")),
        wanted: "all of the capture",
    })
}

/// Whether the flows of sources sent; `None` without TCP flows that had time to.
fn sources_gate(silent: &Silent) -> Option<Gate> {
    (silent.flows > 0).then(|| Gate {
        name: "sources sent",
        verdict: if silent.share() <= UNFINISHED_SHARE { Accounted::Valid } else { Accounted::Degraded },
        found: silent.text(),
        wanted: "at most 1 % of the TCP flows that never send",
    })
}

/// Whether the flows of sources that have a number of bytes to send came to their ends; `None` without such flows. No program resets them.
fn transfers_gate(facts: &Facts) -> Option<Gate> {
    let sum =
        |count: fn(&ClassFacts) -> u64| -> u64 { facts.sources().filter(|source| source.is_transfer).map(count).sum() };
    let (started, gave_up) = (sum(|source| source.started), sum(|source| source.gave_up));
    let [unfinished, reset] = [sum(|source| source.unfinished), sum(|source| source.reset)];
    let failed = unfinished + reset + gave_up;
    let causes = [
        (unfinished, "not over when the run ended".to_owned()),
        (gave_up, format!("given up by TCP: {GAVE_UP}")),
        (reset, "reset".to_owned()),
    ];
    let causes = causes.into_iter().filter(|(count, _)| *count > 0);
    let causes: Vec<String> = causes.map(|(count, why)| format!("{} {why}", thousands(count))).collect();
    (started > 0).then(|| Gate {
        name: "transfers finished",
        verdict: if failed as f64 / started as f64 <= UNFINISHED_SHARE {
            Accounted::Valid
        } else {
            Accounted::Degraded
        },
        found: match failed {
            0 => "none unfinished".to_owned(),
            n => {
                let of = counted(started, "transfer");
                format!("{} of {of} of sources unfinished: {}", thousands(n), causes.join(", "))
            }
        },
        wanted: "at most 1 % unfinished",
    })
}

/// Whether TCP gave up flows of sources without a number of bytes to send; `None` if it gave up none.
fn endless_gate(facts: &Facts) -> Option<Gate> {
    let endless = || facts.sources().filter(|source| !source.is_transfer);
    let gave_up: u64 = endless().map(|source| source.gave_up).sum();
    let started: u64 = endless().map(|source| source.started).sum();
    (gave_up > 0).then(|| Gate {
        name: "flows kept up",
        verdict: if gave_up as f64 / started.max(1) as f64 <= UNFINISHED_SHARE {
            Accounted::Valid
        } else {
            Accounted::Degraded
        },
        found: format!("{} of {} of sources given up by TCP: {GAVE_UP}", thousands(gave_up), counted(started, "flow")),
        wanted: "at most 1 % given up by TCP",
    })
}

/// Nanoseconds. A live run in which something was later than the first had a stall, which few packets show, since closed loops wait
/// for it: it is not VALID; later than the second, INVALID.
const STALL: [u64; 2] = [100_000_000, 500_000_000];

/// Whether the host kept up with a live run.
fn live_gates(live: &LiveFacts) -> Vec<Gate> {
    let none = |name, count: u64, what: &str, wanted| Gate {
        name,
        verdict: if count == 0 { Accounted::Valid } else { Accounted::Invalid },
        found: if count == 0 { "none".to_owned() } else { counted(count, what) },
        wanted,
    };
    let missed = live.scheduled_connections - live.started_connections.min(live.scheduled_connections);
    vec![
        releases_gate(&live.releases),
        late(
            "connections started in time",
            &live.starts,
            "99 % within 1 ms, all within 0.1 s; with reservation 10 ms, 0.5 s",
            [1_000_000, 10_000_000],
        ),
        late(
            "waits kept",
            &live.waits,
            "99 % within 1 ms, all within 0.1 s; with reservation 10 ms, 0.5 s",
            [1_000_000, 10_000_000],
        ),
        Gate {
            name: "starts achieved",
            verdict: match missed as f64 / live.scheduled_connections.max(1) as f64 {
                0.0 => Accounted::Valid,
                share if share <= UNFINISHED_SHARE => Accounted::Degraded,
                _ => Accounted::Invalid,
            },
            found: format!(
                "{} of {}",
                thousands(live.started_connections),
                counted(live.scheduled_connections, "connection")
            ),
            wanted: "all that were scheduled; with reservation 99 %",
        },
        none("no drop outside the model", live.device_dropped_packets, "packet", "no packet dropped by devices"),
        none(
            "listeners kept up",
            live.listen_dropped_connections,
            "connection",
            "no connection refused for lack of room",
        ),
        problems_gate(&live.problems),
    ]
}

fn late(name: &'static str, late: &Late, wanted: &'static str, [valid, degraded]: [u64; 2]) -> Gate {
    Gate {
        name,
        verdict: match (late.p99, late.max) {
            (p99, max) if p99 <= valid && max <= STALL[0] => Accounted::Valid,
            (p99, max) if p99 <= degraded && max <= STALL[1] => Accounted::Degraded,
            _ => Accounted::Invalid,
        },
        found: format!(
            "median {}, 99 % within {}, longest {}",
            Unit::Time.show(late.p50 as f64),
            Unit::Time.show(late.p99 as f64),
            Unit::Time.show(late.max as f64)
        ),
        wanted,
    }
}

fn releases_gate(releases: &Late) -> Gate {
    late(
        "packets handed on in time",
        releases,
        "99 % within 0.5 ms, all within 0.1 s; with reservation 2 ms, 0.5 s",
        [500_000, 2_000_000],
    )
}

fn problems_gate(problems: &[String]) -> Gate {
    Gate {
        name: "nothing broke",
        verdict: if problems.is_empty() { Accounted::Valid } else { Accounted::Invalid },
        found: if problems.is_empty() { "nothing".to_owned() } else { problems.join("; ") },
        wanted: "no worker lost, no device gone",
    }
}

/// What is known of the verdict of a run that goes on, by the gates that need not wait for its end: connections that TCP gave up, and of a
/// live run how late packets were handed on, and what broke. All of these can still change.
pub fn so_far(connections: Connections, live: Option<(&Late, &[String])>) -> Word<Accounted> {
    let live = live.map(|(releases, problems)| [releases_gate(releases), problems_gate(problems)]);
    let gates: Vec<Gate> = [connections_gate(connections)].into_iter().chain(live.into_iter().flatten()).collect();
    Word::accounted(&gates)
}

/// Shares from which a loss or an unseen close is worth a warning.
const NOTABLE_SHARE: f64 = 0.05;

/// What the user should know about `run`.
pub fn warnings(run: &Run, gates: &[Gate], with_original: Option<&Comparison>) -> Vec<Warning> {
    let measured = &run.measurements;
    let outcomes = measured.outcomes;
    let started = outcomes.started();
    let share = |count: u64| count as f64 / started.max(1) as f64;
    let mut warnings = Vec::new();
    if gates.iter().any(|gate| gate.name == "something happened" && gate.verdict == Accounted::Invalid) {
        let flows = run.facts.sources().map(|source| source.started).sum::<u64>();
        let nothing = if (started == 0 && flows > 0) || nothing_arrived(run) {
            Warning::NothingDelivered { flows: started + flows }
        } else {
            Warning::NothingEnded { started }
        };
        warnings.push(nothing);
    }
    if gates.iter().any(|gate| gate.name == "packets accounted for" && gate.verdict == Accounted::Invalid) {
        let remaining = run.facts.remaining_packets.map_or(0, |packets| packets as i64);
        warnings.push(Warning::Unaccounted { packets: measured.unaccounted_packets() - remaining });
    }
    let unfinished = run.connections().unfinished;
    if share(unfinished) > UNFINISHED_SHARE {
        warnings.push(Warning::Unfinished { connections: unfinished, share: share(unfinished) });
    }
    let gave_up = run.connections().gave_up;
    if share(gave_up) > UNFINISHED_SHARE {
        warnings.push(Warning::GaveUp { connections: gave_up, share: share(gave_up) });
    }
    if run.facts.interrupted {
        let [start_ns, end_ns] = [measured.window.0, measured.window.1].map(Time::as_nanos);
        warnings.push(Warning::Interrupted { start_ns, end_ns });
    }
    if measured.has_original && !run.facts.replays_losses && share(measured.lost_in_original) > NOTABLE_SHARE {
        let connections = measured.lost_in_original;
        warnings.push(Warning::LossInOriginal { connections, share: share(connections) });
    }
    let unseen = measured.endings.only_original + measured.endings.only_replay + measured.endings.neither;
    if measured.has_original && share(unseen) > NOTABLE_SHARE {
        warnings.push(Warning::CloseNotSeen { connections: unseen, share: share(unseen) });
    }
    if let Some(thirds) = uneven_thirds(run) {
        warnings.push(Warning::NotStationary { thirds });
    }
    warnings.extend(run.facts.plausibility.iter().flat_map(Plausibility::warnings));
    warnings.extend(run.facts.classes.iter().filter_map(dropped_datagrams));
    warnings.extend(run.facts.classes.iter().filter_map(waiting_datagrams));
    warnings.extend(deep_queue(&run.facts));
    warnings.extend(captured_twice(&run.facts));
    warnings.extend(other_payload(run));
    warnings.extend(unseen_payload(run));
    warnings.extend(missing_payload(run));
    warnings.extend(left_out_payload(run));
    warnings.extend(short_window(run));
    warnings.extend(with_original.filter(|_| run.facts.changes.is_empty()).and_then(few_compared));
    let notes = run.facts.live.iter().flat_map(|live| &live.notes);
    warnings.extend(notes.map(|text| Warning::Kernel { text: text.clone() }));
    warnings.extend(run.facts.warnings.iter().map(|text| Warning::Other { text: text.clone() }));
    warnings
}

/// Nanoseconds of traffic in a queue from which on it is deep: TCP sends again what takes longer, before its first sample of a round trip
/// (RFC 6298 section 2).
const DEEP: u64 = 1_000_000_000;

/// A limit that allows more than this many nanoseconds of traffic drops next to nothing: a sender's first timer has expired twice by then.
pub const DEEP_LIMIT: u64 = 2 * DEEP;

/// Says that the deepest queue was deep, and that its limit, or none, allows it to become far deeper.
fn deep_queue(facts: &Facts) -> Option<Warning> {
    let deepest = facts.topology.as_ref()?.links.iter().max_by_key(|link| link.queue_max_ns)?;
    let (holds_ns, limit_ns) = (deepest.queue_max_ns?, deepest.queue_limit_ns);
    // A queue of packets without a limit in time drops for other reasons; cells without one may wait in any number.
    let allows_more = limit_ns.map_or(deepest.cells.is_some(), |limit_ns| limit_ns > DEEP_LIMIT);
    let (link, queue) = (deepest.name.clone(), deepest.queue.clone());
    (holds_ns > DEEP && allows_more).then_some(Warning::DeepQueue { link, holds_ns, limit_ns, queue })
}

/// Says that the original holds many packets more than once.
fn captured_twice(facts: &Facts) -> Option<Warning> {
    let copies = facts.original.as_ref()?.copies;
    copies.is_doubtful().then(|| Warning::CapturedTwice { packets: copies.packets, share: copies.share() })
}

/// Says that many datagrams of a class were dropped.
fn dropped_datagrams(class: &ClassFacts) -> Option<Warning> {
    // Probes have a share of their own.
    let share = class.dropped_share().filter(|_| !class.is_of_probes());
    let share = share.filter(|share| *share > MOST_DROPPED && class.sent_datagrams >= LEAST_PACKETS)?;
    Some(Warning::DroppedDatagrams { class: class.name.clone(), share, link: class.datagrams_dropped_at.clone() })
}

/// Says that many datagrams of a class were on their way when the run ended.
fn waiting_datagrams(class: &ClassFacts) -> Option<Warning> {
    let share = class.waiting_share().filter(|share| *share > UNFINISHED_SHARE && !class.is_of_probes())?;
    Some(Warning::WaitingDatagrams { class: class.name.clone(), datagrams: class.waiting_datagrams(), share })
}

/// Says that rates are of bins that are longer than the window.
fn short_window(run: &Run) -> Option<Warning> {
    let measured = &run.measurements;
    let window = measured.window.1.since(measured.window.0);
    let is_cut = run.facts.planned_window_ns.is_some();
    (window < measured.bin && !is_cut)
        .then(|| Warning::ShortWindow { window_ns: window.as_nanos(), bin_ns: measured.bin.as_nanos() })
}

/// Payload that differs by more than this share of what was to be sent is doubtful.
const MOST_OTHER_PAYLOAD: f64 = 0.02;

/// Says that more or less is sent than load and structure ask for, in which direction, or than was captured without holes.
fn other_payload(run: &Run) -> Vec<Warning> {
    let of_draw = run.facts.drawn_payload.map(of_draw).unwrap_or_default();
    let of_capture = run.facts.original.as_ref().and_then(|original| {
        let [asked_bytes, sent_bytes] = [|of: &Payload| of.captured, |of: &Payload| of.replayed]
            .map(|count| count(&original.replayed_payload().total()));
        let warning = Warning::OtherPayload { asked_bytes, sent_bytes, from_side: None };
        differs(asked_bytes, sent_bytes, asked_bytes).then_some(warning)
    });
    of_draw.into_iter().chain(of_capture).collect()
}

/// Says that much of what was acknowledged is in no data unit of the workload.
fn unseen_payload(run: &Run) -> Option<Warning> {
    let payload = run.facts.original.as_ref()?.replayed_payload();
    let ends = [&payload.initiator, &payload.acceptor];
    let sum = |numbers: [u64; 2]| numbers[0].saturating_add(numbers[1]);
    let replayed = sum(ends.map(|end| end.replayed));
    let of_replayed = sum(ends.map(|end| end.acknowledged.saturating_sub(end.replayed_missing())));
    let unseen = sum([of_replayed, payload.set_aside.acknowledged_bytes]);
    let captured = replayed.saturating_add(unseen);
    differs(captured, replayed, captured).then_some(Warning::UnseenPayload { acknowledged_bytes: unseen })
}

/// Says that the capture lacks much that nobody acknowledged, and that this is not replayed (`--missing all` replays it).
fn missing_payload(run: &Run) -> Option<Warning> {
    let payload = run.facts.original.as_ref()?.replayed_payload();
    let lacking = |of: &Payload| of.missing.saturating_sub(of.acknowledged.max(of.replayed_missing()));
    let of_set_aside = payload.set_aside.missing_bytes.saturating_sub(payload.set_aside.acknowledged_bytes);
    let missing_bytes = [lacking(&payload.initiator), lacking(&payload.acceptor), of_set_aside]
        .into_iter()
        .fold(0, u64::saturating_add);
    let of_file = payload.lacking();
    let all = of_file.captured.saturating_add(of_file.missing);
    let share = missing_bytes as f64 / all.max(1) as f64;
    (share > MOST_OTHER_PAYLOAD).then_some(Warning::MissingPayload { missing_bytes, share })
}

/// Says that much of the captured payload is left out with connections of which bytes are missing.
fn left_out_payload(run: &Run) -> Option<Warning> {
    let original = run.facts.original.as_ref()?;
    let of_workload = *original.set_aside_bytes.get("connections-missing-bytes")?;
    let [all, replayed_bytes] = [&original.payload, original.replayed_payload()].map(|of| of.total().captured);
    // Nobody counted when those began: the window has its part of them.
    let share = if all > 0 { replayed_bytes as f64 / all as f64 } else { 1.0 };
    let left_out_bytes = (of_workload as f64 * share).round() as u64;
    let captured = left_out_bytes.saturating_add(replayed_bytes);
    differs(captured, replayed_bytes, captured).then_some(Warning::LeftOutPayload { left_out_bytes, replayed_bytes })
}

/// The directions whose payload is not what load and structure ask for.
///
/// A difference counts in proportion to what is asked of the busier direction: a draw hits the load of that one, and of the other one as
/// well as its connections let it. Where few of them carry most of a direction's bytes, thinning leaves it with a multiple of its share or
/// with next to nothing; that matters where the direction carries a part of the load, and not where it only has requests.
fn of_draw(drawn: DrawnPayload) -> Vec<Warning> {
    let busier = drawn.from_left.asked_bytes.max(drawn.from_right.asked_bytes);
    let directions = [("left", drawn.from_left), ("right", drawn.from_right)].into_iter();
    directions
        .filter(|(_, of)| differs(of.asked_bytes, of.drawn_bytes, busier))
        .map(|(side, DrawnBytes { asked_bytes, drawn_bytes })| Warning::OtherPayload {
            asked_bytes,
            sent_bytes: drawn_bytes,
            from_side: Some(side),
        })
        .collect()
}

/// Whether the difference is more than [`MOST_OTHER_PAYLOAD`] of `whole`: any, of nothing.
fn differs(asked_bytes: u64, sent_bytes: u64, whole: u64) -> bool {
    sent_bytes.abs_diff(asked_bytes) as f64 > MOST_OTHER_PAYLOAD * whole as f64
}

/// A comparison over a smaller share of the connections says little of a replay.
const LEAST_COMPARED: f64 = 1.0 / 3.0;

/// Says that the durations of few connections are compared with the original's.
fn few_compared(comparison: &Comparison) -> Option<Warning> {
    let share = comparison.card.iter().find(|score| score.metric == Metric::Duration).and_then(|score| score.share)?;
    (share < LEAST_COMPARED).then_some(Warning::FewCompared { share })
}

/// The thirds' mean throughput relative to the whole, if they differ by more than 5 % (methods A.11).
fn uneven_thirds(run: &Run) -> Option<[f64; 3]> {
    let [left, right] = [Metric::ThroughputFromLeft, Metric::ThroughputFromRight]
        .map(|metric| run.measurements.series(metric, Point::Monitor));
    let bins = left.len().max(right.len());
    let total: Vec<f64> = (0..bins).map(|bin| left.get(bin).unwrap_or(&0.0) + right.get(bin).unwrap_or(&0.0)).collect();
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let whole = mean(&total);
    let third = bins / 3;
    if third == 0 || whole == 0.0 {
        return None;
    }
    let thirds = [&total[..third], &total[third..2 * third], &total[2 * third..]].map(|part| mean(part) / whole);
    let spread = thirds.iter().copied().fold(f64::MIN, f64::max) - thirds.iter().copied().fold(f64::MAX, f64::min);
    (spread > 0.05).then_some(thirds)
}
