//! What leaves at once, and when. Linux hands its device as many segments in one piece as it sends in about a millisecond
//! (`tcp_tso_autosize`), also where the device cannot segment, and holds a smaller piece back while the next
//! acknowledgement is near (`tcp_tso_should_defer`). Paced senders wait after each piece for as long as it takes at their
//! rate.

use super::rare::Repair;
use super::{Forced, Piece, Sender};
use crate::tcp::agreed::Agreed;
use crate::tcp::config::Config;
use crate::tcp::congestion::{LONGEST_BURST, WindowRules};
use crate::tcp::segment::Timestamps;
use crate::time::{Duration, Time};

/// Segments that leave before pacing begins, as in Linux (TCP_INIT_CWND).
const UNPACED: u64 = 10;
/// Near peers get larger pieces: the longest burst, halved for each 512 microseconds of the shortest round-trip time
/// (`tcp_tso_rtt_log`).
const RTT_SHIFT: u32 = 9;
/// A piece waits for an acknowledgement that is at most so far away, or half a round trip, ...
const NEAR: Duration = Duration::from_millis(1);
/// ... if the last one left within this, ...
const RECENT: Duration = Duration::from_millis(1);
/// ... and the room is less than this part of the window (`tcp_tso_win_divisor`).
const WINDOW_PART: u64 = 3;
/// A larger window holds at least two segments (`TCP_MSS_DEFAULT`).
const TINY_WINDOW: u64 = 536;
/// The least length that a small window can impose on segments, with the TCP header.
const SHORTEST: u64 = 68;
/// The length of the TCP header without options.
const HEADER: u64 = 20;

impl Repair {
    /// Whether a paced sender waits at `now`. What has begun to leave leaves together.
    pub(super) fn waits(&self, now: Time) -> bool {
        self.release > now && self.burst == 0
    }
}

impl Sender {
    /// The payload bytes of a full segment. Where segments leave in bursts, it is at most half of the largest window that the peer has
    /// offered (`tcp_bound_to_half_wnd`).
    pub(super) fn full_segment(&self, agreed: Agreed, config: &Config) -> u64 {
        let (mss, largest) = (u64::from(self.mss), u64::from(agreed.largest_window));
        if !config.bursts || largest == 0 || largest >= 2 * mss {
            return mss;
        }
        let part = if largest > TINY_WINDOW { largest / 2 } else { largest };
        let options = if agreed.timestamps { u64::from(Timestamps::OPTION_BYTES) } else { 0 };
        mss.min(part.max(SHORTEST - HEADER - options))
    }

    /// Whether the burst that is leaving ends with the peer's window, `advertised` bytes ahead: its last segment fills the window
    /// (`tcp_mss_split_point`).
    pub(super) fn burst_fills(&self, advertised: u64) -> bool {
        advertised > 0 && self.repair.as_ref().is_some_and(|repair| repair.burst == advertised)
    }

    /// Whether an algorithm without a rate of its own is paced. As in Linux, who is not to exceed a rate is paced below it, too.
    pub(super) fn paces(&self, config: &Config) -> bool {
        config.pacing || self.own_rate.is_some()
    }

    /// The rate in bytes/s, where sending is paced.
    pub(super) fn pace(&self, config: &Config) -> Option<u64> {
        if self.highest <= UNPACED * u64::from(self.mss) {
            return None;
        }
        let rate = match self.congestion.pacing_rate() {
            Some(rate) => rate.bits_per_second().map(|bits| (bits / 8).max(1)),
            None if self.paces(config) => self.usual_rate(config),
            None => None,
        };
        let most = self.own_rate.map(|most| u64::from(most.get()));
        rate.into_iter().chain(most).min()
    }

