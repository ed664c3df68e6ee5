"""The compiled network: the contract with engines."""

import json
import struct
from importlib.resources import files
from typing import Any

import pytest

from trunkline import _core
from trunkline.network import Network, compile
from trunkline.network.classifier_rows import has_path_rules
from trunkline.scenario import ScenarioError, load
from trunkline.scenario.match import MatchConditions

EXAMPLES = {
    each.name.removesuffix(".yaml"): each.read_text(encoding="utf-8")
    for each in files("trunkline").joinpath("examples").iterdir()
    if each.name.endswith(".yaml")
}


def run(name: str, **overrides: str) -> tuple[Network, dict[str, dict[str, list[Any]]]]:
    """Compiles an example and runs it; tables as lists."""
    options = {key.replace("__", "."): value for key, value in overrides.items()}
    network = compile(load(EXAMPLES[name], overrides=options))
    return network, tables(_core.run(network.to_json(), network.run["seed"]))


def tables(raw: dict[str, dict[str, tuple[str, bytes]]]) -> dict[str, dict[str, list[Any]]]:
    formats = {"i64": "q", "f64": "d", "u32": "I", "u8": "B"}
    return {
        table: {
            column: [each[0] for each in struct.iter_unpack(f"<{formats[kind]}", data)]
            for column, (kind, data) in columns.items()
        }
        for table, columns in raw.items()
    }


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_the_engine_reads_every_example(name: str) -> None:
    network, result = run(name, run__duration="2 s", run__warm_up="0 s")
    assert load(EXAMPLES[name]).warnings == []
    assert result["summary"]["packets_delivered"][0] > 0
    assert len(result["flows"]["flow"]) == len(network.flows)


AQMS = {
    "drop-tail": "{kind: drop-tail}",
    "precedence-drop-tail": "{kind: precedence-drop-tail, limits: [9 packets, 5 packets]}",
    "red": "{kind: red, min_th: 5 packets, max_th: 15 packets}",
    "red in bytes": "{kind: red, min_th: 5 kB, max_th: 15 kB, spacing: ns2, gentle: true}",
    "wred": "{kind: wred, precedences: [{min_th: 5 packets, max_th: 15 packets}]}",
    "rio-c": "{kind: rio-c, precedences: [{min_th: 5 packets, max_th: 15 packets}]}",
    "rio-d": "{kind: rio-d, precedences: [{min_th: 5 packets, max_th: 15 packets}]}",
    "red-linux": "{kind: red-linux, min: 5 kB, max: 15 kB, burst: 10 packets, age: plog}",
    "gred": "{kind: gred, dps: [{dp: 0, limit: 60 kB, min: 5 kB, max: 15 kB, burst: 10 packets}]}",
}
OVERLOADED = """\
trunkline: 1
nodes: [A, B]
links: {{A-B: {{rate: 1 Mbit/s, port: p}}}}
ports: {{p: {{queue: {{limit: 100 packets, aqm: {}}}}}}}
flows: {{f: {{agent: udp, from: A, to: B, arrivals: {}, rate: 2 Mbit/s, size: {}{}}}}}
run: {{duration: 5 s}}
"""


@pytest.mark.parametrize("aqm", AQMS.values(), ids=AQMS)
def test_the_engine_reads_every_aqm(aqm: str) -> None:
    network = compile(load(OVERLOADED.format(aqm, "cbr", "500 B", "")))
    result = tables(_core.run(network.to_json(), 1))
    # 2 Mbit/s into 1 Mbit/s for 5 s: at least 1000 B x 1250 arrive too many, less 100 held.
    assert sum(result["drops"]["packets"]) >= 1250 - 101


