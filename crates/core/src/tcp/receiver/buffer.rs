//! A receive buffer that Linux sizes by what the application reads in a round trip (dynamic right-sizing).

use crate::tcp::config::ReceiveBuffer;
use crate::tcp::segment::{Segment, Timestamps};
use crate::time::{Duration, Time};

/// The first measure of what a round trip brings, in segments (`TCP_INIT_CWND`).
const FIRST_SPACE: u32 = 10;
/// The kernel's first guess at the ratio of payload to memory, in 256ths (`TCP_DEFAULT_SCALING_RATIO`).
const FIRST_RATIO: u8 = 128;
/// The least length of a full-sized segment while none has arrived (`TCP_MSS_DEFAULT`).
const FIRST_FULL_SIZE: u32 = 536;

/// The window and the buffer behind it, while the buffer may limit the window.
///
/// The application reads at once, so the buffer holds nothing but the segment that just arrived.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    /// The window on offer in bytes (`rcv_ssthresh`).
    window: u32,
    /// Memory in bytes (`sk_rcvbuf`).
    bytes: u32,
    /// Payload per 256 bytes of memory (`scaling_ratio`).
    ratio: u8,
    /// Payload bytes of a full-sized segment of this connection.
    mss: u16,
    /// The longest segment so far (`rcv_mss`).
    longest: u32,
    /// The most bytes that were read in a round trip (`rcvq_space.space`).
    space: u32,
    /// When the current measurement began, and the offset read up to then.
    since: Option<Time>,
    from: u64,
    round_trip: RoundTrip,
}

/// The receiver's estimate of the round-trip time.
#[derive(Clone, Debug, Default)]
struct RoundTrip {
    /// Smoothed, in eighths of a nanosecond (`rcv_rtt_est.rtt_us`, which is in eighths, too); 0 before the first sample.
    eighths: u64,
    /// The last timestamp that gave a sample.
    echo: u32,
    /// When a window's worth of data was last complete, and the offset at which the next one is.
    turnover: Option<(Time, u64)>,
}

impl RoundTrip {
    /// A sample from the timestamp that the peer echoes with a full-sized segment (`tcp_rcv_rtt_measure_ts`).
    fn take_echo(&mut self, now: Time, segment: &Segment, longest: u32) {
        let Some(timestamps) = segment.timestamps.filter(|timestamps| timestamps.echo != self.echo) else { return };
        self.echo = timestamps.echo;
        let ticks = Timestamps::clock(now).get().wrapping_sub(timestamps.echo) as i32;
        if segment.payload_bytes < longest || ticks <= 0 {
            return;
        }
        let sample = Duration::from_millis(ticks as u64).as_nanos();
        let smaller = self.eighths == 0 || 8 * sample < self.eighths;
        self.eighths = if smaller { 8 * sample } else { self.eighths - self.eighths / 8 + sample };
    }

    /// A sample from the time that a window's worth of data takes, which only ever lowers the estimate
    /// (`tcp_rcv_rtt_measure`).
    fn take_turnover(&mut self, now: Time, next: u64, window: u32) {
        if let Some((since, end)) = self.turnover {
            if next < end {
                return;
            }
            let sample = 8 * now.since(since).as_nanos().max(1);
            if self.eighths == 0 || sample < self.eighths {
                self.eighths = sample;
            }
        }
        self.turnover = Some((now, next + u64::from(window)));
    }
}

impl Buffer {
    /// The state at the start of a connection with segments of `mss` bytes and a window of at most `most` bytes; `None` if
    /// the buffer never limits the window.
    pub(super) fn new(config: ReceiveBuffer, mss: u16, most: u32) -> Option<Buffer> {
        let mut buffer = Buffer {
            window: 0,
            bytes: config.bytes,
            ratio: config.payload_ratio.clamp(1, FIRST_RATIO),
            mss,
            longest: u32::from(mss).min(FIRST_FULL_SIZE),
            space: 0,
            since: None,
            from: 1,
            round_trip: RoundTrip::default(),
        };
        // A ratio above the first guess counts from the first segment on, a lower one at once, so that no window shrinks.
        buffer.window = buffer.limit().min(FIRST_WINDOW);
        buffer.ratio = config.payload_ratio.max(1);
        buffer.space = buffer.window.min(FIRST_SPACE * u32::from(mss));
        (buffer.window < most).then_some(buffer)
    }

