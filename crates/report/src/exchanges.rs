//! Exchanges that began and did not end: the end of the run cut them.
//!
//! The tables have a row for each exchange that began at the ends, and for each request that the monitor saw. A connection that was never
//! established has begun its first exchange with its SYN: its user waits. In runs of earlier versions the ends tell of completed exchanges
//! alone; there a request of a connection that did not deliver all its data, seen at the monitor and not part of a completed
//! exchange, began one that did not end.

use std::collections::BTreeMap;

use flowloom_core::time::Time;
use flowloom_store::run_folder::{ConnectionRow, EpochRow, Point};

/// The exchanges of the connections that did not deliver all their data, by connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exchanges(BTreeMap<u64, OfConnection>);

#[derive(Clone, Debug, Default)]
struct OfConnection {
    /// Exchanges of the vector: epochs with request and response.
    planned: usize,
    /// Of them, those that the original's record has to their end.
    in_original: usize,
    /// When it sent its SYN, if it was never established.
    unopened: Option<Time>,
    /// When the exchange began that the ends did not complete, and its epoch.
    open: Option<(Time, u32)>,
    /// First and last byte of those that the ends completed.
    completed: Vec<(Time, Time)>,
    /// Requests at the monitor, their epochs, and whether their response was seen to its end.
    requests: Vec<(Time, u32, bool)>,
}

/// An exchange that began and did not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Begun {
    /// Of which connection.
    pub connection: u64,
    /// Its request was sent, or its connection's SYN.
    pub at: Time,
    /// It is its connection's first, and belongs to the window in which that began.
    pub with_connection: bool,
}

impl Exchanges {
    /// Looks for exchanges of this connection from now on.
    pub(crate) fn watch(&mut self, row: &ConnectionRow) {
        let unopened = row.established.is_none().then_some(row.start);
        self.0.insert(row.id, OfConnection { unopened, ..OfConnection::default() });
    }

    /// Takes an epoch.
    pub(crate) fn epoch(&mut self, row: &EpochRow) {
        let Some(of) = self.0.get_mut(&row.connection) else { return };
        match (row.point, row.start, row.response) {
            (Point::Original, _, response) if row.request_bytes.is_some() && row.response_bytes.is_some() => {
                of.planned += 1;
                of.in_original += usize::from(response.is_some());
            }
            (Point::Monitor, Some(start), response) if row.request_bytes.is_some() => {
                of.requests.push((start, row.epoch, response.is_some()));
            }
            (Point::Endpoint, Some(start), Some(response)) => of.completed.push((start, start + response)),
            (Point::Endpoint, Some(start), None) => of.open = Some((start, row.epoch)),
            _ => {}
        }
    }

    /// When the unfinished exchange of each connection that has one began, at the ends or at the monitor. There is one at most, since the
    /// next begins after it. At the monitor those that the end of the capture cut are left out: they are no exchanges of the original.
    pub(crate) fn unfinished(&self, point: Point) -> impl Iterator<Item = Begun> + '_ {
        self.0.iter().filter_map(move |(connection, of)| {
            let begun = if point == Point::Endpoint { of.unfinished_at_ends() } else { of.unfinished_at_monitor() };
            let (at, epoch) = begun?;
            Some(Begun { connection: *connection, at, with_connection: epoch == 0 })
        })
    }
}

impl OfConnection {
    /// When the exchange began, and its epoch.
    fn unfinished_at_ends(&self) -> Option<(Time, u32)> {
        let first = self.unopened.filter(|_| self.planned > 0).map(|sent| (sent, 0));
        if let Some(begun) = self.open.or(first) {
            return Some(begun);
        }
        let over = self.completed.iter().map(|(_, end)| *end).max();
        let later = self.requests.iter().filter(|(start, ..)| over.is_none_or(|over| *start > over));
        let last = later.map(|(start, epoch, _)| (*start, *epoch)).max();
        last.filter(|_| self.completed.len() < self.planned)
    }

