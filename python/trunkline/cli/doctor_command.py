"""``trunkline doctor``: what this machine has."""

from typing import Any

import click

from trunkline.cli.common import echo_json
from trunkline.cli.status import Status

NEEDED = (
    "click",
    "jinja2",
    "matplotlib",
    "networkx",
    "numpy",
    "polars",
    "pydantic",
    "pyyaml",
    "rich",
    "scipy",
)
_WHAT = {
    "uml": "runs a scenario on a real kernel in virtual time, the fastest way",
    "qemu": "runs a scenario on a real kernel in virtual time",
    "native": "runs a scenario on this kernel in real time; not comparable",
}
OPTIONAL = ("duckdb", "pandas", "pyarrow")


@click.command("doctor", short_help="Show what this machine has.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def command(as_json: bool) -> int:
    """Show what this machine has, what is missing and what that would be for."""
    about = examine()
    if as_json:
        echo_json({"schema": 1, **about})
    else:
        for part in about["parts"]:
            mark = "ok     " if part["found"] else "MISSING" if part["needed"] else "absent "
            click.echo(f"{mark} {part['name']:<12} {part['detail']}".rstrip())
        for state in about["linux"]:
            mark = "ok     " if state["ready"] else "absent "
            lacks = [f"{p['name']}: {p['detail']}" for p in state["parts"] if not p["found"]]
            name = f"linux/{state['runner']}"
            click.echo(f"{mark} {name:<12} {'; '.join(lacks) or _WHAT[state['runner']]}")
        for its in about["disciplines"]:
            mark = "ok     " if its["runners"] else "absent "
            runners = ", ".join(its["runners"]) or "no runner that is ready"
            click.echo(f"{mark} {its['name']:<12} {its['module']}: {runners}")
    return Status.DONE if about["able"] else Status.UNABLE


def examine() -> dict[str, Any]:
    """Look at Python, the engine, packages and programs.

    Returns
    -------
    dict
        ``able`` (everything needed is there), ``parts``: name, found, needed, detail, and
        ``linux``: for each runner of the Linux engine what it needs, and ``disciplines``: for each
        queue or scheduler of the kernel its module and the runners in virtual time that have it.
    """
    import os
    import platform
    import shutil
    from importlib.metadata import PackageNotFoundError, version

    parts: list[dict[str, Any]] = []

    def add(name: str, found: bool, needed: bool, detail: str) -> None:
        parts.append({"name": name, "found": found, "needed": needed, "detail": detail})

    add("python", True, True, f"{platform.python_version()} on {platform.platform(terse=True)}")
    add("processors", True, True, f"{os.cpu_count()}; replications run on all of them")
    try:
        from trunkline import _core
    except ImportError as error:
        add("engine", False, True, f"{error}; build it with ./dev setup or pip install .")
    else:
        add("engine", True, True, _core.version())
    for name in (*NEEDED, *OPTIONAL):
        needed = name in NEEDED
        try:
            add(name, True, needed, version(name))
        except PackageNotFoundError:
            add(name, False, needed, f"pip install {name}")
    ns2 = shutil.which("ns")
    add("ns-2", ns2 is not None, False, ns2 or "for the benchmark only: apt-get install ns2")
    able = all(p["found"] for p in parts if p["needed"])
    linux = _linux()
    return {"able": able, "parts": parts, "linux": linux, "disciplines": _disciplines(linux)}


def _linux() -> list[dict[str, Any]]:
    """What the runners of the Linux engine need; they are for those who want them."""
    try:
        from trunkline.linux.guest.readiness import RUNNERS, examine
    except ImportError:
        # The engine's module is missing, which is said above.
        return []
    return [examine(name).as_dict() for name in RUNNERS]


def _disciplines(linux: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Which runners that are ready have the kernel's module of each queue and scheduler."""
    ready = [each["runner"] for each in linux if each["ready"] and each["runner"] != "native"]
    if not ready:
        return []
    from trunkline.linux.guest.readiness import lacks
    from trunkline.linux.plan.modules import DISCIPLINES

    return [
        {"name": name, "module": its, "runners": [each for each in ready if its not in lacks(each)]}
        for name, its in DISCIPLINES.items()
    ]
