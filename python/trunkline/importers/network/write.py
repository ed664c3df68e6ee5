"""A topology as a scenario: readable text, and the matrix as a table beside it when large."""

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from trunkline.importers.common.fault import Note
from trunkline.importers.network.topology import Link, Topology
from trunkline.scenario.diagnostic import printable
from trunkline.scenario.text import one_line
from trunkline.scenario.units import format_rate, format_ratio, format_time

FEW = 20
"""Demands that are written into the scenario itself."""
MOST_OFFERED = 5 * 10**9
"""Offered load above which the scenario is scaled down, so that a run takes seconds [bit/s]."""
TEMPLATE = {"agent": "udp", "arrivals": "poisson", "size": "1000 B"}


@dataclass(frozen=True)
class Written:
    """What an import gives.

    Parameters
    ----------
    matrix : str
        The table of demands that the scenario names, as CSV; empty: none.
    notes : tuple of Note
        What was left out, renamed or filled by a rule.
    """

    text: str
    matrix: str
    notes: tuple[Note, ...]
    nodes: int
    links: int
    demands: int


def write(
    found: Topology,
    by_key: dict[str, str],
    source: str,
    matrix_file: str = "",
    *,
    overloaded: bool = False,
) -> Written:
    """Write a topology whose gaps are filled.

    Parameters
    ----------
    by_key : dict of str to str
        Names of nodes, from `rules.names`.
    matrix_file : str
        Name of the file for the demands where they are many; empty: they all stand in the text.
    overloaded : bool
        Whether there are demands that no path has room for.
    """
    apart = bool(matrix_file) and len(found.demands) > FEW
    lines = [f"# {printable(found.title)}, imported from {printable(source)}."]
    lines += [f"# {printable(note.text)}: {printable(note.why)}." for note in found.notes]
    lines += ["trunkline: 1", ""]
    if found.demands:
        lines += _scale(found)
    lines += ["nodes:", *_nodes(found, by_key), ""]
    usual = Counter(link.capacity for link in found.links).most_common(1)
    rate = usual[0][0] if usual else None
    if rate is not None:
        lines += ["defaults:", f"  link: {{rate: {format_rate(rate)}}}", ""]
    lines += ["links:", *_links(found, by_key, rate), ""]
    matrix = ""
    if found.demands:
        lines += ["# A class turns a demand into packets; a trunk with `path: auto` gives each of",
                  "# its demands a label-switched path of its own.",
                  f"traffic: {{data: {one_line(TEMPLATE)}}}", "demands:"]  # fmt: skip
        if apart:
            lines.append(f"  matrix: {one_line({'file': matrix_file, 'class': 'data'})}")
            matrix = _matrix(found, by_key)
        else:
            lines += _inline(found, by_key)
        lines += ["trunks:", "  mesh: {demands: all, path: auto}", ""]
        if overloaded:
            lines += ["# Some demands find no path with room for them: they follow IP routing.",
                      "te: {unplaced: igp}", ""]  # fmt: skip
    lines += ["run: {duration: 1 s, warm_up: 100 ms}", ""]
    sizes = (len(found.nodes), len(found.links), len(found.demands))
    return Written("\n".join(lines), matrix, tuple(found.notes), *sizes)


def _scale(found: Topology) -> list[str]:
    offered = sum(each.value for each in found.demands)
    if offered <= MOST_OFFERED:
        return []
    scale = 10.0 ** -math.ceil(math.log10(offered / MOST_OFFERED))
    return [
        f"# {format_rate(round(offered))} are offered: rates and demands are scaled so that a run "
        "takes seconds.",
        "# Queueing times grow by the inverse of the scale; propagation does not.",
        f"scale: {format_ratio(scale)}",
        "",
    ]


def _nodes(found: Topology, by_key: dict[str, str]) -> list[str]:
    """Nodes with their places in a picture.

    Degrees of longitude are drawn as long as they are at the middle latitude.
    """
    places = [node.place for node in found.nodes.values() if node.place is not None]
    shrink = 1.0
    if found.geographic and places:
        low, high = min(y for _, y in places), max(y for _, y in places)
        shrink = max(0.2, math.cos(math.radians((low + high) / 2)))
    lines = []
    for key, node in found.nodes.items():
        about: dict[str, Any] = {}
        if node.place is not None:
            about["position"] = [round(node.place[0] * shrink, 3), round(node.place[1], 3)]
        lines.append(f"  {one_line(by_key[key])}: {one_line(about)}")
    return lines


def _links(found: Topology, by_key: dict[str, str], usual: int | None) -> list[str]:
    known = set(by_key.values())
    first: dict[frozenset[str], str] = {}
    taken: set[str] = set()
    lines = []
    for link in found.links:
        ends = by_key[link.source], by_key[link.target]
        name = _free(first.setdefault(frozenset(ends), "-".join(ends)), taken)
        about: dict[str, Any] = {}
        if name != "-".join(ends) or _readings(name, known) != 1:
            about["between"] = list(ends)
        lines.append(f"  {one_line(name)}: {one_line(about | _options(link, usual))}")
    return lines


def _free(plain: str, taken: set[str]) -> str:
    """A name that is not taken yet, which it is then."""
    name, number = plain, 1
    while name in taken:
        number += 1
        name = f"{plain}.{number}"
    taken.add(name)
    return name


def _readings(name: str, known: set[str]) -> int:
    cuts = (at for at, each in enumerate(name) if each == "-")
    return sum(name[:at] in known and name[at + 1 :] in known for at in cuts)


def _options(link: Link, usual: int | None) -> dict[str, Any]:
    about: dict[str, Any] = {}
    if link.capacity is not None and link.capacity != usual:
        about["rate"] = format_rate(link.capacity)
    if link.delay:
        about["delay"] = format_time(link.delay)
    if link.metric not in (None, 1):
        about["metric"] = link.metric
    back: dict[str, Any] = {}
    if link.back not in (None, link.capacity):
        back["rate"] = format_rate(link.back or 0)
    if link.metric_back not in (None, link.metric):
        back["metric"] = link.metric_back
    return about | ({"backward": back} if back else {})


def _inline(found: Topology, by_key: dict[str, str]) -> list[str]:
    lines = []
    taken: set[str] = set()
    for each in found.demands:
        ends = by_key[each.source], by_key[each.target]
        rate = format_rate(round(each.value))
        about = {"from": ends[0], "to": ends[1], "rate": rate, "class": "data"}
        lines.append(f"  {one_line(_free('-'.join(ends), taken))}: {one_line(about)}")
    return lines


def _matrix(found: Topology, by_key: dict[str, str]) -> str:
    rows = ["from,to,rate"]
    for each in found.demands:
        ends = by_key[each.source], by_key[each.target]
        rows.append(f"{ends[0]},{ends[1]},{format_rate(round(each.value))}")
    return "\n".join(rows) + "\n"
