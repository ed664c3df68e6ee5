"""A network written by hand is refused where a number is out of range, and runs at each bound.

The language compiles valid networks; these are compiled, and one number is changed. The bounds are
those of the fields' documentation in `crates/engine/src/network`, and of the formats: 6 bits of a
DSCP, 3 of a TC, 20 of a label, 16 of a metric of OSPF, and 65,535 octets of an IP packet.
"""

from __future__ import annotations

import functools
import json
from typing import Any

import pytest

from trunkline.engine import simulate
from trunkline.network import compile
from trunkline.scenario import load

from ..pinned_mechanisms import (
    list_control,
    list_meters,
    list_other_agents,
    list_tcp,
    write_mesh,
)

CENTURY = 100 * 365 * 86_400 * 10**9
LONGEST_FRAME = -(-(2**30 + 1) * 8000 // 3) - 1
"""Time in which 3 Mbit/s are less than one byte more than 2^30 [ns]."""
# Networks that have what the rules are about.
PATHS = """paths:
  p: {route: [S, A, B, T], php: false, diffserv: {kind: e-lsp, map: {EF: 5, AF11: 1}}}
  around: {route: [S, C, D, T], php: false}
trunks: {t: {path: p, flows: [f, g]}}
protections:
  x: {path: p, kind: one-plus-one, backup: around, detection: {kind: bfd, interval: 5 ms}}
"""
TEXTS = {
    "tcp": lambda: list_tcp()["sack, rfc, 40 ms"],
    **{
        name: lambda name=name: list_other_agents()[f"{name}, drops"]
        for name in (
            *("call", "echo", "media, ladder", "tfrc, slow", "pages", "film", "pareto", "weibull"),
            *("lognormal", "jitter"),
        )
    },
    "processing": lambda: list_other_agents()["processing"],
    "labels": lambda: write_mesh(PATHS),
    "ldp": lambda: list_control()["LDP with OSPF, plain, 0 %"],
    "ospf": lambda: list_control()["OSPF, plain, 0 %"],
    "rsvp": lambda: list_control()["RSVP-TE, by load, 0 %"],
    "meter": lambda: next(iter(list_meters().values())),
    "types": lambda: list_control()["class types, mam, "],
}
SESSION = "signalling.rsvp.sessions.0"
LDP, OSPF, RSVP = "signalling.ldp", "signalling.ospf", "signalling.rsvp"
AGENT = "flows.0.agent"
ARRIVALS = "flows.0.agent.arrivals"
MEDIA = "flows.0.agent.arrivals.media"
VIDEO = "flows.0.transfers.opened.video.players"
USERS = "flows.0.transfers.opened.pages.users"
SIZES = "flows.0.transfers.opened.arrivals.sizes"
SPAN = [CENTURY], [CENTURY + 1], "at most 100 years"
SHARE = [0, 1], [-0.001, 1.001]
NOT_ZERO = [1], [0], "above 0"
ANOTHER = 10**6
FLOWS = {"queues": 8, "labelled": "five-tuple", "quantum_bytes": 1, "new_first": True,
         "flow_limit_packets": None, "overflow": "tail", "batch": 1, "ways": 8}  # fmt: skip
SEGMENT = {"node": 5, "destination": 5, "entry": 0, "label": 16_000, "rows": []}
ATTRIBUTES = {"metric": 1, "delay_ns": 1, "risks": []}
AUTO = f"{SESSION}.auto_bandwidth"
APART = [{"session": 2, "from": "link"}], [{"session": 3, "from": "link"}]

# Network, place, values that are accepted, values that are refused, and the reason.
RULES: list[tuple[str, str, list[Any], list[Any], str]] = [
    ("tcp", "format", [], [1, 3], "; this version runs format 2"),
    ("tcp", "run.duration_ns", [], [CENTURY + 1], "at most 100 years"),
    ("tcp", "run.warmup_ns", [0, 999], [1000, 1001], "warm-up must end before"),
    ("tcp", "probes.0.step_ns", *NOT_ZERO),
    ("tcp", "probes.0.target", [2], [3], "flow 3 does not exist"),
    ("tcp", "links.0.loss", *SHARE, "loss must be in 0..=1"),
    ("tcp", "links.0.reorder.share", *SHARE, "reorder.share must be in 0..=1"),
    ("tcp", "links.0.reorder.by_ns", *SPAN),
    ("tcp", "links.0.delay_ns", *SPAN),
    ("tcp", "links.0.header_bytes", [0, 65_535], [65_536], "header_bytes must be at most 65535"),
    ("tcp", "links.0.rate_bit_s", [1, 10**13], [0, 10**13 + 1], "rate must be in 1..=10^13"),
    ("tcp", "links.0.to", [], [4], "node 4 does not exist, there are 4"),
    ("tcp", "links.0.from", [], [4], "node 4 does not exist, there are 4"),
    ("tcp", "links.0.port", [1], [2], "port 2 does not exist, there are 2"),
    ("tcp", "links.0.conditioner", [None], [0], "conditioner 0 does not exist"),
    ("tcp", "links.0.ingress", [None], [0], "conditioner 0 does not exist"),
    ("tcp", "links.0.scripted", [[{"flow": 2, "seq": 1, "times": 1}]],
     [[{"flow": 3, "seq": 1, "times": 1}]], "flow 3 does not exist"),
    ("tcp", "flows.0.src", [1], [3, 4], ""),
    ("tcp", "flows.0.dst", [1], [0, 4], ""),
    ("tcp", "flows.0.dscp", [63], [64], "dscp must be below 64"),
    ("tcp", "flows.0.start_ns", *SPAN),
    ("tcp", "flows.0.start_jitter_ns", *SPAN),
    ("tcp", f"{AGENT}.mss_bytes", [1, 65_495], [0, 65_496], "mss_bytes"),
    ("tcp", f"{AGENT}.ack_bytes", [1, 65_535], [0, 65_536], "ack_bytes must be in 1..=65535"),
    ("tcp", f"{AGENT}.window_packets", *NOT_ZERO),
    ("tcp", f"{AGENT}.initial_window", [1.0], [0.999], "initial_window must be 1 or more"),
    ("tcp", f"{AGENT}.initial_ssthresh", [0.001], [0.0, -1.0], "initial_ssthresh must be above 0"),
    ("tcp", f"{AGENT}.dup_acks", *NOT_ZERO),
    ("tcp", f"{AGENT}.tick_ns", [1, CENTURY], [0, CENTURY + 1], "tick_ns"),
    ("tcp", f"{AGENT}.rto_initial_ns", [1, CENTURY], [0, CENTURY + 1], "rto_initial_ns"),
    ("tcp", f"{AGENT}.rto_min_ns", [0, 60 * 10**9], [60 * 10**9 + 1], "at most rto_max_ns"),
    ("tcp", f"{AGENT}.rto_max_ns", [10**9, CENTURY], [10**9 - 1, CENTURY + 1], "rto_max_ns"),
    ("tcp", f"{AGENT}.send_overhead_ns", *SPAN),
    ("tcp", f"{AGENT}.delayed_ack.timeout_ns", *SPAN),
    ("tcp", f"{AGENT}.delayed_ack.every", *NOT_ZERO),
    ("tcp", f"{AGENT}.congestion", [], [{"kind": "dctcp"}, {"kind": "bbr"}], "congestion"),
    ("tcp", "ports.0.classes", [], [[]], "needs a class"),
    ("tcp", "ports.0.scheduler.shares", [], [[{}, {}]], "a share for each class"),
    ("tcp", "ports.0.classifier.rows", [[[[0, 0]] * 72]], [[[[0, 0]] * 71]], "72 columns"),
    ("tcp", "ports.0.classifier.rows", [], [[[[1, 0]] * 72]], "a class that does not exist"),
    ("tcp", "ports.0.classifier", [{"rows": [[[0, 0]] * 72], "flow_rows": [0] * 6}],
     [{"rows": [[[0, 0]] * 72], "flow_rows": [0] * 5},
      {"rows": [[[0, 0]] * 72], "flow_rows": [1] * 6}], "flow_rows"),
    ("tcp", "ports.0.classes.0.queue.flows",
     [FLOWS | {"queues": 65_535, "ways": 1},
      {key: value for key, value in FLOWS.items() if key != "ways"},
      *(FLOWS | {"queues": it} for it in (8, 16, None))],
     [FLOWS | {"queues": 0}, FLOWS | {"queues": 65_536}], "has 1 to 65535 queues by flow"),
    *(("tcp", "ports.0.classes.0.queue.flows", [], [FLOWS | {key: 0}], "batch of flows are above 0")
      for key in ("quantum_bytes", "batch")),
    ("tcp", "ports.0.classes.0.queue.flows", [FLOWS | {"queues": 2, "ways": 2}],
     [FLOWS | {"ways": 0}, FLOWS | {"queues": 12}, FLOWS | {"queues": 4}], "a multiple of ways"),
    ("meter", "conditioners.0.classifier.rows", [[[[1, 0]] * 72]], [[[[1, 0]] * 73]], "72 columns"),
    ("meter", "conditioners.0.classifier.rows", [], [[[[2, 0]] * 72]], "a class that does not"),
    *(("processing", f"nodes.1.processing.{key}", *SPAN)
      for key in ("fixed_ns", "ip_lookup_ns", "label_lookup_ns")),
    ("call", "flows.0.call.playout_ns", *SPAN),
    ("call", f"{AGENT}.header_bytes", [65_535], [65_536], "header_bytes must be at most 65535"),
    ("call", f"{ARRIVALS}.on-off.mean_on_ns", [1, CENTURY], [0, CENTURY + 1], "mean_on_ns"),
    ("call", f"{ARRIVALS}.on-off.mean_off_ns", [0, CENTURY], [CENTURY + 1], "mean_off_ns"),
    ("call", ARRIVALS, [{"cbr": {"jitter": 0}}, {"cbr": {"jitter": 1}}],
     [{"cbr": {"jitter": -0.01}}, {"cbr": {"jitter": 1.01}}], "jitter must be in 0..=1"),
    ("call", f"{AGENT}.rate_bit_s", *NOT_ZERO),
    ("call", f"{AGENT}.size.fixed.bytes", [1, 65_535], [0, 65_536], "bytes must be in 1..=65535"),
    ("call", f"{AGENT}.size", [{"exponential": {"mean_bytes": 0.1}}],
     [{"exponential": {"mean_bytes": 0.0}}], "mean_bytes must be above 0"),
    ("call", f"{AGENT}.size",
     [{"choice": {"bytes": [1, 65_535], "weights": [0, 1]}}],
     [{"choice": {"bytes": [1, 9], "weights": [0, 0]}},
      {"choice": {"bytes": [1, 9], "weights": [-1, 2]}},
      {"choice": {"bytes": [1], "weights": [1, 2]}},
      {"choice": {"bytes": [1, 65_536], "weights": [1, 2]}}], ""),
    ("call", f"{AGENT}.size",
     [{"gumbel": {"location_bytes": 9, "scale_bytes": 0.1, "header_bytes": 65_535}}],
     [{"gumbel": {"location_bytes": 9, "scale_bytes": 0, "header_bytes": 9}},
      {"gumbel": {"location_bytes": 9, "scale_bytes": 1, "header_bytes": 65_536}}], ""),
    ("call", ARRIVALS, [{"schedule": {"times_ns": [5, 5, CENTURY], "sizes": [1, 9, 65_535]}}],
     [{"schedule": {"times_ns": [5, 4], "sizes": [1, 9]}},
      {"schedule": {"times_ns": [5], "sizes": [1, 9]}},
      {"schedule": {"times_ns": [5, CENTURY + 1], "sizes": [1, 9]}},
      {"schedule": {"times_ns": [5], "sizes": [0]}}], ""),
    ("call", f"{AGENT}.tick_ns", *SPAN),
    ("call", "flows.0.agent", [], [{"protocol": "control", "header_bytes": 20}], "a call is a UDP"),
    ("jitter", f"{AGENT}.phase_ns", [0, 999_999], [1_000_000], "phase_ns must be below tick_ns"),
    ("echo", "flows.0.echo.reply_bytes", [1, 65_535], [0, 65_536], "bytes must be in 1..=65535"),
    ("echo", "flows.0.echo.timeout_ns", [1, CENTURY], [0, CENTURY + 1], "timeout_ns"),
    ("echo", f"{ARRIVALS}.gaps.exponential.mean_ns", [1, CENTURY], [0, CENTURY + 1], "gaps must"),
    ("echo", f"{ARRIVALS}.gaps", [{"gumbel": {"location_ns": CENTURY, "scale_ns": 0.1}}],
     [{"gumbel": {"location_ns": 1, "scale_ns": 0}},
      {"gumbel": {"location_ns": 2 * CENTURY, "scale_ns": 1}},
      {"gumbel": {"location_ns": 1, "scale_ns": 2 * CENTURY}}], ""),
    ("tfrc, slow", f"{ARRIVALS}.tfrc.max_bit_s", *NOT_ZERO),
    ("tfrc, slow", f"{AGENT}.size", [], [{"exponential": {"mean_bytes": 9}}], "of one size"),
    ("media, ladder", f"{MEDIA}.min_bit_s", [1, 3_000_000], [0, 3_000_001], "min_bit_s"),
    ("media, ladder", f"{MEDIA}.priority", [0.001], [0, -1], "priority must be above 0"),
    ("media, ladder", f"{MEDIA}.frame_ns", [1, LONGEST_FRAME], [0, CENTURY + 1], "frame_ns"),
    ("media, ladder", f"{MEDIA}.frame_ns", [], [LONGEST_FRAME + 1], "at most 2^30 B"),
    ("media, ladder", f"{MEDIA}.ladder_bit_s", [], [[3 * 10**11]], "at most 2^30 B"),
    ("media, ladder", f"{MEDIA}.playout_ns", *SPAN),
    ("media, ladder", f"{MEDIA}.ladder_bit_s", [[1, 1, 2]], [[0, 1], [2, 1]], "ladder"),
    ("film", f"{VIDEO}.players", *NOT_ZERO),
    ("film", f"{VIDEO}.chunk_ns", [1, 1_500_000_000], [0, 1_500_000_001], ""),
    ("film", f"{VIDEO}.buffer_ns", [1_000_000_000, CENTURY], [999_999_999, CENTURY + 1], ""),
    ("film", f"{VIDEO}.start_ns", [3_000_000_000], [3_000_000_001, CENTURY + 1], ""),
    ("film", f"{VIDEO}.spread_ns", *SPAN),
    # 2^50 B in half a second are 2^54 bit/s.
    ("film", f"{VIDEO}.ladder_bit_s", [[1, 2], [2**54]], [[], [0, 1], [2, 2], [2**54 + 16]], ""),
    *((kind, f"flows.0.transfers.opened.{word}.request_bytes", *NOT_ZERO)
      for kind, word in (("film", "video"), ("pages", "pages"))),
    *((kind, f"flows.0.transfers.opened.{word}.requests", [], [0, 1, 3], "requests names a flow")
      for kind, word in (("film", "video"), ("pages", "pages"))),
    ("film", "flows.0.transfers.bins_bytes", [[1, 2]], [[2, 2], [2, 1]], "bins_bytes must rise"),
    ("pages", f"{USERS}.users", *NOT_ZERO),
    ("pages", f"{USERS}.parallel", *NOT_ZERO),
    ("pages", f"{USERS}.reading.exponential", [0, CENTURY], [-1, 2 * CENTURY], "times of users"),
    ("pages", f"{USERS}.parsing", [{"fixed": CENTURY}], [{"fixed": CENTURY + 1}], "times of users"),
    *(("pages", f"{USERS}.{key}", [{"exponential": {"mean_bytes": 0.1}}],
       [{"exponential": {"mean_bytes": 0}}], "mean_bytes must be above 0")
      for key in ("main", "embedded", "objects")),
    ("pareto", f"{SIZES}.pareto.shape", [0.001], [0, -1], "shape and least_bytes"),
    ("pareto", f"{SIZES}.pareto.least_bytes", [0.001, 1e6], [0, 1.1e6], "shape and least_bytes"),
    ("weibull", f"{SIZES}.weibull.shape", [0.1], [0, -1], "shape and scale must be above 0"),
    ("weibull", f"{SIZES}.weibull.scale_bytes", [0.1], [0, -1], "shape and scale must be above 0"),
    ("lognormal", f"{SIZES}.lognormal.sigma", [0], [-0.1], "sigma must be 0 or more"),
    ("lognormal", f"{SIZES}.lognormal.least_bytes", [1e6], [1.1e6], "bounds in order"),
    *(("lognormal", f"flows.0.transfers.opened.arrivals.gaps.on-off.{key}", [1.0], [0, -1], key)
      for key in ("mean_ns", "mean_on_ns")),
    ("lognormal", "flows.0.transfers.opened.arrivals.gaps.on-off.mean_off_ns", [0], [-1], "mean_"),
    ("lognormal", "flows.0.transfers.opened.arrivals.gaps",
     [{"schedule": {"times_ns": [3, 3, CENTURY], "sizes_bytes": [1, 1, 1]}},
      {"poisson": {"mean_ns": 1e6}}, {"periodic": {"gap_ns": 1e6}}],
     [{"schedule": {"times_ns": [3, 2], "sizes_bytes": [1, 1]}},
      {"schedule": {"times_ns": [3], "sizes_bytes": [1, 1]}},
      {"schedule": {"times_ns": [3], "sizes_bytes": [0]}},
      {"schedule": {"times_ns": [CENTURY + 1], "sizes_bytes": [1]}},
      {"poisson": {"mean_ns": 0}}, {"periodic": {"gap_ns": 0}}], ""),
    ("labels", "ilm.0.node", [], [6], "node 6 does not exist"),
    ("labels", "ilm.0.label", [2**20 - 1], [2**20], "is above 1048575"),
    ("labels", "ilm.0.nhlfe", [], [ANOTHER], "does not exist"),
    ("labels", "ftn.0.node", [], [6], "node 6 does not exist"),
    ("labels", "ftn.0.nhlfe", [], [ANOTHER], "does not exist"),
    ("labels", "ftn.0.dscps", [[63]], [[64]], "an FTN entry for DSCP 64"),
    ("labels", "nhlfe.0.link", [], [16], "link 16 does not exist, there are 16"),
    ("labels", "nhlfe.0.path", [], [ANOTHER], "does not exist"),
    ("labels", "nhlfe.0.push", [[2**20 - 1]], [[2**20], [16] * 5], ""),
    ("labels", "nhlfe.0.link", [], [None], "without a link pops and pushes nothing"),
    ("labels", "nhlfe.0.row", [None], [0], "classifier row 0 does not exist"),
    ("labels", "nhlfe.0.pop_diffserv", [0], [1], "diffserv 1 does not exist, there are 1"),
    ("labels", "nhlfe.0.push_diffserv", [[0]], [[1]], "diffserv 1 does not exist, there are 1"),
    *(("labels", f"diffserv.0.{key}.0", [7], [8], "TC 8 is above 7")
      for key in ("tc_of_dscp", "tc_of_tc", "tc_below")),
    ("labels", "diffserv.0.dscp_of_tc.0", [63, None], [64], "DSCP 64 is above 63"),
    *(("labels", f"diffserv.0.{key}", [], [[0] * (count - 1), [0] * (count + 1)], "maps have")
      for key, count in (("tc_of_dscp", 64), ("tc_of_tc", 8), ("tc_below", 8), ("dscp_of_tc", 8))),
    ("labels", "ecn_in_mpls", [[[6, 7]]], [[[7, 8]], [[6, 6]]], "pairs of different TCs"),
    ("labels", "recovery.failures.0.links", [[15]], [[16]], "a link that does not exist"),
    ("labels", "recovery.failures.0.outages.at.0.repaired_ns", [10**9 + 1], [10**9], "repair must"),
    ("labels", "recovery.failures.0.outages.at",
     [[{"failed_ns": 5, "repaired_ns": 6}, {"failed_ns": 6, "repaired_ns": None}]],
     [[{"failed_ns": 5, "repaired_ns": 7}, {"failed_ns": 6, "repaired_ns": None}],
      [{"failed_ns": 5, "repaired_ns": None}, {"failed_ns": 6, "repaired_ns": None}]],
     "follow each other"),
    ("labels", "recovery.failures.0.outages",
     [{"kind": "random", "mtbf_ns": 1, "mttr_ns": 1}],
     [{"kind": "random", "mtbf_ns": 0, "mttr_ns": 1},
      {"kind": "random", "mtbf_ns": 1, "mttr_ns": 0}], "mean times up and down"),
    ("labels", "recovery.failures.0.drain",
     [{"at_ns": 10**9, "by_metric": False, "by_switch": True}],
     [{"at_ns": 10**9 + 1, "by_metric": False, "by_switch": True}], "must not come after"),
    ("labels", "recovery.protections.0.path", [], [ANOTHER], "does not exist"),
    ("labels", "recovery.protections.0.node", [], [6], "node 6 does not exist, there are 6"),
    ("labels", "recovery.protections.0.watches", [[15]], [[16]], "link 16 does not exist"),
    ("labels", "recovery.protections.0.switches.0.entry", [], [ANOTHER], "does not exist"),
    ("labels", "recovery.protections.0.bridge.alternative", [], [ANOTHER], "does not exist"),
    ("labels", "recovery.protections.0.detection.interval_ns", *NOT_ZERO),
    ("labels", "recovery.protections.0.detection.multiplier", *NOT_ZERO),
    ("labels", "recovery.protections.0.detection",
     [{"kind": "hello", "interval_ns": 5, "timeout_ns": 5}],
     [{"kind": "hello", "interval_ns": 5, "timeout_ns": 4},
      {"kind": "hello", "interval_ns": 0, "timeout_ns": 4}], ""),
    ("labels", "routing",
     [{"static": [{"node": 0, "destination": 5, "link": 0, "distance": 1}]}],
     [{"static": [{"node": 0, "destination": 6, "link": 0, "distance": 1}]},
      {"static": [{"node": 6, "destination": 5, "link": 0, "distance": 1}]},
      {"static": [{"node": 1, "destination": 5, "link": 0, "distance": 1}]},
      {"static": [{"node": 0, "destination": 5, "link": 16, "distance": 1}]}],
     "static route of node"),
    ("labels", "routing", [{"segments": [SEGMENT]}],
     [{"segments": [SEGMENT | {key: 6}]} for key in ("node", "destination")],
     "its node does not exist"),
    ("labels", "routing", [], [{"segments": [SEGMENT | {"entry": ANOTHER}]}], "nhlfe does not"),
    ("ldp", f"{LDP}.flow", [], [0, 5], ""),
    *(("ldp", f"{LDP}.{key}", [1], [0], "intervals of LDP") for key in
      ("hello_ns", "resend_ns", "retry_ns")),
    ("ldp", f"{LDP}.keepalive_ns", [3], [2], "intervals of LDP"),
    ("ldp", f"{LDP}.hello_hold_ns", [100_000_001], [100_000_000], "above hello_ns"),
    ("ldp", f"{LDP}.first_fec", [65_529], [65_530], "numbered in 16 bits"),
    ("ldp", LDP, [], [None], "ldp_sync needs LDP"),
    ("ospf", f"{OSPF}.flow", [], [0, 4], ""),
    ("ospf", f"{OSPF}.fib_update_ns", [[0] * 6], [[0] * 5, [0] * 7], "an entry for each node"),
    ("ospf", f"{OSPF}.resend_ns", [1], [0], "intervals of OSPF"),
    ("ospf", f"{OSPF}.hello_ns", [1], [0], "intervals of OSPF"),
    ("ospf", f"{OSPF}.dead_ns", [100_000_001], [100_000_000], "above hello_ns"),
    ("ospf", f"{OSPF}.te", [None], [[]], "te has an entry for each link"),
    ("ospf", "links.0.metric", [65_535], [65_536], "a metric of OSPF is 16 bits"),
    ("ospf", "recovery.rerouting", [None],
     [{"detection": {"kind": "fixed", "delay_ns": 1}, "processing_ns": 0, "spf_delay_ns": 0}],
     "exclude each other"),
    ("rsvp", f"{RSVP}.flow", [], [0, 4], ""),
    ("rsvp", f"{RSVP}.reservable", [[1] * 16], [[1] * 15, [1] * 17], "an entry for each link"),
    ("rsvp", f"{RSVP}.flooding_ns", [0], [None], "OSPF must have te"),
    *(("rsvp", f"{RSVP}.{key}", *NOT_ZERO)
      for key in ("refresh_ns", "multiplier", "resend_limit", "attempts")),
    *(("rsvp", f"{RSVP}.{key}", [None, 10**6], [0], "intervals must be above 0")
      for key in ("hello_ns", "resend_ns", "reoptimise_ns")),
    ("rsvp", f"{RSVP}.attributes", [[]], [[ATTRIBUTES]], "each link"),
    ("rsvp", f"{RSVP}.summary", [False], [True], "needs resend_ns"),
    ("rsvp", f"{RSVP}.orders.0.session", [0], [3], "session 3 does not exist, there are 3"),
    ("rsvp", f"{RSVP}.requests.0.head", [5], [3, 6], ""),
    ("rsvp", f"{RSVP}.requests.0.every_ns", *NOT_ZERO),
    ("rsvp", f"{RSVP}.requests.0.holding_ns", *NOT_ZERO),
    ("rsvp", f"{RSVP}.requests.0.setup", [4, 7], [3, 8], "hold <= setup < 8"),
    ("rsvp", f"{RSVP}.requests.0.hold", [0, 5], [6], "hold <= setup < 8"),
    ("rsvp", f"{RSVP}.requests.0.route", [None], [[], [0, 0], [16]], "signalling"),
    ("rsvp", f"{SESSION}.path", [], [ANOTHER], "does not exist"),
    ("rsvp", f"{SESSION}.setup", [6, 7], [5, 8], "hold <= setup < 8"),
    ("rsvp", f"{SESSION}.class_type", [0, 7], [8], "class_type < 8"),
    ("rsvp", f"{SESSION}.route", [], [[], [0], [0, 0, 0], [16, 0, 0]], "signalling"),
    ("rsvp", f"{SESSION}.hops.0.entry", [None], [ANOTHER], "does not exist"),
    ("rsvp", f"{SESSION}.diffserv.0", [None], [0], "diffserv 0 does not exist"),
    ("rsvp", f"{AUTO}.sample_ns", [1, 300_000_000], [0, 300_000_001], "sample_ns"),
    ("rsvp", f"{AUTO}.minimum_bit_s", [4_000_000], [4_000_001], "minimum_bit_s"),
    *(("rsvp", f"{SESSION}.constraints",
       [{"barred": [], "via": [], "minimise": "igp", "apart": []} | good],
       [{"barred": [], "via": [], "minimise": "igp", "apart": []} | bad], "signalling")
      for good, bad in (
          ({"barred": [15]}, {"barred": [16]}),
          ({"via": [5]}, {"via": [6]}),
          ({"apart": APART[0]}, {"apart": APART[1]}),
          ({"max_hops": 3}, {"max_delay_ns": 3}),
          ({}, {"minimise": "te"}),
      )),
    ("types", f"{RSVP}.class_types.te_classes", [[{"class_type": 7, "priority": 7}] * 8],
     [[], [{"class_type": 8, "priority": 7}], [{"class_type": 7, "priority": 8}],
      [{"class_type": 7, "priority": 7}] * 9], "1 to 8 TE-classes"),
    ("types", f"{RSVP}.class_types.bounds", [[]], [[[]]], "an entry for each link"),
    ("types", f"{RSVP}.class_types.bounds.0.0.class_types", [[7]], [[8]], "are below 8"),
]  # fmt: skip


@functools.cache
def make_network(name: str) -> str:
    """A network whose run takes a microsecond."""
    document = json.loads(compile(load(TEXTS[name]())).to_json())
    document["run"] |= {"duration_ns": 1000, "warmup_ns": 0}
    return json.dumps(document)


def run_with(name: str, place: str, value: Any) -> None:
    """Run a network with another value in a place."""
    document = json.loads(make_network(name))
    *steps, last = [int(step) if step.isdigit() else step for step in place.split(".")]
    inner = functools.reduce(lambda part, step: part[step], steps, document)
    inner[last] = value
    simulate(json.dumps(document), seeds=[1], threads=1)


def find_part(place: str) -> str:
    """The part of a network that a place is in: a link, an agent, a protocol."""
    return ".".join(place.split(".")[:3])


@pytest.mark.parametrize(
    ("name", "part"), sorted({(name, find_part(place)) for name, place, *_ in RULES})
)
def test_a_number_is_accepted_at_its_bound_and_refused_beyond(name: str, part: str) -> None:
    rules = [rule for rule in RULES if (rule[0], find_part(rule[1])) == (name, part)]
    for _, place, accepted, refused, reason in rules:
        for value in accepted:
            run_with(name, place, value)
        for value in refused:
            with pytest.raises(ValueError) as raised:  # noqa: PT011
                run_with(name, place, value)
            why = str(raised.value)
            assert reason in why, (place, value)
            # A value of another type is no number out of range.
            assert " at line " not in why, (place, value)


def test_a_node_segment_needs_room_for_its_label() -> None:
    """Four labels are the most on a packet: another has room only where it is the last already."""
    document = json.loads(make_network("labels"))
    document["nhlfe"][0]["push"] = [16, 17, 18, 19]
    for label, fits in ((19, True), (20, False)):
        document["routing"] = {"segments": [SEGMENT | {"label": label}]}
        network = json.dumps(document)
        if fits:
            simulate(network, seeds=[1], threads=1)
        else:
            with pytest.raises(ValueError, match="there is no room for it on a packet"):
                simulate(network, seeds=[1], threads=1)


def test_what_is_no_list_of_flows_is_refused_by_what_it_should_be() -> None:
    document = json.loads(make_network("tcp")) | {"flows": 5}
    with pytest.raises(ValueError, match="expected a list of flows"):
        simulate(json.dumps(document), seeds=[1], threads=1)
