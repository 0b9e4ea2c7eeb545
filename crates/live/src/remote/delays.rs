//! A side that is farther away than its host: each connection's packets come out of it later, by a delay of their own.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;

use flowloom_core::time::Duration;
use flowloom_sim::events::EventQueue;

use super::tunnel::connection_of;
use crate::addresses::Serial;
use crate::clock::Clock;
use crate::device::Device;

/// Packets that wait at once at most: what a gigabit per second takes in a second.
const MOST_WAITING: usize = 1 << 17;
/// Packets taken at once.
const BATCH: usize = 64;

/// The device of a side, with delays before what it sends. What is sent to the side comes at once.
#[derive(Debug)]
pub struct Delayed<D> {
    device: D,
    clock: Clock,
    waiting: EventQueue<Box<[u8]>>,
    /// By connection.
    delays: Vec<Duration>,
    /// More of them.
    news: Receiver<(Serial, Duration)>,
    /// Nanoseconds that packets take anyway, which are no part of the delay any more.
    anyway: Arc<AtomicU64>,
    /// Packets that found no room.
    left_out: Arc<AtomicU64>,
}

impl<D: Device> Delayed<D> {
    /// That of `device`. `news` has the delays of connections before their packets come; one that is not among them has none. What packets
    /// take without this, in nanoseconds, is in `anyway`; packets for which there was no room are counted in `left_out`.
    pub fn new(
        device: D,
        news: Receiver<(Serial, Duration)>,
        anyway: Arc<AtomicU64>,
        left_out: Arc<AtomicU64>,
    ) -> Delayed<D> {
        let clock = Clock::starting_in(Duration::ZERO);
        Delayed { device, clock, waiting: EventQueue::new(), delays: Vec::new(), news, anyway, left_out }
    }

    /// How long it is until the next packet comes out, if one waits.
    pub fn next(&self) -> Option<Duration> {
        self.waiting.not_before().map(|time| self.clock.until(time))
    }

    /// The packet that is to come out by now, if there is one.
    fn due(&mut self) -> Option<Box<[u8]>> {
        self.waiting.pop_until(self.clock.now()).map(|(_, packet)| packet)
    }

    /// Takes what the side has sent.
    fn take(&mut self) -> io::Result<()> {
        for (serial, delay) in self.news.try_iter() {
            let at = serial as usize;
            if self.delays.len() <= at {
                self.delays.resize(at + 1, Duration::ZERO);
            }
            self.delays[at] = delay;
        }
        let anyway = Duration::from_nanos(self.anyway.load(Ordering::Relaxed));
        let mut packet = [0; 2_048];
        for _ in 0..BATCH {
            let Some(length) = self.device.read(&mut packet)? else { break };
            let packet = &packet[..length];
            if self.waiting.len() == MOST_WAITING {
                self.left_out.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            let delay = connection_of(packet).and_then(|serial| self.delays.get(serial as usize).copied());
            let due = self.clock.now() + delay.unwrap_or_default().saturating_sub(anyway);
            self.waiting.push(due, packet.into());
        }
        Ok(())
    }
}

impl<D: Device> Device for Delayed<D> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        let mut due = self.due();
        if due.is_none() {
            self.take()?;
            due = self.due();
        }
        let Some(packet) = due else { return Ok(None) };
        let length = packet.len().min(into.len());
        into[..length].copy_from_slice(&packet[..length]);
        Ok(Some(length))
    }

    fn write(&mut self, packet: &[u8]) -> io::Result<bool> {
        self.device.write(packet)
    }
}

impl<D: Device> AsFd for Delayed<D> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use flowloom_core::time::Time;
    use flowloom_core::workload::Side;

    use super::super::tunnel::tests::{Queue, packet};
    use super::*;

    #[test]
    fn packets_come_out_after_the_delay_of_their_connection_less_what_they_take_anyway() {
        let (telling, news) = channel();
        let anyway = Arc::new(AtomicU64::new(2_000_000));
        let [near, far, unknown] = [3, 4, 5].map(|serial| packet(serial, 1, Side::Initiator));
        let device = Queue::of([far.clone(), near.clone(), near.clone(), unknown.clone()]);
        let mut farther = Delayed::new(device, news, anyway, Arc::default());
        telling.send((4, Duration::from_millis(42))).unwrap();
        telling.send((3, Duration::from_millis(22))).unwrap();
        let clock = Clock::starting_in(Duration::ZERO);
        let mut came = Vec::new();
        let mut into = [0; 2_048];
        while came.len() < 4 {
            if let Some(length) = farther.read(&mut into).unwrap() {
                came.push((into[..length].to_vec(), clock.now()));
            } else {
                let next = farther.next().unwrap();
                clock.sleep_until(clock.now() + next);
            }
        }
        let packets: Vec<Vec<u8>> = came.iter().map(|(packet, _)| packet.clone()).collect();
        assert_eq!(packets, [unknown, near.clone(), near, far], "each at its time, those of one in their order");
        for ((_, at), least) in came.iter().zip([0, 20, 20, 40]) {
            assert!(*at >= Time::ZERO + Duration::from_millis(least), "{at:?} {least} ms");
        }
        assert_eq!(farther.next(), None);
    }
}
