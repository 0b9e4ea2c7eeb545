//! The transport of the study: packets that are numbered and acknowledged one by one, slow start or a fixed window, and timeouts
//! (methods G.4). Its slow start is the scheme of 1988 (Jacobson 1988): nothing is sent again but after a timeout, and then in order
//! from the first packet that was not acknowledged.

use std::collections::{BTreeMap, VecDeque};

use crate::time::{Duration, Time};

use super::source::Message;

/// How much a sender may have under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowControl {
    /// A window that doubles in a round trip up to a threshold, grows by one packet in a round trip above it, and is one packet
    /// after a timeout, and after it had nothing to send and nothing under way: no acknowledgement will come to clock more out. So
    /// each item of a conversation begins with one packet. Without that one FTP conversation would use 0.72 of the study's link; with it it
    /// uses 0.51 (published: 0.485), and three or four fill it, as published.
    SlowStart,
    /// The limit, always.
    Fixed,
    /// Any amount; nothing is acknowledged.
    None,
}

/// One end's transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransportConfig {
    /// What governs its window.
    pub flow_control: FlowControl,
    /// The largest window, in packets.
    pub window_limit: u32,
    /// What was not acknowledged in time is sent again. Without this it is given up, and the receiver does not wait for it.
    pub retransmit: bool,
    /// Most bytes of a message in a packet.
    pub max_packet: u32,
}

impl TransportConfig {
    /// That of the study (methods G.5).
    pub const STUDY: TransportConfig =
        TransportConfig { flow_control: FlowControl::SlowStart, window_limit: 128, retransmit: true, max_packet: 512 };
}

/// Before anything was measured (as BSD had it in 1988).
const FIRST_TIMEOUT: Duration = Duration::from_secs(3);
/// However often it was doubled.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(64);
/// Deviations above the mean at which a packet is late: that of 1988's paper as first printed.
const DEVIATIONS: u64 = 2;

/// A packet with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Its number, from 0.
    pub number: u64,
    /// Bytes of the message.
    pub bytes: u32,
    /// The last of its message.
    pub ends: bool,
    /// What the message wants in return.
    pub answer: Option<u64>,
    /// It was sent before.
    pub again: bool,
}

/// A packet that was sent and is not acknowledged.
#[derive(Clone, Copy, Debug)]
struct Out {
    data: Data,
    sent: Time,
}

/// Mean and mean deviation of the round-trip time (Jacobson 1988, appendix A), in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    mean: i64,
    deviation: i64,
}

/// Sends messages.
///
/// [`Self::write`], [`Self::handle_ack`], [`Self::handle_timeout`]; then [`Self::poll_transmit`] whenever the host's link is free.
#[derive(Debug)]
pub struct Sender {
    config: TransportConfig,
    /// Bytes that were not cut into packets, and what is wanted in return.
    messages: VecDeque<Message>,
    /// Packets from `acknowledged` on.
    out: VecDeque<Out>,
    /// Place in `out` of the packet to send next.
    next: usize,
    acknowledged: u64,
    window: u32,
    threshold: u32,
    /// Acknowledgements since the window last grew.
    since_growth: u32,
    estimate: Option<Estimate>,
    timeout: Duration,
    due: Option<Time>,
    timeouts: u64,
    retransmissions: u64,
}

impl Sender {
    /// One that has not sent anything.
    pub fn new(config: TransportConfig) -> Sender {
        Sender {
            config,
            messages: VecDeque::new(),
            out: VecDeque::new(),
            next: 0,
            acknowledged: 0,
            window: if config.flow_control == FlowControl::SlowStart { 1 } else { config.window_limit },
            threshold: config.window_limit,
            since_growth: 0,
            estimate: None,
            timeout: FIRST_TIMEOUT,
            due: None,
            timeouts: 0,
            retransmissions: 0,
        }
    }

