//! An agent of version 2c that answers from a table made for the test, also with what no real agent would say.

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A value of an answer.
#[derive(Clone, Debug)]
pub enum Value {
    Text(String),
    Ticks(u32),
    Count32(u32),
    Count64(u64),
    Gauge(u32),
    /// Bytes as they are on the wire.
    Raw(Vec<u8>),
}

/// Objects by identifier, in the order in which the agent names them.
pub type Objects = BTreeMap<Vec<u32>, Value>;

/// What an agent does with a question.
pub trait Answers: Send + 'static {
    /// The value of an object.
    fn get(&mut self, name: &[u32]) -> Option<Value>;
    /// The object behind `name`.
    fn next(&mut self, name: &[u32]) -> Option<(Vec<u32>, Value)>;
    /// Whether a question for these objects, or its answer, is lost on the way.
    fn is_lost(&mut self, _names: &[Vec<u32>]) -> bool {
        false
    }
    /// The error of a question for these objects; 0 if there is none.
    fn refuses(&mut self, _names: &[Vec<u32>]) -> u8 {
        0
    }
}

impl Answers for Arc<Mutex<Objects>> {
    fn get(&mut self, name: &[u32]) -> Option<Value> {
        self.lock().unwrap().get(name).cloned()
    }

    fn next(&mut self, name: &[u32]) -> Option<(Vec<u32>, Value)> {
        let objects = self.lock().unwrap();
        let behind = (std::ops::Bound::Excluded(name.to_vec()), std::ops::Bound::Unbounded);
        objects.range(behind).next().map(|(name, value)| (name.clone(), value.clone()))
    }
}

/// An agent that answers until it is dropped.
pub struct Responder {
    pub address: SocketAddr,
    end: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Responder {
    /// One that answers the community `public` with at most `most` values at once.
    pub fn start(answers: impl Answers, most: usize) -> Responder {
        Responder::with_copies(answers, most, 1)
    }

    /// The same, that sends each answer so many times.
    pub fn with_copies(mut answers: impl Answers, most: usize, copies: usize) -> Responder {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let address = socket.local_addr().unwrap();
        let end = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&end);
        let thread = thread::spawn(move || {
            let mut packet = vec![0; 65_536];
            while !ended.load(Ordering::Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut packet) else { continue };
                if let Some(answer) = answer(&packet[..length], &mut answers, most) {
                    for _ in 0..copies {
                        let _ = socket.send_to(&answer, from);
                    }
                }
            }
        });
        Responder { address, end, thread: Some(thread) }
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        let _ = self.thread.take().unwrap().join();
    }
}

const INTEGER: u8 = 2;
const TEXT: u8 = 4;
const OBJECT: u8 = 6;
const SEQUENCE: u8 = 0x30;
const GET: u8 = 0xa0;
const RESPONSE: u8 = 0xa2;
const BULK: u8 = 0xa5;

