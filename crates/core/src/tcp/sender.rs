//! The sending half: what goes out when, loss recovery, and the retransmission timer.

use super::config::{Config, Limits};
use super::congestion::{Ack, Cause, Congestion, Recovery, Setup, Window, WindowCause};
use super::rto::Rto;
use super::segment::Timestamps;
use super::snapshot::{Phase, Snapshot};
use crate::time::{Duration, Time};

/// An optional point in time in eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Deadline(Time);

impl Deadline {
    pub(super) const NONE: Deadline = Deadline(Time::MAX);

    pub(super) fn at(time: Time) -> Deadline {
        Deadline(time)
    }

    pub(super) fn get(self) -> Option<Time> {
        (self != Deadline::NONE).then_some(self.0)
    }

    pub(super) fn is_due(self, now: Time) -> bool {
        self != Deadline::NONE && self.0 <= now
    }

    /// The earlier of the two.
    pub(super) fn min(self, other: Deadline) -> Deadline {
        Deadline(self.0.min(other.0))
    }
}

/// What one end knows of the stream it sends. The SYN is offset 0, data starts at 1, the FIN is at `end`.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    /// SND.UNA: the oldest offset not acknowledged.
    unacknowledged: u64,
    /// SND.NXT: the next offset to send; goes back to `unacknowledged` on a timeout.
    next: u64,
    /// One past the highest offset ever sent.
    highest: u64,
    /// One past the last byte written.
    end: u64,
    /// RFC 6582 `recover`: `highest` when the last recovery or timeout began.
    recover: u64,
    congestion: Congestion,
    /// What may be outstanding while `in_recovery`, in bytes.
    recovery_window: u32,
    /// The peer's advertised window, in bytes.
    peer_window: u32,
    rto: Rto,
    /// The offset whose acknowledgement ends the round-trip measurement under way; 0 if none is.
    timed_end: u64,
    timed_at: Time,
    deadline: Deadline,
    last_sent: Time,
    pub(super) retransmissions: u32,
    pub(super) timeouts: u32,
    mss: u16,
    duplicate_acks: u8,
    /// Timeouts since the last acknowledgement of new data.
    expiries: u8,
    in_recovery: bool,
    /// The first hole is to be sent again whatever the windows say.
    retransmit_hole: bool,
    /// A partial acknowledgement has arrived in this recovery.
    partial_ack_seen: bool,
    fin_wanted: bool,
}

/// A piece of the stream to put into a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) start: u64,
    pub(super) payload_bytes: u32,
    pub(super) syn: bool,
    pub(super) fin: bool,
    /// It empties what was written.
    pub(super) push: bool,
}

fn initial_window(mss: u16, config: &Config) -> Window {
    Window::new(config.initial_window.bytes(u32::from(mss)), u32::from(mss), config.slow_start_limit)
}

impl Sender {
    pub(super) fn new(limits: Limits, config: &Config) -> Sender {
        let mss = limits.mss;
        Sender {
            unacknowledged: 0,
            next: 0,
            highest: 0,
            end: 1,
            recover: 0,
            congestion: Congestion::new(&config.congestion, initial_window(mss, config), &Setup { seed: 0, stream: 0 }),
            recovery_window: 0,
            peer_window: 0,
            rto: Rto::new(&config.rto),
            timed_end: 0,
            timed_at: Time::ZERO,
            deadline: Deadline::NONE,
            last_sent: Time::ZERO,
            retransmissions: 0,
            timeouts: 0,
            mss,
            duplicate_acks: 0,
            expiries: 0,
            in_recovery: false,
            retransmit_hole: false,
            partial_ack_seen: false,
            fin_wanted: false,
        }
    }

    /// Gives this end a random stream of its own. Before anything is sent.
    pub(super) fn set_stream(&mut self, setup: Setup, config: &Config) {
        self.congestion = Congestion::new(&config.congestion, initial_window(self.mss, config), &setup);
    }

