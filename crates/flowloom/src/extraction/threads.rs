//! The machines of extraction on one thread or several, with the same result.
//!
//! There is no thread for reading, one for extracting and one for writing: whichever is slowest would hold up the others.
//! All threads are equal, and each looks for the work that is farthest down the line: connections that can be written,
//! packets that wait for their part, the next packets of the capture. Reading and writing are done by one thread at a
//! time, and so is each part.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use flowloom_core::extract::{
    Counts, Finished, Merger, Options, PARTS, Packet, Part, ROUND, Report, Round, Tally, TrafficSeries,
};

use flowloom_store::workload::Runs;

use crate::error::Error;
use crate::parallel::locked;

/// Rounds that are read, and that a part is taken through, at once: so many of its packets come one after the other that
/// its connections stay in the cache.
const ROUNDS: usize = 16;

/// Parcels that are kept waiting for a part, so that nobody waits for the one who reads.
const FEW_PARCELS: usize = 2;

/// Parcels that may wait for a part: room enough for the time in which a row group is written.
const MAX_PARCELS: usize = 8;

/// Reports that may wait for the one who writes. Behind a slow disk the others wait for it then, or connections that are
/// over would pile up beside all limits of memory.
const MAX_REPORTS: usize = 8 * PARTS * ROUNDS;

/// How a round of packets ends.
#[derive(Clone, Copy)]
pub enum End {
    /// Others follow.
    Round(Round),
    /// The capture is over.
    Capture,
}

/// Runs extraction on `threads`. `read` adds the packets of a round to those of their part and says how the round ends;
/// `write` gets the connections in the order of their starts.
///
/// # Errors
/// The first of `read` and `write`.
pub fn run(
    options: &Options,
    threads: usize,
    waiting: Waiting<'_>,
    mut read: impl FnMut(&mut [Vec<Packet>]) -> Result<End, Error> + Send,
    write: impl FnMut(Finished) -> Result<(), Error> + Send,
) -> Result<(Counts, TrafficSeries), Error> {
    let runs = Runs::in_folder(waiting.folder);
    let mut output = Output { merger: Merger::new(options), runs, most_bytes: waiting.most_bytes, write };
    let mut tally = Tally::default();
    if threads <= 1 {
        alone(Part::all(options), &mut read, &mut output, &mut tally)?;
    } else {
        let line = Line {
            state: Mutex::new(State::new()),
            changed: Condvar::new(),
            parts: Part::all(options).into_iter().map(Mutex::new).collect(),
            read: Mutex::new(&mut read),
            output: Mutex::new(&mut output),
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (1..threads).map(|_| scope.spawn(|| line.work())).collect();
            tally.add(&line.work());
            for worker in workers {
                match worker.join() {
                    Ok(other) => tally.add(&other),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        });
        if let Some(failure) = locked(&line.state).failure.take() {
            return Err(failure);
        }
    }
    tally.series.settle(output.merger.peak_bytes());
    Ok((tally.counts, tally.series))
}

/// What to do with connections that wait for an older one to end.
pub struct Waiting<'a> {
    /// Bytes that they may take in memory; the others go to disk.
    pub most_bytes: u64,
    /// Where.
    pub folder: &'a Path,
}

/// What comes out of the parts on its way to the file.
struct Output<W> {
    merger: Merger,
    runs: Runs,
    most_bytes: u64,
    write: W,
}

impl<W: FnMut(Finished) -> Result<(), Error>> Output<W> {
    fn take(&mut self, reports: impl IntoIterator<Item = Report>) -> Result<(), Error> {
        reports.into_iter().for_each(|report| self.merger.take(report));
        while let Some(finished) = self.next()? {
            (self.write)(finished)?;
        }
        if self.merger.bytes() > self.most_bytes {
            self.runs.add(self.merger.unload()).map_err(Error::new)?;
        }
        Ok(())
    }

    /// The next connection, from memory or from disk.
    fn next(&mut self) -> Result<Option<Finished>, Error> {
        match self.runs.next() {
            Some(stored) if self.merger.next().is_none_or(|waiting| stored < waiting) => {
                if stored >= self.merger.settled() {
                    return Ok(None);
                }
                let mut finished = self.runs.pop().map_err(Error::new)?;
                finished.iter_mut().for_each(|finished| self.merger.give_id(finished));
                Ok(finished)
            }
            _ => Ok(self.merger.poll()),
        }
    }
}

