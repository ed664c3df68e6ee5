# Develder et al. (2003), experiment a, in ns-2: five NewReno flows A to B, whose way is switched
# from 4-5-6-7 to 4-8-9-10-7 some time after the link 5-6 fails at 10 s, and five C to D, 8-9-10-11.
#
# Usage: ns switch.tcl SEED DELAY_MS
# A row: seed, delay, segments acknowledged from 10 s to 11 s and to 11.5 s of the switched and of the
# fixed flows, timeouts of the switched from 10 s to 11.5 s.

set seed [lindex $argv 0]
set delay [expr [lindex $argv 1] / 1000.0]
ns-random $seed
set sim [new Simulator]
foreach name {A B C D 4 5 6 7 8 9 10 11} { set node($name) [$sim node] }
foreach {a b rate} {A 4 8 7 B 8 C 8 8 11 D 8 4 5 10 5 6 10 6 7 10 4 8 10 8 9 10 9 10 10 10 11 10 7 10 10} {
    $sim duplex-link $node($a) $node($b) ${rate}Mb 10ms DropTail
    # DropTail refuses a packet that would make the queue as long as its limit: 50 wait at most.
    $sim queue-limit $node($a) $node($b) 51
    $sim queue-limit $node($b) $node($a) 51
}
# Sends what is for `to` along a route of nodes.
proc lead {to route} {
    global sim node
    foreach a [lrange $route 0 end-1] b [lrange $route 1 end] {
        set module [$node($a) get-module "Base"]
        $module add-route [$node($to) node-addr] [[$sim link $node($a) $node($b)] head]
    }
}
# 40 bytes of headers are added: 1000 on the wire.
Agent/TCP set packetSize_ 960
Agent/TCP set window_ 30
Agent/TCP set windowInit_ 2
Agent/TCP set tcpTick_ 0.1
Agent/TCP set minrto_ 0.2
Agent/TCP set rtxcur_init_ 3.0
Agent/TCP set singledup_ 0
Agent/TCP set overhead_ 0
# The timer is restarted on each partial acknowledgement: the slow-but-steady variant of RFC 2582.
Agent/TCP/Newreno set newreno_changes1_ 0
set start [new RandomVariable/Uniform]
$start set min_ 0
$start set max_ 2
foreach {group from to} {switched A B fixed C D} {
    for {set i 0} {$i < 5} {incr i} {
        set tcp($group,$i) [new Agent/TCP/Newreno]
        set sink [new Agent/TCPSink]
        $sim attach-agent $node($from) $tcp($group,$i)
        $sim attach-agent $node($to) $sink
        $sim connect $tcp($group,$i) $sink
        set ftp [new Application/FTP]
        $ftp attach-agent $tcp($group,$i)
        $sim at [$start value] "$ftp start"
    }
}
proc acked {group} {
    global tcp
    set sum 0
    for {set i 0} {$i < 5} {incr i} { incr sum [$tcp($group,$i) set ack_] }
    return $sum
}
proc timeouts {} {
    global tcp
    set sum 0
    for {set i 0} {$i < 5} {incr i} { incr sum [$tcp(switched,$i) set nrexmit_] }
    return $sum
}
proc note {} {
    global seen
    lappend seen [acked switched] [acked fixed] [timeouts]
}
proc finish {} {
    global seen seed argv
    foreach {s0 f0 t0 s1 f1 t1 s2 f2 t2} $seen {}
    puts "$seed,[lindex $argv 1],[expr $s1-$s0],[expr $f1-$f0],[expr $s2-$s0],[expr $f2-$f0],[expr $t2-$t0]"
    exit 0
}
$sim at 0.0 "lead B {A 4 5 6 7 B}; lead A {B 7 6 5 4 A}; lead D {C 8 9 10 11 D}; lead C {D 11 10 9 8 C}; lead B {8 9 10 7}; lead A {10 9 8 4}"
$sim rtmodel-at 10.0 down $node(5) $node(6)
$sim at [expr 10.0 + $delay] "lead B {4 8}; lead A {7 10}"
$sim at 10.0 note
$sim at 11.0 note
$sim at 11.5 note
$sim at 11.6 finish
$sim run
