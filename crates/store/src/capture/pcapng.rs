//! The pcapng format (draft-ietf-opsawg-pcapng): blocks in sections, packets of several interfaces.

use flowloom_core::time::Time;
use flowloom_core::wire::LinkType;
use flowloom_core::workload::LinkSide;

use super::error::{CaptureErrorKind, Fault, Grouped};
use super::facts::InputFacts;
use super::record::{ByteOrder, MOST_PACKET_BYTES, Record};
use super::source::Source;

/// Block types.
mod block {
    pub const SECTION_HEADER: u32 = 0x0a0d_0d0a;
    pub const INTERFACE: u32 = 1;
    /// The obsolete Packet Block.
    pub const PACKET: u32 = 2;
    pub const SIMPLE_PACKET: u32 = 3;
    pub const INTERFACE_STATISTICS: u32 = 5;
    pub const ENHANCED_PACKET: u32 = 6;
}

/// Option codes.
mod option {
    pub const END: u16 = 0;
    /// `epb_flags`, and `pack_flags` of the obsolete block.
    pub const FLAGS: u16 = 2;
    pub const TIME_RESOLUTION: u16 = 9;
    pub const TIME_OFFSET: u16 = 14;
    /// `isb_ifdrop` and `isb_osdrop`: lost by the interface, and by the operating system.
    pub const INTERFACE_DROPS: u16 = 5;
    pub const SYSTEM_DROPS: u16 = 7;
}

/// Written in the section's byte order.
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// Block type, length, and the length again at the end.
const LEAST_BLOCK: usize = 12;
/// Room for options beside the packet; a block that is read whole is never longer.
const MOST_BLOCK_BYTES: usize = MOST_PACKET_BYTES + (1 << 20);
/// More interfaces than any host has; a file with more is crafted to exhaust memory.
const MOST_INTERFACES: usize = 65_536;

/// How to turn an interface's ticks into nanoseconds.
#[derive(Clone, Copy)]
enum Clock {
    /// Nanoseconds per tick: units of 1 ns and coarser.
    Times(u64),
    /// Ticks per nanosecond: powers of ten finer than 1 ns.
    Per(u64),
    /// Ticks of 2^-n seconds.
    Binary(u32),
    /// So fine that no tick count of 64 bits reaches a nanosecond.
    BelowNanosecond,
}

/// An interface of the section being read.
#[derive(Clone, Copy)]
struct Interface {
    link: LinkType,
    /// Largest captured length, 0 for no limit; a Simple Packet Block gives no captured length of its own.
    snap_length: u32,
    clock: Clock,
    /// Seconds to add to every time stamp.
    offset: i64,
    /// Packets lost, by the latest statistics of the interface.
    drops: u64,
}

impl Interface {
    #[inline]
    fn time(&self, ticks: u64) -> Time {
        let nanos = match self.clock {
            Clock::Times(each) => ticks.saturating_mul(each),
            Clock::Per(each) => ticks / each,
            Clock::Binary(shift) => u64::try_from((u128::from(ticks) * 1_000_000_000) >> shift).unwrap_or(u64::MAX),
            Clock::BelowNanosecond => 0,
        };
        if self.offset == 0 {
            return Time::from_nanos(nanos);
        }
        let shifted = i128::from(nanos) + i128::from(self.offset) * 1_000_000_000;
        Time::from_nanos(shifted.clamp(0, i128::from(u64::MAX)) as u64)
    }
}

/// Reads packet blocks; what the section so far fixes.
pub(super) struct Pcapng {
    order: ByteOrder,
    interfaces: Vec<Interface>,
}

impl Pcapng {
    /// A reader at the first block, which is a section header.
    pub fn new() -> Pcapng {
        Pcapng { order: ByteOrder::Little, interfaces: Vec::new() }
    }