/// One thread.
fn alone(
    mut parts: Vec<Part>,
    mut read: impl FnMut(&mut [Vec<Packet>]) -> Result<End, Error>,
    output: &mut Output<impl FnMut(Finished) -> Result<(), Error>>,
    tally: &mut Tally,
) -> Result<(), Error> {
    let mut parcels: Vec<Parcel> = Vec::new();
    loop {
        let ended;
        (parcels, ended) = fill(parcels, &mut read)?;
        for (part, parcel) in parts.iter_mut().zip(&mut parcels) {
            parcel.advance(part, tally, |report| output.merger.take(report));
        }
        output.take([])?;
        if ended {
            return Ok(());
        }
    }
}

/// A part's packets of some rounds.
struct Parcel {
    packets: Vec<Packet>,
    /// How each round ends, and behind how many of the packets.
    ends: Vec<(usize, End)>,
}

impl Parcel {
    /// An empty one, with room for the packets of a part if all have alike: growing would copy them several times.
    fn new() -> Parcel {
        Parcel { packets: Vec::with_capacity(ROUNDS * ROUND as usize / PARTS), ends: Vec::with_capacity(ROUNDS) }
    }

    /// Takes its part through the rounds, and is empty.
    fn advance(&mut self, part: &mut Part, tally: &mut Tally, mut report: impl FnMut(Report)) {
        let mut begin = 0;
        for (behind, end) in self.ends.drain(..) {
            part.handle_all(&self.packets[begin..behind], tally);
            match end {
                End::Round(round) => part.end_round(&round, tally),
                End::Capture => part.finish(tally),
            }
            report(part.report());
            begin = behind;
        }
        self.packets.clear();
    }
}

/// Reads some rounds: a parcel for each part, made of `spare` ones, and whether the capture is over.
fn fill(
    mut spare: Vec<Parcel>,
    mut read: impl FnMut(&mut [Vec<Packet>]) -> Result<End, Error>,
) -> Result<(Vec<Parcel>, bool), Error> {
    spare.resize_with(PARTS, Parcel::new);
    let (mut packets, mut ends): (Vec<_>, Vec<_>) =
        spare.into_iter().map(|Parcel { packets, ends }| (packets, ends)).unzip();
    let mut ended = false;
    for _ in 0..ROUNDS {
        let end = read(&mut packets)?;
        packets.iter().zip(&mut ends).for_each(|(packets, ends)| ends.push((packets.len(), end)));
        ended = matches!(end, End::Capture);
        if ended {
            break;
        }
    }
    Ok((packets.into_iter().zip(ends).map(|(packets, ends)| Parcel { packets, ends }).collect(), ended))
}

/// What the threads share.
struct Line<'a, R, W> {
    state: Mutex<State>,
    changed: Condvar,
    parts: Vec<Mutex<Part>>,
    read: Mutex<&'a mut R>,
    output: Mutex<&'a mut Output<W>>,
}

/// Who does what, and what waits.
struct State {
    parcels: Vec<VecDeque<Parcel>>,
    /// Parcels that were handed out and have come back empty.
    spare: Vec<Parcel>,
    busy: [bool; PARTS],
    reports: Vec<Report>,
    reading: bool,
    writing: bool,
    /// Everything was read.
    ended: bool,
    failure: Option<Error>,
}

/// Something to do.
enum Task {
    Write(Vec<Report>),
    Advance(usize, VecDeque<Parcel>),
    Read(Vec<Parcel>),
}

impl State {
    fn new() -> State {
        State {
            parcels: (0..PARTS).map(|_| VecDeque::new()).collect(),
            spare: Vec::new(),
            busy: [false; PARTS],
            reports: Vec::new(),
            reading: false,
            writing: false,
            ended: false,
            failure: None,
        }
    }

