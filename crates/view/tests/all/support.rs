//! A server over folders of a test, and requests as bytes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

pub use flowloom_testkit::monitor::{MINUTE, START};

use flowloom_testkit::monitor::Store;
use flowloom_testkit::reports::MadeUp;
use flowloom_view::{Server, ViewOptions};
use serde_json::Value;

/// A name that would be a script if it were HTML.
pub const SCRIPT: &str = "<img src=x onerror=alert(1)>";

/// Folders with a monitor, a run and notes.
pub struct Place {
    pub folder: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        monitor(&folder.path().join("shown/counters"));
        let mut made = MadeUp { connections: 40, seconds: 20, ..MadeUp::default() };
        made.facts.title = SCRIPT.to_owned();
        made.write(&folder.path().join("shown/runs/office"));
        made.slower = 1.5;
        made.write(&folder.path().join("shown/runs/slower"));
        let notes = "[[note]]\nrun = \"runs/slower\"\ntext = \"the slow one\"\ntags = [\"slow\"]\n\
                     [[note]]\nfrom = \"2024-10-04T00:10\"\nto = \"2024-10-04T00:20\"\ntext = \"<b>new fibre</b>\"\n";
        std::fs::write(folder.path().join("shown/notes.toml"), notes).unwrap();
        std::fs::write(folder.path().join("secret"), "a secret").unwrap();
        Place { folder }
    }

    pub fn options(&self) -> ViewOptions {
        let folders = vec![self.folder.path().join("shown")];
        ViewOptions { folders, listen: "127.0.0.1:0".parse().unwrap(), hosts: Vec::new(), token: None }
    }

    pub fn serve(&self) -> Server {
        Server::start(&self.options()).unwrap()
    }
}

/// An hour of a port whose name is a script: 1,000 octets a second, and 50,000 in minute 20.
fn monitor(root: &Path) {
    let mut store = Store::create(root, START);
    let id = store.series("core", SCRIPT, "in");
    for minute in 1..=60 {
        let amount = if minute == 20 { 50_000 } else { 1_000 } * 60;
        store.samples(START + minute * MINUTE, MINUTE, &[(id, amount)]);
    }
}

/// What a server answered.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Response {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The value of a header, empty if it is not there.
    pub fn header(&self, name: &str) -> &str {
        let is_it = |line: &&str| line.to_ascii_lowercase().starts_with(&format!("{name}:"));
        self.head.lines().find(is_it).map_or("", |line| line[name.len() + 1..].trim())
    }
}

/// Sends bytes and reads to the end of the connection.
pub fn send(address: SocketAddr, bytes: &[u8]) -> Response {
    let mut stream = TcpStream::connect(address).unwrap();
    // A server that refuses early may close before all is written.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let text = String::from_utf8_lossy(&answer);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Response { status, head: head.to_owned(), body: body.to_owned() }
}

/// Asks as a browser would, with further headers.
pub fn get_with(address: SocketAddr, target: &str, headers: &[(&str, &str)]) -> Response {
    let mut request = format!("GET {target} HTTP/1.1\r\nconnection: close\r\n");
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        request += &format!("host: {address}\r\n");
    }
    for (name, value) in headers {
        request += &format!("{name}: {value}\r\n");
    }
    send(address, (request + "\r\n").as_bytes())
}

pub fn get(address: SocketAddr, target: &str) -> Response {
    get_with(address, target, &[])
}