@pytest.mark.parametrize(
    ("arrivals", "more"),
    [("cbr", ", jitter: 50 %"), ("poisson", ""), ("on-off", ", mean_on: 10 ms, mean_off: 10 ms")],
)
@pytest.mark.parametrize(
    "size", ["500 B", "{exponential: 500 B}", "{choice: {sizes: [40 B, 960 B], weights: [1, 1]}}"]
)
def test_the_engine_reads_every_law_of_arrivals_and_sizes(
    arrivals: str, more: str, size: str
) -> None:
    network = compile(load(OVERLOADED.format("drop-tail", arrivals, size, more)))
    result = tables(_core.run(network.to_json(), 1))
    mean = 1250.0 if arrivals == "on-off" else 2500.0
    # 25 % is over 8 standard deviations of the count with exponential sizes (3 % each), and over 5
    # of the time spent on in 250 periods (about 4.5 %).
    assert result["flows"]["packets_sent"][0] == pytest.approx(mean, rel=0.25)


def test_the_engine_reads_every_tcp_option() -> None:
    text = (
        "trunkline: 1\nnodes: [A, B]\nlinks: {A-B: {rate: 1 Mbit/s}}\n"
        "defaults: {tcp: {timestamps: true, delayed_ack: 200 ms, ecn: true, send_overhead: 1 us, "
        "initial_ssthresh: 5 packets, limited_transmit: false, size: 100 kB, stop: 4 s}}\nflows:\n"
        "  a: {agent: tcp, from: A, to: B, variant: tahoe}\n"
        "  b: {agent: tcp, from: A, to: B, variant: reno}\n"
        "  c: {agent: tcp, from: A, to: B, variant: new-reno, impatient: true}\n"
        "  d: {agent: tcp, from: A, to: B, variant: sack}\nrun: {duration: 5 s}\n"
    )
    result = tables(_core.run(compile(load(text)).to_json(), 1))
    assert result["flows"]["goodput_bytes"] == [100_000] * 4


def test_canonical_json_is_sorted_compact_and_hashed() -> None:
    network = compile(load(EXAMPLES["hello"]))
    again = json.dumps(json.loads(network.to_json()), sort_keys=True, separators=(",", ":"))
    assert network.to_json() == again
    assert len(network.hash()) == 64
    assert compile(load(EXAMPLES["hello"])).hash() == network.hash()


def test_a_seed_replaces_the_scenario_s() -> None:
    scenario = load(EXAMPLES["hello"])
    assert compile(scenario, seed=2**64 - 1).run["seed"] == 2**64 - 1
    assert compile(scenario, seed=1).hash() == compile(scenario).hash()
    for seed in (-1, 2**64):
        with pytest.raises((ScenarioError, ValueError), match="a seed must be from 0"):
            compile(scenario, seed=seed)


def test_probes_name_flows_links_and_classes() -> None:
    text = EXAMPLES["priority-voice"] + (
        "probes:\n  - {flow: download, measure: [cwnd, goodput], every: 1 s}\n"
        "  - {link: R1->R2, class: voice, measure: queue-packets, every: 10 ms}\n"
        "  - {link: all, measure: utilisation, every: 1 s}\n"
    )
    network = compile(load(text))
    flows = [flow["name"] for flow in network.flows]
    links = [link["name"] for link in network.links]
    probes = [(each["measure"], each["target"], each["class"]) for each in network.probes]
    first, second = flows.index("download[0]"), flows.index("download[1]")
    assert probes[:5] == [
        ("cwnd", first, None),
        ("cwnd", second, None),
        ("goodput", first, None),
        ("goodput", second, None),
        ("queue-packets", links.index("R1->R2"), 0),
    ]
    assert [probe[1] for probe in probes[5:]] == list(range(len(links)))


