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
    bytes: u32,
    packet: u32,
    mixed: bool,
}

impl Reassembly {
    /// No cell of a frame whose end is to come is here.
    pub const fn is_empty(&self) -> bool {
        self.cells == 0
    }

    /// Takes the next cell of the circuit, of a packet of `bytes` in `cells` cells.
    pub fn join(&mut self, cell: Cell, bytes: u32, cells: u32) -> Joined {
        self.mixed |= self.cells > 0 && self.packet != cell.packet;
        self.packet = cell.packet;
        self.cells += 1;
        self.bytes += u32::from(cell.carried);
        if !cell.last {
            return Joined::Part;
        }
        let frame = std::mem::take(self);
        match frame.mixed || (frame.cells, frame.bytes) != (cells, bytes) {
            true => Joined::Broken,
            false => Joined::Whole,
        }
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

    #[test]
    fn a_lost_end_takes_the_next_packet_along() {
        use Joined::{Broken, Part, Whole};
        let (first, second) = (frame(1, &[48, 48, 4]), frame(2, &[48, 1]));
        let joined = |cells: &[Cell]| {
            let mut reassembly = Reassembly::default();
            let join = |cell: &Cell| {
                let (bytes, cells) = if cell.packet == 1 { (100, 3) } else { (49, 2) };
                reassembly.join(*cell, bytes, cells)
            };
            cells.iter().map(join).collect::<Vec<_>>()
        };
        assert_eq!(joined(&[&first[..], &second].concat()), [Part, Part, Whole, Part, Whole]);
        assert_eq!(joined(&[&first[1..], &second].concat()), [Part, Broken, Part, Whole]);
        assert_eq!(joined(&[&first[..2], &second].concat()), [Part, Part, Part, Broken]);
    }
}
