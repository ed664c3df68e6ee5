"""Scenarios that drive each mechanism of the language through losses, marks and pauses.

They are for `test_pinned_scenarios.py`: each runs in milliseconds.
"""

from __future__ import annotations

import re
from itertools import pairwise, product

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
    found = {
        f"{name}, {kind}": write_dumbbell(flow, port=port)
        for name, flow in flows.items()
        for kind, port in (("drops", SHORT_QUEUE), ("marks", MARKING))
    }
    # Nodes that take time, next to a link that reorders.
    busy = (
        "{A: {}, B: {processing: {fixed: 20 us, ip_lookup: 9 us}}, C: {processing: 30 us}, D: {}}"
    )
    found["processing"] = found["pareto, drops"].replace("[A, B, C, D]", busy)
    return found


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


# Two ways of three hops from S to T, joined in the middle; a link, a node and a link for good fail.
MESH = """
trunkline: 1
nodes: {nodes}
defaults: {{link: {{rate: 10 Mbit/s, delay: 2 ms, loss: {loss}{link}}}, udp: {{size: 400 B}}}}
links:
  S-A: {{te: {{colours: [gold]}}}}
  A-B: {{te: {{risks: [duct], colours: [gold]}}}}
  B-T: {{metric: 2, te: {{reservable: 0.8, colours: [gold, iron]}}}}
  S-C: {{metric: 2}}
  C-D: {{te: {{metric: 5}}}}
  D-T: {{}}
  A-C: {{metric: 3, te: {{risks: [duct]}}}}
  B-D: {{metric: 2}}
failures:
  cut: {{link: A-B, at: 1 s, repair: 1800 ms}}
  down: {{node: D, at: 2500 ms, repair: 3 s}}
  gone: {{link: S-A, at: 3500 ms}}
flows:
  f: {{agent: udp, from: S, to: T, rate: 1 Mbit/s, dscp: EF}}
  g: {{agent: tcp, from: S, to: T, variant: sack, dscp: AF11, window: 20 packets}}
  h: {{agent: udp, from: A, to: D, rate: 500 kbit/s}}
run: {{duration: 5 s, trace: false}}
{rest}
"""


MESH_NODES = "[S, A, B, T, C, D]"


def write_mesh(rest: str, loss: str = "0 %", link: str = "", nodes: str = MESH_NODES) -> str:
    """Flows over a mesh that fails, with further sections and further keys of all links."""
    return MESH.format(rest=rest, loss=loss, link=link, nodes=nodes)


