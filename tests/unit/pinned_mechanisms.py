"""Scenarios that drive each mechanism of the language through losses, marks and pauses, "
"by its words.

They are for `test_pinned_scenarios.py`: each runs in milliseconds.
"""

from __future__ import annotations

from itertools import product

# Two links of 10 Mbit/s: one loses and reorders now and then, one has a short queue in front.
DUMBBELL = """
trunkline: 1
nodes: [A, B, C, D]
defaults: {{link: {{rate: 100 Mbit/s, delay: 2 ms}}, queue: {queue}}}
links:
  A-B: {{delay: 5 ms, loss: 0.1 %, reorder: {{share: 0.5 %, by: 3 ms}}}}
  B-C: {{rate: 10 Mbit/s, delay: 5 ms, port: p}}
  C-D: {{}}
ports: {{p: {port}}}
flows:
{flows}
failures: {{cut: {{link: C-D, outages: [{{at: 3200 ms, repair: 3900 ms}}]}}}}
probes: [{{flow: all, measure: [throughput], every: 100 ms}}]
run: {{duration: {duration}}}
"""
SHORT_QUEUE = "{queue: {limit: 25 packets}}"
CLASS_QUEUE = "{limit: 100 packets}"
MARKING = "{queue: {limit: 200 packets, aqm: {kind: step, threshold: 15 kB}}}"
CROSS = (
    "  cross: {agent: udp, from: B, to: D, arrivals: on-off, rate: 6 Mbit/s, "
    "mean_on: 300 ms, mean_off: 900 ms}"
)


def write_dumbbell(
    *flows: str, port: str = SHORT_QUEUE, queue: str = CLASS_QUEUE, duration: str = "6 s"
) -> str:
    """Flows from A to D, with a burst of others at times."""
    lines = [f"  f{number}: {{{flow}, from: A, to: D}}" for number, flow in enumerate(flows)]
    return DUMBBELL.format(
        port=port, queue=queue, flows="\n".join([*lines, CROSS]), duration=duration
    )


def list_tcp() -> dict[str, str]:
    """Each loss recovery, and each congestion control of each stack."""
    found = {}
    recoveries = [("rfc", each) for each in ("tahoe", "reno", "new-reno", "sack", "rack")]
    recoveries += [("linux", "new-reno"), ("linux", "sack")]
    for (stack, variant), delayed in product(recoveries, ("off", "40 ms")):
        keys = f"agent: tcp, variant: {variant}, stack: {stack}, delayed_ack: {delayed}"
        found[f"{variant}, {stack}, {delayed}"] = write_dumbbell(
            keys, keys + ", timestamps: true, connect: true, size: 2 MB, pacing: true"
        )
    controls = ("reno", "cubic", "bbr", "bbr3", "dctcp", "prague", "vegas", "westwood")
    for congestion, (stack, variant) in product(
        controls, (("rfc", "rack"), ("rfc", "sack"), ("linux", "sack"))
    ):
        if (congestion, stack) == ("prague", "linux"):
            continue
        keys = f"agent: tcp, congestion: {congestion}, stack: {stack}, variant: {variant}"
        keys += ", timestamps: true" if congestion in ("vegas", "prague") else ""
        keys += ", accurate_ecn: true" if congestion == "prague" else ""
        ecn = keys + ", ecn: true"
        plain = ecn if congestion in ("dctcp", "prague") else keys
        for name, flows, port in (
            ("drops", (plain, plain + ", start: 1 s"), SHORT_QUEUE),
            ("marks", (ecn, ecn + ", size: 1 MB, delayed_ack: 40 ms"), MARKING),
        ):
            found[f"{congestion}, {stack}, {variant}, {name}"] = write_dumbbell(
                *flows, port=port, duration="12 s"
            )
    for slow_start, stack in (("hystart", "linux"), ("hystart++", "rfc")):
        keys = f"agent: tcp, congestion: cubic, slow_start: {slow_start}, stack: {stack}"
        found[slow_start] = write_dumbbell(
            keys + ", variant: sack, timestamps: true", port="{queue: {limit: 400 packets}}"
        )
    found["preset"] = write_dumbbell(
        "agent: tcp, preset: linux, variant: sack, send_buffer: 4096 16384 90000"
    )
    pauses = [*product(("restart", "keep"), ("rfc", "linux")), ("validate", "rfc")]
    for after_idle, stack in pauses:
        keys = f"agent: tcp, after_idle: {after_idle}, stack: {stack}, congestion: cubic, "
        keys += "variant: sack, "
        keys += "transfers: {arrivals: periodic, every: 600 ms, size: 90 kB, connections: kept}"
        found[f"{after_idle}, {stack}"] = write_dumbbell(keys)
    return found


