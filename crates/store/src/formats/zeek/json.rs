//! conn.log as JSON lines.

use std::net::IpAddr;

use flowloom_core::time::{Duration, Time};
use serde::Deserialize;
use serde_json::Number;

use super::super::error::Flaw;
use super::row::{ConnRow, seconds};

#[derive(Deserialize)]
struct Stored {
    ts: Option<Stamp>,
    #[serde(rename = "_path")]
    path: Option<String>,
    #[serde(rename = "id.orig_h")]
    orig_h: Option<IpAddr>,
    #[serde(rename = "id.orig_p")]
    orig_p: Option<u16>,
    #[serde(rename = "id.resp_h")]
    resp_h: Option<IpAddr>,
    #[serde(rename = "id.resp_p")]
    resp_p: Option<u16>,
    proto: Option<String>,
    service: Option<String>,
    duration: Option<Number>,
    orig_bytes: Option<u64>,
    resp_bytes: Option<u64>,
    conn_state: Option<String>,
    missed_bytes: Option<u64>,
    history: Option<String>,
    orig_pkts: Option<u64>,
    orig_ip_bytes: Option<u64>,
    resp_pkts: Option<u64>,
    resp_ip_bytes: Option<u64>,
}

/// A time as one of Zeek's settings writes it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Stamp {
    /// Seconds since 1970, or milliseconds.
    Number(Number),
    /// `2019-12-03T22:44:56.052279Z`.
    Text(String),
}

/// Above this a stamp is in milliseconds: the year 5138 in seconds, 1973 in milliseconds.
const MOST_SECONDS: f64 = 1e11;

/// Reads a row.
pub(super) fn row(line: &str) -> Result<ConnRow, Flaw> {
    let stored: Stored = serde_json::from_str(line)
        .map_err(|error| Flaw::new(error.to_string(), "a JSON object with the fields of conn.log"))?;
    let (Some(proto), Some(_), None | Some("conn")) = (&stored.proto, &stored.conn_state, stored.path.as_deref())
    else {
        return Err(match stored.path {
            Some(path) if path != "conn" => Flaw::new(format!("a row of Zeek's {path}.log"), "rows of conn.log"),
            _ => Flaw::new("no proto or conn_state: a row of another Zeek log", "rows of conn.log"),
        });
    };
    let ts = match stored.ts {
        None => return Err(Flaw::new("no ts", "the time of the first packet")),
        Some(Stamp::Text(text)) => iso(&text)
            .ok_or_else(|| Flaw::new(format!("ts is \"{text}\""), "seconds since 1970 or 2019-12-03T22:44:56.052Z"))?,
        Some(Stamp::Number(number)) if number.as_f64().is_some_and(|number| number > MOST_SECONDS) => {
            seconds(&number.to_string(), "ts")? / 1_000
        }
        Some(Stamp::Number(number)) => seconds(&number.to_string(), "ts")?,
    };
    Ok(ConnRow {
        ts: Time::from_nanos(ts),
        hosts: [stored.orig_h, stored.resp_h],
        ports: [stored.orig_p, stored.resp_p],
        proto: proto.clone(),
        service: stored.service,
        duration: match stored.duration {
            Some(number) => Some(Duration::from_nanos(seconds(&number.to_string(), "duration")?)),
            None => None,
        },
        bytes: [stored.orig_bytes, stored.resp_bytes],
        state: stored.conn_state,
        missed_bytes: stored.missed_bytes,
        history: stored.history,
        packets: [stored.orig_pkts, stored.resp_pkts],
        ip_bytes: [stored.orig_ip_bytes, stored.resp_ip_bytes],
    })
}

/// `YYYY-MM-DDTHH:MM:SS[.fraction]Z` in nanoseconds since 1970.
fn iso(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let mut date = date.splitn(3, '-').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let mut time = time.splitn(3, ':');
    let (hour, minute) = (time.next()?.parse::<u64>().ok()?, time.next()?.parse::<u64>().ok()?);
    let nanos = seconds(time.next()?, "ts").ok()?;
    if !(1970..2262).contains(&year)
        || !(1..=12).contains(&month)
        || !(1..=31).contains(&day)
        || hour > 23
        || minute > 59
    {
        return None;
    }
    // Days before the month in a year that begins in March, so that the leap day is its last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    let since_1970 = days.checked_sub(719_468)?;
    ((since_1970 * 24 + hour) * 60 + minute).checked_mul(60_000_000_000)?.checked_add(nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(iso("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(iso("2019-12-03T22:44:56.052279Z"), Some(1_575_413_096_052_279_000));
        assert_eq!(iso("2024-02-29T12:00:00.5Z"), Some(1_709_208_000_500_000_000));
        for text in ["2019-12-03 22:44:56", "2019-13-03T22:44:56Z", "1969-12-31T23:59:59Z", "T", "", "2019-12-03T22Z"] {
            assert_eq!(iso(text), None, "{text}");
        }
    }
}
