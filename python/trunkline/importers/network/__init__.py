"""Published networks as scenarios: nodes, links and demands of planning and lab tools."""

import os
import re
from pathlib import Path

from trunkline.importers.common.fault import ImportFault
from trunkline.importers.common.proof import prove_import
from trunkline.importers.network.rules import Rules, apply, names
from trunkline.importers.network.topology import Topology
from trunkline.importers.network.write import Written, write

__all__ = ["FORMATS", "LARGEST", "Rules", "Topology", "Written", "read_network", "read_topology"]

FORMATS = "SNDlib (XML, native), GML, GraphML, REPETITA, containerlab, netlab"
LARGEST = 20_000_000
"""Size of a file that is read [B]."""
TOPOHUB = "topohub:"

_ENCODING = re.compile(rb"""\A<\?xml[^>]*encoding=["']([A-Za-z0-9_.-]+)["']""")


def read_network(
    source: str | os.PathLike[str],
    rules: Rules | None = None,
    *,
    demands: str | os.PathLike[str] | None = None,
    matrix_file: str = "",
) -> Written:
    """Read a published network and write it as a scenario.

    Parameters
    ----------
    source : path or str
        A file in one of the formats, or ``topohub:NAME``.
    demands : path, optional
        The demands: a CSV file with the columns from, to and rate, or a `.demands` of REPETITA.
    matrix_file : str
        Name that the scenario gives the table of its demands where they are many.

    Raises
    ------
    ImportFault
        A file that is not read, or a gap that no rule fills.
    Absent
        The package topohub is not installed.
    OSError
        A file cannot be read.
    """
    found = read_topology(source)
    if demands is not None:
        try:
            _demands(found, Path(demands))
        except ImportFault as fault:
            fault.file = os.fspath(demands)
            raise
    apply(found, rules or Rules())
    name = os.fspath(source)
    shown = name if name.startswith(TOPOHUB) else Path(name).name
    return _written(found, shown, matrix_file)


def _written(found: Topology, source: str, matrix_file: str) -> Written:
    """Write a topology as a scenario that loads."""
    by_key = names(found)
    made = write(found, by_key, source, matrix_file)
    tables = {matrix_file: made.matrix.encode()} if made.matrix else {}
    warnings = prove_import(made.text, tables).warnings
    if any(each.code == "placement" for each in warnings):
        made = write(found, by_key, source, matrix_file, overloaded=True)
    return made


def read_topology(source: str | os.PathLike[str]) -> Topology:
    """Read a published network, its gaps left open.

    Raises
    ------
    ImportFault, Absent, OSError
        As for :func:`read_network`.
    """
    name = os.fspath(source)
    if name.startswith(TOPOHUB):
        from trunkline.importers.network import topohub

        return topohub.read(name.removeprefix(TOPOHUB))
    path = Path(name)
    return _recognised(_text(path), path.name.split(".")[0])


def _text(path: Path) -> str:
    with path.open("rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ImportFault(0, 1, f"larger than {LARGEST} bytes")
    said = _ENCODING.match(data)
    encoding = said[1].decode().lower() if said else "utf-8-sig"
    if encoding in ("utf-8", "utf8"):
        encoding = "utf-8-sig"
    if encoding not in ("utf-8-sig", "us-ascii", "iso-8859-1", "iso-8859-15", "windows-1252"):
        raise ImportFault(1, 1, f"the encoding {encoding} is not read")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ImportFault(line, 1, f"byte {data[error.start]:#04x} is not {encoding}") from None


def _recognised(content: str, title: str) -> Topology:
    """Read a file by what it looks like; names of files say little."""
    from trunkline.importers.network import containerlab, netlab, repetita, sndlib, zoo
    from trunkline.importers.network.yaml import document

    start = content.lstrip()
    if start.startswith("<"):
        is_graphml = re.search(r"<\s*(?:\w+:)?graphml\b", start) is not None
        return (zoo.read_graphml if is_graphml else sndlib.read_xml)(content, title)
    if start.startswith("?SNDlib") or re.search(r"^\s*NODES\s*\(\s*$", content, re.MULTILINE):
        return sndlib.read_native(content, title)
    if re.match(r"NODES\s+\d+\s*$", start.partition("\n")[0]):
        return repetita.read_graph(content, title)
    if re.search(r"^\s*graph\s*\[", content, re.MULTILINE):
        return zoo.read_gml(content, title)
    try:
        data = document(content)
    except ImportFault:
        if ":" in content:
            raise
        data = None
    if data and isinstance(data.get("topology"), dict):
        return containerlab.read(data, title)
    if data and "nodes" in data:
        return netlab.read(data, title)
    raise ImportFault(1, 1, "the format is not recognised", FORMATS)


def _demands(found: Topology, path: Path) -> None:
    """Put the demands of a file of their own in place of those of the network's."""
    from trunkline.importers.network import repetita
    from trunkline.importers.network.fields import known
    from trunkline.importers.network.topology import Demand
    from trunkline.scenario import matrix
    from trunkline.scenario.beside import BesideError

    content = _text(path)
    if content.lstrip().startswith("DEMANDS"):
        found.demands = repetita.read_demands(content, found)
        found.unit = repetita.KBIT
        return
    keys = {node.label: key for key, node in found.nodes.items()}
    try:
        rows = matrix.rows(content.splitlines())
    except BesideError as error:
        raise ImportFault(error.line, 1, error.message) from None
    found.unit = 1
    found.demands = [
        Demand(
            keys[known(row.source, keys, row.line)],
            keys[known(row.target, keys, row.line)],
            row.rate,
            row.line,
        )
        for row in rows
    ]
