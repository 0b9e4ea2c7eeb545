//! What leaves are asked to do: those of the kind `test`, which send and receive (methods J.4, J.5), are a [`Leaf`], all others a [`Tool`].
//!
//! A controller never needs this: to it parameters are text. It is for agents, which do it, and for whoever explains a script.
//! Names mean the same with any capitals, and with or without `-` and `_`. What has no published value has no default.

mod arguments;
mod capture;
mod command;
mod endpoint;
mod keys;
mod monitor;
mod names;
mod path;
mod protocol;
mod replay;
mod side;
mod sleep;
mod tcp;
mod test;
mod tool;
mod traffic;
mod watch;

use flowloom_core::time::Duration;

use super::tree::Block;

pub use capture::Capture;
pub use command::Command;
pub use endpoint::Endpoint;
pub use monitor::Monitor;
pub use path::{NetworkError, Path};
pub use protocol::{Protocol, Tcp, Udp};
pub use replay::Replay;
pub use side::Side;
pub use sleep::Sleep;
pub use test::{Leaf, TEST};
pub use tool::Tool;
pub use traffic::Work;
pub use watch::Watch;

/// How long a leaf takes, if it is of a known kind and says so.
pub fn duration(block: &Block) -> Option<Duration> {
    match block.keyword.as_str() {
        TEST => Leaf::read(block).0.map(|leaf| leaf.duration),
        _ => Tool::read(block)?.0.map(|tool| tool.duration()),
    }
}

#[cfg(test)]
mod schema_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tool_tests;
