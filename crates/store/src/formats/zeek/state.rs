//! Zeek's `conn_state` of a vector: its summary of how a connection opened and ended.

use flowloom_core::time::Duration;
use flowloom_core::workload::{Close, ConnectionVector, Evidence, Protocol, Side};

/// The state, `None` where the vector does not tell.
pub(super) fn of(vector: &ConnectionVector) -> Option<&'static str> {
    if vector.protocol != Protocol::Tcp {
        return Some(match Side::BOTH.map(|side| vector.bytes(side) > 0) {
            [true, true] => "SF",
            [true, false] => "S0",
            [false, true] => "SHR",
            [false, false] => return None,
        });
    }
    let ends = &vector.ends;
    if matches!(vector.evidence, Evidence::VectorFile | Evidence::Model) {
        // A vector is a whole connection, whether or not its SYNs and FINs were written down.
        return (vector.close != Close::NotSeen).then_some("SF");
    }
    let fin_of = |side: Side| ends[side].fin_wait.is_some() || vector.close == Close::Fin(side);
    // A flow record keeps the first close only.
    let both_closed = fin_of(Side::Initiator) && fin_of(Side::Acceptor) || vector.evidence == Evidence::FlowRecord;
    Some(match ([ends.initiator.syn_seen, ends.acceptor.syn_seen], vector.close) {
        ([true, true], Close::Rst(Side::Initiator)) => "RSTO",
        ([true, true], Close::Rst(Side::Acceptor)) => "RSTR",
        ([true, true], Close::Fin(_)) if both_closed => "SF",
        ([true, true], Close::Fin(Side::Initiator)) => "S2",
        ([true, true], Close::Fin(Side::Acceptor)) => "S3",
        ([true, true], Close::NotSeen) => "S1",
        ([true, false], Close::Rst(Side::Initiator)) => "RSTOS0",
        ([true, false], Close::Fin(Side::Initiator)) => "SH",
        ([false, true], Close::Rst(Side::Acceptor)) => "RSTRH",
        ([false, true], Close::Fin(Side::Acceptor)) => "SHR",
        ([true, false] | [false, true] | [false, false], _) => "OTH",
    })
}

/// Zeek's `history`, as far as the vector tells: SYN, SYN/ACK, data, FIN and RST of both ends in the order in which the
/// monitor saw the first of each. Acknowledgements are not in it. `None` where nobody saw packets.
pub(super) fn history(vector: &ConnectionVector) -> Option<String> {
    if vector.evidence != Evidence::Packets {
        return None;
    }
    let letter = |side: Side, letter: char| match side {
        Side::Initiator => letter.to_ascii_uppercase(),
        Side::Acceptor => letter,
    };
    let mut seen: Vec<(Duration, char)> = Vec::new();
    for (side, syn) in [(Side::Initiator, 's'), (Side::Acceptor, 'h')] {
        if vector.ends[side].syn_seen {
            seen.push((Duration::ZERO, letter(side, syn)));
        }
    }
    for side in Side::BOTH {
        let spans = || vector.adus.iter().filter(|adu| adu.side == side).filter_map(|adu| adu.seen);
        seen.extend(spans().map(|span| span.first).min().map(|first| (first, letter(side, 'd'))));
        if let Some(wait) = vector.ends[side].fin_wait {
            let last = spans().map(|span| span.last).max().unwrap_or_default();
            seen.push((last + wait, letter(side, 'f')));
        }
    }
    if let (Close::Rst(side), Some(end)) = (vector.close, vector.end()) {
        seen.push((end.since(vector.start), letter(side, 'r')));
    }
    // Stable: what comes at one time stays in the order of a connection.
    seen.sort_by_key(|(at, _)| *at);
    (!seen.is_empty()).then(|| seen.into_iter().map(|(_, letter)| letter).collect())
}

#[cfg(test)]
mod tests {
    use flowloom_core::workload::{Adu, Span};

    use super::*;

    #[test]
    fn histories_are_in_the_order_of_what_was_seen() {
        let ms = Duration::from_millis;
        let adu = |side, first, last| Adu {
            side,
            bytes: 1,
            missing_bytes: 0,
            wait: None,
            waiter: side,
            seen: Some(Span { first: ms(first), last: ms(last) }),
            packets: None,
        };
        let mut vector = ConnectionVector {
            adus: vec![adu(Side::Initiator, 10, 11), adu(Side::Acceptor, 20, 90)],
            close: Close::Fin(Side::Initiator),
            ..ConnectionVector::default()
        };
        for side in Side::BOTH {
            vector.ends[side].syn_seen = true;
        }
        vector.ends.initiator.fin_wait = Some(ms(5));
        vector.ends.acceptor.fin_wait = Some(ms(0));
        assert_eq!(history(&vector).as_deref(), Some("ShDFdf"), "the initiator half-closed");
        vector.ends.acceptor = Default::default();
        vector.ends.initiator.fin_wait = None;
        (vector.close, vector.t_close) = (Close::Rst(Side::Acceptor), Some(ms(1)));
        assert_eq!(history(&vector).as_deref(), Some("SDdr"));
        vector.evidence = Evidence::FlowRecord;
        assert_eq!(history(&vector), None);
    }
}