def list_other_agents() -> dict[str, str]:
    """Agents over UDP, and workloads."""
    flows = {
        "tfrc": "agent: udp, arrivals: tfrc, size: 1000 B",
        "tfrc, slow": "agent: udp, arrivals: tfrc, size: 500 B, rate: 300 kbit/s",
        "media": "agent: udp, media: {control: nada, min_rate: 200 kbit/s, max_rate: 9 Mbit/s}",
        "media, ladder": "agent: udp, media: {control: nada, min_rate: 200 kbit/s, "
        "max_rate: 3 Mbit/s, "
        "ladder: [300 kbit/s, 900 kbit/s, 2 Mbit/s], ecn: on}",
        "call": "agent: udp, call: {codec: g729a, playout: 60 ms}",
        "echo": "agent: echo, protocol: udp, spacing: poisson, interval: 20 ms, timeout: 200 ms",
        "jitter": "agent: udp, rate: 4 Mbit/s, size: {exponential: 700 B}, jitter: 50 %, "
        "tick: 1 ms",
        "pages": "agent: tcp, pages: {users: 4, parallel: 3, objects: 5, reading: 300 ms}",
        "kept pages": "agent: tcp, pages: {users: 2, reading: 200 ms, connections: kept}",
        "film": "agent: tcp, video: {players: 2, ladder: [300 kbit/s, 1 Mbit/s, 5 Mbit/s], "
        "chunk: 500 ms, "
        "buffer: 3 s}",
        "film by rate": "agent: tcp, video: {players: 3, rule: rate, chunk: 400 ms, buffer: 2 s, "
        "connections: kept}",
        "pareto": "agent: tcp, transfers: {load: 6 Mbit/s, record: true, "
        "size: {pareto: {shape: 1.3, min: 1 kB, max: 1 MB}}}",
        "weibull": "agent: tcp, transfers: {load: 3 Mbit/s, size: {weibull: {shape: 0.7, "
        "scale: 9 kB}}}",
        "lognormal": "agent: tcp, connect: true, transfers: {arrivals: on-off, every: 20 ms, "
        "mean_on: 50 ms, "
        "mean_off: 70 ms, size: {lognormal: {mean: 10 kB, sd: 20 kB, min: 100 B, max: 1 MB}}}",
    }
    return {
        f"{name}, {kind}": write_dumbbell(flow, port=port)
        for name, flow in flows.items()
        for kind, port in (("drops", SHORT_QUEUE), ("marks", MARKING))
    }


def list_aqms() -> dict[str, str]:
    """Each kind of queue under TCP with and without ECN, and UDP of three precedences."""
    three = (
        "precedences: [{min_th: 15 packets, max_th: 40 packets}, "
        "{min_th: 8 packets, max_th: 25 packets, max_p: 0.2}]"
    )
    kinds = {
        "precedence-drop-tail": "{kind: precedence-drop-tail, limits: [30 packets, 15 packets]}",
        "red": "{kind: red, min_th: 5 packets, max_th: 15 packets}",
        "red gentle": "{kind: red, min_th: 5 kB, max_th: 15 kB, spacing: ns2, gentle: true, "
        "adaptive: true}",
        "red geometric": "{kind: red, min_th: 5 packets, max_th: 15 packets, spacing: geometric, "
        "w_q: 0.02}",
        **{kind: f"{{kind: {kind}, {three}}}" for kind in ("wred", "rio-c", "rio-d")},
        "red-linux": "{kind: red-linux, min: 5 kB, max: 15 kB, burst: 10 packets, age: plog}",
        "red-linux adaptive": "{kind: red-linux, min: 5 kB, max: 15 kB, burst: 7 packets, "
        "adaptive: true}",
        "gred": "{kind: gred, dps: [{dp: 0, limit: 60 kB, min: 5 kB, max: 15 kB, "
        "burst: 10 packets}]}",
        "gred grio": "{kind: gred, grio: true, dps: [{dp: 0, limit: 60 kB, prio: 2, min: 5 kB, "
        "max: 15 kB, "
        "burst: 7 packets}, {dp: 1, limit: 50 kB, prio: 1, min: 9 kB, max: 20 kB, "
        "burst: 10 packets}]}",
        "blue": "{kind: blue, threshold: 20 packets, increment: 0.03, decrement: 0.01, "
        "freeze: 50 ms}",
        "step": "{kind: step, threshold: 9 kB}",
        **{kind: f"{{kind: {kind}}}" for kind in ("codel", "cobalt", "pie", "dualpi2")},
        **{f"{kind} linux": f"{{kind: {kind}, arithmetic: linux}}" for kind in ("codel", "pie")},
    }
    ports = {name: f"{{queue: {{limit: 80 packets, aqm: {aqm}}}}}" for name, aqm in kinds.items()}
    for kind in ("fq-codel", "fq-pie", "fq", "sfq", "cake"):
        ports[kind] = f"{{queue: {{limit: 90 packets, flows: {{kind: {kind}}}}}}}"
    rules = "classify: [{flow: f2, precedence: 1}, {flow: cross, precedence: 1}]"
    flows = (
        "agent: tcp, variant: sack",
        "agent: tcp, variant: sack, ecn: true",
        "agent: udp, arrivals: poisson, rate: 4 Mbit/s, size: {exponential: 600 B}",
    )
    found = {name: write_dumbbell(*flows, port=port) for name, port in ports.items()}
    for name in ("wred", "rio-c", "rio-d", "gred grio", "precedence-drop-tail"):
        found[f"{name} by rules"] = write_dumbbell(*flows, port=ports[name][:-1] + f", {rules}}}")
    return found


