"""``./dev bench --links-alone``: links alone compared with all packets, on published networks."""

from __future__ import annotations

import json
import time
from importlib.resources import files
from typing import Any

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
    traffic = {
        f"c{code}": {"agent": "udp", "arrivals": "poisson", "dscp": code, "size": f"{size} B"}
        for code, (_, size) in CLASS_SHARES.items()
    }
    demands: dict[str, Any] = {}
    for source, targets in data["graph"]["demands"].items():
        for target, volume in targets.items():
            for code, (share, _) in CLASS_SHARES.items():
                demands[f"d{source}-{target}-{code}"] = {
                    "from": names[int(source)],
                    "to": names[int(target)],
                    "class": f"c{code}",
                    "rate": f"{max(1.0, volume * share * scale * 1e6):.0f} bit/s",
                }
    document = {
        "trunkline": 1,
        "name": name,
        "nodes": list(names.values()),
        "defaults": {"link": {"rate": LINK_RATE, "port": "per-class"}},
        "links": links,
        "ports": {"per-class": {"preset": "diffserv"}},
        "traffic": traffic,
        "demands": demands,
        "run": {"duration": "60 s", "warm_up": "1 s"},
    }
    return tl.loads(json.dumps(document))


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
            scenario = build_scenario(name, load / unit)
            started_s = time.process_time()
            run = tl.decompose(scenario, packets=LINK_PACKETS, check_s=CHECK_S, threads=1)
            spent_s = time.process_time() - started_s
            errors = [run.check.find_error(code) for code in CLASS_SHARES]
            cells = [
                name,
                str(run.links),
                f"{load:g}",
                str(run.link_runs),
                ", ".join(f"{100 * e.aggregate_p99_error:.1f}" if e else "-" for e in errors),
                ", ".join(f"{100 * e.queueing_error:+.1f}" if e else "-" for e in errors),
                ", ".join(
                    f"{100 * e.loss:.3f} {100 * e.loss_error:+.3f}" if e else "-" for e in errors
                ),
                f"{spent_s:.0f} s",
            ]
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
