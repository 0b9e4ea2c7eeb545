//! How packets are cut into cells.

/// Length of cells, and what becomes of the last one of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cutting {
    payload: u32,
    header: u32,
    padded: bool,
}

impl Cutting {
    /// Cells of `payload` bytes behind a header. Only padded ones always have their whole length on the line; `None` without a
    /// payload.
    pub fn new(payload: u32, header: u32, padded: bool) -> Option<Cutting> {
        (payload > 0).then_some(Cutting { payload, header, padded })
    }

    /// Bytes of a packet that a cell carries at most.
    pub const fn payload(&self) -> u32 {
        self.payload
    }

    /// Cells of a packet of `bytes`: one at least.
    pub fn cells(&self, bytes: u32) -> u32 {
        bytes.div_ceil(self.payload).max(1)
    }

    /// Bytes of a packet of `bytes` in its cell `index`.
    pub fn carried(&self, bytes: u32, index: u32) -> u32 {
        bytes.saturating_sub(index * self.payload).min(self.payload)
    }

    /// Bytes on the line of a cell that carries `carried`.
    pub const fn on_line(&self, carried: u32) -> u32 {
        self.header + if self.padded { self.payload } else { carried }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_all_in_its_cells() {
        assert_eq!(Cutting::new(0, 5, true), None);
        let (whole, short) = (Cutting::new(48, 5, true).unwrap(), Cutting::new(48, 0, false).unwrap());
        for bytes in 0..2_000 {
            let cells = short.cells(bytes);
            assert_eq!((0..cells).map(|index| short.carried(bytes, index)).sum::<u32>(), bytes);
            assert_eq!((0..cells).map(|index| short.on_line(short.carried(bytes, index))).sum::<u32>(), bytes);
            assert_eq!((0..cells).map(|index| whole.on_line(whole.carried(bytes, index))).sum::<u32>(), 53 * cells);
        }
        assert_eq!([0, 1, 48, 49, 512].map(|bytes| whole.cells(bytes)), [1, 1, 1, 2, 11]);
    }
}
