//! Export messages: NetFlow version 5 and 9, IPFIX.

/// A template set and a data set of two records, each of them behind its number and length.
fn sets(template: u16) -> Vec<u8> {
    // Addresses, ports, protocol, octets, packets, flags, first and last by the exporter's uptime.
    let fields: [(u16, u16); 10] = [(8, 4), (12, 4), (7, 2), (11, 2), (4, 1), (1, 4), (2, 4), (6, 1), (22, 4), (21, 4)];
    let defined: Vec<u8> =
        fields.iter().flat_map(|(id, length)| [id.to_be_bytes(), length.to_be_bytes()].concat()).collect();
    let record = [
        &[10, 0, 0, 1, 192, 0, 2, 9, 0x9c, 0x40, 0, 80, 6][..],
        &[0, 0, 4, 210, 0, 0, 0, 7, 0x1b, 0, 0, 16, 0, 0, 0, 32, 0],
    ]
    .concat();
    let set = |number: u16, body: &[u8]| {
        let padding = vec![0; body.len().next_multiple_of(4) - body.len()];
        let length = (4 + body.len() + padding.len()) as u16;
        [&number.to_be_bytes()[..], &length.to_be_bytes(), body, &padding].concat()
    };
    let head = [256u16.to_be_bytes(), (fields.len() as u16).to_be_bytes()].concat();
    [set(template, &[head, defined].concat()), set(256, &record.repeat(2))].concat()
}

/// NetFlow version 5: one message of two records.
fn v5() -> Vec<u8> {
    let header = [0, 5, 0, 2, 0, 0, 64, 0, 0x65, 0x53, 0xf1, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0x40, 100];
    let addresses = [10, 0, 0, 1, 192, 0, 2, 9, 0, 0, 0, 0, 0, 1, 0, 2];
    let counts = [0, 0, 0, 7, 0, 0, 4, 210, 0, 0, 16, 0, 0, 0, 32, 0];
    let rest = [0x9c, 0x40, 0, 80, 0, 0x1b, 6, 0, 0, 0, 0, 0, 24, 24, 0, 0];
    [&header[..], &[&addresses[..], &counts, &rest].concat().repeat(2)].concat()
}

/// NetFlow version 9: the template and its data.
fn v9() -> Vec<u8> {
    let header = [0, 9, 0, 3, 0, 0, 64, 0, 0x65, 0x53, 0xf1, 0, 0, 0, 0, 1, 0, 0, 0, 1];
    [&header[..], &sets(0)].concat()
}

/// IPFIX: the same, and a template with an enterprise's element and a length that varies.
fn ipfix() -> Vec<u8> {
    let more = [0, 2, 0, 20, 1, 1, 0, 2, 0x80, 40, 0xff, 0xff, 0, 0, 0x72, 0x79, 0, 8, 0, 4];
    let data = [1, 1, 0, 12, 3, 1, 2, 3, 10, 0, 0, 1];
    let sets = [&sets(2)[..], &more, &data].concat();
    let length = (16 + sets.len() as u16).to_be_bytes();
    let header = [0, 10, length[0], length[1], 0x65, 0x53, 0xf1, 0, 0, 0, 0, 1, 0, 0, 0, 1];
    [&header[..], &sets].concat()
}

/// A pcap file of packets that begin with IPv4, each a UDP datagram of an exporter.
fn captured(messages: &[Vec<u8>]) -> Vec<u8> {
    let words = |words: [u32; 4]| words.into_iter().flat_map(u32::to_le_bytes).collect::<Vec<u8>>();
    let mut file = [words([0xa1b2_c3d4, 0x0004_0002, 0, 0]), vec![0, 0, 4, 0, 101, 0, 0, 0]].concat();
    for message in messages {
        let length = 28 + message.len() as u16;
        file.extend(words([0x6553_f100, 0, u32::from(length), u32::from(length)]));
        file.extend([[0x45, 0], length.to_be_bytes()].concat());
        file.extend([0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, 0x30, 0x39, 8, 7]);
        file.extend([(length - 20).to_be_bytes(), [0, 0]].concat());
        file.extend(message);
    }
    file
}

/// Inputs of the flow target: each version, one message after the other, and a capture of all.
pub fn messages() -> Vec<Vec<u8>> {
    vec![v5(), v9(), ipfix(), [v9(), v9()].concat(), [ipfix(), ipfix()].concat(), captured(&[v5(), v9(), ipfix()])]
}
