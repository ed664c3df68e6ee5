"""Checks of service level agreements: whom they are for, and that they say something."""

from trunkline.scenario.call import CODECS
from trunkline.scenario.diagnostic import Path
from trunkline.scenario.dscp import dscp_name
from trunkline.scenario.flow import Tcp, Udp
from trunkline.scenario.problems import Problems, listed
from trunkline.scenario.resolved import Resolved
from trunkline.scenario.sla import Sla


def check(scenario: Resolved, problems: Problems) -> None:
    """Checks all agreements."""
    sent = {scenario.flows[name].dscp for name in scenario.flows}
    for name, sla in scenario.slas.items():
        path = ("slas", name)
        if (sla.flow is None) == (sla.dscp is None):
            message = "an SLA is for `flow` or for `dscp`: one of them"
            problems.add("relation", path, message, at_key=True)
        for at, flow in enumerate(sla.flow or ()):
            if flow != "all" and not scenario.has_flow(flow):
                problems.unknown((*path, "flow", at), "flow", flow, scenario.flows)
        if sla.dscp is not None and sla.dscp not in sent:
            problems.add(
                "reference",
                (*path, "dscp"),
                f"no flow sends with DSCP {dscp_name(sla.dscp)}",
                allowed=listed([str(dscp_name(each)) for each in sorted(sent)]),
            )
        _completions(scenario, sla, path, problems)
        if sla.at_least.mos is not None:
            _calls(scenario, sla, (*path, "at_least", "mos"), problems)
        if not (sla.at_most.model_fields_set or sla.at_least.model_fields_set):
            problems.add(
                "relation",
                path,
                "an SLA without a bound promises nothing",
                hint="add `at_most: {delay_p99: 20 ms}` or `at_least: {goodput: 1 Mbit/s}`",
                at_key=True,
            )


def _completions(scenario: Resolved, sla: Sla, path: Path, problems: Problems) -> None:
    """Times of transfers and pages are measured of flows that have them."""
    for measure in sorted(sla.at_most.model_fields_set):
        kind = "video" if measure in ("stall", "start_up") else measure.partition("_")[0]
        if kind not in ("fct", "page", "rtt", "echo", "video"):
            continue
        at = (*path, "at_most", measure)
        if sla.dscp is not None:
            message = f"{measure} is measured of flows, not of a DSCP"
            problems.add("relation", at, message, allowed="with `flow`", at_key=True)
            return
        wanted = scenario.flows if "all" in (sla.flow or ()) else (sla.flow or ())
        for name in wanted:
            flow = scenario.flows.get(scenario.declared(name))
            if flow is None:
                continue
            tcp = flow if isinstance(flow, Tcp) else None
            is_echo = scenario.declared(name) in scenario.echoes
            has = {
                "rtt": is_echo,
                "echo": is_echo,
                "fct": tcp is not None and not tcp.is_one_connection,
                "page": tcp is not None and tcp.pages is not None,
                "video": tcp is not None and tcp.video is not None,
            }
            if not has[kind]:
                what = {
                    "fct": "transfers that come and go",
                    "page": "pages",
                    "rtt": "echo flows",
                    "echo": "echo flows",
                    "video": "films",
                }
                lacks = "is none" if what[kind] == "echo flows" else "has not"
                message = f"{measure} is measured of {what[kind]}, which {name} {lacks}"
                problems.add("relation", at, message, at_key=True)
                return


def _calls(scenario: Resolved, sla: Sla, at: Path, problems: Problems) -> None:
    """A score is of calls whose codec has factors."""
    if sla.dscp is not None:
        message = "mos is measured of flows, not of a DSCP"
        problems.add("relation", at, message, allowed="with `flow`", at_key=True)
        return
    for name in scenario.flows if "all" in (sla.flow or ()) else (sla.flow or ()):
        flow = scenario.flows.get(scenario.declared(name))
        call = flow.call if isinstance(flow, Udp) else None
        if flow is not None and call is None:
            problems.add("relation", at, f"mos is of calls, and {name} is none", at_key=True)
            return
        if call is not None and CODECS[call.codec].ie is None and None in (call.ie, call.bpl):
            message = f"ITU-T G.113 has no factors for {call.codec}: {name} has no mos"
            hint = "give the call `ie` and `bpl`"
            problems.add("relation", at, message, hint=hint, at_key=True)
            return
