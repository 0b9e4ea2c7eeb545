//! Conversations, as Cáceres (1992) defines them (methods G.1): packets in, applications and their conversations out.
//!
//! An *association* is an application between two transport addresses, a *conversation* its packets up to a silence of
//! 20 minutes. FTP and NNTP conversations are those of a host pair: control and data connections, one after the other and
//! side by side. What each file decides: `application` the service of a port, `table` which conversations are open,
//! `connections` what is a retransmission and what an item, `arrivals` the times between conversations. `docs/guide/describe.md`
//! has the rules and the choices in words.

mod application;
mod arrivals;
mod connections;
mod table;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use crate::sketch::Sketch;
use crate::time::{Duration, Time};
use crate::wire::{Address, Datagram, Segment};

pub use application::{Application, Class};

use application::Grouping;
pub use application::Transport;
use arrivals::Arrivals;
use connections::{Connections, Data};
use table::{Key, Table};

/// How conversations are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// A silence this long, or longer, ends a conversation.
    pub silence: Duration,
    /// So many may be open at once. Beyond that the one that was silent for longest ends early, which is counted. An open
    /// conversation takes about 300 bytes, and 1 kB more once it had 128 packets.
    pub most_open: usize,
    /// So many items of open conversations are held, 8 bytes each; a connection beside the first of its conversation
    /// counts as nine. Beyond that the conversation with the latest one ends early, which is counted.
    pub most_items: usize,
    /// As that of [extraction](super::Options::hash_secret): no capture can be crafted to make conversations collide.
    pub hash_secret: u64,
}

impl Options {
    /// The silence of the published study.
    pub const SILENCE: Duration = Duration::from_secs(20 * 60);
}

impl Default for Options {
    fn default() -> Options {
        Options { silence: Options::SILENCE, most_open: 500_000, most_items: 4_000_000, hash_secret: 0 }
    }
}

/// What one end of a conversation sent, without retransmissions and packets without data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Sent {
    /// Packets.
    pub packets: u64,
    /// Payload bytes.
    pub bytes: u64,
}

/// A conversation that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    /// Its application.
    pub application: Application,
    /// Time of its first data packet.
    pub start: Time,
    /// First to last data packet.
    pub duration: Duration,
    /// By the end with the larger port; of a host pair, by the host that used the service.
    pub client: Sent,
    /// By the other end.
    pub server: Sent,
    /// Sizes of its items in bytes, in the order of their ends: FTP data connections, NNTP articles, the mail of SMTP.
    pub items: Vec<u64>,
}

impl Conversation {
    /// Packets, both ways.
    pub fn packets(&self) -> u64 {
        self.client.packets + self.server.packets
    }

    /// Payload bytes, both ways.
    pub fn bytes(&self) -> u64 {
        self.client.bytes + self.server.bytes
    }

    /// Bytes of the heavier direction and of the other. Their ratio is the directionality; it is infinite if the other
    /// is 0.
    pub fn directions(&self) -> (u64, u64) {
        (self.client.bytes.max(self.server.bytes), self.client.bytes.min(self.server.bytes))
    }
}

/// Packets left out of all statistics of conversations, by reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Dropped {
    /// SYN and SYN/ACK.
    pub syn: u64,
    /// Without data, resets among them.
    pub empty: u64,
    /// Their sequence number is among those of the last 128 data packets of the conversation.
    pub retransmitted: u64,
    /// The one byte of a conversation that is a keep-alive.
    pub keep_alive: u64,
}

impl Dropped {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.syn + self.empty + self.retransmitted + self.keep_alive
    }
}

/// An application's packets and conversations.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    /// Packets, dropped ones among them.
    pub packets: u64,
    /// Their payload bytes, repeated ones among them.
    pub payload_bytes: u64,
    /// What was left out.
    pub dropped: Dropped,
    /// Conversations that are over. A keep-alive is none.
    pub conversations: u64,
    /// What would be conversations if a packet of them had data.
    pub without_data: u64,
    /// Payload of each packet that was not dropped.
    pub packet_bytes: Sketch,
    /// Nanoseconds between neighbouring packets of a conversation.
    pub packet_gap_ns: Sketch,
    arrivals: Arrivals,
}

impl Usage {
    /// Nanoseconds between the starts of neighbouring conversations of the application.
    pub fn interarrival_ns(&self) -> &Sketch {
        &self.arrivals.gaps
    }
}

/// A packet of either transport.
#[derive(Clone, Copy)]
struct Packet {
    transport: Transport,
    source: Address,
    destination: Address,
    bytes: u32,
    syn: bool,
    opens: bool,
    push: bool,
    sequence: Option<u32>,
}

#[derive(Debug)]
struct Open {
    application: Application,
    /// The server's address, which tells the directions in a conversation of a host pair.
    server: Address,
    /// Latest packet, also of those that are dropped: silence is when nothing passes.
    last_seen: Time,
    /// First and latest packet that was kept.
    start: Time,
    last_kept: Time,
    client_sent: Sent,
    server_sent: Sent,
    /// Its place in the order of starts.
    ticket: u64,
    /// FTP: a control connection is among it.
    control: bool,
    connections: Connections,
}

