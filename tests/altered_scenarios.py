"""Scenarios with the alterations of each: one thing at a time, as a mistake would change it."""

from __future__ import annotations

from dataclasses import dataclass

SEED_COUNT = 20  # Runs of a scenario whose queues toss coins.


@dataclass(frozen=True)
class AlteredScenario:
    """A scenario with alterations of its parts.

    Parameters
    ----------
    text : str
        The scenario.
    alterations : dict of str to (str, str)
        Each change: the text of the scenario, and the text in its place.
    is_random : bool
        Whether its queues toss coins, or its flows share by chance.
    seeds : int, default 1
        Runs in each engine.
    """

    text: str
    alterations: dict[str, tuple[str, str]]
    is_random: bool = False
    seeds: int = 1


DROP_TAIL_LINE = """\
trunkline: 1
nodes: [S, A, B, T]
defaults: {link: {rate: 10 Mbit/s, delay: 2 ms, header: 14 B}, udp: {stop: 1900 ms}}
links:
  S-A: {}
  A-B: {rate: 2 Mbit/s, port: p}
  B-T: {}
ports: {p: {queue: {limit: 20 packets}}}
flows:
  cbr: {agent: udp, from: S, to: T, rate: 1 Mbit/s, size: 500 B}
  noise: {agent: udp, from: S, to: T, rate: 1200 kbit/s, size: 500 B, arrivals: poisson}
run: {duration: 2 s}
"""
PRIORITY_LINE = DROP_TAIL_LINE.replace(
    "ports: {p: {queue: {limit: 20 packets}}}",
    "ports:\n  p:\n    scheduler: priority\n    classify: [{dscp: EF, class: voice}]\n"
    "    classes: {voice: {}, default: {queue: {limit: 30 packets}}}",
).replace("rate: 1 Mbit/s, size: 500 B}", "rate: 1 Mbit/s, size: 500 B, dscp: EF}")
DRR_LINE = PRIORITY_LINE.replace("priority", "drr").replace(
    "{voice: {}, default: {queue: {limit: 30 packets}}}",
    "{voice: {weight: 2, queue: {limit: 30 packets}},"
    " default: {weight: 3, queue: {limit: 30 packets}}}",
)
HTB_LINE = """\
trunkline: 1
nodes: [S, A, B, T]
defaults: {link: {rate: 100 Mbit/s, delay: 2 ms, header: 14 B}, udp: {stop: 1900 ms, size: 500 B}}
links:
  S-A: {}
  A-B: {port: p}
  B-T: {}
ports:
  p:
    scheduler: htb
    classify: [{dscp: EF, class: voice}]
    classes:
      link: {rate: 2 Mbit/s, ceil: 2 Mbit/s, burst: 1600 B, cburst: 1600 B}
      voice:
        {parent: link, priority: 0, rate: 500 kbit/s, ceil: 1 Mbit/s, burst: 2 kB, cburst: 1600 B,
         queue: {limit: 10 packets}}
      default:
        {parent: link, priority: 1, rate: 500 kbit/s, ceil: 2 Mbit/s, burst: 2 kB, cburst: 1600 B,
         queue: {limit: 30 packets}}
flows:
  cbr: {agent: udp, from: S, to: T, rate: 1100 kbit/s, dscp: EF}
  noise: {agent: udp, from: S, to: T, rate: 1400 kbit/s, arrivals: poisson}
run: {duration: 2 s}
"""
POLICED_LINE = """\
trunkline: 1
nodes: [S, A, B, T]
defaults: {link: {rate: 10 Mbit/s, delay: 2 ms}, udp: {stop: 1900 ms, size: 500 B}}
links:
  S-A: {forward: {ingress: edge}}
  A-B: {}
  B-T: {}
conditioners:
  edge:
    rules: [{dscp: AF11, profile: gold}, {profile: rest}]
    profiles:
      gold:
        {meter: {kind: token-bucket, rate: 500 kbit/s, burst: 5 kB}, red: {dscp: AF13}}
      rest: {meter: {kind: token-bucket, rate: 2 Mbit/s, burst: 6 kB}, red: drop}
flows:
  gold: {agent: udp, from: S, to: T, rate: 1 Mbit/s, dscp: AF11, arrivals: poisson}
  rest: {agent: udp, from: S, to: T, rate: 2100 kbit/s, arrivals: poisson}
run: {duration: 2 s}
"""
LABELLED_PATH = """\
trunkline: 1
nodes: [S, A, B, C, T]
defaults: {link: {rate: 10 Mbit/s, delay: 2 ms}, udp: {stop: 1900 ms, size: 500 B}}
links:
  S-A: {}
  A-B: {rate: 4 Mbit/s, port: core}
  B-C: {rate: 2 Mbit/s, port: core}
  C-T: {}
ports:
  core:
    scheduler: priority
    classify: [{dscp: EF, class: voice}]
    classes: {voice: {}, default: {queue: {limit: 30 packets}}}
paths:
  e: {route: [A, B, C], php: false, ttl: uniform, diffserv: {kind: e-lsp, map: {DF: 0, EF: 5}}}
trunks: {all: {path: e, flows: all}}
flows:
  voice: {agent: udp, from: S, to: T, rate: 800 kbit/s, dscp: EF}
  rest: {agent: udp, from: S, to: T, rate: 1500 kbit/s, arrivals: poisson}
run: {duration: 2 s}
"""
PROTECTED_PATH = """\
trunkline: 1
nodes: [S, A, B, T, C]
defaults: {link: {rate: 8 Mbit/s, delay: 5 ms}, udp: {stop: 9800 ms, size: 500 B}}
links: {S-A: {}, A-B: {}, B-T: {}, A-C: {}, C-B: {delay: 5 ms}}
paths:
  working: {route: [A, B, T]}
  spare: {route: [A, C, B, T]}
trunks: {all: {path: working, flows: all}}
flows:
  cbr: {agent: udp, from: S, to: T, rate: 800 kbit/s, start: 300 us}
  noise: {agent: udp, from: S, to: T, rate: 1 Mbit/s, arrivals: poisson}
failures: {cut: {link: A-B, at: 3 s, repair: 3100 ms}}
protections:
  p:
    {path: working, kind: backup, backup: spare, switch: 13 ms, hold_off: 5 ms,
     wait_to_restore: 50 ms, detection: {kind: loss-of-signal}}
run: {duration: 10 s}
"""
TCP_LINE = """\
trunkline: 1
nodes: [S, A, B, T]
defaults: {link: {rate: 100 Mbit/s, header: 14 B}, tcp: {variant: sack, preset: linux}}
links:
  S-A: {}
  A-B: {forward: {rate: 10 Mbit/s, port: p}}
  B-T: {delay: 20 ms}
ports: {p: {queue: {limit: 40 packets}}}
flows:
  tcp: {agent: tcp, from: S, to: T, window: 1000 packets}
run: {duration: 20 s, warm_up: 2 s}
"""
WINDOW_LIMITED_LINE = TCP_LINE.replace("window: 1000 packets", "window: 20 packets").replace(
    "20 s, ", "5 s, "
)
RED_LINE = """\
trunkline: 1
nodes: [S, A, B, T]
defaults: {link: {rate: 100 Mbit/s, header: 14 B}, tcp: {variant: new-reno, preset: linux}}
links:
  S-A: {}
  A-B: {forward: {rate: 10 Mbit/s, port: p}}
  B-T: {delay: 10 ms}
ports:
  p:
    queue:
      limit: 150 kB
      aqm:
        {kind: red-linux, min: 15140 B, max: 45420 B, avpkt: 1514 B, burst: 17 packets,
         bandwidth: 10 Mbit/s, probability: 0.1, idle_ageing: false}
flows:
  tcp: {agent: tcp, from: S, to: T, replicate: 4, start_jitter: 200 ms, ecn: true}
run: {duration: 10 s, warm_up: 2 s}
"""
GRED_LINE = """\
trunkline: 1
nodes: [S, A, B, T]
defaults: {link: {rate: 10 Mbit/s, delay: 2 ms, header: 14 B}, udp: {size: 500 B, stop: 3900 ms}}
links:
  S-A: {}
  A-B: {forward: {rate: 2 Mbit/s, port: p}}
  B-T: {}
ports:
  p:
    classify: [{dscp: AF11, precedence: 1}, {dscp: AF12, precedence: 2}]
    queue:
      limit: none
      aqm:
        kind: gred
        default_dp: 2
        age: max-p
        dps:
          - {dp: 1, limit: 60 kB, min: 15140 B, max: 45420 B, burst: 40 packets,
             avpkt: 514 B, bandwidth: 2 Mbit/s, probability: 0.1}
          - {dp: 2, limit: 60 kB, min: 8000 B, max: 24000 B, burst: 20 packets,
             avpkt: 514 B, bandwidth: 2 Mbit/s, probability: 0.1}
flows:
  in: {agent: udp, from: S, to: T, rate: 1100 kbit/s, dscp: AF11, arrivals: poisson}
  out: {agent: udp, from: S, to: T, rate: 1200 kbit/s, dscp: AF12, arrivals: poisson}
run: {duration: 4 s}
"""

