"""Traces as the engine returns them: numbers only, decoded where they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from trunkline.engine.packet_engine import make_exception, stream_runs
from trunkline.network import Network, types
from trunkline.results import SCHEMAS, Table
from trunkline.results.decode.columns import RawRows, complete_columns, read_int_columns
from trunkline.results.decode.packets import decode_packets

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

# Order of the events of one packet at one instant: sent, copied, arrived, queued, then its end.
_EVENT_RANKS = (0, 3, 2, 5, 4, 1)
_NAMED_COLUMNS: dict[str, Literal["nodes", "links", "flows"]] = {
    "flow": "flows",
    "link": "links",
    "node": "nodes",
}
PACKET_COLUMNS = ("flow", "reverse", "seq", "ack", "retransmission")
# The engine's own numbering, and columns that follow from later events of the trace.
_IGNORED_COLUMNS = ("packet", "wait_ns")


@dataclass(frozen=True, slots=True)
class RawTrace:
    """A trace of one run."""

    columns: dict[str, Numbers]  # Numbers by column, rows in order of time.
    network: types.NetworkData  # The network, by whose lists indices go.

    def __len__(self) -> int:
        return len(self.columns["time_ns"])

    def find_first_row_after(self, time_ns: int) -> int:
        """Find the number of the first row after an instant [ns]."""
        import numpy as np

        return int(np.searchsorted(self.columns["time_ns"], time_ns, side="right"))

    def decode_rows(self, rows: Numbers) -> pl.DataFrame:
        """Decode some rows as the packets table has them."""
        selected = {name: ("i64", values[rows].tobytes()) for name, values in self.columns.items()}
        raw = RawRows(selected)
        table = complete_columns("packets", raw, self.network, decode_packets(raw, self.network))
        return Table("packets", SCHEMAS["packets"], table).to_polars()


def run_traced(network: types.NetworkData, seed: int, until_ns: int) -> RawTrace:
    """Run a network with a trace, without warm-up and probes. until_ns: Where it ends [ns]."""
    run: types.Run = {
        **network["run"],
        "duration_ns": until_ns,
        "warmup_ns": 0,
        "trace": True,
        "seed": seed,
    }
    network_json = Network({**network, "run": run, "probes": []}).to_json()
    packet_columns: list[dict[str, Numbers]] = []

    def ended(number: int, failure: str | None, raw: Any) -> None:
        del number
        if failure is not None:
            raise make_exception(failure, raw)
        packet_columns.append(read_int_columns(raw["packets"]))

    stream_runs([(network_json, seed)], ended, threads=1)
    return RawTrace(packet_columns[0], network)


def find_differing_rows(
    a: RawTrace, b: RawTrace, after_ns: int
) -> tuple[int, Numbers, Numbers] | None:
    """Rows that concern the first difference of two traces that are alike up to an instant.

    after_ns: Up to and including this instant they are alike [ns]; -1 if nothing is known.
    Returns: Events that are alike, and of each trace the numbers of all rows of the packets that
        are in the first row that differs. None if the traces are alike.
    """
    import numpy as np

    begins = [trace.find_first_row_after(after_ns) for trace in (a, b)]
    translated = [
        _translate_columns(trace, _number_names(a, b), begin)
        for trace, begin in zip((a, b), begins, strict=True)
    ]
    first, second = translated
    names = list(first)
    if len(first[names[0]]) == len(second[names[0]]) and all(
        np.array_equal(first[name], second[name]) for name in names
    ):
        return None
    orders = [np.lexsort([columns[name] for name in reversed(names)]) for columns in translated]
    shorter = min(len(order) for order in orders)
    is_different = np.zeros(shorter, dtype=np.bool_)
    for name in names:
        is_different |= first[name][orders[0][:shorter]] != second[name][orders[1][:shorter]]
    places = np.flatnonzero(is_different)
    place = int(places[0]) if len(places) else shorter
    if place == shorter and len(orders[0]) == len(orders[1]):
        return None
    rows = []
    full_columns = [_translate_columns(trace, _number_names(a, b), 0) for trace in (a, b)]
    keys = [
        tuple(int(columns[name][order[place]]) for name in PACKET_COLUMNS)
        for columns, order in zip(translated, orders, strict=True)
        if place < len(order)
    ]
    for columns in full_columns:
        chosen = np.zeros(len(columns["time_ns"]), dtype=np.bool_)
        for key in keys:
            same = np.ones(len(chosen), dtype=np.bool_)
            for name, value in zip(PACKET_COLUMNS, key, strict=True):
                same &= columns[name] == value
            chosen |= same
        rows.append(np.flatnonzero(chosen))
    return begins[0] + place, rows[0], rows[1]


def _number_names(a: RawTrace, b: RawTrace) -> dict[str, dict[str, int]]:
    """Number the names of both networks."""
    joined: dict[str, dict[str, int]] = {}
    for column, key in _NAMED_COLUMNS.items():
        known: dict[str, int] = {}
        for trace in (a, b):
            for item in trace.network[key]:
                known.setdefault(str(item["name"]), len(known))
        joined[column] = known
    ports = (port for trace in (a, b) for port in trace.network["ports"])
    classes = dict.fromkeys(str(each["name"]) for port in ports for each in port["classes"])
    joined["class"] = {name: number for number, name in enumerate(classes)}
    return joined


def _number_classes(network: types.NetworkData, names: Mapping[str, int]) -> Numbers:
    """Number of the class's name by link and class; -1 for none, at the last places."""
    import numpy as np

    ports = network["ports"]
    widest = max((len(port["classes"]) for port in ports), default=0)
    table = np.full((len(network["links"]) + 1, widest + 1), -1, dtype=np.int64)
    for number, link in enumerate(network["links"]):
        listed = ports[link["port"]]["classes"]
        table[number, : len(listed)] = [names[str(each["name"])] for each in listed]
    return table


def _translate_columns(
    trace: RawTrace, names: Mapping[str, Mapping[str, int]], begin: int
) -> dict[str, Numbers]:
    """Columns in the order of comparison, with numbers that mean the same in both traces."""
    import numpy as np

    columns = {
        name: values[begin:]
        for name, values in trace.columns.items()
        if name not in _IGNORED_COLUMNS
    }
    for column, key in _NAMED_COLUMNS.items():
        listed: Sequence[Any] = trace.network[key]
        table = np.array([names[column][str(item["name"])] for item in listed] + [-1])
        columns[column] = table[columns[column]]  # -1 is the last
    classes = _number_classes(trace.network, names["class"])
    columns["class"] = classes[trace.columns["link"][begin:], columns["class"]]
    rank = np.array(_EVENT_RANKS)[columns["event"]]
    first = ["time_ns", *PACKET_COLUMNS]
    others = [name for name in columns if name not in (*first, "event")]
    return {
        **{name: columns[name] for name in first},
        "event": rank,
        **{name: columns[name] for name in others},
    }
