//! Parts of a workload that was cut like a trace, for the question which of them makes packets long-range dependent: shares of its
//! connections, and what is left of all of them without their sizes, their waits or their starts.

use std::cmp::Reverse;
use std::fmt;
use std::path::Path;

use flowloom::load_json;
use flowloom_core::play::open_for;
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{Adu, Close, ConnectionVector, LinkSide, Side};
use flowloom_models::{LoadMeter, Structure};
use flowloom_store::formats::{Sorter, Tally};
use flowloom_store::workload::{CaptureFacts, TrafficFacts, WorkloadReader, WorkloadWriter};
use serde_json::json;

/// The share of the connections that the longest and the largest are, in percent.
pub const TOP_PERCENT: usize = 30;

/// The round-trip time of a connection that states none; those of the reference workloads all do.
const UNKNOWN_RTT: Duration = Duration::from_millis(100);

/// What is left of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// The [`TOP_PERCENT`] of its connections that are open for longest.
    Longest,
    /// The others.
    Shorter,
    /// The [`TOP_PERCENT`] of its connections with the most payload.
    Largest,
    /// The others.
    Smaller,
    /// Starts alone: every connection that begins inside exchanges the mean sizes at its own start. All bytes of the workload are in it.
    Starts,
    /// Starts and waits: data units of an end all have their mean size.
    Times,
    /// Sizes alone: every connection sends its bytes in one exchange, and starts in a Poisson process.
    Sizes,
    /// Neither: the mean sizes in a Poisson process, which has no memory.
    Neither,
}

impl Part {
    /// All of them.
    pub const ALL: [Part; 9] = [
        Part::Whole,
        Part::Longest,
        Part::Shorter,
        Part::Largest,
        Part::Smaller,
        Part::Starts,
        Part::Times,
        Part::Sizes,
        Part::Neither,
    ];

    /// Its name in names of files and in rows.
    pub const fn name(self) -> &'static str {
        match self {
            Part::Whole => "whole",
            Part::Longest => "longest",
            Part::Shorter => "shorter",
            Part::Largest => "largest",
            Part::Smaller => "smaller",
            Part::Starts => "starts",
            Part::Times => "times",
            Part::Sizes => "sizes",
            Part::Neither => "neither",
        }
    }

    /// Whether connections start in a Poisson process, instead of when they did.
    const fn is_poisson(self) -> bool {
        matches!(self, Part::Sizes | Part::Neither)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What must be known of all connections before the first is changed.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    length: Duration,
    /// How long each connection is open, in nanoseconds, at most to the end of the workload.
    lasts: Vec<u64>,
    /// The payload of each.
    bytes: Vec<u64>,
    /// By the side of the link that initiators are on.
    from: [Totals; 2],
}

/// Sums over the connections whose initiators are on one side.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    /// Connections that begin inside.
    begun: u64,
    /// Payload of initiators and of acceptors.
    bytes: [u64; 2],
    /// Their data units.
    adus: [u64; 2],
}

impl Survey {
    /// Of no connection yet of a workload of this length.
    pub fn new(length: Duration) -> Survey {
        Survey { length, ..Survey::default() }
    }

    /// Takes the next one into account.
    pub fn add(&mut self, vector: &ConnectionVector) {
        let left = (Time::ZERO + self.length).since(vector.start);
        let lasts = open_for(vector, UNKNOWN_RTT).map_or(left, |open| open.min(left));
        self.lasts.push(lasts.as_nanos());
        self.bytes.push(Side::BOTH.map(|side| vector.bytes(side)).iter().sum());
        let totals = &mut self.from[vector.initiator_side as usize];
        totals.begun += u64::from(!vector.opened_before());
        for adu in &vector.adus {
            totals.bytes[adu.side as usize] += adu.bytes;
            totals.adus[adu.side as usize] += 1;
        }
    }

    /// Changes connections into those of `part`, in the order in which they were taken into account.
    pub fn changed_into(&self, part: Part, seed: u64) -> Changed {
        let chosen = match part {
            Part::Longest | Part::Shorter => Some(top(&self.lasts)),
            Part::Largest | Part::Smaller => Some(top(&self.bytes)),
            _ => None,
        };
        let by_ends = |of: fn(&Totals, usize) -> u64| {
            self.from.map(|totals| [0, 1].map(|end| Spread::new(totals.bytes[end], of(&totals, end))))
        };
        Changed {
            part,
            length: self.length,
            chosen,
            exchanges: by_ends(|totals, _| totals.begun),
            adus: by_ends(|totals, end| totals.adus[end]),
            starts: Stream::new(seed, Purpose::Starts, 0),
            next: 0,
        }
    }
}

