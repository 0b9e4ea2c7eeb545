//! What a script will do, as far as it can be told without doing it: for `lab check`.

mod doubts;
mod explanation;
mod words;

use std::collections::BTreeMap;

use flowloom_core::time::Duration;

use super::address::{Address, Host};
use super::diagnostic::{Diagnostic, Severity};
use super::format::value;
use super::leaf::{Leaf, TEST, Tool};
use super::place::Files;
use super::tree::{Block, Body, Keyword};

use doubts::Placed;

pub use explanation::{Explanation, HostShare, LeafStep, Remark, Step};
pub use words::text;

/// What `block`, which is expanded, will do. Diagnostics of `found`, which came before, become its remarks.
///
/// # Errors
/// If leaves are asked for what cannot be: everything there is to say.
pub fn explain(
    files: &Files,
    block: &Block,
    mut found: Vec<Diagnostic>,
) -> Result<(Explanation, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut explainer = Explainer {
        files,
        found: Vec::new(),
        placed: Vec::new(),
        kinds: Vec::new(),
        hosts: BTreeMap::new(),
        leaves: 0,
    };
    let (script, duration) = explainer.step(block, None, Some(Duration::ZERO), &mut Vec::new());
    found.append(&mut explainer.found);
    if found.iter().any(Diagnostic::is_error) {
        return Err(found);
    }
    found.extend(doubts::doubts(&explainer.placed, &explainer.kinds));
    let remarks = |errors: bool| {
        let of = found.iter().filter(|one| (one.severity == Severity::Warning) == errors);
        let remark = of.map(|one| Remark {
            place: files.locate(one.place),
            message: one.message.clone(),
            hint: one.hint.clone(),
        });
        remark.collect()
    };
    let hosts = explainer.hosts.into_iter().map(|(host, [sources, sinks, others])| HostShare {
        host: host.map(|host| host.to_string()),
        sources,
        sinks,
        others,
    });
    let mut names: Vec<String> = Vec::new();
    for file in files.iter() {
        if !names.contains(&file.name) {
            names.push(file.name.clone());
        }
    }
    let explanation = Explanation {
        files: names,
        leaves: explainer.leaves,
        hosts: hosts.collect(),
        duration_ns: duration.map(Duration::as_nanos),
        script,
        warnings: remarks(true),
        notes: remarks(false),
    };
    Ok((explanation, found))
}

/// What is to be said of the leaves in a part of a script that has errors elsewhere, beside those of which something could not be read.
pub fn remarks(part: &Body) -> Vec<Diagnostic> {
    let of_block = |block: &Block| match block.control() {
        Some(_) => remarks(&block.body),
        None if block.body.lost.is_some() => Vec::new(),
        None if block.keyword == TEST => Leaf::read(block).1,
        None => Tool::read(block).map_or_else(Vec::new, |(_, found)| found),
    };
    part.blocks().flat_map(of_block).collect()
}

struct Explainer<'a> {
    files: &'a Files,
    found: Vec<Diagnostic>,
    placed: Vec<Placed>,
    /// What each block is, by its number; nothing of leaves.
    kinds: Vec<Option<Keyword>>,
    /// Sources, sinks and the other leaves of each host.
    hosts: BTreeMap<Option<Host>, [u64; 3]>,
    leaves: u64,
}

impl Explainer<'_> {
    fn step(
        &mut self,
        block: &Block,
        around: Option<&Host>,
        start: Option<Duration>,
        path: &mut Vec<u32>,
    ) -> (Step, Option<Duration>) {
        path.push(self.kinds.len() as u32);
        let kind = block.control();
        self.kinds.push(kind);
        // The address of the outermost block means nothing.
        let own = block.address.as_ref().filter(|_| path.len() > 1);
        let own = own.and_then(|address| address.text.parse::<Address>().ok()).map(|address| address.host);
        let host = own.or_else(|| around.cloned());
        let (mut leaf, mut tool) = (None, None);
        let mut duration;
        let mut children = Vec::new();
        match kind {
            Some(kind) => {
                duration = Some(Duration::ZERO);
                let mut from = start;
                for child in block.body.blocks() {
                    let (step, takes) = self.step(child, host.as_ref(), from, path);
                    children.push(step);
                    duration = duration.zip(takes).map(|(so_far, takes)| match kind {
                        Keyword::Serial => so_far + takes,
                        Keyword::Cluster | Keyword::Parallel => so_far.max(takes),
                    });
                    if kind == Keyword::Serial {
                        from = start.zip(duration).map(|(start, duration)| start + duration);
                    }
                }
            }
            None => {
                (leaf, tool) = self.leaf(block, host.as_ref(), path);
                let of_leaf = leaf.as_ref().map(|leaf| leaf.duration);
                duration = of_leaf.or_else(|| tool.as_ref().map(Tool::duration));
            }
        }
        path.pop();
        let parameters = block.body.parameters.iter().map(|one| (one.name.clone(), value(&one.value)));
        let step = Step {
            keyword: block.keyword.clone(),
            host: host.map(|host| host.to_string()),
            place: self.files.locate(block.place),
            start_ns: start.map(Duration::as_nanos),
            duration_ns: duration.map(Duration::as_nanos),
            leaf: leaf.as_ref().map(LeafStep::of),
            does: tool.as_ref().map(Tool::words),
            parameters: parameters.collect(),
            children,
        };
        (step, duration)
    }

    fn leaf(&mut self, block: &Block, host: Option<&Host>, path: &[u32]) -> (Option<Leaf>, Option<Tool>) {
        self.leaves += 1;
        let (leaf, tool) = if block.keyword == TEST {
            let (leaf, found) = Leaf::read(block);
            self.found.extend(found);
            (leaf, None)
        } else if let Some((tool, found)) = Tool::read(block) {
            self.found.extend(found);
            (None, tool)
        } else {
            let kind = &block.keyword;
            let message = format!("leaves of the kind {kind} are not known here: what they are given is passed on");
            self.found.push(Diagnostic::note(block.place, message));
            (None, None)
        };
        let share = self.hosts.entry(host.cloned()).or_default();
        match &leaf {
            Some(leaf) => share[usize::from(!leaf.sends())] += 1,
            None => share[2] += 1,
        }
        let placed = |leaf| Placed { leaf, place: block.place, host: host.cloned(), path: path.to_vec() };
        self.placed.extend(leaf.clone().map(placed));
        (leaf, tool)
    }
}

#[cfg(test)]
mod tests;
