//! All of extraction in one thread.

use crate::time::Time;
use crate::wire::{Datagram, Segment};
use crate::workload::ConnectionVector;

use super::counts::{Counts, Tally, TrafficSeries};
use super::front::{Front, Packet};
use super::key::PARTS;
use super::merger::Merger;
use super::options::Options;
use super::part::{Finished, Part};

/// Segments and datagrams of a capture in, connection vectors out.
///
/// Hand in every TCP segment with [`handle_segment`](Self::handle_segment), every UDP datagram with
/// [`handle_datagram`](Self::handle_datagram), in the order of the capture, and after
/// each (or after some) take what is ready with [`poll_vector`](Self::poll_vector) until it returns nothing. Call
/// [`finish`](Self::finish) after the last one, and poll once more. Vectors come in the order of their starts, so
/// those that ended before an earlier one wait for it.
///
/// Times are the capture's. They may run backwards: no connection is split by that, no wait negative.
///
/// It is a [`Front`], the [`Part`]s and a [`Merger`], which may also be driven by several threads, with the same result.
#[derive(Debug)]
pub struct Extractor {
    front: Front,
    /// Packets of this round.
    of_parts: Vec<Vec<Packet>>,
    parts: Vec<Part>,
    merger: Merger,
    tally: Tally,
}

impl Extractor {
    /// An extractor that has seen nothing.
    pub fn new(options: Options) -> Extractor {
        Extractor {
            front: Front::new(&options),
            of_parts: vec![Vec::new(); PARTS],
            parts: Part::all(&options),
            merger: Merger::new(&options),
            tally: Tally::default(),
        }
    }

    /// Says when the capture begins, if its first packet is neither (methods A.9). Later calls change nothing.
    pub fn begin(&mut self, time: Time) {
        self.front.begin(time);
    }

    /// Takes in a segment that passed at `time` on the capture's clock.
    #[inline]
    pub fn handle_segment(&mut self, time: Time, segment: &Segment) {
        self.front.handle_segment(time, segment, &mut self.of_parts);
        self.advance();
    }

    /// Takes in a datagram that passed at `time` on the capture's clock.
    #[inline]
    pub fn handle_datagram(&mut self, time: Time, datagram: &Datagram) {
        self.front.handle_datagram(time, datagram, &mut self.of_parts);
        self.advance();
    }

    /// Takes the parts through the round, if it is over.
    #[inline]
    fn advance(&mut self) {
        let Some(round) = self.front.round() else { return };
        for (part, packets) in self.parts.iter_mut().zip(&mut self.of_parts) {
            part.handle_all(packets, &mut self.tally);
            packets.clear();
            part.end_round(&round, &mut self.tally);
            self.merger.take(part.report());
        }
    }

    /// The capture is over: ends every connection.
    pub fn finish(&mut self) {
        self.front.finish(&mut self.of_parts);
        for (part, packets) in self.parts.iter_mut().zip(&mut self.of_parts) {
            part.handle_all(packets, &mut self.tally);
            packets.clear();
            part.finish(&mut self.tally);
            self.merger.take(part.report());
        }
        self.tally.series.settle(self.merger.peak_bytes());
    }

    /// The next vector in the order of starts.
    pub fn poll_vector(&mut self) -> Option<ConnectionVector> {
        loop {
            let finished = self.poll_finished()?;
            if finished.vector.id != u64::MAX {
                return Some(finished.vector);
            }
        }
    }

    /// The next finished connection in the order of starts, with its addresses; those set aside only if
    /// [`Options::keep_set_aside`] says so.
    pub fn poll_finished(&mut self) -> Option<Finished> {
        self.merger.poll()
    }

    /// What was counted so far; complete after [`finish`](Self::finish).
    pub fn counts(&self) -> Counts {
        self.front.counts().plus(&self.tally.counts)
    }

    /// Traffic by time; complete after [`finish`](Self::finish).
    pub fn series(&self) -> &TrafficSeries {
        &self.tally.series
    }

    /// Connections and flows that are open or may still change, without the packets of the last moments.
    pub fn live(&self) -> usize {
        self.parts.iter().map(Part::live).sum()
    }

    /// Bytes that they take in memory.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(Part::bytes).sum()
    }
}
