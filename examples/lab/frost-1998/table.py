#!/usr/bin/env python3
"""The table of the runs of run.sh: table.py OUT [--json | --svg FILE]"""
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


def picture(rows):
    """Loss and jitter of both targets against the load, with and without pacing."""
    width, height, left, top = 640, 430, 60, 40
    colours = {"unpaced": "#d55e00", "paced": "#0072b2"}
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">']
    out.append(f'<rect width="{width}" height="{height}" fill="white"/>')
    panels = [("udp", "lost_percent"), ("tcp", "lost_percent"), ("udp", "jitter_ms"), ("tcp", "jitter_ms")]
    for number, (target, key) in enumerate(panels):
        x, y = left + 310 * (number % 2), top + 200 * (number // 2)
        most = 1.1 * max(row[key] for row in rows if key in row)
        what = "target lost, %" if key == "lost_percent" else "jitter of the target, ms"
        out.append(f'<text x="{x}" y="{y - 10}">{what} ({target.upper()})</text>')
        for share in (0, 0.5, 1):
            at = y + 130 * (1 - share)
            out.append(f'<line x1="{x}" x2="{x + 240}" y1="{at:.1f}" y2="{at:.1f}" stroke="#ddd"/>')
            out.append(f'<text x="{x - 6}" y="{at + 4:.1f}" text-anchor="end" fill="#555">{most * share:.1f}</text>')
        for place, load in enumerate(("none", "low", "high")):
            out.append(f'<text x="{x + 40 + 80 * place}" y="{y + 146}" text-anchor="middle" fill="#555">{load}</text>')
            for row in rows:
                if (row["target"], row["load"]) != (target, load):
                    continue
                bar = 130 * row[key] / most
                at = x + 40 + 80 * place + (-26 if row["pacing"] == "unpaced" else 2)
                colour = colours[row["pacing"]]
                out.append(f'<rect x="{at}" y="{y + 130 - bar:.1f}" width="24" height="{max(bar, 1):.1f}" fill="{colour}"/>')
    for place, (pacing, text) in enumerate((("unpaced", "background as it is sent"), ("paced", "background paced"))):
        out.append(f'<rect x="{left + 180 * place}" y="{height - 24}" width="12" height="12" fill="{colours[pacing]}"/>')
        out.append(f'<text x="{left + 18 + 180 * place}" y="{height - 14}">{text}</text>')
    return "\n".join(out + ["</svg>", ""])


def main(out):
    order = {"none": 0, "low": 1, "high": 2}
    rows = [row(run) for run in pathlib.Path(out).iterdir() if (run / "results.jsonl").is_file()]
    rows.sort(key=lambda one: (one["target"] != "udp", order[one["load"]], one["pacing"] == "paced"))
    if "--json" in sys.argv:
        print(json.dumps(rows))
        return
    if "--svg" in sys.argv:
        pathlib.Path(sys.argv[sys.argv.index("--svg") + 1]).write_text(picture(rows))
        return
    print("| target | background | paced | offered, Mbit/s | carried, Mbit/s | target lost, % | jitter of the target, ms | lost at the link, % |")
    print("|---|---|---|--:|--:|--:|--:|--:|")
    for one in rows:
        paced = "-" if one["load"] == "none" else "yes" if one["pacing"] == "paced" else "no"
        numbers = (one[key] for key in ("offered_mbit_s", "carried_mbit_s", "lost_percent", "jitter_ms", "link_lost_percent"))
        print(f"| {one['target']} | {one['load']} | {paced} | " + " | ".join(f"{number:.2f}" for number in numbers) + " |")


main(sys.argv[1])
