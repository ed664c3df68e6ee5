"""The scenario language: text or Python values to a typed, checked scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trunkline.lazy_imports import make_lazy_getattr

if TYPE_CHECKING:
    from trunkline.scenario.diagnostic import CODES, Diagnostic, Place, ScenarioError
    from trunkline.scenario.json_schema import schema
    from trunkline.scenario.scenario import Scenario, load, loads
else:
    __getattr__ = make_lazy_getattr(
        __name__,
        {
            "trunkline.scenario.diagnostic": "CODES Diagnostic Place ScenarioError",
            "trunkline.scenario.json_schema": "schema",
            "trunkline.scenario.scenario": "Scenario load loads",
        },
    )

__all__ = ["CODES", "Diagnostic", "Place", "Scenario", "ScenarioError", "load", "loads", "schema"]
