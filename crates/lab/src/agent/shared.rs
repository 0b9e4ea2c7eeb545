//! What all connections and sessions of an agent share. It knows none of them, so that a session can act on it.

use std::sync::Arc;

use tokio::sync::watch;

use super::audit::Audit;
use super::leaf::LeafKind;
use super::limits::{Limits, Reservations};
use super::store::Store;
use crate::authority::Error;
use crate::authority::credentials::Credentials;
use crate::authority::identity::Identity;
use crate::authority::trust::Trust;
use crate::clock::Clock;
use crate::transport::Version;

/// An agent's identity, its limits, and what it keeps.
pub(super) struct Shared {
    pub(super) own: Arc<Credentials>,
    /// Whom it believes, with the revocations that it has heard of.
    pub(super) trust: watch::Sender<Arc<Trust>>,
    pub(super) limits: Limits,
    /// The file of the limits, as the greeting shows it.
    pub(super) limits_toml: String,
    pub(super) version: Version,
    pub(super) clock: Arc<dyn Clock>,
    /// The leaves that it has.
    pub(super) kinds: Vec<Box<dyn LeafKind>>,
    pub(super) audit: Audit,
    /// Results of blocks.
    pub(super) store: Store,
    /// What is lent of the limits now.
    pub(super) reservations: Arc<Reservations>,
}

impl Shared {
    /// Who it is.
    pub(super) fn identity(&self) -> &Identity {
        self.own.identity()
    }

    /// What its keeper should know now.
    pub(super) fn notices(&self) -> Vec<String> {
        self.own.ends_soon(self.clock.unix_s()).into_iter().collect()
    }

    /// Believes a newer list of revocations from now on.
    pub(super) fn take_revocations(&self, list: &[u8]) -> Result<(), Error> {
        let newer = self.trust.borrow().newer(list)?;
        if let Some(newer) = newer {
            // Kept first: what is revoked stays revoked when the agent starts again.
            self.own.keep_revocations(newer.revocations())?;
            self.trust.send_if_modified(|trust| {
                let is_newer = newer.number() > trust.number();
                if is_newer {
                    *trust = Arc::new(newer);
                }
                is_newer
            });
        }
        Ok(())
    }
}
