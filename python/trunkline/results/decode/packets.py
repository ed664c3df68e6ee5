"""The packet trace: one row an event of a packet.

A trace has more rows than all other tables together, so that its columns are worked out as
expressions over the engine's, -1 where those do not apply.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from trunkline import _core
from trunkline.results import dscp
from trunkline.results.decode.columns import RawRows
from trunkline.results.table import Column

if TYPE_CHECKING:
    import polars as pl

    from trunkline.network.types import NetworkData

_UNLIMITED_BYTES = 2**63 - 1
_STACK_COLUMNS = ("stack_1", "stack_2", "stack_3", "stack_4")
_SACK_COLUMNS = ("sack_1", "sack_2", "sack_3")
_OPTIONAL_COLUMNS = ("precedence", "wait_ns")


def decode_packets(rows: RawRows, network: NetworkData) -> dict[str, Column]:
    """Decode the trace of a run that was traced."""
    expressions = (
        _build_name_expressions(network)
        | _build_sequence_expressions(network)
        | _build_header_expressions()
    )
    frame = rows.to_data_frame().select(**expressions)
    return {name: Column(frame[name]) for name in frame.columns}


def _look_up(index: pl.Expr, items: Sequence[str | None]) -> pl.Expr:
    """The item of a list at a place; null for a place that the list does not have."""
    import polars as pl

    if not items:
        return pl.lit(None, dtype=pl.String)
    places = pl.Series(range(len(items)), dtype=pl.Int64)
    names = pl.Series(items, dtype=pl.String)
    return index.replace_strict(places, names, default=None, return_dtype=pl.String)


def _null_if_negative(column: str) -> pl.Expr:
    import polars as pl

    return pl.when(pl.col(column) >= 0).then(pl.col(column))


def _build_name_expressions(network: NetworkData) -> dict[str, pl.Expr]:
    """Build expressions that replace the engine's numbers by names."""
    import polars as pl

    ports = [[each["name"] for each in port["classes"]] for port in network["ports"]]
    max_classes = max(map(len, ports), default=0)
    # A class is numbered within the port of its link.
    classes: list[str | None] = []
    for link in network["links"]:
        class_names = ports[link["port"]]
        classes += [*class_names, *[None] * (max_classes - len(class_names))]
    class_index = pl.when(pl.col("class").is_between(0, max_classes - 1)).then(
        pl.col("link") * max_classes + pl.col("class")
    )
    items: dict[str, tuple[str, Sequence[str]]] = {
        "event": ("event", _core.PACKET_EVENTS),
        "flow": ("flow", [flow["name"] for flow in network["flows"]]),
        "direction": ("reverse", ("forward", "reverse")),
        "link": ("link", [link["name"] for link in network["links"]]),
        "node": ("node", [node["name"] for node in network["nodes"]]),
        "cause": ("cause", _core.CAUSES),
        "dscp": ("dscp", [dscp.name_code_point(code) for code in range(64)]),
        "ecn": ("ecn", _core.ECN),
        "colour": ("colour", _core.COLOURS),
    }
    named = {
        name: _look_up(pl.col(column), class_names) for name, (column, class_names) in items.items()
    }
    return named | {"class": _look_up(class_index, classes)}


def _build_sequence_expressions(network: NetworkData) -> dict[str, pl.Expr]:
    """Build columns of TCP: bytes of the stream from 0, and the flags of the segment."""
    import polars as pl

    agents = [flow["agent"] for flow in network["flows"]]
    flows = list(range(len(agents)))

    def of_flow(values: Sequence[Any]) -> pl.Expr:
        return pl.col("flow").replace_strict(flows, values, default=0, return_dtype=pl.Int64)

    mss = of_flow([each["mss_bytes"] if each["protocol"] == "tcp" else 0 for each in agents])
    stream_bytes = of_flow([each.get("size_bytes") or _UNLIMITED_BYTES for each in agents])
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
    flag_texts = [pl.when(is_set).then(pl.lit(name)) for name, is_set in flags.items()]
    return {
        "seq_bytes": pl.when(mss > 0).then(first),
        "ack_bytes": pl.when(mss > 0).then(pl.min_horizontal(mss * pl.col("ack"), stream_bytes)),
        "tcp_flags": pl.when(is_tcp).then(
            pl.concat_str(flag_texts, separator=" ", ignore_nulls=True)
        ),
        "sack": _join_texts(_SACK_COLUMNS, "{}-{}", lambda block: (block // 2**32, block % 2**32)),
        "echo_ns": pl.when(back).then(pl.col("echo_ns")),
    }


def _build_header_expressions() -> dict[str, pl.Expr]:
    """Build the label stack, and the columns of few packets."""
    import polars as pl

    entries = [(pl.col(name) >= 0).cast(pl.Int64) for name in _STACK_COLUMNS]
    return {
        **{name: _null_if_negative(name) for name in _OPTIONAL_COLUMNS},
        "labels": pl.sum_horizontal(entries),
        "label": _null_if_negative("stack_1") // 4096,
        "stack": _join_texts(
            _STACK_COLUMNS, "{}/{}/{}", lambda entry: (entry // 4096, entry // 512 % 8, entry % 256)
        ),
    }


def _join_texts(
    columns: Sequence[str], template: str, parts: Callable[[pl.Expr], tuple[pl.Expr, ...]]
) -> pl.Expr:
    """Texts of those columns that apply, with a space between; null where none does."""
    import polars as pl

    texts = [
        pl.when(pl.col(name) >= 0).then(pl.format(template, *parts(pl.col(name))))
        for name in columns
    ]
    has_any = pl.any_horizontal([pl.col(name) >= 0 for name in columns])
    return pl.when(has_any).then(pl.concat_str(texts, separator=" ", ignore_nulls=True))
