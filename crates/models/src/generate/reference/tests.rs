use flowloom_core::distribution::{Distribution, Law};
use flowloom_core::play::{Waits, open_for};
use flowloom_core::workload::{LinkSide, Pattern, Side};

use super::*;
use crate::settled::settle;
use crate::structure::Structure;

const SECONDS: fn(u64) -> Duration = Duration::from_secs;

fn traces() -> [Trace; 2] {
    [Trace::campus_2008(), Trace::enterprise_2006()]
}

/// A hundredth of the published connections.
fn some(trace: &Trace, seed: u64, seconds: u64) -> Vec<ConnectionVector> {
    Reference { scale: 0.01 }.vectors(trace, seed, Duration::ZERO, SECONDS(seconds)).collect()
}

#[test]
fn equal_seeds_make_equal_connections_and_a_longer_workload_begins_with_a_shorter() {
    for trace in traces() {
        let one = some(&trace, 1, 60);
        assert!(one.len() > 300, "{}", one.len());
        assert_eq!(one, some(&trace, 1, 60));
        assert!(some(&trace, 1, 120).starts_with(&one));
        let other = some(&trace, 2, 60);
        assert!(one.iter().zip(&other).any(|(one, other)| one.adus != other.adus));
        assert!(one.is_sorted_by_key(|vector| vector.start) && one.iter().zip(0..).all(|(vector, id)| vector.id == id));
        assert!(one.iter().all(|vector| vector.start < Time::ZERO + SECONDS(60)));
    }
}

/// 3 hours at a hundredth and 1 at three hundredths: 140,000 connections of the campus. Without a fall, hours are alike.
#[test]
fn scale_is_the_number_of_connections_and_changes_none_of_them() {
    for trace in traces().map(|trace| Trace { fall: None, ..trace }) {
        let count = |scale: f64, hours: u64| {
            let starts = Reference { scale }.vectors(&trace, 5, Duration::ZERO, SECONDS(hours * 3_600));
            starts.map(|vector| vector.id).last().unwrap() as f64 + 1.0
        };
        let expected = trace.connections_per_second * 108.0;
        for found in [count(0.01, 3), count(0.03, 1)] {
            // Long-range dependence leaves a deviation of some 1 % of the mean rate of an hour.
            assert!((found / expected - 1.0).abs() < 0.03, "{found}, not {expected}");
        }
        let (small, large) =
            (some(&trace, 1, 100), Reference { scale: 0.05 }.vectors(&trace, 1, Duration::ZERO, SECONDS(15)));
        let pairs: Vec<_> = small.iter().zip(large).collect();
        assert!(pairs.len() > 300);
        assert!(pairs.iter().all(|(small, large)| **small == ConnectionVector { start: small.start, ..large.clone() }));
    }
}

#[test]
fn another_law_for_one_variable_moves_no_other() {
    let trace = Trace::campus_2008();
    let of = |value| Distribution::new(Law::Constant(value)).unwrap();
    let same = |changed: &Trace, what: fn(&ConnectionVector) -> Vec<u64>| {
        let pairs = some(&trace, 3, 60).into_iter().zip(some(changed, 3, 60));
        let (same, all) =
            pairs.fold((0, 0), |(same, all), (one, other)| (same + u64::from(what(&one) == what(&other)), all + 1));
        assert!(all > 300);
        same as f64 / all as f64
    };
    let requests = |vector: &ConnectionVector| {
        vector.adus.iter().filter(|adu| adu.side == Side::Initiator).map(|adu| adu.bytes).collect()
    };
    let waits = |vector: &ConnectionVector| {
        vector.adus.iter().filter_map(|adu| adu.wait).map(Duration::as_nanos).collect::<Vec<_>>()
    };
    let path = |vector: &ConnectionVector| {
        let windows = Side::BOTH.map(|side| vector.window(side).unwrap());
        [windows[0], windows[1], vector.initiator_side as u64, vector.start.since(Time::ZERO).as_nanos()].to_vec()
    };
    let rtts = |vector: &ConnectionVector| vec![vector.min_rtt().unwrap().as_nanos()];
    let mut other_responses = trace.clone();
    other_responses.sequential.sizes.acceptor.law = of(9.0);
    assert_eq!(same(&other_responses, requests), 1.0);
    assert_eq!(same(&other_responses, waits), 1.0);
    assert!(same(&other_responses, |vector| vec![vector.bytes(Side::Acceptor)]) < 0.1);
    let other_rtts = Trace { rtt: of(9.0), ..trace.clone() };
    let sizes = |vector: &ConnectionVector| vector.adus.iter().map(|adu| adu.bytes).collect();
    assert_eq!((same(&other_rtts, sizes), same(&other_rtts, path), same(&other_rtts, rtts)), (1.0, 1.0, 0.0));
}

