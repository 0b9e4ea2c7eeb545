//! TCP conformance as transcripts: scripts in a subset of the language of packetdrill, played against one
//! [`Endpoint`](flowloom_core::tcp::Endpoint) in virtual time, the script being the remote end, the network and the
//! program.
//!
//! The language, as far as it is read:
//!
//! - lines `TIME EVENT`; comments `//` and `/* */`. Times in seconds: `0.1` from the start, `+0.1` from the event before,
//!   and for packets that are expected also `0.1~0.2`, `+0.1~+0.2` and `*`;
//! - `< PACKET` arrives at the endpoint, `> PACKET` is sent by it: `[ECN] FLAGS START:END(LENGTH) ack N win N <OPTIONS>`
//!   with ECN `noecn`, `ect0`, `ect1`, `ect01`, `ce`; flags of `SFRPEW` and `.`, or `-`; options `mss N`, `wscale N`,
//!   `sackOK`, `sack A:B C:D`, `TS val N ecr N`, `nop`, `eol`, or `...` for any. Sequence numbers count from the SYN, 0. One
//!   line may stand for several segments sent back to back. What a packet is expected to have is compared exactly,
//!   except that an ECN field and a window that are not given are not looked at, nor the order and padding of options;
//!   timestamps of the endpoint count from the first one that the script names;
//! - system calls with what they return: `socket`, `bind`, `listen`, `accept`, `connect`, `read`, `recv`, `recvfrom`,
//!   `write`, `send`, `sendto`, `shutdown`, `close`, `setsockopt`, `getsockopt`, `fcntl`; `...0.2 read(4, ..., 100) = 100`
//!   blocks until 0.2;
//! - `` `sysctl -q net.ipv4.tcp_sack=1` `` and `--define=NAME=VALUE` set the stack up; `PROFILE`,
//!   `INITIAL_WINDOW`, `LIMITED_TRANSMIT`, `PRR`, `PACING`, `DELAYED_ACK`, `QUICK_ACKS`, `RTO_INITIAL`, `RTO_MIN`, `RTO_MAX`, `RECEIVE_WINDOW` and `MSS` are what no sysctl says;
//!   `--tolerance_usecs=N` is how far from its time a packet may be sent (4,000);
//! - `%{ assert tcpi_snd_cwnd == 10 }%` compares fields of `tcp_info` ([`Field`]).
//!
//! Beyond the original, everything that the endpoint sends must have a line: also what is sent before a line that is
//! no packet, and after the last line.
//!
//! | file | holds |
//! |---|---|
//! | `lexer`, `parser` | text to script, errors with line and column |
//! | `script` | what a script says |
//! | `packet` | packets as scripts write them, compared with segments |
//! | `settings` | sysctls, options |
//! | `info` | fields of `tcp_info` |
//! | `run` | playing it |
//! | `suite` | the scripts of this crate |

mod failure;
mod info;
mod lexer;
mod packet;
mod parser;
mod run;
mod script;
mod settings;
mod suite;

pub use failure::Failure;
pub use info::Field;
pub use lexer::{ParseError, Position};
pub use script::{
    Action, Argument, Assertion, Call, Comparison, EcnField, Event, Operand, Options, Packet, Script, Setting, When,
};
pub use suite::{Transcript, folder, suite};