    /// Takes the peer's MSS, and with it the real initial window.
    pub(super) fn negotiated(&mut self, peer_mss: u16, timestamps: bool, config: &Config) {
        // The MSS counts the options that a segment carries (RFC 6691).
        let options = if timestamps { Timestamps::OPTION_BYTES as u16 } else { 0 };
        self.mss = self.mss.min(peer_mss).saturating_sub(options).max(1);
        self.congestion.negotiated(initial_window(self.mss, config));
    }

    /// Our SYN is acknowledged for the first time. RFC 5681 section 3.1: after a lost SYN or SYN/ACK data starts
    /// with one segment.
    pub(super) fn established(&mut self, config: &Config) {
        if self.retransmissions > 0 {
            let mss = u32::from(self.mss);
            self.congestion.negotiated(Window::new(mss, mss, config.slow_start_limit));
        }
        if self.timeouts > 0 {
            self.rto.restart_after_lost_syn();
        }
    }

    pub(super) fn retransmission_timeout(&self) -> Duration {
        self.rto.timeout()
    }

    pub(super) fn mss(&self) -> u16 {
        self.mss
    }

    pub(super) fn set_peer_window(&mut self, window: u32) {
        self.peer_window = window;
    }

    pub(super) fn peer_window(&self) -> u32 {
        self.peer_window
    }

    pub(super) fn write(&mut self, bytes: u64) {
        self.end += bytes;
    }

    pub(super) fn close(&mut self) {
        self.fin_wanted = true;
    }

    pub(super) fn fin_wanted(&self) -> bool {
        self.fin_wanted
    }

    /// The FIN was sent at least once.
    pub(super) fn fin_sent(&self) -> bool {
        self.highest > self.end
    }

    pub(super) fn fin_acknowledged(&self) -> bool {
        self.unacknowledged > self.end
    }

    pub(super) fn syn_acknowledged(&self) -> bool {
        self.unacknowledged > 0
    }

    pub(super) fn highest(&self) -> u64 {
        self.highest
    }

    pub(super) fn unacknowledged(&self) -> u64 {
        self.unacknowledged
    }

    pub(super) fn bytes_transmitted(&self) -> u64 {
        self.highest.min(self.end).saturating_sub(1)
    }

    pub(super) fn bytes_acknowledged(&self) -> u64 {
        self.unacknowledged.min(self.end).saturating_sub(1)
    }

    pub(super) fn bytes_unsent(&self) -> u64 {
        self.end - self.highest.clamp(1, self.end)
    }

    pub(super) fn congestion_window(&self) -> u32 {
        if self.in_recovery && self.congestion.recovery() != Recovery::Own {
            self.recovery_window
        } else {
            self.congestion.window()
        }
    }

    pub(super) fn window_cause(&self) -> WindowCause {
        self.congestion.why()
    }

    pub(super) fn smoothed_rtt(&self) -> Option<Duration> {
        self.rto.smoothed()
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        let phase = if self.in_recovery {
            Phase::Recovery
        } else if self.unacknowledged < self.recover {
            Phase::Loss
        } else if self.duplicate_acks > 0 {
            Phase::Disorder
        } else {
            Phase::Open
        };
        Snapshot {
            mss: self.mss,
            in_flight: self.flight(),
            sacked: 0,
            threshold: self.congestion.threshold(),
            timeout: self.rto.timeout(),
            phase,
        }
    }

    pub(super) fn deadline(&self) -> Deadline {
        self.deadline
    }

    pub(super) fn stop(&mut self) {
        self.deadline = Deadline::NONE;
    }

    /// The SYN is to be sent again because the peer repeated its own.
    pub(super) fn repeat_syn(&mut self) {
        self.next = 0;
    }

    fn flight(&self) -> u64 {
        self.highest - self.unacknowledged
    }

