//! A row of conn.log to a vector.

use std::net::IpAddr;

use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{Adu, Close, ConnectionVector, Evidence, Host, InitiatorRule, Protocol, Side};

use super::super::error::Flaw;
use super::super::notes::{Notes, Remark};
use crate::formats::limits::MOST_BYTES;

/// Bytes of the IP and TCP headers of a packet, at least.
const HEADERS: u64 = 40;

/// What a row says. `None` where it does not.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ConnRow {
    /// Nanoseconds since 1970.
    pub ts: Time,
    pub hosts: [Option<IpAddr>; 2],
    pub ports: [Option<u16>; 2],
    pub proto: String,
    pub service: Option<String>,
    pub duration: Option<Duration>,
    pub bytes: [Option<u64>; 2],
    pub state: Option<String>,
    pub missed_bytes: Option<u64>,
    pub history: Option<String>,
    pub packets: [Option<u64>; 2],
    pub ip_bytes: [Option<u64>; 2],
}

impl ConnRow {
    /// The vector of a row, or `None` with its reason in `notes` if it is none.
    pub(super) fn vector(&self, line: u64, notes: &mut Notes) -> Result<Option<ConnectionVector>, Flaw> {
        let protocol = match (&self.proto[..], self.service.as_deref()) {
            ("tcp", _) => Protocol::Tcp,
            ("udp", Some("quic")) => Protocol::Quic,
            ("udp", _) => Protocol::Udp,
            _ => {
                notes.set_aside("connections-neither-tcp-nor-udp");
                return Ok(None);
            }
        };
        let bytes = self.payload(line, notes)?;
        if bytes == [0, 0] {
            notes.set_aside("connections-no-data");
            return Ok(None);
        }
        if protocol == Protocol::Tcp && self.packets.contains(&Some(0)) {
            notes.set_aside("connections-one-way");
            return Ok(None);
        }
        if self.missed_bytes.is_some_and(|missed| missed > 0) {
            notes.remark(Remark::MissedBytes, line);
        }
        let mut vector = ConnectionVector {
            protocol,
            evidence: Evidence::FlowRecord,
            start: self.ts,
            lifetime: self.duration,
            initiator_rule: self.rule(),
            ..ConnectionVector::default()
        };
        let is_tcp = protocol == Protocol::Tcp;
        let (syn, missing) = if is_tcp { (self.syn_seen(), self.missing(bytes)) } else { ([false; 2], [0; 2]) };
        for side in Side::BOTH {
            let at = side as usize;
            let end = &mut vector.ends[side];
            end.host = self.hosts[at].map(Host::Address);
            end.port = self.ports[at];
            end.syn_seen = syn[at];
            end.packets = self.packets[at];
            end.ip_bytes = self.ip_bytes[at];
            if bytes[at] > 0 {
                let packets = self.packets[at].and_then(|count| u32::try_from(count).ok());
                let packets = packets.filter(|_| !is_tcp);
                vector.adus.push(Adu {
                    side,
                    bytes: bytes[at],
                    missing_bytes: missing[at],
                    wait: None,
                    waiter: side,
                    seen: None,
                    packets,
                });
            }
        }
        // Who waits for whom after the request is the only thing that its being one epoch says.
        if let [request, response] = &mut vector.adus[..] {
            request.waiter = response.side;
        }
        if is_tcp {
            vector.close = self.close();
            vector.complete = syn.contains(&true) && vector.close != Close::NotSeen;
        }
        Ok(Some(vector))
    }

    /// Payload of both ends, as stated. Zeek takes it from sequence numbers, which lie where two connections are mixed up.
    fn payload(&self, line: u64, notes: &mut Notes) -> Result<[u64; 2], Flaw> {
        let bytes = self.bytes.map(Option::unwrap_or_default);
        for (bytes, ip_bytes) in bytes.into_iter().zip(self.ip_bytes) {
            if bytes > MOST_BYTES {
                return Err(Flaw::new(format!("{bytes} bytes of payload"), "at most 256 TiB in a connection"));
            }
            if ip_bytes.is_some_and(|carried| bytes > carried.saturating_add(self.missed_bytes.unwrap_or(0))) {
                notes.remark(Remark::Implausible, line);
            }
        }
        Ok(bytes)
    }

