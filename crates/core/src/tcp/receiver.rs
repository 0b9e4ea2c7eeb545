//! The receiving half: reassembly, acknowledgements, the advertised window.

mod buffer;
mod rare;

use std::num::NonZeroU16;

use self::buffer::Buffer;
use self::rare::{Rare, Stop};
use super::config::{AckHabit, Config, EcnEcho, Limits, Sack};
use super::deadline::Deadline;
use super::segment::{SackBlocks, Segment};
use crate::time::{Duration, Time};
use buffer::FIRST_WINDOW;

/// For how long a timestamp is good with a clock of 1 ms (RFC 7323 section 5.5: 24 days).
const TIMESTAMP_LIFE: Duration = Duration::from_secs(24 * 24 * 3600);

/// Segments of this size and more let it grow (`tcp_event_data_recv`).
const GROWS_WINDOW: u64 = 128;

/// Duplicates that are answered at once before acknowledgements are held back (`TCP_FASTRETRANS_THRESH`).
const UNCOMPRESSED: u8 = 3;
/// Ranges that an acknowledgement surely reports (`TCP_SACK_BLOCKS_EXPECTED`).
const EXPECTED_BLOCKS: usize = 2;
/// So many are held back at most (`tcp_comp_sack_nr`), for so long (`tcp_comp_sack_delay_ns`), or this part of a round trip.
const MOST_COMPRESSED: u8 = 44;
const LONGEST_COMPRESSION: Duration = Duration::from_millis(1);
const COMPRESSION_DIVISOR: u64 = 20;

/// Data and FIN that arrived ahead of a hole, and what was received twice. Rare, so it lives apart from the hot state.
#[derive(Clone, Debug, Default)]
struct OutOfOrder {
    /// Disjoint, non-adjacent, ascending `[start, end)`, in which a FIN counts as one.
    ranges: Vec<(u64, u64)>,
    /// An offset in each of the ranges that grew last, the latest first (RFC 2018 section 4).
    recent: [u64; SackBlocks::MOST],
    /// What arrived again and was not reported yet (RFC 2883).
    duplicate: Option<(u64, u64)>,
    /// The offset of a FIN that arrived early.
    fin: Option<u64>,
    compressed: Compressed,
}

/// Acknowledgements that are held back while there is a hole (Linux, `__tcp_ack_snd_check`).
#[derive(Clone, Copy, Debug)]
struct Compressed {
    /// The next offset expected when counting began, and duplicates answered at once since.
    next: u64,
    answered: u8,
    held: u8,
    until: Deadline,
}

impl Default for Compressed {
    fn default() -> Compressed {
        Compressed { next: 0, answered: 0, held: 0, until: Deadline::NONE }
    }
}

impl Compressed {
    /// Something arrived while the hole at `next` is open, on a path with this round-trip time. Returns whether it is
    /// acknowledged now: also if something is held back and the arrival is neither the first beyond it nor in one of the two
    /// ranges that grew last, because an acknowledgement has few blocks to report ranges with (`tcp_sack_new_ofo_skb`).
    fn arrived(&mut self, now: Time, next: u64, rtt: Option<Duration>, is_expected: bool) -> bool {
        if self.next != next {
            (self.next, self.answered) = (next, 0);
        }
        if self.answered < UNCOMPRESSED {
            self.answered += 1;
            return true;
        }
        if self.held >= MOST_COMPRESSED || (self.held > 0 && !is_expected) {
            return true;
        }
        self.held += 1;
        if self.until == Deadline::NONE {
            let part = rtt.map_or(LONGEST_COMPRESSION, |rtt| rtt / COMPRESSION_DIVISOR);
            self.until = Deadline::at(now + part.min(LONGEST_COMPRESSION));
        }
        false
    }

    /// An acknowledgement went out.
    fn sent(&mut self) {
        (self.held, self.until) = (0, Deadline::NONE);
    }
}

