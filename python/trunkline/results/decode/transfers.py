"""Tables of transfers: each, and by bins of size."""

from __future__ import annotations

import functools
import math

from trunkline.results.decode.columns import Rows, floats, ints, mask, seconds
from trunkline.results.table import Column, Later

ALL, BIN, PAGES = range(3)
"""Kinds of rows, as engines number them."""


def transfers(rows: Rows) -> dict[str, Column]:
    """One row a transfer that was recorded."""
    complete = mask(at >= 0 for at in rows["finish_ns"])
    ends = zip(rows["start_ns"], rows["finish_ns"], strict=True)
    times = [finish - start for start, finish in ends]
    known = mask(
        at >= 0 and least > 0 for at, least in zip(rows["finish_ns"], rows["floor_ns"], strict=True)
    )
    slow = [
        time / least if least else 0.0 for time, least in zip(times, rows["floor_ns"], strict=True)
    ]
    return {
        "finish_ns": rows.column("finish_ns", complete),
        "fct_s": seconds(times, complete),
        "slowdown": floats(slow, known),
    }


def completions(rows: Rows) -> dict[str, Column]:
    """One row a flow and bin of sizes, with one for all of them and one for pages."""
    done = mask(count > 0 for count in rows["finished"])
    columns = {"sizes": _sizes(rows)}
    pairs = zip(rows["started"], rows["finished"], strict=True)
    columns["unfinished"] = ints(started - finished for started, finished in pairs)
    for name in rows.names:
        if name.startswith("fct_"):
            columns[name] = rows.column(name, done)
        elif name.endswith("_milli"):
            known = mask(value >= 0 for value in rows[name])
            short = name.removesuffix("_milli")
            columns[short] = floats([value / 1000 for value in rows[name]], known)
    means = rows["slowdown_mean"]
    columns["slowdown_mean"] = rows.column("slowdown_mean", mask(not math.isnan(x) for x in means))
    return columns


def times(rows: Rows) -> dict[str, Later]:
    """One row a flow, bin of sizes, and bucket of completion times that holds one."""
    return {"sizes": functools.partial(_sizes, rows)}


def _sizes(rows: Rows) -> Column:
    """``all``, ``to 10 kB``, ``above 10 MB`` or ``pages``."""
    names: list[str | None] = []
    largest = ""
    for kind, upper in zip(rows["kind"], rows["upper_bytes"], strict=True):
        if kind != BIN:
            names.append("pages" if kind == PAGES else "all")
        elif upper >= 0:
            largest = _bytes(upper)
            names.append(f"to {largest}")
        else:
            names.append(f"above {largest}" if largest else "any size")
    return Column(names)


@functools.cache
def _bytes(size: int) -> str:
    for factor, prefix in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if size % factor == 0:
            return f"{size // factor} {prefix}B"
    return f"{size} B"