/// The kind and the contents of the first value in `bytes`, which are taken off.
fn pull<'a>(bytes: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let (kind, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..0x80 => (usize::from(*first), rest),
        _ => {
            let (long, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (long.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
    };
    let (contents, behind) = rest.split_at_checked(length)?;
    *bytes = behind;
    Some((*kind, contents))
}

fn number(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

fn push(kind: u8, contents: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    match contents.len() {
        length @ 0..0x80 => bytes.push(length as u8),
        length => bytes.extend([0x82, (length >> 8) as u8, length as u8]),
    }
    bytes.extend(contents);
    bytes
}

fn unsigned(kind: u8, value: u64) -> Vec<u8> {
    let bytes = [&[0][..], &value.to_be_bytes()].concat();
    let start = (0..8).find(|at| bytes[*at] != 0 || bytes[at + 1] & 0x80 != 0).unwrap_or(8);
    push(kind, &bytes[start..])
}

fn name_of(wire: &[u8]) -> Vec<u32> {
    let mut arcs = vec![u32::from(wire[0]) / 40, u32::from(wire[0]) % 40];
    let mut arc = 0;
    for byte in &wire[1..] {
        arc = arc << 7 | u32::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            arcs.push(arc);
            arc = 0;
        }
    }
    arcs
}

fn binding(name: &[u32], value: Option<&Value>, missing: u8) -> Vec<u8> {
    let oid: flowloom_monitor::snmp::oid::Oid = flowloom_monitor::snmp::oid::Oid::new(name).expect("a name");
    let value = match value {
        None => vec![missing, 0],
        Some(Value::Text(text)) => push(TEXT, text.as_bytes()),
        Some(Value::Ticks(ticks)) => unsigned(0x43, (*ticks).into()),
        Some(Value::Count32(count)) => unsigned(0x41, (*count).into()),
        Some(Value::Count64(count)) => unsigned(0x46, *count),
        Some(Value::Gauge(value)) => unsigned(0x42, (*value).into()),
        Some(Value::Raw(bytes)) => bytes.clone(),
    };
    push(SEQUENCE, &[push(OBJECT, oid.wire()), value].concat())
}

/// RFC 3416, 4.2.1 and 4.2.3.
fn answer(packet: &[u8], answers: &mut impl Answers, most: usize) -> Option<Vec<u8>> {
    let mut message = pull(&mut &*packet)?.1;
    let version = pull(&mut message)?.1;
    let community = pull(&mut message)?.1;
    if community != b"public" {
        return None;
    }
    let (kind, mut question) = pull(&mut message)?;
    let request = pull(&mut question)?.1;
    pull(&mut question)?;
    let repetitions = number(pull(&mut question)?.1);
    let mut bindings = pull(&mut question)?.1;
    let mut names = Vec::new();
    while let Some((_, mut binding)) = pull(&mut bindings) {
        names.push(name_of(pull(&mut binding)?.1));
    }
    if answers.is_lost(&names) {
        return None;
    }
    let mut found: Vec<Vec<u8>> = Vec::new();
    let error = if kind == GET { answers.refuses(&names) } else { 0 };
    match kind {
        GET if error != 0 => found.extend(names.iter().map(|name| binding(name, None, 5))),
        GET => found.extend(names.iter().map(|name| binding(name, answers.get(name).as_ref(), 0x81))),
        BULK => {
            'rows: for _ in 0..repetitions {
                for name in &mut names {
                    if found.len() >= most {
                        break 'rows;
                    }
                    let next = answers.next(name);
                    match next {
                        Some((next, value)) => {
                            found.push(binding(&next, Some(&value), 0));
                            *name = next;
                        }
                        None => found.push(binding(name, None, 0x82)),
                    }
                }
            }
        }
        _ => return None,
    }
    let zero = || push(INTEGER, &[0]);
    let answer = [push(INTEGER, request), push(INTEGER, &[error]), zero(), push(SEQUENCE, &found.concat())].concat();
    let message = [push(INTEGER, version), push(TEXT, community), push(RESPONSE, &answer)].concat();
    Some(push(SEQUENCE, &message))
}

/// The objects of a switch with these many ports, all of which have counted `count` octets after `uptime` seconds.
pub fn switch(ports: u32, uptime: u32, count: u64) -> Objects {
    let mut objects = Objects::new();
    objects.insert(vec![1, 3, 6, 1, 2, 1, 1, 3, 0], Value::Ticks(uptime * 100));
    for port in 1..=ports {
        let wide = |column| vec![1, 3, 6, 1, 2, 1, 31, 1, 1, 1, column, port];
        let narrow = |column| vec![1, 3, 6, 1, 2, 1, 2, 2, 1, column, port];
        objects.insert(wide(1), Value::Text(format!("ge-0/0/{port}")));
        objects.insert(narrow(2), Value::Text(format!("Gigabit {port}")));
        for column in [6, 7, 8, 9, 10, 11, 12, 13] {
            objects.insert(wide(column), Value::Count64(count));
        }
        for column in [10, 13, 14, 16, 19, 20] {
            objects.insert(narrow(column), Value::Count32(count as u32));
        }
        objects.insert(wide(15), Value::Gauge(1_000));
        objects.insert(wide(18), Value::Text("to somewhere".to_owned()));
        objects.insert(wide(19), Value::Ticks(0));
        objects.insert(narrow(5), Value::Gauge(1_000_000_000));
        objects.insert(narrow(8), Value::Gauge(1));
    }
    objects
}
