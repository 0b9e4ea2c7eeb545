//! Arithmetic of long fat pipes: the window a pipe needs, and what slow start and recovery cost on it (methods I.4; Frost et al. 1998).
//!
//! Counted in round trips; times are these multiplied by the round-trip time. `sender` does the same packet by packet.

/// Bytes of a cell, and those of it that are payload.
const CELL: f64 = 53.0;
const CELL_PAYLOAD: u64 = 48;
/// What a packet has beside the payload of TCP in an AAL5 frame: IP and TCP (40), LLC/SNAP (8; RFC 2684), the trailer (8).
const AAL5_OVERHEAD: u64 = 56;
/// Segments that fast recovery adds to half the window (RFC 5681, section 3.2).
const DUPLICATES: f64 = 3.0;

/// Payload of TCP, in bit/s, that a line of cells carries in AAL5 frames; `cells` is its rate for cells, in bit/s, headers of cells included.
pub fn over_cells(cells: f64, mss_bytes: u64) -> f64 {
    let frame = (mss_bytes + AAL5_OVERHEAD).div_ceil(CELL_PAYLOAD) * CELL_PAYLOAD;
    cells * CELL_PAYLOAD as f64 / CELL * mss_bytes as f64 / frame as f64
}

/// The window in bytes that keeps a pipe of so many bit/s full over `rtt` seconds.
pub fn window_needed(bits_per_second: f64, rtt: f64) -> f64 {
    bits_per_second * rtt / 8.0
}

/// What a window of so many bytes carries, one in each `rtt` seconds, in bit/s.
pub fn window_limit(window_bytes: f64, rtt: f64) -> f64 {
    8.0 * window_bytes / rtt
}

/// Round trips until slow start from one segment has filled a window of so many `segments`; each round trip has `growth` times the segments of the one before:
/// 2 if every segment is acknowledged, 1.5 with delayed acknowledgements.
pub fn slow_start(segments: f64, growth: f64) -> f64 {
    1.0 + libm::log(segments.max(1.0)) / libm::log(growth)
}

/// Round trips of a transfer of so many windows, at least one, after a slow start that took `slow_start` round trips, whose last one is the first window.
pub fn transfer(windows: f64, slow_start: f64) -> f64 {
    slow_start + windows - 1.0
}

/// Round trips from half a window of so many `segments` back to all of it, one segment more in each.
pub fn recovery(segments: f64) -> f64 {
    segments / 2.0
}

/// The same if the window begins three segments above its half, as fast recovery leaves it in the source's count.
pub fn fast_recovery(segments: f64) -> f64 {
    (recovery(segments) - DUPLICATES).max(0.0)
}

/// Share of packets of so many bytes with a bit error, if each bit is wrong with probability `bit_errors`, independently.
pub fn packet_loss(bit_errors: f64, bytes: u64) -> f64 {
    -libm::expm1(8.0 * bytes as f64 * libm::log1p(-bit_errors))
}

/// What congestion avoidance carries at this packet loss, in bit/s: sqrt(3/2 / loss) segments in each round trip (Mathis et al. 1997).
pub fn loss_limit(loss: f64, mss_bytes: u64, rtt: f64) -> f64 {
    8.0 * mss_bytes as f64 * libm::sqrt(1.5 / loss) / rtt
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: f64 = 0.534;
    const WINDOW: f64 = 10.0 * 1_048_576.0;

    #[track_caller]
    fn near(found: f64, wanted: f64, by: f64) {
        assert!((found - wanted).abs() <= by, "{found}, not {wanted}");
    }

    /// Every digit of methods I.4.
    #[test]
    fn published_cases() {
        near(over_cells(599.04, 9_140), 538.052_8, 5e-5);
        near(over_cells(149.76, 9_140), 134.513_2, 5e-5);
        let usable = over_cells(599.04e6, 9_140);
        near(usable * RTT / 1e6, 287.320, 5e-4);
        near(window_needed(usable, RTT) / 1_048_576.0, 34.251, 5e-4);
        near(window_limit(WINDOW, RTT) / 1e6, 157.090, 5e-4);
        let segments = (WINDOW / 9_140.0).ceil();
        assert_eq!(segments, 1_148.0);
        let start = slow_start(segments, 1.5);
        near(start, 18.377_02, 5e-6);
        near(start * RTT, 9.813_33, 5e-6);
        near(slow_start(segments, 2.0), 11.16, 5e-3);
        let rounds = transfer(102.0, start);
        near(rounds, 119.377, 5e-4);
        near(rounds * RTT, 63.747, 5e-4);
        near(102.0 / rounds, 0.854_44, 5e-6);
        let packets = (WINDOW / 9_180.0).ceil();
        near(recovery(packets), 571.5, 0.0);
        near(recovery(packets) * RTT, 305.18, 5e-3);
        near(fast_recovery(packets) * RTT, 303.58, 5e-3);
        // The round-trip times that the other published recovery times imply: 22.18 s with, 0.057 s with fast recovery.
        near(22.18 / fast_recovery(packets) * 1e3, 39.01, 5e-3);
        near(0.057 / fast_recovery(packets) * 1e3, 0.100_3, 5e-5);
    }

    #[test]
    fn errors_of_bits_are_losses_of_packets() {
        near(packet_loss(0.5, 1), 1.0 - 1.0 / 256.0, 1e-15);
        near(packet_loss(1e-9, 9_180) / 7.344e-5, 1.0, 1e-4);
        near(packet_loss(0.0, 9_180), 0.0, 0.0);
        near(loss_limit(1.5e-4, 1_000, 0.1), 8e6, 1e-3);
    }
}