OUTAGE = """\
trunkline: 1
nodes: [S, A, B, C, D, E, T]
defaults: {link: {rate: 10 Mbit/s, delay: 2 ms}}
links: {S-A: {}, A-B: {}, B-C: {}, A-D: {delay: 3 ms}, D-C: {}, C-E: {}, E-T: {}}
paths: {w: {route: [A, B, C]}, b: {route: [A, D, C]}}
trunks: {t: {path: w, flows: all}}
protections:
  p: {path: w, kind: backup, backup: b, detection: {kind: loss-of-signal, delay: 10 ms},
      hold_off: 10 ms, wait_to_restore: 100 ms}
failures: {cut: {link: B-C, at: 1001 ms, repair: 2 s}}
flows:
  call: {agent: udp, from: S, to: T, rate: 160 kbit/s, size: 200 B, dscp: EF}
  data: {agent: udp, from: S, to: T, rate: 1500 kbit/s, size: 1000 B, arrivals: poisson}
run: {duration: 3 s, warm_up: 500 ms}
"""
PROBED_METER = """\
trunkline: 1
nodes: [S, A, T]
defaults: {link: {rate: 10 Mbit/s, delay: 2 ms}}
links: {S-A: {forward: {ingress: e}}, A-T: {}}
conditioners:
  e: {rules: [{dscp: EF, profile: p}],
      profiles: {p: {meter: {kind: token-bucket, rate: 1 Mbit/s, burst: 3 kB}, red: drop}}}
flows:
  probe: {agent: udp, from: S, to: T, rate: 8 kbit/s, size: 1000 B, dscp: EF}
  data: {agent: udp, from: S, to: T, rate: 1 Mbit/s, size: 1000 B}
run: {duration: 8 s, warm_up: 1 s}
"""
FAST_METER = """\
trunkline: 1
nodes: [S, A, T]
defaults: {link: {rate: 1 Gbit/s, delay: 2 ms}}
links: {S-A: {forward: {ingress: e}}, A-T: {}}
conditioners:
  e: {rules: [{dscp: EF, profile: p}],
      profiles: {p: {meter: {kind: token-bucket, rate: 10 Mbit/s, burst: 20 kB}, red: drop}}}
flows:
  a: {agent: udp, from: S, to: T, rate: 12 Mbit/s, size: 500 B, dscp: EF, arrivals: poisson}
  b: {agent: udp, from: S, to: T, rate: 36 Mbit/s, size: 500 B, arrivals: poisson}
run: {duration: 500 ms}
"""
REROUTED = """\
trunkline: 1
nodes: [S, A, B, T]
defaults: {link: {rate: 10 Mbit/s, delay: 2 ms}}
links: {S-A: {}, A-T: {}, A-B: {metric: 2}, B-T: {metric: 2}}
flows: {call: {agent: udp, from: S, to: T, rate: 320 kbit/s, size: 200 B}}
failures: {cut: {link: A-T, at: 1 s}}
routing:
  ospf: {detection: {kind: loss-of-signal, delay: 10 ms},
         spf: {kind: backoff, initial: 50 ms, second: 200 ms, maximum: 5 s}}
run: {duration: 2 s}
"""
CODEL_LINE = DROP_TAIL_LINE.replace(
    "queue: {limit: 20 packets}",
    "queue: {limit: 100 packets, aqm: {kind: codel, arithmetic: linux, mtu: 1514 B}}",
)
CONTROLLED_LINE = TCP_LINE.replace(
    "variant: sack, preset: linux", "variant: sack, preset: linux, congestion: cubic"
).replace("20 s, ", "10 s, ")

