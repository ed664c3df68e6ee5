"""Conditioners: profiles written out, one for each flow where meters are per flow."""

from typing import Any

from trunkline.network.rows import NO_PATH, Cell, Rows, asks_flows, asks_paths
from trunkline.scenario.conditioner import Action, Conditioner, ConditionerRule, Profile
from trunkline.scenario.match import Match
from trunkline.scenario.model import LinkOptions
from trunkline.scenario.resolved import Resolved
from trunkline.scenario.units import MAX_RATE_BIT_S

_UNLIMITED = {
    "kind": "token-bucket",
    "rate_bit_s": MAX_RATE_BIT_S,
    "burst_bytes": 2_000_000_000,
    "peak_rate_bit_s": 0,
    "peak_burst_bytes": 0,
    "colour_aware": False,
}
"""A meter that colours all green: no link is as fast."""


class Conditioners:
    """Compiled conditioners.

    Attributes
    ----------
    conditioners : list of dict
        As the engine reads them; those that links use.
    index : dict
        Number of each by its name.
    """

    def __init__(self) -> None:
        self.conditioners: list[dict[str, Any]] = []
        self.index: dict[str, int] = {}

    def of_link(self, options: LinkOptions) -> dict[str, Any]:
        """What a link says of its conditioners; nothing where it has none."""
        said: dict[str, Any] = {}
        for key in ("conditioner", "ingress"):
            name = getattr(options, key)
            if name is not None:
                said[key] = self.index[name]
        if options.account:
            said["account"] = True
        return said


def compile(scenario: Resolved) -> Conditioners:
    """All conditioners that links use, in the order of the scenario."""
    used = {
        name for arc in scenario.arcs for name in (arc.options.conditioner, arc.options.ingress)
    }
    built = Conditioners()
    for name, conditioner in scenario.conditioners.items():
        if name in used:
            built.index[name] = len(built.conditioners)
            built.conditioners.append(_compiled(scenario, name, conditioner))
    return built


def _compiled(scenario: Resolved, name: str, conditioner: Conditioner) -> dict[str, Any]:
    flows = [*(own for own, _ in scenario.names), *scenario.message_flows]
    profiles: list[dict[str, Any]] = []
    numbers: dict[tuple[str, int], int] = {}

    def decide(rule: Match | None, flow: int) -> Cell:
        if not isinstance(rule, ConditionerRule) or rule.profile is None:
            return [0, 0]
        profile = conditioner.profiles[rule.profile]
        per_flow = profile.per == "flow"
        key = (rule.profile, flow if per_flow else 0)
        if key not in numbers:
            shown = f"{rule.profile}/{flows[flow]}" if per_flow else rule.profile
            profiles.append(_profile(shown, profile))
            numbers[key] = len(profiles)
        return [numbers[key], 0]

    rules = conditioner.rules
    per_flow = any(profile.per == "flow" for profile in conditioner.profiles.values())
    table = Rows(scenario, rules, per_flow=per_flow, decide=decide)
    if per_flow or asks_flows(rules) or asks_paths(rules):
        # A conditioner knows a packet by its flow, whatever label it bears.
        table.fill_flows({path: frozenset([path]) for path in scenario.paths})
    if not table.rows:
        table.row(None, NO_PATH)
    return {"name": name, "classifier": table.classifier(), "profiles": profiles}


def _profile(name: str, profile: Profile) -> dict[str, Any]:
    return {
        "name": name,
        "meter": _UNLIMITED if profile.meter is None else profile.meter.compiled(),
        "actions": [_action(each) for each in (profile.green, profile.yellow, profile.red)],
    }


def _action(action: Action) -> dict[str, Any]:
    return {"drop": action.drop, "dscp": action.dscp}
