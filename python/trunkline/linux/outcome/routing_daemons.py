"""Actions of routing daemons: the routes of each router over time, and events of the logs.

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
from trunkline.linux.outcome.raw_tables import RawTable, make_raw_table
from trunkline.linux.plan.addresses import name_namespace
from trunkline.linux.plan.compiled_plan import CompiledPlan
from trunkline.linux.plan.frr_config import format_router_id
from trunkline.results.decode.columns import RawRows

NO_LINK: Final = -1
_CHANGE_LINE: Final = re.compile(r"\[(\S+)\] (Deleted )?(\S+) .*?\bdev (\S+) .*\bproto ospf\b")
_ROUTE_LINE: Final = re.compile(r"(\S+) .*?\bdev (\S+) .*\bproto ospf\b")
_LOG_LINE: Final = re.compile(r"(\d{4}/\d\d/\d\d \S+) OSPF: (?:\[\S+\] )?(.*)")
_INSTALLED_LSA: Final = re.compile(r"LSA\[Type1,id\(\S+\),ar\((\S+)\)\]: Install router-LSA")
_SPF_STARTED: Final = "ospf_spf_calculate: Start"
_SIMULATOR_EVENTS: Final = ("failed", "repaired", "detected", "repair-detected")
"""Events that the simulator gives: failures of links, and when each router detects them."""


@dataclass(frozen=True, slots=True, order=True)
class RouteStep:
    """A route that came into use."""

    time_ns: int  # When, since time zero.
    # node, destination: Where, and where packets go.
    node: int
    destination: int
    link: int  # Out-link; -1: none.


@dataclass(frozen=True)
class RouteHistory:
    """The routes of a run."""

    # first, last: Out-link by node and destination, at time zero and at the end.
    first: dict[tuple[int, int], int]
    last: dict[tuple[int, int], int]
    steps: list[RouteStep]  # Changes between, in order of time.


def read_routes(compiled: CompiledPlan, folder: Path) -> RouteHistory:
    """Read the routes to nodes in all routers."""
    targets, link_by_device = map_addresses(compiled), compiled.wiring.link_by_device
    first: dict[tuple[int, int], int] = {}
    last: dict[tuple[int, int], int] = {}
    steps: list[RouteStep] = []
    for node in range(len(compiled.network["nodes"])):
        current: dict[int, int] = {}
        reported = [
            *_read_changes(folder, node, targets, link_by_device),
            *(
                (time_ns, None, link)
                for time_ns, link in _list_device_downs(compiled, node, link_by_device)
            ),
        ]
        for time_ns, target, link in sorted(reported, key=lambda each: each[0]):
            if time_ns > 0 and not any(key[0] == node for key in first):
                first |= {(node, each): out_link for each, out_link in current.items()}
            lost_targets = [
                each for each, out_link in current.items() if target is None and out_link == link
            ]
            for each in lost_targets if target is None else [target]:
                out_link = NO_LINK if target is None else link
                if current.get(each, NO_LINK) != out_link:
                    current[each] = out_link
                    if time_ns > 0:
                        steps.append(RouteStep(time_ns, node, each, out_link))
        if not any(key[0] == node for key in first):
            first |= {(node, each): out_link for each, out_link in current.items()}
        for line in (folder / f"{name_namespace(node)}.routes").read_text().splitlines():
            route_match = _ROUTE_LINE.match(line)
            if route_match and route_match[1] in targets:
                last[node, targets[route_match[1]]] = link_by_device[node, route_match[2]]
    return RouteHistory(first, last, sorted(steps))


def map_addresses(compiled: CompiledPlan) -> dict[str, int]:
    """The node that each address of an end is of."""
    route_addresses = compiled.traffic.route_addresses
    return {
        route_addresses.format_address(number): node
        for number, (node, _, _) in enumerate(route_addresses.keys)
    }


def _read_changes(
    folder: Path,
    node: int,
    targets: Mapping[str, int],
    link_by_device: Mapping[tuple[int, str], int],
) -> Iterator[tuple[int, int | None, int]]:
    """Read time, destination and out-link from the output of ``ip monitor``."""
    time_zero, *lines = (folder / f"{name_namespace(node)}.changes").read_text().splitlines()
    for line in lines:
        change_match = _CHANGE_LINE.match(line)
        if change_match and change_match[3] in targets:
            link = NO_LINK if change_match[2] else link_by_device[node, change_match[4]]
            yield parse_time_since(change_match[1], int(time_zero)), targets[change_match[3]], link


def _list_device_downs(
    compiled: CompiledPlan, node: int, link_by_device: Mapping[tuple[int, str], int]
) -> Iterator[tuple[int, int]]:
    """List when devices of a node go down."""
    for change in compiled.plan.changes:
        words = change.line.split()
        if (
            change.node == name_namespace(node)
            and words[:2] == ["link", "set"]
            and words[-1] == "down"
        ):
            yield change.at_ns, link_by_device[node, words[2]]


def parse_time_since(text: str, zero_ns: int) -> int:
    """Parse a time of the guest's clock, to the microsecond, since time zero [ns]."""
    moment = datetime.fromisoformat(text).replace(tzinfo=UTC)
    seconds = moment.replace(microsecond=0).timestamp()
    return int(seconds) * 1_000_000_000 + moment.microsecond * 1000 - zero_ns


def read_timeline(compiled: CompiledPlan, folder: Path) -> RawTable:
    """Read the moments of failures, and those of the daemons, as the engine's raw table."""
    rows = RawRows(compiled.dry_run.timeline)
    events = list(_core.TIMELINE_EVENTS)
    timeline_rows = [
        (time, event, link, node)
        for time, event, link, node in zip(
            rows["time_ns"], rows["event"], rows["link"], rows["node"], strict=True
        )
        if events[event] in _SIMULATOR_EVENTS
    ]
    end = compiled.plan.duration_ns
    for node in range(len(compiled.network["nodes"])):
        timeline_rows += [
            (time_ns, events.index(event), NO_LINK, node)
            for time_ns, event in _read_log_events(folder, node)
            if 0 < time_ns < end
        ]
    moments = dict.fromkeys(
        (step.time_ns, step.node) for step in read_routes(compiled, folder).steps
    )
    timeline_rows += [
        (time_ns, events.index("rerouted"), NO_LINK, node) for time_ns, node in moments
    ]
    timeline_rows.sort(key=lambda each: each[0])
    columns = dict(
        zip(("time_ns", "event", "link", "node"), zip(*timeline_rows, strict=True), strict=False)
    )
    no_values = [NO_LINK] * len(timeline_rows)
    return make_raw_table(
        {name: columns.get(name, no_values) for name in compiled.dry_run.timeline}
    )


def _read_log_events(folder: Path, node: int) -> Iterator[tuple[int, str]]:
    """Read LSAs and computations from the log of ospfd."""
    name = name_namespace(node)
    time_zero = int((folder / f"{name}.changes").read_text().partition("\n")[0])
    for line in (folder / f"{name}.ospfd.log").read_text().splitlines():
        log_match = _LOG_LINE.match(line)
        if log_match is None:
            continue
        lsa_match = _INSTALLED_LSA.match(log_match[2])
        if lsa_match:
            event = "lsa-originated" if lsa_match[1] == format_router_id(node) else "lsa-learnt"
        elif log_match[2].startswith(_SPF_STARTED):
            event = "spf"
        else:
            continue
        yield parse_time_since(log_match[1].replace("/", "-"), time_zero), event
