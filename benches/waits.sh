#!/usr/bin/env bash
# Replays captures under the four wait settings (methods A.5.9-10) and prints the distance of each replay from its
# original, as `flowloom compare` has it. usage: waits.sh FLOWLOOM CAPTURE...
set -euo pipefail
flowloom=$(realpath "$1")
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '%-34s %10s %10s %10s %10s\n' capture 0,none 0,ostt 500,none 500,ostt
for capture in "$@"; do
  printf '%-34s' "$(basename "$capture")"
  for min in 0ms 500ms; do
    for correct in none ostt; do
      # An INVALID run (exit 3) has no distance worth printing.
      if "$flowloom" -q run "$capture" -o "$work/run" --force --wait-min $min --wait-correct $correct >/dev/null 2>&1; then
        distance=$("$flowloom" compare "$work/run" --json |
          python3 -c 'import json, sys; d = json.load(sys.stdin)["comparisons"][0]["distance_v1"]; print("-" if d is None else f"{d:.4f}")' 2>/dev/null || echo -)
      else
        distance=-
      fi
      printf ' %10s' "$distance"
    done
  done
  echo
done
