//! Conversations as tables: by protocol, by application, and the shares that Cáceres (1992) published (methods G.1).

use flowloom_core::extract::conversations::{Application, Class, Conversation, Conversations, Options, Transport};
use flowloom_core::time::{Duration, Time};
use flowloom_core::wire::Parsed;
use serde::Serialize;

use super::variable::{Distribution, Sketches, Variable};

const PER_CONVERSATION: [Variable; 9] = [
    Variable::ConversationBytes,
    Variable::ConversationPackets,
    Variable::ConversationDuration,
    Variable::ConversationInterarrival,
    Variable::PacketGap,
    Variable::PacketBytes,
    Variable::Directionality,
    Variable::Items,
    Variable::ItemBytes,
];

/// Which conversations a distribution is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All applications.
    All,
    /// Bulk transfer.
    Bulk,
    /// Interactive.
    Interactive,
}

/// Watches the packets of a capture.
#[derive(Debug)]
pub struct ConversationDescriber {
    silence: Duration,
    machine: Conversations,
    applications: Vec<(Application, Collected)>,
}

/// What the conversations of one application add up to.
#[derive(Clone, Debug, Default)]
struct Collected {
    kept_packets: u64,
    kept_bytes: u64,
    /// With a silent direction.
    one_sided: u64,
    below_10_kb: u64,
    below_1000_packets: u64,
    below_200_s: u64,
    below_10_to_1: u64,
    above_10_to_1: u64,
    bytes_above_1_mb: u64,
    item_bytes: u64,
    item_bytes_above_1_mb: u64,
    sketches: Sketches,
}

impl Collected {
    fn add(&mut self, conversation: &Conversation) {
        let (packets, bytes) = (conversation.packets(), conversation.bytes());
        let (heavier, other) = conversation.directions();
        self.kept_packets += packets;
        self.kept_bytes += bytes;
        self.one_sided += u64::from(other == 0);
        self.below_10_kb += u64::from(bytes < 10_000);
        self.below_1000_packets += u64::from(packets < 1_000);
        self.below_200_s += u64::from(conversation.duration < Duration::from_secs(200));
        self.below_10_to_1 += u64::from(heavier < other.saturating_mul(10));
        self.above_10_to_1 += u64::from(heavier > other.saturating_mul(10));
        self.bytes_above_1_mb += if bytes > 1_000_000 { bytes } else { 0 };
        let large = conversation.items.iter().filter(|item| **item > 1_000_000).sum::<u64>();
        self.item_bytes_above_1_mb += large;
        self.item_bytes += conversation.items.iter().sum::<u64>();

        let sketches = &mut self.sketches;
        sketches.add(Variable::ConversationBytes, [bytes]);
        sketches.add(Variable::ConversationPackets, [packets]);
        sketches.add(Variable::ConversationDuration, [conversation.duration.as_nanos()]);
        let scale = Variable::Directionality.scale();
        sketches
            .add(Variable::Directionality, (other > 0).then(|| (heavier as f64 / other as f64 * scale).round() as u64));
        let items = conversation.items.len() as u64;
        sketches.add(Variable::Items, (items > 0).then_some(items));
        sketches.add(Variable::ItemBytes, conversation.items.iter().copied());
    }

    fn add_all(&mut self, other: &Collected) {
        self.kept_packets += other.kept_packets;
        self.kept_bytes += other.kept_bytes;
        self.one_sided += other.one_sided;
        self.below_10_kb += other.below_10_kb;
        self.below_1000_packets += other.below_1000_packets;
        self.below_200_s += other.below_200_s;
        self.below_10_to_1 += other.below_10_to_1;
        self.above_10_to_1 += other.above_10_to_1;
        self.bytes_above_1_mb += other.bytes_above_1_mb;
        self.item_bytes += other.item_bytes;
        self.item_bytes_above_1_mb += other.item_bytes_above_1_mb;
        self.sketches.add_all(&other.sketches);
    }

    fn conversations(&self) -> u64 {
        self.sketches.count(Variable::ConversationBytes)
    }
}

/// The conversations of a capture.
#[derive(Clone, Debug, Serialize)]
pub struct ConversationDescription {
    /// The silence that ends a conversation.
    pub silence_ns: u64,
    /// Applications that had packets, TCP first.
    pub applications: Vec<ApplicationDescription>,
    /// The shares that were published for the traffic of 1991.
    pub published: Published,
    /// Conversations that were ended because too many were open, or too many items held.
    pub ended_early: u64,
    /// Distributions over several applications.
    #[serde(skip)]
    pub(crate) pooled: Vec<(Scope, Vec<Distribution>)>,
}