def list_labels() -> dict[str, str]:
    """Each kind of protection for each way to put a label on and off, and tunnels."""
    found = {}
    maps = "diffserv: {kind: e-lsp, map: {EF: 5, AF11: 3}"
    ends = {
        "php": "",
        "last pops": ", php: false",
        "explicit null": ", explicit_null: true",
        "pipe": f", php: false, ttl: pipe, {maps}, model: pipe}}",
        "short pipe": f", ttl: short-pipe, {maps}, model: short-pipe}}",
        "uniform": f", {maps}, model: uniform}}",
    }
    detection = "detection: {kind: bfd, interval: 5 ms}, processing: 1 ms, wait_to_restore: 50 ms"
    kinds = {
        "backup": "kind: backup, backup: around",
        "1+1": "kind: one-plus-one, backup: around",
        "restoration": "kind: restoration, compute: 5 ms",
        "detour": "kind: detour, backup: aside",
        "bypass": "kind: facility-bypass, backup: past",
        "bypass of a node": "kind: facility-bypass, backup: auto, protect: node",
        "detour of a node": "kind: detour, backup: auto, protect: node",
    }
    for (end, keys), (kind, words) in product(ends.items(), kinds.items()):
        # The tail of 1+1 selects by label.
        if kind == "1+1" and "php: false" not in keys:
            continue
        found[f"{kind}, {end}"] = write_mesh(
            f"paths:\n  p: {{route: [S, A, B, T], account: true{keys}}}\n"
            f"  around: {{route: [S, C, D, T]{keys}}}\n  aside: {{route: [A, C, D, T]{keys}}}\n"
            f"  past: {{route: [A, C, D, B]{keys}}}\n"
            "trunks: {t: {path: p, flows: [f, g]}}\n"
            f"protections: {{x: {{path: p, {words}, {detection}}}}}\n"
        )
    for outer, inner in product(ends, ends):
        found[f"{inner} in {outer}"] = write_mesh(
            f"paths:\n  outer: {{route: [A, C, D, B]{ends[outer]}}}\n"
            f"  inner: {{route: [S, A, B, T], through: outer{ends[inner]}}}\n"
            "trunks: {t: {path: inner, flows: [f, g]}}\n"
        )
    for name, more in {
        "alone": "",
        "entropy": "routing: {ecmp: entropy}",
        "flow": "routing: {ecmp: flow}",
        "repair": f"protections: {{x: {{path: p, kind: ti-lfa, backup: auto, {detection}}}}}",
        "repairs": "protections: {x: {path: [p, q], kind: ti-lfa, backup: auto}}",
        "repair of nodes": "protections: {x: {path: p, kind: ti-lfa, backup: auto, protect: node}}",
        "end to end": "protections: {x: {path: p, kind: backup, backup: around}}",
        "OSPF": "routing: {ospf: {hello: 100 ms}}",
    }.items():
        paths = "paths:\n  p: {from: S, segments: [B, T]}\n  around: {route: [S, C, D, T]}\n"
        paths += "  q: {from: A, segments: [B, T, D]}"
        trunks = "trunks: {t: {path: p, flows: [f, g]}, u: {path: q, flows: h}}"
        found[f"segments, {name}"] = write_mesh(f"{paths}\n{trunks}\n{more}\n")
    return found


