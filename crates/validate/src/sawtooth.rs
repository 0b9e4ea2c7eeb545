//! DCTCP flows over step marking as a table of rules, one acknowledgement after the other: an oracle for [`crate::dctcp`] that
//! shares no code with the simulator.
//!
//! The link is never idle and all round-trip times are equal, so queue and path are one FIFO: each step takes the packet at its
//! head, whose acknowledgement arrives, and lets its flow append what its window allows. A packet that makes more than
//! `path + threshold` packets outstanding is marked. The flow counts marks (RFC 8257 section 3.3), reduces at the first mark beyond the data
//! that was outstanding at the last reduction (RFC 3168 section 6.1.2), does not grow until that is acknowledged, and else grows by a
//! packet for each window of acknowledgements (RFC 5681 section 3.1). [`Rules::Linux`] has what Linux does instead.

use std::collections::VecDeque;

/// Which rules the flows follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rules {
    /// The estimate is a real number, and the window falls at once.
    Rfc,
    /// The estimate is a whole number of 1,024ths, and the window falls over a round trip, by a packet less than one for each
    /// acknowledgement (proportional rate reduction in the state CWR).
    Linux,
}

/// The path, the threshold and the rules that all flows share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    /// The round-trip time times the capacity (C RTT), in packets.
    pub path: usize,
    /// The threshold K of the queue, in packets.
    pub threshold: usize,
    /// The number N of flows.
    pub flows: usize,
    /// The weight g of a window in the estimate is 2 to the minus this.
    pub gain_shift: u32,
    pub rules: Rules,
}

/// What the queue did, in packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Swing {
    /// The mean difference of the longest and the shortest queue in a cycle of the first flow.
    pub amplitude: f64,
    /// The reductions of the first flow in a cycle.
    pub reductions: f64,
}

#[derive(Clone, Debug)]
struct Flow {
    window: f64,
    /// Acknowledgements toward the next packet of the window.
    counted: f64,
    sent: usize,
    acknowledged: usize,
    /// The estimate, from 0 to 1.
    alpha: f64,
    /// The observation window: acknowledgements, those with a mark, and the number of packets that ends it.
    seen: usize,
    marked: usize,
    observed_until: usize,
    /// The last reduction is over when more packets than this are acknowledged.
    reduced_until: usize,
    /// Linux: what the window falls to, what it was before, and packets acknowledged and sent since.
    spread: Option<Spread>,
    rose: bool,
}

/// What a flow does about an acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Answer {
    /// How many packets it sends.
    room: usize,
    /// It reduces its window.
    reduces: bool,
    /// This is the first reduction after the window has grown: a cycle begins.
    begins: bool,
}

#[derive(Clone, Debug)]
struct Spread {
    target: usize,
    before: usize,
    acknowledged: usize,
    sent: usize,
}

impl Spread {
    /// How many packets the next acknowledgement lets out, with `outstanding` in the network (RFC 9937 section 6).
    fn room(&mut self, outstanding: usize) -> usize {
        self.acknowledged += 1;
        let room = if outstanding > self.target {
            (self.target * self.acknowledged).div_ceil(self.before).saturating_sub(self.sent)
        } else {
            (self.acknowledged.saturating_sub(self.sent).max(1) + 1).min(self.target - outstanding)
        };
        let room = if self.sent == 0 { room.max(1) } else { room };
        self.sent += room;
        room
    }
}

impl Flow {
    fn observe(&mut self, cell: &Cell, marked: bool) {
        self.acknowledged += 1;
        self.seen += 1;
        self.marked += usize::from(marked);
        let share = self.marked as f64 / self.seen as f64;
        let gain = 1.0 / f64::from(1u32 << cell.gain_shift);
        match cell.rules {
            Rules::Rfc if self.acknowledged > self.observed_until => self.alpha += gain * (share - self.alpha),
            Rules::Linux if self.acknowledged >= self.observed_until => {
                let parts = self.alpha * 1_024.0;
                let taken = (parts * gain).floor();
                let left = if taken > 0.0 { parts - taken } else { 0.0 };
                self.alpha = (left + (share * gain * 1_024.0).floor()).min(1_024.0) / 1_024.0;
            }
            _ => return,
        }
        (self.seen, self.marked, self.observed_until) = (0, 0, self.sent);
    }

    /// Takes an acknowledgement of the oldest outstanding packet.
    fn acknowledge(&mut self, cell: &Cell, marked: bool) -> Answer {
        self.observe(cell, marked);
        let free = self.acknowledged > self.reduced_until;
        if free && let Some(spread) = self.spread.take() {
            self.window = spread.target as f64;
        }
        let reduces = free && marked;
        let begins = reduces && self.rose;
        if reduces {
            (self.reduced_until, self.counted, self.rose) = (self.sent, 0.0, false);
            self.reduce(cell.rules);
        } else if free {
            self.counted += 1.0;
            if self.counted >= self.window {
                self.counted -= self.window;
                self.window += 1.0;
                self.rose = true;
            }
        }
        let outstanding = self.sent - self.acknowledged;
        let room = match &mut self.spread {
            Some(spread) => spread.room(outstanding),
            None => (self.window as usize).saturating_sub(outstanding),
        };
        Answer { room, reduces, begins }
    }

