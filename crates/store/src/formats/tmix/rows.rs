//! Rows to vectors and back.

use flowloom_core::time::Duration;
use flowloom_core::workload::{Adu, Close, ConnectionVector, Pattern, PerSide, Side};

use super::super::error::Flaw;
use super::super::notes::Remark;
use super::row::{After, Row};
use crate::formats::limits::MOST_BYTES;

/// Puts the data, waits and close of `rows` in `vector`, whose pattern is set; says what had to be interpreted.
///
/// Without a closing row the side that sent last closes at once, the FIN riding on the data: that is how vectors were
/// replayed. `t_close` is then `None`, since nobody stated it.
pub(super) fn put(rows: &[Row], vector: &mut ConnectionVector) -> Result<Vec<Remark>, Flaw> {
    let totals = Side::BOTH.map(|side| {
        let own = rows.iter().filter(|row| row.side == side);
        own.fold(0u64, |total, row| total.saturating_add(row.bytes))
    });
    if totals.iter().any(|total| *total > MOST_BYTES) {
        return Err(Flaw::new(format!("one end sends more than {MOST_BYTES} bytes"), ""));
    }
    match vector.pattern {
        Pattern::Sequential => sequential(rows, vector),
        Pattern::Concurrent => concurrent(rows, vector),
    }
}

fn adu(row: &Row) -> Adu {
    Adu { side: row.side, bytes: row.bytes, missing_bytes: 0, wait: None, waiter: row.side, seen: None, packets: None }
}

fn sequential(rows: &[Row], vector: &mut ConnectionVector) -> Result<Vec<Remark>, Flaw> {
    let mut remarks = Vec::new();
    let mut closed: PerSide<bool> = PerSide::default();
    // The close waits for data of the other end: nothing may follow it.
    let mut over = false;
    for row in rows {
        let wait = Duration::from_micros(row.wait_us);
        let Some(previous) = vector.adus.last_mut() else {
            if row.bytes == 0 {
                return Err(Flaw::new("the vector closes before any data", "an ADU of at least one byte first"));
            }
            vector.adus.push(adu(row));
            continue;
        };
        let own_turn = previous.side == row.side;
        if row.bytes > 0 {
            if closed[row.side] || over {
                return Err(Flaw::new("data after the close", "no ADU after one of zero bytes"));
            }
            // The close of an end that half-closed stands between, and does not change who waits for whom.
            if row.wait_us > 0 && own_turn != (row.after == After::Sending) {
                return Err(match own_turn {
                    true => Flaw::new("a receive wait after the same side's data", "a send wait there"),
                    false => Flaw::new("a send wait after the other side's data", "a receive wait there"),
                });
            }
            previous.wait = Some(wait);
            previous.waiter = row.side;
            vector.adus.push(adu(row));
            if vector.close != Close::NotSeen {
                vector.t_close = Some(Duration::ZERO);
            }
            continue;
        }
        if closed[row.side] {
            return Err(Flaw::new("the same side closes twice", "one row of zero bytes per side at most"));
        }
        closed[row.side] = true;
        if row.after == After::Sending {
            vector.ends[row.side].fin_wait = Some(wait);
        }
        if vector.close != Close::NotSeen {
            remarks.push(Remark::SecondClose);
            continue;
        }
        over = row.after == After::Receiving;
        vector.close = Close::Fin(row.side);
        vector.t_close = Some(if own_turn || over { wait } else { Duration::ZERO });
    }
    if let (Close::NotSeen, Some(last)) = (vector.close, vector.adus.last()) {
        vector.close = Close::Fin(last.side);
    }
    Ok(remarks)
}

fn concurrent(rows: &[Row], vector: &mut ConnectionVector) -> Result<Vec<Remark>, Flaw> {
    let mut last_of: PerSide<Option<usize>> = PerSide::default();
    // How long each end waits in all, before its last data and before its close: who closes first can only be
    // guessed from these, since transfers take time that nobody states.
    let mut waited: PerSide<Duration> = PerSide::default();
    for row in rows {
        let wait = Duration::from_micros(row.wait_us);
        if vector.ends[row.side].fin_wait.is_some() {
            return Err(match row.bytes {
                0 => Flaw::new("the same side closes twice", "one close per side at most"),
                _ => Flaw::new("data after the close", "no ADU after one of zero bytes"),
            });
        }
        if row.after == After::Receiving && row.wait_us > 0 {
            return Err(Flaw::new(
                "a receive wait in a concurrent vector",
                "send waits only: the sides are independent",
            ));
        }
        match last_of[row.side] {
            None if row.bytes == 0 => {
                return Err(Flaw::new("a side closes before it sent data", "an ADU of at least one byte first"));
            }
            Some(_) if row.bytes == 0 => vector.ends[row.side].fin_wait = Some(wait),
            before => {
                if let Some(before) = before {
                    vector.adus[before].wait = Some(wait);
                    waited[row.side] += wait;
                }
                last_of[row.side] = Some(vector.adus.len());
                vector.adus.push(adu(row));
            }
        }
    }
    let closes = Side::BOTH.into_iter().filter_map(|side| Some((waited[side] + vector.ends[side].fin_wait?, side)));
    match closes.min_by_key(|(at, _)| *at) {
        Some((at, side)) => {
            vector.close = Close::Fin(side);
            vector.t_close = Some(at.saturating_sub(waited.initiator.max(waited.acceptor)));
        }
        None => vector.close = vector.adus.last().map_or(Close::NotSeen, |last| Close::Fin(last.side)),
    }
    Ok(Vec::new())
}

