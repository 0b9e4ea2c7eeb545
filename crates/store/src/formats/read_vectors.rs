//! The interface of readers of vectors.

use std::iter;

use flowloom_core::workload::ConnectionVector;

use super::error::FormatError;
use super::lines::Lines;
use super::notes::Notes;
use crate::workload::WorkloadFacts;

/// What knows one format of text.
pub(super) trait ReadVectors {
    /// The next vector, `None` at the end of the text. Neither after that nor after an error may it be called again.
    fn read_next(&mut self) -> Result<Option<ConnectionVector>, FormatError>;

    /// What was counted so far.
    fn notes(&self) -> &Notes;

    /// The text, as far as it was not read.
    fn lines(&mut self) -> &mut Lines;

    /// What the text says about itself, in a format that does.
    fn facts(&self) -> Option<&WorkloadFacts> {
        None
    }

    /// The vectors that were not read yet.
    fn read_all(&mut self) -> Result<Vec<ConnectionVector>, FormatError> {
        iter::from_fn(|| self.read_next().transpose()).collect()
    }
}