#[test]
fn vectors_are_what_a_capture_would_have() {
    for trace in traces() {
        let vectors = some(&trace, 1, 600);
        for vector in &vectors {
            let sums = |side: Side| {
                let waits = vector.adus.iter().filter(|adu| adu.waiter == side).filter_map(|adu| adu.wait);
                let transit = vector.ends[side].min_transit.filter(|_| vector.pattern == Pattern::Sequential);
                waits.map(|wait| wait.saturating_sub(transit.unwrap_or_default()).as_secs_f64()).sum::<f64>()
            };
            let sums = Side::BOTH.map(sums);
            let longest = match vector.pattern {
                Pattern::Sequential => {
                    assert!(
                        vector
                            .adus
                            .iter()
                            .map(|adu| adu.side)
                            .eq(Side::BOTH.into_iter().cycle().take(vector.adus.len()))
                    );
                    sums[0] + sums[1]
                }
                Pattern::Concurrent => {
                    assert!(vector.adus.iter().all(|adu| adu.side == adu.waiter));
                    sums[0].max(sums[1])
                }
            };
            assert!(longest < 3_600.1, "no connection waits longer than the trace: {longest}");
            let last = vector.adus.last().unwrap();
            assert_eq!((vector.close, last.wait), (flowloom_core::workload::Close::Fin(last.side), None));
            assert!(vector.adus.iter().all(|adu| (1..=250_000_000).contains(&adu.bytes)));
            // Only the last ADU of a side has no wait.
            let open = vector.adus.iter().filter(|adu| adu.wait.is_none()).count();
            assert_eq!(open, if vector.pattern == Pattern::Sequential { 1 } else { 2 });
        }
        let count = |pattern, complete: Option<bool>| {
            let is = |vector: &&ConnectionVector| complete.is_none_or(|complete| vector.complete == complete);
            vectors.iter().filter(is).filter(|vector| vector.pattern == pattern).count()
        };
        let [complete, incomplete] = &trace.concurrent;
        for (pattern, complete, share) in [
            (Pattern::Sequential, None, trace.sequential.share),
            (Pattern::Concurrent, Some(true), complete.share),
            (Pattern::Concurrent, Some(false), incomplete.share),
        ] {
            let (found, expected) = (count(pattern, complete), share * vectors.len() as f64);
            assert!((found as f64 - expected).abs() < 4.0 * expected.sqrt() + 1.0, "{found}, not {expected}");
        }
    }
}

#[test]
fn every_structure_carries_the_bytes_of_every_connection() {
    for trace in traces() {
        for mut vector in some(&trace, 1, 60) {
            settle(&mut vector, Waits::PUBLISHED);
            let bytes = |vector: &ConnectionVector| {
                let of = |side: Side| vector.bytes(side);
                match vector.initiator_side {
                    LinkSide::Left => [of(Side::Initiator), of(Side::Acceptor)],
                    LinkSide::Right => [of(Side::Acceptor), of(Side::Initiator)],
                }
            };
            let wanted = bytes(&vector);
            for structure in Structure::ALL {
                let made = structure.apply(vector.clone()).map(|vector| bytes(&vector));
                let sum = made.fold([0, 0], |sum, bytes| [sum[0] + bytes[0], sum[1] + bytes[1]]);
                assert_eq!(sum, wanted, "{structure:?}");
            }
        }
    }
}

