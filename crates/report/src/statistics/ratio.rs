//! The ratio of two means over pairs: what a run came to by its regenerations (methods E.5; Crane and Iglehart 1974).

use super::student::Estimate;

/// mean(y) / mean(t) of independent pairs (y, t), such as (area below the queue length, length) of cycles, with its standard error;
/// biased by some 1 / pairs. `None` of fewer than two pairs, or if all `t` add up to zero.
pub fn ratio_estimate(pairs: &[(f64, f64)]) -> Option<Estimate> {
    let n = pairs.len() as f64;
    let (y, t) = pairs.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
    if pairs.len() < 2 || t == 0.0 {
        return None;
    }
    let value = y / t;
    let squares: f64 = pairs.iter().map(|(y, t)| (y - value * t) * (y - value * t)).sum();
    Some(Estimate { value, standard_error: (squares / (n - 1.0) / n).sqrt() / (t / n).abs(), degrees: n - 1.0 })
}

#[cfg(test)]
mod tests {
    use flowloom_core::rng::{Purpose, Stream};

    use super::super::vectors::assert_near;
    use super::*;

    #[test]
    fn by_hand() {
        // Ratio 12 / 6; residuals 1, -1, 0.
        let found = ratio_estimate(&[(3.0, 1.0), (3.0, 2.0), (6.0, 3.0)]).unwrap();
        assert_eq!((found.value, found.degrees), (2.0, 2.0));
        assert_near(found.standard_error, (1.0_f64 / 3.0).sqrt() / 2.0, 1e-15);
        assert_eq!(ratio_estimate(&[(1.0, 1.0)]), None);
        assert_eq!(ratio_estimate(&[(1.0, 0.0), (2.0, 0.0)]), None);
    }

    /// Cycles of M/M/1 at a load of 0.5: the mean number in the system is 1.
    #[test]
    fn cycles_of_a_queue_have_its_mean() {
        let mut held = 0.0;
        for run in 0..100 {
            let mut stream = Stream::new(3, Purpose::Arrivals, run);
            let cycles: Vec<(f64, f64)> = (0..400)
                .map(|_| {
                    // From one arrival at the empty system to the next.
                    let (mut waiting, mut area, mut length) = (1u32, 0.0, 0.0);
                    loop {
                        let to_next = stream.exponential(if waiting > 0 { 2.0 / 3.0 } else { 2.0 });
                        area += f64::from(waiting) * to_next;
                        length += to_next;
                        match waiting {
                            0 => break (area, length),
                            _ if stream.uniform() < 1.0 / 3.0 => waiting += 1,
                            _ => waiting -= 1,
                        }
                    }
                })
                .collect();
            held += f64::from(u8::from(ratio_estimate(&cycles).unwrap().interval(0.95).holds(1.0)));
        }
        assert!((85.0..=99.0).contains(&held), "{held} of 100");
    }
}