    /// The next packet, `None` at the end of the file.
    #[inline]
    pub fn next(&mut self, source: &mut Source, facts: &mut InputFacts) -> Result<Option<Record>, Fault> {
        loop {
            if !source.require(LEAST_BLOCK)? {
                let left = source.available().len();
                return if left == 0 && !source.is_cut() {
                    Ok(None)
                } else {
                    Err(cut(source, LEAST_BLOCK as u32, self.order))
                };
            }
            let head: &[u8; LEAST_BLOCK] = source.available().first_chunk().expect("required above");
            let kind = self.order.u32([head[0], head[1], head[2], head[3]]);
            if kind == block::SECTION_HEADER {
                self.order = section_order([head[8], head[9], head[10], head[11]])
                    .ok_or_else(|| corrupt(source, "section header without a byte-order magic".into()))?;
            }
            let length = self.order.u32([head[4], head[5], head[6], head[7]]);
            let least = match kind {
                block::SECTION_HEADER => 28,
                block::INTERFACE => 20,
                block::SIMPLE_PACKET => 16,
                block::INTERFACE_STATISTICS => 24,
                block::PACKET | block::ENHANCED_PACKET => 32,
                _ => LEAST_BLOCK as u32,
            };
            if length < least {
                let text = format!("block length {length} is shorter than its header ({least})");
                return Err(corrupt(source, text));
            }
            if !length.is_multiple_of(4) {
                return Err(corrupt(source, format!("block length {length} is not a multiple of 4")));
            }
            let record = match kind {
                block::SECTION_HEADER => {
                    self.section(source, length)?;
                    None
                }
                block::INTERFACE => {
                    self.interface(source, length)?;
                    None
                }
                block::ENHANCED_PACKET => Some(self.packet(source, length, enhanced)?),
                block::PACKET => Some(self.packet(source, length, obsolete)?),
                block::SIMPLE_PACKET => Some(self.simple(source, length)?),
                block::INTERFACE_STATISTICS => {
                    self.statistics(source, length, facts)?;
                    None
                }
                _ => {
                    let begin = source.offset();
                    if !source.skip(u64::from(length))? {
                        let text = format!("a block needs {} bytes", Grouped(u64::from(length)));
                        let plausible = length as usize <= MOST_BLOCK_BYTES;
                        return Err(Fault { offset: begin, kind: CaptureErrorKind::Truncated { text, plausible } });
                    }
                    None
                }
            };
            if record.is_some() {
                return Ok(record);
            }
        }
    }

    /// A section header forgets the interfaces of the section before.
    #[cold]
    fn section(&mut self, source: &mut Source, length: u32) -> Result<(), Fault> {
        let order = self.order;
        let block = whole(source, length, order)?;
        let major = order.u16([block[12], block[13]]);
        if major != 1 {
            return Err(corrupt(source, format!("pcapng version {major} does not exist (1)")));
        }
        self.interfaces.clear();
        source.consume(length as usize);
        Ok(())
    }

    #[cold]
    fn interface(&mut self, source: &mut Source, length: u32) -> Result<(), Fault> {
        let order = self.order;
        let block = whole(source, length, order)?;
        if self.interfaces.len() >= MOST_INTERFACES {
            return Err(corrupt(source, format!("more than {} interfaces", Grouped(MOST_INTERFACES as u64))));
        }
        let mut interface = Interface {
            link: LinkType::from_number(u32::from(order.u16([block[8], block[9]]))),
            snap_length: order.u32([block[12], block[13], block[14], block[15]]),
            // 10^-6 s unless an option says otherwise.
            clock: Clock::Times(1_000),
            offset: 0,
            drops: 0,
        };
        for (code, value) in options(&block[16..block.len() - 4], order) {
            match (code, value) {
                (option::TIME_RESOLUTION, &[resolution, ..]) => interface.clock = clock(resolution),
                (option::TIME_OFFSET, value) => {
                    if let Some(value) = value.first_chunk() {
                        interface.offset = order.u64(*value) as i64;
                    }
                }
                _ => {}
            }
        }
        self.interfaces.push(interface);
        source.consume(length as usize);
        Ok(())
    }

