//! What a script says about the stack it runs on: options of the script, sysctls, socket options.

use flowloom_core::tcp::congestion::{Algorithm, UnknownAlgorithm};
use flowloom_core::tcp::{Config, EcnEcho, InitialWindow, Limits, Profile, Sack};
use flowloom_core::time::Duration;

use super::script::Setting;

/// How the endpoint is set up, and how exact its times have to be.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) tcp: Config,
    pub(super) limits: Limits,
    /// How far from its time a packet may be sent.
    pub(super) tolerance: Duration,
}

/// The kernel sources' tests allow 4 ms, and so does the language where nothing is said.
const TOLERANCE: Duration = Duration::from_millis(4);

/// What steers the tool's network devices and the kernel's housekeeping: nothing that an endpoint without a network,
/// memory limits or a cache of past connections knows.
const WITHOUT_EFFECT: [&str; 24] = [
    "ip_version",
    "local_ip",
    "remote_ip",
    "gateway_ip",
    "netmask_ip",
    "bind_port",
    "connect_port",
    "init_scripts",
    "non_fatal",
    "send_omit_free",
    "net.core.default_qdisc",
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_min_tso_segs",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_fastopen",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_max_syn_backlog",
];

impl Settings {
    pub(super) fn new() -> Settings {
        Settings { tcp: Config::default(), limits: Limits::default(), tolerance: TOLERANCE }
    }

    /// Takes an option of the script or a sysctl.
    pub(super) fn apply(&mut self, setting: &Setting) -> Result<(), String> {
        let (name, value) = (setting.name.as_str(), setting.value.as_str());
        if WITHOUT_EFFECT.contains(&name) {
            return Ok(());
        }
        match name {
            "tolerance_usecs" => self.tolerance = Duration::from_micros(number(value)?),
            "define" => {
                let (name, value) = value.split_once('=').ok_or("write it like --define=RTO_MIN=200ms")?;
                self.define(name, value)?;
            }
            "net.ipv4.tcp_sack" => {
                self.tcp.sack = if switch(value)? { Sack::On } else { Sack::Off };
            }
            "net.ipv4.tcp_dsack" => match (switch(value)?, self.tcp.sack) {
                (true, Sack::On) => self.tcp.sack = Sack::WithDuplicates,
                (false, Sack::WithDuplicates) => self.tcp.sack = Sack::On,
                _ => {}
            },
            "net.ipv4.tcp_timestamps" => self.tcp.timestamps = switch(value)?,
            "net.ipv4.tcp_window_scaling" => self.tcp.window_scaling = switch(value)?,
            "net.ipv4.tcp_ecn" => {
                self.tcp.ecn = if switch(value)? { EcnEcho::UntilAnswered } else { EcnEcho::Off };
                self.echo_as_wanted();
            }
            "net.ipv4.tcp_congestion_control" => self.congestion(value)?,
            "net.ipv4.tcp_frto" => self.tcp.f_rto = switch(value)?,
            "net.ipv4.tcp_recovery" => self.tcp.rack = switch(value)?,
            "net.ipv4.tcp_slow_start_after_idle" => self.tcp.restart_after_idle = switch(value)?,
            "net.ipv4.tcp_syn_retries" => self.tcp.syn_retries = small(value)?,
            "net.ipv4.tcp_retries2" => self.tcp.data_retries = small(value)?,
            "net.ipv4.tcp_rto_min_us" => self.tcp.rto.min = Duration::from_micros(number(value)?),
            _ => return Err(format!("{name} is not a setting that can be made here")),
        }
        Ok(())
    }

    /// Sets what sysctls do not cover.
    fn define(&mut self, name: &str, value: &str) -> Result<(), String> {
        let time = || value.parse::<Duration>().map_err(|error| error.to_string());
        match name {
            // Settings of a profile replace all that were made before.
            "PROFILE" => self.tcp = Config::of(profile(value)?),
            "LIMITED_TRANSMIT" => self.tcp.limited_transmit = on_or_off(value)?,
            "PRR" => self.tcp.prr = on_or_off(value)?,
            "UNDO" => self.tcp.undo = on_or_off(value)?,
            "PACING" => self.tcp.pacing = on_or_off(value)?,
            "INITIAL_WINDOW" => self.tcp.initial_window = InitialWindow::Segments(small(value)?.into()),
            "DELAYED_ACK" => self.tcp.delayed_ack = if value == "off" { None } else { Some(time()?) },
            "QUICK_ACKS" => self.tcp.quick_acks = small(value)?,
            "RTO_INITIAL" => self.tcp.rto.initial = time()?,
            "RTO_MIN" => self.tcp.rto.min = time()?,
            "RTO_MAX" => self.tcp.rto.max = time()?,
            "RECEIVE_WINDOW" => {
                self.limits.max_window = number(value)?.try_into().map_err(|_| "a window is 32 bits")?
            }
            "MSS" => self.maximum_segment_size(number(value)?)?,
            _ => {
                return Err(format!(
                    "{name} is not defined by anybody; PROFILE, LIMITED_TRANSMIT, PRR, UNDO, PACING, INITIAL_WINDOW, DELAYED_ACK, QUICK_ACKS, RTO_INITIAL, RTO_MIN, \
                     RTO_MAX, RECEIVE_WINDOW, MSS are"
                ));
            }
        }
        Ok(())
    }

    /// Chooses the congestion control by its name.
    pub(super) fn congestion(&mut self, name: &str) -> Result<(), String> {
        self.tcp.congestion = name.parse().map_err(|error: UnknownAlgorithm| error.to_string())?;
        self.echo_as_wanted();
        Ok(())
    }

    /// Where there is ECN, DCTCP has its own echo.
    fn echo_as_wanted(&mut self) {
        if self.tcp.ecn != EcnEcho::Off {
            let each = matches!(self.tcp.congestion, Algorithm::Dctcp(_));
            self.tcp.ecn = if each { EcnEcho::EachMark } else { EcnEcho::UntilAnswered };
        }
    }

    /// Sets the maximum segment size, as `TCP_MAXSEG` does.
    pub(super) fn maximum_segment_size(&mut self, bytes: u64) -> Result<(), String> {
        self.limits.mss = u16::try_from(bytes).ok().filter(|mss| *mss > 0).ok_or("a segment size is 1 to 65535")?;
        Ok(())
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("\"{text}\" is not a whole number"))
}

fn small(text: &str) -> Result<u8, String> {
    text.parse().map_err(|_| format!("\"{text}\" is not a number of 0 to 255"))
}

fn profile(name: &str) -> Result<Profile, String> {
    match name {
        "plain" => Ok(Profile::Plain),
        "rfc" => Ok(Profile::Rfc),
        "bsd-2008" => Ok(Profile::Bsd2008),
        "linux" => Ok(Profile::Linux),
        "classic" => Ok(Profile::Classic),
        _ => Err(format!("\"{name}\" is no profile; they are plain, rfc, bsd-2008, linux, classic")),
    }
}

fn on_or_off(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("\"{text}\" is neither on nor off")),
    }
}

/// 0 is off; every other number is on in some way.
fn switch(text: &str) -> Result<bool, String> {
    number(text).map(|value| value > 0)
}
