"""Published networks as scenarios: nodes, links and demands of planning and lab tools."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from trunkline.importers.common.fault import ImportFault
from trunkline.importers.common.proof import prove_import
from trunkline.importers.network.rules import ImportRules, apply_rules, make_node_names
from trunkline.importers.network.scenario_text import ImportedNetwork, format_scenario
from trunkline.importers.network.topology import (
    ImportedDemand,
    ImportedNode,
    ImportedTopology,
)
from trunkline.importers.network.workbooks import (
    WorkbookSheet,
    choose_sheets,
    is_workbook,
    read_workbook,
)

if TYPE_CHECKING:
    from trunkline.importers.network.demands import DemandSeries
    from trunkline.scenario.scenario import Scenario

__all__ = [
    "MAX_FILE_BYTES",
    "ImportRules",
    "ImportedNetwork",
    "ImportedTopology",
    "read_demand_series",
    "read_network",
    "read_topology",
]

MAX_FILE_BYTES = 20_000_000  # Size of a file that is read [B].
TOPOHUB_PREFIX = "topohub:"
LAB_SUFFIXES = (".clab.yml", ".clab.yaml")

_MAGIC_ADVICE = {
    b"PK\x03\x04": "an archive is not read: unpack it; a spreadsheet: save it as .xlsx or CSV",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet (.xls) is not read: save it as .xlsx or CSV",
    b"\x1f\x8b": "the file is compressed: unpack it first",
}
_XML_ENCODING = re.compile(rb"""\A<\?xml[^>]*encoding=["']([A-Za-z0-9_.-]+)["']""")


def read_network(
    source: str | os.PathLike[str],
    rules: ImportRules | None = None,
    *,
    demands: str | os.PathLike[str] | None = None,
    interval: str | None = None,
    matrix_file: str = "",
) -> ImportedNetwork:
    """Read a published network and write it as a scenario.

    Parameters
    ----------
    source : path or str
        A file in one of the formats, a workbook (.xlsx) whose sheets have such tables, a folder
        that `export` wrote, or ``topohub:NAME``.
    demands : path, optional
        The demands: CSV (rows or a square matrix), a workbook, SNDlib or `.demands` of REPETITA;
        or a folder of such files, one for each interval of time. By default those of the network,
        or of other sheets of its workbook.
    interval : str, optional
        What counts where there are several intervals: ``peak``, ``mean``, ``busiest``, ``95 %``,
        or the name of one.
    matrix_file : str
        Name that the scenario gives the table of its demands where they are many.

    Raises
    ------
    ImportFault
        A file that is not read, or a gap that no rule fills.
    TopohubNotInstalled
        The network is in the package topohub only, which is not installed.
    OSError
        A file cannot be read.
    """
    topology = read_topology(source)
    if demands is None and _has_demand_sheet(source):
        demands = source
    if demands is not None:
        try:
            _replace_demands(topology, Path(demands), interval)
        except ImportFault as fault:
            fault.file = fault.file or os.fspath(demands)
            raise
    apply_rules(topology, rules or ImportRules())
    name = os.fspath(source)
    shown_name = name if name.startswith(TOPOHUB_PREFIX) else Path(name).name
    return _format_import(topology, shown_name, matrix_file)


def _format_import(found: ImportedTopology, source: str, matrix_file: str) -> ImportedNetwork:
    """Write a topology as a scenario that loads."""
    by_key = make_node_names(found)
    made = format_scenario(found, by_key, source, matrix_file)
    tables = {matrix_file: made.matrix.encode()} if made.matrix else {}
    scenario = prove_import(made.text, tables)
    if _drop_colours_of_other_routes(found, scenario):
        made = format_scenario(found, by_key, source, matrix_file)
        scenario = prove_import(made.text, tables)
    if any(each.code == "placement" for each in scenario.warnings):
        made = format_scenario(found, by_key, source, matrix_file, overloaded=True)
    return made


def _drop_colours_of_other_routes(found: ImportedTopology, scenario: Scenario) -> bool:
    """Drop the colours that lead along another route than the path's; True: there were some."""
    coloured = [each for each in found.paths if each.colours]
    if not coloured:
        return False
    routes = scenario.resolve().routes
    by_key = make_node_names(found)
    lost = [
        each
        for each in coloured
        if each.name not in routes
        or list(routes[each.name].nodes) != [by_key[key] for key in each.route]
    ]
    for each in lost:
        reason = "its colours alone would lead along another route"
        found.account.add_left_out(f"colours of path {each.name}", reason)
        each.colours = {}
    return bool(lost)


def read_topology(source: str | os.PathLike[str]) -> ImportedTopology:
    """Read a published network, its gaps left open.

    Raises ImportFault, TopohubNotInstalled, OSError: As for :func:`read_network`.
    """
    name = os.fspath(source)
    if name.startswith(TOPOHUB_PREFIX):
        from trunkline.importers.network import topohub

        return topohub.read_packaged_network(name.removeprefix(TOPOHUB_PREFIX))
    path = Path(name)
    from trunkline.importers.network.formats import parse_network

    if path.is_dir():
        return _read_folder(path)
    data = _read_bytes(path)
    title = path.name.split(".")[0]
    if is_workbook(data):
        return _read_link_sheets(path, data, title)
    topology = parse_network(_decode_text(data), title)
    if path.name.endswith(LAB_SUFFIXES):
        from trunkline.importers.network.frr import apply_frr_settings

        apply_frr_settings(topology, path.parent)
    return topology


def _read_folder(folder: Path) -> ImportedTopology:
    """Read what `export` wrote: a laboratory of containerlab, or OpenConfig of each router."""
    labs = [file for file in sorted(folder.iterdir()) if file.name.endswith(LAB_SUFFIXES)]
    if len(labs) == 1:
        return read_topology(labs[0])
    from trunkline.importers.network.openconfig import read_router_folder

    files = sorted(folder.glob("*.json"))
    if labs or not files:
        reason = "several *.clab.yml" if labs else "no *.clab.yml and no *.json"
        raise ImportFault(0, 1, f"the folder holds {reason}")
    return read_router_folder(((each.name, _read_text(each)) for each in files), folder.name)


def _read_link_sheets(path: Path, data: bytes, title: str) -> ImportedTopology:
    """Read all sheets of links of a workbook as one network."""
    from trunkline.importers.network.formats import parse_network

    sheets = read_workbook(data)
    topology = ImportedTopology(title)
    for sheet in choose_sheets(sheets, "links"):
        with _faults_placed_in(path, sheet):
            found = parse_network(sheet.content, title)
        topology.nodes = found.nodes | topology.nodes
        topology.links += found.links
        topology.account.add_account(found.account, f"sheet {sheet.name}")
    for sheet in sheets:
        if sheet.title and sheet.kind is not None:
            topology.account.add_left_out(f"title of sheet {sheet.name}", sheet.title)
        if sheet.kind is None:
            topology.account.add_left_out(f"sheet {sheet.name}", "it has no links and no demands")
    return topology


@contextmanager
def _faults_placed_in(path: Path, sheet: WorkbookSheet) -> Iterator[None]:
    try:
        yield
    except ImportFault as fault:
        fault.file = f"{path}, sheet {sheet.name}"
        raise


def _has_demand_sheet(source: str | os.PathLike[str]) -> bool:
    """Whether a network is a workbook with demands as well as links."""
    path = Path(source)
    if os.fspath(source).startswith(TOPOHUB_PREFIX) or path.is_dir():
        return False
    data = _read_bytes(path)
    return is_workbook(data) and any(each.kind == "demands" for each in read_workbook(data))


def _read_text(path: Path) -> str:
    return _decode_text(_read_bytes(path))


def _read_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise ImportFault(0, 1, f"larger than {MAX_FILE_BYTES} bytes")
    return data


def _decode_text(data: bytes) -> str:
    for magic, advice in _MAGIC_ADVICE.items():
        if data.startswith(magic):
            raise ImportFault(0, 1, advice)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        # Spreadsheets call this Unicode text.
        return data.decode("utf-16", errors="replace")
    declared = _XML_ENCODING.match(data)
    encoding = declared[1].decode().lower() if declared else "utf-8-sig"
    if encoding in ("utf-8", "utf8"):
        encoding = "utf-8-sig"
    if encoding not in ("utf-8-sig", "us-ascii", "iso-8859-1", "iso-8859-15", "windows-1252"):
        raise ImportFault(1, 1, f"the encoding {encoding} is not read")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ImportFault(line, 1, f"byte {data[error.start]:#04x} is not {encoding}") from None


def _replace_demands(topology: ImportedTopology, path: Path, interval: str | None) -> None:
    """Put the demands of a file or a folder in place of those of the network's."""
    from trunkline.importers.network.demands import parse_interval_rule

    replaced_count = len(topology.demands)
    topology.account.add_left_out(
        "demands of the network", "--matrix replaces them", count=replaced_count
    )
    series = _read_series(path, topology)
    rule = None if interval is None else parse_interval_rule(interval)
    topology.demands = series.choose(rule, topology.account)


def _read_series(path: Path, topology: ImportedTopology) -> DemandSeries:
    """Read the demands of a file or a folder, in one interval or several."""
    from trunkline.importers.network import demands

    if not path.is_dir():
        data = _read_bytes(path)
        if not is_workbook(data):
            return demands.read_demand_file(_decode_text(data), topology)
        return _read_demand_sheets(path, data, topology)
    files = [file for file in sorted(path.iterdir()) if file.is_file()]
    if not files:
        raise ImportFault(0, 1, "the folder holds no file")
    texts = ((file.name, _read_text(file)) for file in files)
    try:
        return demands.read_demand_folder(texts, topology)
    except ImportFault as fault:
        fault.file = os.fspath(path / fault.file)
        raise


def _read_demand_sheets(path: Path, data: bytes, topology: ImportedTopology) -> DemandSeries:
    """Read the sheets of demands of a workbook; several are intervals of time."""
    from trunkline.importers.network import demands

    sheets = choose_sheets(read_workbook(data), "demands")
    names = ", ".join(each.name for each in sheets)
    topology.account.add_assumption("sheets with demands", names, count=len(sheets))
    by_interval: dict[str, list[ImportedDemand]] = {}
    for sheet in sheets:
        with _faults_placed_in(path, sheet):
            series = demands.read_demand_file(sheet.content, topology)
        for interval, found in series.by_interval.items():
            name = f"{sheet.name} {interval}".strip() if len(sheets) > 1 else interval
            by_interval[name] = found
    return demands.DemandSeries(by_interval)


def read_demand_series(
    path: str | os.PathLike[str], nodes: Sequence[str], unit: int | None = None
) -> dict[str, list[tuple[str, str, str, float]]]:
    """Read the demands between known nodes, by interval.

    path: As `demands` of :func:`read_network`.
    nodes: Names of nodes; labels that an import would give these names are known too.
    unit: Bits per second in one unit of the numbers that name none.
    Returns: Source, destination, class or empty, and rate [bit/s]. A file without intervals has
        one, called "".
    Raises ImportFault: A file that is not read, or a number without a unit.
    Raises OSError: A file cannot be read.
    """
    topology = ImportedTopology("", {name: ImportedNode(name) for name in nodes})
    series = _read_series(Path(path), topology)
    found: dict[str, list[tuple[str, str, str, float]]] = {}
    for interval, demands in series.by_interval.items():
        rows = found.setdefault(interval, [])
        for each in demands:
            bits = each.unit or unit
            if bits is None:
                raise ImportFault(each.line, 1, "the demand has no unit: give --unit")
            rows.append((each.source, each.target, each.class_name, each.value * bits))
    return found
