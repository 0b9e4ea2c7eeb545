# Tmix vectors through a dumbbell in ns-2, the path of each connection in a Tmix_DelayBox.
# ns ns2_web.tcl VECTORS RATE QUEUE SECONDS SEGMENTS_PER_ACK TRACE   (TRACE may be empty)
foreach {name at} {vectors 0 rate 1 queue 2 seconds 3 segments_per_ack 4 trace 5} { set $name [lindex $argv $at] }

remove-all-packet-headers
add-packet-header IP TCP
set ns [new Simulator]
Agent/TCP set windowInit_ 3
Agent/TCP set minrto_ 0.2
Agent/TCP/FullTcp set segsize_ 1460
Agent/TCP/FullTcp set nodelay_ true
Agent/TCP/FullTcp set segsperack_ $segments_per_ack
Agent/TCP/FullTcp set interval_ 0.1
# With Ethernet's 14 bytes, as flowloom counts.
Agent/TCP/FullTcp set tcpip_base_hdr_size_ 54

set clients [$ns node]
set servers [$ns node]
set box [$ns Tmix_DelayBox]
$box set-cvfile $vectors [$clients id] [$servers id]
$box set-lossless
set router [$ns node]
$ns duplex-link $clients $box 100Gb 0ms DropTail
$ns duplex-link $box $router $rate 0ms DropTail
$ns duplex-link $router $servers 100Gb 0ms DropTail
foreach {one other} [list $clients $box $box $clients $router $servers $servers $router] { $ns queue-limit $one $other 1000000 }
$ns queue-limit $box $router $queue
$ns queue-limit $router $box $queue
set monitors [list [$ns monitor-queue $router $box [open /dev/null w] 1] [$ns monitor-queue $box $router [open /dev/null w] 1]]
if {$trace ne ""} {
  set file [open $trace w]
  $ns trace-queue $clients $box $file
  $ns trace-queue $box $clients $file
}

set tmix [new Tmix]
$tmix set-init $clients
$tmix set-acc $servers
$tmix set-ID 7
$tmix set-cvfile $vectors
$tmix set-TCP Sack
$tmix set-outfile /dev/null
$tmix set-pkt-size 1460

# The counters are 32 bits wide: they are emptied every second. Payload is what is left of the bytes without headers.
set payload 0
set packets 0
set dropped 0
proc count {} {
  global monitors payload packets dropped
  foreach monitor $monitors {
    set payload [expr {$payload + [$monitor set bdepartures_] - 54 * [$monitor set pdepartures_]}]
    incr packets [$monitor set parrivals_]
    incr dropped [$monitor set pdrops_]
    foreach counter {bdepartures_ pdepartures_ parrivals_ pdrops_} { $monitor set $counter 0 }
  }
}
proc every_second {} {
  global ns seconds
  count
  if {[$ns now] < $seconds - 0.5} { $ns at [expr {[$ns now] + 1}] every_second }
}
proc done {} {
  global ns seconds payload packets dropped
  count
  puts "{\"goodput\": [expr {8.0 * $payload / $seconds}], \"packets\": $packets, \"dropped\": $dropped}"
  $ns halt
}
$ns at 0.0 "$tmix start"
$ns at 1.0 every_second
$ns at $seconds done
$ns run
