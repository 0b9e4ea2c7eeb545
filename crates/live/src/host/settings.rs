//! What of `[tcp]` a kernel can be told: settings of a namespace, metrics of a route, options of sockets.
//!
//! A namespace has one value for all its connections, so that classes may differ in what sockets have of their own, and in
//! nothing else. What no kernel can be told stays its own, and is a [`Note`].

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use flowloom_core::keys::word;
use flowloom_core::tcp::congestion::{Algorithm, CubicParameters, DctcpParameters, VegasParameters};
use flowloom_core::tcp::{Config, EcnEcho, InitialWindow, Profile, ReceiveBuffer, Sack};
use flowloom_core::time::Duration;
use flowloom_sim::{AsCaptured, Class};
use nix::sys::socket::sockopt::TcpCongestion;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::netlink::Metrics;
use crate::addresses;
use crate::control::SocketOptions;

/// Where settings are.
const SYSCTLS: &str = "/proc/sys";

/// The segment size for which windows in bytes are made into segments: that of an MTU of 1,500.
const TYPICAL_MSS: u32 = 1_460;

/// Receive buffers that advertise a mebibyte whatever the size of segments, and five of it to full ones. A buffer counts what
/// packets take in memory, and for segments of 200 bytes that is several times as much as they carry.
const RECEIVE_MEMORY: u32 = 8 << 20;
/// Closed connections in TIME-WAIT that a namespace is to keep (net.ipv4.tcp_max_tw_buckets).
pub const TIME_WAITS: u64 = 1 << 20;

/// What the kernel of both sides is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Sent", try_from = "Sent")]
pub struct Settings {
    settings: Vec<Setting>,
    metrics: Metrics,
    notes: Vec<Note>,
}

/// Another host sends a setting that runs do not have.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is no setting of a run")]
struct UnknownSetting(String);

/// The same between hosts. Notes are for the one who asked.
#[derive(Serialize, Deserialize)]
struct Sent {
    values: Vec<(String, String)>,
    metrics: Metrics,
}

impl From<Settings> for Sent {
    fn from(settings: Settings) -> Sent {
        let values = settings.settings.into_iter().map(|setting| (setting.key.to_owned(), setting.value)).collect();
        Sent { values, metrics: settings.metrics }
    }
}

impl TryFrom<Sent> for Settings {
    type Error = UnknownSetting;

    /// Takes values of settings that are told anyway, and of no others: another host does not choose which files are written.
    fn try_from(sent: Sent) -> Result<Settings, UnknownSetting> {
        let mut settings = Settings { notes: Vec::new(), metrics: sent.metrics, ..Settings::default() };
        for (key, value) in sent.values {
            let known = settings.settings.iter_mut().find(|setting| setting.key == key);
            known.ok_or(UnknownSetting(key))?.value = value;
        }
        Ok(settings)
    }
}

/// A value of a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Setting {
    /// Its file below /proc/sys.
    key: &'static str,
    value: String,
    /// Whether a run without it would be another one than was asked for.
    required: bool,
}

/// Something that stays as the kernel has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The key of `[tcp]`.
    pub key: &'static str,
    /// What was asked for.
    pub asked: String,
    /// What the kernel does.
    pub kernel: &'static str,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {} is not the kernel's to choose: {}", self.key, self.asked, self.kernel)
    }
}

/// What a kernel cannot be told.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Unsupported {
    /// It has no such congestion control.
    #[error(
        "this kernel has no congestion control \"{name}\" (class {class}); it has {}: take one of these, or load \
         the module (modprobe tcp_{name})",
        available.join(", ")
    )]
    Congestion {
        /// The algorithm.
        name: String,
        /// The class that has it.
        class: usize,
        /// What the kernel has.
        available: Vec<String>,
    },
    /// Classes differ in what a kernel has once per namespace.
    #[error(
        "{key} is {other} in class {class} and {first} in the first, but a kernel has one value for all connections: \
         give all classes the same, or run this in the simulator"
    )]
    Differs {
        /// The key of `[tcp]`.
        key: &'static str,
        /// The first class's value.
        first: String,
        /// The other's.
        other: String,
        /// The other class.
        class: usize,
    },
}