class TestExamplesShowWhatTheySay:
    """Claims in the header comments of the examples."""

    def test_md1_mean_wait_is_that_of_pollaczek_and_khinchine(self) -> None:
        # rho / (2 (1 - rho)) x 1 ms: 0.5 ms at 0.5; 2 ms at 0.8. 5 % is four standard errors.
        _, half = run("md1", load="0.5")
        _, more = run("md1")
        assert half["ports"]["wait_mean_ns"][0] == pytest.approx(0.5e6, rel=0.05)
        assert more["ports"]["wait_mean_ns"][0] == pytest.approx(2e6, rel=0.05)

    def test_label_stack_adds_four_bytes_a_label_link_by_link(self) -> None:
        network, result = run("label-stack")
        columns = (result["ports"][key] for key in ("link", "bytes_sent", "packets_sent"))
        wire = {
            network.links[link]["name"]: octets / packets
            for link, octets, packets in zip(*columns, strict=True)
            if packets
        }
        labels = {"src->A": 0, "A->B": 1, "B->C": 2, "C->P1": 3, "P1->X": 4, "X->P2": 3, "P2->D": 2,
                  "D->E": 1, "E->F": 1, "F->dst": 0}  # fmt: skip
        assert wire == {link: 1000 + 4 * count for link, count in labels.items()}

    @pytest.mark.parametrize("scheduler", ["wfq", "drr"])
    def test_wfq_shares_are_four_two_one(self, scheduler: str) -> None:
        _, result = run("wfq-shares", ports__shares__scheduler=scheduler)
        rates = [octets * 8 / 55e6 for octets in result["flows"]["bytes_delivered"]]
        assert rates == pytest.approx([4, 2, 1], rel=0.002)

    def test_priority_bounds_the_delay_of_voice(self) -> None:
        _, result = run("priority-voice")
        voice = result["flows"]["delay_max_ns"][:10]
        # 5 + 1 + 1 ms of propagation, 16 + 800 + 16 us of transmission, one data packet of 6 ms
        # and nine voice packets of 0.8 ms before it.
        assert max(voice) <= 7_832_000 + 6_000_000 + 9 * 800_000
        assert sum(result["flows"]["packets_dropped"][:10]) == 0

    def test_trunks_give_tcp2_its_own_route(self) -> None:
        rates = {}
        for rate in ("16.8 Mbit/s", "28 Mbit/s"):
            _, result = run("trunks", udp_rate=rate)
            rates[rate] = [octets * 8 / 20e6 for octets in result["flows"]["bytes_delivered"]]
        low, high = rates.values()
        assert high[1] < 0.7 * low[1]  # TCP1 gives way to UDP
        assert high[2] == pytest.approx(low[2], rel=0.15)  # TCP2 does not

    def test_assured_forwarding_drops_by_precedence(self) -> None:
        _, result = run("assured-forwarding")
        green, yellow, red = result["flows"]["bytes_delivered"]
        assert green > yellow > red
        assert green == pytest.approx(3e6 / 8 * 50, rel=0.02)


def test_sizes_of_a_choice_without_weights_weigh_alike() -> None:
    size = "{choice: {sizes: [40 B, 960 B]}}"
    data = compile(load(OVERLOADED.format("drop-tail", "cbr", size, ""))).data
    [flow] = data["flows"]
    assert flow["agent"]["size"] == {"choice": {"bytes": [40, 960], "weights": [1.0, 1.0]}}


@pytest.mark.parametrize("connections", ["new", "kept"])
def test_connections_of_transfers_are_kept_where_the_file_says_so(connections: str) -> None:
    text = (
        "trunkline: 1\nnodes: [A, B]\nlinks: {A-B: {rate: 1 Mbit/s}}\nflows:\n"
        "  a: {agent: tcp, from: A, to: B, transfers: {load: 100 kbit/s, size: {fixed: 10 kB}, "
        f"connections: {connections}}}}}\nrun: {{duration: 5 s}}\n"
    )
    written = json.dumps(compile(load(text)).data)
    assert ('"kept": true' in written) is (connections == "kept")


def test_one_rule_by_path_of_several_makes_a_classifier_depend_on_the_path() -> None:
    by_path = MatchConditions.model_validate({"trunk": "t"})
    by_dscp = MatchConditions.model_validate({"dscp": "EF"})
    assert has_path_rules([by_dscp, by_path])
    assert has_path_rules([by_path])
    assert not has_path_rules([by_dscp])
    assert not has_path_rules([])


