//! Recovery over SACK: the rules of RFC 6675 and RFC 8985 on a scoreboard.

use super::rare::Repair;
use super::{DUPLICATE_THRESHOLD, Forced, Piece, Sender};
use crate::tcp::agreed::Agreed;
use crate::tcp::config::Config;
use crate::tcp::congestion::{Cause, Recovery, WindowRules, saturate};
use crate::tcp::deadline::Deadline;
use crate::tcp::prr::{Progress, Prr};
use crate::tcp::scoreboard::{Delivery, Scoreboard};
use crate::tcp::segment::{SackBlocks, Segment};
use crate::time::{Duration, Time};

impl Sender {
    /// Marks what is lost by what has arrived. Returns the bytes newly lost, and whether a probe has repaired a loss.
    pub(super) fn note_arrivals(
        &mut self,
        now: Time,
        delivery: &Delivery,
        duplicated: bool,
        bare_duplicate: bool,
        agreed: Agreed,
    ) -> (u64, bool) {
        let (unacknowledged, next) = (self.unacknowledged, self.highest);
        let Some(repair) = self.repair.as_mut().filter(|_| agreed.sack) else { return (0, false) };
        let Some(rack) = &mut repair.rack else {
            return (repair.board.mark_lost_by_sacks(u64::from(self.mss)), false);
        };
        rack.take(now, delivery);
        if duplicated {
            rack.on_duplicate(unacknowledged, next);
        }
        let repaired = rack.probe_answered(unacknowledged, duplicated, bare_duplicate);
        (self.mark_lost_by_time(now), repaired)
    }

    /// Marks what RACK takes for lost by `now`, and sets its timer for what may still arrive. Returns the bytes newly lost.
    pub(super) fn mark_lost_by_time(&mut self, now: Time) -> u64 {
        let recovering = self.in_recovery || self.unacknowledged < self.recover;
        let Some(repair) = &mut self.repair else { return 0 };
        let enough = repair.board.sacked() >= u64::from(DUPLICATE_THRESHOLD) * u64::from(self.mss);
        let certain = recovering || enough || self.duplicate_acks >= DUPLICATE_THRESHOLD;
        let Some(rack) = &repair.rack else { return 0 };
        let Some((newest, patience)) = rack.horizon(certain, self.rto.smoothed()) else { return 0 };
        let lost = repair.board.mark_lost_by_time(newest, now.before(patience));
        repair.lost_again |= lost.resent;
        repair.early_is_probe = false;
        repair.early = lost.waiting.map_or(Deadline::NONE, |sent| Deadline::at(rack.timer(sent + patience)));
        lost.bytes
    }

    /// Sets the timer of the tail loss probe (RFC 8985 section 7.2), where nothing is known to be missing.
    pub(super) fn arm_probe(&mut self, now: Time) {
        let (flight, recovering) = (self.flight(), self.in_recovery || self.unacknowledged < self.recover);
        let Some(repair) = &mut self.repair else { return };
        let Some(rack) = &repair.rack else { return };
        if flight > 0 && !recovering && repair.board.is_clean() && !rack.probe_is_out() && !repair.probe_due {
            let after = rack.probe_after(self.rto.smoothed(), flight <= u64::from(self.mss));
            repair.early = Deadline::at(now + after).min(self.deadline);
            repair.early_is_probe = true;
        } else if repair.early_is_probe {
            repair.early = Deadline::NONE;
        }
    }

    /// Begins, continues or ends recovery by what the scoreboard says (RFC 6675 section 5, RFC 8985 section 6.2). `progress` is the
    /// bytes that an acknowledgement delivered, and whether it advanced without telling of a further loss.
    pub(super) fn recover_by_sack(&mut self, now: Time, progress: (u64, bool), config: &Config) {
        if self.in_recovery && self.unacknowledged >= self.recover {
            self.end_recovery(now);
            if config.window_rules == WindowRules::Rfc {
                return;
            }
        }
        if !self.in_recovery {
            self.begin_recovery(now, progress.0, config);
        }
        self.spread_reduction(progress, config);
    }

