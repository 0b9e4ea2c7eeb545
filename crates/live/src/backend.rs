//! Live back ends: two sides, the carrier of packets between each side and the emulator, and the workers there. This one is local;
//! [`crate::remote::backend`] has other hosts.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;
use std::process;

use flowloom_core::time::Duration;
use flowloom_core::workload::LinkSide;
use flowloom_sim::Config;

use crate::calibrate::{LONGEST_DELAY, calibrate};
use crate::control::SocketOptions;
use crate::device::Device;
use crate::guests::{Guest, Guests};
use crate::host::counters::Counters;
use crate::host::hosts::EmulatedHost;
use crate::host::ipv6::NoIpv6;
use crate::host::settings::Settings;
use crate::host::testbed::{Choice, PathDevice, Testbed};
use crate::observed::Observed;
use crate::options::Options;
use crate::problem::{LiveError, Warning};
use crate::workers::{Program, Workers};

/// A back end while a run goes on.
pub(crate) trait Backend {
    /// Where packets of a side come out, and go back in.
    type Device: Device + Send + 'static;

    /// What was counted so far.
    fn counters(&mut self) -> io::Result<Counters>;

    /// Starts programs of the user's inside the sides.
    fn guests(&self, guests: &[Guest], program: &Program) -> io::Result<Guests>;
}

/// A back end on which a run can begin.
pub(crate) struct Standing<G: Backend> {
    pub backend: G,
    pub devices: [G::Device; 2],
    /// They listen.
    pub workers: Workers,
    /// What packets take each way beside what their paths give them.
    pub bias: Duration,
    /// How long before it begins it has to be told, beside what workers need.
    pub lead: Duration,
    /// Why connections cannot run over IPv6; `None` if they can.
    pub no_ipv6: Option<NoIpv6>,
    /// What is known of it.
    pub observed: Observed,
}

/// This host.
pub(crate) struct Here(Testbed);

impl Here {
    /// Makes the sides and starts their workers.
    pub(crate) fn stand<W, R>(
        config: &Config,
        options: &Options,
        (settings, classes): (Settings, Vec<SocketOptions>),
    ) -> Result<Standing<Here>, LiveError<W, R>> {
        let host = |what| move |cause| LiveError::Host { what, cause };
        let notes = settings.notes().iter().map(ToString::to_string).collect();
        let addressing = options.addressing;
        let guests_hosts = options.guests.1.iter().filter_map(|guest| guest.host).max().map_or(0, |last| last + 1);
        let hosts = guests_hosts.max(addressing.count());
        let choice = Choice { kind: options.devices, settings, hosts, addressing, ..Choice::default() };
        let (testbed, devices) = Testbed::build(&choice)?;
        let has_guests = !options.guests.1.is_empty();
        let delay = if has_guests { config.bottleneck.delay.min(LONGEST_DELAY) } else { Duration::ZERO };
        let ends = [LinkSide::Left, LinkSide::Right].map(|side| testbed.place(side, addressing));
        let (bias, devices) =
            calibrate(ends, devices, options.tick, delay).map_err(host("sending packets between namespaces"))?;
        let mut workers = Workers::start(&options.program, &testbed.namespaces, options.workers)
            .map_err(host("starting worker processes"))?;
        let namespaces = testbed.hosts.each_ref().map(|hosts| namespaces(&hosts[..usize::from(addressing.count())]));
        workers.begin(config, classes, namespaces, testbed.no_ipv6.is_none())?;
        let observed = Observed {
            notes,
            warnings: testbed.warnings.iter().map(Warning::from).collect(),
            kernel: testbed.provenance.kernel.clone(),
            settings: testbed.provenance.settings.clone(),
            devices: devices[0].words().to_owned(),
            workers: options.workers,
            bias,
            ..Observed::default()
        };
        let no_ipv6 = testbed.no_ipv6.clone();
        Ok(Standing { backend: Here(testbed), devices, workers, bias, lead: Duration::ZERO, no_ipv6, observed })
    }
}

impl Backend for Here {
    type Device = PathDevice;

    fn counters(&mut self) -> io::Result<Counters> {
        self.0.counters()
    }

    fn guests(&self, guests: &[Guest], program: &Program) -> io::Result<Guests> {
        Guests::start(guests, program, &self.0)
    }
}

/// Where workers find the namespaces of hosts: this process holds them.
fn namespaces(hosts: &[EmulatedHost]) -> Vec<PathBuf> {
    let at = |host: &EmulatedHost| format!("/proc/{}/fd/{}", process::id(), host.namespace.as_fd().as_raw_fd()).into();
    hosts.iter().map(at).collect()
}