/// Which of the values are among the largest [`TOP_PERCENT`]; of equal ones the first.
fn top(values: &[u64]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by_key(|place| (Reverse(values[*place]), *place));
    let mut is_top = vec![false; values.len()];
    let most = (values.len() * TOP_PERCENT + 50) / 100;
    order.iter().take(most).for_each(|place| is_top[*place] = true);
    is_top
}

/// A number of bytes in so many parts that differ by a byte at most.
#[derive(Clone, Copy, Debug)]
struct Spread {
    bytes: u64,
    parts: u64,
    given: u64,
}

impl Spread {
    fn new(bytes: u64, parts: u64) -> Spread {
        Spread { bytes, parts, given: 0 }
    }

    fn next(&mut self) -> u64 {
        let up_to = |part: u64| u128::from(self.bytes) * u128::from(part) / u128::from(self.parts.max(1));
        let share = up_to(self.given + 1) - up_to(self.given);
        self.given += 1;
        share as u64
    }
}

/// Makes the connections of a part.
#[derive(Debug)]
pub struct Changed {
    part: Part,
    length: Duration,
    chosen: Option<Vec<bool>>,
    /// Mean sizes of exchanges, by the initiator's side and the end.
    exchanges: [[Spread; 2]; 2],
    /// Those of data units.
    adus: [[Spread; 2]; 2],
    starts: Stream,
    next: usize,
}

impl Changed {
    /// What becomes of the next connection; `None` if it is not in the part.
    pub fn change(&mut self, mut vector: ConnectionVector) -> Option<ConnectionVector> {
        let (place, side) = (self.next, vector.initiator_side as usize);
        self.next += 1;
        let is_chosen = self.chosen.as_ref().is_none_or(|chosen| chosen[place]);
        let mut changed = match self.part {
            Part::Whole => vector,
            Part::Longest | Part::Largest if is_chosen => vector,
            Part::Shorter | Part::Smaller if !is_chosen => vector,
            Part::Longest | Part::Largest | Part::Shorter | Part::Smaller => return None,
            Part::Starts | Part::Neither if vector.opened_before() => return None,
            Part::Starts | Part::Neither => {
                let [request, response] = &mut self.exchanges[side];
                exchange(vector, [request.next(), response.next()])?
            }
            Part::Times => {
                for adu in &mut vector.adus {
                    adu.bytes = self.adus[side][adu.side as usize].next();
                }
                vector
            }
            Part::Sizes => Structure::BlockSequential.apply(vector).next()?,
        };
        if self.part.is_poisson() {
            let start = self.starts.below(self.length.as_nanos().max(1));
            changed.start = Time::ZERO + Duration::from_nanos(start);
        }
        Some(changed)
    }
}

/// One request and one response of these sizes in the place of all that `vector` does.
fn exchange(vector: ConnectionVector, [request, response]: [u64; 2]) -> Option<ConnectionVector> {
    let mut vector = Structure::BlockSequential.apply(vector).next()?;
    let adu = |side: Side, bytes: u64| Adu {
        side,
        bytes,
        missing_bytes: 0,
        wait: (side == Side::Initiator).then_some(Duration::ZERO),
        waiter: Side::Acceptor,
        seen: None,
        packets: None,
    };
    vector.adus = vec![adu(Side::Initiator, request), adu(Side::Acceptor, response)];
    vector.close = Close::Fin(Side::Acceptor);
    Some(vector)
}

/// What a first pass over the workload in `path` learns.
///
/// # Errors
/// It cannot be read.
pub fn survey(path: &Path) -> Result<Survey, String> {
    let reader = WorkloadReader::open(path).map_err(|error| error.to_string())?;
    let mut survey = Survey::new(Duration::from_nanos(reader.facts().capture.duration_ns));
    for vector in reader {
        survey.add(&vector.map_err(|error| error.to_string())?);
    }
    Ok(survey)
}

