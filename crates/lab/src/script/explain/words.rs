//! An explanation in words.

use std::fmt::Write;

use flowloom_core::units::Rate;

use super::super::tree::Keyword;
use super::explanation::{Explanation, HostShare, LeafStep, Step};

/// The explanation in words, as lines.
pub fn text(explanation: &Explanation) -> String {
    let Explanation { files, leaves, hosts, duration_ns, script, .. } = explanation;
    let mut text = files.first().cloned().unwrap_or_default();
    let of = |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    let duration = duration_ns.map_or("for an unknown time".to_owned(), |ns| format!("for {}", seconds(ns)));
    let leaves = match *leaves {
        1 => "1 leaf".to_owned(),
        leaves => format!("{leaves} leaves"),
    };
    let _ = writeln!(text, "  {leaves} on {}, {duration}", of(hosts.len(), "host"));
    if files.len() > 1 {
        let _ = writeln!(text, "includes  {}", files[1..].join(", "));
    }
    text.push('\n');
    step(&mut text, script, &mut Vec::new(), None);
    text.push_str("\nhosts\n");
    let name = |share: &HostShare| share.host.clone().unwrap_or_else(|| "this host".to_owned());
    let width = hosts.iter().map(|share| name(share).chars().count()).max().unwrap_or(0);
    for share in hosts {
        let does = [("sends", share.sources), ("receives", share.sinks), ("other leaves", share.others)];
        let does = does.iter().filter(|(_, count)| *count > 0).map(|(what, count)| format!("{what} {count}"));
        let _ = writeln!(text, "  {:width$}  {}", name(share), does.collect::<Vec<_>>().join(", "));
    }
    text
}

/// Times to the millisecond, where they have that.
fn seconds(ns: u64) -> String {
    format!("{} s", (ns as f64 / 1e6).round() / 1e3)
}

/// A block with its number among those around it, which run on `around`.
fn step(text: &mut String, step: &Step, number: &mut Vec<usize>, around: Option<&str>) {
    let indent = "  ".repeat(number.len());
    let count: Vec<String> = number.iter().map(usize::to_string).collect();
    let count = if count.is_empty() { String::new() } else { count.join(".") + "  " };
    let on = match step.host.as_deref() {
        Some(host) if step.host.as_deref() != around => format!(" on {host}"),
        _ => String::new(),
    };
    let _ = write!(text, "{indent}{count}{}{on}: ", step.keyword);
    let below = format!("{indent}{}", " ".repeat(count.len()));
    match (Keyword::of(&step.keyword), &step.leaf) {
        (Some(keyword), _) => {
            let how = match (keyword, step.children.len()) {
                (_, 0) => "nothing to do",
                (Keyword::Cluster, _) => "at the same time, and if one fails all have",
                (Keyword::Parallel, _) => "at the same time",
                (Keyword::Serial, _) => "one after the other",
            };
            let _ = writeln!(text, "{how}");
            passed_on(text, step, &below);
        }
        (None, Some(leaf)) => self::leaf(text, step, leaf, &below),
        (None, None) => {
            let _ = match &step.does {
                Some(does) => {
                    let time = step.duration_ns.map_or(String::new(), seconds);
                    writeln!(text, "{}{does} for {time}", from(step))
                }
                None => writeln!(text, "not known here, given as it is"),
            };
            passed_on(text, step, &below);
        }
    }
    for (index, child) in step.children.iter().enumerate() {
        number.push(index + 1);
        self::step(text, child, number, step.host.as_deref());
        number.pop();
    }
}

/// When it begins, if that is later than the script does.
fn from(step: &Step) -> String {
    let start = step.start_ns.filter(|start| *start > 0);
    start.map_or(String::new(), |start| format!("from {} on, ", seconds(start)))
}

/// Parameters, as they are written.
fn passed_on(text: &mut String, step: &Step, indent: &str) {
    for (name, value) in &step.parameters {
        let _ = writeln!(text, "{indent}{name} = {value}");
    }
}

fn leaf(text: &mut String, step: &Step, leaf: &LeafStep, indent: &str) {
    let LeafStep { sends, protocol, own, peer, .. } = leaf;
    let (from, time) = (from(step), step.duration_ns.map_or(String::new(), seconds));
    let _ = match sends {
        true => writeln!(text, "{from}sends from {own} to {peer} by {protocol} for {time}"),
        false => writeln!(text, "{from}receives at {own} from {peer} by {protocol} for {time}"),
    };
    let how_much = match leaf.offered_bits_per_second {
        Some(bits) => match Rate::from_bits_per_second(bits.round() as u64) {
            Some(rate) => format!(": offers {rate}"),
            None => String::new(),
        },
        None if leaf.as_fast_as_it_can => ": as fast as it can".to_owned(),
        None if *sends => ": how much is drawn".to_owned(),
        None => String::new(),
    };
    let given = |wanted: &str| step.parameters.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
    if let Some((_, value)) = given("type") {
        let _ = writeln!(text, "{indent}{value}{how_much}");
    }
    if let Some((_, value)) = given("protocol") {
        let _ = writeln!(text, "{indent}{value}");
    }
    let known = ["type", "protocol", "own", "peer"];
    for (name, value) in &step.parameters {
        if !known.iter().any(|known| name.eq_ignore_ascii_case(known)) {
            let _ = writeln!(text, "{indent}passed on: {name} = {value}");
        }
    }
}
