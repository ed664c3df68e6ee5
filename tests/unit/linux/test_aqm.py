"""What `tc` makes of RED's parameters, by hand and as the packet engine has it."""

from __future__ import annotations

import math

from trunkline.linux.plan.aqm import compute_plog, find_burst


def test_plog_of_the_paper_is_19() -> None:
    # 0.3 / 90000 * 2^18 = 0.87, * 2^19 = 1.75: the first above 1, so p = 90000 / 2^19 = 0.1717.
    assert compute_plog(0.3, 90_000) == 19
    assert math.isclose(90_000 / 2**19, 0.1717, abs_tol=5e-5)


def test_the_burst_gives_the_weight_that_was_asked_for() -> None:
    # Average of 10 packets, W = 2^-9: burst + 1 - 10 <= (1 - (1 - W)^burst) / W must hold at
    # W = 2^-9 and fail at 2^-8. At 72: 63 <= 67.2 (2^-9) and 63 > 62.9 (2^-8); at 71 2^-8 holds.
    found = find_burst(9, 10_000, 1000)
    assert found is not None

    def holds(burst: int, log: int) -> bool:
        weight = 2.0**-log
        return burst + 1 - 10 <= (1 - (1 - weight) ** burst) / weight

    assert holds(found, 9)
    assert not holds(found, 8)
    assert holds(found - 1, 8)
    assert found == 72


def test_no_burst_gives_a_weight_above_one_half() -> None:
    assert find_burst(0, 10_000, 1000) is None
