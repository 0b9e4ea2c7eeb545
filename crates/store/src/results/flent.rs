//! flent's data files (`.flent.gz`): JSON in gzip, format version 4.

use std::collections::BTreeMap;
use std::io::{self, Write};

use flate2::{Compression, GzBuilder};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::series::{Quantity, Results, Series, View, Way};

/// The version that is written; the newest that is read.
const VERSION: u64 = 4;

/// A data file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DataFile {
    /// What was tested, where and when.
    pub metadata: BTreeMap<String, Value>,
    /// Of the format.
    #[serde(skip_deserializing)]
    pub version: u64,
    /// Seconds from the start.
    pub x_values: Vec<f64>,
    /// By the name of the series; as many values as [`Self::x_values`], null where there is none.
    pub results: BTreeMap<String, Vec<Option<f64>>>,
    /// By the name of the series: each measurement as it came. Not read.
    #[serde(skip_deserializing)]
    pub raw_values: BTreeMap<String, Vec<BTreeMap<String, Value>>>,
}

impl DataFile {
    /// Writes it, compressed; the same bytes for the same data.
    ///
    /// # Errors
    ///
    /// What `out` says.
    pub fn write(mut self, out: impl Write) -> io::Result<()> {
        self.version = VERSION;
        let mut packed = GzBuilder::new().mtime(0).write(out, Compression::default());
        serde_json::to_writer(&mut packed, &self)?;
        packed.finish()?.flush()
    }
}

/// What is read first.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    version: u64,
}

/// Whether unpacked bytes are JSON with flent's keys.
pub(super) fn begins(bytes: &[u8]) -> bool {
    let holds = |key: &[u8]| bytes.windows(key.len()).any(|window| window == key);
    holds(b"\"x_values\"") && holds(b"\"results\"")
}

/// Reads an unpacked file.
pub(super) fn read(bytes: &[u8]) -> Result<Results, String> {
    let Head { version } = serde_json::from_slice(bytes).map_err(|error| format!("no JSON: {error}"))?;
    if version > VERSION {
        return Err(format!("flent's format {version} is newer than this program reads ({VERSION})"));
    }
    let file: DataFile = serde_json::from_slice(bytes).map_err(|error| format!("not as flent writes it: {error}"))?;
    let seconds = file.x_values.iter().copied().filter(|at| at.is_finite()).fold(0.0, f64::max);
    // A run of Flowloom in this form counts what passed the link.
    let by_sockets = !file.metadata.contains_key("FLOWLOOM_EXPERIMENT");
    let mut series = Vec::new();
    for (name, values) in &file.results {
        if values.len() != file.x_values.len() {
            return Err(format!("`{name}` has {} values at {} instants", values.len(), file.x_values.len()));
        }
        let (quantity, way, factor) = meaning(name);
        let points = file.x_values.iter().zip(values).filter_map(|(at, value)| Some((*at, (*value)? * factor)));
        let points: Vec<(f64, f64)> = points.filter(|(at, value)| at.is_finite() && value.is_finite()).collect();
        if !points.is_empty() {
            let view = way.filter(|_| by_sockets && quantity == Quantity::BitsPerSecond).map(|way| match way {
                Way::Forward => View::Sender,
                Way::Back => View::Receiver,
            });
            series.push(Series { name: name.clone(), quantity, way, points, lengths: Vec::new(), view });
        }
    }
    if series.is_empty() {
        return Err("it holds no values".to_owned());
    }
    let text = |key: &str| file.metadata.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let title = text("TITLE").or(text("NAME")).unwrap_or_default().to_owned();
    Ok(Results { tool: "flent", title, seconds, series, retransmissions: None })
}

/// What a series is, which way it goes, and what makes its values those of [`Quantity`]: flent has Mbit/s and milliseconds.
fn meaning(name: &str) -> (Quantity, Option<Way>, f64) {
    let lower = name.to_ascii_lowercase();
    let way = match () {
        () if lower.contains("upload") => Some(Way::Forward),
        () if lower.contains("download") => Some(Way::Back),
        () => None,
    };
    // `TCP upload::1` is a stream beside the sum, `TCP upload::tcp_cwnd` a property of the socket.
    let part = lower.contains("::");
    match (lower.starts_with("ping"), way) {
        (true, _) if !part => (Quantity::RoundTripNanos, None, 1e6),
        (false, Some(way)) if !part && lower.starts_with("tcp ") => (Quantity::BitsPerSecond, Some(way), 1e6),
        _ => (Quantity::Other, way, 1.0),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    fn file() -> DataFile {
        let name = ("NAME".to_owned(), Value::from("tcp_bidirectional"));
        DataFile {
            metadata: BTreeMap::from([name]),
            version: 0,
            x_values: vec![0.5, 1.0],
            results: BTreeMap::from([
                ("TCP upload".to_owned(), vec![Some(10.0), None]),
                ("TCP download".to_owned(), vec![Some(1.0), Some(2.0)]),
                ("Ping (ms) ICMP".to_owned(), vec![Some(20.0), Some(21.0)]),
                ("TCP upload::tcp_cwnd".to_owned(), vec![Some(10.0), Some(11.0)]),
                ("Queue upload (packets)".to_owned(), vec![Some(3.0), Some(4.0)]),
            ]),
            raw_values: BTreeMap::new(),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let mut packed = Vec::new();
        file().write(&mut packed).unwrap();
        let mut bytes = Vec::new();
        GzDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
        let results = Results::read(&bytes).unwrap();
        assert_eq!((results.tool, &*results.title, results.seconds), ("flent", "tcp_bidirectional", 1.0));
        let named = |name: &str| results.series.iter().find(|series| series.name == name).unwrap();
        assert_eq!(named("TCP upload").points, [(0.5, 1e7)]);
        assert_eq!(named("TCP download").way, Some(Way::Back));
        assert_eq!(named("Ping (ms) ICMP").points[0], (0.5, 20e6));
        for name in ["TCP upload::tcp_cwnd", "Queue upload (packets)"] {
            assert_eq!(named(name).quantity, Quantity::Other, "{name}");
        }
        let mut again = Vec::new();
        file().write(&mut again).unwrap();
        assert_eq!(packed, again, "the same bytes");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let with = |change: &dyn Fn(&mut DataFile)| {
            let mut file = DataFile { version: 4, ..file() };
            change(&mut file);
            Results::read(&serde_json::to_vec(&file).unwrap()).unwrap_err()
        };
        assert!(with(&|file| file.version = 5).contains("newer than this program reads"));
        assert_eq!(with(&|file| file.x_values.truncate(1)), "`Ping (ms) ICMP` has 2 values at 1 instants");
        assert_eq!(with(&|file| file.results.clear()), "it holds no values");
        assert!(Results::read(b"{\"x_values\": 1, \"results\": {}}").unwrap_err().starts_with("not as flent"));
    }
}
