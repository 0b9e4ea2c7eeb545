//! Sequential or concurrent (methods A.4), decided as segments pass.
//!
//! A connection is concurrent iff some data segment p of one end and some q of the other have `p.end > q.ack` and
//! `q.end > p.ack`: neither had been acknowledged when the other was sent. Testing each new p against every q so far
//! is exact, and nearly all q can be held as one number. Let *frontier* be the first byte of p's end the monitor has
//! not seen. A new p brings bytes at or above it, so `p.end > q.ack` holds for every q with `q.ack <= frontier`: of
//! those only the largest `q.end` matters. The others acknowledge bytes that have yet to pass the monitor; they are
//! kept one by one until those bytes have passed, or are given up after [`MAX_PENDING`] of them.

/// Segments that may acknowledge unseen bytes before the observer stops waiting for the bytes.
pub(super) const MAX_PENDING: usize = 64;

/// The data segments of one end, as far as the test needs them. `frontier` always means the *other* end's first
/// unseen byte, `ack` the acknowledgement of that end's bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Sent {
    /// Largest end among segments with `ack <= frontier`.
    settled: u64,
    pending: Option<Box<Pending>>,
}

/// Segments with `ack > frontier` as (end, ack), both strictly ascending: any other is implied by one of these.
#[derive(Clone, Debug, Default)]
struct Pending {
    list: Vec<(u64, u64)>,
}

impl Sent {
    /// Whether a segment of the other end, ending at `end` and acknowledging `ack` of this end's bytes, crosses one of
    /// these. `frontier` is the value before that segment's bytes count as seen.
    pub fn is_crossed_by(&mut self, end: u64, ack: u64, frontier: u64) -> bool {
        let Some(pending) = &mut self.pending else { return ack < self.settled };
        let settled = pending.list.partition_point(|sent| sent.1 <= frontier);
        if settled > 0 {
            self.settled = self.settled.max(pending.list[settled - 1].0);
            pending.list.drain(..settled);
        }
        ack < self.settled || pending.list.iter().any(|sent| sent.0 > ack && sent.1 < end)
    }

    /// Adds a segment of this end.
    pub fn add(&mut self, end: u64, ack: u64, frontier: u64) {
        if ack <= frontier {
            self.settled = self.settled.max(end);
            return;
        }
        let list = &mut self.pending.get_or_insert_default().list;
        if list.iter().any(|sent| sent.0 >= end && sent.1 <= ack) {
            return;
        }
        list.retain(|sent| sent.0 > end || sent.1 < ack);
        let at = list.partition_point(|sent| sent.0 < end);
        list.insert(at, (end, ack));
    }

    /// If too many segments wait for bytes of the other end: the byte below which waiting must stop.
    pub fn overdue(&self) -> Option<u64> {
        let list = &self.pending.as_ref()?.list;
        (list.len() > MAX_PENDING).then(|| list[0].1)
    }

    /// Bytes held on the heap.
    pub fn heap_bytes(&self) -> usize {
        let list = |pending: &Pending| pending.list.capacity() * size_of::<(u64, u64)>();
        self.pending.as_ref().map_or(0, |pending| size_of::<Pending>() + list(pending))
    }

    /// Nothing more will be asked: the connection is known to be concurrent.
    pub fn forget(&mut self) {
        *self = Sent::default();
    }
}
