# SPDX-License-Identifier: MIT OR Apache-2.0
"""The path: a relay between the TUN devices with delay, loss and the monitor that makes the capture."""

import collections
import gc
import gzip
import heapq
import json
import os
import random
import select
import signal
import struct
import sys
import time

from .hosts import APPLICATIONS, CLIENTS, FILES, LEFT_MAC, RIGHT_MAC, Failure

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
