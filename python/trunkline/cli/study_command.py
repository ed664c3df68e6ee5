"""``trunkline study``: run or resume a study, merge its shards, show its values."""

from __future__ import annotations

import functools
import json
import re
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from trunkline.cli.command_group import CommandGroup
from trunkline.cli.common import (
    convert_engine_errors,
    echo_json,
    echo_tables,
    refuse_existing_files,
)
from trunkline.cli.limits import check_forecast, dry_run_option, limit_options
from trunkline.cli.option_groups import combine_options, gather_options
from trunkline.cli.replication import interval_option, until_options
from trunkline.cli.status import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from trunkline.stats.control_variates import OfferedMean
    from trunkline.study.fit.study_fit import StudyFit
    from trunkline.study.run.data_set import Runs
    from trunkline.study.run.execution import RunOptions
    from trunkline.study.run.progress import Progress
    from trunkline.study.run.run_plan import RunPlan

Performed = TypeVar("Performed")
UseResult = TypeVar("UseResult")


@click.group(
    "study", cls=CommandGroup, short_help="Run studies: many points, many seeds, one data set."
)
def command() -> None:
    """Run studies and show their results.

    Start with: trunkline study run FILE, then trunkline study show FOLDER
    """


class MissingResources(click.ClickException):
    """The machine lacks memory, disk space or another resource for the study."""

    exit_code = Status.UNABLE


@dataclass(frozen=True)
class WorkerOptions:
    """Options for the place and the progress of long work that can be resumed."""

    resume: bool
    threads: int | None
    cluster: str | None
    progress: str | None

    def make_run_options(self) -> RunOptions:
        """Make the options of a study's runs.

        Raises click.UsageError: The options contradict each other.
        """
        from trunkline.engine.packet_engine import RUN_LIMITS
        from trunkline.study.run.cluster import count_local_workers
        from trunkline.study.run.execution import RunOptions

        if self.cluster is not None and self.threads is not None:
            raise click.UsageError("--threads is for this machine, --cluster for others: give one.")
        if self.cluster is not None:
            with convert_study_errors():
                count_local_workers(self.cluster)
        limits = RUN_LIMITS.get()
        return RunOptions(self.threads, self.cluster, limits.time_s, limits.memory)

    def make_progress(self, name: str) -> Progress:
        """Make the display of the progress of a task with this name."""
        from trunkline.engine.packet_engine import count_cores
        from trunkline.study.run.progress import create_progress

        return create_progress(self.progress, name, thread_count=self.threads or count_cores())


@dataclass(frozen=True)
class ExecutionOptions(WorkerOptions):
    """Options for the place, the limits and the progress of a study."""

    overwrite: bool

    @property
    def folder_options(self) -> dict[str, bool]:
        """Options for an earlier study in the folder."""
        return {"resume": self.resume, "overwrite": self.overwrite}

    def run_plan(
        self,
        plan: RunPlan,
        out: str | None,
        use_runs: Callable[[Runs], UseResult],
        *,
        progress: Progress | None = None,
    ) -> UseResult | Status:
        """Run a plan; return the result of `use_runs`, or a status if the plan did not complete."""
        from trunkline.study.run.session import perform_plan

        run_options, progress = self.make_run_options(), progress or self.make_progress(plan.name)
        performed = perform_plan(
            plan, out=out, options=run_options, progress=progress, **self.folder_options
        )
        return self.complete(performed, out, use_runs, progress=progress)

    def complete(
        self,
        performed: AbstractContextManager[Performed],
        out: str | None,
        use_result: Callable[[Performed], UseResult],
        *,
        progress: Progress | None = None,
    ) -> UseResult | Status:
        """Run a study; return the result of `use_result`, or a status if it did not complete.

        performed: Runs the study when it is entered.
        """
        from trunkline.study.run.session import IncompleteStudy

        try:
            with performed as result:
                return use_result(result)
        except IncompleteStudy as error:
            click.echo(f"error: {error}", err=True)
            return Status.PARTIAL
        except KeyboardInterrupt:
            if out is None:
                message = "interrupted; nothing was kept"
            elif progress is None:
                message = format_stopped(out)
            else:
                done_count = progress.done_before + progress.done
                message = format_interrupted(done_count, progress.total, out)
            click.echo(message, err=True)
            return Status.INTERRUPTED


