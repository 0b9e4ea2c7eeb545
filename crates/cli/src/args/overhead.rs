//! `flowloom overhead`.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use flowloom::store::lengths::BUILT_IN;

use super::shared::{Capture, Form};

/// What stands below the options.
pub const AFTER_HELP: &str = "\
Write a STACK from the payload outwards, joined by +, such as wireguard+udp+ipv4+ethernet. The
framings are listed in docs/guide/overhead.md. Describe others by their numbers of bytes:
  bytes:N                 add N bytes
  multiple:N              pad to a multiple of N
  least:N                 pad to at least N
  cells:PAYLOAD/OVERHEAD  cut into cells (only as the last framing)

Examples:
  flowloom overhead campus.pcap
  flowloom overhead --lengths ucb-1989 --stack smds-802.6 --stack xfrs-none --stack none-sar
  flowloom overhead campus.parquet --stack esp-gcm+ipv4+ethernet+gap --json
  flowloom overhead lengths.csv --stack llc-snap+aal5+cells:60/4 --payloads 16-128 --html cells.html";

/// `flowloom overhead`
#[derive(Debug, Args)]
pub struct Overhead {
    /// Capture, workload, other vector file, or histogram of datagram lengths (CSV: protocol,data_bytes,count)
    #[arg(value_name = "FILE", required_unless_present = "lengths", conflicts_with = "lengths")]
    pub input: Option<PathBuf>,
    /// Use a built-in histogram of datagram lengths
    #[arg(long, value_name = "NAME", value_parser = built_in())]
    pub lengths: Option<String>,
    /// Stack of framings; may be repeated [default: three published stacks, and stacks in use today]
    #[arg(long = "stack", value_name = "STACK")]
    pub stacks: Vec<String>,
    /// Range of cell payloads for the curve of efficiency, in bytes
    #[arg(long, value_name = "FROM-TO", default_value = "8-128", allow_hyphen_values = true)]
    pub payloads: Payloads,
    /// Also write one self-contained HTML file with plots
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Replace the HTML file if it exists
    #[arg(long, requires = "html")]
    pub force: bool,
    /// How to read a capture
    #[command(flatten)]
    pub capture: Capture,
    /// How to answer
    #[command(flatten)]
    pub form: Form,
}

fn built_in() -> impl TypedValueParser<Value = String> {
    PossibleValuesParser::new(BUILT_IN.map(|(name, _)| name))
}

/// Payloads of cells, from and to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payloads {
    from: u32,
    to: u32,
}

/// The largest payload: more cells than there are bytes in a datagram make no difference.
const MOST_PAYLOAD: u32 = 65_535;
/// Most points of a curve.
const MOST_POINTS: u32 = 4_096;

impl Payloads {
    /// All of them.
    pub fn range(self) -> RangeInclusive<u32> {
        self.from..=self.to
    }
}

impl FromStr for Payloads {
    type Err = String;

    fn from_str(text: &str) -> Result<Payloads, String> {
        let numbers = text.split_once('-').and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
        let Some((from, to)) = numbers else { return Err("write it like 8-128".to_owned()) };
        if from == 0 {
            return Err("a cell with a payload of 0 carries nothing".to_owned());
        }
        if to < from {
            return Err(format!("{to} is less than {from}"));
        }
        if to > MOST_PAYLOAD || to - from >= MOST_POINTS {
            return Err(format!("more than {MOST_POINTS} payloads, or one above {MOST_PAYLOAD} bytes"));
        }
        Ok(Payloads { from, to })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_a_range_above_zero() {
        assert_eq!("44-48".parse::<Payloads>().map(|payloads| payloads.range().count()), Ok(5));
        for bad in ["0-5", "48", "9-8", "-4", "1-4097", "65530-65536", "a-b"] {
            assert!(bad.parse::<Payloads>().is_err(), "{bad}");
        }
    }
}
