//! Who asked for what, when, and what the answer was: JSON lines, only ever added to.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize, Serializer};

use crate::authority::Error;
use crate::authority::identity::Identity;
use crate::clock::Clock;

/// Strangers are written down so often in a minute; how many more there were is said with the next.
const STRANGERS_A_MINUTE: u32 = 60;

/// The log cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("this agent's audit log cannot be written: {0}")]
pub struct AuditError(#[source] io::Error);

/// The log.
#[derive(Debug)]
pub struct Audit {
    path: PathBuf,
    file: Mutex<Log>,
}

#[derive(Debug)]
struct Log {
    file: File,
    minute: i64,
    strangers: u32,
    unsaid: u64,
}

/// A line: what a member asked for.
#[derive(Clone, Debug, Serialize)]
pub struct Entry<'a> {
    /// When, in nanoseconds since 1970.
    pub unix_ns: i64,
    /// Who.
    #[serde(serialize_with = "as_text")]
    pub peer: &'a Identity,
    /// From where.
    pub address: SocketAddr,
    /// Of which experiment.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub experiment: &'a str,
    /// The command's number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// What.
    pub command: &'a str,
    /// Of which block.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub block: &'a str,
    /// `acknowledge` or `error`.
    pub answer: &'a str,
    /// With these words.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub text: &'a str,
}

#[derive(Serialize)]
struct Stranger<'a> {
    unix_ns: i64,
    address: SocketAddr,
    stranger: &'a str,
    #[serde(skip_serializing_if = "is_zero")]
    unsaid_before: u64,
}

fn as_text<S: Serializer>(identity: &Identity, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(identity)
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Audit {
    /// Opens the log, to add to it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn open(path: PathBuf) -> Result<Audit, Error> {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&path);
        let file = file.map_err(|error| Error::File { path: path.clone(), error })?;
        Ok(Audit { path, file: Mutex::new(Log { file, minute: 0, strangers: 0, unsaid: 0 }) })
    }

    /// The last lines, `most` of them at most, of an experiment or (empty) of all.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn last(&self, experiment: &str, most: usize) -> io::Result<VecDeque<String>> {
        #[derive(Deserialize)]
        struct Line<'a> {
            #[serde(default, borrow)]
            experiment: Option<Cow<'a, str>>,
        }
        let mut last = VecDeque::new();
        for line in BufReader::new(File::open(&self.path)?).lines() {
            let line = line?;
            let of = || serde_json::from_str::<Line<'_>>(&line).ok()?.experiment;
            if experiment.is_empty() || of().is_some_and(|of| of == experiment) {
                last.push_back(line);
            }
            if last.len() > most {
                last.pop_front();
            }
        }
        Ok(last)
    }

    /// Adds a line.
    ///
    /// # Errors
    /// If it cannot be written; then what it is about must not be done.
    pub fn write(&self, entry: &Entry<'_>) -> Result<(), AuditError> {
        let mut log = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        append(&mut log.file, entry).map_err(AuditError)
    }

    /// Adds a line about somebody who is no member, unless there were many just now.
    pub fn stranger(&self, clock: &dyn Clock, address: SocketAddr, why: &str) {
        let mut log = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let minute = clock.unix_s().div_euclid(60);
        if minute != log.minute {
            (log.minute, log.strangers) = (minute, 0);
        }
        if log.strangers >= STRANGERS_A_MINUTE {
            log.unsaid += 1;
            return;
        }
        log.strangers += 1;
        let unsaid_before = std::mem::take(&mut log.unsaid);
        // They get nothing, whether that is written down or not.
        let _ = append(&mut log.file, &Stranger { unix_ns: clock.unix_ns(), address, stranger: why, unsaid_before });
    }
}

/// A line goes into the file in one piece, or nothing of it.
fn append(file: &mut File, line: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(line)?;
    line.push(b'\n');
    let before = file.metadata()?.len();
    file.write_all(&line).inspect_err(|_| {
        // What a full disk took of it would be the beginning of the next line. If it stays, the error is the same.
        let _ = file.set_len(before);
    })
}
