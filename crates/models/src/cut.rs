//! A part of a workload, cut out of it as a trace is (methods B.5): connections and flows of datagrams.

use flowloom_core::play::TraceCut;
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{ConnectionVector, Protocol};

use super::parts::{Borders, parts};

/// `vector` as the part `cut` has it, its start counted from where the part begins; `None` if nothing of it passes there. Of a flow of
/// datagrams these are the datagrams that are sent meanwhile. Where a connection states no round-trip time it is `unknown_rtt`.
pub fn cut_out(vector: ConnectionVector, cut: TraceCut, unknown_rtt: Duration) -> Option<ConnectionVector> {
    if vector.protocol == Protocol::Tcp {
        return cut.cut(vector, unknown_rtt);
    }
    let [begin, end] = [cut.after(), cut.end()].map(|time| Time::ZERO + time);
    let borders = Borders::every_and_at(cut.end(), [cut.after()]);
    let mut inside = parts(vector, borders).into_iter().filter(|part| part.start >= begin && part.start < end);
    inside.next().map(|part| ConnectionVector { start: part.start.before(cut.after()), ..part })
}

#[cfg(test)]
mod tests {
    use flowloom_core::play::ReplayModel;

    use super::*;
    use crate::generate::steady::Steady;

    #[test]
    fn a_flow_of_datagrams_keeps_what_is_sent_meanwhile() {
        let model: Steady = serde_json::from_str(r#"{ "flows": 1, "rate": "80kbit" }"#).unwrap();
        let secs = Duration::from_secs;
        let sent = |vectors: &[ConnectionVector]| -> u64 {
            vectors.iter().flat_map(|vector| &vector.adus).map(|adu| u64::from(adu.packets.unwrap_or(1))).sum()
        };
        let whole: Vec<ConnectionVector> = model.constant(1, secs(100)).collect();
        let cut = TraceCut::new(secs(60), secs(30), ReplayModel::AIKAT_2010);
        let inside: Vec<ConnectionVector> =
            whole.iter().filter_map(|flow| cut_out(flow.clone(), cut, secs(1))).collect();
        assert!(sent(&whole).abs_diff(1_000) <= 1 && sent(&inside).abs_diff(300) <= 1, "{}", sent(&inside));
        assert!(inside.iter().all(|flow| flow.start < Time::ZERO + secs(30)));
        let end = inside.iter().map(|flow| flow.start + flow.data_span().unwrap().last).max().unwrap();
        assert!(end < Time::ZERO + secs(30) && end > Time::ZERO + secs(29), "{end:?}");
    }
}
