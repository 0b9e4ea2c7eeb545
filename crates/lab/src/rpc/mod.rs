//! The messages of `proto/lab.proto`, and the service's two ends.
//!
//! `flowloom.lab.v1.rs` is made from that file by `FLOWLOOM_REWRITE=1 cargo test -p flowloom-lab --test generated`, which without the
//! variable says whether it is up to date.
#![expect(missing_docs, clippy::all, reason = "generated; its documentation is the .proto")]

include!("flowloom.lab.v1.rs");
