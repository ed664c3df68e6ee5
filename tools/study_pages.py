"""Check that the tables in the pages of studies are those of stored runs.

``tests/evidence/studies/NAME.json`` is what a whole run of study NAME gave. In
``docs/studies/NAME.md`` the text between ``<!-- run: KIND -->`` and ``<!-- end -->`` is of it:

- ``sentences``: every sentence of the document, the claims that judge it, their outcome.
What a row
  says after its outcome is written by hand; its figures have to be in the run.
- ``errors``: how far each table is from the published one.
- ``values ROW DIGITS``: a measure of every table, the published value in brackets.
- ``overview N``: the N-th overview of the study.
- ``fitted-reading``: how far tables are from the published ones, as stated and by fitted readings;
  ``fitted-reading claims``: the claims that come out otherwise.
- ``table NAME``: a table of the study as measured, with half widths of 95 % intervals;
  ``column NAME: TABLE ...``: one of its measures in several tables.
- ``kernel``: how many comparisons with a Linux kernel agree, by table, of
``NAME-kernel.json``;
  ``kernel TABLE ...``: goodput of all TCP flows in each point of tables.
- ``fit PART``: of ``fit.json`` in the folder of the study, the ``parameters``, the ``errors``, the
``cells`` or the tables that were ``left-out``.

``python tools/study_pages.py --write`` brings the pages up to date; ``--run NAME ...`` runs
studies first and stores what they give, ``--kernel NAME FOLDER`` stores what ``reproduce NAME
--engine linux --out FOLDER`` found, ``--fit NAME FOLDER`` what ``study fit NAME --out FOLDER``
found, with a picture of the posterior. A stored run has to be one of the study's files and pinned
stored results.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from trunkline.scenario.yaml_text import parse_yaml

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "studies"
STUDIES = ROOT / "python" / "trunkline" / "studies"
RUNS = ROOT / "tests" / "evidence" / "studies"
KEPT_RUNS = ROOT / ".stamps" / "studies"
VALIDATION = ROOT / "docs" / "validation.md"
PINNED = ROOT / "tests" / "pinned-results.csv"
FIT_JSON = "fit.json"
GENERATED_BLOCK = re.compile(r"(<!-- run: ([^\n]*) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
OUTCOME_WORDS = {
    "held": "held",
    "refuted": "**refuted**",
    "undecided": "undecided",
    None: "not judged",
}
IRRELEVANT_KEYS = {"fit", "pictures", "prior", "reason"}
"""Keys of a study file for `study fit` and for readers: no value of `reproduce` depends on them."""
NUMBER = re.compile(r"(?<![\w.])[-−]?\d+(?:\.\d+)?")


def hash_study(name: str) -> str:
    """Hash the source of a stored run: the files of the study, and its pinned results."""
    found = hashlib.sha256()
    for file in sorted(STUDIES.joinpath(name).iterdir()):
        if file.suffix == ".yaml" and file.name != "exhibits.yaml":
            # Without comments: a new wording changes no run.
            document, _ = parse_yaml(file.read_text("utf-8"), file.name)
            content = _drop_irrelevant(document)
            found.update(f"{file.name} {json.dumps(content)}".encode())
        elif file.suffix in (".csv", ".tc", ".tcng"):
            found.update(f"{file.name} {file.read_text('utf-8')}".encode())
    for line in PINNED.read_text("utf-8").splitlines():
        if line.startswith(f"{name},"):
            # Without its last column, the hash of averages: they follow from what the others hold.
            found.update(line.rpartition(",")[0].encode())
    return found.hexdigest()


def _drop_irrelevant(content: Any) -> Any:
    if isinstance(content, dict):
        return {
            str(key): _drop_irrelevant(value)
            for key, value in content.items()
            if key not in IRRELEVANT_KEYS
        }
    return [_drop_irrelevant(each) for each in content] if isinstance(content, list) else content


def summarise_reproduction(document: dict[str, Any], study_hash: str) -> dict[str, Any]:
    """Extract the part of a reproduction's JSON object that pages need."""
    # A variant's table is called as that of its case, a comma, and its name.
    cases = {cell["table"].partition(", ")[0] for cell in document["cells"]}
    cells = [
        [
            *(cell[key] for key in ("table", "row", "column", "published")),
            _round_value(cell["ours"]),
            _round_value(_get_half_width(cell)),
        ]
        for cell in document["cells"]
        if cell["table"] in cases
    ]
    return {
        "study": document["study"],
        "of": study_hash,
        "runs": document["runs"],
        "hash": document["summary"]["hash"],
        "claims": {each["name"]: [each["outcome"], each["detail"]] for each in document["claims"]},
        "sentences": document["sentences"],
        "overviews": document["overviews"],
        "tables": document["summary"]["tables"],
        "readings": document["summary"]["readings"],
        "fitted_readings": document["fitted_readings"],
        "mean_absolute_error": document["summary"]["mean_absolute_error"],
        "cells": cells,
    }


