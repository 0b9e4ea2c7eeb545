//! The connections inside a conversation: their last sequence numbers, and the items they carry.

use super::application::Items;

/// How many of the last packets of a conversation a repeated sequence number is looked for in (methods G.1).
const WINDOW: usize = 128;
/// Connections of a conversation held at once; the one that was silent for longest gives way.
const MOST: usize = 256;
/// From how many bytes on a packet begins an NNTP article.
const ARTICLE: u32 = 250;

/// A data packet inside a conversation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Data {
    pub from_server: bool,
    pub bytes: u32,
    pub push: bool,
    /// `None` of a datagram.
    pub sequence: Option<u32>,
}

#[derive(Debug)]
struct Connection {
    /// Which of the conversation's connections.
    number: u32,
    /// Ports of client and server, where a conversation may have several connections.
    ports: [u16; 2],
    /// FTP: not the control connection.
    data: bool,
    /// The highest sequence number of client and server: what is above it is no repetition.
    highest: [Option<u32>; 2],
    /// Bytes sent, both ways.
    bytes: u64,
    /// NNTP: bytes of the article client and server are in the middle of.
    articles: [Option<u64>; 2],
}

/// The connections of one conversation, the one heard of last at the end.
#[derive(Debug, Default)]
pub(super) struct Connections {
    list: Vec<Connection>,
    next_number: u32,
    /// Sequence numbers of the last [`WINDOW`] data packets with their connection and direction, a ring.
    recent: Vec<u64>,
    oldest: usize,
    /// Sizes of the items that are over.
    items: Vec<u64>,
}

impl Connections {
    /// A connection opens on `ports`: what passed there before was another.
    pub fn opens(&mut self, ports: [u16; 2], items: Items) {
        if let Some(at) = self.list.iter().rposition(|connection| connection.ports == ports) {
            let over = self.list.remove(at);
            self.over(&over, items);
        }
    }

    /// Takes in a packet with data; `false` if it is a retransmission. `data` says that it belongs to an FTP data
    /// connection.
    pub fn take(&mut self, ports: [u16; 2], data: bool, items: Items, packet: Data) -> bool {
        let at = self.find(ports, data, items);
        let connection = &mut self.list[at];
        let direction = usize::from(packet.from_server);
        if let Some(sequence) = packet.sequence {
            let highest = &mut connection.highest[direction];
            let above = highest.is_none_or(|highest| sequence.wrapping_sub(highest) as i32 > 0);
            let tag = u64::from(connection.number) << 1 | u64::from(packet.from_server);
            let mark = tag << 32 | u64::from(sequence);
            if above {
                *highest = Some(sequence);
            } else if self.recent.contains(&mark) {
                return false;
            }
            if self.recent.len() < WINDOW {
                self.recent.push(mark);
            } else {
                self.recent[self.oldest] = mark;
                self.oldest = (self.oldest + 1) % WINDOW;
            }
        }
        connection.bytes += u64::from(packet.bytes);
        if items == Items::Articles {
            let article = &mut connection.articles[direction];
            if article.is_some() || packet.bytes >= ARTICLE {
                let bytes = article.unwrap_or(0) + u64::from(packet.bytes);
                *article = (!packet.push).then_some(bytes);
                self.items.extend(packet.push.then_some(bytes));
            }
        }
        true
    }

    /// How many items are over, and as many more as take the memory of its connections beside the first.
    pub fn held(&self) -> usize {
        const OF_CONNECTION: usize = size_of::<Connection>() / size_of::<u64>();
        self.items.len() + self.list.len().saturating_sub(1) * OF_CONNECTION
    }

    /// The sizes of all items; `sent_by_client` is that of a mail.
    pub fn into_items(mut self, items: Items, sent_by_client: u64) -> Vec<u64> {
        for connection in std::mem::take(&mut self.list) {
            self.over(&connection, items);
        }
        if items == Items::Mail && sent_by_client > 0 {
            self.items.push(sent_by_client);
        }
        self.items
    }

    /// Index of the connection on `ports`, which is then the last.
    fn find(&mut self, ports: [u16; 2], data: bool, items: Items) -> usize {
        let last = match self.list.iter().rposition(|connection| connection.ports == ports) {
            Some(at) => {
                self.list[at..].rotate_left(1);
                return self.list.len() - 1;
            }
            None => self.list.len(),
        };
        let number = self.next_number;
        self.next_number = self.next_number.wrapping_add(1) & (u32::MAX >> 1);
        self.list.push(Connection { number, ports, data, highest: [None; 2], bytes: 0, articles: [None; 2] });
        if last < MOST {
            return last;
        }
        let over = self.list.remove(0);
        self.over(&over, items);
        self.list.len() - 1
    }

    fn over(&mut self, connection: &Connection, items: Items) {
        match items {
            Items::DataConnections if connection.data => self.items.push(connection.bytes),
            // The end of an article that was cut off is the last packet that passed.
            Items::Articles => self.items.extend(connection.articles.iter().flatten()),
            Items::DataConnections | Items::Mail | Items::None => {}
        }
    }
}
