//! Sequence numbers as numbers: unwrapped to 64 bits (methods A.1.5).
//!
//! The low 32 bits of an unwrapped number are the number on the wire. The first number of a direction is placed at
//! 2^32 and above, so that late segments from before it still have room below.

/// The unwrapped form of the first number seen of a direction.
pub(super) const fn first(wire: u32) -> u64 {
    (1 << 32) + wire as u64
}

/// `wire` unwrapped to the value nearest to `near`.
pub(super) const fn unwrap(wire: u32, near: u64) -> u64 {
    near.wrapping_add_signed(wire.wrapping_sub(near as u32) as i32 as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap_and_come_back() {
        let near = first(u32::MAX - 10);
        assert_eq!(unwrap(5, near), near + 16, "past the wrap");
        assert_eq!(unwrap(u32::MAX - 20, near + 16), near - 10, "back before it");
        assert_eq!(unwrap(7, first(1000)), first(7), "below the first number");
        assert_eq!(unwrap(u32::MAX, first(0)), first(0) - 1, "below a first number of zero");
    }
}
