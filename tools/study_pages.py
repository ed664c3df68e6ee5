"""Check that the tables in the pages of studies are those of stored runs.

``tests/evidence/studies/NAME.json`` is what a whole run of study NAME gave. In
``docs/studies/NAME.md`` what stands between ``<!-- run: KIND -->`` and ``<!-- end -->`` is of it:

- ``sentences``: every sentence of the document, the claims that judge it, their outcome. What a row
  says after its outcome is written by hand; its figures have to be in the run.
- ``errors``: how far each table is from the published one.
- ``values ROW DIGITS``: a measure of every table, the published value in brackets.
- ``overview N``: the N-th overview of the study.
- ``table NAME``: a table of the study as measured, with half widths of 95 % intervals;
  ``column NAME: TABLE ...``: one of its measures in several tables.
- ``kernel``: how many comparisons with a Linux kernel agree, by table, of ``NAME-kernel.json``;
  ``kernel TABLE ...``: goodput of all TCP flows in each point of tables.

``python tools/study_pages.py --write`` brings the pages up to date; ``--run NAME ...`` runs
studies first and stores what they give, ``--kernel NAME FOLDER`` stores what ``reproduce NAME
--engine linux --out FOLDER`` found. A stored run has to be one of the study's files and pinned
results as they are.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "studies"
STUDIES = ROOT / "python" / "trunkline" / "studies"
RUNS = ROOT / "tests" / "evidence" / "studies"
VALIDATION = ROOT / "docs" / "validation.md"
PINNED = ROOT / "tests" / "pinned-results.csv"
BLOCK = re.compile(r"(<!-- run: ([^\n]*) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
OUTCOMES = {"held": "held", "refuted": "**refuted**", "undecided": "undecided", None: "not judged"}
FIGURE = re.compile(r"(?<![\w.])[-−]?\d+(?:\.\d+)?")


def digest(name: str) -> str:
    """What a stored run is of: the files of the study, and its pinned results."""
    found = hashlib.sha256()
    for file in sorted(STUDIES.joinpath(name).iterdir()):
        if file.suffix in (".yaml", ".csv", ".tc", ".tcng") and file.name != "exhibits.yaml":
            found.update(f"{file.name} {file.read_text('utf-8')}".encode())
    for line in PINNED.read_text("utf-8").splitlines():
        if line.startswith(f"{name},"):
            found.update(line.encode())
    return found.hexdigest()


def slim(said: dict[str, Any], of: str) -> dict[str, Any]:
    """What pages need of the JSON object of a reproduction."""
    # A variant's table is called as that of its case, a comma, and its name.
    cases = {cell["table"].partition(", ")[0] for cell in said["cells"]}
    cells = [
        [
            *(cell[key] for key in ("table", "row", "column", "published")),
            _short(cell["ours"]),
            _short(_half(cell)),
        ]
        for cell in said["cells"]
        if cell["table"] in cases
    ]
    return {
        "study": said["study"],
        "of": of,
        "runs": said["runs"],
        "hash": said["summary"]["hash"],
        "claims": {each["name"]: [each["outcome"], each["detail"]] for each in said["claims"]},
        "sentences": said["sentences"],
        "overviews": said["overviews"],
        "tables": said["summary"]["tables"],
        "readings": said["summary"]["readings"],
        "mean_absolute_error": said["summary"]["mean_absolute_error"],
        "cells": cells,
    }


def _half(cell: dict[str, Any]) -> float | None:
    return None if cell["high"] is None else (cell["high"] - cell["low"]) / 2


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def table(heads: list[str], rows: list[list[str]]) -> str:
    """A table of Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines).replace("|  |", "| |")


def sentences(stored: dict[str, Any], before: str) -> str:
    """The table of sentences; what stands after an outcome is kept."""
    kept = {}
    for line in before.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if len(cells) == 4:
            kept[cells[0], cells[1]] = re.sub(r"^[*a-z ]*[a-z*]", "", cells[3])
    rows = []
    for each in stored["sentences"]:
        judging = [f"`{name}`" for name in each["claims"]]
        told = f": {each['because']}" if each["outcome"] is None else ""
        told = told or kept.get((each["where"], each["says"]), "")
        outcome = OUTCOMES[each["outcome"]] + told
        rows.append([each["where"], each["says"], ", ".join(judging), outcome])
    return table(["where", "sentence", "claims", "outcome"], rows)


