//! Why an agent does not do what its parent asks of it.

use std::io;

use super::audit::AuditError;
use super::consent::{BadStatement, ConsentError};
use super::leaf::LeafError;
use super::limits::LimitError;
use super::stage::StageError;
use super::store::MOST_NAME;
use crate::authority::identity::Identity;
use crate::controller::ControlError;

/// Why an agent does not do what its parent asks of it. Its words are what the parent gets.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error("an experiment is named by 32 hexadecimal digits")]
    ExperimentName,
    #[error("an agent that commands is at work on a block of the script, a controller on all of it")]
    Above,
    #[error("experiment {0} is not known here")]
    UnknownExperiment(String),
    #[error("experiment {0} has been here before: it is not begun again")]
    KnownExperiment(String),
    #[error("{0} experiments are at this agent, which is its run.experiments")]
    TooManyExperiments(usize),
    #[error("the experiment is attached on another connection")]
    AttachedElsewhere,
    #[error("the edge is attached already")]
    AttachedAlready,
    #[error("the experiment has ended here")]
    Over,
    #[error("results cannot be kept: {0}")]
    NoResults(io::Error),
    #[error("a delegation is not good: {0}")]
    Delegation(BadStatement),
    #[error("{0} is no controller, and none has delegated anything to it here")]
    NoDelegation(Identity),
    #[error("no controller has delegated block {0}")]
    NotDelegated(String),
    #[error("block {0} is not the one that was delegated")]
    OtherDelegated(String),
    #[error("it is not good: {0}")]
    Asking(BadStatement),
    #[error("{0} is no controller")]
    NoController(Identity),
    #[error("{0} has no part in the experiment here")]
    NoPart(Identity),
    #[error("command {0} was answered before: it is not done again")]
    Answered(u64),
    #[error("command {number} came where {next} is next")]
    OutOfOrder { number: u64, next: u64 },
    #[error("the message has no command")]
    NoCommand,
    #[error("the command is of no kind")]
    NoKind,
    #[error("it is no such command")]
    NoSuchCommand,
    #[error("{0:?} is no name of a block: up to {MOST_NAME} letters, digits, points, hyphens")]
    BlockName(String),
    #[error("there is no block {0} here")]
    NoBlock(String),
    #[error("there is no block {0} here, and there are no results of it")]
    NothingFound(String),
    #[error("block {0} is set up already")]
    SetUpAlready(String),
    #[error("block {0} was killed")]
    Killed(String),
    #[error("a leaf has nothing below")]
    LeafOfBlock,
    #[error("{0} is a kind of leaf, and has nothing below")]
    NoTree(String),
    #[error("{0} of it failed")]
    SomeFailed(usize),
    #[error("block {0} is given to an agent and has no address")]
    NoAddress(String),
    #[error("{0}")]
    AgentName(String),
    /// As lines, each of them of one agent below.
    #[error("{}", lines(.0))]
    Below(Vec<ControlError>),
    #[error(transparent)]
    Control(#[from] ControlError),
    /// A block that cannot be read, with the first thing that is wrong.
    #[error("{0}")]
    Script(String),
    #[error("{agent} has no leaf {keyword:?}; it has {}", known.join(", "))]
    NoLeaf { agent: Identity, keyword: String, known: Vec<&'static str> },
    #[error("the leaf announces less than it sends")]
    AnnouncesLess,
    #[error("the start is further ahead than this agent's send.duration")]
    FarAhead,
    #[error("a consent ended before it started")]
    ConsentEnded,
    #[error("it was stopped: the agent was ended, or has lost who commands it")]
    StoppedByAgent,
    #[error("the results of block {block}: {cause}")]
    Results { block: String, cause: io::Error },
    #[error("the results cannot be read: {0}")]
    Reading(io::Error),
    #[error("the results cannot be read: {0}")]
    ReadingEnded(tokio::task::JoinError),
    #[error(transparent)]
    Stage(#[from] StageError),
    #[error(transparent)]
    Leaf(#[from] LeafError),
    #[error(transparent)]
    Limit(#[from] LimitError),
    #[error(transparent)]
    Consent(#[from] ConsentError),
    #[error(transparent)]
    Audit(#[from] AuditError),
}

fn lines(problems: &[ControlError]) -> String {
    problems.iter().map(ControlError::to_string).collect::<Vec<_>>().join("\n")
}
