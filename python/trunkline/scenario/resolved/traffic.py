"""Demands as flows: the template of each class, with the ends and the rate of each demand."""

from typing import Any

from trunkline.scenario.base import copy_with
from trunkline.scenario.demands import TcpTemplate, UdpTemplate
from trunkline.scenario.dscp import DSCP_NAMES
from trunkline.scenario.flow import Tcp, Udp
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved.resolved import ResolvedDemand, ResolvedScenario


def resolve_traffic(scenario: ResolvedScenario, problems: Problems) -> None:
    """Add a flow of its name for each demand."""
    used = {each.class_ for each in scenario.demands.values()}
    for class_, template in scenario.written.traffic.items():
        _check_template(class_, template, problems)
        if class_ not in used:
            message = f"no demand is of class {class_}"
            problems.add("demand", ("traffic", class_), message, at_key=True, warning=True)
    models: dict[str, Udp] = {}
    for name, resolved_demand in scenario.demands.items():
        if name in scenario.flows:
            demand_path = ("demands", name)
            message = f"a flow and a demand are both called {name}"
            related = ((("flows", name), "this flow"),)
            problems.add("duplicate-name", demand_path, message, at_key=True, related=related)
            continue
        scenario.flows[name] = _make_flow(scenario, resolved_demand, models)
        scenario.origins["flows", name] = scenario.origins["demands", name]


def _check_template(class_: str, template: TcpTemplate | UdpTemplate, problems: Problems) -> None:
    if isinstance(template, UdpTemplate) and template.rate is not None:
        message = "the rate is that of each demand"
        problems.add("relation", ("traffic", class_, "rate"), message, at_key=True)
    transfers = template.transfers if isinstance(template, TcpTemplate) else None
    for key in ("load", "of", "every", "schedule") if transfers is not None else ():
        if getattr(transfers, key) is not None:
            message = "the load is the rate of each demand"
            problems.add("relation", ("traffic", class_, "transfers", key), message, at_key=True)
    if transfers is not None and isinstance(template, TcpTemplate) and template.flows > 1:
        message = "transfers are as many connections as there are: `flows` has no meaning for them"
        problems.add("relation", ("traffic", class_, "flows"), message, at_key=True)


def _make_flow(
    scenario: ResolvedScenario, resolved_demand: ResolvedDemand, models: dict[str, Udp]
) -> Tcp | Udp:
    """The flow of a demand; ``models`` keeps a UDP flow of each class, as there may be many."""
    template = scenario.written.traffic.get(resolved_demand.class_)
    ends: dict[str, Any] = {"from_": resolved_demand.source, "to": resolved_demand.target}
    if isinstance(template, TcpTemplate):
        flow_keys: dict[str, Any] = {
            key: getattr(template, key) for key in template.model_fields_set
        }
        count = flow_keys.pop("flows", 1)
        if template.transfers is not None:
            flow_keys["transfers"] = template.transfers.model_copy(
                update={"load": resolved_demand.rate}
            )
        replicas: dict[str, Any] = {"replicate": count} if count > 1 else {}
        return Tcp.model_construct(None, **flow_keys, **ends, **replicas)
    rate = resolved_demand.rate
    if template and template.arrivals == "on-off" and template.mean_on and template.mean_off:
        rate = round(rate * (template.mean_on + template.mean_off) / template.mean_on)
    model = models.get(resolved_demand.class_)
    if model is None:
        if template is None:
            flow_keys = {"agent": "udp", "dscp": DSCP_NAMES[resolved_demand.class_]}
        else:
            flow_keys = {key: getattr(template, key) for key in template.model_fields_set}
        model = Udp.model_construct(None, **flow_keys, **ends, rate=rate)
        models[resolved_demand.class_] = model
    return copy_with(model, {**ends, "rate": rate})
