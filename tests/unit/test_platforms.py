"""Our code without what POSIX alone has: scenarios and studies run where those calls are absent."""

from __future__ import annotations

import subprocess
import sys

BARE = """
import os, sys, types
import click, jinja2, matplotlib, networkx, numpy, polars, pydantic, rich, scipy.stats, yaml
import http.server, multiprocessing, socket, subprocess, tempfile, threading
import polars.io, scipy.optimize, concurrent.futures
for name in ("fcntl", "resource", "termios", "pwd", "grp"):
    sys.modules[name] = None
held = []
fake = types.ModuleType("msvcrt")
fake.LK_NBLCK = 2
fake.locking = lambda handle, mode, count: held.append((handle, mode, count))
sys.modules["msvcrt"] = fake
for name in ("O_CLOEXEC", "O_NONBLOCK", "O_NOFOLLOW", "O_DIRECTORY", "pread", "pwrite",
             "sched_getaffinity"):
    if hasattr(os, name):
        delattr(os, name)
sys.platform = "win32"

from pathlib import Path
import trunkline as tl
from trunkline.study.run.folder_lock import FolderLock

Path("s.yaml").write_text('''trunkline: 1
parameters: {load: 0.5}
nodes: [a, b]
links: {a-b: {rate: 1 Mbit/s, delay: 1 ms}}
flows: {f: {agent: udp, from: a, to: b, rate: "${load * 1 Mbit/s}", size: 500 B}}
run: {duration: 1 s}
''')
Path("study.yaml").write_text('''study: 1
name: s
title: s
scenario: s.yaml
runs: 2
grid: {load: [0.2, 0.4]}
columns: {wait: {table: ports, where: {link: a->b}, measure: wait_mean_s, unit: ms}}
''')
print(tl.run(tl.load("s.yaml")).summary["packets_sent"])
from trunkline.cli import _run_guarded
print(_run_guarded(["study", "run", "study.yaml", "--progress", "none"]))
print(_run_guarded(["study", "show", "s-study"]))
print(len(held) > 0, _run_guarded(["run", "s.yaml", "--dry-run"]))
"""


def test_without_posix_a_scenario_runs_and_a_study_keeps_its_lock(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", BARE], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    output = done.stdout.splitlines()
    # 0.5 Mbit/s in packets of 4000 bit: 125 in a second.
    assert output[0] == "125"
    assert "True 0" in output
    assert "4 of 4 runs" in done.stdout
