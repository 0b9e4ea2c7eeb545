//! Packets of scripts and segments of the endpoint, in one form.

use std::fmt;
use std::num::{NonZeroU16, NonZeroU32};

use flowloom_core::tcp::{SackBlocks, Segment, Timestamps};
use flowloom_core::wire::{Ecn, Flags};

use super::script::{EcnField, Options, Packet};

/// Flags in the order in which they are written.
const LETTERS: [(u8, char); 7] = [
    (Flags::SYN, 'S'),
    (Flags::FIN, 'F'),
    (Flags::RST, 'R'),
    (Flags::PSH, 'P'),
    (Flags::ECE, 'E'),
    (Flags::CWR, 'W'),
    (Flags::ACK, '.'),
];

/// `segment` as a script would write it. Offsets are taken modulo 2^32.
pub(super) fn written(segment: &Segment) -> Packet {
    let flags = segment.flags;
    Packet {
        ecn: Some(EcnField::Exactly(segment.ecn)),
        flags: flags.0,
        sequence: segment.sequence as u32,
        payload_bytes: segment.payload_bytes,
        acknowledgement: flags.ack().then_some(segment.acknowledgement as u32),
        window: Some(segment.window_field()),
        options: Some(Options {
            mss: segment.mss.map(NonZeroU16::get),
            window_scale: segment.window_scale,
            sack_permitted: segment.sack_permitted,
            sack: segment.sack_blocks().map(|(start, end)| (start as u32, end as u32)).collect(),
            timestamps: segment.timestamps.map(|timestamps| (timestamps.value.get(), timestamps.echo)),
        }),
    }
}

impl Packet {
    /// The segment that arrives, its window shifted by `shift`.
    ///
    /// # Errors
    /// What of it the simulator's segments cannot hold.
    pub(super) fn segment(&self, shift: u8) -> Result<Segment, String> {
        let options = self.options.clone().unwrap_or_default();
        if options.sack.len() > SackBlocks::MOST {
            return Err(format!("a segment holds {} SACK blocks at most", SackBlocks::MOST));
        }
        let timestamps = match options.timestamps {
            Some((value, echo)) => {
                let value = NonZeroU32::new(value).ok_or("a timestamp of 0 cannot be told from none")?;
                Some(Timestamps { value, echo })
            }
            None => None,
        };
        Ok(Segment {
            sequence: u64::from(self.sequence),
            acknowledgement: u64::from(self.acknowledgement.unwrap_or(0)),
            payload_bytes: self.payload_bytes,
            window: u32::from(self.window.unwrap_or(0)) << shift,
            window_shift: shift,
            timestamps,
            sack: SackBlocks::new(options.sack.iter().map(|&(start, end)| (u64::from(start), u64::from(end)))),
            mss: options.mss.and_then(NonZeroU16::new),
            window_scale: options.window_scale.map(|shift| shift.min(14)),
            flags: Flags(self.flags),
            ecn: match self.ecn {
                Some(EcnField::Exactly(ecn)) => ecn,
                _ => Ecn::NotEct,
            },
            sack_permitted: options.sack_permitted,
        })
    }

