"""Conditioners, shares of rates and presets, from text to what the engine counts."""

from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from trunkline.engine.packet_engine import simulate
from trunkline.network import compile as compiled
from trunkline.results import Results
from trunkline.scenario import Scenario
from trunkline.scenario.presets import list_presets

UDP = {"agent": "udp", "from": "A", "to": "D", "rate": "4 Mbit/s", "size": "500 B"}


def scenario(**keys: Any) -> Scenario:
    plain = {
        "nodes": ["A", "R", "D"],
        "links": {"A-R": {"rate": "100 Mbit/s"}, "R-D": {"rate": "10 Mbit/s"}},
        "run": {"duration": "5 s"},
    }
    return Scenario.model_validate(plain | keys)


def run(made: Scenario) -> Results:
    return simulate(compiled(made), seeds=[1])[0]


def conditioned(per: str, meter: Mapping[str, str]) -> Scenario:
    profile = {"per": per, "meter": meter, "green": {"dscp": "AF11"}, "red": "drop"}
    return scenario(
        links={
            "A-R": {"rate": "100 Mbit/s", "forward": {"ingress": "edge"}},
            "R-D": {"rate": "10 Mbit/s", "forward": {"account": True}},
        },
        conditioners={
            "edge": {"rules": [{"flow": "u", "profile": "p"}], "profiles": {"p": profile}}
        },
        flows={"u": UDP | {"replicate": 2}, "other": UDP},
    )


BUCKET = {"kind": "token-bucket", "rate": "1 Mbit/s", "burst": "500 B"}


class TestRfc2475:
    def test_s2_3_3_a_meter_per_flow_gives_each_flow_the_rate(self) -> None:
        """Each of two: 1 Mbit/s over 5 s is 1250 packets of 500 B, the last perhaps unfinished."""
        results = run(conditioned("flow", BUCKET))
        green = [row for row in results.colours.rows() if row["colour"] == "green"]
        assert [row["profile"] for row in green] == ["p/u[0]", "p/u[1]"]
        assert all(1249 <= row["packets"] <= 1251 for row in green)

    def test_s2_3_3_a_meter_of_the_aggregate_gives_both_together_the_rate(self) -> None:
        results = run(conditioned("aggregate", BUCKET))
        green = [row for row in results.colours.rows() if row["colour"] == "green"]
        assert [row["profile"] for row in green] == ["p"]
        assert 1249 <= green[0]["packets"] <= 1251

    def test_s2_3_3_a_meter_per_flow_stands_beside_one_of_the_aggregate(self) -> None:
        """EF each 1 Mbit/s, DF both together: the kind of one profile does not change the other."""
        made = conditioned("flow", BUCKET).model_dump(
            exclude_unset=True, by_alias=True, mode="json"
        )
        edge = made["conditioners"]["edge"]
        edge["profiles"]["all"] = edge["profiles"]["p"] | {"per": "aggregate"}
        edge["rules"] = [{"dscp": "EF", "profile": "p"}, {"dscp": "DF", "profile": "all"}]
        made["flows"] |= {
            "other": UDP | {"replicate": 2},
            "u": UDP | {"replicate": 2, "dscp": "EF"},
        }
        results = run(Scenario.model_validate(made))
        green = {
            row["profile"]: row["packets"]
            for row in results.colours.rows()
            if row["colour"] == "green" and row["packets"]
        }
        assert green.keys() == {"p/u[0]", "p/u[1]", "all"}
        assert all(1249 <= packets <= 1251 for packets in green.values())

    def test_s2_3_2_packets_that_no_rule_matches_pass_as_they_are(self) -> None:
        rows = run(conditioned("flow", BUCKET)).accounts.rows()
        marked = {row["flow"]: row["dscp"] for row in rows}
        assert marked == {"u[0]": "AF11", "u[1]": "AF11", "other": "DF"}

    def test_accounts_of_a_port_and_drops_of_a_conditioner_add_up(self) -> None:
        """4 Mbit/s over 5 s is 5000 packets a flow; what the meter drops the port never sees."""
        results = run(conditioned("flow", BUCKET))
        offered = {row["flow"]: row["packets_offered"] for row in results.accounts.rows()}
        policed = {
            row["flow"]: row["packets"] for row in results.drops.rows() if row["cause"] == "policed"
        }
        for flow in ("u[0]", "u[1]"):
            assert abs(offered[flow] + policed[flow] - 5000) <= 2


