"""Ours beside the published values, the claims, and what the document leaves open."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trunkline.stats import Interval, mean_interval
from trunkline.studies.develder2003 import experiments
from trunkline.studies.develder2003.claims import Claim, judge
from trunkline.studies.develder2003.experiments import (
    DELAYS_A,
    DELAYS_B,
    GROUPS,
    NAME,
    TITLE,
    MixedRoundTrips,
    SameRoundTrip,
    Sweep,
)
from trunkline.study.files import Written, fill_pictured
from trunkline.study.runner import digest

if TYPE_CHECKING:
    from rich.table import Table as RichTable

JSON_SCHEMA = 1
SOURCE = "C. Develder et al., slides, 2003"

FITTED = (
    (
        "packet",
        "1000 B",
        "with 5 links of 10 ms, window 30 and queue 50 the round trip is 100 to "
        "150 ms, as stated, for 1000 B packets only",
    ),
    (
        "path lengths",
        "5 links, 6 when switched",
        "round trip of 100 ms, and 20 ms more when switched",
    ),
    (
        "failed link",
        "the middle one, both directions",
        "the slides show acknowledgements dropped "
        "too; another link of the path changes the gains by less than their intervals",
    ),
    (
        "source links of b",
        "9 Mbit/s",
        "`access = 90 % backbone`, read for every access link; see the variants",
    ),
    (
        "initial window",
        "2 packets",
        "as ns-2 then; 1 packet changes the gains by about 1 point",
    ),
    ("clock", "100 ms tick, minimum RTO 200 ms, no time stamps", "defaults of ns-2 before 2002"),
    ("limit of queues", "the packet being sent not counted", "as ns-2 counts"),
)
"""What the slides leave unsaid: parameter, value, reason."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A value of ours, and the published one if there is one."""

    table: str
    row: str
    column: str
    unit: str
    published: float | None
    ours: Interval

    def to_dict(self) -> dict[str, Any]:
        """As one cell of the JSON object."""
        return {
            "table": self.table,
            "row": self.row,
            "column": self.column,
            "unit": self.unit,
            "published": self.published,
            "ours": self.ours.mean,
            "low": self.ours.low,
            "high": self.ours.high,
            "note": "",
        }


def published() -> dict[tuple[str, str, str], float]:
    """Published values by table, row and column [%]."""
    with (experiments.FOLDER / "published.csv").open(encoding="utf-8", newline="") as lines:
        return {
            (line["table"], line["row"], line["column"]): float(line["value"])
            for line in csv.DictReader(lines)
        }