/// Little's law (methods C.4): as many connections are open at once as start in their mean duration. Three hours at a twentieth, of
/// which the first has to fill up; some 2,200 and 3,500 are open at once, and long ones for an hour.
#[test]
fn as_many_are_open_as_start_in_their_mean_duration() {
    const SCALE: f64 = 0.05;
    const HOURS: u64 = 3;
    let steady = traces().map(|trace| Trace { fall: None, ..trace });
    for (trace, published) in steady.into_iter().zip([45_000.0, 72_200.0]) {
        let counted = 3_600..HOURS * 3_600;
        let (mut open, mut durations, mut connections) = (0u64, 0.0, 0.0);
        let all = Reference { scale: SCALE }.vectors(&trace, 1, Duration::ZERO, SECONDS(HOURS * 3_600));
        for mut vector in all {
            settle(&mut vector, Waits::PUBLISHED);
            // Windows and halves of round trips are no part of the ideal that the expected durations have.
            let waits = |side| vector.adus.iter().filter(move |adu| adu.waiter == side).filter_map(|adu| adu.wait);
            let [client, server] = Side::BOTH.map(|side| waits(side).map(Duration::as_secs_f64).sum::<f64>());
            let rtt = vector.min_rtt().unwrap().as_secs_f64();
            let duration = match vector.pattern {
                Pattern::Sequential => client + server + rtt * vector.epochs().count() as f64,
                Pattern::Concurrent => client.max(server) + rtt,
            };
            let estimate = open_for(&vector, Duration::ZERO).unwrap().as_secs_f64();
            assert!(estimate >= duration * 0.99, "{estimate} with windows and handshake, {duration} without");
            (durations, connections) = (durations + duration, connections + 1.0);
            let start = vector.start.since(Time::ZERO).as_secs_f64();
            // Whole seconds in which it is open, of those that count.
            let upto = |at: f64| (at.ceil() as u64).clamp(counted.start, counted.end);
            open += upto(start + duration) - upto(start);
        }
        let active = open as f64 / (counted.end - counted.start) as f64;
        let rate = connections / (HOURS * 3_600) as f64;
        let little = rate * durations / connections;
        assert!((active / little - 1.0).abs() < 0.05, "{active} are open, {little} by Little's law");
        assert!((active / (SCALE * published) - 1.0).abs() < 0.1, "{active} are open, {published} were");
    }
}

/// By samples, whose deviation is known: 100,000 connections.
#[test]
fn what_quadrature_expects_is_what_is_drawn() {
    for trace in traces() {
        let vectors: Vec<_> = Reference { scale: 1.0 }.vectors(&trace, 1, Duration::ZERO, SECONDS(120)).collect();
        let sequential = || vectors.iter().filter(|vector| vector.pattern == Pattern::Sequential);
        let epochs: Vec<f64> = sequential().map(|vector| vector.epochs().count() as f64).collect();
        let count = epochs.len() as f64;
        let mean = epochs.iter().sum::<f64>() / count;
        let expected = trace.sequential.epochs();
        let error = expected.deviation / count.sqrt();
        assert!((mean - expected.mean).abs() < 4.0 * error, "{mean}, not {} +- {error}", expected.mean);
        let single = epochs.iter().filter(|epochs| **epochs == 1.0).count() as f64 / count;
        assert!((single - trace.sequential.single).abs() < 0.01, "{single}");
        // Few connections have a thousand epochs, and many of the waits.
        let few = || sequential().filter(|vector| vector.adus.len() < 2_000);
        let long = |side: Side| {
            let waits = few().flat_map(|vector| &vector.adus).filter(|adu| adu.waiter == side);
            let waits: Vec<_> = waits.filter_map(|adu| adu.wait).collect();
            waits.iter().filter(|wait| **wait >= flowloom_core::play::MIN_WAIT).count() as f64 / waits.len() as f64
        };
        let Sequential { kinds, tempos, .. } = &trace.sequential;
        for side in Side::BOTH {
            let of = usize::from(side == Side::Initiator);
            let each = || kinds.iter().zip(trace.sequential.by_kind()).take(5);
            let brief =
                |shares: &[f64; 4]| shares.iter().zip(tempos).map(|(share, tempo)| share * tempo[side][0]).sum::<f64>();
            let (all, brief) =
                each().fold((0.0, 0.0), |(all, sum), (kind, n)| (all + n[of], sum + n[of] * brief(&kind.tempos)));
            let (found, expected) = (long(side), 1.0 - brief / all);
            // Waits of one connection are alike, and few connections have many.
            assert!((found - expected).abs() < 0.03, "{side:?}: {found}, not {expected}");
        }
    }
}