/// What the kernel told of itself when a run began, to be kept with its results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// As `uname -r` has it.
    pub kernel: String,
    /// The settings of TCP in a namespace of the run, by name (`net.ipv4.tcp_sack`).
    pub settings: BTreeMap<String, String>,
}

impl Default for Settings {
    /// For connections of the profile `linux`.
    fn default() -> Settings {
        Settings::of(&Config::of(Profile::Linux))
    }
}

impl Settings {
    /// What the kernel has to be told for these classes, and what sockets of each have of their own.
    ///
    /// # Errors
    /// The kernel cannot do it.
    ///
    /// # Panics
    /// If there is no class.
    pub fn from_classes(classes: &[Class]) -> Result<(Settings, Vec<SocketOptions>), Unsupported> {
        Settings::with_algorithms(classes, has_algorithm)
    }

    /// The same for other hosts, which say themselves what congestion controls they have.
    ///
    /// # Errors
    /// No kernel can do it.
    ///
    /// # Panics
    /// If there is no class.
    pub fn for_remote(classes: &[Class]) -> Result<(Settings, Vec<SocketOptions>), Unsupported> {
        Settings::with_algorithms(classes, |_| true)
    }

    /// The same, given what congestion controls there are.
    fn with_algorithms(
        classes: &[Class],
        has: impl Fn(&str) -> bool,
    ) -> Result<(Settings, Vec<SocketOptions>), Unsupported> {
        let first = &classes.first().expect("every experiment has a class").tcp;
        let mut settings = Settings::of(first);
        settings.offer_more(classes);
        let mut options = Vec::with_capacity(classes.len());
        for (number, class) in classes.iter().enumerate() {
            if let Some((key, first, other)) = difference(first, &class.tcp) {
                return Err(Unsupported::Differs { key, first, other, class: number });
            }
            let name = kernel_name(&class.tcp.congestion);
            if !has(name) {
                let (name, available) = (name.to_owned(), available_algorithms());
                return Err(Unsupported::Congestion { name, class: number, available });
            }
            for note in algorithm_notes(&class.tcp.congestion) {
                if !settings.notes.contains(&note) {
                    settings.notes.push(note);
                }
            }
            options.push(SocketOptions { congestion: Some(name.to_owned()), ..SocketOptions::default() });
        }
        Ok((settings, options))
    }

