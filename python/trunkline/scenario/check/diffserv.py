"""Checks of Differentiated Services on paths: kinds, maps, models, and the carried DSCPs."""

from trunkline.scenario.check.paths import check_explicit_nulls
from trunkline.scenario.diagnostic import DocumentPath
from trunkline.scenario.diffserv import TC_COUNT, DiffServ
from trunkline.scenario.dscp import get_dscp_name
from trunkline.scenario.path import LabelSwitchedPath, Trunk
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved import ResolvedScenario


def check(scenario: ResolvedScenario, problems: Problems) -> None:
    """Check the DiffServ keys of all paths."""
    before = len(problems.findings)
    default = scenario.written.defaults.diffserv
    if default is not None and default.kind == "l-lsp":
        problems.add(
            "relation",
            ("defaults", "diffserv", "kind"),
            "the default of all paths is an E-LSP: the label of an L-LSP stands for one class",
            hint="give the kind and scheduling class on each path",
        )
        return
    _check_mixed_rules(scenario, problems)
    for name, path in scenario.paths.items():
        diffserv = path.diffserv
        if diffserv is not None:
            element_path: DocumentPath = ("paths", name)
            written = scenario.written.paths.get(name, path)
            _check_diffserv(
                diffserv,
                (*element_path, "diffserv") if written.diffserv is not None else element_path,
                problems,
            )
            _check_pipe_end(scenario, name, diffserv, problems)
    if len(problems.findings) > before:
        return
    check_explicit_nulls(scenario, "diffserv", "map and model", _get_egress_behaviour, problems)
    _check_riders(scenario, problems)
    marked, carried = _find_remarked_dscps(scenario), _CarriedDscps(scenario)
    for name in scenario.paths:
        if name in scenario.routes:
            _check_map_complete(carried, name, marked, problems)


def _check_diffserv(diffserv: DiffServ, element_path: DocumentPath, problems: Problems) -> None:
    """Check the keys of one path that must agree."""
    if diffserv.kind == "l-lsp":
        if diffserv.scheduling_class is None:
            message = "an L-LSP needs a scheduling class, which its label stands for"
            problems.add(
                "missing-key", (*element_path, "kind"), message, hint="add `scheduling_class: AF1`"
            )
        if diffserv.map is not None:
            message = "an L-LSP has no map: its TC is the drop precedence (RFC 3270 section 4.4.1)"
            problems.add("relation", (*element_path, "map"), message, at_key=True)
    elif diffserv.scheduling_class is not None:
        message = "an E-LSP has no scheduling class: its TC selects the whole PHB"
        problems.add("relation", (*element_path, "scheduling_class"), message, at_key=True)
    elif diffserv.map is None and diffserv.model != "short-pipe":
        problems.add(
            "relation",
            (*element_path, "model"),
            f"the {diffserv.model} model needs a map: its egress "
            f"must know which PHB a TC stands for",
            hint="add `map: {EF: 5, AF11: 1, DF: 0}`",
        )
    if diffserv.linux_tc_zero and diffserv.model != "short-pipe":
        message = (
            "Linux forwards by the DSCP where a path ends: with linux_tc_zero the model is "
            "short-pipe"
        )
        problems.add("relation", (*element_path, "model"), message)


def _check_pipe_end(
    scenario: ResolvedScenario, name: str, diffserv: DiffServ, problems: Problems
) -> None:
    """The egress of a pipe must see the label (RFC 3270 section 2.6.2)."""
    path = scenario.paths[name]
    if diffserv.model == "pipe" and path.php and not path.explicit_null:
        problems.add(
            "relation",
            ("paths", name, "diffserv", "model"),
            "the egress of a pipe forwards by the TC of a label that penultimate-hop popping "
            "takes off before",
            hint="add `php: false` or `explicit_null: true` to the path, or use short-pipe",
        )


def _get_egress_behaviour(path: LabelSwitchedPath) -> object:
    diffserv = path.diffserv
    if diffserv is None or diffserv.model == "short-pipe":
        return None
    return diffserv.model, diffserv.list_dscps_by_tc()


def _check_mixed_rules(scenario: ResolvedScenario, problems: Problems) -> None:
    """A port that looks at flows and paths knows one path of each flow."""
    rides: dict[str, int] = {}
    for trunk in scenario.trunks.values():
        for flow in trunk.flows:
            rides[flow] = rides.get(flow, 0) + 1
    several = next((flow for flow, count in rides.items() if count > 1), None)
    if several is None:
        return
    has_phb_labels = any(scenario.has_phb_labels(name) for name in scenario.paths)
    for name, port in scenario.ports.items():
        by_flow = port.per == "flow" or any(
            rule.flow or rule.source or rule.destination or rule.protocol for rule in port.classify
        )
        by_path = any(
            rule.trunk or rule.path or (has_phb_labels and rule.dscp is not None)
            for rule in port.classify
        )
        if by_flow and by_path:
            problems.add(
                "classify",
                ("ports", name, "classify"),
                f"flow {several} rides several trunks by DSCP: rules cannot look at flows and at "
                "paths or PHBs at once",
                hint="select packets by DSCP alone",
                at_key=True,
            )


