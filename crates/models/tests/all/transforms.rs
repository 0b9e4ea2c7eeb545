//! What transforms of workloads must keep, over random vectors.

use flowloom_core::play::{ReplayModel, Script, Waits};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{Adu, Close, ConnectionVector, LinkSide, Pattern, Pause, PerSide, Side};
use flowloom_models::{Assignment, Place, RoundTrips, Structure, fix_windows, settle, unsettle};
use proptest::prelude::*;

fn side() -> impl Strategy<Value = Side> {
    prop_oneof![Just(Side::Initiator), Just(Side::Acceptor)]
}

fn millis(most: u64) -> impl Strategy<Value = Option<Duration>> {
    prop::option::of((0..most).prop_map(Duration::from_millis))
}

/// Pauses inside data units, and waits for the other end.
fn pauses() -> impl Strategy<Value = Vec<Pause>> {
    let pause = (0u64..150_000, 0u64..500, prop::option::of(0u64..100_000));
    prop::collection::vec(pause, 0..4).prop_map(|mut pauses| {
        pauses.sort_unstable();
        let pause = |(after_bytes, length, heard)| Pause { after_bytes, length: Duration::from_millis(length), heard };
        pauses.into_iter().map(pause).collect()
    })
}

fn vector() -> impl Strategy<Value = ConnectionVector> {
    let adu = (side(), prop_oneof![0u64..4, 1u64..100_000], millis(2_000)).prop_map(|(side, bytes, wait)| Adu {
        side,
        bytes,
        missing_bytes: 0,
        wait,
        waiter: side,
        seen: None,
        packets: None,
    });
    let pattern = prop_oneof![Just(Pattern::Sequential), Just(Pattern::Concurrent)];
    let close = prop_oneof![side().prop_map(Close::Fin), side().prop_map(Close::Rst), Just(Close::NotSeen)];
    let ends = (millis(200), millis(200), millis(900), millis(900), millis(3_000));
    (pattern, prop::collection::vec(adu, 0..12), [pauses(), pauses()], close, ends, any::<bool>()).prop_map(
        |(pattern, adus, pauses, close, (initiator, acceptor, first, second, t_close), left)| {
            let mut vector = ConnectionVector {
                id: 5,
                start: Time::from_nanos(77),
                initiator_side: if left { LinkSide::Left } else { LinkSide::Right },
                pattern,
                close,
                t_close,
                adus,
                ..ConnectionVector::default()
            };
            [vector.pauses.initiator, vector.pauses.acceptor] = pauses;
            (vector.ends.initiator.min_transit, vector.ends.acceptor.min_transit) = (initiator, acceptor);
            (vector.ends.initiator.lead_in, vector.ends.acceptor.lead_in) = (first, second);
            vector
        },
    )
}

/// Payload bytes from the left and from the right of the link.
fn bytes<'a>(vectors: impl IntoIterator<Item = &'a ConnectionVector>) -> [u64; 2] {
    let mut from = [0; 2];
    for vector in vectors {
        from[vector.initiator_side as usize] += vector.bytes(Side::Initiator);
        from[vector.initiator_side.other() as usize] += vector.bytes(Side::Acceptor);
    }
    from
}

fn models() -> Vec<RoundTrips> {
    let millis = Duration::from_millis;
    let assignments = [
        Assignment::Own,
        Assignment::One(millis(80)),
        Assignment::Paths(vec![millis(4), millis(200)]),
        Assignment::Uniform { min: millis(10), max: millis(200), step: millis(1) },
    ];
    let places = [Place::Measured, Place::Halves, Place::One(LinkSide::Left), Place::One(LinkSide::Right)];
    let all = assignments.into_iter().flat_map(|assignment| places.map(|place| (assignment.clone(), place)));
    all.map(|(assignment, place)| RoundTrips { assignment, place }).collect()
}

proptest! {
    #[test]
    fn six_structures_carry_the_same_bytes(vector in vector(), min in 0u64..1_000) {
        let mut settled = vector.clone();
        settle(&mut settled, Waits { min: Duration::from_millis(min), ..Waits::PUBLISHED });
        for structure in Structure::ALL {
            let made: Vec<ConnectionVector> = structure.apply(settled.clone()).collect();
            prop_assert_eq!(bytes(&made), bytes([&vector]), "{}", structure.name());
            let ends = PerSide { initiator: Side::Initiator, acceptor: Side::Acceptor }.map(|side| vector.bytes(side) > 0);
            let wanted = match structure {
                Structure::Harpoon => usize::from(ends.initiator) + usize::from(ends.acceptor),
                _ => 1,
            };
            prop_assert_eq!(made.len(), wanted);
            prop_assert!(made.iter().all(|made| made.start == vector.start && made.min_rtt() == vector.min_rtt()));
        }
    }

    /// Epochs of which both halves are there are in a-b, too, in their order; only half epochs become parts of others.
    #[test]
    fn epochs_without_waits_are_as_many_as_turns(vector in vector()) {
        let vector = ConnectionVector { pattern: Pattern::Sequential, ..vector };
        let mut turns: Vec<(Side, u64)> = Vec::new();
        for adu in vector.adus.iter().filter(|adu| adu.bytes > 0) {
            match turns.last_mut() {
                Some((side, bytes)) if *side == adu.side => *bytes += adu.bytes,
                _ => turns.push((adu.side, adu.bytes)),
            }
        }
        for structure in [Structure::AB, Structure::ATB] {
            let made = structure.apply(vector.clone()).next().unwrap();
            prop_assert_eq!(made.adus.iter().map(|adu| (adu.side, adu.bytes)).collect::<Vec<_>>(), turns.clone());
        }
    }

    #[test]
    fn round_trip_times_and_windows_leave_everything_else(vector in vector(), bytes in 1u64..1 << 20) {
        for model in models() {
            let mut made = vector.clone();
            model.apply(3, vector.id, &mut made);
            fix_windows(&mut made, bytes);
            prop_assert_eq!(Side::BOTH.map(|side| made.window(side)), [Some(bytes); 2]);
            prop_assert_eq!(&made.adus, &vector.adus);
            prop_assert_eq!((made.start, made.close, made.pattern), (vector.start, vector.close, vector.pattern));
            let known = model.assignment != Assignment::Own || vector.min_rtt().is_some();
            prop_assert_eq!(made.min_rtt().is_some(), known);
            if model.assignment == Assignment::Own {
                prop_assert_eq!(made.min_rtt(), vector.min_rtt());
            }
        }
    }

    /// Whatever the round-trip time is afterwards, the waits that are replayed are those that the setting gave before.
    #[test]
    fn settled_waits_outlive_their_round_trip_times(vector in vector(), place in 0..4usize) {
        for waits in Waits::ALL {
            let asked = Script::new(&vector, &ReplayModel::with_waits(waits));
            for model in models() {
                let place = [Place::Measured, Place::Halves, Place::One(LinkSide::Left), Place::One(LinkSide::Right)][place];
                let mut made = vector.clone();
                settle(&mut made, waits);
                RoundTrips { place, ..model }.apply(3, vector.id, &mut made);
                unsettle(&mut made);
                prop_assert_eq!(&Script::new(&made, &ReplayModel::with_waits(Waits::CORRECTED)), &asked);
            }
        }
    }
}
