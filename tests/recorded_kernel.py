"""Runs of the kernel as files, so that the judge can be tested against them without a guest.

A file has what a guest left of one seed: the tables that the judge reads, and each datagram that
arrived, and TCP segments by their marks. ``python tests/recorded_kernel.py RUNNER SEED
FILE.yaml...`` records scenarios beside them.
"""

from __future__ import annotations

import gzip
import json
import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from trunkline.linux.judge.engine_run import EngineRun, FlowDatagrams
from trunkline.network import compile
from trunkline.scenario import load

if TYPE_CHECKING:
    from trunkline.results import Results

TABLES = ("flows", "ports", "drops", "colours", "series", "transfers", "completions", "timeline")


class RecordedTable:
    """Rows of one table."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self.columns = columns

    def __getitem__(self, name: str) -> list[Any]:
        return self.columns[name]

    def rows(self) -> list[dict[str, Any]]:
        """Each row by its columns."""
        lists = zip(*self.columns.values(), strict=True)
        return [dict(zip(self.columns, row, strict=True)) for row in lists]

    def where(self, **values: object) -> dict[str, Any]:
        """The row that has these values."""
        (found,) = [
            row for row in self.rows() if all(row[key] == value for key, value in values.items())
        ]
        return found


class RecordedResults:
    """The tables of one run that the judge reads."""

    def __init__(self, tables: dict[str, RecordedTable]) -> None:
        self.tables = tables

    def __getattr__(self, name: str) -> RecordedTable:
        return self.tables[name]


def compile_scenario(path: Path, seed: int = 1) -> dict[str, Any]:
    """The compiled network of a scenario file."""
    data: dict[str, Any] = json.loads(compile(load(path.read_text()), seed=seed).to_json())
    return data


def write_run(engine_run: EngineRun, kernel: str, path: Path) -> None:
    """Write a run of the kernel to a file."""
    tables = {
        name: {
            column: list(getattr(engine_run.results, name)[column])
            for column in getattr(engine_run.results, name).columns
        }
        for name in TABLES
    }
    flows = {
        name: {
            # Most steps from one value to the next are alike, so that they take little room.
            field.name: np.diff(getattr(flow, field.name), prepend=0).tolist()
            if field.name != "reordered"
            else flow.reordered
            for field in fields(flow)
        }
        for name, flow in engine_run.flows.items()
    }
    segments = {
        name: [[*marks, count] for marks, count in counts.items()]
        for name, counts in engine_run.segments.items()
    }
    recorded = {"kernel": kernel, "tables": tables, "flows": flows, "segments": segments}
    text = json.dumps(recorded, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def read_run(path: Path) -> EngineRun:
    """A run of the kernel from its file."""
    recorded = json.loads(gzip.decompress(path.read_bytes()))
    flows = {
        name: FlowDatagrams(
            **{
                key: np.cumsum(np.array(value, dtype=np.int64)) if key != "reordered" else value
                for key, value in columns.items()
            }
        )
        for name, columns in recorded["flows"].items()
    }
    tables = {name: RecordedTable(columns) for name, columns in recorded["tables"].items()}
    segments = {
        name: {(bool(is_ack), dscp, ecn, ttl): count for is_ack, dscp, ecn, ttl, count in counts}
        for name, counts in recorded.get("segments", {}).items()
    }
    return EngineRun(cast("Results", RecordedResults(tables)), flows, segments=segments)


def record_scenario(path: Path, runner: str, seed: int) -> Path:
    """Run a scenario in a guest and write what it left beside the scenario."""
    from trunkline.linux import engine
    from trunkline.linux.guest.scratch_folders import make_scratch_folder
    from trunkline.linux.judge.engine_run import read_kernel_run
    from trunkline.linux.judge.verification import replace_probes

    network = replace_probes(cast("Any", compile_scenario(path, seed)))
    network_json = json.dumps(network, sort_keys=True, separators=(",", ":"))
    recorded_path = path.with_name(f"{path.stem}-{runner}-{seed}.json.gz")
    with make_scratch_folder() as folder:
        kernel_run = engine.run_in_guest(network_json, seed, Path(folder), runner=runner)
        write_run(
            read_kernel_run(kernel_run, Path(folder)),
            kernel_run.results.provenance.version,
            recorded_path,
        )
    return recorded_path


if __name__ == "__main__":
    for name in sys.argv[3:]:
        print(record_scenario(Path(name), sys.argv[1], int(sys.argv[2])), flush=True)
