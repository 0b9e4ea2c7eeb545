//! Waits that no longer depend on where they were measured.
//!
//! A wait in a vector is what a monitor saw, transits included; which part of it is replayed is decided when it is replayed
//! (methods A.5.9-10). What changes structures or round-trip times must decide before: the epochs that the waits were of, or the
//! transits that they contain, are gone afterwards.

use flowloom_core::play::Waits;
use flowloom_core::time::Duration;
use flowloom_core::workload::{Close, ConnectionVector, Pattern, Protocol, Side};

/// What a wait of a vector is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Between ADUs.
    Quiet,
    /// Before the first, after the last or inside one: no minimum applies.
    Outer,
}

/// Replaces the waits of `vector` by what `waits` replays of them, which contains no transit. ADUs without a byte vanish, as they do
/// in a replay.
pub fn settle(vector: &mut ConnectionVector, waits: Waits) {
    if vector.protocol != Protocol::Tcp {
        return;
    }
    each_wait(vector, |raw, transit, kind| match kind {
        Kind::Quiet => waits.replayed(raw, transit),
        Kind::Outer => waits.corrected(raw, transit),
    });
    vector.adus.retain(|adu| adu.bytes > 0);
}

/// The inverse for [`Waits::CORRECTED`], the default of a replay: adds the transits that a monitor would see in the waits.
pub fn unsettle(vector: &mut ConnectionVector) {
    if vector.protocol == Protocol::Tcp {
        each_wait(vector, |wait, transit, _| wait + transit.unwrap_or_default());
    }
}

/// Replaces every wait by what `change` makes of it and of the transit counted in it, as a replay counts them
/// (`play::Script`).
fn each_wait(vector: &mut ConnectionVector, change: impl Fn(Duration, Option<Duration>, Kind) -> Duration) {
    let transits = vector.ends.map(|end| end.min_transit);
    let sequential = vector.pattern == Pattern::Sequential;
    let last = vector.adus.iter().max_by_key(|adu| adu.seen.map(|seen| seen.last)).map(|adu| adu.side);
    for index in 0..vector.adus.len() {
        let next = vector.adus[index + 1..].iter().find(|adu| adu.bytes > 0).map(|adu| adu.side).filter(|_| sequential);
        let adu = &mut vector.adus[index];
        let counted = next.filter(|next| *next != adu.side).and_then(|next| transits[next]);
        adu.wait = adu.wait.map(|raw| change(raw, counted, Kind::Quiet));
    }
    for side in Side::BOTH {
        for pause in vector.pauses[side].iter_mut().filter(|pause| pause.heard.is_some()) {
            pause.length = change(pause.length, transits[side], Kind::Outer);
        }
        // The acceptor's end of the handshake lies beyond the monitor.
        let counted = transits[side].filter(|_| side == Side::Acceptor);
        let end = &mut vector.ends[side];
        end.lead_in = end.lead_in.map(|raw| change(raw, counted, Kind::Outer));
    }
    let closer = match vector.close {
        Close::Fin(side) | Close::Rst(side) => Some(side),
        Close::NotSeen => None,
    };
    let counted = closer.filter(|_| closer != last).and_then(|side| transits[side]);
    vector.t_close = vector.t_close.map(|raw| change(raw, counted, Kind::Outer));
}
