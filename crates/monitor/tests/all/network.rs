//! A namespace with a wire, and real agents in it.

use std::fs;
use std::io::Read;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use flowloom_needs::{Need, skip};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};

const SNMPD: Need = Need::new("snmpd", "apt-get install snmpd");

/// Puts the calling thread, and all that it starts, into a namespace with `wire0` and `wire1`, the two ends of a wire: what is sent to
/// 10.9.0.2 leaves by the one and arrives at the other. False, and a skip of `check`, where the host lacks something.
pub fn enter(check: &str) -> bool {
    if !geteuid().is_root() {
        skip(check, Need::ROOT);
        return false;
    }
    for (program, need) in [("ip", Need::IP), ("snmpd", SNMPD)] {
        let found = std::env::var_os("PATH").is_some_and(|path| {
            std::env::split_paths(&path).chain(["/usr/sbin".into()]).any(|folder| folder.join(program).exists())
        });
        if !found {
            skip(check, need);
            return false;
        }
    }
    if unshare(CloneFlags::CLONE_NEWNET).is_err() {
        skip(check, Need::ROOT);
        return false;
    }
    let _ = fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
    ip("link set lo up");
    wire("wire0", "wire1");
    ip("addr add 10.9.0.1/24 dev wire0");
    ip("neigh add 10.9.0.2 lladdr 02:00:00:00:00:02 dev wire0 nud permanent");
    true
}

/// A wire between two new devices, on which nothing is sent by itself.
pub fn wire(one: &str, other: &str) {
    ip(&format!("link add {one} type veth peer name {other}"));
    for device in [one, other] {
        ip(&format!("link set {device} addrgenmode none"));
        ip(&format!("link set {device} multicast off arp off up"));
    }
}

/// Runs `ip`.
pub fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Sends a datagram of so many bytes on the wire, headers included.
pub fn send(socket: &UdpSocket, bytes: usize) {
    socket.send_to(&vec![0; bytes - 42], "10.9.0.2:9").unwrap();
}

/// An agent of net-snmp, which ends when it is dropped.
pub struct Snmpd {
    child: Child,
    folder: PathBuf,
    port: u16,
}

pub const COMMUNITY: &str = "c0mmun1ty";
pub const AUTHENTICATION: &str = "authentic8";
pub const PRIVACY: &str = "pr1vate-k3y";

impl Snmpd {
    /// Starts one at a port of 127.0.0.1. The file `count` in `folder` is the value of its counter 1.3.6.1.4.1.8072.9999.1.1.0.
    pub fn start(folder: &Path, port: u16) -> Snmpd {
        let folder = folder.join(port.to_string());
        fs::create_dir_all(&folder).unwrap();
        let base = ".1.3.6.1.4.1.8072.9999.1";
        // The protocol of pass_persist: what `pass` runs is asked only once in half a minute.
        let script = format!(
            "while read asked; do\ncase $asked in\nPING) echo PONG ;;\nget|getnext)\nread name\ncase \"$asked $name\" in\n\
             \"get {base}.1.0\"|\"getnext {base}\"|\"getnext {base}.1\") echo {base}.1.0; echo counter; cat {} ;;\n\
             *) echo NONE ;;\nesac ;;\nesac\ndone\n",
            folder.join("count").display()
        );
        fs::write(folder.join("pass"), script).unwrap();
        fs::write(folder.join("count"), "4294960000\n").unwrap();
        // Interfaces are looked at every second instead of every third.
        let configuration = format!(
            "agentaddress udp:127.0.0.1:{port}\nrocommunity {COMMUNITY}\nrwcommunity {COMMUNITY}-w\n\
             createUser watcher SHA-256 \"{AUTHENTICATION}\" AES \"{PRIVACY}\"\nrouser watcher priv\n\
             pass_persist {base} /bin/sh {}\n",
            folder.join("pass").display()
        );
        fs::write(folder.join("snmpd.conf"), configuration).unwrap();
        Snmpd { child: spawn(&folder), folder, port }
    }

    /// Where it answers.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Sets the value of its counter.
    pub fn count(&self, value: &str) {
        fs::write(self.folder.join("count.new"), value).unwrap();
        fs::rename(self.folder.join("count.new"), self.folder.join("count")).unwrap();
    }

    /// Holds it, or lets it go on.
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
    }

    /// Ends it and starts it again.
    pub fn restart(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.child = spawn(&self.folder);
    }
}

fn spawn(folder: &Path) -> Child {
    let log = folder.join("log");
    Command::new("snmpd")
        .args(["-f", "-r", "-C", "-Lf"])
        .arg(&log)
        .arg("-c")
        .arg(folder.join("snmpd.conf"))
        .env("MIBS", "")
        .env("SNMP_PERSISTENT_DIR", folder.join("state"))
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

impl Drop for Snmpd {
    fn drop(&mut self) {
        self.signal(Signal::SIGCONT);
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let mut log = String::new();
            let _ = fs::File::open(self.folder.join("log")).and_then(|mut file| file.read_to_string(&mut log));
            eprintln!("snmpd at port {}: {log}", self.port);
        }
    }
}

/// Interfaces are looked at anew after a second, where the agent waits for three: nsCacheTimeout of ifTable, set by its own protocol.
pub fn look_every_second(agent: &Snmpd) {
    // SetRequest with the community that may write, of 1.3.6.1.4.1.8072.1.5.3.1.2.1.3.6.1.2.1.2.2 to 1.
    let oid = flowloom_monitor::snmp::oid::Oid::new(&[1, 3, 6, 1, 4, 1, 8072, 1, 5, 3, 1, 2, 1, 3, 6, 1, 2, 1, 2, 2]);
    let tag = |kind: u8, contents: &[u8]| [&[kind, contents.len() as u8][..], contents].concat();
    let binding = tag(0x30, &[tag(6, oid.unwrap().wire()), tag(2, &[1])].concat());
    let request = [tag(2, &[1]), tag(2, &[0]), tag(2, &[0]), tag(0x30, &binding)].concat();
    let community = format!("{COMMUNITY}-w");
    let message = tag(0x30, &[tag(2, &[1]), tag(4, community.as_bytes()), tag(0xa3, &request)].concat());
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(std::time::Duration::from_millis(200))).unwrap();
    for _ in 0..25 {
        socket.send_to(&message, agent.address()).unwrap();
        if socket.recv(&mut [0; 1_500]).is_ok() {
            return;
        }
    }
    panic!("snmpd at {} does not answer", agent.address());
}
