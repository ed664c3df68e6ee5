"""``./dev test --oldest`` and ``--newest``: Python tests on other packages than the pinned ones.

``pyproject.toml`` promises that every version from its bounds on serves. The pins of
``requirements/`` are one set between; these two are its ends.
"""

import os
import re

import setup_steps as steps
from shell import Stopwatch, print_message, run_program

RESOLUTIONS = {"--oldest": "lowest-direct", "--newest": "highest"}
# Of the tests themselves, in the pinned versions: they are no part of the promise.
TEST_PACKAGES = ("hypothesis", "playwright", "pytest", "pytest-xdist")


def read_test_pins() -> list[str]:
    """List the pinned packages of the tests. Returns: For example ``pytest==9.0.2``."""
    with open(steps.get_requirements_path("test"), encoding="utf-8") as stream:
        found = dict(re.findall(r"^([a-z0-9-]+)(==[^ \\]+)", stream.read(), re.MULTILINE))
    return [name + found[name] for name in TEST_PACKAGES]


def make_environment(choice: str) -> str:
    """Make an environment of the oldest or of the newest packages.

    choice: one of "--oldest", "--newest"; of what ``pyproject.toml`` names itself; what these need
        is always the newest.
    Returns: Its Python.
    """
    clock = Stopwatch()
    program = steps.get_installer()
    folder = os.path.join(steps.ROOT, "build", choice.strip("-"))
    log = steps.get_stamp_path(f"packages{choice}.log")
    environment = {"UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1", "VIRTUAL_ENV": folder}
    empty = [program, "venv", "--quiet", "--clear", "--python", steps.VENV_PYTHON, folder]
    run_program(empty, cwd=steps.ROOT, log=log, environment=environment)
    package_arguments = ["-r", "pyproject.toml", "--all-extras", *read_test_pins()]
    install = [program, "pip", "install", "--resolution", RESOLUTIONS[choice], *package_arguments]
    run_program(install, cwd=steps.ROOT, log=log, environment=environment)
    steps.link_sources(folder)
    print_message(f"the {choice.strip('-')} packages are ready in {clock}; which they are: {log}")
    return os.path.join(folder, "bin", "python")
