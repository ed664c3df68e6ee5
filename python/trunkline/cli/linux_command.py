"""``trunkline linux``: prepare, show and remove the runners of the Linux engine."""

import click

from trunkline.cli.command_group import CommandGroup
from trunkline.cli.common import echo_json, show_progress
from trunkline.cli.status import Status

PREPARED_RUNNERS = click.Choice(("qemu", "uml"))
CONTROL_TYPE = click.Choice(("frr",))


@click.group("linux", cls=CommandGroup, short_help="Prepare the Linux engine.")
def command() -> None:
    """Prepare, show and remove the runners of the Linux engine."""


@command.command("setup", short_help="Prepare a runner.")
@click.option(
    "--runner", type=PREPARED_RUNNERS, default="qemu", show_default=True, help="Runner to prepare."
)
@click.option(
    "--control", type=CONTROL_TYPE, help="Prepare these routing daemons in place of a runner."
)
@click.option("--dry-run", is_flag=True, help="Only list the packages to fetch.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object at the end.")
def setup_command(runner: str, control: str | None, dry_run: bool, as_json: bool) -> int:
    """Fetch the packages of a runner into the user's cache, without root, and test it.

    qemu uses the kernel of a distribution. uml compiles a kernel once, which takes minutes, and
    then runs five to ten times as fast.
    """
    import time

    from trunkline.linux.guest.readiness import examine_runner
    from trunkline.linux.guest.setup import SetupFailed, perform_setup, plan_setup

    def print_step(text: str) -> None:
        click.echo(f"linux: {text}", err=True)

    started = time.monotonic()
    option = "--runner" if control is None else "--control"
    runner = control or runner
    state = examine_runner(runner)
    if state.is_ready:
        print_step(f"{runner} is ready; trunkline linux clean {option} {runner} removes it")
        if as_json:
            echo_json({"schema": 1, **state.to_dict(), "fetched_bytes": 0, "seconds": 0.0})
        return Status.DONE
    try:
        setup = plan_setup(runner)
        print_step(
            f"{runner} takes {len(setup.packages)} packages, "
            f"{setup.download_bytes / 1e6:.0f} MB to "
            f"fetch, {setup.space_needed / 1e6:.0f} MB of space during setup and "
            f"{setup.space_kept / 1e6:.0f} MB afterwards; about {setup.duration_text} "
            f"on two idle processors"
        )
        if dry_run:
            packages = [
                {"name": p.name, "version": p.version, "bytes": p.size} for p in setup.packages
            ]
            if as_json:
                echo_json({"schema": 1, "runner": runner, "packages": packages})
            else:
                for package in packages:
                    click.echo(f"{package['name']} {package['version']} {package['bytes']}")
            return Status.DONE
        with show_progress("linux: compiling", plain=True) as show:
            state = perform_setup(setup, print_step, show)
    except SetupFailed as error:
        click.echo(f"error[linux]: {error}", err=True)
        return Status.UNABLE
    seconds = time.monotonic() - started
    print_step(f"{runner} is ready after {seconds:.0f} s")
    if as_json:
        fetch_facts = {"fetched_bytes": setup.download_bytes, "seconds": round(seconds, 1)}
        echo_json({"schema": 1, **state.to_dict(), **fetch_facts})
    return Status.DONE if state.is_ready else Status.UNABLE


@command.command("status", short_help="Show which runners are ready.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def status_command(as_json: bool) -> int:
    """Show the requirements of each runner, which are missing, and how to get them."""
    from trunkline.linux.guest.cache import get_cache_folder, measure_folder
    from trunkline.linux.guest.readiness import RUNNERS, examine_runner

    states = [examine_runner(name) for name in (*RUNNERS, "frr")]
    folder = get_cache_folder()
    size = measure_folder(folder) if folder.exists() else 0
    if as_json:
        state_dicts = [state.to_dict() for state in states]
        runners, control = state_dicts[: len(RUNNERS)], state_dicts[len(RUNNERS) :]
        runner_states = {"runners": runners, "control": control}
        echo_json({"schema": 1, "cache": str(folder), "cache_bytes": size, **runner_states})
    else:
        for state in states:
            click.echo(f"{state.runner}: {'ready' if state.is_ready else 'not ready'}")
            for part in state.requirements:
                mark = "ok     " if part.found else "MISSING"
                click.echo(f"  {mark} {part.name:<10} {part.detail}")
        click.echo(f"cache: {folder}, {size / 1e6:.0f} MB")
    return Status.DONE if any(state.is_ready for state in states[:2]) else Status.UNABLE


@command.command("clean", short_help="Remove prepared runners.")
@click.option("--runner", type=PREPARED_RUNNERS, help="Runner to remove. Default: everything.")
@click.option("--control", type=CONTROL_TYPE, help="Remove these routing daemons.")
def clean_command(runner: str | None, control: str | None) -> int:
    """Remove the files that setup has prepared."""
    from trunkline.linux.guest.setup import SetupFailed, remove_prepared

    try:
        freed = remove_prepared(control or runner)
    except SetupFailed as error:
        click.echo(f"error[linux]: {error}", err=True)
        return Status.UNABLE
    click.echo(f"linux: {freed / 1e6:.0f} MB freed", err=True)
    return Status.DONE
