//! What hangs on the ports of a target, and when that changed: as the registry says it, as of dates.

use std::collections::BTreeMap;

use flowloom_monitor::registry::{Date, Link, Registry, Target};
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
    // Each day on which a link of a port comes or goes.
    let mut days: BTreeMap<&str, BTreeMap<u64, String>> = BTreeMap::new();
    for link in &registry.link {
        for (_, port) in ends(link).filter_map(|(end, _)| end.split_once(':')).filter(|(of, _)| *of == target.name) {
            for day in [&link.since, &link.until].into_iter().flatten().filter(is_told) {
                days.entry(port).or_default().insert(day.start_ns, day.to_string());
            }
        }
    }
    for (port, days) in days {
        for (start_ns, day) in days {
            let [before, after] = [start_ns.saturating_sub(1), start_ns].map(|at| links(registry, target, port, at));
            if before != after {
                found.push(ConnectionChange { day, port: port.to_owned(), before, after });
            }
        }
    }
    found.sort_by(|one, other| (&one.day, &one.port).cmp(&(&other.day, &other.port)));
    found
}

/// The ends of a link, each with the other one.
fn ends(link: &Link) -> impl Iterator<Item = (&str, &str)> {
    [(link.from.as_str(), link.to.as_str()), (link.to.as_str(), link.from.as_str())].into_iter()
}

/// The links that a port has at a time, in words.
fn links(registry: &Registry, target: &Target, port: &str, at_ns: u64) -> Option<String> {
    let begins = |link: &&Link| link.since.as_ref().is_none_or(|day| day.start_ns <= at_ns);
    let goes_on = |link: &&Link| link.until.as_ref().is_none_or(|day| at_ns < day.start_ns);
    let mut found: Vec<String> = Vec::new();
    for link in registry.link.iter().filter(begins).filter(goes_on) {
        let of_port = ends(link).filter(|(end, _)| end.split_once(':') == Some((target.name.as_str(), port)));
        found.extend(of_port.map(|(_, other)| format!("link to {other}")));
    }
    found.sort();
    (!found.is_empty()).then(|| found.join(" and "))
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

    #[test]
    fn links_of_one_port_may_overlap() {
        let link = |to: &str, days: &str| format!("[[link]]\nfrom = \"lo:lo\"\nto = \"h:{to}\"\n{days}\n");
        let text = [
            "[[target]]\nname = \"lo\"\nkind = \"local\"\n".to_owned(),
            link("eth9", "since = \"2026-11-01\"\nuntil = \"2026-11-20\""),
            link("eth8", "since = \"2026-11-10\""),
        ];
        let registry: Registry = toml::from_str(&text.concat()).unwrap();
        let found = changes(&registry, &registry.target[0], date_ns("2026-11-27").unwrap());
        let told: Vec<(&str, Option<&str>, Option<&str>)> =
            found.iter().map(|one| (one.day.as_str(), one.before.as_deref(), one.after.as_deref())).collect();
        let (eight, nine, both) =
            (Some("link to h:eth8"), Some("link to h:eth9"), Some("link to h:eth8 and link to h:eth9"));
        assert_eq!(told, [("2026-11-01", None, nine), ("2026-11-10", nine, both), ("2026-11-20", both, eight)]);
    }
}
