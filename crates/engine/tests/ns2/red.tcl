# Eight NewReno flows through RED: 10 Mbit/s, 20 ms, access links of 100 Mbit/s and 1 to 8 ms.
#
# Usage: for seed in $(seq 1 20); do ns red.tcl $seed; done
# One row: seed; then over 20 s to 120 s the mean of RED's average queue and of the packets waiting,
# both sampled every 10.1 ms, packets dropped, and segments acknowledged by all flows.

lassign $argv seed
Agent/TCP set syn_ false
Agent/TCP set delay_growth_ false
Agent/TCP set useHeaders_ false
Agent/TCP set packetSize_ 1040
Agent/TCP set window_ 1000
Agent/TCP set windowInit_ 2
Agent/TCP set singledup_ 0
Agent/TCP set tcpTick_ 0.01
Agent/TCP set minrto_ 0.2
Agent/TCP/Newreno set newreno_changes1_ 0
# Floyd & Jacobson's values as ns-2 had them before 2001, gentle off; wait_ is the default.
Queue/RED set thresh_ 5
Queue/RED set maxthresh_ 15
Queue/RED set q_weight_ 0.002
Queue/RED set linterm_ 10
Queue/RED set gentle_ false
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set mean_pktsize_ 1040
Queue/RED set setbit_ false

set sim [new Simulator]
set random [new RNG]
$random seed $seed
$defaultRNG seed $seed
set left [$sim node]
set right [$sim node]
$sim simplex-link $left $right 10Mb 20ms RED
$sim simplex-link $right $left 10Mb 20ms DropTail
$sim queue-limit $left $right 60
$sim queue-limit $right $left 1000
set flows {}
for {set k 0} {$k < 8} {incr k} {
    set source [$sim node]
    set sink [$sim node]
    $sim duplex-link $source $left 100Mb [expr {$k + 1}]ms DropTail
    $sim duplex-link $right $sink 100Mb 1ms DropTail
    $sim queue-limit $source $left 1000
    $sim queue-limit $right $sink 1000
    set tcp [$sim create-connection TCP/Newreno $source TCPSink $sink $k]
    lappend flows $tcp
    set ftp [$tcp attach-app FTP]
    $sim at [$random uniform 0.0 1.0] "$ftp start"
}
set red [[$sim link $left $right] queue]
set monitor [$sim monitor-queue $left $right ""]
set samples 0
set average 0.0
set queue 0.0

proc acked {} {
    global flows
    set sum 0
    foreach tcp $flows { incr sum [expr {[$tcp set ack_] + 1}] }
    return $sum
}
proc begin {} {
    global monitor before
    set before [list [$monitor set pdrops_] [acked]]
    sample
}
proc sample {} {
    global sim red monitor samples average queue
    incr samples
    set average [expr {$average + [$red set ave_]}]
    set queue [expr {$queue + [$monitor set pkts_]}]
    $sim at [expr {[$sim now] + 0.0101}] sample
}
proc finish {} {
    global seed monitor before samples average queue
    set drops [expr {[$monitor set pdrops_] - [lindex $before 0]}]
    set acked [expr {[acked] - [lindex $before 1]}]
    set average [format %.4f [expr {$average / $samples}]]
    set queue [format %.4f [expr {$queue / $samples}]]
    puts "$seed,$average,$queue,$drops,$acked"
    exit 0
}
$sim at 20.0 begin
$sim at 120.0 finish
$sim run
