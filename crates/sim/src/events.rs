//! The event queue: what happens next in simulated time.
//!
//! Events come out by time, and events of one time in the order they were put in. The queue is a timing wheel of three
//! levels (Varghese and Lauck 1987): network events are nearly all near in time, so putting one in is a store into an
//! array, and bitmaps find the next one without looking at empty slots. Events beyond the wheel, years away after a
//! jump of a capture's clock, wait in a heap.
//!
//! A heap alone is the oracle: whole runs with either must come to the same bytes.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use flowloom_core::time::Time;

/// One slot of the finest level is 2^16 ns, about 66 us: some 130 events each at a million packets per second, and most delays of a
/// wide-area path are within its level. Beside slots of 4 us a web load takes 8 % less time, a hundred bulk flows 3 % more.
const SLOT_BITS: u32 = 16;
/// 1024 slots per level: the levels span 67 ms, 69 s and 19.5 h.
const LEVEL_BITS: u32 = 10;
const SLOTS: usize = 1 << LEVEL_BITS;
const LEVELS: usize = 3;
const WORDS: usize = SLOTS / 64;

/// Pending events with a small payload held in place.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one per run, and a box would be a load per event")]
pub enum EventQueue<T> {
    /// See [`Implementation::Wheel`].
    Wheel(Wheel<T>),
    /// See [`Implementation::Heap`].
    Heap(Heap<T>),
}

/// What an event queue is made of. No result depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Implementation {
    /// The timing wheel.
    #[default]
    Wheel,
    /// A binary heap, slower: to check the wheel.
    Heap,
}

/// The timing wheel.
///
/// Nothing says of an event when it was put in. Events of one time are in one list, in the order they were put in, because a
/// list is empty when a coarser slot, or the heap, is spread over it; sorting keeps that order.
#[derive(Debug)]
pub struct Wheel<T> {
    /// Events of the slot being served, last one first.
    current: Vec<Event<T>>,
    /// Number of that slot, counted from the origin. Everything up to its end is in `current`.
    position: u64,
    levels: [Level<T>; LEVELS],
    /// Events whose slot number differs from `position` above the top level.
    beyond: Heap<T>,
    pending: usize,
}

#[derive(Clone, Copy, Debug)]
struct Event<T> {
    time: Time,
    payload: T,
}

impl<T> Event<T> {
    fn slot(&self) -> u64 {
        self.time.as_nanos() >> SLOT_BITS
    }
}

/// An event and how many were put in before it.
#[derive(Clone, Copy, Debug)]
struct Numbered<T> {
    event: Event<T>,
    order: u64,
}

impl<T> Numbered<T> {
    fn key(&self) -> (Time, u64) {
        (self.event.time, self.order)
    }
}

impl<T> PartialEq for Numbered<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Numbered<T> {}

impl<T> PartialOrd for Numbered<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Reversed, so that the greatest is the one to serve first.
impl<T> Ord for Numbered<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

#[derive(Debug)]
struct Level<T> {
    slots: Vec<Vec<Event<T>>>,
    /// A bit per slot that holds events.
    occupied: [u64; WORDS],
}

impl<T> Level<T> {
    fn new() -> Level<T> {
        Level { slots: (0..SLOTS).map(|_| Vec::new()).collect(), occupied: [0; WORDS] }
    }

    fn push(&mut self, slot: usize, event: Event<T>) {
        self.slots[slot].push(event);
        self.occupied[slot / 64] |= 1 << (slot % 64);
    }

    /// The first occupied slot after `slot`.
    fn next_after(&self, slot: usize) -> Option<usize> {
        let from = slot + 1;
        let mut word = from / 64;
        let mut bits = *self.occupied.get(word)? & (u64::MAX << (from % 64));
        while bits == 0 {
            word += 1;
            bits = *self.occupied.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }

    /// Marks `slot` empty; the caller takes its events.
    fn clear(&mut self, slot: usize) {
        self.occupied[slot / 64] &= !(1 << (slot % 64));
    }
}

impl<T> Default for EventQueue<T> {
    fn default() -> Self {
        EventQueue::new()
    }
}

impl<T> EventQueue<T> {
    /// An empty queue at the origin of time.
    pub fn new() -> EventQueue<T> {
        EventQueue::made_of(Implementation::Wheel)
    }

