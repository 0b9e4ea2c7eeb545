//! Packets that a capture holds more than once: a mirror port that records a packet where it enters and where it leaves, two
//! files of one link, an interface and the VLAN on it.
//!
//! A *copy* has the addresses, the transport header, the checksum and the IPv4 identification of a packet shortly before
//! it; what changes on the way, such as TTL, VLAN tag and MAC addresses, does not count (methods A.1.7). Of some packets
//! this alone decides. Others are *doubtful*: without an identification a datagram of equal payload or an equal
//! acknowledgement may have been sent twice. What the rest of the capture is decides about these, at the end of each round:
//! in a capture whose packets come twice they are copies too.
//!
//! The memory is bounded: the latest 65,536 packets or so, eight bytes each.

use crate::time::{Duration, Time};

use super::key::fold;

/// No sender repeats an identification sooner, nor does a timer send a SYN again (`recovery` has the same limit).
const TELLING: Duration = Duration::from_millis(200);

/// Nor does a sender repeat data within this, whatever made it do so.
const DATA: Duration = Duration::from_micros(100);

/// The longest time to a doubtful copy: what a mirror adds.
const DOUBTFUL: u32 = units(Duration::from_millis(10));

/// Places for two packets each.
const PLACES: usize = 1 << 15;

/// What the fingerprint is mixed with: digits of pi.
const MIXERS: [u64; 4] = [0x2436_f6a8_885a_308d, 0x3131_98a2_e037_0734, 0x4a40_9382_2299_f31d, 0x0082_efa9_8ec4_e6c8];

/// Times that a packet has come are counted up to this and then from the beginning: a multiple of all multiplicities.
const CYCLE: u32 = 12;

/// The bits of a mark that count these times; the others are the fingerprint's.
const TIMES: u32 = 0xf;

/// Packets that must have come alone or with copies before the share of either decides.
const LEAST_TOLD: u32 = 8;
const LEAST_PAIRS: u32 = 16;

/// Nanoseconds of a unit of time, about a microsecond: 32 bits of them last for 73 minutes, and nobody asks for more.
const UNIT: u32 = 10;

const fn units(duration: Duration) -> u32 {
    (duration.as_nanos() >> UNIT) as u32
}

/// How soon after an equal packet another is a copy for certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Telling {
    /// It has an identification, or is a SYN.
    Whole,
    /// It has data or a FIN alone.
    Data,
    /// Never: all such copies are doubtful.
    Nothing,
}

impl Telling {
    const fn longest(self) -> Option<u32> {
        match self {
            Telling::Whole => Some(units(TELLING)),
            Telling::Data => Some(units(DATA)),
            Telling::Nothing => None,
        }
    }
}

/// What a packet is beside those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passing {
    /// No equal one passed shortly before.
    First,
    /// A copy.
    Copy,
    /// Perhaps a copy; so many equal ones passed shortly before.
    Doubtful(u8),
}

/// A packet that passed: a part of its fingerprint with the times that it came, and when it did.
#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    mark: u32,
    at: u32,
}

/// Packets by what they say of the capture.
#[derive(Clone, Copy, Debug, Default)]
struct Evidence {
    /// Those whose copies are told, and copies of them.
    told: u32,
    told_copies: u32,
    /// Those whose copies are doubtful, their first equal ones, and further equal ones.
    mute: u32,
    pairs: u32,
    chained: u32,
}

impl Evidence {
    /// How often each packet comes, if packets come more than once. A quarter of them is enough: copies may be of one
    /// direction or one VLAN alone.
    fn multiplicity(&self) -> Option<u8> {
        if self.told >= LEAST_TOLD {
            let further = (self.told_copies + self.told / 2) / self.told;
            return (self.told_copies * 4 >= self.told).then_some(1 + further.clamp(1, 3) as u8);
        }
        // Equal packets in long rows are a sender's own.
        let comes_in_pairs = self.pairs >= LEAST_PAIRS && self.pairs * 4 >= self.mute && self.chained * 4 <= self.pairs;
        comes_in_pairs.then_some(2)
    }
}

/// Recognises copies among the packets of a capture: hand in each with [`pass`](Self::pass), and at times ask
/// [`multiplicity`](Self::multiplicity), which decides about the doubtful ones since the time before.
#[derive(Debug)]
pub(super) struct Copies {
    recent: Vec<[Recent; 2]>,
    evidence: Evidence,
}

impl Copies {
    pub fn new() -> Copies {
        Copies { recent: vec![[Recent::default(); 2]; PLACES], evidence: Evidence::default() }
    }

    /// Takes in a packet: the hash of its addresses, and all that is equal in a copy.
    #[inline]
    pub fn pass(&mut self, time: Time, hash: u32, words: [u64; 3], telling: Telling) -> Passing {
        let [first, second, third] = words;
        let mixed = fold(first ^ MIXERS[0], second ^ MIXERS[1] ^ u64::from(hash));
        let print = fold(mixed ^ MIXERS[2], third ^ MIXERS[3]);
        let at = (time.as_nanos() >> UNIT) as u32;
        let mark = print as u32 & !TIMES;
        let [latest, older] = &mut self.recent[(print >> 32) as usize % PLACES];
        let equal = match () {
            () if latest.mark & !TIMES == mark => latest,
            () if older.mark & !TIMES == mark => older,
            () => {
                *older = *latest;
                *latest = Recent { mark: mark | 1, at };
                return self.evidence.first(telling);
            }
        };
        repeated(equal, at, telling, &mut self.evidence)
    }

    /// How often packets come of late, if more than once: of doubtful ones all but each so manieth are copies.
    pub fn multiplicity(&mut self) -> Option<u8> {
        let multiplicity = self.evidence.multiplicity();
        let Evidence { told, told_copies, mute, pairs, chained } = &mut self.evidence;
        [told, told_copies, mute, pairs, chained].into_iter().for_each(|count| *count /= 2);
        multiplicity
    }
}

impl Evidence {
    #[inline]
    fn first(&mut self, telling: Telling) -> Passing {
        let count = if telling == Telling::Whole { &mut self.told } else { &mut self.mute };
        *count += 1;
        Passing::First
    }
}

/// A packet that is equal to one which passed at some time.
fn repeated(equal: &mut Recent, at: u32, telling: Telling, evidence: &mut Evidence) -> Passing {
    // Clocks of two interfaces differ, and a copy may be stamped before its packet.
    let age = at.wrapping_sub(equal.at).cast_signed().unsigned_abs();
    let times = equal.mark & TIMES;
    if telling.longest().is_some_and(|longest| age <= longest) {
        let count = if telling == Telling::Whole { &mut evidence.told_copies } else { &mut evidence.pairs };
        *count += 1;
        return Passing::Copy;
    }
    equal.at = at;
    if telling == Telling::Whole || age > DOUBTFUL {
        equal.mark = equal.mark & !TIMES | 1;
        return evidence.first(telling);
    }
    equal.mark = equal.mark & !TIMES | (times % CYCLE + 1);
    let count = if times == 1 { &mut evidence.pairs } else { &mut evidence.chained };
    *count += 1;
    Passing::Doubtful(times as u8)
}
