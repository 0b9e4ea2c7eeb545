//! Totals over all datagrams, and compression.

use super::lengths::{Lengths, header_bytes};
use super::stack::Stack;
use crate::extract::conversations::Transport;

/// Bytes that the encoded TCP and IP headers take (methods H.2, after RFC 1144).
const ENCODED_HEADER_BYTES: u32 = 4;

/// What is left out of the line (methods H.2). Each goes with each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compression {
    /// The padding of the last cell is not sent.
    pub pad_deletion: bool,
    /// Only the first cell has its header and adaptation bytes.
    pub cell_header_suppression: bool,
    /// The 40 bytes of TCP and IPv4 headers are sent as 4; what a datagram has more, options or the longer header of IPv6, stays, and UDP stays
    /// as it is.
    pub datagram_header_encoding: bool,
}

impl Compression {
    /// Nothing is left out.
    pub const NONE: Compression =
        Compression { pad_deletion: false, cell_header_suppression: false, datagram_header_encoding: false };

    /// The published combinations by name, in the order of the published tables: standard, PD, CHS, DHE, PD+CHS, All.
    pub const PUBLISHED: [(&'static str, Compression); 6] = [
        ("standard", Compression::NONE),
        ("PD", Compression { pad_deletion: true, ..Compression::NONE }),
        ("CHS", Compression { cell_header_suppression: true, ..Compression::NONE }),
        ("DHE", Compression { datagram_header_encoding: true, ..Compression::NONE }),
        ("PD+CHS", Compression { pad_deletion: true, cell_header_suppression: true, datagram_header_encoding: false }),
        ("All", Compression { pad_deletion: true, cell_header_suppression: true, datagram_header_encoding: true }),
    ];

    /// Those of [`PUBLISHED`](Self::PUBLISHED) that mean something for `stack`: without cells only what is done to datagrams.
    pub fn of_stack(stack: &Stack) -> impl Iterator<Item = (&'static str, Compression)> {
        let has_cells = stack.cells().is_some();
        let of_cells = |one: &Compression| one.pad_deletion || one.cell_header_suppression;
        Compression::PUBLISHED.into_iter().filter(move |(_, one)| has_cells || !of_cells(one))
    }

    /// The length of a datagram as it is handed to the first framing.
    pub fn handed_bytes(self, transport: Transport, ip_bytes: u32) -> u32 {
        let encodes = self.datagram_header_encoding && transport == Transport::Tcp;
        ip_bytes.saturating_sub(if encodes { header_bytes(transport) - ENCODED_HEADER_BYTES } else { 0 })
    }
}

/// Bytes over all datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Of applications (A).
    pub application: u128,
    /// Of datagrams (D), with the headers that are sent.
    pub datagram: u128,
    /// Carried by the last framing (F).
    pub frame: u128,
    /// On the line (T).
    pub line: u128,
}

impl Totals {
    /// Shares of the bytes on the line: application, datagram and frame efficiency (methods H.1). Totals first, then the ratio; `None`
    /// without a byte.
    pub fn efficiencies(&self) -> Option<[f64; 3]> {
        let share = |bytes: u128| bytes as f64 / self.line as f64;
        (self.line > 0).then(|| [self.application, self.datagram, self.frame].map(share))
    }
}

/// What `lengths` take in `stack`.
pub fn totals(stack: &Stack, lengths: &Lengths, compression: Compression) -> Totals {
    let mut totals = Totals::default();
    for (transport, ip_bytes, group) in lengths.groups() {
        let datagrams = u128::from(group.datagrams);
        let handed = u64::from(compression.handed_bytes(transport, ip_bytes));
        let carried = stack.carry(handed, compression);
        totals.application += u128::from(group.data_bytes);
        totals.datagram += datagrams * u128::from(handed);
        totals.frame += datagrams * u128::from(carried.frame_bytes);
        totals.line += datagrams * u128::from(carried.line_bytes);
    }
    totals
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Methods H.4: a hundred datagrams.
    fn hundred() -> Lengths {
        let mut lengths = Lengths::default();
        for (data_bytes, count) in [(0, 40), (1, 25), (9, 5), (100, 10), (512, 10), (536, 5)] {
            lengths.add_data(Transport::Tcp, data_bytes, count);
        }
        lengths.add_data(Transport::Udp, 40, 4);
        lengths.add_data(Transport::Udp, 120, 1);
        lengths
    }

    #[test]
    fn the_published_formulas_to_every_digit() {
        type Row = (u128, [f64; 3]);
        let table: [(&str, [Row; 6]); 3] = [
            (
                "smds-802.6",
                [
                    (21518, [42.5225, 60.8328, 73.8452]),
                    (19544, [46.8174, 66.9771, 81.3037]),
                    (18764, [48.7636, 69.7612, 84.6834]),
                    (16483, [55.5117, 58.6665, 75.6537]),
                    (16790, [54.4967, 77.9631, 94.6397]),
                    (13370, [68.4368, 72.3261, 93.2685]),
                ],
            ),
            (
                "xfrs-none",
                [
                    (19981, [45.7935, 65.5122, 74.4707]),
                    (16765, [54.5780, 78.0793, 88.7563]),
                    (18596, [49.2041, 70.3915, 80.0172]),
                    (15476, [59.1238, 62.4838, 72.8871]),
                    (15380, [59.4928, 85.1105, 96.7490]),
                    (11780, [77.6740, 82.0883, 95.7555]),
                ],
            ),
            (
                "none-sar",
                [
                    (17066, [53.6154, 76.7022, 76.7022]),
                    (15666, [58.4067, 83.5567, 83.5567]),
                    (15290, [59.8430, 85.6115, 85.6115]),
                    (15476, [59.1238, 62.4838, 62.4838]),
                    (13890, [65.8747, 94.2405, 94.2405]),
                    (10470, [87.3926, 92.3591, 92.3591]),
                ],
            ),
        ];
        let lengths = hundred();
        for (name, rows) in table {
            let stack: Stack = name.parse().unwrap();
            for ((technique, compression), (line, percents)) in Compression::PUBLISHED.into_iter().zip(rows) {
                let found = totals(&stack, &lengths, compression);
                let datagram = if compression.datagram_header_encoding { 9670 } else { 13090 };
                assert_eq!(
                    (found.application, found.datagram, found.line),
                    (9150, datagram, line),
                    "{name} {technique}"
                );
                for (share, percent) in found.efficiencies().unwrap().iter().zip(percents) {
                    assert!((100.0 * share - percent).abs() <= 0.5e-4, "{name} {technique}: {share} for {percent}");
                }
            }
        }
    }

    #[test]
    fn encoding_leaves_options_and_other_headers() {
        let encoding = Compression { datagram_header_encoding: true, ..Compression::NONE };
        assert_eq!(encoding.handed_bytes(Transport::Tcp, 52), 16);
        assert_eq!(encoding.handed_bytes(Transport::Tcp, 20), 0, "shorter than its headers");
        assert_eq!(encoding.handed_bytes(Transport::Udp, 52), 52);
        assert_eq!(Compression::NONE.handed_bytes(Transport::Tcp, 52), 52);
    }

    #[test]
    fn nothing_has_no_efficiency_and_no_cells_no_techniques_of_cells() {
        let stack: Stack = "ethernet".parse().unwrap();
        assert_eq!(totals(&stack, &Lengths::default(), Compression::NONE).efficiencies(), None);
        let names: Vec<_> = Compression::of_stack(&stack).map(|(name, _)| name).collect();
        assert_eq!(names, ["standard", "DHE"]);
    }
}
