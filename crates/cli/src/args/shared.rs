//! Options that several groups of commands share.

use std::net::{Ipv4Addr, SocketAddr};

use clap::{Args, ValueEnum};
use flowloom::monitoring::PushOptions;
use flowloom::time::Duration;
use flowloom::{CaptureOptions, Error, Truncation};

/// A side of the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum GuestSide {
    /// Left (inside) of the link
    #[default]
    Left,
    /// Right of the link
    Right,
}

/// How captures are read and cut into connections.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Reading captures and flow records")]
pub struct Capture {
    /// Prefix of the addresses on the left (inside) of the link; may be repeated [default: from directions or MAC addresses in
    /// the capture; where these are missing, initiators are on the left]
    #[arg(long, value_name = "PREFIX")]
    pub inside: Vec<String>,
    /// Also read a capture whose last record claims more bytes than its packet had, and flow records that are cut off
    /// [default: refuse both]
    #[arg(long, conflicts_with = "strict")]
    pub allow_truncated: bool,
    /// Refuse a capture that ends inside its last record [default: read it up to there, with a warning]
    #[arg(long)]
    pub strict: bool,
    /// Which of the bytes that the capture lacks to replay [default: acknowledged]
    #[arg(long, value_enum, value_name = "BYTES")]
    pub missing: Option<Missing>,
    /// Keep only TCP connections with a captured SYN and FIN or RST
    #[arg(long)]
    pub complete_only: bool,
    /// Idle time after which a connection ends [default: 1h; for flow records 60s]
    #[arg(long, value_name = "TIME", default_value = "1h", hide_default_value = true, allow_hyphen_values = true)]
    pub idle_timeout: Duration,
    /// Idle time after which a UDP or QUIC flow ends
    #[arg(long, value_name = "TIME", default_value = "60s", allow_hyphen_values = true)]
    pub udp_idle_timeout: Duration,
    /// Ignore UDP and QUIC
    #[arg(long)]
    pub tcp_only: bool,
    /// Where on the path the capture was made; losses and transit times are inferred from this
    #[arg(long, value_enum, default_value_t, value_name = "WHERE")]
    pub monitor: Monitor,
    /// Treat equal addresses and ports in different VLANs as different connections
    #[arg(long)]
    pub vlan_key: bool,
    /// Memory limit for open connections; above it, the connections idle for longest are ended
    #[arg(long, value_name = "SIZE", default_value = "4gb", allow_hyphen_values = true)]
    pub max_memory: Memory,
    /// Number of threads for reading captures, without effect on results [default: all cores, at most 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64), allow_negative_numbers = true)]
    pub threads: Option<u16>,
    /// Accept NetFlow or IPFIX records made from sampled packets
    #[arg(long)]
    pub allow_sampled: bool,
    /// For NetFlow and IPFIX: the exporter's active timeout
    #[arg(long, value_name = "TIME", default_value = "30min", allow_hyphen_values = true)]
    pub active_timeout: Duration,
    /// Leave names of input files out of all output but error messages
    #[arg(long)]
    pub anonymize: bool,
}

/// Choice of missing bytes that belong to their ADU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Missing {
    /// The bytes that the other end acknowledged
    Acknowledged,
    /// All missing bytes
    All,
    /// None; connections with missing bytes are set aside
    Skip,
}

impl From<Missing> for flowloom::Missing {
    fn from(missing: Missing) -> flowloom::Missing {
        match missing {
            Missing::Acknowledged => flowloom::Missing::Acknowledged,
            Missing::All => flowloom::Missing::All,
            Missing::Skip => flowloom::Missing::Skip,
        }
    }
}

/// Where the monitor stood on the paths of the connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Monitor {
    /// Between the ends
    #[default]
    Mid,
    /// At the hosts on the left (inside) of the link
    Left,
    /// At the hosts on the right of the link
    Right,
    /// At the initiators
    Initiator,
    /// At the acceptors
    Acceptor,
}

impl From<Monitor> for flowloom::Monitor {
    fn from(monitor: Monitor) -> flowloom::Monitor {
        match monitor {
            Monitor::Mid => flowloom::Monitor::Mid,
            Monitor::Left => flowloom::Monitor::Left,
            Monitor::Right => flowloom::Monitor::Right,
            Monitor::Initiator => flowloom::Monitor::Initiator,
            Monitor::Acceptor => flowloom::Monitor::Acceptor,
        }
    }
}

/// A size in memory: `2gb`, `500mb`; at least 100 MB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory(u64);

impl Memory {
    /// An amount of memory in bytes.
    pub fn bytes(self) -> u64 {
        self.0
    }
}

impl std::str::FromStr for Memory {
    type Err = String;

