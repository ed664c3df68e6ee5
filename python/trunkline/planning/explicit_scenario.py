"""A scenario with every route and backup written out, as readable text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from trunkline.scenario.diagnostic import escape_unprintable
from trunkline.scenario.fields import AUTO
from trunkline.scenario.loader import load_text
from trunkline.scenario.model import LANGUAGE_VERSION
from trunkline.scenario.resolved.placement import unplaced_paths_allowed
from trunkline.scenario.yaml_text import format_one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trunkline.scenario import Scenario
    from trunkline.scenario.resolved import ResolvedScenario

ELEMENT_SECTIONS = frozenset(("nodes", "links", "ports", "conditioners", "paths", "trunks")) | {
    *("flows", "demands", "traffic", "failures", "maintenance", "protections", "slas")
}
AUTO_ROUTE_KEYS = frozenset(("from", "to", "minimise", "include_any", "include_all", "exclude")) | {
    *("via", "max_hops", "max_delay", "disjoint_from")
}
"""Keys of a path that have a meaning with `route: auto` alone."""


def write_explicit_scenario(
    scenario: Scenario,
    *,
    remarks: Sequence[str] = (),
    routes: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Write a scenario with computed values in place of `auto`.

    routes: Routes of paths that replace the computed ones. Routes of computed backups are ignored:
        they follow from the others.
    Returns: YAML; placing it again gives the same paths.
    """
    scenario = rerouted(scenario, routes or {})
    resolved = scenario.resolve()
    data = scenario.to_document()
    data["paths"] = collect_paths(resolved, data.get("paths", {}))
    data["protections"] = _collect_protections(resolved, data.get("protections", {}))
    data["trunks"] = collect_trunks(resolved, data.get("trunks", {}))
    return format_scenario_yaml(scenario, data, remarks)


def rerouted(scenario: Scenario, routes: Mapping[str, Sequence[str]]) -> Scenario:
    """Replace computed routes of a scenario and compute its backups for the new ones.

    The scenario itself is returned if no route differs.
    """
    resolved = scenario.resolve()
    own = {
        name: path.model_copy(update={"route": tuple(routes.get(name, path.route))})
        for name, path in resolved.paths.items()
        if resolved.origins.get(("paths", name), ("paths",))[0] != "protections"
    }
    if all(resolved.paths[name].route == path.route for name, path in own.items()):
        return scenario
    data = scenario.to_document()
    data["paths"] = collect_paths(replace(resolved, paths=own), data.get("paths", {}))
    data["trunks"] = collect_trunks(resolved, data.get("trunks", {}))
    origin = scenario._origin
    with unplaced_paths_allowed():
        content = format_scenario_yaml(scenario, data, ())
        return load_text(type(scenario), content, origin.file, origin.folder, {}, False)


def collect_paths(resolved: ResolvedScenario, written: Mapping[str, Any]) -> dict[str, Any]:
    """Collect the documents of all paths, with computed routes written out."""
    paths = {}
    for name, path in resolved.paths.items():
        if name in written and written[name].get("route") != [AUTO]:
            paths[name] = written[name]
            continue
        path_data = path.to_document()
        if path.segments:
            paths[name] = {
                key: path_data[key] for key in ("from", "segments", "ttl") if key in path_data
            }
            continue
        # Defaults are in their own section.
        if name not in written or "diffserv" not in written[name]:
            path_data.pop("diffserv", None)
        paths[name] = {"route": list(path.route)} | {
            key: value for key, value in path_data.items() if key not in AUTO_ROUTE_KEYS | {"route"}
        }
    return paths


def _collect_protections(resolved: ResolvedScenario, written: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: written.get(name) or protection.to_document()
        for name, protection in resolved.protections.items()
    }


def collect_trunks(resolved: ResolvedScenario, written: Mapping[str, Any]) -> dict[str, Any]:
    """Collect the documents of all trunks, with the paths of computed ones named."""
    trunks = {}
    for name, trunk in resolved.trunks.items():
        if name in written and written[name]["path"] != AUTO:
            trunks[name] = {
                key: value
                for key, value in written[name].items()
                if key != "reverse" or trunk.reverse is not None
            }
            continue
        trunk_data = trunk.to_document()
        trunks[name] = {"path": trunk.path, "demands": list(trunk.flows)} | {
            key: value for key, value in trunk_data.items() if key not in ("path", "flows")
        }
    return trunks


def format_scenario_yaml(scenario: Scenario, data: dict[str, Any], remarks: Sequence[str]) -> str:
    """Format the data of a scenario as readable YAML, one element a line.

    Demands that the scenario splits are written out in their parts.
    """
    replaced: dict[str, Any] = {}
    if any(trunk.split > 1 for trunk in scenario.trunks.values()):
        replaced["demands"] = {
            name: {"from": demand.source, "to": demand.target, "rate": f"{demand.rate} bit/s"}
            | {"class": demand.class_}
            for name, demand in scenario.resolve().get_unscaled().demands.items()
        }
    data = {"trunkline": LANGUAGE_VERSION} | {
        key: (data | replaced)[key] for key in type(scenario).model_fields if key in data
    }
    lines = [f"# {escape_unprintable(' '.join(demand.split()))}" for demand in remarks]
    for key, value in data.items():
        if key in ELEMENT_SECTIONS and isinstance(value, dict) and value:
            lines += ["", f"{key}:"]
            lines += [
                f"  {format_one_line(name)}: {format_one_line(demand)}"
                for name, demand in value.items()
            ]
        # Empty options, such as `rerouting: {}`, switch something on.
        elif value != [] and not (value == {} and key in ELEMENT_SECTIONS):
            lines.append(f"{key}: {format_one_line(value)}")
    return "\n".join(lines) + "\n"
