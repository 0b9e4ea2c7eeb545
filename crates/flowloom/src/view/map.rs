//! Sites and links as of a time, with their load.

use std::collections::BTreeMap;
use std::ops::Range;

use flowloom_monitor::registry::{Link, Registry, Target};
use flowloom_monitor::{Query, bits_of, capacity_of};
use flowloom_store::monitor::{MILLIONTHS, Series};
use serde::Serialize;

use super::series::Asked;
use crate::error::Error;

/// A map.
#[derive(Serialize)]
pub(super) struct MapTold {
    from_ns: u64,
    to_ns: u64,
    at_ns: u64,
    sites: Vec<SiteTold>,
    links: Vec<LinkTold>,
}

#[derive(Serialize)]
struct SiteTold {
    /// Empty for the targets that have none.
    name: String,
    place: Option<String>,
    latitude: Option<f64>,
    longitude: Option<f64>,
    targets: Vec<TargetTold>,
}

#[derive(Serialize)]
struct TargetTold {
    name: String,
    #[serde(rename = "type")]
    kind: Option<String>,
    ports: Vec<PortTold>,
}

/// A port of which the registry says something.
#[derive(Serialize)]
struct PortTold {
    name: String,
    carries: Option<String>,
    capacity_bps: Option<u64>,
}

#[derive(Serialize)]
struct LinkTold {
    from: EndTold,
    to: EndTold,
    since: Option<String>,
    until: Option<String>,
    capacity_bps: Option<u64>,
    forth: Load,
    back: Load,
}

#[derive(Serialize)]
struct EndTold {
    target: String,
    port: String,
    site: Option<String>,
}

/// What one direction of a link carried.
#[derive(Clone, Default, Serialize)]
struct Load {
    /// The series that says it.
    series: Option<u32>,
    mean_bps: Option<f64>,
    most_bps: Option<f64>,
    p95_bps: Option<f64>,
}

/// The map of `registry`, with the load that a monitor counted in a period.
pub(super) fn map(registry: &Registry, asked: &Asked<'_>, period: Range<u64>, at_ns: u64) -> Result<MapTold, Error> {
    let holds = |link: &&Link| {
        link.since.as_ref().is_none_or(|since| since.start_ns <= at_ns)
            && link.until.as_ref().is_none_or(|until| at_ns < until.start_ns)
    };
    let links: Vec<&Link> = registry.link.iter().filter(holds).collect();
    let wanted: Vec<Option<&Series>> = links
        .iter()
        .flat_map(|link| [carrying(asked.series, &link.from, &link.to), carrying(asked.series, &link.to, &link.from)])
        .collect();
    let loads = loads(asked, &wanted, &period)?;
    let told = |(number, link): (usize, &&Link)| {
        let capacity = link.capacity.as_ref().and_then(|rate| rate.value.bits_per_second());
        LinkTold {
            from: end(registry, &link.from),
            to: end(registry, &link.to),
            since: link.since.as_ref().map(text),
            until: link.until.as_ref().map(text),
            capacity_bps: capacity
                .or_else(|| capacity_at(registry, &link.from, at_ns))
                .or_else(|| capacity_at(registry, &link.to, at_ns)),
            forth: loads[2 * number].clone(),
            back: loads[2 * number + 1].clone(),
        }
    };
    Ok(MapTold {
        from_ns: period.start,
        to_ns: period.end,
        at_ns,
        sites: sites(registry, at_ns),
        links: links.iter().enumerate().map(told).collect(),
    })
}

fn text(day: &flowloom_monitor::registry::Date) -> String {
    flowloom_store::monitor::utc_text(day.start_ns).chars().take(10).collect()
}

