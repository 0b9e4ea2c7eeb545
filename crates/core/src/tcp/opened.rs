//! Connections that were opened before: two endpoints that are established without a segment on the network.

use super::{Config, Endpoint};
use crate::time::{Duration, Time};

/// Establishes a connection between two new endpoints as if they had shaken hands before `now` over a path with this round-trip time,
/// with the options that each of them offers. The acknowledgement of the SYN/ACK arrives at `now`, so that both ends have measured `rtt`,
/// as far as `now` is so late: times do not go below zero.
pub fn open_before(initiator: &mut Endpoint, acceptor: &mut Endpoint, now: Time, rtt: Duration, config: &Config) {
    let [syn, syn_ack, ack] = [rtt + rtt / 2, rtt, rtt / 2].map(|before| now.before(before));
    for (sender, receiver, sent, arrives) in [(0, 1, syn, syn_ack), (1, 0, syn_ack, ack), (0, 1, ack, now)] {
        let ends = [&mut *initiator, &mut *acceptor];
        while let Some(segment) = ends[sender].poll_transmit(sent, config) {
            ends[receiver].handle_segment(arrives, &segment, config);
        }
    }
    debug_assert!(initiator.is_established() && acceptor.is_established());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::{Limits, Profile};

    #[test]
    fn both_ends_are_established_and_know_the_round_trip() {
        let rtt = Duration::from_millis(80);
        for profile in [Profile::Plain, Profile::Rfc, Profile::Bsd2008, Profile::Linux] {
            let config = Config::of(profile);
            let limits = Limits { mss: 1460, max_window: 1 << 20 };
            let (mut initiator, mut acceptor) = (Endpoint::connect(&config, limits), Endpoint::listen(&config, limits));
            let now = Time::ZERO + Duration::from_secs(1);
            open_before(&mut initiator, &mut acceptor, now, rtt, &config);
            for end in [&mut initiator, &mut acceptor] {
                assert!(end.is_established(), "{profile:?}");
                assert_eq!(end.smoothed_rtt(), Some(rtt), "{profile:?}");
                assert_eq!(end.poll_transmit(now, &config), None, "{profile:?}: nothing is left of the handshake");
                assert_eq!(end.next_timeout(), None, "{profile:?}");
            }
            acceptor.write(1_000);
            let segment = acceptor.poll_transmit(now, &config).unwrap();
            assert_eq!((segment.sequence, segment.payload_bytes), (1, 1_000));
        }
    }
}
