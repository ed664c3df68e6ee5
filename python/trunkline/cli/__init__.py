"""The command line. Each command is a separate module, which is imported at its first use."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

import click

from trunkline.cli.command_group import CommandGroup
from trunkline.cli.status import Status

if TYPE_CHECKING:
    from types import TracebackType

COMMAND_NAMES = (
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
    "fit",
    "report",
    "share",
    "check",
    "serve",
    "linux",
    "doctor",
    "completion",
    "version",
)


class _LazyCommandGroup(CommandGroup):
    """The top group, which imports a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMAND_NAMES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMAND_NAMES:
            return None
        import importlib

        module = importlib.import_module(f"trunkline.cli.{cmd_name}_command")
        command = module.command
        assert isinstance(command, click.Command)
        return command


def _print_version(ctx: click.Context, _: click.Parameter, is_wanted: bool) -> None:
    if is_wanted and not ctx.resilient_parsing:
        from trunkline.cli.version_command import command

        ctx.invoke(command, as_json=False)
        ctx.exit()


@click.group(
    cls=_LazyCommandGroup,
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
    callback=_print_version,
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

    arguments: Arguments after the program's name; default: the arguments of the process.
    """
    command_line = arguments
    if command_line is None:
        import signal

        from trunkline.cli.closed_readers import survive_closed_readers

        command_line = sys.argv[1:]
        survive_closed_readers()
        # SIGTERM acts as Ctrl-C does: private folders are removed, guests end.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    status = _run_guarded(command_line)
    if arguments is None:
        import gc

        # The interpreter would look through all objects for cycles before it ends: 0.1 s.
        gc.freeze()
    sys.exit(status)


def _run_guarded(command_line: list[str]) -> int:
    try:
        result = group.main(args=command_line, prog_name="trunkline", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        print("trunkline: interrupted", file=sys.stderr)
        return Status.INTERRUPTED
    except Exception as error:
        return _print_error(error, command_line)
    except BaseException as error:
        # A panic of the engine is not an Exception, so that nobody catches it by accident.
        if type(error).__name__ != "PanicException":
            raise
        return _print_bug(error, command_line)
    return result if isinstance(result, int) else Status.DONE


def _print_error(error: Exception, command_line: list[str]) -> int:
    from trunkline.cli.known_errors import describe_known_error

    known_error = describe_known_error(error)
    if known_error is None:
        return _print_bug(error, command_line)
    text, status = known_error
    print(text, file=sys.stderr)
    return status


def _print_bug(error: BaseException, command_line: list[str]) -> int:
    import shlex
    import traceback

    trace: TracebackType | None = error.__traceback__
    traceback.print_exception(type(error), error, trace)
    print(
        "trunkline: internal error: this is a bug of trunkline, no result can be trusted.\n"
        f"  replay: trunkline {shlex.join(command_line)}",
        file=sys.stderr,
    )
    return Status.FAILED
