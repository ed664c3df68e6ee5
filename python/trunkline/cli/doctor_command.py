"""``trunkline doctor``: check the software of this machine."""

from typing import Any

import click

from trunkline.cli.common import echo_json
from trunkline.cli.status import Status

REQUIRED_PACKAGES = (
    "click",
    "dynesty",
    "jinja2",
    "markdown-it-py",
    "matplotlib",
    "networkx",
    "numpy",
    "openpyxl",
    "polars",
    "pydantic",
    "pyyaml",
    "rich",
    "scipy",
)
_RUNNER_PURPOSES = {
    "uml": "runs a scenario on a real kernel in virtual time; the fastest",
    "qemu": "runs a scenario on a real kernel in virtual time",
    "native": "runs a scenario on this kernel in real time; not comparable",
}
OPTIONAL_PACKAGES = ("duckdb", "pandas", "pyarrow")


@click.command("doctor", short_help="Show which required software this machine has.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def command(as_json: bool) -> int:
    """Show the required and the optional software that this machine has or lacks."""
    document = examine_machine()
    if as_json:
        echo_json({"schema": 1, **document})
    else:
        for part in document["parts"]:
            mark = "ok     " if part["found"] else "MISSING" if part["needed"] else "absent "
            click.echo(f"{mark} {part['name']:<12} {part['detail']}".rstrip())
        for state in document["linux"]:
            mark = "ok     " if state["ready"] else "absent "
            missing = [f"{p['name']}: {p['detail']}" for p in state["parts"] if not p["found"]]
            name = f"linux/{state['runner']}"
            click.echo(
                f"{mark} {name:<12} {'; '.join(missing) or _RUNNER_PURPOSES[state['runner']]}"
            )
        for discipline in document["disciplines"]:
            mark = "ok     " if discipline["runners"] else "absent "
            runners = ", ".join(discipline["runners"]) or "no runner that is ready"
            click.echo(f"{mark} {discipline['name']:<12} {discipline['module']}: {runners}")
    return Status.DONE if document["able"] else Status.UNABLE


def examine_machine() -> dict[str, Any]:
    """Look at Python, the engine, packages and programs.

    Returns: ``able``: nothing required is missing; ``parts``: name, found, needed, detail;
        ``linux``: requirements of each runner of the Linux engine; ``disciplines``: for each queue
        or scheduler of the kernel, its module and the runners in virtual time that have it.
    """
    import os
    import platform
    import shutil
    from importlib.metadata import PackageNotFoundError, version

    parts: list[dict[str, Any]] = []

    def add(name: str, is_found: bool, is_needed: bool, detail: str) -> None:
        parts.append({"name": name, "found": is_found, "needed": is_needed, "detail": detail})

    add("python", True, True, f"{platform.python_version()} on {platform.platform(terse=True)}")
    add("processors", True, True, f"{os.cpu_count()}; replications run on all of them")
    try:
        from trunkline import _core
    except ImportError as error:
        add("engine", False, True, f"{error}; build it with ./dev setup or pip install .")
    else:
        add("engine", True, True, _core.version())
    for name in (*REQUIRED_PACKAGES, *OPTIONAL_PACKAGES):
        needed = name in REQUIRED_PACKAGES
        try:
            add(name, True, needed, version(name))
        except PackageNotFoundError:
            add(name, False, needed, f"pip install {name}")
    ns2 = shutil.which("ns")
    add("ns-2", ns2 is not None, False, ns2 or "for the benchmark only: apt-get install ns2")
    is_able = all(p["found"] for p in parts if p["needed"])
    linux = _examine_runners()
    return {
        "able": is_able,
        "parts": parts,
        "linux": linux,
        "disciplines": _list_disciplines(linux),
    }


def _examine_runners() -> list[dict[str, Any]]:
    """Check the requirements of the runners of the Linux engine, all of which are optional."""
    try:
        from trunkline.linux.guest.readiness import RUNNERS, examine_runner
    except ImportError:
        # The engine's module is missing: `examine_machine` reports it.
        return []
    return [examine_runner(name).to_dict() for name in RUNNERS]


def _list_disciplines(linux: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """List, for each queue and scheduler, the ready runners whose kernel has its module."""
    ready_runners = [
        runner["runner"] for runner in linux if runner["ready"] and runner["runner"] != "native"
    ]
    if not ready_runners:
        return []
    from trunkline.linux.guest.readiness import list_missing_modules
    from trunkline.linux.plan.modules import QDISC_MODULES

    return [
        {
            "name": name,
            "module": module_name,
            "runners": [
                runner
                for runner in ready_runners
                if module_name not in list_missing_modules(runner)
            ],
        }
        for name, module_name in QDISC_MODULES.items()
    ]
