"""The last check of an import: the scenario language loads the result."""

from trunkline.importers.common.fault import ImportFault
from trunkline.scenario.diagnostic import ScenarioError
from trunkline.scenario.resolved.placement import unplaced_paths_allowed
from trunkline.scenario.save import Tables, prove
from trunkline.scenario.scenario import Scenario


def prove_import(content: str, tables: Tables) -> Scenario:
    """Load a scenario that was imported; paths need not find room.

    Raises ImportFault: It does not load.
    """
    try:
        with unplaced_paths_allowed():
            return prove(content, "", tables)
    except ScenarioError as error:
        first = next(each for each in error.diagnostics if each.severity == "error")
        given = f", given {first.given}" if first.given else ""
        message = f"the scenario would not load: {first.message} ({first.path}{given})"
        raise ImportFault(0, 1, message) from None
