//! A testbed to test in.

use flowloom_live::host::namespace::Namespace;
use flowloom_live::host::testbed::{Choice, Kind, PathDevice, Testbed};
use flowloom_needs::{Need, skip};

/// Whether this user may make namespaces and devices, so that not to have them is a failure.
pub fn can_be_made() -> bool {
    nix::unistd::geteuid().is_root() && Namespace::new().is_ok()
}

/// What was chosen; `None`, and a skip, if it cannot be here.
pub fn testbed(choice: &Choice) -> Option<(Testbed, [PathDevice; 2])> {
    match Testbed::build(choice) {
        Ok(built) => Some(built),
        // Not every root has the node of TUN devices.
        Err(error) if can_be_made() && choice.kind != Kind::Tun => panic!("{error}"),
        Err(error) => {
            eprintln!("{:?}: {error}", choice.kind);
            skip("live: testbeds", if can_be_made() { Need::TUN } else { Need::ROOT });
            None
        }
    }
}
