//! The Swing traffic model (Vishwanath and Vahdat 2009, as Aikat 2010 describes it; methods K.2): users, their request-response
//! exchanges (RREs), the connections of these, their packets and their paths, each by the empirical distributions of a capture.
//!
//! `survey` takes the vectors of a workload in and groups them by client; what it finds is a [`SwingModel`], the content of a model
//! file. `generate` draws vectors from one: every variable for itself, or whole sessions. What each file decides: `law` how a
//! distribution is kept, `turns` who speaks when, `connection` what a vector is without its place in time, `deck` how what is
//! drawn independently obeys the rules of the grouping.

mod connection;
mod deck;
mod generate;
mod law;
mod model;
mod survey;
#[cfg(test)]
mod tests;
mod turns;

pub use connection::Transport;
pub use generate::{Draw, Swing};
pub use law::Law;
pub use model::{ClassModel, Measure, SwingModel, Variable};
pub use survey::{Grouping, LeftOut, Survey};
