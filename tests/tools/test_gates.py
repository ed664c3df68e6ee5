"""The gates find what they are there for."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def tool(name: str) -> ModuleType:
    """A file of tools/ as a module."""
    spec = importlib.util.spec_from_file_location(f"tool_{name}", ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def arrows(monkeypatch, tmp_path) -> ModuleType:
    module = tool("dependency_rules")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return module


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("results/store.py", "from trunkline.engine import simulate"),
        ("results/store.py", "import trunkline.cli.common"),
        ("scenario/load.py", "def f():\n    from trunkline.network import compile"),
        ("stats/mean.py", "from trunkline import plot"),
        ("network/compile.py", "from ..results import Results"),
        ("novelty/thing.py", "import os"),
    ],
)
def test_arrows_refuse_an_import_against_the_map(arrows, tmp_path, place, line):
    file = tmp_path / "python" / "trunkline" / place
    file.parent.mkdir(parents=True)
    file.write_text(line + "\n", "utf-8")
    assert len(arrows.find_import_faults()) == 1


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("engine/packet_engine.py", "from trunkline.results import Results"),
        ("cli/run_command.py", "from trunkline.study import reproduce"),
        ("results/store.py", "from trunkline.results.table import Table\nfrom . import tables"),
    ],
)
def test_arrows_allow_an_import_along_the_map(arrows, tmp_path, place, line):
    file = tmp_path / "python" / "trunkline" / place
    file.parent.mkdir(parents=True)
    file.write_text(line + "\n", "utf-8")
    assert arrows.find_import_faults() == []


@pytest.mark.parametrize(
    ("files", "faults"),
    [
        ({"a.py": "from trunkline.scenario import b", "b.py": "import os"}, 0),
        (
            {
                "a.py": "from trunkline.scenario import b",
                "b.py": "from trunkline.scenario.a import x",
            },
            1,
        ),
        (
            {
                "a.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n"
                "    from trunkline.scenario.check import b",
                "check/b.py": "from ..a import x",
            },
            1,
        ),
        ({"a.py": "def f():\n    from trunkline.scenario.b import x", "b.py": ""}, 1),
    ],
)
def test_arrows_refuse_circles_of_files_and_imports_that_hide_them(arrows, tmp_path, files, faults):
    for place, text in files.items():
        file = tmp_path / "python" / "trunkline" / "scenario" / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n", "utf-8")
    assert len(arrows.find_circular_imports()) == faults


def test_the_map_of_architecture_is_the_one_that_is_checked(arrows, tmp_path):
    page = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    copy = tmp_path / "ARCHITECTURE.md"
    copy.write_text(page, "utf-8")
    assert arrows.find_architecture_faults() == []
    row = next(line for line in page.splitlines() if line.startswith("| `python/trunkline/share`"))
    copy.write_text(page.replace(row + "\n", ""), "utf-8")
    assert len(arrows.find_architecture_faults()) == 1
    other = row.replace("report, live |", "report |")
    copy.write_text(page.replace(row, other), "utf-8")
    assert len(arrows.find_architecture_faults()) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("crates/agent/src/tcp/sender.rs", "crates/agent/src/tcp/sending.rs"),
        ("1. `crates/agent/src/tcp/sender.rs`", "1. the sender"),
        ("10. `crates/engine/src/delivery.rs`", "`crates/engine/src/delivery.rs`"),
    ],
)
def test_the_walks_of_architecture_have_ten_steps_with_files(
    arrows, monkeypatch, tmp_path, old, new
):
    monkeypatch.setattr(arrows, "ROOT", ROOT)
    assert arrows.find_missing_files() == []
    page = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    assert old in page
    for entry in ROOT.iterdir():
        if not entry.name.startswith((".", "ARCH")):
            (tmp_path / entry.name).symlink_to(entry)
    (tmp_path / ".github").symlink_to(ROOT / ".github")
    (tmp_path / "ARCHITECTURE.md").write_text(page.replace(old, new, 1), "utf-8")
    monkeypatch.setattr(arrows, "ROOT", tmp_path)
    assert len(arrows.find_missing_files()) == 1


@pytest.mark.parametrize(
    ("manifest", "source", "faults"),
    [
        ("[dependencies]\ntrunkline-engine.workspace = true", "", 1),
        ('[dependencies]\nrand_distr = "1"', "", 1),
        ("[dependencies]\nserde.workspace = true", "", 0),
        ("", "use std::time::Instant;", 1),
        ("", "// std::time is not for us", 0),
        ("", "#[cfg(test)]\nmod tests { use std::fs; }", 0),
    ],
)
def test_arrows_judge_crates(arrows, tmp_path, manifest, source, faults):
    crate = tmp_path / "crates" / "port"
    (crate / "src").mkdir(parents=True)
    (crate / "Cargo.toml").write_text(f'[package]\nname = "trunkline-port"\n{manifest}\n', "utf-8")
    (crate / "src" / "lib.rs").write_text(source + "\n", "utf-8")
    assert len(arrows.find_crate_faults()) == faults


# The words are put together here, so that the gate does not find them in this file.
@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("a.py", "x = eval('1')"),
        ("a.py", "import pickle"),
        ("a.py", "subprocess.run(c, shell=True)"),
        ("a.py", "yaml.safe_load(text)"),
        ("a.html", "e.innerHTML = name"),
        ("a.rs", "todo!()"),
        ("a.md", "TODO: write"),
        ("a.txt", "/home/somebody/file"),
        ("a.md", "the fault is told to the user"),
        ("a.py", '    """What the kernel printed."""'),
        ("a.py", "    size: int  # What a queue holds."),
        ("a.rs", "    /// Which packets it counts."),
        ("a.md", "The route stays as it is."),
        ("a.md", "The name stands in the first line."),
        ("a.py", "# the file beside the study"),
        ("a.py", "# the run goes on"),
    ],
)
def test_words_finds_a_forbidden_word(monkeypatch, tmp_path, capsys, name, line):
    words = tool("forbidden_text")
    monkeypatch.setattr(words, "ROOT", tmp_path)
    file = tmp_path / name
    monkeypatch.setattr(words, "list_files", lambda: [file])
    file.write_text("fine\n", "utf-8")
    assert words.main() == 0
    file.write_text(f"fine\n{line}\n", "utf-8")
    assert words.main() == 1
    assert f"{name}:2:" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("python/trunkline/a.py", "class Told:\n    pass\n"),
        ("python/trunkline/a.py", "class OfCbr:\n    pass\n"),
        ("python/trunkline/a.py", "def of(x):\n    return x\n"),
        ("python/trunkline/a.py", "MOST = 3\n"),
        ("python/trunkline/a.py", "def count(whole):\n    return whole\n"),
        ("python/trunkline/a.py", "def count():\n    its = 1\n    return its\n"),
        ("python/trunkline/felt.py", ""),
        ("crates/a/src/lib.rs", "pub(crate) struct Kept;\n"),
        ("crates/a/src/lib.rs", "fn f() {\n    let mut told = 1;\n}\n"),
        ("python/trunkline/a.py", '"""Values of `MOST_ROWS`."""\n'),
    ],
)
def test_names_that_say_nothing_are_refused(monkeypatch, tmp_path, capsys, place, text):
    names = tool("names")
    monkeypatch.setattr(names, "ROOT", tmp_path)
    file = tmp_path / place
    file.parent.mkdir(parents=True)
    file.write_text("", "utf-8")
    assert names.main() == ("felt" in place)
    file.write_text(text, "utf-8")
    assert names.main() == 1
    assert place in capsys.readouterr().out


def test_a_class_name_stands_for_one_thing(monkeypatch, tmp_path, capsys):
    names = tool("names")
    monkeypatch.setattr(names, "ROOT", tmp_path)
    for package in ("plot", "report"):
        file = tmp_path / "python" / "trunkline" / package / "lines.py"
        file.parent.mkdir(parents=True)
        file.write_text("class ChartLine:\n    pass\n", "utf-8")
    assert names.main() == 1
    assert "ChartLine: also a class of" in capsys.readouterr().out


def test_a_type_of_the_crates_stands_for_one_thing(monkeypatch, tmp_path, capsys):
    names = tool("names")
    monkeypatch.setattr(names, "ROOT", tmp_path)
    texts = {
        "port/src/sched/cbq.rs": "struct Class;\nstruct Cubic;\n",
        "port/src/sched/htb.rs": "pub(super) struct Class;\n",
        "engine/src/network/queue.rs": "pub struct Class;\n",
        "agent/src/cubic/mod.rs": "pub enum Cubic {}\n",
        "agent/src/cubic/linux.rs": "pub struct Curve;\n",
        "agent/src/cubic/rfc.rs": "pub struct Curve;\n#[cfg(test)]\nstruct Class;\n",
    }
    for place, text in texts.items():
        file = tmp_path / "crates" / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    assert names.main() == 1
    printed = capsys.readouterr().out
    assert "Class: also a class of crates/port/src/sched/htb.rs\n" in printed
    assert "Cubic: also" in printed
    assert "Curve" not in printed


@pytest.mark.parametrize(
    ("page", "right"),
    [
        ("```console\n$ echo one two\none ...\n```\n", True),
        ("```console\n$ echo one\ntwo\n```\n", False),
        ("```console\n$ false\n```\n", False),
        ("```console\n$ echo a; \\\n> echo b\na\nb\n```\n", True),
        ("```python\nx = 1\n```\n\n```python\nassert x == 1\n```\n", True),
        ("```python\nassert 1 == 2\n```\n", False),
        ("```yaml\ntrunkline: 1\nnodes: [A]\n```\n", False),
        ("```yaml\nkey: value\n```\n", True),
        ("<!-- not run: an example of failure -->\n```console\n$ false\n```\n\n`x`\n"
         "```console\n$ true\n```\n", True),
        ("no block at all\n", False),
    ],
)  # fmt: skip
def test_docs_runs_what_a_page_shows(monkeypatch, tmp_path, prefork, page, right):
    docs = tool("doc_examples")
    monkeypatch.setattr(docs, "ROOT", tmp_path)
    # The tests' own server in place of another.
    monkeypatch.setattr(
        docs, "PreforkServer", lambda folder: nullcontext(shutil.copy(prefork[0], folder))
    )
    (tmp_path / "page.md").write_text(page, "utf-8")
    assert docs.main([str(tmp_path / "page.md")]) == (0 if right else 1)


@pytest.fixture
def bare(tmp_path) -> Path:
    """The tree as ./dev sees it on a machine with Python and nothing else."""
    shutil.copy(ROOT / "dev", tmp_path)
    shutil.copytree(ROOT / "tools" / "dev", tmp_path / "tools" / "dev")
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    (tmp_path / "crates").mkdir()
    for name in ("Cargo.toml", "Cargo.lock"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "bin").mkdir()
    for name in ("sh", "dirname"):
        (tmp_path / "bin" / name).symlink_to(f"/bin/{name}" if name == "sh" else "/usr/bin/dirname")
    return tmp_path


def run_dev(tree: Path, *words: str, python: bool = True) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(tree / "bin"), "HOME": str(tree)}
    if python:
        environment["TRUNKLINE_PYTHON"] = os.path.realpath(sys.executable)
    command = [str(tree / "dev"), *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_dev_without_python_says_how_to_get_it(bare):
    done = run_dev(bare, "test", python=False)
    assert done.returncode == 4
    assert "apt-get install python3" in done.stderr


def test_dev_without_a_linker_says_how_to_get_it(bare):
    done = run_dev(bare, "setup")
    assert done.returncode == 4
    assert "apt-get install gcc" in done.stderr
    assert not (bare / ".venv").exists()


def test_dev_with_an_old_cargo_says_how_to_get_a_new_one(bare):
    for name, says in (("cc", ""), ("cargo", "cargo 1.63.0 (fd9c4297c 2022-07-01)")):
        (bare / "bin" / name).write_text(f"#!/bin/sh\necho '{says}'\n", "utf-8")
        (bare / "bin" / name).chmod(0o755)
    done = run_dev(bare, "setup")
    assert done.returncode == 4
    assert "cargo 1.63.0" in done.stderr
    assert "1.85" in done.stderr


def test_dev_with_an_unknown_command_ends_with_2(bare):
    done = run_dev(bare, "tset")
    assert done.returncode == 2
    assert "tset" in done.stderr
    assert "Usage" in done.stderr


def test_the_ends_of_the_allowed_packages_are_tried_with_the_pinned_tests(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools" / "dev"))
    import resolutions

    pinned = (ROOT / "requirements" / "test.txt").read_text("utf-8")
    found = resolutions.read_test_pins()
    assert [each.partition("==")[0] for each in found] == list(resolutions.TEST_PACKAGES)
    assert all(f"\n{each} " in pinned for each in found)
    # What a user's environment holds is not the tests' to choose.
    named = (ROOT / "pyproject.toml").read_text("utf-8")
    assert not any(f'"{name}' in named for name in resolutions.TEST_PACKAGES)