    /// The window on offer in bytes.
    pub(super) fn window(&self) -> u32 {
        self.window
    }

    /// The most that the buffer lets the window be: the segment that just arrived takes its room, and two always fit.
    fn limit(&self) -> u32 {
        let mss = u32::from(self.mss);
        let payload = (u64::from(self.bytes) * u64::from(self.ratio)) >> 8;
        u32::try_from(payload).unwrap_or(u32::MAX).saturating_sub(mss).max(2 * mss)
    }

    /// Widens the window by at most `step` bytes (`tcp_grow_window`). Returns whether there was room.
    pub(super) fn widen(&mut self, step: u32) -> bool {
        let room = self.limit().saturating_sub(self.window);
        self.window += room.min(step);
        room > 0
    }

    /// Takes a segment after which `next` is the next offset expected, with data up to `highest` received beyond it: measures,
    /// and once per round trip sizes the buffer (`tcp_rcv_space_adjust`).
    pub(super) fn arrived(&mut self, now: Time, segment: &Segment, next: u64, highest: u64) {
        self.round_trip.take_echo(now, segment, self.longest);
        self.longest = self.longest.max(segment.payload_bytes.min(self.mss.into()));
        self.round_trip.take_turnover(now, next, self.window);
        let since = *self.since.get_or_insert(now);
        let round_trip = self.round_trip.eighths / 8;
        if round_trip == 0 || now.since(since).as_nanos() < round_trip {
            return;
        }
        let read = u32::try_from(next - self.from).unwrap_or(u32::MAX);
        if read > self.space {
            self.size(read, next, highest);
        }
        (self.since, self.from) = (Some(now), next);
    }

    /// A segment arrived that leaves a hole at `next`: what is held up to `highest` gets room of its own.
    pub(super) fn held(&mut self, next: u64, highest: u64) {
        self.size(self.space, next, highest);
    }

    /// Makes the buffer large enough for twice what a round trip brought, with room for as fast a growth again, and for
    /// what is held out of order (`tcp_rcvbuf_grow`). It never becomes smaller.
    fn size(&mut self, read: u32, next: u64, highest: u64) {
        let before = u64::from(std::mem::replace(&mut self.space, read)).max(1);
        let twice = 2 * u64::from(read);
        let growth = twice.saturating_mul(u64::from(read).saturating_sub(before)) / before;
        let window = twice.saturating_add(2 * growth).saturating_add(highest.saturating_sub(next));
        let bytes = window.saturating_mul(256) / u64::from(self.ratio);
        self.bytes = self.bytes.max(bytes.min(ReceiveBuffer::LARGEST.into()) as u32);
    }
}

