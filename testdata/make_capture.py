#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes the bundled capture: real programs, talking across a link that this script delays and watches.

    client namespaces (left) -- TUN -- relay: delay, loss, MONITOR, delay, loss -- TUN -- server namespace (right)

Every client has a network namespace, a round-trip time and loss rates of its own (`capture_rig/hosts.py`). The relay
is a user-space process that moves each IP packet from one TUN device to the other: it holds it for the one-way delay of
the first half of the path, notes its headers at the monitor point, and holds it for the second half. What it notes is
the capture: Ethernet, IP and TCP headers and no payload, in a nanosecond pcap, stamped with the exact time at which the
packet passed the monitor point. Frames of the left side carry LEFT_MAC as source, those of the right side RIGHT_MAC.

Traffic stays inside namespaces that this script makes and removes. It needs root, Python 3.11 and the Debian packages
that `capture_rig/servers.py` names; whatever is missing it says in one line.
"""

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from capture_rig.hosts import (
    CLIENTS,
    DATABASE,
    FILES,
    PREFIX,
    SERVER_NAMESPACE,
    SHELL,
    WEB,
    Failure,
    client_namespace,
    make_namespace,
    remove_namespaces,
    tun_drops,
)
from capture_rig.relay import Relay, start_relay, stop_relay
from capture_rig.servers import Servers, check_host
from capture_rig.sessions import Clients, play, schedule


def print_summary(summary, failed, drops, size):
    connections = summary["connections"]
    print(f"packets {summary['packets']}, wire bytes {summary['wire_bytes']}, file {size} bytes")
    print(f"connections {sum(connections.values())}, with RST {summary['with_reset']}")
    print("\n| application | connections |\n|---|---|")
    for name, count in sorted(connections.items(), key=lambda item: -item[1]):
        print(f"| {name} | {count} |")
    print("\n| client | RTT left + right (ms) | loss left, right per direction (%) | connections |\n|---|---|---|---|")
    for index, client in enumerate(CLIENTS):
        rtt = f"{client.left_rtt:g} + {client.right_rtt:g} = {client.left_rtt + client.right_rtt:g}"
        loss = f"{client.left_loss * 100:g}, {client.right_loss * 100:g}"
        print(f"| 10.77.1.{index + 1} | {rtt} | {loss} | {summary['connections_per_client'][index]} |")
    print(f"\nrelay lateness in us: {summary['late_us']}")
    before, after = summary["lost_before_monitor"], summary["lost_after_monitor"]
    print(f"dropped by the relay before the monitor {before}, after it {after}")
    print(f"dropped because the relay read too late {drops}; packets that are not TCP {summary['not_tcp']}")
    if failed:
        print(f"programs that ended with an error: {dict(failed)}")


def make(options):
    programs = check_host()
    folder = os.path.dirname(os.path.abspath(options.output))
    if not os.access(folder, os.W_OK):
        raise Failure(f"cannot write to {folder}")
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
    options = parser.parse_args()
    # Both signals unwind through `finally`, which removes the namespaces.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell starts with it ignored
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
