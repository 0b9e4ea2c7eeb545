#!/usr/bin/env python3
"""Runs flowloom and its peers on made captures and compares cost and answers. Called by peers.sh."""

import argparse
import collections
import json
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import time

# Floors: flowloom against tcptrace on the headers-only capture, per core.
LEAST_SPEED_CONNECTIONS = 5.0
LEAST_SPEED_ROUND_TRIPS = 10.0
MOST_MEMORY = 0.25
# Wall time of one thread over that of two.
LEAST_SPEEDUP = 1.7
# A single thread that gets less of a core than this shares the machine with others, and wall times say little.
LEAST_OF_A_CORE = 0.9
# tshark takes seconds for so many packets, and minutes for the whole capture.
TSHARK_PACKETS = 300_000

Cost = collections.namedtuple("Cost", "cpu wall memory")


def flowloom_answer(text, _folder):
    summary = json.loads(text)
    return summary["connections"]["total"], sum(summary["payload_bytes"].values())


def tcptrace_answer(text, _folder):
    found = re.search(r"^(\d+) TCP connections traced", text, re.M)
    # tcptrace -q counts connections but prints them only with -l; then it has bytes too.
    if not found:
        return None, None
    pairs = re.findall(r"unique bytes sent:\s+(\d+)\s+unique bytes sent:\s+(\d+)", text)
    return int(found[1]), sum(int(one) + int(other) for one, other in pairs)


def nfpcapd_answer(_text, folder):
    text = output(["nfdump", "-R", str(folder / "nfpcapd"), "-I"])
    return int(re.search(r"^Flows_tcp: (\d+)", text, re.M)[1]), None


def argus_answer(_text, folder):
    text = output(["racount", "-r", str(folder / "argus.out")])
    return int(re.search(r"sum\s+(\d+)", text)[1]), None


def tstat_answer(_text, folder):
    """Connections: lines of its two logs that are no heading."""
    lines = 0
    for name in ("log_tcp_complete", "log_tcp_nocomplete"):
        for log in (folder / "tstat").rglob(name):
            lines += sum(1 for line in log.open() if not line.startswith("#"))
    return lines, None


def tshark_answer(text, _folder):
    return len(re.findall(r"<->", text)), None


class Tool:
    """A way to run a program, with the names it goes by in the table."""

    def __init__(self, name, program, command, answer, version, note="", small=False, before=None):
        self.name, self.program, self.command, self.answer = name, program, command, answer
        self.version, self.note, self.small, self.before = version, note, small, before


def tools(flowloom, folder):
    """All contestants; `{file}` in a command is the capture."""
    ours = [flowloom, "extract", "{file}", "-o", str(folder / "W.parquet"), "--force", "--json"]
    version = output([flowloom, "--version"]).split()[-1]
    if "--threads" in output([flowloom, "extract", "--help"]):
        for threads in (1, 2):
            command = [*ours, "--threads", str(threads)]
            yield Tool(f"flowloom, {threads} thread{'s' * (threads > 1)}", flowloom, command, flowloom_answer, version)
    else:
        yield Tool("flowloom", flowloom, ours, flowloom_answer, version)
    found = installed("tcptrace")
    for options in (["-n", "-q"], ["-n", "-l", "-r"]):
        command = ["tcptrace", *options, "{file}"]
        yield Tool("tcptrace " + " ".join(options), "tcptrace", command, tcptrace_answer, found)
    flows = folder / "nfpcapd"
    command = ["nfpcapd", "-r", "{file}", "-l", str(flows)]
    note = "flow records, one way each, a new one every 5 minutes"
    yield Tool("nfpcapd", "nfpcapd", command, nfpcapd_answer, installed("nfdump"), note, before=lambda: fresh(flows))
    records = folder / "argus.out"
    command = ["argus", "-r", "{file}", "-w", str(records)]
    note = "status records, one a minute of a connection"
    yield Tool("argus", "argus", command, argus_answer, installed("argus-server"), note,
               before=lambda: records.unlink(missing_ok=True))
    logs = folder / "tstat"
    yield Tool("tstat", "tstat", ["tstat", "-s", str(logs), "{file}"], tstat_answer, "", before=lambda: fresh(logs))
    command = ["tshark", "-n", "-q", "-z", "conv,tcp", "-r", "{file}"]
    yield Tool("tshark -z conv,tcp", "tshark", command, tshark_answer, installed("tshark"), small=True)


