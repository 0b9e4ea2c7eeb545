//! The checks against published results, in their quick forms.

mod rows;
mod transcripts;
