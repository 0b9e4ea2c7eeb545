//! Connections as a traffic profile of TRex's advanced stateful mode (ASTF): one program for each end, of data to send, data to wait
//! for and delays. Written, not read (`docs/reference/formats.md`).

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{self, Write};

use flowloom_core::play::{ReplayModel, Script, Waits};
use flowloom_core::time::Duration;
use flowloom_core::workload::{Close, ConnectionVector, Pattern, Side};
use serde::Serialize;
use serde_json::json;

use super::notes::{Notes, Remark};
use super::tmix::micros;

/// The first port of a server: each template has one of its own, by which TRex knows which program to answer with.
const FIRST_PORT: u16 = 1_024;
/// Most templates.
pub const MOST_TEMPLATES: usize = (u16::MAX - FIRST_PORT) as usize + 1;
/// The largest buffer that one command sends.
const LARGEST_BUFFER: u64 = 1 << 30;
/// The longest delay of one command, in microseconds: some half an hour.
const LONGEST_DELAY: u64 = 1 << 31;
/// The largest segments that TRex takes.
const MSS: std::ops::RangeInclusive<u16> = 10..=9_216;
/// The receive buffers that TRex takes.
const WINDOWS: std::ops::RangeInclusive<u64> = 8_192..=1 << 30;

/// What an end does next. Serialized as TRex reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "name")]
pub enum Command {
    /// Wait until the connection is there.
    #[serde(rename = "connect")]
    Connect,
    /// Do not wait for the acknowledgement of what was sent.
    #[serde(rename = "tx_mode")]
    SendMode {
        /// 1.
        flags: u8,
    },
    /// Send a buffer.
    #[serde(rename = "tx")]
    Send {
        /// Which, in the list of buffers.
        buf_index: usize,
    },
    /// Wait until so much has come.
    #[serde(rename = "rx")]
    Receive {
        /// Bytes since the beginning of the connection.
        min_bytes: u64,
    },
    /// Wait.
    #[serde(rename = "delay")]
    Delay {
        /// How long, in microseconds.
        usec: u64,
    },
    /// Send a reset.
    #[serde(rename = "reset")]
    Reset,
    /// Close when the other end has.
    #[serde(rename = "nc")]
    AfterPeer,
}

/// The parameters of an end's TCP, where they are known and TRex takes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Tcp {
    #[serde(skip_serializing_if = "Option::is_none")]
    mss: Option<u16>,
    #[serde(rename = "rxbufsize", skip_serializing_if = "Option::is_none")]
    window: Option<u64>,
}

/// What connections of one template have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Template {
    programs: [usize; 2],
    tcp: [Tcp; 2],
}

/// There are more different connections than TRex has ports for servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there are more than {MOST_TEMPLATES} different connections, and TRex tells them apart by the ports of servers"
)]
pub struct TooManyTemplates;

/// Writes a profile. Programs are held until it is complete.
pub struct AstfWriter<W> {
    out: W,
    /// Connections start within.
    duration: Duration,
    /// Sizes of buffers, with their places.
    buffers: BTreeMap<u64, usize>,
    programs: BTreeMap<Vec<Command>, usize>,
    /// How many connections each has, by the first of them.
    templates: BTreeMap<Template, (usize, u64)>,
    notes: Notes,
}

impl<W: Write> AstfWriter<W> {
    /// Starts a profile of connections that start within `duration`.
    pub fn new(out: W, duration: Duration) -> AstfWriter<W> {
        let (buffers, programs, templates) = Default::default();
        AstfWriter { out, duration, buffers, programs, templates, notes: Notes::default() }
    }

    /// Adds a vector. Datagrams, and connections without data, are left out, and the notes say so.
    ///
    /// # Errors
    /// If there are more than [`MOST_TEMPLATES`] different connections.
    pub fn write(&mut self, vector: &ConnectionVector) -> Result<(), TooManyTemplates> {
        if let Some(reason) = Remark::for_leaving_out(vector) {
            self.notes.remark(reason, 0);
            return Ok(());
        }
        let script = Script::new(vector, &ReplayModel::with_waits(Waits::CORRECTED));
        let programs = Side::BOTH.map(|side| {
            let program = program(&script, side, &mut self.buffers);
            let next = self.programs.len();
            *self.programs.entry(program).or_insert(next)
        });
        let tcp = Side::BOTH.map(|side| Tcp {
            mss: vector.ends[side].mss.map(|mss| mss.clamp(*MSS.start(), *MSS.end())),
            window: vector.window(side).map(|window| window.clamp(*WINDOWS.start(), *WINDOWS.end())),
        });
        let known = self.templates.len();
        match self.templates.entry(Template { programs, tcp }) {
            Entry::Occupied(mut template) => template.get_mut().1 += 1,
            Entry::Vacant(_) if known == MOST_TEMPLATES => return Err(TooManyTemplates),
            Entry::Vacant(template) => _ = template.insert((known, 1)),
        }
        if script.has_half_close() {
            self.notes.remark(Remark::HalfCloseDropped, 0);
        }
        self.notes.without_places(vector);
        self.notes.vectors += 1;
        Ok(())
    }

