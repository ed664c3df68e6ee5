# A constant rate over a link that fails: 1000 B every 0.7 ms, 8 Mbit/s (1 ms a packet) and 5 ms.
# The link is down from 1 s to 1.5 s; routes are static. Packets come at 0.1 ms past the grid, so
# that none of them meets the failure at one instant.
#
# Usage: ns cut.tcl > cut.csv
# Rows from 0.98 s to 1.52 s: packets dropped (d) and received (r), when, and their numbers.

set sim [new Simulator]
set a [$sim node]
set b [$sim node]
$sim duplex-link $a $b 8Mb 5ms DropTail
$sim queue-limit $a $b 100000
set file [open cut.tr w]
$sim trace-queue $a $b $file
set udp [new Agent/UDP]
$udp set packetSize_ 65535
$sim attach-agent $a $udp
set sink [new Agent/Null]
$sim attach-agent $b $sink
$sim connect $udp $sink
set cbr [new Application/Traffic/CBR]
$cbr set packetSize_ 1000
$cbr set interval_ 0.0007
$cbr set random_ 0
$cbr attach-agent $udp
$sim at 0.0001 "$cbr start"
$sim rtmodel-at 1.0 down $a $b
$sim rtmodel-at 1.5 up $a $b
proc finish {} {
    global file
    close $file
    puts "event,time,packet"
    set lines [open cut.tr r]
    while {[gets $lines line] >= 0} {
        set event [lindex $line 0]
        set time [lindex $line 1]
        if {($event == "d" || $event == "r") && $time > 0.98 && $time < 1.52} {
            puts "$event,$time,[lindex $line 10]"
        }
    }
    file delete cut.tr
    exit 0
}
$sim at 2.0 finish
$sim run
