"""The least capacity for several failures, by hand."""

import numpy as np
import pytest

from trunkline.te.arc_formulation import minimise_added_capacity
from trunkline.te.topology import Arc, add_reverse_arcs, build_topology

SQUARE = build_topology(
    "ABCD", add_reverse_arcs(Arc(*ends, 10, "-".join(ends)) for ends in ("AB", "BC", "AD", "DC"))
)


def traffic(rate):
    table = np.zeros((4, 4))
    table[0, 2] = rate
    return table


def case(link, rate=12):
    return traffic(rate), SQUARE.link == SQUARE.links.index(link)


def test_what_one_failure_needs_is_what_the_only_way_lacks():
    # Without A-B all 12 take A-D-C, which carries 10: 2 more on each of its two links.
    added = minimise_added_capacity(SQUARE, [case("A-B")])
    assert dict(zip(SQUARE.links, added.capacity.tolist(), strict=True)) == pytest.approx(
        {"A-B": 0, "B-C": 0, "A-D": 2, "D-C": 2}
    )
    assert {
        link for link, binds in zip(SQUARE.links, added.is_bottleneck, strict=True) if binds
    } == {
        "A-D",
        "D-C",
    }


def test_failures_share_what_is_added():
    # A-B and B-C need the same two links; with A-D the other two need 2 each as well.
    assert minimise_added_capacity(
        SQUARE, [case("A-B"), case("B-C")]
    ).capacity.sum() == pytest.approx(4)
    assert minimise_added_capacity(
        SQUARE, [case("A-B"), case("A-D")]
    ).capacity.sum() == pytest.approx(8)
    # 13 after the one and 12 after the other: 3 on each link of A-D-C, 2 on each of A-B-C.
    every = minimise_added_capacity(SQUARE, [case("A-B", 13), case("A-D", 12)])
    assert every.capacity.sum() == pytest.approx(10)


def test_what_fits_needs_nothing():
    assert minimise_added_capacity(SQUARE, [case("A-B", 10)]).capacity.sum() == pytest.approx(0)
