//! How a live run is made.

use flowloom_core::time::Duration;

use crate::addresses::Addressing;
use crate::guests::Guest;
use crate::host::testbed::Kind;
use crate::workers::Program;

/// How a live run is made, beside the experiment.
#[derive(Clone, Debug)]
pub struct Options {
    /// What workers are.
    pub program: Program,
    /// What carries packets between kernels and the emulator.
    pub devices: Kind,
    /// The emulator looks at its devices so often.
    pub tick: Duration,
    /// Workers on each side.
    pub workers: u16,
    /// The hosts that connections are on.
    pub addressing: Addressing,
    /// What guests are, and who they are.
    pub guests: (Program, Vec<Guest>),
}