    /// An acknowledgement up to `ack` (at most `highest`). `duplicate` says that it may count as a duplicate by
    /// RFC 5681 section 2 as far as the segment itself tells: no data, no SYN, no FIN, same window.
    pub(super) fn handle_ack(&mut self, now: Time, ack: u64, duplicate: bool, config: &Config) {
        let mss = u32::from(self.mss);
        if ack <= self.unacknowledged {
            if ack == self.unacknowledged && duplicate && self.flight() > 0 {
                self.handle_duplicate_ack(now, mss);
            }
            return;
        }
        let acked = ack - self.unacknowledged;
        let used = self.next - self.unacknowledged;
        let window_limited = used + u64::from(mss) > u64::from(self.congestion.window());
        let mut rtt = None;
        self.unacknowledged = ack;
        self.next = self.next.max(ack);
        self.expiries = 0;
        self.duplicate_acks = 0;
        if self.timed_end != 0 && ack >= self.timed_end {
            rtt = Some(now.since(self.timed_at));
            self.rto.sample(now.since(self.timed_at), &config.rto);
            self.timed_end = 0;
        }
        // The SYN's acknowledgement says nothing about the window.
        if ack > 1 {
            self.congestion.on_ack(&Ack {
                now,
                acked,
                delivered: acked,
                lost: 0,
                flight_before: used,
                flight: self.flight(),
                unacknowledged: ack,
                next: self.next,
                rtt,
                smoothed: self.rto.smoothed(),
                window_limited,
                marked: false,
                in_recovery: self.in_recovery,
                rate: None,
            });
        }
        let mut restart_timer = true;
        if self.in_recovery {
            if ack >= self.recover || self.congestion.recovery() == Recovery::First {
                self.in_recovery = false;
                // RFC 6582 section 3.2 step 3, full acknowledgements, option 1: no burst of what the window would allow.
                let room = self.flight().min(u64::from(Window::MAX)) as u32;
                self.congestion.on_recovered(now, self.congestion.threshold().min(room.max(mss) + mss));
            } else {
                // RFC 6582 section 3.2 step 3; the "Impatient" variant: only the first partial acknowledgement
                // restarts the timer, so that many losses in one window end in a timeout and not in one hole per
                // round trip.
                self.deflate(acked, mss);
                self.retransmit_hole = true;
                restart_timer = !self.partial_ack_seen;
                self.partial_ack_seen = true;
            }
        }
        if self.flight() == 0 {
            self.deadline = Deadline::NONE;
        } else if restart_timer {
            self.deadline = Deadline::at(now + self.rto.timeout());
        }
    }

    /// RFC 6582 section 3.2 step 3, partial acknowledgements: deflate by what was acknowledged, and add back one segment
    /// if it was at least one.
    fn deflate(&mut self, acked: u64, mss: u32) {
        let deflated = u64::from(self.recovery_window).saturating_sub(acked) as u32;
        let back = if acked >= u64::from(mss) { mss } else { 0 };
        // Deflation must not stop the sender for good: the retransmission itself is always allowed.
        self.recovery_window = deflated.saturating_add(back).max(mss);
    }

    fn handle_duplicate_ack(&mut self, now: Time, mss: u32) {
        if self.in_recovery {
            // RFC 5681 section 3.2 step 4.
            self.recovery_window = self.recovery_window.saturating_add(mss);
            return;
        }
        self.duplicate_acks = self.duplicate_acks.saturating_add(1);
        // RFC 6582 section 3.2 step 2: not for what was sent before the last recovery or timeout began.
        if self.duplicate_acks == 3 && self.unacknowledged > self.recover {
            self.recover = self.highest;
            self.congestion.on_congestion(now, self.flight(), Cause::Loss);
            if self.congestion.recovery() == Recovery::Restart {
                self.duplicate_acks = 0;
                self.timed_end = 0;
                self.next = self.unacknowledged;
                return;
            }
            self.in_recovery = true;
            self.partial_ack_seen = false;
            self.retransmit_hole = true;
            // RFC 5681 section 3.2 step 3: the segments that caused the duplicates have left the network.
            self.recovery_window = self.congestion.threshold() + 3 * mss;
        }
    }

