//! An acceptor with two number spaces (methods A.1.2): two SYN/ACKs with different numbers answered one SYN.
//!
//! Taps on both sides of a device that rewrites sequence numbers record such connections, and so do pairs of hosts of
//! which both answer. The space that the initiator acknowledges is the connection's. Packets of the other one, and those
//! that acknowledge it, are set aside. Once a space has been acknowledged or has data, it stays the connection's.
//!
//! A packet continues the space whose next number it has, or repeats the one in which a segment has begun or ended there. That decides
//! also where the two spaces overlap. Only of other numbers the distance decides.

use std::cmp::Ordering;

use crate::workload::Side;

use super::seen::Seen;

/// Numbers this near to the connection's own are its own if the other space is farther away than that.
const NEAR: u32 = 16 << 16;

/// Segments of a space whose borders are remembered: those of a large window.
const SEGMENTS: usize = 32;

/// Where the latest segments of a space ended.
#[derive(Clone, Copy, Debug, Default)]
struct Borders {
    ends: [u32; SEGMENTS],
    /// Segments that were noted.
    count: usize,
}

impl Borders {
    fn note(&mut self, end: u32) {
        if !self.contain(end) {
            self.ends[self.count % SEGMENTS] = end;
            self.count += 1;
        }
    }

    fn contain(&self, number: u32) -> bool {
        self.ends[..self.count.min(SEGMENTS)].contains(&number)
    }
}

/// One of the two spaces, as far as a number is judged by it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Space {
    /// The initial sequence number.
    pub isn: u32,
    /// One past the highest number seen.
    pub next: u32,
}

impl Space {
    /// How well a number fits, the less the better: it is the next one, a segment has ended there, or neither.
    fn misfit(self, borders: &Borders, number: u32) -> u8 {
        match () {
            () if number == self.next => 0,
            () if number == self.isn.wrapping_add(1) || borders.contain(number) => 1,
            () => 2,
        }
    }
}

/// One past the last number of a segment.
fn end(seen: &Seen) -> u32 {
    let takes_number = seen.flags.syn() || seen.flags.fin();
    seen.sequence.wrapping_add(seen.payload_bytes).wrapping_add(u32::from(takes_number))
}

/// The number space that is not the connection's, or not yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct OtherSpace {
    /// The end that has two.
    pub side: Side,
    space: Space,
    borders: Borders,
    /// Those of the connection's own space, since there are two.
    own_borders: Borders,
    /// Packets set aside.
    pub packets: u64,
    /// Their payload bytes, repeated ones too.
    pub payload_bytes: u64,
}

/// Distance between two numbers on the wire.
fn distance(one: u32, other: u32) -> u32 {
    one.wrapping_sub(other).cast_signed().unsigned_abs()
}

impl OtherSpace {
    /// The space of `side` that begins with `isn`.
    pub fn new(side: Side, isn: u32) -> OtherSpace {
        let space = Space { isn, next: isn.wrapping_add(1) };
        let (borders, own_borders) = Default::default();
        OtherSpace { side, space, borders, own_borders, packets: 0, payload_bytes: 0 }
    }

    /// Its initial sequence number.
    pub fn isn(&self) -> u32 {
        self.space.isn
    }

    /// It begins with `isn`; what was set aside stays counted.
    pub fn restart(&mut self, isn: u32) {
        if isn != self.space.isn {
            (self.space, self.borders) = (Space { isn, next: isn.wrapping_add(1) }, Borders::default());
        }
    }

    /// It turns out to be the connection's own, and the one that begins with `isn` the other.
    pub fn change_places(&mut self, isn: u32) {
        self.own_borders = self.borders;
        self.restart(isn);
    }

    /// The number of a segment of `sender` that lies in a space of the doubled end.
    fn number(&self, sender: Side, seen: &Seen) -> Option<u32> {
        match sender == self.side {
            true => Some(seen.sequence),
            false => seen.flags.ack().then_some(seen.acknowledgement),
        }
    }

    /// `Less` if a number fits this space better than the connection's `own`, by borders of segments.
    fn fit(&self, number: u32, own: Space) -> Ordering {
        self.space.misfit(&self.borders, number).cmp(&own.misfit(&self.own_borders, number))
    }

    /// Whether a segment belongs rather to this space than to the connection's `own`.
    pub fn is_nearer(&self, sender: Side, seen: &Seen, own: Space) -> bool {
        self.number(sender, seen).is_some_and(|number| {
            let by_distance = || distance(number, self.space.next).cmp(&distance(number, own.next));
            self.fit(number, own).then_with(by_distance).is_lt()
        })
    }

    /// Whether a segment belongs to this space and not to the connection's `own`. A number farther than `limit` from both belongs to
    /// neither.
    pub fn owns(&self, sender: Side, seen: &Seen, own: Space, limit: u64) -> bool {
        self.number(sender, seen).is_some_and(|number| match self.fit(number, own) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => {
                let (to_this, to_own) = (distance(number, self.space.next), distance(number, own.next));
                let are_near = distance(self.space.next, own.next) <= NEAR;
                (are_near || to_own > NEAR) && to_this < to_own && u64::from(to_this) <= limit
            }
        })
    }

    /// Takes note of a segment of the connection's own space.
    pub fn note_own(&mut self, sender: Side, seen: &Seen) {
        if sender == self.side && !seen.flags.rst() {
            self.own_borders.note(end(seen));
        }
    }

    /// Sets a segment aside.
    pub fn set_aside(&mut self, sender: Side, seen: &Seen) {
        self.packets += 1;
        self.payload_bytes += u64::from(seen.payload_bytes);
        if sender != self.side || seen.flags.rst() {
            return;
        }
        let end = end(seen);
        self.borders.note(end);
        if end.wrapping_sub(self.space.next).cast_signed() > 0 {
            self.space.next = end;
        }
    }
}
