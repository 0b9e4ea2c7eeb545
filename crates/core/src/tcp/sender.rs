//! The state of the sending half, and its accessors. The files below hold the rules that change the state, each as an `impl` of
//! [`Sender`].

use std::num::{NonZeroU8, NonZeroU32};

mod ack;
mod bursts;
mod output;
mod persist;
mod rare;
mod repair;
mod timeout;
mod undo;
mod usage;

use rare::{Repair, Undo};

use super::agreed::Agreed;
use super::config::{Config, Limits};
use super::congestion::{Congestion, Recovery, Setup, Window, WindowCause, WindowRules};
use super::deadline::Deadline;
use super::rto::Rto;
use super::segment::{Segment, Timestamps};
use super::snapshot::{Phase, Snapshot};
use crate::time::{Duration, Time};

/// Duplicate acknowledgements that are a loss (RFC 5681 section 3.2).
const DUPLICATE_THRESHOLD: u8 = 3;

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
    pub(super) timeouts: u16,
    mss: u16,
    /// Congestion window at the start in bytes, if it is not the one that connections share.
    own_initial_window: Option<NonZeroU32>,
    /// Most bytes that it sends in a second, if it holds back.
    own_rate: Option<NonZeroU32>,
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
    /// Segments sent from the last small one on, if small ones are held back (Nagle's algorithm): those behind it are full. 255: so many or
    /// more, or there was no small one.
    since_small: Option<NonZeroU8>,
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
            congestion: Congestion::new(
                &config.congestion,
                window_of(config.initial_window.bytes(u32::from(mss)), mss, config),
                &Setup { seed: 0, stream: 0 },
            ),
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
            own_initial_window: None,
            own_rate: None,
            duplicate_acks: 0,
            expiries: 0,
            in_recovery: false,
            forced: Forced::Nothing,
            partial_ack_seen: false,
            fin_wanted: false,
            limited: 0,
            window_from: 0,
            since_small: None,
        }
    }

    /// Gives this end a random stream of its own. Before anything is sent.
    pub(super) fn set_stream(&mut self, setup: Setup, config: &Config) {
        self.congestion = Congestion::new(&config.congestion, self.initial_window(config), &setup);
    }

    /// Takes a rate that this end never exceeds, in bytes a second. Before anything is sent.
    pub(super) fn set_rate(&mut self, rate: Option<NonZeroU32>) {
        self.own_rate = rate;
    }

    /// Holds small segments back, or not. Before anything is sent.
    pub(super) fn set_nagle(&mut self, nagle: bool) {
        self.since_small = nagle.then_some(NonZeroU8::MAX);
    }

    /// Takes an initial window of this end's own. Before anything is sent.
    pub(super) fn set_initial_window(&mut self, bytes: Option<NonZeroU32>, config: &Config) {
        self.own_initial_window = bytes;
        self.congestion.negotiated(self.initial_window(config));
    }

    /// The congestion window at the start, in bytes.
    fn initial_bytes(&self, config: &Config) -> u32 {
        let mss = u32::from(self.mss);
        match self.own_initial_window {
            // The original may have had segments of another size.
            Some(bytes) => (bytes.get().saturating_add(mss / 2) / mss).max(1).saturating_mul(mss),
            None => config.initial_window.bytes(mss),
        }
    }

    fn initial_window(&self, config: &Config) -> Window {
        window_of(self.initial_bytes(config), self.mss, config)
    }

    /// Takes the peer's MSS, and with it the real initial window.
    pub(super) fn negotiated(&mut self, peer_mss: u16, timestamps: bool, config: &Config) {
        // The MSS counts the options that a segment carries (RFC 6691).
        let options = if timestamps { Timestamps::OPTION_BYTES as u16 } else { 0 };
        self.mss = self.mss.min(peer_mss).saturating_sub(options).max(1);
        self.congestion.negotiated(self.initial_window(config));
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
                true => self.initial_window(config),
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

    /// The SYN is to be sent again at `at`, whatever the retransmission timer says.
    pub(super) fn repeat_syn_at(&mut self, at: Time) {
        (self.deadline, self.expiries) = (Deadline::at(at), 0);
    }

    /// The retransmission timer starts at `now`.
    pub(super) fn repeat_syn_by_timer(&mut self, now: Time) {
        self.deadline = Deadline::at(now + self.rto.timeout());
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
        agreed.ecn || self.paces(config) || watches || self.notes(agreed, config)
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
}

impl Piece {
    fn sequence_length(&self) -> u64 {
        u64::from(self.payload_bytes) + u64::from(self.syn) + u64::from(self.fin)
    }
}
