//! One end of a TCP connection.

use std::num::NonZeroU16;

use super::agreed::Agreed;
use super::config::{Config, EcnEcho, Habits, Limits, Offers};
use super::congestion::{WindowCause, WindowRules};
use super::receiver::{Path, Receiver};
use super::segment::{SackBlocks, Segment, Timestamps};
use super::sender::Sender;
use super::snapshot::Snapshot;
use crate::time::{Duration, Time};
use crate::wire::{Ecn, Flags};

/// RFC 9293 section 3.3.2, reduced to what the sender's and the receiver's offsets do not tell: the states from
/// FIN-WAIT-1 to TIME-WAIT follow from which FINs were sent, received and acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum State {
    Listen,
    SynSent,
    SynReceived,
    Synchronised,
    /// Ended without FINs: reset by the peer, aborted, or given up.
    Dead,
}

/// The MSS of a peer that does not say (RFC 9293 section 3.7.1).
const DEFAULT_MSS: u16 = 536;

/// One end of a TCP connection: segments and the application's commands in, segments out.
///
/// Calls keep the calling contract of `ARCHITECTURE.md`: one of [`Self::handle_segment`], [`Self::handle_timeout`],
/// [`Self::write`], [`Self::close`], [`Self::abort`]; then [`Self::poll_transmit`] until it returns `None`; then
/// [`Self::next_timeout`], which any of these calls may have moved in either direction. A driver may keep one wake-up per endpoint and, when
/// it fires early, ask again: [`Self::handle_timeout`] before the deadline is free.
///
/// Payload is counted, not carried: [`Self::write`] adds bytes to the stream and [`Self::bytes_received`] says how
/// many arrived in order. The application is taken to read at once, unless [`Self::set_window_end`] says how far.
///
/// What is sent how:
/// - Nagle's algorithm is off, unless its [`Habits`] have it. Bytes of several writes that wait for a window may share a segment, as in kernels;
///   PSH marks a segment that empties what was written (as BSD does), so also the end of each write that is not
///   overtaken by the next.
/// - No window cuts a segment short, unless the peer's never was two segments wide or nothing else has moved for a
///   retransmission timeout (RFC 9293 section 3.8.6.2.1).
/// - TIME-WAIT lasts as long as the endpoint is kept: it acknowledges a repeated FIN and holds no timer. No port is
///   reused in a simulation, so nothing has to be waited out; a driver frees both ends when both are
///   [`Self::is_closed`].
/// - Segments that arrive at an endpoint which was aborted or gave up are answered with RST, so the peer learns of it
///   even when the first RST was lost.
#[derive(Clone, Debug)]
pub struct Endpoint {
    sender: Sender,
    receiver: Receiver,
    /// A RST that is to be sent next.
    reset: Option<Box<Segment>>,
    state: State,
    agreed: Agreed,
    reset_received: bool,
    gave_up: bool,
    own_mss: NonZeroU16,
}

impl Endpoint {
    fn new(config: &Config, limits: Limits, state: State) -> Endpoint {
        let own_mss = NonZeroU16::new(limits.mss).unwrap_or(NonZeroU16::MIN);
        let limits = Limits { mss: own_mss.get(), max_window: limits.max_window.max(1) };
        Endpoint {
            sender: Sender::new(limits, config),
            receiver: Receiver::new(limits, config),
            reset: None,
            state,
            agreed: Agreed::offer(Offers::of(config)),
            reset_received: false,
            gave_up: false,
            own_mss,
        }
    }

    /// An endpoint that opens the connection: its SYN is ready to be polled.
    pub fn connect(config: &Config, limits: Limits) -> Endpoint {
        Endpoint::new(config, limits, State::SynSent)
    }

    /// An endpoint that waits for a SYN.
    pub fn listen(config: &Config, limits: Limits) -> Endpoint {
        Endpoint::new(config, limits, State::Listen)
    }

    /// The same endpoint with offers of its own in its SYN. SACK and ECN that `config` has off are then [`Sack::On`] and
    /// [`EcnEcho::UntilAnswered`] where both ends offer them. To be called before anything else.
    ///
    /// [`Sack::On`]: super::Sack::On
    #[must_use]
    pub fn offering(mut self, offers: Offers) -> Endpoint {
        self.agreed = Agreed::offer(offers);
        self
    }