/// Packets of a capture in, conversations out.
///
/// Hand in every TCP segment and UDP datagram in the order of the capture, and after each (or after some) take what is
/// over with [`poll_finished`](Self::poll_finished) until it returns nothing. Call [`finish`](Self::finish) after the
/// last packet, and poll once more. Conversations come in the order of their ends.
///
/// The clock may run backwards: inside a conversation an earlier time counts as the latest so far, and a conversation
/// is ended by the packets of others only when two in a row say that it is time.
///
/// Memory is bounded: [`Options::most_open`] conversations, [`Options::most_items`] items of theirs, and three distributions
/// per application, each of bounded size ([`Sketch`]). A capture of 2^32 conversations of one packet each, none silent for
/// long enough, has all but the last ones ended early, with the packets they had.
#[derive(Debug)]
pub struct Conversations {
    options: Options,
    open: Table<Open>,
    usage: Vec<Usage>,
    finished: VecDeque<Conversation>,
    previous: Time,
    /// Items of open conversations, and what their connections count for.
    items_held: usize,
    ended_early: u64,
}

impl Conversations {
    /// A machine that has seen nothing.
    pub fn new(options: Options) -> Conversations {
        let usage = std::iter::repeat_with(Usage::default).take(Application::COUNT).collect();
        let (open, finished) = (Table::new(options.hash_secret), VecDeque::new());
        Conversations { options, open, usage, finished, previous: Time::ZERO, items_held: 0, ended_early: 0 }
    }

    /// Takes in a segment that passed at `time` on the capture's clock.
    pub fn handle_segment(&mut self, time: Time, segment: &Segment) {
        self.handle(
            time,
            Packet {
                transport: Transport::Tcp,
                source: segment.source,
                destination: segment.destination,
                // Payload on a reset is not data (methods A.1.6).
                bytes: if segment.flags.rst() { 0 } else { segment.payload_bytes },
                syn: segment.flags.syn(),
                opens: segment.flags.syn() && !segment.flags.ack(),
                push: segment.flags.psh(),
                sequence: Some(segment.sequence),
            },
        );
    }

    /// Takes in a datagram that passed at `time` on the capture's clock.
    pub fn handle_datagram(&mut self, time: Time, datagram: &Datagram) {
        self.handle(
            time,
            Packet {
                transport: Transport::Udp,
                source: datagram.source,
                destination: datagram.destination,
                bytes: datagram.payload_bytes,
                syn: false,
                opens: false,
                push: false,
                sequence: None,
            },
        );
    }

    /// The next conversation that is over.
    pub fn poll_finished(&mut self) -> Option<Conversation> {
        self.finished.pop_front()
    }

    /// The capture is over: ends every conversation.
    pub fn finish(&mut self) {
        while let Some(at) = self.open.oldest() {
            self.end(at);
        }
    }

    /// The applications that had packets, TCP first, in the order of the table of services.
    pub fn usage(&self) -> impl Iterator<Item = (Application, &Usage)> {
        Application::all().zip(&self.usage).filter(|(_, usage)| usage.packets > 0)
    }

    /// Conversations that were ended because too many were open, or too many items held.
    pub fn ended_early(&self) -> u64 {
        self.ended_early
    }

    /// Conversations open at the moment.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    fn handle(&mut self, time: Time, packet: Packet) {
        self.expire(time.min(self.previous));
        self.previous = time;
        let at = self.conversation(time, &packet);
        let Some(open) = self.open.touch(at) else { return };
        open.last_seen = open.last_seen.max(time);
        let usage = &mut self.usage[open.application.index()];
        usage.packets += 1;
        usage.payload_bytes += u64::from(packet.bytes);