    /// Proportional rate reduction: sets what may be outstanding in recovery.
    fn spread_reduction(&mut self, (delivered, safe): (u64, bool), config: &Config) {
        let (threshold, mss) = (u64::from(self.congestion.threshold()), u64::from(self.mss));
        if let Some(repair) = self.repair.as_mut().filter(|_| self.in_recovery && config.prr) {
            let progress = Progress { delivered, pipe: repair.board.pipe(), safe };
            self.recovery_window = saturate(repair.prr.on_ack(progress, threshold, mss));
        }
    }

    pub(super) fn end_recovery(&mut self, now: Time) {
        self.in_recovery = false;
        self.forced = Forced::Nothing;
        self.congestion.on_recovered(now, self.congestion.threshold());
        self.note_new_window(now);
        if let Some(rack) = self.repair.as_mut().and_then(|repair| repair.rack.as_mut()) {
            rack.on_recovered();
        }
    }

    /// Begins recovery over SACK if something is lost, after an acknowledgement that delivered so many bytes.
    pub(super) fn begin_recovery(&mut self, now: Time, delivered: u64, config: &Config) {
        let after_timeout = self.unacknowledged < self.recover;
        let Some(repair) = &mut self.repair else { return };
        // In Linux a retransmission that is lost after a timeout begins a recovery (`FLAG_LOST_RETRANS`).
        let lost_again = std::mem::take(&mut repair.lost_again) && config.window_rules == WindowRules::Linux;
        if after_timeout && !lost_again {
            return;
        }
        if repair.board.lost() == 0 && (self.duplicate_acks < DUPLICATE_THRESHOLD || repair.rack.is_some()) {
            return;
        }
        if repair.board.lost() == 0 {
            repair.board.mark_first_lost(u64::from(self.mss));
        }
        repair.rescued = false;
        repair.highest_resent = self.unacknowledged;
        repair.probe_due = false;
        if let Some(rack) = &mut repair.rack {
            rack.forget_probe();
        }
        self.recover = self.highest;
        let outstanding = self.highest - self.unacknowledged;
        let flight = outstanding.saturating_sub(u64::from(self.limited));
        let reducing = std::mem::take(&mut repair.reducing);
        if !reducing {
            let before = match config.window_rules {
                // RFC 9937 section 6: what was reported before recovery is not delivered in it.
                WindowRules::Rfc => (outstanding + delivered).saturating_sub(repair.board.sacked()),
                WindowRules::Linux => u64::from(self.congestion.window()),
            };
            repair.prr = Prr::begin(before);
        }
        self.reduce_for_loss(now, flight, reducing, config);
        self.forced = Forced::Hole;
        if self.congestion.recovery() == Recovery::Restart {
            if let Some(repair) = &mut self.repair {
                repair.board.mark_lost_by_timeout(Time::MAX);
            }
            return;
        }
        self.in_recovery = true;
        self.recovery_window = self.congestion.threshold();
    }

    /// Recovery is about to begin, with `flight` bytes in flight: reduces the window, unless it was reduced for a mark in this
    /// flight. In Linux that holds as long as the reduction is under way (`reducing`), for a hole that begins where it ends, too
    /// (`tcp_enter_recovery` from CWR).
    pub(super) fn reduce_for_loss(&mut self, now: Time, flight: u64, reducing: bool, config: &Config) {
        if !reducing && self.unacknowledged >= self.reduced_until() {
            self.note_reduction(config);
            self.congestion.on_congestion(now, flight, Cause::Loss);
        } else {
            let wide = if reducing { self.recovery_window } else { self.congestion.window() };
            self.congestion.on_loss_after_mark(wide);
        }
    }

