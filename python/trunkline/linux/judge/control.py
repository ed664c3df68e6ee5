"""Routing by daemons beside the simulator's: routes at the end, convergence, and what was lost."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from trunkline.linux import engine
from trunkline.linux.guest.scratch import scratch
from trunkline.linux.judge import observed
from trunkline.linux.judge.compare import Row, at_end, fixed, moment
from trunkline.linux.judge.labels import compared
from trunkline.linux.judge.verify import Progress, Verdict, probed
from trunkline.linux.outcome import control, labels
from trunkline.linux.plan.frr import backoff_of, timers_of
from trunkline.linux.plan.protocols import ldp_of
from trunkline.linux.plan.rehearsal import Rehearsal, rehearse
from trunkline.linux.plan.routing import next_links
from trunkline.network.types import Network
from trunkline.results import Results
from trunkline.results.convergence import changes

_HOLD_NS: Final = 10_000_000
"""zebra holds routes for so long (``ZEBRA_RIB_PROCESS_HOLD_TIME``)."""
_STEP_NS: Final = 1_000_000
"""Daemons count in milliseconds: a timer is up to one late."""

Key = tuple[str, str]
"""Change and node."""


def verify(
    network_json: str,
    seeds: Sequence[int],
    *,
    daemons: str,
    runner: str | None = None,
    on_progress: Progress | None = None,
) -> Verdict:
    """Runs a network in the simulator and with daemons in the kernel, and compares their control.

    Parameters
    ----------
    daemons : {"frr"}
        Which.

    Raises
    ------
    UnsupportedError
        The network has what kernel or daemons lack.
    """
    data = probed(json.loads(network_json))
    written = json.dumps(data, sort_keys=True, separators=(",", ":"))
    rows: list[Row] = []
    notes: dict[str, None] = {}
    reference = ""
    for number, seed in enumerate(seeds):
        show = engine.part_of(on_progress, number, len(seeds))
        with scratch() as folder:
            place = Path(folder)
            done = engine.run(
                written, seed, place, runner=runner, control=daemons, on_progress=show
            )
            found = control.routes(done.compiled, place)
            uses = labels.of_kernel(done.compiled, place) if ldp_of(data) else {}
            changed = {
                node: labels.changes(done.compiled, place, node)
                for node in range(len(data["nodes"]))
            }
            theirs = observed.of_kernel(done, place)
        ours = observed.of_simulator(data, seed)
        rehearsal = rehearse(data, seed)
        notes |= dict.fromkeys(done.compiled.notes)
        reference = done.results.provenance.version
        made = [
            *_routes(data, rehearsal, found),
            *_convergence(data, ours.results, done.results),
        ]
        if ldp_of(data):
            # zebra holds a route once more when its label comes.
            allowed = margin_s(data, "failure") + (_HOLD_NS + _STEP_NS) / 1e9
            made += compared(data, rehearsal, uses, changed, allowed)
        made += _lost(data, ours, theirs)
        if len(seeds) > 1:
            made = [replace(row, subject=f"{row.subject}, seed {seed}") for row in made]
        rows += made
    return Verdict(tuple(rows), tuple(notes), tuple(seeds), False, reference)


def last_routes(data: Network, rehearsal: Rehearsal) -> dict[tuple[int, int], int]:
    """The simulator's routes at the end of a run: out-link by node and destination."""
    count = len(data["nodes"])
    made = {
        (node, target): link
        for target in range(count)
        for node, link in enumerate(next_links(count, data["links"], target))
        if link is not None
    }
    for route in rehearsal.routes:
        if route.protection < 0 and route.time_ns < data["run"]["duration_ns"]:
            made.pop((route.node, route.destination), None)
            if route.link >= 0:
                made[route.node, route.destination] = route.link
    return made


def _routes(data: Network, rehearsal: Rehearsal, found: control.Routes) -> list[Row]:
    """A row a node: how many destinations it has a route to, and how many routes are others."""
    ours = last_routes(data, rehearsal)
    rows = []
    for node, its in enumerate(data["nodes"]):
        mine, other = (
            {target: link for (at, target), link in side.items() if at == node}
            for side in (ours, found.last)
        )
        rows.append(at_end(str(its["name"]), "routes at the end", mine, other))
    return rows


def _ended(results: Results) -> dict[Key, float]:
    """When each router had its routes for good after each change [s]."""
    return {
        (f"{change.what} at {change.at_ns / 1e9:g} s", step.name): (step.ended_ns - change.at_ns)
        / 1e9
        for change in changes(results)
        for step in change.steps
        if step.ended_ns is not None
    }


def _convergence(data: Network, ours: Results, theirs: Results) -> list[Row]:
    """A row a change and router: from the change to its new routes."""
    first, second = _ended(ours), _ended(theirs)
    rows = []
    for change, name in dict.fromkeys([*first, *second]):
        times = first.get((change, name)), second.get((change, name))
        said = ("new routes after", "changes of routes")
        rows.append(moment(f"{name}, {change}", said, times, margin_s(data, change)))
    return rows


def margin_s(data: Network, change: str) -> float:
    """By how much the daemons' convergence may differ [s].

    Parameters
    ----------
    change : str
        ``failure ...`` or ``repair ...``.

    Returns
    -------
    float
        zebra's hold and the daemons' milliseconds. After a repair neighbours find each other by
        hellos (RFC 2328 section 10.5), which the simulator's do at once, and describe their
        databases.
    """
    ospf = timers_of(data)
    nearest = _HOLD_NS + len(data["nodes"]) * _STEP_NS
    if change.startswith("repair"):
        nearest += (ospf["hello_ns"] or 0) + ospf["lsa_interval_ns"] + backoff_of(ospf)["second_ns"]
    return nearest / 1e9


def _lost(data: Network, ours: observed.Observed, theirs: observed.Observed) -> list[Row]:
    """A row a flow: packets lost; as many more as it sends while convergence may differ.

    A repair loses none: the routes until then go on.
    """
    failures = {each for each, _ in _ended(ours.results) if each.startswith("failure")}
    spans = [margin_s(data, each) for each in failures]
    rows = []
    for name, its in ours.flows.items():
        seen = (its, theirs.flows[name])
        lost = [float(len(each.sent_ns) - len(each.number)) for each in seen]
        seconds = data["run"]["duration_ns"] / 1e9
        allowed = 1.0 + sum(spans) * len(its.sent_ns) / seconds
        apart, measure = lost[1] - lost[0], "packets lost or inside"
        rows.append(fixed(name, measure, "packets", lost[0], lost[1], apart, allowed))
    return rows
