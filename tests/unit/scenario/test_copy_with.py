"""Flows of demands: copies of one of their class, faults told once a class."""

from __future__ import annotations

import pytest

from trunkline.scenario import ScenarioError, load
from trunkline.scenario.base import copy_with
from trunkline.scenario.flow import Udp

TABLE = """
trunkline: 1
nodes: [a, b, c]
links: {a-b: {rate: 1 Mbit/s, delay: 1 ms}, b-c: {rate: 1 Mbit/s, delay: 1 ms}}
demands:
  every: {gravity: {out: {a: 10 kbit/s, b: 10 kbit/s, c: 10 kbit/s}}, class: slow}
traffic: {slow: {agent: udp, start: 30 s}}
run: {duration: 20 s}
"""


def test_a_copy_is_what_pydantic_copies() -> None:
    model = Udp.model_validate({"from": "a", "to": "b", "rate": "1 Mbit/s", "jitter": 0.1})
    ours = copy_with(model, {"from_": "b", "to": "c", "rate": 5})
    theirs = model.model_copy(update={"from_": "b", "to": "c", "rate": 5})
    assert ours == theirs
    assert ours.model_fields_set == theirs.model_fields_set
    assert model.rate == 1_000_000
    with pytest.raises(ValueError, match="frozen"):
        ours.rate = 6  # type: ignore[misc]


def test_what_is_wrong_with_a_class_is_said_once() -> None:
    with pytest.raises(ScenarioError) as caught:
        load(TABLE)
    late = [each for each in caught.value.diagnostics if "after the end" in each.message]
    assert len(late) == 1
