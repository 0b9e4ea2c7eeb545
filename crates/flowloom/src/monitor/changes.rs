//! What hangs on the ports of a target, and when that changed: as the registry says it, as of dates.

use std::collections::BTreeMap;

use flowloom_monitor::registry::{Date, Registry, Target};
use serde::Serialize;

/// Changes of so many nanoseconds before now are told: 90 days.
const TOLD_NS: u64 = 90 * 86_400 * 1_000_000_000;

/// What hangs on a port changed, or will.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConnectionChange {
    /// From this day on (UTC).
    pub day: String,
    /// The port.
    pub port: String,
    /// What hung on it before; `None` if that was nothing, or is not known.
    pub before: Option<String>,
    /// What hangs on it from then on.
    pub after: Option<String>,
}

/// What hangs on a port, as the registry says it for a time.
pub fn carries(target: &Target, name: &str, now_ns: u64) -> Option<String> {
    let start = |port: &flowloom_monitor::registry::Port| port.since.as_ref().map_or(0, |day| day.start_ns);
    let holds = target.port.iter().filter(|port| port.name == name && start(port) <= now_ns && port.carries.is_some());
    holds.max_by_key(|port| start(port))?.carries.clone()
}

/// What changed on the ports of a target in the last 90 days before `now_ns`, and what will: by the entries of its ports, and by links that
/// come and go.
pub fn changes(registry: &Registry, target: &Target, now_ns: u64) -> Vec<ConnectionChange> {
    let is_told = |day: &&Date| day.start_ns >= now_ns.saturating_sub(TOLD_NS);
    let mut found = Vec::new();
    for port in &target.port {
        let Some(since) = port.since.as_ref().filter(is_told) else { continue };
        let before = carries(target, &port.name, since.start_ns.saturating_sub(1));
        if port.carries.is_some() && before != port.carries {
            let (day, port, after) = (since.to_string(), port.name.clone(), port.carries.clone());
            found.push(ConnectionChange { day, port, before, after });
        }
    }
    // A link that goes and one that comes on the same day are one change of their port.
    let mut of_links: BTreeMap<(String, &str), [Option<String>; 2]> = BTreeMap::new();
    for link in &registry.link {
        for (end, other) in [(&link.from, &link.to), (&link.to, &link.from)] {
            let Some((_, port)) = end.split_once(':').filter(|(of, _)| *of == target.name) else { continue };
            for (place, day) in [&link.until, &link.since].into_iter().enumerate() {
                if let Some(day) = day.as_ref().filter(is_told) {
                    of_links.entry((day.to_string(), port)).or_default()[place] = Some(format!("link to {other}"));
                }
            }
        }
    }
    found.extend(of_links.into_iter().map(|((day, port), [before, after])| {
        let port = port.to_owned();
        ConnectionChange { day, port, before, after }
    }));
    found.sort_by(|one, other| (&one.day, &one.port).cmp(&(&other.day, &other.port)));
    found
}

#[cfg(test)]
mod tests {
    use flowloom_store::monitor::date_ns;

    use super::*;

    #[test]
    fn changes_are_as_of_their_days() {
        let registry: Registry = toml::from_str(
            r#"
            [[target]]
            name = "a"
            addresses = ["127.0.0.1"]
            community = "c"
            [[target.port]]
            name = "1"
            carries = "to the library"
            [[target.port]]
            name = "1"
            since = "2026-03-01"
            carries = "to the hall"
            [[target.port]]
            name = "1"
            since = "2026-10-01"
            carries = "to the lab"
            [[target.port]]
            name = "1"
            since = "2026-11-01"
            capacity = "1gbit"
            [[target]]
            name = "b"
            addresses = ["127.0.0.1"]
            community = "c"
            [[link]]
            from = "a:2"
            to = "b:1"
            until = "2026-12-24"
            [[link]]
            from = "b:7"
            to = "a:2"
            since = "2026-12-24"
            "#,
        )
        .unwrap();
        let now = date_ns("2026-11-27").unwrap();
        let told = |target: usize| -> Vec<String> {
            let found = changes(&registry, &registry.target[target], now);
            let text = |what: &Option<String>| what.clone().unwrap_or_else(|| "-".to_owned());
            let line = |one: &ConnectionChange| {
                format!("{} {}: {}, {}", one.day, one.port, text(&one.before), text(&one.after))
            };
            found.iter().map(line).collect()
        };
        // March is long ago; the first of November changes nothing that hangs on the port.
        assert_eq!(told(0), ["2026-10-01 1: to the hall, to the lab", "2026-12-24 2: link to b:1, link to b:7"]);
        assert_eq!(told(1), ["2026-12-24 1: link to a:2, -", "2026-12-24 7: -, link to a:2"]);
        assert_eq!(carries(&registry.target[0], "1", date_ns("2026-05-05").unwrap()).unwrap(), "to the hall");
        assert_eq!(carries(&registry.target[0], "1", now).unwrap(), "to the lab");
    }
}
