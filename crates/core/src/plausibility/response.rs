//! Response functions: the mean congestion window, in segments, that an algorithm reaches at a given rate of loss events.
//!
//! | function | source |
//! |---|---|
//! | [`standard_window`] | RFC 3649 section 5, from which RFC 9438 takes the Reno column of its tables |
//! | [`mathis_window`] | Mathis, Semke, Mahdavi and Ott, CCR 27(3), 1997 |
//! | [`pftk_window`] | Padhye, Firoiu, Towsley and Kurose, ToN 8(2), 2000, equation 33 |
//! | [`cubic_window`], [`cubic_response`] | RFC 9438 section 5.1, equation 6 and tables 1 and 2 |
//! | [`dctcp_step_window`] | Alizadeh et al., SIGCOMM 2010, section 3.3: the marked share is sqrt(2 / W) |
//! | [`dctcp_random_window`] | RFC 8257 section 3.3 in balance: a segment gained equals alpha / 2 of the window lost |
//! | [`dctcp_least_window`] | the same with the round trips in which a window does not grow, over a stretch that ends |
//!
//! A rate of loss events `p` counts events per data packet sent, above 0. Square roots are exact in IEEE arithmetic, so that every platform
//! computes the same numbers.

/// CUBIC's constant C in segments / s^3 (RFC 9438 section 5).
pub const CUBIC_C: f64 = 0.4;

/// What CUBIC keeps of its window after a loss event (RFC 9438 section 4.6).
const CUBIC_BETA: f64 = 0.7;

/// The mean window of standard TCP as RFC 3649 rounds it: 1.2 / sqrt(p).
pub fn standard_window(p: f64) -> f64 {
    1.2 / p.sqrt()
}

/// The mean window of Reno without timeouts: sqrt(3 / (2 b p)), where an acknowledgement that counts as one segment stands for `b` of them.
pub fn mathis_window(p: f64, b: f64) -> f64 {
    (1.5 / (b * p)).sqrt()
}

/// The mean window of Reno with timeouts of `timeout` at a round-trip time `rtt`, both in seconds.
pub fn pftk_window(p: f64, rtt: f64, timeout: f64, b: f64) -> f64 {
    with_timeouts(mathis_window(p, b), p, rtt, timeout, b)
}

/// A mean window without timeouts, reduced for the share of time that PFTK's Reno spends waiting for timeouts.
pub fn with_timeouts(window: f64, p: f64, rtt: f64, timeout: f64, b: f64) -> f64 {
    let chance = (3.0 * (3.0 * b * p / 8.0).sqrt()).min(1.0);
    1.0 / (1.0 / window + timeout / rtt * chance * p * (1.0 + 32.0 * p * p))
}

/// The mean window of CUBIC's own growth, at a round-trip time in seconds: (C (3 + beta) / (4 (1 - beta)))^(1/4) (rtt / p)^(3/4).
pub fn cubic_window(p: f64, rtt: f64, c: f64) -> f64 {
    let fourth_root = |x: f64| x.sqrt().sqrt();
    let spacing = (rtt / p).sqrt();
    fourth_root(c * (3.0 + CUBIC_BETA) / (4.0 * (1.0 - CUBIC_BETA))) * spacing * spacing.sqrt()
}

/// The mean window of CUBIC: the larger of its own growth and its Reno-friendly growth.
pub fn cubic_response(p: f64, rtt: f64, c: f64) -> f64 {
    cubic_window(p, rtt, c).max(standard_window(p))
}

/// The mean window of DCTCP where a queue marks every packet above a threshold and none below; `p` is the share of marked packets.
pub fn dctcp_step_window(p: f64) -> f64 {
    2.0 / (p * p)
}

/// The mean window of DCTCP where marks come at random, in every round trip.
pub fn dctcp_random_window(p: f64) -> f64 {
    2.0 / p
}

/// The smallest mean window of DCTCP with a loss event in every `packets` data packets, over `events` of them in a row, where an event
/// takes `alpha` / 2 of the window and an acknowledgement that counts as one segment stands for `b`.
///
/// A window of W has an event every `packets` / W round trips. In the first of these the sender reduces it (RFC 3168 section 6.1.2) and it
/// does not grow; in the others it grows by a segment in each `b`, whole ones, so that half a segment is lost at each event:
/// (`packets` / W - 1) / b - 1 / 2. That is at most what an event takes, alpha W / 2, and its part of what the window gained from the
/// beginning of the stretch, from nothing, to its end: W / `events`.
pub fn dctcp_least_window(packets: f64, events: f64, alpha: f64, b: f64) -> f64 {
    let (taken, lost) = (alpha / 2.0 + 1.0 / events, 1.0 / b + 0.5);
    ((lost * lost + 4.0 * taken * packets / b).sqrt() - lost) / (2.0 * taken)
}

/// The mean of Alpha over so many `round_trips`, in which a share `marked` of the packets is marked, beyond that share: what is left of an
/// Alpha of `first` at their beginning, of which a round trip takes the share `gain` (RFC 8257 section 3.3, item 6).
pub fn dctcp_excess(first: f64, gain: f64, round_trips: u64) -> f64 {
    let round_trips = round_trips.max(1);
    first * (1.0 - dctcp_kept(gain, round_trips)) / (gain * round_trips as f64)
}