    /// The same endpoint with the random stream that `setup` names for its congestion control, where that draws numbers (BBR).
    /// Without it all endpoints draw the same. To be called before anything else.
    #[must_use]
    pub fn with_stream(mut self, setup: super::congestion::Setup, config: &Config) -> Endpoint {
        self.sender.set_stream(setup, config);
        self
    }

    /// The same endpoint with habits of its own, where `config` allows them. To be called before anything else.
    #[must_use]
    pub fn with_habits(mut self, habits: &Habits, config: &Config) -> Endpoint {
        if config.own_initial_windows && habits.initial_window.is_some() {
            self.sender.set_initial_window(habits.initial_window, config);
        }
        self.sender.set_rate(habits.rate);
        self.sender.set_nagle(habits.nagle);
        if let Some(acks) = habits.acks.filter(|_| config.own_acks) {
            self.receiver.set_acks(acks);
        }
        self
    }

    /// Sends its SYN, or SYN/ACK, which was just sent, again at `at` if that is not answered by then, and does not give up before. To be
    /// called for each of them; else the retransmission timer decides.
    pub fn repeat_syn_at(&mut self, at: Time) {
        if !self.sender.syn_acknowledged() {
            self.sender.repeat_syn_at(at);
        }
    }

    /// The SYN, or SYN/ACK, that was just sent is the last for which [`Self::repeat_syn_at`] is called: from `now` on the retransmission
    /// timer decides.
    pub fn repeat_syn_by_timer(&mut self, now: Time) {
        if !self.sender.syn_acknowledged() {
            self.sender.repeat_syn_by_timer(now);
        }
    }

    /// Adds `bytes` to what is to be sent. May be called before the connection is established. No effect after
    /// [`Self::close`] or [`Self::abort`].
    pub fn write(&mut self, bytes: u64) {
        if !self.sender.fin_wanted() && self.state != State::Dead {
            self.sender.write(bytes);
        }
    }

    /// The application reads so that the receive window ends at most behind the peer's first `bytes`; `None`: it reads at once all that
    /// comes. To be called before anything else, and then with more than before: the application reads on, and the peer is told if
    /// that opens the window.
    pub fn set_window_end(&mut self, bytes: Option<u64>) {
        self.receiver.set_window_end(bytes);
    }

    /// The peer was told of a window in which a sender that avoids silly windows sends nothing, because the application does not read.
    pub fn has_shut_out(&self) -> bool {
        self.state == State::Synchronised && self.receiver.has_shut_out()
    }

    /// Sends a FIN after all that was written. Data still arrives (half-close).
    pub fn close(&mut self) {
        if self.state != State::Dead {
            self.sender.close();
        }
    }

    /// Drops the connection with a RST. What was not transmitted yet never is.
    pub fn abort(&mut self) {
        let synchronised = matches!(self.state, State::SynReceived | State::Synchronised);
        if synchronised && !self.is_closed() {
            self.reset = Some(Box::new(Segment {
                sequence: self.sender.highest(),
                acknowledgement: self.receiver.acknowledge(),
                flags: Flags(Flags::RST | Flags::ACK),
                ..Segment::default()
            }));
        }
        self.die();
    }

    fn die(&mut self) {
        self.state = State::Dead;
        self.sender.stop();
        self.receiver.acknowledge();
    }

    /// Takes a segment from the peer.
    pub fn handle_segment(&mut self, now: Time, segment: &Segment, config: &Config) {
        match self.state {
            State::Dead if self.reset_received => {}
            State::Dead => self.answer_with_reset(segment),
            State::Listen => {
                if segment.flags.syn() && !segment.flags.ack() && !segment.flags.rst() {
                    self.take_syn(segment, config);
                    self.state = State::SynReceived;
                }
            }
            State::SynSent => self.handle_in_syn_sent(now, segment, config),
            State::SynReceived | State::Synchronised => self.handle_synchronised(now, segment, config),
        }
    }

    #[cold]
    fn answer_with_reset(&mut self, segment: &Segment) {
        if segment.flags.rst() {
            return;
        }
        self.reset = Some(Box::new(segment.refusal()));
    }

    fn take_syn(&mut self, segment: &Segment, config: &Config) {
        self.receiver.take_syn();
        self.receiver.take_timestamp(segment);
        self.agreed.restrict(segment);
        let Agreed { window_scaling, timestamps, sack, .. } = self.agreed;
        self.sender.negotiated(segment.mss.map_or(DEFAULT_MSS, NonZeroU16::get), timestamps, config);
        self.receiver.negotiated(self.sender.mss(), window_scaling, sack, config);
        self.take_window(segment, config);
    }

