"""The commands as functions: compare, verify, draw, save and read, and run studies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from trunkline.results import Results
from trunkline.scenario import Scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trunkline.compare import Comparison, ComparisonOperand, Divergence
    from trunkline.linux.judge.verification import EngineVerdict
    from trunkline.study import Runs

Operand: TypeAlias = "Scenario | Results | Sequence[Results] | str | Path"
"""A scenario, runs of one, or a path: a scenario file, or a folder of results."""


def compare_runs(
    a: Operand,
    b: Operand,
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
    from trunkline.compare import DEFAULT_COMPARED_METRICS, compare_operands
    from trunkline.stats.metric import parse_metric

    metric_list = [parse_metric(text) for text in metrics] or DEFAULT_COMPARED_METRICS
    sides = _build_operand(a, "A"), _build_operand(b, "B")
    return compare_operands(
        *sides, metric_list, runs=runs, seed=seed, within=within, threads=threads
    )


def first_difference(a: Operand, b: Operand, *, seed: int | None = None) -> Divergence | None:
    """Find the first packet at which two runs differ, as ``trunkline diff`` does.

    Parameters
    ----------
    a, b : Scenario, Results, sequence of Results, str or Path
        Two scenarios, or folders of results.
    seed : int, optional
        Seed of both runs; that of A if left out.

    Returns
    -------
    Divergence or None
        When, where and why; None if they do not differ.
    """
    from trunkline.compare import find_divergence

    sides = _build_operand(a, "A"), _build_operand(b, "B")
    first = sides[0]
    first_seed = next(iter(first.runs), None)
    if first_seed is None and first.network is not None:
        first_seed = int(first.network["run"]["seed"])
    return find_divergence(
        *sides, seed if seed is not None else first_seed if first_seed is not None else 1
    )


def verify(
    scenario: Scenario,
    *,
    seeds: Sequence[int] = (1,),
    runner: str | None = None,
    within: float | None = None,
) -> EngineVerdict:
    """Run a scenario in the simulator and in a Linux kernel with the same traffic, and compare.

    Parameters
    ----------
    scenario : Scenario
        What to run.
    seeds : sequence of int, default (1,)
        One run each in both.
    runner : {"uml", "qemu", "native"}, optional
        What runs the kernel; the first that is ready if left out, never native.
    within : float, optional
        Greatest share that may have hidden in a comparison that agrees [0 to 1].

    Returns
    -------
    EngineVerdict
        Each measure on both sides, and whether they agree.

    Raises
    ------
    RunnerNotReady
        No runner is ready on this machine.
    UnsupportedError
        The network has what the kernel lacks.
    """
    from trunkline.linux.guest.readiness import choose_runner
    from trunkline.linux.judge import verification as judge
    from trunkline.network import compile

    chosen = choose_runner(runner)
    network_json = compile(scenario).to_json()
    return judge.verify_kernel(network_json, list(seeds), runner=chosen, within=within)


def draw(kind: str, *operands: Operand, only: Sequence[str] = (), **plot_options: Any) -> Figure:
    """Draw one of the named plots of ``trunkline plot``.

    Parameters
    ----------
    kind : str
        Such as ``cdf``, ``bars`` or ``throughput``.
    *operands : Scenario, Results, sequence of Results, str or Path
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
    from trunkline.plot.kinds import PLOT_KINDS, draw as drawn
    from trunkline.plot.plot_sources import PlotChoice, PlotSource

    if kind not in PLOT_KINDS:
        raise ValueError(f"no kind of plot is called {kind!r}; there are {', '.join(PLOT_KINDS)}")
    sources = []
    for number, each in enumerate(operands):
        side = _build_operand(each, f"{number + 1}")
        runs = list(side.runs.values()) or side.get_runs([int(side.network["run"]["seed"])])
        sources.append(PlotSource(side.name, runs, network=side.network or {}))
    return drawn(kind, sources, PlotChoice(frozenset(only), **plot_options))


def save(
    runs: Results | Sequence[Results], scenario: Scenario, folder: str | Path, **store_options: Any
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
    from trunkline.planning import dump_plan_json
    from trunkline.results import store

    listed = [runs] if isinstance(runs, Results) else list(runs)
    network = compile(scenario).to_json()
    return store.write_results(
        listed, folder, network_json=network, plan_json=dump_plan_json(scenario), **store_options
    )


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

    return store.read_results(folder)


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
        What to do if the folder holds a study: replace it, or continue it.
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
    from trunkline.study import StudySubject, perform_plan, read as kept
    from trunkline.study.run.progress import choose_progress

    plan = StudySubject(str(file), runs=runs).plan
    study_folder = Path(folder or f"{plan.name}-study")
    shown_progress = choose_progress(plan.name) if progress else None
    with perform_plan(
        plan, out=study_folder, progress=shown_progress, overwrite=overwrite, resume=resume
    ):
        pass
    return kept(study_folder)


def _build_operand(source: Operand, name: str) -> ComparisonOperand:
    from trunkline.compare import ComparisonOperand
    from trunkline.scenario import load

    if isinstance(source, Scenario):
        return ComparisonOperand.from_scenario(source, source.name or name)
    if isinstance(source, str | Path):
        source_path = Path(source)
        return (
            ComparisonOperand.read_folder(source_path)
            if source_path.is_dir()
            else ComparisonOperand.from_scenario(load(source_path), str(source))
        )
    runs = [source] if isinstance(source, Results) else list(source)
    scenario_text = runs[0].provenance.scenario
    return ComparisonOperand(
        name, None, {run.seed: run for run in runs}, scenario=scenario_text, stored=True
    )