    /// The rate that Linux sets for algorithms that have none: twice the window a round trip in slow start, 1.2 times the
    /// window after (`tcp_update_pacing_rate`).
    fn usual_rate(&self, config: &Config) -> Option<u64> {
        let smoothed = self.rto.smoothed()?;
        let window = match config.window_rules {
            WindowRules::Rfc => u64::from(self.congestion.window()),
            WindowRules::Linux => u64::from(self.congestion_window()),
        };
        let percent = if window < u64::from(self.congestion.threshold() / 2) { 200 } else { 120 };
        let bytes = if config.window_rules == WindowRules::Linux { window.max(self.flight()) } else { window };
        Some((bytes * percent * 10_000_000 / smoothed.as_nanos().max(1)).max(1))
    }

    /// When the next segment may leave, now or later, where segments leave in bursts.
    pub(super) fn departure(&self, now: Time, config: &Config) -> Option<Time> {
        let release = self.repair.as_ref().map_or(now, |repair| repair.release);
        config.bursts.then(|| now.max(release))
    }

    /// When `piece` leaves, which may leave at `now` or was due before, at `rate` bytes/s if it is paced; `None` if it waits for
    /// more to leave with it. A full segment has `full` bytes. The last of several that leave together carries PSH (`__tcp_transmit_skb`).
    pub(super) fn leave(
        &mut self,
        now: Time,
        piece: &mut Piece,
        rate: Option<u64>,
        full: u64,
        config: &Config,
    ) -> Option<Time> {
        let Some(repair) = self.repair.as_mut().filter(|_| rate.is_some() || config.bursts) else { return Some(now) };
        let bytes = u64::from(piece.payload_bytes);
        if repair.burst > 0 {
            repair.burst = repair.burst.saturating_sub(bytes);
            piece.push |= repair.burst == 0;
            return Some(repair.burst_at);
        }
        let size = if config.bursts { self.size_burst(now, *piece, rate, full, config)? } else { bytes };
        let repair = self.repair.as_mut()?;
        let mut at = now;
        if let Some(rate) = rate {
            // Whoever comes late finds segments that were due before, one after the other.
            at = if repair.held { repair.release } else { now.max(repair.release) };
            let wait = Duration::from_nanos(size * 1_000_000_000 / rate);
            // As in Linux: who leaves late catches up, by half of the wait at most.
            let late = if config.bursts { at.since(repair.release) } else { Duration::ZERO };
            repair.release = at + (wait - late.min(wait / 2));
        }
        (repair.burst, repair.burst_at) = (size - bytes, at);
        Some(at)
    }

    /// How many bytes leave together, of which `piece` is the first; `None` if they wait for more of the window.
    fn size_burst(&mut self, now: Time, piece: Piece, rate: Option<u64>, mss: u64, config: &Config) -> Option<u64> {
        let bytes = u64::from(piece.payload_bytes);
        let unsent = self.end.saturating_sub(piece.start);
        let probe = self.repair.as_ref().is_some_and(|repair| repair.probe_due);
        if self.forced != Forced::Nothing || probe || unsent <= mss {
            return Some(bytes);
        }
        let most = self.most_at_once(rate, mss, config);
        let window = u64::from(self.congestion_window());
        let room = window.saturating_sub(self.in_flight()) / mss * mss;
        if !piece.new {
            let repair = self.repair.as_ref()?;
            return Some(repair.board.lost_together(piece.start, most.min(room)).max(bytes));
        }
        let peer = (self.unacknowledged + u64::from(self.peer_window)).saturating_sub(piece.start);
        if self.defers(now, [room, peer, unsent], most, rate.is_some()) {
            return None;
        }
        // A burst that reaches the end of the peer's window fills it, with a short segment if need be (`tcp_mss_split_point`).
        // Two pieces at least make a window (`tcp_cwnd_test`).
        let half = (window / 2 / mss).max(1) * mss;
        Some(most.min(room).min(half).min(peer).min(unsent).max(bytes))
    }

