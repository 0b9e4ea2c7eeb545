#!/usr/bin/env bash
# Live runs beside the tools people use for similar jobs, on this machine, in turns: the emulator beside mahimahi's mm-delay
# (bulk TCP, and the error of delays), the schedule of a live run beside tcpreplay's. docs/evidence/live.md says what is measured.
# `make bench-live-peers` builds first. Needs root. Exits with 1 if a floor is not met. RUNS is how often each load is run (3;
# 0 leaves that part out), SECONDS_EACH how long (10), REPLAY_SECONDS how long the capture is that is replayed (600; 0 leaves that part out). MM_DELAY
# names mahimahi's program; where it is not installed, it is fetched from the release of Debian that had it last.
set -euo pipefail
cd "$(dirname "$0")/.."

[ "$(id -u)" = 0 ] || { echo "skipped: this needs root"; exit 0; }

packages=(tcpreplay tcpdump iproute2 iptables dnsmasq-base)
commands=(tcpreplay tcpdump ip iptables dnsmasq)
missing=()
for index in "${!packages[@]}"; do
  type -P "${commands[$index]}" >/dev/null || missing+=("${packages[$index]}")
done
if [ ${#missing[@]} -gt 0 ] && command -v apt-get >/dev/null; then
  echo "installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >/dev/null 2>&1 ||
    echo "not installed: ${missing[*]} (apt-get failed)"
fi

folder=$(mktemp -d "${TMPDIR:-/tmp}/flowloom-live-peers.XXXXXX")
trap 'rm -rf "$folder"' EXIT
# mahimahi runs as somebody else, who has to come in.
chmod 755 "$folder"

# Debian 11 is the last release with mahimahi. Its program needs nothing of that release but itself.
fetch_mahimahi() {
  local mirror key=/usr/share/keyrings/debian-archive-keyring.gpg apt="$folder/apt"
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep '/debian/$' | head -n 1)
  [ -n "$mirror" ] && [ -e "$key" ] || return 1
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$folder/mahimahi"
  echo "deb [signed-by=$key check-valid-until=no] $mirror bullseye main" >"$apt/sources.list"
  local options=(-qq -o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$apt/lists"
    -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=root)
  apt-get "${options[@]}" update && (cd "$apt" && apt-get "${options[@]}" download mahimahi) || return 1
  dpkg-deb -x "$apt"/mahimahi_*.deb "$folder/mahimahi"
  mv "$apt"/mahimahi_*.deb "$folder/"
}
mm_delay=${MM_DELAY:-$(type -P mm-delay || true)}
if [ -z "$mm_delay" ] && command -v apt-get >/dev/null; then
  echo "fetching mahimahi"
  fetch_mahimahi >/dev/null 2>&1 && mm_delay="$folder/mahimahi/usr/bin/mm-delay" || echo "mahimahi is not to be had"
fi

# Everything is in namespaces that end with it: mahimahi makes its devices where it is started, and so are those of tcpreplay.
unshare --net --mount python3 benches/live_peers.py --flowloom target/release/flowloom \
  --load target/release/examples/peer_load --folder "$folder" --runs "${RUNS:-3}" --seconds "${SECONDS_EACH:-10}" \
  --replay-seconds "${REPLAY_SECONDS:-600}" ${mm_delay:+--mm-delay "$mm_delay"}