    /// A mark asks for a reduction (RFC 3168 section 6.1.2), with `used` bytes in flight. Linux spreads it over a round trip, as
    /// after a loss.
    pub(super) fn reduce_for_mark(&mut self, now: Time, used: u64, config: &Config) {
        self.undo = None;
        let before = u64::from(self.congestion.window());
        self.congestion.on_congestion(now, used, Cause::Mark);
        let spread = config.window_rules == WindowRules::Linux && config.prr;
        let smaller = before > u64::from(self.congestion.threshold());
        let spread = spread && smaller && self.congestion.recovery() != Recovery::Own;
        self.recovery_window = saturate(before);
        if let Some(repair) = &mut self.repair {
            (repair.reduced_until, repair.reduction_due) = (self.highest, true);
            repair.reducing = spread;
            repair.prr = Prr::begin(before);
        }
    }

    /// Goes on with a reduction that is spread, where there is one, and ends it with the first acknowledgement beyond what was in flight.
    pub(super) fn go_on_reducing(&mut self, now: Time, (delivered, safe): (u64, bool)) {
        let (threshold, mss) = (u64::from(self.congestion.threshold()), u64::from(self.mss));
        let (over, pipe) = (self.unacknowledged > self.reduced_until(), self.in_flight());
        let Some(repair) = self.repair.as_mut().filter(|repair| repair.reducing) else { return };
        if over {
            repair.reducing = false;
            self.note_new_window(now);
        } else if delivered > 0 {
            let window = repair.prr.on_ack(Progress { delivered, pipe, safe }, threshold, mss);
            self.recovery_window = saturate(window.min(repair.prr.before()));
        }
    }

    /// Serves the reordering timer and the probe timer, unless the retransmission timer was due before them.
    pub(super) fn serve_early(&mut self, now: Time, config: &Config) {
        let before_timeout =
            |early: &Time, deadline: Deadline| deadline.get().is_none_or(|deadline| *early <= deadline);
        while let Some(repair) = &mut self.repair
            && let Some(due) = repair.early.get().filter(|due| *due <= now && before_timeout(due, self.deadline))
        {
            repair.early = Deadline::NONE;
            repair.as_of = due;
            let mut began = false;
            if repair.early_is_probe {
                // RFC 8985 section 7.3: the retransmission timer starts over.
                repair.probe_due = true;
                self.deadline = Deadline::at(due + self.rto.timeout());
            } else if self.mark_lost_by_time(due) > 0 && !self.in_recovery {
                if let Some(repair) = &mut self.repair {
                    // In Linux the timer begins a recovery after a timeout, too (`tcp_rack_reo_timeout`).
                    repair.lost_again = true;
                }
                self.begin_recovery(due, 0, config);
                began = self.in_recovery;
            }
            if began {
                // Nothing was delivered; Linux counts a segment all the same.
                let delivered = if config.window_rules == WindowRules::Linux { u64::from(self.mss) } else { 0 };
                self.spread_reduction((delivered, false), config);
            }
        }
    }

    /// The retransmission timer has expired: what is outstanding is lost.
    pub(super) fn lose_all(&mut self, due: Time) {
        let (start, end) = (self.unacknowledged, self.highest);
        let repair = self
            .repair
            .get_or_insert_with(|| Box::new(Repair::new(Scoreboard::new(start, end, false, false), &self.rto)));
        repair.early = Deadline::NONE;
        repair.probe_due = false;
        let mut lost_before = Time::MAX;
        if let Some(rack) = &mut repair.rack {
            rack.forget_probe();
            let horizon = rack.horizon(true, self.rto.smoothed());
            lost_before = due.before(horizon.map_or(Duration::ZERO, |(_, patience)| patience));
        }
        repair.board.mark_lost_by_timeout(lost_before);
        // The first of it goes out whatever is left in flight.
        self.forced = Forced::Hole;
    }

