//! Cells: packets of one small size, as ATM has them, virtual circuits of them, and what becomes of traffic that is cut into them.
//!
//! | file | holds |
//! |---|---|
//! | `framing` | what datagrams cost in cells and other framings: transmission efficiency (methods H) |
//! | `phases` | traffic whose rate is modulated by phases (methods I.1) |
//! | `sojourns` | how long phases last: their sequence and its autocorrelation |
//! | `slot` | how the cells of a phase come: laws of their number in a slot |
//! | `delay_and_loss` | what a queue with constant service makes of them (methods I.2, I.3) |
//! | `cutting`, `reassembly` | packets cut into cells, and put together again (methods G.4) |
//! | `turns`, `buffer` | queues that take turns; the cells before a link, by circuit |
//! | `circuit` | what shares a circuit, how long it is there, how much may be under way in it |
//! | `transport`, `source` | the transport of the study of 1992; hosts and their conversations (methods G.3) |

mod buffer;
mod circuit;
mod cutting;
pub mod delay_and_loss;
pub mod framing;
pub mod phases;
mod reassembly;
pub mod slot;
pub mod sojourns;
mod source;
mod transport;
mod turns;

pub use buffer::{Cell, Cells, Discard, Refused};
pub use circuit::{Circuit, Lifetime, Mapping};
pub use cutting::Cutting;
pub use reassembly::{Joined, Reassembly};
pub use source::{Message, Source, Traffic};
pub use transport::{Data, FlowControl, Receiver, Sender, TransportConfig};
pub use turns::{Order, Turns};
