#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes the bundled capture: real programs, talking across a link that this script delays and watches.

    client namespaces (left) -- TUN -- relay: delay, loss, MONITOR, delay, loss -- TUN -- server namespace (right)

Every client has a network namespace, a round-trip time and loss rates of its own (CLIENTS). The relay is a user-space
process that moves each IP packet from one TUN device to the other: it holds it for the one-way delay of the first half
of the path, notes its headers at the monitor point, and holds it for the second half. What it notes is the capture:
Ethernet, IP and TCP headers and no payload, in a nanosecond pcap, stamped with the exact time at which the packet
passed the monitor point. Packets of the left side carry LEFT_MAC as source, those of the right side RIGHT_MAC.

Traffic stays inside namespaces that this script makes and removes. It needs root, Python 3.11 and the Debian packages
that `REQUIRED` names; whatever is missing it says in one line.
"""

import argparse
import collections
import dataclasses
import fcntl
import gc
import gzip
import heapq
import http.server
import json
import math
import os
import pty
import random
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import tty
import urllib.parse
from pathlib import Path

PREFIX = "fldemo"
SERVER_NAMESPACE = f"{PREFIX}-servers"
SERVER_SUBNET = "10.77.2"
WEB, FILES, SHELL, DATABASE = (f"{SERVER_SUBNET}.{host}" for host in (10, 20, 30, 40))
APPLICATIONS = {  # by server address and port; FTP's data connections use any other port of FILES
    (WEB, 80): "HTTP/1.1",
    (WEB, 443): "HTTP/2 over TLS",
    (FILES, 21): "FTP control",
    (FILES, 873): "rsync",
    (SHELL, 22): "SSH (shell, scp)",
    (DATABASE, 5432): "PostgreSQL",
}
LEFT_MAC = bytes.fromhex("020000000001")
RIGHT_MAC = bytes.fromhex("020000000002")

REQUIRED = {  # program: Debian package
    "nginx": "nginx-light",
    "curl": "curl",
    "wget": "wget",
    "nghttp": "nghttp2-client",
    "h2load": "nghttp2-client",
    "vsftpd": "vsftpd",
    "rsync": "rsync",
    "sshd": "openssh-server",
    "ssh": "openssh-client",
    "scp": "openssh-client",
    "ssh-keygen": "openssh-client",
    "psql": "postgresql-client",
    "pgbench": "postgresql",
    "postgres": "postgresql",
    "initdb": "postgresql",
    "openssl": "openssl",
    "ip": "iproute2",
    "setpriv": "util-linux",
}


@dataclasses.dataclass(frozen=True)
class Client:
    """A client host and its path. Round-trip times in ms on either side of the monitor, loss per packet and direction."""

    left_rtt: float
    right_rtt: float
    left_loss: float
    right_loss: float


# Total round-trip times from 5 to 200 ms, about evenly spaced in their logarithm; the monitor's place differs.
CLIENTS = [
    Client(4.0, 1.0, 0.0000, 0.0000),
    Client(4.5, 1.6, 0.0030, 0.0015),
    Client(4.2, 3.2, 0.0000, 0.0030),
    Client(7.0, 1.9, 0.0060, 0.0030),
    Client(5.0, 5.9, 0.0015, 0.0015),
    Client(9.0, 4.2, 0.0090, 0.0015),
    Client(13.0, 3.0, 0.0030, 0.0000),
    Client(7.5, 12.0, 0.0045, 0.0045),
    Client(18.0, 5.6, 0.0000, 0.0015),
    Client(16.0, 12.7, 0.0120, 0.0030),
    Client(30.0, 4.8, 0.0030, 0.0060),
    Client(20.0, 22.3, 0.0015, 0.0000),
    Client(42.0, 9.3, 0.0060, 0.0030),
    Client(30.0, 32.3, 0.0030, 0.0030),
    Client(66.0, 9.6, 0.0090, 0.0030),
    Client(52.0, 39.8, 0.0015, 0.0015),
    Client(90.0, 21.0, 0.0060, 0.0030),
    Client(88.0, 47.0, 0.0030, 0.0060),
    Client(140.0, 25.0, 0.0045, 0.0015),
    Client(150.0, 50.0, 0.0060, 0.0030),
]


class Failure(Exception):
    """Something the caller can mend; its text says how."""


def client_namespace(client):
    return f"{PREFIX}-c{client + 1:02}"


def run(*argv, **options):
    """Runs a set-up command to its end; its own words become the failure's."""
    done = subprocess.run(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )
    if done.returncode != 0:
        raise Failure(f"`{' '.join(map(str, argv))}` failed: {done.stdout.strip()[-600:]}")
    return done.stdout


# ---------------------------------------------------------------------------------------------------------------------
# Namespaces

TUNSETIFF = 0x400454CA
IFF_TUN_NO_PI = 0x1001


def open_tun(name):
    """A TUN device in the caller's namespace. It offers no offload, so every packet in it has the size it has on a wire."""
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN_NO_PI))
    return fd


