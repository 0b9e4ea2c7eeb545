//! The retransmission timer (RFC 6298 section 5).

use super::{Forced, Sender};
use crate::tcp::agreed::Agreed;
use crate::tcp::config::Config;
use crate::tcp::congestion::WindowRules;
use crate::tcp::deadline::Deadline;
use crate::time::Time;

impl Sender {
    /// Serves the retransmission timer (RFC 6298 section 5). Returns whether the connection gives up. A late
    /// call restarts the timer from when it was due.
    pub(in crate::tcp) fn handle_timeout(&mut self, now: Time, agreed: Agreed, config: &Config) -> bool {
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
            self.timeouts = self.timeouts.saturating_add(1);
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
                self.lose_all_without_sack();
            }
            self.note_new_window(due);
        }
        false
    }
}
