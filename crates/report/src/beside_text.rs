//! A real link beside a run, for the terminal.

use flowloom_core::time::Duration;
use flowloom_core::workload::LinkSide;

use crate::beside_link::BesideRealLink;
use crate::directions::Directions;
use crate::metric::Unit;
use crate::run::Run;
use crate::text::wrap;

/// The real link beside a run, for the terminal; empty if it has none.
pub(crate) fn link_beside(run: &Run) -> String {
    let mut text = String::new();
    let Some(found) = BesideRealLink::of(run) else { return text };
    wrap(&mut text, "real link", &found.facts.words());
    let directions = Directions::of_runs([run]);
    let heads = ["mean", "p50", "p95", "p99", "greatest"].map(|head| format!(" {head:>13}")).concat();
    text.push_str(&format!("{:30}{heads}\n", ""));
    for from in [LinkSide::Left, LinkSide::Right] {
        let Some((counted, beside)) = found.direction(from) else { continue };
        let name = directions.told(from);
        for (which, rates) in [("real", &beside.real), ("run", &beside.run)] {
            let cells = rates.shown().map(|cell| format!(" {cell:>13}")).concat();
            let line = format!("{name}, {which}");
            text.push_str(&format!("  {line:28}{cells}\n"));
        }
        let every = Duration::from_nanos(counted.interval_ns).written();
        let share = Unit::Share.show(found.known_share(beside));
        let told = format!(
            "{} {} counted every {every}, known in {share} of the window; the run in the same time",
            counted.counter, counted.unit
        );
        wrap(&mut text, "   ", &told);
    }
    text.push('\n');
    text
}
