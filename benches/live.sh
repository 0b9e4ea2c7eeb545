#!/usr/bin/env bash
# Live runs beside what they were asked for, and beside the simulator (docs/evidence/live.md). Needs root and a quiet machine.
# usage: live.sh [fidelity|beside]    `make bench-live` builds first and does both: some 35 minutes
#   DURATION=60 SEEDS="1 2 3 4 5" shorten `beside`; MINUTES=5 `fidelity`; KEEP=FOLDER keeps the runs
set -euo pipefail
cd "$(dirname "$0")/.."
flowloom=${FLOWLOOM:-target/release/flowloom}
examples=${EXAMPLES:-target/release/examples}
seconds=${DURATION:-60}
seeds=${SEEDS:-1 2 3 4 5}
minutes=${MINUTES:-5}
work=${KEEP:-$(mktemp -d)}
mkdir -p "$work"
[ -n "${KEEP:-}" ] || trap 'rm -rf "$work"' EXIT
status=0

# experiment FILE SOURCE RATE CONGESTION
experiment() {
  cat >"$1" <<EXPERIMENT
[workload]
source = "$(realpath "$2")"
[network]
bottleneck = { rate = "$3" }
[tcp]
profile = "linux"
congestion = "$4"
[measure]
drain = "5s"
[run]
seeds = [1]
EXPERIMENT
}

# A run that is not VALID (exit 3) is one all the same: its verdict is printed.
replay() { "$flowloom" -q run "$@" --force >/dev/null 2>"$work/said" || [ $? = 3 ] || { cat "$work/said" >&2; return 1; }; }

fidelity() {
  "$examples/mixed_minutes" "$work/mixed.parquet" $((60 * minutes)) 15
  for source in testdata/demo.pcap.gz "$work/mixed.parquet"; do
    echo "== fidelity: $(basename "$source")"
    experiment "$work/x.toml" "$source" 1gbit cubic
    replay "$work/x.toml" -o "$work/sim"
    replay "$work/x.toml" --on live --pcap -o "$work/live"
    "$flowloom" -q extract "$work/live/link.pcap" -o "$work/again.parquet" --hosts captured --force
    workload=$source
    [ "$source" = "$work/mixed.parquet" ] || workload=$work/live/workload.parquet
    "$examples/live_fidelity" "$work/live" "$work/sim" "$workload" "$work/again.parquet" || status=1
    python3 benches/live.py verdict "$work/live"
  done
}

beside() {
  echo "== beside the simulator: workloads of $seconds s, seeds $seeds"
  for congestion in cubic newreno; do
    for link in room tight; do
      for seed in $seeds; do
        folder="$work/$congestion-$link-$seed"
        [ "$seed" = "${seeds%% *}" ] && rm -f "$work/$congestion-$link-"*.json
        rate=1gbit
        [ $link = room ] || rate=$(python3 benches/live.py tight "$work/$congestion-room-$seed-sim")
        "$examples/mixed_minutes" "$work/$seed.parquet" "$seconds" 20 "$seed"
        experiment "$work/x.toml" "$work/$seed.parquet" "$rate" "$congestion"
        replay "$work/x.toml" -o "$folder-sim"
        replay "$work/x.toml" --on live -o "$folder-live"
        "$flowloom" compare "$folder-sim" "$folder-live" --json >"$folder.json"
      done
      python3 benches/live.py beside "$congestion, $link" "$work/$congestion-$link-" || status=1
    done
  done
}

case ${1:-all} in
  fidelity) fidelity ;;
  beside) beside ;;
  all) fidelity; beside ;;
  *) echo "usage: live.sh [fidelity|beside]" >&2; exit 2 ;;
esac
exit $status
