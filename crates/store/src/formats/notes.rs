//! What reading or writing a format taught beside the vectors: what was set aside, and what was not as it should be.

use std::collections::BTreeMap;

use flowloom_core::workload::{ConnectionVector, LinkSide, Protocol, Side};

use crate::workload::PayloadFacts;

/// Something a user should know about a conversion. Each says what happened and what can be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Remark {
    /// A header's count of epochs or ADUs is not that of its lines.
    CountMismatch,
    /// An ADU of zero bytes in the original spelling was taken as the close that it is in the alternate one.
    ZeroAdu,
    /// A second close of a sequential vector.
    SecondClose,
    /// A vector starts before the one above it.
    OutOfOrder,
    /// A flow record states more payload than the packets it counts and the bytes it missed could carry.
    Implausible,
    /// A flow record states bytes that its monitor missed; which end sent them is not said.
    MissedBytes,
    /// A vector without a round-trip time was written with an assumed one.
    AssumedRtt,
    /// A vector without a known window was written with 65,535 bytes.
    AssumedWindow,
    /// A vector without known losses was written as without losses.
    AssumedLossless,
    /// A vector without known waits was written with waits of zero.
    AssumedWaits,
    /// A reset was written as an ordinary close.
    ResetAsClose,
    /// A close before the other end's last data could not be written.
    HalfCloseDropped,
    /// A datagram vector was left out: the format holds TCP only.
    DatagramsLeftOut,
    /// A vector without data was left out: the format cannot hold one.
    EmptyLeftOut,
    /// An initiator on the right of the link was written as if it were on the left.
    SideLeftOut,
    /// Hosts were left out: the format holds none, or addresses only and these are numbers.
    HostsLeftOut,
    /// ADUs and waits were left out: the format holds totals.
    AdusLeftOut,
}

impl Remark {
    /// Why a format of TCP connections with data leaves `vector` out, if it does.
    pub(crate) fn for_leaving_out(vector: &ConnectionVector) -> Option<Remark> {
        match vector.protocol {
            Protocol::Tcp if vector.adus.iter().any(|adu| adu.bytes > 0) => None,
            Protocol::Tcp => Some(Remark::EmptyLeftOut),
            _ => Some(Remark::DatagramsLeftOut),
        }
    }

    /// What happened, for `count` vectors or rows.
    pub fn cause(self) -> &'static str {
        match self {
            Remark::CountMismatch => {
                "vectors have another number of epochs or ADUs than their header says; the lines count"
            }
            Remark::ZeroAdu => "vectors have an ADU of zero bytes, which was taken as a close",
            Remark::SecondClose => "vectors close twice; the first close counts",
            Remark::OutOfOrder => "vectors start before the one above them; they were sorted",
            Remark::Implausible => {
                "records state more payload than their packets and missed bytes; it was taken as stated"
            }
            Remark::MissedBytes => "records say that their monitor missed bytes, not which end sent them",
            Remark::AssumedRtt => "connections of unknown round-trip time were written with an assumed one",
            Remark::AssumedWindow => "connections of unknown windows were written with 65,535 bytes",
            Remark::AssumedLossless => "connections of unknown losses were written as without losses",
            Remark::AssumedWaits => "connections of unknown waits were written with waits of zero",
            Remark::ResetAsClose => "connections that a reset ended were written as closed",
            Remark::HalfCloseDropped => {
                "connections closed one way before the other end's last data, and that close was left out"
            }
            Remark::DatagramsLeftOut => "datagram vectors were left out: the format holds TCP connections only",
            Remark::EmptyLeftOut => "connections without data were left out: the format cannot hold them",
            Remark::SideLeftOut => {
                "connections opened from the right of the link were written like those from the left"
            }
            Remark::HostsLeftOut => "connections lost their hosts: the format holds none, or addresses and no numbers",
            Remark::AdusLeftOut => "connections of several ADUs or with known waits were written as their totals",
        }
    }

    /// What can be done about it.
    pub fn remedy(self) -> &'static str {
        match self {
            Remark::CountMismatch => "look at the first one: the file may have been cut or edited",
            Remark::ZeroAdu | Remark::SecondClose => "nothing, if that is what was meant",
            Remark::OutOfOrder => "nothing: files of other tools are often in the order of the ends of connections",
            Remark::Implausible | Remark::MissedBytes => "extract from the capture itself, if there is one",
            Remark::AssumedRtt => "--rtt TIME assumes another one",
            Remark::AssumedWindow
            | Remark::AssumedLossless
            | Remark::AssumedWaits
            | Remark::ResetAsClose
            | Remark::HalfCloseDropped
            | Remark::DatagramsLeftOut
            | Remark::EmptyLeftOut
            | Remark::SideLeftOut
            | Remark::HostsLeftOut
            | Remark::AdusLeftOut => "write .parquet or .jsonl, which hold everything that is known",
        }
    }
}

/// How often something happened, and where first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrences {
    /// How often.
    pub count: u64,
    /// The line of the first one; 0 where there are no lines.
    pub first_line: u64,
}

/// Everything worth saying about one input or output.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Notes {
    /// Vectors handed out or written.
    pub vectors: u64,
    /// Rows set aside, by reason.
    pub set_aside: BTreeMap<&'static str, u64>,
    /// What was not as it should be.
    pub remarks: BTreeMap<Remark, Occurrences>,
    /// What the capture that the vectors are of lacked, where the file says it beside them.
    pub payload: Option<PayloadFacts>,
}

impl Notes {
    /// Counts `remark` at `line`.
    pub(crate) fn remark(&mut self, remark: Remark, line: u64) {
        self.remarks.entry(remark).or_insert(Occurrences { count: 0, first_line: line }).count += 1;
    }

    /// Counts what a format without sides of the link and without hosts loses of `vector`.
    pub(crate) fn without_places(&mut self, vector: &ConnectionVector) {
        if vector.initiator_side == LinkSide::Right {
            self.remark(Remark::SideLeftOut, 0);
        }
        if Side::BOTH.iter().any(|side| vector.ends[*side].host.is_some()) {
            self.remark(Remark::HostsLeftOut, 0);
        }
    }

    /// Counts a row set aside for `reason`.
    pub(crate) fn set_aside(&mut self, reason: &'static str) {
        *self.set_aside.entry(reason).or_default() += 1;
    }

    /// How often `remark` was made.
    pub fn count(&self, remark: Remark) -> u64 {
        self.remarks.get(&remark).map_or(0, |found| found.count)
    }
}