def make_namespace(namespace, tun, addresses):
    """Makes a namespace whose only way out is a TUN device, and returns the device's file descriptor."""
    run("ip", "netns", "add", namespace)
    fd = open_tun(tun)  # made here and moved: the descriptor keeps working
    run("ip", "link", "set", tun, "netns", namespace)
    inside = ("ip", "-n", namespace)
    run(*inside, "link", "set", "lo", "up")
    for address in addresses:
        run(*inside, "address", "add", f"{address}/32", "dev", tun)
    # A queue longer than any burst: the relay alone decides what is lost.
    run(*inside, "link", "set", tun, "mtu", "1500", "txqueuelen", "10000", "up")
    # What most hosts run, whatever this one is set to; as a route's attribute because the sysctl may be refused.
    run(*inside, "route", "add", "default", "dev", tun, "congctl", "cubic")
    return fd


def existing_namespaces():
    return [line.split()[0] for line in run("ip", "netns", "list").splitlines() if line.startswith(PREFIX)]


def remove_namespaces():
    """Ends every process inside this script's namespaces, and removes them. Errors are not fatal: the rest must still go."""
    for sent in (signal.SIGTERM, signal.SIGKILL):
        pids = set()
        for namespace in existing_namespaces():
            pids.update(
                subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True).stdout.split()
            )
        for pid in pids:
            try:
                os.kill(int(pid), sent)
            except ProcessLookupError:
                pass
        if pids:
            time.sleep(0.5)
    for namespace in existing_namespaces():
        subprocess.run(["ip", "netns", "delete", namespace], check=False)


def tun_drops(namespace, tun):
    """Packets the device's queue lost because the relay read too late."""
    stats = json.loads(run("ip", "-j", "-s", "-n", namespace, "link", "show", tun))
    return stats[0]["stats64"]["tx"]["dropped"]


# ---------------------------------------------------------------------------------------------------------------------
# Relay

AT_MONITOR, AT_FAR_END = 0, 1


class Relay:
    """Moves packets between the TUN devices with delay and loss, and keeps the headers of those that pass the monitor.

    All times are nanoseconds of the monotonic clock. A packet read at `t` is at the monitor at `t` plus the first
    half's delay, and due at the far end another half later, however late the process wakes; delays are constant per
    client and direction, so order is kept. A packet lost in the first half never reaches the monitor.
    """

    def __init__(self, client_tuns, server_tun, seed, begin, end):
        self.client_tuns = client_tuns
        self.server_tun = server_tun
        self.rng = random.Random(f"{seed}/loss")
        self.begin, self.end = begin, end
        self.wall_offset = time.time_ns() - time.monotonic_ns()
        self.index_of = {fd: index for index, fd in enumerate(client_tuns)}
        # Per client and direction (0 = from the left): (delay, loss) before and after the monitor.
        self.halves = []
        for client in CLIENTS:
            left = (int(client.left_rtt * 500_000), client.left_loss)
            right = (int(client.right_rtt * 500_000), client.right_loss)
            self.halves.append(((left, right), (right, left)))
        self.waiting = []
        self.sequence = 0
        self.records = []
        self.lateness = []
        self.lost = [0, 0]
        self.not_tcp = 0
        self.stopping = False

    def push(self, due, stage, client, direction, packet):
        self.sequence += 1  # equal times keep their order
        heapq.heappush(self.waiting, (due, self.sequence, stage, client, direction, packet))

    def read(self, fd):
        from_right = fd == self.server_tun
        for _ in range(256):
            try:
                packet = os.read(fd, 2048)
            except BlockingIOError:
                return
            now = time.monotonic_ns()
            if packet[0] >> 4 != 4 or packet[9] != 6:
                self.not_tcp += 1
                continue
            client = packet[19] - 1 if from_right else self.index_of[fd]
            delay, loss = self.halves[client][from_right][0]
            if self.rng.random() < loss:
                self.lost[0] += 1
            else:
                self.push(now + delay, AT_MONITOR, client, int(from_right), packet)

    def advance(self, now):
        waiting = self.waiting
        while waiting and waiting[0][0] <= now:
            due, _, stage, client, direction, packet = heapq.heappop(waiting)
            if stage == AT_MONITOR:
                if self.begin <= due < self.end:
                    self.note(due, direction, packet)
                delay, loss = self.halves[client][direction][1]
                if self.rng.random() < loss:
                    self.lost[1] += 1
                else:
                    self.push(due + delay, AT_FAR_END, client, direction, packet)
            else:
                try:
                    os.write(self.client_tuns[client] if direction else self.server_tun, packet)
                except OSError:
                    continue  # the namespace is being taken down
                if self.begin <= due < self.end:
                    self.lateness.append(time.monotonic_ns() - due)

    def note(self, due, direction, packet):
        ip_header = (packet[0] & 15) * 4
        headers = ip_header + (packet[ip_header + 12] >> 4) * 4
        macs = LEFT_MAC + RIGHT_MAC if direction else RIGHT_MAC + LEFT_MAC  # destination, source
        self.records.append((due, len(packet), macs + b"\x08\x00" + packet[:headers]))

    def run(self):
        parent = os.getppid()
        gc.disable()  # nothing here makes cycles, and a collection would be lateness
        descriptors = [*self.client_tuns, self.server_tun]
        while not self.stopping and os.getppid() == parent:
            now = time.monotonic_ns()
            timeout = min(0.1, max(0.0, (self.waiting[0][0] - now) / 1e9)) if self.waiting else 0.1
            readable, _, _ = select.select(descriptors, [], [], timeout)
            for fd in readable:
                self.read(fd)
            self.advance(time.monotonic_ns())

    def write(self, path):
        """Writes the capture: nanosecond pcap, link type Ethernet, gzip when the name says so."""
        opener = (lambda: gzip.GzipFile(path, "wb", 9, mtime=0)) if path.endswith(".gz") else (lambda: open(path, "wb"))
        with opener() as out:
            out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 256, 1))
            for due, ip_length, frame in self.records:
                seconds, nanoseconds = divmod(due + self.wall_offset, 1_000_000_000)
                out.write(struct.pack("<IIII", seconds, nanoseconds, len(frame), 14 + ip_length) + frame)

    def summary(self):
        """What the capture holds, from its own records."""
        lateness = sorted(self.lateness)
        connections, clients, resets, bytes_ = collections.Counter(), collections.Counter(), set(), 0
        seen = set()
        for _, ip_length, frame in self.records:
            source, destination = frame[26:30], frame[30:34]
            sport, dport = struct.unpack("!HH", frame[34:38])
            bytes_ += 14 + ip_length
            from_left = frame[6:12] == LEFT_MAC
            server, port = (destination, dport) if from_left else (source, sport)
            client, client_port = (source, sport) if from_left else (destination, dport)
            key = (server, port, client, client_port)
            if key not in seen:
                seen.add(key)
                address = ".".join(map(str, server))
                connections[APPLICATIONS.get((address, port), "FTP data" if address == FILES else "refused")] += 1
                clients[client[3] - 1] += 1
            if frame[47] & 4:
                resets.add(key)
        return {
            "packets": len(self.records),
            "wire_bytes": bytes_,
            "seconds": (self.end - self.begin) / 1e9,
            "connections": dict(connections),
            "connections_per_client": [clients[index] for index in range(len(CLIENTS))],
            "with_reset": len(resets),
            "lost_before_monitor": self.lost[0],
            "lost_after_monitor": self.lost[1],
            "not_tcp": self.not_tcp,
            "late_us": {
                name: lateness[min(len(lateness) - 1, int(q * len(lateness)))] / 1000 if lateness else None
                for name, q in (("p50", 0.5), ("p99", 0.99), ("p999", 0.999), ("max", 1.0))
            },
        }


