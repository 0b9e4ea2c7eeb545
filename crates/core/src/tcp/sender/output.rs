//! The next piece to send, as the windows allow it, and the notes that are taken when it leaves.

use std::num::NonZeroU8;

use super::rare::{Repair, Usage};
use super::{Forced, Piece, Sender};
use crate::tcp::agreed::Agreed;
use crate::tcp::config::Config;
use crate::tcp::congestion::WindowRules;
use crate::tcp::deadline::Deadline;
use crate::tcp::rack::{LINUX_SLACK, Rack};
use crate::tcp::rate::RateSampler;
use crate::tcp::scoreboard::{Scoreboard, Stamp};
use crate::tcp::segment::Timestamps;
use crate::time::{Duration, Time};

impl Sender {
    /// What to send now, if anything. `may_send_data` is false until the handshake is done. The segment will carry
    /// `sack_bytes` of options beside those that all segments carry.
    pub(in crate::tcp) fn poll(
        &mut self,
        now: Time,
        may_send_data: bool,
        sack_bytes: u32,
        agreed: Agreed,
        config: &Config,
    ) -> Option<Piece> {
        let (woken, now) = (now, self.repair.as_ref().map_or(now, |repair| now.min(repair.as_of)));
        if self.next == 0 {
            let syn =
                Piece { start: 0, payload_bytes: 0, syn: true, fin: false, push: false, new: false, rescue: false };
            return Some(self.sent(now, syn));
        }
        // The end that only receives, asked after every segment.
        let has_nothing = self.next == self.end && !self.fin_wanted && self.forced == Forced::Nothing;
        if !may_send_data || (has_nothing && self.repair.is_none()) {
            return None;
        }
        let full = self.full_segment(agreed, config);
        let most = full.saturating_sub(sack_bytes.into()).max(1);
        let rate = self.pace(config);
        let waits = rate.is_some() && self.repair.as_ref().is_some_and(|repair| repair.waits(woken));
        if waits && self.flight() == 0 {
            // A FIN waits for its time like data.
            self.hold(self.next < self.end + u64::from(self.fin_wanted));
            return None;
        }
        let Some(mut piece) = self.choose(now, most, agreed, config) else {
            return self.nothing_to_send(now, config);
        };
        if waits {
            self.hold(true);
            return None;
        }
        if self.repair.is_none() && piece.new && self.flight() == 0 && self.keeps(agreed, config) {
            self.take_notes(agreed, config);
        }
        let Some(at) = self.leave(now, &mut piece, rate, full, config) else {
            return self.nothing_to_send(now, config);
        };
        if let Some(since) = self.since_small.filter(|_| piece.new && piece.payload_bytes > 0) {
            let is_small = u64::from(piece.payload_bytes) < most;
            self.since_small = Some(if is_small { NonZeroU8::MIN } else { since.saturating_add(1) });
        }
        if self.forced != Forced::Nothing {
            self.forced = self.forced.after(piece);
        }
        if let Some(repair) = self.repair.as_mut().filter(|repair| repair.probe_due) {
            repair.probe_due = false;
            let end = self.highest.max(piece.start + piece.sequence_length());
            if let Some(rack) = &mut repair.rack {
                rack.on_probe(end, !piece.new);
            }
        }
        Some(self.sent(at, piece))
    }

    /// Whether something waits for its time to leave.
    fn hold(&mut self, held: bool) {
        if let Some(repair) = &mut self.repair {
            repair.held = held;
        }
    }

    /// Nothing may leave at `now`.
    fn nothing_to_send(&mut self, now: Time, config: &Config) -> Option<Piece> {
        self.hold(false);
        if let Some(repair) = &mut self.repair {
            repair.burst = 0;
        }
        self.validate_window(now, config);
        None
    }

    /// What the windows allow to be sent next.
    fn choose(&mut self, now: Time, most: u64, agreed: Agreed, config: &Config) -> Option<Piece> {
        if agreed.sack && self.repair.is_some() {
            return self.choose_by_board(now, most, agreed, config);
        }
        if self.forced.is_new() {
            if let Some(piece) = self.choose_next(now, most, u64::MAX, agreed, config) {
                return Some(piece);
            }
            self.forced = Forced::Nothing;
        }
        if self.forced == Forced::Hole {
            let start = self.unacknowledged;
            let sent_before = self.highest.min(self.end).saturating_sub(start);
            return Some(self.piece(start, sent_before.min(most)));
        }
        let mut window = u64::from(self.congestion_window());
        if config.limited_transmit && !self.in_recovery {
            // RFC 3042: one segment for each of the first two duplicates.
            window += u64::from(self.duplicate_acks.min(2)) * u64::from(self.mss);
        }
        let room = (self.unacknowledged + window).saturating_sub(self.next);
        self.choose_next(now, most, room, agreed, config)
    }

