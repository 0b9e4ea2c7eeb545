//! Reductions of the window that turn out to have had no cause: noticed by timestamps (Eifel, RFC 3522), by duplicates that the
//! peer reports (RFC 3708), after a timeout by what arrives first (F-RTO, RFC 5682); taken back as RFC 4015 and Linux do.
//! Only after a loss is there anything to do here.

use super::rare::{Step, Undo};
use super::{Forced, Sender};
use crate::tcp::agreed::Agreed;
use crate::tcp::config::{Config, Sack};
use crate::tcp::congestion::WindowRules;
use crate::tcp::segment::{Segment, Timestamps};
use crate::time::Time;

impl Undo {
    /// `[start, end)` is sent again.
    pub(super) fn on_resend(&mut self, now: Time, start: u64, end: u64) {
        self.resent += end - start;
        if self.resent_at.is_none() {
            (self.resent_at, self.resent_end) = (Some(Timestamps::clock(now)), end);
        }
    }
}

impl Sender {
    /// The window is about to be reduced for a loss that was noticed without a timeout.
    pub(super) fn note_reduction(&mut self, config: &Config) {
        self.undo = config.undo.then(|| Box::new(self.new_undo(Step::Off)));
    }

    /// The retransmission timer has expired; `again` if the window was reduced already for what it is about.
    pub(super) fn note_timeout(&mut self, again: bool, config: &Config) {
        // RFC 5682 section 2.1, step 1: not where an earlier loss is still repaired; as in Linux, but for repeated timeouts.
        let repairing = self.in_recovery || (self.unacknowledged < self.recover && self.expiries == 0);
        let step = if config.f_rto && !repairing { Step::Resent } else { Step::Off };
        match &mut self.undo {
            Some(undo) if again => (undo.step, undo.asked) = (step, self.highest),
            _ if again || self.unacknowledged == 0 => {}
            _ if config.undo || config.f_rto => self.undo = Some(Box::new(self.new_undo(step))),
            _ => {}
        }
    }

    fn new_undo(&self, step: Step) -> Undo {
        Undo {
            window: self.congestion.window(),
            threshold: self.congestion.threshold(),
            from: self.unacknowledged,
            until: self.highest,
            resent: self.repair.as_ref().map_or(0, |repair| repair.board.resent()),
            resent_at: None,
            resent_end: 0,
            over: 0,
            step,
            asked: self.highest,
        }
    }

    /// The duplicate that `segment` reports (RFC 2883 section 4), if a retransmission can be what arrived twice: a network that
    /// duplicates packets has more reported than were sent again (RFC 3708 section 3; `tcp_dsack_seen` in Linux).
    pub(super) fn reported_duplicate(&mut self, segment: &Segment, agreed: Agreed) -> Option<(u64, u64)> {
        let (start, end) = segment.duplicate_block().filter(|_| agreed.sack)?;
        let segments = (end - start).div_ceil(u64::from(self.mss)).min(u32::MAX.into()) as u32;
        let before = self.repair.as_mut().map_or(0, |repair| {
            let before = repair.duplicates;
            repair.duplicates = before.saturating_add(segments);
            before
        });
        (before.saturating_add(segments) <= self.retransmissions).then_some((start, end))
    }

    /// Asks whether the acknowledgement that is about to be taken shows that the last reduction had no cause, and takes it
    /// back if so. `duplicate` as in [`Sender::handle_ack`], `reported` by [`Sender::reported_duplicate`].
    #[cold]
    pub(super) fn reconsider(
        &mut self,
        now: Time,
        segment: &Segment,
        duplicate: bool,
        reported: Option<(u64, u64)>,
        agreed: Agreed,
        config: &Config,
    ) {
        let Some(mut undo) = self.undo.take() else { return };
        let ack = segment.acknowledgement;
        if ack < self.unacknowledged {
            self.undo = Some(undo);
            return;
        }
        let first_copy = config.undo && self.is_of_the_first_copy(&undo, segment, agreed);
        let waits = first_copy && self.learns_of_reordering(ack, config);
        let spurious = config.undo && (self.is_all_duplicate(&mut undo, reported) || first_copy && !waits);
        if spurious || self.step_of_f_rto(&mut undo, segment, duplicate, agreed) {
            return self.take_back(now, &undo);
        }
        // Only duplicates are reported later than this.
        let reports = config.undo && agreed.sack && config.sack == Sack::WithDuplicates;
        if undo.over == 0 && ack >= undo.until {
            undo.over = if reports { self.highest + 1 } else { ack };
        }
        if undo.over == 0 || ack < undo.over {
            self.undo = Some(undo);
        }
    }

