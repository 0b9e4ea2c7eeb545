//! The datagrams that a connection vector would be sent in.

use super::lengths::Lengths;
use crate::extract::conversations::Transport;
use crate::time::Duration;
use crate::workload::{ASSUMED_MSS, CONTROL_PACKETS, ConnectionVector, Pattern, PerSide, Protocol, Side};

/// How long the receiver keeps an acknowledgement back: that of [`Profile::Plain`](crate::tcp::Profile::Plain).
const DELAYED_ACK: Duration = Duration::from_millis(40);

impl Lengths {
    /// Adds the datagrams of `vector`, as ends with the profile `plain` would send them over a link that loses nothing.
    ///
    /// TCP: each ADU in segments of the MSS of its receiver (1,460 bytes if that is not known) and a shorter last one, headers without
    /// options. An acknowledgement of its own goes for more than one MSS, and 40 ms after what is less, unless more data come or the other
    /// end answers before. SYNs, FINs and their acknowledgements are four empty segments of the initiator and three of the acceptor.
    /// Of concurrent connections no end answers the other. UDP and QUIC: datagrams are as they were seen; of an ADU of which only their
    /// number is known they have its bytes in equal parts.
    pub fn add_vector(&mut self, vector: &ConnectionVector) {
        if vector.protocol != Protocol::Tcp {
            for adu in Side::BOTH.into_iter().flat_map(|side| vector.single_datagrams(side)) {
                let datagrams = adu.packets.map_or(adu.bytes.div_ceil(ASSUMED_MSS), u64::from);
                if let (Some(part), Some(more)) = (adu.bytes.checked_div(datagrams), adu.bytes.checked_rem(datagrams)) {
                    self.add_data(Transport::Udp, length(part), datagrams - more);
                    self.add_data(Transport::Udp, length(part + 1), more);
                }
            }
            return;
        }
        let mut empty = PerSide { initiator: CONTROL_PACKETS[0], acceptor: CONTROL_PACKETS[1] };
        let mut owed = PerSide::<u64>::default();
        for (place, adu) in vector.adus.iter().enumerate() {
            let receiver = adu.side.other();
            let mss = vector.ends[receiver].mss.map_or(ASSUMED_MSS, |mss| u64::from(mss.max(1)));
            let (full, last) = (adu.bytes / mss, adu.bytes % mss);
            self.add_data(Transport::Tcp, length(mss), full);
            self.add_data(Transport::Tcp, length(last), u64::from(last > 0));

            let owed = &mut owed[receiver];
            let mut acknowledged = 0;
            let mut full = full;
            if *owed > 0 && full > 0 {
                (acknowledged, *owed, full) = (1, 0, full - 1);
            }
            acknowledged += full / 2;
            *owed += full % 2 * mss + last;
            if *owed > mss {
                (acknowledged, *owed) = (acknowledged + 1, 0);
            }
            let mut later = vector.adus[place + 1..].iter();
            let next = later.find(|later| vector.pattern == Pattern::Sequential || later.side == adu.side);
            let soon = |less: Duration| adu.wait.is_some_and(|wait| wait.saturating_sub(less) < DELAYED_ACK);
            // The monitor sees an answer later than the receiver gives it: by the way there and back.
            let transit = vector.ends[receiver].min_transit.unwrap_or_default();
            match next {
                Some(next) if next.side == adu.side && soon(Duration::ZERO) => {}
                Some(next) if next.side == receiver && soon(transit) => *owed = 0,
                _ if *owed > 0 => (acknowledged, *owed) = (acknowledged + 1, 0),
                _ => {}
            }
            empty[receiver] = empty[receiver].saturating_add(acknowledged);
        }
        for side in Side::BOTH {
            self.add_data(Transport::Tcp, 0, empty[side]);
        }
    }
}

