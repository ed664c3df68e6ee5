"""Conditioners: profiles written out, one for each flow where meters are per flow."""

from typing import Any

from trunkline.network.classifier_rows import (
    NO_PATH,
    ClassifierCell,
    ClassifierRows,
    has_flow_rules,
    has_path_rules,
)
from trunkline.scenario.conditioner import (
    ColourAction,
    Conditioner,
    ConditionerRule,
    TrafficProfile,
)
from trunkline.scenario.match import MatchConditions
from trunkline.scenario.model import LinkOptions
from trunkline.scenario.resolved import ResolvedScenario
from trunkline.scenario.units import MAX_RATE_BIT_S

_UNLIMITED_METER = {
    "kind": "token-bucket",
    "rate_bit_s": MAX_RATE_BIT_S,
    "burst_bytes": 2_000_000_000,
    "peak_rate_bit_s": 0,
    "peak_burst_bytes": 0,
    "colour_aware": False,
}
"""A meter that colours all green: no link is as fast."""


class CompiledConditioners:
    """Compiled conditioners that links use, with the number of each by its name."""

    def __init__(self) -> None:
        self.conditioners: list[dict[str, Any]] = []
        self.index: dict[str, int] = {}

    def make_link_keys(self, options: LinkOptions) -> dict[str, Any]:
        """Make the conditioner keys of a link; none if it has no conditioner."""
        keys: dict[str, Any] = {}
        for key in ("conditioner", "ingress"):
            name = getattr(options, key)
            if name is not None:
                keys[key] = self.index[name]
        if options.account:
            keys["account"] = True
        return keys


def compile_conditioners(scenario: ResolvedScenario) -> CompiledConditioners:
    """Compile all conditioners that links use, in the order of the scenario."""
    used = {
        name for arc in scenario.arcs for name in (arc.options.conditioner, arc.options.ingress)
    }
    compiled = CompiledConditioners()
    for name, conditioner in scenario.conditioners.items():
        if name in used:
            compiled.index[name] = len(compiled.conditioners)
            compiled.conditioners.append(_compile_conditioner(scenario, name, conditioner))
    return compiled


def _compile_conditioner(
    scenario: ResolvedScenario, name: str, conditioner: Conditioner
) -> dict[str, Any]:
    flows = [*(own for own, _ in scenario.flow_names), *scenario.message_flows]
    profiles: list[dict[str, Any]] = []
    numbers: dict[tuple[str, int], int] = {}

    def decide_cell(rule: MatchConditions | None, flow: int) -> ClassifierCell:
        if not isinstance(rule, ConditionerRule) or rule.profile is None:
            return [0, 0]
        profile = conditioner.profiles[rule.profile]
        per_flow = profile.per == "flow"
        key = (rule.profile, flow if per_flow else 0)
        if key not in numbers:
            profile_name = f"{rule.profile}/{flows[flow]}" if per_flow else rule.profile
            profiles.append(_compile_profile(profile_name, profile))
            numbers[key] = len(profiles)
        return [numbers[key], 0]

    rules = conditioner.rules
    per_flow = any(profile.per == "flow" for profile in conditioner.profiles.values())
    rows = ClassifierRows(scenario, rules, per_flow=per_flow, decide=decide_cell)
    if per_flow or has_flow_rules(rules) or has_path_rules(rules):
        # A conditioner knows a packet by its flow, whatever label it bears.
        rows.fill_by_flow({path: frozenset([path]) for path in scenario.paths})
    if not rows.rows:
        rows.add_row(None, NO_PATH)
    return {"name": name, "classifier": rows.to_classifier(), "profiles": profiles}


def _compile_profile(name: str, profile: TrafficProfile) -> dict[str, Any]:
    return {
        "name": name,
        "meter": _UNLIMITED_METER if profile.meter is None else profile.meter.compile_keys(),
        "actions": [_compile_action(each) for each in (profile.green, profile.yellow, profile.red)],
    }


def _compile_action(action: ColourAction) -> dict[str, Any]:
    return {"drop": action.drop, "dscp": action.dscp}
