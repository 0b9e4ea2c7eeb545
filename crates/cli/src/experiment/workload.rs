//! `[workload]`: what is replayed, and what becomes of it before (`docs/models.md`).

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use flowloom_core::model::Prefill;
use flowloom_core::model::generate::SourceModel;
use flowloom_core::time::Duration;

use super::Quantity;

/// `[workload]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    pub rtt: RttModel,
    /// Which receiver windows each connection gets.
    pub window: WindowModel,
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
    pub fn check(&self) -> Result<(), String> {
        if self.source.is_some() && self.model.is_some() {
            return Err("workload.model draws a workload, and workload.source names one: leave out one".to_owned());
        }
        match &self.model {
            Some(model) => model.check().map_err(|problem| format!("workload.model.{problem}")),
            None => Ok(()),
        }
    }

    /// Whether it is made for the run: drawn from a model, or changed from what its source holds.
    pub fn is_made(&self) -> bool {
        self.model.is_some()
    }

    /// Whether seeds make a difference.
    pub fn draws(&self) -> bool {
        self.model.is_some()
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
            rtt: RttModel::default(),
            window: WindowModel::default(),
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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

/// Structure models (methods B.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Structure {
    /// All epochs with all waits.
    #[default]
    #[serde(rename = "a-t-b-t")]
    Atbt,
}

/// Round-trip time models (methods B.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RttModel {
    /// Each connection its own measured minimum; unknown ones the median.
    #[default]
    Usernet,
}

/// Window models (methods B.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowModel {
    /// Each end its own largest advertised window.
    #[default]
    Measured,
}

/// `[workload.waits]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

/// What is taken off a measured wait before it is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Correction {
    /// Nothing.
    None,
    /// The minimum transit between the monitor and the side that answered.
    Ostt,
}
