"""``./dev bench --links-alone``: links alone compared with all packets, on published networks."""

from __future__ import annotations

import json
import time
from importlib.resources import files
from typing import Any

import numpy as np

import trunkline as tl
from trunkline.fluid.engine import solve_without_failures
from trunkline.network import compile

NETWORKS = (
    "abilene",
    "polska",
    "nobel-us",
    "atlanta",
    "nobel-germany",
    "newyork",
    "geant",
    "france",
    "nobel-eu",
    "germany50",
)
BUSIEST_LINK_LOADS = (0.3, 0.6, 0.9)
CLASS_SHARES = {"EF": (0.1, 200), "AF41": (0.2, 1200), "AF31": (0.2, 800), "DF": (0.5, 1000)}
"""Share of a demand and size of packets [B] by DSCP."""
LINK_RATE = "1 Gbit/s"
CHECK_S = 6.0
LINK_PACKETS = 200_000
GRID_SIDE, GRID_DEMANDS, GRID_LOAD = 23, 120, 0.6
"""The grid of 1,012 links, which full packets can check for a part of its time only."""


def build_scenario(name: str, scale: float) -> tl.Scenario:
    """A published network with four classes; demands times a factor, in Mbit/s."""
    text = files("trunkline").joinpath("importers/network/published", f"{name}.json").read_text()
    data = json.loads(text)
    names = {node["id"]: f"n{node['id']}" for node in data["nodes"]}
    links = {
        f"{names[edge['source']]}-{names[edge['target']]}": {
            # Two thirds of the speed of light; no link is shorter than a kilometre.
            "delay": f"{max(1.0, edge['dist']) * 5:.3f} us"
        }
        for edge in data["edges"]
    }
    volumes = [
        (f"d{source}-{target}", names[int(source)], names[int(target)], volume)
        for source, targets in data["graph"]["demands"].items()
        for target, volume in targets.items()
    ]
    return _make_scenario(name, list(names.values()), links, volumes, scale)


def _make_scenario(
    name: str,
    nodes: list[str],
    links: dict[str, Any],
    volumes: list[tuple[str, str, str, float]],
    scale: float,
) -> tl.Scenario:
    traffic = {
        f"c{code}": {"agent": "udp", "arrivals": "poisson", "dscp": code, "size": f"{size} B"}
        for code, (_, size) in CLASS_SHARES.items()
    }
    demands = {
        f"{demand}-{code}": {
            "from": source,
            "to": target,
            "class": f"c{code}",
            "rate": f"{max(1.0, volume * share * scale * 1e6):.0f} bit/s",
        }
        for demand, source, target, volume in volumes
        for code, (share, _) in CLASS_SHARES.items()
    }
    document = {
        "trunkline": 1,
        "name": name,
        "nodes": nodes,
        "defaults": {"link": {"rate": LINK_RATE, "port": "per-class"}},
        "links": links,
        "ports": {"per-class": {"preset": "diffserv"}},
        "traffic": traffic,
        "demands": demands,
        "run": {"duration": "60 s", "warm_up": "1 s"},
    }
    return tl.loads(json.dumps(document))


def build_grid(side: int, demand_count: int, scale: float) -> tl.Scenario:
    """A square grid of nodes with demands of four classes between pairs drawn with a fixed seed.

    A grid of 23 nodes a side has 1,012 links.
    """
    random = np.random.Generator(np.random.Philox(key=1))
    nodes = [f"n{row}x{column}" for row in range(side) for column in range(side)]
    pairs = [
        (f"n{row}x{column}", f"n{row + down}x{column + 1 - down}")
        for row in range(side)
        for column in range(side)
        for down in (0, 1)
        if row + down < side and column + 1 - down < side
    ]
    links = {f"{a}-{b}": {"delay": f"{random.integers(50, 250)} us"} for a, b in pairs}
    drawn = (random.choice(nodes, 2, replace=False).tolist() for _ in range(demand_count))
    volumes = [
        (f"d{number}", source, target, random.uniform(20, 100))
        for number, (source, target) in enumerate(drawn)
    ]
    return _make_scenario(f"grid-{side}", nodes, links, volumes, scale)


def find_busiest_load(scenario: tl.Scenario) -> float:
    """Utilisation of the busiest link by the fluid engine."""
    state = solve_without_failures(json.loads(compile(scenario).to_json()))
    loads: dict[int, float] = {}
    for link, offered in zip(state.queues.link.tolist(), state.rates.offered, strict=True):
        loads[link] = loads.get(link, 0.0) + float(offered) / float(state.queues.rate[link])
    return max(loads.values())


def main() -> None:
    """Print a row for each network and load."""
    print(
        "| network | links | busiest link | runs | p99 of class: EF, AF41, AF31, DF | mean wait: EF"
    )
    for name in NETWORKS:
        unit = find_busiest_load(build_scenario(name, 1e-3)) / 1e-3
        for load in BUSIEST_LINK_LOADS:
            print_row(name, load, build_scenario(name, load / unit), LINK_PACKETS, CHECK_S)
    unit = find_busiest_load(build_grid(GRID_SIDE, GRID_DEMANDS, 1e-3)) / 1e-3
    grid = build_grid(GRID_SIDE, GRID_DEMANDS, GRID_LOAD / unit)
    print_row(grid.name or "", GRID_LOAD, grid, LINK_PACKETS // 4, 2 * CHECK_S)


def print_row(name: str, load: float, scenario: tl.Scenario, packets: int, check_s: float) -> None:
    """Decompose a network whose busiest link has a load, and print its errors."""
    started_s = time.process_time()
    run = tl.decompose(scenario, packets=packets, check_s=check_s, threads=1)
    spent_s = time.process_time() - started_s
    errors = [run.check.find_error(code) for code in CLASS_SHARES]
    cells = [
        name,
        str(run.links),
        f"{load:g}",
        str(run.link_runs),
        ", ".join(f"{100 * e.aggregate_p99_error:.1f}" if e else "-" for e in errors),
        ", ".join(f"{100 * e.queueing_error:+.1f}" if e else "-" for e in errors),
        ", ".join(f"{100 * e.loss:.3f} {100 * e.loss_error:+.3f}" if e else "-" for e in errors),
        f"{spent_s:.0f} s",
    ]
    print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
