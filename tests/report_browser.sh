#!/usr/bin/env bash
# Opens pages in headless Chromium: reports of the bundled capture and of two runs, descriptions of one and of three inputs. usage: report_browser.sh FLOWLOOM
set -euo pipefail
flowloom=$(realpath "$1")
here=$(realpath "$(dirname "$0")")

if ! command -v chromium >/dev/null; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing chromium for the report test"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null
  else
    echo "the report test needs Chromium: sudo apt-get install chromium" >&2
    exit 1
  fi
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
capture=$here/../testdata/demo.pcap.gz
"$flowloom" -q run "$capture" -o "$work/one"
"$flowloom" -q run "$capture" -o "$work/two" --rate 105% --queue 100p
"$flowloom" -q report "$work/one" "$work/two" -o "$work/both.html"
python3 "$here/report_browser.py" "$work/one/report.html"
python3 "$here/report_browser.py" "$work/both.html"
"$flowloom" -q extract "$capture" -o "$work/workload.parquet"
"$flowloom" -q describe "$capture" --conversations --html "$work/described.html"
"$flowloom" -q describe "$capture" "$work/workload.parquet" "$capture" --html "$work/three.html" --conversations
python3 "$here/report_browser.py" "$work/described.html"
python3 "$here/report_browser.py" "$work/three.html"