    /// Appends a message.
    pub fn write(&mut self, message: Message) {
        if self.is_done() && self.config.flow_control == FlowControl::SlowStart {
            (self.window, self.since_growth) = (1, 0);
        }
        self.messages.push_back(message);
    }

    /// All that was written is acknowledged, or given up.
    pub fn is_done(&self) -> bool {
        self.messages.is_empty() && self.out.is_empty()
    }

    /// Packets it may have under way.
    pub const fn window(&self) -> u32 {
        self.window
    }

    /// The mean of its round-trip times, as it estimates it.
    pub fn smoothed(&self) -> Option<Duration> {
        self.estimate.map(|estimate| Duration::from_nanos(estimate.mean.unsigned_abs()))
    }

    /// How often an acknowledgement was late.
    pub const fn timeouts(&self) -> u64 {
        self.timeouts
    }

    /// Packets sent again.
    pub const fn retransmissions(&self) -> u64 {
        self.retransmissions
    }

    /// Whether [`Self::poll_transmit`] has a packet.
    pub fn has_packet(&self) -> bool {
        match self.config.flow_control {
            FlowControl::None => !self.messages.is_empty(),
            _ => self.next < self.window as usize && (self.next < self.out.len() || !self.messages.is_empty()),
        }
    }

    /// The next packet.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Data> {
        if !self.has_packet() {
            return None;
        }
        if self.config.flow_control == FlowControl::None {
            let data = self.cut()?;
            self.acknowledged += 1;
            return Some(data);
        }
        let data = if let Some(out) = self.out.get_mut(self.next) {
            out.data.again = true;
            out.sent = now;
            self.retransmissions += 1;
            out.data
        } else {
            let data = self.cut()?;
            self.out.push_back(Out { data, sent: now });
            data
        };
        self.next += 1;
        self.due.get_or_insert(now + self.timeout);
        Some(data)
    }

    /// Cuts a packet off the first message.
    fn cut(&mut self) -> Option<Data> {
        let message = self.messages.front_mut()?;
        let bytes = u32::try_from(message.bytes).unwrap_or(u32::MAX).min(self.config.max_packet);
        message.bytes -= u64::from(bytes);
        let (ends, answer) = (message.bytes == 0, message.answer);
        if ends {
            self.messages.pop_front();
        }
        let number = self.acknowledged + self.out.len() as u64;
        Some(Data { number, bytes, ends, answer, again: false })
    }

    /// All packets before number `next` have come. Returns the round-trip time, if this acknowledges a packet that was sent once.
    pub fn handle_ack(&mut self, now: Time, next: u64) -> Option<Duration> {
        let newly = next.checked_sub(self.acknowledged).filter(|&newly| newly > 0)?;
        let newly = usize::try_from(newly).ok().filter(|&newly| newly <= self.out.len())?;
        let last = self.out.drain(..newly).next_back()?;
        self.acknowledged = next;
        self.next = self.next.saturating_sub(newly);
        self.grow();
        let measured = (!last.data.again).then(|| now.since(last.sent));
        if let Some(round_trip) = measured {
            self.measure(round_trip);
        }
        self.due = (self.next > 0).then(|| now + self.timeout);
        measured
    }

    fn grow(&mut self) {
        if self.config.flow_control != FlowControl::SlowStart || self.window >= self.config.window_limit {
            return;
        }
        self.since_growth += 1;
        if self.window < self.threshold || self.since_growth >= self.window {
            self.window += 1;
            self.since_growth = 0;
        }
    }

    fn measure(&mut self, round_trip: Duration) {
        let measured = i64::try_from(round_trip.as_nanos()).unwrap_or(i64::MAX);
        let estimate = match self.estimate {
            None => Estimate { mean: measured, deviation: measured / 2 },
            Some(Estimate { mean, deviation }) => {
                let error = measured - mean;
                Estimate { mean: mean + error / 8, deviation: deviation + (error.abs() - deviation) / 4 }
            }
        };
        self.estimate = Some(estimate);
        self.timeout = Duration::from_nanos(estimate.mean.unsigned_abs())
            + Duration::from_nanos(estimate.deviation.unsigned_abs()) * DEVIATIONS;
    }

    /// When an acknowledgement is late.
    pub const fn next_timeout(&self) -> Option<Time> {
        self.due
    }

    /// Serves a late acknowledgement.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.due.is_none_or(|due| due > now) {
            return;
        }
        self.due = None;
        self.timeouts += 1;
        self.timeout = (self.timeout * 2).min(LONGEST_TIMEOUT);
        if self.config.flow_control == FlowControl::SlowStart {
            self.threshold = (self.window / 2).max(2);
            self.window = 1;
            self.since_growth = 0;
        }
        if !self.config.retransmit {
            self.acknowledged += self.out.len() as u64;
            self.out.clear();
        }
        self.next = 0;
    }
}

