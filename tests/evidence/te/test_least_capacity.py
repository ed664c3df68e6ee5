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


@pytest.mark.parametrize("rates", [(13, 4), (4, 13), (0.5, 13), (13, 0.5)])
def test_each_case_counts_with_its_own_traffic_whichever_is_larger(rates):
    """On A-D-C and on A-B-C each what its own failure's traffic has above 10."""
    added = minimise_added_capacity(SQUARE, [case("A-B", rates[0]), case("A-D", rates[1])])
    lacks = [max(rate - 10, 0) for rate in rates]
    assert dict(zip(SQUARE.links, added.capacity.tolist(), strict=True)) == pytest.approx(
        {"A-B": lacks[1], "B-C": lacks[1], "A-D": lacks[0], "D-C": lacks[0]}, abs=1e-9
    )
    binding = [link for link, lack in zip(("A-D", "A-B"), lacks, strict=True) if lack]
    assert {
        link for link, binds in zip(SQUARE.links, added.is_bottleneck, strict=True) if binds
    } == {each for link in binding for each in (link, {"A-D": "D-C", "A-B": "B-C"}[link])}


def test_dear_links_are_spared_and_a_given_capacity_counts_in_place_of_the_links_own():
    # 5 above the 20 of both ways: on the way whose links cost 2 + 2, not on that of 3 + 3.
    all_up = (traffic(25), np.zeros(8, dtype=bool))
    added = minimise_added_capacity(SQUARE, [all_up], cost=np.array([3.0, 3.0, 2.0, 2.0]))
    assert added.capacity.tolist() == pytest.approx([0, 0, 5, 5])
    half = np.full(8, 5.0)
    added = minimise_added_capacity(SQUARE, [all_up], half, np.array([3.0, 3.0, 2.0, 2.0]))
    assert added.capacity.tolist() == pytest.approx([0, 0, 15, 15])
    # Both ways carry traffic, so that both cost what a unit of it costs: 2 + 2.
    ways = [list(SQUARE.find_path_through(*way)) for way in ("ABC", "ADC")]
    assert [added.prices[0, way].sum() for way in ways] == pytest.approx([4, 4])
    with pytest.raises(ValueError, match="no way at all"):
        minimise_added_capacity(SQUARE, [(traffic(1), np.ones(8, dtype=bool))])