MARKED_TCP = """\
trunkline: 1
nodes: [S, A, B, C, T]
defaults: {link: {rate: 10 Mbit/s, delay: 2 ms}, tcp: {preset: linux, variant: sack}}
links: {S-A: {forward: {ingress: e}}, A-B: {}, B-C: {rate: 4 Mbit/s}, C-T: {}}
paths: {p: {route: [A, B, C], php: false, ttl: uniform}}
trunks: {t: {path: p, flows: all}}
conditioners:
  e: {rules: [{dscp: AF11, profile: g}],
      profiles: {g: {meter: {kind: token-bucket, rate: 3 Mbit/s, burst: 6 kB}, red: {dscp: AF12}}}}
flows: {tcp: {agent: tcp, from: S, to: T, dscp: AF11, window: 12 packets}}
run: {duration: 4 s, warm_up: 500 ms}
"""
TRANSFERS = """\
trunkline: 1
nodes: [S, A, T]
defaults: {link: {rate: 10 Mbit/s, delay: 5 ms}, tcp: {preset: linux, variant: sack}}
links: {S-A: {rate: 50 Mbit/s}, A-T: {}}
flows: {web: {agent: tcp, from: S, to: T, connect: true, transfers: {every: 150 ms, size: 60 kB}}}
run: {duration: 6 s}
"""
FLOW_QUEUES = DROP_TAIL_LINE.replace(
    "queue: {limit: 20 packets}",
    "queue: {limit: 60 packets, flows: fq-codel,"
    " aqm: {kind: codel, arithmetic: linux, mtu: 1514 B}}",
)
DCTCP_LINE = (
    TCP_LINE.replace(
        "variant: sack, preset: linux",
        "variant: sack, preset: linux, congestion: dctcp, ecn: true",
    )
    .replace(
        "queue: {limit: 40 packets}",
        "queue: {limit: 60 packets, aqm: {kind: codel, arithmetic: linux, mtu: 1514 B,"
        " ce_threshold: 2 ms}}",
    )
    .replace("20 s, ", "6 s, ")
)
SHAPED_LINE = DROP_TAIL_LINE.replace(
    "ports: {p: {queue: {limit: 20 packets}}}",
    "ports:\n  p:\n    scheduler: tbf\n    classes:\n"
    "      default: {rate: 1600 kbit/s, burst: 3 kB, queue: {limit: 20 packets}}",
)
CURVES_LINE = (
    HTB_LINE[: HTB_LINE.index("    scheduler: htb")]
    + """\
    scheduler: hfsc
    classify: [{dscp: EF, class: voice}]
    classes:
      link: {link_share: 2 Mbit/s, upper_limit: 2 Mbit/s}
      voice:
        {parent: link, real_time: 500 kbit/s, link_share: 500 kbit/s, queue: {limit: 10 packets}}
      default: {parent: link, link_share: 1500 kbit/s, queue: {limit: 30 packets}}
"""
    + HTB_LINE[HTB_LINE.index("flows:") :]
)
BYPASSED = """\
trunkline: 1
nodes: [S, A, B, C, D, T]
defaults: {link: {rate: 10 Mbit/s, delay: 2 ms}}
links: {S-A: {}, A-B: {}, B-C: {}, A-D: {delay: 4 ms}, D-B: {}, C-T: {}}
paths: {w: {route: [A, B, C], ttl: pipe}, around: {route: [A, D, B], ttl: pipe}}
trunks: {t: {path: w, flows: all}}
protections:
  p: {path: w, kind: facility-bypass, backup: around, hold_off: 5 ms, wait_to_restore: 200 ms,
      detection: {kind: bfd, interval: 10 ms, multiplier: 3}}
failures: {cut: {link: A-B, at: 1 s, repair: 1500 ms}}
flows:
  call: {agent: udp, from: S, to: T, rate: 160 kbit/s, size: 200 B, dscp: EF}
  data: {agent: udp, from: S, to: T, rate: 1 Mbit/s, size: 600 B, arrivals: poisson}
run: {duration: 3 s}
"""
TWO_RATES = POLICED_LINE.replace(
    "{meter: {kind: token-bucket, rate: 500 kbit/s, burst: 5 kB}, red: {dscp: AF13}}",
    "{meter: {kind: trtcm, cir: 300 kbit/s, cbs: 4 kB, pir: 700 kbit/s, pbs: 5 kB},"
    " yellow: {dscp: AF12}, red: drop}",
)

