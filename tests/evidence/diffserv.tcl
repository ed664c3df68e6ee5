# Two CBR sources, metered by TSW2CM at the edge, through one queue with two precedences at the core.
# ns diffserv.tcl LOAD MODE RATE1 RATE2 SEED: MODE is RIO-C, RIO-D or WRED, rates in Mbit/s. LOAD is
# `red`: the excess falls on the upper precedence alone; `bursts`: both drop, and of every 4 s the
# sources send 2.5 s, so that averages rise from what idle time has left of them.
# Prints, for the time from 20 to 220 s: load, mode, rates, seed, then for each precedence packets
# that came to the core queue, and early and late drops.
lassign $argv load mode rate1 rate2 seed
if {$load eq "red"} {
    set target 1000000
    set curves {{20 50 0.1} {10 30 0.3}}
} else {
    set target 2000000
    set curves {{10 100 0.5} {5 50 0.5}}
}
ns-random $seed
set ns [new Simulator]
foreach node {s1 s2 edge core dest} { set $node [$ns node] }
$ns duplex-link $s1 $edge 100Mb 1ms DropTail
$ns duplex-link $s2 $edge 100Mb 1ms DropTail
$ns simplex-link $edge $core 100Mb 1ms dsRED/edge
$ns simplex-link $core $edge 100Mb 1ms DropTail
$ns simplex-link $core $dest 5Mb 1ms dsRED/core
$ns simplex-link $dest $core 5Mb 1ms DropTail
set edgeq [[$ns link $edge $core] queue]
set coreq [[$ns link $core $dest] queue]
foreach queue [list $edgeq $coreq] {
    $queue meanPktSize 1000
    $queue set numQueues_ 1
    $queue setNumPrec 2
    $queue addPHBEntry 10 0 0
    $queue addPHBEntry 11 0 1
    $queue setMREDMode $mode 0
}
$edgeq configQ 0 0 1000 2000 0.02
$edgeq configQ 0 1 1000 2000 0.02
$coreq configQ 0 0 {*}[lindex $curves 0]
$coreq configQ 0 1 {*}[lindex $curves 1]
$coreq set limit_ 200
foreach source [list $s1 $s2] {
    $edgeq addPolicyEntry [$source id] [$dest id] TSW2CM 10 $target
}
$edgeq addPolicerEntry TSW2CM 10 11
foreach {source rate} [list $s1 $rate1 $s2 $rate2] {
    set udp [new Agent/UDP]
    $udp set packetSize_ 1000
    $ns attach-agent $source $udp
    set cbr [new Application/Traffic/CBR]
    $cbr set packetSize_ 1000
    $cbr set rate_ ${rate}Mb
    $cbr set random_ 1
    $cbr attach-agent $udp
    set sink [new Agent/Null]
    $ns attach-agent $dest $sink
    $ns connect $udp $sink
    $ns at 0.0 "$cbr start"
    if {$load eq "bursts"} {
        for {set begin 0} {$begin < 220} {incr begin 4} {
            $ns at $begin "$cbr start"
            $ns at [expr {$begin + 2.5}] "$cbr stop"
        }
    }
}
proc counts {queue} {
    set all {}
    foreach code {10 11} {
        foreach what {pkts edrops drops} { lappend all [$queue getStat $what $code] }
    }
    return $all
}
$ns at 20.0 { set before [counts $coreq] }
$ns at 220.0 {
    set row [list $load $mode $rate1 $rate2 $seed]
    foreach a $before b [counts $coreq] { lappend row [expr {$b - $a}] }
    puts [join $row ,]
    exit 0
}
$ns run
