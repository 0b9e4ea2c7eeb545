//! Tests of whole endpoints.

mod pair;

use super::*;
use crate::time::{Duration, Time};
use pair::Pair;

#[test]
fn a_lossless_connection_delivers_everything_and_closes() {
    let mut pair = Pair::new(Config::default(), [Limits::default(); 2], Duration::from_millis(20));
    pair.ends[0].write(1_000_000);
    pair.run_until(Time::from_nanos(10_000_000_000));
    assert_eq!(pair.ends[1].bytes_received(), 1_000_000);
    pair.ends[1].write(5);
    pair.ends[1].close();
    pair.ends[0].close();
    pair.kick();
    pair.run_until(Time::from_nanos(20_000_000_000));
    assert_eq!(pair.ends[0].bytes_received(), 5);
    assert!(pair.ends.iter().all(|end| end.is_closed() && !end.is_reset() && end.retransmissions() == 0));
    assert_eq!(pair.ends[0].next_timeout(), None);
    assert_eq!(pair.ends[1].next_timeout(), None);
}
