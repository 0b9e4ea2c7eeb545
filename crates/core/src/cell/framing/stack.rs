//! Framings one around the other: how many bytes of a line a datagram takes.

use super::efficiency::Compression;

/// What a framing does to the length of what it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Headers and trailers of so many bytes.
    Add(u32),
    /// Padding up to a multiple of this, above zero.
    Multiple(u32),
    /// Padding up to this, where it is less.
    Least(u32),
    /// A trailer that begins at a multiple of `align` bytes, above zero, and lies wholly in the last cell: the alignment and the rule that it
    /// is in one cell of XFRS (methods H.1). Cells that cannot hold it have no such rule.
    Trailer {
        /// Where it may begin.
        align: u32,
        /// Its length.
        bytes: u32,
    },
}

/// A framing: what is put around a unit before it is handed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Framing {
    /// As it is written.
    pub name: String,
    /// What it does, in this order.
    pub steps: Vec<Step>,
}

/// Cells that a frame is cut into; the last one is padded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cells {
    /// As they are written.
    pub name: String,
    /// Bytes of the frame that a cell carries (P), above zero.
    pub payload_bytes: u32,
    /// Bytes of header and adaptation in each (h).
    pub overhead_bytes: u32,
}

/// Framings from the inside out; the last may be cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    pub(super) framings: Vec<Framing>,
    pub(super) cells: Option<Cells>,
}

/// What becomes of one datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// Bytes that the last framing carries (F): before cells are cut, or before the outermost header.
    pub frame_bytes: u64,
    /// Cells; 0 of a stack without.
    pub cells: u64,
    /// Bytes on the line (T).
    pub line_bytes: u64,
}

impl Stack {
    /// The cells at its end.
    pub fn cells(&self) -> Option<&Cells> {
        self.cells.as_ref()
    }

    /// The same with cells that carry `payload_bytes`, and as much overhead in each; `None` for zero, and of a stack without cells.
    pub fn with_cell_payload(&self, payload_bytes: u32) -> Option<Stack> {
        let cells = Cells { payload_bytes, ..self.cells.clone()? };
        (payload_bytes > 0).then(|| Stack { framings: self.framings.clone(), cells: Some(cells) })
    }

    /// What becomes of a datagram of `ip_bytes`, its headers encoded already if they are to be. A stack without cells has no
    /// cells to compress.
    pub fn carry(&self, ip_bytes: u64, compression: Compression) -> Carried {
        let Some(cells) = &self.cells else {
            let (last, before) =
                self.framings.split_last().map_or((None, &[][..]), |(last, before)| (Some(last), before));
            let frame_bytes = around(before, ip_bytes, None);
            let line_bytes = around(last.map_or(&[], std::slice::from_ref), frame_bytes, None);
            return Carried { frame_bytes, cells: 0, line_bytes };
        };
        let (payload, overhead) = (u64::from(cells.payload_bytes), u64::from(cells.overhead_bytes));
        let frame_bytes = around(&self.framings, ip_bytes, Some(payload));
        let cells = frame_bytes.div_ceil(payload);
        // Without padding, and with one overhead for all cells (methods H.2).
        let data = if compression.pad_deletion { frame_bytes } else { cells * payload };
        let overheads = if compression.cell_header_suppression { cells.min(1) } else { cells };
        Carried { frame_bytes, cells, line_bytes: data + overheads * overhead }
    }
}

