"""Checks of classes: the hierarchy, and the rates of each link that a port feeds."""

from collections.abc import Iterator, Mapping

from trunkline.scenario.diagnostic import Path
from trunkline.scenario.port import Port
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved import Resolved
from trunkline.scenario.scheduler import HtbClass, Member, rate_of
from trunkline.scenario.units import format_rate

__all__ = ["check", "parents"]

DEEPEST = {"htb": 8, "cbq": 17, "cbq-ancestor-only": 17}
"""Most levels of classes, as the engine's schedulers have them."""


def check(scenario: Resolved, problems: Problems) -> None:
    """Checks the classes of all ports."""
    sound = {
        name for name, port in scenario.ports.items() if _tree(port, ("ports", name), problems)
    }
    seen: set[tuple[str, int]] = set()
    for arc in scenario.arcs:
        name, rate = arc.options.port, arc.options.rate
        if name in sound and rate is not None and (name, rate) not in seen:
            seen.add((name, rate))
            _rates(scenario.ports[name], rate, arc.name, ("ports", name, "classes"), problems)


def parents(port: Port) -> set[str]:
    """Classes that others have for a parent; they hold no packets."""
    return {its.parent for its in members(port).values() if its.parent is not None}


def members(port: Port) -> dict[str, Member]:
    """The classes of a hierarchy; none where the scheduler has no such."""
    return {name: its for name, its in port.classes.items() if isinstance(its, Member)}


def _tree(port: Port, path: Path, problems: Problems) -> bool:
    """Whether parents exist and no class is its own ancestor."""
    sound = True
    classes = members(port)
    for name, its in classes.items():
        if its.parent is not None and its.parent not in classes:
            sound = False
            problems.unknown(
                (*path, "classes", name, "parent"),
                "class",
                its.parent,
                classes,
                where=" in this port",
            )
    deepest = DEEPEST.get(port.scheduler or "", 1)
    for name in classes if sound else ():
        chain = list(_chain(classes, name))
        if chain[-1] == name and len(chain) > 1:
            sound = False
            problems.add(
                "relation",
                (*path, "classes", name, "parent"),
                f"class {name} is its own ancestor: {' -> '.join(chain)}",
            )
        elif len(chain) > deepest:
            sound = False
            problems.add(
                "limit",
                (*path, "classes", name, "parent"),
                f"{port.scheduler} has at most {deepest} levels of classes; {name} is at level "
                f"{len(chain)}",
            )
    inner = parents(port)
    for index, rule in enumerate(port.classify):
        if rule.class_ in inner:
            problems.add(
                "classify",
                (*path, "classify", index, "class"),
                f"class {rule.class_} has classes below it: only leaves hold packets",
            )
    if "default" in inner:
        problems.add(
            "classify",
            (*path, "classes", "default"),
            "class default has classes below it: only leaves hold packets",
            at_key=True,
        )
    return sound


def _chain(classes: Mapping[str, Member], name: str) -> Iterator[str]:
    """A class and its ancestors, upward; ends where a class comes twice."""
    seen: set[str] = set()
    at: str | None = name
    while at is not None:
        yield at
        if at in seen:
            return
        seen.add(at)
        at = classes[at].parent


def _rates(port: Port, link_rate: int, link: str, path: Path, problems: Problems) -> None:
    """Checks rates and ceilings at a link of a given rate."""
    promised: dict[str, int] = {}
    classes = members(port)
    for name, its in classes.items():
        own = rate_of(its.rate, link_rate)
        if its.parent is not None:
            promised[its.parent] = promised.get(its.parent, 0) + own
        if (
            isinstance(its, HtbClass)
            and its.ceil is not None
            and rate_of(its.ceil, link_rate) < own
        ):
            problems.add(
                "relation",
                (*path, name, "ceil"),
                f"the ceil of class {name} is below its rate",
                given=format_rate(rate_of(its.ceil, link_rate)),
                allowed=f"{format_rate(own)} or more",
                related=(((*path, name, "rate"), f"rate is {format_rate(own)}"),),
            )
        if port.scheduler != "htb" and own > link_rate:
            problems.add(
                "relation",
                (*path, name, "rate"),
                f"the rate of class {name} is above that of link {link}",
                given=format_rate(own),
                allowed=f"up to {format_rate(link_rate)}",
            )
    for name, total in promised.items():
        own = rate_of(classes[name].rate, link_rate)
        if total > own:
            problems.add(
                "relation",
                (*path, name, "rate"),
                f"the children of class {name} are promised {format_rate(total)} in sum, more "
                "than its own rate",
                given=format_rate(own),
                allowed=f"{format_rate(total)} or more",
            )