    /// Interface statistics count from the start of the capture, and may come several times for one interface.
    #[cold]
    fn statistics(&mut self, source: &mut Source, length: u32, facts: &mut InputFacts) -> Result<(), Fault> {
        let order = self.order;
        let block = whole(source, length, order)?;
        let number = order.u32([block[8], block[9], block[10], block[11]]);
        let counts = options(&block[20..block.len() - 4], order).filter_map(|(code, value)| {
            let counts = matches!(code, option::INTERFACE_DROPS | option::SYSTEM_DROPS);
            value.first_chunk().filter(|_| counts).map(|value| order.u64(*value))
        });
        let drops = counts.reduce(u64::saturating_add);
        if let (Some(drops), Some(interface)) = (drops, self.interfaces.get_mut(number as usize)) {
            facts.add_drops(drops.saturating_sub(interface.drops));
            interface.drops = interface.drops.max(drops);
        }
        source.consume(length as usize);
        Ok(())
    }

    /// An Enhanced Packet Block or an obsolete Packet Block: they differ in how the interface is written.
    #[inline]
    fn packet(
        &self,
        source: &mut Source,
        length: u32,
        interface: fn(&[u8; 4], ByteOrder) -> u32,
    ) -> Result<Record, Fault> {
        let order = self.order;
        let block = whole(source, length, order)?;
        let header: &[u8; 28] = block.first_chunk().expect("at least 32 bytes, checked by the caller");
        let field = |at: usize| order.u32([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let number = interface(&[header[8], header[9], header[10], header[11]], order);
        let Some(interface) = self.interfaces.get(number as usize) else {
            let known = self.interfaces.len();
            return Err(corrupt(source, format!("packet of interface {number}, but the section describes {known}")));
        };
        let time = interface.time(u64::from(field(12)) << 32 | u64::from(field(16)));
        let (captured, wire_length) = (field(20) as usize, field(24));
        let Some(options) = captured.checked_next_multiple_of(4).and_then(|padded| block[28..].get(padded..)) else {
            let text =
                format!("captured length {} does not fit in a block of {length} bytes", Grouped(captured as u64));
            return Err(corrupt(source, text));
        };
        // The last four bytes repeat the length; fewer mean that the packet overlaps them.
        let Some(option_bytes) = options.len().checked_sub(4) else {
            return Err(corrupt(source, format!("captured length {captured} leaves no room for the block's end")));
        };
        let from = if option_bytes == 0 { None } else { direction(&options[..option_bytes], order) };
        let start = source.position() + 28;
        let record = Record { time: Some(time), link: interface.link, wire_length, from, start, length: captured };
        source.consume(length as usize);
        Ok(record)
    }

    /// A Simple Packet Block: the first interface, no time.
    #[cold]
    fn simple(&self, source: &mut Source, length: u32) -> Result<Record, Fault> {
        let order = self.order;
        let block = whole(source, length, order)?;
        let Some(interface) = self.interfaces.first() else {
            return Err(corrupt(source, "packet before any interface description".into()));
        };
        let wire_length = order.u32([block[8], block[9], block[10], block[11]]);
        let limit = if interface.snap_length == 0 { u32::MAX } else { interface.snap_length };
        let captured = wire_length.min(limit).min(length - 16) as usize;
        let start = source.position() + 12;
        let record = Record { time: None, link: interface.link, wire_length, from: None, start, length: captured };
        source.consume(length as usize);
        Ok(record)
    }
}

/// Interface number of an Enhanced Packet Block.
fn enhanced(bytes: &[u8; 4], order: ByteOrder) -> u32 {
    order.u32(*bytes)
}

/// Interface number of an obsolete Packet Block; a drop count follows it.
fn obsolete(bytes: &[u8; 4], order: ByteOrder) -> u32 {
    u32::from(order.u16([bytes[0], bytes[1]]))
}

/// The byte order in which `magic` reads as it should.
fn section_order(magic: [u8; 4]) -> Option<ByteOrder> {
    [ByteOrder::Little, ByteOrder::Big].into_iter().find(|order| order.u32(magic) == BYTE_ORDER_MAGIC)
}

/// The whole block of `length` bytes that begins here, its closing length checked.
#[inline]
fn whole(source: &mut Source, length: u32, order: ByteOrder) -> Result<&[u8], Fault> {
    let bytes = length as usize;
    if bytes > MOST_BLOCK_BYTES {
        let (claimed, most) = (Grouped(u64::from(length)), Grouped(MOST_BLOCK_BYTES as u64));
        return Err(corrupt(source, format!("block claims {claimed} bytes, more than any packet needs ({most})")));
    }
    if !source.require(bytes)? {
        return Err(cut(source, length, order));
    }
    let end = source.available()[..bytes].last_chunk::<4>().copied().unwrap_or_default();
    if order.u32(end) != length {
        let text = format!("block length {length} at its start, {} at its end", order.u32(end));
        return Err(corrupt(source, text));
    }
    Ok(&source.available()[..bytes])
}

/// Direction of a packet by its flags option (draft section 4.3.1): outbound packets come from the inside.
fn direction(bytes: &[u8], order: ByteOrder) -> Option<LinkSide> {
    let (_, flags) = options(bytes, order).find(|(code, _)| *code == option::FLAGS)?;
    match order.u32(*flags.first_chunk()?) & 0b11 {
        0b01 => Some(LinkSide::Right),
        0b10 => Some(LinkSide::Left),
        _ => None,
    }
}

/// The options in `bytes`, as (code, value); a broken option ends them.
fn options(mut bytes: &[u8], order: ByteOrder) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (head, rest) = bytes.split_first_chunk::<4>()?;
        let code = order.u16([head[0], head[1]]);
        let length = usize::from(order.u16([head[2], head[3]]));
        if code == option::END {
            return None;
        }
        let value = rest.get(..length)?;
        bytes = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((code, value))
    })
}

