//! Transmission efficiency of cells beside the published tables (Cáceres 1992, chapter 5 and appendix B).

use flowloom_core::cell::framing::{Compression, Lengths, Stack, Totals, totals};
use flowloom_core::extract::conversations::Transport;
use flowloom_store::lengths::built_in;

use crate::check::{Expected, Row};
use crate::lengths::{DESCRIPTION, search};

const GROUP: &str = "Efficiency of cells";
/// What every published efficiency is held to, in points.
const POINTS: f64 = 0.1;

/// What is measured, in percent of the bytes on the line.
pub(crate) const MEASURES: [&str; 3] = ["application", "datagram", "frame"];

/// Totals of a transport in a trace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Total {
    pub datagrams: u64,
    pub data_bytes: u64,
}

/// The packets and bytes of a published trace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    pub name: &'static str,
    pub tcp: Total,
    pub udp: Total,
}

impl Site {
    /// The totals of `transport`.
    pub(crate) fn of(&self, transport: Transport) -> Total {
        match transport {
            Transport::Tcp => self.tcp,
            Transport::Udp => self.udp,
        }
    }

    /// The payload bytes of both transports.
    pub(crate) fn data_bytes(&self) -> u64 {
        self.tcp.data_bytes + self.udp.data_bytes
    }

    /// Datagrams, and their bytes with headers.
    fn datagrams(&self) -> [f64; 2] {
        let datagrams = self.tcp.datagrams + self.udp.datagrams;
        [datagrams, self.data_bytes() + 40 * self.tcp.datagrams + 28 * self.udp.datagrams].map(|total| total as f64)
    }
}

const fn site(name: &'static str, [tcp, tcp_bytes, udp, udp_bytes]: [u64; 4]) -> Site {
    Site {
        name,
        tcp: Total { datagrams: tcp, data_bytes: tcp_bytes },
        udp: Total { datagrams: udp, data_bytes: udp_bytes },
    }
}

/// The trace of UC Berkeley.
pub(crate) const UCB: Site = site("UCB", [5_891_621, 504_969_623, 1_046_027, 63_033_070]);

/// All traces, each with the published standard efficiencies of SMDS, XFRS and SAR: application, datagram; and the frame efficiency of SMDS.
const SITES: [(Site, [[f64; 2]; 3], f64); 4] = [
    (UCB, [[40.1, 58.7], [44.7, 65.5], [52.3, 76.6]], 72.5),
    (site("USC", [5_094_504, 662_737_646, 52_068, 4_351_976]), [[49.0, 64.1], [54.8, 71.6], [59.2, 77.4]], 74.7),
    (site("BL", [393_305, 50_070_497, 104_799, 3_362_217]), [[46.1, 62.2], [51.3, 69.2], [55.4, 74.8]], 74.3),
    (site("BCR", [1_466_297, 154_093_992, 103_355, 5_532_723]), [[44.2, 61.2], [49.0, 67.8], [55.9, 77.5]], 73.4),
];

/// Published values of one combination of techniques: application, datagram, frame.
type Efficiencies = [Option<f64>; 3];

const fn three(application: f64, datagram: f64, frame: f64) -> Efficiencies {
    [Some(application), Some(datagram), Some(frame)]
}

/// Of SAR, whose frames are the datagrams.
const fn two(application: f64, datagram: f64) -> Efficiencies {
    [Some(application), Some(datagram), None]
}

/// The published values of UCB, tables 5.2 to 5.5, in the order of [`Compression::PUBLISHED`]. Pad deletion and cell header
/// suppression together leave `D + 28 + 9` of SMDS and `D + 8` of SAR, which follows from the totals alone: methods H.3 does not quote them.
pub(crate) const UCB_EFFICIENCIES: [(&str, [Efficiencies; 6]); 3] = [
    (
        "smds-802.6",
        [
            three(40.1, 58.7, 72.5),
            three(44.8, 65.7, 81.0),
            three(45.8, 67.2, 82.9),
            three(50.8, 55.5, 72.9),
            [None; 3],
            three(64.7, 70.7, 92.8),
        ],
    ),
    (
        "xfrs-none",
        [
            three(44.7, 65.5, 74.9),
            three(53.0, 77.7, 88.8),
            three(47.9, 70.2, 80.3),
            three(56.7, 62.0, 73.6),
            three(57.5, 84.4, 96.5),
            three(73.6, 80.5, 95.5),
        ],
    ),
    ("none-sar", [two(52.3, 76.6), two(57.0, 83.5), two(58.1, 85.1), two(57.3, 62.6), [None; 3], two(84.0, 91.8)]),
];