    /// An empty queue of this kind.
    pub fn made_of(implementation: Implementation) -> EventQueue<T> {
        match implementation {
            Implementation::Wheel => EventQueue::Wheel(Wheel::new()),
            Implementation::Heap => EventQueue::Heap(Heap::new()),
        }
    }

    /// Number of pending events.
    pub fn len(&self) -> usize {
        match self {
            EventQueue::Wheel(wheel) => wheel.pending,
            EventQueue::Heap(heap) => heap.events.len(),
        }
    }

    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts in an event at `time`, which must not be before the event served last.
    #[inline]
    pub fn push(&mut self, time: Time, payload: T) {
        match self {
            EventQueue::Wheel(wheel) => wheel.push(time, payload),
            EventQueue::Heap(heap) => heap.push(Event { time, payload }),
        }
    }

    /// Takes out the next event if it is due by `until`.
    #[inline]
    pub fn pop_until(&mut self, until: Time) -> Option<(Time, T)> {
        match self {
            EventQueue::Wheel(wheel) => wheel.pop_until(until),
            EventQueue::Heap(heap) => heap.pop_until(until).map(|event| (event.time, event.payload)),
        }
    }

    /// The number of the slot that events are taken out of; a heap has no slots.
    pub fn slot(&self) -> u64 {
        match self {
            EventQueue::Wheel(wheel) => wheel.position,
            EventQueue::Heap(_) => 0,
        }
    }

    /// The event of this slot that comes `after` others, if there are more.
    #[inline]
    pub fn upcoming(&self, after: usize) -> Option<(Time, &T)> {
        match self {
            EventQueue::Wheel(wheel) => wheel.current.iter().nth_back(after).map(|event| (event.time, &event.payload)),
            EventQueue::Heap(_) => None,
        }
    }

    /// The events of the next slot of the finest level that has any, in no order; none at the end of a turn of that level.
    pub fn next_slot(&self) -> impl Iterator<Item = &T> {
        let next = match self {
            EventQueue::Wheel(wheel) => {
                let finest = &wheel.levels[0];
                finest.next_after(digit(wheel.position, 0)).map(|slot| &finest.slots[slot])
            }
            EventQueue::Heap(_) => None,
        };
        next.into_iter().flatten().map(|event| &event.payload)
    }

    /// A time before which nothing is due, `None` if nothing ever is. It is that of the next event as far as this can be told
    /// without moving any: exact for events that are near, and with time it comes to that of all others.
    pub fn not_before(&self) -> Option<Time> {
        match self {
            EventQueue::Wheel(wheel) => wheel.not_before(),
            EventQueue::Heap(heap) => heap.peek().map(|event| event.time),
        }
    }
}

/// All events in one heap.
#[derive(Debug)]
pub struct Heap<T> {
    events: BinaryHeap<Numbered<T>>,
    inserted: u64,
}

impl<T> Heap<T> {
    fn new() -> Heap<T> {
        Heap { events: BinaryHeap::new(), inserted: 0 }
    }

    fn push(&mut self, event: Event<T>) {
        self.events.push(Numbered { event, order: self.inserted });
        self.inserted += 1;
    }

    fn peek(&self) -> Option<&Event<T>> {
        self.events.peek().map(|first| &first.event)
    }

    fn pop_until(&mut self, until: Time) -> Option<Event<T>> {
        if self.peek()?.time > until {
            return None;
        }
        self.events.pop().map(|first| first.event)
    }
}

impl<T> Wheel<T> {
    fn new() -> Wheel<T> {
        Wheel {
            current: Vec::new(),
            position: 0,
            levels: std::array::from_fn(|_| Level::new()),
            beyond: Heap::new(),
            pending: 0,
        }
    }

    fn push(&mut self, time: Time, payload: T) {
        self.pending += 1;
        self.place(Event { time, payload });
    }

