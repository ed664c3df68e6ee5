"""``trunkline study``: run a study, go on with one, put shards together, look at the values."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from trunkline.cli.common import echo_json, echo_tables, engine_faults, free
from trunkline.cli.limits import dry_run_option, limit_options, look_ahead
from trunkline.cli.options import gathered
from trunkline.cli.replication import until_options
from trunkline.cli.status import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from trunkline.study.run.execute import How
    from trunkline.study.run.frames import Runs
    from trunkline.study.run.plan import Plan
    from trunkline.study.run.progress import Progress

Outcome = TypeVar("Outcome")


@click.group("study", short_help="Run studies: many points, many seeds, one data set.")
def command() -> None:
    """Run studies, and look at their results.

    Start with: trunkline study run FILE, then trunkline study show FOLDER
    """


class Resources(click.ClickException):
    """The machine does not have what the study needs."""

    exit_code = Status.UNABLE


@dataclass(frozen=True)
class Execution:
    """Where and within what limits a study runs, and how its progress is shown."""

    resume: bool
    overwrite: bool
    threads: int | None
    cluster: str | None
    progress: str | None

    @property
    def kept(self) -> dict[str, bool]:
        """What is done with an earlier study in the folder."""
        return {"resume": self.resume, "overwrite": self.overwrite}

    def how(self) -> How:
        """As a study takes it.

        Raises
        ------
        click.UsageError
            They contradict each other.
        """
        from trunkline.engine.sim import LIMITS
        from trunkline.study.run.execute import How

        if self.cluster is not None and self.threads is not None:
            raise click.UsageError("--threads is of this machine, --cluster of others: give one.")
        limits = LIMITS.get()
        return How(self.threads, self.cluster, limits.time_s, limits.memory)

    def watch(self, plan: Plan) -> Progress:
        """What shows the progress of a plan."""
        from trunkline.engine.sim import cores
        from trunkline.study.run.progress import progress

        return progress(self.progress, plan.name, running=self.threads or cores())

    def perform(
        self,
        plan: Plan,
        out: str | None,
        use: Callable[[Runs], Outcome],
        *,
        watch: Progress | None = None,
    ) -> Outcome | Status:
        """Run a plan to its end; what `use` makes of the runs, or how it ended before."""
        from trunkline.study.run.perform import Incomplete, performed

        how, watch = self.how(), watch or self.watch(plan)
        try:
            with performed(plan, out=out, how=how, progress=watch, **self.kept) as runs:
                return use(runs)
        except Incomplete as error:
            click.echo(f"error: {error}", err=True)
            return Status.PARTIAL
        except KeyboardInterrupt:
            ended = watch.before + watch.done
            said = interrupted(ended, watch.total, out) if out else "interrupted; nothing was kept"
            click.echo(said, err=True)
            return Status.INTERRUPTED


execution_options = gathered(
    "execution",
    Execution,
    limit_options,
    click.option("--resume", is_flag=True, help="Go on with the study in the folder."),
    click.option("--overwrite", is_flag=True, help="Replace an earlier study in the folder."),
    click.option(
        "--threads",
        "--workers",
        "threads",
        type=click.IntRange(1, 4096),
        help="Runs at a time; default: all cores.",
    ),
    click.option(
        "--cluster",
        metavar="ADDRESS",
        help="Run on this Dask cluster, e.g. tcp://host:8786, or local:2 for one on this "
        "machine with two workers.",
    ),
    click.option(
        "--progress",
        type=click.Choice(["bar", "plain", "json", "none"]),
        help="How to show progress; default: a bar on a terminal, lines elsewhere.",
    ),
)


@contextmanager
def study_faults(folder: str | None = None) -> Iterator[None]:
    """Turn what a study refuses into an exit status.

    Raises
    ------
    click.UsageError, Resources
    """
    from trunkline.study.errors import OutOfMemory, Refused, Unable

    hint = f"; resume with --resume --out {folder}" if folder else ""
    try:
        with engine_faults():
            yield
    except (KeyError, IndexError):
        raise  # a bug, not an unknown name
    except LookupError as error:
        raise click.UsageError(str(error.args[0] if error.args else error)) from None
    except Refused as error:
        raise click.UsageError(str(error)) from None
    except Unable as error:
        raise Resources(f"{error}{hint}") from None
    except OutOfMemory as error:
        raise Resources(f"memory: {error}{hint}") from None


@command.command("run", short_help="Run a study, or what is missing of it.")
@click.argument("name", metavar="FILE|NAME")
@click.option(
    "--out",
    type=click.Path(),
    help="Folder of the study; default: its name with -study behind, in this folder.",
)
@click.option(
    "--runs", type=click.IntRange(1, 1_000_000), help="Replications of each point, seeds 1, 2, ..."
)
@until_options(
    "Replicate each point until half of the 95 % interval of every value is within this "
    "share of its mean, e.g. 2%.",
    "runs of a point",
)
@click.option(
    "--shard",
    metavar="K/N",
    help="Run only this share, e.g. 3/16: every 16th run, with --until-ci every 16th point; auto: "
    "the place in a Slurm array or a Kubernetes Job.",
)
@dry_run_option
@execution_options
@click.option(
    "--judge", is_flag=True, help="End with 3 if some run breaks a service level agreement."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
def run(
    name: str,
    out: str | None,
    runs: int | None,
    until_ci: float | None,
    max_runs: int,
    shard: str | None,
    dry_run: bool,
    execution: Execution,
    judge: bool,
    as_json: bool,
) -> int:
    """Run the study in FILE, or the one of the package called NAME.

    Every point runs with every seed. The folder holds a data set of one row a run when all have
    ended; until then it holds what has, and --resume goes on with it. The results are the same,
    byte for byte, on any number of threads, workers and shards.
    """
    import os

    from trunkline.study.outcome.reproduction import Subject
    from trunkline.study.outcome.show import judged
    from trunkline.study.run.execute import shard_of
    from trunkline.study.run.merge import shard_folder
    from trunkline.study.run.perform import working
    from trunkline.study.run.store import Store

    how = execution.how()
    with study_faults():
        which = None if shard is None else shard_of(shard, dict(os.environ))
        plan = Subject(name, runs=runs).plan
        if judge:
            judged(plan.measures)
    samples = {0, len(plan.points) // 2, len(plan.points) - 1}
    sampled = [plan.points[place].network_json for place in sorted(samples)]
    say = execution.watch(plan).foresee
    look_ahead(sampled, len(plan), dry_run=dry_run, as_json=as_json, say=say)
    if until_ci is not None:
        if runs is not None:
            raise click.UsageError("--until-ci finds the number of runs: no --runs.")
        with study_faults():
            part = plan if which is None else plan.part(*which)
        return _run_until(
            part,
            shard_folder(Path(out or f"{plan.name}-study"), which),
            until_ci,
            most=max_runs,
            how=how,
            progress=lambda: execution.watch(plan),
            judge=judge,
            as_json=as_json,
            **execution.kept,
        )
    with study_faults():
        folder = shard_folder(Path(out or f"{plan.name}-study"), which)
        store = Store(folder, plan, shard=which, **execution.kept)
    try:
        with (
            study_faults(str(out or folder)),
            working(store, how, execution.watch(plan)) as failed,
        ):
            pass
    except KeyboardInterrupt:
        click.echo(interrupted(len(store.records), len(store.mine), str(folder)), err=True)
        return Status.INTERRUPTED
    for each in failed:
        click.echo(f"failed: {shown(each.said)}; kept in {each.folder}", err=True)
    if which is not None:
        said = {"folder": str(folder), "done": len(store.records), "of": len(store.mine)}
        if as_json:
            echo_json(said)
        return Status.PARTIAL if failed else Status.DONE
    held = _show(folder, (), judge=judge, as_json=as_json)
    return Status.PARTIAL if failed else held


def _run_until(
    plan: Plan, folder: Path, target: float, *, judge: bool, as_json: bool, **how: Any
) -> int:
    """Replicate until every point is sure, then show the study."""
    from trunkline.study.run.until import until

    try:
        with study_faults(str(folder)):
            reached, failed = until(plan, folder, target, **how)
    except KeyboardInterrupt:
        click.echo(f"stopped; resume with --resume --out {shown(str(folder))}", err=True)
        return Status.INTERRUPTED
    for each in failed:
        click.echo(f"failed: {shown(each.said)}; kept in {each.folder}", err=True)
    if failed:
        return Status.PARTIAL
    held = _show(folder, (), judge=judge, as_json=as_json)
    few = [each for each in reached if not each.precision.reached]
    share = f"± {100 * target:g} %"
    if not few:
        click.echo(f"all {len(reached)} points reach {share}", err=True)
        return held
    worst = max(few, key=lambda each: each.precision.relative or 0)
    labels = ", ".join(worst.point.labels.values()) or "the point"
    click.echo(
        f"NOT ENOUGH RUNS: {len(few)} of {len(reached)} points do not reach {share}; the worst: "
        f"{shown(labels)}, {shown(worst.precision.widest)} is sure to "
        f"± {100 * (worst.precision.relative or 0):.2g} %",
        err=True,
    )
    return held


def interrupted(done: int, total: int, folder: str) -> str:
    """What to say to somebody who wants no more."""
    return f"{done} of {total} done; resume with --resume --out {shown(folder)}"


def shown(text: str) -> str:
    """Text without characters that steer a terminal."""
    from trunkline.scenario.diagnostic import printable

    return printable(text)


@command.command("merge", short_help="Put the shards of a study together.")
@click.argument("folder", type=click.Path())
@click.argument("shards", nargs=-1, type=click.Path(exists=True, file_okay=False))
def merge(folder: str, shards: tuple[str, ...]) -> None:
    """Make the study in FOLDER of its shards, or of the SHARDS that are named."""
    from trunkline.study.run.merge import merge as merged

    with study_faults():
        merged(folder, shards)
    click.echo(f"merged into {shown(folder)}", err=True)


@command.command("status", short_help="How far a study is, and who works on it.")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def status(folder: str, as_json: bool) -> None:
    """Say how far the study in FOLDER is, what failed, and who works on it."""
    from trunkline.study.outcome.show import status as status_of
    from trunkline.study.run.store import told

    with study_faults():
        said = status_of(Path(folder))
    if as_json:
        echo_json(said)
        return
    state = "complete" if said["complete"] else "under way" if said["held_by"] else "not complete"
    click.echo(f"{shown(said['study'])}: {said['done']} of {said['of']} runs done, {state}")
    if said["held_by"]:
        click.echo(f"in use by {shown(said['held_by'])}")
    for shard in said["shards"]:
        click.echo(f"shard {shard['folder']}: {shard['done']} of {shard['of']} done")
    for each in said["failed"]:
        click.echo(f"failed: {shown(told(each))}")
    if said["hash"]:
        click.echo(f"hash {said['hash']}")


@command.command("show", short_help="Means with intervals, point by point.")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.option("--value", "values", multiple=True, help="Show only this value; repeatable.")
@click.option(
    "--judge", is_flag=True, help="End with 3 if some run breaks a service level agreement."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
def show(folder: str, values: tuple[str, ...], judge: bool, as_json: bool) -> int:
    """Show the mean of every value at every point of the study in FOLDER, with 95 % intervals.

    Of service level agreements it is shown at which points every run keeps them.
    """
    with study_faults():
        return _show(Path(folder), values, judge=judge, as_json=as_json)


def _show(folder: Path, values: tuple[str, ...], *, judge: bool, as_json: bool) -> int:
    from trunkline.study.outcome.show import broken, render, to_json
    from trunkline.study.run.frames import read

    runs = read(folder)
    status = Status.NOT_HELD if judge and broken(runs) else Status.DONE
    if as_json:
        echo_json(to_json(runs, values))
    else:
        echo_tables(lambda **how: render(runs, values, **how))
    return status


@command.command("plot", short_help="Draw a value against a parameter.")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.option("--value", help="What to draw; default: the first value.")
@click.option("--against", help="Parameter on the axis; default: the last that varies.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False),
    required=True,
    help="Picture to write; ends in .png, .svg or .pdf.",
)
@click.option("--overwrite", is_flag=True, help="Replace an earlier picture.")
def plot(folder: str, value: str | None, against: str | None, out: str, overwrite: bool) -> None:
    """Draw means with 95 % intervals from the study in FOLDER."""
    from trunkline.plot.figure import FORMATS, save
    from trunkline.study.outcome.picture import picture
    from trunkline.study.run.frames import read

    if Path(out).suffix.removeprefix(".") not in FORMATS:
        raise click.UsageError(f"--out {out} must end in .{', .'.join(FORMATS)}.")
    free((out,), overwrite)
    with study_faults():
        save(picture(read(folder), value=value, against=against), out)
    click.echo(f"picture written to {out}", err=True)
