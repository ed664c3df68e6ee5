"""Trunks of demands: a path for each where asked, and the demands that ride a path together."""

import itertools
from collections.abc import Mapping
from typing import Any

from trunkline.scenario.diagnostic import DocumentPath as Place
from trunkline.scenario.fields import ALL, AUTO
from trunkline.scenario.path import LabelSwitchedPath, Trunk
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved.resolved import ResolvedDemand, ResolvedScenario
from trunkline.scenario.te import CLASS_TYPE_NAMES, RouteConstraints


def expand_meshes(scenario: ResolvedScenario, problems: Problems) -> None:
    """Write out trunks with `path: auto`, put demands among flows, and sum up bandwidths."""
    types = {
        class_: CLASS_TYPE_NAMES.index(type_)
        for type_, classes in scenario.written.te.class_types.items()
        for class_ in classes
    }
    demands_by_origin: dict[str, list[str]] = {}
    for demand in scenario.demands:
        demands_by_origin.setdefault(str(scenario.origins["demands", demand][1]), []).append(demand)
    for name, trunk in list(scenario.trunks.items()):
        members = _list_demands_of_trunk(scenario, name, trunk, demands_by_origin, problems)
        if trunk.path == AUTO:
            del scenario.trunks[name]
            for demand in members:
                _add_paths_of_demand(scenario, name, trunk, demand, problems)
        elif members:
            _add_bandwidths(scenario, trunk.path, members, types)
            flows = (*trunk.flows, *members)
            scenario.trunks[name] = trunk.model_copy(update={"flows": flows})
        if trunk.path != AUTO:
            _report_needless_keys(name, trunk, problems)
    for name, trunk in scenario.trunks.items():
        if ("trunks", name) in scenario.origins:
            _add_bandwidths(scenario, trunk.path, list(trunk.flows), types)
    for name, path in scenario.paths.items():
        bandwidth, type_ = scenario.get_reservation(name)
        own_type = None if path.class_type is None else CLASS_TYPE_NAMES.index(path.class_type)
        rate = bandwidth if path.bandwidth is None else path.bandwidth
        scenario.reservations[name] = (rate, type_ if own_type is None else own_type)


def _list_demands_of_trunk(
    scenario: ResolvedScenario,
    name: str,
    trunk: Trunk,
    demands_by_origin: Mapping[str, list[str]],
    problems: Problems,
) -> list[str]:
    """List the names of the demands of a trunk; `all` and tables are replaced by their demands."""
    demand_names: list[str] = []
    section_path: Place = ("trunks", name, "demands")
    for index, each in enumerate(trunk.demands):
        if each == ALL:
            demand_names += scenario.demands
        elif each in scenario.demands:
            demand_names.append(each)
        elif each in demands_by_origin:
            demand_names += demands_by_origin[each]
        elif each not in scenario.written.demands:
            problems.add_unknown((*section_path, index), "demand", each, scenario.written.demands)
    if not trunk.flows and not trunk.demands:
        message = "a trunk carries flows or demands: it names neither"
        problems.add("missing-key", ("trunks", name, "flows"), message, at_key=True)
    return list(dict.fromkeys(demand_names))


def _add_paths_of_demand(
    scenario: ResolvedScenario, name: str, trunk: Trunk, demand: str, problems: Problems
) -> None:
    """A path and a trunk for a demand, or for each of its parts."""
    resolved_demand = scenario.demands[demand]
    parts = {demand: resolved_demand}
    if trunk.split > 1:
        parts = _split_demand(scenario, demand, trunk.split)
        names_taken = [part for part in parts if part != demand and part in scenario.demands]
        if names_taken:
            message = f"a part of demand {demand} is called as demand {names_taken[0]} is"
            related = ((("demands", names_taken[0]), "this demand"),)
            problems.add("duplicate-name", ("trunks", name, "split"), message, related=related)
            return
        scenario.demands = _replace_demand(scenario.demands, demand, parts)
    constraints = trunk.constraints or RouteConstraints()
    constraint_keys: dict[str, Any] = {
        key: getattr(constraints, key) for key in constraints.model_fields_set
    }
    for part in parts:
        if part in scenario.paths or part in scenario.trunks:
            kind = "path" if part in scenario.paths else "trunk"
            message = f"demand {part} needs a path and a trunk of its name, but there is a {kind}"
            section = f"{kind}s"
            is_made = (section, part) in scenario.origins
            remark = "made by this trunk" if is_made else f"this {kind}"
            problems.add(
                "duplicate-name",
                ("trunks", name, "demands"),
                message,
                at_key=True,
                related=(((section, part), remark),),
            )
            return
        path_keys: dict[str, Any] = {
            "route": (AUTO,),
            "from_": resolved_demand.source,
            "to": resolved_demand.target,
        }
        scenario.paths[part] = LabelSwitchedPath.model_construct(
            None, **path_keys, **constraint_keys
        )
        trunk_keys: dict[str, Any] = {"dscp": trunk.dscp} if trunk.dscp is not None else {}
        scenario.trunks[part] = Trunk.model_construct(None, path=part, flows=(part,), **trunk_keys)
        for section in ("paths", "trunks", "demands"):
            scenario.origins[section, part] = ("trunks", name)


def _split_demand(scenario: ResolvedScenario, demand: str, parts: int) -> dict[str, ResolvedDemand]:
    """Divide a demand into ``A-B``, ``A-B.2`` and so on, without the names of rows of tables."""
    resolved_demand = scenario.demands[demand]
    share, remainder = divmod(resolved_demand.rate, parts)
    numbered = (f"{demand}.{number}" for number in itertools.count(2))
    free_names = (
        name
        for name in numbered
        if name not in scenario.demands or name in scenario.written.demands
    )
    names = [demand, *itertools.islice(free_names, parts - 1)]
    return {
        name: ResolvedDemand(
            resolved_demand.source,
            resolved_demand.target,
            share + (index < remainder),
            resolved_demand.class_,
        )
        for index, name in enumerate(names)
    }


def _replace_demand(
    demands: dict[str, ResolvedDemand], name: str, parts: dict[str, ResolvedDemand]
) -> dict[str, ResolvedDemand]:
    """The demands with one of them in parts, at its place."""
    result: dict[str, ResolvedDemand] = {}
    for key, each in demands.items():
        result |= parts if key == name else {key: each}
    return result


def _add_bandwidths(
    scenario: ResolvedScenario, path: str, demands: list[str], types: dict[str, int]
) -> None:
    rate, type_ = scenario.get_reservation(path)
    for name in demands:
        if name in scenario.demands:
            rate += scenario.demands[name].rate
            type_ = max(type_, types.get(scenario.demands[name].class_, 0))
    scenario.reservations[path] = (rate, type_)


def _report_needless_keys(name: str, trunk: Trunk, problems: Problems) -> None:
    for key in ("split", "constraints"):
        if key in trunk.model_fields_set:
            message = f"{key} has a meaning with `path: auto` alone"
            problems.add("relation", ("trunks", name, key), message, at_key=True)