def _check_riders(scenario: ResolvedScenario, problems: Problems) -> None:
    """A uniform tunnel writes TCs below: all that ride it must mean the same by them."""
    first: dict[str, str] = {}
    for name, path in scenario.paths.items():
        for index, tunnel in enumerate(path.through):
            diffserv = scenario.paths[tunnel].diffserv if tunnel in scenario.paths else None
            if diffserv is None or diffserv.model != "uniform":
                continue
            other = first.setdefault(tunnel, name)
            if _get_maps(scenario, other) != _get_maps(scenario, name):
                problems.add(
                    "relation",
                    ("paths", name, "through", index),
                    f"paths {other} and {name} ride {tunnel}, whose model is uniform: their maps "
                    "must be the same",
                    related=((("paths", other), "the other"),),
                )


def _get_maps(scenario: ResolvedScenario, name: str) -> object:
    diffserv = scenario.paths[name].diffserv
    return None if diffserv is None else (diffserv.list_tcs_by_dscp(), diffserv.list_dscps_by_tc())


class _CarriedDscps:
    """DSCPs that paths carry, as the scenario states them."""

    def __init__(self, scenario: ResolvedScenario) -> None:
        self.scenario = scenario
        self.trunks_of_path: dict[str | None, list[Trunk]] = {}
        self.dscps_of_flow: dict[str, set[int]] = {}
        """DSCPs of each flow that some trunk carries by name."""
        for trunk in scenario.trunks.values():
            for path in {trunk.path, trunk.reverse}:
                self.trunks_of_path.setdefault(path, []).append(trunk)
            for flow in trunk.flows:
                self.dscps_of_flow.setdefault(flow, set()).update(trunk.dscp or ())

    def list_flow_dscps(self, path: str) -> dict[int, str]:
        """List the DSCPs of the flows that a path carries, each with a flow that has it."""
        result: dict[int, str] = {}
        for trunk in self.trunks_of_path.get(path, ()):
            for each in trunk.flows:
                base = self.scenario.get_declared_name(each)
                if base not in self.scenario.flows:
                    continue
                dscp = self.scenario.flows[base].dscp
                left = dscp not in self.dscps_of_flow.get(each, ())
                if left if trunk.dscp is None else dscp in trunk.dscp:
                    result.setdefault(dscp, each)
        return result

    def list_trunk_dscps(self, path: str) -> set[int]:
        """List the DSCPs for which trunks choose a path."""
        return {dscp for trunk in self.trunks_of_path.get(path, ()) for dscp in trunk.dscp or ()}


def _find_remarked_dscps(scenario: ResolvedScenario) -> dict[int, str]:
    """Find the DSCPs that conditioners in use may write, each with a conditioner that does."""
    result: dict[int, str] = {}
    for arc in scenario.arcs:
        for name in (arc.options.conditioner, arc.options.ingress):
            conditioner = scenario.conditioners.get(name) if name is not None else None
            for profile in conditioner.profiles.values() if conditioner is not None else ():
                for action in (profile.green, profile.yellow, profile.red):
                    if action.dscp is not None:
                        result.setdefault(action.dscp, str(name))
    return result


def _check_map_complete(
    carried: _CarriedDscps, name: str, marked: dict[int, str], problems: Problems
) -> None:
    """Check every DSCP that a path carries must be one of its own."""
    diffserv = carried.scenario.paths[name].diffserv
    if diffserv is None or (tc_of_dscp := diffserv.get_tc_by_dscp()) is None:
        return
    needed = {dscp: f"flow {flow}" for dscp, flow in carried.list_flow_dscps(name).items()}
    for dscp in carried.list_trunk_dscps(name):
        if dscp in marked:
            needed.setdefault(dscp, f"conditioner {marked[dscp]}")
    element_path: DocumentPath = ("paths", name, "diffserv")
    for dscp in sorted(set(needed) - set(tc_of_dscp)):
        shown_dscp = get_dscp_name(dscp)
        if diffserv.kind == "l-lsp":
            message = f"DSCP {shown_dscp} of {needed[dscp]} is not in scheduling class"
            message += f" {diffserv.scheduling_class}, the only one of this L-LSP"
            problems.add("relation", (*element_path, "scheduling_class"), message)
        else:
            problems.add(
                "relation",
                (*element_path, "map"),
                f"the map has no TC for DSCP {shown_dscp} of {needed[dscp]}",
                hint=f"add `{shown_dscp}: n`, n from 0 to {TC_COUNT - 1}",
                at_key=True,
            )
