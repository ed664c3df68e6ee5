"""Checks of flows, and their names."""

import re
from collections.abc import Iterator
from contextvars import ContextVar

from trunkline.scenario import schedule
from trunkline.scenario.base import merged
from trunkline.scenario.beside import BesideError
from trunkline.scenario.diagnostic import Path, Problems, nearest
from trunkline.scenario.flow import LINUX_TCP, Tcp, Udp
from trunkline.scenario.model import Scenario
from trunkline.scenario.topology import Topology, listed, unknown_node
from trunkline.scenario.units import format_bytes, format_time

__all__ = ["base", "check", "count", "exists", "largest", "names", "options", "unknown"]

MEMORY: ContextVar[int] = ContextVar("memory", default=16 * 10**9)
"""Most memory that a network may need, by estimate [B]."""
_FLOW_MEMORY = 8_000  # B for a flow: model, compiled entry, its text, agent and counters
_REPLICA = re.compile(r"(.+)\[(\d{1,18})\]\Z", re.DOTALL)


def base(name: str) -> str:
    """Name of a flow as declared: that of ``many[3]`` is ``many``."""
    match = _REPLICA.match(name)
    return match[1] if match else name


def exists(scenario: Scenario, name: str) -> bool:
    """Whether a name means a flow, all replicas of one, or one replica."""
    if name in scenario.flows:
        return True
    match = _REPLICA.match(name)
    flow = scenario.flows.get(match[1]) if match else None
    return bool(match and flow and flow.replicate and int(match[2]) < flow.replicate)


def unknown(scenario: Scenario, name: str, path: Path, problems: Problems) -> None:
    """Reports a flow that does not exist."""
    problems.add(
        "reference",
        path,
        f"there is no flow {name}",
        allowed=listed(scenario.flows),
        hint=nearest(name, scenario.flows),
    )


def count(scenario: Scenario) -> int:
    """Number of flows, replicas counted."""
    return sum(flow.replicate or 1 for flow in scenario.flows.values())


