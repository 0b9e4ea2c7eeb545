//! NetSpec's random functions: `ftpItemSize(min=8)`.

use flowloom_core::distribution::{Distribution, Law};
use flowloom_core::rng::Stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::ends::Impossible;
use super::super::histogram::Read;
use super::super::tcplib::{TableError, summarised, tabled};

/// A parameter: a number or a function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Parameter {
    /// Always this.
    Number(#[schemars(range(min = 0))] f64),
    /// Drawn.
    Call(Call),
}

/// The functions, as a page of NetSpec spells them. Two have another spelling.
const FUNCTIONS: [&str; 15] = [
    "ftpItemSize",
    "ftpNOfItems",
    "ftpSessionInterarrival",
    "telnetSessionInterarrival",
    "telnetSessionDuration",
    "telnetPktInterarrival",
    "telnetPacketInterarrival",
    "telnetPktSize",
    "telnetPacketSize",
    "telnetOriginatorBytes",
    "wwwItemSize",
    "wwwRequestInterarrival",
    "voiceSessionInterarrival",
    "voiceSessionDuration",
    "videoTeleconferenceFrameSize",
];

/// Whether there is a function of this name, in any capitals.
pub fn is_function(name: &str) -> bool {
    FUNCTIONS.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// A regular expression (ECMA 262) of their names in any capitals.
fn pattern() -> String {
    let letter = |c: char| format!("[{}{}]", c.to_ascii_lowercase(), c.to_ascii_uppercase());
    let names = FUNCTIONS.map(|name| name.chars().map(letter).collect::<String>());
    format!("^({})$", names.join("|"))
}

/// A function and its arguments, of which each function takes some.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Call {
    /// Its name, in any capitals: pages of NetSpec differ in them.
    #[schemars(extend("format" = "netspec-function", "pattern" = pattern(), "examples" = FUNCTIONS))]
    pub function: String,
    /// Smaller values become this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Larger values become this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// One over the mean, per microsecond.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lambda: Option<f64>,
    /// Tail index, or shape of a gamma distribution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<f64>,
    /// Scale of a gamma distribution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
}

impl Call {
    /// A function without arguments.
    pub fn new(function: &str) -> Call {
        Call { function: function.to_owned(), ..Call::default() }
    }
}

/// tcplib's histograms.
#[derive(Clone, Debug, PartialEq)]
pub struct Tables([Distribution; 4]);

const NAMES: [&str; 4] = ["ftp_nitems", "ftp_itemsize", "telnet_interarrival", "telnet_pktsize"];

impl Default for Tables {
    fn default() -> Tables {
        Tables(NAMES.map(summarised))
    }
}

impl Tables {
    /// From tables.
    pub fn read<E>(read: Read<'_, E>) -> Result<Tables, TableError<E>> {
        let [first, second, third, fourth] = NAMES;
        Ok(Tables([tabled(read, first)?, tabled(read, second)?, tabled(read, third)?, tabled(read, fourth)?]))
    }
}

/// A function whose arguments were found possible.
#[derive(Clone, Debug)]
pub struct Function {
    law: Distribution,
    /// What a value of the law is multiplied by.
    unit: f64,
    min: f64,
    max: f64,
}

impl Function {
    /// Always `value`, which is not negative.
    pub fn constant(value: f64) -> Function {
        let law = Distribution::constant(value).expect("checked");
        Function { law, unit: 1.0, min: 0.0, max: f64::INFINITY }
    }

    /// The value with this share below it.
    pub fn quantile(&self, u: f64) -> f64 {
        // `min` wins where the two cross: NetSpec clips from below last.
        (self.unit * self.law.quantile(u)).min(self.max).max(self.min)
    }

    /// A value: one number of `stream`.
    pub fn sample(&self, stream: &mut Stream) -> f64 {
        self.quantile(stream.uniform())
    }

    /// Whether its mean is finite.
    pub fn has_mean(&self) -> bool {
        self.max.is_finite() || self.law.mean().is_some()
    }

