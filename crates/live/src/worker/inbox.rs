//! What the run tells a worker: read by a thread of its own, so that the loop that plays never waits for it.

use std::io::{self, BufReader, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;

use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::control::{self, ToWorker};

/// Bytes read from the pipe at once: as much as a pipe holds.
const BUFFER_BYTES: usize = 64 << 10;

/// What has come, in order.
pub struct Inbox {
    messages: Receiver<io::Result<Option<ToWorker>>>,
    bell: Arc<EventFd>,
    is_over: bool,
}

impl Inbox {
    /// Begins to read.
    ///
    /// # Errors
    /// The kernel's, if it has no thread or descriptor for it.
    pub fn new(input: impl Read + Send + 'static) -> io::Result<Inbox> {
        let bell = Arc::new(EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?);
        let (sender, messages) = channel();
        let ringer = Arc::clone(&bell);
        thread::Builder::new().name("inbox".to_owned()).spawn(move || {
            let mut input = BufReader::with_capacity(BUFFER_BYTES, input);
            loop {
                let message = control::receive(&mut input);
                let is_last = !matches!(message, Ok(Some(_)));
                if sender.send(message).is_err() {
                    return;
                }
                // Where more is at hand, one ring does for all of it.
                if is_last || !holds_a_message(input.buffer()) {
                    // It can only fail by having been rung 2^64 times.
                    let _ = ringer.write(1);
                }
                if is_last {
                    return;
                }
            }
        })?;
        Ok(Inbox { messages, bell, is_over: false })
    }

    /// The next message, waiting for it; `None` if no more will come.
    ///
    /// # Errors
    /// The reader's, or what came is no message.
    pub fn wait(&mut self) -> io::Result<Option<ToWorker>> {
        if self.is_over {
            return Ok(None);
        }
        let message = self.messages.recv().unwrap_or(Ok(None));
        self.is_over = !matches!(message, Ok(Some(_)));
        message
    }

    /// The next message, if it is there.
    ///
    /// # Errors
    /// As [`Self::wait`].
    pub fn take(&mut self) -> io::Result<Received> {
        if self.is_over {
            return Ok(Received::Over);
        }
        match self.messages.try_recv() {
            Ok(Ok(Some(message))) => return Ok(Received::Message(message)),
            Err(TryRecvError::Empty) => return Ok(Received::Nothing),
            Ok(Ok(None)) | Err(TryRecvError::Disconnected) => self.is_over = true,
            Ok(Err(error)) => {
                self.is_over = true;
                return Err(error);
            }
        }
        Ok(Received::Over)
    }

    /// No more messages will be looked for until this is readable.
    pub fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

/// What [`Inbox::take`] found.
#[derive(Clone, Debug, PartialEq)]
pub enum Received {
    /// A message.
    Message(ToWorker),
    /// Nothing now.
    Nothing,
    /// Nothing any more.
    Over,
}

/// Whether a whole message is in `buffer`.
fn holds_a_message(buffer: &[u8]) -> bool {
    buffer.first_chunk().is_some_and(|length| buffer.len() - 4 >= u32::from_le_bytes(*length) as usize)
}

#[cfg(test)]
mod tests {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    use super::*;

    fn bytes(messages: &[ToWorker]) -> Vec<u8> {
        let mut bytes = Vec::new();
        messages.iter().for_each(|message| control::send(&mut bytes, message).unwrap());
        bytes
    }

    #[test]
    fn what_was_sent_comes_in_order_and_then_nothing() {
        let mut inbox = Inbox::new(io::Cursor::new(bytes(&[ToWorker::NoMore, ToWorker::Stop]))).unwrap();
        assert_eq!(inbox.wait().unwrap(), Some(ToWorker::NoMore));
        assert_eq!(inbox.wait().unwrap(), Some(ToWorker::Stop));
        assert_eq!(inbox.wait().unwrap(), None);
        assert_eq!(inbox.take().unwrap(), Received::Over);
    }

    #[test]
    fn what_is_no_message_is_an_error_after_what_is_one() {
        let mut garbage = bytes(&[ToWorker::NoMore]);
        garbage.extend([3, 0, 0, 0, 250, 250, 250]);
        let mut cut = bytes(&[ToWorker::NoMore, ToWorker::Stop]);
        cut.pop();
        for input in [garbage, cut] {
            let mut inbox = Inbox::new(io::Cursor::new(input)).unwrap();
            assert_eq!(inbox.wait().unwrap(), Some(ToWorker::NoMore));
            assert!(inbox.wait().is_err());
            assert_eq!(inbox.wait().unwrap(), None);
        }
    }

    #[test]
    fn the_bell_rings_for_what_waits() {
        let (from, mut to) = io::pipe().unwrap();
        let mut inbox = Inbox::new(from).unwrap();
        assert_eq!(inbox.take().unwrap(), Received::Nothing);
        control::send(&mut to, &ToWorker::Stop).unwrap();
        let mut rung = [PollFd::new(inbox.bell(), PollFlags::POLLIN)];
        poll(&mut rung, PollTimeout::NONE).unwrap();
        assert_eq!(inbox.take().unwrap(), Received::Message(ToWorker::Stop));
    }

    #[test]
    fn a_message_is_whole_or_not() {
        let whole = bytes(&[ToWorker::Stop]);
        assert!(holds_a_message(&whole) && holds_a_message(&[&whole[..], &[1]].concat()));
        assert!(!holds_a_message(&whole[..whole.len() - 1]) && !holds_a_message(&whole[..3]) && !holds_a_message(&[]));
    }
}
