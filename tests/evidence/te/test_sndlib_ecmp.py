"""Equal-cost loads by hops against a separate program, and against topohub's own columns."""

import numpy as np
import pytest
import sndlib

from trunkline.te.spf import compute_ecmp_loads

# Network, capacity, largest utilisation, the arc that has it.
PUBLIC = [
    ("pdh", 1000, 0.384, ("N9", "N2")),
    ("di-yuan", 10, 0.564286, ("3", "10")),
    ("norway", 1000, 0.419792, ("N19", "N20")),
    ("india35", 1000, 0.336, ("28", "32")),
    ("nobel-eu", 200, 1.330625, ("Frankfurt", "Munich")),
    ("cost266", 50000, 1.282495, ("Hamburg", "Amsterdam")),
    ("germany50", 1000, 0.2185, ("Koeln", "Koblenz")),
]


@pytest.mark.parametrize(("name", "capacity", "most", "where"), PUBLIC)
def test_largest_load_of_an_sndlib_network_under_ecmp(name, capacity, most, where):
    graph, traffic = sndlib.load_network(name, capacity)
    loads, lost = compute_ecmp_loads(graph, graph.igp, traffic)
    worst = graph.arcs[int(loads.argmax())]
    assert loads.max() / capacity == pytest.approx(most, abs=5e-7)
    assert (worst.tail, worst.head) == where
    assert lost == 0


@pytest.mark.parametrize("name", ["norway", "nobel-eu", "india35"])
def test_topohub_s_own_column_of_ecmp_loads(name):
    # Topohub routes every demand both ways and gives per cent of the largest load, two decimals.
    graph, traffic = sndlib.load_network(name, 1)
    loads, _ = compute_ecmp_loads(graph, graph.igp, traffic + traffic.T)
    table = sndlib.load_ecmp_shares(name)
    per_cent = 100 * loads / loads.max()
    for tail, head, forward, backward in table:
        assert per_cent[graph.arcs_between[tail, head][0]] == pytest.approx(forward, abs=0.0051)
        assert per_cent[graph.arcs_between[head, tail][0]] == pytest.approx(backward, abs=0.0051)
    assert np.isclose(per_cent.max(), 100)
