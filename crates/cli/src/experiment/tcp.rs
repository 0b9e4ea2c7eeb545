//! `[tcp]`: a profile, and what differs from it.

use serde::{Deserialize, Serialize};

use flowloom_core::tcp;
use flowloom_core::tcp::congestion::{Algorithm, CubicParameters, DctcpParameters, VegasParameters};
use flowloom_core::time::Duration;

use super::{Optional, Quantity};

/// `[tcp]`, with every key that was left out filled in from the profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "TcpKeys", rename_all = "kebab-case")]
pub struct Tcp {
    /// Where the other keys have their defaults from.
    pub profile: Profile,
    /// Congestion control.
    pub congestion: Congestion,
    /// Selective acknowledgements.
    pub sack: Sack,
    /// How losses are told where SACK is agreed.
    pub recovery: Recovery,
    /// Proportional rate reduction (RFC 6937) where SACK is agreed.
    pub prr: bool,
    /// Reductions without cause are taken back (RFC 3522, 3708, 4015).
    pub undo: bool,
    /// F-RTO (RFC 5682).
    pub f_rto: bool,
    /// A new segment for each of the first two duplicate acknowledgements (RFC 3042).
    pub limited_transmit: bool,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
    /// Window scaling (RFC 7323).
    pub window_scaling: bool,
    /// Initial window in segments (RFC 6928: 10); 0 takes RFC 5681's 2 to 4.
    pub initial_window: u16,
    /// Whether acknowledgements count for what they acknowledge (RFC 3465), or for a segment at most.
    pub byte_counting: bool,
    /// Delayed acknowledgement timer, or "off".
    pub delayed_ack: Quantity<Optional<Duration>>,
    /// Segments acknowledged at once at the start (Linux: 16).
    pub quick_acks: u8,
    /// Smallest retransmission timeout; with the profiles plain and linux also the smallest margin of it over the smoothed
    /// round-trip time.
    pub rto_min: Quantity<Duration>,
    /// Retransmission timeout before the first round-trip sample.
    pub rto_initial: Quantity<Duration>,
    /// Whether algorithms without a rate of their own are paced as Linux does it.
    pub pacing: bool,
}

/// The keys as written.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct TcpKeys {
    profile: Profile,
    congestion: Option<Congestion>,
    sack: Option<Sack>,
    recovery: Option<Recovery>,
    prr: Option<bool>,
    undo: Option<bool>,
    f_rto: Option<bool>,
    limited_transmit: Option<bool>,
    ecn: Option<Ecn>,
    timestamps: Option<bool>,
    window_scaling: Option<bool>,
    initial_window: Option<u16>,
    byte_counting: Option<bool>,
    delayed_ack: Option<Quantity<Optional<Duration>>>,
    quick_acks: Option<u8>,
    rto_min: Option<Quantity<Duration>>,
    rto_initial: Option<Quantity<Duration>>,
    pacing: Option<bool>,
}

