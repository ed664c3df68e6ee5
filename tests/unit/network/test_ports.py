"""Classifier rows: what the engine looks up for each packet must be what the rules say."""

import itertools
import json
import random
from typing import Any

import pytest

from trunkline.engine import simulate
from trunkline.network import Network, compile
from trunkline.scenario import load

NET = """\
trunkline: 1
nodes: [S, A, B, C, T]
defaults: {link: {rate: 10 Mbit/s}}
links: {S-A: {}, A-B: {port: p}, B-C: {port: p}, C-T: {}}
paths: {low: {route: [A, B, C]}, high: {route: [B, C, T]}}
trunks: {low: {path: low, flows: f}, high: {path: high, flows: g}}
flows:
  f: {agent: tcp, from: S, to: T}
  g: {agent: udp, from: S, to: T, rate: 1 Mbit/s}
  h: {agent: udp, from: S, to: C, rate: 1 Mbit/s, replicate: 2}
run: {duration: 1 s}
"""
CLASSES = "classes: {a: {}, b: {}, default: {}}"


def network(port: str) -> Network:
    return compile(load(f"{NET}ports: {{p: {{{port}}}}}\n"))


def port_of(net: Network, link: str) -> Any:
    return net.ports[next(each["port"] for each in net.links if each["name"] == link)]


def looked_up(net: Network, link: str, flow: str, *, ack: bool = False, dscp: int | None = None,
              tc: int | None = None, path: str | None = None) -> tuple[str, int]:  # fmt: skip
    """Class and precedence as the engine finds them."""
    port = port_of(net, link)
    classifier = port["classifier"]
    if not classifier["rows"]:
        return port["classes"][0]["name"], 0
    row = None
    if path is not None:
        index = [each["name"] for each in net.paths].index(path)
        number = [each["name"] for each in net.links].index(link)
        row = next(
            entry["row"] for entry in net.nhlfe if (entry["link"], entry["path"]) == (number, index)
        )
    if row is None:
        names = [each["name"] for each in net.flows]
        direction = 2 * names.index(flow) + ack
        row = classifier["flow_rows"][direction] if classifier["flow_rows"] else 0
    column = 64 + tc if tc is not None else dscp or 0
    class_, precedence = classifier["rows"][row][column]
    return port["classes"][class_]["name"], precedence


def test_a_port_of_one_class_needs_no_rows() -> None:
    net = network("queue: {limit: 5 packets}")
    assert port_of(net, "A->B")["classifier"] == {"rows": [], "flow_rows": []}
    assert all(entry["row"] is None for entry in net.nhlfe)


def test_links_of_one_configuration_share_it() -> None:
    net = network("queue: {limit: 5 packets}")
    assert [port["name"] for port in net.ports] == ["default", "p"]


def test_the_first_rule_that_matches_decides() -> None:
    net = network(
        f"{CLASSES}, scheduler: drr, classify: [{{dscp: EF, class: a}}, "
        "{dscp: [AF11, AF12], class: b, precedence: 1}, {dscp: AF12, class: a}, {tc: 5, class: a}]"
    )
    assert looked_up(net, "A->B", "g", dscp=46) == ("a", 0)
    assert looked_up(net, "A->B", "g", dscp=10) == ("b", 1)
    assert looked_up(net, "A->B", "g", dscp=12) == ("b", 1)
    assert looked_up(net, "A->B", "g", dscp=0) == ("default", 0)
    assert looked_up(net, "A->B", "g", tc=5) == ("a", 0)
    assert looked_up(net, "A->B", "g", tc=1) == ("default", 0)


def test_a_trunk_is_known_by_its_path_and_only_where_it_goes() -> None:
    net = network(
        f"{CLASSES}, scheduler: wfq, classify: [{{trunk: low, class: a}}, {{path: high, class: b}}]"
    )
    assert looked_up(net, "A->B", "f", tc=0, path="low") == ("a", 0)
    assert looked_up(net, "B->C", "f", path="low") == ("a", 0)  # label off, still forwarded by it
    assert looked_up(net, "B->C", "g", tc=0, path="high") == ("b", 0)
    assert looked_up(net, "A->B", "g") == ("default", 0)  # its trunk begins at B
    assert port_of(net, "A->B") is port_of(net, "B->C")


