//! Two sides, each a namespace with one device by which everything leaves and arrives; what crosses is the emulator's to carry.
//!
//! ```text
//!   left namespace                                              right namespace
//!   198.18.0.0/16 is local                                      198.19.0.0/16 is local
//!   198.19.0.0/16 by the device  <->  reader  ...  reader  <->  198.18.0.0/16 by the device
//! ```
//!
//! Where the kernel has IPv6, the same holds of the IPv6 addresses that stand for these ([`addresses::ipv6_of`]).
//!
//! Hosts, where they are asked for, are namespaces behind that of their side, which forwards for them (`hosts`).
//!
//! There is no other route and no other device than lo, so that nothing leaves but by the emulator. Everything is held by
//! descriptors: when the last holder ends, however it does, all is gone.

use std::fmt;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd, BorrowedFd};

use flowloom_core::workload::{IpVersion, LinkSide};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use thiserror::Error;

use super::counters::{Counters, Meter, SideCounters};
use super::hosts::{self, EmulatedHost};
use super::ipv6::{self, NoIpv6};
use super::namespace::Namespace;
use super::netlink::{End, LOOPBACK, Netlink, Route};
use super::packet::{NOBODY, PacketSocket};
use super::settings::{Provenance, Refused, Settings};
use super::sys::{self, Offload};
use super::tun::{self, Tun};
use super::turns;
use crate::addresses::{self, Addressing};
use crate::device::Device;

/// The name of the device of a side in its namespace.
pub const DEVICE: &str = "path";

/// What carries packets between a side's kernel and the emulator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// TUN devices where they are to be had, else packet sockets.
    #[default]
    Auto,
    /// TUN devices.
    Tun,
    /// Pairs of virtual Ethernet devices and packet sockets.
    PacketSocket,
}

/// How a testbed is to be.
#[derive(Clone, Debug)]
pub struct Choice {
    /// What carries packets.
    pub kind: Kind,
    /// What the kernel is told.
    pub settings: Settings,
    /// Longest packet.
    pub mtu: u16,
    /// How many packets a device holds for the emulator. What finds it full is lost, and counted.
    pub queue_length: u32,
    /// How many hosts each side has for programs, or ends of connections, that are to have a network stack of their own. At most
    /// [`addresses::MOST_HOSTS`].
    pub hosts: u8,
    /// Which addresses connections have: where they are on hosts, there are at least as many hosts as that.
    pub addressing: Addressing,
}

impl Default for Choice {
    /// As good as it is to be had here, an MTU of 1,500, queues of 30,000 packets, and no hosts.
    fn default() -> Choice {
        Choice {
            kind: Kind::Auto,
            settings: Settings::default(),
            mtu: 1_500,
            queue_length: 30_000,
            hosts: 0,
            addressing: Addressing::Side,
        }
    }
}

/// Two sides. Dropped, it is gone as soon as the processes in it are.
pub struct Testbed {
    /// The namespace of each side.
    pub namespaces: [Namespace; 2],
    /// The hosts of each side.
    pub hosts: [Vec<EmulatedHost>; 2],
    /// What is not as it should be.
    pub warnings: Vec<Warning>,
    /// What the kernel told of itself.
    pub provenance: Provenance,
    /// Why connections cannot run over IPv6; `None` if they can.
    pub no_ipv6: Option<NoIpv6>,
    meters: [Meter; 2],
}

/// A device of a testbed.
#[derive(Debug)]
pub enum PathDevice {
    /// A TUN device.
    Tun(Tun),
    /// A packet socket.
    PacketSocket(PacketSocket),
}

/// Something that makes a run slower or less true, and why.
#[derive(Debug)]
pub enum Warning {
    /// A setting is as the kernel has it.
    Setting(Refused),
    /// There are no TUN devices.
    NoTun(io::Error),
    /// TUN devices have no NAPI.
    NoNapi(io::Error),
    /// What is written to TUN devices is received by the writer's thread.
    NotThreaded(io::Error),
    /// The device has a queue of the kernel's in front of its own.
    Queue(io::Error),
    /// Packet sockets have room for so many bytes.
    LittleRoom(usize),
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::Setting(refused) => write!(f, "{refused}"),
            Warning::NoTun(cause) => {
                write!(f, "{} cannot be used ({cause}): packet sockets carry about half as many packets", tun::NODE)
            }
            Warning::NoNapi(cause) => write!(f, "TUN without NAPI ({cause}) carries about half as many packets"),
            Warning::NotThreaded(cause) => {
                write!(f, "NAPI has no thread of its own ({cause}): about two thirds as many packets can be carried")
            }
            Warning::Queue(cause) => write!(f, "the kernel's own queue stays in front of the device ({cause})"),
            Warning::LittleRoom(bytes) => write!(
                f,
                "packet sockets have room for {bytes} bytes, and lose packets when the emulator is late: without root, \
                 sysctl net.core.rmem_max says how much they may have"
            ),
        }
    }
}