def start_relay(relay, output):
    """Forks the relay off, so that nothing else this script does can hold it up. SIGTERM ends it and makes it write."""
    receive, send = os.pipe()
    pid = os.fork()
    if pid:
        os.close(send)
        return pid, receive
    status = 1
    try:
        os.close(receive)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: setattr(relay, "stopping", True))
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
        except OSError as error:
            print(f"relay runs without real-time priority ({error}): expect more lateness", file=sys.stderr)
        relay.run()
        if not relay.stopping:
            return  # the rest of the script is gone
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        relay.write(output)
        with os.fdopen(send, "w") as pipe:
            json.dump(relay.summary(), pipe)
        status = 0
    finally:
        os._exit(status)


def stop_relay(pid, receive):
    os.kill(pid, signal.SIGTERM)
    with os.fdopen(receive) as pipe:
        text = pipe.read()
    _, status = os.waitpid(pid, 0)
    if status != 0:
        raise Failure("the relay failed; its error is above")
    return json.loads(text)


# ---------------------------------------------------------------------------------------------------------------------
# Servers

SIZES_KB = [0.4, 0.7, 1, 1.4, 2, 3, 4, 5.5, 7.5, 10, 13, 17, 22, 30, 40, 55, 75, 100, 140, 200]  # of web objects
FILES_KB = [100, 150, 220, 320, 470, 700, 1000, 1500]  # of transferred files
SEGMENTS_KB = [60, 90, 120, 150]  # of video segments

NGINX = """
daemon off; user root; worker_processes 1; pid {dir}/nginx.pid; error_log {dir}/nginx.log error;
events {{ worker_connections 512; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_timeout 65; default_type application/octet-stream;
  client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy; fastcgi_temp_path {dir}/fastcgi;
  uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
  server {{
    listen {web}:80; listen {web}:443 ssl http2;
    ssl_certificate {dir}/tls.crt; ssl_certificate_key {dir}/tls.key;
    root {dir}/site;
    location /app/ {{ proxy_pass http://127.0.0.1:8080; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; }}
  }}
}}
"""
VSFTPD = """
listen=YES
background=NO
listen_address={files}
anonymous_enable=YES
no_anon_password=YES
local_enable=NO
write_enable=YES
anon_upload_enable=YES
anon_root={dir}/ftp
secure_chroot_dir={dir}/empty
seccomp_sandbox=NO
isolate_network=NO
xferlog_enable=NO
"""
RSYNCD = """
use chroot = no
reverse lookup = no
pid file = {dir}/rsyncd.pid
log file = {dir}/rsyncd.log
[pub]
path = {dir}/ftp/pub
[incoming]
path = {dir}/rsync-in
read only = no
uid = nobody
gid = nogroup
"""
SSHD = """
ListenAddress {shell}
HostKey {dir}/host_key
AuthorizedKeysFile {dir}/user_key.pub
PidFile {dir}/sshd.pid
PermitRootLogin prohibit-password
PasswordAuthentication no
StrictModes no
UsePAM no
UseDNS no
PrintMotd no
PrintLastLog no
Subsystem sftp internal-sftp
"""


