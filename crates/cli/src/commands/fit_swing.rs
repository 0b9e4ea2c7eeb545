//! `flowloom fit --model swing`: users, exchanges, connections and paths of a workload, as a model file that experiments draw from.

use serde_json::json;

use flowloom_core::model::swing::{Grouping, LeftOut, Survey};
use flowloom_core::time::{Duration, Time};
use flowloom_report::fit::swing::SwingSummary;
use flowloom_store::swing;

use crate::args::{self, HostChoice};
use crate::failure::{Exit, Failure};
use crate::input::Kind;
use crate::load;
use crate::output::Manner;

/// Runs the command on an input of this kind.
pub fn run(args: &args::Fit, kind: Kind, manner: Manner) -> Result<Exit, Failure> {
    let grouping = grouping(args)?;
    let input = args.input.display();
    let paths = [args.input.clone()];
    // Who is who is all that matters of addresses, and nothing of it is written.
    let hosts = args::Hosts { hosts: Some(HostChoice::Number), ..args::Hosts::default() };
    let mut loaded = load::open(&paths, kind, &args.capture, &hosts, &std::env::temp_dir(), manner)?;
    loaded.warn(manner);
    let mut survey = Survey::new(grouping);
    let mut last = Time::ZERO;
    for vector in &mut loaded.vectors {
        let vector = vector?;
        last = vector.start;
        survey.add(&vector);
    }
    let (connections, left_out) = (survey.connections(), survey.left_out());
    if connections == 0 {
        return Err(nothing(left_out, &input));
    }
    let duration = Duration::from_nanos(loaded.facts.capture.duration_ns).max(last.since(Time::ZERO));
    let model = survey.finish(duration);
    warn(left_out, manner);
    if let Some(path) = &args.output {
        swing::write(&model, path).map_err(load::unreadable)?;
    }
    let name = (!args.capture.anonymize).then(|| input.to_string());
    let summary = SwingSummary::new(&model, name, connections, left_out);
    let text = || {
        let file = args.output.as_ref().map(|path| format!("\nmodel         {}\n", path.display()));
        summary.text() + &file.unwrap_or_default()
    };
    manner.answer(|| json!(summary), text)?;
    Ok(Exit::Done)
}

fn grouping(args: &args::Fit) -> Result<Grouping, Failure> {
    let published = Grouping::default();
    let given = |option: &Option<crate::experiment::Quantity<Duration>>, published| {
        option.as_ref().map_or(published, |gap| gap.value)
    };
    let grouping = Grouping {
        rre_gap: given(&args.swing.rre_gap, published.rre_gap),
        session_gap: given(&args.session_gap, published.session_gap),
        per_class: args.swing.per_class,
    };
    if grouping.rre_gap > grouping.session_gap {
        return Err(Failure::usage(format_args!(
            "--rre-gap {} is longer than --session-gap {}",
            grouping.rre_gap, grouping.session_gap
        ))
        .hint("a session is one exchange or more: the published rules are 30s and 300s"));
    }
    Ok(grouping)
}

/// Why there is nothing to fit.
fn nothing(left_out: LeftOut, input: &impl std::fmt::Display) -> Failure {
    if left_out.no_host > 0 {
        return Failure::new(format_args!(
            "{input}: does not say which client opened which connection: nothing to fit"
        ))
        .hint("fit the capture itself, or extract it with --hosts number");
    }
    if left_out.flow_records > 0 {
        return Failure::new(format_args!(
            "{input}: flow records do not tell one request from the next: nothing to fit"
        ))
        .hint("fit packets, if they can be captured");
    }
    Failure::new(format_args!("{input}: holds no connections: nothing to fit"))
        .hint("flowloom describe says what is in it")
}

/// Says what the model says nothing of.
fn warn(left_out: LeftOut, manner: Manner) {
    let all = [
        (left_out.no_host, "without addresses are not in the model", "extract the capture with --hosts number"),
        (left_out.flow_records, "of flow records are not in the model", "fit packets, if they can be captured"),
        (left_out.no_data, "without data are not in the model", "nothing: they carry no traffic"),
        (
            left_out.too_many_hosts,
            "of further clients or servers are not in the model: there are too many to tell apart",
            "fit a shorter capture",
        ),
    ];
    for (count, what, remedy) in all.into_iter().filter(|(count, ..)| *count > 0) {
        manner.warn(&format!("{count} connections {what}"), remedy);
    }
}
