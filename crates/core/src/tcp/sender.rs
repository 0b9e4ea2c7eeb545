//! The sending half: what goes out when, loss recovery, and the retransmission timer.

mod bursts;
mod persist;
mod repair;
mod undo;
mod usage;

use repair::{Repair, take_blocks};
use undo::Undo;
use usage::Usage;

use super::agreed::Agreed;
use super::config::{Config, Limits};
use super::congestion::{Ack, Congestion, Recovery, Setup, Window, WindowCause, WindowRules, saturate};
use super::deadline::Deadline;
use super::rack::{LINUX_SLACK, Rack};
use super::rate::RateSampler;
use super::rto::{Place, Rto};
use super::scoreboard::{Delivery, Scoreboard, Stamp};
use super::segment::{Segment, Timestamps};
use super::snapshot::{Phase, Snapshot};
use crate::time::{Duration, Time};

/// Duplicate acknowledgements that are a loss (RFC 5681 section 3.2).
const DUPLICATE_THRESHOLD: u8 = 3;

/// Segments that leave before pacing begins, as in Linux (TCP_INIT_CWND).
const UNPACED: u64 = 10;

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
    /// What may be outstanding while `in_recovery`, or while Linux reduces after a mark, in bytes.
    recovery_window: u32,
    /// The peer's advertised window, in bytes.
    peer_window: u32,
    /// What few connections need at any time.
    repair: Option<Box<Repair>>,
    /// The last reduction, while it may turn out to have had no cause.
    undo: Option<Box<Undo>>,
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
    forced: Forced,
    /// A partial acknowledgement has arrived in this recovery.
    partial_ack_seen: bool,
    fin_wanted: bool,
    /// Bytes of new data sent for the first two duplicates: no part of the flight that a loss is measured by (RFC 5681
    /// section 3.2). Until the SYN is acknowledged, the timestamp of the first one: an endpoint is four cache lines.
    limited: u32,
    /// SND.WL1: the low bits of the sequence number of the segment that gave `peer_window`.
    window_from: u32,
}

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

/// What goes out next whatever the windows say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Forced {
    Nothing,
    /// The first hole is sent again.
    Hole,
    /// What fits in the peer's window, a byte at least.
    Probe,
    /// Two segments of new data (RFC 5682 section 2.1, step 2b), or one more.
    TwoNew,
    OneNew,
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
    /// It goes out for the first time.
    pub(super) new: bool,
    /// It is the rescue retransmission.
    rescue: bool,
}

impl Forced {
    /// What is left of it once `piece` was sent.
    fn after(self, piece: Piece) -> Forced {
        match self {
            Forced::Hole if piece.new => Forced::Hole,
            Forced::TwoNew => Forced::OneNew,
            _ => Forced::Nothing,
        }
    }

    fn is_new(self) -> bool {
        matches!(self, Forced::TwoNew | Forced::OneNew)
    }
}

fn initial_window(mss: u16, config: &Config) -> Window {
    window_of(config.initial_window.bytes(u32::from(mss)), mss, config)
}

