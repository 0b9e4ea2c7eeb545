//! Handling of acknowledgements: deliveries, samples of the round-trip time, growth and reduction of the window, and recovery
//! without SACK (RFC 6582). Recovery over SACK is in `repair`.

use super::rare::Repair;
use super::repair::take_blocks;
use super::{DUPLICATE_THRESHOLD, Forced, Sender};
use crate::tcp::agreed::Agreed;
use crate::tcp::config::Config;
use crate::tcp::congestion::{Ack, Recovery, WindowRules, saturate};
use crate::tcp::deadline::Deadline;
use crate::tcp::rto::Place;
use crate::tcp::scoreboard::{Delivery, Scoreboard};
use crate::tcp::segment::{Segment, Timestamps};
use crate::time::{Duration, Time};

/// The content of an acknowledgement beside its number.
#[derive(Clone, Copy)]
struct Heard {
    /// It acknowledges new data.
    advanced: bool,
    /// It has SACK blocks.
    blocks: bool,
    /// It counts as a duplicate.
    duplicate: bool,
    /// It echoes a mark.
    marked: bool,
}

impl Sender {
    /// An acknowledgement, of at most what was sent. `duplicate` says that it may count as a duplicate by RFC 5681 section
    /// 2 as far as the segment itself tells: no data, no SYN, no FIN, same window.
    pub(in crate::tcp) fn handle_ack(
        &mut self,
        now: Time,
        segment: &Segment,
        duplicate: bool,
        agreed: Agreed,
        config: &Config,
    ) {
        self.roused();
        let reported = if segment.sack.is_empty() { None } else { self.reported_duplicate(segment, agreed) };
        if self.undo.is_some() {
            self.reconsider(now, segment, duplicate, reported, agreed, config);
        }
        let Some(heard) = self.heard(segment, duplicate, agreed) else { return };
        let Heard { advanced, blocks, duplicate, marked } = heard;
        let ack = segment.acknowledgement;
        let was_in_recovery = self.in_recovery;
        let used = self.used(agreed);
        let window_limited = self.may_grow(used);
        let acked = ack - self.unacknowledged;
        let delivery = self.deliver(now, segment, blocks, agreed);
        self.unacknowledged = ack;
        self.next = self.next.max(ack);
        if advanced {
            self.expiries = 0;
            self.duplicate_acks = 0;
            self.limited = 0;
        } else if blocks && delivery.bytes > 0 {
            self.duplicate_acks = self.duplicate_acks.saturating_add(1);
        }
        let rtt = self.sample(now, advanced, segment, &delivery, agreed, config);
        let duplicated = blocks && reported.is_some();
        let (lost, probe_repaired) = self.note_arrivals(now, &delivery, duplicated, duplicate && !blocks, agreed);
        // What was in flight at a reduction says nothing new, to its last byte (RFC 3168 section 6.1.2).
        let reducing = ack <= self.reduced_until();
        // Linux enters CWR from no state in which the window is reduced already.
        let after_timeout = config.window_rules == WindowRules::Linux && ack < self.recover;
        let heeded = marked && !self.in_recovery && !reducing && !after_timeout && used > 0;
        // The SYN's acknowledgement says nothing about the window.
        if ack > 1 && delivery.bytes > 0 {
            let rate =
                self.repair.as_mut().and_then(|repair| repair.rate.as_mut()?.on_delivery(now, &delivery, self.mss));
            self.congestion.on_ack(&Ack {
                now,
                acked: self.counted(acked, &delivery, config),
                delivered: delivery.bytes,
                lost,
                flight_before: used,
                flight: self.in_flight(),
                unacknowledged: ack,
                next: self.next,
                rtt,
                smoothed: self.rto.smoothed(),
                window_limited,
                marked,
                in_recovery: self.in_recovery || reducing || heeded,
                paced: self.paces(config),
                rate,
                departure: self.departure(now, config),
            });
        }
        let progress = (delivery.bytes, advanced && lost == 0);
        let restart_timer = self.repair_losses(now, heard, acked, progress, agreed, config);
        if probe_repaired && !self.in_recovery {
            self.undo = None;
            self.congestion.on_repaired_loss(now, used);
        }
        if heeded && !self.in_recovery {
            self.reduce_for_mark(now, used, config);
        }
        if self.is_reducing() {
            self.go_on_reducing(now, progress);
        }
        if self.flight() == 0 {
            self.deadline = Deadline::NONE;
            self.forced = Forced::Nothing;
        } else if (advanced && restart_timer)
            || (blocks && self.is_before_head(&delivery))
            || (config.recovery_restarts_timer && self.in_recovery && !was_in_recovery)
        {
            self.deadline = Deadline::at(now + self.rto.timeout());
        }
        self.arm_probe(now);
        self.tidy(agreed, config);
    }

