# One NewReno flow through three links: 97 Mbit/s 1 ms, 10 Mbit/s 20 ms, 97 Mbit/s 1 ms. (At 100
# Mbit/s the segments of a burst would arrive just as others leave, and rounding would choose.)
#
# Usage: ns one_flow.tcl > one_flow.csv
# Rows of event, time in ns, value: every drop with its segment number, the congestion window in
# thousandths every 100 ms, and the segments sent, resent and acknowledged by 120 s.

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

set sim [new Simulator]
foreach name {source left right sink} { set $name [$sim node] }
$sim duplex-link $source $left 97Mb 1ms DropTail
$sim duplex-link $left $right 10Mb 20ms DropTail
$sim duplex-link $right $sink 97Mb 1ms DropTail
$sim queue-limit $source $left 1000
# DropTail refuses a packet that would make the queue as long as its limit: 50 wait at most.
$sim queue-limit $left $right 51
set tcp [$sim create-connection TCP/Newreno $source TCPSink $sink 0]
set ftp [$tcp attach-app FTP]
set file [open one_flow.tr w]
$sim trace-queue $left $right $file

proc ns_time {seconds} { format %.0f [expr {$seconds * 1e9}] }
proc sample {} {
    global sim tcp
    puts "cwnd,[ns_time [$sim now]],[expr {round(1000 * [$tcp set cwnd_])}]"
    $sim at [expr {[$sim now] + 0.1}] sample
}
proc finish {} {
    global file tcp
    close $file
    set lines [open one_flow.tr r]
    while {[gets $lines line] >= 0} {
        if {[string index $line 0] eq "d"} {
            puts "drop,[ns_time [lindex $line 1]],[lindex $line 10]"
        }
    }
    file delete one_flow.tr
    puts "sent,0,[$tcp set ndatapack_]"
    puts "resent,0,[$tcp set nrexmitpack_]"
    puts "acked,0,[expr {[$tcp set ack_] + 1}]"
    exit 0
}
puts "event,time_ns,value"
$sim at 0.0 "$ftp start"
$sim at 0.1 sample
$sim at 120.0 finish
$sim run
