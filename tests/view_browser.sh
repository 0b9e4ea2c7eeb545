#!/usr/bin/env bash
# Opens the pages of `flowloom view` in headless Chromium, over made-up folders: a monitor of a year, runs, a sweep.
# usage: view_browser.sh FLOWLOOM MADE_UP_FOLDERS [--pictures DIR]
set -euo pipefail
flowloom=$(realpath "$1")
made_up_folders=$(realpath "$2")
here=$(realpath "$(dirname "$0")")

if ! command -v chromium >/dev/null; then
  exec "$here/skips" add "view: pages in a browser" chromium "apt-get install chromium"
fi
axe=()
if script=$("$here/axe_core.sh"); then
  axe=(--axe "$script")
else
  "$here/skips" add "view: pages for readers who cannot see or use a mouse" axe-core "tests/axe_core.sh says why"
fi
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
"$made_up_folders" "$work/shown"
"$flowloom" -q report "$work/shown/runs/office" -o "$work/shown/runs/office/report.html"
"$flowloom" -q sweep "$here/../testdata/demo.pcap.gz" --vary queue=drop-tail,codel --rate 105% --seeds 2 --duration 10s -o "$work/shown/sweeps/queue"
"$flowloom" view "$work/shown" >"$work/link" &
server=$!
for _ in $(seq 200); do [ -s "$work/link" ] && break; sleep 0.05; done
python3 "$here/view_browser.py" "$(cat "$work/link")" --flowloom "$flowloom" --folder "$work/shown" "${axe[@]}" "${@:3}"
kill -INT "$server"
wait "$server"
server=
