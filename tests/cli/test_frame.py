"""The command line's frame: start-up cost, exit statuses, quiet ends."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import pytest

HEAVY = ("pydantic", "polars", "numpy", "scipy", "matplotlib", "rich", "yaml", "jinja2")


def test_help_costs_less_than_200_ms_of_processor_time(trunkline):
    """Design contract: --help answers in under 0.2 s of CPU; the best of ten counts, as a busy
    machine makes each slower."""
    trunkline("--help")  # writes the byte code
    spent = [float("inf")]
    for _ in range(10):
        if min(spent) < 0.2:
            break
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert trunkline("--help").returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(spent) < 0.2


@pytest.mark.parametrize("command", ["--help", "run --help", "reproduce --help", "examples list"])
def test_start_imports_nothing_heavy(command):
    code = (
        "import sys, trunkline.cli\n"
        "try:\n    trunkline.cli.main(sys.argv[1:])\n"
        "except SystemExit:\n    pass\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    words = [sys.executable, "-c", code, *command.split()]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_help_names_every_command(trunkline):
    from trunkline.cli import COMMAND_NAMES

    text = trunkline("--help").stdout
    assert [c for c in COMMAND_NAMES if f"\n  {c} " not in text] == []


def test_unknown_command_ends_with_2_and_names_the_nearest(trunkline):
    done = trunkline("rnu")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "No such command 'rnu'. Did you mean 'run'?" in done.stderr


@pytest.mark.parametrize(
    ("words", "likely"),
    [
        ("linux doctor", "'trunkline doctor'"),
        ("linux satus", "'status'"),
        ("setup", "'trunkline linux setup'"),
        ("te run", "'trunkline run' or 'trunkline study run'"),
        ("examples place", "'trunkline te place'"),
    ],
)
def test_unknown_command_of_a_group_names_the_one_of_this_name_elsewhere(trunkline, words, likely):
    done = trunkline(*words.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert f"No such command {words.split()[-1]!r}. Did you mean {likely}?" in done.stderr


def test_unknown_option_ends_with_2_and_names_the_nearest(trunkline):
    done = trunkline("run", "--sede", "1", "x.yaml")
    assert done.returncode == 2
    assert "--sede" in done.stderr
    assert "--seed" in done.stderr


def test_missing_file_ends_with_2(trunkline):
    done = trunkline("validate", "nowhere.yaml")
    assert done.returncode == 2
    assert "nowhere.yaml" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("seed", ["abc", "-1", str(2**70), "1.5"])
def test_seed_outside_its_range_ends_with_2_and_names_the_range(trunkline, seed):
    """Fault B30."""
    done = trunkline("run", "--seed", seed, "x.yaml")
    assert done.returncode == 2
    assert "--seed" in done.stderr
    assert "integer" in done.stderr or str(2**64 - 1) in done.stderr


@pytest.mark.parametrize("item", ["udp_rate", "=3", " =3"])
def test_set_without_a_path_and_a_value_ends_with_2(trunkline, item):
    done = trunkline("validate", "x.yaml", "--set", item)
    assert done.returncode == 2
    assert "PATH=VALUE" in done.stderr


def test_options_come_from_the_environment_too(trunkline):
    done = trunkline("run", "x.yaml", env={"TRUNKLINE_RUN_SEED": "abc"})
    assert done.returncode == 2
    assert "abc" in done.stderr


def test_closed_pipe_ends_quietly(tmp_path):
    """Fault F23: `| head` has enough after the first line."""
    words = [sys.executable, "-m", "trunkline", "schema"]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        words, stdout=writer, stderr=subprocess.PIPE, cwd=tmp_path, text=True, check=False
    )
    os.close(writer)
    assert done.stderr == ""
    assert done.returncode == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_the_shell(trunkline, shell):
    done = trunkline("completion", shell)
    assert done.returncode == 0
    assert "_TRUNKLINE_COMPLETE" in done.stdout


def test_completion_proposes_commands(trunkline):
    environment = {
        "_TRUNKLINE_COMPLETE": "bash_complete",
        "COMP_WORDS": "trunkline repr",
        "COMP_CWORD": "1",
    }
    assert trunkline(env=environment).stdout.split(",")[-1].strip() == "reproduce"