    /// What leaves together at most, in bytes: whole segments of `mss` bytes for about a millisecond of the rate.
    fn most_at_once(&self, rate: Option<u64>, mss: u64, config: &Config) -> u64 {
        let rate = rate.or_else(|| self.congestion.pacing_rate()?.bits_per_second().map(|bits| bits / 8));
        let rate = rate.or_else(|| self.usual_rate(config)).unwrap_or(u64::MAX);
        let min_rtt = self.repair.as_ref().and_then(|repair| repair.rack.as_ref()?.min_rtt());
        let near = min_rtt
            .map_or(0, |rtt| LONGEST_BURST.checked_shr(((rtt.as_nanos() / 1000) >> RTT_SHIFT) as u32).unwrap_or(0));
        let bytes = ((rate >> 10) + near).min(LONGEST_BURST);
        (bytes / mss).max(u64::from(self.congestion.least_burst())) * mss
    }

    /// Whether what might leave waits for an acknowledgement that lets more of it leave: `room` in the window and `peer` in the
    /// receiver's, with `unsent` bytes written.
    fn defers(&mut self, now: Time, [room, peer, unsent]: [u64; 3], most: u64, paced: bool) -> bool {
        let recovering = self.in_recovery || self.unacknowledged < self.recover;
        let whole = u64::from(self.congestion_window().min(self.peer_window));
        let limit = room.min(peer);
        if recovering || limit >= most || limit >= whole / WINDOW_PART {
            return false;
        }
        let smoothed = self.rto.smoothed();
        let Some(repair) = &mut self.repair else { return false };
        if repair.waiting {
            return true;
        }
        let last = if paced { repair.release } else { self.last_sent };
        let (Some(head), Some(smoothed)) = (repair.board.first_sent(), smoothed) else { return false };
        if now > last + RECENT || head + smoothed > now + NEAR.min(smoothed / 2) {
            return false;
        }
        // All that is left fits and ends the stream: nothing will join it.
        if room.min(peer) > unsent && self.fin_wanted {
            return false;
        }
        repair.deferred = room < peer && room <= unsent;
        repair.waiting = true;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::config::{Limits, Profile};
    use crate::tcp::rack::Rack;
    use crate::tcp::scoreboard::Scoreboard;

    /// Segments of 1,448 bytes that leave together at `rate` bytes/s, over a shortest round trip of `rtt`.
    fn segments(rate: u64, rtt: Duration) -> u64 {
        let config = Config::of(Profile::Linux);
        let mut sender = Sender::new(Limits { mss: 1448, max_window: 65_535 }, &config);
        let mut repair = Repair::new(Scoreboard::new(1, 1, true, false), &sender.rto);
        repair.rack = Some(Rack::new(Some(rtt), Duration::ZERO));
        sender.repair = Some(Box::new(repair));
        sender.most_at_once(Some(rate), 1448, &config) / 1448
    }

    /// 1/1,024 of the rate, in whole segments. Traces of Linux 6.18: two at 20 Mbit/s, four at 50 Mbit/s, nine or ten at 100 Mbit/s and
    /// 120 % of the window.
    #[test]
    fn a_burst_is_a_millisecond_of_the_rate() {
        let far = Duration::from_millis(40);
        assert_eq!(segments(2_390_000, far), 2);
        assert_eq!(segments(100_000, far), 2, "two at least");
        assert_eq!(segments(5_930_000, far), 3, "5,791 bytes");
        assert_eq!(segments(5_932_000, far), 4, "5,792 bytes");
        assert_eq!(segments(14_900_000, far), 10, "14,550 bytes");
        assert_eq!(segments(1_000_000_000, far), 45, "65,215 bytes");
    }

    /// 65,215 bytes in halves for each 512 microseconds: 3 of them leave 8,151 bytes, 31 of them nothing.
    #[test]
    fn near_peers_get_larger_bursts() {
        assert_eq!(segments(100_000, Duration::from_micros(2_000)), 5);
        assert_eq!(segments(100_000, Duration::from_micros(100)), 45);
        assert_eq!(segments(100_000, Duration::from_micros(15_900)), 2);
    }
}