impl OutOfOrder {
    /// Adds a range. Returns whether one of the two ranges that grew last has taken it, or there were fewer.
    fn insert(&mut self, mut start: u64, mut end: u64) -> bool {
        let is_few = self.ranges.len() < EXPECTED_BLOCKS;
        let first = self.ranges.partition_point(|range| range.1 < start);
        let last = self.ranges.partition_point(|range| range.0 <= end);
        if first < last {
            start = start.min(self.ranges[first].0);
            end = end.max(self.ranges[last - 1].1);
        }
        self.ranges.splice(first..last, [(start, end)]);
        let latest = self.recent.iter().filter(|offset| self.holding(**offset).is_some()).take(EXPECTED_BLOCKS);
        let is_expected = is_few || latest.into_iter().any(|offset| (start..end).contains(offset));
        self.touch(start, end);
        is_expected
    }

    /// The range `[start, end)` becomes the latest.
    fn touch(&mut self, start: u64, end: u64) {
        let mut carried = start;
        for place in &mut self.recent {
            std::mem::swap(place, &mut carried);
            // What the range has swallowed gives up its place.
            if (start..end).contains(&carried) {
                break;
            }
        }
        for at in 1..self.recent.len() {
            if (start..end).contains(&self.recent[at]) {
                self.recent[at] = 0;
            }
        }
    }

    /// The range that holds `offset`.
    fn holding(&self, offset: u64) -> Option<(u64, u64)> {
        let at = self.ranges.partition_point(|range| range.1 <= offset);
        self.ranges.get(at).copied().filter(|range| range.0 <= offset)
    }

    /// The end of what has arrived, given that everything before `next` has.
    fn highest(&self, next: u64) -> u64 {
        self.ranges.last().map_or(next, |range| range.1)
    }

    /// Whether all of `[start, end)` has arrived, given that everything before `next` has.
    fn has(&self, start: u64, end: u64, next: u64) -> bool {
        end <= next || self.holding(start.max(next)).is_some_and(|range| end <= range.1)
    }

    /// A duplicate first, then the ranges by how lately they grew, then others from the top (RFC 2018 section 4, RFC 2883).
    fn blocks(&mut self) -> SackBlocks {
        let (mut chosen, mut count) = ([(0, 0); SackBlocks::MOST], 0);
        if let Some(duplicate) = self.duplicate.take() {
            (chosen[0], count) = (duplicate, 1);
        }
        let first = count;
        let recent = self.recent.iter().filter_map(|&offset| self.holding(offset));
        for range in recent.chain(self.ranges.iter().rev().take(SackBlocks::MOST).copied()) {
            if count < chosen.len() && !chosen[first..count].contains(&range) {
                chosen[count] = range;
                count += 1;
            }
        }
        SackBlocks::new(chosen[..count].iter().copied())
    }

    fn is_empty(&self) -> bool {
        self.ranges.is_empty() && self.duplicate.is_none()
    }
}

/// What the sending half of an end knows of the path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    /// The silence after which a sender is taken to start again: a retransmission timeout.
    pub(super) pause: Duration,
    /// The smoothed round-trip time.
    pub(super) rtt: Option<Duration>,
}

/// What the program is taken to do with what arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Program {
    /// The program reads and does not answer.
    Reads,
    /// It answers, and the answer carries the acknowledgement ("pingpong" in Linux).
    Answers,
    /// The same, and a segment that was not full or had PSH waits for the answer (ICSK_ACK_PUSHED).
    AnswersPushed,
}

/// What one end knows of the stream it receives. The application reads at once, so the window never shrinks.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    /// RCV.NXT: the next offset expected.
    next: u64,
    /// What arrived ahead of a hole, and a receive buffer that may limit the window.
    rare: Rare,
    delayed: Deadline,
    /// The time at which payload last arrived.
    last_arrival: Time,
    /// TS.Recent: the timestamp to echo (RFC 7323 section 4.3).
    pub(super) recent_timestamp: u32,
    /// Bytes of the stream, SYN and FIN counted, not acknowledged yet; never more than a window.
    owed: u32,
    /// What this end would advertise if any value could be expressed, once the window has grown.
    max_window: u32,
    /// Full-sized segments of this connection.
    mss: u16,
    /// The shift of the window field once scaling is agreed.
    shift: u8,
    /// How many more segments let the window grow; above 0 as long as a receive buffer limits it.
    growing: u16,
    /// How many more segments are acknowledged at once.
    quick_acks: u8,
    /// Full-sized segments after which it acknowledges at once; 0 for what the configuration says.
    every: u8,
    /// How many milliseconds fewer of them wait; 0 for what the configuration says.
    delay_millis: u16,
    program: Program,
    ack_now: bool,
    fin_received: bool,
    /// What was acknowledged last is to be told apart from what follows, with the opposite echo (RFC 8257 section 3.2).
    apart: bool,
    /// Acknowledgements carry the ECN echo.
    echo: bool,
    /// Both ends have agreed to SACK.
    sack: bool,
    /// The program does not read all: the window ends at an offset.
    stopped: bool,
}

