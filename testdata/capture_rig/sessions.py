# SPDX-License-Identifier: MIT OR Apache-2.0
"""The left side: one function per kind of session, and the seeded schedule of all of them.

Each function gets (host, client, rng), blocks while the session lasts, and leaves by itself.
"""

import collections
import math
import os
import pty
import random
import subprocess
import tempfile
import threading
import time
import tty

from .hosts import CLIENTS, DATABASE, FILES, SHELL, WEB, client_namespace
from .servers import SIZES_KB


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
    think = lognormal(rng, 0.2, 0.9, 0.02, 1.5)
    return rng.choice(
        [
            "select count(*) from orders;",
            f"select * from orders where customer = {customer} order by id limit {rng.choice([5, 20, 80, 300])};",
            f"select customer, sum(amount) from orders group by customer order by 2 desc limit {rng.randrange(5, 40)};",
            f"update orders set amount = amount + 1 where id = {rng.randrange(20000)};",
            f"select max(amount), pg_sleep({think:.3f}) from orders where customer = {customer};",
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
