//! The counters of ports, and the columns of IF-MIB that hold them (RFC 2863).

use crate::rates::Capacity;
use crate::snmp::oid::Oid;
use crate::target::{Class, CounterInfo, Speed};

/// Octets of the smallest frame with its preamble and gap: what a packet takes of a link at least.
const LEAST_FRAME: u64 = 84;

/// A counter of a port.
pub struct PortCounter {
    /// Its name in results.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// What it counts, for bounds.
    pub class: Class,
    /// Columns of ifXTable that add up to it.
    wide: &'static [u32],
    /// Columns of ifTable that add up to it.
    narrow: &'static [u32],
}

const fn counter(
    name: &'static str,
    unit: &'static str,
    class: Class,
    wide: &'static [u32],
    narrow: &'static [u32],
) -> PortCounter {
    PortCounter { name, unit, class, wide, narrow }
}

/// All counters of a port.
pub const COUNTERS: [PortCounter; 8] = [
    counter("in", "octets", Class::Octets, &[6], &[10]),
    counter("out", "octets", Class::Octets, &[10], &[16]),
    counter("in-packets", "packets", Class::Packets, &[7, 8, 9], &[11, 12]),
    counter("out-packets", "packets", Class::Packets, &[11, 12, 13], &[17, 18]),
    counter("in-drops", "drops", Class::Packets, &[], &[13]),
    counter("out-drops", "drops", Class::Packets, &[], &[19]),
    counter("in-errors", "errors", Class::Packets, &[], &[14]),
    counter("out-errors", "errors", Class::Packets, &[], &[20]),
];

/// Whether a counter of a port, or of a whole target, has this name.
pub fn is_counter(name: &str) -> bool {
    COUNTERS.iter().any(|counter| counter.name == name) || crate::target::OWN.iter().any(|(own, _)| *own == name)
}

/// The same as the tracker takes them.
pub fn infos() -> Vec<CounterInfo> {
    let info = |counter: &PortCounter| CounterInfo {
        name: counter.name.to_owned(),
        unit: counter.unit.to_owned(),
        class: counter.class,
        kind: None,
    };
    COUNTERS.iter().map(info).collect()
}

/// What a port of this speed can carry.
pub fn capacity(class: Class, speed: Option<Speed>) -> Option<Capacity> {
    let of_bits = |bits: u64| speed.map(|speed| (speed.bits_per_second / bits, speed.is_stated));
    let (per_second, is_stated) = match class {
        Class::Octets => of_bits(8),
        Class::Packets => of_bits(8 * LEAST_FRAME),
        Class::Own(capacity) => capacity.map(|capacity| (capacity, true)),
    }?;
    (per_second > 0).then_some(Capacity { per_second, is_stated })
}

fn oid(arcs: &[u32]) -> Oid {
    Oid::new(arcs).expect("it is one")
}

/// A column of ifTable.
fn narrow(column: u32) -> Oid {
    oid(&[1, 3, 6, 1, 2, 1, 2, 2, 1, column])
}

/// A column of ifXTable.
fn wide(column: u32) -> Oid {
    oid(&[1, 3, 6, 1, 2, 1, 31, 1, 1, 1, column])
}

/// sysUpTime.
pub fn uptime() -> Oid {
    oid(&[1, 3, 6, 1, 2, 1, 1, 3, 0])
}

/// ifHighSpeed in Mbit/s, and ifSpeed in bit/s.
fn speeds() -> [Oid; 2] {
    [wide(15), narrow(5)]
}

/// Columns that say what a port is: ifName, ifDescr, ifHighSpeed, ifSpeed, ifOperStatus, ifAlias.
pub fn description() -> [Oid; 6] {
    let [high, low] = speeds();
    [wide(1), narrow(2), high, low, narrow(8), wide(18)]
}

/// Which columns a target has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// Counters of 64 bits, for all ports.
    Wide,
    /// Counters of 32 bits only.
    Narrow,
    /// Counters of 64 bits for some ports.
    Both,
}

/// The columns to ask for, and where each counter is in a row of them.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The columns: the name, when counting was last interrupted, the counters.
    pub columns: Vec<Oid>,
    /// Of each of [`COUNTERS`], the columns that add up to it, and those to take where these are missing.
    pub parts: Vec<(Vec<usize>, Vec<usize>)>,
    /// The columns of ifHighSpeed and ifSpeed, by which it is told whether a counter of 32 bits wrapped; `None` if there is none.
    pub speeds: Option<[usize; 2]>,
}

impl Layout {
    /// The column of the name.
    pub const NAME: usize = 0;
    /// The column of ifCounterDiscontinuityTime.
    pub const DISCONTINUITY: usize = 1;

    /// That of a target; `has_names` if it has ifName.
    pub fn of(offer: Offer, has_names: bool) -> Layout {
        let mut columns = vec![if has_names { wide(1) } else { narrow(2) }, wide(19)];
        let mut place = |column: Oid| {
            columns.iter().position(|known| *known == column).unwrap_or_else(|| {
                columns.push(column);
                columns.len() - 1
            })
        };
        let parts = COUNTERS.iter().map(|counter| {
            let has_wide = offer != Offer::Narrow && !counter.wide.is_empty();
            let has_narrow = offer != Offer::Wide || counter.wide.is_empty();
            let wides = counter.wide.iter().filter(|_| has_wide).map(|column| place(wide(*column))).collect();
            let narrows = counter.narrow.iter().filter(|_| has_narrow).map(|column| place(narrow(*column))).collect();
            (wides, narrows)
        });
        let parts = parts.collect();
        let speeds = (offer != Offer::Wide).then(|| speeds().map(&mut place));
        Layout { columns, parts, speeds }
    }
}

/// Columns by which [`Offer`] is decided: octets received, in 64 and in 32 bits.
pub fn octets() -> [Oid; 2] {
    [wide(6), narrow(10)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_have_each_column_once() {
        for (offer, columns) in [(Offer::Wide, 14), (Offer::Narrow, 14), (Offer::Both, 22)] {
            let layout = Layout::of(offer, true);
            let mut sorted = layout.columns.clone();
            sorted.sort();
            sorted.dedup();
            assert_eq!((sorted.len(), layout.columns.len()), (columns, columns), "{offer:?}");
            assert!(layout.parts.iter().all(|(wide, narrow)| !wide.is_empty() || !narrow.is_empty()));
        }
        let of = |class, bits_per_second| capacity(class, Some(Speed { bits_per_second, is_stated: false }));
        assert_eq!(of(Class::Packets, 1_000_000_000), Some(Capacity { per_second: 1_488_095, is_stated: false }));
        assert_eq!(of(Class::Octets, 0), None);
        assert_eq!(of(Class::Own(Some(7)), 0), Some(Capacity { per_second: 7, is_stated: true }));
    }
}