/// The smallest shift that lets 16 bits reach `window` (RFC 7323 section 2.2 allows at most 14).
pub fn shift_for(window: u32) -> u8 {
    (0..14).find(|&shift| window >> shift <= u32::from(u16::MAX)).unwrap_or(14)
}

impl Receiver {
    pub(super) fn new(limits: Limits, config: &Config) -> Receiver {
        let mut receiver = Receiver {
            next: 0,
            rare: Rare::default(),
            delayed: Deadline::NONE,
            last_arrival: Time::ZERO,
            recent_timestamp: 0,
            owed: 0,
            max_window: limits.max_window,
            mss: limits.mss,
            shift: 0,
            growing: 0,
            quick_acks: 0,
            every: 0,
            delay_millis: 0,
            program: Program::Reads,
            ack_now: false,
            fin_received: false,
            apart: false,
            echo: false,
            sack: false,
            stopped: false,
        };
        receiver.set_buffer(limits.max_window, config);
        receiver
    }

    /// Begins with the receive buffer of `config`, if it may keep the window below `most`.
    fn set_buffer(&mut self, most: u32, config: &Config) {
        if let Some(receive_buffer) = config.receive_buffer {
            let buffer = Buffer::new(receive_buffer, self.mss, most);
            self.growing = u16::from(buffer.is_some());
            self.rare.set_buffer(buffer);
        }
    }

    /// Takes a way to acknowledge of this end's own. Before anything arrives.
    pub(super) fn set_acks(&mut self, habit: AckHabit) {
        (self.quick_acks, self.every) = (habit.quick, habit.every.max(1));
        self.delay_millis = habit.delay.map_or(0, NonZeroU16::get);
    }

    /// The shift this end offers in its SYN.
    pub(super) fn offered_shift(&self) -> u8 {
        shift_for(self.max_window)
    }

    /// Takes what the SYNs agreed on: the segment size, whether windows are scaled, and whether there is SACK.
    pub(super) fn negotiated(&mut self, mss: u16, scaled: bool, sack: bool, config: &Config) {
        self.mss = mss;
        self.shift = if scaled { self.offered_shift() } else { 0 };
        self.sack = sack;
        if config.window_growth && scaled {
            let missing = self.max_window.saturating_sub(FIRST_WINDOW);
            self.growing = missing.div_ceil(self.growth()).try_into().unwrap_or(u16::MAX);
        }
        self.set_buffer(if scaled { self.max_window } else { self.max_window.min(FIRST_WINDOW) }, config);
        self.acknowledge_quickly(config);
    }

    /// Linux (`tcp_incr_quickack`): as many segments at once as half the window holds, at least 2. An end with a way of its own does so
    /// at its start alone.
    fn acknowledge_quickly(&mut self, config: &Config) {
        if self.every > 0 {
            return;
        }
        let half_window = self.window(self.shift) / (2 * u32::from(self.mss));
        self.quick_acks = config.quick_acks.min(half_window.clamp(2, 255) as u8);
    }

    /// The payload bytes from which on a segment counts as full. A Linux receiver learns them from what arrives (`rcv_mss`), and a Linux
    /// sender has no segment of more than half of the largest window.
    fn full_segment(&self, config: &Config) -> u64 {
        match config.quick_acks {
            0 => self.mss.into(),
            _ => u64::from(u32::from(self.mss).min(self.window(self.shift) / 2)),
        }
    }

    /// By how much a segment lets the window grow (Linux, `tcp_grow_window`).
    fn growth(&self) -> u32 {
        2 * u32::from(self.mss.max(1))
    }

    /// Takes the peer's SYN.
    pub(super) fn take_syn(&mut self) {
        self.next = 1;
        self.owed = 1;
    }

    /// The shift that applies to the window field.
    pub(super) fn shift(&self) -> u8 {
        self.shift
    }

