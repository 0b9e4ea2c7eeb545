//! Runs of the study in numbers: a row each, in a file that is kept.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// What stands before the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Network {
    /// A link of 1 Gbit/s.
    Unconstrained,
    /// One of 1.05 times the mean load.
    Constrained,
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Network::Unconstrained => "unconstrained",
            Network::Constrained => "constrained",
        })
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Network, String> {
        [Network::Unconstrained, Network::Constrained]
            .into_iter()
            .find(|network| network.to_string() == text)
            .ok_or_else(|| format!("{text:?} is no network of the study"))
    }
}

/// Which run it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// `campus-2008` or `enterprise-2006`; behind it what of it is replayed, or in its place, or beside it: `campus-2008, longest`,
    /// `campus-2008, twin sessions`, `campus-2008, from empty`, `campus-2008, live`, `campus-2008 + poisson 9.04mbit`.
    pub workload: String,
    /// Its connections as a share of the published ones.
    pub scale: f64,
    /// Which link it crosses.
    pub network: Network,
    /// Which structure of connections is kept.
    pub structure: String,
    /// The model of round-trip times.
    pub rtt: String,
    /// The model of windows.
    pub window: String,
    /// Which waits are replayed: from how long on, and what is taken from them.
    pub waits: String,
    /// The queue of the link: its discipline and what it holds at most.
    pub queue: String,
    /// How long is replayed.
    pub minutes: u64,
    /// The seed that draws its workload.
    pub seed: u64,
}

impl Key {
    fn fields(&self) -> [String; 10] {
        let Key { workload, scale, network, structure, rtt, window, waits, queue, minutes, seed } = self;
        let (scale, network, minutes, seed) =
            (scale.to_string(), network.to_string(), minutes.to_string(), seed.to_string());
        [workload, &scale, &network, structure, rtt, window, waits, queue, &minutes, &seed].map(String::clone)
    }

    /// The order of rows in the file.
    pub fn order(&self, other: &Key) -> Ordering {
        let words = |key: &Key| {
            let Key { network, structure, rtt, window, waits, queue, minutes, seed, .. } = key.clone();
            (network, structure, rtt, window, waits, queue, minutes, seed)
        };
        let scales = self.scale.total_cmp(&other.scale);
        self.workload.cmp(&other.workload).then(scales).then_with(|| words(self).cmp(&words(other)))
    }
}

/// A run in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct CellRow {
    /// Which.
    pub key: Key,
    /// Its numbers by their names, which say the units. Those that it does not have are left out.
    pub numbers: BTreeMap<String, f64>,
}

const KEYS: [&str; 10] =
    ["workload", "scale", "network", "structure", "rtt", "window", "waits", "queue", "minutes", "seed"];

/// The file's rows.
///
/// # Errors
/// It cannot be read, or is no such file: which line, and why.
pub fn read(path: &Path) -> Result<Vec<CellRow>, String> {
    let failed = |error: &dyn fmt::Display| format!("{}: {error}", path.display());
    let mut file = csv::Reader::from_path(path).map_err(|error| failed(&error))?;
    let header: Vec<String> = file.headers().map_err(|error| failed(&error))?.iter().map(str::to_owned).collect();
    if header.len() < KEYS.len() || header[..KEYS.len()] != KEYS {
        return Err(failed(&format_args!("its columns do not begin with {}", KEYS.join(","))));
    }
    let mut rows = Vec::new();
    for record in file.records() {
        let record = record.map_err(|error| failed(&error))?;
        let line = record.position().map_or(0, csv::Position::line);
        rows.push(row(&header, &record).map_err(|why| failed(&format_args!("line {line}: {why}")))?);
    }
    Ok(rows)
}

fn row(header: &[String], record: &csv::StringRecord) -> Result<CellRow, String> {
    let text = |place: usize| record.get(place).unwrap_or_default();
    let number = |place: usize| {
        text(place).parse::<f64>().map_err(|_| format!("{} is {:?}, not a number", header[place], text(place)))
    };
    let key = Key {
        workload: text(0).to_owned(),
        scale: number(1)?,
        network: text(2).parse()?,
        structure: text(3).to_owned(),
        rtt: text(4).to_owned(),
        window: text(5).to_owned(),
        waits: text(6).to_owned(),
        queue: text(7).to_owned(),
        minutes: number(8)? as u64,
        seed: number(9)? as u64,
    };
    let known = (KEYS.len()..header.len()).filter(|place| !text(*place).is_empty());
    let numbers = known.map(|place| Ok((header[place].clone(), number(place)?))).collect::<Result<_, String>>()?;
    Ok(CellRow { key, numbers })
}

/// Writes the rows.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, rows: &[CellRow]) -> Result<(), String> {
    let failed = |error: &dyn fmt::Display| format!("{}: {error}", path.display());
    let mut names: Vec<&str> = rows.iter().flat_map(|row| row.numbers.keys().map(String::as_str)).collect();
    names.sort_unstable();
    names.dedup();
    let mut file = csv::Writer::from_path(path).map_err(|error| failed(&error))?;
    file.write_record(KEYS.iter().chain(&names)).map_err(|error| failed(&error))?;
    for row in rows {
        let numbers =
            names.iter().map(|name| row.numbers.get(*name).map_or(String::new(), |value| five_digits(*value)));
        file.write_record(row.key.fields().into_iter().chain(numbers)).map_err(|error| failed(&error))?;
    }
    file.flush().map_err(|error| failed(&error))
}

/// As much of it as a page shows, and one digit more.
fn five_digits(value: f64) -> String {
    let rounded: f64 = format!("{value:.4e}").parse().unwrap_or(value);
    rounded.to_string()
}
