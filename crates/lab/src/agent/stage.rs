//! Which command may follow which (methods J.3).

use crate::rpc::phase::Kind;

/// How far a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// What it needs is there.
    SetUp,
    /// It is connected.
    Open,
    /// It has run, to its end or to where it was stopped.
    Ran,
    /// Its connections are closed.
    Closed,
    /// It failed, and takes no further part.
    Failed,
    /// It was killed.
    Killed,
}

/// Why a block does not take a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum StageError {
    #[error("the command is of no kind")]
    NoKind,
    #[error("the block has failed and takes no further part")]
    Failed,
    #[error("the block was killed")]
    Killed,
    #[error("{asked} comes after {after}, and the block {}", stage.words())]
    Early { asked: &'static str, after: &'static str, stage: Stage },
}

/// What is asked of a block that is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Phase(Kind),
    Run,
}

impl Stage {
    /// Whether it can be done now.
    ///
    /// # Errors
    /// What has to come first.
    pub(super) fn takes(self, asked: Asked) -> Result<(), StageError> {
        use Stage::{Closed, Failed, Killed, Open, Ran, SetUp};
        let (can, after) = match asked {
            Asked::Phase(Kind::Open) => (self == SetUp, "setup"),
            Asked::Run => (self == Open, "open"),
            Asked::Phase(Kind::Finish) => (matches!(self, Open | Ran), "open"),
            Asked::Phase(Kind::Close) => (matches!(self, Open | Ran), "open"),
            Asked::Phase(Kind::Report) => (matches!(self, Ran | Closed | Failed | Killed), "run"),
            Asked::Phase(Kind::Reset | Kind::Kill | Kind::Teardown | Kind::Parameters | Kind::Config) => (true, ""),
            Asked::Phase(Kind::Unspecified | Kind::Setup | Kind::Run) => {
                return Err(StageError::NoKind);
            }
        };
        if can {
            return Ok(());
        }
        Err(match self {
            Failed => StageError::Failed,
            Killed => StageError::Killed,
            stage => StageError::Early { asked: asked.name(), after, stage },
        })
    }

    fn words(self) -> &'static str {
        match self {
            Stage::SetUp => "is set up",
            Stage::Open => "is open",
            Stage::Ran => "has run",
            Stage::Closed => "is closed",
            Stage::Failed => "has failed",
            Stage::Killed => "was killed",
        }
    }
}

impl Asked {
    pub(super) fn name(self) -> &'static str {
        match self {
            Asked::Run => "run",
            Asked::Phase(kind) => match kind {
                Kind::Unspecified => "unspecified",
                Kind::Open => "open",
                Kind::Finish => "finish",
                Kind::Close => "close",
                Kind::Teardown => "teardown",
                Kind::Report => "report",
                Kind::Reset => "reset",
                Kind::Kill => "kill",
                Kind::Parameters => "parameters",
                Kind::Config => "config",
                Kind::Setup => "setup",
                Kind::Run => "run",
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truth_table() {
        use Stage::{Closed, Failed, Killed, Open, Ran, SetUp};
        let phase = Asked::Phase;
        // Which stages take a command.
        let table: [(Asked, &[Stage]); 11] = [
            (phase(Kind::Open), &[SetUp]),
            (Asked::Run, &[Open]),
            (phase(Kind::Finish), &[Open, Ran]),
            (phase(Kind::Close), &[Open, Ran]),
            (phase(Kind::Report), &[Ran, Closed, Failed, Killed]),
            (phase(Kind::Teardown), &[SetUp, Open, Ran, Closed, Failed, Killed]),
            (phase(Kind::Kill), &[SetUp, Open, Ran, Closed, Failed, Killed]),
            (phase(Kind::Config), &[SetUp, Open, Ran, Closed, Failed, Killed]),
            (phase(Kind::Unspecified), &[]),
            (phase(Kind::Setup), &[]),
            (phase(Kind::Run), &[]),
        ];
        for (asked, stages) in table {
            for stage in [SetUp, Open, Ran, Closed, Failed, Killed] {
                assert_eq!(stage.takes(asked).is_ok(), stages.contains(&stage), "{asked:?} when {stage:?}");
            }
        }
        assert_eq!(SetUp.takes(Asked::Run).unwrap_err().to_string(), "run comes after open, and the block is set up");
    }
}