class Outcome(Written):
    """Both experiments as they came out.

    Parameters
    ----------
    a : SameRoundTrip
        Experiment a.
    b : MixedRoundTrips
        Experiment b as the document states it.
    variants : list of MixedRoundTrips
        Experiment b under other readings.
    sweeps : list of Sweep
        Goodput against the delay, for the TCP of then and of today.
    """

    def __init__(
        self,
        a: SameRoundTrip,
        b: MixedRoundTrips,
        variants: list[MixedRoundTrips],
        sweeps: list[Sweep],
    ) -> None:
        self.a = a
        self.b = b
        self.variants = variants
        self.sweeps = sweeps
        self.cells = self._cells()
        self.claims: list[Claim] = judge(a, b)

    def _cells(self) -> list[Cell]:
        said = published()

        def cell(table: str, row: str, column: str, unit: str, values: Any) -> Cell:
            ours = mean_interval(np.asarray(values, dtype=float).tolist())
            return Cell(table, row, column, unit, said.get((table, row, column)), ours)

        cells = [cell("a", d, "first second", "%", self.a.gains(d)) for d in DELAYS_A[1:]]
        for delay in DELAYS_A:
            cells.append(cell("a", delay, "recovering", "%", 100 * self.a.recovering[delay]))
            cells.append(cell("a", delay, "timed out", "%", 100 * self.a.timed_out[delay]))
        gains = 100 * (self.b.ratios() - 1)
        rate = self.b.goodput * 8 / experiments.WINDOW_S / 1e6
        for number, delay in enumerate(DELAYS_B):
            if number:
                cells.append(cell("b", delay, "gain", "%", gains[:, number - 1]))
            for which, group in enumerate(GROUPS):
                cells.append(cell("b", delay, group, "Mbit/s", rate[:, number, which]))
        for variant in self.variants:
            gains = 100 * (variant.ratios() - 1)
            for number, delay in enumerate(DELAYS_B[1:]):
                values = mean_interval(gains[:, number].tolist())
                stated = said.get(("b", delay, "gain"))
                cells.append(Cell(f"b, {variant.name}", delay, "gain", "%", stated, values))
        for sweep in self.sweeps:
            for seconds, ratios in sweep.ratios.items():
                for number, ms in enumerate(sweep.delays_ms):
                    gain = mean_interval((100 * (ratios[:, number] - 1)).tolist())
                    column = f"gain in {seconds:g} s"
                    cells.append(Cell(f"sweep, {sweep.name}", f"{ms} ms", column, "%", None, gain))
        return cells

    @property
    def runs(self) -> int:
        """Number of runs."""
        return sum(map(len, self._hashes()))

    def hash(self) -> str:
        """SHA-256 over the results hashes of all runs, in order."""
        return digest([each for part in self._hashes() for each in part])

    def _hashes(self) -> list[tuple[str, ...]]:
        others = [variant.hashes for variant in self.variants]
        return [self.a.hashes, self.b.hashes, *others, *(sweep.hashes for sweep in self.sweeps)]

    def errors(self) -> dict[str, dict[str, Any]]:
        """How far the tables with published values are from them."""
        errors = {}
        for table in dict.fromkeys(cell.table for cell in self.cells):
            compared = [c for c in self.cells if c.table == table and c.published is not None]
            if not compared:
                continue
            off = [abs(c.ours.mean - (c.published or 0.0)) for c in compared]
            inside = sum(
                c.ours.low is not None
                and c.ours.high is not None
                and c.ours.low <= (c.published or 0.0) <= c.ours.high
                for c in compared
            )
            errors[table] = {
                "cells": len(compared),
                "mean_absolute_points": float(np.mean(off)),
                "published_inside_interval": inside,
            }
        return errors

    def to_json(self) -> dict[str, Any]:
        """As the object ``trunkline reproduce --json`` prints."""
        return {
            "schema": JSON_SCHEMA,
            "study": NAME,
            "seeds": len(self.b.seeds),
            "cells": [cell.to_dict() for cell in self.cells],
            "claims": [
                {"name": c.name, "held": c.held, "detail": f"{c.says}: {c.detail}"}
                for c in self.claims
            ],
            "fitted": [{"parameter": p, "value": v, "reason": r} for p, v, r in FITTED],
            "summary": {
                "tables": self.errors(),
                "claims_held": sum(claim.held for claim in self.claims),
                "claims": len(self.claims),
                "runs": self.runs,
                "packet_hops": self.a.packet_hops
                + sum(part.packet_hops for part in (self.b, *self.variants))
                + sum(part.packet_hops for part in self.sweeps),
                "hash": self.hash(),
            },
        }

    def render(self, *, width: int | None = None, colour: bool = False) -> str:
        """As tables for a terminal.

        Parameters
        ----------
        width : int, optional
            Columns of the terminal; found out by itself if left out.
        colour : bool, default False
            Whether to use the escape codes of a terminal.
        """
        from trunkline.results.render import add, draw, frame

        parts = [self._table_a(), self._table_b(), self._table_variants(), self._table_sweeps()]
        judged = frame("Claims", ["claim", "", "detail"], names=3)
        for claim in self.claims:
            add(judged, [claim.says, "held" if claim.held else "BROKEN", claim.detail])
        fitted = frame("Fitted, as the slides leave it unsaid", ["what", "value", "why"], names=3)
        for item in FITTED:
            add(fitted, list(item))
        last = f"{TITLE} ({SOURCE}); {self.runs} runs, 95 % intervals; hash {self.hash()[:16]}"
        return draw([*parts, judged, fitted], last, width=width, colour=colour)

    def _of(self, table: str, row: str, column: str) -> Cell | None:
        wanted = (table, row, column)
        found = (c for c in self.cells if (c.table, c.row, c.column) == wanted)
        return next(found, None)

    def _table_a(self) -> RichTable:
        from trunkline.results.render import add, frame

        heads = ["switch after", "gain in the first second", "publ.", "recovering", "timed out"]
        drawn = frame("Experiment a: equal round-trip times; switched flows after 1.5 s [%]", heads)
        for delay in DELAYS_A:
            gain = self._of("a", delay, "first second")
            others = [self._of("a", delay, name) for name in ("recovering", "timed out")]
            add(drawn, [delay, *_pair(gain), *(_ours(each) for each in others)])
        return drawn

    def _table_b(self) -> RichTable:
        from trunkline.results.render import add, frame

        heads = ["switch after", "gain [%]", "publ.", "switched [Mbit/s]", "fixed [Mbit/s]"]
        drawn = frame(f"Experiment b: {len(self.b.seeds)} draws of round-trip times", heads)
        for delay in DELAYS_B:
            gain = self._of("b", delay, "gain")
            groups = [_ours(self._of("b", delay, group)) for group in GROUPS]
            add(drawn, [delay, *_pair(gain), *groups])
        return drawn

    def _table_variants(self) -> RichTable:
        from trunkline.results.render import add, frame

        drawn = frame("Experiment b under other readings: gain [%]", ["", *DELAYS_B[1:]])
        stated = [self._of("b", delay, "gain") for delay in DELAYS_B[1:]]
        add(drawn, ["published", *(_pair(cell)[1] for cell in stated)])
        for name in ["b", *(f"b, {variant.name}" for variant in self.variants)]:
            row = [self._of(name, delay, "gain") for delay in DELAYS_B[1:]]
            add(
                drawn,
                [name.removeprefix("b, ").replace("b", "as stated", name == "b")]
                + [_ours(cell) for cell in row],
            )
        return drawn

    def _table_sweeps(self) -> RichTable:
        from trunkline.results.render import add, frame

        shown = ("40 ms", "100 ms", "500 ms", "1000 ms")
        drawn = frame("Gain over a switch without delay [%], then and today", ["", "in", *shown])
        for sweep in self.sweeps:
            for seconds in sweep.ratios:
                column = f"gain in {seconds:g} s"
                row = [self._of(f"sweep, {sweep.name}", delay, column) for delay in shown]
                add(drawn, [sweep.name, f"{seconds:g} s", *(_ours(cell) for cell in row)])
        return drawn

    def fill(self, folder: Path) -> None:
        """Write JSON and pictures into a folder.

        Parameters
        ----------
        folder : Path
            Folder that exists.
        """
        from trunkline.studies.develder2003 import pictures

        fill_pictured(folder, self.to_json(), pictures.all_of(self))


def _ours(cell: Cell | None) -> str:
    if cell is None:
        return "–"
    half = cell.ours.half_width
    return f"{cell.ours.mean:.2f}" + ("" if half is None else f" ± {half:.2f}")


def _pair(cell: Cell | None) -> list[str]:
    if cell is None or cell.published is None:
        return [_ours(cell), "–"]
    return [_ours(cell), f"{cell.published:.2f}"]
