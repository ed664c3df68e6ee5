"""Designs that the tests of several targets export."""

from __future__ import annotations

TUNNELS = """\
trunkline: 1
name: design
nodes: [A, B, C, D]
defaults: {link: {rate: 10 Mbit/s, delay: 1 ms}}
links:
  A-B: {te: {colours: [gold], risks: [duct]}, forward: {port: core}}
  B-C: {te: {reservable: 33.3 %, colours: [gold]}}
  A-D: {metric: 7, te: {metric: 3}}
  D-C: {}
ports:
  core:
    scheduler: priority
    classify: [{dscp: EF, class: voice}, {tc: 5, class: voice}]
    classes:
      voice: {queue: {limit: 20 packets}}
      default: {queue: {aqm: {kind: red, min_th: 10 packets, max_th: 30 packets}}}
paths:
  p: {route: auto, from: A, to: C, bandwidth: 1.5 Mbit/s, setup: 3, hold: 2, include_any: [gold]}
  spare: {route: [A, D, C]}
  around: {route: [A, D, C]}
trunks: {t: {path: p, flows: [f]}}
flows: {f: {agent: udp, from: A, to: C, rate: 1 Mbit/s}}
protections:
  one: {path: p, kind: backup, backup: spare}
  two: {path: p, kind: facility-bypass, backup: around, link: [A-B]}
run: {duration: 1 s}
"""
"""A tunnel with a standby, a bypass, colours, shared risks and two classes."""

STATIC = """\
trunkline: 1
nodes: [A, B, C]
defaults: {link: {rate: 10 Mbit/s}}
links: {A-B: {}, B-C: {}}
paths: {p: {route: [A, B, C], labels: [40]}, q: {route: [A, B, C], php: off, labels: [50, 60]}}
trunks: {t: {path: p, flows: [f]}, u: {path: q, flows: [g]}}
flows:
  f: {agent: udp, from: A, to: C, rate: 1 Mbit/s}
  g: {agent: udp, from: A, to: B, rate: 1 kbit/s}
run: {duration: 1 s}
"""
"""Two static paths."""

SEGMENTS = """\
trunkline: 1
nodes: [S, A, B, T]
defaults: {link: {rate: 10 Mbit/s}}
links: {S-A: {}, A-B: {}, B-T: {}, A-T: {}}
paths: {p: {from: S, segments: [A, A-B, T]}}
trunks: {t: {path: p, flows: [f]}}
flows: {f: {agent: udp, from: S, to: T, rate: 1 Mbit/s}}
run: {duration: 1 s}
"""
"""A policy of segment routing: a node, a link, a node."""

QUEUES = """\
trunkline: 1
nodes: [A, B]
defaults: {link: {rate: 10 Mbit/s}}
links: {A-B: {forward: {port: core}, backward: {ingress: edge}}}
ports:
  core:
    scheduler: drr
    classify:
      - {dscp: AF11, class: gold}
      - {dscp: AF12, class: gold, precedence: 1}
    classes:
      gold:
        quantum: 4501 B
        queue:
          limit: 50 packets
          aqm:
            kind: wred
            precedences:
              - {min_th: 20 packets, max_th: 40 packets, max_p: 0.02}
              - {min_th: 10 packets, max_th: 20 packets, max_p: 0.1}
      default: {quantum: 1500 B}
conditioners:
  edge:
    rules: [{dscp: EF, profile: voice}, {dscp: AF21, profile: data}]
    profiles:
      voice: {meter: {kind: token-bucket, rate: 1 Mbit/s, burst: 10 kB}, red: drop}
      data:
        meter: {kind: trtcm, cir: 1 Mbit/s, cbs: 8 kB, pir: 2 Mbit/s, pbs: 16 kB}
        yellow: {dscp: AF22}
        red: drop
flows: {f: {agent: udp, from: A, to: B, rate: 1 Mbit/s}}
run: {duration: 1 s}
"""
"""Weights, WRED, and policers of two and of three colours."""

STATIC_ROUTES = """\
trunkline: 1
nodes:
  A: {routes: [{to: D, via: B}, {to: D, via: C, distance: 200}, {to: all, via: C}]}
  B: {routes: [{to: D, via: C}, {to: all, via: A, distance: 5}]}
  C: {routes: [{to: A, via: A-C}]}
  D: {routes: [{to: all, via: C}]}
defaults: {link: {rate: 10 Mbit/s}}
links: {A-B: {}, A-C: {}, B-C: {}, C-D: {}}
flows: {f: {agent: udp, from: A, to: D, rate: 1 Mbit/s}}
routing: {igp: off}
rerouting: {}
run: {duration: 1 s}
"""
"""Static routes alone: a floating one, and default routes."""
