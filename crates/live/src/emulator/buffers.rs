//! The bytes of packets on their way: a buffer for each handle, used again by whichever packet has the handle next.
//!
//! Nothing is allocated per packet: a device reads into a buffer that then changes places with the one that the packet's handle had.

use flowloom_sim::Handle;

/// Room for a packet, and the packet in it.
#[derive(Debug, Default)]
pub struct Buffer {
    room: Box<[u8]>,
    length: usize,
}

impl Buffer {
    /// An empty buffer with room for so many bytes.
    pub fn new(room: usize) -> Buffer {
        Buffer { room: vec![0; room].into(), length: 0 }
    }

    /// All of its room, to be filled; [`Self::set_length`] then says how far.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.room
    }

    /// Its first `length` bytes are the packet.
    pub fn set_length(&mut self, length: usize) {
        self.length = length.min(self.room.len());
    }

    /// The packet.
    pub fn packet(&self) -> &[u8] {
        &self.room[..self.length]
    }

    /// The packet, to be changed.
    pub fn packet_mut(&mut self) -> &mut [u8] {
        &mut self.room[..self.length]
    }
}

/// Buffers by handle, and some that are free.
#[derive(Debug)]
pub struct Buffers {
    by_handle: Vec<Buffer>,
    free: Vec<Buffer>,
    room: usize,
}

impl Buffers {
    /// None yet; those to come have this much room.
    pub fn new(room: usize) -> Buffers {
        Buffers { by_handle: Vec::new(), free: Vec::new(), room }
    }

    /// A free buffer.
    pub fn free(&mut self) -> Buffer {
        self.free.pop().unwrap_or_else(|| Buffer::new(self.room))
    }

    /// Takes back a buffer whose packet is gone.
    pub fn give_back(&mut self, buffer: Buffer) {
        self.free.push(buffer);
    }

    /// Keeps the packet in `buffer` under its handle, and leaves a buffer there that is free.
    pub fn keep(&mut self, handle: Handle, buffer: &mut Buffer) {
        std::mem::swap(self.of(handle), buffer);
    }

    /// Keeps a copy of `packet` under its handle.
    pub fn keep_copy(&mut self, handle: Handle, packet: &[u8]) {
        let buffer = self.of(handle);
        buffer.room[..packet.len()].copy_from_slice(packet);
        buffer.length = packet.len();
    }

    /// The buffer of a handle.
    pub fn of(&mut self, handle: Handle) -> &mut Buffer {
        let at = handle.index() as usize;
        while self.by_handle.len() <= at {
            let buffer = self.free();
            self.by_handle.push(buffer);
        }
        &mut self.by_handle[at]
    }

    /// Takes the packet of a handle out.
    pub fn take(&mut self, handle: Handle) -> Buffer {
        let free = self.free();
        std::mem::replace(self.of(handle), free)
    }

    /// How many buffers there are.
    pub fn count(&self) -> usize {
        self.by_handle.len() + self.free.len()
    }
}
