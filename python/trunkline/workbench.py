"""What the commands do, as calls: compare, verify, draw, save and read, and run studies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from trunkline.results import Results
from trunkline.scenario import Scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trunkline.compare import Comparison, Divergence, Side
    from trunkline.linux.judge.verify import Verdict
    from trunkline.study import Runs

What: TypeAlias = "Scenario | Results | Sequence[Results] | str | Path"
"""A scenario, runs of one, or a path: a scenario file, or a folder of results."""


def compare_runs(
    a: What,
    b: What,
    *,
    metrics: Sequence[str] = (),
    runs: int = 10,
    seed: int | None = None,
    within: float | None = None,
    threads: int | None = None,
) -> Comparison:
    """Compare two scenarios or results, seed by seed, as ``trunkline compare`` does.

    Parameters
    ----------
    a, b : Scenario, Results, sequence of Results, str or Path
        What to compare.
    metrics : sequence of str
        ``[table.]column[@row]`` each; goodput, delay, its 99th percentile and loss of every flow
        if none is given.
    runs : int, default 10
        Pairs of runs, where scenarios are run [1 or more].
    seed : int, optional
        Seed of the first pair; that of A's scenario if left out.
    within : float, optional
        Margin of equivalence, as a share of A's mean.
    threads : int, optional
        Runs at a time; all cores if left out.

    Returns
    -------
    Comparison
        Each metric on both sides, with intervals and a verdict.

    Raises
    ------
    ScenarioError
        A scenario has faults.
    ValueError
        A metric is none, or names a row that is on neither side.
    """
    from trunkline.compare import USUAL, compare
    from trunkline.stats.metric import parse

    wanted = [parse(text) for text in metrics] or USUAL
    sides = _side(a, "A"), _side(b, "B")
    return compare(*sides, wanted, runs=runs, seed=seed, within=within, threads=threads)


def first_difference(a: What, b: What, *, seed: int | None = None) -> Divergence | None:
    """Find the first packet at which two runs differ, as ``trunkline diff`` does.

    Parameters
    ----------
    a, b : Scenario, Results, sequence of Results, str or Path
        Two scenarios, or folders of results.
    seed : int, optional
        Of both runs; that of A if left out.

    Returns
    -------
    Divergence or None
        When, where and why; None if they do not differ.
    """
    from trunkline.compare import diverge

    sides = _side(a, "A"), _side(b, "B")
    first = sides[0]
    own = next(iter(first.runs), None)
    if own is None and first.network is not None:
        own = int(first.network["run"]["seed"])
    return diverge(*sides, seed if seed is not None else own if own is not None else 1)


def verify(
    scenario: Scenario, *, seeds: Sequence[int] = (1,), runner: str | None = None
) -> Verdict:
    """Run a scenario in the simulator and in a Linux kernel with the same traffic, and compare.

    Parameters
    ----------
    scenario : Scenario
        What to run.
    seeds : sequence of int, default (1,)
        One run each in both.
    runner : {"uml", "qemu", "native"}, optional
        What runs the kernel; the first that is ready if left out, never native.

    Returns
    -------
    Verdict
        Each measure on both sides, and whether they agree.

    Raises
    ------
    Unready
        No runner is ready on this machine.
    UnsupportedError
        The network has what the kernel lacks.
    """
    from trunkline.linux.guest.readiness import choose
    from trunkline.linux.judge import verify as judge
    from trunkline.network import compile

    chosen = choose(runner)
    return judge.verify(compile(scenario).to_json(), list(seeds), runner=chosen)


def draw(kind: str, *what: What, only: Sequence[str] = (), **chosen: Any) -> Figure:
    """Draw one of the named plots of ``trunkline plot``.

    Parameters
    ----------
    kind : str
        Such as ``cdf``, ``bars`` or ``throughput``.
    *what : Scenario, Results, sequence of Results, str or Path
        What to draw, over each other.
    only : sequence of str
        Flows, links or classes; all if empty.
    **chosen
        ``measure``, ``table``, ``fit``, ``title``, ``since`` and ``until`` [s].

    Returns
    -------
    matplotlib.figure.Figure
        Shown by a notebook; ``savefig`` writes it.

    Raises
    ------
    ValueError
        There is no such plot, or the results lack what it needs.
    """
    from trunkline.plot.kinds import KINDS, draw as drawn
    from trunkline.plot.sources import Choice, Source

    if kind not in KINDS:
        raise ValueError(f"no kind of plot is called {kind!r}; there are {', '.join(KINDS)}")
    sources = []
    for number, each in enumerate(what):
        side = _side(each, f"{number + 1}")
        runs = list(side.runs.values()) or side.take([int(side.network["run"]["seed"])])
        sources.append(Source(side.name, runs, network=side.network or {}))
    return drawn(kind, sources, Choice(frozenset(only), **chosen))


def save(
    runs: Results | Sequence[Results], scenario: Scenario, folder: str | Path, **how: Any
) -> Path:
    """Write runs into a folder of Parquet tables, as ``run --out`` does.

    Parameters
    ----------
    runs : Results or sequence of Results
        What was run.
    scenario : Scenario
        What it was.
    folder : str or Path
        Folder to make.
    **how
        ``overwrite=True`` replaces earlier results.

    Returns
    -------
    Path
        The folder.
    """
    from trunkline.network import compile
    from trunkline.planning import plan_json
    from trunkline.results import store

    listed = [runs] if isinstance(runs, Results) else list(runs)
    network = compile(scenario).to_json()
    return store.write(listed, folder, network_json=network, plan_json=plan_json(scenario), **how)


def read(folder: str | Path) -> list[Results]:
    """Read runs that :func:`save` or ``run --out`` wrote.

    Raises
    ------
    FileNotFoundError
        The folder holds no results.
    ValueError
        They are damaged.
    """
    from trunkline.results import store

    return store.read(folder)


def run_study(
    file: str | Path,
    folder: str | Path | None = None,
    *,
    runs: int | None = None,
    overwrite: bool = False,
    resume: bool = False,
    progress: bool = True,
) -> Runs:
    """Run a study file, or a study of the package by name, as ``trunkline study run`` does.

    Parameters
    ----------
    file : str or Path
        The study.
    folder : str or Path, optional
        Where it is kept; the study's name with ``-study`` behind, here, if left out.
    runs : int, optional
        Replications of each point; those of the study if left out.
    overwrite, resume : bool, default False
        What to do if the folder holds a study: replace it, or go on with it.
    progress : bool, default True
        Draw a progress bar in a notebook, or if standard error is a terminal.

    Returns
    -------
    Runs
        One row a run.

    Raises
    ------
    Refused
        The folder holds a study, or the study is wrong.
    """
    from trunkline.study import Subject, performed, read as kept
    from trunkline.study.run.progress import seen

    plan = Subject(str(file), runs=runs).plan
    place = Path(folder or f"{plan.name}-study")
    shown = seen(plan.name) if progress else None
    with performed(plan, out=place, progress=shown, overwrite=overwrite, resume=resume):
        pass
    return kept(place)


def _side(what: What, name: str) -> Side:
    from trunkline.compare import Side
    from trunkline.scenario import load

    if isinstance(what, Scenario):
        return Side.of_scenario(what, what.name or name)
    if isinstance(what, str | Path):
        place = Path(what)
        return Side.of_folder(place) if place.is_dir() else Side.of_scenario(load(place), str(what))
    runs = [what] if isinstance(what, Results) else list(what)
    written = runs[0].provenance.scenario
    return Side(name, None, {run.seed: run for run in runs}, scenario=written, stored=True)