fn window_of(bytes: u32, mss: u16, config: &Config) -> Window {
    Window::new(bytes, u32::from(mss), config.slow_start_limit).under(config.window_rules)
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
            repair: None,
            undo: None,
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
            forced: Forced::Nothing,
            partial_ack_seen: false,
            fin_wanted: false,
            limited: 0,
            window_from: 0,
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

    /// Whether the timestamp that `segment` echoes is that of the first SYN. To be asked before the segment is handled.
    pub(super) fn answers_first_syn(&self, segment: &Segment) -> bool {
        segment.timestamps.is_some_and(|timestamps| timestamps.echo == self.limited)
    }

    /// Our SYN is acknowledged for the first time. RFC 5681 section 3.1: after a lost SYN or SYN/ACK data starts with one segment;
    /// in Linux only after two (`tcp_init_transfer`), and not if the first one arrived
    /// (`tcp_try_undo_spurious_syn`). RFC 6298 (5.7): and with a timeout of 3 s, in Linux unless the handshake was timed all the
    /// same, by timestamps.
    pub(super) fn established(&mut self, now: Time, first_arrived: bool, config: &Config) {
        let linux = config.window_rules == WindowRules::Linux;
        if self.retransmissions > 0 {
            // The timeouts of an acceptor have reduced its window since it was negotiated.
            let window = match linux && (self.retransmissions == 1 || first_arrived) {
                true => initial_window(self.mss, config),
                false => window_of(u32::from(self.mss), self.mss, config),
            };
            self.congestion.negotiated(window);
        }
        self.congestion.on_established(now, self.rto.smoothed());
        if self.timeouts > 0 && !(linux && self.rto.smoothed().is_some()) {
            self.rto.restart_after_lost_syn();
        }
    }

    pub(super) fn retransmission_timeout(&self) -> Duration {
        self.rto.timeout()
    }

    pub(super) fn timeout_without_back_off(&self, config: &Config) -> Duration {
        self.rto.without_back_off(&config.rto)
    }

    pub(super) fn mss(&self) -> u16 {
        self.mss
    }

    pub(super) fn peer_window(&self) -> u32 {
        self.peer_window
    }

    /// Whether the window of a segment at `sequence` is to be taken (SND.WL1; that it acknowledges no less than SND.WL2 is the
    /// caller's to see), in which case it is the one that gave the window.
    pub(super) fn gives_window(&mut self, sequence: u64) -> bool {
        let later = (sequence as u32).wrapping_sub(self.window_from) as i32 >= 0;
        if later {
            self.window_from = sequence as u32;
        }
        later
    }

    /// Something came from outside: what is sent now is not late, and what waits for more of the window is looked at again.
    fn roused(&mut self) {
        if let Some(repair) = &mut self.repair {
            (repair.as_of, repair.waiting) = (Time::MAX, false);
        }
    }

    /// What is sent until the next call was due at `time`; [`Time::MAX`] if it is not late. Only notes need to know.
    fn date_by(&mut self, time: Time) {
        if let Some(repair) = &mut self.repair {
            repair.as_of = time;
        }
    }

    pub(super) fn write(&mut self, bytes: u64) {
        self.roused();
        self.end += bytes;
    }

    pub(super) fn close(&mut self) {
        self.roused();
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
        if (self.in_recovery || self.is_reducing()) && self.congestion.recovery() != Recovery::Own {
            self.recovery_window
        } else {
            self.congestion.window()
        }
    }

    /// Why [`Self::congestion_window`] or the threshold changed last.
    pub(super) fn window_cause(&self) -> WindowCause {
        let why = self.congestion.why();
        if self.is_reducing() && why == WindowCause::Mark {
            return why;
        }
        if !self.in_recovery || self.congestion.recovery() == Recovery::Own {
            return why;
        }
        let least = self.congestion.threshold() + u32::from(DUPLICATE_THRESHOLD) * u32::from(self.mss);
        let moved = self.partial_ack_seen || self.recovery_window > least;
        if why == WindowCause::Loss && !moved { why } else { WindowCause::Recovery }
    }

    pub(super) fn smoothed_rtt(&self) -> Option<Duration> {
        self.rto.smoothed()
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        let phase = if self.in_recovery {
            Phase::Recovery
        } else if self.unacknowledged < self.recover {
            Phase::Loss
        } else if self.unacknowledged > 0 && self.unacknowledged <= self.reduced_until() {
            Phase::Reduced
        } else if self.duplicate_acks > 0 {
            Phase::Disorder
        } else {
            Phase::Open
        };
        Snapshot {
            mss: self.mss,
            in_flight: self.flight(),
            sacked: self.repair.as_ref().map_or(0, |repair| repair.board.sacked()),
            pipe: self.in_flight(),
            threshold: self.congestion.threshold(),
            timeout: self.rto.timeout(),
            phase,
        }
    }

    pub(super) fn deadline(&self) -> Deadline {
        let Some(repair) = &self.repair else { return self.deadline };
        let release = if repair.held { Deadline::at(repair.release) } else { Deadline::NONE };
        self.deadline.min(repair.early).min(release)
    }

    pub(super) fn stop(&mut self) {
        self.deadline = Deadline::NONE;
        self.repair = None;
        self.undo = None;
    }

    /// Bytes taken to be in the network.
    pub(super) fn in_flight(&self) -> u64 {
        match &self.repair {
            Some(repair) => repair.board.pipe(),
            None => self.flight(),
        }
    }

    /// The SYN is to be sent again because the peer repeated its own.
    pub(super) fn repeat_syn(&mut self) {
        self.next = 0;
    }

    fn flight(&self) -> u64 {
        self.highest - self.unacknowledged
    }

    /// Each transmission is noted.
    fn notes(&self, agreed: Agreed, config: &Config) -> bool {
        (agreed.sack && config.rack) || self.congestion.wants_rate() || self.congestion.wants_rtt()
    }

    /// There is more to keep than a scoreboard.
    fn keeps(&self, agreed: Agreed, config: &Config) -> bool {
        let watches = config.window_rules == WindowRules::Linux;
        agreed.ecn || config.pacing || watches || self.notes(agreed, config)
    }

    /// A loss takes the place of the mark.
    fn stop_reducing(&mut self) {
        if let Some(repair) = &mut self.repair {
            repair.reducing = false;
        }
    }

    /// The window is on its way down to the threshold after a mark (CWR in Linux).
    fn is_reducing(&self) -> bool {
        self.repair.as_ref().is_some_and(|repair| repair.reducing)
    }

    /// The reduction after a mark lasts until this is acknowledged.
    fn reduced_until(&self) -> u64 {
        self.repair.as_ref().map_or(0, |repair| repair.reduced_until)
    }

    /// Bytes that the window is compared with.
    fn used(&self, agreed: Agreed) -> u64 {
        match &self.repair {
            Some(repair) if agreed.sack => repair.board.pipe(),
            _ => self.next - self.unacknowledged,
        }
    }

    /// An acknowledgement, of at most what was sent. `duplicate` says that it may count as a duplicate by RFC 5681 section
    /// 2 as far as the segment itself tells: no data, no SYN, no FIN, same window.
    pub(super) fn handle_ack(
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
                paced: config.pacing,
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
            _ if heard.advanced => self.recover_without_sack(now, acked, mss),
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
    fn recover_without_sack(&mut self, now: Time, acked: u64, mss: u32) -> bool {
        if !self.in_recovery {
            return true;
        }
        if self.unacknowledged >= self.recover || self.congestion.recovery() == Recovery::First {
            self.in_recovery = false;
            // RFC 6582 section 3.2 step 3, full acknowledgements, option 1: no burst of what the window would allow.
            let room = saturate(self.flight());
            self.congestion.on_recovered(now, self.congestion.threshold().min(room.max(mss) + mss));
            return true;
        }
        // RFC 6582 section 3.2 step 3; the "Impatient" variant: only the first partial acknowledgement restarts the
        // timer, so that many losses in one window end in a timeout and not in one hole per round trip.
        self.deflate(acked, mss);
        self.forced = Forced::Hole;
        !std::mem::replace(&mut self.partial_ack_seen, true)
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

    /// Serves the retransmission timer (RFC 6298 section 5). Returns whether the connection gives up. A late
    /// call restarts the timer from when it was due.
    pub(super) fn handle_timeout(&mut self, now: Time, agreed: Agreed, config: &Config) -> bool {
        self.date_by(Time::MAX);
        self.serve_early(now, config);
        while let Some(due) = self.deadline.get().filter(|&due| due <= now) {
            let retries = if self.syn_acknowledged() { config.data_retries } else { config.syn_retries };
            if self.expiries >= retries {
                self.deadline = Deadline::NONE;
                return true;
            }
            if self.flight() == 0 || self.is_shut_out() {
                self.probe_window(due, agreed, config);
                continue;
            }
            // A timeout that ends a recovery is about the loss that began it, for which the threshold is set already (as
            // in Linux). What is outstanding by then is no measure: recovery sends new data beyond many holes.
            let again = self.expiries > 0 || self.in_recovery || self.is_reducing();
            self.date_by(due);
            self.note_timeout(again, config);
            self.congestion.on_timeout(due, self.flight(), again);
            self.expiries += 1;
            self.timeouts += 1;
            self.rto.back_off(&config.rto);
            self.deadline = Deadline::at(due + self.rto.timeout());
            // RFC 6582 section 4: no fast retransmit for what is outstanding now.
            self.recover = self.highest;
            self.in_recovery = false;
            self.stop_reducing();
            self.forced = Forced::Nothing;
            self.duplicate_acks = 0;
            self.timed_end = 0;
            if self.syn_acknowledged() {
                self.limited = 0;
            }
            if agreed.sack && self.unacknowledged > 0 {
                self.lose_all(due);
                if config.window_rules == WindowRules::Linux {
                    self.congestion.keep_in_flight(self.in_flight());
                }
            } else {
                self.next = self.unacknowledged;
            }
            self.note_new_window(due);
        }
        false
    }

    /// What to send now, if anything. `may_send_data` is false until the handshake is done. The segment will carry
    /// `sack_bytes` of options beside those that all segments carry.
    pub(super) fn poll(
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
    fn choose_next(&mut self, now: Time, most: u64, room: u64, agreed: Agreed, config: &Config) -> Option<Piece> {
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

    /// The piece that was sent as `[start, end)`; a FIN at its end counts.
    fn resend_piece(&self, start: u64, end: u64) -> Piece {
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
    pub(super) fn take_reduction(&mut self) -> bool {
        self.repair.as_mut().is_some_and(|repair| std::mem::take(&mut repair.reduction_due))
    }
}

impl Piece {
    fn sequence_length(&self) -> u64 {
        u64::from(self.payload_bytes) + u64::from(self.syn) + u64::from(self.fin)
    }
}
