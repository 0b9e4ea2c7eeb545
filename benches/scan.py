#!/usr/bin/env python3
"""An agent's port under a fuzzer: noise, mutated TLS handshakes, handshakes that stop half way or go on without a certificate, then
noise inside TLS. Whether the agent lives and still serves its controller, and how its memory goes.

usage: scan.py FLOWLOOM [SECONDS, 600 if left out]
Exits with 1 if the agent ends, no longer answers, or holds more than 4 MB more at the end than after the first tenth.
"""

import random
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from lab import begun, enrolled, made

FLAT_MB = 4.0
THREADS = 8


def resident_mb(process):
    return int(re.search(r"^VmRSS:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text(), re.M)[1]) / 1e3


def client_hello(context):
    """What a client of TLS says first."""
    into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        context.wrap_bio(into, out, server_hostname="agent.invalid").do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


def mutated(rng, data):
    data = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(data))
        kind = rng.randrange(4)
        if kind == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data.insert(at, rng.randrange(256))
        elif kind == 2:
            data[at : at + rng.randint(1, 40)] = rng.randbytes(rng.randint(0, 40))
        elif len(data) > 8:
            del data[at:]
        if not data:
            data = bytearray(b"\x16")
    return bytes(data)


def one(rng, address, context, hello):
    with socket.create_connection(address, timeout=0.3) as stream:
        kind = rng.randrange(6)
        if kind == 0:
            stream.sendall(rng.randbytes(rng.randint(1, 2_000)))
        elif kind == 1:
            stream.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + rng.randbytes(rng.randint(0, 500)))
        elif kind == 2:
            stream.sendall(mutated(rng, hello))
        elif kind == 3:
            stream.sendall(hello[: rng.randrange(len(hello))])
        elif kind == 4:
            stream.sendall(hello)
            stream.sendall(mutated(rng, rng.randbytes(200)))
        else:
            with context.wrap_socket(stream, server_hostname="agent.invalid") as tls:
                tls.sendall(rng.randbytes(rng.randint(1, 3_000)))
                tls.recv(100)
            return
        stream.recv(4_096)


def scan(seed, address, until, counts):
    rng = random.Random(seed)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    hello = client_hello(context)
    while time.monotonic() < until:
        try:
            one(rng, address, context, hello)
        except (OSError, ssl.SSLError):
            pass  # a close is what strangers get
        counts[seed] += 1


def main():
    flowloom = str(Path(sys.argv[1]).resolve())
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 600.0
    with tempfile.TemporaryDirectory(prefix="flowloom-scan.") as place:
        place = Path(place)
        lab = made(flowloom, place)
        agent, where = begun(flowloom, enrolled(flowloom, lab, "east"))
        host, port = where.split(":")
        address = (host, int(port))
        began = time.monotonic()
        counts = [0] * THREADS
        threads = [
            threading.Thread(target=scan, args=(seed, address, began + seconds, counts)) for seed in range(THREADS)
        ]
        for thread in threads:
            thread.start()
        held = []
        while any(thread.is_alive() for thread in threads):
            time.sleep(min(seconds / 20, 10.0))
            if agent.poll() is not None:
                break
            held.append((time.monotonic() - began, resident_mb(agent)))
        for thread in threads:
            thread.join()
        lives = agent.poll() is None
        serves = lives and subprocess.run(
            [flowloom, "lab", "status", where, "--dir", lab], capture_output=True
        ).returncode == 0
        agent.terminate()
        agent.wait()
    early = [mb for at, mb in held if at >= seconds / 10][:1] or [held[0][1]]
    grown = held[-1][1] - early[0]
    print(f"  {sum(counts)} connections of strangers in {seconds:.0f} s; the agent held {early[0]:.1f} MB early on,"
          f" {max(mb for _, mb in held):.1f} MB at most, {held[-1][1]:.1f} MB at the end")
    flat = grown <= FLAT_MB
    print(f"  {'met ' if lives and serves and flat else 'MISS'}  it lives: {lives}, it serves its controller: {serves},"
          f" {grown:+.1f} MB (at most {FLAT_MB:+g} MB)")
    sys.exit(not (lives and serves and flat))


main()
