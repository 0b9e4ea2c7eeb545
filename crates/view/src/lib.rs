//! `flowloom view` as a server: the pages of `pages/`, and answers to questions about folders.
//!
//! It speaks HTTP and knows nothing else: what can be asked, and the answer, is [`flowloom::view`]. This crate depends on the front door
//! only, so that no query can live here.
//!
//! | module | holds |
//! |---|---|
//! | `server` | connections, their bounds, the end |
//! | `guard` | which requests are answered at all: hosts, origins, the token |
//! | `routes` | a request into a response |
//! | `events` | news of a run as a stream of events |
//! | `pages` | the files of the pages |

#![forbid(unsafe_code)]

mod events;
mod guard;
mod pages;
mod routes;
mod server;

pub use events::MOST_STREAMS;
pub use guard::LEAST_TOKEN;
pub use server::{MOST_CONNECTIONS, Server, ViewOptions};
