"""A scenario back to YAML."""

from typing import Any

import yaml

from trunkline.scenario.model import FORMAT, Scenario

__all__ = ["dump"]


def dump(scenario: Scenario) -> str:
    """The scenario as YAML that loads to an equal one; only keys that were set."""
    data: dict[str, Any] = {"trunkline": FORMAT}
    data |= scenario.model_dump(mode="json", by_alias=True, exclude_unset=True)
    for flow, model in scenario.flows.items():
        data["flows"][flow] = {"agent": model.agent} | data["flows"][flow]
    text: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)
    return text