    /// The same without SACK: what is outstanding has left the network, and is sent again in order (`tcp_timeout_mark_lost` in
    /// Linux). Otherwise what was sent before the timeout would count as in flight until it is acknowledged, and an algorithm
    /// that waits for an empty path (PROBE_RTT of BBR) would wait for that.
    pub(super) fn lose_all_without_sack(&mut self) {
        self.next = self.unacknowledged;
        if let Some(repair) = &mut self.repair {
            repair.board.mark_lost_by_timeout(Time::MAX);
        }
    }

    /// RFC 6675 section 5, step C: what is lost, then new data, then what may be lost. A probe goes before all.
    pub(super) fn choose_by_board(&mut self, now: Time, most: u64, agreed: Agreed, config: &Config) -> Option<Piece> {
        let own = self.congestion.recovery() == Recovery::Own;
        let (recovering, forced) = (self.in_recovery, self.forced == Forced::Hole);
        let (window, threshold) = (u64::from(self.congestion.window()), u64::from(self.congestion.threshold()));
        let recovery_window = u64::from(self.recovery_window);
        let repair = self.repair.as_mut()?;
        let pipe = repair.board.pipe();
        let room = match (recovering || repair.reducing) && !own {
            true if config.prr => recovery_window.saturating_sub(pipe),
            true => threshold.saturating_sub(pipe),
            // Without limited transmit what was SACKed makes no room before recovery.
            false if !config.limited_transmit && self.unacknowledged >= self.recover && !own => {
                window.saturating_sub(pipe + repair.board.sacked())
            }
            false => window.saturating_sub(pipe),
        };
        if repair.probe_due {
            return Some(self.choose_probe(now, most, agreed, config));
        }
        if self.forced.is_new()
            && let Some(piece) = self.choose_next(now, most, u64::MAX, agreed, config)
        {
            return Some(piece);
        }
        if let Some((start, end)) = self.repair.as_mut()?.board.next_lost() {
            let bytes = (end - start).min(most);
            return (forced || bytes <= room).then(|| self.resend_piece(start, start + bytes));
        }
        if let Some(piece) = self.choose_next(now, most, room, agreed, config) {
            return Some(piece);
        }
        let repair = self.repair.as_mut().filter(|repair| recovering && repair.rack.is_none() && room >= most)?;
        if let Some((start, end)) = repair.board.next_doubtful(repair.highest_resent) {
            return Some(self.resend_piece(start, end.min(start + most)));
        }
        if !repair.rescued
            && let Some((start, end)) = repair.board.last_unsacked(most)
            && start >= repair.highest_resent
        {
            return Some(Piece { rescue: true, ..self.resend_piece(start, end) });
        }
        None
    }

    /// RFC 8985 section 7.3: new data if there is any and the peer takes it, else the last segment again.
    pub(super) fn choose_probe(&mut self, now: Time, most: u64, agreed: Agreed, config: &Config) -> Piece {
        if let Some(piece) = self.choose_next(now, most, u64::MAX, agreed, config) {
            return piece;
        }
        let last = self.repair.as_ref().and_then(|repair| repair.board.last_unsacked(most));
        let (start, end) = last.unwrap_or((self.unacknowledged, self.highest));
        self.resend_piece(start, end)
    }
}

/// Takes the SACK blocks of `segment`, but for one that tells of a duplicate (RFC 2883 section 4).
pub(super) fn take_blocks(board: &mut Scoreboard, segment: &Segment, delivery: &mut Delivery) {
    let duplicate = segment.duplicate_block().is_some();
    // RFC 8985 section 6.2, step 3: in the order of the stream, so that only what arrived late counts as reordered. The option
    // begins with the block that changed last.
    let mut blocks = [(0, 0); SackBlocks::MOST];
    for (place, block) in blocks.iter_mut().zip(segment.sack_blocks().skip(usize::from(duplicate))) {
        *place = block;
    }
    blocks.sort_unstable();
    blocks.iter().for_each(|&(start, end)| board.sack(start, end, delivery));
}
