"""Checks of Differentiated Services on paths: kinds, maps, models, and what the paths carry."""

from trunkline.scenario.diagnostic import Path
from trunkline.scenario.diffserv import TCS, DiffServ
from trunkline.scenario.dscp import dscp_name
from trunkline.scenario.path import Trunk
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved import Resolved


def check(scenario: Resolved, problems: Problems) -> None:
    """Checks what all paths say of Differentiated Services."""
    before = len(problems.found)
    default = scenario.written.defaults.diffserv
    if default is not None and default.kind == "l-lsp":
        problems.add(
            "relation",
            ("defaults", "diffserv", "kind"),
            "the default of all paths is an E-LSP: the label of an L-LSP stands for one class",
            hint="give the kind and scheduling class on each path",
        )
        return
    _mixed_rules(scenario, problems)
    for name, path in scenario.paths.items():
        its = path.diffserv
        if its is not None:
            at: Path = ("paths", name)
            written = scenario.written.paths.get(name, path)
            _one(its, (*at, "diffserv") if written.diffserv is not None else at, problems)
            _ends(scenario, name, its, problems)
    if len(problems.found) > before:
        return
    _explicit_nulls(scenario, problems)
    _riders(scenario, problems)
    marked, carried = _marked(scenario), _Carried(scenario)
    for name in scenario.paths:
        if name in scenario.routes:
            _complete(carried, name, marked, problems)


def _one(its: DiffServ, at: Path, problems: Problems) -> None:
    """Keys of one path that must agree."""
    if its.kind == "l-lsp":
        if its.scheduling_class is None:
            problems.add(
                "missing-key",
                (*at, "kind"),
                "an L-LSP needs a scheduling class, which its label stands for",
                hint="add `scheduling_class: AF1`",
            )
        if its.map is not None:
            problems.add(
                "relation",
                (*at, "map"),
                "an L-LSP has no map: its TC is the drop precedence (RFC 3270 section 4.4.1)",
                at_key=True,
            )
    elif its.scheduling_class is not None:
        problems.add(
            "relation",
            (*at, "scheduling_class"),
            "an E-LSP has no scheduling class: its TC tells the whole PHB",
            at_key=True,
        )
    elif its.map is None and its.model != "short-pipe":
        problems.add(
            "relation",
            (*at, "model"),
            f"the {its.model} model needs a map: its egress must know which PHB a TC stands for",
            hint="add `map: {EF: 5, AF11: 1, DF: 0}`",
        )
    if its.linux_tc_zero and its.model != "short-pipe":
        problems.add(
            "relation",
            (*at, "model"),
            "Linux forwards by the DSCP where a path ends: with linux_tc_zero the model is "
            "short-pipe",
        )


def _ends(scenario: Resolved, name: str, its: DiffServ, problems: Problems) -> None:
    """The egress of a pipe must see the label (RFC 3270 section 2.6.2)."""
    path = scenario.paths[name]
    if its.model == "pipe" and path.php and not path.explicit_null:
        problems.add(
            "relation",
            ("paths", name, "diffserv", "model"),
            "the egress of a pipe forwards by the TC of a label that penultimate-hop popping "
            "takes off before",
            hint="add `php: false` or `explicit_null: true` to the path, or use short-pipe",
        )


def _explicit_nulls(scenario: Resolved, problems: Problems) -> None:
    """Label 0 says nothing of its path: what all do that end at a node with it must be one."""
    first: dict[str, str] = {}
    for name, path in scenario.paths.items():
        if not path.explicit_null or not path.route:
            continue
        other = first.setdefault(path.route[-1], name)
        if _egress(scenario.paths[other].diffserv) != _egress(scenario.paths[name].diffserv):
            problems.add(
                "relation",
                ("paths", name, "diffserv"),
                f"paths {other} and {name} both end at {path.route[-1]} with explicit null: their "
                "map and model must be the same",
                at_key=True,
                related=((("paths", other), "the other"),),
            )


def _egress(its: DiffServ | None) -> object:
    if its is None or its.model == "short-pipe":
        return None
    return its.model, its.dscp_of_tc()


