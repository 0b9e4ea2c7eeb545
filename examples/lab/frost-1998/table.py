#!/usr/bin/env python3
"""The table of the runs of run.sh: table.py OUT"""
import csv
import json
import pathlib
import sys


def reports(run):
    lines = map(json.loads, (run / "results.jsonl").read_text().splitlines())
    return {line["node"].split(" ")[1]: line["report"] for line in lines}


def row(run):
    target, load, pacing = run.name.split("-")
    found = reports(run)
    path, source, sink, watch = (found[f"1.{number}"]["results"] for number in (1, 2, 3, 4))
    if target == "udp":
        lost = 1 - sink["datagrams"]["received"] / source["calls"]
    else:
        segments = watch["segments"]
        lost = segments["lost_before"] / (segments["data"] + segments["lost_before"])
    arrivals = watch["arrivals"]
    jitter_ns = (arrivals["squares_ns2"] / (arrivals["count"] - 1)) ** 0.5
    with open(run / found["1.1"]["file"]["name"]) as table:
        # While the target sends: its last packet to be on the safe side.
        bins = [one for one in csv.DictReader(table) if one["from"] == "left" and int(one["time_ns"]) < source["writes_ns"][1]]
    seconds = source["writes_ns"][1] / 1e9
    offered, carried = (sum(int(one[key]) for one in bins) * 8 / seconds / 1e6 for key in ("offered_bytes", "carried_bytes"))
    left = path["from_left"]
    return {
        "target": target,
        "load": load,
        "pacing": pacing,
        "offered_mbit_s": offered,
        "carried_mbit_s": carried,
        "lost_percent": 100 * lost,
        "jitter_ms": jitter_ns / 1e6,
        "link_lost_percent": 100 * left["dropped"] / left["came"],
        "late_p99_ms": path["lateness"]["p99_ns"] / 1e6,
        "unaccounted": path["unaccounted"],
    }


def main(out):
    order = {"none": 0, "low": 1, "high": 2}
    rows = [row(run) for run in pathlib.Path(out).iterdir() if (run / "results.jsonl").is_file()]
    rows.sort(key=lambda one: (one["target"] != "udp", order[one["load"]], one["pacing"] == "paced"))
    if "--json" in sys.argv:
        print(json.dumps(rows))
        return
    print("| target | background | paced | offered, Mbit/s | carried, Mbit/s | target lost, % | jitter of the target, ms | lost at the link, % |")
    print("|---|---|---|--:|--:|--:|--:|--:|")
    for one in rows:
        paced = "-" if one["load"] == "none" else "yes" if one["pacing"] == "paced" else "no"
        numbers = (one[key] for key in ("offered_mbit_s", "carried_mbit_s", "lost_percent", "jitter_ms", "link_lost_percent"))
        print(f"| {one['target']} | {one['load']} | {paced} | " + " | ".join(f"{number:.2f}" for number in numbers) + " |")


main(sys.argv[1])
