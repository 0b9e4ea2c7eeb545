//! Connections as a graph of actions of tgen, the traffic generator of Shadow: for each a pause and a stream. Written, not read
//! (`docs/reference/formats.md`).

use std::io::{self, Write};

use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{ConnectionVector, Side};

use super::notes::{Notes, Remark};
use super::tmix::micros;

/// Attributes of nodes: tgen takes all of them as texts.
const KEYS: [&str; 8] = ["peers", "loglevel", "timeout", "stallout", "time", "sendsize", "recvsize", "count"];

/// Writes a graph, connection by connection.
pub struct TgenWriter<W> {
    out: W,
    notes: Notes,
}

impl<W: Write> TgenWriter<W> {
    /// Starts a graph. Streams are never given up: a long silence is the application's.
    ///
    /// # Errors
    /// `out`'s.
    pub fn new(mut out: W) -> io::Result<TgenWriter<W>> {
        writeln!(out, "<?xml version=\"1.0\" encoding=\"utf-8\"?>")?;
        writeln!(out, "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">")?;
        for key in KEYS {
            writeln!(out, "  <key attr.name=\"{key}\" attr.type=\"string\" for=\"node\" id=\"{key}\" />")?;
        }
        writeln!(out, "  <graph edgedefault=\"directed\">")?;
        let mut writer = TgenWriter { out, notes: Notes::default() };
        let start = [("peers", "server:8888"), ("loglevel", "message"), ("timeout", "0"), ("stallout", "0")];
        writer.node("start", &start.map(|(key, value)| (key, value.to_owned())))?;
        Ok(writer)
    }

    /// Adds a vector. Datagrams, and connections without data, are left out, and the notes say so.
    ///
    /// # Errors
    /// `out`'s.
    pub fn write(&mut self, vector: &ConnectionVector) -> io::Result<()> {
        if let Some(reason) = Remark::for_leaving_out(vector) {
            self.notes.remark(reason, 0);
            return Ok(());
        }
        let number = self.notes.vectors;
        let (pause, stream) = (format!("pause{number}"), format!("stream{number}"));
        let size = |side| vector.bytes(side).to_string();
        // A pause of zero would be one without an end: tgen counts from when it was told to.
        let after = micros(vector.start.since(Time::ZERO)).max(1);
        self.node(&pause, &[("time", format!("{after} us"))])?;
        self.node(&stream, &[("sendsize", size(Side::Initiator)), ("recvsize", size(Side::Acceptor))])?;
        self.edge("start", &pause)?;
        self.edge(&pause, &stream)?;
        let waits = || vector.adus.iter().any(|adu| adu.wait.is_some_and(|wait| wait > Duration::ZERO));
        if vector.adus.len() > 1 || waits() {
            self.notes.remark(Remark::AdusLeftOut, 0);
        }
        self.notes.without_places(vector);
        self.notes.vectors += 1;
        Ok(())
    }

    /// Completes the graph: it is over when all streams are.
    ///
    /// # Errors
    /// `out`'s.
    pub fn finish(mut self) -> io::Result<(W, Notes)> {
        let streams = self.notes.vectors;
        self.node("end", &[("count", streams.to_string())])?;
        for number in 0..streams {
            self.edge(&format!("stream{number}"), "end")?;
        }
        writeln!(self.out, "  </graph>\n</graphml>")?;
        self.out.flush()?;
        Ok((self.out, self.notes))
    }

    fn node(&mut self, id: &str, data: &[(&str, String)]) -> io::Result<()> {
        write!(self.out, "    <node id=\"{id}\">")?;
        for (key, value) in data {
            write!(self.out, "<data key=\"{key}\">{value}</data>")?;
        }
        writeln!(self.out, "</node>")
    }

    fn edge(&mut self, from: &str, to: &str) -> io::Result<()> {
        writeln!(self.out, "    <edge source=\"{from}\" target=\"{to}\" />")
    }
}

#[cfg(test)]
mod tests {
    use flowloom_core::workload::{Adu, Protocol};

    use super::*;

    fn vector(id: u64, start: Time) -> ConnectionVector {
        let adu =
            |side, bytes| Adu { side, bytes, missing_bytes: 0, wait: None, waiter: side, seen: None, packets: None };
        let adus = vec![adu(Side::Initiator, 300 + id), adu(Side::Acceptor, 9_000)];
        ConnectionVector { id, start, adus, ..ConnectionVector::default() }
    }

    #[test]
    fn each_connection_is_a_pause_and_a_stream() {
        let mut writer = TgenWriter::new(Vec::new()).unwrap();
        writer.write(&vector(0, Time::ZERO)).unwrap();
        writer.write(&ConnectionVector { protocol: Protocol::Udp, ..vector(1, Time::ZERO) }).unwrap();
        writer.write(&vector(2, Time::ZERO + Duration::from_millis(1_500))).unwrap();
        let (text, notes) = writer.finish().unwrap();
        let text = String::from_utf8(text).unwrap();
        for line in [
            "<node id=\"start\"><data key=\"peers\">server:8888</data><data key=\"loglevel\">message</data>\
             <data key=\"timeout\">0</data><data key=\"stallout\">0</data></node>",
            "<node id=\"pause0\"><data key=\"time\">1 us</data></node>",
            "<node id=\"pause1\"><data key=\"time\">1500000 us</data></node>",
            "<node id=\"stream1\"><data key=\"sendsize\">302</data><data key=\"recvsize\">9000</data></node>",
            "<node id=\"end\"><data key=\"count\">2</data></node>",
        ] {
            assert!(text.lines().any(|found| found.trim() == line), "{line}: {text}");
        }
        let edges: Vec<&str> = text.lines().filter(|line| line.contains("<edge")).map(str::trim).collect();
        assert_eq!(edges.len(), 6, "{text}");
        assert!(edges.contains(&"<edge source=\"pause1\" target=\"stream1\" />"), "{text}");
        assert_eq!((notes.vectors, notes.count(Remark::DatagramsLeftOut), notes.count(Remark::AdusLeftOut)), (2, 1, 2));
    }
}
