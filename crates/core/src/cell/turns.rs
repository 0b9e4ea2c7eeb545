//! Queues that take turns.

use std::collections::VecDeque;

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As they came, whatever the queue.
    Fifo,
    /// One of each queue that has some.
    RoundRobin,
}

/// A set of numbered queues and the order in which they are served.
#[derive(Debug)]
pub struct Turns<T> {
    order: Order,
    queues: Vec<VecDeque<T>>,
    /// One entry for each item (FIFO), or for each queue that is not empty (round robin).
    turns: VecDeque<u32>,
}

impl<T> Turns<T> {
    /// Empty queues.
    pub const fn new(order: Order) -> Turns<T> {
        Turns { order, queues: Vec::new(), turns: VecDeque::new() }
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Puts `item` at the end of a queue.
    pub fn push(&mut self, queue: u32, item: T) {
        let place = queue as usize;
        if place >= self.queues.len() {
            self.queues.resize_with(place + 1, VecDeque::new);
        }
        let items = &mut self.queues[place];
        items.push_back(item);
        if self.order == Order::Fifo || items.len() == 1 {
            self.turns.push_back(queue);
        }
    }

    /// Takes the item whose turn it is.
    pub fn pop(&mut self) -> Option<T> {
        let queue = self.turns.pop_front()?;
        self.take(queue)
    }

    /// Takes the item whose turn it is, of those at the head of queues that are `ready`.
    pub fn pop_ready(&mut self, mut ready: impl FnMut(u32, &T) -> bool) -> Option<T> {
        let queues = &self.queues;
        let is_ready = |queue: &u32| queues[*queue as usize].front().is_some_and(|item| ready(*queue, item));
        let place = self.turns.iter().position(is_ready)?;
        let queue = self.turns.remove(place)?;
        self.take(queue)
    }

    fn take(&mut self, queue: u32) -> Option<T> {
        let items = &mut self.queues[queue as usize];
        let item = items.pop_front();
        if self.order == Order::RoundRobin && !items.is_empty() {
            self.turns.push_back(queue);
        }
        item
    }

    /// Numbers of the queues that are not empty, in the order of their turns; under FIFO once for each item.
    pub fn waiting(&self) -> impl Iterator<Item = u32> {
        self.turns.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(order: Order) -> Vec<u32> {
        let mut turns = Turns::new(order);
        for (queue, item) in [(7, 70), (7, 71), (7, 72), (2, 20), (7, 73), (2, 21), (0, 1)] {
            turns.push(queue, item);
        }
        std::iter::from_fn(|| turns.pop()).collect()
    }

    #[test]
    fn turns_are_by_arrival_or_by_queue() {
        assert_eq!(served(Order::Fifo), [70, 71, 72, 20, 73, 21, 1]);
        assert_eq!(served(Order::RoundRobin), [70, 20, 1, 71, 21, 72, 73]);
    }

    #[test]
    fn what_is_not_ready_keeps_its_turn() {
        for order in [Order::Fifo, Order::RoundRobin] {
            let mut turns = Turns::new(order);
            for (queue, item) in [(1, 'a'), (1, 'b'), (2, 'x')] {
                turns.push(queue, item);
            }
            assert_eq!(turns.pop_ready(|queue, _| queue != 1), Some('x'));
            assert_eq!(turns.pop_ready(|queue, _| queue != 1), None);
            assert_eq!([turns.pop(), turns.pop(), turns.pop()], [Some('a'), Some('b'), None]);
        }
    }
}
