//! Captures made by hand, byte by byte, from the format descriptions and not with the code under test.

use std::io::{self, Cursor, Read, Write};

use flowloom_core::wire::LinkType;
use flowloom_core::workload::LinkSide;
use flowloom_store::capture::{CaptureError, Captures, InputFacts, Options, Truncation};

/// Byte order of a made capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Little,
    Big,
}

pub const ORDERS: [Order; 2] = [Order::Little, Order::Big];

impl Order {
    pub fn u16(self, value: u16) -> [u8; 2] {
        if self == Order::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    pub fn u32(self, value: u32) -> [u8; 4] {
        if self == Order::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    pub fn u64(self, value: u64) -> [u8; 8] {
        if self == Order::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }
}

/// A pcap file under construction.
pub struct PcapFile {
    pub bytes: Vec<u8>,
    order: Order,
    unit: u64,
}

impl PcapFile {
    pub fn new(order: Order, nanoseconds: bool, link: u32) -> PcapFile {
        let magic = if nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
        PcapFile::with_version(order, magic, (2, 4), link)
    }

    pub fn with_version(order: Order, magic: u32, version: (u16, u16), link: u32) -> PcapFile {
        let mut bytes = Vec::new();
        bytes.extend(order.u32(magic));
        bytes.extend(order.u16(version.0));
        bytes.extend(order.u16(version.1));
        bytes.extend([0; 8]);
        bytes.extend(order.u32(65_535));
        bytes.extend(order.u32(link));
        PcapFile { bytes, order, unit: if magic == 0xa1b2_3c4d { 1 } else { 1_000 } }
    }

    /// Appends a packet at `nanos` of which all of `data` was captured.
    pub fn packet(&mut self, nanos: u64, data: &[u8], wire: u32) -> &mut PcapFile {
        self.record(nanos, data.len() as u32, wire, data)
    }

    pub fn record(&mut self, nanos: u64, captured: u32, wire: u32, data: &[u8]) -> &mut PcapFile {
        let fraction = nanos % 1_000_000_000 / self.unit;
        for field in [(nanos / 1_000_000_000) as u32, fraction as u32, captured, wire] {
            self.bytes.extend(self.order.u32(field));
        }
        self.bytes.extend(data);
        self
    }
}

/// A pcapng file under construction.
pub struct PcapngFile {
    pub bytes: Vec<u8>,
    order: Order,
}

impl PcapngFile {
    /// A file with one section header and nothing else.
    pub fn new(order: Order) -> PcapngFile {
        let mut file = PcapngFile { bytes: Vec::new(), order };
        file.section(order);
        file
    }

    pub fn section(&mut self, order: Order) -> &mut PcapngFile {
        self.order = order;
        let mut body = Vec::new();
        body.extend(order.u32(0x1a2b_3c4d));
        body.extend(order.u16(1));
        body.extend(order.u16(0));
        body.extend([0xff; 8]);
        self.block(0x0a0d_0d0a, &body)
    }

    pub fn block(&mut self, kind: u32, body: &[u8]) -> &mut PcapngFile {
        let length = (12 + body.len().next_multiple_of(4)) as u32;
        self.bytes.extend(self.order.u32(kind));
        self.bytes.extend(self.order.u32(length));
        self.bytes.extend(body);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.bytes.extend(self.order.u32(length));
        self
    }

    fn options(&self, options: &[(u16, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (code, value) in options {
            bytes.extend(self.order.u16(*code));
            bytes.extend(self.order.u16(value.len() as u16));
            bytes.extend(*value);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        if !options.is_empty() {
            bytes.extend([0; 4]);
        }
        bytes
    }

    pub fn interface(&mut self, link: u16, snap_length: u32, options: &[(u16, &[u8])]) -> &mut PcapngFile {
        let mut body = self.order.u16(link).to_vec();
        body.extend([0; 2]);
        body.extend(self.order.u32(snap_length));
        body.extend(self.options(options));
        self.block(1, &body)
    }

    pub fn enhanced(
        &mut self,
        interface: u32,
        ticks: u64,
        data: &[u8],
        wire: u32,
        options: &[(u16, &[u8])],
    ) -> &mut PcapngFile {
        let mut body = self.order.u32(interface).to_vec();
        for field in [(ticks >> 32) as u32, ticks as u32, data.len() as u32, wire] {
            body.extend(self.order.u32(field));
        }
        body.extend(data);
        body.resize(body.len().next_multiple_of(4), 0);
        body.extend(self.options(options));
        self.block(6, &body)
    }

    pub fn obsolete(&mut self, interface: u16, ticks: u64, data: &[u8], wire: u32) -> &mut PcapngFile {
        let mut body = self.order.u16(interface).to_vec();
        // The drop count: a reader that takes interface and drops for one field fails.
        body.extend(self.order.u16(7));
        for field in [(ticks >> 32) as u32, ticks as u32, data.len() as u32, wire] {
            body.extend(self.order.u32(field));
        }
        body.extend(data);
        self.block(2, &body)
    }

    pub fn simple(&mut self, data: &[u8], wire: u32) -> &mut PcapngFile {
        let mut body = self.order.u32(wire).to_vec();
        body.extend(data);
        self.block(3, &body)
    }
}

/// An ERF file under construction.
#[derive(Default)]
pub struct ErfFile {
    pub bytes: Vec<u8>,
}

impl ErfFile {
    /// A record: 64-bit stamp, type, flags, loss counter or colour, wire length, and all that follows the header.
    pub fn record(&mut self, stamp: u64, kind: u8, flags: u8, loss: u16, wire: u16, rest: &[u8]) -> &mut ErfFile {
        self.bytes.extend(stamp.to_le_bytes());
        self.bytes.extend([kind, flags]);
        for field in [16 + rest.len() as u16, loss, wire] {
            self.bytes.extend(field.to_be_bytes());
        }
        self.bytes.extend(rest);
        self
    }

    /// An Ethernet record at `nanos` of port `port`: a frame behind its two bytes of padding.
    pub fn ethernet(&mut self, nanos: u64, port: u8, data: &[u8], wire: u16) -> &mut ErfFile {
        self.record(erf_stamp(nanos), 2, 4 | port, 0, wire, &[&[0, 0], data].concat())
    }
}

/// The least 32.32 fixed-point stamp that is not before `nanos`.
pub fn erf_stamp(nanos: u64) -> u64 {
    (nanos / 1_000_000_000) << 32 | ((nanos % 1_000_000_000) << 32).div_ceil(1_000_000_000)
}

/// A snoop file under construction.
pub struct SnoopFile {
    pub bytes: Vec<u8>,
}

impl SnoopFile {
    pub fn new(link: u32) -> SnoopFile {
        SnoopFile { bytes: [b"snoop\0\0\0", &2u32.to_be_bytes()[..], &link.to_be_bytes()].concat() }
    }

    /// A record, padded to a multiple of four, after `drops` losses in all.
    pub fn packet(&mut self, nanos: u64, data: &[u8], wire: u32, drops: u32) -> &mut SnoopFile {
        let length = (24 + data.len().next_multiple_of(4)) as u32;
        self.record([wire, data.len() as u32, length, drops], nanos, data);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0xee);
        self
    }

    pub fn record(&mut self, lengths: [u32; 4], nanos: u64, data: &[u8]) -> &mut SnoopFile {
        for field in lengths.into_iter().chain([(nanos / 1_000_000_000) as u32, (nanos % 1_000_000_000 / 1_000) as u32])
        {
            self.bytes.extend(field.to_be_bytes());
        }
        self.bytes.extend(data);
        self
    }
}

/// What a test compares of a packet: time, link, captured bytes, wire length, direction, input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub nanos: u64,
    pub link: LinkType,
    pub bytes: Vec<u8>,
    pub wire: u32,
    pub from: Option<LinkSide>,
    pub input: usize,
}

impl Seen {
    pub fn new(nanos: u64, bytes: &[u8]) -> Seen {
        let wire = bytes.len() as u32;
        Seen { nanos, link: LinkType::Ethernet, bytes: bytes.to_vec(), wire, from: None, input: 0 }
    }
}

/// A reader that hands out at most `0` bytes at a time, as a slow pipe does.
pub struct Trickle(pub Cursor<Vec<u8>>, pub usize);

impl Read for Trickle {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = into.len().min(self.1);
        self.0.read(&mut into[..most])
    }
}

/// Opens made captures, named `0`, `1`, ... .
pub fn open(files: &[&[u8]], options: Options) -> Result<Captures, CaptureError> {
    let reader = |bytes: &&[u8]| Box::new(Cursor::new(bytes.to_vec())) as Box<dyn Read + Send>;
    let readers = files.iter().enumerate().map(|(index, bytes)| (index.to_string(), reader(bytes)));
    Captures::from_readers(readers.collect(), options)
}

/// All packets of open captures, what is known of the inputs, and the error that ended it if one did.
pub fn drain(mut captures: Captures) -> (Vec<Seen>, Vec<InputFacts>, Option<CaptureError>) {
    let mut seen = Vec::new();
    let error = loop {
        match captures.next_packet() {
            Ok(Some(packet)) => seen.push(Seen {
                nanos: packet.time.as_nanos(),
                link: packet.link,
                bytes: packet.bytes.to_vec(),
                wire: packet.wire_length,
                from: packet.from,
                input: packet.input,
            }),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    if error.is_some() {
        assert!(matches!(captures.next_packet(), Ok(None)), "an error is the end");
    }
    (seen, captures.inputs().to_vec(), error)
}

/// All packets of one made capture that must read without error.
pub fn read(bytes: &[u8]) -> (Vec<Seen>, InputFacts) {
    let (seen, mut facts, error) = drain(open(&[bytes], Options::default()).expect("opens"));
    assert!(error.is_none(), "{error:?}");
    (seen, facts.remove(0))
}

/// The error that opening or reading one made capture ends with.
pub fn fails(bytes: &[u8]) -> CaptureError {
    match open(&[bytes], Options { truncation: Truncation::Refuse, ..Options::default() }) {
        Err(error) => error,
        Ok(captures) => drain(captures).2.expect("an error"),
    }
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(bytes, 1).expect("memory")
}

/// xz in blocks of a few hundred bytes, as `xz -T` makes them of a large file.
pub fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut options = lzma_rust2::XzOptions::with_preset(1);
    options.set_block_size(std::num::NonZeroU64::new(300));
    let mut writer = lzma_rust2::XzWriter::new(Vec::new(), options).expect("options");
    writer.write_all(bytes).expect("memory");
    writer.finish().expect("memory")
}

/// An Ethernet frame with IPv4 and TCP, `payload` bytes of which none are in it.
pub fn frame(payload: u16) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    frame.extend([0x45, 0]);
    frame.extend((40 + payload).to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 172, 16, 0, 1]);
    frame.extend([0x80, 0, 3, 255, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
    frame
}
