//! `[workload]`: what is replayed, and what becomes of it before (`docs/reference/models.md`).

use std::path::PathBuf;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use flowloom_core::extract::Missing;
use flowloom_core::play::{self, Prefill, ReplayModel, TraceCut};
use flowloom_core::time::Duration;
use flowloom_core::transits::TransitModel;
use flowloom_core::units::{Limit, ParseQuantityError};
use flowloom_models::generate::SourceModel;
use flowloom_models::{MOST_WINDOW, Structure};

use super::load::Load;
use super::replay::Replay;
use super::rtt::{Rtt, RttModel};
use flowloom_core::keys::{Amount, KeyError, Quantity, Size, Written};

/// `[workload]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Workload {
    /// Capture or workload file, relative to the experiment file.
    pub source: Option<PathBuf>,
    /// Source model that draws the workload, instead of `source`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<SourceModel>,
    /// How much of the original structure of connections is kept; default: a-t-b-t.
    pub structure: Structure,
    /// Which round-trip time each connection gets; default: usernet, its own.
    pub rtt: Rtt,
    /// Receive window of each end: measured, or a number of bytes for all; default: measured.
    #[schemars(extend("least" = "1b", "most" = "1073725440b"))]
    pub window: Quantity<WindowChoice>,
    /// Losses that packets meet beside those of the network; default: none.
    #[serde(skip_serializing_if = "LossChoice::is_default")]
    pub loss: LossChoice,
    /// Bytes of holes in the sequence space of a captured source (methods A.3): replay the acknowledged ones, all of them, or
    /// skip connections with holes; default: acknowledged.
    #[serde(skip_serializing_if = "Missing::is_default")]
    pub missing: Missing,
    /// More or less load than the source has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
    /// Which part of measured waits is replayed (methods A.5.9-10).
    pub waits: Waits,
    /// Start the run this far into the workload, with the connections that are active then (methods M.4); default: at its
    /// beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefill: Option<Quantity<Duration>>,
    /// Time at the start of the run over which the handshakes of these connections are spread; default: 1s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefill_spread: Option<Quantity<Duration>>,
    /// Take the workload of a model out of a longer one as a trace is taken out of the traffic of a link (methods B.5); default: none, and
    /// trace in a sweep over `workload.structure`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<CutChoice>,
    /// How long that model goes on before; default: 1h.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("most" = "1000h"))]
    pub cut_after: Option<Quantity<Duration>>,
    /// What happens to flows of UDP and QUIC datagrams; default: as-seen.
    #[serde(skip_serializing_if = "DatagramModel::is_default")]
    pub datagrams: DatagramModel,
    /// Replay the time from handshake to first data (methods M.3); default: true.
    pub lead_in: bool,
    /// Replay the time from last data to close (methods M.3); default: true.
    pub t_close: bool,
    /// Which of what its vectors say of their ends beside data units is replayed (methods A.13).
    #[serde(skip_serializing_if = "Replay::is_default")]
    pub replay: Replay,
}

impl Workload {
    /// Replaces the names of the files that it is read with by what they are; the source is left out.
    pub(crate) fn anonymize(&mut self) {
        self.source = None;
        if let Some(model) = &mut self.model {
            model.configs().iter_mut().for_each(|config| "config".clone_into(config));
            if let Some(tables) = model.tables() {
                "tables".clone_into(tables);
            }
        }
    }

