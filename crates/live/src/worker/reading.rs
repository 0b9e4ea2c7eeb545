//! The program of an end that pauses while it reads (methods A.13.12), over a kernel's receive buffer.
//!
//! What is not read stays in the buffer, and when that is full the kernel closes the window. So the end has a buffer of about its vector's
//! window, and stops reading that far before the byte of a pause. What a buffer holds depends on the sizes of packets: the window closes
//! near that byte, not at it.

use std::io;

use flowloom_core::play::{Reader, ReplayModel};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{ConnectionVector, Side};
use flowloom_sim::limits;

use super::socket::{Received, Socket};

/// A buffer is not smaller: what packets take beside their payload leaves no room for a few segments otherwise.
const LEAST_BUFFER: u32 = 16 << 10;

/// Where nothing has come for so long the window is closed, though the buffer took less than was expected.
const STALL: Duration = Duration::from_secs(1);

/// An end that pauses, from its start on.
#[derive(Debug)]
pub struct Reading {
    reader: Box<Reader>,
    /// Payload bytes that its buffer is to hold, and of a full segment.
    window: u32,
    mss: u64,
    /// Bytes that were read, and those that have come.
    taken: u64,
    arrived: u64,
    last_arrival: Time,
    /// The peer has closed, and all it sent was read.
    is_over: bool,
}

impl Reading {
    /// The end `side` of the connection of `vector`; `None` if it never pauses.
    pub fn new(vector: &ConnectionVector, side: Side, model: &ReplayModel) -> Option<Reading> {
        let limits = limits(vector, side);
        Some(Reading {
            reader: Reader::new(vector, side, model)?,
            window: limits.max_window.max(LEAST_BUFFER),
            mss: limits.mss.into(),
            taken: 0,
            arrived: 0,
            last_arrival: Time::ZERO,
            is_over: false,
        })
    }

    /// Gives the socket its receive buffer. Before anything arrives.
    pub fn begin(&mut self, socket: &Socket) {
        // Of a kernel that will not have it, what it has counts.
        let _ = socket.set_receive_buffer(self.window);
        self.window = socket.receive_buffer().unwrap_or(self.window);
    }

    /// Reads as far as it may; bytes that have come since the last call, read or not.
    ///
    /// # Errors
    /// The connection's.
    pub fn receive(&mut self, socket: &Socket, now: Time) -> io::Result<Received> {
        loop {
            let most = self.stop().map_or(u64::MAX, |stop| stop.saturating_sub(self.taken));
            match if most > 0 { socket.discard_at_most(most)? } else { Received::Nothing } {
                Received::Bytes(bytes) => self.taken += bytes,
                Received::Nothing => break,
                Received::End => {
                    self.is_over = true;
                    break;
                }
            }
        }
        let arrived = self.taken + socket.unread()?;
        let news = arrived - std::mem::replace(&mut self.arrived, arrived);
        if news > 0 {
            self.last_arrival = now;
        }
        if self.reader.window_end().is_some_and(|end| arrived + self.mss > end) {
            self.reader.handle_closed(now);
        }
        Ok(if news > 0 { Received::Bytes(news) } else { Received::Nothing })
    }

    /// Reads no further than this before the current pause is over.
    fn stop(&self) -> Option<u64> {
        self.reader.window_end().map(|end| end.saturating_sub(self.window.into()))
    }

    /// Whether the peer has closed, and all it sent was read.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether something has come that it does not read yet.
    pub fn has_stopped(&self) -> bool {
        self.arrived > self.taken
    }

    /// When [`Self::handle_timeout`] has something to do.
    pub fn next_timeout(&self) -> Option<Time> {
        self.reader.next_timeout().or_else(|| self.has_stopped().then(|| self.last_arrival + STALL))
    }

    /// Whether the current pause is over: then [`Self::receive`] reads on.
    pub fn handle_timeout(&mut self, now: Time) -> bool {
        if self.reader.next_timeout().is_none() && self.next_timeout().is_some_and(|due| due <= now) {
            self.reader.handle_closed(self.last_arrival);
        }
        self.reader.handle_timeout(now)
    }
}
