//! Why an agent does not do what a caller asks of it, or cannot be called.

use std::error::Error as _;
use std::io;

use tonic::Status;

use super::{KEEP_ALIVE_EVERY, KEEP_ALIVE_PATIENCE, Version};
use crate::authority::identity::{Identity, Name};
use crate::authority::trust::in_words;

/// Why an agent does not do what it is asked, or cannot be asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// It said so, in its own words.
    #[error("{0}")]
    Said(String),
    /// The connection has ended.
    #[error("the connection has ended")]
    Ended,
    /// The connection was closed.
    #[error("the connection was closed")]
    Closed,
    /// The connection was lost.
    #[error("the connection was lost: the other end closed it, or gave no sign of life for {silence_s} s")]
    Lost {
        /// How long a silent connection is kept.
        silence_s: f64,
    },
    /// Something does not come in time.
    #[error("no {what} within {seconds} s")]
    Late {
        /// What.
        what: &'static str,
        /// In so long.
        seconds: u64,
    },
    /// It has no certificate.
    #[error("it has no certificate")]
    NoCertificate,
    /// Our certificate is revoked.
    #[error("our certificate is revoked")]
    Revoked,
    /// Our certificate has expired.
    #[error("our certificate has expired")]
    Expired,
    /// Our certificate is of another lab.
    #[error("our certificate is of another lab")]
    OtherLab,
    /// It does not accept our certificate for another reason.
    #[error("it does not accept us: {0:?}")]
    Alert(rustls::AlertDescription),
    /// Its certificate does not count.
    #[error("{0}")]
    Untrusted(String),
    /// Another kind of member answers.
    #[error("{0} answers there, which is no agent")]
    NoAgent(Identity),
    /// Another agent answers.
    #[error("{found} answers there, where {expected} is expected")]
    OtherAgent {
        /// Which.
        found: Box<Identity>,
        /// Who should.
        expected: Name,
    },
    /// It runs another version.
    #[error("{agent} runs {theirs}, this is {ours}")]
    Version {
        /// The agent.
        agent: Box<Identity>,
        /// Its version.
        theirs: Box<Version>,
        /// This one's.
        ours: Box<Version>,
    },
    /// The system, or a library, in its words.
    #[error("{0}")]
    System(String),
}

impl CallError {
    /// What an ended call says.
    pub fn of(status: &Status) -> CallError {
        let mut source = status.source();
        let mut is_lost = false;
        while let Some(error) = source {
            if let Some(error) = error.downcast_ref::<io::Error>() {
                return CallError::of_tls(error);
            }
            is_lost |= error.is::<hyper::Error>();
            source = error.source();
        }
        if is_lost {
            // It does not say which of the two it was.
            return CallError::Lost { silence_s: (KEEP_ALIVE_EVERY + KEEP_ALIVE_PATIENCE).as_secs_f64() };
        }
        match status.message() {
            "" => CallError::System(status.code().to_string()),
            message => CallError::Said(message.to_owned()),
        }
    }

    /// What a TLS connection says.
    pub(super) fn of_tls(error: &io::Error) -> CallError {
        use rustls::AlertDescription as Alert;
        match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            Some(rustls::Error::AlertReceived(alert)) => match alert {
                Alert::CertificateRevoked => CallError::Revoked,
                Alert::CertificateExpired => CallError::Expired,
                Alert::UnknownCA | Alert::DecryptError | Alert::BadCertificate => CallError::OtherLab,
                alert => CallError::Alert(*alert),
            },
            Some(error) => CallError::Untrusted(in_words(error)),
            None => match error.kind() {
                io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
                    CallError::Closed
                }
                _ => CallError::System(error.to_string()),
            },
        }
    }

    pub(super) fn system(error: impl ToString) -> CallError {
        CallError::System(error.to_string())
    }

    /// With the address of the agent.
    pub(crate) fn at(self, address: &str) -> AgentError {
        AgentError { address: address.to_owned(), why: self }
    }
}

/// The same with the agent's address.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{address}: {why}")]
pub struct AgentError {
    /// The address.
    pub address: String,
    /// Why.
    pub why: CallError,
}