def test_a_rule_of_two_trunks_is_for_the_packets_of_either() -> None:
    net = network(f"{CLASSES}, scheduler: drr, classify: [{{trunk: [low, high], class: a}}]")
    assert looked_up(net, "A->B", "f", tc=0, path="low") == ("a", 0)
    assert looked_up(net, "B->C", "g", tc=0, path="high") == ("a", 0)
    assert looked_up(net, "A->B", "g") == ("default", 0)


def test_a_trunk_of_one_replica_and_one_of_all_of_a_flow_are_known_by_their_paths() -> None:
    rule = f"{CLASSES}, scheduler: drr, classify: [{{trunk: high, protocol: udp, class: a}}]"
    for member, classes in (
        ("h", {"h[0]": ("a", 0), "h[1]": ("a", 0)}),
        ("'h[1]'", {"h[0]": ("default", 0), "h[1]": ("a", 0)}),
        ("[f, 'h[0]']", {"h[0]": ("a", 0), "h[1]": ("default", 0)}),
    ):
        text = NET.replace("flows: f}", "flows: g}").replace("flows: g}}", f"flows: {member}}}}}")
        text = text.replace("from: S, to: C", "from: S, to: T")
        net = compile(load(f"{text}ports: {{p: {{{rule}}}}}\n"))
        assert {name: looked_up(net, "B->C", name) for name in classes} == classes


def test_flows_ends_and_protocols_are_told_apart_in_both_directions() -> None:
    net = network(
        f"{CLASSES}, scheduler: priority, classify: [{{flow: 'h[1]', class: a}}, "
        "{source: T, class: b}, {protocol: udp, destination: T, class: a}]"
    )
    assert looked_up(net, "A->B", "h[0]") == ("default", 0)
    assert looked_up(net, "A->B", "h[1]") == ("a", 0)
    assert looked_up(net, "A->B", "f") == ("default", 0)
    assert looked_up(net, "A->B", "f", ack=True) == ("b", 0)
    assert looked_up(net, "A->B", "g") == ("a", 0)


def test_a_rule_of_flow_and_trunk_holds_link_by_link() -> None:
    net = network(
        f"{CLASSES}, scheduler: drr, classify: [{{trunk: high, protocol: udp, class: a}}]"
    )
    assert looked_up(net, "B->C", "g", tc=0, path="high") == ("a", 0)
    assert looked_up(net, "A->B", "g") == ("default", 0)
    assert looked_up(net, "B->C", "f", tc=0, path="low") == ("default", 0)
    assert port_of(net, "A->B") is not port_of(net, "B->C")


def test_per_flow_gives_each_flow_its_class_and_rules_its_precedence() -> None:
    net = network(
        "per: flow, scheduler: wfq, queue: {limit: 3 packets}, "
        "classify: [{dscp: AF12, precedence: 1}]"
    )
    port = port_of(net, "A->B")
    assert [each["name"] for each in port["classes"]] == ["f", "g", "h[0]", "h[1]"]
    assert {each["queue"]["limit_packets"] for each in port["classes"]} == {3}
    assert looked_up(net, "A->B", "h[1]", dscp=12) == ("h[1]", 1)
    assert looked_up(net, "A->B", "f", ack=True) == ("f", 0)


def test_shares_have_the_keys_of_their_scheduler_and_priority_is_the_order() -> None:
    classes = "classes: {default: {}, a: {weight: 3}}"
    scheduler = port_of(network(f"{classes}, scheduler: drr"), "A->B")["scheduler"]
    drr = [{"quantum_bytes": 0, "weight": 1}, {"quantum_bytes": 0, "weight": 3}]
    assert scheduler == {"kind": "drr", "shares": drr}
    classes = "classes: {default: {}, a: {}, b: {priority: 7}}"
    scheduler = port_of(network(f"{classes}, scheduler: priority"), "A->B")["scheduler"]
    assert scheduler["shares"] == [{"priority": 0}, {"priority": 1}, {"priority": 7}]


