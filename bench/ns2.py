"""A workload as a driver script of ns-2, and what the script prints.

ns-2's drop-tail queue refuses the packet that would make it as long as its limit, so it is given
one more; its RED queue holds as many as its limit says. Headers that no agent here uses are left
out of ns-2's packets, which makes it a sixth faster. ns-2 has no labels and here one queue a port.
"""

from __future__ import annotations

import shutil

from workloads import Workload, WorkloadLink, compute_next_hops

NS2_PROGRAM = "ns"


def is_installed() -> bool:
    """Whether ns-2 is on this machine."""
    return shutil.which(NS2_PROGRAM) is not None


def format_seconds(span_ns: int) -> str:
    """Nanoseconds as Tcl seconds, exact. span_ns: The span [ns]."""
    return f"{span_ns // 10**9}.{span_ns % 10**9:09d}"


def write_driver(workload: Workload) -> str:
    """The driver: ``ns FILE SECONDS time|count``.

    With ``count`` a monitor on every link counts packet-hops and drops; with ``time`` nothing is
    attached, and the same packets are simulated.

    workload: The workload to simulate.
    Returns: Tcl.
    """
    lines = [
        f"# {workload.name}: {workload.about}. Written by bench/ns2.py.",
        "set duration [lindex $argv 0]",
        "set counting [string equal [lindex $argv 1] count]",
        "remove-all-packet-headers",
        "add-packet-header IP TCP Flags RTP",
        "set ns [new Simulator]",
        "$ns rtproto Manual",
        "proc oneway {from to rate delay kind limit} {",
        "    global ns counting monitors",
        "    $ns simplex-link $from $to $rate $delay $kind",
        "    $ns queue-limit $from $to $limit",
        '    if {$counting} { lappend monitors [$ns monitor-queue $from $to ""] }',
        "}",
        "proc transfer {from to mss start window} {",
        "    global ns tcps",
        "    set sender [new Agent/TCP/Newreno]",
        "    $sender set packetSize_ $mss",
        "    $sender set window_ $window",
        "    set receiver [new Agent/TCPSink]",
        "    $ns attach-agent $from $sender",
        "    $ns attach-agent $to $receiver",
        "    $ns connect $sender $receiver",
        "    set application [new Application/FTP]",
        "    $application attach-agent $sender",
        '    $ns at $start "$application start"',
        "    lappend tcps $sender $mss",
        "}",
        "proc constant {from to bytes rate} {",
        "    global ns udps",
        "    set sender [new Agent/UDP]",
        "    $sender set packetSize_ $bytes",
        "    set receiver [new Agent/LossMonitor]",
        "    $ns attach-agent $from $sender",
        "    $ns attach-agent $to $receiver",
        "    $ns connect $sender $receiver",
        "    set application [new Application/Traffic/CBR]",
        "    $application set packetSize_ $bytes",
        "    $application set rate_ $rate",
        "    $application attach-agent $sender",
        '    $ns at 0.0 "$application start"',
        "    lappend udps $receiver",
        "}",
        "set tcps {}; set udps {}; set monitors {}",
    ]
    lines += [f"set node({name}) [$ns node]" for name in workload.nodes]
    compared_links: list[int] = []
    count = 0
    for link in workload.links:
        for a, b, red in ((link.a, link.b, link.red), (link.b, link.a, None)):
            if workload.bottleneck in {None, (a, b)}:
                compared_links.append(count)
            count += 1
            lines += format_red_lines(link) if red else []
            kind, limit = ("RED", link.red_limit_packets) if red else ("DropTail", 1)
            limit += 0 if red else link.limit_packets
            delay = format_seconds(link.delay_ns)
            ends = f"$node({a}) $node({b})"
            lines.append(f"oneway {ends} {link.rate_bit_s}.0 {delay} {kind} {limit}")
    for (node, destination), hop in compute_next_hops(workload).items():
        link_head = f"[[$ns link $node({node}) $node({hop})] head]"
        lines.append(f"$node({node}) add-route [$node({destination}) id] {link_head}")
    for cbr in workload.cbr:
        ends = f"$node({cbr.source}) $node({cbr.destination})"
        lines.append(f"constant {ends} {cbr.packet_bytes} {cbr.rate_bit_s}.0")
    for tcp in workload.tcp:
        ends = f"$node({tcp.source}) $node({tcp.destination})"
        start = format_seconds(tcp.start_ns)
        lines.append(f"transfer {ends} {tcp.mss_bytes} {start} {tcp.window_packets}")
    lines += [
        "proc finish {} {",
        "    global counting monitors tcps udps",
        "    set bytes 0.0",
        "    foreach {sender mss} $tcps { set bytes [expr {$bytes + [$sender set ack_] * $mss}] }",
        "    set datagrams 0.0",
        "    foreach u $udps { set datagrams [expr {$datagrams + [$u set bytes_]}] }",
        '    puts "tcp_bytes $bytes"',
        '    puts "udp_bytes $datagrams"',
        "    if {$counting} {",
        "        set hops 0.0; set drops 0.0",
        "        foreach m $monitors {",
        "            set hops [expr {$hops + [$m set pdepartures_]}]",
        "            set drops [expr {$drops + [$m set pdrops_]}]",
        "        }",
        "        set bytes 0.0; set lost 0.0",
        f"        foreach place {{{' '.join(map(str, compared_links))}}} {{",
        "            set m [lindex $monitors $place]",
        "            set bytes [expr {$bytes + [$m set bdepartures_]}]",
        "            set lost [expr {$lost + [$m set pdrops_]}]",
        "        }",
        '        puts "packet_hops $hops"',
        '        puts "drops $drops"',
        '        puts "bottleneck_bytes $bytes"',
        '        puts "bottleneck_drops $lost"',
        "    }",
        "    exit 0",
        "}",
        "$ns at $duration finish",
        "$ns run",
    ]
    return "\n".join(lines) + "\n"


def format_red_lines(link: WorkloadLink) -> list[str]:
    """Settings of the next RED queue that is made. link: The link it serves."""
    red = link.red
    assert red is not None
    values = {
        "thresh_": red.min_th,
        "maxthresh_": red.max_th,
        "linterm_": 1 / red.max_p,
        "q_weight_": red.w_q,
        "mean_pktsize_": red.mean_bytes,
        "gentle_": "false",
        "bytes_": "false",
        "queue_in_bytes_": "false",
        "adaptive_": 0,
    }
    return [f"Queue/RED set {key} {value}" for key, value in values.items()]


def parse_counts(printed: str) -> dict[str, float]:
    """Parse the counts of the script. printed: Its output."""
    return {key: float(value) for key, value in map(str.split, printed.splitlines())}