/// Writes a part of the workload in `from` to `target`.
///
/// # Errors
/// One of the two files cannot be read or written.
pub fn write(from: &Path, survey: &Survey, part: Part, seed: u64, target: &Path) -> Result<(), String> {
    let failed = |error: &dyn fmt::Display| format!("{}: {error}", target.display());
    // Errors of the reader name their file.
    let reader = WorkloadReader::open(from).map_err(|error| error.to_string())?;
    let mut provenance = reader.facts().provenance.clone();
    let mut changed = survey.changed_into(part, seed);
    let mut writer = WorkloadWriter::create(target).map_err(|error| failed(&error))?;
    let (mut tally, mut meter, mut id) = (Tally::default(), LoadMeter::new(survey.length), 0);
    let mut put = |mut vector: ConnectionVector| {
        vector.id = id;
        id += 1;
        tally.add(&vector);
        meter.add(&vector);
        writer.write_owned(vector).map_err(|error| failed(&error))
    };
    let mut sorter = Sorter::in_folder(target.parent().unwrap_or(Path::new(".")));
    for vector in reader {
        match changed.change(vector.map_err(|error| error.to_string())?) {
            Some(vector) if part.is_poisson() => sorter.push(vector).map_err(|error| failed(&error))?,
            Some(vector) => put(vector)?,
            None => {}
        }
    }
    for vector in sorter.finish(Time::ZERO).map_err(|error| failed(&error))? {
        put(vector.map_err(|error| failed(&error))?)?;
    }
    let load = meter.finish();
    provenance.options.insert("part".to_owned(), json!(part.name()));
    provenance.options.insert("load".to_owned(), load_json(&load));
    // It counts the connections of the whole.
    provenance.options.remove("trace_cut");
    let facts = tally.facts(Time::ZERO, provenance, &[]);
    let offered = [LinkSide::Left, LinkSide::Right].map(|side| load.from[side as usize].wire);
    let capture =
        CaptureFacts { duration_ns: load.duration.as_nanos(), offered_link_bytes: Some(offered), ..facts.capture };
    writer.finish(facts.provenance, capture, &TrafficFacts::default()).map(drop).map_err(|error| failed(&error))
}

#[cfg(test)]
mod tests {
    use flowloom_core::workload::InitiatorRule;

    use super::*;

    const SECS: fn(u64) -> Duration = Duration::from_secs;
    /// How long the workload is.
    const LENGTH: Duration = Duration::from_secs(100);

    /// Starts, waits between request and response, and payload of ten connections. The longest three by hand: 6 (it starts at 60 s and is not
    /// closed, so that it lasts for 40 s), 3 (30 s) and 8 (20 s); 0 is not closed either, and starts too late to be among them. The largest:
    /// 1 (9,000), 8 (8,000), and 4 before 7 (both 5,000).
    const CONNECTIONS: [(u64, u64, [u64; 2]); 10] = [
        (95, 0, [100, 200]),
        (1, 1, [1_000, 8_000]),
        (2, 2, [100, 300]),
        (3, 30, [10, 20]),
        (4, 1, [2_000, 3_000]),
        (5, 3, [1, 2]),
        (60, 1, [70, 80]),
        (7, 4, [4_000, 1_000]),
        (8, 20, [3_000, 5_000]),
        (9, 5, [500, 600]),
    ];

    fn workload() -> Vec<ConnectionVector> {
        let adu = |side, bytes, wait| Adu {
            side,
            bytes,
            missing_bytes: 0,
            wait,
            waiter: Side::Acceptor,
            seen: None,
            packets: None,
        };
        let of = |(id, (start, wait, [request, response])): (usize, (u64, u64, [u64; 2]))| ConnectionVector {
            id: id as u64,
            start: Time::ZERO + SECS(start),
            initiator_side: if id % 2 == 0 { LinkSide::Left } else { LinkSide::Right },
            // Connection 2 was in progress.
            initiator_rule: if id == 2 { InitiatorRule::Cut } else { InitiatorRule::Syn },
            stated_rtt: Some(Duration::from_millis(100)),
            close: if [0, 6].contains(&id) { Close::NotSeen } else { Close::Fin(Side::Acceptor) },
            adus: vec![adu(Side::Initiator, request, Some(SECS(wait))), adu(Side::Acceptor, response, None)],
            ..ConnectionVector::default()
        };
        CONNECTIONS.into_iter().enumerate().map(of).collect()
    }

    fn part(part: Part, seed: u64) -> Vec<ConnectionVector> {
        let mut survey = Survey::new(LENGTH);
        workload().iter().for_each(|vector| survey.add(vector));
        let mut changed = survey.changed_into(part, seed);
        workload().into_iter().filter_map(|vector| changed.change(vector)).collect()
    }

    /// Payload from each side of the link.
    fn bytes(vectors: &[ConnectionVector]) -> [u64; 2] {
        let from = |link: LinkSide| {
            let of = |vector: &ConnectionVector| {
                let side = if vector.initiator_side == link { Side::Initiator } else { Side::Acceptor };
                vector.bytes(side)
            };
            vectors.iter().map(of).sum()
        };
        [LinkSide::Left, LinkSide::Right].map(from)
    }

    fn ids(vectors: &[ConnectionVector]) -> Vec<u64> {
        vectors.iter().map(|vector| vector.id).collect()
    }

