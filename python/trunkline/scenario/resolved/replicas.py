"""Flows by their own names: replicas written out."""

from contextvars import ContextVar

from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved.resolved import ResolvedScenario

MEMORY_LIMIT: ContextVar[int] = ContextVar("memory", default=16 * 10**9)
"""Maximum memory that a network may need, by estimate [B]."""
BYTES_PER_FLOW = 8_000  # B for a flow: model, compiled entry, its text, agent and counters


class ScenarioTooLarge(Exception):
    """The scenario does not fit into memory; the part that does not fit was reported."""


def name_flows(scenario: ResolvedScenario, problems: Problems) -> None:
    """Name every flow.

    Raises ScenarioTooLarge: They do not fit into memory, by estimate; none is written out.
    """
    counts = {name: flow.replicate or 1 for name, flow in scenario.flows.items()}
    count = sum(counts.values())
    needed, limit = count * BYTES_PER_FLOW, MEMORY_LIMIT.get()
    if needed > limit:
        name = max(counts, key=lambda each: counts[each])
        message = (
            f"{count} flows need about {needed / 1e9:.0f} GB; the limit is "
            f"{limit / 1e9:.3g} GB (--limit-memory)"
        )
        problems.add("memory", ("flows", name, "replicate"), message)
        raise ScenarioTooLarge
    for name, flow in scenario.flows.items():
        if flow.replicate is None:
            scenario.flow_names.append((name, name))
        else:
            scenario.flow_names += [(f"{name}[{index}]", name) for index in range(flow.replicate)]
