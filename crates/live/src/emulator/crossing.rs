//! Whose packets cross a path: what it asks about each of them.

use flowloom_core::record::Recorder;
use flowloom_core::tcp::Segment;
use flowloom_core::time::Time;
use flowloom_core::workload::{LinkSide, Side};
use flowloom_sim::Emulation;
use flowloom_sim::emulation::{EmulationError, Slot};

use super::buffers::Buffer;
use super::counters::DeviceCounts;
use super::records::HungUp;

/// Tells the packets of a path's devices apart, and opens and closes the flows that they are of. Nothing of it waits or reads a clock.
pub trait Crossing {
    /// Where what the network records goes.
    type Recorder: Recorder<Error = HungUp>;

    /// `packet` was read from the device of `side` at `now`: what the network is told of it. `None` if it goes nowhere, which is counted
    /// in `counts`.
    ///
    /// # Errors
    /// The network's.
    fn enter(
        &mut self,
        now: Time,
        side: LinkSide,
        packet: &mut Buffer,
        emulation: &mut Emulation<'_, Self::Recorder>,
        counts: &mut DeviceCounts,
    ) -> Result<Option<Entering>, EmulationError<HungUp>>;

    /// Sets the congestion mark of a packet that has entered.
    fn mark(&self, packet: &mut [u8]);

    /// When there is something to [tidy](Self::tidy) for certain.
    fn next_timeout(&self) -> Option<Time>;

    /// Closes what is over by `now`, and hands on what was recorded.
    ///
    /// # Errors
    /// The run is gone.
    fn tidy(&mut self, now: Time, emulation: &mut Emulation<'_, Self::Recorder>) -> Result<(), HungUp>;

    /// The path ends: so does every flow that somebody wants to hear of.
    ///
    /// # Errors
    /// The run is gone.
    fn end(&mut self, emulation: &mut Emulation<'_, Self::Recorder>) -> Result<(), HungUp>;
}

/// A packet as the network takes it.
#[derive(Clone, Copy, Debug)]
pub struct Entering {
    /// Its flow.
    pub slot: Slot,
    /// The end that sent it.
    pub sender: Side,
    /// What it carries.
    pub segment: Segment,
    /// What it takes on a link beyond [`link_bytes`](flowloom_sim::link_bytes).
    pub extra: i16,
}
