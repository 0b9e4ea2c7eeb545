//! How many connections there are, from where.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

/// The connections of one listener.
#[derive(Debug)]
pub(super) struct Counts {
    most_in_all: usize,
    most_per_address: usize,
    now: Mutex<Now>,
}

#[derive(Debug, Default)]
struct Now {
    in_all: usize,
    from: BTreeMap<IpAddr, usize>,
}

/// A connection that is counted as long as this lives.
#[derive(Debug)]
pub(super) struct Counted {
    counts: Arc<Counts>,
    from: IpAddr,
}

impl Counts {
    pub(super) fn new(most_in_all: usize, most_per_address: usize) -> Arc<Counts> {
        Arc::new(Counts { most_in_all, most_per_address, now: Mutex::default() })
    }

    /// Counts one more, unless there are too many.
    pub(super) fn one_more(self: &Arc<Counts>, address: IpAddr) -> Option<Counted> {
        let from = neighbourhood(address);
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let here = now.from.get(&from).copied().unwrap_or(0);
        if now.in_all >= self.most_in_all || here >= self.most_per_address {
            return None;
        }
        now.in_all += 1;
        now.from.insert(from, here + 1);
        Some(Counted { counts: Arc::clone(self), from })
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut now = self.counts.now.lock().unwrap_or_else(PoisonError::into_inner);
        now.in_all -= 1;
        if let Some(here) = now.from.get_mut(&self.from) {
            *here -= 1;
            if *here == 0 {
                now.from.remove(&self.from);
            }
        }
    }
}

/// What one host may have of addresses: of IPv6 a /64.
fn neighbourhood(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_per_address_and_in_all() {
        let counts = Counts::new(3, 2);
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let one = counts.one_more(address("2001:db8::1")).unwrap();
        let _two = counts.one_more(address("2001:db8::2:0:0:1")).unwrap();
        assert!(counts.one_more(address("2001:db8::3")).is_none(), "the same /64");
        let three = counts.one_more(address("10.0.0.1")).unwrap();
        assert!(counts.one_more(address("10.0.0.2")).is_none(), "three in all");
        drop(one);
        let _mapped = counts.one_more(address("::ffff:10.0.0.1")).unwrap();
        drop(three);
        assert!(counts.one_more(address("10.0.0.1")).is_some());
        assert_eq!(counts.now.lock().unwrap().from.len(), 2);
    }
}
