//! What leaves of the control tree do: those that send and receive traffic (methods J.4, J.5), programs of NetSpec's sources over sockets
//! of the kernel; and those that carry the traffic of others, look on, or run something.
//!
//! What a source writes and when is decided by the machines that the models and the simulator have
//! ([`Leaf::written`](flowloom_models::generate::netspec::Leaf::written), [`BlockWriter`](flowloom_core::play::BlockWriter));
//! here are their sockets. Everything is done in one thread without blocking, so that a leaf stops within [`GLANCE`] of being told to.
//!
//! | module | what |
//! |---|---|
//! | `announced` | what a leaf will take, before it does anything |
//! | `source` | writes |
//! | `sink` | reads |

//! | `arrivals` | what a sink takes note of |
//! | `socket` | sockets with the options of a script |
//! | `path` | carries what passes between two interfaces, as a path |
//! | `capture`, `watch` | packets into a file; one flow, packet by packet |
//! | `interface` | the packets of a network interface, for both |
//! | `monitor` | counters |
//! | `command` | programs |
//! | `work` | what the last four have in common |
//! | `error` | why a leaf cannot do its work |

pub mod announced;
mod arrivals;
mod capture;
mod command;
mod error;
mod interface;
mod monitor;
mod order;
mod path;
mod sink;
mod socket;
mod source;
mod watch;
mod work;

pub use arrivals::Arrivals;
pub use capture::{CaptureResults, Capturing};
pub use command::{CommandResults, Commanding};
pub use error::WorkError;
pub use monitor::{MonitorResults, Monitoring};
pub use order::{Ends, GLANCE, Options, Order, Todo};
pub use path::{Carried, Carrying, PathResults};
pub use sink::{Sink, SinkResults};
pub use source::{Source, SourceResults};
pub use watch::{WatchResults, Watching};
pub use work::Work;
