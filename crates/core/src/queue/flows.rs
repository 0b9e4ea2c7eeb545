//! Queues by flow in a shared buffer: what round robin and deficit round robin have in common.

use std::collections::VecDeque;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::packet::{Backlog, Packet};
use super::parameters::ParameterError;
use super::scheduler::{Lost, Queued};
use super::store::{Fifo, Store};
use crate::record::DropReason;
use crate::time::Time;
use crate::units::Limit;

/// The flows that have packets waiting, in the order of their turns. A flow is known only while it has.
///
/// When there is no room, the flow with most bytes loses the packet at its head (buffer stealing, McKenney 1990).
#[derive(Debug)]
pub(super) struct Flows {
    limit: Limit,
    store: Store,
    /// By number of the flow. Never iterated.
    places: HashMap<u64, u32, FxBuildHasher>,
    slots: Vec<Flow>,
    vacant: Vec<u32>,
    /// Slots in the order of their turns.
    turns: VecDeque<u32>,
}

#[derive(Debug, Default)]
struct Flow {
    number: u64,
    fifo: Fifo,
    /// Bytes it may send before its turn ends; unused by round robin.
    deficit: u64,
    /// It was given its quantum for the turn it has.
    given: bool,
}

impl Flows {
    pub fn new(limit: Limit) -> Result<Flows, ParameterError> {
        ParameterError::check_limit(limit)?;
        Ok(Flows {
            limit,
            store: Store::new(),
            places: HashMap::default(),
            slots: Vec::new(),
            vacant: Vec::new(),
            turns: VecDeque::new(),
        })
    }

    pub fn backlog(&self) -> Backlog {
        self.store.backlog()
    }

    /// Puts `packet` behind those of its flow; a flow that had none waiting has the last turn.
    pub fn enqueue(&mut self, now: Time, packet: Packet, lost: &mut Lost) -> Result<(), DropReason> {
        if !Backlog::default().has_room(self.limit, packet.bytes) {
            return Err(DropReason::QueueFull);
        }
        let slot = match self.places.get(&packet.flow) {
            Some(&slot) => slot,
            None => {
                let slot = self.vacant.pop().unwrap_or_else(|| {
                    self.slots.push(Flow::default());
                    u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 flows wait")
                });
                self.slots[slot as usize] = Flow { number: packet.flow, ..Flow::default() };
                self.places.insert(packet.flow, slot);
                self.turns.push_back(slot);
                slot
            }
        };
        self.store.push(&mut self.slots[slot as usize].fifo, Queued { packet, arrived: now });
        while self.backlog().exceeds(self.limit) {
            self.steal(lost);
        }
        Ok(())
    }

    /// Drops the packet at the head of the flow with most bytes, the first in turn of equals.
    fn steal(&mut self, lost: &mut Lost) {
        let bytes = |slot: u32| self.slots[slot as usize].fifo.backlog().bytes;
        let Some(turn) = (0..self.turns.len()).rev().max_by_key(|&turn| bytes(self.turns[turn])) else { return };
        let slot = self.turns[turn];
        if let Some(queued) = self.store.pop(&mut self.slots[slot as usize].fifo) {
            lost.push(queued.packet, DropReason::Overflow);
        }
        if self.slots[slot as usize].fifo.is_empty() {
            self.turns.remove(turn);
            self.forget(slot);
        }
    }

    fn forget(&mut self, slot: u32) {
        self.places.remove(&self.slots[slot as usize].number);
        self.vacant.push(slot);
    }

    /// The first packet of the flow whose turn it is. The turn ends with it.
    pub fn next_packet(&mut self) -> Option<Queued> {
        let slot = self.turns.pop_front()?;
        let queued = self.store.pop(&mut self.slots[slot as usize].fifo);
        if self.slots[slot as usize].fifo.is_empty() {
            self.forget(slot);
        } else {
            self.turns.push_back(slot);
        }
        queued
    }

    /// The first packet that fits what its flow may send, of the flows in turn, each given `quantum` bytes a turn. What a flow
    /// does not use it keeps, unless nothing of it waits.
    pub fn next_within_deficit(&mut self, quantum: u32) -> Option<Queued> {
        loop {
            let &slot = self.turns.front()?;
            let flow = &mut self.slots[slot as usize];
            if !flow.given {
                flow.given = true;
                flow.deficit += u64::from(quantum);
            }
            let bytes = self.store.first(&flow.fifo).map_or(0, |head| u64::from(head.packet.bytes));
            if bytes <= flow.deficit {
                flow.deficit -= bytes;
                let queued = self.store.pop(&mut flow.fifo);
                if flow.fifo.is_empty() {
                    self.turns.pop_front();
                    self.forget(slot);
                }
                return queued;
            }
            flow.given = false;
            self.turns.rotate_left(1);
        }
    }
}