    /// The window in bytes as the header can express it, rounded down, with `shift` in effect.
    #[inline]
    pub(super) fn window(&self, shift: u8) -> u32 {
        (self.open() >> shift).min(u32::from(u16::MAX)) << shift
    }

    /// The same as it is, whatever the header can express.
    #[inline]
    fn open(&self) -> u32 {
        let open = match self.growing {
            0 => self.max_window,
            left => self.growing_window(left),
        };
        if self.stopped { open.min(self.room()) } else { open }
    }

    /// Bytes that may still arrive while the program does not read.
    #[cold]
    fn room(&self) -> u32 {
        let room = self.rare.stop().map_or(u64::MAX, |stop| stop.end.saturating_sub(self.next.max(1)));
        u32::try_from(room).unwrap_or(u32::MAX)
    }

    /// One past the last offset that is taken: what the header rounds off a window may have been told with an earlier one.
    fn right_edge(&self) -> u64 {
        match self.rare.stop() {
            Some(stop) if self.stopped => stop.told.max(self.next),
            _ => self.next + u64::from(self.window(self.shift)),
        }
    }

    /// The window that the segment about to be sent tells, with `shift` in effect.
    #[inline]
    pub(super) fn tell_window(&mut self, shift: u8) -> u32 {
        let window = self.window(shift);
        if self.stopped {
            self.note_told(window);
        }
        window
    }

    #[cold]
    fn note_told(&mut self, window: u32) {
        let edge = self.next.max(1) + u64::from(window);
        self.rare.set_stop(self.rare.stop().map(|stop| Stop { told: stop.told.max(edge), ..stop }));
    }

    /// The program reads so that the window ends at most behind this many bytes of payload; without a number it reads all at once. The
    /// end of a window never moves back: it must be later than before. A window that opens is told at once.
    pub(super) fn set_window_end(&mut self, bytes: Option<u64>) {
        let was_closed = self.is_shut();
        let told = self.rare.stop().map_or(0, |stop| stop.told);
        self.rare.set_stop(bytes.map(|bytes| Stop { end: bytes.saturating_add(1), told }));
        self.stopped = bytes.is_some();
        self.ack_now |= was_closed && !self.is_shut();
    }

    /// A sender that avoids silly windows sends no more (RFC 9293 section 3.8.6.2.1).
    fn is_shut(&self) -> bool {
        self.stopped && self.next > 0 && self.window(self.shift) < self.max_window.div_ceil(2).min(self.mss.into())
    }

    /// The other end has been told that the window is shut.
    pub(super) fn has_shut_out(&self) -> bool {
        self.stopped && self.owed == 0 && self.is_shut()
    }

    /// The window while it grows, with this many segments to go unless a receive buffer limits it.
    fn growing_window(&self, left: u16) -> u32 {
        match self.rare.buffer() {
            Some(buffer) => buffer.window().min(self.max_window),
            None => self.max_window.saturating_sub(self.growth().saturating_mul(left.into())).max(FIRST_WINDOW),
        }
    }

    /// A segment arrived in order, of which `payload` bytes are new, while the window may grow.
    fn grow_window(&mut self, now: Time, segment: &Segment, payload: u64, config: &Config) {
        let grows = self.widen(payload, config);
        let highest = self.rare.ahead().map_or(self.next, |ahead| ahead.highest(self.next));
        if let Some(buffer) = self.rare.buffer_mut() {
            buffer.arrived(now, segment, self.next, highest);
        }
        // So that the sender knows.
        self.quick_acks |= u8::from(grows);
    }

    /// Widens the window for a segment with `payload` new bytes (`tcp_grow_window`). Returns whether it was long enough and there was
    /// room.
    fn widen(&mut self, payload: u64, config: &Config) -> bool {
        let step = if config.window_growth { self.growth() } else { u32::MAX };
        let mut grows = payload >= GROWS_WINDOW;
        if let Some(buffer) = self.rare.buffer_mut() {
            grows = grows && buffer.widen(step);
            if buffer.window() >= self.max_window {
                self.growing = 0;
                self.rare.set_buffer(None);
            }
        } else if grows {
            self.growing -= 1;
        }
        grows
    }

    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Whether any of the segment lies in the window (RFC 9293 section 3.10.7.4, first check). An empty one may also stand at
    /// its end: that is where a sender that has filled the window acknowledges from.
    pub(super) fn accepts(&self, segment: &Segment) -> bool {
        let edge = self.right_edge();
        match segment.sequence_length() {
            0 => (self.next..=edge).contains(&segment.sequence),
            length => segment.sequence < edge && segment.sequence + length > self.next,
        }
    }