/// The window that Linux offers first, if it may become more (`tcp_select_initial_window`).
pub(super) const FIRST_WINDOW: u32 = u16::MAX as u32;

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u16 = 1_000;
    /// The round trip of these connections.
    const RTT: Duration = Duration::from_millis(100);

    fn buffer(payload_ratio: u8) -> Buffer {
        Buffer::new(ReceiveBuffer { bytes: 131_072, payload_ratio }, MSS, 4 << 20).unwrap()
    }

    /// At round trip `turn`, this many full segments arrive at once, with or without timestamps.
    fn flight(buffer: &mut Buffer, next: &mut u64, turn: u64, segments: u64, timestamps: bool) {
        let now = Time::ZERO + Duration::from_secs(1) + RTT * turn;
        let timestamps =
            timestamps.then(|| Timestamps { value: Timestamps::clock(now), echo: Timestamps::clock(now).get() - 100 });
        let segment = Segment { payload_bytes: MSS.into(), timestamps, ..Segment::default() };
        for _ in 0..segments {
            *next += u64::from(MSS);
            buffer.widen(2 * u32::from(MSS));
            buffer.arrived(now, &segment, *next, *next);
        }
    }

    /// Flights of 10, 20, 40 and 80 segments of 1,000 bytes. Each measurement ends with the first segment of a flight, so that it
    /// finds 11, 20 and 40 segments: 11,000 bytes against the first 10,000 ask for a window of 22,000 + 2 x 22,000 x 1/10 = 26,400;
    /// 20,000 against 11,000 for 40,000 + 2 x 32,727 (40,000 x 9/11) = 105,454; 40,000 against 20,000 for 80,000 + 2 x 80,000 = 240,000.
    /// The buffer is that over the ratio, and never less than before.
    #[test]
    fn three_round_trips_as_computed_by_hand() {
        for (ratio, windows, sizes) in [
            (128, [64_536, 64_536, 104_454, 239_000], [131_072, 131_072, 210_908, 480_000]),
            (64, [31_768, 31_768, 104_454, 239_000], [131_072, 131_072, 421_816, 960_000]),
            (192, [84_536, 97_304, 104_453, 239_000], [131_072, 131_072, 140_605, 320_000]),
        ] {
            let (mut buffer, mut next) = (buffer(ratio), 1);
            let mut seen = ([0; 4], [0; 4]);
            for turn in 0..4 {
                flight(&mut buffer, &mut next, turn, 10 << turn, true);
                (seen.0[turn as usize], seen.1[turn as usize]) = (buffer.window(), buffer.bytes);
            }
            assert_eq!(seen, (windows, sizes), "{ratio}/256");
        }
    }

    /// Without timestamps the round trip is what a window takes to arrive: 64,536 bytes from the first segment on are complete
    /// in the third flight, which is 200 ms and too long, as in the kernel. The next 64,536 take 100 ms. Longer samples do not count.
    #[test]
    fn a_window_that_turns_over_is_a_round_trip() {
        let (mut buffer, mut next) = (buffer(128), 1);
        for (turn, segments, millis) in [(0, 10, 0), (1, 20, 0), (2, 40, 200), (3, 60, 200), (3, 1, 100), (5, 200, 100)]
        {
            flight(&mut buffer, &mut next, turn, segments, false);
            assert_eq!(buffer.round_trip.eighths, 8_000_000 * millis, "{turn}");
        }
    }

    /// 14 ms after 100 ms: the smoothed value falls at once, and rises by an eighth of the difference.
    #[test]
    fn the_round_trip_falls_at_once_and_rises_slowly() {
        let mut round_trip = RoundTrip::default();
        let mut sample = |millis: u64, at: u64| {
            let now = Time::ZERO + Duration::from_secs(at);
            let value = Timestamps::clock(now);
            let timestamps = Some(Timestamps { value, echo: value.get() - millis as u32 });
            let segment = Segment { payload_bytes: 1_000, timestamps, ..Segment::default() };
            round_trip.take_echo(now, &segment, 1_000);
            let short = Segment { payload_bytes: 999, ..segment };
            round_trip.take_echo(now + Duration::from_millis(500), &short, 1_000);
            round_trip.eighths / 8
        };
        assert_eq!(sample(100, 1), 100_000_000);
        assert_eq!(sample(14, 2), 14_000_000);
        assert_eq!(sample(22, 3), 15_000_000);
    }

    /// 20,000 bytes a round trip and 50,000 held above a hole: 2 x 20,000 + 50,000, in a buffer half of which is payload.
    #[test]
    fn what_is_held_gets_room() {
        let mut buffer = buffer(128);
        buffer.space = 20_000;
        buffer.held(1_001, 51_001);
        assert_eq!(buffer.bytes, 180_000);
        buffer.held(1_001, 21_001);
        assert_eq!((buffer.bytes, buffer.space), (180_000, 20_000), "it never becomes smaller");
    }

    #[test]
    fn corners_of_the_configuration() {
        let new = |bytes, payload_ratio, mss, most| Buffer::new(ReceiveBuffer { bytes, payload_ratio }, mss, most);
        // Two segments always fit, and no window is wider than the first of Linux.
        assert_eq!(new(4_096, 2, 1_460, 1 << 20).unwrap().window(), 2_920);
        assert_eq!(new(ReceiveBuffer::LARGEST, 255, 1_460, 1 << 20).unwrap().window(), 65_535);
        // What never limits the window needs no state.
        assert!(new(131_072, 128, 1_460, 64_076).is_none());
        assert_eq!(new(131_072, 128, 1_460, 64_077).unwrap().window(), 64_076);
        // The largest buffer stays the largest.
        let mut large = new(ReceiveBuffer::LARGEST, 1, 1_460, u32::MAX).unwrap();
        large.size(u32::MAX, 1, 1 << 40);
        assert_eq!(large.bytes, ReceiveBuffer::LARGEST);
    }
}