def list_control() -> dict[str, str]:
    """OSPF, LDP and RSVP-TE by their options, where messages are lost now and then."""
    ospf = {
        "plain": "hello: 100 ms",
        "backoff": "hello: 100 ms, spf: {kind: backoff, initial: 20 ms}, lsa_interval: 50 ms",
        "rfc8405": "detection: {kind: bfd, interval: 10 ms}, spf: {kind: rfc8405, initial: 10 ms, "
        "short: 50 ms, long: 400 ms, learn: 100 ms, hold_down: 900 ms}, resend: 100 ms",
        "slow": "hello: 200 ms, dead: 600 ms, lsa_arrival: 80 ms, processing: 2 ms, compute: 3 ms, "
        "fib_update: 5 ms, fib_updates: {B: 30 ms}, local_delay: 10 ms",
    }
    ldp = {
        "plain": "{hello: 100 ms, hello_hold: 300 ms}",
        "ordered": "{control: ordered, hello: 100 ms, hello_hold: 300 ms, keepalive: 900 ms, "
        "resend: 200 ms, retry: 300 ms}",
        "detected": "{start: 5 ms, hello: 200 ms, hello_hold: 600 ms, detection: {kind: bfd}, "
        "gtsm: true}",
    }
    found = {}
    for (name, options), ecmp, loss in product(ospf.items(), ("", "ecmp: flow, "), ("0 %", "1 %")):
        found[f"OSPF, {name}, {ecmp}{loss}"] = write_mesh(
            f"routing: {{{ecmp}ospf: {{{options}}}}}\n", loss
        )
    for (name, options), loss in product(ldp.items(), ("0 %", "1 %")):
        found[f"LDP, {name}, {loss}"] = write_mesh(f"routing: {{ldp: {options}}}\n", loss)
        bfd = ", detection: {kind: bfd}" if name == "detected" else ""
        own = options.replace(", gtsm: true", "")[:-1]
        found[f"LDP with OSPF, {name}, {loss}"] = write_mesh(
            f"routing: {{ospf: {{hello: 100 ms{bfd}}}, ldp: {own}, igp_sync: true}}}}\n",
            loss,
        )
    rsvp = {
        "plain": "refresh: 300 ms",
        "reliable": "refresh: 300 ms, reliable: true, resend: 40 ms, resend_increment: 0.5, "
        "resend_limit: 5",
        "summary": "refresh: 200 ms, reliable: true, summary: true, resend: 40 ms",
        "hello": "refresh: 300 ms, hello: 20 ms, multiplier: 4, processing: 500 us, retry: 300 ms",
        "soft": "refresh: 300 ms, soft_preemption: 300 ms, reoptimise: 400 ms, cleanup: 100 ms",
        "late": "refresh: 300 ms, flooding: 50 ms, flooding_threshold: 0.1, attempts: 2, "
        "retry: 400 ms, when_down: discard",
        "break": "refresh: 300 ms, make_before_break: false, retry: 300 ms, reoptimise: 500 ms",
        "by load": "refresh: 300 ms, auto_bandwidth: {p: {sample: 100 ms, adjust: 300 ms, "
        "threshold: 10 %, minimum: 100 kbit/s, maximum: 4 Mbit/s}}",
        "by load, at once": "refresh: 300 ms, auto_bandwidth: {p: {sample: 200 ms, adjust: 200 ms, "
        "minimum: 2 Mbit/s, maximum: 2 Mbit/s}}",
    }
    paths = (
        "paths:\n"
        "  p: {from: S, to: T, route: auto, bandwidth: 3 Mbit/s, setup: 6, hold: 6}\n"
        "  q: {from: S, to: D, route: auto, bandwidth: 6 Mbit/s, setup: 3, hold: 2}\n"
        "  r: {route: [A, B, D], bandwidth: 2 Mbit/s}\n"
        "trunks: {p: {path: p, flows: [f, g]}, r: {path: r, flows: h}}\n"
        "events:\n  - {at: 400 ms, resize: r, bandwidth: 3 Mbit/s}\n  - {at: 600 ms, tear: q}\n"
        "  - {at: 700 ms, set_up: q}\n  - {at: 2200 ms, move: r, to: [A, C, D]}\n"
        "requests:\n  calls: {from: S, to: T, bandwidth: 900 kbit/s, every: 100 ms, "
        "holding: 300 ms, setup: 5, hold: 4}\n"
    )
    for (name, options), loss in product(rsvp.items(), ("0 %", "1 %")):
        signalling = f"signalling: {{kind: rsvp-te, {options}}}\n"
        found[f"RSVP-TE, {name}, {loss}"] = write_mesh(signalling + paths, loss)
        for kind, protect in product(("detour", "facility-bypass"), ("link", "node")):
            repair = (
                f"protections: {{x: {{path: [p, r], kind: {kind}, backup: auto, "
                f"protect: {protect}, bandwidth: 50 %}}}}\n"
            )
            found[f"RSVP-TE, {name}, {kind} of a {protect}, {loss}"] = write_mesh(
                signalling + paths + repair, loss
            )
    signalling = "signalling: {kind: rsvp-te, refresh: 300 ms}\n"
    written = paths.replace("trunks:", "  aside: {route: [A, C, D]}\ntrunks:")
    for name, words in {
        "written detour": "x: {path: r, kind: detour, backup: aside}",
        "written bypass": "x: {path: r, kind: facility-bypass, backup: aside}",
        "of link and node": "x: {path: r, kind: detour, backup: auto, link: B-D}, "
        "y: {path: p, kind: detour, backup: auto, protect: node}",
    }.items():
        found[name] = write_mesh(f"{signalling}{written}protections: {{{words}}}\n")
    for model in ("mam", "rdm"):
        types = (
            "traffic: {data: {agent: udp, size: 800 B}}\n"
            "demands:\n  d: {from: A, to: D, rate: 500 kbit/s, class: data}\n"
            "  e: {from: D, to: A, rate: 500 kbit/s, class: EF}\n"
            f"te: {{model: {model}, class_types: {{CT1: [data], CT2: EF}}, "
            "constraints: {CT0: 90 %, CT1: 0.6, CT2: 0.4}}\n"
        )
        own = paths.replace("bandwidth: 6", "class_type: CT1, bandwidth: 2").replace(
            "bandwidth: 3 Mbit/s, setup", "class_type: CT2, bandwidth: 2 Mbit/s, setup"
        )
        for name, routing in (("", ""), ("OSPF", "routing: {ospf: {hello: 100 ms}}\n")):
            signalling = "signalling: {kind: rsvp-te, refresh: 300 ms, retry: 300 ms}\n"
            found[f"class types, {model}, {name}"] = write_mesh(types + signalling + own + routing)
    return found


