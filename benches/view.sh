#!/usr/bin/env bash
# Times of answers of `flowloom view` about a store of PORTS x DAYS x 1,440 samples (190 x 365 are 100 million), by curl on this host: for each
# zoom the median, in milliseconds, of 9 questions at different places. The store is kept in STORE and made if it is not there.
# usage: benches/view.sh [STORE [PORTS [DAYS]]]
set -euo pipefail
cd "$(dirname "$0")/.."
store=${1:-target/busy-monitor} ports=${2:-190} days=${3:-365}
cargo build --release --locked -q -p flowloom-cli
cargo build --release --locked -q -p flowloom-view --example busy_monitor
[ -e "$store/monitor.json" ] || time "${CARGO_TARGET_DIR:-target}/release/examples/busy_monitor" "$store" "$ports" "$days"
link=$(mktemp)
"${CARGO_TARGET_DIR:-target}/release/flowloom" view "$store" >"$link" &
server=$!
trap 'kill "$server" 2>/dev/null || true; rm -f "$link"' EXIT
until [ -s "$link" ]; do sleep 0.05; done
python3 - "$(cat "$link")" "$days" "$server" <<'PYTHON'
import sys, time, json, statistics, urllib.request

link, days, server = sys.argv[1].rstrip("/"), int(sys.argv[2]), sys.argv[3]
DAY, START = 86_400_000_000_000, 20_000 * 86_400_000_000_000

def ask(path):
    begun = time.perf_counter()
    with urllib.request.urlopen(link + path) as answer:
        text = answer.read()
    return 1e3 * (time.perf_counter() - begun), text

_, told = ask("/api/monitor?monitor=0")
ids = [one["id"] for one in json.loads(told)["series"]]
print(f"{len(ids)} series, {len(ids) * days * 1440:,} samples")
print("period       series  median ms  longest ms  points  kB")
for name, length in [("year", 365), ("80 days", 80), ("30 days", 30), ("week", 7), ("day", 1), ("hour", 1 / 24)]:
    for count in (1, 8):
        took = []
        for place in range(9):
            length_ns = int(min(length, days) * DAY)
            begin = START + int((days * DAY - length_ns) * place / 8)
            chosen = "".join(f"&series={ids[(place * 17 + step) % len(ids)]}" for step in range(count))
            ms, text = ask(f"/api/period?monitor=0{chosen}&from={begin}&to={begin + length_ns}&points=1500")
            took.append(ms)
        points = max(len(curve["points"]["start_ns"]) for curve in json.loads(text)["curves"])
        print(f"{name:<12} {count:>6}  {statistics.median(took):>9.0f}  {max(took):>10.0f}  {points:>6}  {len(text) // 1000}")
year = f"from={START}&to={START + days * DAY}"
for name, path in [
    ("sum of 8", f"/api/period?monitor=0{''.join(f'&series={one}' for one in ids[:8])}&{year}&points=1500&sum=true"),
    ("bursts", f"/api/bursts?monitor=0&series={ids[3]}&{year}&above=1000000"),
    ("correlation", f"/api/correlation?monitor=0&series={ids[3]}&series={ids[4]}&{year}"),
    ("62 days", f"/api/days?monitor=0&series={ids[3]}&from={START}&to={START + min(62, days) * DAY}"),
]:
    took = sorted(ask(path)[0] for _ in range(5))
    print(f"{name:<12} {took[2]:>18.0f}  {took[-1]:>10.0f}")
with open(f"/proc/{server}/status") as status:
    print(next(line.strip() for line in status if line.startswith("VmHWM")))
PYTHON
