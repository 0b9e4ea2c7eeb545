//! Strict priority: nothing is sent while something more urgent waits.

use super::packet::{Backlog, Packet};
use super::parameters::ParameterError;
use super::scheduler::{Lost, Queued, Serve};
use super::store::{Fifo, Store};
use crate::record::DropReason;
use crate::time::Time;
use crate::units::Limit;

/// A drop-tail queue per class, the lowest class first. The packet in transmission is not interrupted.
#[derive(Debug)]
pub struct Priority {
    limit: Limit,
    store: Store,
    bands: Vec<Fifo>,
}

impl Priority {
    /// `bands` empty queues with room for `limit` each. Packets of class `bands - 1` and above share the last.
    ///
    /// # Errors
    /// The first parameter that is wrong.
    pub fn new(limit: Limit, bands: u8) -> Result<Priority, ParameterError> {
        ParameterError::check_limit(limit)?;
        ParameterError::check_above_zero("bands", u64::from(bands))?;
        Ok(Priority { limit, store: Store::new(), bands: (0..bands).map(|_| Fifo::default()).collect() })
    }
}

impl Serve for Priority {
    fn enqueue(&mut self, now: Time, packet: Packet, _lost: &mut Lost) -> Result<(), DropReason> {
        let band = usize::from(packet.class).min(self.bands.len() - 1);
        let fifo = &mut self.bands[band];
        if !fifo.backlog().has_room(self.limit, packet.bytes) {
            return Err(DropReason::QueueFull);
        }
        self.store.push(fifo, Queued { packet, arrived: now });
        Ok(())
    }

    fn dequeue(&mut self, _now: Time, _lost: &mut Lost) -> Option<Queued> {
        let band = self.bands.iter_mut().find(|band| !band.is_empty())?;
        self.store.pop(band)
    }

    fn backlog(&self) -> Backlog {
        self.store.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::served;

    #[test]
    fn the_most_urgent_first_each_with_room_of_its_own() {
        let (mut queue, mut lost) = (Priority::new(Limit::Packets(2), 3).unwrap(), Lost::default());
        let outcomes: Vec<_> = [(2, 1), (9, 2), (2, 3), (0, 4), (1, 5), (0, 6), (0, 7)]
            .into_iter()
            .map(|(class, tag)| queue.enqueue(Time::ZERO, Packet { class, tag, ..Packet::new(100) }, &mut lost).is_ok())
            .collect();
        assert_eq!(outcomes, [true, true, false, true, true, true, false]);
        assert_eq!(served(&mut queue), [4, 6, 5, 1, 2]);
    }
}
