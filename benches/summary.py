#!/usr/bin/env python3
"""CPU and memory of describing and reporting a run of 4.7 million connections, and its page drawn by a browser.

usage: summary.py FLOWLOOM LARGE_RUN
Exits with 1 if a floor is missed: 20 CPU seconds and 500 MB for the summary, 5 MB for the report, every chart drawn.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def measured(words, **options):
    """Output, CPU seconds, megabytes and wall seconds of a command."""
    began = time.monotonic()
    process = subprocess.Popen(words, stdout=subprocess.PIPE, **options)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{words[0]} {words[1]} failed with {status}")
    return out, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3, time.monotonic() - began


def main():
    flowloom, maker = sys.argv[1:3]
    status = 0

    def floor(met, text):
        nonlocal status
        status |= not met
        print(f"  {'met ' if met else 'MISS'}  {text}")

    with tempfile.TemporaryDirectory(prefix="flowloom-summary.") as folder:
        run, page = Path(folder, "run"), Path(folder, "report.html")
        measured([maker, str(run)])
        out, cpu, megabytes, _ = measured([flowloom, "describe", str(run), "--json"])
        started = json.loads(out)["summary"]["connections"]["started"]
        floor(cpu <= 20, f"{started:,} connections described in {cpu:.1f} CPU seconds (at most 20)")
        floor(megabytes <= 500, f"in {megabytes:.0f} MB (at most 500)")
        _, cpu, megabytes, _ = measured([flowloom, "-q", "report", str(run), "-o", str(page)])
        size = page.stat().st_size / 1e6
        print(f"        reported in {cpu:.1f} CPU seconds and {megabytes:.0f} MB")
        floor(size <= 5, f"report of {size:.2f} MB (at most 5)")
        if shutil.which("chromium") is None:
            sys.exit("chromium is missing: apt-get install chromium")
        words = ["chromium", "--headless=new", "--disable-gpu", "--no-first-run", "--dump-dom", page.as_uri()]
        if os.getuid() == 0:
            words.insert(1, "--no-sandbox")
        out, cpu, _, wall = measured(words, stderr=subprocess.DEVNULL)
        text = out.decode()
        figures = json.loads(re.search(r'id="figures">(.*?)</script>', page.read_text(), re.S).group(1))
        # What report.js draws takes the place of the still pictures, and has axes of its own.
        drawn = text.count('class="chart"')
        floor(drawn >= len(figures) > 0, f"{drawn} of {len(figures)} charts drawn by Chromium in {wall:.1f} s ({cpu:.1f} CPU seconds)")
    return status


sys.exit(main())