def list_maintenance() -> dict[str, str]:
    """Planned outages, one in the other, with each way to drain, for paths of each protection."""
    protections = {
        "alone": "",
        "backup": "protections: {x: {path: p, kind: backup, backup: around}}\n",
        "restoration": "protections: {x: {path: p, kind: restoration, compute: 5 ms}}\n",
        "detour": "protections: {x: {path: [p, r], kind: detour, backup: auto}}\n",
    }
    found = {}
    for drain, (name, words), control in product(
        ("none", "metric", "lsp", "both"),
        protections.items(),
        ("", "routing: {ospf: {hello: 100 ms}}\n", "signalling: {kind: rsvp-te}\n"),
    ):
        # Routes follow metrics with OSPF alone; a path is moved that is protected or signalled.
        has_ospf, moves = "ospf" in control, bool(words) or "rsvp" in control
        if (drain in ("metric", "both") and not has_ospf) or (drain == "lsp" and not moves):
            continue
        lead = "" if drain == "none" else ", lead: 100 ms"
        found[f"{drain}, {name}, {control.partition(':')[0]}"] = write_mesh(
            "maintenance:\n"
            f"  work: {{link: [A-B], from: 1900 ms, to: 2400 ms, drain: {drain}{lead}}}\n"
            f"  more: {{link: [S-A, C-D], from: 2200 ms, to: 2700 ms, drain: {drain}{lead}}}\n"
            f"  last: {{link: B-T, from: 4 s, drain: {drain}{lead}}}\n"
            "paths:\n  p: {route: [S, A, B, T], bandwidth: 2 Mbit/s}\n"
            "  around: {route: [S, C, D, T]}\n"
            "  r: {from: A, to: D, route: auto, bandwidth: 3 Mbit/s}\n"
            "trunks: {t: {path: p, flows: [f, g]}, u: {path: r, flows: h}}\n"
            f"{words}{control}"
        )
    return found


def list_static_routes() -> dict[str, str]:
    """Static routes by distance: better than those of OSPF, in wait behind them, and alike."""
    nearer = "[{to: T, via: C, distance: 5}, {to: T, via: A, distance: 9}]"
    found = {}
    for name, listed, routing in (
        ("nearer", nearer, "ospf: {hello: 100 ms}"),
        ("nearer, equal cost", nearer, "ecmp: flow, ospf: {hello: 100 ms}"),
        ("in wait", nearer.replace(": 5", ": 200").replace(": 9", ": 210"), "ospf: {}"),
        ("alike", "[{to: T, via: C}, {to: T, via: A}]", "ecmp: flow, ospf: {hello: 100 ms}"),
        ("alike, fixed", "[{to: T, via: C}, {to: T, via: A}]", "ecmp: flow"),
    ):
        nodes = f"{{S: {{routes: {listed}}}, A: {{}}, B: {{}}, T: {{}}, C: {{}}, D: {{}}}}"
        found[name] = write_mesh(f"routing: {{{routing}}}\n", nodes=nodes)
    return found