/// The length of `bytes` within `framings`, before cells that carry `cell`.
fn around(framings: &[Framing], bytes: u64, cell: Option<u64>) -> u64 {
    framings.iter().flat_map(|framing| &framing.steps).fold(bytes, |bytes, step| match *step {
        Step::Add(more) => bytes + u64::from(more),
        Step::Multiple(of) => bytes.next_multiple_of(u64::from(of)),
        Step::Least(least) => bytes.max(u64::from(least)),
        Step::Trailer { align, bytes: trailer } => {
            let (align, trailer) = (u64::from(align), u64::from(trailer));
            let mut start = bytes.next_multiple_of(align);
            if let Some(cell) = cell.filter(|cell| *cell >= trailer) {
                // Ends at the latest where a cell begins.
                while start % cell + trailer > cell {
                    start += align;
                }
            }
            start + trailer
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(text: &str) -> Stack {
        text.parse().unwrap()
    }

    /// Methods H.4: frame bytes and cells by length.
    #[test]
    fn frames_and_cells_of_the_published_stacks() {
        let [smds, xfrs, sar] = ["smds-802.6", "xfrs-none", "none-sar"].map(stack);
        for (ip_bytes, of_smds, of_xfrs, of_sar) in [
            (20, (48, 2), (36, 1), 1),
            (36, (64, 2), (60, 2), 1),
            (40, (68, 2), (60, 2), 1),
            (44, (72, 2), (60, 2), 1),
            (48, (76, 2), (60, 2), 2),
            (49, (77, 2), (68, 2), 2),
            (88, (116, 3), (108, 3), 2),
            (96, (124, 3), (108, 3), 3),
            (552, (580, 14), (564, 12), 13),
            (576, (604, 14), (588, 13), 13),
            (1500, (1528, 35), (1516, 32), 34),
        ] {
            let of = |stack: &Stack| {
                let carried = stack.carry(ip_bytes, Compression::default());
                let cells = stack.cells().unwrap();
                assert_eq!(
                    carried.line_bytes,
                    carried.cells * u64::from(cells.payload_bytes + cells.overhead_bytes),
                    "{ip_bytes}"
                );
                (carried.frame_bytes, carried.cells)
            };
            assert_eq!((of(&smds), of(&xfrs), of(&sar)), (of_smds, of_xfrs, (ip_bytes, of_sar)), "{ip_bytes}");
        }
    }

    #[test]
    fn compression_takes_padding_and_overhead_away() {
        let smds = stack("smds-802.6");
        let line = |pad_deletion, cell_header_suppression| {
            let compression = Compression { pad_deletion, cell_header_suppression, ..Compression::default() };
            smds.carry(40, compression).line_bytes
        };
        // 68 bytes in two cells of 44 + 9.
        assert_eq!([line(false, false), line(true, false), line(false, true), line(true, true)], [106, 86, 97, 77]);
    }

    /// The published totals of framings of today, at lengths where padding shows.
    #[test]
    fn framings_of_today() {
        for (text, ip_bytes, line_bytes) in [
            ("ethernet", 40, 64),
            ("ethernet", 1500, 1518),
            ("ethernet+gap", 1500, 1538),
            // A tag counts towards the least length of a frame.
            ("vlan+ethernet", 40, 64),
            ("vlan+ethernet", 1500, 1522),
            ("pppoe+ethernet", 1492, 1518),
            ("mac+vxlan+udp+ipv4", 1500, 1550),
            ("gre+ipv4", 1476, 1500),
            // RFC 2684: an acknowledgement of 40 bytes fits no cell with LLC and trailer.
            ("llc-snap+aal5+atm", 40, 106),
            ("aal5+atm", 40, 53),
            ("wireguard+udp+ipv4", 1420, 1424 + 60),
            ("wireguard+udp+ipv4", 1408, 1468),
            // 1,400 and two bytes pad to 1,404; SPI, sequence number, IV and ICV are 32.
            ("esp-gcm+ipv4", 1400, 1404 + 32 + 20),
            ("esp-cbc+ipv4", 1400, 1408 + 40 + 20),
            ("gtp-u+udp+ipv4", 1464, 1500),
            ("ethernet+gem", 1500, 1523),
            ("ethernet+xgem", 1500, 1520 + 8),
            ("ethernet+docsis", 1500, 1524),
            ("bytes:7+multiple:10+least:50+cells:20/1", 12, 63),
        ] {
            assert_eq!(
                stack(text).carry(ip_bytes, Compression::default()).line_bytes,
                line_bytes,
                "{text} of {ip_bytes}"
            );
        }
    }

    #[test]
    fn a_trailer_lies_in_the_last_cell_whatever_the_cells() {
        for payload in 1..=200 {
            let stack = stack("xfrs-none").with_cell_payload(payload).unwrap();
            for ip_bytes in 20..400 {
                let frame = stack.carry(ip_bytes, Compression::default()).frame_bytes;
                let start = frame - 12;
                assert_eq!((start % 8, start >= ip_bytes), (0, true));
                if payload >= 12 {
                    assert_eq!(start / u64::from(payload), (frame - 1) / u64::from(payload), "{ip_bytes} in {payload}");
                }
            }
        }
        assert_eq!(stack("xfrs-none").with_cell_payload(0), None);
        assert_eq!(stack("ethernet").with_cell_payload(48), None);
    }
}