/// Why there is no testbed.
#[derive(Debug, Error)]
pub enum TestbedError {
    /// A namespace cannot be made.
    #[error("a network namespace cannot be made ({0}): this needs root, or user namespaces")]
    Namespace(io::Error),
    /// There are no TUN devices, and they were asked for.
    #[error("{node} cannot be used ({0}): run as root, or let others open it (chmod 666 {node})", node = tun::NODE)]
    Tun(io::Error),
    /// The kernel does not take a setting that no run can do without.
    #[error(transparent)]
    Setting(Refused),
    /// A device changes packets, and cannot be told not to.
    #[error(
        "{} of the {side} device stays on{}: packets would not be those that a wire carries",
        offload.name(), cause.as_ref().map_or(String::new(), |cause| format!(" ({cause})"))
    )]
    Offload {
        /// The side.
        side: &'static str,
        /// What it does.
        offload: Offload,
        /// What the kernel says.
        cause: Option<io::Error>,
    },
    /// Something else failed.
    #[error("{what} failed: {cause}")]
    System {
        /// What was done.
        what: &'static str,
        /// What the kernel says.
        cause: io::Error,
    },
}

impl From<io::Error> for TestbedError {
    fn from(cause: io::Error) -> TestbedError {
        TestbedError::System { what: "entering a network namespace", cause }
    }
}

/// An error of the kernel, and what it was about.
pub(super) fn during(what: &'static str) -> impl FnOnce(io::Error) -> TestbedError {
    move |cause| TestbedError::System { what, cause }
}

impl Testbed {
    /// Makes both sides, and the devices where packets of each come out and go back in, left first. Nothing crosses until these
    /// are read and written.
    ///
    /// # Errors
    /// See [`TestbedError`].
    pub fn build(choice: &Choice) -> Result<(Testbed, [PathDevice; 2]), TestbedError> {
        let mut warnings = Vec::new();
        let middle = middle(choice.kind, &mut warnings)?;
        let (left, left_device) = Side::build(LinkSide::Left, choice, middle.as_ref(), &mut warnings)?;
        // Both sides are alike: what is wrong with one is said once.
        let (right, right_device) = Side::build(LinkSide::Right, choice, middle.as_ref(), &mut Vec::new())?;
        let no_ipv6 = left.no_ipv6.or(right.no_ipv6);
        let has_ipv6 = no_ipv6.is_none();
        let testbed = Testbed {
            hosts: [
                hosts::build(LinkSide::Left, choice, &left.namespace, has_ipv6)?,
                hosts::build(LinkSide::Right, choice, &right.namespace, has_ipv6)?,
            ],
            namespaces: [left.namespace, right.namespace],
            warnings,
            provenance: left.provenance,
            no_ipv6,
            meters: [left.meter, right.meter],
        };
        Ok((testbed, [left_device, right_device]))
    }

    /// The namespace of a side.
    pub fn namespace(&self, side: LinkSide) -> &Namespace {
        &self.namespaces[side as usize]
    }

    /// A place on a side where the ends of connections are, and an address there.
    pub fn place(&self, side: LinkSide, addressing: Addressing) -> (&Namespace, Ipv4Addr) {
        match (addressing, self.hosts[side as usize].first()) {
            (Addressing::Hosts(_), Some(host)) => (&host.namespace, host.address),
            _ => (self.namespace(side), addresses::host(side)),
        }
    }

    /// What was counted so far.
    ///
    /// # Errors
    /// A device is gone or down.
    pub fn counters(&mut self) -> io::Result<Counters> {
        let mut sides = self.meters.iter_mut().map(Meter::read).collect::<io::Result<Vec<_>>>()?;
        for ((side, hosts), meter) in sides.iter_mut().zip(&mut self.hosts).zip(&mut self.meters) {
            for host in hosts {
                side.host_drops += host.count(meter, &mut side.kernel)?;
            }
        }
        Ok(Counters { sides })
    }
}

/// Where both other ends are that packet sockets read; with TUN nobody is there.
fn middle(kind: Kind, warnings: &mut Vec<Warning>) -> Result<Option<Namespace>, TestbedError> {
    let by_tun = match (kind, tun::open()) {
        (Kind::PacketSocket, _) => false,
        (_, Ok(_)) => true,
        (Kind::Tun, Err(cause)) => return Err(TestbedError::Tun(cause)),
        (Kind::Auto, Err(cause)) => {
            warnings.push(Warning::NoTun(cause));
            false
        }
    };
    if by_tun { Ok(None) } else { Namespace::new().map(Some).map_err(TestbedError::Namespace) }
}

