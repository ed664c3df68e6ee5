# Deficit round robin among three CBR sources with packets of 400, 1000 and 1500 B, each 4 Mbit/s
# into 6 Mbit/s, with a quantum of 1500 B. ns drr.tcl SEED prints the bytes that each flow got from
# 10 s to 110 s.
set seed [lindex $argv 0]
ns-random $seed
set ns [new Simulator]
set hub [$ns node]
set dest [$ns node]
$ns simplex-link $hub $dest 6Mb 1ms DRR
$ns simplex-link $dest $hub 6Mb 1ms DropTail
set queue [[$ns link $hub $dest] queue]
$queue buckets 8
$queue blimit 100000
$queue quantum 1500
$queue mask 0
set sinks {}
foreach size {400 1000 1500} {
    set node [$ns node]
    $ns duplex-link $node $hub 100Mb 1ms DropTail
    set udp [new Agent/UDP]
    $udp set packetSize_ $size
    $ns attach-agent $node $udp
    set cbr [new Application/Traffic/CBR]
    $cbr set packetSize_ $size
    $cbr set rate_ 4Mb
    $cbr set random_ 1
    $cbr attach-agent $udp
    set sink [new Agent/LossMonitor]
    $ns attach-agent $dest $sink
    $ns connect $udp $sink
    lappend sinks $sink
    $ns at 0.0 "$cbr start"
}
proc bytes {} {
    global sinks
    set all {}
    foreach sink $sinks { lappend all [$sink set bytes_] }
    return $all
}
$ns at 10.0 { set before [bytes] }
$ns at 110.0 {
    set row [list $seed]
    foreach a $before b [bytes] { lappend row [expr {$b - $a}] }
    puts [join $row ,]
    exit 0
}
$ns run
