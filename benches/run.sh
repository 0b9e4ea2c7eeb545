#!/usr/bin/env bash
# Speed and memory, in CPU seconds of one run each, and the long queueing validation. `make bench` builds first.
# Exits with 1 if a floor is missed.
set -uo pipefail
cd "$(dirname "$0")/.."
examples=target/release/examples
status=0

echo "== extraction: captures to vectors (floor 3 M packets per CPU second)"
"$examples/extraction_speed" || status=1
echo
echo "== flow records: NetFlow to connections (floor 0.5 M records per CPU second)"
"$examples/flow_speed" || status=1
echo
echo "== simulation: three standard loads (floor 1 M bottleneck packets per CPU second and 200 MB on the third)"
"$examples/standard_loads" || status=1
echo
echo "== simulation with everything recorded (floor 2 M bottleneck packets per CPU second, and 150 MB on the web load)"
"$examples/recorded_loads" || status=1
echo
echo "== scaling: ratios of costs in one run"
"$examples/scaling" || status=1
echo
echo "== instructions of a tenth of each load, against benches/instructions.txt (renew: benches/instructions.sh renew)"
benches/instructions.sh || status=1
echo
echo "== queues: CPU nanoseconds a packet at a link"
"$examples/queue_cost" || status=1
echo
echo "== circuits: 180 s of five FTP conversations over virtual circuits (aim 0.1 CPU s)"
"$examples/circuits" || status=1
echo
echo "== source models: CPU nanoseconds a connection (floor 0.5 M connections per CPU second of the reference workloads)"
"$examples/source_model_cost" || status=1
echo
echo "== queueing: M/M/1, M/D/1, M/M/1/10 against their known answers, 1e7 packets each"
"$examples/queueing_truth" || status=1
echo
echo "== packmime: the Hurst parameters of a simulated hour (packets with nothing in their way: 0.84 +- 0.05)"
"$examples/packmime_hour" || status=1
echo
echo "== summary: a run of 4.7 million connections (floors 20 CPU seconds, 500 MB; its report 5 MB)"
python3 benches/summary.py target/release/flowloom "$examples/large_run" || status=1
echo
echo "== agents: 200 processes under one controller (aims 3 s to the start, 20 MB an agent)"
python3 benches/agents.py target/release/flowloom || status=1
echo
echo "== scan: strangers at an agent's port, for a minute (benches/scan.py alone: for ten)"
python3 benches/scan.py target/release/flowloom 60 || status=1
echo
echo "== waits: which of the four settings replays the bundled capture best (distance at the monitor, smaller is nearer)"
benches/waits.sh target/release/flowloom testdata/demo.pcap.gz || status=1
exit $status
