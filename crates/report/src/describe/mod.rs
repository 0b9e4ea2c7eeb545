//! What a capture or a workload is like: the characteristics of Aikat's chapter 3 from its connection vectors, and
//! Cáceres' tables of conversations from the packets of a capture (`docs/guide/describe.md` says what each number means); and what a run
//! says of itself (`docs/reference/statistics.md`).

mod conversations;
mod load;
mod protocols;
mod run;
mod run_text;
pub mod text;
mod variable;
mod vectors;

pub use conversations::{
    ApplicationDescription, ConversationDescriber, ConversationDescription, DroppedPackets, Published, Scope,
};
pub use load::{DirectionLoad, Load};
pub use protocols::{ProtocolShare, Protocols};
pub use run::{Breakdown, DescribedRun, Dropped, Fair, ParetoTail, TailOf, Utilisation};
pub use run_text::{described_run_text, joint_warm_up_text};
pub use variable::{Distribution, Variable};
pub use vectors::{
    ClassShare, ConnectionCounts, DatagramDescription, Describer, Description, DirectionLoss, Losses, PayloadBytes,
};

use flowloom_core::time::Duration;
use flowloom_store::workload::{CaptureFacts, TrafficFacts};
use serde::Serialize;

/// A described capture or workload: the object that `describe --json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct Described {
    /// Its file, as given; `None` if names are to be left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What the original was.
    pub capture: CaptureFacts,
    /// Of the length of the original, the jumps of the capture's clock; loads are over the rest.
    pub clock_jumps_ns: u64,
    /// Connections by class (methods A.2), in the order of reports.
    pub classes: Vec<ClassShare>,
    /// Offered load.
    pub load: Load,
    /// Load of each direction in each second with packets of it; empty where packets were not counted over time.
    pub load_per_second: Vec<Distribution>,
    /// The vectors.
    pub workload: Description,
    /// Packets by what they carry; `None` of a workload, which has no packets.
    pub protocols: Option<Vec<ProtocolShare>>,
    /// The conversations of a capture, where they are asked for.
    pub conversations: Option<ConversationDescription>,
}

/// What only the packets of a capture tell.
#[derive(Clone, Debug, Default)]
pub struct PacketsTold {
    /// The classes that are not replayed, with their packets.
    pub set_aside: Vec<ClassShare>,
    /// Packets by what they carry.
    pub protocols: Option<Vec<ProtocolShare>>,
    /// The conversations, where they are asked for.
    pub conversations: Option<ConversationDescription>,
}

impl Described {
    /// Puts together what `vectors` collected, what is known of the original, and what its packets told if it is a
    /// capture.
    pub fn new(
        name: Option<String>,
        capture: CaptureFacts,
        traffic: &TrafficFacts,
        vectors: Describer,
        told: PacketsTold,
    ) -> Described {
        let replayable = vectors.classes();
        let known = |class: &str| told.set_aside.iter().find(|share| share.class == class).copied();
        let unknown =
            |class, connections, payload_bytes| ClassShare { class, connections, packets: None, payload_bytes };
        let no_data = capture.connections.no_data;
        let classes = [
            known("no_data").unwrap_or(unknown("no_data", no_data, Some(0))),
            known("one_way").unwrap_or(unknown("one_way", capture.connections.one_way, None)),
        ];
        let jumps = traffic.clock_jumps(Duration::from_nanos(capture.duration_ns)).total();
        let observed = Duration::from_nanos(capture.duration_ns).saturating_sub(jumps);
        let load = vectors.load(observed, traffic);
        let of_vectors = vectors.finish();
        let payload = capture.payload.part(of_vectors.payload);
        Described {
            name,
            clock_jumps_ns: jumps.as_nanos(),
            classes: classes.into_iter().chain(replayable).collect(),
            load,
            load_per_second: load::per_second(traffic),
            workload: Description { payload, ..of_vectors },
            capture,
            protocols: told.protocols,
            conversations: told.conversations,
        }
    }

    /// How long the original is without the jumps of its clock.
    pub fn observed_ns(&self) -> u64 {
        self.capture.duration_ns.saturating_sub(self.clock_jumps_ns)
    }

    /// What to call it beside others; `index` is its place among them.
    pub fn title(&self, index: usize) -> String {
        let file = |name: &String| name.rsplit('/').next().unwrap_or(name).to_owned();
        self.name.as_ref().map_or_else(|| format!("input {}", index + 1), file)
    }
}
