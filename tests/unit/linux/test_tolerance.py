"""Tolerances worked by hand, and the comparison they are for."""

from __future__ import annotations

import pytest

from trunkline.linux.judge import tolerance
from trunkline.linux.judge.compare import Row


def test_a_hop_costs_a_bucket_and_timers_and_a_packet_its_rounding() -> None:
    # 3 us for the hosts, 4 links of 1.5 us, 1000 packets of 2 ns.
    assert tolerance.delay_ns(4, 1000) == 3000 + 6000 + 2000


def test_of_those_lost_as_many_may_be_others_as_come_too_close() -> None:
    # 687 lost, one packet each 3.1 ms, 31 us of doubt: 1 in 100 may fall on either side, and each
    # counts twice, since another is lost in its place.
    assert tolerance.unlike(687, 31_000, 3_100_000) == 14
    assert tolerance.unlike(0, 31_000, 3_100_000) == 0
    assert tolerance.unlike(10, 5000, 1000) == 20


def test_one_seed_says_nothing_of_the_spread() -> None:
    assert tolerance.spread([1.0], [2.0]) == 0.0
    # Differences 1 and 3: mean 2, deviation sqrt 2, and Student's t of 99 % and 1 degree of
    # freedom is 63.657: half of the interval is 63.657 * sqrt(2) / sqrt(2).
    assert tolerance.spread([1.0, 3.0], [0.0, 0.0]) == pytest.approx(63.657, rel=1e-4)


@pytest.mark.parametrize(("difference", "agrees"), [(-2.0, True), (2.0, True), (2.1, False)])
def test_what_is_within_the_tolerance_agrees(difference: float, agrees: bool) -> None:
    row = Row("flow", "measure", "s", 1.0, 1.0 + difference, difference, 2.0)
    assert row.agrees is agrees


def test_as_many_may_change_places_as_come_too_close_to_a_choice() -> None:
    # 10 us of doubt in 1 ms between packets: 1 in 100 of 400; never more than 1 in 20.
    assert tolerance.left_out(400, 10_000, 1_000_000, others=False) == 4
    assert tolerance.left_out(400, 900_000, 1_000_000, others=False) == 20
    assert tolerance.left_out(400, 10_000, 1_000_000, others=True) == 20
    assert tolerance.left_out(1, 10_000, 1_000_000, others=True) == 0


def test_an_emulated_machine_takes_time_for_each_flow_and_router() -> None:
    # 15 us a flow that is due before this one at the same instant, 15 us a link, over the 11 us
    # above.
    assert tolerance.delay_ns(4, 1000, 3) == 11_000 + 3 * 15_000 + 4 * 15_000