    /// The next thing to do, if there is one that nobody does.
    fn task(&mut self) -> Option<Task> {
        if !self.writing && self.reports.len() >= PARTS * ROUNDS {
            return Some(self.write());
        }
        if self.reports.len() >= MAX_REPORTS {
            return None;
        }
        let waits = self.parcels.iter().map(VecDeque::len).max().unwrap_or(0);
        let readable = !self.reading && !self.ended;
        if readable && waits < FEW_PARCELS {
            return Some(self.read());
        }
        let waiting = (0..PARTS).filter(|part| !self.busy[*part]).max_by_key(|part| self.parcels[*part].len());
        if let Some(part) = waiting.filter(|part| !self.parcels[*part].is_empty()) {
            self.busy[part] = true;
            return Some(Task::Advance(part, std::mem::take(&mut self.parcels[part])));
        }
        if readable && waits < MAX_PARCELS {
            return Some(self.read());
        }
        (!self.writing && !self.reports.is_empty()).then(|| self.write())
    }

    fn read(&mut self) -> Task {
        self.reading = true;
        let rest = self.spare.len().saturating_sub(PARTS);
        Task::Read(self.spare.split_off(rest))
    }

    fn write(&mut self) -> Task {
        self.writing = true;
        Task::Write(std::mem::take(&mut self.reports))
    }

    /// Whether nothing is left to do, or to wait for.
    fn is_over(&self) -> bool {
        let idle = self.ended && !self.writing && self.reports.is_empty();
        self.failure.is_some() || (idle && !self.busy.contains(&true) && self.parcels.iter().all(VecDeque::is_empty))
    }

    fn fail(&mut self, result: Result<(), Error>) {
        if let Err(failure) = result {
            self.failure.get_or_insert(failure);
        }
    }
}

impl<R, W> Line<'_, R, W>
where
    R: FnMut(&mut [Vec<Packet>]) -> Result<End, Error>,
    W: FnMut(Finished) -> Result<(), Error>,
{
    /// What one thread does until all is done; what it counted.
    fn work(&self) -> Tally {
        let mut tally = Tally::default();
        let _leaving = Leaving(&self.state, &self.changed);
        let mut state = locked(&self.state);
        while !state.is_over() {
            let Some(task) = state.task() else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(state);
            state = self.perform(task, &mut tally);
            self.changed.notify_all();
        }
        tally
    }

    fn perform(&self, task: Task, tally: &mut Tally) -> MutexGuard<'_, State> {
        match task {
            Task::Write(reports) => {
                let result = locked(&self.output).take(reports);
                let mut state = locked(&self.state);
                state.writing = false;
                state.fail(result);
                state
            }
            Task::Advance(at, mut parcels) => {
                let mut part = locked(&self.parts[at]);
                let mut reports = Vec::with_capacity(parcels.len() * ROUNDS);
                for parcel in &mut parcels {
                    parcel.advance(&mut part, tally, |report| reports.push(report));
                }
                let mut state = locked(&self.state);
                state.spare.extend(parcels);
                state.busy[at] = false;
                state.reports.extend(reports);
                state
            }
            Task::Read(spare) => {
                let result = fill(spare, &mut **locked(&self.read));
                let mut state = locked(&self.state);
                state.reading = false;
                match result {
                    Ok((parcels, ended)) => {
                        state.ended = ended;
                        state.parcels.iter_mut().zip(parcels).for_each(|(waiting, parcel)| waiting.push_back(parcel));
                    }
                    Err(failure) => state.fail(Err(failure)),
                }
                state
            }
        }
    }
}