    /// The share of values that are clipped.
    pub fn clipped(&self) -> f64 {
        let outside = |bound: f64| bound / self.unit;
        let below = if self.min > 0.0 { 1.0 - self.law.ccdf(outside(self.min).next_down()) } else { 0.0 };
        let above = if self.max.is_finite() { self.law.ccdf(outside(self.max)) } else { 0.0 };
        below + above
    }

    /// Refuses a period of which every value is zero.
    pub fn never_zero(&self, key: &'static str) -> Result<(), Impossible> {
        match self.quantile(1.0_f64.next_down()) > 0.0 {
            true => Ok(()),
            false => Err(Impossible::new(key, "of 0 never ends")),
        }
    }
}

/// Median of a TELNET session in seconds, and standard deviation of its log2 (Paxson 1994).
const TELNET_DURATION: (f64, f64) = (240.0, 7.8);
/// Log-extreme law of what a TELNET originator sends: log2 of 100 bytes, and of 3.5 (Paxson 1994).
const TELNET_BYTES: (f64, f64) = (100.0, 3.5);

impl Parameter {
    /// What it means.
    ///
    /// # Errors
    /// An unknown function, an argument that is missing, not taken or impossible: what is wrong.
    pub fn function(&self, tables: &Tables) -> Result<Function, String> {
        let call = match self {
            Parameter::Number(value) if *value >= 0.0 && value.is_finite() => return Ok(Function::constant(*value)),
            Parameter::Number(value) => {
                return Err(format!("of {value} is not possible: a number that is not negative"));
            }
            Parameter::Call(call) => call,
        };
        let name = call.function.to_ascii_lowercase();
        let Tables([items, item_bytes, telnet_gaps, telnet_sizes]) = tables;
        let needed = |argument: &str, value: Option<f64>| match value {
            Some(value) if value > 0.0 && value.is_finite() => Ok(value),
            Some(value) => Err(format!("{}: {argument} of {value} must be above zero", call.function)),
            None => Err(format!("{} needs {argument}", call.function)),
        };
        let exponential = || Ok(Law::Exponential { mean: 1.0 / needed("lambda", call.lambda)? });
        let table = |law: &Distribution| Ok(law.law().clone());
        let (law, unit, takes): (Result<Law, String>, f64, &[&str]) = match name.as_str() {
            "telnetsessioninterarrival"
            | "ftpsessioninterarrival"
            | "wwwrequestinterarrival"
            | "voicesessioninterarrival"
            | "voicesessionduration" => (exponential(), 1.0, &["lambda"]),
            "telnetsessionduration" => {
                let (median, factor) = TELNET_DURATION;
                (Ok(Law::LognormalMuSigma { mu: libm::log(median), sigma: libm::log(factor) }), 1e6, &[])
            }
            // The table has milliseconds.
            "telnetpktinterarrival" | "telnetpacketinterarrival" => (table(telnet_gaps), 1e3, &[]),
            "telnetpktsize" | "telnetpacketsize" => (table(telnet_sizes), 1.0, &[]),
            "telnetoriginatorbytes" => {
                let (alpha, beta) = TELNET_BYTES;
                (Ok(Law::LogExtreme { alpha: libm::log2(alpha), beta: libm::log2(beta) }), 1.0, &[])
            }
            "ftpnofitems" => (table(items), 1.0, &[]),
            "ftpitemsize" => (table(item_bytes), 1.0, &[]),
            "wwwitemsize" => {
                let law = needed("shape", call.shape)
                    .and_then(|shape| Ok(Law::Pareto { min: needed("min", call.min)?, shape }));
                (law, 1.0, &["shape"])
            }
            "videoteleconferenceframesize" => {
                let law = needed("shape", call.shape)
                    .and_then(|shape| Ok(Law::Gamma { shape, scale: needed("scale", call.scale)? }));
                (law, 1.0, &["shape", "scale"])
            }
            _ => return Err(format!("is no function of NetSpec: {:?}", call.function)),
        };
        let given = [("lambda", call.lambda), ("shape", call.shape), ("scale", call.scale)];
        if let Some((argument, _)) = given.into_iter().find(|(name, given)| given.is_some() && !takes.contains(name)) {
            return Err(format!("{} takes no {argument}", call.function));
        }
        let law = Distribution::new(law?).map_err(|error| format!("{}: {error}", call.function))?;
        let (min, max) = (call.min.unwrap_or(0.0), call.max.unwrap_or(f64::INFINITY));
        if !(min >= 0.0 && max >= min) {
            return Err(format!("{}: min of {min} and max of {max} leave nothing", call.function));
        }
        Ok(Function { law, unit, min, max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_function() {
        for name in FUNCTIONS {
            let call =
                Call { lambda: Some(1.0), shape: Some(1.0), scale: Some(1.0), min: Some(1.0), ..Call::new(name) };
            let problem = Parameter::Call(call).function(&Tables::default()).err().unwrap_or_default();
            assert!(!problem.contains("is no function"), "{problem}");
        }
        assert!(is_function("FTPITEMSIZE") && !is_function("ftpItemSise"));
    }

    fn function(call: Call) -> Result<Function, String> {
        Parameter::Call(call).function(&Tables::default())
    }

    fn close(found: f64, wanted: f64) {
        assert!((found / wanted - 1.0).abs() < 1e-6, "{found}, not {wanted}");
    }

    /// Methods J.5: lambda = 0.00001 has a mean of 0.1 s; quantiles of the log-extreme law; TELNET sessions.
    #[test]
    fn test_vectors() {
        let gaps = function(Call { lambda: Some(1e-5), ..Call::new("ftpSessionInterarrival") }).unwrap();
        close(gaps.quantile(0.5), 1e5 * std::f64::consts::LN_2);
        let bytes = function(Call::new("telnetOriginatorBytes")).unwrap();
        for (u, wanted) in [(0.1, 35.1746), (0.5, 158.2734), (0.9, 1_676.304_7)] {
            assert!((bytes.quantile(u) / wanted - 1.0).abs() < 1e-5, "{}, not {wanted}", bytes.quantile(u));
        }
        let session = function(Call::new("telnetSessionDuration")).unwrap();
        close(session.quantile(0.5), 240e6);
        close(session.quantile(0.841_344_746_068_542_9), 7.8 * 240e6);
    }

    #[test]
    fn arguments_clip_what_is_drawn() {
        let items = function(Call { min: Some(600.0), max: Some(5_000.0), ..Call::new("FTPItemSize") }).unwrap();
        assert_eq!((items.quantile(0.1), items.quantile(0.99)), (600.0, 5_000.0));
        assert!((0.5..0.8).contains(&items.clipped()), "{}", items.clipped());
        let all = function(Call::new("ftpItemSize")).unwrap();
        assert_eq!(all.clipped(), 0.0);
        // The table of gaps has milliseconds.
        let gaps = function(Call::new("telnetPacketInterarrival")).unwrap();
        close(gaps.quantile(0.5), 232_500.0);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (call, wanted) in [
            (Call::new("ftpSize"), "is no function of NetSpec: \"ftpSize\""),
            (Call::new("wwwItemSize"), "wwwItemSize needs shape"),
            (Call { shape: Some(0.5), ..Call::new("wwwItemSize") }, "wwwItemSize needs min"),
            (Call::new("voiceSessionDuration"), "voiceSessionDuration needs lambda"),
            (
                Call { lambda: Some(-1.0), ..Call::new("voiceSessionDuration") },
                "voiceSessionDuration: lambda of -1 must be above zero",
            ),
            (Call { lambda: Some(1.0), ..Call::new("ftpItemSize") }, "ftpItemSize takes no lambda"),
            (
                Call { min: Some(2.0), max: Some(1.0), ..Call::new("ftpItemSize") },
                "ftpItemSize: min of 2 and max of 1 leave nothing",
            ),
        ] {
            assert_eq!(function(call).unwrap_err(), wanted);
        }
        let number = Parameter::Number(f64::NAN).function(&Tables::default());
        assert_eq!(number.unwrap_err(), "of NaN is not possible: a number that is not negative");
    }
}
