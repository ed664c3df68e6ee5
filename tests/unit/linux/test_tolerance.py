"""Margins worked by hand."""

from __future__ import annotations

import pytest

from trunkline.linux.judge import tolerance
from trunkline.linux.judge.comparisons import make_fixed_row


def test_a_hop_costs_a_bucket_and_timers_and_a_packet_its_rounding() -> None:
    # 3 us for the hosts, 4 links of 1.5 us, 1000 packets of 2 ns.
    assert tolerance.compute_delay_tolerance(4, 1000) == 3000 + 6000 + 2000


def test_an_emulated_machine_takes_time_for_each_flow_and_router() -> None:
    # 15 us a flow that is due before this one at the same instant, 15 us a link, over the 11 us
    # above.
    assert tolerance.compute_delay_tolerance(4, 1000, 3) == 11_000 + 3 * 15_000 + 4 * 15_000


def test_of_those_lost_as_many_may_be_others_as_come_too_close() -> None:
    # One packet each 3.1 ms, 31 us of doubt: 1 in 100 may fall on either side; of 687 lost that is
    # 7, and each counts twice, since another is lost in its place.
    assert tolerance.compute_tie_share(31_000, 3_100_000) == 0.01
    assert tolerance.count_unlike_fates(687, 0.01) == 14
    assert tolerance.count_unlike_fates(0, 0.01) == 0


def test_how_many_are_lost_drifts_by_the_root_of_the_ties() -> None:
    # 400 ties, each tossed: three sigma are 60, and one more at the end of the run.
    assert tolerance.count_fate_difference(4000, 0.1) == 61
    assert tolerance.count_fate_difference(100_000, 1.0) == 950
    assert tolerance.count_fate_difference(0, 1.0) == 0


def test_as_many_may_change_places_as_come_too_close_to_a_choice() -> None:
    # 1 in 100 of 400; never more than 1 in 20.
    assert tolerance.count_late_packets(400, 0.01, is_disturbed=False) == 4
    assert tolerance.count_late_packets(400, 0.9, is_disturbed=False) == 20
    assert tolerance.count_late_packets(400, 0.01, is_disturbed=True) == 20
    assert tolerance.count_late_packets(1, 0.01, is_disturbed=True) == 0
    # 1 in 100 of 4000 one after the other, and eight of fewer.
    assert tolerance.count_late_run(4000, 200) == 40
    assert tolerance.count_late_run(400, 20) == 8
    assert tolerance.count_late_run(100, 5) == 5


@pytest.mark.parametrize(("difference", "outcome"), [(-2.0, "agrees"), (2.1, "differs")])
def test_what_is_certain_agrees_inside_the_margin(difference: float, outcome: str) -> None:
    assert make_fixed_row("flow", "measure", "s", 1.0, 2.0, difference, 2.0).outcome == outcome
