//! The ECN field of the IP header (RFC 3168, section 5).

/// What the two bits say: whether the transport understands marks, and whether a queue has set one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: congestion has to be told by dropping.
    #[default]
    NotEct = 0b00,
    /// ECN-capable, ECT(1).
    Ect1 = 0b01,
    /// ECN-capable, ECT(0): what senders set unless they know better.
    Ect0 = 0b10,
    /// Congestion experienced: a queue on the way set the mark.
    Ce = 0b11,
}

impl Ecn {
    /// The codepoint in the two low bits of an IPv4 TOS byte or IPv6 traffic class.
    pub const fn from_traffic_class(byte: u8) -> Ecn {
        match byte & 0b11 {
            0b00 => Ecn::NotEct,
            0b01 => Ecn::Ect1,
            0b10 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// The two bits.
    pub const fn bits(self) -> u8 {
        self as u8
    }

    /// Whether a queue may mark the packet instead of dropping it. One that is marked already may be marked again.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Ecn::NotEct)
    }

    /// Whether a queue has set the mark.
    pub const fn is_marked(self) -> bool {
        matches!(self, Ecn::Ce)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_low_bits_are_the_codepoint() {
        for byte in 0..=u8::MAX {
            assert_eq!(Ecn::from_traffic_class(byte).bits(), byte & 3);
        }
        let all = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
        assert_eq!(all.map(Ecn::is_capable), [false, true, true, true]);
        assert_eq!(all.map(Ecn::is_marked), [false, false, false, true]);
    }
}
