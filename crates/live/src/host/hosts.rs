//! Hosts of a side, each with a namespace: a network stack, settings and an address of its own, for programs that are to be on
//! different machines, and for the ends of connections where these are spread over hosts. Otherwise the workload needs none: all its
//! connections are the side's own.
//!
//! ```text
//!   host 0  198.18.0.64, 198.18.128.0/18  <- veth pair ->  namespace of the side, which forwards  <-  device of the path
//!   host 1  198.18.0.65, 198.18.192.0/18  <- veth pair ->
//! ```

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr};

use flowloom_core::workload::{IpVersion, LinkSide};

use super::counters::{KernelCounters, Meter};
use super::namespace::Namespace;
use super::netlink::{End, Index, LOOPBACK, Netlink, Route};
use super::testbed::{Choice, DEVICE, TestbedError, during, link_address, whole_packets};
use crate::addresses;

/// A host of a side.
pub struct EmulatedHost {
    /// Its namespace.
    pub namespace: Namespace,
    /// Its address.
    pub address: Ipv4Addr,
    meter: Meter,
    /// The side's end of the pair to it.
    device: String,
}

impl EmulatedHost {
    /// Adds what its kernel counted so far; the packets that were lost between it and its side, whose counters are those of `side`.
    pub(super) fn count(&mut self, side: &mut Meter, kernel: &mut KernelCounters) -> io::Result<u64> {
        self.meter.take_kernel(kernel)?;
        Ok(self.meter.drops_of(DEVICE)? + side.drops_of(&self.device)?)
    }
}

/// Makes as many hosts of `side` as were chosen, behind the namespace of the side. With `has_ipv6` they have IPv6 too.
pub(super) fn build(
    side: LinkSide,
    choice: &Choice,
    side_namespace: &Namespace,
    has_ipv6: bool,
) -> Result<Vec<EmulatedHost>, TestbedError> {
    if choice.hosts == 0 {
        return Ok(Vec::new());
    }
    side_namespace.within(|| {
        let versions: &[IpVersion] = if has_ipv6 { &[IpVersion::V4, IpVersion::V6] } else { &[IpVersion::V4] };
        let mut netlink = Netlink::open().map_err(during("opening rtnetlink"))?;
        let network = addresses::emulated_hosts(side);
        for version in versions {
            let forwards = match version {
                IpVersion::V4 => "/proc/sys/net/ipv4/ip_forward",
                IpVersion::V6 => "/proc/sys/net/ipv6/conf/all/forwarding",
            };
            fs::write(forwards, "1").map_err(during("having a side forward for its hosts"))?;
            for network in [Some(network), choice.addressing.blocks(side)].into_iter().flatten() {
                let network = addresses::network_in_version(*version, network);
                netlink.take_out_of_local(network).map_err(during("making room for hosts"))?;
            }
        }
        let mut hosts = Vec::with_capacity(usize::from(choice.hosts));
        for number in 0..choice.hosts.min(addresses::MOST_HOSTS) {
            let namespace = Namespace::new().map_err(TestbedError::Namespace)?;
            let pair = Pair::new(side, number, choice, versions);
            let meter = namespace.within(|| {
                pair.on_host(choice, side_namespace)?;
                Meter::open(DEVICE, None).map_err(during("opening counters"))
            })?;
            pair.on_side(&mut netlink, choice)?;
            hosts.push(EmulatedHost { namespace, address: pair.address, meter, device: pair.name });
        }
        Ok(hosts)
    })
}

/// A host and its side, as they see each other.
struct Pair<'a> {
    /// The versions of IP that it carries.
    versions: &'a [IpVersion],
    side: LinkSide,
    /// The host's address.
    address: Ipv4Addr,
    /// The networks that are the host's.
    networks: Vec<(Ipv4Addr, u8)>,
    /// The name of the side's end; the host's is [`DEVICE`].
    name: String,
    /// Where the host's and the side's end are on the link.
    ends: [[u8; 6]; 2],
}

impl Pair<'_> {
    fn new<'a>(side: LinkSide, number: u8, choice: &Choice, versions: &'a [IpVersion]) -> Pair<'a> {
        let address = addresses::emulated_host(side, number);
        Pair {
            versions,
            side,
            address,
            networks: [(address, 32)].into_iter().chain(choice.addressing.block(side, number)).collect(),
            name: format!("host{number}"),
            ends: [1, 2].map(|end| link_address(side, number + 1, end)),
        }
    }

    /// Makes both ends, and what the host needs, in the calling thread's namespace, which is the host's.
    fn on_host(&self, choice: &Choice, side_namespace: &Namespace) -> Result<(), TestbedError> {
        // What the kernel would not take of the rest was said of the side already.
        choice.settings.apply().map_err(TestbedError::Setting)?;
        let mut netlink = Netlink::open().map_err(during("opening rtnetlink"))?;
        let [here, there] = self.ends;
        let (here, there) = (End { name: DEVICE, address: here }, End { name: &self.name, address: there });
        netlink.add_pair(here, there, side_namespace).map_err(during("making a pair of devices"))?;
        let device = whole_packets_up(&mut netlink, DEVICE, choice)?;
        netlink.bring_up(LOOPBACK).map_err(during("bringing lo up"))?;
        for &version in self.versions {
            for network in &self.networks {
                let network = addresses::network_in_version(version, *network);
                netlink.add_local_network(network).map_err(during("making the addresses of a host local"))?;
            }
            let gateway = addresses::in_version(version, addresses::host(self.side));
            netlink.add_neighbour(device, gateway, there.address).map_err(during("adding a neighbour"))?;
            for side in [LinkSide::Left, LinkSide::Right] {
                let route = Route {
                    to: addresses::network_in_version(version, addresses::network(side)),
                    device,
                    via: Some(gateway),
                    source: Some(addresses::in_version(version, self.address)).filter(IpAddr::is_ipv4),
                    metrics: choice.settings.metrics(),
                };
                netlink.add_route(&route).map_err(during("adding a route"))?;
            }
        }
        Ok(())
    }

    /// Makes the host known to its side, in whose namespace the calling thread is.
    fn on_side(&self, netlink: &mut Netlink, choice: &Choice) -> Result<(), TestbedError> {
        let device = whole_packets_up(netlink, &self.name, choice)?;
        for &version in self.versions {
            let in_version = |address: Ipv4Addr| addresses::in_version(version, address);
            let via = in_version(self.address);
            netlink.add_neighbour(device, via, self.ends[0]).map_err(during("adding a neighbour"))?;
            for network in &self.networks {
                let route = Route {
                    to: addresses::network_in_version(version, *network),
                    device,
                    via: Some(via),
                    source: Some(in_version(addresses::host(self.side))).filter(IpAddr::is_ipv4),
                    metrics: choice.settings.metrics(),
                };
                netlink.add_route(&route).map_err(during("adding a route to a host"))?;
            }
        }
        Ok(())
    }
}

/// Brings an end up that passes whole packets only.
fn whole_packets_up(netlink: &mut Netlink, name: &str, choice: &Choice) -> Result<Index, TestbedError> {
    let device = netlink.link(name).map_err(during("looking at a pair of devices"))?.index;
    let (mtu, queue) = (u32::from(choice.mtu), choice.queue_length);
    netlink.set_link(device, mtu, queue).map_err(during("setting the MTU of a device"))?;
    whole_packets(name, "host's")?;
    netlink.bring_up(device).map_err(during("bringing a device up"))?;
    Ok(device)
}
