"""Demands as flows: the template of each class, with the ends and the rate of each demand."""

from typing import Any

from trunkline.scenario.base import alike
from trunkline.scenario.demands import TcpTraffic, UdpTraffic
from trunkline.scenario.dscp import DSCP_NAMES
from trunkline.scenario.flow import Tcp, Udp
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved.resolved import Offered, Resolved


def traffic(scenario: Resolved, problems: Problems) -> None:
    """Adds a flow of its name for each demand."""
    used = {each.class_ for each in scenario.demands.values()}
    for class_, template in scenario.written.traffic.items():
        _given(class_, template, problems)
        if class_ not in used:
            message = f"no demand is of class {class_}"
            problems.add("demand", ("traffic", class_), message, at_key=True, warning=True)
    models: dict[str, Udp] = {}
    for name, offered in scenario.demands.items():
        if name in scenario.flows:
            at = ("demands", name)
            message = f"a flow and a demand are both called {name}"
            problems.add("duplicate-name", at, message, at_key=True)
            continue
        scenario.flows[name] = _flow(scenario, offered, models)
        scenario.origins["flows", name] = scenario.origins["demands", name]


def _given(class_: str, template: TcpTraffic | UdpTraffic, problems: Problems) -> None:
    if isinstance(template, UdpTraffic) and template.rate is not None:
        message = "the rate is that of each demand"
        problems.add("relation", ("traffic", class_, "rate"), message, at_key=True)
    its = template.transfers if isinstance(template, TcpTraffic) else None
    for key in ("load", "of", "every", "schedule") if its is not None else ():
        if getattr(its, key) is not None:
            message = "the load is the rate of each demand"
            problems.add("relation", ("traffic", class_, "transfers", key), message, at_key=True)
    if its is not None and isinstance(template, TcpTraffic) and template.flows > 1:
        message = "transfers are as many connections as there are: `flows` has no meaning for them"
        problems.add("relation", ("traffic", class_, "flows"), message, at_key=True)


def _flow(scenario: Resolved, offered: Offered, models: dict[str, Udp]) -> Tcp | Udp:
    """The flow of a demand; ``models`` keeps a UDP flow of each class, as there may be many."""
    template = scenario.written.traffic.get(offered.class_)
    ends: dict[str, Any] = {"from_": offered.source, "to": offered.target}
    if isinstance(template, TcpTraffic):
        said: dict[str, Any] = {key: getattr(template, key) for key in template.model_fields_set}
        count = said.pop("flows", 1)
        if template.transfers is not None:
            said["transfers"] = template.transfers.model_copy(update={"load": offered.rate})
        replicas: dict[str, Any] = {"replicate": count} if count > 1 else {}
        return Tcp.model_construct(None, **said, **ends, **replicas)
    rate = offered.rate
    if template and template.arrivals == "on-off" and template.mean_on and template.mean_off:
        rate = round(rate * (template.mean_on + template.mean_off) / template.mean_on)
    model = models.get(offered.class_)
    if model is None:
        if template is None:
            said = {"agent": "udp", "dscp": DSCP_NAMES.get(offered.class_, 0)}
        else:
            said = {key: getattr(template, key) for key in template.model_fields_set}
        model = Udp.model_construct(None, **said, **ends, rate=rate)
        models[offered.class_] = model
    return alike(model, {**ends, "rate": rate})