/// One side.
pub struct Side {
    /// Its namespace.
    pub namespace: Namespace,
    /// What its kernel told of itself.
    pub provenance: Provenance,
    /// Why connections cannot run over IPv6; `None` if they can.
    pub no_ipv6: Option<NoIpv6>,
    meter: Meter,
}

impl Side {
    /// Makes one whose other side is on another host, with the device where its packets come out and go back in; and what is not as
    /// it should be.
    ///
    /// # Errors
    /// See [`TestbedError`].
    pub fn alone(side: LinkSide, choice: &Choice) -> Result<(Side, PathDevice, Vec<Warning>), TestbedError> {
        let mut warnings = Vec::new();
        let middle = middle(choice.kind, &mut warnings)?;
        let (made, device) = Side::build(side, choice, middle.as_ref(), &mut warnings)?;
        Ok((made, device, warnings))
    }

    /// What was counted so far.
    ///
    /// # Errors
    /// Its device is gone or down.
    pub fn counters(&mut self) -> io::Result<SideCounters> {
        self.meter.read()
    }

    fn build(
        side: LinkSide,
        choice: &Choice,
        middle: Option<&Namespace>,
        warnings: &mut Vec<Warning>,
    ) -> Result<(Side, PathDevice), TestbedError> {
        let namespace = Namespace::new().map_err(TestbedError::Namespace)?;
        let (device, provenance, no_ipv6, meter, said) = namespace.within(|| {
            let mut said = Vec::new();
            let refused = choice.settings.apply().map_err(TestbedError::Setting)?;
            said.extend(refused.into_iter().map(Warning::Setting));
            let (device, neighbour) = match middle {
                None => (by_tun(side, choice, &mut said)?, None),
                Some(middle) => (by_packet_socket(side, choice, middle, &mut said)?, Some(NOBODY)),
            };
            route(side, choice, neighbour, IpVersion::V4)?;
            let over_ipv6 = ipv6::of_this_namespace().and_then(|()| {
                let routes = route(side, choice, neighbour, IpVersion::V6);
                routes.map_err(|error| NoIpv6::Routes(error.to_string()))
            });
            let reader = match &device {
                PathDevice::Tun(_) => None,
                PathDevice::PacketSocket(socket) => Some(socket),
            };
            let meter = Meter::open(DEVICE, reader).map_err(during("opening counters"))?;
            Ok::<_, TestbedError>((device, Provenance::of_this_namespace(), over_ipv6.err(), meter, said))
        })?;
        warnings.extend(said);
        Ok((Side { namespace, provenance, no_ipv6, meter }, device))
    }
}

/// Makes a TUN device in the calling thread's namespace.
fn by_tun(side: LinkSide, choice: &Choice, said: &mut Vec<Warning>) -> Result<PathDevice, TestbedError> {
    let (device, napi) = match Tun::create(DEVICE, true) {
        Ok(device) => (device, true),
        Err(cause) => {
            let device = Tun::create(DEVICE, false).map_err(TestbedError::Tun)?;
            said.push(Warning::NoNapi(cause));
            (device, false)
        }
    };
    let mut netlink = Netlink::open().map_err(during("opening rtnetlink"))?;
    prepare(&mut netlink, side, choice, said)?;
    let others = turns::receiving_threads(DEVICE);
    if let Some(Err(cause)) = napi.then(|| tun::thread_napi(DEVICE)) {
        said.push(Warning::NotThreaded(cause));
    }
    turns::receiving_threads(DEVICE).difference(&others).copied().for_each(turns::receive_first);
    Ok(PathDevice::Tun(device))
}

/// Makes a pair of devices, one end in the calling thread's namespace, and a packet socket at the other in `middle`.
fn by_packet_socket(
    side: LinkSide,
    choice: &Choice,
    middle: &Namespace,
    said: &mut Vec<Warning>,
) -> Result<PathDevice, TestbedError> {
    let other_end = match side {
        LinkSide::Left => "left",
        LinkSide::Right => "right",
    };
    let mut netlink = Netlink::open().map_err(during("opening rtnetlink"))?;
    let here = End { name: DEVICE, address: link_address(side, 0, 1) };
    let there = End { name: other_end, address: link_address(side, 0, 2) };
    netlink.add_pair(here, there, middle).map_err(during("making a pair of devices"))?;
    prepare(&mut netlink, side, choice, said)?;
    let socket = middle.within(|| {
        let mut netlink = Netlink::open().map_err(during("opening rtnetlink"))?;
        let there = netlink.link(other_end).map_err(during("looking at a pair of devices"))?;
        // Without IPv6 there is nothing to turn off.
        let _absent = fs::write(format!("/proc/sys/net/ipv6/conf/{other_end}/disable_ipv6"), "1");
        let mtu = u32::from(choice.mtu);
        netlink.set_link(there.index, mtu, choice.queue_length).map_err(during("setting the MTU of a device"))?;
        whole_packets(other_end, other_end)?;
        netlink.bring_up(there.index).map_err(during("bringing a device up"))?;
        PacketSocket::open(there.index, here.address).map_err(during("opening a packet socket"))
    })?;
    let room = socket.room().map_err(during("opening a packet socket"))?;
    if room < 32 << 20 {
        said.push(Warning::LittleRoom(room));
    }
    Ok(PathDevice::PacketSocket(socket))
}

