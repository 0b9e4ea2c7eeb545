//! What about leaves together is probably not as it was meant.

use std::collections::BTreeMap;

use super::super::address::Host;
use super::super::diagnostic::Diagnostic;
use super::super::leaf::{Endpoint, Leaf};
use super::super::place::Place;
use super::super::tree::Keyword;

/// A leaf and where it stands in the tree.
pub struct Placed {
    pub leaf: Leaf,
    pub place: Place,
    /// The address of its block, or of the nearest around it that has one.
    pub host: Option<Host>,
    /// The numbers of the blocks around it and its own, from the outermost on.
    pub path: Vec<u32>,
}

/// Where something can be bound: an endpoint of a protocol.
type Socket<'a> = (&'a Endpoint, &'static str);

/// Warnings about `leaves`, in blocks that are of these `kinds`.
pub fn doubts(leaves: &[Placed], kinds: &[Option<Keyword>]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut sinks: BTreeMap<Socket<'_>, Vec<&Placed>> = BTreeMap::new();
    let mut addressed: BTreeMap<Socket<'_>, u64> = BTreeMap::new();
    for placed in leaves {
        let leaf = &placed.leaf;
        if leaf.sends() {
            *addressed.entry((&leaf.peer, leaf.protocol.name())).or_default() += 1;
        } else {
            sinks.entry((&leaf.own, leaf.protocol.name())).or_default().push(placed);
        }
    }
    for placed in leaves {
        elsewhere(placed, &mut found);
        let leaf = &placed.leaf;
        if leaf.sends() {
            source(placed, &sinks, kinds, &mut found);
        } else if !addressed.contains_key(&(&leaf.own, leaf.protocol.name())) {
            let message = format!("nothing sends to {} by {}", leaf.own, leaf.protocol.name());
            found.push(Diagnostic::warning(placed.place, message));
        }
    }
    conflicts(leaves, kinds, &mut found);
    found
}

/// A leaf whose block runs on one host and whose own address is of another. A name and an address may be of the same.
fn elsewhere(placed: &Placed, found: &mut Vec<Diagnostic>) {
    let own = &placed.leaf.own.host;
    match &placed.host {
        Some(host) if host != own && matches!(host, Host::Ip(_)) == matches!(own, Host::Ip(_)) => {
            let message = format!("it runs on {host}, and its own address is that of {own}");
            found.push(Diagnostic::warning(placed.place, message));
        }
        _ => {}
    }
}

/// The number of the cluster that a leaf stands in.
fn cluster(placed: &Placed, kinds: &[Option<Keyword>]) -> Option<u32> {
    let around = *placed.path.iter().rev().nth(1)?;
    (kinds[around as usize] == Some(Keyword::Cluster)).then_some(around)
}

/// Whether what a source sends is received.
fn source(
    placed: &Placed,
    sinks: &BTreeMap<Socket<'_>, Vec<&Placed>>,
    kinds: &[Option<Keyword>],
    found: &mut Vec<Diagnostic>,
) {
    let leaf = &placed.leaf;
    let (peer, protocol) = (&leaf.peer, leaf.protocol.name());
    let warn = |message: String| Diagnostic::warning(placed.place, message);
    let Some(candidates) = sinks.get(&(peer, protocol)) else {
        let other = if protocol == "tcp" { "udp" } else { "tcp" };
        let warning = warn(format!("nothing receives at {peer} by {protocol}"));
        let near = || {
            let lowest = Endpoint { host: peer.host.clone(), port: 0 };
            let next = sinks.range((&lowest, "")..).next().map(|(socket, _)| (socket.0.clone(), socket.1));
            let same_host = next.filter(|(endpoint, _)| endpoint.host == peer.host);
            same_host.map(|(endpoint, protocol)| format!("a sink of that host is at {endpoint} by {protocol}"))
        };
        let by_other = sinks.contains_key(&(peer, other)).then(|| format!("its sink receives by {other}"));
        found.push(warning.hint_if(by_other.or_else(near)));
        return;
    };
    let own = cluster(placed, kinds);
    let mate = candidates.iter().find(|sink| own.is_some() && cluster(sink, kinds) == own);
    let Some(sink) = mate.or(candidates.first()) else { return };
    if mate.is_none() {
        let warning =
            warn(format!("the sink at {peer} is in no cluster with it, so that nothing makes it listen first"));
        found.push(warning.hint("put both into cluster { ... }"));
        return;
    }
    let sink = &sink.leaf;
    let any_port = leaf.own.port == 0 && sink.peer.host == leaf.own.host;
    if sink.peer != leaf.own && !any_port {
        found.push(warn(format!("its sink at {peer} names {} as its peer, not {}", sink.peer, leaf.own)));
    }
    if sink.duration < leaf.duration {
        let (less, more) = (sink.duration.as_secs_f64(), leaf.duration.as_secs_f64());
        found.push(warn(format!("it sends for {more} s, and its sink receives for {less} s")));
    }
}

/// Leaves that want the same port at the same time.
fn conflicts(leaves: &[Placed], kinds: &[Option<Keyword>], found: &mut Vec<Diagnostic>) {
    let mut bound: BTreeMap<Socket<'_>, &Placed> = BTreeMap::new();
    for placed in leaves {
        let own = &placed.leaf.own;
        if own.port == 0 {
            continue;
        }
        // Leaves come in the order of the tree: if any two of a port run at the same time, two that follow each other do.
        let before = bound.insert((own, placed.leaf.protocol.name()), placed);
        let Some(before) = before.filter(|before| same_time(before, placed, kinds)) else { continue };
        let protocol = placed.leaf.protocol.name();
        let message = format!("{own} is taken by {protocol} of another leaf at the same time");
        found
            .push(Diagnostic::warning(placed.place, message).hint(format!("it is that of line {}", before.place.line)));
    }
}

/// Whether two leaves run at the same time: what is around both is no serial block.
fn same_time(one: &Placed, other: &Placed, kinds: &[Option<Keyword>]) -> bool {
    let common = one.path.iter().zip(&other.path).take_while(|(one, other)| one == other).last();
    common.is_some_and(|(block, _)| kinds[*block as usize] != Some(Keyword::Serial))
}
