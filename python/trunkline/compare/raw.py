"""Traces as the engine returns them: numbers only, decoded where they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from trunkline.engine.sim import error_of, stream
from trunkline.network import Network, types
from trunkline.results import SCHEMAS, Table
from trunkline.results.decode.columns import Rows, whole
from trunkline.results.decode.packets import packets

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

# Order of the events of one packet at one instant: sent, copied, arrived, queued, then its end.
_RANK = (0, 3, 2, 5, 4, 1)
_NAMED: dict[str, Literal["nodes", "links", "flows"]] = {
    "flow": "flows",
    "link": "links",
    "node": "nodes",
}
PACKET = ("flow", "reverse", "seq", "ack", "retransmission")
# The engine's own numbering, and what follows from later events of the trace.
_LEFT_OUT = ("packet", "wait_ns")


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace of one run.

    Parameters
    ----------
    columns : dict of str to ndarray
        Numbers by column, rows in order of time.
    network : mapping
        The network, by whose lists indices go.
    """

    columns: dict[str, Numbers]
    network: types.Network

    def __len__(self) -> int:
        return len(self.columns["time_ns"])

    def since(self, time_ns: int) -> int:
        """Number of the first row after an instant [ns]."""
        import numpy as np

        return int(np.searchsorted(self.columns["time_ns"], time_ns, side="right"))

    def decoded(self, rows: Numbers) -> pl.DataFrame:
        """Some rows as the packets table has them."""
        taken = {name: ("i64", its[rows].tobytes()) for name, its in self.columns.items()}
        raw = Rows(taken)
        table = whole("packets", raw, self.network, packets(raw, self.network))
        return Table("packets", SCHEMAS["packets"], table).to_polars()


def traced(network: types.Network, seed: int, until_ns: int) -> Trace:
    """Run a network with a trace, without warm-up and probes.

    Parameters
    ----------
    until_ns : int
        Where it ends [ns].
    """
    import numpy as np

    run: types.Run = {
        **network["run"],
        "duration_ns": until_ns,
        "warmup_ns": 0,
        "trace": True,
        "seed": seed,
    }
    written = Network({**network, "run": run, "probes": []}).to_json()
    found: list[dict[str, Numbers]] = []

    def ended(number: int, failure: str | None, raw: Any) -> None:
        del number
        if failure is not None:
            raise error_of(failure, raw)
        columns = raw["packets"].items()
        found.append({name: np.frombuffer(data, dtype="<i8") for name, (_, data) in columns})

    stream([(written, seed)], ended, threads=1)
    return Trace(found[0], network)


def first_rows(a: Trace, b: Trace, after_ns: int) -> tuple[int, Numbers, Numbers] | None:
    """Rows that concern the first difference of two traces that are alike up to an instant.

    Parameters
    ----------
    after_ns : int
        Up to and including this instant they are alike [ns]; -1 if nothing is known.

    Returns
    -------
    (int, ndarray, ndarray) or None
        Events that are alike, and of each trace the numbers of all rows of the packets that are in
        the first row that differs. None if the traces are alike.
    """
    import numpy as np

    begins = [trace.since(after_ns) for trace in (a, b)]
    translated = [
        _translated(trace, _names(a, b), begin) for trace, begin in zip((a, b), begins, strict=True)
    ]
    first, second = translated
    names = list(first)
    if len(first[names[0]]) == len(second[names[0]]) and all(
        np.array_equal(first[name], second[name]) for name in names
    ):
        return None
    orders = [np.lexsort([its[name] for name in reversed(names)]) for its in translated]
    shorter = min(len(order) for order in orders)
    wrong = np.zeros(shorter, dtype=np.bool_)
    for name in names:
        wrong |= first[name][orders[0][:shorter]] != second[name][orders[1][:shorter]]
    places = np.flatnonzero(wrong)
    place = int(places[0]) if len(places) else shorter
    if place == shorter and len(orders[0]) == len(orders[1]):
        return None
    rows = []
    whole = [_translated(trace, _names(a, b), 0) for trace in (a, b)]
    keys = [
        tuple(int(its[name][order[place]]) for name in PACKET)
        for its, order in zip(translated, orders, strict=True)
        if place < len(order)
    ]
    for its in whole:
        chosen = np.zeros(len(its["time_ns"]), dtype=np.bool_)
        for key in keys:
            same = np.ones(len(chosen), dtype=np.bool_)
            for name, value in zip(PACKET, key, strict=True):
                same &= its[name] == value
            chosen |= same
        rows.append(np.flatnonzero(chosen))
    return begins[0] + place, rows[0], rows[1]


def _names(a: Trace, b: Trace) -> dict[str, dict[str, int]]:
    """Numbers for the names of both networks."""
    joined: dict[str, dict[str, int]] = {}
    for column, key in _NAMED.items():
        known: dict[str, int] = {}
        for trace in (a, b):
            for item in trace.network[key]:
                known.setdefault(str(item["name"]), len(known))
        joined[column] = known
    ports = (port for trace in (a, b) for port in trace.network["ports"])
    classes = dict.fromkeys(str(each["name"]) for port in ports for each in port["classes"])
    joined["class"] = {name: number for number, name in enumerate(classes)}
    return joined


def _classes(network: types.Network, names: Mapping[str, int]) -> Numbers:
    """Number of the class's name by link and class; -1 for none, at the last places."""
    import numpy as np

    ports = network["ports"]
    widest = max((len(port["classes"]) for port in ports), default=0)
    table = np.full((len(network["links"]) + 1, widest + 1), -1, dtype=np.int64)
    for number, link in enumerate(network["links"]):
        listed = ports[link["port"]]["classes"]
        table[number, : len(listed)] = [names[str(each["name"])] for each in listed]
    return table


def _translated(
    trace: Trace, names: Mapping[str, Mapping[str, int]], begin: int
) -> dict[str, Numbers]:
    """Columns in the order of comparison, with numbers that mean the same in both traces."""
    import numpy as np

    columns = {name: its[begin:] for name, its in trace.columns.items() if name not in _LEFT_OUT}
    for column, key in _NAMED.items():
        listed: Sequence[Any] = trace.network[key]
        table = np.array([names[column][str(item["name"])] for item in listed] + [-1])
        columns[column] = table[columns[column]]  # -1 is the last
    classes = _classes(trace.network, names["class"])
    columns["class"] = classes[trace.columns["link"][begin:], columns["class"]]
    rank = np.array(_RANK)[columns["event"]]
    first = ["time_ns", *PACKET]
    others = [name for name in columns if name not in (*first, "event")]
    return {
        **{name: columns[name] for name in first},
        "event": rank,
        **{name: columns[name] for name in others},
    }