/// Receives messages in order.
#[derive(Debug)]
pub struct Receiver {
    expected: u64,
    waits_for_missing: bool,
    early: BTreeMap<u64, Data>,
    delivered: VecDeque<Data>,
}

impl Receiver {
    /// One that has received nothing. Of a sender that sends nothing again it does not wait for what is missing.
    pub fn new(sender: TransportConfig) -> Receiver {
        let waits_for_missing = sender.retransmit && sender.flow_control != FlowControl::None;
        Receiver { expected: 0, waits_for_missing, early: BTreeMap::new(), delivered: VecDeque::new() }
    }

    /// A packet has come. Returns the number of the next that is missing, which every packet is acknowledged with.
    pub fn handle_packet(&mut self, data: Data) -> u64 {
        if data.number > self.expected && self.waits_for_missing {
            self.early.insert(data.number, data);
        } else if data.number >= self.expected {
            self.expected = data.number + 1;
            self.delivered.push_back(data);
            while let Some(data) = self.early.remove(&self.expected) {
                self.expected += 1;
                self.delivered.push_back(data);
            }
        }
        self.expected
    }

    /// The next packet in order.
    pub fn poll_delivered(&mut self) -> Option<Data> {
        self.delivered.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: TransportConfig =
        TransportConfig { flow_control: FlowControl::SlowStart, window_limit: 16, retransmit: true, max_packet: 512 };

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    fn sender(config: TransportConfig, bytes: u64) -> Sender {
        let mut sender = Sender::new(config);
        sender.write(Message { bytes, answer: None });
        sender
    }

    fn burst(sender: &mut Sender, now: Time) -> Vec<u64> {
        std::iter::from_fn(|| sender.poll_transmit(now)).map(|data| data.number).collect()
    }

    #[test]
    fn a_message_is_cut_into_packets() {
        let mut sender = sender(TransportConfig { flow_control: FlowControl::Fixed, ..CONFIG }, 1_100);
        sender.write(Message { bytes: 1, answer: Some(7) });
        let packets: Vec<_> = std::iter::from_fn(|| sender.poll_transmit(at(0)))
            .map(|data| (data.number, data.bytes, data.ends, data.answer))
            .collect();
        assert_eq!(packets, [(0, 512, false, None), (1, 512, false, None), (2, 76, true, None), (3, 1, true, Some(7))]);
    }

    #[test]
    fn windows_double_in_a_round_trip_up_to_the_limit_and_begin_anew() {
        let mut sender = sender(CONFIG, 1 << 20);
        let (mut sizes, mut next) = (Vec::new(), 0);
        for round in 0..7 {
            let sent = burst(&mut sender, at(100 * round));
            sizes.push(sent.len());
            for _ in sent {
                next += 1;
                assert_eq!(sender.handle_ack(at(100 * (round + 1)), next), Some(Duration::from_millis(100)));
            }
        }
        assert_eq!(sizes, [1, 2, 4, 8, 16, 16, 16]);
        assert_eq!(sender.smoothed(), Some(Duration::from_millis(100)));
        let mut sender = Sender::new(CONFIG);
        for item in 0..3 {
            sender.write(Message { bytes: 3 * 512, answer: None });
            assert_eq!(burst(&mut sender, at(item)).len(), 1, "nothing was under way");
            sender.handle_ack(at(item), 3 * item + 1);
            assert_eq!(burst(&mut sender, at(item)).len(), 2);
            sender.handle_ack(at(item), 3 * item + 3);
            assert!(sender.is_done());
        }
    }

    #[test]
    fn after_a_timeout_all_goes_again_with_one_packet_first() {
        let mut sender = sender(CONFIG, 1 << 20);
        for next in 1..=8 {
            burst(&mut sender, at(0));
            sender.handle_ack(at(50), next);
        }
        burst(&mut sender, at(50));
        assert_eq!((sender.window(), sender.out.len()), (9, 9));
        let due = sender.next_timeout().unwrap();
        // 50 ms in each of eight samples: a mean of 50 ms, and half of it in the first deviation, 3/4 of that left by each other.
        let deviation = (0..7).fold(25_000_000i64, |deviation, _| deviation - deviation / 4);
        assert!(due.since(at(50)).as_nanos().abs_diff(50_000_000 + 2 * deviation.unsigned_abs()) < 10, "{due:?}");
        sender.handle_timeout(at(51));
        assert_eq!(sender.timeouts(), 0);
        sender.handle_timeout(due);
        assert_eq!((sender.timeouts(), sender.window()), (1, 1));
        assert_eq!(burst(&mut sender, due), [8]);
        assert_eq!(sender.handle_ack(due, 9), None, "which of the two was acknowledged nobody knows");
        assert_eq!(burst(&mut sender, due), [9, 10]);
        // Up to half of the window that was too much it doubles, above it grows by one in a round trip.
        for next in 10..=11 {
            sender.handle_ack(due, next);
            burst(&mut sender, due);
        }
        assert_eq!(sender.window(), 4);
        for next in 12..=15 {
            sender.handle_ack(due, next);
            burst(&mut sender, due);
        }
        assert_eq!(sender.window(), 5);
        assert_eq!(sender.retransmissions(), 9, "all that was under way");
    }

    #[test]
    fn what_is_given_up_is_not_waited_for() {
        let config = TransportConfig { flow_control: FlowControl::Fixed, window_limit: 2, retransmit: false, ..CONFIG };
        let (mut sender, mut receiver) = (sender(config, 3 * 512), Receiver::new(config));
        let packets: Vec<Data> = std::iter::from_fn(|| sender.poll_transmit(at(0))).collect();
        assert_eq!((packets.len(), receiver.handle_packet(packets[1])), (2, 2));
        assert_eq!(receiver.poll_delivered().map(|data| data.number), Some(1));
        let due = sender.next_timeout().unwrap();
        sender.handle_timeout(due);
        assert_eq!((burst(&mut sender, due), sender.retransmissions()), (vec![2], 0));
    }

    #[test]
    fn packets_are_delivered_once_and_in_order() {
        let mut sender = sender(TransportConfig { flow_control: FlowControl::Fixed, ..CONFIG }, 4 * 512);
        let sent: Vec<Data> = std::iter::from_fn(|| sender.poll_transmit(at(0))).collect();
        let mut receiver = Receiver::new(CONFIG);
        let acks: Vec<u64> = [1, 3, 0, 0, 2, 1].map(|place| receiver.handle_packet(sent[place])).to_vec();
        assert_eq!(acks, [0, 0, 2, 2, 4, 4]);
        let delivered: Vec<u64> = std::iter::from_fn(|| receiver.poll_delivered()).map(|data| data.number).collect();
        assert_eq!(delivered, [0, 1, 2, 3]);
    }
}
