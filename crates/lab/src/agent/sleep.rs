//! The leaf that does nothing for a while: `sleep { duration = 2.5; }`, in seconds. It shows that a script, its hosts and their clocks
//! work before anything is sent.

use std::io::{self, Write};
use std::time::Duration;

use super::consent::Permits;
use super::leaf::{Leaf, LeafError, LeafKind, Ran, Sending, Start, Stop};
use super::limits::Demand;
use super::tools::asked;
use crate::script::leaf::Tool;
use crate::script::tree::Block;

/// `sleep`
pub(super) struct Sleep;

struct Sleeper {
    duration: Duration,
    slept: Option<Duration>,
}

impl LeafKind for Sleep {
    fn keyword(&self) -> &'static str {
        "sleep"
    }

    fn make(&self, block: &Block) -> Result<Box<dyn Leaf>, LeafError> {
        let Tool::Sleep(sleep) = asked(block)? else { return Err(LeafError::OtherKind("sleep")) };
        let duration = Duration::from_nanos(sleep.duration.as_nanos());
        Ok(Box::new(Sleeper { duration, slept: None }))
    }
}

#[tonic::async_trait]
impl Leaf for Sleeper {
    fn demand(&self) -> Demand {
        let duration_ns = u64::try_from(self.duration.as_nanos()).unwrap_or(u64::MAX);
        Demand { rate_bit_s: 0, connections: 0, duration_ns }
    }

    fn sends(&self) -> Vec<Sending> {
        Vec::new()
    }

    async fn prepare(&mut self) -> Result<String, LeafError> {
        Ok(String::new())
    }

    async fn open(&mut self, _permits: &Permits) -> Result<String, LeafError> {
        Ok(String::new())
    }

    async fn run(&mut self, start: Start, mut stop: Stop) -> Result<Ran, LeafError> {
        let started_monotonic_ns = tokio::select! {
            started = start.wait() => started,
            () = stop.told() => return Err(LeafError::StoppedEarly),
        };
        let began = tokio::time::Instant::now();
        tokio::select! {
            () = tokio::time::sleep(self.duration) => {}
            () = stop.told() => {}
        }
        self.slept = Some(began.elapsed());
        Ok(Ran { started_monotonic_ns, text: String::new() })
    }

    async fn close(&mut self) -> Result<String, LeafError> {
        Ok(String::new())
    }

    fn results(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let slept = self.slept.map(|slept| slept.as_secs_f64());
        writeln!(out, "{}", serde_json::json!({ "leaf": "sleep", "slept_s": slept }))
    }

    fn describe(&self) -> String {
        format!("duration = {};", self.duration.as_secs_f64())
    }
}