#[test]
fn kinds_of_connections_add_up_to_the_laws() {
    for trace in traces() {
        let off = trace.sequential.imbalance();
        assert!(off < 1e-3, "shares of parts are off by {off}");
        let Sequential { kinds, tempos, sizes, waits, .. } = &trace.sequential;
        let of_kinds = kinds.iter().flat_map(|kind| [kind.tempos, kind.sizes.initiator, kind.sizes.acceptor]);
        let of_tempos = tempos.iter().flat_map(|tempo| [tempo.initiator, tempo.acceptor]);
        let of_laws = [&sizes.initiator, &sizes.acceptor, &waits.initiator, &waits.acceptor].map(|cut| cut.parts);
        for shares in of_kinds.chain(of_tempos).chain(of_laws) {
            assert!(shares.iter().all(|share| *share >= 0.0), "{shares:?}");
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-4, "{shares:?}");
        }
    }
}

/// A monitor in the middle sees the way to an end and back in its waits, which a replay takes out again.
#[test]
fn waits_contain_the_transit() {
    for trace in traces() {
        for vector in some(&trace, 1, 60).iter().filter(|vector| vector.pattern == Pattern::Sequential) {
            for adu in &vector.adus {
                let (wait, transit) = (adu.wait, vector.ends[adu.waiter].min_transit.unwrap());
                assert!(wait.is_none_or(|wait| wait >= transit), "{wait:?} with {transit:?}");
            }
            assert_eq!(vector.ends.initiator.min_transit, vector.ends.acceptor.min_transit);
        }
    }
}

#[test]
fn starts_of_the_enterprise_fall_after_32_minutes() {
    let trace = Trace::enterprise_2006();
    let fall = trace.fall.unwrap();
    assert!((fall.before * 32.0 / 60.0 + fall.after * 28.0 / 60.0 - 1.0).abs() < 1e-12, "the mean stays");
    for lead_in in [0, 600] {
        let hour = Reference { scale: 0.1 }.vectors(&trace, 1, SECONDS(lead_in), SECONDS(lead_in + 3_600));
        let starts = hour.map(|vector| vector.start.since(Time::ZERO).as_secs_f64() - lead_in as f64);
        let (before, after): (Vec<f64>, Vec<f64>) = starts.partition(|start| *start < fall.at);
        let length = fall.at + lead_in as f64;
        let rates = [before.len() as f64 / length, after.len() as f64 / (3_600.0 - fall.at)];
        let ratio = rates[1] / rates[0];
        assert!((ratio / (fall.after / fall.before) - 1.0).abs() < 0.03, "{rates:?}");
    }
    assert_eq!(Trace::campus_2008().fall, None);
}

#[test]
fn scale_is_the_rate_that_calibration_finds() {
    use crate::generate::SourceModel;
    let model = SourceModel::Campus2008(Reference { scale: 0.5 });
    assert_eq!(model.rates(), [("scale", 0.5)]);
    assert_eq!(model.with_rates(&[0.25]), SourceModel::Campus2008(Reference { scale: 0.25 }));
}

#[test]
fn impossible_scales_are_named() {
    for (scale, told) in
        [(0.0, "scale of 0 "), (-1.0, "scale of -1 "), (f64::NAN, "scale of NaN "), (1e4, "scale of 10000 ")]
    {
        let said = Reference { scale }.check().unwrap_err().to_string();
        assert!(said.starts_with(told) && said.contains("above 0 and at most 1000"), "{said}");
    }
    let rare = Reference { scale: 1e-15 };
    assert_eq!(rare.check(), Ok(()));
    assert_eq!(rare.vectors(&Trace::campus_2008(), 1, Duration::ZERO, SECONDS(1)).count(), 0, "and that takes no time");
}
