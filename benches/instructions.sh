#!/usr/bin/env bash
# Instructions that a tenth of each standard load takes, counted by valgrind's callgrind: the same from run to run on one
# machine, whatever else it does. Exits with 1 if one is more than 5 % above benches/instructions.txt.
#
#   benches/instructions.sh          compare
#   benches/instructions.sh renew    write new ones, after a change that is worth its instructions (say so in the commit),
#                                    or with another compiler
set -uo pipefail
cd "$(dirname "$0")/.."
kept=benches/instructions.txt
loads=target/release/examples/standard_loads
if ! command -v valgrind >/dev/null; then
  echo "skipped: valgrind is missing (apt-get install valgrind)"
  exit 0
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
count() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null --log-file="$log" "$loads" --tenth "$1" >/dev/null || return 1
  sed -n 's/.*Collected : \([0-9]*\).*/\1/p' "$log"
}
if [ "${1:-}" = renew ]; then
  for load in bulk hundred web crowd; do
    found=$(count "$load") || exit 1
    echo "$load $found"
  done >"$kept.new" && mv "$kept.new" "$kept" && cat "$kept"
  exit
fi
status=0
while read -r load instructions; do
  found=$(count "$load")
  if [ -z "$found" ]; then
    echo "$load: callgrind counted nothing" >&2
    status=1
    continue
  fi
  awk -v load="$load" -v was="$instructions" -v is="$found" 'BEGIN {
    change = 100 * (is / was - 1)
    printf "%-8s %14d instructions, %+.1f %% (at most +5.0 %%)%s\n", load, is, change, (change > 5 ? "  MISSED" : "")
    exit (change > 5)
  }' || status=1
done <"$kept"
exit $status
