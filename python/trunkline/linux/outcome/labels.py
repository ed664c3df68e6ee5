"""Labels that ldpd put into use: what each router does with the packets of each node.

Labels are a router's own choice, so the simulator's and FRR's numbers differ by right. What counts
is the next hop and whether the label there is the one that this neighbour told, or none.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from trunkline.linux.outcome.control import addresses, since
from trunkline.linux.plan.addresses import node_name
from trunkline.linux.plan.compile import Compiled
from trunkline.linux.plan.rehearsal import Labelled

IMPLICIT_NULL: Final = 3
PLAIN: Final = "no label"
_TOLD: Final = re.compile(r"msg\[out\]: label mapping: .*fec (\S+)/32, label (\d+)")
_ROUTE: Final = re.compile(r"(\S+) .*?(?:encap mpls\s+(\S+) )?via \S+ dev (\S+) .*\bproto ospf\b")
_LABEL: Final = re.compile(r"(\d+) (?:as to (\S+) )?via inet \S+ dev (\S+)")
_CHANGE: Final = re.compile(r"\[(\S+)\] (?:Deleted )?(\S+) (.*)")

Key = tuple[int, int]
"""Node, and the node that packets go to."""


class Use(NamedTuple):
    """What a node does with the packets of a FEC.

    Attributes
    ----------
    link : int
        Out-link.
    unlabelled, labelled : str
        Of packets without a label and of those with the node's own: ``label`` of the neighbour,
        ``no label``, or what else there is.
    """

    link: int
    unlabelled: str
    labelled: str


def of_simulator(rows: Iterable[Labelled], end_ns: int) -> dict[Key, Use]:
    """Labels in use at the end of the simulator's run.

    Parameters
    ----------
    rows : iterable of Labelled
        As they came into use; the last of a node and FEC counts.
    """
    made: dict[Key, Use] = {}
    for row in rows:
        if row.time_ns >= end_ns:
            continue
        made.pop((row.node, row.fec), None)
        if row.link >= 0:
            how = PLAIN if row.out_label == IMPLICIT_NULL else "label"
            made[row.node, row.fec] = Use(row.link, how, how)
    return made


def of_kernel(compiled: Compiled, folder: Path) -> dict[Key, Use]:
    """Labels in use at the end in the kernel's tables."""
    nodes = range(len(compiled.network["nodes"]))
    fecs, out = addresses(compiled), compiled.wiring.out
    peer = [side.node for side in compiled.wiring.far]
    told: dict[Key, str] = {}
    for node in nodes:
        for found in _TOLD.finditer((folder / f"{node_name(node)}.ldpd.log").read_text()):
            if found[1] in fecs:
                told[node, fecs[found[1]]] = found[2]

    def how(label: str | None, link: int, fec: int) -> str:
        right = told.get((peer[link], fec))
        if label is None or label == right:
            return PLAIN if label is None else "label"
        return f"label {label}, not {right}"

    made: dict[Key, Use] = {}
    for node in nodes:
        own = {label: fec for (at, fec), label in told.items() if at == node}
        switched: dict[int, tuple[int, str]] = {}
        for line in (folder / f"{node_name(node)}.labels").read_text().splitlines():
            if (entry := _LABEL.match(line)) is not None and entry[1] in own:
                fec, link = own[entry[1]], out[node, entry[3]]
                switched[fec] = link, how(entry[2], link, fec)
        for line in (folder / f"{node_name(node)}.routes").read_text().splitlines():
            if (route := _ROUTE.match(line)) is not None and route[1] in fecs:
                fec, link = fecs[route[1]], out[node, route[3]]
                at, labelled = switched.get(fec, (link, "no entry"))
                if at != link:
                    labelled = "another link"
                made[node, fec] = Use(link, how(route[2], link, fec), labelled)
    return made


class Change(NamedTuple):
    """Something that a node does otherwise from a time on.

    Attributes
    ----------
    time_ns : int
        When.
    fec : int
        The node that packets go to.
    how : tuple
        Next hop and label, as this side writes them.
    """

    time_ns: int
    fec: int
    how: tuple[object, object]


def changes(compiled: Compiled, folder: Path, node: int) -> list[Change]:
    """Labels and next hops that a node of the kernel took into use, in order of time."""
    fecs = addresses(compiled)
    zero, *lines = (folder / f"{node_name(node)}.changes").read_text().splitlines()
    made = []
    for line in lines:
        if (told := _CHANGE.match(line)) is None or told[2] not in fecs:
            continue
        if (route := _ROUTE.match(f"{told[2]} {told[3]}")) is not None:
            how = (route[3], route[2])
            made.append(Change(since(told[1], int(zero)), fecs[told[2]], how))
    return made