    /// Writes the profile.
    ///
    /// # Errors
    /// `out`'s.
    pub fn finish(mut self) -> io::Result<(W, Notes)> {
        let seconds = self.duration.as_secs_f64().max(1e-3);
        let buffer = |size: &u64| match size {
            1 => json!(BYTE),
            size => json!({ "base": BYTE, "size": size, "fill": BYTE }),
        };
        let template = |(template, connections): (&Template, u64), port: u16| {
            let [client, server] = template.programs;
            let [of_client, of_server] = template.tcp.map(|tcp| json!({ "tcp": tcp }));
            json!({
                "client_template": {
                    "program_index": client,
                    "ip_gen": { "dist_client": { "index": 0 }, "dist_server": { "index": 1 } },
                    "cluster": {},
                    "port": port,
                    "cps": connections as f64 / seconds,
                    "limit": connections,
                    "glob_info": of_client,
                },
                "server_template": { "program_index": server, "assoc": [{ "port": port }], "glob_info": of_server },
            })
        };
        let addresses = |direction: &str, net: u8| {
            json!({
                "ip_start": format!("{net}.0.0.1"), "ip_end": format!("{net}.0.15.254"), "distribution": "seq",
                "dir": direction, "ip_offset": "1.0.0.0",
            })
        };
        writeln!(self.out, "{{\"ip_gen_dist_list\": [\n{},\n{}\n],", addresses("c", 16), addresses("s", 48))?;
        let in_order = |places: Vec<(usize, serde_json::Value)>| -> Vec<String> {
            let places: BTreeMap<usize, serde_json::Value> = places.into_iter().collect();
            places.into_values().map(|value| value.to_string()).collect()
        };
        let buffers = in_order(self.buffers.iter().map(|(size, place)| (*place, buffer(size))).collect());
        let programs = self.programs.iter().map(|(program, place)| (*place, json!({ "commands": program }))).collect();
        let templates = self
            .templates
            .iter()
            .map(|(it, (place, connections))| (*place, template((it, *connections), FIRST_PORT + *place as u16)));
        writeln!(self.out, "\"buf_list\": [\n{}\n],", buffers.join(",\n"))?;
        writeln!(self.out, "\"program_list\": [\n{}\n],", in_order(programs).join(",\n"))?;
        writeln!(self.out, "\"templates\": [\n{}\n],\n\"tg_names\": []}}", in_order(templates.collect()).join(",\n"))?;
        self.out.flush()?;
        Ok((self.out, self.notes))
    }
}

/// A blank in base 64: what is sent does not matter.
const BYTE: &str = "IA==";

/// What `side` does in `script`; sizes it sends get places in `buffers`.
///
/// Delays begin where the script's waits do: after what the other end sent has come, or after the end's own last data was handed to
/// TCP.
pub(super) fn program(script: &Script, side: Side, buffers: &mut BTreeMap<u64, usize>) -> Vec<Command> {
    let mut commands = Vec::new();
    let sequential = script.pattern() == Pattern::Sequential;
    let mut sent = 0;
    // What the other end has sent by now, and what was waited for.
    let (mut due, mut received) = (0, 0);
    let mut is_first = true;
    let mut follows_own = false;
    for step in script.steps() {
        if step.side != side {
            due = step.end;
            continue;
        }
        if sequential && due > received {
            received = due;
            commands.push(Command::Receive { min_bytes: due });
        } else if is_first && (side == Side::Acceptor || step.wait > Duration::ZERO) {
            commands.push(Command::Connect);
        } else {
            follows_own |= !is_first;
        }
        is_first = false;
        delay(step.wait, &mut commands);
        let mut left = step.end - sent;
        while left > 0 {
            let size = left.min(LARGEST_BUFFER);
            left -= size;
            let next = buffers.len();
            commands.push(Command::Send { buf_index: *buffers.entry(size).or_insert(next) });
        }
        sent = step.end;
    }
    if follows_own {
        commands.insert(0, Command::SendMode { flags: 1 });
    }
    let all = script.total(side.other());
    if all > received {
        commands.push(Command::Receive { min_bytes: all });
    }
    match script.close() {
        Close::Fin(closer) | Close::Rst(closer) if closer == side => {
            delay(script.close_wait(), &mut commands);
            if script.close() == Close::Rst(side) {
                commands.push(Command::Reset);
            }
        }
        // Somebody has to: who opened it.
        Close::NotSeen if side == Side::Initiator => {}
        _ => commands.push(Command::AfterPeer),
    }
    commands
}

