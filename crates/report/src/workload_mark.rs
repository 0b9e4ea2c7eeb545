//! Whether two runs replayed the same workload: what makes differences between them due to something else (methods L.5).

use flowloom_store::run_folder::ConnectionRow;

/// A fingerprint of the connections that a run was to make, whatever the order in which they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkloadMark {
    /// How many.
    pub connections: u64,
    sum: u64,
}

impl WorkloadMark {
    /// Takes a connection of the workload: its number, scheduled start, side, pattern and sizes, nothing that the run decided.
    pub fn add(&mut self, row: &ConnectionRow) {
        let fields = [
            row.id,
            row.start.as_nanos(),
            row.initiator_bytes,
            row.acceptor_bytes,
            (row.pattern as u64) << 1 | row.initiator_side as u64,
        ];
        self.connections += 1;
        // A sum does not depend on the order.
        self.sum = self.sum.wrapping_add(fields.into_iter().fold(0, |hash, field| mixed(hash ^ field)));
    }
}

impl WorkloadMark {
    /// Whether replications replay one draw of a workload: what differs between them is the randomness of queues, losses and hosts alone.
    /// Without a workload there are only sources, which draw their flows.
    pub fn is_one_draw(marks: impl IntoIterator<Item = WorkloadMark>) -> bool {
        let mut marks = marks.into_iter();
        let Some(first) = marks.next() else { return false };
        let mut others = marks.peekable();
        first.connections > 0 && others.peek().is_some() && others.all(|mark| mark == first)
    }
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood 2014), which spreads every bit over all.
fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_of_one_workload_are_one_draw() {
        let of = |connections: &[u64]| {
            WorkloadMark::is_one_draw(connections.iter().map(|&connections| WorkloadMark { connections, sum: 7 }))
        };
        assert!(of(&[3, 3, 3]));
        assert!(!of(&[3, 3, 4]), "one has another");
        assert!(!of(&[3]) && !of(&[]));
        assert!(!of(&[0, 0]), "sources draw their own flows");
    }
}
