#!/usr/bin/env python3
"""200 agents, each a process of its own, under one controller: from the start of `lab run` to the start of the last leaf, and the
memory of an agent; all commanded by the controller, and by ten of them that command twenty each.

usage: agents.py FLOWLOOM
Exits with 1 if an aim is missed: 3 s to the start, 20 MB for the agent that takes most, of the
program's pages, which all share, its share.
"""

import json
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lab import begun, enrolled, made

AGENTS = 200
COMMANDING = 10
AIM_S = 3.0
AIM_MB = 20.0


def memory_mb(process):
    """What an agent holds of its own, its share of all that agents hold, and all that it sees of both."""
    rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
    return [int(re.search(rf"^{name}:\s+(\d+) kB", rollup, re.M)[1]) / 1e3 for name in ("Pss_Anon", "Pss", "Rss")]


def main():
    flowloom = str(Path(sys.argv[1]).resolve())
    status = 0

    def aim(met, text):
        nonlocal status
        status |= not met
        print(f"  {'met ' if met else 'MISS'}  {text}")

    leaf = "sleep a{} {{ duration = 0.5; }}".format
    share = AGENTS // COMMANDING
    blocks = (" ".join(map(leaf, range(at, AGENTS, COMMANDING))) for at in range(COMMANDING))
    scripts = {
        "by the controller": " ".join(map(leaf, range(AGENTS))),
        f"by {COMMANDING} agents, {share} each": " ".join(f"parallel a{at} {{ {block} }}" for at, block in enumerate(blocks)),
    }
    with tempfile.TemporaryDirectory(prefix="flowloom-agents.") as place:
        place = Path(place)
        lab = made(flowloom, place)
        agents = []
        try:
            for at in range(AGENTS):
                agents.append(begun(flowloom, enrolled(flowloom, lab, f"a{at}")))
            hosts = "".join(f'a{at} = "{where}"\n' for at, (_, where) in enumerate(agents))
            (place / "hosts.toml").write_text(f"[hosts]\n{hosts}")
            for at, (how, script) in enumerate(scripts.items()):
                (place / "script.ns").write_text(f"parallel {{ {script} }}")
                results = place / f"results-{at}"
                words = ["lab", "run", place / "script.ns", "--dir", lab, "--hosts", place / "hosts.toml", "-q", "-o", results]
                # The clock of the times in experiment.json.
                began_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
                subprocess.run([flowloom, *map(str, words)], check=True, capture_output=True)
                leaves = json.loads((results / "experiment.json").read_text())["leaves"]
                started = [leaf["started"]["not_after_ns"] - began_ns for leaf in leaves]
                meant = [leaf["meant_to_start_ns"] - began_ns for leaf in leaves]
                unsure = max(leaf["started"]["not_after_ns"] - leaf["started"]["not_before_ns"] for leaf in leaves) / 2
                late = max(start - wanted for start, wanted in zip(started, meant))
                seconds = max(started) / 1e9
                print(f"  {len(leaves)} agents commanded {how}: meant to start after {max(meant) / 1e9:.2f} s,"
                      f" at most {late / 1e6:.1f} ms after that, known to {unsure / 1e6:.1f} ms")
                aim(len(leaves) == AGENTS and seconds <= AIM_S, f"{seconds:.2f} s to the start of the last (aim {AIM_S:g} s)")
            own, shares, seen = zip(*(memory_mb(agent) for agent, _ in agents))
            aim(max(shares) <= AIM_MB, f"{sum(shares) / AGENTS:.1f} MB an agent, {max(shares):.1f} MB the largest (aim {AIM_MB:g} MB):"
                f" {sum(own) / AGENTS:.1f} MB of its own, the program shared; {max(seen):.1f} MB for one alone on its host")
        finally:
            for agent, _ in agents:
                agent.send_signal(signal.SIGTERM)
            for agent, _ in agents:
                agent.wait()
    sys.exit(status)


main()
