"""What routing daemons did: the routes of each router as they changed, and what the logs say.

The kernel reports no route that goes with its device, so those are taken off when the plan puts
the device down.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from trunkline import _core
from trunkline.linux.outcome.raw import Table, raw
from trunkline.linux.plan.addresses import node_name
from trunkline.linux.plan.compile import Compiled
from trunkline.linux.plan.frr import router_id
from trunkline.results.decode.columns import Rows

NONE: Final = -1
_CHANGE: Final = re.compile(r"\[(\S+)\] (Deleted )?(\S+) .*?\bdev (\S+) .*\bproto ospf\b")
_SHOWN: Final = re.compile(r"(\S+) .*?\bdev (\S+) .*\bproto ospf\b")
_LOGGED: Final = re.compile(r"(\d{4}/\d\d/\d\d \S+) OSPF: (?:\[\S+\] )?(.*)")
_INSTALLED: Final = re.compile(r"LSA\[Type1,id\(\S+\),ar\((\S+)\)\]: Install router-LSA")
_COMPUTED: Final = "ospf_spf_calculate: Start"
_GIVEN: Final = ("failed", "repaired", "detected", "repair-detected")
"""What happens to links, and who notices when, is the simulator's."""


@dataclass(frozen=True, slots=True, order=True)
class Step:
    """A route that came into use.

    Parameters
    ----------
    time_ns : int
        When, since time zero.
    node, destination : int
        Where, and where packets go.
    link : int
        Out-link; -1: none.
    """

    time_ns: int
    node: int
    destination: int
    link: int


@dataclass(frozen=True)
class Routes:
    """The routes of a run.

    Parameters
    ----------
    first, last : dict of (int, int) to int
        Out-link by node and destination, at time zero and at the end.
    steps : list of Step
        Changes between, in order of time.
    """

    first: dict[tuple[int, int], int]
    last: dict[tuple[int, int], int]
    steps: list[Step]


def routes(compiled: Compiled, folder: Path) -> Routes:
    """The routes to nodes in all routers."""
    targets, out = addresses(compiled), compiled.wiring.out
    first: dict[tuple[int, int], int] = {}
    last: dict[tuple[int, int], int] = {}
    steps: list[Step] = []
    for node in range(len(compiled.network["nodes"])):
        now: dict[int, int] = {}
        told = [
            *_changes(folder, node, targets, out),
            *((at, None, link) for at, link in _downs(compiled, node, out)),
        ]
        for at, target, link in sorted(told, key=lambda each: each[0]):
            if at > 0 and not any(key[0] == node for key in first):
                first |= {(node, each): via for each, via in now.items()}
            gone = [each for each, via in now.items() if target is None and via == link]
            for each in gone if target is None else [target]:
                via = NONE if target is None else link
                if now.get(each, NONE) != via:
                    now[each] = via
                    if at > 0:
                        steps.append(Step(at, node, each, via))
        if not any(key[0] == node for key in first):
            first |= {(node, each): via for each, via in now.items()}
        for line in (folder / f"{node_name(node)}.routes").read_text().splitlines():
            shown = _SHOWN.match(line)
            if shown and shown[1] in targets:
                last[node, targets[shown[1]]] = out[node, shown[2]]
    return Routes(first, last, sorted(steps))


def addresses(compiled: Compiled) -> dict[str, int]:
    """The node that each address of an end is of."""
    ends = compiled.traffic.ends
    return {ends.text(number): node for number, (node, _, _) in enumerate(ends.keys)}


def _changes(
    folder: Path, node: int, targets: Mapping[str, int], out: Mapping[tuple[int, str], int]
) -> Iterator[tuple[int, int | None, int]]:
    """Time, destination and out-link of what ``ip monitor`` told."""
    zero, *lines = (folder / f"{node_name(node)}.changes").read_text().splitlines()
    for line in lines:
        found = _CHANGE.match(line)
        if found and found[3] in targets:
            link = NONE if found[2] else out[node, found[4]]
            yield since(found[1], int(zero)), targets[found[3]], link


def _downs(
    compiled: Compiled, node: int, out: Mapping[tuple[int, str], int]
) -> Iterator[tuple[int, int]]:
    """When devices of a node go down."""
    for change in compiled.plan.changes:
        words = change.line.split()
        if change.node == node_name(node) and words[:2] == ["link", "set"] and words[-1] == "down":
            yield change.at_ns, out[node, words[2]]


def since(text: str, zero_ns: int) -> int:
    """A time of the guest's clock, to the microsecond, since time zero [ns]."""
    moment = datetime.fromisoformat(text).replace(tzinfo=UTC)
    whole = moment.replace(microsecond=0).timestamp()
    return int(whole) * 1_000_000_000 + moment.microsecond * 1000 - zero_ns


def timeline(compiled: Compiled, folder: Path) -> Table:
    """The moments of failures, and those of the daemons, as the engine's raw table."""
    rows = Rows(compiled.rehearsal.timeline)
    events = list(_core.TIMELINE_EVENTS)
    kept = [
        (time, event, link, node)
        for time, event, link, node in zip(
            rows["time_ns"], rows["event"], rows["link"], rows["node"], strict=True
        )
        if events[event] in _GIVEN
    ]
    end = compiled.plan.duration_ns
    for node in range(len(compiled.network["nodes"])):
        kept += [
            (at, events.index(event), NONE, node)
            for at, event in _logged(folder, node)
            if 0 < at < end
        ]
    moments = dict.fromkeys((step.time_ns, step.node) for step in routes(compiled, folder).steps)
    kept += [(at, events.index("rerouted"), NONE, node) for at, node in moments]
    kept.sort(key=lambda each: each[0])
    columns = dict(zip(("time_ns", "event", "link", "node"), zip(*kept, strict=True), strict=False))
    nothing = [NONE] * len(kept)
    return raw({name: columns.get(name, nothing) for name in compiled.rehearsal.timeline})


def _logged(folder: Path, node: int) -> Iterator[tuple[int, str]]:
    """What ospfd says of LSAs and computations."""
    name = node_name(node)
    zero = int((folder / f"{name}.changes").read_text().partition("\n")[0])
    for line in (folder / f"{name}.ospfd.log").read_text().splitlines():
        found = _LOGGED.match(line)
        if found is None:
            continue
        installed = _INSTALLED.match(found[2])
        if installed:
            event = "lsa-originated" if installed[1] == router_id(node) else "lsa-learnt"
        elif found[2].startswith(_COMPUTED):
            event = "spf"
        else:
            continue
        yield since(found[1].replace("/", "-"), zero), event