    /// What no type can refuse.
    pub fn problems(&self) -> Vec<KeyError> {
        let mut found = Vec::new();
        if self.source.as_ref().is_some_and(|source| source.as_os_str().is_empty()) {
            found.push(KeyError::new("workload.source", "names no file"));
        }
        if self.source.is_some() && self.model.is_some() {
            let problem = "draws a workload, and workload.source names one: leave out one";
            found.push(KeyError::new("workload.model", problem));
        }
        found.extend(self.cut_problem().map(|problem| KeyError::new("workload.cut", problem)));
        if self.cut_after.as_ref().is_some_and(|after| after.value > LONGEST_CUT_AFTER) {
            found.push(KeyError::saying("workload.cut-after", format_args!("is longer than {LONGEST_CUT_AFTER}")));
        }
        let of_model = self.model.iter().flat_map(SourceModel::problems);
        found.extend(of_model.map(|error| KeyError::new(error.key, error.problem).within("workload.model")));
        let of_load = self.load.iter().flat_map(Load::problems);
        found.extend(of_load.map(|error| error.within("workload.load")));
        found
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

    /// What of its vectors' times is replayed.
    pub fn replay_model(&self) -> ReplayModel {
        let waits = match self.settles_waits() {
            // They were decided on when the workload was made.
            true => play::Waits::CORRECTED,
            false => self.waits.model(),
        };
        let Replay { writes, first_flight, rate, acks, syn, losses, reads, rtt, .. } = self.replay;
        let transits = match self.settles_waits() {
            // Waits and round trips are no longer those that were measured together.
            true => TransitModel::Minimum,
            false => rtt.model(),
        };
        ReplayModel {
            waits,
            lead_in: self.lead_in,
            t_close: self.t_close,
            writes,
            first_flight,
            rate,
            acks,
            syn,
            losses: losses.unwrap_or_default(),
            reads,
            transits,
        }
    }

    /// What is wrong with a workload that is to be cut out of a longer one.
    fn cut_problem(&self) -> Option<&'static str> {
        match self.cut? {
            CutChoice::None => None,
            CutChoice::Trace if self.model.is_none() => {
                Some("takes a part out of what a model draws, and there is no workload.model: leave it out")
            }
            CutChoice::Trace if self.prefill.is_some() => {
                Some("has the connections in progress already, and workload.prefill opens them anew: leave out one")
            }
            CutChoice::Trace if self.load.is_some() => Some(
                "keeps connections where they are in time, and workload.load moves them: leave out one; a rate of the model \
                 changes the load as well",
            ),
            CutChoice::Trace => None,
        }
    }

    /// Whether it can be taken out of a longer one.
    pub fn can_be_cut(&self) -> bool {
        Workload { cut: Some(CutChoice::Trace), ..self.clone() }.cut_problem().is_none()
    }

    /// The part of a longer workload that it is, of this length; `None` where it is a whole one.
    pub fn trace_cut(&self, length: Duration) -> Option<TraceCut> {
        let after = self.cut_after.as_ref().map_or(USUAL_CUT_AFTER, |after| after.value);
        // As the control is replayed, whatever becomes of the structure and the round-trip times.
        let control = Workload { structure: Structure::default(), rtt: Rtt::default(), ..self.clone() };
        (self.cut == Some(CutChoice::Trace)).then(|| TraceCut::new(after, length, control.replay_model()))
    }

    /// How long the workload goes on before the run begins.
    pub fn prefill_length(&self) -> Duration {
        self.prefill.as_ref().map_or(Duration::ZERO, |prefill| prefill.value)
    }

    /// Where the run begins in the workload.
    pub fn prefill(&self) -> Prefill {
        let prefill = Prefill::new(self.prefill_length());
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
            missing: Missing::default(),
            load: None,
            waits: Waits::default(),
            prefill: None,
            prefill_spread: None,
            cut: None,
            cut_after: None,
            datagrams: DatagramModel::default(),
            lead_in: true,
            t_close: true,
            replay: Replay::default(),
        }
    }
}

/// How long a model goes on before the part of it that is taken, if nobody says: as long as a connection of the reference workloads waits at
/// most.
const USUAL_CUT_AFTER: Duration = Duration::from_secs(3_600);

/// How long it may go on before.
const LONGEST_CUT_AFTER: Duration = Duration::from_secs(3_600_000);

/// How the workload of a model begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CutChoice {
    /// It begins with nothing, and connections that start in it are whole.
    None,
    /// It is a part of a longer one. Connections in progress when it begins go on in it with what is left of them, and without a handshake
    /// on the link. What would begin after its end is left out.
    Trace,
}

/// What becomes of flows of datagrams in a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DatagramModel {
    /// They are left out.
    LeaveOut,
    /// They are sent as they were seen, datagram by datagram; where only the number in a data unit is known, sizes and gaps within it are
    /// equal.
    #[default]
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
    /// Shortest wait that is replayed; default: 0ms.
    pub min: Quantity<Duration>,
    /// What is subtracted from a measured wait; default: ostt.
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
            _ => Err(ParseQuantityError::Form {
                text: text.to_owned(),
                expected: "a window of 1b to 1023m",
                example: "measured, 8k, 16k or 64k",
            }),
        }
    }
}

impl Written for WindowChoice {
    const FORMAT: &'static str = "window";
    const MEANING: &'static str = "a number of bytes with its unit, or measured";
    const EXAMPLES: &'static [&'static str] = &["measured", "16k", "64k"];

    fn pattern() -> String {
        format!("measured|{}", Size::pattern())
    }

    fn amount(&self) -> Option<Amount> {
        match self {
            WindowChoice::Measured => None,
            WindowChoice::Fixed(bytes) => Some(Amount::Bytes(*bytes)),
        }
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
