# Bulk flows through a dumbbell in ns-2.
# ns ns2_bulk.tcl FLOWS GAP ROUND_TRIP RATE QUEUE SECONDS WINDOW AGENT   (times in seconds, WINDOW in segments)
foreach {name at} {flows 0 gap 1 round_trip 2 rate 3 queue 4 seconds 5 window 6 agent 7} { set $name [lindex $argv $at] }

remove-all-packet-headers
add-packet-header IP TCP
set ns [new Simulator]
Agent/TCP set windowInit_ 3
Agent/TCP set minrto_ 0.2
Agent/TCP set window_ $window
Agent/TCP/FullTcp set segsize_ 1460
Agent/TCP/FullTcp set nodelay_ true
Agent/TCP/FullTcp set segsperack_ 2
Agent/TCP/FullTcp set interval_ 0.1
# With Ethernet's 14 bytes, as flowloom counts.
Agent/TCP/FullTcp set tcpip_base_hdr_size_ 54

foreach index {0 1 2 3} { set node($index) [$ns node] }
$ns duplex-link $node(0) $node(1) 100Gb [expr {$round_trip / 2.0}] DropTail
$ns duplex-link $node(1) $node(2) $rate 0ms DropTail
$ns duplex-link $node(2) $node(3) 100Gb 0ms DropTail
foreach {one other} {0 1 1 0 2 3 3 2} { $ns queue-limit $node($one) $node($other) 1000000 }
$ns queue-limit $node(1) $node(2) $queue
$ns queue-limit $node(2) $node(1) $queue
set monitors [list [$ns monitor-queue $node(2) $node(1) [open /dev/null w] 1] [$ns monitor-queue $node(1) $node(2) [open /dev/null w] 1]]

for {set flow 0} {$flow < $flows} {incr flow} {
  set from($flow) [new Agent/TCP/FullTcp/$agent]
  set to($flow) [new Agent/TCP/FullTcp/$agent]
  $ns attach-agent $node(3) $from($flow)
  $ns attach-agent $node(0) $to($flow)
  $ns connect $from($flow) $to($flow)
  $to($flow) listen
  set source [new Application/FTP]
  $source attach-agent $from($flow)
  $ns at [expr {0.001 + $flow * $gap}] "$source start"
}
proc done {} {
  global ns monitors from flows seconds
  set acknowledged 0
  for {set flow 0} {$flow < $flows} {incr flow} { set acknowledged [expr {$acknowledged + [$from($flow) set ack_]}] }
  set packets 0
  set dropped 0
  foreach monitor $monitors {
    incr packets [$monitor set parrivals_]
    incr dropped [$monitor set pdrops_]
  }
  puts "{\"goodput\": [expr {8.0 * $acknowledged / $seconds}], \"packets\": $packets, \"dropped\": $dropped}"
  $ns halt
}
$ns at $seconds done
$ns run
