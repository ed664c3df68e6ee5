"""Variants of a network as JSON, against the standard library's."""

from __future__ import annotations

import json

from trunkline.fluid.network_writer import NetworkWriter

NETWORK = {
    "format": 1,
    "name": None,
    "ilm": [{"label": 16}, {"label": 17}],
    "recovery": {"protections": [{"kind": "detour"}], "rerouting": None, "failures": []},
}


def test_variants_are_the_same_json_as_that_of_the_standard_library() -> None:
    writer = NetworkWriter(NETWORK)
    recovery = NETWORK["recovery"]
    assert isinstance(recovery, dict)
    for variant in (
        NETWORK,
        NETWORK | {"recovery": {**recovery, "failures": [{"links": [1]}]}},
        NETWORK | {"recovery": {"protections": []}, "flows": [{"name": "a \u2192 b"}]},
        NETWORK | {"recovery": None, "ilm": [{"label": 18}]},
        {"ilm": NETWORK["ilm"]},
    ):
        assert json.loads(writer.write(variant)) == variant
    without = {"name": "x", "links": [{}]}
    assert json.loads(NetworkWriter(without).write(without | {"probes": []})) == {
        **without,
        "probes": [],
    }