@pytest.mark.parametrize("rule", ["trunk: t", "trunk: t, flow: f"])
def test_a_tunnel_hides_the_paths_inside_but_not_at_its_head(rule: str) -> None:
    text = (
        "trunkline: 1\nnodes: [S, A, B, C, D]\ndefaults: {link: {rate: 10 Mbit/s, port: p}}\n"
        "links: {S-A: {}, A-B: {}, B-C: {}, C-D: {}}\n"
        "paths: {inner: {route: [A, D], through: outer, php: false}, "
        "outer: {route: [A, B, C, D]}}\n"
        "trunks: {t: {path: inner, flows: f}}\n"
        "flows: {f: {agent: tcp, from: S, to: D}}\n"
        "ports: {p: {classes: {a: {}, default: {}}, scheduler: drr, "
        f"classify: [{{{rule}, class: a}}]}}}}\nrun: {{duration: 1 s}}\n"
    )
    net = compile(load(text))
    assert looked_up(net, "A->B", "f", tc=0, path="inner") == ("a", 0)
    assert looked_up(net, "B->C", "f", tc=0, path="outer") == ("default", 0)


def test_messages_of_protocols_have_a_class_and_a_meter_of_their_own_per_flow() -> None:
    made = compile(
        load(
            "trunkline: 1\nnodes: [A, B]\n"
            "links: {A-B: {rate: 10 Mbit/s, port: p, conditioner: c}}\n"
            "ports: {p: {per: flow, scheduler: drr}}\n"
            "conditioners: {c: {rules: [{profile: q}], profiles: {q: {per: flow, meter: "
            "{kind: token-bucket, rate: 1 Mbit/s, burst: 3 kB}, red: drop}}}}\n"
            "flows: {f: {agent: udp, from: A, to: B, rate: 1 Mbit/s}}\n"
            "routing: {ospf: {hello: 20 ms}, ldp: {}}\n"
            "signalling: {kind: rsvp-te}\n"
            "run: {duration: 200 ms}\n"
        )
    )
    names = ["f", "rsvp-te", "ospf", "ldp"]
    assert [flow["name"] for flow in made.flows] == names
    assert [value["name"] for value in made.ports[0]["classes"]] == names
    profiles = made.data["conditioners"][0]["profiles"]  # type: ignore[typeddict-item]
    assert [value["name"] for value in profiles] == [f"q/{name}" for name in names]
    (results,) = simulate(made, seeds=[1])
    sent = {row["flow"]: row["packets_sent"] for row in results.flows.rows()}
    classes = [row for row in results.ports.rows() if row["link"] == "A->B"]
    # OSPF's hellos, every 20 ms, and LDP's: none is in the class of the flow.
    assert sent["ospf"] >= 2 * 9
    assert {row["class"] for row in classes if row["packets_offered"]} >= {"f", "ospf", "ldp"}


