//! The server, asked over real sockets.

mod api;
mod running;
mod scale;
mod security;
mod support;