impl From<TcpKeys> for Tcp {
    fn from(keys: TcpKeys) -> Tcp {
        let profile = tcp::Config::of(keys.profile.into());
        // In words; a test holds them against the profiles.
        let (delayed_ack, rto_min, rto_initial) = match keys.profile {
            Profile::Plain | Profile::Linux => ("40ms", "200ms", "1s"),
            Profile::Rfc => ("200ms", "1s", "1s"),
            Profile::Bsd2008 => ("100ms", "30ms", "3s"),
        };
        let congestion = keys.congestion.unwrap_or(match keys.profile {
            Profile::Linux => Congestion::Cubic,
            Profile::Plain | Profile::Rfc | Profile::Bsd2008 => Congestion::Newreno,
        });
        let sack = keys.sack.unwrap_or(match profile.sack {
            tcp::Sack::Off => Sack::Off,
            tcp::Sack::On => Sack::On,
            tcp::Sack::WithDuplicates => Sack::WithDuplicates,
        });
        Tcp {
            profile: keys.profile,
            sack,
            recovery: keys.recovery.unwrap_or(if profile.rack && sack != Sack::Off {
                Recovery::Rack
            } else {
                Recovery::Sack
            }),
            prr: keys.prr.unwrap_or(profile.prr),
            undo: keys.undo.unwrap_or(profile.undo),
            f_rto: keys.f_rto.unwrap_or(profile.f_rto),
            limited_transmit: keys.limited_transmit.unwrap_or(profile.limited_transmit),
            // DCTCP is nothing without marks.
            ecn: keys.ecn.unwrap_or(if congestion == Congestion::Dctcp { Ecn::On } else { Ecn::Off }),
            timestamps: keys.timestamps.unwrap_or(profile.timestamps),
            window_scaling: keys.window_scaling.unwrap_or(profile.window_scaling),
            initial_window: keys.initial_window.unwrap_or(match profile.initial_window {
                tcp::InitialWindow::Segments(segments) => segments,
                tcp::InitialWindow::Rfc5681 | tcp::InitialWindow::Rfc6928 => 0,
            }),
            byte_counting: keys.byte_counting.unwrap_or(profile.byte_counting),
            delayed_ack: keys.delayed_ack.unwrap_or_else(|| Quantity::of(delayed_ack)),
            quick_acks: keys.quick_acks.unwrap_or(profile.quick_acks),
            rto_min: keys.rto_min.unwrap_or_else(|| Quantity::of(rto_min)),
            rto_initial: keys.rto_initial.unwrap_or_else(|| Quantity::of(rto_initial)),
            pacing: keys.pacing.unwrap_or(profile.pacing),
            congestion,
        }
    }
}

/// An acknowledgement must not be held back for longer (RFC 9293, 3.8.6.3).
const MOST_DELAYED_ACK: Duration = Duration::from_millis(500);

impl Default for Tcp {
    fn default() -> Tcp {
        TcpKeys::default().into()
    }
}

impl Tcp {
    /// What the keys mean only together.
    pub fn check(&self) -> Result<(), String> {
        if self.recovery == Recovery::Rack && self.sack == Sack::Off {
            return Err("tcp.recovery = \"rack\" needs SACK: set tcp.sack to \"on\" or \"with-duplicates\"".to_owned());
        }
        let most = tcp::Config::of(self.profile.into()).rto.max;
        for (key, value) in [("rto-min", &self.rto_min), ("rto-initial", &self.rto_initial)] {
            if value.value > most {
                return Err(format!("tcp.{key} of {value} is above the longest timeout, {most}"));
            }
        }
        if let Some(delay) = self.delayed_ack.value.0
            && delay > MOST_DELAYED_ACK
        {
            let delay = &self.delayed_ack;
            return Err(format!(
                "tcp.delayed-ack of {delay} is too long (at most {MOST_DELAYED_ACK}, RFC 9293 3.8.6.3)"
            ));
        }
        Ok(())
    }

    /// Whether its congestion control draws, so that seeds differ.
    pub fn draws(&self) -> bool {
        self.congestion == Congestion::Bbr
    }

    /// As the endpoints take it.
    pub fn config(&self) -> tcp::Config {
        let profile = tcp::Config::of(self.profile.into());
        let min = self.rto_min.value;
        let margin = matches!(self.profile, Profile::Plain | Profile::Linux);
        tcp::Config {
            congestion: self.congestion.algorithm(),
            sack: match self.sack {
                Sack::Off => tcp::Sack::Off,
                Sack::On => tcp::Sack::On,
                Sack::WithDuplicates => tcp::Sack::WithDuplicates,
            },
            rack: self.recovery == Recovery::Rack,
            prr: self.prr,
            undo: self.undo,
            f_rto: self.f_rto,
            limited_transmit: self.limited_transmit,
            ecn: match (self.ecn, self.congestion) {
                (Ecn::Off, _) => tcp::EcnEcho::Off,
                (Ecn::On, Congestion::Dctcp) => tcp::EcnEcho::EachMark,
                (Ecn::On, _) => tcp::EcnEcho::UntilAnswered,
            },
            timestamps: self.timestamps,
            window_scaling: self.window_scaling,
            initial_window: match self.initial_window {
                0 => tcp::InitialWindow::Rfc5681,
                segments => tcp::InitialWindow::Segments(segments),
            },
            byte_counting: self.byte_counting,
            delayed_ack: self.delayed_ack.value.0,
            quick_acks: self.quick_acks,
            rto: tcp::RtoConfig {
                min,
                granularity: if margin { min } else { profile.rto.granularity },
                initial: self.rto_initial.value,
                ..profile.rto
            },
            pacing: self.pacing,
            ..profile
        }
    }
}

