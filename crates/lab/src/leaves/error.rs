//! Why a leaf cannot do its work.

use std::io;

use flowloom_live::emulator::PathError;
use flowloom_store::capture::CaptureError;

use crate::script::leaf::NetworkError;

/// Why a leaf cannot do its work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkError {
    /// It was not opened, or it has run.
    #[error("it is not open")]
    NotOpen,
    /// A command without a program.
    #[error("the command is empty")]
    EmptyCommand,
    /// The file of a command is not one.
    #[error("{0} is no program")]
    NoProgram(String),
    /// The kernel refuses something.
    #[error("{name}: {cause}")]
    Named {
        /// What: an interface, a program, a host or a command.
        name: String,
        /// The kernel's words.
        cause: io::Error,
    },
    /// The kernel refuses it to this user.
    #[error("{name}: {cause}: this takes CAP_NET_RAW")]
    NotPermitted {
        /// The interface.
        name: String,
        /// The kernel's words.
        cause: io::Error,
    },
    /// A name has no address.
    #[error("{0} has no address")]
    NoAddress(String),
    /// A path cannot play its network.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// Packets cannot be captured.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A capture cannot be written.
    #[error("the capture cannot be written: {0}")]
    Write(io::Error),
    /// There is no room for what a leaf finds.
    #[error("there is no room for the {what}: {cause}")]
    NoRoom {
        /// What that is.
        what: &'static str,
        /// The kernel's words.
        cause: io::Error,
    },
    /// Counters cannot be opened.
    #[error("the counters cannot be read: {0}")]
    Counters(io::Error),
    /// Counters cannot be read, or written down.
    #[error(transparent)]
    Sample(io::Error),
    /// A path ended.
    #[error(transparent)]
    Path(#[from] PathError),
}
