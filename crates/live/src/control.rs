//! What the run and its worker processes tell each other: the run over a worker's standard input, the worker over its
//! standard output. A message is its length in four bytes, little-endian, and postcard.
//!
//! A worker whose input ends has lost its run and ends too.

use std::io::{self, BufWriter, Read, Write};
use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::thread;

use flowloom_core::play::{DatagramSink, Datagrams, Pauses, Probes, ReplayModel};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{ConnectionVector, IpVersion, LinkSide, PerSide, Side};
use flowloom_sim::Sending;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::addresses::{Addressing, Serial};
use crate::clock::Clock;
use crate::lateness::Counted;

/// From the run to a worker. The first is [`ToWorker::Begin`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ToWorker {
    /// Who it is, and how it plays.
    Begin(Box<Orders>),
    /// The clock of the run, once all workers are [`FromWorker::Ready`].
    Start(Clock),
    /// An end to play; these come in the order of [`Assignment::at`], a second or more before it.
    Assign(Box<Assignment>),
    /// No more will come: the worker ends when those it has are over. One that has left connections open waits for
    /// [`ToWorker::Stop`]: its kernel may have to send data of theirs again.
    NoMore,
    /// All datagrams of a flow that are not lost have been handed on: its end reports what came of it.
    Settle(Serial),
    /// What is still open is cut: the worker reports it and ends.
    Stop,
}

/// How a worker plays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Orders {
    /// The side it is on.
    pub side: LinkSide,
    /// Its number among the workers of that side.
    pub number: u16,
    /// How many workers each side has.
    pub workers: u16,
    /// The inode of the network namespace that it must not be in: that of the host.
    pub host_namespace: u64,
    /// The namespaces of the hosts of its side, at most [`MOST_HOSTS`](crate::addresses::MOST_HOSTS), over which its ends are spread;
    /// without any, ends are its side's own.
    pub hosts: Vec<PathBuf>,
    /// Whether there is IPv6 beside IPv4.
    pub ipv6: bool,
    /// Which waits are replayed.
    pub replay: ReplayModel,
    /// What sockets of each class have.
    pub classes: Vec<SocketOptions>,
    /// The seed of the run, from which sources of datagrams draw.
    pub seed: u64,
}

impl Orders {
    /// Which addresses connections have.
    ///
    /// # Panics
    /// If there are more hosts than can be.
    pub fn addressing(&self) -> Addressing {
        Addressing::over(u8::try_from(self.hosts.len()).unwrap_or(u8::MAX))
    }

    /// The versions of IP that connections have.
    pub fn versions(&self) -> &'static [IpVersion] {
        if self.ipv6 { &[IpVersion::V4, IpVersion::V6] } else { &[IpVersion::V4] }
    }
}

/// What is set on sockets of a class; what is `None` stays the kernel's.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SocketOptions {
    /// TCP_CONGESTION.
    pub congestion: Option<String>,
    /// Largest segment size of either end, beside what the vector says (TCP_MAXSEG).
    pub mss: Option<u16>,
}

/// One end of a connection, or of a flow of datagrams, to be played by one worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    /// Its number in the run, which gives its addresses.
    pub serial: Serial,
    /// The hosts of its two ends, where there are hosts.
    pub hosts: PerSide<u8>,
    /// The end: an initiator connects at [`Self::at`], an acceptor is connected to.
    pub side: Side,
    /// Its class, a place in [`Orders::classes`].
    pub class: u16,
    /// The version of IP that its packets have.
    pub version: IpVersion,
    /// When the SYN is sent, or the first datagram may be.
    pub at: Time,
    /// What is played.
    pub vector: ConnectionVector,
    /// It was in progress when the run began (methods M.4).
    pub in_progress: bool,
    /// When its initiator stops that sends without end after what the vector says.
    pub endless_until: Option<Time>,
    /// Of a source of datagrams: what its initiator sends.
    pub datagrams: Option<Datagrams>,
}

/// From a worker to the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FromWorker {
    /// It listens, and waits for the clock.
    Ready,
    /// Ends that are over.
    Ends(Vec<EndReport>),
    /// Ends of flows of datagrams that will send nothing more. What was sent to them may still come, so that they are over when the
    /// run says so: [`ToWorker::Settle`].
    Silent(Vec<Serial>),
    /// All its ends are over; it ends.
    Done(Box<WorkerReport>),
    /// It cannot go on.
    Failed(String),
}