/// An application's packets and conversations.
#[derive(Clone, Debug, Serialize)]
pub struct ApplicationDescription {
    /// The service of the smaller port.
    pub application: &'static str,
    /// `tcp` or `udp`.
    pub transport: &'static str,
    /// `bulk`, `interactive` or `other`.
    pub class: &'static str,
    /// Packets, dropped ones among them.
    pub packets: u64,
    /// Their payload, repeated bytes among it.
    pub payload_bytes: u64,
    /// Conversations.
    pub conversations: u64,
    /// What would be conversations if a packet of them had data.
    pub without_data: u64,
    /// Packets left out of conversations, by reason.
    pub dropped: DroppedPackets,
    /// Conversations in which one end sent nothing: their directionality is infinite.
    pub one_sided: u64,
    /// Each variable's distribution.
    pub distributions: Vec<Distribution>,
}

/// Packets left out of conversations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DroppedPackets {
    /// SYN and SYN/ACK.
    pub syn: u64,
    /// Without data.
    pub empty: u64,
    /// Retransmissions.
    pub retransmitted: u64,
    /// Lone keep-alives.
    pub keep_alive: u64,
}

/// Shares published for the traffic of 1991, computed of this capture; null where it has nothing of the kind. kB and MB
/// are decimal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Published {
    /// Of FTP, NNTP and SMTP conversations, those below 10 kB.
    pub bulk_below_10_kb: Option<f64>,
    /// Of FTP conversations, those below 10 kB.
    pub ftp_below_10_kb: Option<f64>,
    /// Of the bytes of these bulk conversations, those in conversations above 1 MB.
    pub bulk_bytes_in_conversations_above_1_mb: Option<f64>,
    /// Of the bytes of their items, those in items above 1 MB.
    pub bulk_bytes_in_items_above_1_mb: Option<f64>,
    /// Of TELNET and RLOGIN conversations, those below 1,000 packets.
    pub interactive_below_1000_packets: Option<f64>,
    /// Those below 10 kB.
    pub interactive_below_10_kb: Option<f64>,
    /// Those below 200 s.
    pub interactive_below_200_s: Option<f64>,
    /// Of their packets, those below 10 bytes.
    pub interactive_packets_below_10_bytes: Option<f64>,
    /// Of the times between their packets, those above 100 ms.
    pub interactive_gaps_above_100_ms: Option<f64>,
    /// Of FTP conversations, those with a directionality below 10.
    pub ftp_below_10_to_1: Option<f64>,
    /// Of TELNET conversations, those with a directionality above 10, infinite ones among them.
    pub telnet_above_10_to_1: Option<f64>,
    /// Of all packets in conversations, those of TELNET and RLOGIN.
    pub interactive_packets: Option<f64>,
    /// Of all bytes in conversations, theirs.
    pub interactive_bytes: Option<f64>,
}

impl ConversationDescriber {
    /// One that has seen nothing. Conversations end with a silence of `silence`; no result depends on `hash_secret`
    /// ([`Options::hash_secret`]).
    pub fn new(silence: Duration, hash_secret: u64) -> ConversationDescriber {
        let machine = Conversations::new(Options { silence, hash_secret, ..Options::default() });
        let applications = Application::all().map(|application| (application, Collected::default())).collect();
        ConversationDescriber { silence, machine, applications }
    }

    /// Takes in a packet that passed at `time`.
    pub fn packet(&mut self, time: Time, parsed: &Parsed) {
        match parsed {
            Parsed::Segment(segment) => self.machine.handle_segment(time, segment),
            Parsed::Datagram(datagram) => self.machine.handle_datagram(time, datagram),
        }
        self.collect();
    }

    fn collect(&mut self) {
        while let Some(conversation) = self.machine.poll_finished() {
            if let Some((_, collected)) = self.applications.iter_mut().find(|(at, _)| *at == conversation.application) {
                collected.add(&conversation);
            }
        }
    }