def _get_half_width(cell: dict[str, Any]) -> float | None:
    return None if cell["high"] is None else (cell["high"] - cell["low"]) / 2


def _round_value(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def format_table(heads: list[str], rows: list[list[str]]) -> str:
    """Format a table of Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines).replace("|  |", "| |")


def format_sentences(stored: dict[str, Any], previous_table: str) -> str:
    """Format the table of sentences; the text after an outcome is kept."""
    kept_remarks = {}
    for line in previous_table.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if len(cells) == 4:
            kept_remarks[cells[0], cells[1]] = re.sub(r"^[*a-z ]*[a-z*]", "", cells[3])
    rows = []
    for each in stored["sentences"]:
        claim_names = [f"`{name}`" for name in each["claims"]]
        remark = f": {each['because']}" if each["outcome"] is None else ""
        remark = remark or kept_remarks.get((each["where"], each["says"]), "")
        outcome = OUTCOME_WORDS[each["outcome"]] + remark
        rows.append([each["where"], each["says"], ", ".join(claim_names), outcome])
    return format_table(["where", "sentence", "claims", "outcome"], rows)


def format_errors(stored: dict[str, Any]) -> str:
    """Format how far tables are from the published ones."""
    first = next(iter(stored["tables"].values()))
    if "rows" in first:
        rows = [
            [name, row, f"{row_error['mean_absolute']:.2g}", _count_inside(row_error)]
            for name, error in stored["tables"].items()
            for row, row_error in error["rows"].items()
        ]
        return format_table(["table", "measure", "mean distance", "as expected"], rows)
    if first["mape_percent"] is None:
        rows = [
            [name, f"{error['mean_absolute']:.3f}", _count_inside(error)]
            for name, error in stored["tables"].items()
        ]
        return format_table(["table", f"mean distance [{first['unit']}]", "as expected"], rows)
    heads = ["table", "judged cells", "mean absolute error", "mean abs(ln(ours / published))"]
    rows = [
        [
            name,
            str(error["cells"]),
            f"{error['mape_percent']:.1f} %",
            f"{error['mean_log_ratio']:.3f}",
            f"{error['mape_percent_all']:.1f} %",
            _count_inside(error),
        ]
        for name, error in stored["tables"].items()
    ]
    return format_table([*heads, "error with the doubtful cells", "as expected"], rows)


def _count_inside(error: dict[str, Any]) -> str:
    return f"{error['published_inside_prediction']} of {error['cells']}"


def format_values(stored: dict[str, Any], row: str, digits: str) -> str:
    """Format a measure of every table, ours and published."""
    row_cells = [cell for cell in stored["cells"] if cell[1] == row and cell[3] is not None]
    columns = list(dict.fromkeys(cell[2] for cell in row_cells))
    cell_by_place = {(cell[0], cell[2]): cell for cell in row_cells}
    rows = [
        [name]
        + [
            f"{cell_by_place[name, c][4]:.{digits}f} ({cell_by_place[name, c][3]:.{digits}f})"
            for c in columns
        ]
        for name in dict.fromkeys(cell[0] for cell in row_cells)
    ]
    return format_table(["", *columns], rows)


def format_own_table(stored: dict[str, Any], name: str) -> str:
    """Format a table of the study as measured."""
    columns = dict.fromkeys(cell[2] for cell in stored["cells"] if cell[0] == name)
    return format_measured(stored, [(name, each) for each in columns])


def format_column(stored: dict[str, Any], *words: str) -> str:
    """Format a measure in several tables."""
    measure, _, tables = " ".join(words).partition(": ")
    return format_measured(stored, [(each, measure) for each in tables.split()])


def format_measured(stored: dict[str, Any], columns: list[tuple[str, str]]) -> str:
    """Measures of tables, a row each row of theirs: ``columns`` are (table, measure)."""
    cell_by_place = {(cell[0], cell[2], cell[1]): cell for cell in stored["cells"]}
    tables = {name for name, _ in columns}
    rows = dict.fromkeys(cell[1] for cell in stored["cells"] if cell[0] in tables)
    heads = [name if len(tables) > 1 else measure for name, measure in columns]
    return format_table(
        ["", *heads],
        [
            [row, *(_format_interval(*cell_by_place[*each, row][4:]) for each in columns)]
            for row in rows
        ],
    )


def _format_interval(mean: float, half: float) -> str:
    # Two digits of the half width say what is known; a narrower one is below what tables print.
    places = 2 if half < 1 else 1 if half < 10 else 0
    return f"{mean:.{places}f} ± {half:.{places}f}"


def format_overview(stored: dict[str, Any], number: str) -> str:
    """Format an overview as the study has it."""
    overview_ = stored["overviews"][int(number) - 1]
    return format_table(overview_["heads"], overview_["rows"])


def format_fitted_readings(stored: dict[str, Any], part: str = "errors") -> str:
    """Format distances of fitted readings and those as stated, or the claims that they change."""
    if part == "errors":
        (reading,) = stored["fitted_readings"]
        return format_table(reading["heads"], reading["rows"])
    rows = [
        [f"`{name}`", OUTCOME_WORDS[stored["claims"][name][0]], OUTCOME_WORDS[outcome]]
        for reading in stored["fitted_readings"]
        for name, outcome in reading["claims"].items()
        if outcome != stored["claims"][name][0]
    ]
    return format_table(["claim", "as stated", "fitted reading"], rows)


def format_kernel_table(name: str, *words: str) -> str:
    """Comparisons with a Linux kernel by table, or the goodput of all TCP flows by point."""
    stored = json.loads((RUNS / f"{name}-kernel.json").read_text("utf-8"))
    if words:
        rows = [
            [point, *(f"{each:.1f}" for each in point_values["tcp_mbit_s"])]
            for point, point_values in stored["points"].items()
            if point.partition(", ")[0] in words
        ]
        return format_table(["TCP together [Mbit/s]", "simulator", "kernel"], rows)
    sums_by_table: dict[str, list[int]] = {}
    for point, point_values in stored["points"].items():
        sums = sums_by_table.setdefault(point.partition(", ")[0], [0] * 4)
        for index, each in enumerate([1, *point_values["comparisons"]]):
            sums[index] += each
    heads = ["table", "points", "agree", "differ", "undecided"]
    rows = [[table_name, *map(str, sums)] for table_name, sums in sums_by_table.items()]
    if all("proof" in point_values for point_values in stored["points"].values()):
        # Of the single mistakes that show, those that the verdicts of a table would have caught.
        heads.append("caught")
        for row in rows:
            proofs = [
                point_values["proof"]
                for point, point_values in stored["points"].items()
                if point.partition(", ")[0] == row[0]
            ]
            row.append(f"{sum(each[0] for each in proofs)} of {sum(each[1] for each in proofs)}")
    return format_table(heads, rows)


def summarise_verdicts(name: str, tables: dict[str, Any]) -> dict[str, Any]:
    """Extract counts of outcomes from verdicts, and goodput in simulator and kernel."""
    found = {}
    for point_name, table_document in tables.items():
        rows = table_document["verdict"]["rows"]
        outcomes = [row["outcome"] for row in rows]
        all_tcp = [row for row in rows if row["measure"] == "goodput" and " TCP " in row["subject"]]
        found[point_name] = {
            "comparisons": [outcomes.count(key) for key in ("agrees", "differs", "undecided")],
            "tcp_mbit_s": [
                _round_value(row[key] / 1e6)
                for row in all_tcp
                for key in ("simulator", "reference")
            ],
        }
        proof = table_document["verdict"].get("proof")
        if proof:
            counts = proof["counts"]
            shown_count = sum(counts.values()) - counts["no effect"]
            found[point_name]["proof"] = [counts["caught"], shown_count]
    first = next(iter(tables.values()))["verdict"]
    head = {"study": name, "reference": first["reference"], "seeds": first["seeds"]}
    return {**head, "points": found}


def summarise_fit(document: dict[str, Any]) -> dict[str, Any]:
    """Keep the part of the JSON object of a fit that pages need."""

    def shorten(value: Any) -> Any:
        if isinstance(value, float):
            return float(f"{value:.4g}")
        if isinstance(value, list):
            return [shorten(each) for each in value]
        if isinstance(value, dict):
            return {key: shorten(each) for key, each in value.items()}
        return value

    left_out = [
        {key: each[key] for key in ("tables", "cells", "inside", "log_score")}
        for each in document["left_out"]
    ]
    names = ("study", "trials", "runs", "best", "likeliest", "misfit", "parameters", "errors")
    kept = {key: document[key] for key in names} | {"left_out": left_out}
    found: dict[str, Any] = shorten(kept | {"cells": document["cells"]})
    return found


def format_fit(stored: dict[str, Any], part: str) -> str:
    """A part of a fit."""
    if part == "parameters":
        rows = [
            [each["parameter"], each["value"], _describe_posterior(each), each["verdict"]]
            for each in stored["parameters"]
        ]
        return format_table(["parameter", "by hand", "posterior", "verdict"], rows)
    if part == "errors":
        names = list(stored["errors"])
        tables = dict.fromkeys(table for errors in stored["errors"].values() for table in errors)
        rows = [
            [table, *(f"{stored['errors'][name][table]:.3f}" for name in names)] for table in tables
        ]
        return format_table(["table", *names], rows)
    if part == "left-out":
        rows = [
            [each["tables"], f"{each['inside']} of {each['cells']}", f"{each['log_score']:.0f}"]
            for each in stored["left_out"]
        ]
        return format_table(["predicted from the other tables", "inside", "log score"], rows)
    rows = []
    for table in dict.fromkeys(cell["table"] for cell in stored["cells"]):
        cells = [cell for cell in stored["cells"] if cell["table"] == table]
        outside = [cell for cell in cells if not cell["inside"]]
        listed = [
            f"{cell['row']} {cell['column']}: {cell['published']:g} of {cell['low']:.3g} to "
            f"{cell['high']:.3g}"
            for cell in outside[:3]
        ]
        listed += [f"{len(outside) - 3} more"] if len(outside) > 3 else []
        inside = f"{len(cells) - len(outside)} of {len(cells)}"
        rows.append([table, inside, "; ".join(listed) or "–"])
    return format_table(["table", "inside", "published values outside their interval"], rows)


def _describe_posterior(parameter: dict[str, Any]) -> str:
    """The 95 % interval, or the readings with more than 1 % of the probability."""
    if "low" in parameter:
        return f"{parameter['low']} to {parameter['high']}"
    likely = [each for each in parameter["readings"] if each["probability"] > 0.01]
    return ", ".join(f"{each['reading']} {100 * each['probability']:.0f} %" for each in likely)


def store_fit(name: str, folder: Path) -> None:
    """Store a fit in the folder of its study, and draw its posterior for the page."""
    from trunkline.plot.figure import save_figure
    from trunkline.study import find_study
    from trunkline.study.fit.fit_files import draw_stored_marginals

    document = summarise_fit(json.loads((folder / "fit.json").read_text("utf-8")))
    _store(STUDIES / name / FIT_JSON, document)
    pictures = PAGES / "pictures"
    pictures.mkdir(exist_ok=True)
    picture = draw_stored_marginals(find_study(name), document)
    save_figure(picture, pictures / f"{name}-posterior.svg")


def update_page(name: str, page: str) -> str:
    """A page with its parts as the stored run has them."""
    stored_run = json.loads((RUNS / f"{name}.json").read_text("utf-8"))

    def part(found: re.Match[str]) -> str:
        kind, *words = found[2].split()
        if kind == "sentences":
            text = format_sentences(stored_run, found[3])
        elif kind == "kernel":
            text = format_kernel_table(name, *words)
        elif kind == "fit":
            stored_fit = json.loads((STUDIES / name / FIT_JSON).read_text("utf-8"))
            text = format_fit(stored_fit, *words)
        else:
            make: dict[str, Callable[..., str]] = {
                "errors": format_errors,
                "values": format_values,
                "overview": format_overview,
                "fitted-reading": format_fitted_readings,
                "table": format_own_table,
                "column": format_column,
            }
            text = make[kind](stored_run, *words)
        return f"{found[1]}{text}{found[4]}"

    return GENERATED_BLOCK.sub(part, page)


def find_page_faults(name: str, page: str) -> Iterator[str]:
    """Find differences between a page and its stored run."""
    stored = json.loads((RUNS / f"{name}.json").read_text("utf-8"))
    if stored["of"] != hash_study(name):
        yield "the stored run is of other files or results: --run"
    if update_page(name, page) != page:
        yield "tables are not those of the stored run: --write"
    held_count = sum(outcome == "held" for outcome, _ in stored["claims"].values())
    row = rf"\| \[{name}\]\(studies/{name}\.md\).* (\d+) of (\d+) claims? \|"
    stated_counts = re.findall(r"(\d+) of (\d+)\s+claims hold", page)
    for stated_held, stated_total in stated_counts + re.findall(row, VALIDATION.read_text("utf-8")):
        if (int(stated_held), int(stated_total)) != (held_count, len(stored["claims"])):
            yield (
                f"{stated_held} of {stated_total} claims: {held_count} of "
                f"{len(stored['claims'])} hold"
            )
    cells = [number for cell in stored["cells"] for number in cell[3:5] if number is not None]
    named = " ".join(f"{cell[0]} {cell[1]}" for cell in stored["cells"])
    rows = [float(text) for text in NUMBER.findall(named)]
    for each in stored["sentences"]:
        line = next((line for line in page.splitlines() if f"| {each['says']} |" in line), "")
        remark = re.sub(r"^[*a-z ]*[a-z*]", "", line.rstrip("| ").rpartition(" | ")[2])
        if each["outcome"] is None or not line:
            continue
        details = " ".join(stored["claims"][claim][1] for claim in each["claims"])
        known = [float(text) for text in NUMBER.findall(details)] + cells + rows
        for text in NUMBER.findall(remark):
            if not _is_known_number(text.replace("−", "-"), known):
                yield f"{each['says']}: no {text} in the stored run"


def _is_known_number(text: str, known: list[float]) -> bool:
    """Whether a figure is one of the run, rounded, perhaps as a percentage or without its sign."""
    places = len(text.partition(".")[2])
    wanted = abs(float(text))
    return any(
        abs(round(factor * abs(each), places) - wanted) < 1e-9
        for each in known
        for factor in (1, 100, 0.01)
    )


def run_studies(names: list[str]) -> None:
    """Run studies, and store what they give; a change of claims alone costs no run again."""
    from trunkline.study import reproduce
    from trunkline.study.errors import StudyError

    for name in names:
        hash_before = hash_study(name)
        folder = KEPT_RUNS / name
        try:
            document = reproduce(name, out=folder, resume=folder.exists()).to_json()
        except StudyError as error:
            # Runs of another plan or engine.
            print(error)
            document = reproduce(name, out=folder, overwrite=True).to_json()
        _store(RUNS / f"{name}.json", summarise_reproduction(document, hash_before))


def _store(path: Path, document: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)

    def dump_item(item: Any) -> str:
        return json.dumps(item, ensure_ascii=False)

    def lines(value: Any) -> str:
        """A line each item, so that a difference is read line by line."""
        if isinstance(value, list) and value:
            return "[\n  " + ",\n  ".join(map(dump_item, value)) + "\n ]"
        if isinstance(value, dict) and value:
            items = (f"{dump_item(key)}: {dump_item(item)}" for key, item in value.items())
            return "{\n  " + ",\n  ".join(items) + "\n }"
        return dump_item(value)

    text = (
        "{\n "
        + ",\n ".join(f"{dump_item(key)}: {lines(item)}" for key, item in document.items())
        + "\n}"
    )
    path.write_text(text + "\n", encoding="utf-8", newline="\n")


def main(arguments: list[str]) -> int:
    """Compare, write or run.

    Parameters
    ----------
    arguments : list of str
        ``--write``, ``--run NAME ...``, ``--kernel NAME FOLDER``, ``--fit NAME FOLDER`` or nothing.

    Returns
    -------
    int
        1 if a page says otherwise than its run.
    """
    if arguments[:1] == ["--run"]:
        run_studies(arguments[1:])
    if arguments[:1] == ["--fit"]:
        store_fit(arguments[1], Path(arguments[2]))
    if arguments[:1] == ["--kernel"]:
        _, name, folder = arguments
        tables = json.loads((Path(folder) / "kernel.json").read_text("utf-8"))["tables"]
        _store(RUNS / f"{name}-kernel.json", summarise_verdicts(name, tables))
    status = 0
    for path in sorted(PAGES.glob("*.md")):
        if not (RUNS / f"{path.stem}.json").exists():
            continue
        page = path.read_text("utf-8")
        if arguments:
            page = update_page(path.stem, page)
            path.write_text(page, encoding="utf-8", newline="\n")
        for each in find_page_faults(path.stem, page):
            print(f"{path.name}: {each}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
