"""What benches/live.sh prints of run folders.

live.py verdict RUN             the verdict of a live run, and how late it was
live.py tight RUN               105 % of what a simulation with room on the link carried in its busier direction, as a rate
live.py beside TITLE PREFIX     live runs beside simulations of the same, PREFIX1-sim, PREFIX1-live and PREFIX1.json and so on;
                                exits with 1 if an aim is missed
"""

import glob
import json
import math
import statistics
import sys

# Shift-tolerant KS distance (methods M.6) that durations and response times may have.
CLOSE = 0.1
# Mean queues may differ by so much, or lie within the interval of the simulations.
QUEUE = 0.2
# Student's t for 95 %, by degrees of freedom.
T = {1: 12.71, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}


def run(folder):
    with open(f"{folder}/run.json", encoding="utf-8") as file:
        return json.load(file)


def interval(values):
    """The mean, and half the width of its interval of 95 %."""
    n = len(values)
    if n < 2:
        return statistics.fmean(values), math.nan
    return statistics.fmean(values), T.get(n - 1, 1.96) * statistics.stdev(values) / math.sqrt(n)


def verdict(folder):
    live = run(folder)
    late = {what: live["live"][what] for what in ("releases", "starts", "waits")}
    told = ", ".join(f"{what} {one['p50'] / 1e3:.0f} us / {one['p99'] / 1e6:.2f} ms" for what, one in late.items())
    print(f"{'verdict; late by, median / 99 %':<46} {live['verdict']}; {told}; host busy {live['live']['busy_share']:.0%}")


def tight(folder):
    throughput = run(folder)["summary"]["throughput"]
    busier = max(throughput[f"{way}_bits_per_second"]["mean"] for way in ("left_to_right", "right_to_left"))
    print(f"{1.05 * busier / 1e3:.0f}kbit")


def beside(title, prefix):
    names = sorted(name[: -len(".json")] for name in glob.glob(f"{glob.escape(prefix)}*.json"))
    pairs = [(run(f"{name}-sim"), run(f"{name}-live")) for name in names]
    distances = {"duration": [], "response_time": []}
    for name in names:
        with open(f"{name}.json", encoding="utf-8") as file:
            for difference in json.load(file)["comparisons"][0]["differences"]:
                if difference["metric"] in distances:
                    distances[difference["metric"]].append(difference["tolerant_ks"])
    good = True
    words = []
    for metric, values in distances.items():
        mean, half = interval(values)
        good &= max(values) <= CLOSE
        words.append(f"{metric} {mean:.3f} +- {half:.3f} (worst {max(values):.3f})")
    queues = [[one["summary"]["queue_packets"]["mean"] for one in pair] for pair in pairs]
    (sim, half), (live, live_half) = (interval(list(column)) for column in zip(*queues))
    within = abs(live - sim) <= max(half if half == half else 0, QUEUE * sim)
    # A link with room has next to no queue, and a share of that says nothing.
    good &= within or max(sim, live) < 1
    words.append(f"mean queue {live:.2f} +- {live_half:.2f}, simulator {sim:.2f} +- {half:.2f}")
    packets = [live["summary"]["packets"] / sim["summary"]["packets"] - 1 for sim, live in pairs]
    words.append(f"packets {statistics.fmean(packets):+.1%}")
    words.append("live " + " ".join(live["verdict"] for _, live in pairs))
    print(f"{title}: " + "; ".join(words) + ("" if good else "  MISSED"))
    return good


def main():
    match sys.argv[1:]:
        case ["verdict", folder]:
            verdict(folder)
        case ["tight", folder]:
            tight(folder)
        case ["beside", title, prefix]:
            sys.exit(0 if beside(title, prefix) else 1)
        case _:
            sys.exit(__doc__)


main()