def list_classifiers() -> dict[str, str]:
    """Rules of ports and conditioners by each of their keys, "
    "for packets with and without labels."""
    rules = {
        "DSCP": "{dscp: [DF, 3], class: x}, {dscp: EF, class: y, precedence: 1}",
        "TC": "{tc: 0, class: x}, {tc: [5, 7], class: y}",
        "several": "{tc: [0, 5], flow: f, class: x}, {dscp: AF11, flow: g, class: y, "
        "precedence: 2}",
        "flow": "{flow: f, class: x}, {flow: [g, h], dscp: AF11, class: y}",
        "ends": "{source: S, destination: T, protocol: tcp, class: x}, {destination: [D, S], "
        "class: y}",
        "trunk": "{trunk: t, dscp: EF, class: x}, {path: aside, class: y}",
        "path and flow": "{path: p, flow: f, class: x, precedence: 1}, {trunk: u, class: y}",
        "order": "{protocol: udp, class: y}, {dscp: EF, class: x}, {flow: g, class: z}",
    }
    paths = (
        "paths:\n  p: {route: [S, A, B, T]KEYS}\n  aside: {route: [A, C, D]}\n"
        "trunks: {t: {path: p, flows: [f, g]}, u: {path: aside, flows: h}}\n"
        "protections: {x: {path: p, kind: facility-bypass, backup: auto}}\n"
    )
    maps = ", diffserv: {kind: e-lsp, map: {EF: 5, AF11: 1, DF: 0}, model: MODEL}"
    ways = {
        "no labels": "",
        "labels": paths.replace("KEYS", ""),
        **{
            model: paths.replace("KEYS", ", php: false" + maps.replace("MODEL", model))
            for model in ("uniform", "pipe", "short-pipe")
        },
        "L-LSP": paths.replace("KEYS", ", diffserv: {kind: l-lsp, scheduling_class: EF}").replace(
            "[f, g]", "f"
        ),
    }
    red = "{min_th: 2 packets, max_th: 9 packets}"
    wred = f"queue: {{aqm: {{kind: wred, precedences: [{red}, {red}, {red}]}}}}"
    classes = f"{{x: {{weight: 3, {wred}}}, y: {{weight: 2, {wred}}}, z: {{weight: 1}}}}"
    found = {}
    profiles = (
        "x: {meter: {kind: token-bucket, rate: 500 kbit/s, burst: 3 kB}, red: drop}, "
        "y: {meter: {kind: srtcm, cir: 300 kbit/s, cbs: 2 kB, ebs: 3 kB}, yellow: {dscp: AF12}}"
    )
    for (name, listed), (way, words) in product(rules.items(), ways.items()):
        if not words and ("trunk:" in listed or "path:" in listed):
            continue
        port = f"{{scheduler: wfq, classes: {classes}, classify: [{listed}, {{class: z}}]}}"
        sections = f"ports: {{p: {port}}}\n{words}"
        found[f"port, {name}, {way}"] = write_mesh(sections, link=", port: p")
        if "class: z" in listed:
            continue
        marks = re.sub(", precedence: .", "", listed).replace("class:", "profile:")
        sections = f"conditioners: {{c: {{rules: [{marks}], profiles: {{{profiles}}}}}}}\n{words}"
        found[f"conditioner, {name}, {way}"] = write_mesh(sections, link=", conditioner: c")
    return found