    /// Takes the window that the peer allows, which is another than before.
    #[cold]
    fn take_window(&mut self, segment: &Segment, config: &Config) {
        self.agreed.largest_window = self.agreed.largest_window.max(segment.window);
        self.sender.set_peer_window(segment.window, self.agreed, config);
    }

    fn handle_in_syn_sent(&mut self, now: Time, segment: &Segment, config: &Config) {
        let flags = segment.flags;
        let acceptable = flags.ack() && segment.acknowledgement == 1 && self.sender.highest() == 1;
        if flags.rst() {
            if acceptable {
                self.reset_received = true;
                self.die();
            }
            return;
        }
        if flags.ack() && !acceptable {
            return self.answer_with_reset(segment);
        }
        if !flags.syn() {
            return;
        }
        self.take_syn(segment, config);
        if acceptable {
            let first_arrived = self.sender.answers_first_syn(segment);
            self.sender.handle_ack(now, segment, false, self.agreed, config);
            self.establish(now, first_arrived, config);
            self.receiver.ack_at_once();
        } else {
            // Simultaneous open (RFC 9293 section 3.5): answer the SYN with SYN/ACK.
            self.state = State::SynReceived;
            self.sender.repeat_syn();
        }
    }

    fn establish(&mut self, now: Time, first_arrived: bool, config: &Config) {
        self.state = State::Synchronised;
        self.sender.established(now, first_arrived, config);
    }

    fn handle_synchronised(&mut self, now: Time, segment: &Segment, config: &Config) {
        let (flags, ack) = (segment.flags, segment.acknowledgement);
        let usual = flags.0 & (Flags::SYN | Flags::RST | Flags::ACK) == Flags::ACK
            && segment.sequence == self.receiver.next()
            && ack <= self.sender.highest()
            && self.state == State::Synchronised
            && (!self.agreed.timestamps || self.receiver.is_recent(segment));
        if !usual && !self.is_acceptable(now, segment, config) {
            return;
        }
        let same_window = self.sender.peer_window() == segment.window;
        let duplicate = segment.payload_bytes == 0 && !flags.syn() && !flags.fin() && same_window;
        if ack >= self.sender.unacknowledged()
            && !flags.syn()
            && self.sender.gives_window(segment.sequence)
            && !same_window
        {
            self.take_window(segment, config);
        }
        let first_arrived = self.state == State::SynReceived && self.sender.answers_first_syn(segment);
        self.sender.handle_ack(now, segment, duplicate, self.agreed, config);
        if self.state == State::SynReceived && self.sender.syn_acknowledged() {
            self.establish(now, first_arrived, config);
        }
        if !flags.syn() {
            if self.agreed.timestamps {
                self.receiver.take_timestamp(segment);
            }
            if self.agreed.ecn {
                self.receiver.take_marks(segment, config);
            }
            self.receiver.receive(now, segment, self.path(), config);
            if self.receiver.fin_received() && self.sender.fin_sent() {
                // Nothing will carry the acknowledgement.
                self.receiver.ack_what_is_owed();
            }
        }
    }

    /// Looks at a segment that is not the next in order and beyond doubt (RFC 9293 section 3.10.7.4, RFC 5961, RFC 7323). What
    /// is not to be taken is answered here.
    #[cold]
    fn is_acceptable(&mut self, now: Time, segment: &Segment, config: &Config) -> bool {
        let flags = segment.flags;
        if flags.rst() {
            self.take_reset(segment.sequence);
            return false;
        }
        if flags.syn() {
            // A repeated SYN or SYN/ACK: what answered it was lost. On an open connection it is challenged (RFC 5961 section 4).
            match self.state {
                State::SynReceived if flags.ack() => {}
                State::SynReceived => {
                    self.sender.repeat_syn();
                    return false;
                }
                _ => {
                    self.receiver.ack_at_once();
                    return false;
                }
            }
        }
        if !flags.ack() || (self.agreed.timestamps && segment.timestamps.is_none()) {
            return false;
        }
        let ack = segment.acknowledgement;
        if self.agreed.timestamps && !self.receiver.is_recent(segment) && !self.receiver.rested(now) {
            // PAWS, RFC 7323 section 5.3. An acknowledgement that another overtook is old, too, and has nothing to say.
            let overtaken = segment.sequence_length() == 0 && ack <= self.sender.unacknowledged();
            if !overtaken || segment.sequence != self.receiver.next() {
                self.receiver.ack_at_once();
                return false;
            }
        }
        if !flags.syn() && !self.receiver.accepts(segment) {
            self.receiver.ack_at_once();
            self.receiver.receive(now, segment, self.path(), config);
            return false;
        }
        if self.state == State::SynReceived && (ack == 0 || ack > self.sender.highest()) {
            self.answer_with_reset(segment);
            return false;
        }
        if ack > self.sender.highest() {
            self.receiver.ack_at_once();
            return false;
        }
        true
    }