    /// What stays as the kernel has it although the experiment says otherwise.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    pub(super) fn metrics(&self) -> Metrics {
        self.metrics
    }

    fn of(tcp: &Config) -> Settings {
        let mut settings = Settings { settings: Vec::new(), metrics: Metrics::default(), notes: Vec::new() };
        settings.for_testbeds();
        settings.for_tcp(tcp);
        settings.notes = notes(tcp);
        settings
    }

    fn set(&mut self, key: &'static str, value: impl ToString, required: bool) {
        let value = value.to_string();
        match self.settings.iter_mut().find(|setting| setting.key == key) {
            Some(setting) => {
                setting.value = value;
                setting.required |= required;
            }
            None => self.settings.push(Setting { key, value, required }),
        }
    }

    /// What every testbed has.
    fn for_testbeds(&mut self) {
        self.set("net/ipv4/ip_local_port_range", format!("{} 65535", addresses::FIRST_EPHEMERAL_PORT), true);
        // A full queue of listeners is to be counted, not to be answered with cookies, which lose the options of a SYN.
        self.set("net/core/somaxconn", 65_535, true);
        self.set("net/ipv4/tcp_max_syn_backlog", 262_144, true);
        self.set("net/ipv4/tcp_syncookies", 0, false);
        self.set("net/ipv4/tcp_max_tw_buckets", TIME_WAITS, false);
        self.set("net/ipv4/tcp_tw_reuse", 1, false);
        // A connection learns nothing from those before it.
        self.set("net/ipv4/tcp_no_metrics_save", 1, true);
        self.set("net/ipv4/tcp_no_ssthresh_metrics_save", 1, false);
        // Windows are the emulator's to limit. With a fixed buffer they do not depend on what arrived so far.
        self.set("net/ipv4/tcp_rmem", format!("4096 {RECEIVE_MEMORY} {RECEIVE_MEMORY}"), true);
        self.set("net/ipv4/tcp_moderate_rcvbuf", 0, false);
        self.set("net/ipv4/tcp_wmem", "4096 131072 16777216", true);
        // What a program writes is a segment, whatever stands in the queue of a device.
        self.set("net/ipv4/tcp_autocorking", 0, false);
        // Source addresses are thousands, and no route leads back to them but one.
        self.set("net/ipv4/conf/all/rp_filter", 0, false);
        self.set("net/ipv4/conf/default/rp_filter", 0, false);
        self.set("net/ipv6/conf/all/disable_ipv6", 0, false);
        self.set("net/ipv6/conf/default/disable_ipv6", 0, false);
        // No device has an IPv6 address by itself, and asks for none: only connections send. Their addresses are local by a route.
        self.set("net/ipv6/conf/default/addr_gen_mode", 1, false);
        self.set("net/ipv6/conf/default/accept_ra", 0, false);
        self.set("net/ipv6/ip_nonlocal_bind", 1, false);
        self.metrics.initial_receive_window = Some(65_535_u32.div_ceil(TYPICAL_MSS));
    }

    fn for_tcp(&mut self, tcp: &Config) {
        let flag = |on: bool| u8::from(on);
        self.set("net/ipv4/tcp_sack", flag(tcp.sack != Sack::Off), true);
        self.set("net/ipv4/tcp_dsack", flag(tcp.sack == Sack::WithDuplicates), true);
        self.set("net/ipv4/tcp_timestamps", flag(tcp.timestamps), true);
        self.set("net/ipv4/tcp_window_scaling", flag(tcp.window_scaling), true);
        self.set("net/ipv4/tcp_ecn", flag(tcp.ecn != EcnEcho::Off), true);
        if let Some(buffer) = tcp.receive_buffer {
            self.set("net/ipv4/tcp_rmem", format!("4096 {} {}", buffer.bytes, ReceiveBuffer::LARGEST), true);
            self.set("net/ipv4/tcp_moderate_rcvbuf", 1, true);
        }
        self.set("net/ipv4/tcp_slow_start_after_idle", flag(tcp.restart_after_idle), true);
        self.set("net/ipv4/tcp_recovery", flag(tcp.rack), false);
        self.set("net/ipv4/tcp_early_retrans", if tcp.rack { 3 } else { 0 }, false);
        self.set("net/ipv4/tcp_frto", if tcp.f_rto { 2 } else { 0 }, false);
        self.set("net/ipv4/tcp_syn_retries", tcp.syn_retries, true);
        self.set("net/ipv4/tcp_synack_retries", tcp.syn_retries, true);
        self.set("net/ipv4/tcp_retries2", tcp.data_retries, true);
        // Since 6.5 the first four timeouts of a SYN are not backed off; RFC 6298 (5.5) backs off each.
        self.set("net/ipv4/tcp_syn_linear_timeouts", 0, false);
        self.set("net/ipv4/tcp_rto_max_ms", millis(tcp.rto.max).clamp(1_000, 120_000), false);
        self.metrics.initial_window = Some(initial_segments(tcp.initial_window));
        self.metrics.rto_min_millis = Some(millis(tcp.rto.min).max(1));
        self.metrics.quick_acks = tcp.delayed_ack.is_none();
    }

    /// What ends offer as in the original, the kernel has to offer always: the emulator takes it out of the SYNs of the others.
    fn offer_more(&mut self, classes: &[Class]) {
        let any = |offers: fn(&AsCaptured) -> bool| classes.iter().any(|class| offers(&class.as_captured));
        for (key, offers) in [
            ("net/ipv4/tcp_sack", any(|as_captured| as_captured.sack)),
            ("net/ipv4/tcp_timestamps", any(|as_captured| as_captured.timestamps)),
            ("net/ipv4/tcp_window_scaling", any(|as_captured| as_captured.window_scaling)),
            ("net/ipv4/tcp_ecn", any(|as_captured| as_captured.ecn)),
        ] {
            if offers {
                self.set(key, 1, true);
            }
        }
    }

    /// Tells the kernel, for the calling thread's namespace; and names what it lacks or would not take.
    ///
    /// # Errors
    /// It did not take what no run can do without.
    pub(super) fn apply(&self) -> Result<Vec<Refused>, Refused> {
        let mut refused = Vec::new();
        for setting in &self.settings {
            let Err(cause) = setting.apply() else { continue };
            let what = Refused { key: setting.key.replace('/', "."), value: setting.value.clone(), cause };
            if setting.required {
                return Err(what);
            }
            // What a kernel without IPv6 lacks is said where it matters.
            if !setting.key.starts_with("net/ipv6") || Path::new(SYSCTLS).join("net/ipv6").exists() {
                refused.push(what);
            }
        }
        Ok(refused)
    }
}

