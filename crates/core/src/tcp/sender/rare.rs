//! Sender state that few connections need at any time. It is allocated while it is needed.

use std::num::NonZeroU32;

use crate::tcp::deadline::Deadline;
use crate::tcp::prr::Prr;
use crate::tcp::rack::Rack;
use crate::tcp::rate::RateSampler;
use crate::tcp::rto::{Rto, Spread};
use crate::tcp::scoreboard::Scoreboard;
use crate::time::Time;

/// The scoreboard, and what few connections need beside. Made with the first loss; or with the first data, where the
/// algorithm or RACK wants each transmission noted, ECN is agreed, or sending is paced.
#[derive(Clone, Debug)]
pub(super) struct Repair {
    pub(super) board: Scoreboard,
    pub(super) prr: Prr,
    pub(super) rack: Option<Rack>,
    pub(super) rate: Option<RateSampler>,
    pub(super) spread: Spread,
    /// How much of the window is used, where Linux's rules ask.
    pub(super) usage: Option<Usage>,
    pub(super) early: Deadline,
    pub(super) early_is_probe: bool,
    /// A tail loss probe is to be sent next.
    pub(super) probe_due: bool,
    /// What is sent now was due at this time, if a timer was served late; else the end of time.
    pub(super) as_of: Time,
    /// The reduction after a mark ends when this is acknowledged.
    pub(super) reduced_until: u64,
    /// The window is on its way down to the threshold by proportional rate reduction (CWR in Linux).
    pub(super) reducing: bool,
    /// The next new data carries CWR (RFC 3168 section 6.1.2).
    pub(super) reduction_due: bool,
    /// When the next segment may leave, where sending is paced, and whether one waits for it.
    pub(super) release: Time,
    pub(super) held: bool,
    /// What is left of the burst that leaves at present, in bytes, and when it leaves.
    pub(super) burst: u64,
    pub(super) burst_at: Time,
    /// A burst waits for more of the window until something comes from outside; and this was not noted yet.
    pub(super) waiting: bool,
    pub(super) deferred: bool,
    /// Segments that the peer reported as having come twice.
    pub(super) duplicates: u32,
    /// A retransmission was lost since this was last looked at.
    pub(super) lost_again: bool,
    /// The rescue retransmission of this recovery was made (RFC 6675 section 4, `NextSeg` rule 4).
    pub(super) rescued: bool,
    /// One past the highest retransmission of this recovery ("HighRxt").
    pub(super) highest_resent: u64,
}

impl Repair {
    pub(super) fn new(board: Scoreboard, rto: &Rto) -> Repair {
        let end = board.end();
        Repair {
            board,
            spread: rto.spread(end),
            prr: Prr::default(),
            rack: None,
            rate: None,
            usage: None,
            early: Deadline::NONE,
            early_is_probe: false,
            probe_due: false,
            as_of: Time::MAX,
            reduced_until: 0,
            reducing: false,
            reduction_due: false,
            release: Time::ZERO,
            held: false,
            burst: 0,
            burst_at: Time::ZERO,
            waiting: false,
            deferred: false,
            duplicates: 0,
            lost_again: false,
            rescued: false,
            highest_resent: 0,
        }
    }
}

/// What was used of the window lately.
#[derive(Clone, Debug)]
pub(super) struct Usage {
    /// Where the flight ends that `limited` and `most` are about (`cwnd_usage_seq`).
    pub(super) until: u64,
    /// The window was full in it (`is_cwnd_limited`).
    pub(super) limited: bool,
    /// Most bytes outstanding in that flight (`max_packets_out`).
    pub(super) most: u64,
    /// Most bytes outstanding since `since` (`snd_cwnd_used`).
    pub(super) used: u64,
    /// When the window was last full, or set anew (`snd_cwnd_stamp`).
    pub(super) since: Time,
    /// New data was sent and not looked at yet.
    pub(super) fresh: bool,
}

impl Usage {
    pub(super) fn new(now: Time) -> Usage {
        Usage { until: 0, limited: false, most: 0, used: 0, since: now, fresh: false }
    }
}

/// The last reduction, while it can still be taken back.
#[derive(Clone, Debug)]
pub(super) struct Undo {
    /// Window and threshold before it.
    pub(super) window: u32,
    pub(super) threshold: u32,
    /// What was outstanding then is `[from, until)`.
    pub(super) from: u64,
    pub(super) until: u64,
    /// Bytes sent again since, or under way again then, of which no second arrival is reported ("undo_retrans" in Linux).
    pub(super) resent: u64,
    /// The clock at the first retransmission since ("RetransmitTS" of RFC 3522).
    pub(super) resent_at: Option<NonZeroU32>,
    /// Where that retransmission ends. It is the lowest, but what was sent again before may be under way below it.
    pub(super) resent_end: u64,
    /// When this is acknowledged, no report of a duplicate can come any more; 0 before `until` is.
    pub(super) over: u64,
    pub(super) step: Step,
    /// One past the highest offset sent when the timer expired last: what F-RTO asks about lies below. A timeout within a
    /// recovery comes later than `until`.
    pub(super) asked: u64,
}

/// Where F-RTO stands (RFC 5682 sections 2.1 and 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The detection has not begun, or is decided.
    Off,
    /// The first segment was sent again after a timeout.
    Resent,
    /// New data was sent instead of more of the old.
    Probing,
}