def names(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Each flow's own name and its name as declared, in order."""
    for name, flow in scenario.flows.items():
        if flow.replicate is None:
            yield name, name
        else:
            for index in range(flow.replicate):
                yield f"{name}[{index}]", name


def options(scenario: Scenario, name: str) -> Tcp | Udp:
    """A flow with the defaults of its kind merged in."""
    flow = scenario.flows[name]
    if isinstance(flow, Tcp):
        own = merged(flow, scenario.defaults.tcp)
        return merged(own, LINUX_TCP) if own.preset == "linux" else own
    return merged(flow, scenario.defaults.udp)


def largest(scenario: Scenario) -> int:
    """Largest IP packet whose size the scenario states [B]; 0 without flows."""
    return max((largest_of(options(scenario, name)) for name in scenario.flows), default=0)


def largest_of(flow: Tcp | Udp) -> int:
    """Largest IP packet of a flow whose size the scenario states [B]; 0 if it states none."""
    if isinstance(flow, Tcp):
        return flow.mss + flow.header
    if flow.size.choice is not None:
        return max(flow.size.choice.sizes)
    return flow.size.fixed or 0


def fits_memory(scenario: Scenario, problems: Problems) -> bool:
    """Whether the flows fit into memory, by estimate; to be asked before any are written out."""
    needed = count(scenario) * _FLOW_MEMORY
    limit = MEMORY.get()
    if needed <= limit:
        return True
    name = max(scenario.flows, key=lambda each: scenario.flows[each].replicate or 1)
    problems.add(
        "memory",
        ("flows", name, "replicate"),
        f"{count(scenario)} flows need about {needed / 1e9:.0f} GB; the limit is "
        f"{limit / 1e9:.3g} GB (--limit-memory)",
    )
    return False


def check(scenario: Scenario, found: Topology, problems: Problems) -> None:
    """Checks all flows."""
    for name in scenario.flows:
        path: Path = ("flows", name)
        flow = options(scenario, name)
        _ends(scenario, found, flow, path, problems)
        _times(scenario, flow, path, problems)
        if isinstance(flow, Tcp):
            _tcp(flow, path, problems)
        else:
            _udp(scenario, flow, path, problems)


def _ends(
    scenario: Scenario, found: Topology, flow: Tcp | Udp, path: Path, problems: Problems
) -> None:
    known = True
    for key, node in (("from", flow.from_), ("to", flow.to)):
        if node not in scenario.nodes:
            known = False
            unknown_node(scenario, node, (*path, key), problems)
    if not known:
        return
    if flow.from_ == flow.to:
        problems.add(
            "no-path",
            (*path, "to"),
            "a flow must lead from one node to another",
            given=flow.to,
            related=(((*path, "from"), "the same node"),),
        )
    elif found.part.get(flow.from_) != found.part.get(flow.to):
        problems.add("no-path", (*path, "to"), f"no links lead from {flow.from_} to {flow.to}")


def _times(scenario: Scenario, flow: Tcp | Udp, path: Path, problems: Problems) -> None:
    duration = scenario.run.duration
    if flow.start + flow.start_jitter > duration:
        key = "start" if flow.start >= duration else "start_jitter"
        problems.add(
            "relation",
            (*path, key),
            "the flow would start after the end of the run",
            given=format_time(getattr(flow, key)),
            related=((("run", "duration"), f"duration is {format_time(duration)}"),),
        )
    if flow.stop is not None and flow.stop <= flow.start:
        problems.add(
            "relation",
            (*path, "stop"),
            "stop must come after start",
            given=format_time(flow.stop),
            allowed=f"above {format_time(flow.start)}",
            related=(((*path, "start"), f"start is {format_time(flow.start)}"),),
        )


def _tcp(flow: Tcp, path: Path, problems: Problems) -> None:
    rto = flow.rto
    if rto.min > rto.max:
        problems.add(
            "relation",
            (*path, "rto", "min"),
            "min must not be above max",
            given=format_time(rto.min),
            related=(((*path, "rto", "max"), f"max is {format_time(rto.max)}"),),
        )
    if "initial_window" in flow.model_fields_set and flow.initial_window > flow.window:
        problems.add(
            "relation",
            (*path, "initial_window"),
            "initial_window must not be above window",
            given=f"initial_window {flow.initial_window}, window {flow.window} packets",
        )
    if flow.impatient and flow.variant != "new-reno":
        problems.add(
            "relation",
            (*path, "impatient"),
            f"impatient is a form of new-reno, not of {flow.variant}",
            at_key=True,
        )
    if flow.stack == "linux" and flow.variant not in ("new-reno", "sack"):
        problems.add(
            "relation",
            (*path, "variant"),
            f"the stack of Linux has no {flow.variant}",
            given=flow.variant,
            allowed="new-reno or sack",
            at_key=True,
        )
    if flow.stack == "linux" and flow.send_overhead:
        problems.add(
            "relation",
            (*path, "send_overhead"),
            "the stack of Linux has no send_overhead",
            given=format_time(flow.send_overhead),
            at_key=True,
        )
    if flow.size is not None and flow.size > flow.mss * (2**31 - 1):
        problems.add(
            "range",
            (*path, "size"),
            "a transfer has at most 2147483647 segments",
            given=format_bytes(flow.size),
        )


_ONLY = {
    "jitter": ("cbr",),
    "mean_on": ("on-off",),
    "mean_off": ("on-off",),
    "schedule": ("schedule",),
    "rate": ("cbr", "poisson", "on-off"),
    "size": ("cbr", "poisson", "on-off"),
}
_NEEDED = {
    "cbr": ("rate",),
    "poisson": ("rate",),
    "on-off": ("rate", "mean_on", "mean_off"),
    "schedule": ("schedule",),
}


def _udp(scenario: Scenario, flow: Udp, path: Path, problems: Problems) -> None:
    own = scenario.flows[str(path[1])].model_fields_set
    for key, kinds in _ONLY.items():
        if key in own and flow.arrivals not in kinds:
            problems.add(
                "relation",
                (*path, key),
                f"{key} has no meaning for {flow.arrivals} arrivals",
                allowed=f"with arrivals {' or '.join(kinds)}",
                at_key=True,
            )
    for key in _NEEDED[flow.arrivals]:
        if getattr(flow, key) is None:
            problems.add(
                "missing-key",
                (*path, key),
                f"{key} is missing: {flow.arrivals} arrivals need it",
                at_key=True,
            )
    _size(flow, path, problems)
    if flow.arrivals == "schedule" and flow.schedule is not None:
        try:
            scenario._schedules[flow.schedule] = schedule.read(flow.schedule, scenario._folder)
        except BesideError as error:
            problems.add("file", (*path, "schedule"), str(error), given=flow.schedule)


def _size(flow: Udp, path: Path, problems: Problems) -> None:
    size = flow.size
    given = [key for key in ("fixed", "exponential", "choice") if getattr(size, key) is not None]
    if len(given) != 1:
        problems.add(
            "relation",
            (*path, "size"),
            "a size is one of: a fixed size, exponential, choice",
            given=", ".join(given) or "none",
            at_key=True,
        )
    choice = size.choice
    weights = choice.weights if choice is not None else None
    if choice is not None and weights is not None and len(weights) != len(choice.sizes):
        problems.add(
            "relation",
            (*path, "size", "choice", "weights"),
            "there must be as many weights as sizes",
            given=str(len(weights)),
            allowed=str(len(choice.sizes)),
            at_key=True,
        )