    /// The segment has a timestamp, and none before the latest of what was acknowledged (RFC 7323 section 5.3).
    pub(super) fn is_recent(&self, segment: &Segment) -> bool {
        segment.timestamps.is_some_and(|timestamps| {
            self.recent_timestamp == 0 || timestamps.value.get().wrapping_sub(self.recent_timestamp) as i32 >= 0
        })
    }

    /// Nothing has arrived for so long that timestamps tell nothing (RFC 7323 section 5.5).
    pub(super) fn rested(&self, now: Time) -> bool {
        now.since(self.last_arrival) > TIMESTAMP_LIFE
    }

    pub(super) fn fin_received(&self) -> bool {
        self.fin_received
    }

    /// Payload bytes received in order.
    pub(super) fn bytes(&self) -> u64 {
        self.next.saturating_sub(1 + u64::from(self.fin_received))
    }

    /// The acknowledgement number last sent.
    fn acknowledged(&self) -> u64 {
        self.next - u64::from(self.owed)
    }

    pub(super) fn ack_at_once(&mut self) {
        self.ack_now = true;
    }

    /// Nothing that this end will send carries an acknowledgement.
    pub(super) fn ack_what_is_owed(&mut self) {
        self.ack_now |= self.owed > 0;
    }

    pub(super) fn ack_is_due(&self) -> bool {
        self.ack_now
    }

    /// The acknowledgement that is owed apart, and its echo.
    pub(super) fn take_apart(&mut self) -> Option<(u64, bool)> {
        std::mem::take(&mut self.apart).then_some((self.acknowledged(), !self.echo))
    }

    /// Whether acknowledgements carry the ECN echo.
    pub(super) fn echoes(&self) -> bool {
        self.echo
    }

    /// SACK blocks for the segment about to be sent; a duplicate is reported once.
    pub(super) fn sack_blocks(&mut self) -> SackBlocks {
        match self.rare.ahead_mut() {
            Some(ahead) if self.sack => {
                let blocks = ahead.blocks();
                if ahead.is_empty() {
                    self.rare.clear_ahead();
                }
                blocks
            }
            _ => SackBlocks::default(),
        }
    }

    /// What the SACK option of the next segment takes.
    pub(super) fn sack_bytes(&self) -> u32 {
        match self.rare.ahead() {
            Some(ahead) if self.sack => {
                let blocks = ahead.ranges.len() + usize::from(ahead.duplicate.is_some());
                if blocks == 0 { 0 } else { 4 + 8 * blocks.min(SackBlocks::MOST) as u32 }
            }
            _ => 0,
        }
    }

