//! The real-time driver: a workload through kernel TCP sockets, across the simulator's network in real time.
//!
//! ```text
//!   left namespace                                          right namespace
//!   worker processes  <- kernel TCP ->  device    device  <- kernel TCP ->  worker processes
//!                                          |         |
//!                        emulator: one thread, sim::Emulation in model time
//! ```
//!
//! A worker plays ends of connections; both ends of a connection are played by workers, one on each side. Every packet
//! crosses the emulator, which knows the connection by its addresses before its SYN passes ([`addresses`]), delays it, offers
//! it to the same links and queues as the simulator does, and hands it on when it is due. The time of a packet is when it was
//! read, and everything that is decided about it is decided as of then, however late the thread is: lateness moves deliveries,
//! never a decision, and it is measured.
//!
//! | module | holds |
//! |---|---|
//! | `run` | a run, from the first SYN to the last packet |
//! | `options` | how a run is made |
//! | `observed` | how far the host kept up, and what a run was made of |
//! | `problem` | errors, problems and warnings of a run |
//! | `plan` | what a run will need |
//! | `workers`, `worker` | the processes that play ends of connections; one of them |
//! | `emulator` | the thread that owns the path |
//! | `backend`, `remote` | live back ends: this host, other hosts |
//! | `guests` | programs of the user's inside the sides |
//! | `calibrate` | what crossing takes by itself |
//! | `collector` | what the ends and the emulator say of a connection, put together |
//! | `host` | namespaces, devices, kernel settings and counters |
//! | `addresses` | which addresses a connection has |
//! | `budget` | how much may be sent |
//! | `clock` | the real clock |
//! | `control` | what the run and its workers tell each other |
//! | `device` | where packets come out of a kernel, and go back in |
//! | `lateness` | how late things were |

pub mod addresses;
pub mod budget;
pub mod clock;
pub mod control;
pub mod device;
pub mod emulator;
pub mod guests;
pub mod host;
pub mod lateness;
pub mod plan;
pub mod remote;
pub mod worker;

mod backend;
pub mod calibrate;
mod collector;
mod observed;
mod options;
mod problem;
mod run;
mod workers;

pub use observed::Observed;
pub use options::Options;
pub use problem::{LiveError, Problem, Warning, WorkerName, WorkersError};
pub use run::{Progress, check, run, run_remote};
pub use workers::Program;