    /// What of `sent` is not as `self` wants it; timestamps may be `ticks` off.
    pub(super) fn differences(&self, sent: &Packet, ticks: u32) -> Vec<String> {
        let mut found = Vec::new();
        let mut differ = |what: &str, expected: &dyn fmt::Display, sent: &dyn fmt::Display| {
            found.push(format!("{what} {sent} instead of {expected}"));
        };
        if self.flags != sent.flags {
            differ("flags", &Letters(self.flags), &Letters(sent.flags));
        }
        if self.sequence != sent.sequence {
            differ("sequence number", &self.sequence, &sent.sequence);
        }
        if self.payload_bytes != sent.payload_bytes {
            differ("payload", &self.payload_bytes, &sent.payload_bytes);
        }
        if self.acknowledgement != sent.acknowledgement {
            differ("acknowledgement", &Optional(self.acknowledgement), &Optional(sent.acknowledgement));
        }
        if self.window.is_some() && self.window != sent.window {
            differ("window", &Optional(self.window), &Optional(sent.window));
        }
        let ecn_is = |wanted: EcnField| match (wanted, sent.ecn) {
            (EcnField::Exactly(wanted), Some(EcnField::Exactly(is))) => wanted == is,
            (EcnField::Capable, Some(EcnField::Exactly(is))) => matches!(is, Ecn::Ect0 | Ecn::Ect1),
            _ => false,
        };
        if let Some(wanted) = self.ecn
            && !ecn_is(wanted)
        {
            differ("ECN field", &EcnName(self.ecn), &EcnName(sent.ecn));
        }
        if let (Some(wanted), Some(is)) = (&self.options, &sent.options)
            && !wanted.are(is, ticks)
        {
            differ("options", wanted, is);
        }
        found
    }
}

impl Options {
    fn are(&self, sent: &Options, ticks: u32) -> bool {
        let near = match (self.timestamps, sent.timestamps) {
            (Some((value, echo)), Some((sent_value, sent_echo))) => {
                let off = value.wrapping_sub(sent_value).min(sent_value.wrapping_sub(value));
                off <= ticks && echo == sent_echo
            }
            (wanted, is) => wanted == is,
        };
        near && Options { timestamps: None, ..self.clone() } == Options { timestamps: None, ..sent.clone() }
    }

    fn is_empty(&self) -> bool {
        *self == Options::default()
    }
}

struct Letters(u8);

impl fmt::Display for Letters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("-");
        }
        LETTERS.iter().filter(|(flag, _)| self.0 & flag != 0).try_for_each(|(_, letter)| write!(f, "{letter}"))
    }
}

struct Optional<T>(Option<T>);

impl<T: fmt::Display> fmt::Display for Optional<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(value) => value.fmt(f),
            None => f.write_str("none"),
        }
    }
}

struct EcnName(Option<EcnField>);

impl fmt::Display for EcnName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            None => "any",
            Some(EcnField::Capable) => "ect01",
            Some(EcnField::Exactly(Ecn::NotEct)) => "noecn",
            Some(EcnField::Exactly(Ecn::Ect0)) => "ect0",
            Some(EcnField::Exactly(Ecn::Ect1)) => "ect1",
            Some(EcnField::Exactly(Ecn::Ce)) => "ce",
        })
    }
}

/// `<...>` with what is set, in the order in which Linux lays options out, without padding.
impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(self.mss.map(|mss| format!("mss {mss}")));
        parts.extend(self.sack_permitted.then(|| "sackOK".to_owned()));
        parts.extend(self.timestamps.map(|(value, echo)| format!("TS val {value} ecr {echo}")));
        parts.extend(self.window_scale.map(|shift| format!("wscale {shift}")));
        if !self.sack.is_empty() {
            let blocks: Vec<_> = self.sack.iter().map(|(start, end)| format!("{start}:{end}")).collect();
            parts.push(format!("sack {}", blocks.join(" ")));
        }
        write!(f, "<{}>", parts.join(","))
    }
}

/// As a script writes it; the ECN field is left out where it is Not-ECT.
impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ecn.is_some_and(|ecn| ecn != EcnField::Exactly(Ecn::NotEct)) {
            write!(f, "[{}] ", EcnName(self.ecn))?;
        }
        let end = self.sequence.wrapping_add(self.payload_bytes);
        write!(f, "{} {}:{end}({})", Letters(self.flags), self.sequence, self.payload_bytes)?;
        if let Some(acknowledgement) = self.acknowledgement {
            write!(f, " ack {acknowledgement}")?;
        }
        if let Some(window) = self.window {
            write!(f, " win {window}")?;
        }
        match &self.options {
            None => f.write_str(" <...>"),
            Some(options) if options.is_empty() => Ok(()),
            Some(options) => write!(f, " {options}"),
        }
    }
}