    /// See [`Self::unfinished_at_ends`].
    fn unfinished_at_monitor(&self) -> Option<(Time, u32)> {
        let answered = self.requests.iter().filter(|(_, _, answered)| *answered).count();
        let last = self.requests.iter().max().filter(|(_, _, answered)| !*answered);
        last.map(|(start, epoch, _)| (*start, *epoch)).filter(|_| answered < self.in_original)
    }
}

#[cfg(test)]
mod tests {
    use flowloom_core::time::Duration;

    use super::*;

    fn row(point: Point, epoch: u32, start: u64, response: Option<u64>) -> EpochRow {
        EpochRow {
            point,
            connection: 7,
            epoch,
            request_bytes: Some(10),
            response_bytes: response.map(|_| 100).or((point == Point::Original).then_some(100)),
            start: Some(Time::from_nanos(start)),
            response: response.map(Duration::from_nanos),
            intended: None,
        }
    }

    fn unfinished(rows: &[EpochRow]) -> [Option<u64>; 2] {
        let mut exchanges = Exchanges::default();
        exchanges.0.insert(7, OfConnection::default());
        rows.iter().for_each(|row| exchanges.epoch(row));
        [Point::Endpoint, Point::Monitor]
            .map(|point| exchanges.unfinished(point).next().map(|begun| begun.at.as_nanos()))
    }

    #[test]
    fn a_request_without_a_response_began_an_exchange() {
        let original = [row(Point::Original, 0, 0, Some(5)), row(Point::Original, 1, 10, Some(5))];
        let first = [row(Point::Monitor, 0, 2, Some(6)), row(Point::Endpoint, 0, 1, Some(9))];
        let of = |more: &[EpochRow]| unfinished(&[&original[..], &first[..], more].concat());
        assert_eq!(of(&[]), [None, None], "the second has not begun");
        assert_eq!(of(&[row(Point::Monitor, 1, 20, None)]), [Some(20), Some(20)]);
        let whole = [row(Point::Monitor, 1, 20, Some(3)), row(Point::Endpoint, 1, 19, Some(5))];
        assert_eq!(of(&whole), [None, None]);
        // The response is lost between monitor and end, or only acknowledged late.
        assert_eq!(of(&whole[..1]), [Some(20), None]);
        assert_eq!(of(&[row(Point::Monitor, 1, 20, None), whole[1].clone()]), [None, Some(20)]);
    }

    #[test]
    fn what_the_capture_cut_is_no_exchange_of_the_original() {
        let cut = [row(Point::Original, 0, 0, None), row(Point::Monitor, 0, 2, None)];
        assert_eq!(unfinished(&cut), [Some(2), None]);
        assert_eq!(unfinished(&[row(Point::Monitor, 0, 2, None)]), [None, None], "half an epoch has no response");
    }

    #[test]
    fn the_ends_tell_what_never_reached_the_monitor() {
        let original = [row(Point::Original, 0, 0, Some(5)), row(Point::Original, 1, 10, Some(5))];
        let first = [row(Point::Monitor, 0, 2, Some(6)), row(Point::Endpoint, 0, 1, Some(9))];
        let begun = row(Point::Endpoint, 1, 19, None);
        assert_eq!(unfinished(&[&original[..], &first[..], &[begun]].concat()), [Some(19), None]);
    }

    #[test]
    fn a_connection_that_never_opened_waits_since_its_syn() {
        let with = |rows: &[EpochRow]| {
            let waits = OfConnection { unopened: Some(Time::from_nanos(3)), ..OfConnection::default() };
            let mut exchanges = Exchanges([(7, waits)].into());
            rows.iter().for_each(|row| exchanges.epoch(row));
            exchanges.unfinished(Point::Endpoint).next().map(|begun| begun.at.as_nanos())
        };
        assert_eq!(with(&[row(Point::Original, 0, 0, Some(5))]), Some(3));
        assert_eq!(with(&[]), None, "it has no exchanges");
    }

    #[test]
    fn other_connections_are_not_looked_at() {
        let mut exchanges = Exchanges::default();
        exchanges.epoch(&row(Point::Original, 0, 0, Some(5)));
        exchanges.epoch(&row(Point::Monitor, 0, 2, None));
        assert_eq!(exchanges.unfinished(Point::Endpoint).count(), 0);
    }
}