/// The rows of `vector`, which has data, and what of it they cannot say.
pub(super) fn of(vector: &ConnectionVector) -> (Vec<Row>, Vec<Remark>) {
    let mut remarks = Vec::new();
    if matches!(vector.close, Close::Rst(_)) {
        remarks.push(Remark::ResetAsClose);
    }
    let rows = match vector.pattern {
        Pattern::Sequential => rows_of_sequential(vector, &mut remarks),
        Pattern::Concurrent => rows_of_concurrent(vector, &mut remarks),
    };
    (rows, remarks)
}

fn rows_of_sequential(vector: &ConnectionVector, remarks: &mut Vec<Remark>) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::with_capacity(vector.adus.len() + 1);
    let mut before: Option<&Adu> = None;
    let mut waits_unknown = false;
    for adu in vector.adus.iter().filter(|adu| adu.bytes > 0) {
        let (after, wait) = match before {
            None => (After::Sending, Duration::ZERO),
            Some(before) => {
                waits_unknown |= before.wait.is_none();
                let after = if before.side == adu.side { After::Sending } else { After::Receiving };
                (after, before.wait.unwrap_or_default())
            }
        };
        rows.push(Row { side: adu.side, after, wait_us: micros(wait), bytes: adu.bytes });
        before = Some(adu);
    }
    if waits_unknown {
        remarks.push(Remark::AssumedWaits);
    }
    let (Close::Fin(side) | Close::Rst(side), Some(last)) = (vector.close, before) else { return rows };
    let close = |after, wait| Row { side, after, wait_us: micros(wait), bytes: 0 };
    match (vector.t_close, vector.ends[side].fin_wait) {
        (Some(wait), _) if side == last.side => rows.push(close(After::Sending, wait)),
        // A FIN before the other end's last data: it stands behind its own sender's last ADU.
        (Some(Duration::ZERO), Some(wait)) => match rows.iter().rposition(|row| row.side == side) {
            Some(own) => rows.insert(own + 1, close(After::Sending, wait)),
            None => remarks.push(Remark::HalfCloseDropped),
        },
        (Some(wait), _) => rows.push(close(After::Receiving, wait)),
        (None, _) => {}
    }
    rows
}

fn rows_of_concurrent(vector: &ConnectionVector, remarks: &mut Vec<Remark>) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::with_capacity(vector.adus.len() + 2);
    let mut last_of: PerSide<Option<&Adu>> = PerSide::default();
    let mut waits_unknown = false;
    for adu in vector.adus.iter().filter(|adu| adu.bytes > 0) {
        let wait = last_of[adu.side].map_or(Duration::ZERO, |before| {
            waits_unknown |= before.wait.is_none();
            before.wait.unwrap_or_default()
        });
        rows.push(Row { side: adu.side, after: After::Sending, wait_us: micros(wait), bytes: adu.bytes });
        last_of[adu.side] = Some(adu);
    }
    if waits_unknown {
        remarks.push(Remark::AssumedWaits);
    }
    for side in Side::BOTH {
        let Some(last) = last_of[side] else { continue };
        if let Some(wait) = vector.ends[side].fin_wait.or_else(|| reset_wait(vector, side, last)) {
            rows.push(Row { side, after: After::Sending, wait_us: micros(wait), bytes: 0 });
        }
    }
    rows
}

/// From the last data of `side` to its reset, if a monitor saw both.
fn reset_wait(vector: &ConnectionVector, side: Side, last: &Adu) -> Option<Duration> {
    (vector.close == Close::Rst(side)).then_some(())?;
    Some(vector.end()?.since(vector.start + last.seen?.last))
}

/// Whole microseconds, rounded to the nearest.
pub(in crate::formats) fn micros(duration: Duration) -> u64 {
    duration.as_nanos() / 1_000 + u64::from(duration.as_nanos() % 1_000 >= 500)
}