impl Setting {
    fn apply(&self) -> io::Result<()> {
        let file = Path::new(SYSCTLS).join(self.key);
        fs::write(&file, &self.value)?;
        let kept = fs::read_to_string(&file)?;
        if kept.split_whitespace().eq(self.value.split_whitespace()) {
            Ok(())
        } else {
            Err(io::Error::other(format!("it became {}", kept.trim())))
        }
    }
}

/// A setting that the kernel has not, or would not take.
#[derive(Debug, Error)]
#[error("the kernel would not take {key} = {value}: {cause}")]
pub struct Refused {
    /// Its name, with points.
    pub key: String,
    /// What it was to become.
    pub value: String,
    /// What the kernel said.
    pub cause: io::Error,
}

impl Provenance {
    /// That of the calling thread's namespace.
    pub(super) fn of_this_namespace() -> Provenance {
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned();
        let mut settings = BTreeMap::new();
        for entry in fs::read_dir("/proc/sys/net/ipv4").into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let told = name.starts_with("tcp_") && name != "tcp_fastopen_key" || name == "ip_local_port_range";
            if let Some(value) = told.then(|| fs::read_to_string(entry.path()).ok()).flatten() {
                let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
                settings.insert(format!("net.ipv4.{name}"), value);
            }
        }
        Provenance { kernel, settings }
    }
}

fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_nanos() / 1_000_000).unwrap_or(u32::MAX)
}

fn initial_segments(window: InitialWindow) -> u32 {
    window.bytes(TYPICAL_MSS) / TYPICAL_MSS
}

/// The kernel's name of an algorithm. Its Reno has the recovery of RFC 6582.
fn kernel_name(algorithm: &Algorithm) -> &str {
    match algorithm {
        Algorithm::Reno | Algorithm::NewReno => "reno",
        other => other.name(),
    }
}

/// Whether a socket takes this congestion control: the kernel loads it where it may.
fn has_algorithm(name: &str) -> bool {
    socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)
        .is_ok_and(|socket| setsockopt(&socket, TcpCongestion, &name.into()).is_ok())
}