class App(http.server.BaseHTTPRequestHandler):
    """The dynamic part of the web site: it thinks for `ms` milliseconds and answers `bytes` bytes, or pushes events."""

    protocol_version = "HTTP/1.1"
    wbufsize = 65536
    disable_nagle_algorithm = True

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = {key: float(value) for key, value in urllib.parse.parse_qsl(url.query)}
        if url.path == "/app/events":
            self.events(int(query["n"]), query["gap"])
        else:
            self.answer(query)

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(
            {key: float(value) for key, value in urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query)}
        )

    def answer(self, query):
        time.sleep(query["ms"] / 1000)
        body = b"x" * int(query["bytes"])
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def events(self, count, gap):
        rng = random.Random(self.path)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        for _ in range(count):
            time.sleep(rng.expovariate(1 / gap))
            event = b"data: " + b"x" * rng.randrange(40, 1200) + b"\n\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_):
        pass


def serve_app():
    """What `--serve-app` runs inside the server namespace, behind nginx."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 8080), App)
    server.daemon_threads = True
    server.serve_forever()


def find_program(name):
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        path += f":{folder}"
    return shutil.which(name, path=path)


def check_host():
    """Says in one line what is missing, and returns the path of every program."""
    if os.geteuid() != 0:
        raise Failure("needs root, for network namespaces and TUN devices: run it with sudo")
    if not os.path.exists("/dev/net/tun"):
        raise Failure("/dev/net/tun is missing: modprobe tun")
    programs = {name: find_program(name) for name in REQUIRED}
    missing = sorted({REQUIRED[name] for name, path in programs.items() if path is None})
    if missing:
        raise Failure("missing programs: apt-get install --no-install-recommends " + " ".join(missing))
    if left := existing_namespaces():
        raise Failure(
            f"namespaces of another or a killed run exist ({left[0]}, ...): let it end, or remove them with --clean"
        )
    return programs


class Servers:
    """Makes what the servers serve, starts them in their namespace and waits until each one listens."""

    def __init__(self, programs, work, seed):
        self.programs, self.work = programs, work
        self.rng = random.Random(f"{seed}/content")
        self.log = open(work / "servers.log", "ab")

    def spawn(self, *argv):
        # Each is ended through its namespace (remove_namespaces), whatever it has forked.
        subprocess.Popen(
            ["ip", "netns", "exec", SERVER_NAMESPACE, *map(str, argv)],
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            cwd=self.work,
            start_new_session=True,
        )

    def fill(self, folder, sizes_kb, pattern):
        folder.mkdir(parents=True, exist_ok=True)
        for index, size in enumerate(sizes_kb):
            (folder / pattern.format(index)).write_bytes(
                self.rng.randbytes(int(size * 1000 * self.rng.uniform(0.85, 1.15)))
            )

    def make_content(self):
        work = self.work
        for page in range(12):
            self.fill(work / "site" / f"p{page}", SIZES_KB, "{}.bin")
        self.fill(work / "site" / "video", SEGMENTS_KB * 5, "{}.m4s")
        self.fill(work / "site" / "big", [1500], "{}.iso")
        self.fill(work / "ftp" / "pub", FILES_KB, "{}.tar")
        self.fill(work / "up", FILES_KB + [2, 6, 15, 40], "{}.dat")
        for folder, owner in (("ftp/in", "ftp"), ("rsync-in", "nobody"), ("scp-in", "root"), ("pg", "postgres")):
            (work / folder).mkdir()
            shutil.chown(work / folder, owner)
        (work / "empty").mkdir()

    def start(self):
        programs, work = self.programs, self.work
        self.make_content()
        names = {"dir": work, "web": WEB, "files": FILES, "shell": SHELL}
        for name, text in (
            ("nginx.conf", NGINX),
            ("vsftpd.conf", VSFTPD),
            ("rsyncd.conf", RSYNCD),
            ("sshd.conf", SSHD),
        ):
            (work / name).write_text(text.format(**names))
        run(
            programs["openssl"],
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=demo",
            "-keyout",
            work / "tls.key",
            "-out",
            work / "tls.crt",
        )
        for key in ("host_key", "user_key"):
            run(programs["ssh-keygen"], "-q", "-t", "ed25519", "-N", "", "-f", work / key)
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd insists on it

        postgres = (programs["setpriv"], "--reuid=postgres", "--regid=postgres", "--clear-groups", "env", "LC_ALL=C")
        cluster = work / "pg" / "data"
        run(
            *postgres,
            programs["initdb"],
            "-D",
            cluster,
            "--auth=trust",
            "--encoding=UTF8",
            "--no-sync",
            cwd=work / "pg",
        )
        with open(cluster / "pg_hba.conf", "a") as rules:
            rules.write("host all all 10.77.1.0/24 trust\n")
        self.spawn(
            *postgres,
            programs["postgres"],
            "-D",
            cluster,
            "-c",
            f"listen_addresses={DATABASE}",
            "-c",
            "fsync=off",
            "-c",
            f"unix_socket_directories={work}/pg",
            "-c",
            "max_connections=60",
            "-c",
            "shared_buffers=32MB",
        )

        self.spawn(programs["nginx"], "-c", work / "nginx.conf", "-e", work / "nginx.log")
        self.spawn(sys.executable, os.path.abspath(__file__), "--serve-app")
        self.spawn(programs["vsftpd"], work / "vsftpd.conf")
        self.spawn(programs["rsync"], "--daemon", "--no-detach", f"--config={work}/rsyncd.conf", f"--address={FILES}")
        self.spawn(programs["sshd"], "-D", "-e", "-f", work / "sshd.conf")
        self.wait_listening({*APPLICATIONS, ("127.0.0.1", 8080)})
        self.fill_database()

    def wait_listening(self, wanted):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            lines = run("ip", "netns", "exec", SERVER_NAMESPACE, "cat", "/proc/net/tcp").splitlines()[1:]
            listening = set()
            for fields in map(str.split, lines):
                address, port = fields[1].split(":")
                if fields[3] == "0A":
                    listening.add((".".join(map(str, bytes.fromhex(address)[::-1])), int(port, 16)))
            if wanted <= listening:
                return
            time.sleep(0.2)
        raise Failure(
            f"no server listens on {sorted(wanted - listening)} after 30 s; see {self.work}/*.log with --keep"
        )

    def fill_database(self):
        sql = (
            "create table orders(id int primary key, customer int, amount numeric, note text);"
            "insert into orders select i, i % 97, (i * 37 % 10007) / 100.0, repeat(md5(i::text), 3) from generate_series(1, 20000) i;"
            "create index on orders(customer); analyze orders;"
        )
        local = ("env", f"PGHOST={self.work}/pg", "PGUSER=postgres")
        run(*local, self.programs["psql"], "-q", "-v", "ON_ERROR_STOP=1", "-c", sql)
        run(*local, self.programs["pgbench"], "-q", "-i", "-s", "1", "-I", "dtgvp")


# ---------------------------------------------------------------------------------------------------------------------
# Clients: one function per kind of session. Each gets (host, client, rng), blocks while it works, and leaves by itself.


class Clients:
    """Runs the sessions' programs inside the client namespaces."""

    def __init__(self, programs, work):
        self.programs, self.work = programs, work
        self.log = open(work / "clients.log", "ab")
        self.serial = 0
        self.failed = collections.Counter()
        self.ended = threading.Event()

    def argv(self, client, program, *arguments):
        return ["ip", "netns", "exec", client_namespace(client), self.programs[program], *map(str, arguments)]

    def call(self, client, program, *arguments, accept=(0,), **options):
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": self.log, **options}
        process = subprocess.Popen(
            self.argv(client, program, *arguments), cwd=self.work, start_new_session=True, **options
        )
        if process.wait() not in accept and not self.ended.is_set():
            self.failed[program] += 1

    def name(self):
        self.serial += 1
        return f"{self.serial}.dat"

    def pause(self, seconds):
        """Waits like a user does; true when the capture has ended meanwhile."""
        return self.ended.wait(seconds)


