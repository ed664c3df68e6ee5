from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from trunkline.results import Results, read_results, write_results


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_runs_come_back_as_they_were_written(results: Results, tmp_path: Path) -> None:
    write_results([results, results], tmp_path / "out")
    first, second = read_results(tmp_path / "out")
    assert first.hash() == second.hash() == results.hash()
    assert first.provenance == results.provenance
    for name, table in results.tables.items():
        assert first.tables[name].to_polars().equals(table.to_polars())


def test_same_runs_give_the_same_bytes(results: Results, tmp_path: Path) -> None:
    write_results([results], tmp_path / "a", network_json='{"format":1}')
    write_results([results], tmp_path / "b", network_json='{"format":1}')
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert "network.json" in contents(tmp_path / "a")


def test_an_earlier_folder_is_refused_unless_asked(results: Results, tmp_path: Path) -> None:
    out = write_results([results], tmp_path / "out")
    before = contents(out)
    with pytest.raises(FileExistsError, match="choose another folder"):
        write_results([results, results], out)
    assert contents(out) == before
    write_results([results, results], out, overwrite=True)
    assert len(read_results(out)) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_folder_of_something_else_is_never_overwritten(results: Results, tmp_path: Path) -> None:
    other = tmp_path / "thesis"
    other.mkdir()
    (other / "chapter.tex").write_text("years of work")
    with pytest.raises(FileExistsError, match="holds no results"):
        write_results([results], other, overwrite=True)
    assert (other / "chapter.tex").read_text() == "years of work"


def test_a_failed_write_leaves_nothing(
    results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_results([results], tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_changed_table_is_noticed(results: Results, tmp_path: Path) -> None:
    out = write_results([results], tmp_path / "out")
    about = json.loads((out / "run.json").read_text())
    about["runs"][0]["hash"] = "0" * 64
    (out / "run.json").write_text(json.dumps(about))
    with pytest.raises(ValueError, match="run 0 \\(seed 7\\) differs from its checksum"):
        read_results(out)


def test_an_unknown_format_is_refused(results: Results, tmp_path: Path) -> None:
    out = write_results([results], tmp_path / "out")
    about = json.loads((out / "run.json").read_text())
    (out / "run.json").write_text(json.dumps(about | {"format": 99}))
    with pytest.raises(ValueError, match="format 99 is not 1"):
        read_results(out)