/// The congestion controls that the kernel has at hand.
pub fn available_algorithms() -> Vec<String> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// The first thing in which two classes differ that a kernel has once per namespace: its key, and both values.
fn difference(first: &Config, other: &Config) -> Option<(&'static str, String, String)> {
    let shown = |tcp: &Config| {
        [
            ("sack", word(tcp.sack)),
            ("recovery", if tcp.rack { "rack" } else { "sack" }.to_owned()),
            ("f-rto", tcp.f_rto.to_string()),
            ("ecn", if tcp.ecn == EcnEcho::Off { "off" } else { "on" }.to_owned()),
            ("timestamps", tcp.timestamps.to_string()),
            ("window-scaling", tcp.window_scaling.to_string()),
            ("initial-window", initial_segments(tcp.initial_window).to_string()),
            ("delayed-ack", if tcp.delayed_ack.is_none() { "off" } else { "on" }.to_owned()),
            ("receive-buffer", tcp.receive_buffer.map_or("off".to_owned(), |buffer| format!("{} bytes", buffer.bytes))),
            ("rto-min", format!("{}ms", millis(tcp.rto.min))),
            ("rto-max", format!("{}ms", millis(tcp.rto.max))),
            ("restart-after-idle", tcp.restart_after_idle.to_string()),
            ("syn-retries", tcp.syn_retries.to_string()),
            ("data-retries", tcp.data_retries.to_string()),
        ]
    };
    let pairs = shown(first).into_iter().zip(shown(other));
    pairs.map(|((key, first), (_, other))| (key, first, other)).find(|(_, first, other)| first != other)
}

/// What of an algorithm's parameters a socket cannot be told.
fn algorithm_notes(algorithm: &Algorithm) -> Vec<Note> {
    let note = |asked: String, kernel| vec![Note { key: "congestion", asked, kernel }];
    match algorithm {
        Algorithm::Reno => note("reno".to_owned(), "its reno recovers as newreno does (RFC 6582)"),
        Algorithm::Cubic(parameters) if *parameters != CubicParameters::default() => {
            note("cubic with parameters of its own".to_owned(), "the parameters of its cubic are those of the module")
        }
        Algorithm::Dctcp(parameters) if *parameters != DctcpParameters::default() => {
            let asked = format!("1/{}", 1u32 << parameters.gain_shift);
            vec![Note { key: "dctcp-gain", asked, kernel: "it has the gain of its module (dctcp_shift_g)" }]
        }
        Algorithm::Vegas(parameters) if *parameters != VegasParameters::default() => {
            note("vegas with parameters of its own".to_owned(), "the parameters of its vegas are those of the module")
        }
        _ => Vec::new(),
    }
}

