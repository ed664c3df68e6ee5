"""Flows with the defaults of their kind."""

from trunkline.scenario.base import merged
from trunkline.scenario.flow import LINUX_TCP, Tcp, Udp
from trunkline.scenario.model import Defaults
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved.resolved import Resolved

__all__ = ["flows"]


def flows(scenario: Resolved, problems: Problems) -> None:
    """Gives every flow the keys that it leaves to defaults and presets."""
    defaults = scenario.written.defaults
    scenario.flows = {name: _complete(flow, defaults) for name, flow in scenario.flows.items()}


def _complete(flow: Tcp | Udp, defaults: Defaults) -> Tcp | Udp:
    if isinstance(flow, Tcp):
        own = merged(flow, defaults.tcp)
        return merged(own, LINUX_TCP) if own.preset == "linux" else own
    return merged(flow, defaults.udp)
