//! NetSpec's block language (methods J.1): scripts that say which hosts do what, in which order.
//!
//! Nothing here reads a file or the clock.

pub mod address;
pub mod diagnostic;
pub mod expand;
pub mod explain;
pub mod format;
pub mod leaf;
pub mod lexer;
pub mod parser;
pub mod place;
pub mod quantity;
pub mod toml_form;
pub mod tree;
pub mod word;
