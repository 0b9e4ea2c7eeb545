//! Connection structures: how much of what a connection's applications did is kept (methods B.1, B.2; Aikat 2010).
//!
//! | structure | sequential vectors | concurrent vectors |
//! |---|---|---|
//! | harpoon | two connections from opposite ends, each with all bytes of its initiator | the same |
//! | block-concurrent | both ends send all they have at once | the same |
//! | block-sequential | all requests as one, then all responses as one | the same |
//! | a-b | all epochs, without waits | block-concurrent |
//! | a-t-b | all epochs, with the waits of acceptors between request and response | unchanged |
//! | a-t-b-t | unchanged | unchanged |
//!
//! Starts, bytes of each end, windows and round-trip times are the same in all six; so are the flows of datagrams, which have no
//! structure.

use flowloom_core::time::Duration;
use flowloom_core::workload::{
    Adu, Close, ConnectionVector, Evidence, InitiatorRule, Pattern, PerSide, Protocol, Side, sum,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A structure model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Structure {
    /// Two connections from opposite ends.
    #[serde(rename = "harpoon")]
    Harpoon,
    /// Both ends send all at once.
    #[serde(rename = "block-concurrent")]
    BlockConcurrent,
    /// One request, one response.
    #[serde(rename = "block-sequential")]
    BlockSequential,
    /// Epochs without waits.
    #[serde(rename = "a-b")]
    AB,
    /// Epochs with waits of acceptors.
    #[serde(rename = "a-t-b")]
    ATB,
    /// Everything.
    #[default]
    #[serde(rename = "a-t-b-t")]
    ATBT,
}

impl Structure {
    /// All six.
    pub const ALL: [Structure; 6] = [
        Structure::Harpoon,
        Structure::BlockConcurrent,
        Structure::BlockSequential,
        Structure::AB,
        Structure::ATB,
        Structure::ATBT,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Structure::Harpoon => "harpoon",
            Structure::BlockConcurrent => "block-concurrent",
            Structure::BlockSequential => "block-sequential",
            Structure::AB => "a-b",
            Structure::ATB => "a-t-b",
            Structure::ATBT => "a-t-b-t",
        }
    }

    /// What becomes of `vector`, whose waits are settled ([`settle`](super::settle)): one vector, with its id; two of which the second
    /// begins at the original acceptor, or fewer, for harpoon.
    pub fn apply(self, vector: ConnectionVector) -> impl Iterator<Item = ConnectionVector> {
        let concurrent = vector.pattern == Pattern::Concurrent;
        let made = match self {
            _ if vector.protocol != Protocol::Tcp => [Some(vector), None],
            Structure::ATBT => [Some(vector), None],
            Structure::ATB if concurrent => [Some(vector), None],
            Structure::ATB => [Some(epochs(vector, true)), None],
            Structure::AB if !concurrent => [Some(epochs(vector, false)), None],
            Structure::BlockConcurrent | Structure::AB => [Some(blocks(vector, Pattern::Concurrent)), None],
            Structure::BlockSequential => [Some(blocks(vector, Pattern::Sequential)), None],
            Structure::Harpoon => harpoon(vector),
        };
        made.into_iter().flatten()
    }
}

/// `vector` without anything but sizes and their order. The side that sends the last ADU closes, with a FIN.
fn bare(mut vector: ConnectionVector) -> ConnectionVector {
    let windows = PerSide { initiator: Side::Initiator, acceptor: Side::Acceptor }.map(|side| vector.window(side));
    let last = vector.adus.iter().max_by_key(|adu| adu.seen.map(|seen| seen.last)).map(|adu| adu.side);
    for side in Side::BOTH {
        let end = &mut vector.ends[side];
        end.max_window = windows[side];
        (end.lead_in, end.fin_wait, end.rst_seen) = (None, None, false);
        (end.packets, end.ip_bytes) = (None, None);
    }
    for adu in &mut vector.adus {
        (adu.seen, adu.wait) = (None, None);
    }
    vector.evidence = Evidence::Model;
    vector.complete = true;
    (vector.t_close, vector.lifetime) = (None, None);
    (vector.pauses, vector.read_pauses, vector.delays) = Default::default();
    (vector.losses, vector.syn_repeats) = (PerSide::default(), Vec::new());
    vector.close = Close::Fin(last.unwrap_or(Side::Initiator));
    vector
}

