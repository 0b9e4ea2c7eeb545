//! What becomes of the addresses of connections: nothing is kept unless the user asks (methods M.12).

mod crypto_pan;

use flowloom_core::wire::Address;
use flowloom_core::workload::{ConnectionVector, Host, Side};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

pub use crypto_pan::{CryptoPan, KEY_BYTES, KeyError, is_special};

/// What to keep of an address.
#[derive(Clone, Debug, Default)]
pub enum Keep {
    /// Nothing. The acceptor's port stays: it tells the application.
    #[default]
    Nothing,
    /// A dense number per address, in the order of first appearance.
    Number,
    /// The address under Crypto-PAn.
    Encrypted {
        /// The encryption.
        pan: Box<CryptoPan>,
        /// Leave [`is_special`] addresses as they are.
        keep_special: bool,
    },
    /// The address as captured, for one's own use.
    Captured,
}

/// Decides what a workload holds of the hosts of its connections.
///
/// Hand in every vector of a workload in the order of the workload: [`Self::label_hosts`] those of which the addresses
/// are known beside the vector, [`Self::label`] those that came out of a file and carry them.
#[derive(Clone, Debug, Default)]
pub struct AddressBook {
    keep: Keep,
    numbers: HashMap<Host, u32, FxBuildHasher>,
}

impl AddressBook {
    /// A book that keeps `keep`.
    pub fn new(keep: Keep) -> AddressBook {
        AddressBook { keep, numbers: HashMap::default() }
    }

    /// Notes in `vector` what is kept of its ends, which had these addresses: hosts and the initiator's port as asked
    /// for, the acceptor's port always.
    pub fn label_hosts(&mut self, vector: &mut ConnectionVector, initiator: Address, acceptor: Address) {
        for (side, address) in [(Side::Initiator, initiator), (Side::Acceptor, acceptor)] {
            let end = &mut vector.ends[side];
            end.host = Some(Host::Address(address.host()));
            end.port = Some(address.port);
        }
        self.label(vector);
    }

    /// Leaves in `vector` what is kept of the hosts and ports it carries. Of a host that is a number already there is no
    /// address to encrypt: it stays the number it is, or is counted anew, or goes.
    pub fn label(&mut self, vector: &mut ConnectionVector) {
        for side in Side::BOTH {
            let end = &mut vector.ends[side];
            end.host = end.host.and_then(|host| match (&mut self.keep, host) {
                (Keep::Nothing, _) => None,
                (Keep::Number, host) => Some(self.number(host)),
                (Keep::Encrypted { keep_special, pan }, Host::Address(address)) => {
                    let plain = *keep_special && is_special(address);
                    Some(Host::Address(if plain { address } else { pan.encrypt(address) }))
                }
                (Keep::Encrypted { .. } | Keep::Captured, host) => Some(host),
            });
        }
        if vector.ends.initiator.host.is_none() {
            vector.ends.initiator.port = None;
        }
    }

    fn number(&mut self, host: Host) -> Host {
        // A host is at least one connection: there are fewer hosts than a workload has rows.
        let next = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        Host::Number(*self.numbers.entry(host).or_insert(next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: &str = "192.0.2.1";
    const SERVER: &str = "2001:db8::5";

    fn labelled(book: &mut AddressBook, initiator: &str, acceptor: &str) -> ConnectionVector {
        let mut vector = ConnectionVector::default();
        let [initiator, acceptor] = [(initiator, 40_000), (acceptor, 443)]
            .map(|(ip, port): (&str, u16)| Address::new(ip.parse().unwrap(), port));
        book.label_hosts(&mut vector, initiator, acceptor);
        vector
    }

    fn hosts(vector: &ConnectionVector) -> [Option<Host>; 2] {
        Side::BOTH.map(|side| vector.ends[side].host)
    }

    #[test]
    fn nothing_is_kept_but_the_service() {
        let vector = labelled(&mut AddressBook::default(), CLIENT, SERVER);
        assert_eq!(hosts(&vector), [None, None]);
        assert_eq!((vector.ends.initiator.port, vector.ends.acceptor.port), (None, Some(443)));
    }

    #[test]
    fn numbers_are_dense_in_order_of_appearance() {
        let mut book = AddressBook::new(Keep::Number);
        let numbers = |numbers: [u32; 2]| numbers.map(|number| Some(Host::Number(number)));
        assert_eq!(hosts(&labelled(&mut book, CLIENT, SERVER)), numbers([0, 1]));
        assert_eq!(hosts(&labelled(&mut book, "192.0.2.2", SERVER)), numbers([2, 1]));
        assert_eq!(hosts(&labelled(&mut book, SERVER, CLIENT)), numbers([1, 0]));
        assert_eq!(labelled(&mut book, CLIENT, SERVER).ends.initiator.port, Some(40_000));
    }

    #[test]
    fn numbers_stay_are_counted_anew_or_go() {
        let pan = Box::new(CryptoPan::new(&[9; KEY_BYTES]));
        for (keep, left) in [
            (Keep::Nothing, [None, None]),
            (Keep::Number, [Some(0), Some(1)]),
            (Keep::Encrypted { pan, keep_special: false }, [Some(7), Some(3)]),
            (Keep::Captured, [Some(7), Some(3)]),
        ] {
            let mut vector = ConnectionVector::default();
            (vector.ends.initiator.host, vector.ends.initiator.port) = (Some(Host::Number(7)), Some(40_000));
            vector.ends.acceptor.host = Some(Host::Number(3));
            let mut book = AddressBook::new(keep);
            for _ in 0..2 {
                let mut labelled = vector.clone();
                book.label(&mut labelled);
                assert_eq!(hosts(&labelled), left.map(|number| number.map(Host::Number)), "{book:?}");
                assert_eq!(labelled.ends.initiator.port.is_some(), left[0].is_some());
            }
        }
    }

    #[test]
    fn addresses_are_encrypted_or_kept() {
        let pan = || Box::new(CryptoPan::new(&[9; KEY_BYTES]));
        let mut encrypting = AddressBook::new(Keep::Encrypted { pan: pan(), keep_special: false });
        let private = "10.0.0.1";
        let [initiator, acceptor] = hosts(&labelled(&mut encrypting, private, SERVER));
        assert_eq!(initiator, Some(Host::Address(pan().encrypt(private.parse().unwrap()))));
        assert_eq!(acceptor, Some(Host::Address(pan().encrypt(SERVER.parse().unwrap()))));
        let mut special = AddressBook::new(Keep::Encrypted { pan: pan(), keep_special: true });
        assert_eq!(
            hosts(&labelled(&mut special, private, SERVER)),
            [Some(Host::Address(private.parse().unwrap())), acceptor]
        );
        let mut plain = AddressBook::new(Keep::Captured);
        assert_eq!(hosts(&labelled(&mut plain, private, SERVER))[0], Some(Host::Address(private.parse().unwrap())));
    }
}