fn sites(registry: &Registry, at_ns: u64) -> Vec<SiteTold> {
    let targets = |site: Option<&str>| -> Vec<TargetTold> {
        let of = registry.target.iter().filter(|target| target.site.as_deref() == site);
        of.map(|target| TargetTold {
            name: target.name.clone(),
            kind: target.r#type.clone(),
            ports: ports(target, at_ns),
        })
        .collect()
    };
    let known = registry.site.iter().map(|site| SiteTold {
        name: site.name.clone(),
        place: site.place.clone(),
        latitude: site.latitude,
        longitude: site.longitude,
        targets: targets(Some(&site.name)),
    });
    let none = SiteTold { name: String::new(), place: None, latitude: None, longitude: None, targets: targets(None) };
    known.chain(Some(none).filter(|none| !none.targets.is_empty())).collect()
}

fn ports(target: &Target, at_ns: u64) -> Vec<PortTold> {
    let mut found: BTreeMap<&str, PortTold> = BTreeMap::new();
    let start = |port: &flowloom_monitor::registry::Port| port.since.as_ref().map_or(0, |day| day.start_ns);
    let mut known: Vec<_> = target.port.iter().filter(|port| start(port) <= at_ns).collect();
    known.sort_by_key(|port| start(port));
    for port in known {
        let told = found.entry(&port.name).or_insert_with(|| PortTold {
            name: port.name.clone(),
            carries: None,
            capacity_bps: capacity_of(&port.name, at_ns, &target.port),
        });
        told.carries = port.carries.clone().or(told.carries.take());
    }
    found.into_values().collect()
}

fn end(registry: &Registry, end: &str) -> EndTold {
    let (target, port) = end.split_once(':').unwrap_or((end, ""));
    let site = registry.target.iter().find(|known| known.name == target).and_then(|target| target.site.clone());
    EndTold { target: target.to_owned(), port: port.to_owned(), site }
}

fn capacity_at(registry: &Registry, end: &str, at_ns: u64) -> Option<u64> {
    let (target, port) = end.split_once(':')?;
    let target = registry.target.iter().find(|known| known.name == target)?;
    capacity_of(port, at_ns, &target.port)
}

/// The series that counts what goes from one end to the other: what leaves the one, else what enters the other.
fn carrying<'a>(series: &'a [Series], from: &str, to: &str) -> Option<&'a Series> {
    let at = |end: &str, counter: &str| {
        let (target, port) = end.split_once(':')?;
        let is_it = |series: &&Series| {
            series.target == target
                && series.port == port
                && series.counter == counter
                && bits_of(&series.unit).is_some()
        };
        // Of a series whose interval was changed, the latest.
        series.iter().filter(is_it).max_by_key(|series| series.id)
    };
    at(from, "out").or_else(|| at(to, "in"))
}

fn loads(asked: &Asked<'_>, wanted: &[Option<&Series>], period: &Range<u64>) -> Result<Vec<Load>, Error> {
    /// Series that are read at once.
    const TOGETHER: usize = 64;
    let query = Query { from_ns: period.start, to_ns: period.end, points: 1, percentile_ns: Some(300_000_000_000) };
    let mut known: BTreeMap<u32, Load> = BTreeMap::new();
    let all: Vec<Series> = wanted.iter().copied().flatten().cloned().collect();
    for some in all.chunks(TOGETHER) {
        for curve in asked.archive.ask(some, &query).map_err(Error::of)? {
            let bits = bits_of(&curve.series.unit).unwrap_or(1) as f64;
            let rate = |millionths: u128| millionths as f64 / MILLIONTHS as f64 * bits;
            known.insert(
                curve.series.id,
                Load {
                    series: Some(curve.series.id),
                    mean_bps: curve.whole.map(|whole| whole.mean_units() * bits),
                    most_bps: curve.whole.map(|whole| rate(whole.most)),
                    p95_bps: curve.p95.map(rate),
                },
            );
        }
    }
    let load = |series: &Option<&Series>| series.and_then(|series| known.get(&series.id)).cloned().unwrap_or_default();
    Ok(wanted.iter().map(load).collect())
}