@pytest.mark.parametrize(("metric", "advertised"), [(2**32 - 1, 2**32 - 1), (2**32, 2**32 - 1)])
def test_rfc3630_s2_5_5_a_metric_of_traffic_engineering_has_32_bits(
    metric: int, advertised: int
) -> None:
    text = f"""\
trunkline: 1
nodes: [A, B]
links: {{A-B: {{rate: 10 Mbit/s, te: {{metric: {metric}}}}}}}
paths: {{p: {{route: [A, B]}}}}
signalling: {{kind: rsvp-te}}
routing: {{ospf: {{}}}}
run: {{duration: 1 s}}
"""
    ospf = compile(load(text)).data["signalling"]["ospf"]
    assert [each["metric"] for each in ospf["te"]] == [advertised] * 2


def test_rfc5036_s2_1_each_node_is_a_class_behind_those_of_paths() -> None:
    """Paths have 1 and 2, so that A, B and C have 3, 4 and 5; a trunk carries its flow one way."""
    text = """\
trunkline: 1
nodes: [A, B, C]
links: {A-B: {rate: 10 Mbit/s}, B-C: {rate: 10 Mbit/s}}
paths: {p: {route: [A, B, C]}, q: {route: [C, B, A]}}
flows:
  f: {agent: udp, from: A, to: C, rate: 1 Mbit/s}
  g: {agent: udp, from: C, to: B, rate: 1 Mbit/s}
trunks: {t: {path: p, flows: f}}
routing: {ldp: {}}
run: {duration: 1 s}
"""
    flows = compile(load(text)).data["flows"][:2]
    assert [(each["fec"], each["fec_reverse"]) for each in flows] == [(1, 3), (4, 5)]


def test_rfc2328_a_1_and_rfc4594_3_1_messages_are_cs6_and_those_of_ospf_go_one_hop() -> None:
    """CS6 is 48; an IP header is 20 bytes. RFC 5036 and RFC 2205 leave the TTL: 255, the most."""
    text = """\
trunkline: 1
nodes: [A, B]
links: {A-B: {rate: 10 Mbit/s}}
paths: {p: {route: [A, B]}}
signalling: {kind: rsvp-te}
routing: {ospf: {}, ldp: {}}
run: {duration: 1 s}
"""
    always = {"src": 0, "dst": 1, "start_ns": 0, "stop_ns": None, "start_jitter_ns": 0}
    always |= {"fec": 0, "fec_reverse": 0, "dscp": 48}
    always["agent"] = {"protocol": "control", "header_bytes": 20}
    assert compile(load(text)).data["flows"] == [
        {"name": name, "ttl": ttl, **always}
        for name, ttl in (("rsvp-te", 255), ("ospf", 1), ("ldp", 255))
    ]


@pytest.mark.parametrize(
    ("signalling", "routing", "flooding_ns"),
    [
        ("", "", 0),
        (", flooding: 3 ms", "", 3_000_000),
        (", flooding: 3 ms", "routing: {ospf: {}}", 3_000_000),
        ("", "routing: {ospf: {}}", None),
    ],
)
def test_heads_learn_of_links_at_once_after_a_set_time_or_by_lsas(
    signalling: str, routing: str, flooding_ns: int | None
) -> None:
    """RFC 3630: with OSPF by its LSAs, unless the file sets a time."""
    text = f"""\
trunkline: 1
nodes: [A, B]
links: {{A-B: {{rate: 10 Mbit/s}}}}
paths: {{p: {{route: [A, B]}}}}
signalling: {{kind: rsvp-te{signalling}}}
run: {{duration: 1 s}}
{routing}
"""
    compiled = compile(load(text)).data["signalling"]
    assert compiled["rsvp"]["flooding_ns"] == flooding_ns
    assert ("te" in compiled.get("ospf", {})) == (flooding_ns is None)
