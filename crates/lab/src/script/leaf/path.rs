//! `path { left = eth1; right = eth2; rate = 10M; delay = "20ms"; queue = drop-tail(limit = 100); duration = 20; }`: a host that stands
//! between two network interfaces, as a path. It has all keys of `[network]`, of which some have a shorthand.

use flowloom_core::keys::walk::KeyPath;
use flowloom_core::keys::{KeyError, Quantity};
use flowloom_core::path::cell_keys::{Circuits, Paced};
use flowloom_core::time::Duration;
use flowloom_core::units::Rate;
use flowloom_sim::keys::{Network, RateChoice, Shape, Topology};
use flowloom_sim::topology::TopologyError;
use flowloom_sim::{Class, Config, ConfigError};

use super::super::diagnostic::Diagnostic;
use super::super::tree::{Argument, Function, Value};
use super::arguments::Arguments;
use super::keys::{Entry, Keys, NETWORK};
use super::names::same_name;

/// What a `path` is asked to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The network interfaces that it stands between.
    pub interfaces: [String; 2],
    /// How long.
    pub duration: Duration,
    /// The network between them, its left side at the first.
    pub network: Box<Network>,
    /// What is drawn is drawn by this.
    pub seed: u64,
}

/// Why a path cannot play its network.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NetworkError {
    /// It has a trace, which is a file.
    #[error("a path plays no trace: it reads no file that a script names")]
    Trace,
    /// A key has an impossible value.
    #[error("{0}")]
    Key(KeyError),
    /// There is no way from one side to the other.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// The simulator's numbers do not fit together.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// Keys of `[network]` that have a name of their own here.
const SHORTHANDS: [(&str, [&str; 2]); 7] = [
    ("rate", ["bottleneck", "rate"]),
    ("delay", ["bottleneck", "delay"]),
    ("queue", ["bottleneck", "queue"]),
    ("cells", ["bottleneck", "cells"]),
    ("loss", ["path", "loss"]),
    ("duplicate", ["path", "duplicate"]),
    ("reorder", ["path", "reorder"]),
];

/// Keys that frames of strangers have no part in: they are of no connection of a workload.
const OF_CONNECTIONS: [(&str, &str); 3] = [
    ("port", "the rule matches none of them"),
    ("subset", "the rule matches none of them"),
    ("sender", "the side of left counts as the initiator"),
];

impl Path {
    pub(super) const KEYWORD: &str = "path";

    pub(super) fn read(given: &mut Arguments<'_>) -> Option<Path> {
        let left = given.needed_name("left", "a network interface");
        let right = given.needed_name("right", "the other network interface");
        let duration = given.duration();
        let seed = given.optional("seed").map_or(Some(1), |seed| given.whole(seed, 1..=u64::MAX >> 12));
        let shorthands = SHORTHANDS.map(|(name, path)| given.optional(name).map(|argument| (name, path, argument)));
        let mut keys = Keys::of(&NETWORK, given.place());
        let of_network = given.keys(&keys);
        let mut entries = keys.entries(&of_network);
        for (name, path, argument) in shorthands.into_iter().flatten() {
            let late = if name == "reorder" { late(argument) } else { None };
            keys.add(&mut entries, path, name, late.as_ref().unwrap_or(argument));
        }
        if left.is_some() && left == right {
            let place = given.place();
            given.wrong(place, "left and right are two interfaces", "name another one for right");
        }
        let network = network(given, &mut keys, &entries)?;
        let (left, right, duration, seed) = (left?, right?, duration?, seed?);
        let path = Path { interfaces: [left, right], duration, network, seed };
        if path.played().is_ok()
            && let Err(impossible) = path.config()
        {
            let place = given.place();
            given.found().push(Diagnostic::error(place, impossible.to_string()));
            return None;
        }
        Some(path)
    }

    /// Whether a path can play its network; why not.
    ///
    /// # Errors
    /// What it has no means for.
    pub fn played(&self) -> Result<(), NetworkError> {
        match self.network.bottleneck.trace {
            Some(_) => Err(NetworkError::Trace),
            None => Ok(()),
        }
    }

    /// The same as an experiment has it.
    ///
    /// # Errors
    /// What cannot be, or cannot be played.
    pub fn config(&self) -> Result<Config, NetworkError> {
        self.played()?;
        let shape = self.network.shape().map_err(NetworkError::Key)?;
        let config = config(&self.network, &shape, self.duration).map_err(NetworkError::Key)?;
        let way = shape.workload_way()?;
        let classes = vec![Class { way, ..Class::default() }];
        let config = Config { seed: self.seed, monitor: false, classes, ..config };
        config.validate()?;
        Ok(config)
    }

    pub(super) fn words(&self) -> String {
        let [left, right] = &self.interfaces;
        let bottleneck = &self.network.bottleneck;
        let link = match bottleneck.rate.value {
            RateChoice::Fixed(rate) => format!("{rate} and {} s", bottleneck.delay.value.as_secs_f64()),
            RateChoice::Auto | RateChoice::OfLoad(_) => "a trace".to_owned(),
        };
        match self.network.topology {
            Topology::Dumbbell => format!("is a path of {link} between {left} and {right}"),
            Topology::ParkingLot | Topology::Graph => {
                format!("is a {} of {link} between {left} and {right}", self.network.kind())
            }
        }
    }
}

