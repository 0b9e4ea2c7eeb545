#!/usr/bin/env python3
"""Runs the simulator, ns-3 and ns-2 on the same loads and compares what they find and what it costs. Called by peers.sh."""

import argparse
import json
import os
import pathlib
import platform
import random
import shutil
import statistics
import subprocess
import sys
import typing

import loss_response

HERE = pathlib.Path(__file__).resolve().parent / "peers"

# Floors on the web load: CPU time of a peer over ours, and our memory in MB.
LEAST_SPEED = {"ns-3": 30.0, "ns-2": 20.0}
MOST_MEMORY = 150.0
# How far goodput and mean response time may lie from ours.
TOLERANCE = 0.05
# Ours is short: its CPU time is the median of so many runs.
RUNS = 3
# Web connections start until so many seconds before the end, so that every one of them is answered by then.
TAIL = 1.0
# A frame of ns-3's point-to-point link has 2 bytes around the IP packet where ours, and ns-2's, has Ethernet's 14.
NS3_FRAME, FRAME = 1502, 1514
SEGMENT = 1460
PEERS = ("ns-3", "ns-2")


class Load(typing.NamedTuple):
    """What is run, the same in all three simulators."""

    name: str
    seconds: float
    rate: int
    queue: int
    window: int
    flows: int = 0
    """Bulk flows; 0 is the web load."""
    round_trip: float = 0.0
    gap: float = 0.0
    delayed: bool = True
    sack: bool = True


class Result(typing.NamedTuple):
    """What one simulator said of one load, and its cost."""

    goodput: float
    response: typing.Optional[float]
    cpu: float
    packets: int
    dropped: int
    memory: float


def loads(seconds, without_sack):
    """The three standard loads, the third also without delayed acknowledgements, for `seconds` of simulated time or the part of it
    that is long enough."""
    web = Load("web", seconds / 2, 500_000_000, 65_000, 65_535)
    hundred = Load("100 bulk", seconds, 1_000_000_000, 6_605, 4 << 20, flows=100, round_trip=0.080, gap=0.007)
    yield Load("1 bulk", seconds / 2, 1_000_000_000, 10_000, 4 << 20, flows=1, round_trip=0.020)
    yield hundred
    if without_sack:
        yield hundred._replace(name="100 bulk, no SACK", sack=False)
    yield web
    yield web._replace(name="web, no delayed ACK", seconds=seconds / 4, delayed=False)


def write_vectors(load, path):
    """The connections of `load` as Tmix vectors."""
    with path.open("w", encoding="ascii") as file:
        def connection(index, start, round_trip, request, response):
            file.write(f"SEQ {round(start * 1e6)} 1 {index} {index}\nw {load.window} {load.window}\nr {round(round_trip * 1e6)}\n"
                       f"l 0 0\n> {request}\nt 0\n< {response}\n")

        if load.flows:
            # More than the link carries meanwhile, and less than a 32-bit counter holds.
            response = min(2_000_000_000, round(load.rate / 8 * load.seconds * 1.2))
            for index in range(load.flows):
                connection(index, 0.001 + index * load.gap, load.round_trip, 100, response)
            return
        stream, start, index = random.Random(1), 0.0, 0
        while (start := start + stream.expovariate(1000)) < load.seconds - TAIL:
            connection(index, start, 0.010 + 0.002 * stream.randrange(96), 500, 10_000)
            index += 1


def write_experiment(load, vectors, path):
    """The same for flowloom."""
    path.write_text(f"""title = "{load.name}"
[workload]
source = "{vectors}"
[network]
bottleneck = {{ rate = "{load.rate}bit", delay = "0ms", queue = {{ kind = "drop-tail", limit = "{load.queue}p" }} }}
[tcp]
initial-window = 3
delayed-ack = "{'100ms' if load.delayed else 'off'}"
sack = "{'on' if load.sack else 'off'}"
prr = false
[measure]
duration = "{load.seconds * 1000:.0f}ms"
drain = "0ms"
""", encoding="ascii")


