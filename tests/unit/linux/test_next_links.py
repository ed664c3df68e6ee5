"""The same routes as the packet engine's (`crates/engine/src/route.rs`)."""

from __future__ import annotations

from trunkline.linux.plan.next_links import find_next_links


def link(source: int, target: int, metric: int) -> dict[str, int]:
    return {"from": source, "to": target, "metric": metric}


def test_the_path_of_least_total_metric_is_taken() -> None:
    # 0-1-3 costs 1 + 5, 0-2-3 costs 2 + 2: the second is shorter though its first hop is longer.
    links = [link(0, 1, 1), link(1, 3, 5), link(0, 2, 2), link(2, 3, 2)]
    assert find_next_links(4, links, 3) == [2, 1, 3, None]


def test_equal_cost_goes_to_the_smallest_next_node_and_then_link() -> None:
    links = [link(0, 2, 1), link(0, 1, 1), link(0, 1, 1), link(1, 3, 1), link(2, 3, 1)]
    assert find_next_links(4, links, 3)[0] == 1


def test_one_way_links_are_not_taken_backwards() -> None:
    assert find_next_links(3, [link(0, 1, 1), link(1, 2, 1)], 0) == [None, None, None]
