"""DiffServ of paths as it is compiled: maps, rows of classifiers, FTN by DSCP."""

from typing import Any

import pytest

from trunkline.network import compile
from trunkline.scenario import Scenario

EF, AF11, AF12, AF13 = 46, 10, 12, 14

PORT = {
    "scheduler": "priority",
    "classes": {"EF": {}, "AF1": {}, "default": {}},
    "classify": [
        {"dscp": "EF", "class": "EF"},
        {"dscp": "AF11", "class": "AF1"},
        {"dscp": "AF12", "class": "AF1", "precedence": 1},
        {"dscp": "AF13", "class": "AF1", "precedence": 2},
    ],
}


def network(
    paths: dict[str, Any],
    trunks: dict[str, Any] | None = None,
    diffserv: dict[str, Any] | None = None,
) -> Any:
    nodes = ["A", "B", "C", "D"]
    flow = {"agent": "udp", "from": "A", "to": "D", "rate": "1 Mbit/s", "dscp": "AF11"}
    return compile(
        Scenario.model_validate(
            {
                "nodes": nodes,
                "defaults": {"link": {"rate": "10 Mbit/s", "port": "phb"}}
                | ({"diffserv": diffserv} if diffserv else {}),
                "links": {"A-B": {}, "B-C": {}, "C-D": {}},
                "ports": {"phb": PORT},
                "paths": paths,
                "trunks": trunks or {"t": {"path": next(iter(paths)), "flows": "f"}},
                "flows": {"f": flow},
                "run": {"duration": "1 s"},
            }
        )
    )


def l_lsp(**more: Any) -> dict[str, Any]:
    value = {"kind": "l-lsp", "scheduling_class": "AF1"} | more
    return {"route": ["A", "B", "C", "D"], "php": False, "diffserv": value}


def e_lsp(tcs: dict[str, int], **more: Any) -> dict[str, Any]:
    return {"route": ["A", "B", "C", "D"], "php": False, "diffserv": {"map": tcs} | more}


def test_rfc3270_s4_4_1_an_l_lsp_of_af1_writes_1_2_3_for_af11_af12_af13() -> None:
    (maps,) = network({"p": l_lsp()}).data["diffserv"]
    assert [maps["tc_of_dscp"][dscp] for dscp in (AF11, AF12, AF13)] == [1, 2, 3]
    assert maps["dscp_of_tc"] == [None, AF11, AF12, AF13, None, None, None, None]


def test_rfc3270_s1_2_the_class_follows_the_label_and_the_precedence_the_tc() -> None:
    # The port asks for DSCPs alone; what a TC stands for depends on the path.
    paths = {"l": l_lsp(), "e": e_lsp({"DF": 0, "EF": 1, "AF11": 5})}
    trunks = {"l": {"path": "l", "flows": "f", "dscp": "AF11"}, "e": {"path": "e", "flows": "f"}}
    built = network(paths, trunks)
    rows = built.data["ports"][0]["classifier"]["rows"]
    of_path = {each["path"]: rows[each["row"]] for each in built.nhlfe if not each["pop"]}
    assert [of_path[0][64 + tc] for tc in (1, 2, 3)] == [[1, 0], [1, 1], [1, 2]]
    assert [of_path[1][64 + tc] for tc in (0, 1, 5)] == [[2, 0], [0, 0], [1, 0]]


def test_rfc3270_s2_2_a_flow_takes_the_path_of_its_dscp_and_all_others_the_rest() -> None:
    paths = {"l": l_lsp(), "e": e_lsp({"DF": 0, "EF": 5})}
    trunks = {
        "l": {"path": "l", "flows": "f", "dscp": ["AF11", "AF12"]},
        "e": {"path": "e", "flows": "f"},
    }
    built = network(paths, trunks)
    first, rest = built.ftn
    assert first["dscps"] == [AF11, AF12]
    assert sorted(first["dscps"] + rest["dscps"]) == list(range(64))
    assert first["fec"] == rest["fec"] == built.flows[0]["fec"] == 3  # after those of both paths


def test_a_path_without_diffserv_leaves_the_network_as_it_was() -> None:
    built = network({"p": {"route": ["A", "B", "C", "D"]}})
    assert "diffserv" not in built.data
    assert not any({"push_diffserv", "pop_diffserv", "zero_tc"} & set(e) for e in built.nhlfe)


def test_linux_writes_0_at_push_and_swap() -> None:
    built = network({"p": e_lsp({"DF": 0, "AF11": 1}, linux_tc_zero=True)})
    (maps,) = built.data["diffserv"]
    assert (maps["tc_of_dscp"], maps["tc_of_tc"]) == ([0] * 64, [0] * 8)
    swaps = [each for each in built.nhlfe if each["pop"] and each["push"]]
    assert len(swaps) == 2
    assert all(each["zero_tc"] for each in swaps)


