//! Inputs a little wrong, the same ones every time.

use flowloom::core::rng::{Purpose, Stream};

/// Numbers that lengths and counts go wrong at.
const EDGES: [u32; 12] = [0, 1, 2, 4, 7, 15, 16, 127, 255, 0x7fff_ffff, 0xffff_fffe, 0xffff_ffff];

/// Makes damaged copies of valid inputs. Equal seeds make equal copies.
pub struct Mutator {
    random: Stream,
}

impl Mutator {
    /// The mutator of `seed`.
    pub fn new(seed: u64) -> Mutator {
        Mutator { random: Stream::new(seed, Purpose::Loss, 0) }
    }

    /// One of `inputs`, damaged in up to eight places.
    pub fn damage(&mut self, inputs: &[Vec<u8>]) -> Vec<u8> {
        let mut data = inputs[self.below(inputs.len())].clone();
        for _ in 0..1 + self.below(8) {
            self.damage_once(&mut data, inputs);
        }
        data
    }

    fn damage_once(&mut self, data: &mut Vec<u8>, inputs: &[Vec<u8>]) {
        if data.is_empty() {
            data.push(self.random.bits32() as u8);
            return;
        }
        let at = self.below(data.len());
        match self.below(10) {
            0 => data[at] ^= 1 << self.below(8),
            1 => data[at] = self.random.bits32() as u8,
            2 => data[at] = data[at].wrapping_add_signed(self.below(9) as i8 - 4),
            // A number of 2 or 4 bytes, in either byte order.
            3 | 4 => {
                let edge = EDGES[self.below(EDGES.len())];
                let (two, four) = (edge as u16, edge);
                let bytes = match self.below(4) {
                    0 => two.to_le_bytes().to_vec(),
                    1 => two.to_be_bytes().to_vec(),
                    2 => four.to_le_bytes().to_vec(),
                    _ => four.to_be_bytes().to_vec(),
                };
                let end = data.len().min(at + bytes.len());
                data[at..end].copy_from_slice(&bytes[..end - at]);
            }
            5 => data.truncate(at),
            6 => drop(data.drain(at..data.len().min(at + 1 + self.random.below(16) as usize))),
            7 => {
                let length = 1 + self.below(8);
                let new: Vec<u8> = (0..length).map(|_| self.random.bits32() as u8).collect();
                data.splice(at..at, new);
            }
            8 => {
                let end = data.len().min(at + 1 + self.below(64));
                let copy = data[at..end].to_vec();
                let to = self.below(data.len());
                data.splice(to..to, copy);
            }
            // The end of another input.
            _ => {
                let other = &inputs[self.below(inputs.len())];
                data.truncate(at);
                data.extend(&other[at.min(other.len())..]);
            }
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound as u64) as usize
    }
}
