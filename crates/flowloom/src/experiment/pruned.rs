//! What is left of an experiment without the keys that the schema refuses, so that all other errors of a file are told in the
//! same go.

use toml::{Table, Value};

use serde::de::DeserializeOwned;

use flowloom_core::keys::walk::{Checks, KeyPath, Problem, ProblemKind, Step, walk};

use super::keys::Experiment;
use super::nodes::{unplaced, with_whole_numbers};

/// Each time, what a table needs and has lost takes the table with it; keys are not as deep as this.
const MOST_ROUNDS: usize = 64;

/// What is in `table` without the keys that have `problems` by a schema and its checks, and the paths of these keys; `None` if that cannot
/// be read either.
pub(crate) fn pruned<T: DeserializeOwned>(
    table: Table,
    mut problems: Vec<Problem>,
    (schema, checks): (&serde_json::Value, Checks<'_>),
) -> Option<(T, Vec<String>)> {
    let mut root = with_whole_numbers(Value::Table(table));
    let mut taken = Vec::new();
    for _ in 0..MOST_ROUNDS {
        if let Ok(read) = root.clone().try_into() {
            return Some((read, taken));
        }
        // A value out of bounds can be read as a rule, and what the machine says of it is worth more.
        let (bounds, others): (Vec<Problem>, Vec<Problem>) =
            problems.into_iter().partition(|problem| matches!(problem.kind, ProblemKind::Range { .. }));
        let next = if others.is_empty() { bounds } else { others };
        let before = taken.len();
        taken.extend(next.iter().filter_map(|problem| take(&mut root, &problem.path)));
        if taken.len() == before {
            return None;
        }
        problems = walk(&unplaced(&root), schema, checks);
    }
    None
}

/// The experiment in `text` without all keys that have `problems`, if it is one.
pub(super) fn without(text: &str, problems: &[Problem]) -> Option<Experiment> {
    let mut root = with_whole_numbers(Value::Table(toml::from_str(text).ok()?));
    for problem in problems {
        take(&mut root, &problem.path);
    }
    root.try_into().ok()
}

/// Takes out the key at `path`, of an item the whole list because the places of the others would change; the path of what was
/// taken.
fn take(root: &mut Value, path: &KeyPath) -> Option<String> {
    let path = path.without_items();
    let (key, table) = path.split_last()?;
    let place = table.steps().iter().try_fold(root, |value, step| match step {
        Step::Key(key) => value.as_table_mut()?.get_mut(key),
        Step::Item(number) => value.as_array_mut()?.get_mut(*number),
    })?;
    place.as_table_mut()?.remove(&key)?;
    Some(path.to_string())
}

/// Tables in which a key means the same whatever is wrong with another.
const INDEPENDENT: [&str; 3] = ["", "measure", "run"];

/// Keys of the network on which neither its nodes nor its links depend.
const NOT_SHAPE: [&str; 9] = [
    "network.bottleneck.rate",
    "network.bottleneck.delay",
    "network.bottleneck.queue",
    "network.bottleneck.cells",
    "network.bottleneck.shaper",
    "network.bottleneck.policer",
    "network.bottleneck.trace",
    "network.path",
    "network.delay-box",
];

/// Whether what the schema says of the key `told` is enough about `key`: other keys of a table may mean nothing beside a wrong one, and a
/// table nothing with a wrong one in it.
pub(super) fn covers(told: &str, key: &str) -> bool {
    let table = |key: &str| key.rsplit_once('.').map_or(String::new(), |(table, _)| table.to_owned());
    let is_beside = table(told) == table(key) && !INDEPENDENT.contains(&table(key).as_str());
    is_beside || is_in(told, key) || is_in(key, told)
}

/// Whether a problem with `key` may be there only because `taken` was taken out.
pub(super) fn follows(taken: &str, key: &str) -> bool {
    let is_of_shape = is_in(taken, "network") && !NOT_SHAPE.iter().any(|other| is_in(taken, other));
    let depends_on_shape = ["network", "measure.monitor", "sources"].iter().any(|other| is_in(key, other));
    let is_tcp_of_source = is_in(key, "sources") && key.contains("].tcp");
    is_of_shape && depends_on_shape || is_in(taken, "tcp") && is_tcp_of_source
}

/// Whether `key` is `outer` or in it.
pub(crate) fn is_in(key: &str, outer: &str) -> bool {
    key.strip_prefix(outer).is_some_and(|below| below.is_empty() || below.starts_with(['.', '[']))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines and keys of all errors of a file.
    fn errors(text: &str) -> Vec<(usize, String)> {
        let error = Experiment::parse(text, "x").unwrap_err();
        let of = |error: &crate::error::Error| {
            (error.place.as_ref().unwrap().line.unwrap(), error.key.clone().unwrap_or_default())
        };
        error.each().map(of).collect()
    }

    fn told(text: &str, wanted: &[(usize, &str)]) {
        let wanted: Vec<(usize, String)> = wanted.iter().map(|(line, key)| (*line, (*key).to_owned())).collect();
        assert_eq!(errors(text), wanted, "{text}");
    }

    #[test]
    fn errors_of_all_kinds_come_in_one_go() {
        told(
            "workload.source = \"a\"\ntitel = \"x\"\nmeasure.window = [\"5s\", \"1s\"]\n",
            &[(2, "titel"), (3, "measure.window")],
        );
        told(
            "title = 5\nrun.seeds = [1, 1]\nmeasure.window = [\"5s\", \"1s\"]\n",
            &[(1, "title"), (2, "run.seeds"), (3, "measure.window")],
        );
        told(
            "measure.tcp-trace = \"al\"\nmeasure.monitor = [\"botleneck\"]\n",
            &[(1, "measure.tcp-trace"), (2, "measure.monitor[0]")],
        );
        told(
            "workload.rtt = \"61min\"\nnetwork.bottleneck.queue = { kind = \"codel\", target = \"1h\" }\n",
            &[(1, "workload.rtt"), (2, "network.bottleneck.queue.target")],
        );
        // Out of bounds, which the machine words, beside another.
        told(
            "title = 5\nmeasure.drain = \"2min\"\n[[sources]]\nname = \"a\"\nkind = \"bulk\"\nmss = \"x\"\n[[sources]]\nname = \"b b\"\nkind = \"bulk\"\n",
            &[(1, "title"), (2, "measure.drain"), (6, "sources[0].mss"), (8, "sources[1].name")],
        );
    }

    /// One source, one queue, one table of measurements with several impossible values each.
    #[test]
    fn errors_of_a_table_come_in_one_go() {
        let bulk = "[[sources]]\nname = \"a\"\nkind = \"bulk\"\n";
        told(&format!("{bulk}from = \"x\"\nto = \"y\"\n"), &[(4, "sources[0].from"), (5, "sources[0].to")]);
        told(
            "[[sources]]\nname = \"a\"\nkind = \"on-off\"\nrate = \"1mbit\"\ngap = \"8ms\"\nstart = \"3s\"\nstop = \"1s\"\n",
            &[(1, "sources[0].on"), (1, "sources[0].off"), (5, "sources[0].gap"), (7, "sources[0].stop")],
        );
        let red = "[network.bottleneck.queue]\nkind = \"red\"\nmin = \"30p\"\nmax = \"20p\"\n";
        let queue = |key: &str| format!("network.bottleneck.queue.{key}");
        let (min, limit) = (queue("min"), queue("limit"));
        told(&format!("{red}limit = \"10p\"\n"), &[(3, &min), (5, &limit)]);
        // The schema refuses the limit, on which the order of min and max does not depend.
        told(&format!("{red}limit = \"0p\"\n"), &[(3, &min), (5, &limit)]);
        // It depends on max.
        told("[network.bottleneck.queue]\nkind = \"red\"\nmin = \"30p\"\nmax = \"0p\"\n", &[(4, &queue("max"))]);
        told(
            "[measure]\nduration = \"2s\"\nthroughput-every = \"30ms\"\nwindow = [\"1s\", \"5s\"]\n",
            &[(3, "measure.throughput-every"), (4, "measure.window")],
        );
    }

    #[test]
    fn errors_of_a_graph_come_in_one_go() {
        let link =
            |to: &str| format!("[[network.links]]\nname = \"x\"\nfrom = \"b\"\nto = \"{to}\"\nrate = \"1mbit\"\n");
        let graph = "network.topology = \"graph\"\nnetwork.bottleneck = { from = \"a\", to = \"b\" }\n\
                     network.ends = { left = \"a\", right = \"q\" }\nmeasure.monitor = [\"y\"]\n";
        let routes = "[[network.routes]]\nfrom = \"a\"\nto = \"z\"\n[[network.routes]]\nfrom = \"a\"\nto = \"d\"\n\
                      [[network.routes]]\nfrom = \"a\"\nvia = [\"b\"]\nto = \"d\"\n";
        let source = "[[sources]]\nname = \"s\"\nkind = \"bulk\"\nto = \"w\"\n";
        let text = format!("{graph}{}{}{routes}{source}", link("c"), link("d"));
        let wrong =
            [(3, "network.ends.right"), (10, "network.links[1]"), (15, "network.routes[0]"), (18, "network.routes[1]")];
        told(&text, &wrong);
        // With ends, the names of links and nodes are checked too. The third route takes the link whose name is taken.
        let text = text.replace("\"q\"", "\"d\"");
        let others = [(4, "measure.monitor[0]"), (28, "sources[0].to")];
        let mut all = [&wrong[1..], &others].concat();
        all.sort_unstable();
        told(&text, &all);
    }

    #[test]
    fn all_missing_keys_of_harpoon_are_told() {
        let error = Experiment::parse("workload.model.kind = \"harpoon\"\n", "x").unwrap_err();
        let keys: Vec<&str> = error.each().filter_map(|error| error.key.as_deref()).collect();
        let wanted = ["sessions", "gap-ms", "file-bytes"];
        assert_eq!(keys, wanted.map(|key| format!("workload.model.{key}")));
    }

    #[test]
    fn what_follows_from_a_wrong_key_is_not_told() {
        // The link that is measured has no rate; the source is at a node of it.
        let links = "[[network.links]]\nname = \"x\"\nfrom = \"b\"\nto = \"c\"\nrate = true\n";
        let text = format!(
            "network.topology = \"graph\"\nnetwork.bottleneck = {{ from = \"a\", to = \"b\" }}\n\
             network.ends = {{ left = \"a\", right = \"c\" }}\nmeasure.monitor = [\"x\"]\n{links}\
             [[sources]]\nname = \"s\"\nkind = \"bulk\"\nto = \"c\"\n"
        );
        told(&text, &[(9, "network.links[0].rate")]);
        told(
            "tcp.profil = \"linux\"\n[[sources]]\nname = \"s\"\nkind = \"bulk\"\ntcp.recovery = \"rack\"\n",
            &[(1, "tcp.profil")],
        );
        told("network.topolgy = \"parking-lot\"\nmeasure.monitor = [\"hop-2\"]\n", &[(1, "network.topolgy")]);
    }
}
