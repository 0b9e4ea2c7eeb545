//! `[workload]`: what is replayed, and what becomes of it before (`docs/reference/models.md`).

use std::path::PathBuf;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use flowloom_core::play::{self, Prefill};
use flowloom_core::time::Duration;
use flowloom_core::units::{Limit, ParseQuantityError};
use flowloom_models::generate::SourceModel;
use flowloom_models::{MOST_WINDOW, Structure};

use super::load::Load;
use super::rtt::{Rtt, RttModel};
use flowloom_core::keys::{KeyError, Quantity, Size, Written};

/// `[workload]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Workload {
    /// A capture or a workload file, relative to the experiment file.
    pub source: Option<PathBuf>,
    /// A source model that draws the workload instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<SourceModel>,
    /// How much of the original structure is kept.
    pub structure: Structure,
    /// Which round-trip time each connection gets.
    pub rtt: Rtt,
    /// Which receiver windows each connection gets.
    pub window: Quantity<WindowChoice>,
    /// Which losses its packets meet that the network does not make.
    #[serde(skip_serializing_if = "LossChoice::is_default")]
    pub loss: LossChoice,
    /// How much of it there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
    /// Which part of the measured waits is replayed (methods A.5.9-10).
    pub waits: Waits,
    /// The run begins when the workload has gone on for so long, with the connections in progress that are active then
    /// (methods M.4).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefill: Option<Quantity<Duration>>,
    /// Over how much of the beginning of the run the handshakes of connections in progress are spread; default: a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefill_spread: Option<Quantity<Duration>>,
    /// What becomes of its flows of UDP and QUIC datagrams.
    #[serde(skip_serializing_if = "DatagramModel::is_default")]
    pub datagrams: DatagramModel,
    /// Whether the time from handshake to first data is replayed (methods M.3).
    pub lead_in: bool,
    /// Whether the time from last data to close is replayed (methods M.3).
    pub t_close: bool,
}

impl Workload {
    /// What no type can refuse.
    pub fn check(&self) -> Result<(), KeyError> {
        if self.source.is_some() && self.model.is_some() {
            return Err(KeyError::new(
                "workload.model",
                "draws a workload, and workload.source names one: leave out one",
            ));
        }
        if let Some(model) = &self.model {
            model.check().map_err(|error| KeyError::new(error.key, error.problem).within("workload.model"))?;
        }
        match &self.load {
            Some(load) => load.check().map_err(|error| error.within("workload.load")),
            None => Ok(()),
        }
    }

    /// Whether it is made for the run: drawn from a model, or changed from what its source holds.
    pub fn is_made(&self) -> bool {
        self.model.is_some() || self.load.is_some() || self.fixed_window().is_some() || self.settles_waits()
    }

    /// Whether waits are decided on when the workload is made, because structures or round-trip times are others afterwards.
    pub fn settles_waits(&self) -> bool {
        self.structure != Structure::default() || !self.rtt.keeps_all()
    }

    /// Whether seeds make a difference.
    pub fn draws(&self) -> bool {
        self.model.is_some()
            || self.load.is_some()
            || self.loss == LossChoice::Measured
            || matches!(self.rtt.model, RttModel::Uniform { .. })
    }

    /// Whether seeds make a difference for the workload itself.
    pub fn is_drawn(&self) -> bool {
        let loss = LossChoice::None;
        Workload { loss, ..self.clone() }.draws()
    }

    /// The window that all connections get, if they do.
    pub fn fixed_window(&self) -> Option<u64> {
        match self.window.value {
            WindowChoice::Measured => None,
            WindowChoice::Fixed(bytes) => Some(bytes),
        }
    }

    /// Where the run begins in the workload.
    pub fn prefill(&self) -> Prefill {
        let prefill = Prefill::new(self.prefill.as_ref().map_or(Duration::ZERO, |prefill| prefill.value));
        self.prefill_spread.as_ref().map_or(prefill, |spread| prefill.spread_over(spread.value))
    }
}

impl Default for Workload {
    fn default() -> Workload {
        Workload {
            source: None,
            model: None,
            structure: Structure::default(),
            rtt: Rtt::default(),
            window: Quantity::of("measured"),
            loss: LossChoice::default(),
            load: None,
            waits: Waits::default(),
            prefill: None,
            prefill_spread: None,
            datagrams: DatagramModel::default(),
            lead_in: true,
            t_close: true,
        }
    }
}

/// What becomes of flows of datagrams in a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DatagramModel {
    /// They are left out.
    #[default]
    LeaveOut,
    /// They are sent as they were seen.
    AsSeen,
}

impl DatagramModel {
    fn is_default(&self) -> bool {
        *self == DatagramModel::default()
    }
}

/// `[workload.waits]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Waits {
    /// Waits shorter than this are not replayed.
    pub min: Quantity<Duration>,
    /// What is taken off a measured wait.
    pub correct: Correction,
}

impl Default for Waits {
    fn default() -> Waits {
        Waits { min: Quantity::of("0ms"), correct: Correction::Ostt }
    }
}

impl Waits {
    /// The core's.
    pub fn model(&self) -> play::Waits {
        let correct = match self.correct {
            Correction::None => play::Correction::None,
            Correction::Ostt => play::Correction::Ostt,
        };
        play::Waits { min: self.min.value, correct }
    }
}

/// Window models (methods B.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowChoice {
    /// Each end its own largest advertised window.
    Measured,
    /// So many bytes at all ends.
    Fixed(u64),
}

impl FromStr for WindowChoice {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<WindowChoice, ParseQuantityError> {
        match text.parse() {
            _ if text == "measured" => Ok(WindowChoice::Measured),
            Ok(Limit::Bytes(bytes)) if (1..=MOST_WINDOW).contains(&bytes) => Ok(WindowChoice::Fixed(bytes)),
            _ => Err(ParseQuantityError {
                text: text.to_owned(),
                expected: "a window of 1b to 1gb",
                example: "measured, 8k, 16k or 64k",
            }),
        }
    }
}

impl Written for WindowChoice {
    const FORMAT: &'static str = "window";
    const MEANING: &'static str = "a window of 1b to 1gb, or measured";
    const EXAMPLES: &'static [&'static str] = &["measured", "16k", "64k"];

    fn pattern() -> String {
        format!("measured|{}", Size::pattern())
    }
}

/// Loss models of the workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossChoice {
    /// None: what the network loses is lost.
    #[default]
    None,
    /// Each connection's packets are lost as often as the original's were, before and behind the link.
    Measured,
}

impl LossChoice {
    fn is_default(&self) -> bool {
        *self == LossChoice::default()
    }
}

/// What is taken off a measured wait before it is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Correction {
    /// Nothing.
    None,
    /// The minimum transit between the monitor and the side that answered.
    Ostt,
}
