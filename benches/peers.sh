#!/usr/bin/env bash
# Extraction beside the tools people use for similar jobs, on the same made captures, in the same run: CPU time, memory,
# and whether they found the same connections and bytes. Then the simulator beside ns-3 and ns-2 on the same loads.
# `make bench-peers` builds first. Exits with 1 if a floor is not met or an answer differs. PACKETS and RUNS change the
# size of the captures (2.5 million) and how often each tool runs (5), SIM_SECONDS the simulated time of the longest load
# (20, from 10 to 30), NS3_PYTHON names an interpreter that has PyPI's ns3 (else one is made for the run), ONLY=simulator or
# ONLY=extraction leaves the other part out.
set -euo pipefail
cd "$(dirname "$0")/.."

# Debian's packages; tstat is in no current release, and is measured where somebody built it.
packages=(tcptrace nfdump argus-server argus-client tshark time ns2)
commands=(tcptrace nfpcapd argus racount tshark time ns)
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
status=0
if [ "${ONLY:-extraction}" = extraction ]; then
  python3 benches/peers.py --flowloom target/release/flowloom --maker target/release/examples/busy_link \
    --folder "$folder" --packets "${PACKETS:-2500000}" --runs "${RUNS:-5}" || status=1
  echo
fi
if [ "${ONLY:-simulator}" = simulator ]; then
  python3 benches/sim_peers.py --flowloom target/release/flowloom --folder "$folder" --seconds "${SIM_SECONDS:-20}" \
    ${NS3_PYTHON:+--ns3-python "$NS3_PYTHON"} "$@" || status=1
fi
exit $status
