"""The scenario language: text or Python values to a typed, checked scenario."""

from trunkline.scenario.diagnostic import CODES, Diagnostic, Place, ScenarioError
from trunkline.scenario.json_schema import schema
from trunkline.scenario.scenario import Scenario, load, loads

__all__ = ["CODES", "Diagnostic", "Place", "Scenario", "ScenarioError", "load", "loads", "schema"]
