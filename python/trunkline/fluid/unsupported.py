"""Features that formulas for means cannot model, and where the scenario asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trunkline.scenario import Scenario, ScenarioError
    from trunkline.scenario.diagnostic import DocumentPath


class FluidUnsupportedError(ValueError):
    """The scenario asks for a feature that the fluid engine, or a focus, lacks.

    text: The feature, and a remedy.
    path: Where the scenario asks for it, by the names of the compiled network.
    """

    def __init__(self, text: str, path: DocumentPath) -> None:
        self.text = text
        self.path = path
        super().__init__(text)

    def locate_in_scenario(self, scenario: Scenario, engine: str = "fluid") -> ScenarioError:
        """The same, with file, line and column, and the engine as its code."""
        from trunkline.scenario.unsupported import make_unsupported_error

        return make_unsupported_error(engine, scenario, [(self.text, self.path)])
