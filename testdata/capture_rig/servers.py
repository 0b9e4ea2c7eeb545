# SPDX-License-Identifier: MIT OR Apache-2.0
"""The right side: programs, what they serve, and their configuration."""

import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

from .hosts import APPLICATIONS, DATABASE, FILES, SERVER_NAMESPACE, SHELL, WEB, Failure, existing_namespaces, run

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
    location /app/ {{
      proxy_pass http://127.0.0.1:8080; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;
    }}
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
        self.spawn(sys.executable, Path(__file__).with_name("app.py"))
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
            "insert into orders select i, i % 97, (i * 37 % 10007) / 100.0, repeat(md5(i::text), 3)"
            " from generate_series(1, 20000) i;"
            "create index on orders(customer); analyze orders;"
        )
        local = ("env", f"PGHOST={self.work}/pg", "PGUSER=postgres")
        run(*local, self.programs["psql"], "-q", "-v", "ON_ERROR_STOP=1", "-c", sql)
        run(*local, self.programs["pgbench"], "-q", "-i", "-s", "1", "-I", "dtgvp")
