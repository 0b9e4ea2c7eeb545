//! What leaves that neither send nor receive have in common: each works in a thread of its own, from the agreed start on.

use std::io;
use std::sync::Arc;

use flowloom_core::time::Time;
use flowloom_live::clock::Clock;

use super::error::WorkError;
use super::order::{GLANCE, Order, Todo};
use crate::report::Report;

/// The work of a leaf.
pub trait Work: Send + 'static {
    /// Sees whether it can be done, and gets what it can have for long; a sentence for the user, or none.
    ///
    /// # Errors
    /// Why it cannot be done.
    fn prepare(&mut self) -> Result<String, WorkError>;

    /// Gets what it cannot have for long without doing it, shortly before it runs; a sentence for the user, or none.
    ///
    /// # Errors
    /// Why it cannot be had.
    fn open(&mut self) -> Result<String, WorkError> {
        Ok(String::new())
    }

    /// Does it from the beginning of `clock` on until its time is over, or it is told to end. A sentence for the user, or none.
    ///
    /// # Errors
    /// What failed; what was found before is told all the same.
    fn run(&mut self, clock: &Clock, order: &Arc<Order>) -> Result<String, WorkError>;

    /// What it found.
    ///
    /// # Errors
    /// What was found cannot be read again.
    fn report(&mut self) -> io::Result<Report>;
}

/// Waits for the beginning of `clock`; whether it came to it.
pub(super) fn wait_for_start(clock: &Clock, order: &Order) -> bool {
    while !clock.until(Time::ZERO).is_zero() && order.todo() == Todo::GoOn {
        clock.doze(Time::ZERO, GLANCE);
    }
    order.todo() == Todo::GoOn
}