def test_rfc3270_s2_6_3_php_with_uniform_gives_the_penultimate_hop_the_map() -> None:
    path = e_lsp({"DF": 0, "AF11": 1}, model="uniform") | {"php": True}
    built = network({"p": path})
    pops = [each for each in built.nhlfe if each["pop"] and not each["push"]]
    assert [(each["link"], each["pop_diffserv"]) for each in pops] == [(4, 0)]


def test_a_tunnel_maps_by_the_phb_of_the_label_below() -> None:
    # AF11 is TC 1 inside the inner path, TC 6 on the outer one.
    outer = {
        "route": ["B", "C", "D"],
        "php": False,
        "diffserv": {"map": {"DF": 0, "AF11": 6}, "model": "uniform"},
    }
    inner = {
        "route": ["A", "B", "D"],
        "php": False,
        "through": ["outer"],
        "diffserv": {"map": {"DF": 0, "AF11": 1}},
    }
    built = network({"inner": inner, "outer": outer})
    at_b = next(each for each in built.nhlfe if len(each["push"]) == 2)
    assert at_b["push_diffserv"][0] is None  # a swap keeps the TC
    pushed = built.data["diffserv"][at_b["push_diffserv"][1]]
    assert pushed["tc_of_tc"][1] == 6
    pops = [each["pop_diffserv"] for each in built.nhlfe if each["path"] == 1 and not each["push"]]
    assert [built.data["diffserv"][each]["tc_below"][6] for each in pops] == [1]


def test_a_tunnel_without_a_map_copies_the_tc_of_the_label_below() -> None:
    """AF11 is TC 5 below. Its first three bits, 1, are the TC on packets without a label."""
    outer = {"route": ["B", "C", "D"], "php": False, "diffserv": {}}
    inner = e_lsp({"DF": 0, "AF11": 5}, model="uniform")
    inner |= {"route": ["A", "B", "D"], "through": ["outer"]}
    built = network({"inner": inner, "outer": outer})
    at_b = next(each for each in built.nhlfe if len(each["push"]) == 2)
    maps = built.data["diffserv"][at_b["push_diffserv"][1]]
    assert maps["tc_of_tc"] == [*range(8)]
    assert maps["tc_of_dscp"][AF11] == 1


def test_rfc3270_s3_2_1_e_lsps_without_a_signalled_map_take_the_preconfigured_one() -> None:
    def maps(paths: dict[str, Any], **defaults: Any) -> list[Any]:
        built = network(paths, None, diffserv=defaults or None)
        return [built.data["diffserv"][e["push_diffserv"][0]] for e in built.nhlfe if not e["pop"]]

    plain = {"route": ["A", "B", "C", "D"], "php": False}
    here = {"DF": 0, "AF11": 3}
    # A path that says nothing, one that leaves out its map, one with a map of its own, an L-LSP.
    assert maps({"p": plain}, map=here)[0]["tc_of_dscp"][AF11] == 3
    silent = plain | {"diffserv": {"model": "uniform"}}
    (taken,) = maps({"p": silent}, map=here, model="pipe")
    assert (taken["tc_of_dscp"][AF11], taken["tunnel"]) == (3, "uniform")
    assert maps({"p": e_lsp({"DF": 0, "AF11": 1})}, map=here)[0]["tc_of_dscp"][AF11] == 1
    (label,) = maps({"p": l_lsp()}, map=here, model="pipe")
    assert [label["tc_of_dscp"][dscp] for dscp in (AF11, AF12, AF13)] == [1, 2, 3]
    assert label["tunnel"] == "pipe"
    # Signalled alike or pre-configured: the same network.
    signalled = network({"p": e_lsp(here)})
    assert network({"p": plain}, diffserv={"map": here}).to_json() == signalled.to_json()


@pytest.mark.parametrize("php", [False, True])
def test_a_tunnel_in_a_tunnel_maps_each_label_by_the_one_below(php: bool) -> None:
    """AF11 is TC 1 in the innermost, 3 in the tunnel, 6 in the tunnel's tunnel.

    Where the innermost label comes off at the head of the tunnel, the packet below shows its DSCP.
    """

    def tunnel(route: str, tc: int, through: list[str]) -> dict[str, Any]:
        diffserv = {"map": {"DF": 0, "AF11": tc}, "model": "uniform"}
        return {"route": list(route), "php": False, "through": through, "diffserv": diffserv}

    paths = {"p": tunnel("ABD", 1, ["q"]), "q": tunnel("BCD", 3, ["r"]), "r": tunnel("BC", 6, [])}
    paths["p"]["php"] = php
    built = network(paths)
    [deepest] = (each for each in built.nhlfe if len(each["push"]) == (2 if php else 3))
    assert deepest["pop"]
    maps = [
        None if each is None else built.data["diffserv"][each] for each in deepest["push_diffserv"]
    ]
    if php:
        assert maps[0]["tc_of_dscp"][AF11] == 3
    else:
        assert maps.pop(0) is None
        assert maps[0]["tc_of_tc"][1] == 3
    assert len(maps) == 2
    assert maps[1]["tc_of_tc"][3] == 6
