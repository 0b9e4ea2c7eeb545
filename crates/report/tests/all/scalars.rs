//! The scalars of a run beside its summary, and beside the page that lists them.

use flowloom_core::workload::LinkSide;
use flowloom_report::Run;
use flowloom_report::scalars::{Headings, QUANTITIES, Scalar, Scope, scalars};
use flowloom_testkit::reports::MadeUp;

fn made_up(run: MadeUp) -> Run {
    let folder = tempfile::tempdir().unwrap();
    Run::load(&run.write(&folder.path().join("run"))).unwrap()
}

fn find<'a>(all: &'a [Scalar], name: &str) -> &'a Scalar {
    all.iter().find(|scalar| scalar.name == name).unwrap_or_else(|| panic!("no scalar {name}"))
}

#[test]
fn scalars_equal_the_summary() {
    let run = made_up(MadeUp::default());
    let summary = run.summary();
    let headings = Headings::of(&run);
    let all = scalars(&run, headings);
    let is = |name: &str, expected: Option<f64>| assert_eq!(find(&all, name).value, expected, "{name}");
    is("response_time_p99_ms", summary.response_time_ns.p99.map(|ns| ns / 1e6));
    is("duration_p50_ms", summary.duration_ns.p50.map(|ns| ns / 1e6));
    is("goodput_mean_mbps", summary.throughput.goodput_bits_per_second.mean.map(|bits| bits / 1e6));
    let (up, down) = ("queue_empty_share.up", "queue_empty_share.down");
    let [of_up, of_down] = match headings.up {
        LinkSide::Left => [summary.left_to_right, summary.right_to_left],
        LinkSide::Right => [summary.right_to_left, summary.left_to_right],
    };
    is(up, of_up.queue_empty_share);
    is(down, of_down.queue_empty_share);
    // Made-up runs have no sojourn times.
    is("loss_share.up", None);
    is("queue_delay_p99_ms.down.datagram", None);
    is("utilisation_share.up", None);
    assert!(all.iter().all(|scalar| !scalar.is_lower_bound && scalar.value.is_none_or(f64::is_finite)));
    // Another run has the same names in the same order.
    let other = scalars(&made_up(MadeUp { connections: 3, queues: false, ..MadeUp::default() }), headings);
    assert!(all.iter().map(|scalar| &scalar.name).eq(other.iter().map(|scalar| &scalar.name)));
}

#[test]
fn quantiles_of_unfinished_values_are_bounds() {
    let run = made_up(MadeUp { connections: 400, unfinished: 200, ..MadeUp::default() });
    let all = scalars(&run, Headings::of(&run));
    let summary = run.summary();
    let last = find(&all, "duration_p99_ms");
    assert_eq!((last.is_lower_bound, last.n), (true, Some(400)));
    assert_eq!(last.value, summary.duration_ns.p99_at_least.map(|ns| ns / 1e6));
    assert!(find(&all, "duration_mean_ms").is_lower_bound);
}

/// `docs/reference/metrics.md` lists the quantities as they are.
#[test]
fn every_quantity_is_documented() {
    let page = include_str!("../../../../docs/reference/metrics.md");
    let section = page.split("## Quantities").nth(1).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    let listed: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
    let expected: Vec<String> = QUANTITIES
        .iter()
        .map(|one| {
            let of = match one.scope {
                Scope::Run => "run",
                Scope::Direction => "direction",
                Scope::Class => "class",
            };
            format!("| `{}` | {} | {of} | {} | {} |", one.name, one.unit.name(), one.better.name(), one.meaning)
        })
        .collect();
    assert_eq!(listed, expected, "the table should be:\n{}\n", expected.join("\n"));
}