def lognormal(rng, median, sigma, low, high):
    return min(high, max(low, rng.lognormvariate(math.log(median), sigma)))


def objects(rng, count):
    """Addresses of static objects; small ones are wanted more often."""
    weights = [1 / (1 + index / 6) for index in range(len(SIZES_KB))]
    return [f"/p{rng.randrange(12)}/{index}.bin" for index in rng.choices(range(len(SIZES_KB)), weights, k=count)]


def queries(rng, count):
    """Addresses of dynamic answers: 20-1500 ms of server think time, 200 B to 80 kB."""
    return [
        f"/app/think?ms={lognormal(rng, 120, 1.0, 20, 1500):.0f}&bytes={lognormal(rng, 2500, 1.2, 200, 80000):.0f}"
        for _ in range(count)
    ]


def to_null(urls):
    return [argument for url in urls for argument in ("--output", "/dev/null", url)]


def page(host, client, rng):
    """Browsing over one HTTP/1.1 keep-alive connection: back to back, or paced with client think times of 0-3 s."""
    urls = [f"http://{WEB}{path}" for path in objects(rng, rng.choice([1, 1, 2, 3, 4, 6, 8, 12]))]
    rate = () if rng.random() < 0.4 else ("--rate", f"{rng.choice([20, 30, 45, 70, 110, 180, 300])}/m")
    host.call(client, "curl", "--silent", "--http1.1", *rate, *to_null(urls))


def crawl(host, client, rng):
    """A crawler that waits a random time between the objects of one keep-alive connection."""
    urls = [f"http://{WEB}{path}" for path in objects(rng, rng.randrange(2, 7))]
    host.call(
        client,
        "wget",
        "--quiet",
        "--output-document=/dev/null",
        f"--wait={rng.choice([0.3, 0.6, 1, 1.5, 2])}",
        "--random-wait",
        *urls,
    )


