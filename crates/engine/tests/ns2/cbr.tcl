# Three constant-rate flows, 11.99 Mbit/s together, share 10 Mbit/s behind a drop-tail queue.
# One packet of another flow at time 0 makes all departures fall on times at which none arrives.
#
# Usage: ns cbr.tcl > cbr.csv
# Rows of flow, packets that came to the queue and packets dropped there by 60 s.

set sim [new Simulator]
set left [$sim node]
set right [$sim node]
$sim duplex-link $left $right 10Mb 5ms DropTail
# DropTail refuses a packet that would make the queue as long as its limit: 20 wait at most.
$sim queue-limit $left $right 21
set file [open cbr.tr w]
$sim trace-queue $left $right $file
set flow 0
foreach {rate bytes start} {5.9Mb 1000 0.000139 4.1Mb 700 0.000137 1.99Mb 210 0.000251 1Mb 1000 0.0} {
    set udp [new Agent/UDP]
    $udp set packetSize_ 65535
    $udp set fid_ $flow
    $sim attach-agent $left $udp
    set sink [new Agent/Null]
    $sim attach-agent $right $sink
    $sim connect $udp $sink
    set cbr [new Application/Traffic/CBR]
    $cbr set packetSize_ $bytes
    $cbr set rate_ $rate
    $cbr set random_ 0
    $cbr attach-agent $udp
    $sim at $start "$cbr start"
    if {$flow == 3} { $sim at 0.001 "$cbr stop" }
    incr flow
}
proc finish {} {
    global file
    close $file
    array set came {0 0 1 0 2 0 3 0}
    array set dropped {0 0 1 0 2 0 3 0}
    set lines [open cbr.tr r]
    while {[gets $lines line] >= 0} {
        set flow [lindex $line 7]
        switch [string index $line 0] {
            + { incr came($flow) }
            d { incr dropped($flow) }
        }
    }
    file delete cbr.tr
    puts "flow,came,dropped"
    foreach flow {0 1 2 3} { puts "$flow,$came($flow),$dropped($flow)" }
    exit 0
}
$sim at 60.0 finish
$sim run
