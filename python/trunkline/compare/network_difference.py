"""Differences between two compiled networks, by name, and those that concern one packet."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

MAX_DIFFERENCES_SHOWN = 8
NAMED_PARTS = ("nodes", "links", "flows", "paths")  # Parts of a network that go by name.


def list_network_differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List values that differ: path and value on each side.

    Links, flows, nodes and paths go by name, and a link's port is shown with the link. Names, the
    seed and what is only recorded (probes, the trace) are no differences.

    Returns: Path, and ``A's value in A, B's in B``.
    """
    return [
        (path, f"{path}: {_format_value(x)} in A, {_format_value(y)} in B")
        for path, x, y in _iterate_differences("", _index_by_name(a), _index_by_name(b))
    ]


def select_relevant(
    found_differences: Sequence[tuple[str, str]],
    event: Mapping[str, Any],
    previous_event: Mapping[str, Any] | None,
) -> list[str]:
    """Select the differences as text, those of the packet's link and flow first, a few at most."""
    links = [row["link"] for row in (event, previous_event) if row is not None and row["link"]]
    packet_paths = [f"links[{name}]" for name in links] + [f"flows[{event['flow']}]"]
    near = [
        text
        for path, text in found_differences
        if any(path.startswith(place) for place in packet_paths)
    ]
    others = [
        each
        for each in found_differences
        if not any(each[0].startswith(place) for place in packet_paths)
    ]
    all_ = [*near, *group_differences(others)]
    hidden_count = len(all_) - MAX_DIFFERENCES_SHOWN
    return (
        [*all_[:MAX_DIFFERENCES_SHOWN], f"and {hidden_count} more differences of the networks"]
        if hidden_count > 0
        else all_
    )


def group_differences(found_differences: Sequence[tuple[str, str]]) -> list[str]:
    """The differences as text, one for all nodes, links, flows or paths that differ alike."""
    members: dict[tuple[str, str], list[str]] = {}
    for path, text in found_differences:
        kind, _, rest = path.partition("[")
        key = rest.partition("].")[2] if kind in NAMED_PARTS else ""
        description = f"{key}{text.removeprefix(path)}" if key else text
        members.setdefault((kind, description), []).append(text)
    return [
        texts[0] if len(texts) == 1 else f"{len(texts)} {kind}, {description}"
        for (kind, description), texts in members.items()
    ]


def _index_by_name(network: Mapping[str, Any]) -> dict[str, Any]:
    ports = network["ports"]
    left_out = ("name", "probes", "ports", "format")
    named = {key: value for key, value in network.items() if key not in left_out}
    for key in NAMED_PARTS:
        named[key] = {item["name"]: {**item, "name": None} for item in network[key]}
    for item in named["links"].values():
        item["port"] = ports[item["port"]]
    compared_run_keys = {"duration_ns", "warmup_ns", "events_per_instant"}
    named["run"] = {key: value for key, value in network["run"].items() if key in compared_run_keys}
    return named


_MISSING = object()


def _iterate_differences(path: str, a: Any, b: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in [*a, *(key for key in b if key not in a)]:
            yield from _iterate_differences(
                _join_path(path, key), a.get(key, _MISSING), b.get(key, _MISSING)
            )
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for index, (x, y) in enumerate(zip(a, b, strict=True)):
            yield from _iterate_differences(f"{path}[{index}]", x, y)
    elif a != b:
        yield path, a, b


def _join_path(path: str, key: str) -> str:
    if path in NAMED_PARTS:
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key


def _format_value(value: Any) -> str:
    if value is _MISSING:
        return "absent"
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
