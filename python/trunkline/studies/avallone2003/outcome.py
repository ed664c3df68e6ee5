"""Ours beside the published values, the claims, and what the document leaves open."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trunkline.stats import Interval, mean_interval
from trunkline.studies.avallone2003 import testbed
from trunkline.studies.avallone2003.claims import Claim, judge
from trunkline.studies.avallone2003.testbed import (
    FLOWS,
    MEASURES,
    NAME,
    SCENARIOS,
    TITLE,
    Measured,
)
from trunkline.study.files import Written, fill_pictured
from trunkline.study.runner import digest

if TYPE_CHECKING:
    from rich.table import Table as RichTable

JSON_SCHEMA = 1
SOURCE = "S. Avallone et al., An Experimental Analysis of Diffserv-MPLS Interoperability, 2003"

KERNEL_FIT_S = 0.0088
"""Mean absolute error of the mean delays of a fit on the data plane of Linux 6.1 with HTB [s]."""

FITTED = (
    (
        "best-effort queue",
        "100 packets",
        "the leaf of CBQ takes the device's txqueuelen, 100 then; 100 * 1014 B at 2.8 Mbit/s are "
        "0.29 s, the published maximum",
    ),
    (
        "packet",
        "1000 B of IP, 14 B of Ethernet",
        "`packet size: 1000 bytes` is read as the IP packet; 1000 B of payload would lose twice "
        "as many in the best-effort table",
    ),
    (
        "AF1 rate",
        "1 Mbit/s",
        "the `2.0` of the text would make 3.8 of 2.8 Mbit/s; 1.0 is the `bandwidth` of its GRED",
    ),
    (
        "classes",
        "bounded, EF before AF1 before default",
        "as the class of the best-effort script is; if they may borrow, default traffic waits "
        "0.26 s less than published",
    ),
    (
        "ewma_log",
        "4 in both DiffServ scenarios, tc's own 5 in the others",
        "CBQ's estimator lets a class exceed its rate, the more the faster it forgets; 5 makes AF1 "
        "wait half as long again as published. The scripts set CBQ apart in other ways too",
    ),
    ("max_burst of best effort", "5 packets", "`maxburst sp` of the script is read as 5p"),
    (
        "RED probability",
        "0.3, stored as 2^-19 per byte",
        "tc of 2002 gave the kernel a power of two: 0.3 / 90 kB becomes 0.1717 at max",
    ),
    ("GRED probability", "0.02", "tc's default; the script gives none"),
    (
        "sender",
        "10 ms tick, flows in the order AF12, AF11, EF, DE",
        "HZ = 100: what is due in a tick leaves together, and the last flow finds the queue full; "
        "without it all flows lose the same share",
    ),
    (
        "traffic",
        "as many packets as the rates make in 30 s, at Poisson times",
        "the rates are given, the counts are not; AF1 is so close to its rate that 2 % of chance "
        "would outweigh all else",
    ),
    ("AF11 out of profile", "remarked as AF12", "`drop or remark` is all the document says"),
)
"""What the document leaves unsaid: parameter, value, reason."""

Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Cell:
    """A value of ours, and the published one if there is one."""

    table: str
    row: str
    column: str
    unit: str
    published: float
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


def published() -> dict[Key, float]:
    """Published values by scenario, measure and flow [s, packets]."""
    columns = {each: f"{each}_s" for each in MEASURES} | {"dropped": "dropped_packets"}
    with (testbed.FOLDER / "published.csv").open(encoding="utf-8", newline="") as lines:
        return {
            (line["scenario"], measure, line["flow"]): float(line[column])
            for line in csv.DictReader(lines)
            for measure, column in columns.items()
        }


class Outcome(Written):
    """The testbed as it came out.

    Parameters
    ----------
    stated : Measured
        The four scenarios.
    no_label : Measured
        MPLS with link headers shorter by what labels add.
    variants : list of Measured
        The four scenarios with other choices.
    today : Measured
        The four scenarios with HTB for CBQ.
    """

    def __init__(
        self, stated: Measured, no_label: Measured, variants: list[Measured], today: Measured
    ) -> None:
        self.stated = stated
        self.no_label = no_label
        self.variants = variants
        self.today = today
        self.published = published()
        self.cells = [
            Cell(scenario, measure, flow, unit, self.published[scenario, measure, flow], ours)
            for scenario in SCENARIOS
            for measure, unit in MEASURES.items()
            for flow in FLOWS
            for ours in [mean_interval(stated.values[scenario, measure, flow].tolist())]
        ]
        self.claims: list[Claim] = [*judge(stated, no_label, variants[0]), self._close()]

    def _close(self) -> Claim:
        error = self.error(self.stated)
        detail = f"{1000 * error:.1f} ms; on a Linux 6.1 kernel with HTB {1000 * KERNEL_FIT_S:g} ms"
        says = "the mean delays are as near the published ones as those of a Linux kernel"
        return Claim("mean-delays-near-published", says, error <= KERNEL_FIT_S, detail)

    def error(self, bed: Measured, measure: str = "mean") -> float:
        """Mean absolute error of a measure over all scenarios and flows [s, packets]."""
        off = [
            abs(float(bed.values[scenario, measure, flow].mean()) - said)
            for (scenario, of, flow), said in self.published.items()
            if of == measure
        ]
        return float(np.mean(off))

    def hash(self) -> str:
        """SHA-256 over the results hashes of all runs, in order."""
        parts = (self.stated, self.no_label, self.today, *self.variants)
        return digest([each for part in parts for each in part.hashes])

    @property
    def runs(self) -> int:
        """Number of runs."""
        beds = (self.stated, self.no_label, self.today, *self.variants)
        return sum(len(each.hashes) for each in beds)

    def errors(self) -> dict[str, dict[str, Any]]:
        """How far each table is from the published one."""
        errors = {}
        for scenario in SCENARIOS:
            mine = [c for c in self.cells if c.table == scenario]
            means = [c for c in mine if c.row == "mean"]
            errors[scenario] = {
                "cells": len(mine),
                "mean_absolute_s": float(np.mean([abs(c.ours.mean - c.published) for c in means])),
                "published_inside_interval": sum(_inside(c) for c in mine),
            }
        return errors

    def to_json(self) -> dict[str, Any]:
        """As the object ``trunkline reproduce --json`` prints."""
        beds = (self.stated, self.no_label, self.today, *self.variants)
        return {
            "schema": JSON_SCHEMA,
            "study": NAME,
            "seeds": len(self.stated.seeds),
            "cells": [cell.to_dict() for cell in self.cells],
            "claims": [
                {"name": c.name, "held": c.held, "detail": f"{c.says}: {c.detail}"}
                for c in self.claims
            ],
            "today": [cell.to_dict() for cell in self._today_cells()],
            "fitted": [{"parameter": p, "value": v, "reason": r} for p, v, r in FITTED],
            "summary": {
                "tables": self.errors(),
                "mean_absolute_s": self.error(self.stated),
                "today_s": self.error(self.today),
                "variants": {each.name: self.error(each) for each in self.variants},
                "claims_held": sum(claim.held for claim in self.claims),
                "claims": len(self.claims),
                "runs": self.runs,
                "packet_hops": sum(each.packet_hops for each in beds),
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

        tables = [self._table(number, each) for number, each in enumerate(SCENARIOS, 1)]
        judged = frame("Claims", ["claim", "", "detail"], names=3)
        for claim in self.claims:
            add(judged, [claim.says, "held" if claim.held else "BROKEN", claim.detail])
        fitted = frame(
            "Fitted, as the document leaves it unsaid", ["what", "value", "why"], names=3
        )
        for item in FITTED:
            add(fitted, list(item))
        last = (
            f"{TITLE} ({SOURCE}); {self.runs} runs, 95 % intervals; mean delays off by "
            f"{1000 * self.error(self.stated):.1f} ms on average; hash {self.hash()[:16]}"
        )
        parts = [*tables, self._against_htb(), self._others(), judged, fitted]
        return draw(parts, last, width=width, colour=colour)

    def _table(self, number: int, scenario: str) -> RichTable:
        from trunkline.results.render import add, frame

        drawn = frame(
            f"Table {number}: {scenario}: one-way delay [s], packets dropped", ["", *FLOWS]
        )
        for measure, unit in MEASURES.items():
            digits = 3 if unit == "s" else 0
            cells = [c for c in self.cells if (c.table, c.row) == (scenario, measure)]
            add(drawn, [measure, *(_ours(cell, digits) for cell in cells)])
            add(drawn, ["  published", *(f"{cell.published:.{digits}f}" for cell in cells)])
        return drawn

    def _today_cells(self) -> list[Cell]:
        """Tables of the routers of today, beside the same published values."""
        return [
            Cell(scenario, measure, flow, unit, self.published[scenario, measure, flow], ours)
            for scenario in SCENARIOS
            for measure, unit in MEASURES.items()
            for flow in FLOWS
            for ours in [mean_interval(self.today.values[scenario, measure, flow].tolist())]
        ]

    def _against_htb(self) -> RichTable:
        from trunkline.results.render import add, frame

        drawn = frame("CBQ of 2003 and HTB of today [mean s, dropped packets]", ["", *FLOWS])
        for scenario in SCENARIOS:
            for name, bed in (("CBQ", self.stated), ("HTB", self.today)):
                means = [bed.values[scenario, "mean", flow].mean() for flow in FLOWS]
                lost = [bed.values[scenario, "dropped", flow].mean() for flow in FLOWS]
                cells = [f"{m:.3f}, {n:.0f}" for m, n in zip(means, lost, strict=True)]
                add(drawn, [f"{scenario}, {name}", *cells])
        return drawn

    def _others(self) -> RichTable:
        from trunkline.results.render import add, frame

        heads = [
            "",
            "mean delays off by [ms]",
            "DE waits, DiffServ [s]",
            "AF11 waits [s]",
            "EF [s]",
        ]
        drawn = frame("The same with another choice", heads)
        for bed in (self.stated, self.today, *self.variants):
            waits = [
                f"{bed.values['diffserv', 'mean', flow].mean():.3f}"
                for flow in ("DE", "AF11", "EF")
            ]
            add(drawn, [bed.name, f"{1000 * self.error(bed):.1f}", *waits])
        return drawn

    def fill(self, folder: Path) -> None:
        """Write JSON and pictures into a folder.

        Parameters
        ----------
        folder : Path
            Folder that exists.
        """
        from trunkline.studies.avallone2003 import pictures

        fill_pictured(folder, self.to_json(), pictures.all_of(self))


def _inside(cell: Cell) -> bool:
    low, high = cell.ours.low, cell.ours.high
    return low is not None and high is not None and low <= cell.published <= high


def _ours(cell: Cell, digits: int) -> str:
    half = cell.ours.half_width
    mean = f"{cell.ours.mean:.{digits}f}"
    return mean if half is None else f"{mean} ± {half:.{digits}f}"
