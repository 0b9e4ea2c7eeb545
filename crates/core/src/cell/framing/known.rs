//! Framings by name.

use super::stack::Step;

/// A framing that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// As it is written.
    pub name: &'static str,
    /// What it does to the length.
    pub shape: Shape,
    /// What its bytes are.
    pub meaning: &'static str,
    /// Where that stands.
    pub source: &'static str,
}

/// What a known framing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Bytes around a unit.
    Around(&'static [Step]),
    /// Cells of `payload` bytes and `overhead`.
    Cells {
        /// Bytes of the frame.
        payload: u32,
        /// Header and adaptation.
        overhead: u32,
    },
}

/// A stack that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedStack {
    /// The name.
    pub name: &'static str,
    /// What it stands for.
    pub written: &'static str,
}

/// The published stacks (Cáceres 1992, chapter 5).
pub const NAMED_STACKS: [NamedStack; 3] = [
    NamedStack { name: "smds-802.6", written: "smds+aal34" },
    NamedStack { name: "xfrs-none", written: "xfrs+atm" },
    NamedStack { name: "none-sar", written: "sar" },
];

const fn around(name: &'static str, steps: &'static [Step], meaning: &'static str, source: &'static str) -> Known {
    Known { name, shape: Shape::Around(steps), meaning, source }
}

const fn cells(name: &'static str, payload: u32, overhead: u32, meaning: &'static str, source: &'static str) -> Known {
    Known { name, shape: Shape::Cells { payload, overhead }, meaning, source }
}

use Step::{Add, Least, Multiple, Trailer};

/// All of them: what datagrams are put into, tunnels, links, cells.
pub const KNOWN: &[Known] = &[
    around("udp", &[Add(8)], "header 8", "RFC 768"),
    around("ipv4", &[Add(20)], "header 20", "RFC 791"),
    around("ipv6", &[Add(40)], "header 40", "RFC 8200 section 3"),
    around("gre", &[Add(4)], "header 4", "RFC 2784 section 2"),
    around("gre-key", &[Add(8)], "header with key 8", "RFC 2890 section 2"),
    around("vxlan", &[Add(8)], "header 8; the frame inside is mac", "RFC 7348 section 5"),
    around("geneve", &[Add(8)], "header without options 8; the frame inside is mac", "RFC 8926 section 3.4"),
    around("gtp-u", &[Add(8)], "header 8", "3GPP TS 29.281 section 5.1"),
    around(
        "gtp-u-5g",
        &[Add(16)],
        "header 8, optional fields 4, PDU session container 4",
        "3GPP TS 29.281 section 5.1, TS 38.415 section 5.5.2",
    ),
    around("wireguard", &[Multiple(16), Add(32)], "padding to 16, header 16, tag 16", "Donenfeld 2017, section 5.4.6"),
    around(
        "esp-gcm",
        &[Add(2), Multiple(4), Add(32)],
        "pad length and next header 2, padding to 4, SPI and sequence number 8, IV 8, ICV 16",
        "RFC 4303 section 2, RFC 4106",
    ),
    around(
        "esp-cbc",
        &[Add(2), Multiple(16), Add(40)],
        "pad length and next header 2, padding to 16, SPI and sequence number 8, IV 16, ICV 16 (HMAC-SHA-256-128)",
        "RFC 4303 section 2, RFC 3602, RFC 4868",
    ),
    around("mpls", &[Add(4)], "label 4", "RFC 3032 section 2.1"),
    around("pppoe", &[Add(8)], "header 6, PPP protocol 2", "RFC 2516 section 4, RFC 1661 section 2"),
    around("vlan", &[Add(4)], "tag 4", "IEEE 802.1Q clause 9"),
    around("mac", &[Add(14)], "Ethernet header 14 without check sequence: a frame in a tunnel", "RFC 7348 section 5"),
    around("ethernet", &[Least(46), Add(18)], "padding to 46, header 14, check sequence 4", "IEEE 802.3 clause 3"),
    around("gap", &[Add(20)], "preamble and delimiter 8, gap 12", "IEEE 802.3 clauses 3.1 and 4.4.2"),
    around("gem", &[Add(5)], "G-PON: header 5 for each frame", "ITU-T G.984.3 clause 8.3"),
    around(
        "xgem",
        &[Multiple(4), Add(8)],
        "XG-PON and XGS-PON: padding to 4, header 8 for each frame",
        "ITU-T G.987.3 clause 9.1",
    ),
    around("docsis", &[Add(6)], "MAC header 6 without extended header", "CableLabs MULPI, MAC frame format"),
    around("smds", &[Add(28)], "IEEE 802.6: headers 24, trailer 4", "Cáceres 1992, chapter 5 (methods H.1)"),
    around(
        "xfrs",
        &[Trailer { align: 8, bytes: 12 }],
        "alignment to 8, trailer 12 wholly in the last cell",
        "Cáceres 1992, chapter 5 (methods H.1)",
    ),
    around("llc-snap", &[Add(8)], "routed: LLC 3, OUI 3, PID 2", "RFC 2684 section 5.1"),
    around("llc-bridged", &[Add(10)], "bridged: LLC 3, OUI 3, PID 2, padding 2", "RFC 2684 section 5.2"),
    around("aal5", &[Add(8)], "trailer 8 at the end of the last cell", "ITU-T I.363.5, RFC 2684 section 4"),
    cells("atm", 48, 5, "cells of 48 and header 5", "ITU-T I.361"),
    cells("aal34", 44, 9, "cells of 44, header 5, adaptation 4", "ITU-T I.363.3, IEEE 802.6"),
    cells("sar", 45, 8, "cells of 45, header 5, adaptation 3", "Cáceres 1992, chapter 5 (methods H.1)"),
];
