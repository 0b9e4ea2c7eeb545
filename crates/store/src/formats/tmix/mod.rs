//! Tmix connection vectors in both spellings (methods A.10, `docs/reference/formats.md`).
//!
//! The *original* spelling (`SEQ`, `CONC`; "tcvec format version 2") writes waits on lines of their own; the *alternate*
//! one (`S`, `C`) writes rows `I|A SEND_WAIT RECEIVE_WAIT BYTES`. Both say the same, so both are read into [`Row`]s and
//! written from them: [`rows`] turns rows into vectors and back, [`read`] and [`write`] spell them.

mod comment;
mod read;
mod row;
mod rows;
mod write;

pub(super) use read::TmixReader;
pub use read::read;
pub(super) use rows::micros;
pub use write::{Assumptions, TmixWriter};

pub use row::Spelling;
