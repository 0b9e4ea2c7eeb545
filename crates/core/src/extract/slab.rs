//! Values at stable indices, in blocks that never move.

/// Values of a block.
const BLOCK: usize = 64;

/// A place that holds nothing.
pub(super) const VACANT: u64 = u64::MAX;

/// Values at stable indices; each has a number, by which to recognise it and to find the oldest.
#[derive(Debug)]
pub(super) struct Slab<T> {
    /// A vector that grows by moving would need twice the memory while it does.
    blocks: Vec<Vec<Option<T>>>,
    /// The number at each place, [`VACANT`] if there is none: beside the values, so that looking for the smallest reads
    /// eight bytes of each.
    numbers: Vec<u64>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    /// Bytes that a value takes.
    pub const BYTES: usize = size_of::<Option<T>>() + size_of::<u64>();

    pub fn new() -> Slab<T> {
        Slab { blocks: Vec::new(), numbers: Vec::new(), free: Vec::new() }
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.numbers.len() - self.free.len()
    }

    /// How many places there are, vacant ones included.
    pub fn places(&self) -> usize {
        self.numbers.len()
    }

    /// The smallest number.
    pub fn smallest(&self) -> Option<u64> {
        self.numbers.iter().copied().min().filter(|number| *number != VACANT)
    }

    /// The number at `at`, [`VACANT`] if nothing is there.
    pub fn number(&self, at: u32) -> u64 {
        self.numbers.get(at as usize).copied().unwrap_or(VACANT)
    }

    #[inline]
    pub fn get(&self, at: u32) -> Option<&T> {
        self.blocks.get(at as usize / BLOCK)?.get(at as usize % BLOCK)?.as_ref()
    }

    #[inline]
    pub fn get_mut(&mut self, at: u32) -> Option<&mut T> {
        self.blocks.get_mut(at as usize / BLOCK)?.get_mut(at as usize % BLOCK)?.as_mut()
    }

    /// Adds a value; its place.
    pub fn insert(&mut self, number: u64, value: T) -> u32 {
        let at = self.free.pop().unwrap_or_else(|| {
            if self.numbers.len().is_multiple_of(BLOCK) {
                self.blocks.push(Vec::with_capacity(BLOCK));
            }
            self.numbers.push(VACANT);
            u32::try_from(self.numbers.len() - 1).expect("fewer than 2^30 connections at once fit any memory")
        });
        self.numbers[at as usize] = number;
        let block = &mut self.blocks[at as usize / BLOCK];
        match block.get_mut(at as usize % BLOCK) {
            Some(place) => *place = Some(value),
            None => block.push(Some(value)),
        }
        at
    }

    /// Takes the value at `at` out.
    pub fn remove(&mut self, at: u32) -> Option<T> {
        let value = self.blocks.get_mut(at as usize / BLOCK)?.get_mut(at as usize % BLOCK)?.take()?;
        self.numbers[at as usize] = VACANT;
        self.free.push(at);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again_and_the_smallest_number_is_found() {
        let mut slab = Slab::new();
        let places: Vec<u32> = (0..200).map(|n| slab.insert(n, n * 10)).collect();
        for at in &places[..150] {
            assert_eq!(slab.remove(*at), Some(u64::from(*at) * 10));
        }
        assert_eq!((slab.len(), slab.places(), slab.smallest()), (50, 200, Some(150)));
        assert_eq!(slab.remove(places[0]), None);
        (200..350).for_each(|n| assert!(slab.insert(n, n) < 200));
        assert_eq!((slab.len(), slab.places(), slab.get(199)), (200, 200, Some(&1990)));
    }
}