def list_meters() -> dict[str, str]:
    """Each meter, blind and aware of colours, behind one that colours."""
    meters = {
        "token-bucket": "rate: 1 Mbit/s, burst: 4 kB, peak_rate: 3 Mbit/s, peak_burst: 2 kB",
        "srtcm": "cir: 1 Mbit/s, cbs: 4 kB, ebs: 6 kB",
        "trtcm": "cir: 1 Mbit/s, cbs: 4 kB, pir: 2 Mbit/s, pbs: 6 kB",
        "rfc4115": "cir: 1 Mbit/s, cbs: 4 kB, eir: 1 Mbit/s, ebs: 6 kB",
        "tsw2cm": "ctr: 1 Mbit/s, avg_interval: 300 ms",
        "tsw3cm": "ctr: 1 Mbit/s, ptr: 2 Mbit/s, avg_interval: 300 ms",
    }
    found = {}
    for (kind, words), per, aware in product(meters.items(), ("", "per: flow, "), (False, True)):
        if aware and kind.startswith("tsw"):
            continue
        also = ", colour_aware: true" if aware else ""
        yellow = "" if kind in ("token-bucket", "tsw2cm") else "yellow: {dscp: AF12}, "
        colours = f"green: {{dscp: AF11}}, {yellow}red: {{dscp: AF13}}"
        meter = f"meter: {{kind: {kind}, {words}{also}}}"
        found[f"{kind}, {per}{aware}"] = write_mesh(
            "conditioners:\n"
            f"  c: {{rules: [{{profile: x}}], profiles: {{x: {{{per}{meter}, {colours}}}}}}}\n",
            link=", conditioner: c, account: true",
        )
    return found


def list_placements() -> dict[str, str]:
    """Paths that are placed by demands and constraints, on a mesh that they fill."""
    demands = (
        "traffic: {data: {agent: udp, size: 800 B}}\n"
        "demands:\n"
        + "".join(
            f"  d{number}: {{from: {ends[0]}, to: {ends[1]}, rate: {rate} Mbit/s, class: {kind}}}\n"
            for number, (ends, rate, kind) in enumerate(
                [
                    ("ST", 4, "EF"), ("ST", 3, "data"), ("SD", 2, "data"), ("TS", 5, "EF"),
                    ("AD", 4, "data"), ("CB", 3, "EF"), ("DA", 2, "data"), ("TC", 4, "data"),
                    ("SB", 2, "EF"), ("CT", 1, "data"),
                ]
            )
        )
    )  # fmt: skip
    found = {}
    for order, preemption, model in product(
        ("priority", "listed"),
        ("lowest-priority-first", "fewest", "least-bandwidth"),
        ("none", "mam", "rdm", "mar"),
    ):
        types = ", class_types: {CT1: [EF]}, constraints: {CT0: 80 %, CT1: 0.5}"
        more = {"none": "", "mar": types + ", threshold: 5 %"}.get(model, types)
        found[f"{order}, {preemption}, {model}"] = write_mesh(
            f"te: {{order: {order}, preemption: {preemption}, model: {model}{more}, "
            f"unplaced: igp}}\n"
            f"{demands}"
            "trunks:\n"
            "  weak: {demands: [d1, d2, d4, d6, d9], path: auto, constraints: {setup: 6, "
            "hold: 5}}\n"
            "  split: {demands: [d7], path: auto, split: 2, constraints: {setup: 4, hold: 4}}\n"
            "  strong: {demands: [d0, d3, d5, d8], path: auto, constraints: {setup: 2, hold: 1}}\n"
        )
    constraints = {
        "hops": "max_hops: 3",
        "fewer hops": "max_hops: 3, minimise: te",
        "delay": "max_delay: 7 ms, minimise: te",
        "least delay": "minimise: delay, via: [C, D]",
        "via": "via: [A, B], minimise: te",
        "any": "include_any: [gold, iron]",
        "none": "exclude: iron",
        "all": "include_all: gold",
    }
    for (name, words), kind in product(constraints.items(), ("link", "node", "risk")):
        found[f"{name}, alone, signalled"] = write_mesh(
            "signalling: {kind: rsvp-te, retry: 300 ms, reoptimise: 300 ms}\n"
            f"paths: {{p: {{from: S, to: T, route: auto, bandwidth: 3 Mbit/s, {words}}}}}\n"
            "trunks: {p: {path: p, flows: f}}\n"
        )
        found[f"{name}, {kind}, signalled"] = write_mesh(
            "signalling: {kind: rsvp-te, retry: 300 ms, reoptimise: 300 ms}\n"
            f"paths:\n  p: {{from: S, to: T, route: auto, bandwidth: 3 Mbit/s, {words}}}\n"
            "  q: {from: S, to: T, route: auto, bandwidth: 3 Mbit/s, "
            f"disjoint_from: {{p: {kind}}}}}\n"
            "trunks: {p: {path: p, flows: f}, q: {path: q, flows: g}}\n"
        )
        found[f"{name}, {kind}"] = write_mesh(
            "te: {unplaced: igp}\n"
            f"paths:\n  p: {{from: S, to: T, route: auto, bandwidth: 3 Mbit/s, {words}}}\n"
            f"  q: {{from: S, to: T, route: auto, bandwidth: 3 Mbit/s, "
            f"disjoint_from: {{p: {kind}}}}}\n"
            f"  v: {{from: C, to: T, route: auto, disjoint_from: {{w: {kind}}}}}\n"
            f"  w: {{from: C, to: T, route: auto, disjoint_from: {{v: {kind}}}}}\n"
            "trunks: {p: {path: p, flows: f}, q: {path: q, flows: g}}\n"
            f"protections: {{x: {{path: [p, q], kind: detour, backup: auto, protect: {kind}, "
            f"bandwidth: 1}}}}\n"
        )
    drawn = {
        "lognormal": "lognormal: {total: 3 Mbit/s, sigma: 0.7, seed: 3}",
        "gravity": "gravity: {out: {A: 2 Mbit/s, B: 2 Mbit/s}}",
        "gravity both ways": "gravity: {out: {A: 2 Mbit/s, B: 1 Mbit/s}, "
        "in: {A: 1 Mbit/s, B: 2 Mbit/s}}",
    }
    for (name, demand), more in product(drawn.items(), ("", "C", "CD")):
        links = "".join(f", {before}-{after}: {{}}" for before, after in pairwise("B" + more))
        nodes = ", ".join(["A", "B", *more])
        found[f"{name}, {more}"] = (
            f"\ntrunkline: 1\nnodes: [{nodes}]\n"
            "defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}\n"
            f"links: {{A-B: {{}}{links}}}\n"
            "traffic: {bulk: {agent: udp, arrivals: poisson}}\n"
            f"demands: {{d: {{{demand}, class: bulk, scale: 0.9}}}}\nscale: 50 %\n"
            "trunks: {t: {demands: d, path: auto}}\nrun: {duration: 300 ms}\n"
        )
    return found