/// What else of `tcp` no kernel can be told, where it is not what Linux does.
fn notes(tcp: &Config) -> Vec<Note> {
    let linux = Config::of(Profile::Linux);
    let mut notes = Vec::new();
    let mut note = |differs: bool, key, asked: String, kernel| {
        if differs {
            notes.push(Note { key, asked, kernel });
        }
    };
    let delays = |tcp: &Config| tcp.delayed_ack.map_or("off".to_owned(), Duration::written);
    let other_delay = tcp.delayed_ack.is_some() && tcp.delayed_ack != linux.delayed_ack;
    note(other_delay, "delayed-ack", delays(tcp), "it delays by 40 to 200 ms, as acknowledgements and data come");
    let quick = tcp.delayed_ack.is_some() && tcp.quick_acks != linux.quick_acks;
    note(quick, "quick-acks", tcp.quick_acks.to_string(), "it acknowledges up to 16 segments at once at the start");
    let growth = tcp.window_growth != linux.window_growth;
    note(growth, "window-growth", tcp.window_growth.to_string(), "its windows grow from 65,535 bytes");
    let rules = tcp.window_rules != linux.window_rules;
    note(rules, "window-rules", word(tcp.window_rules), "its window obeys Linux's rules");
    let compression = tcp.sack_compression != linux.sack_compression;
    note(
        compression,
        "sack-compression",
        tcp.sack_compression.to_string(),
        "it compresses acknowledgements over a hole",
    );
    if let Some(buffer) = tcp.receive_buffer {
        let ratio = format!("{:.3}", f64::from(buffer.payload_ratio) / 256.0);
        note(true, "payload-ratio", ratio, "it has the ratio of the packets that its driver delivers");
    }
    let counting = tcp.byte_counting != linux.byte_counting;
    note(counting, "byte-counting", tcp.byte_counting.to_string(), "it counts what is acknowledged");
    let limit = tcp.slow_start_limit.map_or("none".to_owned(), |segments| format!("{segments} segments"));
    let limited = tcp.slow_start_limit != linux.slow_start_limit;
    note(limited, "slow-start-limit", limit, "its slow start grows by all that is acknowledged");
    let sack = tcp.sack != Sack::Off;
    note(sack && !tcp.rack, "recovery", "sack".to_owned(), "since 6.17 it tells losses by time alone (RACK)");
    note(sack && !tcp.prr, "prr", "false".to_owned(), "it has PRR always");
    note(!tcp.undo, "undo", "false".to_owned(), "it takes reductions back where timestamps or D-SACK tell it may");
    note(!tcp.limited_transmit, "limited-transmit", "false".to_owned(), "it has limited transmit always");
    note(tcp.pacing, "pacing", "true".to_owned(), "nothing is paced but by algorithms that pace themselves");
    note(!tcp.bursts, "bursts", "false".to_owned(), "it sends in bursts of about a millisecond");
    let initial = format!("{}ms", millis(tcp.rto.initial));
    note(tcp.rto.initial != linux.rto.initial, "rto-initial", initial, "it waits 1 s before the first sample");
    let slop = format!("{}ms", millis(tcp.rto.slop));
    note(tcp.rto.slop != Duration::ZERO, "rto-slop", slop, "it adds nothing to its timeouts");
    let margin = tcp.rto.granularity < tcp.rto.min;
    let asked = format!("{}ms", millis(tcp.rto.min));
    note(margin, "rto-min", asked, "it is the least margin over the smoothed round-trip time, not the least timeout");
    let by_size = matches!(tcp.initial_window, InitialWindow::Rfc5681);
    note(by_size, "initial-window", "0".to_owned(), "it is a number of segments whatever their size: 3");
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(tcp: Config) -> Class {
        Class { tcp, ..Class::default() }
    }

    fn linux_with(congestion: Algorithm) -> Class {
        class(Config { congestion, ..Config::of(Profile::Linux) })
    }

    #[test]
    fn linux_is_taken_as_it_is() {
        let (settings, options) =
            Settings::with_algorithms(&[linux_with(Algorithm::NewReno), linux_with(Algorithm::Bbr)], |_| true).unwrap();
        assert_eq!(settings.notes(), []);
        let names: Vec<_> = options.iter().map(|options| options.congestion.as_deref()).collect();
        assert_eq!(names, [Some("reno"), Some("bbr")]);
        assert_eq!((settings.metrics.initial_window, settings.metrics.rto_min_millis), (Some(10), Some(200)));
    }

    #[test]
    fn another_host_chooses_values_and_no_files() {
        let (settings, _) = Settings::for_remote(&[class(Config::of(Profile::Bsd2008))]).unwrap();
        assert_ne!(settings, Settings::default());
        let mut sent = Sent::from(settings.clone());
        let received = Settings::try_from(Sent { values: sent.values.clone(), metrics: sent.metrics }).unwrap();
        assert_eq!((&received.settings, received.metrics), (&settings.settings, settings.metrics));
        sent.values.push(("kernel/core_pattern".to_owned(), "|/bin/sh".to_owned()));
        assert!(Settings::try_from(sent).unwrap_err().to_string().contains("core_pattern"));
    }

    #[test]
    fn what_is_the_kernels_own_is_said() {
        for (profile, some) in [
            (Profile::Plain, "undo"),
            (Profile::Rfc, "recovery"),
            (Profile::Bsd2008, "rto-slop"),
            (Profile::Classic, "byte-counting"),
        ] {
            let (settings, _) = Settings::with_algorithms(&[class(Config::of(profile))], |_| true).unwrap();
            assert!(settings.notes().iter().any(|note| note.key == some), "{profile:?}: {:?}", settings.notes());
            assert!(!settings.notes().iter().any(|note| note.key == "window-scaling"));
        }
    }

    #[test]
    fn another_dctcp_gain_is_named() {
        let notes = |gain_shift| {
            let dctcp = linux_with(Algorithm::Dctcp(DctcpParameters { gain_shift }));
            Settings::with_algorithms(&[dctcp], |_| true).unwrap().0.notes().to_vec()
        };
        assert_eq!(notes(4), []);
        let [note] = &notes(6)[..] else { panic!("one note") };
        assert_eq!((note.key, note.asked.as_str()), ("dctcp-gain", "1/64"));
    }

    #[test]
    fn the_kernel_sizes_receive_buffers() {
        let value = |settings: &Settings, key| {
            let found = settings.settings.iter().find(|setting| setting.key == key).unwrap();
            (found.value.clone(), found.required)
        };
        let (rmem, moderate) = ("net/ipv4/tcp_rmem", "net/ipv4/tcp_moderate_rcvbuf");
        let fixed = Settings::default();
        assert_eq!(value(&fixed, rmem), ("4096 8388608 8388608".to_owned(), true));
        assert_eq!(value(&fixed, moderate).0, "0");
        let sized = |bytes| {
            let receive_buffer = Some(ReceiveBuffer { bytes, payload_ratio: 161 });
            class(Config { receive_buffer, ..Config::of(Profile::Linux) })
        };
        let (settings, _) = Settings::with_algorithms(&[sized(131_072)], |_| true).unwrap();
        assert_eq!(value(&settings, rmem), ("4096 131072 33554432".to_owned(), true));
        assert_eq!(value(&settings, moderate), ("1".to_owned(), true));
        assert_eq!(settings.notes().len(), 1);
        assert_eq!((settings.notes()[0].key, settings.notes()[0].asked.as_str()), ("payload-ratio", "0.629"));
        let refused = Settings::with_algorithms(&[sized(131_072), sized(65_536)], |_| true).unwrap_err();
        assert!(matches!(refused, Unsupported::Differs { key: "receive-buffer", class: 1, .. }), "{refused}");
    }

    #[test]
    fn what_classes_cannot_differ_in_is_refused() {
        let other = class(Config { timestamps: false, ..Config::of(Profile::Linux) });
        let refused = Settings::with_algorithms(&[linux_with(Algorithm::Bbr), other], |_| true).unwrap_err();
        let (first, other) = ("true".to_owned(), "false".to_owned());
        assert_eq!(refused, Unsupported::Differs { key: "timestamps", first, other, class: 1 });
    }

    /// Sack::WithDuplicates is no word of a file.
    #[test]
    fn differences_are_spelt_as_keys_are() {
        let other = class(Config { sack: Sack::Off, ..Config::of(Profile::Linux) });
        let refused =
            Settings::with_algorithms(&[linux_with(Algorithm::Bbr), other], |_| true).unwrap_err().to_string();
        assert!(refused.starts_with("sack is off in class 1 and with-duplicates in the first"), "{refused}");
    }

    #[test]
    fn an_algorithm_the_kernel_lacks_is_refused_with_those_it_has() {
        let refused = Settings::with_algorithms(&[linux_with(Algorithm::Tahoe)], |name| name != "tahoe").unwrap_err();
        assert!(refused.to_string().contains("\"tahoe\"") && refused.to_string().contains("reno"), "{refused}");
        assert!(has_algorithm("reno") && !has_algorithm("tahoe"), "every Linux has reno, none has tahoe");
    }
}
