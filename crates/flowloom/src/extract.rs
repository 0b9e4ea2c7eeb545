//! Captures into workload files.

use std::path::{Path, PathBuf};

use flowloom_core::workload::ConnectionVector;
use flowloom_store::formats::Format;
use flowloom_store::workload::WorkloadWriter;

use crate::context::Context;
use crate::error::Error;
use crate::extraction::{self, CaptureOptions, Extracted, LiveCapture};
use crate::targets::{check_workload_target, scratch, tell_part};
use crate::workload::hosts::{self, HostOptions};

/// What packets are extracted from.
#[derive(Clone, Copy, Debug)]
pub enum Packets<'a> {
    /// Captures, or folders of them; `-` is standard input.
    Files(&'a [PathBuf]),
    /// A network interface.
    Interface(&'a str, &'a LiveCapture),
}

/// How a workload file is extracted.
#[derive(Clone, Debug, Default)]
pub struct ExtractOptions {
    /// How captures are read.
    pub capture: CaptureOptions,
    /// What is kept of addresses.
    pub hosts: HostOptions,
    /// Replace the output if it exists.
    pub replace: bool,
}

/// Extracts the connection vectors of `packets` into the workload file `output` (`.parquet`). What was read until the work was stopped
/// replaces no file: it gets a name beside `output` then (`NAME.part`), which [`Extracted::workload`] has.
///
/// # Errors
/// An output of another form, or one that exists; what is wrong with the captures; what could not be written.
pub fn extract(
    packets: Packets<'_>,
    output: &Path,
    options: &ExtractOptions,
    context: Context<'_>,
) -> Result<Extracted, Error> {
    let inputs = match packets {
        Packets::Files(paths) => paths,
        Packets::Interface(..) => &[],
    };
    let read = [inputs, options.hosts.key.as_slice()].concat();
    check_output(output, options.replace, &read)?;
    let mut book = hosts::book(&options.hosts, false, context)?;
    let mut writer = WorkloadWriter::stage(output, options.replace).map_err(Error::new)?;
    let (capture, scratch) = (&options.capture, scratch(output));
    let sink = |vector: ConnectionVector| writer.write_owned(vector).map_err(Error::new);
    let mut extracted = match packets {
        Packets::Files(paths) => extraction::vectors(paths, capture, &mut book, &scratch, context, sink)?,
        Packets::Interface(interface, live) => {
            extraction::live(interface, live, capture, &mut book, &scratch, context, sink)?
        }
    };
    let mut provenance = extracted.provenance();
    hosts::note(&options.hosts, &mut provenance);
    let (facts, traffic) = (extracted.facts(), extracted.traffic());
    extracted.workload = if extracted.interrupted {
        let named = writer.finish_part(provenance, facts, &traffic).map_err(Error::new)?;
        extracted.warn(context);
        tell_part(output, named, context)
    } else {
        writer.finish(provenance, facts, &traffic).map_err(Error::new)?;
        extracted.warn(context);
        output.to_owned()
    };
    hosts::warn(&options.hosts, context);
    Ok(extracted)
}

/// Refuses an output that extraction cannot or may not write.
///
/// # Errors
/// Another form than Parquet; a file that exists, unless it may be replaced; one of `inputs`.
pub fn check_output(output: &Path, replace: bool, inputs: &[PathBuf]) -> Result<(), Error> {
    if Format::of_name(&output.to_string_lossy()).is_some_and(|format| format != Format::Parquet) {
        return Err(Error::usage(format_args!("{}: extract writes workloads (.parquet)", output.display()))
            .hint("flowloom convert writes the other forms"));
    }
    check_workload_target(output, replace, inputs)
}
