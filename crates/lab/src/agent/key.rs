//! By what an agent knows a session.

use crate::authority::identity::Identity;

/// A session is an experiment as one parent commands it: a controller, or an agent that is at work on a block.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) experiment: String,
    pub(super) parent: Identity,
    /// That block; nothing of a controller.
    pub(super) above: String,
}
