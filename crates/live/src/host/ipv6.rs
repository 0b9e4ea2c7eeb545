//! Whether the kernel lets connections run over IPv6, which some are built, started or confined without.

use std::fs;
use std::path::Path;

use thiserror::Error;

/// The settings of IPv6.
const SETTINGS: &str = "/proc/sys/net/ipv6";

/// Why connections cannot run over IPv6 here.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoIpv6 {
    /// The kernel was built or started without it.
    #[error("this kernel has no IPv6")]
    Kernel,
    /// A namespace would not take a setting that it needs.
    #[error("net.ipv6.{key} stays {value} in a namespace of the run")]
    Setting {
        /// Its name.
        key: &'static str,
        /// What it is.
        value: String,
    },
    /// A namespace would not take its routes.
    #[error("a namespace of the run takes no IPv6 routes ({0})")]
    Routes(String),
    /// Another host has none.
    #[error("{host}: {why}")]
    Host {
        /// Its name.
        host: String,
        /// Its words.
        why: String,
    },
}

impl NoIpv6 {
    /// That so many connections and flows of datagrams ran over IPv4 for it, in words.
    pub fn not_replayed(&self, connections: u64) -> String {
        format!(
            "workload.replay.options = true in part: {connections} connections and flows over IPv6 run over IPv4, and count 20 bytes more \
             for each packet ({self})"
        )
    }
}

/// Whether the calling thread's namespace, which has the settings of a run, has IPv6 too.
///
/// # Errors
/// It has not.
pub(super) fn of_this_namespace() -> Result<(), NoIpv6> {
    let settings = Path::new(SETTINGS);
    if !settings.exists() {
        return Err(NoIpv6::Kernel);
    }
    for (key, file, wanted) in [
        ("conf.all.disable_ipv6", "conf/all/disable_ipv6", "0"),
        // Addresses of connections are local by a route alone, and sockets are bound to them.
        ("ip_nonlocal_bind", "ip_nonlocal_bind", "1"),
    ] {
        let value = fs::read_to_string(settings.join(file)).unwrap_or_default().trim().to_owned();
        if value != wanted {
            return Err(NoIpv6::Setting { key, value });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_over_ipv4_instead_is_named_with_its_cause() {
        let why = NoIpv6::Host { host: "b".to_owned(), why: NoIpv6::Kernel.to_string() };
        assert_eq!(
            why.not_replayed(7),
            "workload.replay.options = true in part: 7 connections and flows over IPv6 run over IPv4, and count 20 bytes more for each \
             packet (b: this kernel has no IPv6)"
        );
    }
}
