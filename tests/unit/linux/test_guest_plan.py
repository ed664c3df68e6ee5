"""The plan as a document: canonical, whole, and without a name of the user's."""

from __future__ import annotations

import pytest

from trunkline.linux.plan.compiled_plan import compile_plan as plan_of
from trunkline.linux.plan.guest_plan import (
    ARRIVAL_RECORD,
    SCHEDULE_RECORD,
    TCP_INFO_RECORD,
    GuestPlan,
)
from trunkline.network import compile
from trunkline.scenario import load

SCENARIO = """\
trunkline: 1
nodes: [Rome, Zürich]
links: {road: {between: [Rome, Zürich], rate: 1 Mbit/s, delay: 1 ms}}
flows:
  touch: {agent: udp, from: Rome, to: Zürich, rate: 80 kbit/s, size: 100 B}
  bulk: {agent: tcp, from: Rome, to: Zürich}
run: {duration: 1 s}
"""


@pytest.fixture
def plan() -> GuestPlan:
    return plan_of(compile(load(SCENARIO)).to_json()).plan


def test_the_same_network_gives_the_same_bytes(plan: GuestPlan) -> None:
    again = plan_of(compile(load(SCENARIO)).to_json()).plan
    assert again.to_json() == plan.to_json()
    assert again.compute_digest() == plan.compute_digest()


def test_no_name_of_the_user_gets_into_the_plan(plan: GuestPlan) -> None:
    written = plan.to_json()
    for name in ("Rome", "rich", "touch", "bulk", "road"):
        assert name not in written


def test_records_have_no_gaps() -> None:
    assert (SCHEDULE_RECORD.size, ARRIVAL_RECORD.size, TCP_INFO_RECORD.size) == (12, 24, 72)


def test_the_schedule_is_that_of_the_simulator_less_28_bytes() -> None:
    made = plan_of(compile(load(SCENARIO)).to_json())
    records = list(SCHEDULE_RECORD.iter_unpack(made.schedules["udp-0.schedule"]))
    # 100 B at 80 kbit/s: every 10 ms, 72 B of payload below 20 B of IP and 8 B of UDP.
    assert records == [(k * 10_000_000, 72) for k in range(100)]
