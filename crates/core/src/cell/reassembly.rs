//! Packets put together again.

use super::buffer::Cell;

/// What a cell made of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// Cells of it are missing yet.
    Part,
    /// All of it is here.
    Whole,
    /// The frame has ended and is not this packet: cells are missing, or there are cells of another.
    Broken,
}

/// The frame of one circuit. As in AAL5 only a frame's last cell is marked: where that is lost, the next packet goes with this one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reassembly {
    cells: u32,
}

impl Reassembly {
    /// No cell of a frame whose end is to come is here.
    pub const fn is_empty(&self) -> bool {
        self.cells == 0
    }

    /// Takes the next cell of the circuit, of a packet of `cells` cells, some of which were lost if `is_dead`.
    ///
    /// A packet that lost nothing brings all its cells before its last, so that more of them are those of another. Nothing tells the cells of
    /// two packets from each other here: their length and check sum do in AAL5.
    pub fn join(&mut self, cell: Cell, cells: u32, is_dead: bool) -> Joined {
        self.cells += 1;
        if !cell.last {
            return Joined::Part;
        }
        let frame = std::mem::take(self);
        if !is_dead && frame.cells == cells { Joined::Whole } else { Joined::Broken }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(packet: u32, sizes: &[u16]) -> Vec<Cell> {
        let cell =
            |(index, &carried)| Cell { circuit: 0, packet, carried, first: index == 0, last: index + 1 == sizes.len() };
        sizes.iter().enumerate().map(cell).collect()
    }

    /// What comes of the cells of packets of three and two cells, of which those in `dead` lost some.
    fn joined(cells: &[Cell], dead: &[u32]) -> Vec<Joined> {
        let mut reassembly = Reassembly::default();
        let join = |cell: &Cell| {
            let cells = if cell.packet == 1 { 3 } else { 2 };
            reassembly.join(*cell, cells, dead.contains(&cell.packet))
        };
        cells.iter().map(join).collect()
    }

    #[test]
    fn a_lost_end_takes_the_next_packet_along() {
        use Joined::{Broken, Part, Whole};
        let (first, second) = (frame(1, &[48, 48, 4]), frame(2, &[48, 1]));
        assert_eq!(joined(&[&first[..], &second].concat(), &[]), [Part, Part, Whole, Part, Whole]);
        assert_eq!(joined(&[&first[1..], &second].concat(), &[1]), [Part, Broken, Part, Whole]);
        assert_eq!(joined(&[&first[..2], &second].concat(), &[1]), [Part, Part, Part, Broken]);
    }

    /// Of two packets of one number and of one length, as of one that took the place of the other.
    #[test]
    fn cells_of_another_packet_do_not_make_one_whole() {
        use Joined::{Broken, Part};
        let (before, after) = (frame(1, &[48, 48, 48]), frame(1, &[48, 48, 48]));
        assert_eq!(joined(&[&before[..2], &after[2..]].concat(), &[1]), [Part, Part, Broken]);
    }
}
