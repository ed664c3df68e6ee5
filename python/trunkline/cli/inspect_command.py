"""``trunkline inspect``: the compiled network, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from trunkline.cli.common import echo_json, load_scenario, scenario_options

if TYPE_CHECKING:
    from collections.abc import Callable

    Network = dict[str, Any]
    Rows = list[list[str]]

SECTIONS = ("run", "links", "ports", "flows", "routes", "labels", "probes")


@click.command("inspect", short_help="Show the compiled network: routes, labels.")
@scenario_options
@click.option(
    "--section",
    "sections",
    type=click.Choice(SECTIONS),
    multiple=True,
    help="Show only this; repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the network and its routes as JSON.")
def command(
    file: str, overrides: tuple[str, ...], strict: bool, sections: tuple[str, ...], as_json: bool
) -> None:
    """Show what FILE compiles to: every default, shortest-path routes, label tables."""
    import json

    from trunkline import _core
    from trunkline.network import compile

    written = compile(load_scenario(file, overrides, strict)).to_json()
    network = json.loads(written)
    wanted = sections or SECTIONS
    routes = _core.routes(written) if as_json or "routes" in wanted else []
    if as_json:
        echo_json({"schema": 1, "network": network, "routes": named_routes(network, routes)})
        return
    tables: dict[str, Callable[[], tuple[str, list[str], Rows]]] = {
        "run": lambda: run_table(network),
        "links": lambda: link_table(network),
        "ports": lambda: port_table(network),
        "flows": lambda: flow_table(network),
        "routes": lambda: route_table(network, routes),
        "labels": lambda: label_table(network),
        "probes": lambda: probe_table(network),
    }
    shown = [tables[section]() for section in SECTIONS if section in wanted]
    click.echo("\n\n".join(drawn(*table) for table in shown if table[2]))


def drawn(title: str, heads: list[str], rows: Rows) -> str:
    """A table as aligned text that greps well: no lines, two spaces between columns.

    Parameters
    ----------
    title : str
        Its first line.
    heads : list of str
        Heads of the columns.
    rows : list of list of str
        Cells.

    Returns
    -------
    str
    """
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in [heads, *rows]]
    return "\n".join([f"# {title}", *lines])


def rate(bit_s: int) -> str:
    """A rate in the largest unit that leaves a whole number.

    Parameters
    ----------
    bit_s : int
        The rate [bit/s].

    Returns
    -------
    str
    """
    return scaled(bit_s, ((10**9, "Gbit/s"), (10**6, "Mbit/s"), (10**3, "kbit/s")), "bit/s")


def span(ns: int) -> str:
    """A time in the largest unit that leaves a whole number.

    Parameters
    ----------
    ns : int
        The time [ns].

    Returns
    -------
    str
    """
    return scaled(ns, ((10**9, "s"), (10**6, "ms"), (10**3, "us")), "ns")


def scaled(value: int, units: tuple[tuple[int, str], ...], base: str) -> str:
    """An exact number with the largest unit that divides it.

    Parameters
    ----------
    value : int
        In the base unit.
    units : tuple of (int, str)
        Larger units, the largest first.
    base : str
        The base unit.

    Returns
    -------
    str
    """
    for size, unit in units:
        if value and value % size == 0:
            return f"{value // size} {unit}"
    return f"{value} {base}"


def settings(value: dict[str, Any], skip: tuple[str, ...] = ()) -> str:
    """Keys and values on a line, absent ones as none.

    Parameters
    ----------
    value : dict
        Settings.
    skip : tuple of str
        Keys to leave out.

    Returns
    -------
    str
    """
    words = []
    for key, item in value.items():
        if key in skip:
            continue
        if isinstance(item, dict):
            item = f"({settings(item)})"
        elif key.endswith("_ns") and isinstance(item, int):
            key, item = key.removesuffix("_ns"), span(item).replace(" ", "")
        elif key.endswith("_bit_s") and isinstance(item, int):
            key, item = key.removesuffix("_bit_s"), rate(item).replace(" ", "")
        elif isinstance(item, bool):
            item = "yes" if item else "no"
        elif item is None:
            item = "none"
        elif isinstance(item, list):
            item = f"{len(item)} items" if len(item) > 8 else str(item).replace(" ", "")
        words.append(f"{key}={item}")
    return " ".join(words)


def run_table(network: Network) -> tuple[str, list[str], Rows]:
    """Length, seed and the like."""
    run = network["run"]
    rows = [[key, settings({key: value}).partition("=")[2]] for key, value in run.items()]
    return f"Run of {network['name']}", ["key", "value"], rows


def link_table(network: Network) -> tuple[str, list[str], Rows]:
    """One-way links with every default."""
    heads = ["link", "rate", "delay", "header", "mtu", "metric", "loss", "port"]
    rows = [
        [
            link["name"],
            rate(link["rate_bit_s"]),
            span(link["delay_ns"]),
            f"{link['header_bytes']} B",
            f"{link['mtu_bytes']} B",
            str(link["metric"]),
            f"{link['loss']:g}",
            network["ports"][link["port"]]["name"],
        ]
        for link in network["links"]
    ]
    return "Links, one-way", heads, rows


def port_table(network: Network) -> tuple[str, list[str], Rows]:
    """Classes of each port configuration with queue, policy and share."""
    heads = ["port", "scheduler", "class", "limit", "in service", "aqm", "share"]
    rows = []
    for port in network["ports"]:
        scheduler = port["scheduler"]
        for place, each in enumerate(port["classes"]):
            queue = each["queue"]
            limits = [
                f"{queue[key]} {unit}"
                for key, unit in (("limit_packets", "packets"), ("limit_bytes", "B"))
                if queue[key] is not None
            ]
            aqm = settings(queue["aqm"], skip=("kind",))
            rows.append(
                [
                    "" if place else port["name"],
                    "" if place else scheduler if isinstance(scheduler, str) else str(scheduler),
                    each["name"],
                    " and ".join(limits) or "none",
                    "counts" if queue["counts_in_service"] else "does not",
                    f"{queue['aqm']['kind']} {aqm}".rstrip(),
                    settings(each["share"]),
                ]
            )
    return "Ports", heads, rows


def flow_table(network: Network) -> tuple[str, list[str], Rows]:
    """Flows with every default of their agents."""
    heads = ["flow", "agent", "from", "to", "dscp", "ttl", "start", "stop", "settings"]
    nodes = network["nodes"]
    rows = []
    for flow in network["flows"]:
        agent = flow["agent"]
        stop = flow["stop_ns"]
        rows.append(
            [
                flow["name"],
                agent["protocol"],
                nodes[flow["src"]]["name"],
                nodes[flow["dst"]]["name"],
                str(flow["dscp"]),
                str(flow["ttl"]),
                span(flow["start_ns"]),
                "end" if stop is None else span(stop),
                settings(agent, skip=("protocol",)),
            ]
        )
    return "Flows", heads, rows


def route_table(
    network: Network, routes: list[tuple[int, int, int]]
) -> tuple[str, list[str], Rows]:
    """Next hops towards every end of a flow."""
    rows = [
        [str(row["node"]), str(row["destination"]), row["link"] or "no route"]
        for row in named_routes(network, routes)
    ]
    title = "Routes, shortest paths by metric; among equals the next hop that is listed first"
    return title, ["at", "to", "link"], rows


def named_routes(
    network: Network, routes: list[tuple[int, int, int]]
) -> list[dict[str, str | None]]:
    """Routes with names instead of indices.

    Parameters
    ----------
    network : dict
        Compiled network.
    routes : list of (int, int, int)
        Node, destination, link; link -1 where there is no route.

    Returns
    -------
    list of dict
    """
    nodes, links = network["nodes"], network["links"]
    return [
        {
            "node": nodes[node]["name"],
            "destination": nodes[destination]["name"],
            "link": links[link]["name"] if link >= 0 else None,
        }
        for node, destination, link in routes
    ]


def label_table(network: Network) -> tuple[str, list[str], Rows]:
    """FTN and ILM with what their NHLFE does (RFC 3031 sections 3.10, 3.11)."""
    heads = ["at", "comes with", "operation", "goes to", "ttl", "path"]
    nodes = network["nodes"]
    rows = []
    for table, what, key in (("ftn", "class of flows", "fec"), ("ilm", "label", "label")):
        for entry in network[table]:
            does = network["nhlfe"][entry["nhlfe"]]
            link = does["link"]
            rows.append(
                [
                    nodes[entry["node"]]["name"],
                    f"{what} {entry[key]}",
                    operation(does["pop"], does["push"]),
                    "looks again here" if link is None else network["links"][link]["name"],
                    does["ttl"],
                    network["paths"][does["path"]]["name"],
                ]
            )
    return "Label tables", heads, rows


def operation(pop: bool, push: list[int]) -> str:
    """What an entry does to the label stack, in the words of RFC 3031 section 3.10.

    Parameters
    ----------
    pop : bool
        The top label is taken off first.
    push : list of int
        Labels put on, the one nearest the bottom first.

    Returns
    -------
    str
    """
    if pop and push:
        words = [f"swap {push[0]}", *(f"push {label}" for label in push[1:])]
    else:
        words = ["pop"] if pop else [f"push {label}" for label in push]
    return ", ".join(words) or "forward"


def probe_table(network: Network) -> tuple[str, list[str], Rows]:
    """What is recorded in steps of time."""
    flows = {"throughput", "goodput", "cwnd", "ssthresh", "srtt"}
    rows = []
    for probe in network["probes"]:
        kind = "flows" if probe["measure"] in flows else "links"
        target = network[kind][probe["target"]]
        of_class = "all"
        if kind == "links" and probe["class"] is not None:
            of_class = network["ports"][target["port"]]["classes"][probe["class"]]["name"]
        rows.append([probe["measure"], target["name"], of_class, span(probe["step_ns"])])
    return "Probes", ["measure", "of", "class", "every"], rows
