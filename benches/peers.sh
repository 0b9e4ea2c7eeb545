#!/usr/bin/env bash
# Extraction beside the tools people use for similar jobs, on the same made captures, in the same run: CPU time, memory,
# and whether they found the same connections and bytes. `make bench-peers` builds first. Exits with 1 if a floor is
# not met or an answer differs. PACKETS and RUNS change the size of the captures (2.5 million) and how often each tool runs (5).
set -euo pipefail
cd "$(dirname "$0")/.."

# Debian's packages; tstat is in no current release, and is measured where somebody built it.
packages=(tcptrace nfdump argus-server argus-client tshark time)
commands=(tcptrace nfpcapd argus racount tshark time)
missing=()
for index in "${!packages[@]}"; do
  type -P "${commands[$index]}" >/dev/null || missing+=("${packages[$index]}")
done
if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >/dev/null 2>&1 ||
      echo "not installed: ${missing[*]} (apt-get failed)"
  else
    echo "not installed: ${missing[*]}; as root: apt-get install ${missing[*]}"
  fi
fi

folder=$(mktemp -d "${TMPDIR:-/tmp}/flowloom-peers.XXXXXX")
trap 'rm -rf "$folder"' EXIT
python3 benches/peers.py --flowloom target/release/flowloom --maker target/release/examples/busy_link \
  --folder "$folder" --packets "${PACKETS:-2500000}" --runs "${RUNS:-5}" "$@"