def api(host, client, rng):
    """Calls of a dynamic service: small requests, server think times, now and then a larger POST."""
    if rng.random() < 0.35:
        upload = host.work / "up" / f"{rng.choice([8, 9, 10, 11, 11])}.dat"
        urls = [
            f"http://{WEB}/app/submit?ms={lognormal(rng, 150, 0.9, 20, 1500):.0f}&bytes={rng.randrange(100, 900)}"
            for _ in range(rng.randrange(1, 4))
        ]
        host.call(
            client,
            "curl",
            "--silent",
            "--http1.1",
            "--header",
            "Expect:",
            "--data-binary",
            f"@{upload}",
            *to_null(urls),
        )
        return
    urls = [f"http://{WEB}{path}" for path in queries(rng, rng.choice([1, 2, 3, 5, 8, 12]))]
    rate = () if rng.random() < 0.5 else ("--rate", f"{rng.choice([24, 40, 60, 90])}/m")
    host.call(client, "curl", "--silent", "--http1.1", *rate, *to_null(urls))


def video(host, client, rng):
    """A segment every few seconds over one keep-alive connection."""
    first = rng.randrange(0, 10)
    urls = [f"http://{WEB}/video/{(first + index) % 20}.m4s" for index in range(rng.randrange(5, 10))]
    host.call(client, "curl", "--silent", "--http1.1", "--rate", f"{rng.choice([12, 15, 20])}/m", *to_null(urls))


def events(host, client, rng):
    """Server-sent events: one request, then the server speaks when it likes."""
    url = f"http://{WEB}/app/events?n={rng.randrange(15, 50)}&gap={rng.choice([0.6, 1.0, 1.6])}"
    host.call(client, "curl", "--silent", "--no-buffer", "--http1.1", "--output", "/dev/null", url)


def http2_page(host, client, rng):
    """A page and its objects multiplexed over one HTTP/2 connection."""
    paths = objects(rng, rng.randrange(2, 9)) + queries(rng, rng.randrange(0, 3))
    host.call(client, "nghttp", "--null-out", "--no-verify-peer", *(f"https://{WEB}{path}" for path in paths))


def http2_parallel(host, client, rng):
    """Concurrent downloads and uploads over one HTTP/2 connection."""
    urls = [f"https://{WEB}{path}" for path in objects(rng, rng.randrange(1, 6)) + queries(rng, rng.randrange(1, 4))]
    upload = ()
    if rng.random() < 0.4:
        file = host.work / "up" / f"{rng.choice([9, 10, 11])}.dat"
        upload = (
            "--next",
            "--silent",
            "--insecure",
            "--http2",
            "--data-binary",
            f"@{file}",
            "--output",
            "/dev/null",
            f"https://{WEB}/app/submit?ms=200&bytes=300",
        )
    host.call(client, "curl", "--silent", "--insecure", "--http2", "--parallel", *to_null(urls), *upload)


def http2_load(host, client, rng):
    """A steady request rate on one HTTP/2 connection, several in flight."""
    urls = [f"https://{WEB}{path}" for path in objects(rng, 4) + queries(rng, 2)]
    host.call(
        client,
        "h2load",
        "--requests",
        rng.randrange(20, 45),
        "--clients",
        1,
        "--max-concurrent-streams",
        4,
        f"--rps={rng.choice([3, 5, 8])}",
        *urls,
    )


def ftp(host, client, rng):
    """An FTP session: one control connection, one data connection per file."""
    if rng.random() < 0.4:
        files = [f"{index}.dat" for index in rng.sample([1, 2, 3, 5, 8, 11], rng.choice([1, 2]))]
        uploads = [
            argument
            for file in files
            for argument in ("--upload-file", host.work / "up" / file, f"ftp://{FILES}/in/{host.name()}")
        ]
        host.call(client, "curl", "--silent", *uploads)
    else:
        urls = [f"ftp://{FILES}/pub/"] + [
            f"ftp://{FILES}/pub/{index}.tar" for index in rng.sample(range(6), rng.choice([1, 1, 2]))
        ]
        host.call(client, "curl", "--silent", *to_null(urls))


def rsync(host, client, rng):
    """A file synchronised with the rsync daemon, either way: both ends speak at once."""
    if rng.random() < 0.5:
        host.call(
            client, "rsync", host.work / "up" / f"{rng.randrange(0, 6)}.dat", f"rsync://{FILES}/incoming/{host.name()}"
        )
    else:
        host.call(
            client,
            "rsync",
            "--recursive",
            f"--include={rng.randrange(0, 6)}.tar",
            "--exclude=*",
            f"rsync://{FILES}/pub/",
            tempfile.mkdtemp(dir=host.work),
        )


def ssh_options(host):
    return (
        "-F",
        "/dev/null",
        "-i",
        host.work / "user_key",
        "-o",
        "IdentityAgent=none",
        "-o",
        "UserKnownHostsFile=/dev/null",
        "-o",
        "StrictHostKeyChecking=no",
        "-o",
        "LogLevel=ERROR",
    )


def scp(host, client, rng):
    """A file copied over SSH, either way."""
    size = rng.choice([0, 1, 2, 3, 4, 5, 6])
    if rng.random() < 0.5:
        ends = (host.work / "up" / f"{size}.dat", f"root@{SHELL}:{host.work}/scp-in/{host.name()}")
    else:
        ends = (f"root@{SHELL}:{host.work}/ftp/pub/{size}.tar", host.work / host.name())
    host.call(client, "scp", "-q", *ssh_options(host), *ends)


