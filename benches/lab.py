"""A lab of its own for a benchmark."""

import re
import subprocess
import sys


def made(flowloom, place):
    """The controller's folder of a new lab in `place`."""
    lab = place / "lab"
    subprocess.run([flowloom, "lab", "init", lab, "--name", "bench"], check=True, capture_output=True)
    return lab


def enrolled(flowloom, lab, name):
    """The folder of a new agent; by files, so that nobody has to listen."""
    folder, request, answer = (lab.parent / f"{name}{ending}" for ending in ("", ".request", ".answer"))

    def do(*words):
        return subprocess.run([flowloom, "lab", *map(str, words)], check=True, capture_output=True, text=True).stdout

    token = do("invite", name, "--dir", lab).strip()
    do("enrol", token, "--dir", folder, "--request", request)
    do("admit", "--dir", lab, "--request", request, "--answer", answer)
    do("enrol", "--dir", folder, "--answer", answer)
    return folder


def begun(flowloom, folder):
    """An agent that listens, and where."""
    words = [flowloom, "agent", "--dir", folder, "--listen", "127.0.0.1:0"]
    agent = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    line = agent.stdout.readline()
    place = re.search(r"127\.0\.0\.1:\d+", line)
    if not place:
        sys.exit(f"an agent said: {line}")
    return agent, place[0]
