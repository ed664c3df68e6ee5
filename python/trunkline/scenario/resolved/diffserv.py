"""What each path does for Differentiated Services, defaults taken in."""

from trunkline.scenario.diffserv import DiffServ
from trunkline.scenario.path import Path
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved.resolved import Resolved


def diffserv(scenario: Resolved, problems: Problems) -> None:
    """Gives every path the default, or what its own leaves out of it."""
    default = scenario.written.defaults.diffserv
    if default is not None:
        scenario.paths = {name: _complete(path, default) for name, path in scenario.paths.items()}


def _complete(path: Path, default: DiffServ) -> Path:
    own = path.diffserv
    return path.model_copy(update={"diffserv": default if own is None else own.completed(default)})
