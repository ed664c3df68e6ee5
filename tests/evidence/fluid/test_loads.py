"""Loads of the fluid engine are those of the packets, on ten published networks of SNDlib."""

import pytest

import trunkline as tl
from trunkline.importers.network import ImportRules, read_network, read_topology

NETWORKS = [
    "abilene",
    "atlanta",
    "di-yuan",
    "germany50",
    "india35",
    "nobel-eu",
    "norway",
    "pdh",
    "polska",
    "sun",
]
PACKETS = 800_000
LEAST = 300


def imported(name, tmp_path):
    """The network with its matrix at a constant bit rate by IP routing: PACKETS in 20 s."""
    pytest.importorskip("topohub")
    total = sum(demand.value for demand in read_topology(f"topohub:sndlib/{name}").demands)
    # The unit of the demands, so that all together send PACKETS of 1000 B in 20 s.
    unit = round(PACKETS * 8000 / 20 / total)
    made = read_network(
        f"topohub:sndlib/{name}", ImportRules(10**10, unit), matrix_file="demands.csv"
    )
    text, _, rest = made.text.partition("\ntraffic:")
    demands = rest[rest.index("\ndemands:") : rest.index("\ntrunks:")]
    (tmp_path / "demands.csv").write_text(made.matrix or "", "utf-8")
    text += "\ntraffic: {data: {agent: udp, size: 1000 B}}" + demands
    text += "\nrun: {duration: 21 s, warm_up: 1 s}\n"
    (tmp_path / "n.yaml").write_text(text, "utf-8")
    return tl.load(tmp_path / "n.yaml")


@pytest.mark.parametrize("name", NETWORKS)
def test_loads_are_within_one_per_cent_of_the_packets(name, tmp_path):
    scenario = imported(name, tmp_path)
    sent = tl.run(scenario)
    flows = tl.run(scenario, engine="fluid")
    compared = 0
    for ours, theirs in zip(sent.ports.rows(), flows.ports.rows(), strict=True):
        assert ours["link"] == theirs["link"]
        if theirs["packets_offered"] < LEAST:
            assert ours["packets_sent"] < 2 * LEAST
            continue
        compared += 1
        # Each demand is whole packets: of a link with few of them one more or less counts.
        assert ours["packets_offered"] == pytest.approx(theirs["packets_offered"], rel=0.01)
    assert compared > 20