    /// The content of an acknowledgement, if it has news. The answer to a window probe is not a duplicate.
    #[inline]
    fn heard(&mut self, segment: &Segment, duplicate: bool, agreed: Agreed) -> Option<Heard> {
        let ack = segment.acknowledgement;
        let advanced = ack > self.unacknowledged;
        let blocks = agreed.sack && !segment.sack.is_empty() && self.flight() > 0;
        let duplicate = duplicate && !advanced && self.flight() > 0 && !self.is_answer_to_probe();
        let marked = agreed.ecn && segment.flags.ece() && !segment.flags.syn();
        let has_news = ack >= self.unacknowledged && (advanced || blocks || duplicate || marked);
        has_news.then_some(Heard { advanced, blocks, duplicate, marked })
    }

    /// The delivery that an acknowledgement reports. The first one with SACK blocks creates the scoreboard.
    #[inline]
    fn deliver(&mut self, now: Time, segment: &Segment, blocks: bool, agreed: Agreed) -> Delivery {
        let ack = segment.acknowledgement;
        let mut delivery = Delivery { bytes: ack - self.unacknowledged, ..Delivery::default() };
        if blocks && self.repair.is_none() {
            let board = Scoreboard::new(self.unacknowledged, self.highest, false, false);
            self.repair = Some(Box::new(Repair::new(board, &self.rto)));
        }
        if let Some(repair) = &mut self.repair {
            delivery.bytes = 0;
            delivery.since = repair.rack.as_ref().map_or(now, |rack| rack.since(now));
            let since = delivery.since;
            if agreed.timestamps && !repair.board.is_clean() {
                // What arrives ahead of a hole moves no timestamp to echo (RFC 7323 section 4.3): the blocks are not bound by it.
                delivery.since = since.min(segment.echoes_until(now));
            }
            repair.board.acknowledge(ack, &mut delivery);
            delivery.since = since;
            if blocks {
                take_blocks(&mut repair.board, segment, &mut delivery);
            }
        }
        delivery
    }

    /// Detects and repairs losses, with SACK or without. Returns whether an acknowledgement of new data restarts the retransmission timer.
    #[inline]
    fn repair_losses(
        &mut self,
        now: Time,
        heard: Heard,
        acked: u64,
        progress: (u64, bool),
        agreed: Agreed,
        config: &Config,
    ) -> bool {
        let mss = u32::from(self.mss);
        match &self.repair {
            Some(_) if agreed.sack => {
                self.recover_by_sack(now, progress, config);
                true
            }
            _ if heard.advanced => self.recover_without_sack(now, acked, mss, config),
            _ => {
                // Where SACK is agreed a duplicate without blocks tells of no loss (RFC 6675 section 2).
                if heard.duplicate && !agreed.sack {
                    self.handle_duplicate_ack(now, mss, config);
                }
                false
            }
        }
    }

    /// Whether what was delivered was sent before the first segment outstanding was sent last: that one may still arrive in its
    /// time, and the timer starts over (Linux, `tcp_clean_rtx_queue`).
    fn is_before_head(&self, delivery: &Delivery) -> bool {
        let board = self.repair.as_ref().filter(|repair| repair.rack.is_some()).map(|repair| &repair.board);
        let head = board.and_then(Scoreboard::first_sent);
        delivery.unambiguous.zip(head).is_some_and(|((first, _), head)| first < head)
    }

    /// Gives up the scoreboard when nothing is left to keep on it.
    fn tidy(&mut self, agreed: Agreed, config: &Config) {
        let flight = self.flight();
        if let Some(repair) = self.repair.as_mut().filter(|_| flight == 0) {
            repair.board.rest();
        }
        if let Some(repair) = &self.repair
            && !self.in_recovery
            && self.unacknowledged >= self.recover
            && repair.board.is_clean()
            && !self.keeps(agreed, config)
        {
            self.repair = None;
        }
    }