TYPED = [
    "ls -l site/p0",
    "date",
    "ps",
    "wc -c up/*",
    "cat nginx.conf",
    "echo done",
    "uname -a",
    "head -c 3000 sshd.conf",
    "df -h .",
    "ls ftp/pub",
    "sort -n vsftpd.conf",
    "id",
]


def shell(host, client, rng):
    """A user typing commands into a remote shell: a packet per keystroke, echoed by the server."""
    master, slave = pty.openpty()
    tty.setraw(slave)
    remote = f"cd {host.work}; exec env HISTFILE= TERM=vt100 bash --norc --noprofile"
    process = subprocess.Popen(
        host.argv(client, "ssh", "-tt", *ssh_options(host), f"root@{SHELL}", remote),
        stdin=slave,
        stdout=slave,
        stderr=host.log,
        cwd=host.work,
        start_new_session=True,
    )
    os.close(slave)

    def drain():
        try:
            while os.read(master, 65536):
                pass
        except OSError:
            pass  # the terminal is gone: the session is over

    reader = threading.Thread(target=drain, daemon=True)
    reader.start()
    try:
        host.pause(rng.uniform(1.5, 3))
        for command in rng.choices(TYPED, k=rng.randrange(4, 14)) + ["exit"]:
            for key in command + "\r":
                os.write(master, key.encode())
                if host.pause(lognormal(rng, 0.14, 0.6, 0.04, 1.2)):
                    return
            if host.pause(lognormal(rng, 1.6, 0.7, 0.4, 8)):
                return
        process.wait(10)
    except (OSError, subprocess.TimeoutExpired):
        host.failed["ssh"] += not host.ended.is_set()
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        reader.join(2)
        os.close(master)


def sql(rng):
    """One statement of a user at a database prompt."""
    customer = rng.randrange(97)
    return rng.choice(
        [
            "select count(*) from orders;",
            f"select * from orders where customer = {customer} order by id limit {rng.choice([5, 20, 80, 300])};",
            f"select customer, sum(amount) from orders group by customer order by 2 desc limit {rng.randrange(5, 40)};",
            f"update orders set amount = amount + 1 where id = {rng.randrange(20000)};",
            f"select pg_sleep({lognormal(rng, 0.2, 0.9, 0.02, 1.5):.3f}), max(amount) from orders where customer = {customer};",
        ]
    )


def database(host, client, rng):
    """A database session: statements with think times between them, some of which the server takes long to answer."""
    argv = host.argv(
        client, "psql", "--no-psqlrc", "--quiet", "--host", DATABASE, "--username", "postgres", "--output", "/dev/null"
    )
    process = subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=host.log, cwd=host.work, start_new_session=True
    )
    try:
        for _ in range(rng.randrange(4, 22)):
            process.stdin.write(sql(rng).encode() + b"\n")
            process.stdin.flush()
            if host.pause(lognormal(rng, 0.7, 0.9, 0.05, 6)):
                break
        process.stdin.close()
        process.wait(15)
    except (OSError, subprocess.TimeoutExpired):
        host.failed["psql"] += not host.ended.is_set()
        process.kill()
        process.wait()


def transactions(host, client, rng):
    """A program's database connection: short statements at random times."""
    host.call(
        client,
        "pgbench",
        "--no-vacuum",
        "--select-only",
        "--client=1",
        f"--rate={rng.choice([0.8, 1.5, 3])}",
        f"--time={rng.randrange(5, 20)}",
        "--host",
        DATABASE,
        "--username",
        "postgres",
        "postgres",
    )


def abort(host, client, rng):
    """A download given up half-way: the client closes with data unread, and its kernel answers with RST."""
    host.call(
        client,
        "curl",
        "--silent",
        "--limit-rate",
        "40k",
        "--max-time",
        f"{rng.uniform(0.6, 3):.2f}",
        "--output",
        "/dev/null",
        f"http://{WEB}/big/0.iso",
        accept=(28,),
    )


def refused(host, client, rng):
    """A connection nobody accepts: SYN, RST."""
    host.call(
        client, "curl", "--silent", "--output", "/dev/null", f"http://{WEB}:{rng.choice([8000, 8443])}/", accept=(7,)
    )


SESSIONS = {  # sessions of each kind in the whole run, warm-up included
    page: 95,
    crawl: 45,
    api: 105,
    video: 6,
    events: 6,
    http2_page: 28,
    http2_parallel: 26,
    http2_load: 6,
    ftp: 13,
    rsync: 10,
    scp: 8,
    shell: 8,
    database: 12,
    transactions: 8,
    abort: 8,
    refused: 5,
}
EARLY = [shell, shell, shell, database, database, events, events, video, transactions]  # open when the capture begins


