//! The namespaces in which a worker opens sockets: that of its side, or those of the hosts of its side.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use flowloom_core::workload::IpVersion;
use nix::sched::{CloneFlags, setns};

use super::context::context;
use super::socket::Listener;
use crate::control::Orders;

/// Where the worker's thread is, and where it can go. A socket stays in the namespace in which it was made.
#[derive(Debug)]
pub struct Namespaces {
    hosts: Vec<File>,
    /// The host in whose namespace the thread is.
    at: Option<usize>,
}

impl Namespaces {
    /// Enters the namespace of the side, unless it or one of those of the hosts is that of this machine.
    ///
    /// # Errors
    /// It is, or the kernel's.
    pub fn enter(namespace: impl AsFd, orders: &Orders) -> io::Result<Namespaces> {
        setns(namespace, CloneFlags::CLONE_NEWNET)
            .map_err(|error| context("cannot enter the namespace", &error.into()))?;
        let hosts = orders.hosts.iter().map(File::open).collect::<io::Result<Vec<File>>>();
        let hosts = hosts.map_err(|error| context("cannot open the namespace of a host", &error))?;
        let mut all = vec![fs::metadata("/proc/thread-self/ns/net")?.ino()];
        for host in &hosts {
            all.push(host.metadata()?.ino());
        }
        if all.contains(&orders.host_namespace) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a worker was given the network namespace of the host, where no traffic may be",
            ));
        }
        Ok(Namespaces { hosts, at: None })
    }

    /// Goes to a host, where there are hosts and it is not there.
    ///
    /// # Errors
    /// There is no such host, or the kernel's.
    pub fn go(&mut self, host: u8) -> io::Result<()> {
        let host = usize::from(host);
        if self.hosts.is_empty() || self.at == Some(host) {
            return Ok(());
        }
        let namespace = self.hosts.get(host).ok_or(io::ErrorKind::AddrNotAvailable)?;
        setns(namespace, CloneFlags::CLONE_NEWNET)?;
        self.at = Some(host);
        Ok(())
    }

    /// Does something on each host, or once where there are none.
    ///
    /// # Errors
    /// Those of `what`, or the kernel's.
    pub fn on_each<T>(&mut self, what: impl Fn() -> io::Result<T>) -> io::Result<Vec<T>> {
        (0..self.hosts.len().max(1) as u8).map(|host| self.go(host).and_then(|()| what())).collect()
    }

    /// Listens on `port` of each of these versions of IP: on each host, where there are hosts.
    ///
    /// # Errors
    /// The kernel's.
    pub fn listen(&mut self, versions: &[IpVersion], port: u16, congestion: Option<&str>) -> io::Result<Vec<Listener>> {
        let mut listeners = Vec::new();
        for &version in versions {
            let more = self.on_each(|| Listener::new(version, port, congestion));
            listeners.extend(more.map_err(|error| context(&format!("cannot listen on port {port}"), &error))?);
        }
        Ok(listeners)
    }
}
