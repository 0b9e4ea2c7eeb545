# One bulk flow over a path that loses each data packet with the same probability and never queues, in ns-2.
# ns ns2_loss.tcl AGENT SINK LOSS ROUND_TRIP SECONDS SEED   (times in seconds; as in Agent/TCP/Newreno Agent/TCPSink/DelAck)
# Prints how many segments were acknowledged. All that is not set here is ns-2's default.
foreach {name at} {agent 0 sink 1 loss 2 round_trip 3 seconds 4 seed 5} { set $name [lindex $argv $at] }

remove-all-packet-headers
add-packet-header IP TCP
ns-random $seed
set ns [new Simulator]
# The receive window limits nothing.
Agent/TCP set window_ 1000000

foreach side {left right} { set node($side) [$ns node] }
$ns duplex-link $node(left) $node(right) 100Gb [expr {$round_trip / 2.0}] DropTail
$ns queue-limit $node(left) $node(right) 1000000
set errors [new ErrorModel]
$errors unit pkt
$errors set rate_ $loss
set random [new RNG]
$random seed $seed
set uniform [new RandomVariable/Uniform]
$uniform use-rng $random
$errors ranvar $uniform
$errors drop-target [new Agent/Null]
$ns lossmodel $errors $node(left) $node(right)

set from [new $agent]
set to [new $sink]
$ns attach-agent $node(left) $from
$ns attach-agent $node(right) $to
$ns connect $from $to
set source [new Application/FTP]
$source attach-agent $from
$ns at 0 "$source start"
$ns at $seconds {
  puts "{\"segments\": [$from set ack_], \"sent\": [$from set ndatapack_], \"again\": [$from set nrexmitpack_], \"timeouts\": [$from set nrexmit_]}"
  $ns halt
}
$ns run