/// The epochs of a sequential vector; consecutive ADUs of one end, which have nothing to wait for but time, become one. Waits of
/// the acceptor between request and response are kept if `thinks`.
fn epochs(vector: ConnectionVector, thinks: bool) -> ConnectionVector {
    let waits: Vec<Option<Duration>> = vector.adus.iter().map(|adu| adu.wait).collect();
    let mut vector = bare(vector);
    let mut merged: Vec<Adu> = Vec::with_capacity(vector.adus.len());
    for (adu, wait) in vector.adus.iter().zip(waits).filter(|(adu, _)| adu.bytes > 0) {
        let answered = wait.filter(|_| thinks && adu.side == Side::Initiator).unwrap_or_default();
        match merged.last_mut() {
            Some(before) if before.side == adu.side => {
                (before.bytes, before.wait) = (sum([before.bytes, adu.bytes]), Some(answered));
                before.missing_bytes = sum([before.missing_bytes, adu.missing_bytes]);
            }
            _ => merged.push(Adu { wait: Some(answered), waiter: adu.side.other(), ..*adu }),
        }
    }
    if let Some(last) = merged.last_mut() {
        (last.wait, last.waiter) = (None, last.side);
    }
    merged.shrink_to_fit();
    vector.adus = merged;
    vector
}

/// All bytes of an end as one ADU, if there are any.
fn block(vector: &ConnectionVector, side: Side) -> Option<Adu> {
    let own = || vector.adus.iter().filter(|adu| adu.side == side);
    let (bytes, missing_bytes) = (sum(own().map(|adu| adu.bytes)), sum(own().map(|adu| adu.missing_bytes)));
    (bytes > 0).then_some(Adu { side, bytes, missing_bytes, wait: None, waiter: side, seen: None, packets: None })
}

fn blocks(vector: ConnectionVector, pattern: Pattern) -> ConnectionVector {
    let mut vector = bare(vector);
    let mut adus: Vec<Adu> = Side::BOTH.into_iter().filter_map(|side| block(&vector, side)).collect();
    if let (Pattern::Sequential, [request, response]) = (pattern, &mut adus[..]) {
        (request.wait, request.waiter) = (Some(Duration::ZERO), response.side);
    }
    if let (Pattern::Sequential, Some(last)) = (pattern, adus.last()) {
        vector.close = Close::Fin(last.side);
    }
    (vector.pattern, vector.adus) = (pattern, adus);
    vector
}

/// An end without a byte to send opens no connection: it would add load that the original does not have (methods B.2).
fn harpoon(vector: ConnectionVector) -> [Option<ConnectionVector>; 2] {
    let vector = bare(vector);
    let of = |side: Side| {
        let adu = block(&vector, side)?;
        let turned = match side {
            Side::Initiator => vector.clone(),
            Side::Acceptor => turned(vector.clone()),
        };
        // Its initiator sends it.
        let adu = Adu { side: Side::Initiator, waiter: Side::Initiator, ..adu };
        let close = Close::Fin(Side::Initiator);
        let mut turned = turned;
        // What was missing of the other end's bytes is missing of the other connection.
        if let Some(segments) = &mut turned.ends.acceptor.segments {
            (segments.missing_bytes, segments.missing_acked_bytes) = (0, 0);
        }
        Some(ConnectionVector { pattern: Pattern::Sequential, adus: vec![adu], close, ..turned })
    };
    Side::BOTH.map(of)
}

