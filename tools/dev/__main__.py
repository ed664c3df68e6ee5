"""`./dev COMMAND`: set up the working environment and run things in it.

Only the standard library is used, and little of it on the way to a second call, which has to
start at once.
"""

import os
import sys

import setup_steps as steps
from shell import StepFailed, print_message

USAGE = """\
Usage: ./dev [--plain] COMMAND [ARGS...]

  setup      build the engine and the Python environment (the other commands do it by themselves);
             ARGS: run, test, check or docs
  demo       reproduce a published study and draw it, and write the first tutorial as a page that
             runs; all of it goes to results/demo
  test       run Rust and Python tests; ARGS go to pytest; --slow: the slow tests too, as before
             a merge; --linux: the tests of the Linux engine with all its guests; --oldest,
             --newest: Python tests on the oldest or newest packages that pyproject.toml allows
  check      run every gate: format, lint, types, import arrows, forbidden words, docs, schema
  mutants    break the code in one place after the other and see which tests notice; ARGS: packages.
             It takes days and continues where it stopped; --changed: only what differs from main
  bench      packet-hops per CPU second compared with ns-2 and ns-3; ARGS: [--json] [W1 W2 W3]
             [--rounds N]; --counts: instructions per packet-hop, against the stored baseline;
             --scaling: how cost and memory grow
  docs       make the documentation site: build/site/index.html
  package    build the wheel, install it into an empty environment and try it there
  run        the trunkline command line in the prepared environment, e.g. ./dev run --help
  python     Python in the prepared environment
  clean      remove what the commands above made (.boot .venv .stamps build target)

  --plain    show every command that is run, with its output
"""


def exec_python(*arguments: str) -> None:
    """Replace this process by the environment's Python. *arguments: Its arguments."""
    sys.stdout.flush()
    os.execv(steps.VENV_PYTHON, [steps.VENV_PYTHON, *arguments])


def set_bytecode_folder() -> None:
    """Let every Python keep its byte code in a folder of ours, whatever the surroundings say.

    Many containers forbid writing it; compiling a few hundred modules at every start then costs
    three times the cost of a small run.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = os.path.join(steps.STAMPS_FOLDER, "byte-code")


def run_demo(arguments: list[str]) -> int:
    """Reproduce a published study, then write the first tutorial as a page that runs.

    arguments: Further arguments of ``trunkline reproduce``.
    Returns: Exit status of the first command that failed, else 0.
    """
    import subprocess

    steps.prepare_environment("run")
    out = os.path.join("results", "demo")
    os.chdir(steps.ROOT)
    trunkline = [steps.VENV_PYTHON, "-m", "trunkline"]
    command = [*trunkline, "reproduce", "bhani1999", "--out", out, "--overwrite", *arguments]
    status = subprocess.call(command)
    if status:
        return status
    web = steps.check_web_engine()
    if web is not None:
        print_message("compiling the engine for pages (about half a minute, once)")
        steps.build_web_engine(web)
    lesson = os.path.join("python", "trunkline", "examples", "trunks.yaml")
    page = os.path.join(out, "trunks.html")
    return subprocess.call([*trunkline, "share", lesson, "--out", page])


def main(arguments: list[str]) -> int:
    """Run one command.

    arguments: The command line without the program's name.
    Returns: Exit status: 0 done, 1 failed, 2 wrong usage, 4 a tool is missing.
    """
    set_bytecode_folder()
    if arguments and arguments[0] == "--plain":
        os.environ["TRUNKLINE_DEV_PLAIN"] = "1"
        arguments = arguments[1:]
    if not arguments or arguments[0] in {"help", "-h", "--help"}:
        print(USAGE, end="")
        return 0 if arguments else 2
    command, rest = arguments[0], arguments[1:]
    if command == "run":
        steps.prepare_environment("run")
        exec_python("-m", "trunkline", *rest)
    elif command == "python":
        steps.prepare_environment("run")
        exec_python(*rest)
    elif command == "setup":
        steps.prepare_environment(rest[0] if rest else "run")
        print_message(
            f"ready: ./dev run --help, or source "
            f"{steps.make_relative(steps.VENV_FOLDER)}/bin/activate"
        )
    elif command == "demo":
        return run_demo(rest)
    elif command in {"test", "check", "mutants", "bench", "docs", "package"}:
        import gates

        return gates.COMMANDS[command](rest)
    elif command == "clean":
        steps.remove_environment()
    else:
        print(USAGE, end="", file=sys.stderr)
        print_message(f"there is no command {command!r}")
        return 2
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except StepFailed as failure:
        print_message(str(failure))
        sys.exit(failure.status)
    except KeyboardInterrupt:
        print_message("interrupted")
        sys.exit(130)
