//! Max-min fair shares (methods G.8; Bertsekas and Gallager 1992, section 6.5.2): nobody gets more than it wants, and what is left is
//! divided equally among those who want more.

/// The most that anybody gets of `capacity`: each of `demands` gets this, or what it wants if that is less. All of the capacity
/// where they want less together. Sorts `demands`.
pub fn level(capacity: u64, demands: &mut [u64]) -> u64 {
    demands.sort_unstable();
    let mut left = capacity;
    for (place, demand) in demands.iter().enumerate() {
        let share = left / (demands.len() - place) as u64;
        if *demand > share {
            return share;
        }
        left -= demand;
    }
    capacity
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keshav 1997, section 9.2.1: of 10, demands of 2, 2.6, 4 and 5 get 2, 2.6, 2.7 and 2.7.
    #[test]
    fn the_textbook_example() {
        assert_eq!(level(100, &mut [50, 20, 40, 26]), 27);
    }

    #[test]
    fn corners() {
        assert_eq!(level(100, &mut []), 100);
        assert_eq!(level(100, &mut [30, 70]), 100, "they just fit");
        assert_eq!(level(100, &mut [u64::MAX; 3]), 33);
        assert_eq!(level(100, &mut [0, u64::MAX]), 100);
        assert_eq!(level(2, &mut [u64::MAX; 3]), 0);
    }
}