/// The connection as opened by the other end. The application's port stays that of the acceptor.
fn turned(vector: ConnectionVector) -> ConnectionVector {
    let PerSide { initiator, acceptor } = vector.ends;
    let (initiator_port, acceptor_port) = (initiator.port, acceptor.port);
    let mut ends = PerSide { initiator: acceptor, acceptor: initiator };
    (ends.initiator.port, ends.acceptor.port) = (initiator_port, acceptor_port);
    let initiator_rule = if vector.opened_before() { InitiatorRule::Cut } else { InitiatorRule::Syn };
    ConnectionVector { initiator_side: vector.initiator_side.other(), initiator_rule, ends, ..vector }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settled::settle;
    use flowloom_core::play::Waits;
    use flowloom_core::workload::{LinkSide, Segments};

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn adu(side: Side, bytes: u64, wait: Option<u64>) -> Adu {
        Adu { side, bytes, missing_bytes: 0, wait: wait.map(MS), waiter: side, seen: None, packets: None }
    }

    fn vector(pattern: Pattern, adus: &[(char, u64, Option<u64>)]) -> ConnectionVector {
        let side = |c: char| if c == 'i' { Side::Initiator } else { Side::Acceptor };
        ConnectionVector {
            pattern,
            initiator_side: LinkSide::Left,
            adus: adus.iter().map(|&(c, bytes, wait)| adu(side(c), bytes, wait)).collect(),
            ..ConnectionVector::default()
        }
    }

    /// Under the published setting of waits: `i` or `a`, bytes, milliseconds to wait.
    fn adus(structure: Structure, vector: &ConnectionVector) -> Vec<Vec<(char, u64, Option<u64>)>> {
        let mut vector = vector.clone();
        settle(&mut vector, Waits::PUBLISHED);
        let letter = |side| if side == Side::Initiator { 'i' } else { 'a' };
        let of = |vector: ConnectionVector| {
            let each = vector
                .adus
                .iter()
                .map(|adu| (letter(adu.side), adu.bytes, adu.wait.map(|wait| wait.as_nanos() / 1_000_000)));
            each.collect()
        };
        structure.apply(vector).map(of).collect()
    }

    /// The test vectors of methods B.2.
    #[test]
    fn published_test_vectors() {
        let tv1 = vector(
            Pattern::Sequential,
            &[('i', 329, Some(149)), ('a', 3403, Some(1210)), ('i', 403, Some(40)), ('a', 1000, None)],
        );
        assert_eq!(adus(Structure::Harpoon, &tv1), [[('i', 732, None)], [('i', 4403, None)]]);
        assert_eq!(adus(Structure::BlockConcurrent, &tv1), [[('i', 732, None), ('a', 4403, None)]]);
        assert_eq!(adus(Structure::BlockSequential, &tv1), [[('i', 732, Some(0)), ('a', 4403, None)]]);
        let a_b = [[('i', 329, Some(0)), ('a', 3403, Some(0)), ('i', 403, Some(0)), ('a', 1000, None)]];
        assert_eq!(adus(Structure::AB, &tv1), a_b);
        assert_eq!(adus(Structure::ATB, &tv1), a_b, "149 and 40 ms are below the minimum");
        assert_eq!(
            adus(Structure::ATBT, &tv1),
            [[('i', 329, Some(0)), ('a', 3403, Some(1210)), ('i', 403, Some(0)), ('a', 1000, None)]]
        );
        let tv2 = [('i', 100, Some(949)), ('a', 50, Some(1560)), ('i', 220, None), ('a', 70, None)];
        let concurrent = vector(Pattern::Concurrent, &tv2);
        for structure in [Structure::AB, Structure::BlockConcurrent] {
            assert_eq!(adus(structure, &concurrent), [[('i', 320, None), ('a', 120, None)]]);
        }
        for structure in [Structure::ATB, Structure::ATBT] {
            assert_eq!(adus(structure, &concurrent), [tv2]);
        }
    }

    /// Half epochs (methods A.12, TV3): 100 bytes, 0.849 s, 150 bytes, answered by 500 and, a second later, by 300.
    #[test]
    fn half_epochs_are_merged() {
        let tv3 = vector(
            Pattern::Sequential,
            &[('i', 100, Some(849)), ('i', 150, Some(600)), ('a', 500, Some(1000)), ('a', 300, None)],
        );
        assert_eq!(adus(Structure::AB, &tv3), [[('i', 250, Some(0)), ('a', 800, None)]]);
        assert_eq!(adus(Structure::ATB, &tv3), [[('i', 250, Some(600)), ('a', 800, None)]]);
        let speaks_first = vector(Pattern::Sequential, &[('a', 9, Some(700)), ('i', 5, Some(800)), ('a', 7, None)]);
        assert_eq!(adus(Structure::ATB, &speaks_first), [[('a', 9, Some(0)), ('i', 5, Some(800)), ('a', 7, None)]]);
    }

    #[test]
    fn an_empty_end_reads_only_and_opens_nothing() {
        let upload = vector(Pattern::Sequential, &[('i', 10, Some(600)), ('i', 20, None)]);
        assert_eq!(adus(Structure::Harpoon, &upload), [[('i', 30, None)]]);
        assert_eq!(adus(Structure::BlockConcurrent, &upload), [[('i', 30, None)]]);
        assert_eq!(adus(Structure::BlockSequential, &upload), [[('i', 30, None)]]);
        assert_eq!(adus(Structure::AB, &upload), [[('i', 30, None)]]);
        let download = vector(Pattern::Sequential, &[('a', 40, None)]);
        assert_eq!(adus(Structure::Harpoon, &download), [[('i', 40, None)]]);
        assert_eq!(adus(Structure::BlockSequential, &download), [[('a', 40, None)]]);
        let silent = vector(Pattern::Sequential, &[('i', 0, None)]);
        assert!(adus(Structure::Harpoon, &silent).is_empty());
    }

    #[test]
    fn harpoons_second_connection_is_the_first_turned_round() {
        let mut both = vector(Pattern::Concurrent, &[('i', 5, None), ('a', 7, None)]);
        both.evidence = Evidence::VectorFile;
        both.ends.initiator.max_window = Some(8_000);
        both.ends.acceptor.max_window = Some(64_000);
        (both.ends.initiator.min_transit, both.ends.acceptor.min_transit) = (Some(MS(1)), Some(MS(20)));
        both.ends.acceptor.port = Some(443);
        let [first, second] = harpoon(both.clone()).map(Option::unwrap);
        assert_eq!((first.initiator_side, second.initiator_side), (LinkSide::Left, LinkSide::Right));
        assert_eq!((first.window(Side::Initiator), second.window(Side::Initiator)), (Some(8_000), Some(64_000)));
        assert_eq!((first.window(Side::Acceptor), second.window(Side::Acceptor)), (Some(64_000), Some(8_000)));
        assert_eq!((first.min_rtt(), second.min_rtt()), (Some(MS(21)), Some(MS(21))));
        assert_eq!(second.ends.initiator.min_transit, Some(MS(20)));
        assert_eq!((first.ends.acceptor.port, second.ends.acceptor.port), (Some(443), Some(443)));
        assert_eq!((first.start, first.close), (second.start, second.close));
        assert_eq!(second.close, Close::Fin(Side::Initiator));
    }

    #[test]
    fn a_missing_byte_is_missing_of_one_connection() {
        let mut both = vector(Pattern::Concurrent, &[('i', 5, None), ('a', 7, None)]);
        both.adus[1].missing_bytes = 3;
        both.ends.acceptor.segments =
            Some(Segments { missing_bytes: 3, missing_acked_bytes: 3, ..Segments::default() });
        let before = both.payload(Side::Acceptor);
        let made = harpoon(both).map(Option::unwrap);
        let missing = |side: Side| made.iter().map(|vector| vector.payload(side).missing).collect::<Vec<_>>();
        assert_eq!((missing(Side::Initiator), missing(Side::Acceptor)), (vec![0, 3], vec![0, 0]));
        assert_eq!(made[1].payload(Side::Initiator), before, "its bytes, by who sends them now");
    }

    #[test]
    fn who_sends_last_closes() {
        let closer = |structure: Structure, vector: &ConnectionVector| {
            structure.apply(vector.clone()).map(|made| made.close).collect::<Vec<_>>()
        };
        let mut upload = vector(Pattern::Sequential, &[('i', 5, Some(1)), ('a', 5, Some(1)), ('i', 9, None)]);
        upload.close = Close::Rst(Side::Acceptor);
        assert_eq!(closer(Structure::AB, &upload), [Close::Fin(Side::Initiator)]);
        assert_eq!(closer(Structure::BlockConcurrent, &upload), [Close::Fin(Side::Initiator)]);
        assert_eq!(closer(Structure::BlockSequential, &upload), [Close::Fin(Side::Acceptor)], "it sends last now");
        assert_eq!(closer(Structure::ATBT, &upload), [Close::Rst(Side::Acceptor)], "as it was");
    }

    #[test]
    fn datagrams_have_no_structure() {
        let udp = ConnectionVector {
            protocol: Protocol::Udp,
            ..vector(Pattern::Concurrent, &[('i', 5, Some(1)), ('i', 6, None)])
        };
        for structure in Structure::ALL {
            assert!(structure.apply(udp.clone()).eq([udp.clone()]));
        }
    }
}