    /// Of the payload of both ends of a TCP connection, what its packets did not carry. Of missed bytes beyond that nobody says which end
    /// sent them: they count to the end that sent more.
    fn missing(&self, bytes: [u64; 2]) -> [u64; 2] {
        let beyond = |at: usize| {
            let headers = self.packets[at].unwrap_or(0).saturating_mul(HEADERS);
            self.ip_bytes[at].map_or(0, |ip_bytes| bytes[at].saturating_sub(ip_bytes.saturating_sub(headers)))
        };
        let mut missing = [beyond(0), beyond(1)];
        let mut left = self.missed_bytes.unwrap_or(0).saturating_sub(missing[0].saturating_add(missing[1]));
        for at in if bytes[0] > bytes[1] { [0, 1] } else { [1, 0] } {
            let more = left.min(bytes[at] - missing[at]);
            missing[at] += more;
            left -= more;
        }
        missing
    }

    fn history_has(&self, letter: char) -> Option<bool> {
        Some(self.history.as_deref()?.contains(letter))
    }

    fn state(&self) -> &str {
        self.state.as_deref().unwrap_or_default()
    }

    /// Whether the SYN and the SYN/ACK were seen: by the history, else by the state.
    fn syn_seen(&self) -> [bool; 2] {
        let open = matches!(self.state(), "S1" | "SF" | "S2" | "S3" | "RSTO" | "RSTR");
        [
            self.history_has('S').unwrap_or(open || matches!(self.state(), "S0" | "REJ" | "RSTOS0" | "SH")),
            self.history_has('h').unwrap_or(open || matches!(self.state(), "RSTRH" | "SHR")),
        ]
    }

    fn rule(&self) -> InitiatorRule {
        match self.syn_seen() {
            // `^`: Zeek turned the connection round, since the other port looks like a service.
            _ if self.history_has('^') == Some(true) => InitiatorRule::Port,
            [true, _] => InitiatorRule::Syn,
            [false, true] => InitiatorRule::SynAck,
            [false, false] => InitiatorRule::FirstPacket,
        }
    }

    /// The first FIN or RST: by the history, else by the state.
    fn close(&self) -> Close {
        if let Some(history) = &self.history {
            return history
                .chars()
                .find_map(|letter| match letter {
                    'F' => Some(Close::Fin(Side::Initiator)),
                    'f' => Some(Close::Fin(Side::Acceptor)),
                    'R' => Some(Close::Rst(Side::Initiator)),
                    'r' => Some(Close::Rst(Side::Acceptor)),
                    _ => None,
                })
                .unwrap_or(Close::NotSeen);
        }
        match self.state() {
            // Both closed; who was first is not said, and most often it is the client.
            "SF" | "S2" | "SH" => Close::Fin(Side::Initiator),
            "S3" | "SHR" => Close::Fin(Side::Acceptor),
            "RSTO" | "RSTOS0" => Close::Rst(Side::Initiator),
            "RSTR" | "RSTRH" => Close::Rst(Side::Acceptor),
            _ => Close::NotSeen,
        }
    }
}

/// A count, a port or another whole number.
pub(super) fn whole<T: std::str::FromStr>(text: &str, name: &str) -> Result<T, Flaw> {
    text.parse().map_err(|_| Flaw::new(format!("{name} is \"{text}\""), "a whole number that fits"))
}