/// The network of these keys, and everything that is wrong with them.
fn network(given: &mut Arguments<'_>, keys: &mut Keys, entries: &[Entry]) -> Option<Box<Network>> {
    let place = given.place();
    let mut wrong = keys.wrong(entries);
    if !["bottleneck.rate", "bottleneck.trace"].iter().any(|key| keys.is_given(entries, key)) {
        wrong.push(Diagnostic::error(place, "path needs rate: bit/s of the link"));
    }
    if !wrong.is_empty() {
        given.found().append(&mut wrong);
        return None;
    }
    let network: Network = match keys.read(entries) {
        Ok(network) => network,
        Err(problem) => {
            given.found().push(Diagnostic::error(place, problem));
            return None;
        }
    };
    let (mut problems, shape) = network.problems();
    let played = network.bottleneck.trace.is_none();
    if let (Ok(shape), true) = (&shape, problems.is_empty() && played) {
        problems.extend(config(&network, shape, Duration::from_secs(1)).err());
    }
    if !problems.is_empty() {
        let wrong = problems.iter().map(|problem| keys.impossible(entries, "network", problem, place));
        let wrong: Vec<Diagnostic> = wrong.collect();
        given.found().extend(wrong);
        return None;
    }
    let at = |path: &str| KeyPath::parse(path).and_then(|path| keys.locate(entries, path.steps())).unwrap_or(place);
    let mut doubts = Vec::new();
    for key in cells_of_nobody(&network) {
        let message = format!(
            "{} is of connections of a workload and of sources, which frames belong to none of",
            keys.named(key.clone())
        );
        let hint = "circuits = conversation has one for each flow; all frames are background";
        doubts.push(Diagnostic::warning(at(&key), message).hint(hint));
    }
    if !played {
        let warning = "a path plays no trace: it reads no file that a script names";
        doubts.push(Diagnostic::warning(at("bottleneck.trace"), warning).hint("flowloom run --on live plays traces"));
    }
    for (number, rule) in network.delay_box.iter().enumerate() {
        let key = |key: &str| format!("delay-box[{number}].{key}");
        for (name, so) in OF_CONNECTIONS.into_iter().filter(|(name, _)| keys.is_given(entries, &key(name))) {
            let message =
                format!("{} is of connections of a workload, which frames belong to none of: {so}", key(name));
            doubts.push(Diagnostic::warning(at(&key(name)), message));
        }
        if rule.loss_is_measured() {
            let message = format!("{} is that of the workload's connections, which frames have none of", key("loss"));
            doubts.push(Diagnostic::warning(at(&key("loss")), message));
        }
    }
    given.found().extend(doubts);
    Some(Box::new(network))
}

/// Keys of links of cells that ask what frames are of: they have no type, and are no target.
fn cells_of_nobody(network: &Network) -> Vec<String> {
    let links = network.links.iter().enumerate();
    let links = links.map(|(place, link)| (format!("links[{place}].cells"), link.cells.as_ref()));
    let all = links.chain([("bottleneck.cells".to_owned(), network.bottleneck.cells.as_ref())]);
    let keys = all.filter_map(|(key, cells)| Some((key, cells?))).flat_map(|(key, cells)| {
        let by_type = (cells.circuits == Circuits::Type).then(|| format!("{key}.circuits"));
        let of_target = (cells.paced == Some(Paced::Target)).then(|| format!("{key}.paced"));
        by_type.into_iter().chain(of_target)
    });
    keys.collect()
}

/// The simulator's numbers of a network.
fn config(network: &Network, shape: &Shape, window: Duration) -> Result<Config, KeyError> {
    network.config(shape, window, None, |key: &str, rate: &Quantity<RateChoice>| match rate.value {
        RateChoice::Fixed(rate) => Ok::<Rate, KeyError>(rate),
        RateChoice::Auto | RateChoice::OfLoad(_) => {
            let problem =
                format_args!("of {rate} is relative to a workload, which a path has none of: give a rate, as in 10M");
            Err(KeyError::new(format!("{key}.rate"), problem))
        }
    })
}

/// `reorder = late(share = 0.01, by = "5ms")` as `table(share = 0.01, late = "5ms")`.
fn late(argument: &Argument) -> Option<Argument> {
    let Value::Function(function) = &argument.value else { return None };
    if !same_name(&function.name, "late") {
        return None;
    }
    let renamed = |inner: &Argument| match same_name(&inner.name, "by") {
        true => Argument { name: "late".to_owned(), ..inner.clone() },
        false => inner.clone(),
    };
    let arguments = function.arguments.iter().map(renamed).collect();
    let table = Function { name: "table".to_owned(), place: function.place, arguments };
    Some(Argument { value: Value::Function(table), ..argument.clone() })
}
