"""Tables of transfers: each, and by bins of size."""

import functools

from trunkline.results.decode.columns import (
    RawRows,
    make_float_column,
    make_int_column,
    make_mask,
    make_seconds_column,
)
from trunkline.results.table import Column, LazyColumn

ALL_SIZES, SIZE_BIN, PAGE_ROW = range(3)  # Kinds of rows, as engines number them.


def decode_transfers(rows: RawRows) -> dict[str, Column]:
    """Decode one row a transfer that was recorded."""
    complete = make_mask(at >= 0 for at in rows["finish_ns"])
    ends = zip(rows["start_ns"], rows["finish_ns"], strict=True)
    times = [finish - start for start, finish in ends]
    known = make_mask(
        at >= 0 and floor_ns > 0
        for at, floor_ns in zip(rows["finish_ns"], rows["floor_ns"], strict=True)
    )
    slowdowns = [
        time / floor_ns if floor_ns else 0.0
        for time, floor_ns in zip(times, rows["floor_ns"], strict=True)
    ]
    return {
        "finish_ns": rows.column("finish_ns", complete),
        "fct_s": make_seconds_column(times, complete),
        "slowdown": make_float_column(slowdowns, known),
    }


def decode_completions(rows: RawRows) -> dict[str, Column]:
    """Decode one row a flow and bin of sizes, with one for all of them and one for pages."""
    columns = {"sizes": _make_size_column(rows)}
    pairs = zip(rows["started"], rows["finished"], strict=True)
    columns["unfinished"] = make_int_column(started - finished for started, finished in pairs)
    for name in rows.names:
        if name.endswith("_milli"):
            short = name.removesuffix("_milli")
            columns[short] = make_float_column(value / 1000 for value in rows[name])
    return columns


def decode_completion_times(rows: RawRows) -> dict[str, LazyColumn]:
    """Decode one row a flow, bin of sizes, and bucket of completion times that holds one."""
    return {"sizes": functools.partial(_make_size_column, rows)}


def _make_size_column(rows: RawRows) -> Column:
    """``all``, ``to 10 kB``, ``above 10 MB`` or ``pages``."""
    names: list[str | None] = []
    largest = ""
    for kind, upper in zip(rows["kind"], rows["upper_bytes"], strict=True):
        if kind != SIZE_BIN:
            names.append("pages" if kind == PAGE_ROW else "all")
        elif upper >= 0:
            largest = _format_size(upper)
            names.append(f"to {largest}")
        else:
            names.append(f"above {largest}" if largest else "any size")
    return Column(names)


@functools.cache
def _format_size(size: int) -> str:
    for factor, prefix in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if size % factor == 0:
            return f"{size // factor} {prefix}B"
    return f"{size} B"
