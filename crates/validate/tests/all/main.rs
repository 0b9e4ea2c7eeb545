//! The checks against published results, in their quick forms.

mod citations;
mod links;
mod rows;
mod transcripts;