    fn pop_until(&mut self, until: Time) -> Option<(Time, T)> {
        if self.current.is_empty() && !self.turn(until.as_nanos() >> SLOT_BITS) {
            return None;
        }
        let event = self.current.pop_if(|event| event.time <= until)?;
        self.pending -= 1;
        Some((event.time, event.payload))
    }

    fn not_before(&self) -> Option<Time> {
        if let Some(event) = self.current.last() {
            return Some(event.time);
        }
        let finest = &self.levels[0];
        if let Some(slot) = finest.next_after(digit(self.position, 0)) {
            return finest.slots[slot].iter().map(|event| event.time).min();
        }
        let slot = (1..LEVELS as u32).find_map(|level| {
            let slot = self.levels[level as usize].next_after(digit(self.position, level))?;
            Some(Time::from_nanos(with_digit(self.position, level, slot) << SLOT_BITS))
        });
        slot.or_else(|| self.beyond.peek().map(|event| event.time))
    }

    /// Stores an event at the finest level whose current turn it belongs to: the level of the highest digit in which its
    /// slot number differs from the position.
    fn place(&mut self, event: Event<T>) {
        let slot = event.slot();
        if slot <= self.position {
            // The slot being served: behind those of its time.
            let at = self.current.partition_point(|pending| pending.time > event.time);
            self.current.insert(at, event);
            return;
        }
        let level = (slot ^ self.position).ilog2() / LEVEL_BITS;
        match self.levels.get_mut(level as usize) {
            Some(wheel) => wheel.push(digit(slot, level), event),
            None => self.beyond.push(event),
        }
    }

    /// Moves on to the next slot that holds events and sorts them; whether there is one up to the slot of number `last`. The
    /// position never goes beyond that: a driver that asks for what is due puts in later what comes before the next.
    fn turn(&mut self, last: u64) -> bool {
        while self.current.is_empty() {
            if let Some(slot) = self.levels[0].next_after(digit(self.position, 0)) {
                let position = with_digit(self.position, 0, slot);
                if position > last {
                    return false;
                }
                self.position = position;
                self.levels[0].clear(slot);
                // The drained list goes back to the slot, so that neither allocates again.
                std::mem::swap(&mut self.current, &mut self.levels[0].slots[slot]);
                // The next event is the last, and what was put in first is the next of one time.
                self.current.reverse();
                self.current.sort_by_key(|event| Reverse(event.time));
            } else if !self.cascade(last) {
                return false;
            }
        }
        true
    }