    /// All that was sent again has arrived twice (RFC 3708 section 3; `tcp_try_undo_dsack` in Linux).
    fn is_all_duplicate(&self, undo: &mut Undo, reported: Option<(u64, u64)>) -> bool {
        let duplicate = reported.filter(|_| undo.resent > 0);
        let Some((start, end)) = duplicate.filter(|(start, end)| *start >= undo.from && *end <= undo.until) else {
            return false;
        };
        undo.resent = undo.resent.saturating_sub(end - start);
        undo.resent == 0
    }

    /// The acknowledgement of what was sent again first echoes a clock from before that (RFC 3522 section 3.2, steps 4 and 5).
    fn is_of_the_first_copy(&self, undo: &Undo, segment: &Segment, agreed: Agreed) -> bool {
        let ack = segment.acknowledgement;
        let (Some(timestamps), Some(resent_at)) = (segment.timestamps.filter(|_| agreed.timestamps), undo.resent_at)
        else {
            return false;
        };
        // Where SACK says what is lost (RFC 6675), one hole that was late does not clear the others.
        let others = self.in_recovery
            && ack < self.recover
            && self.repair.as_ref().is_some_and(|repair| agreed.sack && repair.rack.is_none());
        ack > self.unacknowledged
            && ack >= undo.resent_end
            && self.unacknowledged < undo.until
            && (timestamps.echo.wrapping_sub(resent_at.get()) as i32) < 0
            && !others
    }

    /// In Linux a first copy that arrives in recovery after its retransmission shows reordering, which RFC 8985 section 6.2 sees
    /// only in what was sent once. Returns whether other retransmissions are under way: the reduction then stands for now
    /// (`tcp_try_undo_partial`).
    fn learns_of_reordering(&mut self, ack: u64, config: &Config) -> bool {
        if config.window_rules != WindowRules::Linux || !self.in_recovery || ack >= self.recover {
            return false;
        }
        let first = self.unacknowledged;
        let Some(repair) = &mut self.repair else { return false };
        if let Some(rack) = &mut repair.rack {
            rack.on_reordering(repair.board.highest_sacked().max(ack) - first);
        }
        repair.board.is_resent_from(ack)
    }

    /// Whether what arrives after a timeout was sent before it. If that is not clear yet, new data goes out instead of old: the
    /// answers to it will tell.
    fn step_of_f_rto(&mut self, undo: &mut Undo, segment: &Segment, duplicate: bool, agreed: Agreed) -> bool {
        if undo.step == Step::Off {
            return false;
        }
        let (ack, advanced) = (segment.acknowledgement, segment.acknowledgement > self.unacknowledged);
        let answers = advanced || duplicate || (agreed.sack && !segment.sack.is_empty());
        let spurious = match &self.repair {
            Some(repair) if agreed.sack => repair.board.tells_of_first_copy(segment, undo.asked),
            _ => undo.step == Step::Probing && advanced,
        };
        if spurious || !answers {
            return spurious;
        }
        let unsent = self.end.saturating_sub(self.highest).min(u64::from(self.mss));
        let allowed = ack + u64::from(self.peer_window) >= self.highest + unsent;
        if undo.step == Step::Resent && advanced && ack < undo.asked && unsent > 0 && allowed {
            undo.step = Step::Probing;
            self.forced = Forced::TwoNew;
            self.next = self.highest;
            return false;
        }
        // The loss was real, or cannot be told from one.
        if undo.step == Step::Probing && !agreed.sack {
            self.next = self.unacknowledged;
        }
        undo.step = Step::Off;
        false
    }

    /// Everything is as if the loss had not been (RFC 4015 section 3.2; `tcp_undo_cwnd_reduction` in Linux).
    fn take_back(&mut self, now: Time, undo: &Undo) {
        self.congestion.on_spurious(now, undo.window, undo.threshold);
        self.in_recovery = false;
        self.forced = Forced::Nothing;
        self.duplicate_acks = 0;
        self.limited = 0;
        self.recover = self.unacknowledged;
        self.next = self.highest;
        if let Some(repair) = &mut self.repair {
            repair.board.forgive();
        }
    }
}