    /// What SND.NXT points at, if `room` and the peer's window allow it.
    pub(super) fn choose_next(
        &mut self,
        now: Time,
        most: u64,
        room: u64,
        agreed: Agreed,
        config: &Config,
    ) -> Option<Piece> {
        let unsent = self.end.saturating_sub(self.next);
        if unsent == 0 {
            // A FIN takes no window: it must get out even when the peer's is full.
            let fin_due = self.fin_wanted && self.next == self.end;
            if !fin_due
                && room >= u64::from(self.mss)
                && let Some(repair) = &mut self.repair
                && let Some(rate) = &mut repair.rate
            {
                rate.on_idle(repair.board.pipe());
            }
            return fin_due.then(|| self.piece(self.end, 0));
        }
        let advertised = (self.unacknowledged + u64::from(self.peer_window)).saturating_sub(self.next);
        let mut bytes = unsent.min(most);
        if advertised < bytes {
            bytes = self.cut_to_window(now, advertised, agreed, config)?;
        }
        if bytes < most && self.since_small.is_some_and(|since| self.holds_back(bytes, since, config)) {
            return None;
        }
        let mut room = room;
        if self.flight() == 0 {
            let idle = now.since(self.last_sent);
            let restart = (config.restart_after_idle && idle > self.rto.timeout()).then(|| self.restart(idle, config));
            self.congestion.on_restart(now, idle, restart);
            if restart.is_some() {
                self.note_new_window(now);
            }
            room = u64::from(self.congestion_window());
        }
        (bytes <= room).then(|| self.piece(self.next, bytes))
    }

    /// Whether a small segment of `bytes` waits for acknowledgements (Nagle's algorithm): in Linux for that of the small one before
    /// (`tcp_minshall_check`), else for all. The end of the stream and probes never do.
    #[cold]
    fn holds_back(&self, bytes: u64, since_small: NonZeroU8, config: &Config) -> bool {
        let ends = self.fin_wanted && self.next + bytes == self.end;
        let probe = self.forced == Forced::Probe || self.repair.as_ref().is_some_and(|repair| repair.probe_due);
        if self.next < self.highest || ends || probe {
            return false;
        }
        let behind_small = match config.window_rules {
            // So many segments on that the small one counts as acknowledged, or there was none.
            WindowRules::Linux if since_small == NonZeroU8::MAX => return false,
            WindowRules::Linux => u64::from(since_small.get() - 1) * u64::from(self.mss),
            WindowRules::Rfc => 0,
        };
        self.flight() > behind_small
    }

    /// The piece that was sent as `[start, end)`; a FIN at its end counts.
    pub(super) fn resend_piece(&self, start: u64, end: u64) -> Piece {
        self.piece(start, end.min(self.end) - start)
    }

    fn piece(&self, start: u64, bytes: u64) -> Piece {
        let end = start + bytes;
        Piece {
            start,
            payload_bytes: bytes as u32,
            syn: false,
            fin: self.fin_wanted && end == self.end,
            push: bytes > 0 && end == self.end,
            new: start >= self.highest,
            rescue: false,
        }
    }

    fn sent(&mut self, now: Time, piece: Piece) -> Piece {
        let end = piece.start + piece.sequence_length();
        if let Some(repair) = &mut self.repair {
            let pipe = repair.board.pipe();
            let stamp = repair.rate.as_mut().map_or(Stamp::default(), |rate| rate.on_sent(now, pipe));
            if piece.start < self.highest {
                repair.board.resend(piece.start, end.min(self.highest), now, stamp);
                if piece.rescue {
                    repair.rescued = true;
                } else {
                    repair.highest_resent = repair.highest_resent.max(end.min(self.highest));
                }
            }
            if end > self.highest {
                repair.board.push(end, now, stamp);
            }
            repair.prr.on_sent(end - piece.start);
            // As in Linux: the timer is about the first copy that can still arrive.
            if repair.rack.is_some() && piece.start == self.unacknowledged && !piece.new {
                self.deadline = Deadline::at(now + self.rto.timeout());
            }
        }
        if piece.start < self.highest {
            self.retransmissions += 1;
            if let Some(undo) = &mut self.undo {
                undo.on_resend(now, piece.start, end);
            }
            // Karn's algorithm: an acknowledgement may now be of either copy.
            self.timed_end = 0;
        } else {
            if piece.syn {
                self.limited = Timestamps::clock(now).get();
            }
            if self.timed_end == 0 && !self.in_recovery {
                self.timed_end = end;
                self.timed_at = now;
            }
            if self.duplicate_acks > 0 && !self.in_recovery {
                self.limited = self.limited.saturating_add(piece.payload_bytes);
            }
        }
        self.next = self.next.max(end);
        self.highest = self.highest.max(end);
        self.last_sent = now;
        if self.deadline == Deadline::NONE {
            self.deadline = Deadline::at(now + self.rto.timeout());
        }
        if piece.new {
            self.arm_probe(now);
            self.note_use();
        }
        piece
    }

    /// From here on more is kept than a scoreboard needs.
    fn take_notes(&mut self, agreed: Agreed, config: &Config) {
        let (rate, notes) = (self.congestion.wants_rate(), self.notes(agreed, config));
        let board = Scoreboard::new(self.highest, self.highest, notes, rate);
        let mut repair = Repair::new(board, &self.rto);
        repair.rate = rate.then(|| RateSampler::new(self.rto.smoothed()));
        let is_linux = config.window_rules == WindowRules::Linux;
        repair.usage = is_linux.then(|| Usage::new(self.last_sent));
        let slack = if is_linux { LINUX_SLACK } else { Duration::ZERO };
        repair.rack = (agreed.sack && config.rack).then(|| Rack::new(self.rto.smoothed(), slack));
        self.repair = Some(Box::new(repair));
    }

    /// Whether the next new data tells that the window was reduced; it is told once.
    pub(in crate::tcp) fn take_reduction(&mut self) -> bool {
        self.repair.as_mut().is_some_and(|repair| std::mem::take(&mut repair.reduction_due))
    }
}