def installed(package):
    """The version of a Debian package."""
    if not shutil.which("dpkg-query"):
        return "?"
    return output(["dpkg-query", "-W", "-f", "${Version}", package]) or "?"


def output(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()


def run(command, into):
    """Runs `command` once; its cost, or None if it failed. Memory is told by GNU time: it is small, so that the peak of
    this interpreter, which a child inherits, does not count."""
    memory = into.with_suffix(".memory")
    time_program = shutil.which("time")
    wrapped = [time_program, "-f", "%M", "-o", str(memory), *command] if time_program else command
    with into.open("wb") as stdout:
        begin = time.monotonic()
        process = subprocess.Popen(wrapped, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - begin
    if process.returncode != 0:
        return None
    kilobytes = int(memory.read_text().split()[-1]) if time_program else usage.ru_maxrss
    return Cost(usage.ru_utime + usage.ru_stime, wall, kilobytes / 1000)


def shares(command):
    """CPU seconds of each thread of `command`, most first: what it would take if every thread had a core. The scheduler's
    own account, read until the end."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seconds = {}
    while process.poll() is None:
        for task in pathlib.Path(f"/proc/{process.pid}/task").glob("*/schedstat"):
            try:
                seconds[task.parent.name] = int(task.read_text().split()[0]) / 1e9
            except (OSError, IndexError):
                continue
        time.sleep(0.005)
    return sorted(seconds.values(), reverse=True)


def race(contestants, capture, truth, folder, runs):
    """Every tool `runs` times, in turns so that a busy machine slows all alike; what each run cost, by name."""
    packets, size = truth["packets"], capture.stat().st_size
    print(f"\n{capture.name}: {packets:,} packets, {size / 1e6:,.0f} MB, {truth['seconds']:.0f} s of a link, "
          f"{truth['connections']:,} connections, at most {truth['most_open']:,} at once")
    costs, answers = collections.defaultdict(list), {}
    for _ in range(runs):
        for tool in contestants:
            if costs[tool.name] is None:
                continue
            if tool.before:
                tool.before()
            cost = run([part.format(file=capture) for part in tool.command], folder / "stdout")
            if cost is None:
                print(f"skipped: {tool.name} failed on {capture.name}")
                costs[tool.name] = None
                continue
            costs[tool.name].append(cost)
            if tool.name not in answers:
                answers[tool.name] = tool.answer((folder / "stdout").read_text(errors="replace"), folder)
    costs = {name: of_tool for name, of_tool in costs.items() if of_tool}
    median = {name: Cost(*map(statistics.median, zip(*of_tool))) for name, of_tool in costs.items()}
    print(f"{'tool':<22} {'version':<18} {'CPU s':>7} {'least-most':>13} {'Mpkt/s':>7} {'MB/s':>7} {'wall s':>7} {'RSS MB':>7} "
          f"{'CPU, x ours':>11} {'connections':>12} {'unique bytes':>15}")
    ours = next(iter(median.values()))
    for tool in contestants:
        if tool.name not in median:
            continue
        cost, (connections, unique) = median[tool.name], answers[tool.name]
        spread = f"{min(run.cpu for run in costs[tool.name]):.2f}-{max(run.cpu for run in costs[tool.name]):.2f}"
        print(f"{tool.name:<22} {tool.version[:18]:<18} {cost.cpu:7.2f} {spread:>13} {packets / cost.cpu / 1e6:7.2f} "
              f"{size / cost.cpu / 1e6:7.0f} {cost.wall:7.2f} {cost.memory:7.0f} {cost.cpu / ours.cpu:11.1f} "
              f"{shown(connections):>12} {shown(unique):>15}  {tool.note}")
    print(f"{'as made':<22} {'':<18} {'':>7} {'':>13} {'':>7} {'':>7} {'':>7} {'':>7} {'':>11} "
          f"{shown(truth['connections']):>12} {shown(truth['unique_bytes']):>15}")
    right = True
    for name, (connections, unique) in answers.items():
        if name.startswith("flowloom") and (connections, unique) != (truth["connections"], truth["unique_bytes"]):
            print(f"WRONG: {name} differs from what the capture was made of")
            right = False
    return costs, right


def shown(number):
    return "-" if number is None else f"{number:,}"


def floors(costs, flowloom, capture, folder):
    """Whether every floor holds that can be told. Ratios are taken within a round, of tools that ran one after the other."""
    one = costs.get("flowloom, 1 thread") or costs.get("flowloom")
    two = costs.get("flowloom, 2 threads")
    good = True

    def floor(what, ratios, least):
        nonlocal good
        value = statistics.median(ratios)
        good &= value >= least
        print(f"  {'met    ' if value >= least else 'NOT MET'} {what}: {value:.2f} ({min(ratios):.2f} to {max(ratios):.2f}; "
              f"at least {least:g})")

    def by_round(peer, ours, what):
        return [what(theirs) / what(own) for theirs, own in zip(peer, ours)]

    print("floors, medians of the ratios of each round")
    for name, least in (("tcptrace -n -q", LEAST_SPEED_CONNECTIONS), ("tcptrace -n -l -r", LEAST_SPEED_ROUND_TRIPS)):
        if name in costs:
            floor(f"CPU time of {name} over ours", by_round(costs[name], one, lambda cost: cost.cpu), least)
            floor(f"memory of {name} over ours", by_round(costs[name], one, lambda cost: cost.memory), 1 / MOST_MEMORY)
        else:
            good = False
            print(f"  NOT TOLD {name} did not run")
    if not two:
        print("  NOT TOLD two threads: this flowloom has no --threads")
        return good
    command = [flowloom, "extract", str(capture), "-o", str(folder / "W.parquet"), "--force", "--json", "--threads", "2"]
    busiest = [max(shares(command), default=0.0) for _ in one]
    floor("CPU time of one thread over the busier of two, what two free cores allow",
          [own.cpu / most for own, most in zip(one, busiest) if most], LEAST_SPEEDUP)
    of_a_core = statistics.median(cost.cpu / cost.wall for cost in one)
    if (os.cpu_count() or 1) < 2:
        print("  NOT TOLD wall time of two threads: one core")
    elif of_a_core < LEAST_OF_A_CORE:
        ratio = statistics.median(by_round(one, two, lambda cost: cost.wall))
        print(f"  NOT TOLD wall time of one thread over two threads': {ratio:.2f}, but the machine is busy, one thread got "
              f"{of_a_core:.0%} of a core")
    else:
        floor("wall time of one thread over two threads'", by_round(one, two, lambda cost: cost.wall), LEAST_SPEEDUP)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flowloom", required=True)
    parser.add_argument("--maker", required=True)
    parser.add_argument("--folder", required=True, type=pathlib.Path)
    parser.add_argument("--packets", type=int, default=2_500_000)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    folder, packets = arguments.folder, arguments.packets

    present = []
    for tool in tools(arguments.flowloom, folder):
        if shutil.which(tool.program):
            present.append(tool)
        else:
            print(f"skipped: {tool.name} is not installed")

    def make(name, count, snap_length):
        path = folder / name
        text = subprocess.run([arguments.maker, str(path), str(count), str(snap_length)], stdout=subprocess.PIPE, text=True,
                              check=True).stdout
        return path, json.loads(text)

    cores, load = os.cpu_count(), os.getloadavg()[0]
    print(f"{platform.machine()}, {cores} cores, load {load:.1f}; medians of {arguments.runs} runs in turns; CPU is user and system "
          "time; ours includes SHA-256 of the input and the Parquet file")
    good = True
    quick = [tool for tool in present if not tool.small]
    for name, snap_length in (("headers.pcap", 96), ("big.pcap", 65_535)):
        capture, truth = make(name, packets, snap_length)
        costs, right = race(quick, capture, truth, folder, arguments.runs)
        good &= right
        if name == "headers.pcap":
            good &= floors(costs, arguments.flowloom, capture, folder)
        capture.unlink()
    slow = [tool for tool in present if tool.small]
    if slow:
        capture, truth = make("short.pcap", min(packets, TSHARK_PACKETS), 96)
        _, right = race([quick[0], *slow], capture, truth, folder, 1)
        good &= right
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
