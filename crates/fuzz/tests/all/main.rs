//! What every reader of foreign bytes promises, without libFuzzer.

mod flipped_captures;
mod smoke;
