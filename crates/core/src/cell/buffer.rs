//! Cells that wait for a link, in queues by circuit.

use super::turns::{Order, Turns};
use crate::time::{Duration, Time};

/// A cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Its virtual circuit.
    pub circuit: u32,
    /// Its packet.
    pub packet: u32,
    /// Bytes of the packet in it.
    pub carried: u16,
    /// It is the first of the packet.
    pub first: bool,
    /// It is the last, and says so (as an AAL5 frame's does).
    pub last: bool,
}

/// Which cells a finite buffer refuses before it is full (Romanow and Floyd 1995).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discard {
    /// None: a cell that finds no room is lost.
    Tail,
    /// After a lost cell the others of its packet too, but for the last, by which the next packet is told from it.
    Partial,
    /// All of a packet whose first cell finds this many cells or more; else as [`Discard::Partial`].
    Early(u32),
}

/// Why a cell was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There is no room.
    Full,
    /// A cell of its packet was lost before.
    RestOfPacket,
    /// The whole packet is refused early.
    Early,
}

/// What holds for the cells of one circuit.
#[derive(Clone, Copy, Debug, Default)]
struct Terms {
    /// What comes of the packet that is coming is refused.
    refusing: Option<Refused>,
    /// Cells of the packet that is coming were let in.
    let_in: bool,
    /// The least time between two cells.
    spacing: Duration,
    /// When the next may leave.
    next: Time,
    /// Nothing may leave.
    stopped: bool,
}

impl Terms {
    fn admit(&self, now: Time) -> bool {
        !self.stopped && self.next <= now
    }
}

/// The cells before one link.
#[derive(Debug)]
pub struct Cells {
    room: Option<u32>,
    discard: Discard,
    turns: Turns<Cell>,
    /// By circuit.
    terms: Vec<Terms>,
    waiting: u32,
    bytes: u64,
    /// Some circuit has a spacing, or was stopped once.
    held: bool,
}

impl Cells {
    /// Empty queues, with room for so many cells together or for any number.
    pub fn new(order: Order, room: Option<u32>, discard: Discard) -> Cells {
        Cells { room, discard, turns: Turns::new(order), terms: Vec::new(), waiting: 0, bytes: 0, held: false }
    }

    /// Cells that wait.
    pub const fn waiting(&self) -> u32 {
        self.waiting
    }

