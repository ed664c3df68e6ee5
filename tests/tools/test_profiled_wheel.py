"""A wheel with a profile is trained by the workloads and gives the pinned results."""

from __future__ import annotations

import csv
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "build"))

import profiled_wheel
import training
import trunkline


@pytest.fixture
def rust(tmp_path, monkeypatch):
    """A Rust with llvm-profdata, and a maturin; each program called is noted."""
    called: list[tuple[str, str]] = []
    libraries = tmp_path / "rustlib" / "host" / "lib"
    tool = libraries.with_name("bin") / "llvm-profdata"
    tool.parent.mkdir(parents=True)
    tool.touch()

    def run(command, **options):
        flags = options.get("env", {}).get("RUSTFLAGS", "")
        if command[0] == "rustc":
            return SimpleNamespace(stdout=f"{libraries}\n")
        if "maturin" in command:
            called.append(("build", flags.partition("=")[0]))
            out = Path(command[command.index("--out") + 1])
            out.mkdir(exist_ok=True)
            with zipfile.ZipFile(out / "trunkline-1.whl", "w") as packed:
                packed.writestr("trunkline/__init__.py", "")
            if "generate" in flags:
                counts = Path(flags.partition("=")[2])
                counts.mkdir()
                (counts / "1.profraw").touch()
        elif command[0] == str(tool):
            called.append(("merge", Path(command[-1]).name))
        else:
            assert (Path(options["env"]["PYTHONPATH"]) / "trunkline").exists()
            called.append(("train", command[-1]))
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(profiled_wheel.subprocess, "run", run)
    monkeypatch.delenv("RUSTFLAGS", raising=False)
    return SimpleNamespace(tool=tool, called=called)


def test_wheel_is_trained_before_it_is_built_and_checked_after(rust, tmp_path):
    wheel = profiled_wheel.build_profiled_wheel(str(tmp_path / "dist"), ["--target", "here"])
    assert Path(wheel) == tmp_path / "dist" / "trunkline-1.whl"
    assert rust.called == [
        ("build", "-Cprofile-generate"),
        ("train", "run"),
        ("merge", "1.profraw"),
        ("build", "-Cprofile-use"),
        ("train", "check"),
    ]


def test_counting_build_compiles_with_the_same_options_and_links_on_this_machine():
    """Zig reads the symbol that a counting build asks for as a file."""
    release = ["--target", "x86_64-unknown-linux-gnu", "--zig", "--compatibility", "manylinux_2_28"]
    assert profiled_wheel.remove_linker_options(release) == [
        "--target", "x86_64-unknown-linux-gnu", "--compatibility", "linux",
    ]  # fmt: skip
    assert profiled_wheel.remove_linker_options(["--target", "here"]) == ["--target", "here"]


def test_rust_without_its_profile_tool_says_how_to_get_it(rust, capsys, monkeypatch):
    rust.tool.unlink()
    monkeypatch.setattr(sys, "argv", ["profiled_wheel.py", "--out", "dist"])
    assert profiled_wheel.main() == 4
    assert "rustup component add llvm-tools" in capsys.readouterr().err
    assert rust.called == []


def test_build_that_fails_ends_without_a_trace_of_python(rust, capsys, monkeypatch):
    """The first real run: maturin found no zig."""
    run = profiled_wheel.subprocess.run

    def fail(command, **options):
        if "maturin" in command:
            raise profiled_wheel.subprocess.CalledProcessError(1, command)
        return run(command, **options)

    monkeypatch.setattr(profiled_wheel.subprocess, "run", fail)
    monkeypatch.setattr(sys, "argv", ["profiled_wheel.py", "--out", "dist"])
    assert profiled_wheel.main() == 3
    assert "returned non-zero exit status 1" in capsys.readouterr().err


def test_counts_that_were_not_written_are_missed(tmp_path):
    with pytest.raises(profiled_wheel.ProfileUnavailable, match="no counts"):
        profiled_wheel.merge_counts("llvm-profdata", str(tmp_path))


def test_results_that_are_not_the_pinned_ones_are_found(tmp_path, monkeypatch):
    """The check that the wheel with a profile has to pass; here on the engine of the checkout."""
    examples = Path(trunkline.__file__).parent / "examples"
    assert training.find_differing_examples(examples) == []
    with training.PINNED_FILE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["hash"] = "0" if row["what"] == "trunks" else row["hash"]
    other = tmp_path / "pinned.csv"
    with other.open("w", newline="") as file:
        table = csv.DictWriter(file, rows[0])
        table.writeheader()
        table.writerows(rows)
    monkeypatch.setattr(training, "PINNED_FILE", other)
    assert training.find_differing_examples(examples) == ["trunks"]
