//! What a file is, from its first bytes.

use super::erf;
use super::error::CaptureErrorKind;
use super::snoop::SNOOP;

/// How many bytes [`look`] wants to see, at least.
pub(super) const HEAD_BYTES: usize = 64;

/// The containers that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Container {
    Pcap,
    Pcapng,
    Erf,
    Snoop,
}

/// pcap in microseconds and in nanoseconds, as a big-endian host writes it.
pub(super) const PCAP_MICROSECONDS: u32 = 0xa1b2_c3d4;
pub(super) const PCAP_NANOSECONDS: u32 = 0xa1b2_3c4d;
/// pcapng's Section Header Block type, the same in both byte orders.
pub(super) const PCAPNG: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

/// Magic numbers of formats that are known and not read.
const NOT_READ: [(&[u8], &str); 11] = [
    // Kuznetzov's modified pcap has 24-byte record headers; reading it as pcap would give nonsense.
    (&[0xa1, 0xb2, 0xcd, 0x34], "modified pcap (Kuznetzov's, magic a1b2cd34)"),
    (&[0x34, 0xcd, 0xb2, 0xa1], "modified pcap (Kuznetzov's, magic a1b2cd34)"),
    (&[0x1c, 0x00, 0x01, 0xac], "IXIA's pcap variant"),
    (&[0xac, 0x01, 0x00, 0x1c], "IXIA's pcap variant"),
    (&[0x1c, 0x00, 0x01, 0xab], "IXIA's pcap variant"),
    (&[0xab, 0x01, 0x00, 0x1c], "IXIA's pcap variant"),
    (b"BZh", "a bzip2 file"),
    (&[0x04, 0x22, 0x4d, 0x18], "an lz4 file"),
    (b"GMBU", "a Microsoft Network Monitor capture"),
    (b"RTSS", "a Microsoft Network Monitor capture"),
    (b"XCP\0", "a Sniffer capture"),
];

/// Magic numbers of what people give by mistake.
const OTHER: [(&[u8], &str); 6] = [
    (b"PAR1", "it is a Parquet file, perhaps a workload"),
    (b"PK\x03\x04", "it is a zip archive"),
    (b"7z\xbc\xaf\x27\x1c", "it is a 7-Zip archive"),
    (b"\x7fELF", "it is a program"),
    (b"%PDF", "it is a PDF"),
    (b"\x89PNG", "it is a picture"),
];

/// The container that begins with `head`, the first [`HEAD_BYTES`] of the file, more, or all of it.
pub(super) fn look(head: &[u8]) -> Result<Container, CaptureErrorKind> {
    let Some(magic) = head.first_chunk::<4>() else {
        return Err(if head.is_empty() { CaptureErrorKind::Empty } else { not_a_capture(head) });
    };
    if *magic == PCAPNG {
        return Ok(Container::Pcapng);
    }
    for number in [u32::from_be_bytes(*magic), u32::from_le_bytes(*magic)] {
        if number == PCAP_MICROSECONDS || number == PCAP_NANOSECONDS {
            return Ok(Container::Pcap);
        }
    }
    if head.starts_with(SNOOP) {
        return Ok(Container::Snoop);
    }
    if let Some((_, name)) = NOT_READ.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Err(CaptureErrorKind::NotRead(name));
    }
    // Text can have any numbers in it, those of an ERF record too.
    if erf::is_erf(head) && as_text(head).is_none() { Ok(Container::Erf) } else { Err(not_a_capture(head)) }
}

fn not_a_capture(head: &[u8]) -> CaptureErrorKind {
    let text = if let Some((_, what)) = OTHER.iter().find(|(magic, _)| head.starts_with(magic)) {
        (*what).to_string()
    } else if let Some(text) = as_text(head) {
        let lower = text.to_ascii_lowercase();
        if lower.starts_with("<!doctype html") || lower.starts_with("<html") {
            "it is an HTML page, perhaps a download that failed".to_string()
        } else if let Some(what) = text_of_other_command(head) {
            what.to_owned()
        } else {
            format!("it is text that begins \"{}\"", text.lines().next().unwrap_or_default().trim_end())
        }
    } else {
        let bytes: Vec<String> = head.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        format!("it begins with the bytes {}", bytes.join(" "))
    };
    CaptureErrorKind::NotACapture(text)
}

/// What a text is that another command reads, and which.
fn text_of_other_command(head: &[u8]) -> Option<&'static str> {
    /// Of a text only so much is looked at.
    const BEGINNING: usize = 4096;
    let text = String::from_utf8_lossy(&head[..head.len().min(BEGINNING)]);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let first = lines.next()?.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    if text.contains("<harpoon_plugins") {
        Some(
            "it is a configuration of Harpoon, which an experiment reads: workload.model = { kind = \"harpoon\", config = FILE }",
        )
    } else if text.contains("PackMime") {
        Some(
            "it is a script for PackMime of ns-2, whose parameters an experiment takes: workload.model = { kind = \"packmime\" }",
        )
    } else if ["cluster", "parallel", "serial", "test"].contains(&first) && text.contains('{') {
        Some("it looks like a script of NetSpec, which `flowloom lab run` and `flowloom lab check` read")
    } else {
        None
    }
}

/// The first 40 or so characters, if the first [`HEAD_BYTES`] are text.
fn as_text(head: &[u8]) -> Option<String> {
    let head = &head[..head.len().min(HEAD_BYTES)];
    // The last character may be cut.
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => std::str::from_utf8(&head[..error.valid_up_to()]).ok()?,
        Err(_) => return None,
    };
    let text = text.trim_start();
    let printable = |c: char| !c.is_control() || c.is_ascii_whitespace();
    (!text.is_empty() && text.chars().all(printable)).then(|| text.chars().take(40).collect())
}