    /// Spreads the next occupied slot of a coarser level over the finer ones; whether there was one that begins by the slot
    /// of number `last`.
    fn cascade(&mut self, last: u64) -> bool {
        for level in 1..LEVELS as u32 {
            let wheel = &mut self.levels[level as usize];
            if let Some(slot) = wheel.next_after(digit(self.position, level)) {
                let position = with_digit(self.position, level, slot);
                if position > last {
                    return false;
                }
                wheel.clear(slot);
                // Coarse slots are filled again after a minute or hours. With room for all timers of a busy link in each of them they
                // would take gigabytes.
                let events = std::mem::take(&mut wheel.slots[slot]);
                self.position = position;
                events.into_iter().for_each(|event| self.place(event));
                return true;
            }
        }
        if self.beyond.peek().is_none_or(|first| first.slot() > last) {
            return false;
        }
        let Some(first) = self.beyond.pop_until(Time::MAX) else { return false };
        self.position = first.slot();
        let turn = first.slot() >> (LEVEL_BITS * LEVELS as u32);
        self.place(first);
        while let Some(next) = self.beyond.peek()
            && next.slot() >> (LEVEL_BITS * LEVELS as u32) == turn
            && let Some(next) = self.beyond.pop_until(Time::MAX)
        {
            self.place(next);
        }
        true
    }
}

/// The slot of `level` that slot number `slot` falls in.
fn digit(slot: u64, level: u32) -> usize {
    (slot >> (LEVEL_BITS * level)) as usize & (SLOTS - 1)
}

/// `position` with the digit of `level` set to `value` and the finer ones to zero.
fn with_digit(position: u64, level: u32, value: usize) -> u64 {
    let shift = LEVEL_BITS * level;
    (position >> (shift + LEVEL_BITS) << (shift + LEVEL_BITS)) | ((value as u64) << shift)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;

    /// How long after the present an event is put in: at once, within a slot, and on every level's scale and beyond.
    fn ahead() -> impl Strategy<Value = u64> {
        prop_oneof![
            2 => Just(0u64),
            3 => 0..65_536u64,
            3 => 0..80_000_000u64,
            3 => 0..80_000_000_000u64,
            1 => 0..80_000_000_000_000u64,
            1 => Just(1 << 46),
            1 => 0..400_000_000_000_000_000u64,
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(4), failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn serves_what_a_heap_would(steps in prop::collection::vec((ahead(), prop::option::of(ahead())), 1..400)) {
            let [mut wheel, mut oracle] = [Implementation::Wheel, Implementation::Heap].map(EventQueue::made_of);
            let mut now = Time::ZERO;
            for (payload, (ahead, until)) in (0u32..).zip(&steps) {
                let time = Time::from_nanos(now.as_nanos().saturating_add(*ahead));
                wheel.push(time, payload);
                oracle.push(time, payload);
                if let Some(until) = until {
                    let until = Time::from_nanos(now.as_nanos().saturating_add(*until));
                    let expected = oracle.pop_until(until);
                    prop_assert_eq!(wheel.pop_until(until), expected);
                    now = expected.map_or(now, |event| event.0);
                }
                prop_assert_eq!(wheel.len(), oracle.len());
                let (bound, next) = (wheel.not_before(), oracle.not_before());
                prop_assert_eq!(bound.is_some(), next.is_some());
                prop_assert!(bound <= next, "{:?} for {:?}", bound, next);
            }
            while let Some(expected) = oracle.pop_until(Time::MAX) {
                prop_assert_eq!(wheel.pop_until(Time::MAX), Some(expected));
            }
            prop_assert!(wheel.is_empty());
            prop_assert_eq!(wheel.pop_until(Time::MAX), None);
        }
    }

    #[test]
    fn equal_times_in_order_of_insertion_whatever_level_they_waited_on() {
        let mut queue = EventQueue::new();
        let late = Time::from_nanos(200_000_000_000_000);
        queue.push(late, 0);
        queue.push(Time::from_nanos(199_999_999_000_000), 9);
        queue.push(late, 1);
        assert_eq!(queue.pop_until(Time::MAX).unwrap().1, 9);
        queue.push(late, 2);
        let served: Vec<_> = std::iter::from_fn(|| queue.pop_until(late)).collect();
        assert_eq!(served, [(late, 0), (late, 1), (late, 2)]);
    }

    #[test]
    fn what_comes_next_can_be_looked_at() {
        let at = |slot: u64, nanos: u64| Time::from_nanos((slot << SLOT_BITS) + nanos);
        let mut queue = EventQueue::new();
        for (time, payload) in [(at(5, 9), 'c'), (at(5, 0), 'a'), (at(5, 9), 'd'), (at(5, 8), 'b'), (at(7, 3), 'e')] {
            queue.push(time, payload);
        }
        assert_eq!(queue.upcoming(0), None, "nothing was taken out of that slot");
        assert_eq!((queue.pop_until(Time::MAX), queue.slot()), (Some((at(5, 0), 'a')), 5));
        assert_eq!(queue.upcoming(0), Some((at(5, 8), &'b')));
        assert_eq!(queue.upcoming(2), Some((at(5, 9), &'d')));
        assert_eq!(queue.upcoming(3), None);
        assert_eq!(queue.next_slot().collect::<Vec<_>>(), [&'e']);
    }

    #[test]
    fn an_event_of_a_run_is_two_words() {
        assert_eq!(size_of::<Event<crate::network::Event>>(), 16);
    }

    #[test]
    fn the_end_of_time_is_a_time() {
        let mut queue = EventQueue::new();
        queue.push(Time::MAX, 1);
        queue.push(Time::ZERO, 0);
        assert_eq!(queue.pop_until(Time::ZERO), Some((Time::ZERO, 0)));
        assert_eq!(queue.pop_until(Time::from_nanos(1 << 60)), None);
        assert_eq!(queue.pop_until(Time::MAX), Some((Time::MAX, 1)));
    }
}
