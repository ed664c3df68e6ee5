"""The command line. Each command is a module of its own, imported when it is used."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

import click

from trunkline.cli.status import Status

if TYPE_CHECKING:
    from types import TracebackType

COMMANDS = (
    "run",
    "watch",
    "verify",
    "compare",
    "diff",
    "validate",
    "inspect",
    "graph",
    "plot",
    "compile",
    "schedule",
    "te",
    "import",
    "export",
    "schema",
    "examples",
    "reproduce",
    "study",
    "report",
    "serve",
    "linux",
    "doctor",
    "completion",
    "version",
)


class _Commands(click.Group):
    """A group whose commands are imported by name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        import importlib

        module = importlib.import_module(f"trunkline.cli.{cmd_name}_command")
        command = module.command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"No such command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from trunkline.cli.version_command import command

        ctx.invoke(command, as_json=False)
        ctx.exit()


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "TRUNKLINE"},
    epilog=(
        "Data goes to standard output, messages to standard error. Exit status: 0 done, 1 a run "
        "failed, 2 wrong usage or invalid scenario, 3 a claim did not hold, 4 the machine cannot "
        "do it, 5 some runs of a study failed, 6 undecided, 130 interrupted (Ctrl-C or SIGTERM). "
        "Every option can be set by a variable, such as TRUNKLINE_RUN_SEED for run --seed."
    ),
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Print the version and exit.",
)
def group() -> None:
    """A laboratory for QoS and traffic engineering in MPLS and DiffServ networks.

    Start with: trunkline watch. It writes hello.yaml, an example, and shows it as a page with
    sliders; save the file to see what a change does. Without a browser: trunkline examples copy
    hello, then trunkline run hello.yaml
    """


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and end the process.

    Parameters
    ----------
    arguments : list of str, optional
        Words after the program's name; those of the process when left out.
    """
    words = arguments
    if words is None:
        import signal

        from trunkline.cli.output import outlast_readers

        words = sys.argv[1:]
        outlast_readers()
        # SIGTERM does what Ctrl-C does: private folders are removed, guests end.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    status = _guarded(words)
    if arguments is None:
        import gc

        # The interpreter would look through all objects for cycles before it ends: 0.1 s.
        gc.freeze()
    sys.exit(status)


def _guarded(words: list[str]) -> int:
    try:
        result = group.main(args=words, prog_name="trunkline", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        print("trunkline: interrupted", file=sys.stderr)
        return Status.INTERRUPTED
    except Exception as error:
        return _explain(error, words)
    except BaseException as error:
        # A panic of the engine is not an Exception, so that nobody catches it by accident.
        if type(error).__name__ != "PanicException":
            raise
        return _bug(error, words)
    return result if isinstance(result, int) else Status.DONE


def _explain(error: Exception, words: list[str]) -> int:
    from trunkline.cli.faults import known

    found = known(error)
    if found is None:
        return _bug(error, words)
    text, status = found
    print(text, file=sys.stderr)
    return status


def _bug(error: BaseException, words: list[str]) -> int:
    import shlex
    import traceback

    trace: TracebackType | None = error.__traceback__
    traceback.print_exception(type(error), error, trace)
    print(
        "trunkline: internal error: this is a bug of trunkline, no result can be trusted.\n"
        f"  replay: trunkline {shlex.join(words)}",
        file=sys.stderr,
    )
    return Status.FAILED
