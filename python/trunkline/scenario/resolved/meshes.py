"""Trunks of demands: a path for each where asked, and the demands that ride a path together."""

from typing import Any

from trunkline.scenario.diagnostic import Path as Place
from trunkline.scenario.path import AUTO, Path, Trunk
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved.resolved import Offered, Resolved
from trunkline.scenario.te import CLASS_TYPES, Constraints


def meshes(scenario: Resolved, problems: Problems) -> None:
    """Writes out trunks with `path: auto`, puts demands among flows, and sums up bandwidths."""
    types = {
        class_: CLASS_TYPES.index(type_)
        for type_, classes in scenario.written.te.class_types.items()
        for class_ in classes
    }
    for name, trunk in list(scenario.trunks.items()):
        members = _members(scenario, name, trunk, problems)
        if trunk.path == AUTO and AUTO not in scenario.paths:
            del scenario.trunks[name]
            for demand in members:
                _mesh(scenario, name, trunk, demand, problems)
        elif members:
            _sum_up(scenario, trunk.path, members, types)
            flows = (*trunk.flows, *members)
            scenario.trunks[name] = trunk.model_copy(update={"flows": flows})
        if trunk.path != AUTO:
            _needless(name, trunk, problems)
    for name, trunk in scenario.trunks.items():
        if ("trunks", name) in scenario.origins:
            _sum_up(scenario, trunk.path, list(trunk.flows), types)
    for name, path in scenario.paths.items():
        bandwidth, type_ = scenario.reserved.get(name, (0, 0))
        own = None if path.class_type is None else CLASS_TYPES.index(path.class_type)
        rate = bandwidth if path.bandwidth is None else path.bandwidth
        scenario.reserved[name] = (rate, type_ if own is None else own)


def _members(scenario: Resolved, name: str, trunk: Trunk, problems: Problems) -> list[str]:
    """Names of the demands of a trunk, `all` written out."""
    found: list[str] = []
    at: Place = ("trunks", name, "demands")
    for index, each in enumerate(trunk.demands):
        of_table = [
            demand
            for demand in scenario.demands
            if scenario.origins.get(("demands", demand)) == ("demands", each)
        ]
        if each == "all" and "all" not in scenario.demands:
            found += scenario.demands
        elif each in scenario.demands:
            found.append(each)
        elif of_table:
            found += of_table
        elif each not in scenario.written.demands:
            problems.unknown((*at, index), "demand", each, scenario.written.demands)
    if not trunk.flows and not trunk.demands:
        message = "a trunk carries flows or demands: it names neither"
        problems.add("missing-key", ("trunks", name, "flows"), message, at_key=True)
    return list(dict.fromkeys(found))


def _mesh(scenario: Resolved, name: str, trunk: Trunk, demand: str, problems: Problems) -> None:
    """A path and a trunk for a demand, or for each of its parts."""
    offered = scenario.demands[demand]
    parts = {demand: offered}
    if trunk.split > 1:
        parts = _split(demand, offered, trunk.split)
        taken = [part for part in parts if part != demand and part in scenario.demands]
        if taken:
            message = f"a part of demand {demand} is called as demand {taken[0]} is"
            problems.add("duplicate-name", ("trunks", name, "split"), message)
            return
        scenario.demands = _replaced(scenario.demands, demand, parts)
    asked = trunk.constraints or Constraints()
    said: dict[str, Any] = {key: getattr(asked, key) for key in asked.model_fields_set}
    for part in parts:
        if part in scenario.paths or part in scenario.trunks:
            kind = "path" if part in scenario.paths else "trunk"
            message = f"demand {part} needs a path and a trunk of its name, but there is a {kind}"
            problems.add("duplicate-name", ("trunks", name, "demands"), message, at_key=True)
            return
        made: dict[str, Any] = {"route": (AUTO,), "from_": offered.source, "to": offered.target}
        scenario.paths[part] = Path.model_construct(None, **made, **said)
        kept: dict[str, Any] = {"dscp": trunk.dscp} if trunk.dscp is not None else {}
        scenario.trunks[part] = Trunk.model_construct(None, path=part, flows=(part,), **kept)
        for section in ("paths", "trunks", "flows", "demands"):
            scenario.origins[section, part] = ("trunks", name)


def _split(demand: str, offered: Offered, parts: int) -> dict[str, Offered]:
    share, rest = divmod(offered.rate, parts)
    return {
        demand if index == 0 else f"{demand}.{index + 1}": Offered(
            offered.source, offered.target, share + (index < rest), offered.class_
        )
        for index in range(parts)
    }


def _replaced(
    demands: dict[str, Offered], name: str, parts: dict[str, Offered]
) -> dict[str, Offered]:
    """The demands with one of them in parts, at its place."""
    result: dict[str, Offered] = {}
    for key, each in demands.items():
        result |= parts if key == name else {key: each}
    return result


def _sum_up(scenario: Resolved, path: str, demands: list[str], types: dict[str, int]) -> None:
    rate, type_ = scenario.reserved.get(path, (0, 0))
    for name in demands:
        if name in scenario.demands:
            rate += scenario.demands[name].rate
            type_ = max(type_, types.get(scenario.demands[name].class_, 0))
    scenario.reserved[path] = (rate, type_)


def _needless(name: str, trunk: Trunk, problems: Problems) -> None:
    for key in ("split", "constraints"):
        if key in trunk.model_fields_set:
            message = f"{key} has a meaning with `path: auto` alone"
            problems.add("relation", ("trunks", name, key), message, at_key=True)
