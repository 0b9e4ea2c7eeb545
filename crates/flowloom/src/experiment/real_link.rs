//! `[measure.real-link]`: the port of a monitor that a run is shown beside.

use std::path::PathBuf;

use flowloom_core::keys::KeyError;
use flowloom_core::workload::LinkSide;
use flowloom_store::monitor::utc_ns;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `measure.real-link`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RealLinkKeys {
    /// Store of a monitor, relative to the experiment file.
    pub store: PathBuf,
    /// Target in it.
    pub target: String,
    /// Port of the target.
    pub port: String,
    /// Time (UTC) that stands at the beginning of the window of the results: "2026-11-27T10:00"; default: that at which the packets of the
    /// capture crossed the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// End of the bottleneck at which the port is: at the left end, counter `out` is the direction from left to right; default: left.
    #[serde(default, skip_serializing_if = "is_left")]
    pub end: LinkEnd,
    /// Counter of octets or cells that go out of the port; default: out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out: Option<String>,
    /// Counter of octets or cells that come in; default: in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#in: Option<String>,
}

/// `measure.real-link.end`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinkEnd {
    /// The left end.
    #[default]
    Left,
    /// The right end.
    Right,
}

fn is_left(end: &LinkEnd) -> bool {
    *end == LinkEnd::Left
}

impl RealLinkKeys {
    /// What no type can refuse.
    pub(super) fn problems(&self) -> Vec<KeyError> {
        let wrong = self.from.as_ref().filter(|text| utc_ns(text).is_none()).map(|text| {
            let problem = format_args!("of \"{text}\" is no time: write 2026-11-27T10:00 or 2026-11-27T10:00:05 (UTC)");
            KeyError::new("measure.real-link.from", problem)
        });
        wrong.into_iter().collect()
    }

    /// When the stretch begins, in nanoseconds since 1970 UTC, if that was said.
    pub(crate) fn begins_ns(&self) -> Option<u64> {
        self.from.as_deref().and_then(utc_ns)
    }

    /// The two counters: the side whose packets each counts, its name, and whether that was given.
    pub(crate) fn counters(&self) -> [(LinkSide, &str, bool); 2] {
        let [out_of, into] = match self.end {
            LinkEnd::Left => [LinkSide::Left, LinkSide::Right],
            LinkEnd::Right => [LinkSide::Right, LinkSide::Left],
        };
        [
            (out_of, self.out.as_deref().unwrap_or("out"), self.out.is_some()),
            (into, self.r#in.as_deref().unwrap_or("in"), self.r#in.is_some()),
        ]
    }

    /// Replaces all names, and leaves out the time.
    pub(super) fn anonymize(&mut self) {
        let (end, name) = (self.end, String::from);
        let store = PathBuf::from("store");
        *self =
            RealLinkKeys { store, target: name("target"), port: name("port"), from: None, end, out: None, r#in: None };
    }
}