/// Sets of TCP parameters that belong together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// NewReno without options but window scaling.
    #[default]
    Plain,
    /// The standards track.
    Rfc,
    /// FreeBSD 6, as in the published experiments.
    #[serde(rename = "bsd-2008")]
    Bsd2008,
    /// Linux as it comes.
    Linux,
}

impl From<Profile> for tcp::Profile {
    fn from(profile: Profile) -> tcp::Profile {
        match profile {
            Profile::Plain => tcp::Profile::Plain,
            Profile::Rfc => tcp::Profile::Rfc,
            Profile::Bsd2008 => tcp::Profile::Bsd2008,
            Profile::Linux => tcp::Profile::Linux,
        }
    }
}

/// Selective acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sack {
    /// Not offered.
    Off,
    /// RFC 2018.
    On,
    /// And duplicates reported (RFC 2883).
    WithDuplicates,
}

/// How losses are told where SACK is agreed; without it the congestion control says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// By what was acknowledged above (RFC 6675).
    Sack,
    /// By time (RACK-TLP, RFC 8985).
    Rack,
}

/// Explicit congestion notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ecn {
    /// Not offered.
    Off,
    /// RFC 3168; with DCTCP, its echo (RFC 8257).
    On,
}

/// Congestion controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Congestion {
    /// Fast retransmit without fast recovery.
    Tahoe,
    /// RFC 5681.
    Reno,
    /// RFC 5681 with the recovery of RFC 6582.
    Newreno,
    /// RFC 9438, with HyStart++.
    Cubic,
    /// RFC 8257.
    Dctcp,
    /// Brakmo and Peterson 1995.
    Vegas,
    /// BBR, version 1.
    Bbr,
}

impl Congestion {
    /// With its default parameters.
    fn algorithm(self) -> Algorithm {
        match self {
            Congestion::Tahoe => Algorithm::Tahoe,
            Congestion::Reno => Algorithm::Reno,
            Congestion::Newreno => Algorithm::NewReno,
            Congestion::Cubic => Algorithm::Cubic(CubicParameters::default()),
            Congestion::Dctcp => Algorithm::Dctcp(DctcpParameters::default()),
            Congestion::Vegas => Algorithm::Vegas(VegasParameters::default()),
            Congestion::Bbr => Algorithm::Bbr,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Experiment;
    use super::*;

    /// What an experiment says in words is what the profile has in numbers; each key changes its own.
    #[test]
    fn profiles_fill_in_what_is_not_written() {
        let tcp = |text: &str| Experiment::parse(&format!("[tcp]\n{text}"), "x.toml").unwrap().tcp;
        for profile in ["plain", "rfc", "bsd-2008", "linux"] {
            let resolved = tcp(&format!("profile = \"{profile}\"\n"));
            assert_eq!(resolved.config(), tcp::Config::of(resolved.profile.into()), "{profile}");
            assert_eq!(tcp(&toml::to_string(&resolved).unwrap()), resolved);
        }
        assert_eq!(tcp(""), Tcp::default());
        let mixed = tcp("profile = \"linux\"\ncongestion = \"bbr\"\nsack = \"off\"\ninitial-window = 3\n").config();
        assert_eq!((mixed.congestion, mixed.rack, mixed.quick_acks), (Algorithm::Bbr, false, 16));
        assert_eq!(mixed.initial_window, tcp::InitialWindow::Segments(3));
        assert_eq!(tcp("congestion = \"dctcp\"\n").config().ecn, tcp::EcnEcho::EachMark);
        let words =
            Algorithm::all().map(|algorithm| tcp(&format!("congestion = \"{algorithm}\"\n")).config().congestion);
        assert_eq!(words, Algorithm::all());
    }
}
