"""Names beside nodes: below if they can, else where they hide least of names and nodes."""

import itertools

from trunkline.plot.name_placement import Box, place_names

WIDTH, LETTER, RADIUS = 400.0, 7.0, 8.0


def boxes(names):
    nodes = [node for node, _ in names]
    found = place_names(names, nodes, RADIUS, width=WIDTH, letter=LETTER)
    return [place for place, _ in found], [box for _, box in found]


def apart(a: Box, b: Box) -> bool:
    return a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def test_a_name_with_room_stands_below_its_node():
    [(x, base)], [box] = boxes([((200.0, 100.0), "Koblenz")])
    assert x == 200
    assert box[1] >= 100 + RADIUS
    assert box[1] < base <= box[3]


def test_neighbours_give_way_to_each_other():
    # Side by side at 30 px, their names of 49 px would lie on each other below them.
    names = [((100.0 + 30 * n, 100.0), f"Essen {n}") for n in range(3)]
    _, found = boxes(names)
    assert all(apart(a, b) for a, b in itertools.combinations(found, 2))


def test_one_that_came_first_moves_for_one_that_has_no_other_place():
    # The second has room below alone: its other sides are taken by nodes.
    crowd = [(160.0, 118.0), (240.0, 118.0), (200.0, 96.0)]
    names = [((200.0, 140.0 + 22), "first"), ((200.0, 118.0), "second")]
    nodes = [node for node, _ in names] + crowd
    found = place_names(names, nodes, RADIUS, width=WIDTH, letter=LETTER)
    assert apart(found[0][1], found[1][1])


def test_no_name_leaves_the_drawing_where_another_side_has_room():
    names = [((9.0, 50.0), "Saarbruecken"), ((391.0, 90.0), "Frankfurt (Oder)")]
    _, found = boxes(names)
    assert all(left >= 0 and right <= WIDTH for left, _, right, _ in found)


def test_the_same_network_has_the_same_places():
    names = [((float(17 * n % 390), float(29 * n % 300)), f"node {n}") for n in range(60)]
    assert boxes(names) == boxes(names)
