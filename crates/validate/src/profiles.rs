//! The TCPs that a law is checked with: a sender without options, which rows do not name, and profiles, which they do.

use flowloom_core::tcp::{Config, Profile};

/// A TCP, and how the names of its rows begin.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    name: &'static str,
    /// The TCP of both ends.
    pub tcp: Config,
}

impl Stack {
    /// NewReno without options: [`Config::default`].
    pub(crate) fn plain() -> Stack {
        Stack { name: "", tcp: Config::default() }
    }

    /// The TCP of the standards track.
    pub(crate) fn rfc() -> Stack {
        Stack { name: "rfc: ", tcp: Config::of(Profile::Rfc) }
    }

    /// The TCP of Linux with its default settings.
    pub(crate) fn linux() -> Stack {
        Stack { name: "linux: ", tcp: Config::of(Profile::Linux) }
    }

    /// What ns-2 and the Mathis formula assume.
    pub(crate) fn classic() -> Stack {
        Stack { name: "classic: ", tcp: Config::of(Profile::Classic) }
    }

    /// The three that every law about TCP is checked with.
    pub(crate) fn all() -> [Stack; 3] {
        [Stack::plain(), Stack::rfc(), Stack::linux()]
    }

    /// The same with what `change` does to it.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Config)) -> Stack {
        change(&mut self.tcp);
        self
    }

    /// The name of a row about it.
    pub(crate) fn row(&self, what: &str) -> String {
        format!("{}{what}", self.name)
    }

    /// Whether this is a profile other than `plain`, which the names of its rows begin with.
    pub(crate) fn is_profile(&self) -> bool {
        !self.name.is_empty()
    }
}

/// Payload of a full segment where ends announce `mss`: timestamps take 12 bytes of it.
pub(crate) fn payload(tcp: &Config, mss: u32) -> u32 {
    mss - if tcp.timestamps { 12 } else { 0 }
}