fn delay(wait: Duration, commands: &mut Vec<Command>) {
    let mut left = micros(wait);
    while left > 0 {
        let usec = left.min(LONGEST_DELAY);
        left -= usec;
        commands.push(Command::Delay { usec });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use flowloom_core::time::Time;
    use flowloom_core::workload::{Adu, Endpoint, Evidence, PerSide};
    use proptest::prelude::*;

    use super::*;

    /// Plays both programs against each other without a network: what each end sent, when, in microseconds since the beginning.
    fn play(programs: [&[Command]; 2], sizes: &[u64]) -> PerSide<Vec<(u64, u64)>> {
        let mut sent = [Vec::new(), Vec::new()];
        let mut left = programs.map(|commands| commands.iter().collect::<VecDeque<_>>());
        let mut now = [0u64; 2];
        // When the n-th byte of either end was there.
        let arrival = |sent: &[(u64, u64)], wanted: u64| {
            let mut total = 0;
            sent.iter()
                .find(|(_, bytes)| {
                    total += bytes;
                    total >= wanted
                })
                .map(|(at, _)| *at)
        };
        loop {
            let before = left.each_ref().map(VecDeque::len);
            for end in 0..2 {
                while let Some(command) = left[end].front() {
                    match command {
                        Command::Send { buf_index } => sent[end].push((now[end], sizes[*buf_index])),
                        Command::Delay { usec } => now[end] += usec,
                        Command::Receive { min_bytes } => match arrival(&sent[1 - end], *min_bytes) {
                            Some(at) => now[end] = now[end].max(at),
                            None => break,
                        },
                        Command::AfterPeer if !left[1 - end].is_empty() => break,
                        Command::Connect | Command::SendMode { .. } | Command::Reset | Command::AfterPeer => {}
                    }
                    left[end].pop_front();
                }
            }
            if left.each_ref().map(VecDeque::len) == before {
                break;
            }
        }
        assert!(left.iter().all(VecDeque::is_empty), "both programs end: {left:?}");
        let [initiator, acceptor] = sent;
        PerSide { initiator, acceptor }
    }

    fn vector(adus: Vec<(bool, u64, u64)>, pattern: Pattern, close: Close) -> ConnectionVector {
        let adu = |(by_acceptor, bytes, wait_us)| {
            let side = if by_acceptor { Side::Acceptor } else { Side::Initiator };
            let wait = Some(Duration::from_micros(wait_us));
            Adu { side, bytes, missing_bytes: 0, wait, waiter: side, seen: None, packets: None }
        };
        let end = Endpoint { mss: Some(1460), max_window: Some(1 << 40), ..Endpoint::default() };
        ConnectionVector {
            start: Time::ZERO,
            evidence: Evidence::Model,
            pattern,
            close,
            complete: true,
            t_close: Some(Duration::from_micros(77)),
            adus: adus.into_iter().map(adu).collect(),
            ends: PerSide { initiator: end, acceptor: end },
            ..ConnectionVector::default()
        }
    }

    fn written(vectors: &[ConnectionVector]) -> (serde_json::Value, Notes) {
        let mut writer = AstfWriter::new(Vec::new(), Duration::from_secs(10));
        vectors.iter().for_each(|vector| writer.write(vector).unwrap());
        let (text, notes) = writer.finish().unwrap();
        (serde_json::from_slice(&text).unwrap(), notes)
    }

    #[test]
    fn a_request_a_think_time_and_a_response() {
        let exchange = vector(
            vec![(false, 300, 5_000), (true, 9_000, 250), (false, 300, 0), (true, 1, 0)],
            Pattern::Sequential,
            Close::Fin(Side::Acceptor),
        );
        let (profile, notes) = written(&[exchange.clone(), exchange]);
        assert_eq!(notes.vectors, 2);
        let client = &profile["templates"][0]["client_template"];
        assert_eq!((&client["cps"], &client["limit"], &client["port"]), (&json!(0.2), &json!(2), &json!(1_024)));
        assert_eq!(client["glob_info"], json!({ "tcp": { "mss": 1_460, "rxbufsize": 1u64 << 30 } }));
        assert_eq!(profile["templates"].as_array().unwrap().len(), 1, "equal connections are one template");
        let commands = |program: usize| profile["program_list"][program]["commands"].clone();
        assert_eq!(
            commands(0),
            json!([
                { "name": "tx", "buf_index": 0 }, { "name": "rx", "min_bytes": 9_000 }, { "name": "delay", "usec": 250 },
                { "name": "tx", "buf_index": 0 }, { "name": "rx", "min_bytes": 9_001 }, { "name": "nc" },
            ])
        );
        assert_eq!(
            commands(1),
            json!([
                { "name": "rx", "min_bytes": 300 }, { "name": "delay", "usec": 5_000 }, { "name": "tx", "buf_index": 1 },
                { "name": "rx", "min_bytes": 600 }, { "name": "tx", "buf_index": 2 }, { "name": "delay", "usec": 77 },
            ])
        );
        assert_eq!(
            profile["buf_list"],
            json!([
                { "base": "IA==", "size": 300, "fill": "IA==" }, { "base": "IA==", "size": 9_000, "fill": "IA==" }, "IA=="
            ])
        );
    }

    #[test]
    fn what_has_no_place_is_told() {
        let datagrams =
            ConnectionVector { protocol: flowloom_core::workload::Protocol::Udp, ..ConnectionVector::default() };
        let (profile, notes) = written(&[datagrams, ConnectionVector::default()]);
        assert_eq!(profile["templates"], json!([]));
        assert_eq!((notes.count(Remark::DatagramsLeftOut), notes.count(Remark::EmptyLeftOut)), (1, 1));
    }

    #[test]
    fn more_templates_than_ports_are_refused() {
        let mut writer = AstfWriter::new(Vec::new(), Duration::from_secs(10));
        let of = |bytes| vector(vec![(false, bytes, 0)], Pattern::Sequential, Close::NotSeen);
        (1..=MOST_TEMPLATES as u64).for_each(|bytes| writer.write(&of(bytes)).unwrap());
        writer.write(&of(1)).unwrap();
        assert_eq!(writer.write(&of(1 << 20)), Err(TooManyTemplates));
        let (_, notes) = writer.finish().unwrap();
        assert_eq!(notes.vectors, MOST_TEMPLATES as u64 + 1);
    }

    proptest! {
        /// Both programs end, and send what the script says, at the times at which it has it without a network.
        #[test]
        fn programs_do_what_the_script_says(
            adus in prop::collection::vec((any::<bool>(), 1u64..3 << 30, 0u64..10_000_000), 1..12),
            concurrent in any::<bool>(),
            close in prop::sample::select(vec![Close::NotSeen, Close::Fin(Side::Initiator), Close::Rst(Side::Acceptor)]),
        ) {
            let pattern = if concurrent { Pattern::Concurrent } else { Pattern::Sequential };
            let vector = vector(adus, pattern, close);
            let script = Script::new(&vector, &ReplayModel::with_waits(Waits::CORRECTED));
            let mut buffers = BTreeMap::new();
            let [client, server] = Side::BOTH.map(|side| program(&script, side, &mut buffers));
            let mut sizes = vec![0; buffers.len()];
            buffers.into_iter().for_each(|(size, place)| sizes[place] = size);
            let sent = play([&client, &server], &sizes);
            let (mut clock, mut own) = (0, PerSide::<u64>::default());
            let mut wanted = PerSide::<BTreeMap<u64, u64>>::default();
            for (index, step) in script.steps().iter().enumerate() {
                let clock = if concurrent { &mut own[step.side] } else { &mut clock };
                *clock += micros(step.wait);
                *wanted[step.side].entry(*clock).or_default() += step.end - script.start_of(index);
            }
            for side in Side::BOTH {
                let mut found = BTreeMap::<u64, u64>::new();
                sent[side].iter().for_each(|(at, bytes)| *found.entry(*at).or_default() += bytes);
                prop_assert_eq!(&found, &wanted[side]);
            }
        }
    }
}
