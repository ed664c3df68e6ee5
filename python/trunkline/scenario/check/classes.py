"""Checks of classes: the hierarchy, and the rates of each link that a port feeds."""

from collections.abc import Iterator, Mapping

from trunkline.scenario.base import resolve_rate
from trunkline.scenario.diagnostic import DocumentPath
from trunkline.scenario.port import PortConfiguration
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved import ResolvedScenario
from trunkline.scenario.resolved.resolved import ResolvedArc
from trunkline.scenario.scheduler_classes import (
    HfscClass,
    HierarchyClass,
    HtbClass,
    RateClass,
    ServiceCurve,
    TbfClass,
)
from trunkline.scenario.units import format_bytes, format_rate, format_time

MAX_LEVELS = {"htb": 8, "hfsc": 16, "cbq": 17, "cbq-ancestor-only": 17}
"""Maximum number of levels of classes, as the engine's schedulers have them."""


def check(scenario: ResolvedScenario, problems: Problems) -> None:
    """Check the classes of all ports."""
    sound = {
        name
        for name, port in scenario.ports.items()
        if _check_tree(port, ("ports", name), problems)
    }
    seen: set[tuple[str, int]] = set()
    for arc in scenario.arcs:
        name, rate = arc.options.port, arc.options.rate
        if name in sound and rate is not None and (name, rate) not in seen:
            seen.add((name, rate))
            port, path = scenario.ports[name], ("ports", name, "classes")
            if port.scheduler == "hfsc":
                _check_curves(port, rate, arc.name, path, problems)
            elif port.scheduler == "tbf":
                _check_buckets(scenario, arc, path, problems)
            else:
                _check_rates(port, rate, arc.name, path, problems)


def list_parents(port: PortConfiguration) -> set[str]:
    """List the classes that others have for a parent; they hold no packets."""
    return {
        port_class.parent
        for port_class in list_hierarchy_classes(port).values()
        if port_class.parent is not None
    }


def list_hierarchy_classes(port: PortConfiguration) -> dict[str, HierarchyClass]:
    """List the classes of a hierarchy; none where the scheduler has no such."""
    return {
        name: port_class
        for name, port_class in port.classes.items()
        if isinstance(port_class, HierarchyClass)
    }


def _check_tree(port: PortConfiguration, path: DocumentPath, problems: Problems) -> bool:
    """Whether parents exist and no class is its own ancestor."""
    sound = True
    classes = list_hierarchy_classes(port)
    for name, port_class in classes.items():
        if port_class.parent is not None and port_class.parent not in classes:
            sound = False
            problems.add_unknown(
                (*path, "classes", name, "parent"),
                "class",
                port_class.parent,
                classes,
                sentence_end=" in this port",
            )
    deepest = MAX_LEVELS.get(port.scheduler or "", 1)
    for name in classes if sound else ():
        chain = list(_list_ancestors(classes, name))
        if chain[-1] == name and len(chain) > 1:
            sound = False
            message = f"class {name} is its own ancestor: {' -> '.join(chain)}"
            problems.add("relation", (*path, "classes", name, "parent"), message)
        elif len(chain) > deepest:
            sound = False
            message = (
                f"{port.scheduler} has at most {deepest} levels of classes; {name} is at level "
                f"{len(chain)}"
            )
            problems.add("limit", (*path, "classes", name, "parent"), message)
    inner = list_parents(port)
    for index, rule in enumerate(port.classify):
        if rule.class_ in inner:
            message = f"class {rule.class_} has classes below it: only leaves hold packets"
            problems.add("classify", (*path, "classify", index, "class"), message)
    if "default" in inner:
        message = "class default has classes below it: only leaves hold packets"
        problems.add("classify", (*path, "classes", "default"), message, at_key=True)
    return sound


def _list_ancestors(classes: Mapping[str, HierarchyClass], name: str) -> Iterator[str]:
    """List a class and its ancestors, upward; ends where a class comes twice."""
    seen: set[str] = set()
    class_name: str | None = name
    while class_name is not None:
        yield class_name
        if class_name in seen:
            return
        seen.add(class_name)
        class_name = classes[class_name].parent


