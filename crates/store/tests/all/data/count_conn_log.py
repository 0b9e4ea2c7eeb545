"""Counts conn.log, TSV or JSON, plain or gzip, without any of Flowloom's code.

Prints: rows; TCP rows with data and with packets both ways, and their payload of each end; UDP rows with data.
"""

import gzip
import json
import sys


def rows(path):
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    fields = []
    with (gzip.open if packed else open)(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            line = line.rstrip("\n")
            if line.startswith("{"):
                yield json.loads(line)
            elif line.startswith("#fields"):
                fields = line.split("\t")[1:]
            elif line and not line.startswith("#"):
                values = zip(fields, line.split("\t"))
                yield {name: value for name, value in values if value not in ("-", "(empty)")}


counts = {"rows": 0, "tcp": 0, "initiator": 0, "acceptor": 0, "udp": 0}
for row in rows(sys.argv[1]):
    counts["rows"] += 1
    sent = [int(row.get(name, 0)) for name in ("orig_bytes", "resp_bytes")]
    one_way = any(int(row.get(name, 1)) == 0 for name in ("orig_pkts", "resp_pkts"))
    if row["proto"] not in ("tcp", "udp") or sum(sent) == 0 or (row["proto"] == "tcp" and one_way):
        continue
    counts[row["proto"]] += 1
    if row["proto"] == "tcp":
        counts["initiator"] += sent[0]
        counts["acceptor"] += sent[1]
print(*counts.values())