cluster_option = click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Run on this Dask cluster, e.g. tcp://host:8786, or local:2 for two workers on this "
    "machine.",
)
worker_choices = combine_options(
    click.option(
        "--threads",
        "--workers",
        "threads",
        type=click.IntRange(1, 4096),
        help="Number of runs, or processes of a screen, at the same time. Default: all cores.",
    ),
    cluster_option,
    click.option(
        "--progress",
        type=click.Choice(["bar", "plain", "json", "none"]),
        help="Display of the progress. Default: a bar on a terminal, lines elsewhere.",
    ),
)
execution_options = gather_options(
    "execution",
    ExecutionOptions,
    limit_options,
    click.option("--resume", is_flag=True, help="Continue the study in the folder."),
    click.option("--overwrite", is_flag=True, help="Replace an earlier study in the folder."),
    worker_choices,
)


def _parse_budget(ctx: click.Context, param: click.Parameter, text: str | None) -> float | None:
    """Seconds of a time such as 10m or 90 s."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?(s|m|min|h)", text.strip())
    seconds = float(found[1]) * {"s": 1, "m": 60, "min": 60, "h": 3600}[found[2]] if found else 0.0
    if not seconds:
        raise click.BadParameter(f"{text!r} is no time; give one like 90s, 10m or 2h.")
    return seconds


@dataclass(frozen=True)
class FitOptions:
    """Options for the size of a fit, its parameters and its folder."""

    out: str | None
    trials: int | None
    runs: int | None
    budget: float | None
    parameters: tuple[str, ...]
    no_misfit: bool
    no_checks: bool

    def check(self, execution: ExecutionOptions) -> None:
        """Check whether the options go together.

        Raises
        ------
        click.UsageError
            They contradict each other.
        """
        if sum(each is not None for each in (self.trials, self.runs, self.budget)) > 1:
            raise click.UsageError("--trials, --runs and --budget exclude each other: give one.")
        if execution.resume and self.out is None:
            raise click.UsageError("--resume needs --out, the folder of the fit to continue.")


fit_options = gather_options(
    "fit_choice",
    FitOptions,
    click.option(
        "--out",
        type=click.Path(),
        help="Folder for the trials and the fit. Default: store nothing.",
    ),
    click.option(
        "--trials",
        type=click.IntRange(16, 100_000),
        help="Settings to run. Default: 10 for each parameter.",
    ),
    click.option(
        "--runs",
        type=click.IntRange(1, 100_000_000),
        help="Runs of the simulator in all, in place of --trials.",
    ),
    click.option(
        "--budget",
        callback=_parse_budget,
        metavar="TIME",
        help="Time of the fit, e.g. 10m, in place of --trials.",
    ),
    click.option(
        "--parameter",
        "parameters",
        multiple=True,
        metavar="NAME",
        help="Fit this parameter only; repeatable. Default: all with a prior or other values.",
    ),
    click.option(
        "--no-misfit",
        is_flag=True,
        help="Assume that some setting explains every value, but for chance and rounding.",
    ),
    click.option(
        "--no-checks",
        is_flag=True,
        help="Leave no table out in turn, and run no trial once more.",
    ),
)


def run_fit(
    fit: Callable[..., StudyFit],
    fit_choice: FitOptions,
    execution: ExecutionOptions,
    *,
    as_json: bool,
) -> Status:
    """Run a fit with the options of the command, and print it."""
    fit_choice.check(execution)
    out = fit_choice.out
    try:
        with convert_study_errors(out):
            found = fit(
                trials=fit_choice.trials,
                runs=fit_choice.runs,
                budget_s=fit_choice.budget,
                parameters=fit_choice.parameters,
                out=out,
                options=execution.make_run_options(),
                create_progress=execution.make_progress,
                misfit=False if fit_choice.no_misfit else None,
                check=not fit_choice.no_checks,
                on_step=lambda text: click.echo(text, err=True),
                **execution.folder_options,
            )
    except KeyboardInterrupt:
        hint = f"; resume with --resume --out {make_printable(out)}" if out else ""
        click.echo(f"interrupted{hint}", err=True)
        return Status.INTERRUPTED
    if out is not None:
        from trunkline.report.fit_page import write_fit_page

        write_fit_page(found.to_json(), Path(out))
    if as_json:
        echo_json(found.to_json())
    else:
        echo_tables(found.render)
        for warning in found.warnings:
            click.echo(f"warning: {make_printable(warning)}", err=True)
    return Status.DONE


@contextmanager
def convert_study_errors(folder: str | None = None) -> Iterator[None]:
    """Convert errors of a study to an exit status. Raises click.UsageError, MissingResources."""
    from trunkline.study.errors import MemoryLimitExceeded, StudyError, SystemLimitError

    hint = f"; resume with --resume --out {folder}" if folder else ""
    try:
        with convert_engine_errors():
            yield
    except (KeyError, IndexError):
        raise  # a bug, not an unknown name
    except LookupError as error:
        raise click.UsageError(str(error.args[0] if error.args else error)) from None
    except StudyError as error:
        raise click.UsageError(str(error)) from None
    except SystemLimitError as error:
        raise MissingResources(f"{error}{hint}") from None
    except MemoryLimitExceeded as error:
        raise MissingResources(f"memory: {error}{hint}") from None


@command.command("run", short_help="Run a study, or its missing runs.")
@click.argument("name", metavar="FILE|NAME")
@click.option(
    "--out",
    type=click.Path(),
    help="Folder of the study. Default: NAME-study in the current folder.",
)
@click.option(
    "--runs", type=click.IntRange(1, 1_000_000), help="Replications of each point, seeds 1, 2, ..."
)
@until_options(
    "Replicate each point until half of the 95 % interval of every value is within this "
    "share of its mean, e.g. 2%.",
    "runs of a point",
)
@interval_option
@click.option(
    "--shard",
    metavar="K/N",
    help="Run only this share, e.g. 3/16: every 16th run, with --until-ci every 16th point. auto: "
    "the index in a Slurm array or a Kubernetes Job.",
)
@dry_run_option
@execution_options
@click.option(
    "--judge", is_flag=True, help="Exit with status 3 if a run breaks a service level agreement."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
def run(
    name: str,
    out: str | None,
    runs: int | None,
    until_ci: float | None,
    max_runs: int,
    interval: str,
    shard: str | None,
    dry_run: bool,
    execution: ExecutionOptions,
    judge: bool,
    as_json: bool,
) -> int:
    """Run the study in FILE, or the study NAME of the package.

    Every point runs with every seed. The folder stores each finished run, and --resume continues
    with the others. When all runs have ended, the folder has a data set with one row for each
    run. The results are the same, byte for byte, on any number of threads, workers and shards.
    """
    import os

    from trunkline.study.outcome.reproduction import StudySubject
    from trunkline.study.outcome.study_tables import list_judged_agreements
    from trunkline.study.run.execution import parse_shard
    from trunkline.study.run.merge import build_shard_folder
    from trunkline.study.run.session import hold_and_execute
    from trunkline.study.run.store import StudyStore

    run_options = execution.make_run_options()
    with convert_study_errors():
        shard_position = None if shard is None else parse_shard(shard, dict(os.environ))
        plan = StudySubject(name, runs=runs).plan
        if interval == "controlled":
            plan = plan.add_controls(_read_offered_means)
        if judge:
            list_judged_agreements(plan.measures)
    samples = {0, len(plan.points) // 2, len(plan.points) - 1}
    sampled = [plan.points[place].network_json for place in sorted(samples)]
    announce = execution.make_progress(plan.name).announce_forecast
    check_forecast(sampled, len(plan), dry_run=dry_run, as_json=as_json, announce=announce)
    if until_ci is not None:
        if runs is not None:
            raise click.UsageError("--runs and --until-ci exclude each other: give one.")
        with convert_study_errors():
            part = plan if shard_position is None else plan.select_shard(*shard_position)
        return _run_until_precise(
            part,
            build_shard_folder(Path(out or f"{plan.name}-study"), shard_position),
            until_ci,
            max_runs=max_runs,
            options=run_options,
            progress=lambda: execution.make_progress(plan.name),
            judge=judge,
            as_json=as_json,
            **execution.folder_options,
        )
    with convert_study_errors():
        folder = build_shard_folder(Path(out or f"{plan.name}-study"), shard_position)
        store = StudyStore(folder, plan, shard=shard_position, **execution.folder_options)
    try:
        with (
            convert_study_errors(str(out or folder)),
            hold_and_execute(store, run_options, execution.make_progress(plan.name)) as failed,
        ):
            pass
    except KeyboardInterrupt:
        click.echo(
            format_interrupted(len(store.records), len(store.own_tasks), str(folder)), err=True
        )
        return Status.INTERRUPTED
    for failure in failed:
        click.echo(
            f"failed: {make_printable(failure.description)}; kept in {failure.folder}", err=True
        )
    if shard_position is not None:
        document = {"folder": str(folder), "done": len(store.records), "of": len(store.own_tasks)}
        if as_json:
            echo_json(document)
        return Status.PARTIAL if failed else Status.DONE
    status = _show_results(folder, (), judge=judge, as_json=as_json)
    return Status.PARTIAL if failed else status


def _read_offered_means(network_json: str) -> Mapping[str, OfferedMean]:
    """Read the known means of the sources of a compiled network."""
    from trunkline.fluid.offered_means import read_offered_means

    return read_offered_means(json.loads(network_json))


def _run_until_precise(
    plan: RunPlan, folder: Path, target: float, *, judge: bool, as_json: bool, **how: Any
) -> int:
    """Replicate until every point is precise enough, then show the study."""
    from trunkline.study.run.replication import replicate_until_precise

    try:
        with convert_study_errors(str(folder)):
            reached, failed = replicate_until_precise(plan, folder, target, **how)
    except KeyboardInterrupt:
        click.echo(format_stopped(str(folder)), err=True)
        return Status.INTERRUPTED
    for point_result in failed:
        click.echo(
            f"failed: {make_printable(point_result.description)}; kept in {point_result.folder}",
            err=True,
        )
    if failed:
        return Status.PARTIAL
    status = _show_results(folder, (), judge=judge, as_json=as_json)
    imprecise = [point_result for point_result in reached if not point_result.precision.reached]
    share = f"± {100 * target:g} %"
    used = sum(each.precision.runs for each in reached)
    plain = [each.precision.plain_runs or each.precision.runs for each in reached]
    equal = len(reached) * max(plain)
    spent = f"{used} runs"
    if any(each.precision.plain_runs for each in reached):
        spent += f"; plain replication would need about {sum(plain)}"
    if equal > sum(plain):
        spent += f"; as many of every point as the least sure needs would be {equal}"
    if not imprecise:
        click.echo(f"all {len(reached)} points reach {share}: {spent}", err=True)
        return status
    worst = max(imprecise, key=lambda point_result: point_result.precision.relative or 0)
    labels = ", ".join(worst.point.labels.values()) or "the point"
    width = worst.precision.relative
    sure = "has no interval" if width is None else f"is sure to ± {100 * width:.2g} %"
    click.echo(
        f"NOT ENOUGH RUNS: {len(imprecise)} of {len(reached)} points "
        f"do not reach {share}; the worst: "
        f"{make_printable(labels)}, {make_printable(worst.precision.widest)} {sure}; {spent}",
        err=True,
    )
    return status


def format_interrupted(done: int, total: int, folder: str) -> str:
    """Describe the progress of an interrupted study, and how to resume it."""
    return f"{done} of {total} done; resume with --resume --out {make_printable(folder)}"


def format_stopped(folder: str) -> str:
    """Describe how to resume a study whose number of runs is not known yet."""
    return f"stopped; resume with --resume --out {make_printable(folder)}"


def make_printable(text: str) -> str:
    """Escape the control characters of a terminal."""
    from trunkline.scenario.diagnostic import escape_unprintable

    return escape_unprintable(text)


@command.command("fit", short_help="Infer what a document leaves unsaid from its values.")
@click.argument("name", metavar="FILE|NAME")
@fit_options
@execution_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
def fit(name: str, fit_choice: FitOptions, execution: ExecutionOptions, as_json: bool) -> int:
    """Infer the fitted parameters of a study from the published values.

    Run the study at settings over the priors, learn how its values depend on them, and sample the
    posterior. Then print which parameters the values determine, the readings with their odds, each
    table's values against their prediction, and how the fit to the other tables predicts a table.
    """
    from trunkline.study.fit.study_fit import fit_study

    return run_fit(functools.partial(fit_study, name), fit_choice, execution, as_json=as_json)


@command.command("merge", short_help="Merge the shards of a study.")
@click.argument("folder", type=click.Path())
@click.argument("shards", nargs=-1, type=click.Path(exists=True, file_okay=False))
def merge(folder: str, shards: tuple[str, ...]) -> None:
    """Merge the shards in FOLDER, or the given SHARDS, to one study in FOLDER."""
    from trunkline.study.run.merge import merge_shards as merged

    with convert_study_errors():
        merged(folder, shards)
    click.echo(f"merged into {make_printable(folder)}", err=True)


@command.command("status", short_help="Show the progress of a study, and who runs it.")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def status(folder: str, as_json: bool) -> None:
    """Show the progress of the study in FOLDER, its failed runs, and the process that runs it."""
    from trunkline.study.outcome.study_tables import read_study_status as status_of
    from trunkline.study.run.store import format_failure

    with convert_study_errors():
        document = status_of(Path(folder))
    if as_json:
        echo_json(document)
        return
    state = (
        "complete" if document["complete"] else "running" if document["held_by"] else "not complete"
    )
    click.echo(
        f"{make_printable(document['study'])}: {document['done']} of {document['of']} runs "
        f"done, {state}"
    )
    if document["held_by"]:
        click.echo(f"in use by {make_printable(document['held_by'])}")
    for shard in document["shards"]:
        click.echo(f"shard {shard['folder']}: {shard['done']} of {shard['of']} done")
    for failure in document["failed"]:
        click.echo(f"failed: {make_printable(format_failure(failure))}")
    if document["hash"]:
        click.echo(f"hash {document['hash']}")


@command.command("show", short_help="Show means with intervals for each point.")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.option("--value", "values", multiple=True, help="Show only this value; repeatable.")
@click.option(
    "--judge", is_flag=True, help="Exit with status 3 if a run breaks a service level agreement."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
def show(folder: str, values: tuple[str, ...], judge: bool, as_json: bool) -> int:
    """Show the mean of every value at every point of the study in FOLDER, with 95 % intervals.

    For service level agreements, show the points at which every run keeps them.
    """
    with convert_study_errors():
        return _show_results(Path(folder), values, judge=judge, as_json=as_json)


def _show_results(folder: Path, values: tuple[str, ...], *, judge: bool, as_json: bool) -> int:
    from trunkline.study.outcome.study_tables import (
        build_study_json,
        has_broken_agreement,
        render_study,
    )
    from trunkline.study.run.data_set import read

    runs = read(folder)
    status = Status.NOT_HELD if judge and has_broken_agreement(runs) else Status.DONE
    if as_json:
        echo_json(build_study_json(runs, values))
    else:
        echo_tables(lambda **how: render_study(runs, values, **how))
    return status


@command.command("plot", short_help="Draw a value against a parameter.")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.option("--value", help="Value to draw. Default: the first value.")
@click.option("--against", help="Parameter on the x axis. Default: the last that varies.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False),
    required=True,
    help="Picture to write; ends in .png, .svg or .pdf.",
)
@click.option("--overwrite", is_flag=True, help="Replace an earlier picture.")
def plot(folder: str, value: str | None, against: str | None, out: str, overwrite: bool) -> None:
    """Draw means with 95 % intervals from the study in FOLDER."""
    from trunkline.plot.figure import PICTURE_FORMATS, save_figure
    from trunkline.study.outcome.parameter_plot import draw_parameter_plot
    from trunkline.study.run.data_set import read

    if Path(out).suffix.removeprefix(".") not in PICTURE_FORMATS:
        raise click.UsageError(f"--out {out} must end in .{', .'.join(PICTURE_FORMATS)}.")
    refuse_existing_files((out,), overwrite)
    with convert_study_errors():
        save_figure(draw_parameter_plot(read(folder), value=value, x_parameter=against), out)
    click.echo(f"picture written to {out}", err=True)
