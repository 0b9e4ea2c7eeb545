//! What to do about each warning.

use super::Warning;

const SET_A_LIMIT: &str = "if this is not what was meant, set a limit: --queue drop-tail,limit=100p, network.bottleneck.queue, or network.bottleneck.cells.buffer";

const LEAVE_SHORT_WAITS_OUT: &str = "extract from the packets, or take the published setting, in which short waits are left out: \
     waits = { min = \"500ms\", correct = \"none\" }";

const WHEN_CUT: &str = "its last connections may be incomplete; stop the capturing program before copying, or use --strict to refuse \
     such captures";

const WITHOUT_OFFLOADS: &str = "capture with segmentation and receive offloads off, unless the link has jumbo frames";

impl Warning {
    /// What to do about it, where something can be done.
    pub fn remedy(&self) -> Option<&'static str> {
        Some(match self {
            Warning::NoTraffic { .. } => {
                "`flowloom describe` says what they are; capture with `tcpdump -s 96 tcp or udp`"
            }
            Warning::NoTcp => "the flows of datagrams are kept; capture TCP too",
            Warning::NothingReplayable => "capture at a point that sees both directions",
            Warning::ManyIncomplete { .. } => "use --complete-only, or a longer capture",
            Warning::MonitorDoubtful { .. } => "leave --monitor out unless the capture was made at that end",
            Warning::UnknownSide { given: true, .. } => "give the prefixes of one side of the link alone",
            Warning::UnknownSide { .. } => "say which addresses are on the left with --inside PREFIX",
            Warning::ClockJumps { .. } => {
                "captures that were pasted together replay with the same gaps; extract them one by one"
            }
            Warning::ClockRunsBackwards { .. } => {
                "waits across such steps are taken as zero; reordercap puts packets in order"
            }
            Warning::CutCapture { .. } => WHEN_CUT,
            Warning::MissingBytes { .. } => {
                "capture with fewer losses, or leave such connections out with --missing skip"
            }
            Warning::OffloadedCapture { .. } => {
                "capture on the link, or with offloads off (ethtool -K DEVICE tso off gso off gro off lro off), for times of \
                 single packets"
            }
            Warning::CapturedTwice { .. } => {
                "remove them first (editcap -w 0.005; with -I where copies differ in VLAN or time to live), and capture each packet at one place"
            }
            Warning::DoubledAcceptors { .. } => "capture at a point that sees one answer only",
            Warning::KernelDrops { .. } => "capture to a file with `tcpdump -s 96`, and extract that",
            Warning::CaptureDrops { .. } => {
                "what they carried counts as missing; capture headers only, or to a faster disk"
            }
            Warning::InterfaceDown => "what was read is kept",
            Warning::SkippedEntries { .. } => "-v says which and why",
            Warning::MemoryFull { .. } => "raise --max-memory, or lower --idle-timeout",
            Warning::MemoryFullOfDatagrams { .. } => "raise --max-memory, or lower --udp-idle-timeout",
            Warning::MixedVlans { .. } => "--vlan-key keeps connections in different VLANs apart",
            Warning::SplitVlans { .. } => "leave out --vlan-key",
            Warning::LateData { .. } => "see docs/guide/extraction.md on closed connections",
            Warning::ExtractionInterrupted { .. } => "the part that was read is kept",
            Warning::SimulationInterrupted => "run it again for the rest",
            Warning::SeedsNotBegun { .. } => "run them with --seed into a folder of their own",
            Warning::InputChanged { .. } => "give the file as it was then, or take workload.parquet of the earlier run",
            Warning::FlowRecords { finding, .. } => finding.remedy(),
            Warning::MalformedFlowMessages { .. } => "ask the exporter's maker",
            Warning::CutFlowFile => "collect it again",
            Warning::Format { remark, .. } => remark.remedy(),
            Warning::FormatLoses(lost) => lost.remedy(),
            Warning::AddressesKept => "keep it to yourself, or use --hosts number or --hosts cryptopan",
            Warning::LoadMissed { .. } => {
                "a few connections hold most of the bytes: take a longer source, or another seed"
            }
            Warning::LoadDrifts { .. } => "shuffle it (workload.load.shuffle), or use a part of it",
            Warning::Model { .. } => "docs/reference/models.md says what the model takes and what it means",
            Warning::CalibratedModel { .. } => {
                "truncate the distribution, or read the loads as those of this seed and duration"
            }
            Warning::FittedHarpoon(_) => "docs/reference/models.md (harpoon) says what the parameters are made of",
            Warning::LeftOfModel { reason, .. } => reason.remedy(),
            Warning::Phases(finding) => finding.remedy(),
            Warning::Specification(finding) => finding.remedy(),
            Warning::Empty => "raise the rate or the duration",
            Warning::SweepLeftOut => "run the variants with `flowloom sweep`",
            Warning::SeedsAlike => "one seed is enough; run.vary says what may differ (docs/reference/experiment.md)",
            Warning::FewBlocks { .. } => "use a longer capture for results that hold beyond it",
            Warning::FewerActive { .. } => {
                "compare draws with draws, or begin later, with connections in progress (a longer workload.prefill)"
            }
            Warning::TooShortToDraw { .. } => {
                "one seed is enough; run.vary = \"jitter 100ms\" moves the starts of connections"
            }
            Warning::HostDoubtful(_) => "look at the verdict of the run",
            Warning::NearHostLimit(_) => "run a part of it (a lower scale), or use a larger host",
            Warning::RunsTooShort => "raise measure.duration",
            Warning::JumboDatagrams { .. } => WITHOUT_OFFLOADS,
            Warning::TotalsOnly { .. } | Warning::TotalsReplayed { .. } => {
                "extract from packets, if they can be captured"
            }
            Warning::RecordEnds { .. } => "leave out measure.duration, or lengthen the record with workload.load",
            Warning::WindowBehindRecord { .. } => "set measure.window to a part of the record",
            Warning::CaptureIncomplete { .. } => "the results are complete; run it again for the capture",
            Warning::DeepLimit { .. } => SET_A_LIMIT,
            Warning::WaitsNotCorrected { .. } => LEAVE_SHORT_WAITS_OUT,
            Warning::DatagramsNotReplayed { of_capture, .. } => how_to_send(*of_capture),
            Warning::DatagramsEvened { .. } => {
                "extract the capture again, or read bytes and spans from such a run, not bursts or short queues"
            }
            Warning::PartKept { .. } => "run the command again, to its end, for a result that replaces it",
            Warning::ShortTarget { .. } => "set queue.target to at least 1.5 packet times at the rate",
            Warning::HeavyProbes { .. } => "raise probe.every",
            Warning::NothingMarks => "let a queue mark, as --queue codel,ecn does, or leave tcp.ecn out",
            Warning::SourceMissed { .. } => "raise measure.duration, or let the source start earlier",
            Warning::ClassEmpty { .. }
            | Warning::TraceMissed { .. }
            | Warning::CellDamaged { .. }
            | Warning::Stored { .. }
            | Warning::DiskFull
            | Warning::Live(_) => return None,
        })
    }
}

/// What lets a run send flows of datagrams, and keeps those `of_capture` out of a workload.
fn how_to_send(of_capture: bool) -> &'static str {
    match of_capture {
        false => "datagrams = \"as-seen\" in [workload] sends them",
        true => "datagrams = \"as-seen\" in [workload] sends them; --tcp-only keeps them out of the workload",
    }
}
