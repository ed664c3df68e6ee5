"""Accounts of label-switched paths: delay, loss and order of the packets that rode them."""

from typing import Any

import pytest

from trunkline.engine.packet_engine import simulate
from trunkline.network import compile
from trunkline.results import Results
from trunkline.scenario import Scenario

DELAYS = ("mean", "min", "max", "p50", "p90", "p95", "p99", "p999")


def run(paths: dict[str, Any], trunks: dict[str, Any], **more: Any) -> Results:
    """S to T over A, B and C; the link B-C is the bottleneck where flows ask for more."""
    flow = {"agent": "udp", "from": "S", "to": "T", "size": "500 B"}
    scenario = {
        "nodes": ["S", "A", "B", "C", "T"],
        "defaults": {"link": {"rate": "10 Mbit/s", "delay": "1 ms"}},
        "links": {"S-A": {}, "A-B": {}, "B-C": {}, "C-T": {}},
        "paths": paths,
        "trunks": trunks,
        "flows": {
            "one": flow | {"rate": "1 Mbit/s", "dscp": "EF"},
            "two": flow | {"rate": "1 Mbit/s", "dscp": "AF11", "arrivals": "poisson"},
        },
        "run": {"duration": "5 s"},
    }
    scenario.update(more)
    (result,) = simulate(compile(Scenario.model_validate(scenario)), seeds=[1])
    return result


def path(name: str = "p", **more: Any) -> dict[str, Any]:
    return {name: {"route": ["A", "B", "C"], "account": True} | more}


def row(results: Results, name: str = "p") -> dict[str, Any]:
    return dict(results.paths.where(path=name))


def test_a_lone_packet_waits_for_its_own_bits_alone() -> None:
    # Four links of 1 ms, 400 us for 500 B; the label's 4 B add 3.2 us on A-B, PHP takes it off.
    alone = {"one": {"agent": "udp", "from": "S", "to": "T", "size": "500 B", "rate": "1 Mbit/s"}}
    row_found = row(run(path(), {"t": {"path": "p", "flows": "one"}}, flows=alone))
    wanted = 4 * (1_000_000 + 400_000) + 3_200
    assert (row_found["delay_min_ns"], row_found["delay_mean_ns"]) == (
        wanted,
        pytest.approx(wanted),
    )


def test_one_flow_on_one_path_has_the_delays_of_the_path() -> None:
    slow = {
        "S-A": {},
        "A-B": {},
        "B-C": {"rate": "900 kbit/s", "forward": {"port": "short"}},
        "C-T": {},
    }
    results = run(
        path(),
        {"t": {"path": "p", "flows": "two"}},
        links=slow,
        ports={"short": {"queue": {"limit": "9 packets"}}},
        run={"duration": "20 s", "warm_up": "2 s"},
    )
    row_found, flow = row(results), dict(results.flows.where(flow="two"))
    assert flow["packets_dropped"] > 100
    for name in ("packets_delivered", "packets_dropped", "reordered"):
        assert row_found[name] == flow[name]
    for which in DELAYS:
        assert row_found[f"delay_{which}_s"] == flow[f"delay_{which}_s"]
    assert row_found["jitter_s"] == flow["jitter_s"]
    assert row_found["delay_range_s"] == flow["delay_range_s"]
    lost = row_found["packets_dropped"]
    assert row_found["loss_ratio"] == pytest.approx(lost / (lost + row_found["packets_delivered"]))


def test_two_flows_of_one_path_are_measured_together_but_not_against_each_other() -> None:
    results = run(path(), {"t": {"path": "p", "flows": "all"}})
    row_found, flows = row(results), list(results.flows.rows())
    assert row_found["packets_delivered"] == sum(int(f["packets_delivered"] or 0) for f in flows)
    assert row_found["delay_min_s"] == min(f["delay_min_s"] for f in flows)
    assert row_found["delay_max_s"] == max(f["delay_max_s"] for f in flows)
    total = sum(f["delay_mean_s"] * f["packets_delivered"] for f in flows)
    assert row_found["delay_mean_s"] == pytest.approx(total / row_found["packets_delivered"])
    assert row_found["reordered"] == 0


def test_a_flow_on_two_paths_by_dscp_is_parted_among_them() -> None:
    # A policer makes AF12 of what exceeds 0.5 of 1 Mbit/s: half the packets take each path.
    row_found = {"kind": "l-lsp", "scheduling_class": "AF1"}
    results = run(
        path("a", diffserv=row_found) | path("b", diffserv=row_found),
        {
            "a": {"path": "a", "flows": "two", "dscp": "AF11"},
            "b": {"path": "b", "flows": "two", "dscp": "AF12"},
        },
        links={"S-A": {"forward": {"ingress": "edge"}}, "A-B": {}, "B-C": {}, "C-T": {}},
        conditioners={
            "edge": {
                "rules": [{"flow": "two", "profile": "half"}],
                "profiles": {
                    "half": {
                        "meter": {"kind": "token-bucket", "rate": "500 kbit/s", "burst": "2 kB"},
                        "red": {"dscp": "AF12"},
                    }
                },
            }
        },
        run={"duration": "20 s"},
    )
    flow = dict(results.flows.where(flow="two"))
    parts = [row(results, name)["packets_delivered"] for name in ("a", "b")]
    assert sum(parts) == flow["packets_delivered"]
    assert parts[0] / sum(parts) == pytest.approx(0.5, abs=0.03)
    assert min(row(results, name)["delay_min_s"] for name in ("a", "b")) == flow["delay_min_s"]
    assert max(row(results, name)["delay_max_s"] for name in ("a", "b")) == flow["delay_max_s"]


def test_what_is_lost_before_the_path_is_no_loss_of_the_path() -> None:
    narrow = {"rate": "500 kbit/s", "forward": {"port": "none"}}
    results = run(
        path(),
        {"t": {"path": "p", "flows": "two"}},
        links={"S-A": narrow, "A-B": {}, "B-C": {}, "C-T": {}},
        ports={"none": {"queue": {"limit": "2 packets"}}},
    )
    assert dict(results.flows.where(flow="two"))["packets_dropped"] > 100
    assert row(results)["packets_dropped"] == 0


def test_the_copy_that_is_not_selected_is_no_loss() -> None:
    results = run(
        {
            "p": {"route": ["A", "B", "C"], "account": True, "php": False},
            "q": {"route": ["A", "D", "C"], "account": True, "php": False},
        },
        {"t": {"path": "p", "flows": "one"}},
        nodes=["S", "A", "B", "C", "D", "T"],
        links={"S-A": {}, "A-B": {}, "B-C": {}, "C-T": {}, "A-D": {}, "D-C": {}},
        protections={"both": {"path": "p", "kind": "one-plus-one", "backup": "q"}},
    )
    sent = dict(results.flows.where(flow="one"))["packets_delivered"]
    delivered = [row(results, name)["packets_delivered"] for name in ("p", "q")]
    assert sum(delivered) == sent
    assert [row(results, name)["packets_dropped"] for name in ("p", "q")] == [0, 0]


def test_a_path_that_does_not_ask_has_no_account() -> None:
    results = run({"p": {"route": ["A", "B", "C"]}}, {"t": {"path": "p", "flows": "all"}})
    row_found = row(results)
    assert row_found["packets"] > 0
    assert (row_found["packets_delivered"], row_found["delay_mean_s"], row_found["loss_ratio"]) == (
        None,
    ) * 3
