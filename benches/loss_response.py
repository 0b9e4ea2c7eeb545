"""Loss response of the profile `classic` beside ns-2: mean windows over a path that loses data and never queues. Called by sim_peers.py."""

import json
import math
import pathlib
import statistics
import typing

SCRIPT = pathlib.Path(__file__).resolve().parent / "peers" / "ns2_loss.tcl"

LOSSES = (0.001, 0.003, 0.01, 0.03)
ROUND_TRIP = 0.1
SEGMENT = 1000
# How far our mean window may lie from ns-2's.
TOLERANCE = 0.10
# Each seed runs until about so many segments are lost.
LOSSES_PER_SEED = 1500
SEEDS = range(1, 11)


class Recovery(typing.NamedTuple):
    """A way to recover from losses, as it is called in either simulator."""

    name: str
    congestion: str
    sack: bool
    agent: str

    def sink(self, delayed):
        """The receiver in ns-2."""
        parts = ["Agent/TCPSink", *(["Sack1"] if self.sack else []), *(["DelAck"] if delayed else [])]
        return "/".join(parts)


RECOVERIES = (
    Recovery("Reno", "reno", False, "Agent/TCP/Reno"),
    Recovery("NewReno", "newreno", False, "Agent/TCP/Newreno"),
    Recovery("SACK", "newreno", True, "Agent/TCP/Sack1"),
)


class Mean(typing.NamedTuple):
    """The mean of the seeds and its standard error."""

    value: float
    error: float


def mean(values):
    return Mean(statistics.fmean(values), statistics.stdev(values) / math.sqrt(len(values)))


def seconds(loss):
    """Simulated time in which about LOSSES_PER_SEED segments are lost, by the square-root formula."""
    return round(LOSSES_PER_SEED / loss / math.sqrt(1.5 / loss) * ROUND_TRIP)


def ours(run, program, recovery, delayed, loss, seed, folder):
    """Segments that our receiver got per round trip."""
    experiment = folder / "loss.toml"
    experiment.write_text(f"""title = "loss response"
[network]
bottleneck = {{ rate = "100gbit", delay = "{ROUND_TRIP * 500:g}ms", queue = {{ kind = "drop-tail", limit = "1000000p" }} }}
[network.path]
from-left = {{ loss = "{loss * 100:g}%" }}
[tcp]
profile = "classic"
congestion = "{recovery.congestion}"
sack = "{'on' if recovery.sack else 'off'}"
{'' if delayed else 'delayed-ack = "off"'}
[[sources]]
name = "bulk"
kind = "bulk"
mss = {SEGMENT}
window = "1g"
[measure]
duration = "{seconds(loss)}s"
drain = "0ms"
[run]
seeds = [{seed}]
""", encoding="ascii")
    done = run([program, "run", str(experiment), "-o", str(folder / "loss"), "--force", "--json"], folder)
    if done is None:
        return None
    goodput = json.loads(done[0])["throughput"]["goodput_bits_per_second"]["mean"]
    return goodput / 8 / SEGMENT * ROUND_TRIP


def theirs(run, program, recovery, delayed, loss, seed, folder):
    """Segments that ns-2's sender saw acknowledged per round trip."""
    done = run([program, str(SCRIPT), recovery.agent, recovery.sink(delayed), str(loss), str(ROUND_TRIP), str(seconds(loss)), str(seed)],
               folder)
    return None if done is None else json.loads(done[0])["segments"] * ROUND_TRIP / seconds(loss)


def compare(run, flowloom, ns2, folder):
    """Prints a row for each cell; whether all of them are within the tolerance. `run` runs a command."""
    print(f"loss response: round trip {ROUND_TRIP * 1000:.0f} ms, {len(SEEDS)} seeds of about {LOSSES_PER_SEED:,} losses each; mean window in "
          "segments and its standard error")
    print(f"{'recovery':<8} {'ACKs':<8} {'loss':>6} {'flowloom':>16} {'ns-2':>16} {'ours over theirs':>17}")
    outside = 0
    for recovery in RECOVERIES:
        for delayed in (False, True):
            for loss in LOSSES:
                found = []
                for simulate, program in ((ours, flowloom), (theirs, ns2)):
                    values = [simulate(run, program, recovery, delayed, loss, seed, folder) for seed in SEEDS]
                    if None in values:
                        return False
                    found.append(mean(values))
                own, other = found
                distance = own.value / other.value - 1
                outside += abs(distance) > TOLERANCE
                print(f"{recovery.name:<8} {'delayed' if delayed else 'each':<8} {loss:>6g} {own.value:>8.2f} +- {own.error:4.2f} "
                      f"{other.value:>8.2f} +- {other.error:4.2f} {distance:>+16.1%}{'' if abs(distance) <= TOLERANCE else '  OUTSIDE'}",
                      flush=True)
    cells = len(RECOVERIES) * 2 * len(LOSSES)
    print(f"  {'NOT MET' if outside else 'met    '} {cells - outside} of {cells} cells within {TOLERANCE:.0%}")
    return outside == 0