/// The rows of the efficiency of cells.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let mut row = |name: String, source: &str, expected, ours| rows.push(Row::new(GROUP, name, source, expected, ours));
    let shipped = built_in("ucb-1989").unwrap_or_default();
    const TABLES: &str = "Cáceres 1992, tables 5.2 to 5.5";
    for (name, techniques) in UCB_EFFICIENCIES {
        for ((technique, compression), published) in Compression::PUBLISHED.into_iter().zip(techniques) {
            let found = efficiencies(name, &shipped, compression);
            for ((measure, value), ours) in MEASURES.iter().zip(published).zip(found) {
                if let Some(value) = value {
                    let name = format!("ucb-1989, {name} {technique}: {measure}, %");
                    row(name, TABLES, Expected::Within { value, by: POINTS }, 100.0 * ours);
                }
            }
        }
    }
    const TRACES: &str = "Cáceres 1992, chapter 5";
    for (transport, word) in [(Transport::Tcp, "TCP"), (Transport::Udp, "UDP")] {
        let total = UCB.of(transport);
        let datagrams = Expected::Exactly(total.datagrams as f64);
        row(format!("ucb-1989: {word} datagrams"), TRACES, datagrams, shipped.datagrams(transport) as f64);
        let bytes = Expected::Exactly(total.data_bytes as f64);
        row(format!("ucb-1989: {word} data bytes"), TRACES, bytes, shipped.data_bytes(transport) as f64);
    }
    for (transport, below, [least, most]) in DESCRIPTION {
        let name = format!("ucb-1989: % of {} with less than {below} data bytes", transport.name().to_uppercase());
        let expected = Expected::Within { value: (least + most) / 2.0, by: (most - least) / 2.0 };
        row(name, TRACES, expected, 100.0 * share_below(&shipped, transport, below));
    }
    let found = search().unwrap_or_default();
    row(
        "largest deviation of what the linear programme finds, points".to_owned(),
        "methods H.3: a histogram exists",
        Expected::AtMost(POINTS),
        largest_deviation(&found),
    );
    let name = "% of datagrams in which it is not the one that ships".to_owned();
    row(name, "the linear programme", Expected::AtMost(0.01), 100.0 * difference(&found, &shipped));
    const SITES_TABLES: &str = "Cáceres 1992, tables 5.2 and B.1 to B.3";
    for (site, standard, frame) in SITES {
        let [datagrams, bytes] = site.datagrams();
        // Both of the published numbers are rounded to a tenth.
        let ratio =
            |over: f64, under: f64| Expected::Within { value: over / under, by: 0.05 * (1.0 + over / under) / under };
        for ((stack, _), [application, datagram]) in UCB_EFFICIENCIES.iter().zip(standard) {
            let name = format!("{}, {stack}: application by datagram", site.name);
            row(name, SITES_TABLES, ratio(application, datagram), site.data_bytes() as f64 / bytes);
        }
        let name = format!("{}, smds-802.6: frame by datagram", site.name);
        row(name, SITES_TABLES, ratio(frame, standard[0][1]), 1.0 + 28.0 * datagrams / bytes);
    }
    rows
}

/// Application, datagram and frame efficiency; NaN of a stack that is unknown and of nothing.
fn efficiencies(stack: &str, lengths: &Lengths, compression: Compression) -> [f64; 3] {
    let totals =
        stack.parse::<Stack>().map_or_else(|_| Totals::default(), |stack| totals(&stack, lengths, compression));
    totals.efficiencies().unwrap_or([f64::NAN; 3])
}

/// How far `lengths` is from the published value that it is farthest from, in points.
fn largest_deviation(lengths: &Lengths) -> f64 {
    let mut largest: f64 = 0.0;
    for (name, techniques) in UCB_EFFICIENCIES {
        for ((_, compression), published) in Compression::PUBLISHED.into_iter().zip(techniques) {
            for (value, ours) in published.into_iter().zip(efficiencies(name, lengths, compression)) {
                let Some(value) = value else { continue };
                let off = (100.0 * ours - value).abs();
                if off.is_nan() {
                    return off;
                }
                largest = largest.max(off);
            }
        }
    }
    largest
}

fn share_below(lengths: &Lengths, transport: Transport, data_bytes: u32) -> f64 {
    let limit = data_bytes + flowloom_core::cell::framing::header_bytes(transport);
    let below = lengths.groups().filter(|(other, ip_bytes, _)| *other == transport && *ip_bytes < limit);
    below.map(|(.., group)| group.datagrams).sum::<u64>() as f64 / lengths.datagrams(transport) as f64
}

/// The share of datagrams that would have to change their length to make one of the other.
fn difference(one: &Lengths, other: &Lengths) -> f64 {
    let of = |lengths: &Lengths, sign: i128| {
        let groups = lengths
            .groups()
            .map(move |(transport, bytes, group)| ((transport, bytes), sign * i128::from(group.datagrams)));
        groups.collect::<Vec<_>>()
    };
    let mut differences = std::collections::BTreeMap::new();
    for (length, datagrams) in of(one, 1).into_iter().chain(of(other, -1)) {
        *differences.entry(length).or_insert(0i128) += datagrams;
    }
    let all = [Transport::Tcp, Transport::Udp].map(|transport| other.datagrams(transport)).iter().sum::<u64>();
    differences.values().map(|difference| difference.unsigned_abs()).sum::<u128>() as f64 / 2.0 / all as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_that_is_off_is_told() {
        let mut lengths = Lengths::default();
        lengths.add_data(Transport::Tcp, 512, 10);
        lengths.add_data(Transport::Udp, 40, 10);
        assert!(largest_deviation(&lengths) > 10.0);
        assert!(largest_deviation(&Lengths::default()).is_nan());
        let mut other = lengths.clone();
        other.add_data(Transport::Tcp, 1, 20);
        assert_eq!((difference(&lengths, &lengths), difference(&lengths, &other)), (0.0, 0.25));
        assert_eq!(share_below(&other, Transport::Tcp, 2), 20.0 / 30.0);
    }
}