fn length(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Adu;

    use Side::{Acceptor, Initiator};

    /// TCP data bytes and datagrams of a vector of (side, bytes, wait in ms).
    fn sent(pattern: Pattern, adus: &[(Side, u64, Option<u64>)]) -> Vec<(u32, u64)> {
        sent_over(Duration::ZERO, pattern, adus)
    }

    /// The same where the acceptor is `transit` away from the monitor.
    fn sent_over(transit: Duration, pattern: Pattern, adus: &[(Side, u64, Option<u64>)]) -> Vec<(u32, u64)> {
        let adu = |&(side, bytes, wait): &(Side, u64, Option<u64>)| Adu {
            side,
            bytes,
            missing_bytes: 0,
            wait: wait.map(Duration::from_millis),
            waiter: side,
            seen: None,
            packets: None,
        };
        let mut vector =
            ConnectionVector { pattern, adus: adus.iter().map(adu).collect(), ..ConnectionVector::default() };
        vector.ends.acceptor.mss = Some(1_000);
        vector.ends.acceptor.min_transit = Some(transit);
        let mut lengths = Lengths::default();
        lengths.add_vector(&vector);
        assert_eq!(lengths.data_bytes(Transport::Tcp), adus.iter().map(|adu| adu.1).sum::<u64>());
        lengths.groups().map(|(_, ip_bytes, group)| (ip_bytes - 40, group.datagrams)).collect()
    }

    #[test]
    fn segments_are_the_receivers_and_every_second_is_acknowledged() {
        let control = 7;
        for (bytes, expected) in [
            (300, &[(0, control + 1), (300, 1)][..]),
            (1_000, &[(0, control + 1), (1_000, 1)]),
            // The second, however short, makes more than one MSS.
            (1_001, &[(0, control + 1), (1, 1), (1_000, 1)]),
            (5_000, &[(0, control + 3), (1_000, 5)]),
            (6_500, &[(0, control + 4), (500, 1), (1_000, 6)]),
        ] {
            assert_eq!(sent(Pattern::Sequential, &[(Initiator, bytes, None)]), expected, "{bytes}");
        }
        assert_eq!(sent(Pattern::Sequential, &[(Acceptor, 2_920, None)]), [(0, control + 1), (1_460, 2)]);
        assert_eq!(sent(Pattern::Sequential, &[]), [(0, control)]);
    }

    #[test]
    fn an_answer_within_the_delay_acknowledges() {
        let exchange = |wait| [(Initiator, 300, Some(wait)), (Acceptor, 200, None)];
        assert_eq!(sent(Pattern::Sequential, &exchange(39))[0], (0, 7 + 1), "the response's alone");
        assert_eq!(sent(Pattern::Sequential, &exchange(40))[0], (0, 7 + 2));
        let away = |wait| sent_over(Duration::from_millis(20), Pattern::Sequential, &exchange(wait))[0];
        assert_eq!((away(59), away(60)), ((0, 7 + 1), (0, 7 + 2)), "waits are those of the monitor");
        assert_eq!(sent(Pattern::Concurrent, &exchange(39))[0], (0, 7 + 2), "no end answers");
        let twice = |wait| [(Initiator, 300, Some(wait)), (Initiator, 800, Some(wait)), (Initiator, 900, None)];
        assert_eq!(sent(Pattern::Sequential, &twice(39))[0], (0, 7 + 2), "after 1,100 bytes, and for the last");
        assert_eq!(sent(Pattern::Sequential, &twice(500))[0], (0, 7 + 3));
    }

    #[test]
    fn datagrams_share_the_bytes_of_an_adu() {
        let mut vector = ConnectionVector { protocol: Protocol::Udp, ..ConnectionVector::default() };
        let adu = |bytes, packets| Adu {
            side: Initiator,
            bytes,
            missing_bytes: 0,
            wait: None,
            waiter: Initiator,
            seen: None,
            packets,
        };
        vector.adus = vec![adu(1_003, Some(4)), adu(0, Some(2)), adu(3_000, None), adu(0, None)];
        let mut lengths = Lengths::default();
        lengths.add_vector(&vector);
        let groups: Vec<_> = lengths.groups().map(|(_, ip_bytes, group)| (ip_bytes - 28, group.datagrams)).collect();
        assert_eq!(groups, [(0, 2), (250, 1), (251, 3), (1_000, 3)]);
    }

    #[test]
    fn any_bytes_are_counted_at_once() {
        let adu = |bytes| (Initiator, bytes, Some(0));
        let mut adus = vec![adu(1 << 62)];
        adus.push((Acceptor, 1 << 61, None));
        let groups = sent(Pattern::Sequential, &adus);
        assert_eq!(groups.last(), Some(&(1_460, (1 << 61) / 1_460)));
    }
}
