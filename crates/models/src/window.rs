//! Window models (methods B.4): what each end advertised, or the same for all.

use flowloom_core::workload::{ConnectionVector, Protocol, Side};

/// The largest shift of the window scale option (RFC 7323, section 2.3).
const MOST_SHIFT: u8 = 14;

/// The largest window that can be advertised.
pub const MOST_WINDOW: u64 = (u16::MAX as u64) << MOST_SHIFT;

/// Both ends of `vector` advertise `bytes` at most, at most [`MOST_WINDOW`]. Flows of datagrams have no window.
pub fn fix_windows(vector: &mut ConnectionVector, bytes: u64) {
    if vector.protocol != Protocol::Tcp {
        return;
    }
    let bytes = bytes.min(MOST_WINDOW);
    let shift = (0..MOST_SHIFT).find(|shift| bytes >> shift <= u64::from(u16::MAX)).unwrap_or(MOST_SHIFT);
    for side in Side::BOTH {
        let end = &mut vector.ends[side];
        // As its SYN says now, whether or not it was seen.
        (end.syn_seen, end.window_scale) = (true, Some(shift));
        (end.max_window, end.max_window_unscaled) = (Some(bytes), u16::try_from(bytes >> shift).ok());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowloom_core::workload::Evidence;

    #[test]
    fn a_fixed_window_is_that_of_every_connection() {
        for evidence in [Evidence::Packets, Evidence::VectorFile, Evidence::FlowRecord, Evidence::Model] {
            for bytes in [8 << 10, 16 << 10, 64 << 10, 1, 65_535, 1 << 20] {
                // Nothing was known of its windows.
                let mut vector = ConnectionVector { evidence, ..ConnectionVector::default() };
                vector.ends.initiator.max_window = Some(9);
                fix_windows(&mut vector, bytes);
                assert_eq!(Side::BOTH.map(|side| vector.window(side)), [Some(bytes); 2], "{evidence:?}");
                let end = vector.ends.acceptor;
                let header = u64::from(end.max_window_unscaled.unwrap()) << end.window_scale.unwrap();
                assert_eq!(header, bytes, "a header can say it");
            }
        }
    }

    #[test]
    fn no_window_is_larger_than_a_header_can_say() {
        let mut vector = ConnectionVector::default();
        fix_windows(&mut vector, u64::MAX);
        assert_eq!(vector.window(Side::Initiator), Some(65_535 << 14));
    }
}
