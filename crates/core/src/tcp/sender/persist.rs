//! Windows of the peer that have no room for a segment: silly windows are avoided, closed ones probed (RFC 9293 section
//! 3.8.6). Rare: nothing here is on the way of a packet.

use super::{Forced, Sender};
use crate::tcp::agreed::Agreed;
use crate::tcp::config::Config;
use crate::tcp::deadline::Deadline;
use crate::time::Time;

impl Sender {
    /// The peer's window ends `advertised` bytes ahead, within the next segment: how much of that is sent. A part that is at
    /// least half of the largest window goes out (RFC 9293 section 3.8.6.2.1 with Fs = 1/2; there is no Nagle here); a
    /// smaller one waits for the window to move, or, if nothing is in flight that could move it, for the timer. In bursts, a part goes
    /// out if full segments before it leave with it, as in Linux.
    #[cold]
    pub(super) fn cut_to_window(&mut self, now: Time, advertised: u64, agreed: Agreed, config: &Config) -> Option<u64> {
        if self.forced == Forced::Probe {
            return Some(advertised.max(1));
        }
        let fills = match config.bursts {
            true => self.burst_fills(advertised),
            false => advertised > 0 && 2 * advertised >= u64::from(agreed.largest_window),
        };
        if fills {
            return Some(advertised);
        }
        if self.flight() == 0 && self.deadline == Deadline::NONE {
            self.deadline = Deadline::at(now + self.rto.timeout());
        }
        None
    }

    /// The peer has closed its window.
    pub(super) fn is_shut_out(&self) -> bool {
        self.peer_window == 0 && self.unacknowledged > 0
    }

    /// An acknowledgement that acknowledges nothing is the answer to a probe of a closed window, and no duplicate. Whoever
    /// answers is there, however long its window stays closed.
    pub(super) fn is_answer_to_probe(&mut self) -> bool {
        let answer = self.is_shut_out();
        if answer {
            self.expiries = self.expiries.min(1);
        }
        answer
    }

    /// The timer has expired over a window without room: a probe goes out, and the next in twice the time. The congestion
    /// window has nothing to do with it.
    #[cold]
    pub(super) fn probe_window(&mut self, due: Time, agreed: Agreed, config: &Config) {
        self.date_by(due);
        self.expiries += 1;
        self.rto.back_off(&config.rto);
        self.deadline = Deadline::at(due + self.rto.timeout());
        self.forced = Forced::Probe;
        if self.flight() > 0 {
            self.send_again(due, agreed);
        }
    }

    /// Takes another window than before.
    pub(in crate::tcp) fn set_peer_window(&mut self, window: u32, agreed: Agreed, config: &Config) {
        let opens = self.peer_window == 0 && window > 0 && self.unacknowledged > 0;
        self.peer_window = window;
        if self.flight() == 0 {
            self.deadline = Deadline::NONE;
        }
        if opens && self.expiries > 0 {
            // The byte of a probe had no place: what is sent now begins with it.
            self.expiries = 0;
            self.rto.forget_back_off(&config.rto);
            if self.flight() > 0 {
                self.deadline = Deadline::NONE;
                self.send_again(Time::MAX, agreed);
            }
        }
    }

    /// What is in flight is sent again, and tells nothing about the path.
    fn send_again(&mut self, due: Time, agreed: Agreed) {
        self.recover = self.highest;
        self.timed_end = 0;
        if agreed.sack {
            self.lose_all(due);
        } else {
            self.next = self.unacknowledged;
        }
    }
}