def errors(stored: dict[str, Any]) -> str:
    """How far tables are from the published ones."""
    first = next(iter(stored["tables"].values()))
    if "rows" in first:
        rows = [
            [name, row, f"{its['mean_absolute']:.2g}", _inside(its)]
            for name, error in stored["tables"].items()
            for row, its in error["rows"].items()
        ]
        return table(["table", "measure", "mean distance", "as expected"], rows)
    if first["mape_percent"] is None:
        rows = [
            [name, f"{error['mean_absolute']:.3f}", _inside(error)]
            for name, error in stored["tables"].items()
        ]
        return table(["table", f"mean distance [{first['unit']}]", "as expected"], rows)
    heads = ["table", "judged cells", "mean absolute error", "mean abs(ln(ours / published))"]
    rows = [
        [
            name,
            str(error["cells"]),
            f"{error['mape_percent']:.1f} %",
            f"{error['mean_log_ratio']:.3f}",
            f"{error['mape_percent_all']:.1f} %",
            _inside(error),
        ]
        for name, error in stored["tables"].items()
    ]
    return table([*heads, "error with the doubtful cells", "as expected"], rows)


def _inside(error: dict[str, Any]) -> str:
    return f"{error['published_inside_prediction']} of {error['cells']}"


def values(stored: dict[str, Any], row: str, digits: str) -> str:
    """A measure of every table, ours and published."""
    mine = [cell for cell in stored["cells"] if cell[1] == row and cell[3] is not None]
    columns = list(dict.fromkeys(cell[2] for cell in mine))
    of = {(cell[0], cell[2]): cell for cell in mine}
    rows = [
        [name] + [f"{of[name, c][4]:.{digits}f} ({of[name, c][3]:.{digits}f})" for c in columns]
        for name in dict.fromkeys(cell[0] for cell in mine)
    ]
    return table(["", *columns], rows)


def own_table(stored: dict[str, Any], name: str) -> str:
    """A table of the study as measured."""
    own = dict.fromkeys(cell[2] for cell in stored["cells"] if cell[0] == name)
    return measured(stored, [(name, each) for each in own])


def column(stored: dict[str, Any], *words: str) -> str:
    """A measure in several tables."""
    measure, _, tables = " ".join(words).partition(": ")
    return measured(stored, [(each, measure) for each in tables.split()])


def measured(stored: dict[str, Any], columns: list[tuple[str, str]]) -> str:
    """Measures of tables, a row each row of theirs: ``columns`` are (table, measure)."""
    of = {(cell[0], cell[2], cell[1]): cell for cell in stored["cells"]}
    tables = {name for name, _ in columns}
    rows = dict.fromkeys(cell[1] for cell in stored["cells"] if cell[0] in tables)
    heads = [name if len(tables) > 1 else measure for name, measure in columns]
    return table(
        ["", *heads], [[row, *(_interval(*of[*each, row][4:]) for each in columns)] for row in rows]
    )


def _interval(mean: float, half: float) -> str:
    # Two digits of the half width say what is known; a narrower one is below what tables print.
    places = 2 if half < 1 else 1 if half < 10 else 0
    return f"{mean:.{places}f} ± {half:.{places}f}"


def overview(stored: dict[str, Any], number: str) -> str:
    """An overview as the study has it."""
    its = stored["overviews"][int(number) - 1]
    return table(its["heads"], its["rows"])


def kernel(name: str, *words: str) -> str:
    """Comparisons with a Linux kernel by table, or the goodput of all TCP flows by point."""
    stored = json.loads((RUNS / f"{name}-kernel.json").read_text("utf-8"))
    if words:
        rows = [
            [point, *(f"{each:.1f}" for each in its["tcp_mbit_s"])]
            for point, its in stored["points"].items()
            if point.partition(", ")[0] in words
        ]
        return table(["TCP together [Mbit/s]", "simulator", "kernel"], rows)
    found: dict[str, list[int]] = {}
    for point, its in stored["points"].items():
        sums = found.setdefault(point.partition(", ")[0], [0] * 4)
        for place, each in enumerate([1, *its["comparisons"]]):
            sums[place] += each
    rows = [[one, *map(str, sums)] for one, sums in found.items()]
    return table(["table", "points", "agree", "differ", "undecided"], rows)


def told(name: str, tables: dict[str, Any]) -> dict[str, Any]:
    """What pages need of verdicts: counts of outcomes, and goodput in simulator and kernel."""
    found = {}
    for one, its in tables.items():
        rows = its["verdict"]["rows"]
        outcomes = [row["outcome"] for row in rows]
        all_tcp = [row for row in rows if row["measure"] == "goodput" and " TCP " in row["subject"]]
        found[one] = {
            "comparisons": [outcomes.count(key) for key in ("agrees", "differs", "undecided")],
            "tcp_mbit_s": [
                _short(row[key] / 1e6) for row in all_tcp for key in ("simulator", "reference")
            ],
        }
    first = next(iter(tables.values()))["verdict"]
    about = {"study": name, "reference": first["reference"], "seeds": first["seeds"]}
    return {**about, "points": found}


