//! Configurations of Harpoon: its XML in and out. What it means is in the core's model of that name; `docs/reference/models.md` says what is read.

mod read;
mod write;

pub use read::{Config, open, open_as, read};
pub use write::write;

#[cfg(test)]
mod tests;