/// Sets the device up but for its routes, and makes sure that it passes whole packets only.
fn prepare(
    netlink: &mut Netlink,
    side: LinkSide,
    choice: &Choice,
    said: &mut Vec<Warning>,
) -> Result<(), TestbedError> {
    let link = netlink.link(DEVICE).map_err(during("looking at the device"))?;
    let (mtu, queue) = (u32::from(choice.mtu), choice.queue_length);
    netlink.set_link(link.index, mtu, queue).map_err(during("setting the MTU and the queue of the device"))?;
    whole_packets(DEVICE, if side == LinkSide::Left { "left" } else { "right" })?;
    // The device's own queue is the only one, so that what it drops is all that is dropped.
    if let Err(cause) = netlink.take_queue_away(link.index) {
        said.push(Warning::Queue(cause));
    }
    netlink.bring_up(LOOPBACK).map_err(during("bringing lo up"))?;
    netlink.bring_up(link.index).map_err(during("bringing the device up"))
}

/// The address of an end of a pair of devices: of `side`, of its emulated host of this number from 1 on.
pub(super) fn link_address(side: LinkSide, host: u8, end: u8) -> [u8; 6] {
    [2, 0, 1, side as u8, host, end]
}

/// Turns off what makes packets longer than the MTU or leaves them unfinished, and looks whether it is off.
pub(super) fn whole_packets(device: &str, side: &'static str) -> Result<(), TestbedError> {
    let any = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)
        .map_err(|error| TestbedError::System { what: "opening a socket", cause: error.into() })?;
    for offload in Offload::ALL {
        let cause = sys::set_offload(&any, device, offload, false).err();
        // A device that cannot be told may have it off all the same, and one that was told may keep it on.
        if !matches!(sys::offload(&any, device, offload), Ok(false)) {
            return Err(TestbedError::Offload { side, offload, cause });
        }
    }
    Ok(())
}

/// Makes the side's network in this version of IP local, and has the other side's go by the device: by a neighbour of this address, if
/// it has any.
fn route(side: LinkSide, choice: &Choice, neighbour: Option<[u8; 6]>, version: IpVersion) -> Result<(), TestbedError> {
    let network = |side| addresses::network_in_version(version, addresses::network(side));
    let host = |side| addresses::in_version(version, addresses::host(side));
    let mut netlink = Netlink::open().map_err(during("opening rtnetlink"))?;
    let link = netlink.link(DEVICE).map_err(during("looking at the device"))?;
    netlink.add_local_network(network(side)).map_err(during("making the addresses of a side local"))?;
    let via: Option<IpAddr> = neighbour.map(|_| host(side.other()));
    if let (Some(via), Some(neighbour)) = (via, neighbour) {
        netlink.add_neighbour(link.index, via, neighbour).map_err(during("adding a neighbour"))?;
    }
    let route = Route {
        to: network(side.other()),
        device: link.index,
        via,
        source: Some(host(side)).filter(IpAddr::is_ipv4),
        metrics: choice.settings.metrics(),
    };
    netlink.add_route(&route).map_err(during("adding a route"))
}

impl PathDevice {
    /// What it is, in words.
    pub fn words(&self) -> &'static str {
        match self {
            PathDevice::Tun(_) => "TUN devices",
            PathDevice::PacketSocket(_) => "packet sockets",
        }
    }
}

impl Device for PathDevice {
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        match self {
            PathDevice::Tun(tun) => tun.read(into),
            PathDevice::PacketSocket(socket) => socket.read(into),
        }
    }

    fn write(&mut self, packet: &[u8]) -> io::Result<bool> {
        match self {
            PathDevice::Tun(tun) => tun.write(packet),
            PathDevice::PacketSocket(socket) => socket.write(packet),
        }
    }
}

impl AsFd for PathDevice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            PathDevice::Tun(tun) => tun.as_fd(),
            PathDevice::PacketSocket(socket) => socket.as_fd(),
        }
    }
}
