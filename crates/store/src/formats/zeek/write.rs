//! Vectors to a log in the form of Zeek's conn.log.

use std::fmt::Display;
use std::io::{self, Write};

use flowloom_core::time::Duration;
use flowloom_core::workload::{ConnectionVector, Host, LinkSide, Protocol, Side};

use super::super::notes::{Notes, Remark};
use super::state;

/// Names and types of the columns, as Zeek 6 and later have them.
const COLUMNS: [(&str, &str); 22] = [
    ("ts", "time"),
    ("uid", "string"),
    ("id.orig_h", "addr"),
    ("id.orig_p", "port"),
    ("id.resp_h", "addr"),
    ("id.resp_p", "port"),
    ("proto", "enum"),
    ("service", "string"),
    ("duration", "interval"),
    ("orig_bytes", "count"),
    ("resp_bytes", "count"),
    ("conn_state", "string"),
    ("local_orig", "bool"),
    ("local_resp", "bool"),
    ("missed_bytes", "count"),
    ("history", "string"),
    ("orig_pkts", "count"),
    ("orig_ip_bytes", "count"),
    ("resp_pkts", "count"),
    ("resp_ip_bytes", "count"),
    ("tunnel_parents", "set[string]"),
    ("ip_proto", "count"),
];

/// Writes rows of conn.log, in the order they come in: of starts, where Zeek has that of ends.
pub struct ZeekWriter<W> {
    out: W,
    /// Wall-clock time of the workload's origin, nanoseconds since 1970; zero where it is unknown or left out.
    origin_ns: u64,
    notes: Notes,
}

impl<W: Write> ZeekWriter<W> {
    /// Starts a log with Zeek's directives.
    ///
    /// # Errors
    /// `out`'s.
    pub fn new(mut out: W, origin_unix_ns: Option<u64>) -> io::Result<ZeekWriter<W>> {
        writeln!(out, "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tconn")?;
        writeln!(out, "#fields\t{}", COLUMNS.map(|(name, _)| name).join("\t"))?;
        writeln!(out, "#types\t{}", COLUMNS.map(|(_, kind)| kind).join("\t"))?;
        Ok(ZeekWriter { out, origin_ns: origin_unix_ns.unwrap_or(0), notes: Notes::default() })
    }

    /// Adds a connection.
    ///
    /// # Errors
    /// `out`'s.
    pub fn write(&mut self, vector: &ConnectionVector) -> io::Result<()> {
        fn or_unset(value: Option<impl Display>) -> String {
            value.map_or_else(|| "-".to_owned(), |value| value.to_string())
        }
        let ends = &vector.ends;
        // Readers of the column take nothing but addresses.
        let host = |side: Side| match ends[side].host {
            None | Some(Host::Number(_)) => "-".to_owned(),
            Some(Host::Address(address)) => address.to_string(),
        };
        if Side::BOTH.iter().any(|side| matches!(ends[*side].host, Some(Host::Number(_)))) {
            self.notes.remark(Remark::HostsLeftOut, 0);
        }
        if vector.initiator_side == LinkSide::Right {
            self.notes.remark(Remark::SideLeftOut, 0);
        }
        let several = Side::BOTH.iter().any(|side| vector.adus.iter().filter(|adu| adu.side == *side).count() > 1);
        if several || vector.adus.iter().any(|adu| adu.wait.is_some()) {
            self.notes.remark(Remark::AdusLeftOut, 0);
        }
        let seconds = |nanos: u64| format!("{}.{:06}", nanos / 1_000_000_000, nanos % 1_000_000_000 / 1_000);
        let (proto, number, service) = match vector.protocol {
            Protocol::Tcp => ("tcp", 6, "-"),
            Protocol::Udp => ("udp", 17, "-"),
            Protocol::Quic => ("udp", 17, "quic"),
        };
        let missing_of = |side| {
            let missing = vector.payload(side).missing;
            (missing > 0 || ends[side].segments.is_some()).then_some(missing)
        };
        let missing = Side::BOTH.into_iter().filter_map(missing_of).reduce(u64::saturating_add);
        let fields: [String; COLUMNS.len()] = [
            seconds(self.origin_ns.saturating_add(vector.start.as_nanos())),
            uid(vector.id),
            host(Side::Initiator),
            or_unset(ends.initiator.port),
            host(Side::Acceptor),
            or_unset(ends.acceptor.port),
            proto.to_owned(),
            service.to_owned(),
            or_unset(vector.lifetime.map(Duration::as_nanos).map(seconds)),
            vector.bytes(Side::Initiator).to_string(),
            vector.bytes(Side::Acceptor).to_string(),
            or_unset(state::of(vector)),
            "-".to_owned(),
            "-".to_owned(),
            or_unset(missing),
            or_unset(state::history(vector)),
            or_unset(ends.initiator.packets),
            or_unset(ends.initiator.ip_bytes),
            or_unset(ends.acceptor.packets),
            or_unset(ends.acceptor.ip_bytes),
            "-".to_owned(),
            number.to_string(),
        ];
        self.notes.vectors += 1;
        writeln!(self.out, "{}", fields.join("\t"))
    }

    /// Completes the log.
    ///
    /// # Errors
    /// `out`'s.
    pub fn finish(mut self) -> io::Result<(W, Notes)> {
        self.out.flush()?;
        Ok((self.out, self.notes))
    }
}

/// An identifier in the form of Zeek's: C and letters and digits. It is the number of the vector, in base 62.
fn uid(mut id: u64) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut digits = vec![DIGITS[(id % 62) as usize]];
    while id >= 62 {
        id /= 62;
        digits.push(DIGITS[(id % 62) as usize]);
    }
    digits.push(b'C');
    digits.iter().rev().map(|digit| char::from(*digit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_of_the_link_that_is_lost_is_counted() {
        let mut writer = ZeekWriter::new(Vec::new(), None).unwrap();
        for initiator_side in [LinkSide::Left, LinkSide::Right, LinkSide::Right] {
            writer.write(&ConnectionVector { initiator_side, ..ConnectionVector::default() }).unwrap();
        }
        let (_, notes) = writer.finish().unwrap();
        assert_eq!((notes.vectors, notes.count(Remark::SideLeftOut)), (3, 2));
    }
}
