"""Values at the ends of their ranges: what the language takes the engine runs, at once."""

from __future__ import annotations

import pytest
from table_invariants import find_invalid_values

import trunkline as tl

BASE = """
trunkline: 1
nodes: {{S: {{}}, A: {{{node}}}, B: {{{node}}}, D: {{}}}}
links: {{S-A: {{}}, A-B: {{}}, B-D: {{}}, A-D: {{metric: 9}}}}
defaults: {{link: {{rate: {rate}, delay: 1 ms}}}}
paths: {{p: {{route: [S, A, B, D], bandwidth: 1 bit/s}}}}
trunks: {{t: {{path: p, flows: u}}}}
flows:
  u: {{agent: udp, from: S, to: D, rate: 100 kbit/s, size: 100 B}}
  f: {{from: S, to: D, {flow}}}
{more}
run: {{duration: 1 s}}
"""
LONG = "3153600000 s"
"""100 years."""


@pytest.mark.parametrize(
    "flow",
    [
        f"agent: tcp, transfers: {{arrivals: on-off, every: {LONG}, size: 1 kB, "
        "mean_on: 1 ms, mean_off: 1 ms}",
        "agent: tcp, transfers: {arrivals: on-off, load: 1 bit/s, size: 100 TB, mean_on: 1 us, "
        f"mean_off: {LONG}}}",
        f"agent: tcp, transfers: {{every: {LONG}, size: 1 kB}}",
        "agent: tcp, transfers: {every: 100 ms, size: {weibull: {shape: 0.000001, scale: 1 GB}}}",
        f"agent: tcp, pages: {{users: 40, reading: {LONG}}}",
        f"agent: tcp, pages: {{users: 40, reading: 1 ms, parsing: {LONG}}}",
        f"agent: tcp, video: {{players: 40, spread: {LONG}}}",
        "agent: tcp, video: {players: 2, ladder: 1 Tbit/s, chunk: 1 h, buffer: 2 h}",
        f"agent: tcp, rto: {{tick: {LONG}, initial: {LONG}, min: {LONG}, max: {LONG}}}",
        "agent: udp, arrivals: on-off, rate: 1 bit/s, size: 65 kB, mean_on: 10 us, mean_off: 1 us",
        f"agent: udp, arrivals: on-off, rate: 1 Mbit/s, mean_on: 1 us, mean_off: {LONG}",
        f"agent: udp, rate: 1 Mbit/s, tick: {LONG}",
        f"agent: echo, interval: {LONG}, spacing: poisson, timeout: {LONG}",
    ],
)
@pytest.mark.parametrize("rate", ["10 Mbit/s", "1 bit/s"])
def test_times_and_sizes_of_sources(flow: str, rate: str) -> None:
    text = BASE.format(node="", rate=rate, flow=flow, more="")
    for seed in range(1, 4):
        assert find_invalid_values(tl.run(tl.loads(text), seed=seed)) == []


CUTS = "failures: {cut: {link: A-B, at: 100 ms, repair: 600 ms}}\n"
PROTECTED = CUTS + "protections: {g: {path: p, kind: restoration, "


@pytest.mark.parametrize(
    ("node", "more"),
    [
        (f"processing: {{fixed: {LONG}, ip_lookup: {LONG}, label_lookup: {LONG}}}", ""),
        ("", f"failures: {{cut: {{link: A-B, mtbf: {LONG}, mttr: {LONG}}}}}"),
        ("", f"{PROTECTED}processing: {LONG}, compute: {LONG}, switch: {LONG}}}}}"),
        ("", f"{PROTECTED}detection: {{kind: bfd, interval: {LONG}, multiplier: 255}}}}}}"),
        ("", f"{PROTECTED}detection: {{kind: bfd, interval: {LONG}, multiplier: 1}}}}}}"),
        ("", f"{PROTECTED}detection: {{kind: hello, interval: {LONG}}}}}}}"),
        ("", f"{CUTS}rerouting: {{processing: {LONG}, spf_delay: {LONG}}}"),
        ("", f"{CUTS}routing: {{ospf: {{hello: {LONG}, processing: {LONG}, resend: {LONG}}}}}"),
        ("", f"{CUTS}routing: {{ldp: {{resend: {LONG}, retry: {LONG}, keepalive: {LONG}}}}}"),
        (
            "",
            f"{CUTS}signalling: {{kind: rsvp-te, refresh: {LONG}, multiplier: 255, reliable: on, "
            f"resend: {LONG}, resend_increment: 9, hello: {LONG}, retry: {LONG}, cleanup: {LONG}}}",
        ),
        ("", f"{CUTS}signalling: {{kind: rsvp-te, processing: {LONG}}}"),
        (
            "",
            "signalling: {kind: rsvp-te}\n"
            f"requests: {{r: {{from: A, to: D, bandwidth: 1 bit/s, every: 1 s, holding: {LONG}}}}}",
        ),
    ],
)
def test_times_of_nodes_recovery_and_signalling(node: str, more: str) -> None:
    flow = "agent: tcp, size: 20 kB"
    text = BASE.format(node=node, rate="10 Mbit/s", flow=flow, more=more)
    assert find_invalid_values(tl.run(tl.loads(text))) == []
