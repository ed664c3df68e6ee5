"""Conversion of the packets table to a pcapng file.

How a packet looks in the file, and where it is seen, is in ``docs/reference/traces.md``.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trunkline import _core
from trunkline.results import Results, dscp
from trunkline.results.atomic_folder import flush_to_disk

if TYPE_CHECKING:
    import polars as pl

    from trunkline.network.types import Flow, NetworkData


FULL_SNAPLEN = 262_144  # Snapshot length that cuts nothing [B]: the usual one of capture programs.
ALL_ROUTERS_NODE = 2**32 - 1  # Stands for the group of all routers on a link, 224.0.0.2.

_INTEGER_COLUMNS = ("time_ns", "packet", "wait_ns", "ip_bytes", "ttl", "ack_bytes", "echo_ns")
_SACK_EDGE_COLUMNS = tuple(
    f"sack_{block}_{edge}" for block in (1, 2, 3) for edge in ("start", "end")
)


class UntracedRunError(ValueError):
    """The run recorded no packets."""


class UnknownPlaceError(ValueError):
    """Error for a name that no node or link has."""


def write_capture(
    results: Results,
    network: NetworkData,
    path: str | Path,
    *,
    at: Sequence[str] = (),
    snaplen: int = FULL_SNAPLEN,
) -> int:
    """Write the packets of a traced run as a pcapng file, whole or not at all.

    results: A run with ``run.trace: on``.
    path: File; an earlier one is replaced.
    at: Nodes, for packets that leave and reach them, and links, for packets that enter them;
        every link if there is none.
    snaplen: Bytes of each frame that are kept [B, >= 1].
    Raises UntracedRunError: The run recorded no packets.
    Raises UnknownPlaceError: A name in ``at`` is neither a node nor a link.
    """
    places = points(network, at)
    if len(results.packets) == 0:
        raise UntracedRunError("the run has no packet trace: set run.trace to on")
    frame = results.packets.to_polars()
    classes = sorted(name for name in frame["class"].unique().to_list() if name is not None)
    columns = _encode_columns(frame, network, classes)
    target = Path(path)
    temporary_folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    partial = temporary_folder / "capture"
    try:
        packet_count = _core.write_capture(
            str(partial),
            f"Trunkline {_core.version()}",
            _describe_capture(results, network),
            [
                (link["name"], link["from"], link["to"], link["rate_bit_s"])
                for link in network["links"]
            ],
            [_describe_flow(flow) for flow in network["flows"]],
            classes,
            _core.CAUSES,
            columns,
            _list_messages(results, network),
            places,
            snaplen,
        )
        flush_to_disk(partial)
        os.replace(partial, target)
        flush_to_disk(target.parent)
    finally:
        partial.unlink(missing_ok=True)
        temporary_folder.rmdir()
    return packet_count


def _describe_capture(results: Results, network: NetworkData) -> str:
    name = network["name"] or "a scenario"
    return (
        f"{name}, seed {results.seed}, simulated. A packet is seen at the near end of a link when "
        "its first bit is sent or when the port drops it, at the far end (in) when its last bit "
        "arrives. Payloads are zeros. The first byte of each TCP stream has number 1."
    )


def points(network: NetworkData, names: Sequence[str]) -> list[tuple[int, bool]]:
    """Links with the end to watch, each once, in the order asked for.

    Returns: Index of the link, and whether it is its far end.
    Raises UnknownPlaceError: A name is neither a node nor a link.
    """
    links = [link["name"] for link in network["links"]]
    if not names:
        return [(index, False) for index in range(len(links))]
    nodes = [node["name"] for node in network["nodes"]]
    watched_ends: dict[tuple[int, bool], None] = {}
    for name in names:
        if name in links:
            watched_ends[links.index(name), False] = None
        elif name in nodes:
            node = nodes.index(name)
            for index, link in enumerate(network["links"]):
                if link["from"] == node:
                    watched_ends[index, False] = None
                if link["to"] == node:
                    watched_ends[index, True] = None
        else:
            raise UnknownPlaceError(_describe_unknown(name, [*nodes, *links]))
    return list(watched_ends)


def _describe_unknown(name: str, known: Sequence[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name, known, 3)
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    return f"no node or link is called {name!r}{hint}"


def _describe_flow(
    flow: Flow,
) -> tuple[str, int, int, int, tuple[int, int, int, bool] | None, bool]:
    agent = flow["agent"]
    tcp = None
    if agent["protocol"] == "tcp":
        window = agent["window_packets"] * agent["mss_bytes"]
        tcp = (agent["mss_bytes"], agent["ack_bytes"], window, agent["timestamps"])
    echo = flow.get("echo")
    icmp = echo is not None and echo["over"] == "icmp"
    return (flow["name"], flow["src"], flow["dst"], agent["header_bytes"], tcp, icmp)


def _list_messages(
    results: Results, network: NetworkData
) -> list[tuple[int, int, int, int, int, bool, bytes]]:
    """Messages of routing and signalling: flow, number, ends, protocol, router alert, octets."""
    flows = {flow["name"]: index for index, flow in enumerate(network["flows"])}
    nodes = {node["name"]: index for index, node in enumerate(network["nodes"])}
    found = []
    for row in results.tables["messages"].rows():
        index = flows[str(row["flow"])]
        agent = network["flows"][index]["agent"]
        if agent["protocol"] != "control":
            continue
        found.append(
            (
                index,
                int(row["seq"] or 0),
                nodes[str(row["source"])],
                ALL_ROUTERS_NODE if row["destination"] is None else nodes[str(row["destination"])],
                int(row["ip_protocol"] or 0),
                int(row["header_bytes"] or 0) > agent["header_bytes"],
                bytes.fromhex(str(row["octets"])),
            )
        )
    return found


def _encode_columns(
    frame: pl.DataFrame, network: NetworkData, classes: Sequence[str]
) -> dict[str, bytes]:
    """Encode the columns of integers: indices in place of names."""
    import polars as pl

    def indices(column: str, known: Iterable[str]) -> pl.Expr:
        numbers = {name: number for number, name in enumerate(known)}
        text = pl.col(column)
        return text.replace_strict(numbers, default=-1, return_dtype=pl.Int64).alias(column)

    def parsed(column: str, names: Sequence[str], parse: Any) -> list[pl.Expr]:
        known = {text: parse(text) for text in frame[column].unique().to_list() if text is not None}
        return [
            pl.col(column)
            .replace_strict(
                {text: values[number] for text, values in known.items()},
                default=-1 if column == "stack" else 0,
                return_dtype=pl.Int64,
            )
            .alias(name)
            for number, name in enumerate(names)
        ]

    code_points = {dscp.name_code_point(value): value for value in range(64)}
    octet = pl.col("dscp").replace_strict(code_points, return_dtype=pl.Int64) * 4 + pl.col(
        "ecn"
    ).replace_strict({name: bits for bits, name in enumerate(_core.ECN)}, return_dtype=pl.Int64)
    flags = pl.col("tcp_flags").fill_null("")
    back = pl.col("direction") == "reverse"
    # A reply bears the number of its request.
    echoes = [flow["name"] for flow in network["flows"] if "echo" in flow]
    seq = pl.when(back & pl.col("flow").is_in(echoes)).then("ack").otherwise("seq")
    numbers = frame.select(
        *(pl.col(name).fill_null(-1) for name in _INTEGER_COLUMNS),
        seq.fill_null(-1).alias("seq"),
        indices("event", _core.PACKET_EVENTS),
        indices("flow", [flow["name"] for flow in network["flows"]]),
        indices("link", [link["name"] for link in network["links"]]),
        indices("class", classes),
        indices("cause", _core.CAUSES),
        back.cast(pl.Int64).alias("reverse"),
        octet.alias("traffic_class"),
        pl.sum_horizontal(
            flags.str.contains(name).cast(pl.Int64) * bit
            for name, bit in (("ECE", 1), ("CWR", 2), ("SYN", 4))
        ).alias("tcp_flags"),
        *parsed("stack", [f"stack_{entry}" for entry in (1, 2, 3, 4)], _parse_label_stack),
        *parsed("sack", _SACK_EDGE_COLUMNS, _parse_sack_edges),
    )
    return {
        name: numbers[name].to_numpy().astype("<i8", copy=False).tobytes()
        for name in numbers.columns
    }


def _parse_label_stack(stack: str) -> list[int]:
    """Words of a label stack, -1 for an absent entry; the bottom bit is left to the writer."""
    words = []
    for entry in stack.split():
        label, tc, ttl = map(int, entry.split("/"))
        words.append(label << 12 | tc << 9 | ttl)
    return words + [-1] * (4 - len(words))


def _parse_sack_edges(sack: str) -> list[int]:
    """Edges of three SACK blocks, 0 to 0 for an absent one."""
    edges = [int(edge) for block in sack.split() for edge in block.split("-")]
    return edges + [0] * (6 - len(edges))
