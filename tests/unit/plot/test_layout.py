import itertools
import math

import pytest

from trunkline.plot.layout import place_nodes


def test_given_places_are_kept_to_scale() -> None:
    places = place_nodes(["a", "b", "c"], [("a", "b")], {"a": (2, 5), "b": (6, 5), "c": (4, 7)})
    # 4 wide: 2 becomes 0, 6 becomes 1, and 2 upward is half of the width.
    assert places == {"a": (0.0, 0.0), "b": (1.0, 0.0), "c": (0.5, 0.5)}


def test_a_chain_is_a_line_from_its_first_node() -> None:
    names = ["n0", "n1", "n2", "n3", "n4"]
    places = place_nodes(names, itertools.pairwise(names))
    assert [places[name][0] for name in names] == pytest.approx([0, 0.25, 0.5, 0.75, 1], abs=0.02)
    assert max(y for _, y in places.values()) == pytest.approx(0, abs=0.02)


def test_the_same_network_gives_the_same_places() -> None:
    names = [f"n{i}" for i in range(30)]
    edges = [(names[i], names[(i * 7 + 3) % 30]) for i in range(30)]
    assert place_nodes(names, edges) == place_nodes(names, edges)


def test_some_given_places_hold_the_others_in_between() -> None:
    places = place_nodes(
        ["left", "middle", "right"],
        [("left", "middle"), ("middle", "right")],
        {"left": (0, 0), "right": (10, 0)},
    )
    assert places["left"] < places["middle"] < places["right"]


def test_parts_that_are_not_joined_stand_beside_each_other() -> None:
    places = place_nodes(["a", "b", "c", "d"], [("a", "b"), ("c", "d")])
    assert max(places["a"][0], places["b"][0]) < min(places["c"][0], places["d"][0])


def test_many_parts_stand_in_rows_and_apart() -> None:
    pairs = [(f"{name}-in", f"{name}-out") for name in "abcdefg"]
    places = place_nodes([node for pair in pairs for node in pair], pairs)
    assert len({y for _, y in places.values()}) > 1
    # No node of one part is nearer to one of another than a quarter of a link's length.
    long = math.dist(places["a-in"], places["a-out"])
    nodes = list(places)
    for number, here in enumerate(nodes):
        for there in nodes[number + 1 :]:
            assert math.dist(places[here], places[there]) > long / 4


def test_a_network_without_nodes_or_with_one() -> None:
    assert place_nodes([], []) == {}
    assert place_nodes(["only"], []) == {"only": (0.0, 0.0)}
