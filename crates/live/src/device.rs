//! Where the packets of a side come out of its kernel, and go back in.

use std::io;
use std::os::fd::AsFd;

/// Whole IP packets of one side, without a header of a lower layer. Its descriptor becomes readable when there is one.
pub trait Device: AsFd {
    /// Takes the next packet that the side sends, and says how long it is; `None` if there is none now. What does not fit in
    /// `into` is lost: an MTU of room is enough.
    ///
    /// # Errors
    /// The device is gone, or down.
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>>;

    /// Hands a packet to the side; false if the kernel has no room for it now.
    ///
    /// # Errors
    /// The device is gone, or down, or this is no IP packet.
    fn write(&mut self, packet: &[u8]) -> io::Result<bool>;
}
