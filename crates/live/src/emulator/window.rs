//! What an end may have sent to it at once: the receive window that a vector says, instead of the kernel's.
//!
//! Kernels grow and round windows as they please and keep no clamp (in Linux 6.18 a clamp set before the connection is gone
//! with the first window update), so what the other end sees is rewritten on its way: the field of every segment, and in SYNs the
//! scale by which later fields are to be read. What the kernel says is never exceeded, and no edge of a window ever moves back
//! that the kernel did not move back.

use flowloom_core::tcp::shift_for;

/// The receive window of one end as the other end is to see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The most.
    most: u32,
    /// The shift that the kernel offered, and the one that was offered in its place; `None` without the option.
    offered: Option<(u8, u8)>,
}

impl Window {
    /// At most so many bytes. Beyond 65,535 they are exact if they are a multiple of the scale that it takes to express them, as
    /// what came from a header is, and if the kernel offers a scale.
    pub fn of_at_most(most: u32) -> Window {
        Window { most, offered: None }
    }

    /// The kernel's SYN offers this shift: the one to offer in its place. It is the smallest that can express the window, and
    /// no larger than the kernel's, so that no field is rounded.
    pub fn offer(&mut self, shift: Option<u8>) -> Option<u8> {
        self.offered = shift.map(|shift| (shift, shift_for(self.most).min(shift)));
        self.offered()
    }

    /// The shift that was offered in place of the kernel's; `None` if it offers none.
    pub fn offered(&self) -> Option<u8> {
        self.offered.map(|(_, ours)| ours)
    }

    /// The field to send in place of the kernel's, and the shift by which the other end reads it. Fields of SYNs are never
    /// scaled, others if both ends offered it.
    pub fn field(&self, field: u16, is_syn: bool, is_scaled: bool) -> (u16, u8) {
        let (theirs, ours) = self.offered.filter(|_| is_scaled && !is_syn).unwrap_or_default();
        let window = (u32::from(field) << theirs).min(self.most) >> ours;
        (window.min(u32::from(u16::MAX)) as u16, ours)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The window as the other end sees it, with a kernel that offers this shift.
    fn seen(most: u32, shift: Option<u8>, window: u32) -> u32 {
        let mut rewritten = Window::of_at_most(most);
        rewritten.offer(shift);
        let (field, ours) = rewritten.field((window >> shift.unwrap_or(0)) as u16, false, shift.is_some());
        u32::from(field) << ours
    }

    #[test]
    fn windows_are_what_the_vector_says_to_the_byte() {
        for shift in [None, Some(0), Some(7), Some(10)] {
            let largest = u32::from(u16::MAX) << shift.unwrap_or(0);
            for most in [8_192, 16_384, 65_535] {
                assert_eq!(seen(most, shift, largest), most.min(largest), "{shift:?}");
            }
        }
        // As they came from headers: multiples of the scale that they take.
        for most in [65_536, 131_070, 1 << 20, 65_535 << 7, 6_291_456, 65_535 << 10] {
            assert_eq!(seen(most, Some(10), 65_535 << 10), most);
        }
        assert_eq!(seen(1 << 20, None, 65_535), 65_535, "what no option announces cannot be said");
        assert_eq!(seen(1 << 20, Some(3), 65_535 << 3), 65_535 << 3, "nor what the kernel does not allow");
    }

    #[test]
    fn the_kernels_window_counts_where_it_is_smaller() {
        for window in [0, 1 << 10, 5 << 10, 8 << 10, 63 << 10] {
            assert_eq!(seen(65_535, Some(10), window), window);
            assert_eq!(seen(8_192, Some(10), window), window.min(8_192));
        }
    }

    #[test]
    fn windows_of_syns_are_not_scaled() {
        let mut window = Window::of_at_most(8_192);
        assert_eq!(window.offer(Some(7)), Some(0));
        assert_eq!(window.field(64_240, true, true), (8_192, 0));
        let mut large = Window::of_at_most(1 << 20);
        assert_eq!(large.offer(Some(10)), Some(5));
        assert_eq!(large.field(64_240, true, true), (64_240, 0));
        assert_eq!(large.field(64_240, false, false), (64_240, 0), "the other end does not scale");
    }
}