/// What is left of Alpha after so many `round_trips` without marks. Products alone, so that every platform computes the same number.
pub fn dctcp_kept(gain: f64, mut round_trips: u64) -> f64 {
    let (mut kept, mut power) = (1.0, 1.0 - gain);
    while round_trips > 0 {
        if round_trips % 2 == 1 {
            kept *= power;
        }
        power *= power;
        round_trips /= 2;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 1e-6, "{value} instead of {expected}");
    }

    /// Loss rate, Reno, and CUBIC with C = 0.04, 0.4 and 4, as the RFC prints them.
    type Line = (f64, f64, [f64; 3]);

    fn reproduces(rtt: f64, table: &[Line]) {
        for &(p, reno, cubic) in table {
            assert_eq!(standard_window(p).round(), reno, "p = {p}");
            for (c, printed) in [0.04, CUBIC_C, 4.0].into_iter().zip(cubic) {
                assert_eq!(cubic_response(p, rtt, c).round(), printed, "p = {p}, C = {c}");
            }
        }
    }

    #[test]
    fn rfc_9438_table_1_is_reproduced() {
        reproduces(
            0.1,
            &[
                (1e-2, 12.0, [12.0, 12.0, 12.0]),
                (1e-3, 38.0, [38.0, 38.0, 59.0]),
                (1e-4, 120.0, [120.0, 187.0, 333.0]),
                (1e-5, 379.0, [593.0, 1_054.0, 1_874.0]),
                (1e-6, 1_200.0, [3_332.0, 5_926.0, 10_538.0]),
                (1e-7, 3_795.0, [18_740.0, 33_325.0, 59_261.0]),
                (1e-8, 12_000.0, [105_383.0, 187_400.0, 333_250.0]),
            ],
        );
    }

    #[test]
    fn rfc_9438_table_2_is_reproduced() {
        reproduces(
            0.01,
            &[
                (1e-2, 12.0, [12.0, 12.0, 12.0]),
                (1e-3, 38.0, [38.0, 38.0, 38.0]),
                (1e-4, 120.0, [120.0, 120.0, 120.0]),
                (1e-5, 379.0, [379.0, 379.0, 379.0]),
                (1e-6, 1_200.0, [1_200.0, 1_200.0, 1_874.0]),
                (1e-7, 3_795.0, [3_795.0, 5_926.0, 10_538.0]),
                (1e-8, 12_000.0, [18_740.0, 33_325.0, 59_261.0]),
            ],
        );
    }

    /// sqrt(1.5 / 0.01) and, with b = 2, sqrt(0.75 / 0.01).
    #[test]
    fn mathis_equals_hand_calculation() {
        near(mathis_window(0.01, 1.0), 12.247_448_714);
        near(mathis_window(0.01, 2.0), 8.660_254_038);
    }

    /// p = 0.01, b = 2, RTT 0.1 s, T0 0.3 s: sqrt(2 b p / 3) = 0.115470054; 3 sqrt(3 b p / 8) = 0.259807621; times T0/RTT = 3 and
    /// p (1 + 32 p^2) = 0.010032 gives 0.007819170. 1 / 0.123289224 = 8.111009. At p = 0.5 the chance is cut to 1: b = 1, RTT = T0:
    /// sqrt(1/3) = 0.577350269 and 0.5 * 9 = 4.5.
    #[test]
    fn pftk_equals_hand_calculation() {
        near(pftk_window(0.01, 0.1, 0.3, 2.0), 8.111_009_0);
        near(pftk_window(0.5, 0.2, 0.2, 1.0), 1.0 / 5.077_350_269);
    }

    #[test]
    fn timeouts_vanish_at_low_loss() {
        let p = 1e-6;
        assert!(pftk_window(p, 0.1, 0.3, 1.0) / mathis_window(p, 1.0) > 0.999);
    }

    /// An event in every 100 packets that takes 1/20 of the window: 1.5 lost, 0.06 taken with 100 events in a row, (sqrt(2.25 + 24) - 1.5) / 0.12.
    /// There 100 / W - 1 segments are gained, less a half. Where acknowledgements of two segments count as one it is half of that.
    #[test]
    fn dctcp_in_balance_equals_hand_calculation() {
        let window = dctcp_least_window(100.0, 100.0, 0.1, 1.0);
        near(window, 30.195_628_1);
        near(100.0 / window - 1.0 - 0.5, 0.05 * window + window / 100.0);
        let slower = dctcp_least_window(100.0, 100.0, 0.1, 2.0);
        near((100.0 / slower - 1.0) / 2.0 - 0.5, 0.06 * slower);
        // Reductions of nothing: the window takes all packets between two events but for its own and half of one.
        near(dctcp_least_window(100.0, 1e9, 0.0, 1.0), 100.0 / 1.5);
    }

    /// (15/16)^16 = 0.356074; the mean over 16 round trips is 1 - that, of 1; over none it is all.
    #[test]
    fn alpha_is_forgotten_at_its_gain() {
        near(dctcp_kept(1.0 / 16.0, 16), 0.356_074_2);
        near(dctcp_kept(1.0 / 16.0, 3), (15.0f64 / 16.0).powi(3));
        near(dctcp_excess(1.0, 1.0 / 16.0, 16), 0.643_925_8);
        near(dctcp_excess(0.5, 1.0 / 16.0, 1), 0.5);
    }

    /// A window of 20 segments has marks on sqrt(2 / 20) of its packets; in balance with random marks, on 2 / 20.
    #[test]
    fn dctcp_windows_equal_the_papers() {
        near(dctcp_step_window(0.316_227_766), 20.0);
        near(dctcp_random_window(0.1), 20.0);
    }
}