def test_a_profile_without_a_meter_colours_all_green() -> None:
    made = conditioned("aggregate", BUCKET).model_dump(
        exclude_unset=True, by_alias=True, mode="json"
    )
    del made["conditioners"]["edge"]["profiles"]["p"]["meter"]
    results = run(Scenario.model_validate(made))
    red = [row["packets"] for row in results.colours.rows() if row["colour"] != "green"]
    assert red == [0, 0]


def test_rates_in_per_cent_are_of_each_link() -> None:
    classes = {"a": {"rate": "30 %"}, "default": {"rate": "70 %"}}
    made = scenario(
        links={
            "A-R": {"rate": "100 Mbit/s", "port": "p"},
            "R-D": {"rate": "10 Mbit/s", "port": "p"},
        },
        ports={"p": {"scheduler": "htb", "classes": classes}},
    )
    data = compiled(made).data
    rates = [
        [each["rate_bit_s"] for each in data["ports"][link["port"]]["scheduler"]["shares"]]
        for link in data["links"]
    ]
    assert rates == [[30_000_000, 70_000_000]] * 2 + [[3_000_000, 7_000_000]] * 2


class TestPresets:
    @pytest.mark.parametrize("name", list_presets())
    def test_each_runs_and_reads_back(self, name: str) -> None:
        link = {"rate": "10 Mbit/s", "port": "core"}
        links = {"A-R": link, "R-D": link}
        made = scenario(links=links, ports={"core": {"preset": name}}, flows={"u": UDP})
        assert Scenario.model_validate(yaml.safe_load(made.dump())) == made
        assert [row["packets_dropped"] for row in run(made).flows.rows()] == [0]

    def test_keys_beside_a_preset_replace_its_own(self) -> None:
        port = {"preset": "ef", "classes": {"ef": {"queue": {"limit": "3 packets"}}}}
        made = scenario(ports={"core": port}).ports["core"]
        assert made.classes["ef"].queue.limit.packets == 3
        assert made.classes["ef"].priority == 0
        assert made.classes["default"].queue.limit.packets == 100

    def test_a_class_set_to_null_is_left_out_with_its_rules(self) -> None:
        port = {"preset": "diffserv", "classes": {"af2": None}}
        made = scenario(ports={"core": port}).ports["core"]
        total = scenario(ports={"core": {"preset": "diffserv"}}).ports["core"]
        assert set(total.classes) - set(made.classes) == {"af2"}
        others = [rule for rule in total.classify if rule.class_ != "af2"]
        assert len(others) < len(total.classify)
        assert list(made.classify) == others

    def test_rfc3246_s2_ef_leaves_first_and_rfc8622_s3_le_last(self) -> None:
        """EF 2 of 10 Mbit/s, within its 30 %; 8 of DF and 8 of LE compete for what is left."""
        flows = {
            "ef": UDP | {"dscp": "EF", "rate": "2 Mbit/s"},
            "df": UDP | {"rate": "8 Mbit/s", "arrivals": "poisson"},
            "le": UDP | {"dscp": "LE", "rate": "8 Mbit/s", "arrivals": "poisson"},
        }
        link = {"rate": "10 Mbit/s", "port": "core"}
        links = {"A-R": {"rate": "100 Mbit/s"}, "R-D": link}
        made = scenario(links=links, ports={"core": {"preset": "diffserv"}}, flows=flows)
        by_flow = {row["flow"]: row for row in run(made).flows.rows()}
        assert by_flow["ef"]["packets_dropped"] == 0
        # At 10 Mbit/s one packet of 500 B in service and its own; at 100 Mbit/s, in order of
        # arrival, its own and at most one each of the two others.
        assert by_flow["ef"]["delay_max_ns"] <= 2 * 400_000 + 3 * 40_000
        assert by_flow["df"]["throughput_bit_s"] > 7.4e6
        assert by_flow["le"]["throughput_bit_s"] < 0.6e6
