//! Cells: packets of one small size, as ATM has them, and what becomes of traffic that is cut into them.
//!
//! | file | holds |
//! |---|---|
//! | `framing` | what datagrams cost in cells and other framings: transmission efficiency (methods H) |
//! | `phases` | traffic whose rate is modulated by phases (methods I.1) |
//! | `sojourns` | how long phases last: their sequence and its autocorrelation |
//! | `slot` | how the cells of a phase come: laws of their number in a slot |
//! | `delay_and_loss` | what a queue with constant service makes of them (methods I.2, I.3) |

pub mod delay_and_loss;
pub mod framing;
pub mod phases;
pub mod slot;
pub mod sojourns;
