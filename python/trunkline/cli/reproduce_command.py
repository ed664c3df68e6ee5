"""``trunkline reproduce``: a published study as one command."""

import click

from trunkline.cli.common import echo_json, echo_tables, engine_faults
from trunkline.cli.engine_option import check_engine, engine_options
from trunkline.cli.report_command import report_option, write_report
from trunkline.cli.status import Status
from trunkline.cli.study_command import execution_options, how_of, interrupted, study_faults

# What `--help` lists without importing the studies; a test holds it against them.
STUDIES = (
    "andreozzi2001",
    "avallone2003",
    "bhani1999",
    "develder2003",
    "seddigh1999",
    "today2026",
    "ye2003",
)


@click.command(
    "reproduce",
    short_help="Reproduce a published study.",
    epilog=f"Studies: {', '.join(STUDIES)}.",
)
@click.argument("name")
@click.option(
    "--runs",
    type=click.IntRange(1, 100_000),
    help="Replications of each point; the study's own number if not given.",
)
@click.option(
    "--out",
    type=click.Path(),
    help="Folder for the runs, tables, pictures and report.html; without it nothing is kept.",
)
@report_option
@engine_options
@execution_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
@click.option("--judge", is_flag=True, help="End with 3 when a claim does not hold.")
def command(
    name: str,
    runs: int | None,
    out: str | None,
    report: bool,
    engine: str,
    runner: str | None,
    resume: bool,
    overwrite: bool,
    threads: int | None,
    cluster: str | None,
    progress: str | None,
    as_json: bool,
    judge: bool,
) -> int:
    """Run the study NAME and compare with what was published.

    Prints our value with its 95 % interval beside each published one, whether each claim holds,
    and what had to be fitted because the publication leaves it unsaid. With --engine linux, the
    tables that a Linux kernel can run are compared with what it gives; --out keeps each verdict as
    it is known, and --resume goes on.
    """
    given = {"threads": threads, "cluster": cluster}
    check_engine(engine, runner, **{name: value is not None for name, value in given.items()})
    if engine == "fluid":
        raise click.UsageError("--engine fluid is no reproduction: publications count packets.")
    from trunkline.engine.sim import cores
    from trunkline.study.outcome.reproduction import Subject
    from trunkline.study.run.perform import Incomplete, performed
    from trunkline.study.run.progress import progress as progress_of

    if resume and out is None:
        raise click.UsageError("--resume needs --out: the folder to go on with.")
    how = how_of(threads, cluster)
    kept = {"resume": resume, "overwrite": overwrite}
    with study_faults(out):
        subject = Subject(name, runs=runs, kernel=engine == "linux")
        if engine == "linux":
            from trunkline.cli.kernel_tables import Kept, run_in_both

            return run_in_both(subject, runner, Kept(out, **kept), as_json=as_json, judge=judge)
        watch = progress_of(progress, subject.plan.name, running=threads or cores())
        try:
            with performed(subject.plan, out=out, how=how, progress=watch, **kept) as ended:
                done = subject.outcome(ended)
                if out is not None:
                    done.add_to(out)
        except Incomplete as error:
            click.echo(f"error: {error}", err=True)
            return Status.PARTIAL
        except KeyboardInterrupt:
            count = watch.before + watch.done
            told = interrupted(count, watch.total, out) if out else "interrupted; nothing was kept"
            click.echo(told, err=True)
            return Status.INTERRUPTED
    if as_json:
        echo_json(done.to_json())
    else:
        echo_tables(done.render)
    if out is not None:
        click.echo(f"runs, tables and pictures written to {out}", err=True)
        if report:
            from trunkline.report import add_exhibits

            with engine_faults():
                add_exhibits(name, out, threads=threads)
            write_report(out)
    written = done.to_json()
    outcomes = {claim["outcome"] for claim in written["claims"]}
    if not judge:
        return Status.DONE
    if "refuted" in outcomes:
        return Status.NOT_HELD
    return Status.UNDECIDED if "undecided" in outcomes else Status.DONE