def run(command, folder, allowed=(0,)):
    """Runs `command`: what it printed, CPU seconds and MB at its peak, or None if it ended with a code that is not `allowed`. Memory
    is told by GNU time, as the peak of this interpreter would count for a child otherwise."""
    memory, errors = folder / "memory", folder / "stderr"
    timer = shutil.which("time")
    wrapped = [timer, "-f", "%M", "-o", str(memory), *command] if timer else command
    with (folder / "stdout").open("w+") as stdout, errors.open("w") as stderr:
        process = subprocess.Popen(wrapped, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        stdout.seek(0)
        text = stdout.read()
    if process.returncode not in allowed or not text.strip():
        last = (errors.read_text(errors="replace").strip().splitlines() or ["no message"])[-1]
        print(f"FAILED: {' '.join(command[:3])} ...: {last}")
        return None
    kilobytes = int(memory.read_text().split()[-1]) if timer else usage.ru_maxrss
    return text, usage.ru_utime + usage.ru_stime, kilobytes / 1000


def flowloom(program, load, vectors, folder):
    experiment = folder / "experiment.toml"
    write_experiment(load, vectors, experiment)
    command = [program, "run", str(experiment), "-o", str(folder / "run"), "--force", "--json"]
    # No bulk flow ends, which makes the run invalid as a result (3), not as a measurement of the link.
    done = [run(command, folder, allowed=(0, 3) if load.flows else (0,)) for _ in range(RUNS)]
    if None in done:
        return None
    found = json.loads(done[0][0])
    directions = [found["left_to_right"], found["right_to_left"]]
    return Result(
        goodput=found["throughput"]["goodput_bits_per_second"]["mean"],
        response=None if load.flows else found["response_time_ns"]["mean"] / 1e9,
        cpu=statistics.median(cpu for _, cpu, _ in done),
        packets=sum(direction["offered_packets"] for direction in directions),
        dropped=sum(direction["dropped_packets"] for direction in directions),
        memory=max(memory for _, _, memory in done),
    )


def ns3(python, load, vectors, folder):
    command = [python, str(HERE / "ns3_loads.py"), str(vectors), "--rate", str(load.rate * NS3_FRAME // FRAME),
               "--queue", str(load.queue), "--seconds", str(load.seconds), "--window", str(load.window),
               "--segments-per-ack", "2" if load.delayed else "1", *(["--sack"] if load.sack else [])]
    if (done := run(command, folder)) is None:
        return None
    found = json.loads(done[0].strip().splitlines()[-1])
    # Its own CPU time, so that compiling the application at run time, three to ten seconds, does not count against it.
    return Result(found["goodput"], None if load.flows else found["response"], found["cpu"], found["packets"], found["dropped"],
                  done[2])


def ns2(program, load, vectors, folder):
    if load.flows:
        command = [program, str(HERE / "ns2_bulk.tcl"), str(load.flows), str(load.gap), str(load.round_trip), f"{load.rate}b",
                   str(load.queue), str(load.seconds), str(-(-load.window // SEGMENT)), "Sack" if load.sack else "Newreno"]
        trace = None
    else:
        # Its delayed acknowledgements wait for the next multiple of 100 ms: response times are comparable without them only.
        trace = None if load.delayed else folder / "trace"
        command = [program, str(HERE / "ns2_web.tcl"), str(vectors), f"{load.rate}b", str(load.queue), str(load.seconds),
                   "2" if load.delayed else "1", str(trace or "")]
    if (done := run(command, folder)) is None:
        return None
    found = json.loads(done[0].strip().splitlines()[-1])
    response = mean_response(trace, 10_000) if trace else None
    return Result(found["goodput"], response, done[1], found["packets"], found["dropped"], done[2])


def mean_response(trace, size):
    """Mean time in seconds from the first data of a connection leaving the clients' node to the last byte of its response arriving
    there, out of ns-2's trace of that node's link."""
    asked, answered, received = {}, {}, {}
    with trace.open() as lines:
        for line in lines:
            event, time, source, target, _, length, _, flow = line.split()[:8]
            payload = int(length) - 54
            if payload <= 0:
                continue
            if event == "+" and source == "0":
                asked.setdefault(flow, float(time))
            elif event == "r" and target == "0" and received.get(flow, 0) < size:
                answered[flow] = float(time)
                received[flow] = received.get(flow, 0) + payload
    trace.unlink()
    times = [time - asked[flow] for flow, time in answered.items() if received[flow] >= size]
    return statistics.fmean(times) if times else None


def install_ns3(folder):
    """An interpreter with PyPI's ns3, in a virtual environment that goes with `folder`; None if it cannot be had."""
    python = folder / "ns3" / "bin" / "python"
    print("installing ns3 from PyPI into a temporary environment")
    for command in ([sys.executable, "-m", "venv", str(folder / "ns3")], [str(python), "-m", "pip", "install", "-q", "ns3"],
                    [str(python), "-c", "from ns import ns"]):
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            print(f"skipped: ns-3, {' '.join(command[1:4])} failed: {last}")
            return None
    return str(python)


def shown(result, simulator, load):
    if result is None:
        return f"{load.name:<20} {simulator:<9} {'-':>14}"
    response = "-" if result.response is None else f"{result.response * 1000:.3f}"
    return (f"{load.name:<20} {simulator:<9} {result.goodput / 1e6:14.2f} {response:>16} {result.cpu:8.2f} {result.packets:10,} "
            f"{result.packets / result.cpu:13,.0f} {result.dropped:8,} {result.memory:7.0f}")


class Verdict:
    """Prints what was asked for and what was found, and remembers whether all of it held."""

    def __init__(self):
        self.good = True

    def told(self, holds, text):
        self.good &= holds
        print(f"  {'met     ' if holds else 'NOT MET '} {text}")

    def not_told(self, text):
        self.good = False
        print(f"  NOT TOLD {text}")

    def near(self, what, ours, theirs):
        if ours is None or theirs is None:
            self.not_told(what)
            return
        distance = theirs / ours - 1
        self.told(abs(distance) <= TOLERANCE, f"{what}: {distance:+.2%} (at most {TOLERANCE:.0%} either way)")


def judge(results):
    """Whether goodput and response times agree, and our speed and memory are what they should be."""
    verdict = Verdict()

    def field(load, simulator, name):
        result = results[load].get(simulator)
        return getattr(result, name) if result else None

    print("agreement, theirs against ours")
    for load in results:
        for peer in PEERS:
            # Recoveries without SACK differ too much to ask for this; docs/evidence/validation-peers.md says how.
            if "no SACK" in load:
                continue
            verdict.near(f"{load}, goodput, {peer}", field(load, "flowloom", "goodput"), field(load, peer, "goodput"))
            if load.startswith("web") and not (peer == "ns-2" and load == "web"):
                verdict.near(f"{load}, mean response time, {peer}", field(load, "flowloom", "response"), field(load, peer, "response"))
    print("floors, web load")
    ours = results["web"].get("flowloom")
    for peer, least in LEAST_SPEED.items():
        theirs = results["web"].get(peer)
        if ours and theirs:
            ratio = theirs.cpu / ours.cpu
            verdict.told(ratio >= least, f"CPU time of {peer} over ours: {ratio:.1f} (at least {least:g})")
        else:
            verdict.not_told(f"CPU time of {peer} over ours")
    if ours:
        verdict.told(ours.memory <= MOST_MEMORY, f"our memory: {ours.memory:.0f} MB (at most {MOST_MEMORY:g})")
    else:
        verdict.not_told("our memory")
    return verdict.good


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flowloom", required=True)
    parser.add_argument("--folder", required=True, type=pathlib.Path, help="for what is written on the way")
    parser.add_argument("--seconds", type=float, default=20.0, help="simulated time of the longest load (20), 10 to 30")
    parser.add_argument("--ns3-python", help="an interpreter that has ns3 already")
    parser.add_argument("--only-loss-response", action="store_true", help="leave out the three standard loads")
    parser.add_argument("--without-sack", action="store_true", help="the 100 bulk flows also without SACK, for the record")
    arguments = parser.parse_args()
    if not 10 <= arguments.seconds <= 30:
        parser.error("--seconds: from 10 (slow start is over by then) to 30 (ns-2 counts the bytes of a flow in 32 bits)")
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    good = arguments.only_loss_response or standard_loads(arguments, folder)
    sys.exit(0 if answers_losses(arguments.flowloom, folder) and good else 1)


def answers_losses(flowloom, folder):
    """Whether the profile `classic` answers losses as ns-2 does."""
    if program := shutil.which("ns"):
        return loss_response.compare(run, flowloom, program, folder)
    print("skipped: loss response, ns-2 is not installed")
    return False


def standard_loads(arguments, folder):
    """Runs the standard loads in all simulators; whether all that was asked for holds."""
    simulators = {"flowloom": (flowloom, arguments.flowloom)}
    if python := arguments.ns3_python or install_ns3(folder):
        simulators["ns-3"] = (ns3, python)
    if program := shutil.which("ns"):
        simulators["ns-2"] = (ns2, program)
    else:
        print("skipped: ns-2 is not installed")

    print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; CPU is user and system time: ours of the "
          f"whole process with all records and the report, median of {RUNS} runs; of ns-2 the whole process; of ns-3 the "
          "simulation without imports and set-up")
    print(f"{'load':<20} {'simulator':<9} {'goodput Mbit/s':>14} {'mean response ms':>16} {'CPU s':>8} {'packets':>10} "
          f"{'packets/CPU s':>13} {'dropped':>8} {'RSS MB':>7}")
    results = {}
    for load in loads(arguments.seconds, arguments.without_sack):
        vectors = folder / "load.cvec"
        write_vectors(load, vectors)
        results[load.name] = {}
        for simulator, (simulate, program) in simulators.items():
            results[load.name][simulator] = simulate(program, load, vectors, folder)
            print(shown(results[load.name][simulator], simulator, load), flush=True)
    return judge(results)


if __name__ == "__main__":
    main()
