#!/usr/bin/env bash
# Instructions that a tenth of each standard load takes, and the extraction of two captures: the bundled one (`extract-demo`) and a made-up one of 300,000
# packets (`extract-link`, by the example busy_link). Counted by valgrind's callgrind: the same from run to run on one machine, whatever else it does.
# Exits with 1 if one is more than 5 % above benches/instructions.txt.
#
#   benches/instructions.sh          compare
#   benches/instructions.sh renew    write new ones, after a change that is worth its instructions (say so in the commit),
#                                    or with another compiler
set -uo pipefail
cd "$(dirname "$0")/.."
kept=benches/instructions.txt
release=target/release
if ! command -v valgrind >/dev/null; then
  echo "skipped: valgrind is missing (apt-get install valgrind)"
  exit 0
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
extract() {
  "${@:2}" "$release/flowloom" extract "$1" -o "$scratch/out.parquet" --threads 1 --force
}
counted() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null --log-file="$scratch/log" "$@"
}
count() {
  case $1 in
    extract-demo) extract testdata/demo.pcap.gz counted ;;
    extract-link)
      "$release/examples/busy_link" "$scratch/link.pcap" 300000 96 && extract "$scratch/link.pcap" counted ;;
    *) counted "$release/examples/standard_loads" --tenth "$1" ;;
  esac >/dev/null 2>&1 || return 1
  sed -n 's/.*Collected : \([0-9]*\).*/\1/p' "$scratch/log"
}
if [ "${1:-}" = renew ]; then
  for load in bulk hundred web crowd extract-demo extract-link; do
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
    printf "%-12s %14.0f instructions, %+.1f %% (at most +5.0 %%)%s\n", load, is, change, (change > 5 ? "  MISSED" : "")
    exit (change > 5)
  }' || status=1
done <"$kept"
exit $status
