#!/usr/bin/env bash
# Opens pages in headless Chromium: reports of the bundled capture, of two runs and of made-up ones (ten million values; a grid of twelve
# runs; seeds; a real link), descriptions of one and of three inputs, and pages of the other commands. usage: report_browser.sh FLOWLOOM MADE_UP_REPORTS
set -euo pipefail
flowloom=$(realpath "$1")
made_up_reports=$(realpath "$2")
here=$(realpath "$(dirname "$0")")

if ! command -v chromium >/dev/null; then
  exec "$here/skips" add "report: reports in a browser" chromium "apt-get install chromium"
fi
axe=()
if script=$("$here/axe_core.sh"); then
  axe=(--axe "$script")
else
  "$here/skips" add "report: reports for readers who cannot see or use a mouse" axe-core "tests/axe_core.sh says why"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
look() {
  echo "$1"
  python3 "$here/report_browser.py" "$work/$1" "${axe[@]}" "${@:2}"
}

capture=$here/../testdata/demo.pcap.gz
"$flowloom" -q run "$capture" -o "$work/one"
"$flowloom" -q run "$capture" -o "$work/two" --rate 105% --queue 100p
"$flowloom" -q report "$work/one" "$work/two" -o "$work/both.html"
look one/report.html
look both.html
"$made_up_reports" "$work/made-up"
# What the report of a run of ten million values may be, and of many runs.
look made-up/large.html --largest 5000000
look made-up/grid.html --largest 5000000
look made-up/seeds.html
look made-up/real-link.html
"$flowloom" -q extract "$capture" -o "$work/workload.parquet"
"$flowloom" -q describe "$capture" --conversations --html "$work/described.html"
"$flowloom" -q describe "$capture" "$work/workload.parquet" "$capture" --html "$work/three.html" --conversations
look described.html
look three.html
"$flowloom" -q fit "$work/workload.parquet" --html "$work/fits.html"
"$flowloom" -q overhead "$capture" --html "$work/overhead.html"
"$flowloom" -q compare "$work/one" --explain --html "$work/explained.html"
"$flowloom" -q sweep "$work/workload.parquet" --vary queue=drop-tail,limit=100p,codel --vary rate=105%,150% --seeds 2 --duration 20s -o "$work/sweep"
for page in fits overhead explained sweep/report; do look "$page.html" --basics; done
