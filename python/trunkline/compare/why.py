"""What differs between two compiled networks, by name, and what of it concerns a packet."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

MOST = 8
"""So many differences are shown."""
NAMED = ("nodes", "links", "flows", "paths")
"""Parts of a network that go by name."""


def differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Values that differ: path and what stands on each side.

    Links, flows, nodes and paths go by name, and a link's port is shown with the link. Names, the
    seed and what is only recorded (probes, the trace) are no differences.

    Returns
    -------
    list of (str, str)
        Path, and ``A's value in A, B's in B``.
    """
    return [
        (path, f"{path}: {_shown(x)} in A, {_shown(y)} in B")
        for path, x, y in _walk("", _named(a), _named(b))
    ]


def relevant(
    found: Sequence[tuple[str, str]], event: Mapping[str, Any], before: Mapping[str, Any] | None
) -> list[str]:
    """The differences as text, those of the packet's link and flow first, a few at most."""
    links = [row["link"] for row in (event, before) if row is not None and row["link"]]
    wanted = [f"links[{name}]" for name in links] + [f"flows[{event['flow']}]"]
    near = [text for path, text in found if any(path.startswith(place) for place in wanted)]
    others = [each for each in found if not any(each[0].startswith(place) for place in wanted)]
    all_ = [*near, *grouped(others)]
    left = len(all_) - MOST
    return [*all_[:MOST], f"and {left} more differences of the networks"] if left > 0 else all_


def grouped(found: Sequence[tuple[str, str]]) -> list[str]:
    """The differences as text, one for all nodes, links, flows or paths that differ alike."""
    members: dict[tuple[str, str], list[str]] = {}
    for path, text in found:
        kind, _, rest = path.partition("[")
        key = rest.partition("].")[2] if kind in NAMED else ""
        said = f"{key}{text.removeprefix(path)}" if key else text
        members.setdefault((kind, said), []).append(text)
    return [
        texts[0] if len(texts) == 1 else f"{len(texts)} {kind}, {said}"
        for (kind, said), texts in members.items()
    ]


def _named(network: Mapping[str, Any]) -> dict[str, Any]:
    ports = network["ports"]
    left_out = ("name", "probes", "ports", "format")
    named = {key: value for key, value in network.items() if key not in left_out}
    for key in NAMED:
        named[key] = {item["name"]: {**item, "name": None} for item in network[key]}
    for item in named["links"].values():
        item["port"] = ports[item["port"]]
    kept = {"duration_ns", "warmup_ns", "events_per_instant"}
    named["run"] = {key: value for key, value in network["run"].items() if key in kept}
    return named


_ABSENT = object()


def _walk(path: str, a: Any, b: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in [*a, *(key for key in b if key not in a)]:
            yield from _walk(_below(path, key), a.get(key, _ABSENT), b.get(key, _ABSENT))
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for index, (x, y) in enumerate(zip(a, b, strict=True)):
            yield from _walk(f"{path}[{index}]", x, y)
    elif a != b:
        yield path, a, b


def _below(path: str, key: str) -> str:
    if path in NAMED:
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key


def _shown(value: Any) -> str:
    if value is _ABSENT:
        return "absent"
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