/// Seconds to nanoseconds, exactly: `1379288667.706265`, or `1e-05` as JSON writes it.
pub(super) fn seconds(text: &str, name: &str) -> Result<u64, Flaw> {
    let flaw = || Flaw::new(format!("{name} is \"{text}\""), "seconds from 0, with a decimal point");
    if text.contains(['e', 'E']) {
        let value: f64 = text.parse().map_err(|_| flaw())?;
        return if (0.0..9.2e9).contains(&value) { Ok((value * 1e9).round() as u64) } else { Err(flaw()) };
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) {
        return Err(flaw());
    }
    // Ten digits tell which way the ninth is rounded.
    let digits: String = fraction.chars().chain("0000000000".chars()).take(10).collect();
    let tenths: u64 = digits.parse().map_err(|_| flaw())?;
    let whole: u64 = whole.parse().map_err(|_| flaw())?;
    whole
        .checked_mul(1_000_000_000)
        .and_then(|nanos| {
            nanos.checked_add(tenths.div_ceil(10) - u64::from(!tenths.is_multiple_of(10) && tenths % 10 < 5))
        })
        .filter(|nanos| i64::try_from(*nanos).is_ok())
        .ok_or_else(flaw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_exact() {
        for (text, nanos) in [
            ("1379288667.706265", 1_379_288_667_706_265_000),
            ("0", 0),
            ("0.0000000014", 1),
            ("0.0000000015", 2),
            ("0.9999999996", 1_000_000_000),
            ("1.0013580322265625e-05", 10_014),
            ("12.", 12_000_000_000),
        ] {
            assert_eq!(seconds(text, "ts"), Ok(nanos), "{text}");
        }
        for text in ["", "-1", "1.-5", "x", ".", "1e300", "9223372037.0", "99999999999999999999", "nan", "1,5"] {
            assert!(seconds(text, "ts").is_err(), "{text}");
        }
    }

    fn row(state: &str, history: Option<&str>) -> ConnectionVector {
        let row = ConnRow {
            proto: "tcp".into(),
            bytes: [Some(5), Some(7)],
            state: Some(state.into()),
            history: history.map(str::to_owned),
            ..ConnRow::default()
        };
        row.vector(1, &mut Notes::default()).unwrap().unwrap()
    }

    #[test]
    fn states_and_histories_tell_the_close() {
        let (initiator, acceptor) = (Side::Initiator, Side::Acceptor);
        for (state, history, close, complete, rule) in [
            ("SF", Some("ShADadFf"), Close::Fin(initiator), true, InitiatorRule::Syn),
            ("SF", Some("ShADadfF"), Close::Fin(acceptor), true, InitiatorRule::Syn),
            ("RSTO", Some("ShADadR"), Close::Rst(initiator), true, InitiatorRule::Syn),
            ("RSTR", Some("ShADdFar"), Close::Fin(initiator), true, InitiatorRule::Syn),
            ("S1", Some("ShADad"), Close::NotSeen, false, InitiatorRule::Syn),
            ("OTH", Some("DdR"), Close::Rst(initiator), false, InitiatorRule::FirstPacket),
            ("OTH", Some("^dD"), Close::NotSeen, false, InitiatorRule::Port),
            ("SHR", Some("^hdf"), Close::Fin(acceptor), true, InitiatorRule::Port),
            ("S3", None, Close::Fin(acceptor), true, InitiatorRule::Syn),
            ("RSTRH", None, Close::Rst(acceptor), true, InitiatorRule::SynAck),
        ] {
            let vector = row(state, history);
            assert_eq!((vector.close, vector.complete, vector.initiator_rule), (close, complete, rule), "{state}");
            assert_eq!(vector.adus.len(), 2);
            assert!(vector.adus.iter().all(|adu| adu.wait.is_none() && adu.seen.is_none()));
            assert_eq!((vector.min_rtt(), vector.window(initiator)), (None, None), "nothing is invented");
        }
    }

    /// Missing bytes of both ends, of 1,000 and 20,000 bytes of payload.
    #[test]
    fn bytes_that_packets_did_not_carry_are_missing() {
        let missing = |missed, packets, ip_bytes| {
            let bytes = [Some(1_000), Some(20_000)];
            let row =
                ConnRow { proto: "tcp".into(), bytes, missed_bytes: missed, packets, ip_bytes, ..ConnRow::default() };
            let vector = row.vector(1, &mut Notes::default()).unwrap().unwrap();
            let payload = Side::BOTH.map(|side| vector.payload(side));
            assert_eq!(payload.map(|of| of.replayed), [1_000, 20_000], "taken as stated");
            assert_eq!(payload.map(|of| of.captured + of.missing), [1_000, 20_000]);
            payload.map(|of| of.missing)
        };
        let (packets, whole) = ([Some(10), Some(20)], [Some(1_400), Some(20_800)]);
        assert_eq!(missing(Some(0), packets, whole), [0, 0]);
        assert_eq!(missing(None, [None; 2], [None; 2]), [0, 0]);
        // The packets tell which end sent them.
        assert_eq!(missing(Some(15_000), packets, [Some(1_400), Some(5_800)]), [0, 15_000]);
        assert_eq!(missing(Some(600), packets, [Some(800), Some(20_800)]), [600, 0]);
        assert_eq!(
            missing(None, packets, [Some(1_400), Some(1_800)]),
            [0, 19_000],
            "more than they carried, nothing missed"
        );
        // They do not.
        assert_eq!(missing(Some(15_000), [None; 2], [None; 2]), [0, 15_000]);
        assert_eq!(missing(Some(20_500), packets, whole), [500, 20_000]);
        assert_eq!(missing(Some(u64::MAX), packets, whole), [1_000, 20_000]);
    }

    #[test]
    fn payload_that_no_packets_carried_is_remarked_on() {
        let row = ConnRow {
            proto: "tcp".into(),
            bytes: [Some(100), Some(1_600_000_000)],
            ip_bytes: [Some(140), Some(57_000)],
            missed_bytes: Some(1_000),
            ..ConnRow::default()
        };
        let mut notes = Notes::default();
        let vector = row.vector(9, &mut notes).unwrap().unwrap();
        assert_eq!((vector.bytes(Side::Initiator), vector.bytes(Side::Acceptor)), (100, 1_600_000_000));
        assert_eq!((notes.count(Remark::Implausible), notes.count(Remark::MissedBytes)), (1, 1));
    }
}
