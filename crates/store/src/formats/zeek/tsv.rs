//! conn.log as Zeek's ASCII writer makes it: directives, then one row per line.

use super::super::error::Flaw;
use super::row::{ConnRow, seconds, whole};

/// The directives read so far. Those of a log pasted behind another one replace what they say.
#[derive(Debug)]
pub(super) struct Header {
    separator: String,
    unset: String,
    empty: String,
    /// Which log this is, if it says so.
    path: Option<String>,
    columns: Option<Columns>,
}

/// Where the columns are; `None` where the log has none of that name.
#[derive(Debug)]
struct Columns {
    count: usize,
    ts: usize,
    proto: usize,
    bytes: [usize; 2],
    hosts: [Option<usize>; 2],
    ports: [Option<usize>; 2],
    packets: [Option<usize>; 2],
    ip_bytes: [Option<usize>; 2],
    service: Option<usize>,
    duration: Option<usize>,
    state: Option<usize>,
    missed_bytes: Option<usize>,
    history: Option<usize>,
}

impl Default for Header {
    fn default() -> Header {
        Header { separator: "\t".into(), unset: "-".into(), empty: "(empty)".into(), path: None, columns: None }
    }
}

/// Why a directive cannot be followed.
pub(super) enum Refusal {
    /// The log is of another kind; this says which.
    OtherLog(String),
    /// The line is wrong.
    Flaw(Flaw),
}

impl From<Flaw> for Refusal {
    fn from(flaw: Flaw) -> Refusal {
        Refusal::Flaw(flaw)
    }
}

impl Header {
    /// Takes in a line that begins with `#`.
    pub(super) fn directive(&mut self, line: &str) -> Result<(), Refusal> {
        if let Some(value) = line.strip_prefix("#separator") {
            // Written with a blank before it; some programs write a tab.
            let separator = unescape(value.trim_start_matches([' ', '\t']));
            if separator.is_empty() {
                return Err(Flaw::new("no separator", "#separator \\x09").into());
            }
            *self = Header { separator, ..Header::default() };
            return Ok(());
        }
        let (name, value) = line.split_once(&self.separator[..]).unwrap_or((line, ""));
        match name {
            "#unset_field" => self.unset = unescape(value),
            "#empty_field" => self.empty = unescape(value),
            "#path" if value != "conn" && !value.starts_with("conn_") && !value.starts_with("conn-") => {
                return Err(Refusal::OtherLog(value.to_owned()));
            }
            "#path" => self.path = Some(value.to_owned()),
            "#fields" => self.columns = Some(Columns::of(&value.split(&self.separator[..]).collect::<Vec<_>>())?),
            "#types" => {
                let found = value.split(&self.separator[..]).count();
                if let Some(columns) = self.columns.as_ref().filter(|columns| columns.count != found) {
                    let problem = format!("{found} types for {} fields", columns.count);
                    return Err(Flaw::new(problem, "one type per field").into());
                }
            }
            // #open, #close, #set_separator and whatever a later Zeek adds.
            _ => {}
        }
        Ok(())
    }

    /// Reads a row.
    pub(super) fn row(&self, line: &str) -> Result<ConnRow, Flaw> {
        let Some(columns) = &self.columns else {
            return Err(Flaw::new("a row before the #fields line", "Zeek's directives first"));
        };
        let fields: Vec<&str> = line.split(&self.separator[..]).collect();
        if fields.len() != columns.count {
            let problem = format!("{} fields, and the header names {}", fields.len(), columns.count);
            return Err(Flaw::new(problem, "one value per field; was the line cut?"));
        }
        let get = |at: Option<usize>| at.map(|at| fields[at]).filter(|text| *text != self.unset && *text != self.empty);
        let number = |at, name: &str| get(at).map(|text| whole::<u64>(text, name)).transpose();
        let required = |at, name: &str| get(Some(at)).ok_or_else(|| Flaw::new(format!("{name} is unset"), "a value"));
        let mut row = ConnRow {
            ts: flowloom_core::time::Time::from_nanos(seconds(required(columns.ts, "ts")?, "ts")?),
            proto: required(columns.proto, "proto")?.to_owned(),
            service: get(columns.service).map(str::to_owned),
            duration: get(columns.duration)
                .map(|text| seconds(text, "duration").map(flowloom_core::time::Duration::from_nanos))
                .transpose()?,
            state: get(columns.state).map(str::to_owned),
            missed_bytes: number(columns.missed_bytes, "missed_bytes")?,
            history: get(columns.history).map(str::to_owned),
            ..ConnRow::default()
        };
        for (at, end) in ["orig", "resp"].iter().enumerate() {
            let address = |text: &str| {
                text.parse().map_err(|_| Flaw::new(format!("id.{end}_h is \"{text}\""), "an IPv4 or IPv6 address"))
            };
            row.hosts[at] = get(columns.hosts[at]).map(address).transpose()?;
            row.ports[at] = get(columns.ports[at]).map(|text| whole(text, &format!("id.{end}_p"))).transpose()?;
            row.bytes[at] = number(Some(columns.bytes[at]), &format!("{end}_bytes"))?;
            row.packets[at] = number(columns.packets[at], &format!("{end}_pkts"))?;
            row.ip_bytes[at] = number(columns.ip_bytes[at], &format!("{end}_ip_bytes"))?;
        }
        Ok(row)
    }
}

impl Columns {
    fn of(names: &[&str]) -> Result<Columns, Flaw> {
        let at = |name: &str| names.iter().position(|found| *found == name);
        let required = |name: &str| {
            at(name).ok_or_else(|| Flaw::new(format!("no field {name}"), "the fields of conn.log, in any order"))
        };
        Ok(Columns {
            count: names.len(),
            ts: required("ts")?,
            proto: required("proto")?,
            bytes: [required("orig_bytes")?, required("resp_bytes")?],
            hosts: [at("id.orig_h"), at("id.resp_h")],
            ports: [at("id.orig_p"), at("id.resp_p")],
            packets: [at("orig_pkts"), at("resp_pkts")],
            ip_bytes: [at("orig_ip_bytes"), at("resp_ip_bytes")],
            service: at("service"),
            duration: at("duration"),
            state: at("conn_state"),
            missed_bytes: at("missed_bytes"),
            history: at("history"),
        })
    }
}

/// Resolves `\xNN`.
fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("\\x") {
        out.push_str(&rest[..at]);
        let code = rest.get(at + 2..at + 4).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let Some(code) = code.filter(u8::is_ascii) else {
            out.push_str("\\x");
            rest = &rest[at + 2..];
            continue;
        };
        out.push(char::from(code));
        rest = &rest[at + 4..];
    }
    out + rest
}