/// What an end was, once it is over: as its own program and its own kernel saw it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndReport {
    /// The connection.
    pub serial: Serial,
    /// The end.
    pub side: Side,
    /// When the initiator asked for the connection; of acceptors when it was accepted. `None`: it never came to that.
    pub started: Option<Time>,
    /// When it was established.
    pub established: Option<Time>,
    /// When its first data byte was handed to the kernel.
    pub first_sent: Option<Time>,
    /// When the last data byte had been received.
    pub last_received: Option<Time>,
    /// When it closed or reset the connection.
    pub closed: Option<Time>,
    /// Payload bytes received.
    pub received_bytes: u64,
    /// Payload bytes the kernel took from it.
    pub sent_bytes: u64,
    /// When its program had nothing to send.
    pub pauses: Pauses,
    /// How it ended.
    pub ended: Ended,
    /// Epochs with request and response; of initiators only.
    pub epochs: Vec<LiveEpoch>,
    /// The exchange that had begun and not ended.
    pub unanswered: Option<Unanswered>,
    /// How late its own program had made it by what it sent in an epoch: the epoch and the time, where that is another
    /// by 1 ms or more than before; of acceptors only. See [`LiveEpoch::intended`].
    pub late: Vec<(u32, Duration)>,
    /// What the kernel said of it at its end; `None` if there was no socket any more.
    pub kernel: Option<KernelFacts>,
    /// Of an end of a flow of datagrams: those it sent, and what came to it.
    pub datagrams: Option<(u64, DatagramSink)>,
    /// Of an initiator of probes: those that it sent, and their answers.
    pub probes: Option<Probes>,
}

impl EndReport {
    /// What it tells of its sending.
    pub fn sending(&self) -> Sending {
        let kernel = self.kernel.unwrap_or_default();
        let micros = |micros: u64| Duration::from_nanos(micros.saturating_mul(1_000));
        Sending {
            retransmissions: kernel.retransmissions.into(),
            timeout: micros(kernel.timeout_micros.into()),
            active: self.pauses.active(),
            paused: self.pauses.paused() + micros(kernel.send_buffer_limited_micros),
            receiver_limited: micros(kernel.receiver_limited_micros),
        }
    }

    /// Of an end that nothing came of.
    pub fn without(serial: Serial, side: Side, ended: Ended) -> EndReport {
        EndReport {
            serial,
            side,
            started: None,
            established: None,
            first_sent: None,
            last_received: None,
            closed: None,
            received_bytes: 0,
            sent_bytes: 0,
            pauses: Pauses::default(),
            ended,
            epochs: Vec::new(),
            unanswered: None,
            late: Vec::new(),
            kernel: None,
            datagrams: None,
            probes: None,
        }
    }
}

/// How an end of a connection ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// All was sent and received, and it closed, or its vector leaves it open.
    Completed,
    /// The other end reset it, or its own program did as its vector says.
    Reset,
    /// The kernel gave up, with this error.
    Error(i32),
    /// The run ended first, or the other end never came.
    Cut,
}

/// An epoch at the initiator (methods C.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveEpoch {
    /// Position among the connection's epochs, half epochs counted.
    pub epoch: u32,
    /// When the request should have been sent: `start` without the time that the programs at the ends have lost so far.
    ///
    /// A program loses time when it connects after [`Assignment::at`], takes note of the last byte of an ADU after it arrived
    /// (known where its worker was held up for 5 ms or more), or writes after a wait was over. So a first request is
    /// intended for its schedule however late the worker was; and a request that depends on an exchange before it for
    /// when that was intended to begin, plus the waits of the vector, plus what the network took. A stop of either
    /// program is then missing from none of the requests that it held back, while a slow network, which a closed loop
    /// waits for, holds nothing back.
    ///
    /// An initiator knows what it lost itself. What the acceptor lost, its own report says:
    /// [`settle_intended`] puts the two together.
    pub intended: Time,
    /// When its first byte was handed to the kernel.
    pub start: Time,
    /// When the last byte of the response had been received.
    pub end: Time,
}

/// Takes out of the intended times of an initiator's epochs what the acceptor lost before each, by its report.
pub fn settle_intended(epochs: &mut [LiveEpoch], late: &[(u32, Duration)]) {
    for epoch in epochs {
        let before = late.partition_point(|(other, _)| *other < epoch.epoch);
        if let Some((_, lost)) = before.checked_sub(1).map(|last| late[last]) {
            epoch.intended = epoch.intended.before(lost);
        }
    }
}

/// An exchange without an end, at the initiator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unanswered {
    /// As of [`LiveEpoch`].
    pub epoch: u32,
    /// As of [`LiveEpoch`], by what the initiator knows.
    pub intended: Time,
    /// When its request was sent, or was to be.
    pub start: Time,
}

