//! Users, exchanges, connections and paths of a workload, as a model file that experiments draw from.

use std::path::{Path, PathBuf};

use flowloom_core::time::{Duration, Time};
use flowloom_models::swing::{Grouping, LeftOut, Survey};
use flowloom_report::fit::swing::SwingSummary;
use flowloom_store::swing;

use crate::context::Context;
use crate::error::Error;
use crate::experiment::Quantity;
use crate::extraction::CaptureOptions;
use crate::finding::NotModelled;
use crate::targets::{check_target, write_page};
use crate::warning::Warning;
use crate::workload::hosts::{HostChoice, HostOptions};
use crate::workload::load;

/// How exchanges and sessions are told apart.
#[derive(Clone, Debug, Default)]
pub struct SwingFitOptions {
    /// A silence this long ends an exchange; `None`: as published.
    pub rre_gap: Option<Quantity<Duration>>,
    /// A silence this long ends a session; `None`: as published.
    pub session_gap: Option<Quantity<Duration>>,
    /// Sessions are of one class of application each.
    pub per_class: bool,
    /// The model file to write, if any.
    pub target: Option<PathBuf>,
    /// Replace the file if it exists.
    pub replace: bool,
    /// How captures are read.
    pub capture: CaptureOptions,
}

/// What was fitted.
pub type FittedSwing = SwingSummary;

/// Fits users, exchanges, connections and paths to the workload in `input`.
///
/// # Errors
/// What is wrong with the input; nothing to fit; the file that could not be written.
pub fn fit_swing(input: &Path, options: &SwingFitOptions, context: Context<'_>) -> Result<FittedSwing, Error> {
    let kind = super::kind::kind(input, &options.capture)?;
    let grouping = grouping(options)?;
    let paths = [input.to_owned()];
    if let Some(path) = &options.target {
        check_target(path, options.replace, &paths)?;
    }
    // Who is who is all that matters of addresses, and nothing of it is written.
    let hosts = HostOptions { keep: Some(HostChoice::Number), ..HostOptions::default() };
    let mut loaded = load::open(&paths, kind, &options.capture, &hosts, &std::env::temp_dir(), context)?;
    loaded.warn(context);
    let mut survey = Survey::new(grouping);
    let mut last = Time::ZERO;
    for vector in &mut loaded.vectors {
        let vector = vector?;
        last = vector.start;
        survey.add(&vector);
    }
    let (connections, left_out) = (survey.connections(), survey.left_out());
    if connections == 0 {
        return Err(nothing(left_out, &input.display()));
    }
    let duration = Duration::from_nanos(loaded.facts.capture.duration_ns).max(last.since(Time::ZERO));
    let model = survey.finish(duration);
    warn(left_out, context);
    if let Some(path) = &options.target {
        write_page(path, options.replace, context.stop(), |out| swing::write_to(&model, out))?;
    }
    let name = (!options.capture.anonymize).then(|| input.display().to_string());
    Ok(SwingSummary::new(&model, name, connections, left_out))
}

fn grouping(options: &SwingFitOptions) -> Result<Grouping, Error> {
    let published = Grouping::default();
    let given = |option: &Option<Quantity<Duration>>, published| option.as_ref().map_or(published, |gap| gap.value);
    let grouping = Grouping {
        rre_gap: given(&options.rre_gap, published.rre_gap),
        session_gap: given(&options.session_gap, published.session_gap),
        per_class: options.per_class,
    };
    if grouping.rre_gap > grouping.session_gap {
        return Err(Error::usage(format_args!(
            "--rre-gap {} is longer than --session-gap {}",
            grouping.rre_gap, grouping.session_gap
        ))
        .hint("a session is one exchange or more: the published rules are 30s and 300s"));
    }
    Ok(grouping)
}

/// Why there is nothing to fit.
fn nothing(left_out: LeftOut, input: &impl std::fmt::Display) -> Error {
    if left_out.no_host > 0 {
        return Error::new(format_args!("{input}: does not say which client opened which connection: nothing to fit"))
            .hint("fit the capture itself, or extract it with --hosts number");
    }
    if left_out.flow_records > 0 {
        return Error::new(format_args!("{input}: flow records do not tell one request from the next: nothing to fit"))
            .hint("fit packets, if they can be captured");
    }
    Error::new(format_args!("{input}: holds no connections: nothing to fit"))
        .hint("flowloom describe says what is in it")
}

/// Says what the model says nothing of.
fn warn(left_out: LeftOut, context: Context<'_>) {
    let all = [
        (left_out.no_host, NotModelled::NoHost),
        (left_out.flow_records, NotModelled::FlowRecord),
        (left_out.no_data, NotModelled::NoData),
        (left_out.too_many_hosts, NotModelled::TooManyHosts),
    ];
    for (connections, reason) in all.into_iter().filter(|(count, _)| *count > 0) {
        context.warn(&Warning::LeftOfModel { connections, reason });
    }
}
