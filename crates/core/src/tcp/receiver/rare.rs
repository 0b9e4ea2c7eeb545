//! What few connections need at any time, behind one pointer.

use super::OutOfOrder;
use super::buffer::Buffer;

/// State that is allocated while it is needed.
#[derive(Clone, Debug, Default)]
pub(super) struct Rare(Option<Box<Parts>>);

#[derive(Clone, Debug, Default)]
struct Parts {
    /// Data that arrived above a hole, and what was received twice.
    ahead: Option<OutOfOrder>,
    /// A receive buffer that may limit the window.
    buffer: Option<Buffer>,
    /// How far a program reads that does not read all.
    stop: Option<Stop>,
}

/// The window of a program that does not read all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stop {
    /// One past the last offset that the window may reach.
    pub(super) end: u64,
    /// One past the last offset that the other end was told.
    pub(super) told: u64,
}

impl Parts {
    fn is_empty(&self) -> bool {
        self.ahead.is_none() && self.buffer.is_none() && self.stop.is_none()
    }
}

impl Rare {
    /// What arrived ahead of a hole or twice, if anything did.
    pub(super) fn ahead(&self) -> Option<&OutOfOrder> {
        self.0.as_ref()?.ahead.as_ref()
    }

    /// Data above a hole, mutably.
    pub(super) fn ahead_mut(&mut self) -> Option<&mut OutOfOrder> {
        self.0.as_mut()?.ahead.as_mut()
    }

    /// The same, which begins now if there was none.
    pub(super) fn ahead_or_new(&mut self) -> &mut OutOfOrder {
        self.0.get_or_insert_default().ahead.get_or_insert_default()
    }

    /// Forgets what arrived ahead of a hole or twice.
    pub(super) fn clear_ahead(&mut self) {
        self.set(None, |parts| &mut parts.ahead);
    }

    /// The receive buffer, if it may limit the window.
    pub(super) fn buffer(&self) -> Option<&Buffer> {
        self.0.as_ref()?.buffer.as_ref()
    }

    /// The receive buffer, mutably.
    pub(super) fn buffer_mut(&mut self) -> Option<&mut Buffer> {
        self.0.as_mut()?.buffer.as_mut()
    }

    /// Sets the receive buffer, or forgets it.
    pub(super) fn set_buffer(&mut self, buffer: Option<Buffer>) {
        self.set(buffer, |parts| &mut parts.buffer);
    }

    /// How far the program reads, if not all.
    pub(super) fn stop(&self) -> Option<Stop> {
        self.0.as_ref()?.stop
    }

    /// Sets how far the program reads.
    pub(super) fn set_stop(&mut self, stop: Option<Stop>) {
        self.set(stop, |parts| &mut parts.stop);
    }

    /// Sets one of the parts; nothing is held while there is none.
    fn set<T>(&mut self, value: Option<T>, part: impl FnOnce(&mut Parts) -> &mut Option<T>) {
        if value.is_some() || self.0.is_some() {
            let parts = self.0.get_or_insert_default();
            *part(parts) = value;
            if parts.is_empty() {
                self.0 = None;
            }
        }
    }
}
