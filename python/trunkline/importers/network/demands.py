"""Demands from files of their own: tables, matrices, SNDlib, REPETITA; one interval or several.

A file or a folder may hold demands of several intervals of time: columns of hours, rows with a
time, or the files of a folder (SNDlib's dynamic traffic). A rule makes one value of each demand.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from trunkline.importers.common.account import ImportAccount
from trunkline.importers.common.fault import ImportFault
from trunkline.importers.common.file_elements import FileElement, account_for_elements
from trunkline.importers.network import repetita, sndlib
from trunkline.importers.network.attributes import UNITS, parse_capacity
from trunkline.importers.network.fields import find_node_key
from trunkline.importers.network.link_lists import find_end_columns, normalise_title
from trunkline.importers.network.tables import make_rows, split_rows
from trunkline.importers.network.topology import ImportedDemand, ImportedTopology
from trunkline.importers.network.xml import parse_xml
from trunkline.scenario.demand_tables import iterate_matrix_cells
from trunkline.scenario.dscp import DSCP_NAMES
from trunkline.scenario.scenario_files import ScenarioFileError
from trunkline.scenario.units import parse_real

RATE_TITLES = ("rate", "demand", "value", "traffic", "load", "volume", "bandwidth", "bw",
               "demandvalue", "demand_value", "bitrate")  # fmt: skip
CLASS_TITLES = ("class", "dscp", "cos", "service", "service_class", "traffic_class", "qos")
TIME_TITLES = ("time", "hour", "interval", "timestamp", "period", "date", "datetime", "slot")
_CLASS_COLUMN = re.compile(rf"(?:{'|'.join(DSCP_NAMES)}|AF[1-4]|BE)\Z", re.IGNORECASE)

DemandKey = tuple[str, str, str, int | None]  # Ends, class and unit of a demand.


@dataclass(frozen=True)
class IntervalRule:
    """Rule for a demand that has a value in each interval: which value counts."""

    # one of "peak", "mean", "percentile", "busiest", "name"; the largest; the mean; the least that
    # so many per cent of the intervals do not exceed; that in the interval with the largest sum;
    # that in one interval.
    kind: str
    percentile: float = 0.0  # Per cent, above 0 to 100.
    name: str = ""  # Name of the interval.


def parse_interval_rule(text: str) -> IntervalRule:
    """`peak`, `mean`, `busiest`, `95 %`, or the name of an interval."""
    match = re.fullmatch(r"(?:p\s*(\d+(?:\.\d+)?)|(\d+(?:\.\d+)?)\s*%)", text.strip())
    if match is not None:
        percentile = float(match[1] or match[2])
        if 0 < percentile <= 100:
            return IntervalRule("percentile", percentile)
    if text in ("peak", "mean", "busiest"):
        return IntervalRule(text)
    return IntervalRule("name", name=text)


@dataclass
class DemandSeries:
    """Demands by interval, in the order of their file."""

    by_interval: dict[str, list[ImportedDemand]]  # A file without intervals has one, called "".

    def choose(self, rule: IntervalRule | None, account: ImportAccount) -> list[ImportedDemand]:
        """Choose the demands that a rule makes of the intervals; 0 where an interval has none.

        Raises ImportFault: There are several intervals and no rule, or none of that name.
        """
        names = list(self.by_interval)
        if rule is None and len(names) > 1:
            shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
            why = f"there are demands of {len(names)} intervals ({shown})"
            raise ImportFault(0, 1, f"{why}: give --interval", "peak, mean, busiest, 95 %, a name")
        if rule is None or (len(names) == 1 and rule.kind != "name"):
            return self.by_interval[names[0]] if names else []
        if rule.kind == "busiest":
            totals = {
                name: sum(each.value * (each.unit or 1) for each in demands)
                for name, demands in self.by_interval.items()
            }
            busiest = max(names, key=lambda name: totals[name])
            account.add_assumption("interval of demands", f"the busiest: {busiest}")
            return self.by_interval[busiest]
        if rule.kind == "name":
            if rule.name not in self.by_interval:
                shown = ", ".join(names[:20])
                raise ImportFault(0, 1, f"there is no interval {rule.name}", shown)
            account.add_assumption("interval of demands", rule.name)
            return self.by_interval[rule.name]
        values: dict[DemandKey, list[float]] = {}
        first: dict[DemandKey, ImportedDemand] = {}
        for demands in self.by_interval.values():
            sums: dict[DemandKey, float] = {}
            for each in demands:
                key = (each.source, each.target, each.class_name, each.unit)
                first.setdefault(key, each)
                sums[key] = sums.get(key, 0.0) + each.value
            for key, value in sums.items():
                values.setdefault(key, []).append(value)
        described = rule.kind if rule.kind != "percentile" else f"{rule.percentile:g} %"
        account.add_assumption(
            "value of each demand", f"{described} of {len(names)} intervals", count=len(first)
        )
        return [
            replace(first[key], value=_reduce(given, len(names), rule))
            for key, given in values.items()
        ]


def _reduce(given: list[float], count: int, rule: IntervalRule) -> float:
    """The value of a demand that some of the intervals have."""
    if rule.kind == "mean":
        return math.fsum(given) / count
    if rule.kind == "peak":
        return max(given)
    ordered = sorted([*given, *[0.0] * (count - len(given))])
    return ordered[max(0, math.ceil(rule.percentile / 100 * count) - 1)]


def read_demand_folder(
    files: Iterable[tuple[str, str]], topology: ImportedTopology
) -> DemandSeries:
    """Read the files of a folder, one interval each, called by their names.

    files: Name and text of each.
    Raises ImportFault: One is not read; `file` has its name.
    """
    found = DemandSeries({})
    for name, content in files:
        try:
            series = read_demand_file(content, topology)
        except ImportFault as fault:
            fault.file = name
            raise
        for interval, demands in series.by_interval.items():
            found.by_interval[f"{name} {interval}".strip()] = demands
    return found


def read_demand_file(content: str, topology: ImportedTopology) -> DemandSeries:
    """Read the demands of a network, and account for everything in the file.

    Raises ImportFault: It holds no demands, names an unknown node, or a value is no rate.
    """
    start = content.lstrip()
    if start.startswith("DEMANDS"):
        root = repetita.parse_demands(content)
        series = DemandSeries({"": repetita.read_demands(root, topology)})
    elif start.startswith("<") or re.search(r"^\s*DEMANDS\s*\(\s*$", content, re.MULTILINE):
        is_xml = start.startswith("<")
        root = parse_xml(content) if is_xml else sndlib.parse_native(content)
        root.leave_out_children("the network has its own", "networkStructure")
        series = DemandSeries({"": sndlib.read_matrix(root, _map_labels(topology))})
    else:
        root, series = _read_table(content, topology)
    account = ImportAccount()
    account_for_elements(root, account)
    topology.account.add_account(account, "matrix")
    return series


def is_demand_table(content: str) -> bool:
    """Whether a table in text has ends and a column of rates, classes or times, or is a matrix."""
    rows = split_rows(content)
    if len(rows) < 2:
        return False
    header = rows[0][1]
    titles = [normalise_title(each) for each in header]
    if len(header) > 2 and {cells[0] for _, cells in rows[1:]} <= set(header[1:]):
        return True
    ends = find_end_columns(titles)
    if ends is None:
        return False
    others = [place for place in range(len(header)) if place not in ends]
    return any(
        _parse_rate_title(titles[place]) != 0
        or titles[place] in TIME_TITLES
        or _CLASS_COLUMN.match(header[place])
        for place in others
    )


def _map_labels(topology: ImportedTopology) -> dict[str, str]:
    """Map the keys of nodes by their labels, and by themselves where no label is so."""
    by_label = {key: key for key in topology.nodes}
    by_label |= {node.label: key for key, node in topology.nodes.items()}
    return by_label


def _read_table(content: str, topology: ImportedTopology) -> tuple[FileElement, DemandSeries]:
    rows = split_rows(content)
    root = FileElement("", 1)
    if not rows:
        raise ImportFault(1, 1, "the file holds no demand")
    header_line, header = rows[0]
    titles = [normalise_title(each) for each in header]
    firsts = [cells[0] for _, cells in rows[1:]]
    if all(parse_real(cell) is not None for _, cells in rows for cell in cells):
        return root, _read_bare_matrix(rows, topology, root)
    if len(header) > 2 and (not header[0] or set(firsts) <= set(header[1:])):
        return root, _read_square_matrix(rows, topology, root)
    ends = find_end_columns(titles)
    if ends is None:
        message = "the first line must name the columns from, to and rate"
        known = "also class and time; or a square matrix: an empty cell, then the nodes"
        raise ImportFault(header_line, 1, message, known)
    if len(set(header)) < len(header):
        raise ImportFault(header_line, 1, "two columns have the same name")
    make_rows(rows[1:], header, "demand", root)
    return root, _read_long_table(root, header, ends, topology)


def _read_long_table(
    root: FileElement, header: list[str], ends: tuple[int, int], topology: ImportedTopology
) -> DemandSeries:
    """Read rows of ends and rates: one column of rates, one for each class, or one an interval."""
    titles = [normalise_title(each) for each in header]
    others = [place for place in range(len(header)) if place not in ends]
    class_place = next((place for place in others if titles[place] in CLASS_TITLES), None)
    time_place = next((place for place in others if titles[place] in TIME_TITLES), None)
    rates = {place: unit for place in others if (unit := _parse_rate_title(titles[place])) != 0}
    rate_places = list(rates)[:1]
    if not rate_places:
        # Columns of classes (EF, AF1, ...), else columns of intervals.
        free = [place for place in others if place not in (class_place, time_place)]
        rates = dict.fromkeys(free)
        rate_places = [place for place in free if _CLASS_COLUMN.match(header[place])]
        rate_places = rate_places or free
    is_by_class = all(_CLASS_COLUMN.match(header[place]) for place in rate_places)
    if not rate_places:
        raise ImportFault(1, 1, "no column has rates", ", ".join(RATE_TITLES))
    labels = _map_labels(topology)
    series = DemandSeries({})
    for row in root.find_all("demand"):
        source, target = (
            labels[find_node_key(row.take_text(header[end]), labels, row.line)] for end in ends
        )
        class_name = "" if class_place is None else row.take_text(header[class_place])
        interval = "" if time_place is None else row.take_text(header[time_place])
        for place in rate_places:
            text = row.take_text(header[place])
            if text in ("", "-") and len(rate_places) > 1:
                continue
            value, unit = _parse_rate(text, rates[place], row.line)
            name = header[place] if len(rate_places) > 1 and not is_by_class else interval
            found = ImportedDemand(source, target, value, unit, class_name, row.line)
            if is_by_class:
                found.class_name = header[place].upper()
            series.by_interval.setdefault(name, []).append(found)
    return series


def _parse_rate_title(title: str) -> int | None:
    """Unit of a column of rates by its name: None: it names none; 0: it is no such column."""
    for known in RATE_TITLES:
        if title == known:
            return None
        unit = UNITS["capacity"].get(title.removeprefix(f"{known}_"))
        if unit is not None:
            return int(unit)
    return 0


def _parse_rate(text: str, unit: int | None, line: int) -> tuple[float, int | None]:
    value, own_unit = parse_capacity(text, "a demand", line)
    if value < 0:
        raise ImportFault(line, 1, f"a demand cannot be negative: {text[:40]}")
    return value, own_unit or unit


def _read_square_matrix(
    rows: list[tuple[int, list[str]]], topology: ImportedTopology, root: FileElement
) -> DemandSeries:
    header_line, (_, *names) = rows[0]
    labels = _map_labels(topology)
    demands = []
    try:
        for line, source, target, cell in iterate_matrix_cells(rows[1:], names, header_line):
            element = root.add("cell", cell, line)
            element.is_read = True
            if source == target or cell in ("", "-"):
                continue
            keys = [labels[find_node_key(each, labels, line)] for each in (source, target)]
            value, unit = _parse_rate(cell, None, line)
            demands.append(ImportedDemand(keys[0], keys[1], value, unit, line=line))
    except ScenarioFileError as error:
        raise ImportFault(error.line, 1, error.message) from None
    return DemandSeries({"": demands})


def _read_bare_matrix(
    rows: list[tuple[int, list[str]]], topology: ImportedTopology, root: FileElement
) -> DemandSeries:
    """Read a matrix of numbers alone: rows and columns in the order of the network's nodes."""
    keys = list(topology.nodes)
    demands = []
    if len(rows) != len(keys):
        why = f"a matrix without names has a line for each of {len(keys)} nodes, not {len(rows)}"
        raise ImportFault(rows[0][0], 1, why)
    for source, (line, cells) in zip(keys, rows, strict=True):
        if len(cells) != len(keys):
            raise ImportFault(line, 1, f"{len(keys)} values are expected, not {len(cells)}")
        for target, cell in zip(keys, cells, strict=True):
            root.add("cell", cell, line).is_read = True
            if source != target:
                demands.append(
                    ImportedDemand(source, target, *_parse_rate(cell, None, line), line=line)
                )
    topology.account.add_assumption("nodes of the matrix", "in the order of the network's nodes")
    return DemandSeries({"": demands})