/// Tells the other threads when one panics, which would wait for it otherwise.
struct Leaving<'a>(&'a Mutex<State>, &'a Condvar);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            locked(self.0).failure.get_or_insert_with(|| Error::new("a thread of extraction panicked"));
            self.1.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use flowloom_core::extract::Front;
    use flowloom_core::time::{Duration, Time};
    use flowloom_core::wire::{Address, Flags, Segment};

    use super::*;

    /// One connection stays open while five hundred come and go, by `most_bytes` of memory for those that wait.
    fn vectors(threads: usize, most_bytes: u64) -> (Vec<Finished>, Counts) {
        let options = Options { round: 64, drain: Duration::ZERO, ..Options::default() };
        let mut front = Front::new(&options);
        let server = Address::new("192.0.2.1".parse().unwrap(), 80);
        let segment = |n: u16, from_client: bool, flags: u8, sequence: u32, acknowledgement: u32, len: u32| {
            let client = Address::new("10.0.0.1".parse().unwrap(), 1_000 + n);
            let (source, destination) = if from_client { (client, server) } else { (server, client) };
            Segment {
                source,
                destination,
                sequence,
                acknowledgement,
                flags: Flags(flags),
                window: 100,
                payload_bytes: len,
                link_bytes: 54 + len,
                ip_id: None,
                mss: None,
                window_scale: None,
                timestamps: None,
                sack: false,
                sack_blocks: [(0, 0); 3],
                options_cut: false,
                vlan: None,
                from: None,
                macs: None,
            }
        };
        const ACK: u8 = Flags::ACK;
        const FIN: u8 = Flags::ACK | Flags::FIN;
        let mut segments = vec![segment(0, true, ACK, 1, 1, 10), segment(0, false, ACK, 1, 11, 10)];
        for n in 1..=500 {
            segments.extend([
                segment(n, true, ACK, 1, 1, 100),
                segment(n, false, ACK, 1, 101, 100),
                segment(n, true, FIN, 101, 101, 0),
                segment(n, false, FIN, 101, 102, 0),
                segment(n, true, ACK, 102, 102, 0),
                segment(0, true, ACK, 10 + u32::from(n), 11, 1),
            ]);
        }
        let mut segments = segments.into_iter().zip(1u64..);
        let read = |of_parts: &mut [Vec<Packet>]| {
            for (segment, n) in segments.by_ref() {
                front.handle_segment(Time::ZERO + Duration::from_millis(n), &segment, of_parts);
                if let Some(round) = front.round() {
                    return Ok(End::Round(round));
                }
            }
            front.finish(of_parts);
            Ok(End::Capture)
        };
        let (folder, mut all) = (tempfile::tempdir().unwrap(), Vec::new());
        let waiting = Waiting { most_bytes, folder: folder.path() };
        let mut most_files = 0;
        let write = |finished| {
            most_files = most_files.max(std::fs::read_dir(folder.path()).unwrap().count());
            all.push(finished);
            Ok(())
        };
        let (counts, _) = run(&options, threads, waiting, read, write).unwrap();
        // How many wait at a time depends on which thread is ahead, if there are several.
        if threads == 1 {
            assert_eq!(most_files > 0, most_bytes < 1_000_000, "{most_files} files for {most_bytes} bytes");
        }
        (all, counts)
    }

    #[test]
    fn connections_that_wait_on_disk_come_out_as_those_that_wait_in_memory() {
        let in_memory = vectors(1, u64::MAX);
        assert_eq!(in_memory.0.len(), 501);
        assert!(in_memory.0.iter().zip(0..).all(|(finished, id)| finished.vector.id == id));
        for threads in [1, 2, 3] {
            assert!(vectors(threads, 20_000) == in_memory, "{threads} threads");
        }
        assert!(vectors(3, u64::MAX) == in_memory);
    }

    #[test]
    fn nothing_piles_up_behind_a_slow_disk() {
        let mut part = Part::all(&Options::default()).remove(0);
        let mut state = State::new();
        state.parcels[3].push_back(Parcel::new());
        state.writing = true;
        state.reports.extend((1..MAX_REPORTS).map(|_| part.report()));
        assert!(matches!(state.task(), Some(Task::Read(_))), "there is room for one report more");
        state.reading = false;
        state.reports.push(part.report());
        assert!(state.task().is_none(), "neither reading nor extraction goes on");
        state.writing = false;
        assert!(matches!(state.task(), Some(Task::Write(reports)) if reports.len() == MAX_REPORTS));
        state.writing = true;
        assert!(matches!(state.task(), Some(Task::Read(_))));
        assert!(matches!(state.task(), Some(Task::Advance(3, _))));
    }

    #[test]
    fn the_first_failure_stops_all_threads() {
        for threads in [1, 4] {
            let waiting = Waiting { most_bytes: u64::MAX, folder: Path::new(".") };
            let result = run(&Options::default(), threads, waiting, |_| Err(Error::new("gone")), |_| Ok(()));
            assert_eq!(result.err(), Some(Error::new("gone")));
        }
    }
}
