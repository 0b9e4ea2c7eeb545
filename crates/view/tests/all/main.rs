//! The server, asked over real sockets.

mod api;
mod scale;
mod security;
mod support;