def made(name: str, page: str) -> str:
    """A page with its parts as the stored run has them."""
    stored = json.loads((RUNS / f"{name}.json").read_text("utf-8"))

    def part(found: re.Match[str]) -> str:
        kind, *words = found[2].split()
        if kind == "sentences":
            text = sentences(stored, found[3])
        elif kind == "kernel":
            text = kernel(name, *words)
        else:
            make: dict[str, Callable[..., str]] = {
                "errors": errors,
                "values": values,
                "overview": overview,
                "table": own_table,
                "column": column,
            }
            text = make[kind](stored, *words)
        return f"{found[1]}{text}{found[4]}"

    return BLOCK.sub(part, page)


def wrong(name: str, page: str) -> Iterator[str]:
    """What a page says otherwise than its stored run."""
    stored = json.loads((RUNS / f"{name}.json").read_text("utf-8"))
    if stored["of"] != digest(name):
        yield "the stored run is of other files or results: --run"
    if made(name, page) != page:
        yield "tables are not those of the stored run: --write"
    held = sum(outcome == "held" for outcome, _ in stored["claims"].values())
    row = rf"\| \[{name}\]\(studies/{name}\.md\).* (\d+) of (\d+) claims? \|"
    said = re.findall(r"(\d+) of (\d+)\s+claims hold", page)
    for one, of in said + re.findall(row, VALIDATION.read_text("utf-8")):
        if (int(one), int(of)) != (held, len(stored["claims"])):
            yield f"{one} of {of} claims: {held} of {len(stored['claims'])} hold"
    cells = [number for cell in stored["cells"] for number in cell[3:5] if number is not None]
    named = " ".join(f"{cell[0]} {cell[1]}" for cell in stored["cells"])
    rows = [float(text) for text in FIGURE.findall(named)]
    for each in stored["sentences"]:
        line = next((line for line in page.splitlines() if f"| {each['says']} |" in line), "")
        remark = re.sub(r"^[*a-z ]*[a-z*]", "", line.rstrip("| ").rpartition(" | ")[2])
        if each["outcome"] is None or not line:
            continue
        details = " ".join(stored["claims"][claim][1] for claim in each["claims"])
        known = [float(text) for text in FIGURE.findall(details)] + cells + rows
        for text in FIGURE.findall(remark):
            if not _known(text.replace("−", "-"), known):
                yield f"{each['says']}: no {text} in the stored run"


def _known(text: str, known: list[float]) -> bool:
    """Whether a figure is one of the run, rounded, perhaps as a percentage or without its sign."""
    places = len(text.partition(".")[2])
    wanted = abs(float(text))
    return any(
        abs(round(factor * abs(each), places) - wanted) < 1e-9
        for each in known
        for factor in (1, 100, 0.01)
    )


def run(names: list[str]) -> None:
    """Run studies, and store what they give."""
    from trunkline.study import reproduce

    for name in names:
        before = digest(name)
        said = reproduce(name).to_json()
        _store(RUNS / f"{name}.json", slim(said, before))


def _store(path: Path, said: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)

    def one(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False)

    def lines(value: Any) -> str:
        """A line each item, so that a difference is read line by line."""
        if isinstance(value, list) and value:
            return "[\n  " + ",\n  ".join(map(one, value)) + "\n ]"
        if isinstance(value, dict) and value:
            items = (f"{one(key)}: {one(item)}" for key, item in value.items())
            return "{\n  " + ",\n  ".join(items) + "\n }"
        return one(value)

    text = "{\n " + ",\n ".join(f"{one(key)}: {lines(item)}" for key, item in said.items()) + "\n}"
    path.write_text(text + "\n", encoding="utf-8", newline="\n")


def main(arguments: list[str]) -> int:
    """Compare, write or run.

    Parameters
    ----------
    arguments : list of str
        ``--write``, ``--run NAME ...``, ``--kernel NAME FOLDER`` or nothing.

    Returns
    -------
    int
        1 if a page says otherwise than its run.
    """
    if arguments[:1] == ["--run"]:
        run(arguments[1:])
    if arguments[:1] == ["--kernel"]:
        _, name, folder = arguments
        tables = json.loads((Path(folder) / "kernel.json").read_text("utf-8"))["tables"]
        _store(RUNS / f"{name}-kernel.json", told(name, tables))
    status = 0
    for path in sorted(PAGES.glob("*.md")):
        if not (RUNS / f"{path.stem}.json").exists():
            continue
        page = path.read_text("utf-8")
        if arguments:
            page = made(path.stem, page)
            path.write_text(page, encoding="utf-8", newline="\n")
        for each in wrong(path.stem, page):
            print(f"{path.name}: {each}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