SIZED_FILE = """\
trunkline: 1
nodes: [S, A, B, T]
defaults: {link: {rate: 10 Mbit/s, delay: 2 ms, header: 14 B}}
links: {S-A: {rate: 100 Mbit/s}, A-B: {}, B-T: {}}
flows:
  file: {agent: tcp, from: S, to: T, preset: linux, variant: sack, connect: true, size: 100 kB}
run: {duration: 4 s}
"""
MIXED_TRANSFERS = SIZED_FILE.replace("duration: 4 s", "duration: 10 s").replace(
    "size: 100 kB",
    "\n    transfers: {load: 20%, of: A->B, size: {pareto: {shape: 1.2, min: 4 kB, max: 2 MB}}}",
)
FLAPPING = """\
trunkline: 1
nodes: [S, A, B, C, T]
defaults: {link: {rate: 10 Mbit/s, delay: 2 ms}}
links: {S-A: {}, A-B: {rate: 1 Mbit/s, port: p}, A-C: {}, C-B: {}, B-T: {}}
ports: {p: {queue: {limit: 20 packets}}}
paths: {w: {route: [A, B]}, b: {route: [A, C, B]}}
trunks: {t: {path: w, flows: [call]}}
protections:
  p:
    {path: w, kind: backup, backup: b, detection: {kind: loss-of-signal, delay: 10 ms},
     hold_off: 10 ms, wait_to_restore: 100 ms}
failures:
  cut:
    link: A-B
    outages:
      - {at: 1001 ms, repair: 1500 ms}
      - {at: 2001 ms, repair: 2500 ms}
      - {at: 3001 ms, repair: 3500 ms}
      - {at: 4001 ms, repair: 4500 ms}
flows:
  call: {agent: udp, from: S, to: T, rate: 80 kbit/s, size: 200 B, dscp: EF}
  noise: {agent: udp, from: S, to: T, rate: 1 Mbit/s, size: 1000 B, arrivals: poisson}
run: {duration: 5 s}
"""
CLASSES_OF_TCP = """\
trunkline: 1
nodes: [S, A, B, T]
defaults: {link: {rate: 20 Mbit/s, delay: 2 ms, header: 14 B}}
links: {S-A: {rate: 100 Mbit/s}, A-B: {}, B-T: {rate: 9 Mbit/s, delay: 10 ms, port: core}}
ports:
  core:
    scheduler: drr
    classify: [{tc: 1, class: gold}]
    classes: {gold: {weight: 3}, default: {}}
paths: {p: {route: [A, B, T], php: false, diffserv: {kind: e-lsp, map: {DF: 0, AF11: 1}}}}
trunks: {t: {path: p, flows: all}}
flows:
  gold: {agent: tcp, from: S, to: T, preset: linux, variant: sack, connect: true, dscp: AF11}
  rest: {agent: tcp, from: S, to: T, preset: linux, variant: sack, connect: true, start: 100 ms}
run: {duration: 6 s, warm_up: 1 s}
"""
EQUAL_WAYS = """\
trunkline: 1
nodes: [S, A, B, C, T]
defaults: {link: {rate: 10 Mbit/s, delay: 2 ms}}
links: {S-A: {rate: 100 Mbit/s}, A-B: {}, B-T: {}, A-C: {}, C-T: {}}
routing: {ecmp: flow}
flows: {f: {agent: udp, from: S, to: T, replicate: 8, rate: 500 kbit/s, size: 500 B}}
run: {duration: 1 s}
"""
ALTERED_SCENARIOS: dict[str, AlteredScenario] = {
    "drop-tail line": AlteredScenario(
        DROP_TAIL_LINE,
        {
            "bottleneck 1 % slower": ("rate: 2 Mbit/s", "rate: 1980 kbit/s"),
            "bottleneck 5 % faster": ("rate: 2 Mbit/s", "rate: 2100 kbit/s"),
            "queue one packet shorter": ("limit: 20 packets", "limit: 19 packets"),
            "queue counted in bytes": ("limit: 20 packets", "limit: 10 kB"),
            "link header of 18 B for 14 B": ("header: 14 B", "header: 18 B"),
            "delay 5 % longer": ("delay: 2 ms", "delay: 2100 us"),
        },
    ),
    "priority": AlteredScenario(
        PRIORITY_LINE,
        {
            "voice not classified": ("[{dscp: EF, class: voice}]", "[{dscp: CS1, class: voice}]"),
            "queue one packet longer": ("limit: 30 packets", "limit: 31 packets"),
            "bottleneck 1 % faster": ("rate: 2 Mbit/s", "rate: 2020 kbit/s"),
        },
    ),
    "drr": AlteredScenario(
        DRR_LINE,
        {
            "weight 3 for 2": ("weight: 2", "weight: 3"),
            "weight 4 for 3": ("weight: 3", "weight: 4"),
        },
    ),
    "htb": AlteredScenario(
        HTB_LINE,
        {
            "ceiling 1 % lower": ("ceil: 1 Mbit/s", "ceil: 990 kbit/s"),
            "link class 5 % slower": (
                "link: {rate: 2 Mbit/s, ceil: 2 Mbit/s",
                "link: {rate: 1900 kbit/s, ceil: 1900 kbit/s",
            ),
            "priorities exchanged": ("priority: 0", "priority: 2"),
        },
    ),
    "policed": AlteredScenario(
        POLICED_LINE,
        {
            "policer gone": ("red: drop", "red: {dscp: DF}"),
            "conditioner gone": ("{forward: {ingress: edge}}", "{}"),
            "meter of 900 for 500 kbit/s": ("rate: 500 kbit/s", "rate: 900 kbit/s"),
            "meter 5 % slower": ("rate: 2 Mbit/s", "rate: 1900 kbit/s"),
            "burst one packet smaller": ("burst: 6 kB", "burst: 5500 B"),
            "remarked to AF12 for AF13": ("dscp: AF13", "dscp: AF12"),
        },
    ),
    "labels": AlteredScenario(
        LABELLED_PATH,
        {
            "EF mapped to the TC of the rest": (", EF: 5}", ", EF: 0}"),
            "one label more": (
                "paths:\n  e: {route: [A, B, C], php: false,",
                "paths:\n  o: {route: [A, B, C], php: false}\n"
                "  e: {route: [A, C], through: [o], php: false,",
            ),
            "label popped a hop earlier": ("php: false", "php: true"),
            "pipe for uniform in TTL": ("ttl: uniform", "ttl: pipe"),
        },
    ),
    "protection": AlteredScenario(
        PROTECTED_PATH,
        {
            "backup path 45 ms longer": ("C-B: {delay: 5 ms}", "C-B: {delay: 50 ms}"),
            "backup path 1 ms longer": ("C-B: {delay: 5 ms}", "C-B: {delay: 6 ms}"),
            "hold-off of 15 for 5 ms": ("hold_off: 5 ms", "hold_off: 15 ms"),
            "no protection": ("kind: backup, backup: spare", "kind: restoration, compute: 1 s"),
            "back 20 ms later": ("wait_to_restore: 50 ms", "wait_to_restore: 70 ms"),
        },
    ),
    "tcp": AlteredScenario(
        TCP_LINE,
        {
            "bottleneck 1 % slower": ("rate: 10 Mbit/s", "rate: 9900 kbit/s"),
            "queue one packet shorter": ("limit: 40 packets", "limit: 39 packets"),
            "ACK of 52 for 40 B": ("window: 1000 packets", "window: 1000 packets, ack: 52 B"),
            "window that binds": ("window: 1000 packets", "window: 60 packets"),
        },
    ),
    "tcp, window": AlteredScenario(
        WINDOW_LIMITED_LINE,
        {
            "window of 21 for 20 packets": ("window: 20 packets", "window: 21 packets"),
            "path 1 ms longer": ("delay: 20 ms", "delay: 21 ms"),
        },
    ),
    "outage": AlteredScenario(
        OUTAGE,
        {
            "hold-off of 50 for 10 ms": ("hold_off: 10 ms", "hold_off: 50 ms"),
            "hold-off of 25 for 10 ms": ("hold_off: 10 ms", "hold_off: 25 ms"),
            "noticed after 30 for 10 ms": ("delay: 10 ms}", "delay: 30 ms}"),
            "back 30 ms later": ("wait_to_restore: 100 ms", "wait_to_restore: 130 ms"),
            "backup path 240 us longer": ("A-D: {delay: 3 ms}", "A-D: {delay: 3240 us}"),
            "backup path 500 us longer": ("A-D: {delay: 3 ms}", "A-D: {delay: 3500 us}"),
            "one link of six 1 ms longer": ("E-T: {}", "E-T: {delay: 3 ms}"),
            "backup path 1 % slower": ("D-C: {}", "D-C: {rate: 9900 kbit/s}"),
        },
    ),
    "probed meter": AlteredScenario(
        PROBED_METER,
        {
            "bucket smaller than a packet": ("burst: 3 kB", "burst: 999 B"),
            "probe sent as AF11": ("size: 1000 B, dscp: EF", "size: 1000 B, dscp: AF11"),
            "red to CS1 for dropped, smaller bucket": (
                "burst: 3 kB}, red: drop",
                "burst: 999 B}, red: {dscp: CS1}",
            ),
        },
    ),
    "fast meter": AlteredScenario(
        FAST_METER,
        {
            "meter 10 % faster": ("rate: 10 Mbit/s", "rate: 11 Mbit/s"),
            "meter 2 % faster": ("rate: 10 Mbit/s", "rate: 10200 kbit/s"),
            "meter gone": ("red: drop", "red: {dscp: EF}"),
        },
    ),
    "rerouted": AlteredScenario(
        REROUTED,
        {
            "routes computed 10 ms later": ("initial: 50 ms", "initial: 60 ms"),
            "noticed 20 ms later": ("delay: 10 ms}", "delay: 30 ms}"),
            "second way 1 ms longer": ("A-B: {metric: 2}", "A-B: {metric: 2, delay: 3 ms}"),
        },
    ),
    "marks of tcp": AlteredScenario(
        MARKED_TCP,
        {
            "conditioner gone": ("{forward: {ingress: e}}", "{}"),
            "remarked to AF13 for AF12": ("red: {dscp: AF12}", "red: {dscp: AF13}"),
            "meter of 1 for 3 Mbit/s": ("rate: 3 Mbit/s", "rate: 1 Mbit/s"),
            "meter 5 % slower": ("rate: 3 Mbit/s", "rate: 2850 kbit/s"),
            "red dropped": ("red: {dscp: AF12}", "red: drop"),
            "pipe for uniform in TTL": ("ttl: uniform", "ttl: pipe"),
            "sent as CS1": ("to: T, dscp: AF11", "to: T, dscp: CS1"),
            "sent with a TTL of 10": ("to: T, dscp: AF11", "to: T, ttl: 10, dscp: AF11"),
            "window of 13 for 12 packets": ("window: 12 packets", "window: 13 packets"),
        },
    ),
    "transfers": AlteredScenario(
        TRANSFERS,
        {
            "2 % larger": ("size: 60 kB", "size: 61200 B"),
            "every 160 for 150 ms": ("every: 150 ms", "every: 160 ms"),
            "initial window of 4": ("to: T, connect", "to: T, initial_window: 4 packets, connect"),
            "one link 1 ms longer": ("A-T: {}", "A-T: {delay: 6 ms}"),
            "one link 5 % slower": ("A-T: {}", "A-T: {rate: 9500 kbit/s}"),
        },
        seeds=5,
    ),
    "fq-codel": AlteredScenario(
        FLOW_QUEUES,
        {
            "quantum of 500 for 1514 B": (
                "flows: fq-codel",
                "flows: {kind: fq-codel, quantum: 500 B}",
            ),
            "one queue for all": ("flows: fq-codel,", ""),
            "limit 10 % lower": ("limit: 60 packets", "limit: 54 packets"),
            "target 6 for 5 ms": ("arithmetic: linux", "arithmetic: linux, target: 6 ms"),
            "last link 2 ms longer": ("B-T: {}", "B-T: {delay: 4 ms}"),
        },
        seeds=5,
    ),
    "dctcp": AlteredScenario(
        DCTCP_LINE,
        {
            "cubic for dctcp": ("congestion: dctcp", "congestion: cubic"),
            "threshold 3 for 2 ms": ("ce_threshold: 2 ms", "ce_threshold: 3 ms"),
            "no threshold": (", ce_threshold: 2 ms", ""),
            "every segment acknowledged": ("to: T,", "to: T, delayed_ack: off,"),
        },
    ),
    "shaped": AlteredScenario(
        SHAPED_LINE,
        {
            "1 % slower": ("rate: 1600 kbit/s", "rate: 1584 kbit/s"),
            "burst 5 % smaller": ("burst: 3 kB", "burst: 2850 B"),
            "queue one packet longer": ("limit: 20 packets", "limit: 21 packets"),
        },
    ),
    "hfsc": AlteredScenario(
        CURVES_LINE,
        {
            "voice 10 % slower": ("real_time: 500 kbit/s", "real_time: 450 kbit/s"),
            "link 1 % slower": ("upper_limit: 2 Mbit/s", "upper_limit: 1980 kbit/s"),
            "queue one packet shorter": ("limit: 10 packets", "limit: 9 packets"),
        },
    ),
    "bypass": AlteredScenario(
        BYPASSED,
        {
            "BFD three times 12 for 10 ms": ("interval: 10 ms", "interval: 12 ms"),
            "multiplier of 5 for 3": ("multiplier: 3", "multiplier: 5"),
            "hold-off of 25 for 5 ms": ("hold_off: 5 ms", "hold_off: 25 ms"),
            "back 30 ms later": ("wait_to_restore: 200 ms", "wait_to_restore: 230 ms"),
            "bypass 1 ms longer": ("A-D: {delay: 4 ms}", "A-D: {delay: 5 ms}"),
            "uniform for pipe in TTL": ("[A, B, C], ttl: pipe", "[A, B, C], ttl: uniform"),
            "repaired 100 ms later": ("repair: 1500 ms", "repair: 1600 ms"),
        },
    ),
    "two rates": AlteredScenario(
        TWO_RATES,
        {
            "committed rate 5 % lower": ("cir: 300 kbit/s", "cir: 285 kbit/s"),
            "peak rate 5 % higher": ("pir: 700 kbit/s", "pir: 735 kbit/s"),
            "committed burst of 2 for 4 kB": ("cbs: 4 kB", "cbs: 2 kB"),
            "yellow to AF13 for AF12": ("yellow: {dscp: AF12}", "yellow: {dscp: AF13}"),
            "red passes": ("red: drop}\n      rest", "red: {dscp: AF13}}\n      rest"),
        },
    ),
    "codel": AlteredScenario(
        CODEL_LINE,
        {
            "target 10 for 5 ms": ("arithmetic: linux", "arithmetic: linux, target: 10 ms"),
            "interval 110 for 100 ms": ("arithmetic: linux", "arithmetic: linux, interval: 110 ms"),
            "drop-tail for codel": (", aqm: {kind: codel, arithmetic: linux, mtu: 1514 B}", ""),
        },
    ),
    "cubic": AlteredScenario(
        CONTROLLED_LINE,
        {
            "reno for cubic": ("congestion: cubic", "congestion: reno"),
            "every segment acknowledged": ("to: T,", "to: T, delayed_ack: off,"),
            "bottleneck 1 % slower": ("rate: 10 Mbit/s", "rate: 9900 kbit/s"),
        },
    ),
    "tcp through red": AlteredScenario(
        RED_LINE,
        {
            "no ECN": (
                "replicate: 4, start_jitter: 200 ms, ecn: true",
                "replicate: 4, start_jitter: 200 ms, ecn: false",
            ),
            "thresholds halved": ("min: 15140 B, max: 45420 B", "min: 7570 B, max: 22710 B"),
            "bottleneck 5 % slower": ("rate: 10 Mbit/s, port", "rate: 9500 kbit/s, port"),
            "bottleneck 1 % slower": ("rate: 10 Mbit/s, port", "rate: 9900 kbit/s, port"),
            "probability doubled": ("probability: 0.1", "probability: 0.2"),
        },
        is_random=True,
        seeds=SEED_COUNT,
    ),
    "gred": AlteredScenario(
        GRED_LINE,
        {
            "precedences exchanged": (
                "AF11, precedence: 1}, {dscp: AF12, precedence: 2}",
                "AF11, precedence: 2}, {dscp: AF12, precedence: 1}",
            ),
            "threshold 10 % lower": ("min: 8000 B, max: 24000 B", "min: 7200 B, max: 21600 B"),
            "bottleneck 1 % slower": ("rate: 2 Mbit/s, port", "rate: 1980 kbit/s, port"),
        },
        is_random=True,
        seeds=SEED_COUNT,
    ),
    "sized file": AlteredScenario(
        SIZED_FILE,
        {
            "one link 1 ms longer": ("A-B: {}", "A-B: {delay: 3 ms}"),
            "bottleneck 10 % slower": ("A-B: {}", "A-B: {rate: 9 Mbit/s}"),
            "initial window of 4": ("size: 100 kB", "size: 100 kB, initial_window: 4 packets"),
            "no handshake": ("connect: true", "connect: false"),
        },
    ),
    "mixed transfers": AlteredScenario(
        MIXED_TRANSFERS,
        {
            "initial window of 4": ("to: T,", "to: T, initial_window: 4 packets,"),
            "one link 1 ms longer": ("B-T: {}", "B-T: {delay: 3 ms}"),
        },
        seeds=5,
    ),
    "flapping": AlteredScenario(
        FLAPPING,
        {
            "hold-off of 30 for 10 ms": ("hold_off: 10 ms", "hold_off: 30 ms"),
            "back 30 ms later": ("wait_to_restore: 100 ms", "wait_to_restore: 130 ms"),
        },
        seeds=5,
    ),
    "classes of tcp": AlteredScenario(
        CLASSES_OF_TCP,
        {
            "AF11 mapped to the TC of the rest": ("AF11: 1", "AF11: 0"),
            "weight 4 for 3": ("weight: 3", "weight: 4"),
            "label popped a hop earlier": ("php: false", "php: true"),
        },
        seeds=5,
    ),
    "equal ways": AlteredScenario(
        EQUAL_WAYS,
        {"one way costs more": ("A-C: {}", "A-C: {metric: 2}")},
    ),
}
