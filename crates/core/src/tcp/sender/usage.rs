//! How much of the congestion window is used, as Linux watches it (`tcp_cwnd_validate`): a window grows only while it limits the
//! sender, and decays where for a timeout it did not (RFC 2861).

use super::rare::Usage;
use super::{DUPLICATE_THRESHOLD, Sender};
use crate::tcp::config::Config;
use crate::tcp::congestion::WindowRules;
use crate::tcp::scoreboard::Delivery;
use crate::time::{Duration, Time};

impl Usage {
    /// Whether a congestion window of `window` bytes limits the sender (`tcp_is_cwnd_limited`): it was full, or in slow start
    /// more than half of it was used.
    fn is_limited_by(&self, window: u32, threshold: u32) -> bool {
        self.limited || (window < threshold && u64::from(window) < 2 * self.most)
    }
}

impl Sender {
    fn usage(&mut self) -> Option<&mut Usage> {
        self.repair.as_mut()?.usage.as_mut()
    }

    /// Notes that new data was sent.
    pub(super) fn note_use(&mut self) {
        if let Some(usage) = self.usage() {
            usage.fresh = true;
        }
    }

    /// The window was set at `now` for another reason than its use.
    pub(super) fn note_new_window(&mut self, now: Time) {
        if let Some(usage) = self.usage() {
            (usage.used, usage.since) = (0, now);
        }
    }

    /// Whether an acknowledgement that found `used` bytes in flight may widen the window.
    pub(super) fn may_grow(&self, used: u64) -> bool {
        match self.repair.as_ref().and_then(|repair| repair.usage.as_ref()) {
            Some(usage) => usage.is_limited_by(self.congestion.window(), self.congestion.threshold()),
            None => self.congestion.was_used(used),
        }
    }

    /// The bytes for which an acknowledgement of `acked` counts: where they are counted, in Linux without what was reported by
    /// SACK before; else a segment at most. Where packets overtake each other by more than three segments, in Linux what SACK reports
    /// counts as it comes (`tcp_may_raise_cwnd`).
    pub(super) fn counted(&self, acked: u64, delivery: &Delivery, config: &Config) -> u64 {
        match config.window_rules {
            _ if !config.byte_counting => acked.min(u64::from(self.mss)),
            WindowRules::Linux if acked > 0 || self.is_reordered_far() => delivery.bytes,
            _ => acked,
        }
    }

    fn is_reordered_far(&self) -> bool {
        let rack = self.repair.as_ref().and_then(|repair| repair.rack.as_ref());
        rack.is_some_and(|rack| rack.overtaken_by() > u64::from(DUPLICATE_THRESHOLD) * u64::from(self.mss))
    }

    /// After what could be sent was sent: notes whether the window was the limit.
    pub(super) fn validate_window(&mut self, now: Time, config: &Config) {
        let deferred = self.repair.as_mut().is_some_and(|repair| std::mem::take(&mut repair.deferred));
        if !deferred && !self.usage().is_some_and(|usage| usage.fresh) {
            return;
        }
        let (out, pipe, next) = (self.flight(), self.in_flight(), self.next);
        let full = deferred || pipe + u64::from(self.mss) > u64::from(self.congestion_window());
        let (unacknowledged, timeout) = (self.unacknowledged, self.rto.timeout());
        let (window, threshold) = (self.congestion.window(), self.congestion.threshold());
        let Some(usage) = self.usage() else { return };
        usage.fresh = false;
        if unacknowledged >= usage.until || full || (!usage.limited && out > usage.most) {
            (usage.limited, usage.most, usage.until) = (full, out, next);
        }
        if usage.is_limited_by(window, threshold) {
            (usage.used, usage.since) = (0, now);
            return;
        }
        usage.used = usage.used.max(out);
        if config.restart_after_idle && now.since(usage.since) >= timeout {
            let used = usage.used;
            (usage.used, usage.since) = (0, now);
            self.decay(used, config);
        }
    }

    /// The window was too wide for a timeout. What the receiver held back says nothing about that.
    fn decay(&mut self, used: u64, config: &Config) {
        let open = !self.in_recovery && self.unacknowledged >= self.recover && !self.is_reducing();
        let clean = self.repair.as_ref().is_none_or(|repair| repair.board.is_clean());
        if open && clean && self.highest >= self.end {
            let least = u64::from(self.initial_bytes(config));
            self.congestion.on_application_limited(used.max(least) as u32);
        }
    }

    /// The window after `idle` without sending, which is longer than a timeout: the initial window, or in Linux half for each
    /// timeout that has passed but no less than that (`tcp_cwnd_restart`).
    pub(super) fn restart(&mut self, idle: Duration, config: &Config) -> u32 {
        let initial = self.initial_bytes(config);
        if config.window_rules == WindowRules::Rfc {
            return initial;
        }
        self.congestion.remember();
        let halvings = idle.as_nanos().saturating_sub(1) / self.rto.timeout().as_nanos().max(1);
        let window = self.congestion.window();
        let least = initial.min(window);
        window.checked_shr(halvings.min(31) as u32).unwrap_or(0).max(least)
    }
}