    fn reduce(&mut self, rules: Rules) {
        let cut = self.window * self.alpha / 2.0;
        if rules == Rules::Rfc {
            self.window -= cut;
            return;
        }
        let before = self.window as usize;
        let target = (before - cut as usize).max(2);
        self.spread = (target < before).then_some(Spread { target, before, acknowledged: 0, sent: 0 });
    }
}

/// Runs `steps` acknowledgements from a state near the paper's, and describes the last half of them.
pub(crate) fn run(cell: &Cell, steps: usize) -> Swing {
    let most = cell.path + cell.threshold;
    let window = most / cell.flows - 2;
    let alpha = libm::round(1_024.0 * libm::sqrt(2.0 * cell.flows as f64 / most as f64)) / 1_024.0;
    let flow = |place: usize| Flow {
        window: window as f64,
        // The flows start a seventh of a round trip apart.
        counted: (place * window / 7 % window) as f64,
        sent: window,
        acknowledged: 0,
        alpha,
        seen: 0,
        marked: 0,
        observed_until: 0,
        reduced_until: 0,
        spread: None,
        rose: false,
    };
    let mut flows: Vec<Flow> = (0..cell.flows).map(flow).collect();
    // Slow start leaves the packets of a flow behind each other.
    let mut fifo: VecDeque<(usize, bool)> = (0..window * cell.flows).map(|n| (n / window, false)).collect();
    let (mut reductions, mut swings) = (0usize, Vec::new());
    let mut cycle: Option<(usize, usize)> = None;
    for step in 0..steps {
        let Some((place, marked)) = fifo.pop_front() else { break };
        let Answer { room, reduces, begins } = flows[place].acknowledge(cell, marked);
        let counts = step >= steps / 2;
        if counts && place == 0 {
            if begins && let Some((most, least)) = cycle.replace((0, usize::MAX)) {
                swings.push((most - least) as f64);
            }
            reductions += usize::from(reduces && cycle.is_some());
        }
        for _ in 0..room {
            fifo.push_back((place, fifo.len() + 1 > most));
            flows[place].sent += 1;
            let queue = fifo.len().saturating_sub(cell.path);
            if counts {
                cycle = cycle.map(|(most, least)| (most.max(queue), least.min(queue)));
            }
        }
    }
    let count = swings.len() as f64;
    Swing { amplitude: swings.iter().sum::<f64>() / count, reductions: reductions as f64 / count }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELL: Cell = Cell { path: 800, threshold: 200, flows: 1, gain_shift: 10, rules: Rules::Rfc };

    fn close(ours: f64, expected: f64, share: f64) {
        assert!((ours - expected).abs() <= share * expected, "{ours} instead of {expected}");
    }

    /// With an estimate that hardly moves a cut of D is made good in D + 2 round trips, one of which is marked: D (D + 2) = W / 2,
    /// so of 1,001 packets D is 21.4. The paper has D^2 = W / 2, which is 22.4.
    #[test]
    fn one_flow_with_a_steady_estimate() {
        let swing = run(&CELL, 2_000_000);
        close(swing.amplitude, 21.4, 0.03);
        close(swing.reductions, 1.0, 0.03);
    }

    /// The paper's formula is the limit of large windows and small gains.
    #[test]
    fn large_windows_swing_as_the_paper_has_it() {
        let cell = Cell { path: 6_400, threshold: 1_600, ..CELL };
        close(run(&cell, 10_000_000).amplitude, libm::sqrt(4_000.0), 0.04);
        let two = run(&Cell { flows: 2, ..cell }, 10_000_000);
        close(two.amplitude, libm::sqrt(8_000.0), 0.04);
    }

    /// Of a window of 10 with a target of 7 the n-th acknowledgement lets out what is missing of 0.7 n, rounded up, until no more than 7
    /// are outstanding; from there on each lets one out.
    #[test]
    fn linux_spreads_a_cut_over_a_window() {
        let mut spread = Spread { target: 7, before: 10, acknowledged: 0, sent: 0 };
        let mut outstanding = 10;
        let rooms: Vec<usize> = (0..14)
            .map(|_| {
                let room = spread.room(outstanding - 1);
                outstanding = outstanding - 1 + room;
                room
            })
            .collect();
        assert_eq!(rooms, [1, 1, 1, 0, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1]);
        assert_eq!(outstanding, 7);
    }

    /// The first packets of the round trip of a spread cut are marked, and the next window is cut, too.
    #[test]
    fn linux_reduces_twice_a_cycle() {
        let cell = Cell { path: 160, threshold: 80, flows: 1, gain_shift: 4, rules: Rules::Linux };
        close(run(&cell, 500_000).reductions, 2.0, 0.05);
        close(run(&Cell { rules: Rules::Rfc, ..cell }, 500_000).reductions, 1.0, 0.05);
    }

    /// 1,024ths of 1, of which no sixteenth is whole, go at once; of 32 two do.
    #[test]
    fn linux_forgets_small_estimates() {
        let cell = Cell { gain_shift: 4, rules: Rules::Linux, ..CELL };
        let after = |parts: f64| {
            let mut flow = Flow {
                window: 10.0,
                counted: 0.0,
                sent: 10,
                acknowledged: 0,
                alpha: parts / 1_024.0,
                seen: 0,
                marked: 0,
                observed_until: 1,
                reduced_until: 0,
                spread: None,
                rose: false,
            };
            flow.observe(&cell, false);
            flow.alpha * 1_024.0
        };
        assert_eq!([32.0, 31.0, 16.0, 15.0].map(after), [30.0, 30.0, 15.0, 0.0]);
    }
}
