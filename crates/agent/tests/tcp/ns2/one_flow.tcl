# One TCP flow over one link: 10 Mbit/s, 20 ms each way, a drop-tail queue.
#
# Usage: ns one_flow.tcl VARIANT SINK QUEUE [name=value ...]
#   VARIANT  TCP (Tahoe), TCP/Reno or TCP/Newreno
#   SINK     TCPSink or TCPSink/DelAck
#   QUEUE    queue limit; DropTail lets one packet fewer wait beside the one being sent
#   name=value sets a variable of the sender; lose=N,N,... loses the N-th packets sent, from 0
# Prints rows of event, time in ns, value: every drop with its segment number, the congestion
# window in thousandths every half second, and the counts at the end.

lassign $argv variant sink queue
set settings [lrange $argv 3 end]
Agent/TCP set syn_ false
Agent/TCP set delay_growth_ false
Agent/TCP set useHeaders_ false
Agent/TCP set packetSize_ 1040
Agent/TCP set window_ 1000
Agent/TCP set windowInit_ 2
Agent/TCP set singledup_ 0
Agent/TCP set tcpTick_ 0.01
Agent/TCP/Newreno set newreno_changes1_ 0
Agent/TCPSink set SYN_immediate_ack_ false

set sim [new Simulator]
set left [$sim node]
set right [$sim node]
$sim duplex-link $left $right 10Mb 20ms DropTail
$sim queue-limit $left $right $queue
set tcp [$sim create-connection $variant $left $sink $right 0]
foreach setting $settings {
    lassign [split $setting =] name value
    if {$name eq "lose"} {
        set loss [new ErrorModel/List]
        $loss droplist [lsort -integer [split $value ,]]
        $sim lossmodel $loss $left $right
    } else {
        $tcp set $name $value
    }
}
set ftp [$tcp attach-app FTP]
set file [open one_flow.tr w]
$sim trace-queue $left $right $file

proc ns_time {seconds} { format %.0f [expr {$seconds * 1e9}] }
proc sample {} {
    global sim tcp
    puts "cwnd,[ns_time [$sim now]],[expr {round(1000 * [$tcp set cwnd_])}]"
    $sim at [expr {[$sim now] + 0.5}] sample
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
    puts "timeouts,0,[$tcp set nrexmit_]"
    puts "acked,0,[expr {[$tcp set ack_] + 1}]"
    exit 0
}
puts "event,time_ns,value"
$sim at 0.0 "$ftp start"
$sim at 0.125 sample
$sim at 60.0 finish
$sim run