    /// The capture is over.
    pub fn finish(mut self) -> ConversationDescription {
        self.machine.finish();
        self.collect();
        for (application, usage) in self.machine.usage() {
            let found = self.applications.iter_mut().find(|(at, _)| *at == application);
            let Some((_, collected)) = found else { continue };
            collected.sketches.add_sketch(Variable::ConversationInterarrival, usage.interarrival_ns());
            collected.sketches.add_sketch(Variable::PacketGap, &usage.packet_gap_ns);
            collected.sketches.add_sketch(Variable::PacketBytes, &usage.packet_bytes);
        }
        let used: Vec<_> = self.machine.usage().collect();
        let applications = used.iter().filter_map(|(application, usage)| {
            let (_, collected) = self.applications.iter().find(|(at, _)| at == application)?;
            Some(ApplicationDescription {
                application: application.name(),
                transport: application.transport().name(),
                class: application.class().name(),
                packets: usage.packets,
                payload_bytes: usage.payload_bytes,
                conversations: usage.conversations,
                without_data: usage.without_data,
                dropped: DroppedPackets {
                    syn: usage.dropped.syn,
                    empty: usage.dropped.empty,
                    retransmitted: usage.dropped.retransmitted,
                    keep_alive: usage.dropped.keep_alive,
                },
                one_sided: collected.one_sided,
                distributions: collected.sketches.distributions(&PER_CONVERSATION),
            })
        });
        let scopes = [Scope::All, Scope::Bulk, Scope::Interactive];
        ConversationDescription {
            silence_ns: self.silence.as_nanos(),
            applications: applications.collect(),
            published: self.published(),
            ended_early: self.machine.ended_early(),
            pooled: scopes.map(|scope| (scope, self.pooled(scope))).into(),
        }
    }

    /// The sum over the applications that `choose` picks.
    fn sum(&self, choose: impl Fn(Application) -> bool) -> Collected {
        let mut sum = Collected::default();
        self.applications.iter().filter(|(application, _)| choose(*application)).for_each(|(_, one)| sum.add_all(one));
        sum
    }

    fn pooled(&self, scope: Scope) -> Vec<Distribution> {
        let sum = self.sum(|application| match scope {
            Scope::All => true,
            Scope::Bulk => application.class() == Class::Bulk,
            Scope::Interactive => application.class() == Class::Interactive,
        });
        sum.sketches.distributions(&PER_CONVERSATION)
    }

    fn published(&self) -> Published {
        let share = |part: u64, all: u64| (all > 0).then(|| part as f64 / all as f64);
        let bulk =
            self.sum(|application| [Application::FTP, Application::NNTP, Application::SMTP].contains(&application));
        let interactive = self.sum(|application| [Application::TELNET, Application::RLOGIN].contains(&application));
        let (ftp, telnet) = (self.sum(|one| one == Application::FTP), self.sum(|one| one == Application::TELNET));
        let all = self.sum(|_| true);
        let distribution = |variable| Distribution::of(variable, interactive.sketches.get(variable));
        Published {
            bulk_below_10_kb: share(bulk.below_10_kb, bulk.conversations()),
            ftp_below_10_kb: share(ftp.below_10_kb, ftp.conversations()),
            bulk_bytes_in_conversations_above_1_mb: share(bulk.bytes_above_1_mb, bulk.kept_bytes),
            bulk_bytes_in_items_above_1_mb: share(bulk.item_bytes_above_1_mb, bulk.item_bytes),
            interactive_below_1000_packets: share(interactive.below_1000_packets, interactive.conversations()),
            interactive_below_10_kb: share(interactive.below_10_kb, interactive.conversations()),
            interactive_below_200_s: share(interactive.below_200_s, interactive.conversations()),
            interactive_packets_below_10_bytes: distribution(Variable::PacketBytes)
                .and_then(|packets| packets.empirical.cdf(9)),
            interactive_gaps_above_100_ms: distribution(Variable::PacketGap)
                .and_then(|gaps| gaps.empirical.cdf(100_000_000))
                .map(|up_to| 1.0 - up_to),
            ftp_below_10_to_1: share(ftp.below_10_to_1, ftp.conversations()),
            telnet_above_10_to_1: share(telnet.above_10_to_1, telnet.conversations()),
            interactive_packets: share(interactive.kept_packets, all.kept_packets),
            interactive_bytes: share(interactive.kept_bytes, all.kept_bytes),
        }
    }
}

impl ConversationDescription {
    /// The distributions of `scope`.
    pub(crate) fn pooled(&self, scope: Scope) -> &[Distribution] {
        self.pooled.iter().find(|(at, _)| *at == scope).map_or(&[], |(_, distributions)| distributions)
    }

    /// Packets and payload bytes of applications over `transport`, and how many conversations they had.
    pub(crate) fn totals(&self, transport: Transport) -> [u64; 3] {
        let rows = self.applications.iter().filter(|row| row.transport == transport.name());
        rows.fold([0; 3], |[packets, bytes, conversations], row| {
            [packets + row.packets, bytes + row.payload_bytes, conversations + row.conversations]
        })
    }
}