def list_schedulers() -> dict[str, str]:
    """Each scheduler with three classes that are never empty together, over 6 s."""
    classes = {
        "priority": "{x: {priority: 1}, y: {priority: 1}, z: {priority: 2}}",
        "drr": "{x: {weight: 3}, y: {weight: 2}, z: {weight: 1}}",
        "wrr": "{x: {weight: 3}, y: {weight: 2}, z: {weight: 1}}",
        "wfq": "{x: {weight: 3}, y: {weight: 2}, z: {weight: 1}}",
        "shaped": "{x: {priority: 1, rate: 1 Mbit/s, burst: 5 kB}, y: {priority: 2, "
        "rate: 3 Mbit/s}, z: {priority: 3}}",
        "htb": "{top: {rate: 8 Mbit/s}, x: {parent: top, rate: 1 Mbit/s, ceil: 5 Mbit/s}, "
        "y: {parent: top, rate: 2 Mbit/s, quantum: 4 kB}, z: {rate: 1 Mbit/s, priority: 2}}",
        "hfsc": "{top: {link_share: 7 Mbit/s}, x: {parent: top, real_time: {m1: 3 Mbit/s, "
        "d: 12 ms, m2: 1 Mbit/s}, "
        "link_share: 1 Mbit/s}, y: {parent: top, link_share: {m1: 1 Mbit/s, d: 7 ms, "
        "m2: 3 Mbit/s}, "
        "upper_limit: 4 Mbit/s}, z: {link_share: 3 Mbit/s}}",
        **{
            f"cbq{kind}": "{top: {rate: 8 Mbit/s}, x: {parent: top, rate: 2 Mbit/s, "
            "bounded: true}, "
            "y: {parent: top, rate: 1 Mbit/s, priority: 2}, z: {rate: 2 Mbit/s, isolated: true}}"
            for kind in ("", "-ancestor-only")
        },
        "cake": "{x: {priority: 1, rate: 2 Mbit/s}, y: {priority: 2, rate: 4 Mbit/s}, "
        "z: {priority: 3}}",
    }
    flows = (
        "agent: udp, arrivals: on-off, rate: 9 Mbit/s, size: 1500 B, mean_on: 400 ms, "
        "mean_off: 100 ms",
        "agent: tcp, variant: sack",
        "agent: udp, arrivals: poisson, rate: 5 Mbit/s, size: {exponential: 400 B}",
    )
    rules = "classify: [{flow: f0, class: x}, {flow: f1, class: y}, {class: z}]"
    found = {}
    for scheduler, words in classes.items():
        port = f"{{scheduler: {scheduler}, classes: {words}, {rules}}}"
        found[scheduler] = write_dumbbell(*flows, port=port)
        codel = "{limit: 60 packets, aqm: codel}"
        found[f"{scheduler}, codel"] = write_dumbbell(*flows, port=port, queue=codel)
    found["drr per flow"] = write_dumbbell(*flows, port="{per: flow, scheduler: drr}")
    found["tbf"] = write_dumbbell(
        *flows,
        port="{scheduler: tbf, classes: {all: {rate: 7 Mbit/s, burst: 20 kB, "
        "peak_rate: 9 Mbit/s}}}",
    )
    found["cake bandwidth"] = write_dumbbell(
        *flows,
        port=f"{{scheduler: cake, bandwidth: 6 Mbit/s, classes: {classes['cake']}, {rules}}}",
    )
    return found


MECHANISMS = {
    "tcp": list_tcp,
    "agents": list_other_agents,
    "queues": list_aqms,
    "schedulers": list_schedulers,
}
