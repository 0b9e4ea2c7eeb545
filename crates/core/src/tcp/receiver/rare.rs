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
        match &mut self.0 {
            Some(parts) if parts.buffer.is_some() => parts.ahead = None,
            parts => *parts = None,
        }
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
        match &mut self.0 {
            Some(parts) if buffer.is_some() || parts.ahead.is_some() => parts.buffer = buffer,
            parts => *parts = buffer.map(|buffer| Box::new(Parts { ahead: None, buffer: Some(buffer) })),
        }
    }
}