    fn from_str(text: &str) -> Result<Memory, String> {
        let units = [("kb", 1_000u64), ("mb", 1_000_000), ("gb", 1_000_000_000), ("tb", 1_000_000_000_000)];
        let size = units.iter().find_map(|(unit, bytes)| {
            let number: f64 = text.strip_suffix(unit)?.parse().ok()?;
            (number.is_finite() && number >= 0.0).then_some((number * *bytes as f64) as u64)
        });
        match size {
            Some(bytes) if bytes < 100_000_000 => Err("less than 100mb".to_owned()),
            Some(bytes) => Ok(Memory(bytes)),
            None => Err("not a size in memory; write it like 500mb or 2gb".to_owned()),
        }
    }
}

impl Capture {
    /// As the library takes them.
    pub fn options(&self) -> CaptureOptions {
        CaptureOptions {
            inside: self.inside.clone(),
            truncation: match (self.strict, self.allow_truncated) {
                (true, _) => Truncation::Refuse,
                (false, true) => Truncation::Allow,
                (false, false) => Truncation::LastRecord,
            },
            complete_only: self.complete_only,
            missing: self.missing.map(Into::into),
            idle_timeout: self.idle_timeout,
            udp_idle_timeout: self.udp_idle_timeout,
            tcp_only: self.tcp_only,
            monitor: self.monitor.into(),
            vlan_key: self.vlan_key,
            max_memory: self.max_memory.bytes(),
            threads: self.threads,
            allow_sampled: self.allow_sampled,
            active_timeout: self.active_timeout,
            one_way: false,
            anonymize: self.anonymize,
        }
    }
}

/// The form of the answer of a command that takes its time.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Machine-readable output")]
pub struct Form {
    /// Print the result as JSON on standard output
    #[arg(long)]
    pub json: bool,
    /// Print JSON lines on standard output: start, progress, and the result at the end
    #[arg(long, conflicts_with = "json")]
    pub json_stream: bool,
}

/// A count.
pub(super) fn whole(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("not a whole number from 0 to {}", u64::MAX))
}

/// A seed, as files can hold it.
pub(super) fn seed(text: &str) -> Result<u64, String> {
    let seed = text.parse().ok().filter(|seed| *seed <= i64::MAX as u64);
    seed.ok_or_else(|| format!("not a whole number from 0 to {}", i64::MAX))
}

/// A rate; a whole number alone is of bit/s, as in an experiment.
pub(super) fn rate<T: std::str::FromStr>(text: &str) -> Result<T, T::Err> {
    match text.parse::<u64>() {
        // The reader says what is wrong with it as it was typed.
        Ok(0) => text.parse(),
        Ok(bits) => format!("{bits}bit/s").parse(),
        Err(_) => text.parse(),
    }
}

/// A share of a link's rate: `85%`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load(pub f64);

impl std::str::FromStr for Load {
    type Err = String;

    fn from_str(text: &str) -> Result<Load, String> {
        let percent = text.trim().strip_suffix('%').and_then(|number| number.trim_end().parse::<f64>().ok());
        match percent {
            Some(percent) if (1.0..=500.0).contains(&percent) => Ok(Load(percent / 100.0)),
            _ => Err("a load is a share of the bottleneck's rate, from 1% to 500%".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_memory_have_a_unit_and_a_least_value() {
        assert_eq!("2gb".parse(), Ok(Memory(2_000_000_000)));
        assert_eq!("0.5gb".parse(), Ok(Memory(500_000_000)));
        for bad in ["2", "gb", "-1gb", "1mb", "2gib", "nangb", "1e400gb"] {
            assert!(bad.parse::<Memory>().is_err(), "{bad}");
        }
    }
}

/// How others see work while it goes on.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Watching")]
pub struct Watching {
    /// Address at which to serve the present state as Prometheus text under /metrics; a port alone is one of the loopback address
    /// [default: not served]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = metrics_address)]
    pub metrics: Option<SocketAddr>,
    /// Collector to push metrics to, by OTLP over HTTP (http://127.0.0.1:4318), with the headers of the environment variable
    /// OTEL_EXPORTER_OTLP_HEADERS [default: not pushed]
    #[arg(long, value_name = "URL")]
    pub otlp: Option<String>,
    /// How often to push metrics
    #[arg(long, value_name = "TIME", default_value = "10s", allow_hyphen_values = true)]
    pub otlp_interval: Duration,
}

impl Watching {
    /// Where and how metrics are pushed.
    pub fn push(&self) -> Result<Option<PushOptions>, Error> {
        let Some(url) = &self.otlp else { return Ok(None) };
        let options =
            PushOptions::new(url, self.otlp_interval).map_err(|why| Error::usage(format_args!("--otlp: {why}")))?;
        let headers = std::env::var("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default();
        let options = options.with_headers(&headers);
        options.map(Some).map_err(|why| Error::usage(format_args!("OTEL_EXPORTER_OTLP_HEADERS: {why}")))
    }
}

/// Where metrics are served.
fn metrics_address(text: &str) -> Result<SocketAddr, String> {
    match text.parse() {
        Ok(port) => Ok((Ipv4Addr::LOCALHOST, port).into()),
        Err(_) => text.parse().map_err(|_| "write a port (9421), or an address and a port (127.0.0.1:9421)".to_owned()),
    }
}
