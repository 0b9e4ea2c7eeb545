//! Zeek's `conn_state` of a vector: its summary of how a connection opened and ended.

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
    if vector.evidence == Evidence::VectorFile {
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