    /// Serves the retransmission timer (RFC 6298 section 5). Returns whether the connection gives up. A late
    /// call restarts the timer from when it was due.
    pub(super) fn handle_timeout(&mut self, now: Time, config: &Config) -> bool {
        while let Some(due) = self.deadline.get().filter(|&due| due <= now) {
            let retries = if self.syn_acknowledged() { config.data_retries } else { config.syn_retries };
            if self.expiries >= retries {
                self.deadline = Deadline::NONE;
                return true;
            }
            // A timeout that ends a recovery is about the loss that began it, for which the threshold is set already (as
            // in Linux). What is outstanding by then is no measure: recovery sends new data beyond many holes.
            let again = self.expiries > 0 || self.in_recovery;
            self.congestion.on_timeout(due, self.flight(), again);
            self.expiries += 1;
            self.timeouts += 1;
            self.rto.back_off(&config.rto);
            self.deadline = Deadline::at(due + self.rto.timeout());
            // RFC 6582 section 4: no fast retransmit for what is outstanding now.
            self.recover = self.highest;
            self.in_recovery = false;
            self.retransmit_hole = false;
            self.duplicate_acks = 0;
            self.timed_end = 0;
            self.next = self.unacknowledged;
        }
        false
    }

    /// What to send now, if anything. `may_send_data` is false until the handshake is done. The segment will carry
    /// `sack_bytes` of options beside those that all segments carry.
    pub(super) fn poll(&mut self, now: Time, may_send_data: bool, sack_bytes: u32, config: &Config) -> Option<Piece> {
        let most = u64::from(u32::from(self.mss).saturating_sub(sack_bytes).max(1));
        if self.retransmit_hole {
            self.retransmit_hole = false;
            let start = self.unacknowledged;
            let sent_before = self.highest.min(self.end).saturating_sub(start);
            let piece = self.piece(start, sent_before.min(most));
            return Some(self.sent(now, piece));
        }
        if self.next == 0 {
            let syn = Piece { start: 0, payload_bytes: 0, syn: true, fin: false, push: false };
            return Some(self.sent(now, syn));
        }
        if !may_send_data {
            return None;
        }
        let unsent = self.end.saturating_sub(self.next);
        if unsent == 0 {
            // A FIN takes no window: it must get out even when the peer's is full.
            let fin_due = self.fin_wanted && self.next == self.end;
            return fin_due.then(|| {
                let piece = self.piece(self.end, 0);
                self.sent(now, piece)
            });
        }
        // The receiver's window is used to the byte (no Nagle, so a short segment may fill it); the congestion
        // window, which moves in fractions of a segment, never cuts one.
        let advertised = (self.unacknowledged + u64::from(self.peer_window)).saturating_sub(self.next);
        let bytes = unsent.min(most).min(advertised);
        if bytes == 0 {
            return None;
        }
        if self.flight() == 0 {
            let idle = now.since(self.last_sent);
            let restart = config.restart_after_idle && idle > self.rto.timeout();
            let restart = restart.then(|| config.initial_window.bytes(u32::from(self.mss)));
            self.congestion.on_restart(now, idle, restart);
        }
        let allowed = (self.unacknowledged + u64::from(self.congestion_window())).saturating_sub(self.next);
        if bytes > allowed {
            return None;
        }
        let piece = self.piece(self.next, bytes);
        Some(self.sent(now, piece))
    }

    fn piece(&self, start: u64, bytes: u64) -> Piece {
        let end = start + bytes;
        Piece {
            start,
            payload_bytes: bytes as u32,
            syn: false,
            fin: self.fin_wanted && end == self.end,
            push: bytes > 0 && end == self.end,
        }
    }

    fn sent(&mut self, now: Time, piece: Piece) -> Piece {
        let end = piece.start + u64::from(piece.payload_bytes) + u64::from(piece.syn) + u64::from(piece.fin);
        if piece.start < self.highest {
            self.retransmissions += 1;
            // Karn's algorithm: an acknowledgement may now be of either copy.
            self.timed_end = 0;
        } else if self.timed_end == 0 && !self.in_recovery {
            self.timed_end = end;
            self.timed_at = now;
        }
        self.next = self.next.max(end);
        self.highest = self.highest.max(end);
        self.last_sent = now;
        if self.deadline == Deadline::NONE {
            self.deadline = Deadline::at(now + self.rto.timeout());
        }
        piece
    }
}