def list_captures() -> dict[str, str]:
    """Runs with all their packets: messages of each protocol, stacks of labels, segments."""
    control, labels, tcp = list_control(), list_labels(), list_tcp()
    chosen = {
        **{name: control[f"{name}, 0 %"] for name in ("LDP, ordered", "RSVP-TE, summary")},
        **{
            f"RSVP-TE, {kind}": control[f"RSVP-TE, {kind} of a node, 0 %"]
            for kind in ("reliable, detour", "hello, facility-bypass")
        },
        "OSPF": control["OSPF, slow, 0 %"],
        "class types": control["class types, mam, OSPF"],
        **{
            name: labels[name]
            for name in ("pipe in uniform", "segments, entropy", "backup, php", "bypass, last pops")
        },
        **{name: tcp[name] for name in ("prague, rfc, sack, marks", "sack, linux, 40 ms")},
    }
    return {
        name: re.sub("duration: [0-9]+ s", "duration: 2300 ms", text)
        .replace(", trace: false", "")
        .replace("run: {", "run: {trace: true, ")
        for name, text in chosen.items()
    }


MECHANISMS = {
    "captures": list_captures,
    "tcp": list_tcp,
    "agents": list_other_agents,
    "queues": list_aqms,
    "schedulers": list_schedulers,
    "classifiers": list_classifiers,
    "meters": list_meters,
    "labels": list_labels,
    "control": list_control,
    "maintenance": list_maintenance,
    "placements": list_placements,
    "static routes": list_static_routes,
}
"""By kind, and each by the name of its scenario: texts."""