def _mixed_rules(scenario: Resolved, problems: Problems) -> None:
    """A port that looks at flows and paths knows one path of each flow."""
    rides: dict[str, int] = {}
    for trunk in scenario.trunks.values():
        for flow in trunk.flows:
            rides[flow] = rides.get(flow, 0) + 1
    several = next((flow for flow, count in rides.items() if count > 1), None)
    if several is None:
        return
    told = any(scenario.tells_phb(name) for name in scenario.paths)
    for name, port in scenario.ports.items():
        by_flow = port.per == "flow" or any(
            rule.flow or rule.source or rule.destination or rule.protocol for rule in port.classify
        )
        by_path = any(
            rule.trunk or rule.path or (told and rule.dscp is not None) for rule in port.classify
        )
        if by_flow and by_path:
            problems.add(
                "classify",
                ("ports", name, "classify"),
                f"flow {several} rides several trunks by DSCP: rules cannot look at flows and at "
                "paths or PHBs at once",
                hint="tell packets apart by DSCP alone",
                at_key=True,
            )


def _riders(scenario: Resolved, problems: Problems) -> None:
    """A uniform tunnel writes TCs below: all that ride it must mean the same by them."""
    first: dict[str, str] = {}
    for name, path in scenario.paths.items():
        for index, tunnel in enumerate(path.through):
            its = scenario.paths[tunnel].diffserv if tunnel in scenario.paths else None
            if its is None or its.model != "uniform":
                continue
            other = first.setdefault(tunnel, name)
            if _tcs(scenario, other) != _tcs(scenario, name):
                problems.add(
                    "relation",
                    ("paths", name, "through", index),
                    f"paths {other} and {name} ride {tunnel}, whose model is uniform: their maps "
                    "must be the same",
                    related=((("paths", other), "the other"),),
                )


def _tcs(scenario: Resolved, name: str) -> object:
    its = scenario.paths[name].diffserv
    return None if its is None else (its.tcs(), its.dscp_of_tc())


class _Carried:
    """What the scenario says that paths carry."""

    def __init__(self, scenario: Resolved) -> None:
        self.scenario = scenario
        self.trunks: dict[str | None, list[Trunk]] = {}
        self.chosen: dict[str, set[int]] = {}
        """Of each flow the DSCPs that some trunk carries by name."""
        for trunk in scenario.trunks.values():
            for path in {trunk.path, trunk.reverse}:
                self.trunks.setdefault(path, []).append(trunk)
            for flow in trunk.flows:
                self.chosen.setdefault(flow, set()).update(trunk.dscp or ())

    def by_flows(self, path: str) -> dict[int, str]:
        """DSCPs of the flows that a path carries, each with a flow that has it."""
        result: dict[int, str] = {}
        for trunk in self.trunks.get(path, ()):
            for each in trunk.flows:
                base = self.scenario.declared(each)
                if base not in self.scenario.flows:
                    continue
                dscp = self.scenario.flows[base].dscp
                left = dscp not in self.chosen.get(each, ())
                if left if trunk.dscp is None else dscp in trunk.dscp:
                    result.setdefault(dscp, each)
        return result

    def by_name(self, path: str) -> set[int]:
        """DSCPs for which trunks choose a path."""
        return {dscp for trunk in self.trunks.get(path, ()) for dscp in trunk.dscp or ()}


def _marked(scenario: Resolved) -> dict[int, str]:
    """DSCPs that conditioners in use may write, each with a conditioner that does."""
    result: dict[int, str] = {}
    for arc in scenario.arcs:
        for name in (arc.options.conditioner, arc.options.ingress):
            conditioner = scenario.conditioners.get(name) if name is not None else None
            for profile in conditioner.profiles.values() if conditioner is not None else ():
                for action in (profile.green, profile.yellow, profile.red):
                    if action.dscp is not None:
                        result.setdefault(action.dscp, str(name))
    return result


def _complete(carried: _Carried, name: str, marked: dict[int, str], problems: Problems) -> None:
    """Every DSCP that a path carries must be one of its own."""
    its = carried.scenario.paths[name].diffserv
    if its is None or (known := its.tc_of_dscp()) is None:
        return
    needed = {dscp: f"flow {flow}" for dscp, flow in carried.by_flows(name).items()}
    for dscp in carried.by_name(name):
        if dscp in marked:
            needed.setdefault(dscp, f"conditioner {marked[dscp]}")
    at: Path = ("paths", name, "diffserv")
    for dscp in sorted(set(needed) - set(known)):
        said = dscp_name(dscp)
        if its.kind == "l-lsp":
            message = f"DSCP {said} of {needed[dscp]} is not in scheduling class"
            message += f" {its.scheduling_class}, the only one of this L-LSP"
            problems.add("relation", (*at, "scheduling_class"), message)
        else:
            problems.add(
                "relation",
                (*at, "map"),
                f"the map has no TC for DSCP {said} of {needed[dscp]}",
                hint=f"add `{said}: n`, n from 0 to {TCS - 1}",
                at_key=True,
            )
