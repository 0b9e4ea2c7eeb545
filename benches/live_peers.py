#!/usr/bin/env python3
"""Runs live emulation beside mahimahi and tcpreplay and compares. Called by live_peers.sh, as root, in namespaces of its own."""

import argparse
import os
import pathlib
import platform
import shutil
import statistics
import struct
import subprocess
import sys
import time

# Floors.
LEAST_THROUGHPUT = 2.0
LEAST_PACKETS = 2.0
MOST_DRIFT_MS = 1.0
# One way.
DELAY_MS = 10
# Windows of kernels hold few bytes in small segments: it takes more connections to fill the path with these.
CONNECTIONS = {1448: 8, 88: 128}
BESIDE_MBIT = 20
# mahimahi does not run as root; this is nobody.
NOBODY = "65534"
# What the schedules are replayed of: short connections, all through the time.
STARTS_A_SECOND = 20
# A drift is between the medians of so many starts at either end.
STARTS_AT_AN_END = 100

LINK = f"""\
[network]
bottleneck = {{ rate = "unlimited", delay = "{DELAY_MS}ms" }}
[measure]
duration = "1h"
"""

SHORT = """\
[network]
bottleneck = {{ rate = "100mbit", delay = "5ms" }}
[[sources]]
name = "short"
kind = "bulk"
count = {count}
start = {{ kind = "uniform", min = "0s", max = "{seconds}s" }}
rtt = "20ms"
bytes = "10k"
[measure]
duration = "{seconds}s"
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flowloom", required=True, type=pathlib.Path)
    parser.add_argument("--load", required=True, type=pathlib.Path)
    parser.add_argument("--mm-delay", type=pathlib.Path)
    parser.add_argument("--folder", required=True, type=pathlib.Path)
    parser.add_argument("--runs", required=True, type=int)
    parser.add_argument("--seconds", required=True, type=int)
    parser.add_argument("--replay-seconds", required=True, type=int)
    args = parser.parse_args()
    args.flowloom = args.flowloom.resolve()
    # Where nobody can run it.
    args.load = pathlib.Path(shutil.copy(args.load, args.folder))
    print(f"{platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}; load {os.getloadavg()[0]:.1f}; "
          f"{output([args.flowloom, '--version']).strip()}")
    misses = beside_mahimahi(args) + beside_tcpreplay(args)
    for miss in misses:
        print(f"MISSED: {miss}")
    sys.exit(1 if misses else 0)


def output(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout


def version(package, folder):
    """Of a Debian package: installed, or fetched into the folder."""
    fetched = next(folder.glob(f"{package}_*.deb"), None)
    if fetched:
        return output(["dpkg-deb", "-f", fetched, "Version"]).strip()
    return output(["dpkg-query", "-W", "-f", "${Version}", package]) or "?"


# The emulator beside mm-delay.

def loads(seconds):
    """Name, and how the load is called; what it prints."""
    for mss, connections in CONNECTIONS.items():
        name = f"bulk, {connections} connections, segments of {mss} bytes"
        yield name, ["bulk", "{peer}", str(connections), str(seconds), str(mss)]
    delay = str(DELAY_MS * 1000)
    yield "pings", ["ping", "{peer}", delay, str(seconds), "0"]
    yield f"pings beside {BESIDE_MBIT} Mbit/s", ["ping", "{peer}", delay, str(seconds), str(BESIDE_MBIT)]


def in_flowloom(args, words):
    words = " ".join(word.format(peer="$FLOWLOOM_PEER") for word in words)
    command = [args.flowloom, "shell", args.folder / "link.toml", "-o", args.folder / "link", "--force",
               "--peer", f"exec {args.load} serve", "--", "sh", "-c", f"sleep 0.5; exec {args.load} {words}"]
    return found(command)


def in_mahimahi(args, words):
    words = " ".join(word.format(peer="$MAHIMAHI_BASE") for word in words)
    with subprocess.Popen([args.load, "serve"]) as server:
        try:
            return found(["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", args.mm_delay,
                          str(DELAY_MS), "sh", "-c", f"sleep 0.5; exec {args.load} {words}"])
        finally:
            server.terminate()


def found(command):
    """What a load prints: names and numbers in turn."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    lines = [line.split() for line in done.stdout.splitlines()]
    line = next((line for line in lines if line and line[0] in ("mbit", "sent")), None)
    if line is None:
        raise SystemExit(f"{command[0]} came to nothing: {done.stdout}{done.stderr}")
    return dict(zip(line[::2], map(float, line[1::2])))


