//! What a worker tells the run: written by a thread of its own, in batches, so that the loop that plays waits for no pipe.

use std::io::{self, BufWriter, Write};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

use flowloom_core::time::{Duration, Time};

use crate::control::{self, EndReport, FromWorker};

/// Reports of a batch at most.
const BATCH: usize = 256;
/// The longest that a report waits for others.
const PATIENCE: Duration = Duration::from_millis(50);
/// Bytes written at once.
const BUFFER_BYTES: usize = 64 << 10;

/// Reports on their way to the run. What the pipe does not take waits in memory.
pub struct Outbox {
    messages: Sender<FromWorker>,
    writer: JoinHandle<io::Result<()>>,
    batch: Vec<EndReport>,
    /// When the oldest of the batch came in.
    since: Time,
}

impl Outbox {
    /// Writes to `output` from now on.
    ///
    /// # Errors
    /// The kernel's, if it has no thread for it.
    pub fn new(output: impl Write + Send + 'static) -> io::Result<Outbox> {
        let (messages, receiver) = channel::<FromWorker>();
        let writer = thread::Builder::new().name("outbox".to_owned()).spawn(move || {
            let mut output = BufWriter::with_capacity(BUFFER_BYTES, output);
            for message in receiver {
                control::send(&mut output, &message)?;
                output.flush()?;
            }
            Ok(())
        })?;
        Ok(Outbox { messages, writer, batch: Vec::new(), since: Time::ZERO })
    }

    /// Adds the report of an end.
    pub fn report(&mut self, now: Time, report: EndReport) {
        if self.batch.is_empty() {
            self.since = now;
            self.batch.reserve_exact(BATCH);
        }
        self.batch.push(report);
    }

    /// When the batch has to be sent; `None` if there is none.
    pub fn deadline(&self) -> Option<Time> {
        (!self.batch.is_empty()).then_some(if self.batch.len() >= BATCH { Time::ZERO } else { self.since + PATIENCE })
    }

    /// Sends the batch if it is full or old. Whether there is anyone to send to.
    pub fn flush(&mut self, now: Time) -> bool {
        match self.deadline() {
            _ if self.writer.is_finished() => false,
            Some(deadline) if deadline <= now => self.send_batch(),
            _ => true,
        }
    }

    fn send_batch(&mut self) -> bool {
        self.batch.is_empty() || self.messages.send(FromWorker::Ends(std::mem::take(&mut self.batch))).is_ok()
    }

    /// Sends `message`, after all reports. If there is nobody to read it, [`Self::finish`] says so.
    pub fn send(&mut self, message: FromWorker) {
        let _ = self.send_batch() && self.messages.send(message).is_ok();
    }

    /// Waits until all is written.
    ///
    /// # Errors
    /// The writer's.
    pub fn finish(mut self) -> io::Result<()> {
        self.send_batch();
        drop(self.messages);
        self.writer.join().unwrap_or_else(|_| Err(io::Error::other("the thread that writes reports has panicked")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Ended;
    use flowloom_core::workload::Side;

    fn end(serial: u32) -> EndReport {
        EndReport {
            serial,
            side: Side::Initiator,
            started: None,
            established: None,
            first_sent: None,
            last_received: None,
            closed: None,
            received_bytes: 0,
            pauses: Default::default(),
            sent_bytes: 0,
            ended: Ended::Cut,
            epochs: Vec::new(),
            unanswered: None,
            late: Vec::new(),
            kernel: None,
            datagrams: None,
            probes: None,
        }
    }

    #[test]
    fn reports_go_in_batches_in_order_and_before_the_last_word() {
        let (mut from, to) = io::pipe().unwrap();
        let mut outbox = Outbox::new(to).unwrap();
        assert_eq!(outbox.deadline(), None);
        let now = Time::ZERO + Duration::from_secs(1);
        (0..300).for_each(|serial| {
            outbox.report(now, end(serial));
            assert!(outbox.flush(now));
        });
        assert_eq!(outbox.deadline(), Some(now + PATIENCE));
        outbox.send(FromWorker::Done(Box::default()));
        outbox.finish().unwrap();
        let sizes: Vec<_> = std::iter::from_fn(|| control::receive(&mut from).unwrap())
            .map(|message: FromWorker| match message {
                FromWorker::Ends(ends) => ends.len(),
                FromWorker::Done(_) => 0,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(sizes, [BATCH, 300 - BATCH, 0]);
    }

    #[test]
    fn a_pipe_that_nobody_reads_holds_nothing_up() {
        let (from, to) = io::pipe().unwrap();
        let mut outbox = Outbox::new(to).unwrap();
        let now = Time::ZERO + Duration::from_secs(1);
        for serial in 0..100_000 {
            outbox.report(now, end(serial));
            assert!(outbox.flush(now), "the pipe is full, and open");
        }
        drop(from);
        assert!(outbox.finish().is_err(), "now it is closed");
    }
}