    fn path(&self) -> Path {
        Path { pause: self.sender.retransmission_timeout(), rtt: self.sender.smoothed_rtt() }
    }

    /// RFC 5961 section 3.2: only the RST that comes with the next sequence number is beyond doubt; another in the window is
    /// challenged, and its sender answers that with one.
    fn take_reset(&mut self, sequence: u64) {
        let next = self.receiver.next();
        let window = u64::from(self.receiver.window(self.receiver.shift()));
        if self.is_closed() || !(next..next + window).contains(&sequence) {
            return;
        }
        if sequence > next {
            return self.receiver.ack_at_once();
        }
        self.reset_received = true;
        self.die();
    }

    /// Serves the timers that are due.
    pub fn handle_timeout(&mut self, now: Time, config: &Config) {
        self.receiver.handle_timeout(now);
        if self.sender.handle_timeout(now, self.agreed, config) {
            self.gave_up = true;
            self.die();
        }
    }

    /// When [`Self::handle_timeout`] has something to do.
    pub fn next_timeout(&self) -> Option<Time> {
        self.sender.deadline().min(self.receiver.deadline()).get()
    }

    #[cold]
    fn take_due_reset(&mut self) -> Option<Segment> {
        self.reset.take().map(|reset| *reset)
    }

    /// The next segment to send, if any. Every one returned counts as sent at `now`.
    pub fn poll_transmit(&mut self, now: Time, config: &Config) -> Option<Segment> {
        if self.reset.is_some() {
            return self.take_due_reset();
        }
        if matches!(self.state, State::Listen | State::Dead) {
            return None;
        }
        if let Some((up_to, echo)) = self.receiver.take_apart() {
            let flags = if echo { Flags::ECE } else { 0 };
            return Some(self.acknowledgement(now, flags, up_to, config));
        }
        let may_send_data = self.state == State::Synchronised;
        let piece = self.sender.poll(now, may_send_data, self.receiver.sack_bytes(), self.agreed, config);
        let Some(piece) = piece else {
            return self.receiver.ack_is_due().then(|| {
                let echo = if self.receiver.echoes() { Flags::ECE } else { 0 };
                let up_to = self.receiver.acknowledge();
                self.acknowledgement(now, echo, up_to, config)
            });
        };
        let mut flags = 0;
        flags |= if piece.syn { Flags::SYN } else { 0 };
        flags |= if piece.fin { Flags::FIN } else { 0 };
        flags |= if piece.push { Flags::PSH } else { 0 };
        if piece.syn {
            flags |= match (self.agreed.ecn, self.state) {
                (false, _) => 0,
                (true, State::SynSent) => Flags::ECE | Flags::CWR,
                (true, _) => Flags::ECE,
            };
        } else if self.receiver.echoes() {
            flags |= Flags::ECE;
        }
        let mut ecn = self.ecn_of_control(config);
        if piece.payload_bytes > 0 {
            self.receiver.payload_sent(now, config);
            // RFC 3168 sections 6.1.2 and 6.1.5: new data is ECN-capable, and only new data tells of a reduction.
            if piece.new && self.agreed.ecn {
                ecn = Ecn::Ect0;
                flags |= if self.sender.take_reduction() { Flags::CWR } else { 0 };
            }
        }
        let acknowledgement = if self.state == State::SynSent { 0 } else { self.receiver.acknowledge() };
        Some(self.segment(now, (piece.start, piece.payload_bytes), flags, acknowledgement, ecn))
    }

    /// An acknowledgement without payload.
    fn acknowledgement(&mut self, now: Time, flags: u8, up_to: u64, config: &Config) -> Segment {
        let ecn = self.ecn_of_control(config);
        self.segment(now, (self.sender.highest(), 0), flags, up_to, ecn)
    }

    /// The ECN field of what is not new data. RFC 3168 section 6.1 has it not capable; in Linux all segments of a DCTCP connection
    /// are, its SYNs, acknowledgements and retransmissions among them (`tcp_ca_needs_ecn`).
    fn ecn_of_control(&self, config: &Config) -> Ecn {
        let every = config.ecn == EcnEcho::EachMark && config.window_rules == WindowRules::Linux;
        if every && self.agreed.ecn { Ecn::Ect0 } else { Ecn::NotEct }
    }