    /// Bytes of packets in them.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    fn terms(&mut self, circuit: u32) -> &mut Terms {
        let place = circuit as usize;
        if place >= self.terms.len() {
            self.terms.resize_with(place + 1, Terms::default);
        }
        &mut self.terms[place]
    }

    /// Cells of `circuit` leave so far apart at least: its peak rate.
    pub fn pace(&mut self, circuit: u32, spacing: Duration) {
        self.held = true;
        self.terms(circuit).spacing = spacing;
    }

    /// No cell of `circuit` leaves until this is taken back: the circuit is not there yet.
    pub fn stop(&mut self, circuit: u32, stopped: bool) {
        self.held |= stopped;
        self.terms(circuit).stopped = stopped;
    }

    /// Lets a cell in.
    ///
    /// # Errors
    /// Why it is lost.
    pub fn push(&mut self, cell: Cell) -> Result<(), Refused> {
        let full = self.room.is_some_and(|room| self.waiting >= room);
        let (discard, waiting) = (self.discard, self.waiting);
        let terms = self.terms(cell.circuit);
        if cell.first {
            let early = matches!(discard, Discard::Early(threshold) if waiting >= threshold);
            (terms.refusing, terms.let_in) = (early.then_some(Refused::Early), false);
        }
        // The last cell of a packet of which some were let in says where it ends.
        let refused = match terms.refusing {
            Some(why) if !(cell.last && terms.let_in) => Some(why),
            _ => full.then_some(Refused::Full),
        };
        if let Some(why) = refused {
            if why == Refused::Full && discard != Discard::Tail {
                terms.refusing = Some(Refused::RestOfPacket);
            }
            return Err(why);
        }
        terms.let_in = true;
        self.turns.push(cell.circuit, cell);
        self.waiting += 1;
        self.bytes += u64::from(cell.carried);
        Ok(())
    }

    /// Takes the cell whose turn it is, of those that may leave.
    pub fn pop(&mut self, now: Time) -> Option<Cell> {
        let cell = if self.held {
            let terms = &self.terms;
            let cell = self.turns.pop_ready(|circuit, _| terms[circuit as usize].admit(now))?;
            let terms = &mut self.terms[cell.circuit as usize];
            terms.next = now + terms.spacing;
            cell
        } else {
            self.turns.pop()?
        };
        self.waiting -= 1;
        self.bytes -= u64::from(cell.carried);
        Some(cell)
    }

    /// When a cell that is held back may leave: the earliest of those whose circuits are there.
    pub fn next_timeout(&self) -> Option<Time> {
        if !self.held {
            return None;
        }
        let terms = self.turns.waiting().map(|circuit| &self.terms[circuit as usize]);
        terms.filter(|terms| !terms.stopped).map(|terms| terms.next).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cells of packet `packet` on `circuit`, `cells` of them.
    fn packet(circuit: u32, packet: u32, cells: u32) -> impl Iterator<Item = Cell> {
        (0..cells).map(move |index| Cell { circuit, packet, carried: 48, first: index == 0, last: index + 1 == cells })
    }

    fn served(cells: &mut Cells) -> Vec<u32> {
        std::iter::from_fn(|| cells.pop(Time::ZERO)).map(|cell| cell.packet).collect()
    }

    fn lost(cells: &mut Cells, packets: impl IntoIterator<Item = Cell>) -> Vec<Refused> {
        packets.into_iter().filter_map(|cell| cells.push(cell).err()).collect()
    }

    #[test]
    fn circuits_share_a_link_cell_by_cell() {
        let mut cells = Cells::new(Order::RoundRobin, None, Discard::Tail);
        let all = packet(0, 1, 3).chain(packet(0, 2, 1)).chain(packet(1, 3, 2));
        assert!(lost(&mut cells, all).is_empty());
        assert_eq!((cells.waiting(), cells.bytes()), (6, 6 * 48));
        assert_eq!(served(&mut cells), [1, 3, 1, 3, 1, 2]);
        assert_eq!((cells.waiting(), cells.bytes()), (0, 0));
    }

    #[test]
    fn a_full_buffer_loses_cells_or_packets() {
        use Refused::{Early, Full, RestOfPacket};
        let into = |discard, sizes: [u32; 2]| {
            let mut cells = Cells::new(Order::Fifo, Some(4), discard);
            let lost = lost(&mut cells, packet(0, 1, sizes[0]).chain(packet(1, 2, sizes[1])));
            (lost, served(&mut cells))
        };
        assert_eq!(into(Discard::Tail, [3, 3]), (vec![Full, Full], vec![1, 1, 1, 2]));
        // A lost cell takes the rest with it.
        assert_eq!(into(Discard::Partial, [3, 3]), (vec![Full, Full], vec![1, 1, 1, 2]));
        assert_eq!(into(Discard::Partial, [5, 1]), (vec![Full, Full], vec![1, 1, 1, 1]));
        assert_eq!(into(Discard::Partial, [4, 3]), (vec![Full, RestOfPacket, RestOfPacket], vec![1, 1, 1, 1]));
        assert_eq!(into(Discard::Early(2), [2, 2]), (vec![Early, Early], vec![1, 1]));
        assert_eq!(into(Discard::Early(3), [2, 2]), (vec![], vec![1, 1, 2, 2]));
    }

    #[test]
    fn the_end_of_a_broken_packet_still_goes() {
        let mut cells = Cells::new(Order::Fifo, Some(2), Discard::Partial);
        let mut coming = packet(0, 1, 5);
        assert_eq!(lost(&mut cells, coming.by_ref().take(3)), [Refused::Full]);
        assert_eq!(served(&mut cells), [1, 1]);
        assert_eq!(lost(&mut cells, coming), [Refused::RestOfPacket]);
        assert!(cells.pop(Time::ZERO).is_some_and(|cell| cell.last));
    }

    #[test]
    fn paced_circuits_let_others_pass() {
        for order in [Order::Fifo, Order::RoundRobin] {
            let mut cells = Cells::new(order, None, Discard::Tail);
            cells.pace(0, Duration::from_millis(10));
            assert!(lost(&mut cells, packet(0, 1, 3).chain(packet(1, 2, 1))).is_empty());
            assert_eq!(served(&mut cells), [1, 2]);
            let due = cells.next_timeout().unwrap();
            assert_eq!(due, Time::from_nanos(10_000_000));
            assert_eq!(cells.pop(due).unwrap().packet, 1);
            cells.stop(0, true);
            assert_eq!((cells.pop(due + Duration::from_secs(1)), cells.next_timeout()), (None, None));
        }
    }
}
