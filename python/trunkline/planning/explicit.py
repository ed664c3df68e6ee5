"""A scenario with every route and backup written out, as readable text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from trunkline.scenario.diagnostic import printable
from trunkline.scenario.loader import load_text
from trunkline.scenario.model import FORMAT
from trunkline.scenario.path import AUTO
from trunkline.scenario.resolved.placement import unplaced_paths_allowed
from trunkline.scenario.text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trunkline.scenario import Scenario
    from trunkline.scenario.resolved import Resolved

SECTIONS = frozenset(("nodes", "links", "ports", "conditioners", "paths", "trunks")) | {
    *("flows", "demands", "traffic", "failures", "protections", "slas")
}
COMPUTED = frozenset(("from", "to", "minimise", "include_any", "include_all", "exclude")) | {
    *("via", "max_hops", "max_delay", "disjoint_from")
}
"""Keys of a path that have a meaning with `route: auto` alone."""


def explicit(
    scenario: Scenario,
    *,
    remarks: Sequence[str] = (),
    routes: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Write a scenario with what was computed in place of `auto`.

    Parameters
    ----------
    routes : mapping of str to sequence of str, optional
        Routes of paths in place of those that were computed. Those of computed backups are not
        looked at: they follow from the others.

    Returns
    -------
    str
        YAML; placing it again gives the same paths.
    """
    scenario = rerouted(scenario, routes or {})
    its = scenario.resolved()
    data = scenario.to_document()
    data["paths"] = _paths(its, data.get("paths", {}))
    data["protections"] = _protections(its, data.get("protections", {}))
    data["trunks"] = _trunks(its, data.get("trunks", {}))
    return text(scenario, data, remarks)


def rerouted(scenario: Scenario, routes: Mapping[str, Sequence[str]]) -> Scenario:
    """A scenario with other routes in place of those that were computed.

    Returns
    -------
    Scenario
        Its routes are written out, and its backups are computed for them; the same scenario where
        no route is another.
    """
    its = scenario.resolved()
    own = {
        name: path.model_copy(update={"route": tuple(routes.get(name, path.route))})
        for name, path in its.paths.items()
        if its.origins.get(("paths", name), ("paths",))[0] != "protections"
    }
    if all(its.paths[name].route == path.route for name, path in own.items()):
        return scenario
    data = scenario.to_document()
    data["paths"] = _paths(replace(its, paths=own), data.get("paths", {}))
    data["trunks"] = _trunks(its, data.get("trunks", {}))
    origin = scenario._origin
    with unplaced_paths_allowed():
        content = text(scenario, data, ())
        return load_text(type(scenario), content, origin.file, origin.folder, {}, False)


def _paths(its: Resolved, written: Mapping[str, Any]) -> dict[str, Any]:
    paths = {}
    for name, path in its.paths.items():
        if name in written and written[name].get("route") != [AUTO]:
            paths[name] = written[name]
            continue
        said = path.to_document()
        if path.segments:
            paths[name] = {key: said[key] for key in ("from", "segments", "ttl") if key in said}
            continue
        # Defaults stand in the section of defaults.
        if name not in written or "diffserv" not in written[name]:
            said.pop("diffserv", None)
        paths[name] = {"route": list(path.route)} | {
            key: value for key, value in said.items() if key not in COMPUTED | {"route"}
        }
    return paths


def _protections(its: Resolved, written: Mapping[str, Any]) -> dict[str, Any]:
    return {name: written.get(name) or each.to_document() for name, each in its.protections.items()}


def _trunks(its: Resolved, written: Mapping[str, Any]) -> dict[str, Any]:
    trunks = {}
    for name, trunk in its.trunks.items():
        if name in written and written[name]["path"] != AUTO:
            trunks[name] = {
                key: value
                for key, value in written[name].items()
                if key != "reverse" or trunk.reverse is not None
            }
            continue
        said = trunk.to_document()
        trunks[name] = {"path": trunk.path, "demands": list(trunk.flows)} | {
            key: value for key, value in said.items() if key not in ("path", "flows")
        }
    return trunks


def text(scenario: Scenario, data: dict[str, Any], remarks: Sequence[str]) -> str:
    """A scenario's data as readable YAML, an element a line.

    Parameters
    ----------
    scenario : Scenario
        Where it comes from. Demands that it splits are written out in their parts.
    """
    parts: dict[str, Any] = {}
    if any(trunk.split > 1 for trunk in scenario.trunks.values()):
        parts["demands"] = {
            name: {"from": each.source, "to": each.target, "rate": f"{each.rate} bit/s"}
            | {"class": each.class_}
            for name, each in scenario.resolved().unscaled().demands.items()
        }
    data = {"trunkline": FORMAT} | {
        key: (data | parts)[key] for key in type(scenario).model_fields if key in data
    }
    lines = [f"# {printable(' '.join(each.split()))}" for each in remarks]
    for key, value in data.items():
        if key in SECTIONS and isinstance(value, dict) and value:
            lines += ["", f"{key}:"]
            lines += [f"  {one_line(name)}: {one_line(each)}" for name, each in value.items()]
        elif value not in ({}, []):
            lines.append(f"{key}: {one_line(value)}")
    return "\n".join(lines) + "\n"