    fn segment(
        &mut self,
        now: Time,
        (sequence, payload_bytes): (u64, u32),
        flags: u8,
        acknowledgement: u64,
        ecn: Ecn,
    ) -> Segment {
        let syn = flags & Flags::SYN != 0;
        let with_ack = self.state != State::SynSent;
        let shift = if syn { 0 } else { self.receiver.shift() };
        Segment {
            sequence,
            acknowledgement,
            payload_bytes,
            window: self.receiver.tell_window(shift),
            mss: syn.then_some(self.own_mss),
            flags: Flags(flags | if with_ack { Flags::ACK } else { 0 }),
            window_scale: (syn && self.agreed.window_scaling).then(|| self.receiver.offered_shift()),
            window_shift: shift,
            timestamps: self.agreed.timestamps.then(|| Timestamps {
                value: Timestamps::clock(now),
                echo: if with_ack { self.receiver.recent_timestamp } else { 0 },
            }),
            sack: if syn { SackBlocks::default() } else { self.receiver.sack_blocks() },
            sack_permitted: syn && self.agreed.sack,
            ecn,
        }
    }

    /// The handshake is done, as this end sees it; stays true until the connection is reset.
    pub fn is_established(&self) -> bool {
        self.state == State::Synchronised
    }

    /// The peer's FIN has arrived and everything before it.
    pub fn is_peer_closed(&self) -> bool {
        self.receiver.fin_received()
    }

    /// The connection ended otherwise than by FINs: a RST came or was sent, or the retransmissions were used up.
    pub fn is_reset(&self) -> bool {
        self.state == State::Dead
    }

    /// The retransmissions were used up and the connection ended (ETIMEDOUT): no peer and no application asked for that.
    pub fn gave_up(&self) -> bool {
        self.gave_up
    }

    /// Nothing is left to do here: both FINs are exchanged and acknowledged (TIME-WAIT or CLOSED), or
    /// [`Self::is_reset`].
    pub fn is_closed(&self) -> bool {
        self.state == State::Dead || (self.receiver.fin_received() && self.sender.fin_acknowledged())
    }

    /// Payload bytes received in order.
    pub fn bytes_received(&self) -> u64 {
        self.receiver.bytes()
    }

    /// Payload bytes transmitted at least once.
    pub fn bytes_transmitted(&self) -> u64 {
        self.sender.bytes_transmitted()
    }

    /// Payload bytes the peer acknowledged.
    pub fn bytes_acknowledged(&self) -> u64 {
        self.sender.bytes_acknowledged()
    }

    /// Payload bytes written and never transmitted yet.
    pub fn bytes_unsent(&self) -> u64 {
        self.sender.bytes_unsent()
    }

    /// Whether the FIN was sent at least once.
    pub fn is_fin_sent(&self) -> bool {
        self.sender.fin_sent()
    }

    /// The number of segments that were retransmitted.
    pub fn retransmissions(&self) -> u32 {
        self.sender.retransmissions
    }

    /// The number of times the retransmission timer expired, counted up to 65,535.
    pub fn timeouts(&self) -> u32 {
        self.sender.timeouts.into()
    }

    /// The retransmission timeout that the round-trip times so far give, without back-off.
    pub fn timeout_without_back_off(&self, config: &Config) -> Duration {
        self.sender.timeout_without_back_off(config)
    }

    /// Congestion window in bytes.
    pub fn congestion_window(&self) -> u32 {
        self.sender.congestion_window()
    }

    /// Why [`Self::congestion_window`] or the threshold of [`Self::snapshot`] changed last. Whoever asks after each call and its
    /// drain misses no change but one that the same call superseded.
    pub fn window_cause(&self) -> WindowCause {
        self.sender.window_cause()
    }

    /// What its sender would tell of itself in `tcp_info`, for tests and traces.
    pub fn snapshot(&self) -> Snapshot {
        self.sender.snapshot()
    }

    /// Smoothed round-trip time; `None` before the first sample.
    pub fn smoothed_rtt(&self) -> Option<Duration> {
        self.sender.smoothed_rtt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_little_more_than_four_cache_lines() {
        assert!(size_of::<Endpoint>() <= 272, "{}", size_of::<Endpoint>());
    }
}
