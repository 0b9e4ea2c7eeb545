//! The series of methods' test vectors.

pub(super) fn near(found: f64, wanted: f64, within: f64) {
    assert!((found - wanted).abs() <= within, "{found}, not {wanted}");
}

/// x_i = (7 i^2 + 3 i) mod 31, i = 0..63 (methods D.9).
pub(super) fn by_hand() -> Vec<f64> {
    (0..64u32).map(|i| f64::from((7 * i * i + 3 * i) % 31)).collect()
}

/// The deterministic noise of methods' conventions, less a half.
pub(super) fn lcg(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    std::iter::repeat_with(|| {
        state = (1_103_515_245 * state + 12_345) % (1 << 31);
        state as f64 / (1u64 << 31) as f64 - 0.5
    })
    .take(count)
    .collect()
}

/// Its long-memory series FD(d, n, seed).
pub(super) fn fractional(d: f64, count: usize, seed: u64) -> Vec<f64> {
    let noise = lcg(count, seed);
    let mut psi = vec![1.0];
    for k in 1..count {
        psi.push(psi[k - 1] * (k as f64 - 1.0 + d) / k as f64);
    }
    (0..count).map(|t| (0..=t).map(|k| psi[k] * noise[t - k]).sum()).collect()
}

/// LCG(12345) - 0.5 and FD(0.3, 16384, 12345).
pub(super) fn both() -> [Vec<f64>; 2] {
    [lcg(16_384, 12_345), fractional(0.3, 16_384, 12_345)]
}