def prepare_mahimahi():
    """What it wants of the namespace it is started in."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    pathlib.Path("/proc/sys/net/ipv4/ip_forward").write_text("1", encoding="ascii")
    # As a program with the setuid bit it starts iptables, for the address translation of what leaves its shell. Today's iptables
    # refuses that (exit status 111), which would end it. Here nothing leaves: there are no rules, which costs it nothing.
    subprocess.run(["mount", "--bind", shutil.which("true"), shutil.which("iptables")], check=True)


def beside_mahimahi(args):
    if args.runs == 0:
        return []
    print(f"\n== the emulator beside mm-delay: {DELAY_MS} ms each way, CUBIC, {args.runs} runs each of {args.seconds} s, in turns")
    (args.folder / "link.toml").write_text(LINK, encoding="ascii")
    emulators = {"flowloom": in_flowloom}
    if args.mm_delay:
        prepare_mahimahi()
        emulators["mahimahi"] = in_mahimahi
        print(f"mahimahi {version('mahimahi', args.folder)}")
    else:
        print("skipped: mahimahi is not here")
    misses = []
    for name, words in loads(args.seconds):
        runs = {emulator: [] for emulator in emulators}
        for _ in range(args.runs):
            for emulator, run in emulators.items():
                runs[emulator].append(run(args, words))
        print(f"{name} (load {os.getloadavg()[0]:.1f})")
        middles = {}
        for emulator, results in runs.items():
            columns = {key: [result[key] for result in results] for key in results[0]}
            middles[emulator] = {key: statistics.median(values) for key, values in columns.items()}
            print(f"  {emulator:10}" + ", ".join(told(key, values) for key, values in columns.items()))
        if "mahimahi" in emulators:
            misses += [f"{name}: {miss}" for miss in missed(middles["flowloom"], middles["mahimahi"])]
    return misses


UNITS = {"mbit": "Mbit/s", "packets": "packets/s", "sent": "sent", "answered": "answered", "middle": "us median error",
         "p50": "us off at 50 %", "p90": "us at 90 %", "p99": "us at 99 %"}


def told(key, values):
    """The median, and the least and the most."""
    middle, least, most = statistics.median(values), min(values), max(values)
    return f" {middle:,.0f} {UNITS[key]} ({least:,.0f} to {most:,.0f})"


def missed(ours, theirs):
    if "mbit" in ours:
        for key, least in (("mbit", LEAST_THROUGHPUT), ("packets", LEAST_PACKETS)):
            print(f"  {ours[key] / theirs[key]:.2f} times the {UNITS[key]} (floor {least:.1f})")
            if ours[key] < least * theirs[key]:
                yield f"less than {least:.1f} times the {UNITS[key]}"
    else:
        for key in ("p50", "p99"):
            if ours[key] >= theirs[key]:
                yield f"{UNITS[key]}: not less"


# A live run beside tcpreplay.

def beside_tcpreplay(args):
    seconds = args.replay_seconds
    if seconds == 0:
        return []
    print(f"\n== the schedule of a live run beside tcpreplay's: {STARTS_A_SECOND * seconds:,} connections in {seconds} s, both at once")
    if not shutil.which("tcpreplay") or not shutil.which("tcpdump"):
        print("skipped: tcpreplay or tcpdump is not here")
        return []
    folder = args.folder
    text = SHORT.format(count=STARTS_A_SECOND * seconds, seconds=seconds)
    (folder / "short.toml").write_text(text, encoding="ascii")
    quiet = [args.flowloom, "-q", "run"]
    subprocess.run([*quiet, folder / "short.toml", "--seed", "1", "--pcap", "-o", folder / "original"], check=True)
    original = folder / "original" / "link.pcap"
    with subprocess.Popen([*quiet, original, "--on", "live", "--pcap", "-o", folder / "live"]) as live:
        tcpreplay(original, folder / "replayed.pcap")
    schedule, last = starts(original)
    print(f"tcpreplay {version('tcpreplay', folder)} (load {os.getloadavg()[0]:.1f}); exit code of the live run {live.returncode}")
    drifts = {}
    for name, capture in (("flowloom", folder / "live" / "link.pcap"), ("tcpreplay", folder / "replayed.pcap")):
        replayed, end = starts(capture)
        if len(replayed) != len(schedule):
            raise SystemExit(f"{name} started {len(replayed)} connections of {len(schedule)}")
        late = [1e3 * (found - due) for found, due in zip(replayed, schedule)]
        at_first = statistics.median(late[:STARTS_AT_AN_END])
        late = [each - at_first for each in late]
        drifts[name] = statistics.median(late[-STARTS_AT_AN_END:])
        middle = sorted(late)
        print(f"  {name:10} drift of the starts from the first hundred to the last {drifts[name]:+.3f} ms; "
              f"starts 1 to 99 %: {middle[len(middle) // 100]:+.3f} to {middle[len(middle) * 99 // 100]:+.3f} ms; "
              f"last packet of all {1e3 * (end - last) - at_first:+.3f} ms")
    return [f"the live run drifts by {drifts['flowloom']:.3f} ms"] if abs(drifts["flowloom"]) >= MOST_DRIFT_MS else []


def tcpreplay(capture, into):
    """Replays a capture at its own speed over a pair of devices, and captures what comes out at the other end."""
    subprocess.run("ip link add from type veth peer name to && ip link set from up mtu 9000 && ip link set to up mtu 9000",
                   shell=True, check=True)
    # So that nothing else is said there.
    for device in ("from", "to"):
        pathlib.Path(f"/proc/sys/net/ipv6/conf/{device}/disable_ipv6").write_text("1", encoding="ascii")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    dump = ["tcpdump", "-i", "to", "-n", "-B", "65536", "--time-stamp-precision=nano", "-w", into, "tcp"]
    with subprocess.Popen(dump, **quiet) as listening:
        time.sleep(1)
        subprocess.run(["tcpreplay", "-i", "from", capture], check=True, **quiet)
        time.sleep(1)
        listening.terminate()


def starts(capture):
    """When connections were asked for, in order, and when the last packet passed; in seconds from the capture's own epoch."""
    data, seen, times, at = capture.read_bytes(), set(), [], 24
    order, fraction = {b"\xd4\xc3\xb2\xa1": ("<", 1e-6), b"\x4d\x3c\xb2\xa1": ("<", 1e-9)}[data[:4]]
    base, last = None, None
    while at + 16 <= len(data):
        second, part, length, _ = struct.unpack_from(order + "IIII", data, at)
        base = second if base is None else base
        last = second - base + part * fraction
        packet, at = data[at + 16:at + 16 + length], at + 16 + length
        transport = 14 + 4 * (packet[14] & 15)
        ends = packet[26:34] + packet[transport:transport + 4]
        if packet[transport + 13] & 0x12 == 0x02 and ends not in seen:
            seen.add(ends)
            times.append(last)
    return sorted(times), last


if __name__ == "__main__":
    main()