def test_sch_cake_set_rate_a_tins_quantum_is_a_4096th_of_a_second_within_300_and_1514_bytes() -> (
    None
):
    """`max(min(rate >> 12, 1514), 300)` of the rate in bytes, at its ends and where it steps."""
    for kilobytes in (300, 301, 1000, 1513, 1514, 1515, 4000):
        for rate_bit_s in (8 * 4096 * kilobytes - 8, 8 * 4096 * kilobytes):
            queue = "queue: {flows: {kind: cake}}"
            net = network(
                f"scheduler: cake, bandwidth: {rate_bit_s} bit/s, classes: {{default: {{{queue}}}}}"
            )
            [tin] = port_of(net, "A->B")["classes"]
            kernel = max(min((rate_bit_s // 8) >> 12, 1514), 300)
            assert tin["queue"]["flows"]["quantum_bytes"] == kernel


RULE_ENDS = """\
trunkline: 1
nodes: [S, A, B, C]
defaults: {link: {rate: 10 Mbit/s}}
links: {S-A: {}, A-B: {port: p, conditioner: c}, B-C: {}}
flows:
  f: {agent: tcp, from: S, to: C}
  g: {agent: udp, from: S, to: B, rate: 1 Mbit/s}
  h: {agent: udp, from: C, to: S, rate: 1 Mbit/s, replicate: 2}
run: {duration: 1 s}
"""
ENDS = {"f": ("S", "C", "tcp"), "g": ("S", "B", "udp"), "h[0]": ("C", "S", "udp")}
ENDS["h[1]"] = ENDS["h[0]"]


def draw_rule(stream: random.Random, keys: list[str]) -> dict[str, Any]:
    """Conditions of a rule: some of the keys, each with one value or two."""
    options: dict[str, list[Any]] = {
        "flow": ["f", "g", "h", "h[0]", "h[1]"],
        "source": ["S", "B", "C"],
        "destination": ["S", "B", "C"],
        "protocol": ["tcp", "udp"],
        "dscp": [0, 10, 46],
        "tc": [0, 3, 5],
    }
    return {key: stream.sample(options[key], stream.choice((1, 1, 2))) for key in keys}


def holds(rule: dict[str, Any], flow: str, is_ack: bool, dscp: int | None, tc: int | None) -> bool:
    """Whether a packet meets every condition: a labelled one shows no DSCP, an IP packet no TC."""
    source, destination, protocol = ENDS[flow]
    if is_ack:
        source, destination = destination, source
    shown = {"source": {source}, "destination": {destination}, "protocol": {protocol}}
    shown |= {"flow": {flow, flow.partition("[")[0]}, "dscp": {dscp}, "tc": {tc}}
    return all(shown[key] & set(values) for key, values in rule.items())


@pytest.mark.parametrize("seed", range(24))
def test_the_first_of_random_rules_that_holds_decides_for_every_packet(seed: int) -> None:
    """Each kind of condition alone, and several together, by their definitions one by one."""
    stream = random.Random(seed)
    kinds = ["flow", "source", "destination", "protocol", "dscp", "tc"]
    sets = [[kinds[seed % 6]]] if seed < 12 else []
    sets += [stream.sample(kinds, stream.randint(1, 3)) for _ in range(0 if seed < 6 else 4)]
    # No packet shows both.
    sets = [[key for key in keys if key != "tc" or "dscp" not in keys] for keys in sets]
    rules = [draw_rule(stream, keys) for keys in sets]
    written = [{**rule, "class": stream.choice("ab"), "precedence": 1} for rule in rules]
    ports = {"p": {"classes": {"a": {}, "b": {}, "default": {}}, "scheduler": "drr"}}
    ports["p"]["classify"] = written  # type: ignore[assignment]
    profiles = {f"r{number}": {"green": {"dscp": number}} for number in range(len(rules))}
    metered = [{**rule, "profile": f"r{number}"} for number, rule in enumerate(rules)]
    conditioners = {"c": {"rules": metered, "profiles": profiles}}
    text = f"{RULE_ENDS}ports: {json.dumps(ports)}\nconditioners: {json.dumps(conditioners)}\n"
    net = compile(load(text))
    meter = net.data["conditioners"][0]  # type: ignore[typeddict-item]
    for number, flow in enumerate(ENDS):
        for is_ack, (dscp, tc) in itertools.product(
            (False, True), [(0, None), (10, None), (46, None), (None, 0), (None, 3), (None, 5)]
        ):
            place = next(
                (at for at, rule in enumerate(rules) if holds(rule, flow, is_ack, dscp, tc)), None
            )
            expected = ("default", 0) if place is None else (written[place]["class"], 1)
            assert looked_up(net, "A->B", flow, ack=is_ack, dscp=dscp, tc=tc) == expected
            if tc is None:
                rows = meter["classifier"]
                row = rows["flow_rows"][2 * number + is_ack] if rows["flow_rows"] else 0
                profile = rows["rows"][row][dscp or 0][0]
                name = None if profile == 0 else meter["profiles"][profile - 1]["name"]
                assert name == (None if place is None else f"r{place}")
