"""Checks of service level agreements: whom they are for, and that they say something."""

from trunkline.scenario.call import CODECS
from trunkline.scenario.diagnostic import DocumentPath
from trunkline.scenario.dscp import get_dscp_name
from trunkline.scenario.fields import ALL
from trunkline.scenario.flow import Tcp, Udp
from trunkline.scenario.problems import Problems, format_names
from trunkline.scenario.resolved import ResolvedScenario
from trunkline.scenario.sla import Sla


def check(scenario: ResolvedScenario, problems: Problems) -> None:
    """Check all agreements."""
    dscps_sent = {scenario.flows[name].dscp for name in scenario.flows}
    for name, sla in scenario.slas.items():
        path = ("slas", name)
        if (sla.flow is None) == (sla.dscp is None):
            message = "an SLA is for `flow` or for `dscp`: one of them"
            problems.add("relation", path, message, at_key=True)
        for position, flow in enumerate(sla.flow or ()):
            if flow != ALL and not scenario.has_flow(flow):
                problems.add_unknown((*path, "flow", position), "flow", flow, scenario.flows)
        if sla.dscp is not None and sla.dscp not in dscps_sent:
            problems.add(
                "reference",
                (*path, "dscp"),
                f"no flow sends with DSCP {get_dscp_name(sla.dscp)}",
                allowed=format_names([str(get_dscp_name(each)) for each in sorted(dscps_sent)]),
            )
        _check_flow_measures(scenario, sla, path, problems)
        if sla.at_least.mos is not None:
            _check_calls(scenario, sla, (*path, "at_least", "mos"), problems)
        if not (sla.at_most.model_fields_set or sla.at_least.model_fields_set):
            problems.add(
                "relation",
                path,
                "an SLA without a bound promises nothing",
                hint="add `at_most: {delay_p99: 20 ms}` or `at_least: {goodput: 1 Mbit/s}`",
                at_key=True,
            )


def _check_flow_measures(
    scenario: ResolvedScenario, sla: Sla, path: DocumentPath, problems: Problems
) -> None:
    """Check that bounds on times of transfers and pages are for flows that have them."""
    for measure in sorted(sla.at_most.model_fields_set):
        kind = "video" if measure in ("stall", "start_up") else measure.partition("_")[0]
        if kind not in ("fct", "page", "rtt", "echo", "video"):
            continue
        measure_path = (*path, "at_most", measure)
        if sla.dscp is not None:
            message = f"{measure} is measured of flows, not of a DSCP"
            problems.add("relation", measure_path, message, allowed="with `flow`", at_key=True)
            return
        flow_names = scenario.flows if ALL in (sla.flow or ()) else (sla.flow or ())
        for name in flow_names:
            flow = scenario.flows.get(scenario.get_declared_name(name))
            if flow is None:
                continue
            tcp = flow if isinstance(flow, Tcp) else None
            is_echo = scenario.get_declared_name(name) in scenario.echoes
            is_measured = {
                "rtt": is_echo,
                "echo": is_echo,
                "fct": tcp is not None and not tcp.is_one_connection,
                "page": tcp is not None and tcp.pages is not None,
                "video": getattr(flow, "video", None) is not None
                or getattr(flow, "media", None) is not None,
            }
            if not is_measured[kind]:
                measured_things = {
                    "fct": "transfers that come and go",
                    "page": "pages",
                    "rtt": "echo flows",
                    "echo": "echo flows",
                    "video": "films and media",
                }
                shortcoming = "is none" if measured_things[kind] == "echo flows" else "has not"
                message = (
                    f"{measure} is measured of {measured_things[kind]}, which {name} {shortcoming}"
                )
                problems.add("relation", measure_path, message, at_key=True)
                return


def _check_calls(
    scenario: ResolvedScenario, sla: Sla, measure_path: DocumentPath, problems: Problems
) -> None:
    """A score is of calls whose codec has factors."""
    if sla.dscp is not None:
        message = "mos is measured of flows, not of a DSCP"
        problems.add("relation", measure_path, message, allowed="with `flow`", at_key=True)
        return
    for name in scenario.flows if ALL in (sla.flow or ()) else (sla.flow or ()):
        flow = scenario.flows.get(scenario.get_declared_name(name))
        call = flow.call if isinstance(flow, Udp) else None
        if flow is not None and call is None:
            problems.add(
                "relation", measure_path, f"mos is of calls, and {name} is none", at_key=True
            )
            return
        if call is not None and CODECS[call.codec].ie is None and None in (call.ie, call.bpl):
            message = f"ITU-T G.113 has no factors for {call.codec}: {name} has no mos"
            hint = "give the call `ie` and `bpl`"
            problems.add("relation", measure_path, message, hint=hint, at_key=True)
            return
