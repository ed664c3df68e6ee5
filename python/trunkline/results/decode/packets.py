"""The packet trace: one row an event of a packet.

A trace has more rows than all other tables together, so that its columns are worked out as
expressions over the engine's, -1 where those do not apply.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from trunkline import _core
from trunkline.results import dscp
from trunkline.results.decode.columns import Rows
from trunkline.results.table import Column

if TYPE_CHECKING:
    import polars as pl

    from trunkline.network.types import Network

_ENDLESS = 2**63 - 1
_STACK = ("stack_1", "stack_2", "stack_3", "stack_4")
_SACK = ("sack_1", "sack_2", "sack_3")
_OPTIONAL = ("precedence", "wait_ns")


def packets(rows: Rows, network: Network) -> dict[str, Column]:
    """Decode the trace of a run that was traced."""
    worked_out = _names(network) | _sequence(network) | _headers()
    made = rows.frame().select(**worked_out)
    return {name: Column(made[name]) for name in made.columns}


def _one_of(at: pl.Expr, items: Sequence[str | None]) -> pl.Expr:
    """The item of a list at a place; null for a place that the list does not have."""
    import polars as pl

    if not items:
        return pl.lit(None, dtype=pl.String)
    places = pl.Series(range(len(items)), dtype=pl.Int64)
    names = pl.Series(items, dtype=pl.String)
    return at.replace_strict(places, names, default=None, return_dtype=pl.String)


def _present(column: str) -> pl.Expr:
    import polars as pl

    return pl.when(pl.col(column) >= 0).then(pl.col(column))


def _names(network: Network) -> dict[str, pl.Expr]:
    """What the engine numbers, by name."""
    import polars as pl

    ports = [[each["name"] for each in port["classes"]] for port in network["ports"]]
    several = max(map(len, ports), default=0)
    # A class is numbered within the port of its link.
    classes: list[str | None] = []
    for link in network["links"]:
        its = ports[link["port"]]
        classes += [*its, *[None] * (several - len(its))]
    at = pl.when(pl.col("class").is_between(0, several - 1)).then(
        pl.col("link") * several + pl.col("class")
    )
    items: dict[str, tuple[str, Sequence[str]]] = {
        "event": ("event", _core.PACKET_EVENTS),
        "flow": ("flow", [flow["name"] for flow in network["flows"]]),
        "direction": ("reverse", ("forward", "reverse")),
        "link": ("link", [link["name"] for link in network["links"]]),
        "node": ("node", [node["name"] for node in network["nodes"]]),
        "cause": ("cause", _core.CAUSES),
        "dscp": ("dscp", [dscp.name(code) for code in range(64)]),
        "ecn": ("ecn", _core.ECN),
        "colour": ("colour", _core.COLOURS),
    }
    named = {name: _one_of(pl.col(column), its) for name, (column, its) in items.items()}
    return named | {"class": _one_of(at, classes)}


def _sequence(network: Network) -> dict[str, pl.Expr]:
    """What TCP says: bytes of the stream from 0, and the flags of the segment."""
    import polars as pl

    agents = [flow["agent"] for flow in network["flows"]]
    flows = list(range(len(agents)))

    def of_flow(values: Sequence[Any]) -> pl.Expr:
        return pl.col("flow").replace_strict(flows, values, default=0, return_dtype=pl.Int64)

    mss = of_flow([each["mss_bytes"] if each["protocol"] == "tcp" else 0 for each in agents])
    whole = of_flow([each.get("size_bytes") or _ENDLESS for each in agents])
    is_tcp = of_flow([int(each["protocol"] == "tcp") for each in agents]) == 1
    back, syn = pl.col("reverse") == 1, pl.col("seq") < 0
    # A SYN comes before the first byte (RFC 9293 section 3.4).
    first = pl.when(syn).then(-1).when(back).then(0).otherwise(mss * pl.col("seq"))
    flags = {
        "SYN": syn,
        # All but the first acknowledge (RFC 9293 section 3.1).
        "ACK": back | ~syn,
        "ECE": pl.col("ece") == 1,
        "CWR": pl.col("cwr") == 1,
    }
    said = [pl.when(is_set).then(pl.lit(name)) for name, is_set in flags.items()]
    return {
        "seq_bytes": pl.when(mss > 0).then(first),
        "ack_bytes": pl.when(mss > 0).then(pl.min_horizontal(mss * pl.col("ack"), whole)),
        "tcp_flags": pl.when(is_tcp).then(pl.concat_str(said, separator=" ", ignore_nulls=True)),
        "sack": _joined(_SACK, "{}-{}", lambda it: (it // 2**32, it % 2**32)),
        "echo_ns": pl.when(back).then(pl.col("echo_ns")),
    }


def _headers() -> dict[str, pl.Expr]:
    """The label stack, and what few packets have."""
    import polars as pl

    entries = [(pl.col(name) >= 0).cast(pl.Int64) for name in _STACK]
    return {
        **{name: _present(name) for name in _OPTIONAL},
        "labels": pl.sum_horizontal(entries),
        "label": _present("stack_1") // 4096,
        "stack": _joined(_STACK, "{}/{}/{}", lambda it: (it // 4096, it // 512 % 8, it % 256)),
    }


def _joined(
    columns: Sequence[str], form: str, parts: Callable[[pl.Expr], tuple[pl.Expr, ...]]
) -> pl.Expr:
    """Texts of those columns that apply, with a space between; null where none does."""
    import polars as pl

    texts = [
        pl.when(pl.col(name) >= 0).then(pl.format(form, *parts(pl.col(name)))) for name in columns
    ]
    some = pl.any_horizontal([pl.col(name) >= 0 for name in columns])
    return pl.when(some).then(pl.concat_str(texts, separator=" ", ignore_nulls=True))
