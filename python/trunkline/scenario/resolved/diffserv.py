"""DiffServ of each path, with defaults."""

from trunkline.scenario.diffserv import DiffServ
from trunkline.scenario.path import LabelSwitchedPath
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved.resolved import ResolvedScenario


def resolve_diffserv(scenario: ResolvedScenario, problems: Problems) -> None:
    """Give every path the default, or its absent keys from the default."""
    default = scenario.written.defaults.diffserv
    if default is not None:
        scenario.paths = {
            name: _complete_path(path, default) for name, path in scenario.paths.items()
        }


def _complete_path(path: LabelSwitchedPath, default: DiffServ) -> LabelSwitchedPath:
    own = path.diffserv
    return path.model_copy(
        update={"diffserv": default if own is None else own.merge_with_default(default)}
    )