def _check_rates(
    port: PortConfiguration, link_rate: int, link: str, path: DocumentPath, problems: Problems
) -> None:
    """Check rates and ceilings at a link of a given rate."""
    promised: dict[str, int] = {}
    classes = {
        name: port_class
        for name, port_class in port.classes.items()
        if isinstance(port_class, RateClass)
    }
    for name, port_class in classes.items():
        class_rate = resolve_rate(port_class.rate, link_rate)
        if port_class.parent is not None:
            promised[port_class.parent] = promised.get(port_class.parent, 0) + class_rate
        if (
            isinstance(port_class, HtbClass)
            and port_class.ceil is not None
            and resolve_rate(port_class.ceil, link_rate) < class_rate
        ):
            problems.add(
                "relation",
                (*path, name, "ceil"),
                f"the ceil of class {name} is below its rate",
                given=format_rate(resolve_rate(port_class.ceil, link_rate)),
                allowed=f"{format_rate(class_rate)} or more",
                related=(((*path, name, "rate"), f"rate is {format_rate(class_rate)}"),),
            )
        if port.scheduler != "htb" and class_rate > link_rate:
            problems.add(
                "relation",
                (*path, name, "rate"),
                f"the rate of class {name} is above that of link {link}",
                given=format_rate(class_rate),
                allowed=f"up to {format_rate(link_rate)}",
            )
    for name, total in promised.items():
        class_rate = resolve_rate(classes[name].rate, link_rate)
        if total > class_rate:
            problems.add(
                "relation",
                (*path, name, "rate"),
                f"the children of class {name} are promised {format_rate(total)} in sum: together "
                "they may send more than its rate",
                given=format_rate(class_rate),
                allowed=f"{format_rate(total)} or more",
                warning=True,
            )


def _check_curves(
    port: PortConfiguration, link_rate: int, link: str, path: DocumentPath, problems: Problems
) -> None:
    """Check the service curves of an HFSC port at a link of a given rate."""
    inner = list_parents(port)
    real: list[ServiceCurve] = []
    for name, port_class in list_hierarchy_classes(port).items():
        assert isinstance(port_class, HfscClass)
        for key, curve in port_class.get_curves().items():
            if curve.m1 is not None and curve.d is None:
                problems.add(
                    "missing-key", (*path, name, key, "m1"), "m1 needs d: how long it lasts"
                )
        if name in inner and port_class.real_time is not None:
            message = f"class {name} has classes below it: real_time is of leaves"
            problems.add("relation", (*path, name, "real_time"), message, at_key=True)
        elif port_class.real_time is not None:
            real.append(port_class.real_time)
        if port_class.link_share is None and (port_class.real_time is None or name in inner):
            problems.add(
                "missing-key",
                (*path, name),
                f"class {name} has no curve by which it would ever be served",
                allowed="link_share" if name in inner else "link_share, real_time",
                at_key=True,
            )
        if port_class.link_share is None and port_class.upper_limit is not None:
            message = f"upper_limit limits link sharing, and class {name} has no link_share"
            problems.add("relation", (*path, name, "upper_limit"), message, at_key=True)
    _check_feasible(real, link_rate, link, path, problems)


def _check_feasible(
    curves: list[ServiceCurve], link_rate: int, link: str, path: DocumentPath, problems: Problems
) -> None:
    """Real-time curves are kept if their sum is never above the line: checked at each bend."""
    sums = []
    for time in sorted({0, *(curve.d or 0 for curve in curves)}):
        service = slope = 0
        for keys in (curve.compile_keys(link_rate=link_rate) for curve in curves):
            first = min(time, keys["d_ns"])
            service += keys["m1_bit_s"] * first + keys["m2_bit_s"] * (time - first)
            slope += keys["m1_bit_s"] if time < keys["d_ns"] else keys["m2_bit_s"]
        sums.append((time, service, slope))
    late = [time for time, service, _ in sums if service > link_rate * time]
    steep = sums[-1][2]
    if late or steep > link_rate:
        moment = f"{format_time(late[0])} after they begin" if late else "in the long run"
        message = f"the real-time curves promise more than link {link} has, {moment}"
        problems.add(
            "relation", path, message, allowed=f"up to {format_rate(link_rate)} in sum", at_key=True
        )


def _check_buckets(
    scenario: ResolvedScenario, arc: ResolvedArc, path: DocumentPath, problems: Problems
) -> None:
    """Check the buckets of a TBF port on a link."""
    largest = max((flow.largest_packet for flow in scenario.flows.values()), default=0)
    largest += arc.options.header or 0
    rate = arc.options.rate or 0
    for name, port_class in scenario.ports[arc.options.port or ""].classes.items():
        assert isinstance(port_class, TbfClass)
        peak = None if port_class.peak_rate is None else resolve_rate(port_class.peak_rate, rate)
        class_rate = resolve_rate(port_class.rate, rate)
        if peak is not None and peak <= class_rate:
            problems.add(
                "relation",
                (*path, name, "peak_rate"),
                "peak_rate must be above rate",
                given=format_rate(peak),
                allowed=f"above {format_rate(class_rate)}",
            )
        if peak is None and "min_burst" in port_class.model_fields_set:
            message = "min_burst is the bucket of peak_rate, which is not set"
            problems.add("relation", (*path, name, "min_burst"), message, at_key=True)
        buckets = {"burst": port_class.burst} | (
            {} if peak is None else {"min_burst": port_class.min_burst}
        )
        for key, depth in buckets.items():
            if depth < largest:
                problems.add(
                    "relation",
                    (*path, name, key),
                    f"a packet larger than {key} never passes a token bucket filter",
                    given=format_bytes(depth),
                    allowed=f"{format_bytes(largest)} or more, the largest packet on {arc.name}",
                )
