//! The checks against published results, in their quick forms.

mod citations;
mod imports;
mod links;
mod rows;
mod transcripts;