        let items = open.application.items();
        let ports = [packet.source.port, packet.destination.port];
        let from_server = open.is_from_server(&packet);
        // Only conversations of host pairs have several connections to tell apart.
        let pair = match (open.application.grouping(), from_server) {
            (Grouping::Association, _) => [0, 0],
            (Grouping::Ftp | Grouping::Nntp, true) => [ports[1], ports[0]],
            (Grouping::Ftp | Grouping::Nntp, false) => ports,
        };
        let control = ports.contains(&FTP_CONTROL);
        open.control |= control;
        let held = open.connections.held();
        if packet.opens {
            open.connections.opens(pair, items);
        }
        if packet.syn {
            usage.dropped.syn += 1;
            self.items_held = self.items_held + open.connections.held() - held;
            return;
        }
        if packet.bytes == 0 {
            usage.dropped.empty += 1;
            return;
        }
        let data = Data { from_server, bytes: packet.bytes, push: packet.push, sequence: packet.sequence };
        if !open.connections.take(pair, !control, items, data) {
            usage.dropped.retransmitted += 1;
            return;
        }
        open.keep(time, packet.bytes, from_server, usage, self.options.most_open);
        self.items_held = self.items_held + open.connections.held() - held;
        if self.items_held > self.options.most_items {
            self.end(at);
            self.ended_early += 1;
        }
    }

    /// Index of the conversation of `packet`, which is opened if there is none.
    fn conversation(&mut self, time: Time, packet: &Packet) -> u32 {
        let Packet { transport, source, destination, .. } = *packet;
        let ports = [source.port, destination.port];
        let pair = Key::association(source, destination, transport == Transport::Udp);
        // What is known to be in a group need not be looked for outside.
        let grouping = match transport {
            Transport::Tcp => grouping_of(ports[0].min(ports[1])),
            Transport::Udp => Grouping::Association,
        };
        let key = if grouping == Grouping::Association { pair } else { Key::hosts(source, destination, grouping) };
        if let Some(at) = self.open.find(&key) {
            let silent = self.open.get(at).is_some_and(|open| time.since(open.last_seen) >= self.options.silence);
            if !silent {
                return at;
            }
            self.end(at);
        }
        let application = Application::of(transport, ports);
        // Passive FTP agrees on ports in the control connection, which is not read: what is unknown between two hosts
        // that hold a control connection is taken for its data.
        if application == Application::other(Transport::Tcp)
            && let Some(at) = self.open.find(&Key::hosts(source, destination, Grouping::Ftp))
            && let Some(session) = self.open.get(at)
            && session.control
            && time.since(session.last_seen) < self.options.silence
        {
            return at;
        }
        if self.open.len() >= self.options.most_open.max(1)
            && let Some(oldest) = self.open.oldest()
        {
            self.end(oldest);
            self.ended_early += 1;
        }
        let server = if (source.port, destination.ip) < (destination.port, source.ip) { source } else { destination };
        self.open.insert(key, Open::new(application, server, time))
    }

    /// Ends what has been silent for long enough at `now`.
    fn expire(&mut self, now: Time) {
        while let Some(at) = self.open.oldest()
            && self.open.get(at).is_some_and(|open| now.since(open.last_seen) >= self.options.silence)
        {
            self.end(at);
        }
    }

    /// The conversation at `at` is over.
    fn end(&mut self, at: u32) {
        let Some(open) = self.open.remove(at) else { return };
        self.items_held -= open.connections.held();
        let usage = &mut self.usage[open.application.index()];
        if open.packets() == 0 {
            usage.without_data += 1;
        } else if open.is_undecided() {
            usage.dropped.keep_alive += 1;
            usage.arrivals.settle(open.ticket, false);
        } else {
            usage.conversations += 1;
            self.finished.push_back(Conversation {
                application: open.application,
                start: open.start,
                duration: open.last_kept.since(open.start),
                client: open.client_sent,
                server: open.server_sent,
                items: open.connections.into_items(open.application.items(), open.client_sent.bytes),
            });
        }
    }
}

/// The port of FTP control connections.
const FTP_CONTROL: u16 = 21;

/// How conversations of the service of `port` over TCP are grouped.
fn grouping_of(port: u16) -> Grouping {
    match port {
        20 | FTP_CONTROL => Grouping::Ftp,
        119 => Grouping::Nntp,
        _ => Grouping::Association,
    }
}

impl Open {
    fn new(application: Application, server: Address, time: Time) -> Open {
        Open {
            application,
            server,
            last_seen: time,
            start: time,
            last_kept: time,
            client_sent: Sent::default(),
            server_sent: Sent::default(),
            ticket: 0,
            control: false,
            connections: Connections::default(),
        }
    }

    fn packets(&self) -> u64 {
        self.client_sent.packets + self.server_sent.packets
    }

    /// Whether it is one byte so far, so that it may be a keep-alive.
    fn is_undecided(&self) -> bool {
        self.packets() == 1 && self.client_sent.bytes + self.server_sent.bytes <= 1
    }

    /// Whether the end with the service sent `packet`. In a conversation of a host pair this is the host that had the
    /// smaller port first; if both hosts are one, the port decides.
    fn is_from_server(&self, packet: &Packet) -> bool {
        let Packet { source, destination, .. } = *packet;
        if self.application.grouping() == Grouping::Association {
            source == self.server
        } else if source.ip == destination.ip {
            source.port < destination.port
        } else {
            source.ip == self.server.ip
        }
    }

    /// A data packet that counts.
    fn keep(&mut self, time: Time, bytes: u32, from_server: bool, usage: &mut Usage, most_waiting: usize) {
        let time = time.max(self.last_kept);
        if self.packets() == 0 {
            self.start = time;
            self.ticket = usage.arrivals.open(time, bytes > 1, most_waiting);
            // A lone byte is held until a second packet tells that it is no keep-alive.
            usage.packet_bytes.extend((bytes > 1).then_some(u64::from(bytes)));
        } else {
            if self.is_undecided() {
                usage.arrivals.settle(self.ticket, true);
                usage.packet_bytes.add(1);
            }
            usage.packet_gap_ns.add(time.since(self.last_kept).as_nanos());
            usage.packet_bytes.add(u64::from(bytes));
        }
        self.last_kept = time;
        let sent = if from_server { &mut self.server_sent } else { &mut self.client_sent };
        sent.packets += 1;
        sent.bytes += u64::from(bytes);
    }
}
