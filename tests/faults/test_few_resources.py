"""Too few threads or files: a study goes on with fewer threads, or says what it lacks."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Start, files

UID = 64999
"""Of nobody: the limit of threads counts all of a user's, and root has none."""


def limited(threads: int, *words: str, where: Path) -> subprocess.CompletedProcess[str]:
    """Run the command line as a user who may have so many threads."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None or shutil.which("prlimit") is None:
        pytest.skip("another user with a limit of threads needs root, setpriv and prlimit")
    # The right to read and write all files stays, wherever Python is; that to pass limits goes.
    keep = "-all,+dac_override"
    user = [f"--reuid={UID}", f"--regid={UID}", "--clear-groups"]
    become = ["setpriv", *user, f"--inh-caps={keep}", f"--ambient-caps={keep}"]
    command = [*become, "prlimit", f"--nproc={threads}", sys.executable, "-m", "trunkline", *words]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "HOME": str(where)}
    done = subprocess.run(
        command,
        cwd=where,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if "setpriv:" in done.stderr:
        pytest.skip(f"this machine does not let root become another user: {done.stderr}")
    return done


def test_f24_where_threads_cannot_be_started_the_study_goes_on_with_fewer_and_says_so(
    study: Path, clean: dict[str, bytes], tmp_path: Path
) -> None:
    words = ("study", "run", str(study), "--out", "out", "--threads", "64", "--progress", "plain")
    done = limited(24, *words, where=tmp_path)
    assert done.returncode == 0, done.stderr
    # 24 with the thread that waits for the others; one more may still be ending.
    shown_text = (
        "warning: only (\\d+) of 64 threads could be started: Resource temporarily unavailable"
    )
    found = re.search(shown_text, done.stderr)
    assert found is not None
    assert 21 <= int(found[1]) <= 23
    assert files(tmp_path / "out") == clean


def test_f24_too_few_threads_for_any_study_are_said_before_it_begins(
    study: Path, tmp_path: Path
) -> None:
    done = limited(6, "study", "run", str(study), "--out", "out", where=tmp_path)
    assert done.returncode == 4, done.stderr
    assert "only 5 threads could be started, a study needs 16: raise ulimit -u" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("most", [7, 12, 31])
def test_f24_too_few_open_files_are_said_before_it_begins(
    most: int, start: Start, study: Path
) -> None:
    limit: Callable[[], None] = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # noqa: E731
    process = start("study", "run", str(study), "--out", "out", preexec_fn=limit)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 4, errors
    assert f"only {most} files may be open at a time, a study needs 32: raise ulimit -n" in errors
    assert "Traceback" not in errors


def test_f24_the_fewest_open_files_that_are_allowed_are_enough(
    start: Start, study: Path, clean: dict[str, bytes], tmp_path: Path
) -> None:
    limit: Callable[[], None] = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))  # noqa: E731
    process = start("study", "run", str(study), "--out", "out", preexec_fn=limit)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert files(tmp_path / "out") == clean