    /// The round-trip time that this acknowledgement tells, if any, taken into the retransmission timeout: of what was sent
    /// once, by the note of its sending; by the timestamp (RFC 7323 section 4); by the one segment that is timed (Karn).
    fn sample(
        &mut self,
        now: Time,
        advanced: bool,
        segment: &Segment,
        delivery: &Delivery,
        agreed: Agreed,
        config: &Config,
    ) -> Option<Duration> {
        let noted = self.repair.as_ref().is_some_and(|repair| repair.board.is_timed());
        if let (true, Some((first, last)), false) = (noted, delivery.unambiguous, delivery.resent) {
            self.take_sample(now.since(first), config);
            self.timed_end = 0;
            return Some(now.since(last));
        }
        if !advanced {
            return None;
        }
        // The handshake is timed exactly; timestamps have ticks.
        let syn = self.unacknowledged == 1 && self.timed_end == 1;
        if let (true, Some(timestamps), false) = (agreed.timestamps, segment.timestamps, syn) {
            self.timed_end = 0;
            let ticks = Timestamps::clock(now).get().wrapping_sub(timestamps.echo);
            let sample = Duration::from_millis(u64::from(ticks));
            self.take_sample(sample, config);
            return (!delivery.resent).then_some(sample);
        }
        if self.timed_end == 0 || self.unacknowledged < self.timed_end {
            return None;
        }
        self.timed_end = 0;
        let sample = now.since(self.timed_at);
        self.take_sample(sample, config);
        Some(sample)
    }

    fn take_sample(&mut self, sample: Duration, config: &Config) {
        let place = Place { unacknowledged: self.unacknowledged, next: self.highest };
        match &mut self.repair {
            Some(repair) => self.rto.sample_with(sample, &mut repair.spread, place, &config.rto),
            None => self.rto.sample(sample, &config.rto),
        }
    }

    /// An acknowledgement of `acked` bytes, without SACK. Returns whether it restarts the retransmission timer.
    fn recover_without_sack(&mut self, now: Time, acked: u64, mss: u32, config: &Config) -> bool {
        if !self.in_recovery {
            return true;
        }
        // The Reno of Linux has the recovery of RFC 6582.
        let linux = config.window_rules == WindowRules::Linux;
        if self.unacknowledged >= self.recover || (self.congestion.recovery() == Recovery::First && !linux) {
            self.in_recovery = false;
            // RFC 6582 section 3.2 step 3, full acknowledgements, option 1: no burst of what the window would allow.
            let room = saturate(self.flight());
            self.congestion.on_recovered(now, self.congestion.threshold().min(room.max(mss) + mss));
            return true;
        }
        // RFC 6582 section 3.2 step 3; the "Impatient" variant: only the first partial acknowledgement restarts the
        // timer, so that many losses in one window end in a timeout and not in one hole per round trip. In Linux each does
        // (`tcp_rearm_rto`), the "Slow-but-Steady" variant, and a hole per round trip it is.
        self.deflate(acked, mss);
        self.forced = Forced::Hole;
        let first = !std::mem::replace(&mut self.partial_ack_seen, true);
        first || (linux && self.congestion.recovery() != Recovery::Own)
    }

    /// RFC 6582 section 3.2 step 3, partial acknowledgements: deflate by what was acknowledged, and add back one segment
    /// if it was at least one.
    fn deflate(&mut self, acked: u64, mss: u32) {
        let deflated = u64::from(self.recovery_window).saturating_sub(acked) as u32;
        let back = if acked >= u64::from(mss) { mss } else { 0 };
        // Deflation must not stop the sender for good: the retransmission itself is always allowed.
        self.recovery_window = deflated.saturating_add(back).max(mss);
    }

    fn handle_duplicate_ack(&mut self, now: Time, mss: u32, config: &Config) {
        if self.in_recovery {
            // RFC 5681 section 3.2 step 4.
            self.recovery_window = self.recovery_window.saturating_add(mss);
            return;
        }
        self.duplicate_acks = self.duplicate_acks.saturating_add(1);
        // RFC 6582 section 3.2 step 2: not for what was sent before the last recovery or timeout began.
        if self.duplicate_acks == DUPLICATE_THRESHOLD && self.unacknowledged > self.recover {
            self.recover = self.highest;
            let flight = self.flight().saturating_sub(u64::from(self.limited));
            self.reduce_for_loss(now, flight, self.is_reducing(), config);
            self.stop_reducing();
            if self.congestion.recovery() == Recovery::Restart {
                self.duplicate_acks = 0;
                self.timed_end = 0;
                self.next = self.unacknowledged;
                return;
            }
            self.in_recovery = true;
            self.partial_ack_seen = false;
            self.forced = Forced::Hole;
            // RFC 5681 section 3.2 step 3: the segments that caused the duplicates have left the network.
            self.recovery_window = self.congestion.threshold() + u32::from(DUPLICATE_THRESHOLD) * mss;
        }
    }
}