    #[test]
    fn the_longest_and_the_largest_three_of_ten() {
        assert_eq!(ids(&part(Part::Longest, 1)), [3, 6, 8]);
        assert_eq!(ids(&part(Part::Shorter, 1)), [0, 1, 2, 4, 5, 7, 9]);
        assert_eq!(ids(&part(Part::Largest, 1)), [1, 4, 8]);
        assert_eq!(ids(&part(Part::Smaller, 1)), [0, 2, 3, 5, 6, 7, 9]);
        assert_eq!(part(Part::Whole, 1), workload());
    }

    #[test]
    fn bytes_of_each_direction_are_kept() {
        // Left: requests of 0, 2, 4, 6, 8 and responses of 1, 3, 5, 7, 9.
        let left = 100 + 100 + 2_000 + 70 + 3_000 + 8_000 + 20 + 2 + 1_000 + 600;
        let right = CONNECTIONS.iter().flat_map(|(.., bytes)| bytes).sum::<u64>() - left;
        for of in [Part::Whole, Part::Starts, Part::Times, Part::Sizes, Part::Neither] {
            assert_eq!(bytes(&part(of, 1)), [left, right], "{of}");
        }
        let halves = [(Part::Longest, Part::Shorter), (Part::Largest, Part::Smaller)];
        for (top, rest) in halves {
            let (top, rest) = (bytes(&part(top, 1)), bytes(&part(rest, 1)));
            assert_eq!([top[0] + rest[0], top[1] + rest[1]], [left, right]);
        }
    }

    #[test]
    fn starts_alone_exchange_the_mean_at_their_own_start() {
        let vectors = part(Part::Starts, 1);
        // Number 2 was in progress, and began before.
        assert_eq!(ids(&vectors), [0, 1, 3, 4, 5, 6, 7, 8, 9]);
        for vector in &vectors {
            let (start, ..) = CONNECTIONS[vector.id as usize];
            assert_eq!(vector.start, Time::ZERO + SECS(start));
            // Of initiators on the left four begin, which share 5,270 bytes and 8,580 (those of number 2 included); on the right five share
            // 5,511 and 9,622.
            let wanted = if vector.initiator_side == LinkSide::Left { [1_317, 2_145] } else { [1_102, 1_924] };
            for (side, wanted) in Side::BOTH.into_iter().zip(wanted) {
                assert!((wanted..=wanted + 1).contains(&vector.bytes(side)), "{vector:?}");
            }
            assert_eq!((vector.adus.len(), vector.adus[0].wait), (2, Some(Duration::ZERO)));
        }
    }

    #[test]
    fn times_keep_all_but_sizes_and_sizes_all_but_times() {
        for (vector, before) in part(Part::Times, 1).into_iter().zip(workload()) {
            let blank = |mut vector: ConnectionVector| {
                vector.adus.iter_mut().for_each(|adu| adu.bytes = 0);
                vector
            };
            assert_eq!(blank(vector), blank(before));
        }
        let (one, other) = (part(Part::Sizes, 1), part(Part::Sizes, 2));
        for (vector, before) in one.iter().zip(workload()) {
            assert_eq!(Side::BOTH.map(|side| vector.bytes(side)), Side::BOTH.map(|side| before.bytes(side)));
            assert!(vector.start < Time::ZERO + LENGTH && vector.adus[0].wait == Some(Duration::ZERO));
        }
        assert!(one.iter().zip(&other).any(|(one, other)| one.start != other.start), "no seed draws starts");
        assert_eq!(one, part(Part::Sizes, 1));
    }

    #[test]
    fn poisson_starts_are_uniform() {
        let mut survey = Survey::new(LENGTH);
        let many: Vec<ConnectionVector> = (0..400).flat_map(|_| workload()).collect();
        many.iter().for_each(|vector| survey.add(vector));
        let mut changed = survey.changed_into(Part::Neither, 3);
        let starts: Vec<f64> = many
            .into_iter()
            .filter_map(|vector| changed.change(vector))
            .map(|vector| vector.start.since(Time::ZERO).as_secs_f64())
            .collect();
        // Mean 50 s and standard deviation 28.9 s of a uniform variable; 3,600 of them tell the mean within 0.48 s.
        let mean = starts.iter().sum::<f64>() / starts.len() as f64;
        let squares = starts.iter().map(|start| (start - mean) * (start - mean)).sum::<f64>();
        let deviation = libm::sqrt(squares / starts.len() as f64);
        assert!((mean - 50.0).abs() < 2.0 && (deviation - 28.9).abs() < 1.0, "{mean} {deviation}");
    }
}
