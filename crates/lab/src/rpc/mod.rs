//! The messages of `proto/lab.proto`, and the service's two ends.
//!
//! `flowloom.lab.v1.rs` is made from that file by `FLOWLOOM_REWRITE=1 cargo test -p flowloom-lab --test all generated`. Without the
//! variable that test fails if the file is out of date.
#![expect(missing_docs, clippy::all, clippy::too_many_lines, reason = "generated; its documentation is the .proto")]

include!("flowloom.lab.v1.rs");