/// What TCP_INFO said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct KernelFacts {
    /// tcpi_total_retrans.
    pub retransmissions: u32,
    /// tcpi_total_rto, of kernels that have it.
    pub timeouts: Option<u32>,
    /// tcpi_min_rtt, in microseconds; `None` before there was a sample.
    pub min_rtt_micros: Option<u32>,
    /// tcpi_rtt, in microseconds.
    pub smoothed_rtt_micros: u32,
    /// tcpi_rto without its back-off, in microseconds.
    pub timeout_micros: u32,
    /// tcpi_rwnd_limited, in microseconds.
    pub receiver_limited_micros: u64,
    /// tcpi_sndbuf_limited, in microseconds.
    pub send_buffer_limited_micros: u64,
}

/// What a worker came to.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct WorkerReport {
    /// How late SYNs were sent.
    pub starts: Counted,
    /// How late data and closes were that waited for a time.
    pub waits: Counted,
    /// CPU time, in nanoseconds: of its program, and of the kernel for it.
    pub cpu_nanos: [u64; 2],
    /// Connections from addresses that nobody assigned, and datagrams of flows that nobody did.
    pub strangers: u64,
    /// Datagrams that it was too late to take in, and answers of probes for which its socket had no room.
    pub datagram_drops: u64,
}

/// The longest message, in bytes: a vector of a million data units takes less.
const MOST_BYTES: u32 = 256 << 20;

/// Writes a message.
///
/// # Errors
/// The writer's.
pub fn send(mut to: impl Write, message: &impl Serialize) -> io::Result<()> {
    let body = postcard::to_stdvec(message).map_err(io::Error::other)?;
    let length = u32::try_from(body.len()).ok().filter(|length| *length <= MOST_BYTES);
    let length = length.ok_or_else(|| io::Error::other("a message is longer than 256 MiB"))?;
    to.write_all(&length.to_le_bytes())?;
    to.write_all(&body)
}

/// Starts a thread that writes what comes by `messages`, and ends when nobody sends any more or the reader is gone.
///
/// # Errors
/// The thread could not be started.
pub fn send_all<M: Serialize + Send + 'static>(
    thread: String,
    to: impl Write + Send + 'static,
    messages: Receiver<M>,
) -> io::Result<()> {
    let mut to = BufWriter::new(to);
    let sending = move || {
        while let Ok(first) = messages.recv() {
            let mut batch = std::iter::once(first).chain(messages.try_iter());
            // That the reader is gone the other direction tells.
            if batch.try_for_each(|message| send(&mut to, &message)).and_then(|()| to.flush()).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name(thread).spawn(sending).map(drop)
}

/// Reads a message; `None` if there are no more.
///
/// # Errors
/// The reader's, or what came is no message.
pub fn receive<M: DeserializeOwned>(mut from: impl Read) -> io::Result<Option<M>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let length = u32::from_le_bytes(length);
    if length > MOST_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a message claims to be longer than 256 MiB"));
    }
    let mut body = Vec::new();
    from.take(u64::from(length)).read_to_end(&mut body)?;
    if body.len() < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    postcard::from_bytes(&body).map(Some).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_as_they_were_sent() {
        let messages = [ToWorker::Start(Clock::starting_in(Duration::from_secs(1))), ToWorker::NoMore, ToWorker::Stop];
        let mut pipe = Vec::new();
        messages.iter().for_each(|message| send(&mut pipe, message).unwrap());
        let mut from = &pipe[..];
        for message in &messages {
            assert_eq!(receive::<ToWorker>(&mut from).unwrap().as_ref(), Some(message));
        }
        assert_eq!(receive::<ToWorker>(&mut from).unwrap(), None);
    }

    #[test]
    fn what_the_acceptor_lost_before_a_request_is_taken_out_of_its_intended_time() {
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        let epoch = |epoch, millis| LiveEpoch { epoch, intended: at(millis), start: at(millis), end: at(millis + 5) };
        let mut epochs = [epoch(0, 10), epoch(1, 1_020), epoch(3, 1_040), epoch(4, 1_050)];
        settle_intended(&mut epochs, &[(0, Duration::from_millis(990)), (3, Duration::from_millis(992))]);
        assert_eq!(epochs.map(|epoch| epoch.intended), [at(10), at(30), at(50), at(58)]);
        settle_intended(&mut epochs, &[]);
        assert_eq!(epochs[0].intended, at(10));
    }

    #[test]
    fn what_is_no_message_is_an_error() {
        for bytes in [&[9, 0, 0, 0, 1][..], &[255; 8], &[1, 0, 0, 0, 200]] {
            assert!(receive::<ToWorker>(bytes).is_err(), "{bytes:?}");
        }
    }
}
