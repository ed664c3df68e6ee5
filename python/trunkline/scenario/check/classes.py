"""Checks of classes: the hierarchy, and the rates of each link that a port feeds."""

from collections.abc import Iterator, Mapping

from trunkline.scenario.base import rate_of
from trunkline.scenario.diagnostic import Path
from trunkline.scenario.port import Port
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved import Resolved
from trunkline.scenario.resolved.resolved import Arc
from trunkline.scenario.shares import Curve, HfscClass, HtbClass, Member, Rated, TbfClass
from trunkline.scenario.units import format_bytes, format_rate, format_time

DEEPEST = {"htb": 8, "hfsc": 16, "cbq": 17, "cbq-ancestor-only": 17}
"""Maximum number of levels of classes, as the engine's schedulers have them."""


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
            port, path = scenario.ports[name], ("ports", name, "classes")
            if port.scheduler == "hfsc":
                _curves(port, rate, arc.name, path, problems)
            elif port.scheduler == "tbf":
                _bucket(scenario, arc, path, problems)
            else:
                _rates(port, rate, arc.name, path, problems)


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
    classes = {name: its for name, its in port.classes.items() if isinstance(its, Rated)}
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
                f"the children of class {name} are promised {format_rate(total)} in sum: together "
                "they may send more than its rate",
                given=format_rate(own),
                allowed=f"{format_rate(total)} or more",
                warning=True,
            )


def _curves(port: Port, link_rate: int, link: str, path: Path, problems: Problems) -> None:
    """Checks the service curves of an HFSC port at a link of a given rate."""
    inner = parents(port)
    real: list[Curve] = []
    for name, its in members(port).items():
        assert isinstance(its, HfscClass)
        for key, curve in its.curves().items():
            if curve.m1 is not None and curve.d is None:
                problems.add(
                    "missing-key", (*path, name, key, "m1"), "m1 needs d: how long it lasts"
                )
        if name in inner and its.real_time is not None:
            problems.add(
                "relation",
                (*path, name, "real_time"),
                f"class {name} has classes below it: real_time is of leaves",
                at_key=True,
            )
        elif its.real_time is not None:
            real.append(its.real_time)
        if its.link_share is None and (its.real_time is None or name in inner):
            problems.add(
                "missing-key",
                (*path, name),
                f"class {name} has no curve by which it would ever be served",
                allowed="link_share" if name in inner else "link_share, real_time",
                at_key=True,
            )
        if its.link_share is None and its.upper_limit is not None:
            problems.add(
                "relation",
                (*path, name, "upper_limit"),
                f"upper_limit limits link sharing, and class {name} has no link_share",
                at_key=True,
            )
    _feasible(real, link_rate, link, path, problems)


def _feasible(
    curves: list[Curve], link_rate: int, link: str, path: Path, problems: Problems
) -> None:
    """Real-time curves are kept if their sum is never above the line: checked at each bend."""
    sums = []
    for at in sorted({0, *(curve.d or 0 for curve in curves)}):
        service = slope = 0
        for its in (curve.compiled(link_rate=link_rate) for curve in curves):
            first = min(at, its["d_ns"])
            service += its["m1_bit_s"] * first + its["m2_bit_s"] * (at - first)
            slope += its["m1_bit_s"] if at < its["d_ns"] else its["m2_bit_s"]
        sums.append((at, service, slope))
    late = [at for at, service, _ in sums if service > link_rate * at]
    steep = sums[-1][2]
    if late or steep > link_rate:
        when = f"{format_time(late[0])} after they begin" if late else "in the long run"
        problems.add(
            "relation",
            path,
            f"the real-time curves promise more than link {link} has, {when}",
            allowed=f"up to {format_rate(link_rate)} in sum",
            at_key=True,
        )


def _bucket(scenario: Resolved, arc: Arc, path: Path, problems: Problems) -> None:
    """Checks the buckets of a TBF port on a link."""
    largest = max((flow.largest_packet for flow in scenario.flows.values()), default=0)
    largest += arc.options.header or 0
    rate = arc.options.rate or 0
    for name, its in scenario.ports[arc.options.port or ""].classes.items():
        assert isinstance(its, TbfClass)
        peak = None if its.peak_rate is None else rate_of(its.peak_rate, rate)
        own = rate_of(its.rate, rate)
        if peak is not None and peak <= own:
            problems.add(
                "relation",
                (*path, name, "peak_rate"),
                "peak_rate must be above rate",
                given=format_rate(peak),
                allowed=f"above {format_rate(own)}",
            )
        if peak is None and "min_burst" in its.model_fields_set:
            problems.add(
                "relation",
                (*path, name, "min_burst"),
                "min_burst is the bucket of peak_rate, which is not set",
                at_key=True,
            )
        buckets = {"burst": its.burst} | ({} if peak is None else {"min_burst": its.min_burst})
        for key, depth in buckets.items():
            if depth < largest:
                problems.add(
                    "relation",
                    (*path, name, key),
                    f"a packet larger than {key} never passes a token bucket filter",
                    given=format_bytes(depth),
                    allowed=f"{format_bytes(largest)} or more, the largest packet on {arc.name}",
                )
