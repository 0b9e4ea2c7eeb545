#!/usr/bin/env bash
# Replays captures with each kind of behaviour of their ends alone (workload.replay, methods A.13), with none and with all, and prints the
# distances of response times / durations / throughput from the left / from the right, as `flowloom compare` has them.
# usage: replay.sh FLOWLOOM CAPTURE...
set -euo pipefail
flowloom=$(realpath "$1")
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
none='writes = false, first-flight = false, acks = false, options = false, syn = false, losses = false, rate = false, reads = false, rtt = "min"'
echo '| capture | none | writes | first-flight | acks | options | syn | losses | rate | reads | rtt | all |'
echo '|---|---|---|---|---|---|---|---|---|---|---|---|'
for capture in "$@"; do
  printf '| %s ' "$(basename "$capture" | cut -d. -f1)"
  for alone in '' writes first-flight acks options syn losses rate reads rtt all; do
    replay=$none
    [ "$alone" = rtt ] || [ "$alone" = all ] && replay=${replay/\"min\"/\"as-seen\"}
    [ "$alone" = all ] && replay=${replay//= false/= true}
    replay=${replay/"${alone:-nothing} = false"/"$alone = true"}
    printf '[workload]\nsource = "%s"\nreplay = { %s }\n' "$(realpath "$capture")" "$replay" >"$work/e.toml"
    # An INVALID run (exit 3) has no distance worth printing.
    "$flowloom" -q run "$work/e.toml" -o "$work/run" --force >/dev/null 2>&1 || true
    printf '| %s ' "$("$flowloom" compare "$work/run" --json 2>/dev/null | python3 -c '
import json, sys
card = {row["metric"]: row["distance"] for row in json.load(sys.stdin)["comparisons"][0]["card"]}
metrics = ["response_time", "duration", "throughput_from_left", "throughput_from_right"]
told = [card.get(metric) for metric in metrics]
print(" ".join("-" if value is None else f"{value:.3f}".lstrip("0") for value in told))')"
  done
  echo '|'
done