    pub(super) fn deadline(&self) -> Deadline {
        match self.rare.ahead() {
            Some(ahead) => self.delayed.min(ahead.compressed.until),
            None => self.delayed,
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        if self.delayed.is_due(now) {
            self.delayed = Deadline::NONE;
            self.ack_now = true;
            self.program = Program::Reads;
        }
        self.ack_now |= self.rare.ahead().is_some_and(|ahead| ahead.compressed.until.is_due(now));
    }

    /// A segment carrying RCV.NXT goes out: whatever acknowledgement was owed is paid.
    pub(super) fn acknowledge(&mut self) -> u64 {
        if self.owed > 0 && self.next > 1 {
            self.quick_acks = self.quick_acks.saturating_sub(1);
        }
        self.ack_now = false;
        self.delayed = Deadline::NONE;
        self.owed = 0;
        if self.program == Program::AnswersPushed {
            self.program = Program::Answers;
        }
        if let Some(ahead) = self.rare.ahead_mut() {
            ahead.compressed.sent();
        }
        self.next
    }

    /// Something arrived and left a hole: it is acknowledged at once, or with others where Linux does so.
    fn acknowledge_hole(&mut self, now: Time, rtt: Option<Duration>, is_expected: bool, config: &Config) {
        let quick = self.quick_acks > 0 && self.program == Program::Reads;
        let whole = self.owed > u32::from(self.mss);
        match self.rare.ahead_mut().filter(|_| config.sack_compression && self.sack && !quick && !whole) {
            Some(ahead) => self.ack_now |= ahead.compressed.arrived(now, self.next, rtt, is_expected),
            None => self.ack_now = true,
        }
    }

    /// Payload goes out: the program answers if it does so before a delayed acknowledgement would have gone.
    pub(super) fn payload_sent(&mut self, now: Time, config: &Config) {
        if config.quick_acks > 0 && self.next > 1 {
            let in_time = config.delayed_ack.is_some_and(|delay| now.since(self.last_arrival) < delay);
            if in_time && self.program == Program::Reads {
                self.program = Program::Answers;
            }
        }
    }

    /// Takes what the segment says of marks, before its payload.
    pub(super) fn take_marks(&mut self, segment: &Segment, config: &Config) {
        let marked = segment.ecn.is_marked();
        match config.ecn {
            EcnEcho::EachMark if segment.sequence_length() == 0 => {}
            EcnEcho::EachMark => {
                if marked != self.echo {
                    // What arrived before is acknowledged as it was, unless that was done already.
                    if self.owed > 0 {
                        self.acknowledge();
                        self.apart = true;
                    }
                    self.echo = marked;
                    // RFC 8257 section 3.2: the change itself is told at once, too.
                    self.ack_now = true;
                }
            }
            EcnEcho::Off | EcnEcho::UntilAnswered => {
                self.echo &= !segment.flags.cwr();
                self.echo |= marked;
            }
        }
    }

    /// Takes the timestamp of a segment (RFC 7323 section 4.3): the one to echo is of the segment that advances what was
    /// acknowledged last, or comes before.
    pub(super) fn take_timestamp(&mut self, segment: &Segment) {
        if let Some(timestamps) = segment.timestamps {
            let later = timestamps.value.get().wrapping_sub(self.recent_timestamp) as i32 >= 0;
            if segment.sequence <= self.acknowledged() && (later || self.recent_timestamp == 0) {
                self.recent_timestamp = timestamps.value.get();
            }
        }
    }

    /// What was seen before, a FIN counted: something the sender or a queue did needs an answer at once.
    fn seen_before(&mut self, start: u64, end: u64, config: &Config) {
        self.ack_now = true;
        self.program = Program::Reads;
        self.acknowledge_quickly(config);
        if self.sack && config.sack == Sack::WithDuplicates {
            let ahead = self.rare.ahead_or_new();
            ahead.duplicate = Some((start, end));
            if let Some((start, end)) = ahead.holding(start) {
                ahead.touch(start, end);
            }
        }
    }

    /// Takes the payload and the FIN of a segment. Nothing to do for a segment without either.
    pub(super) fn receive(&mut self, now: Time, segment: &Segment, path: Path, config: &Config) {
        let (start, fin) = (segment.sequence, segment.flags.fin());
        let end = start + u64::from(segment.payload_bytes);
        if start == end && !fin {
            return;
        }
        if config.quick_acks > 0 && now.since(self.last_arrival) > path.pause {
            self.acknowledge_quickly(config);
        }
        self.last_arrival = now;
        let right_edge = self.right_edge();
        let past = end + u64::from(fin);
        if past <= self.next {
            return self.seen_before(start, past, config);
        }
        if start >= right_edge {
            self.ack_now = true;
            return;
        }
        // A FIN that is new may come with data that is not.
        let next = self.next;
        let seen = |to: &u64| self.rare.ahead().is_some_and(|ahead| start < *to && ahead.has(start, *to, next));
        if let Some(to) = [past, end].into_iter().find(seen) {
            self.seen_before(start, to, config);
        }
        let fin = fin && end <= right_edge;
        let end = end.min(right_edge);
        if start > self.next {
            return self.keep_ahead(now, (start, end), fin, path, config);
        }
        let before = self.next;
        self.next = self.next.max(end);
        let (fin_ahead, holes) = self.join_ahead(config);
        if fin || fin_ahead {
            self.take_fin(config);
        }
        if self.growing > 0 {
            self.grow_window(now, segment, end - start, config);
        }
        // RFC 5681 section 4.2: at least every second full-sized segment; and never so late that a sender whose
        // whole window is less than two segments waits for the timer.
        self.owed = self.owed.saturating_add((self.next - before) as u32);
        if holes {
            return self.acknowledge_hole(now, path.rtt, true, config);
        }
        self.acknowledge_in_time(now, end - start, segment.flags.psh(), config);
    }

    /// Keeps a segment that arrived ahead of a hole: `range` is the offset of its first byte and the offset after its last.
    fn keep_ahead(&mut self, now: Time, range: (u64, u64), fin: bool, path: Path, config: &Config) {
        let (start, end) = range;
        let ahead = self.rare.ahead_or_new();
        let is_expected = ahead.insert(start, end + u64::from(fin));
        if fin {
            ahead.fin = Some(end);
        }
        let highest = ahead.highest(self.next);
        if let Some(buffer) = self.rare.buffer_mut() {
            buffer.held(self.next, highest);
        }
        // Without SACK Linux leaves the window as it is, so that duplicate acknowledgements can be told (`tcp_data_queue_ofo`).
        if self.growing > 0 && self.sack {
            self.widen(end - start, config);
        }
        self.acknowledge_hole(now, path.rtt, is_expected, config);
    }

    /// Takes the ranges behind a hole that is filled now. Returns whether a FIN is next, and whether holes remain.
    #[inline]
    fn join_ahead(&mut self, config: &Config) -> (bool, bool) {
        let Some(ahead) = self.rare.ahead_mut() else { return (false, false) };
        let filled = ahead.ranges.partition_point(|range| range.0 <= self.next);
        if let Some(&(_, end)) = ahead.ranges[..filled].last() {
            self.next = self.next.max(end);
        }
        ahead.ranges.drain(..filled);
        // The FIN is counted by the caller, as one that comes in order.
        let fin = ahead.fin.take_if(|offset| *offset < self.next);
        self.next = fin.unwrap_or(self.next);
        let holes = !ahead.ranges.is_empty();
        // RFC 5681 section 4.2: a segment that fills (part of) a hole is acknowledged at once.
        self.ack_now |= !holes || !config.sack_compression;
        if ahead.is_empty() {
            self.rare.clear_ahead();
        }
        (fin.is_some(), holes)
    }

    /// Takes the FIN, which is the next in order.
    #[inline]
    fn take_fin(&mut self, config: &Config) {
        if self.fin_received {
            return;
        }
        self.fin_received = true;
        self.next += 1;
        match config.quick_acks {
            0 => self.ack_now = true,
            // Linux (`tcp_fin`): the program is about to close, too, and that carries the acknowledgement.
            _ => self.program = Program::Answers,
        }
    }

    /// Acknowledges a segment with `bytes` of payload in order: at once, or after the acknowledgement delay.
    #[inline]
    fn acknowledge_in_time(&mut self, now: Time, bytes: u64, pushed: bool, config: &Config) {
        let full = self.full_segment(config);
        let short = bytes < full;
        if config.quick_acks > 0 && bytes > 0 && (short || pushed) {
            // Linux acknowledges what ends with a segment that is not full, or has PSH, once it is read, unless the program is taken to
            // answer; and a second one that is not full anyway (`tcp_measure_rcv_mss`, `tcp_cleanup_rbuf`).
            match self.program {
                Program::Reads => self.ack_now = true,
                Program::Answers => self.program = Program::AnswersPushed,
                Program::AnswersPushed => self.ack_now |= short,
            }
        }
        let owed = u64::from(self.owed);
        let unanswered = match self.every {
            0 => full,
            every => full * u64::from(every - 1),
        };
        let own_delay = (self.delay_millis > 0).then(|| Duration::from_millis(self.delay_millis.into()));
        match own_delay.or(config.delayed_ack) {
            Some(delay)
                if owed <= unanswered
                    && (config.quick_acks > 0 || 2 * owed < u64::from(self.window(self.shift)))
                    && (self.quick_acks == 0 || self.program != Program::Reads) =>
            {
                if self.delayed.get().is_none() {
                    self.delayed = Deadline::at(now + delay);
                }
            }
            _ => self.ack_now = true,
        }
    }
}