def schedule(seed, seconds, warm_up):
    """The seeded plan: (start in s, kind, client, seed of the session), by start.

    Given their number, the starts of a Poisson process are uniform; EARLY ones start in the warm-up.
    """
    rng = random.Random(f"{seed}/schedule")
    plan = [(rng.uniform(0, warm_up * 0.7), kind) for kind in EARLY]
    plan += [(rng.uniform(0, warm_up + seconds), kind) for kind, count in SESSIONS.items() for _ in range(count)]
    plan.sort(key=lambda item: item[0])
    deck = []
    result = []
    for number, (start, kind) in enumerate(plan):
        if not deck:  # every client gets its share
            deck = rng.sample(range(len(CLIENTS)), len(CLIENTS))
        result.append((start, kind, deck.pop(), f"{seed}/{number}"))
    return result


def play(host, plan, origin, end):
    """Starts each session when it is due, in a thread of its own, until the capture ends."""
    for start, kind, client, seed in plan:
        delay = origin + start - time.monotonic()
        if delay > 0:
            time.sleep(delay)
        threading.Thread(target=kind, args=(host, client, random.Random(seed)), daemon=True).start()
    time.sleep(max(0.0, end - time.monotonic()))
    host.ended.set()


# ---------------------------------------------------------------------------------------------------------------------


def print_summary(summary, failed, drops, size):
    connections = summary["connections"]
    print(
        f"packets {summary['packets']}, wire bytes {summary['wire_bytes']}, {summary['seconds']:.0f} s, file {size} bytes"
    )
    print(f"connections {sum(connections.values())}, with RST {summary['with_reset']}")
    print("\n| application | connections |\n|---|---|")
    for name, count in sorted(connections.items(), key=lambda item: -item[1]):
        print(f"| {name} | {count} |")
    print("\n| client | RTT left + right (ms) | loss left, right per direction (%) | connections |\n|---|---|---|---|")
    for index, client in enumerate(CLIENTS):
        print(
            f"| 10.77.1.{index + 1} | {client.left_rtt:g} + {client.right_rtt:g} = {client.left_rtt + client.right_rtt:g} "
            f"| {client.left_loss * 100:g}, {client.right_loss * 100:g} | {summary['connections_per_client'][index]} |"
        )
    print(f"\nrelay lateness in us: {summary['late_us']}")
    print(
        f"dropped by the relay before the monitor {summary['lost_before_monitor']}, after it {summary['lost_after_monitor']}; "
        f"dropped because the relay read too late {drops}; not TCP {summary['not_tcp']}"
    )
    if failed:
        print(f"programs that ended with an error: {dict(failed)}")


def make(options):
    programs = check_host()
    os.nice(-10)  # inherited: other work on this machine should not look like think time
    work = Path(tempfile.mkdtemp(prefix=f"{PREFIX}-"))
    work.chmod(0o755)  # the servers drop their privileges
    relay = None
    host = None
    try:
        print("starting namespaces and servers", flush=True)
        tuns = [
            (client_namespace(index), f"{PREFIX}{index + 1}", [f"10.77.1.{index + 1}"]) for index in range(len(CLIENTS))
        ]
        tuns.append((SERVER_NAMESPACE, f"{PREFIX}0", [WEB, FILES, SHELL, DATABASE]))
        *client_fds, server_fd = [make_namespace(*tun) for tun in tuns]
        Servers(programs, work, options.seed).start()

        origin = time.monotonic_ns() + 200_000_000
        begin = origin + int(options.warm_up * 1e9)
        end = begin + int(options.seconds * 1e9)
        relay = start_relay(Relay(client_fds, server_fd, options.seed, begin, end), options.output)
        host = Clients(programs, work)
        print(f"capturing for {options.warm_up:g} s (warm-up) + {options.seconds:g} s", flush=True)
        play(host, schedule(options.seed, options.seconds, options.warm_up), origin / 1e9, end / 1e9)
        time.sleep(0.5)  # what has passed the monitor before the end is still on its way
        drops = sum(tun_drops(namespace, tun) for namespace, tun, _ in tuns)
        stopping, relay = relay, None
        summary = stop_relay(*stopping)
        print_summary(summary, host.failed, drops, os.path.getsize(options.output))
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # an impatient second Ctrl-C must not leave half of it behind
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if host:
            host.ended.set()
        if relay:
            os.kill(relay[0], signal.SIGKILL)
            os.waitpid(relay[0], 0)
        remove_namespaces()
        if options.keep:
            print(f"kept {work}")
        else:
            shutil.rmtree(work, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--output",
        default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "demo.pcap.gz"),
        help="capture to write, gzip if it ends in .gz (default: demo.pcap.gz beside this script)",
    )
    parser.add_argument("--seed", type=int, default=1, help="of the schedule, the sizes and the losses (default 1)")
    parser.add_argument("--seconds", type=float, default=110, help="length of the capture (default 110)")
    parser.add_argument(
        "--warm-up", type=float, default=12, help="traffic before the capture begins, in seconds (default 12)"
    )
    parser.add_argument("--keep", action="store_true", help="keep the working folder with the servers' logs")
    parser.add_argument("--clean", action="store_true", help="remove what a killed run left, and stop")
    parser.add_argument("--serve-app", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve_app:
        serve_app()
        return 0
    # Both signals unwind through `finally`, which removes the namespaces.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        if options.clean:
            remove_namespaces()
            for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}-*"):
                shutil.rmtree(folder, ignore_errors=True)
        else:
            make(options)
    except Failure as failure:
        print(f"make_capture: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("make_capture: interrupted; namespaces removed", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