/// `if_tsresol`: the highest bit tells powers of two from powers of ten.
fn clock(resolution: u8) -> Clock {
    let exponent = u32::from(resolution & 0x7f);
    match resolution & 0x80 {
        0 if exponent <= 9 => Clock::Times(10u64.pow(9 - exponent)),
        0 => 10u64.checked_pow(exponent - 9).map_or(Clock::BelowNanosecond, Clock::Per),
        _ => Clock::Binary(exponent),
    }
}

#[cold]
fn corrupt(source: &Source, text: String) -> Fault {
    Fault { offset: source.offset(), kind: CaptureErrorKind::Corrupt(text) }
}

/// The block that begins here needs `needed` bytes and the file has fewer.
#[cold]
fn cut(source: &Source, needed: u32, order: ByteOrder) -> Fault {
    let plausible = may_be_as_long(source.available(), needed, order);
    let (needed, found) = (Grouped(u64::from(needed)), Grouped(source.available().len() as u64));
    let text = format!("the block needs {needed} bytes and {found} are left");
    Fault { offset: source.offset(), kind: CaptureErrorKind::Truncated { text, plausible } }
}

/// Whether a block that begins with `bytes` may have `length` bytes: one of a packet has those that were captured, which are
/// no more than were on the wire, and few beside them.
fn may_be_as_long(bytes: &[u8], length: u32, order: ByteOrder) -> bool {
    const MOST_OPTION_BYTES: u64 = 4_096;
    let word = |at: usize| bytes.get(at..)?.first_chunk().map(|word| order.u32(*word));
    let (kind, Some(captured), Some(wire_length)) = (word(0), word(20), word(24)) else { return true };
    let is_packet = matches!(kind, Some(block::PACKET | block::ENHANCED_PACKET));
    !is_packet || (captured <= wire_length && u64::from(length) <= u64::from(captured) + MOST_OPTION_BYTES)
}
