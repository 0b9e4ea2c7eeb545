#!/bin/sh
# The congestion experiments of Frost et al. (1998) in small, on this host: five hosts in network namespaces, an agent on each, and a
# run for each target (udp, tcp), each load (none, low, high) and background with and without pacing. It takes root, and takes
# everything down again. Results are in OUT; table.py makes a table of them.
#
#   run.sh [OUT [SECONDS]]      FLOWLOOM names the program, TARGETS and LOADS what is run
#
#   a, b, c  --  switch  --  (eth1) r (eth2)  --  z          and a network of their own to the controller
set -eu

here=$(cd "$(dirname "$0")" && pwd)
flowloom=${FLOWLOOM:-flowloom}
out=${1:-congestion}
seconds=${2:-20}
targets=${TARGETS:-udp tcp}
loads=${LOADS:-none low high}
mark=fl$$
folder=$(mktemp -d)
agents=

down() {
  for agent in $agents; do kill "$agent" 2>/dev/null || true; done
  wait
  for host in ctl switch a b c r z; do ip netns delete "$mark-$host" 2>/dev/null || true; done
  rm -rf "$folder"
}
trap down EXIT
trap 'exit 1' INT TERM

in_host() { host=$1; shift; ip netns exec "$mark-$host" "$@"; }

# cable HOST DEVICE OTHER: a link from a device of the host to a bridge, or to a device, of the other.
cable() { ip -n "$mark-$1" link add "$2" type veth peer name "$4" netns "$mark-$3"; ip -n "$mark-$3" link set dev "$4" up; }

for host in ctl switch a b c r z; do ip netns add "$mark-$host"; ip -n "$mark-$host" link set dev lo up; done
for bridge in ctl switch; do
  ip -n "$mark-$bridge" link add br0 type bridge
  ip -n "$mark-$bridge" link set dev br0 up
done
ip -n "$mark-ctl" address add 10.60.0.254/24 dev br0
number=0
for host in a b c r z; do
  number=$((number + 1))
  cable $host ctl0 ctl "$host"
  ip -n "$mark-ctl" link set dev "$host" master br0
  ip -n "$mark-$host" address add 10.60.0.$number/24 dev ctl0
  ip -n "$mark-$host" link set dev ctl0 up
done
for host in a b c; do
  cable $host eth0 switch "$host"
  ip -n "$mark-switch" link set dev "$host" master br0
done
cable r eth1 switch uplink
ip -n "$mark-switch" link set dev uplink master br0
cable z eth0 r eth2
ip -n "$mark-r" link set dev eth1 up
for at in a:1 b:2 c:3 z:9; do
  # A path carries segments as they are on a wire: whoever sends cuts them.
  ip -n "$mark-${at%:*}" link set dev eth0 gso_max_segs 1 up
  ip -n "$mark-${at%:*}" address add 10.50.0.${at#*:}/24 dev eth0
done

cd "$folder"
"$flowloom" -q lab init lab >/dev/null
number=0
printf '[hosts]\n' >HOSTS.toml
for host in a b c r z; do
  number=$((number + 1))
  token=$("$flowloom" -q lab invite $host)
  "$flowloom" -q lab enrol "$token" --dir $host --request $host.request >/dev/null
  "$flowloom" -q lab admit --request $host.request --answer $host.answer >/dev/null
  "$flowloom" -q lab enrol --dir $host --answer $host.answer >/dev/null
  sed -i 's|^destinations = .*|destinations = ["10.50.0.0/24"]|' $host/limits.toml
  printf '[path]\ninterfaces = ["eth1", "eth2"]\n[watch]\ninterfaces = ["eth0"]\n' >>$host/limits.toml
  printf '%s = "10.60.0.%s:42010"\n' $host $number >>HOSTS.toml
  # Not by in_host, whose process would be a shell around it.
  ip netns exec "$mark-$host" "$flowloom" -q agent --dir $host --listen 10.60.0.$number:42010 &
  agents="$agents $!"
done
cp "$here/mix.ns" .
tries=0
until in_host ctl "$flowloom" -q lab status HOSTS.toml >/dev/null 2>&1; do
  tries=$((tries + 1))
  if [ $tries -gt 100 ]; then echo "the agents do not answer" >&2; exit 1; fi
  sleep 0.1
done

# mix TARGET LOAD PACING: the script of a run.
mix() {
  case $1 in
    udp) sends=udp ;;
    # Blocks are sent as they come, not when there is a segment's worth (Nagle).
    tcp) sends="tcp(nodelay = true)" ;;
  esac
  case $2 in
    none) lambdas="@let ftpLambda = 0.000000001; @let wwwLambda = 0.000000001;"; rates="@let filmRate = 0.01; @let conferenceRate = 0.01;" ;;
    low) lambdas="@let ftpLambda = 0.000003; @let wwwLambda = 0.000004;"; rates="@let filmRate = 8; @let conferenceRate = 8;" ;;
    high) lambdas="@let ftpLambda = 0.000008; @let wwwLambda = 0.000012;"; rates="@let filmRate = 25; @let conferenceRate = 25;" ;;
  esac
  case $3 in
    unpaced) protocols="@let ftp = tcp; @let www = tcp; @let film = udp; @let conference = udp;" ;;
    paced) protocols="@let ftp = tcp(rate = 2M); @let www = tcp(rate = 2M); @let film = udp(rate = 2M); @let conference = udp(rate = 1.2M);" ;;
  esac
  echo "cluster { @let target = $sends; @let seconds = $seconds; @let listening = $((seconds + 2)); $lambdas $rates $protocols @include \"mix.ns\"; }"
}

case $out in /*) ;; *) out=$OLDPWD/$out ;; esac
mkdir -p "$out"
for target in $targets; do
  for load in $loads; do
    for pacing in unpaced paced; do
      # Without background there is nothing to pace.
      if [ "$load-$pacing" = none-paced ]; then continue; fi
      name=$target-$load-$pacing
      mix "$target" "$load" "$pacing" >"$name.ns"
      in_host ctl "$flowloom" -q lab run "$name.ns" --dir lab --hosts HOSTS.toml -o "$out/$name"
    done
  done
done
