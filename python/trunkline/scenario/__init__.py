"""The scenario language: text or Python values to a typed, checked scenario."""

from trunkline.scenario.diagnostic import CODES, Diagnostic, Place, ScenarioError
from trunkline.scenario.loader import load
from trunkline.scenario.model import Scenario

__all__ = ["CODES", "Diagnostic", "Place", "Scenario", "ScenarioError", "load", "schema"]


def schema() -> dict[str, object]:
    """JSON Schema of a scenario file, in keywords that draft 7 has."""
    from trunkline.scenario.json_schema import schema as generate

    return generate()
