"""Every key of a compiled network, altered by a stated step: one at a time, as a mistake would.

Rates, delays, thresholds, maps, timers, queues, meters and weights; not the traffic, which both
engines get from one schedule, and not when something fails.
"""

import copy
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from trunkline.network.types import NetworkData

RATE_SHARE: Final = 0.99
SIZE_SHARE: Final = 0.9
GROWN_SHARE: Final = 1.1
LINK_DELAY_STEP_NS: Final = 1_000_000
MIN_TIMER_STEP_NS: Final = 20_000_000
HEADER_STEP_BYTES: Final = 4
DSCP_STEP: Final = 2
CODEPOINT_COUNT: Final = 64
TRAFFIC_CLASS_COUNT: Final = 8
NEXT_MODELS: Final = {"uniform": "pipe", "pipe": "short-pipe", "short-pipe": "uniform"}
NEXT_TTL_MODELS: Final = {"uniform": "pipe", "pipe": "uniform"}

Place = tuple[str | int, ...]  # Keys and indices from the network to a value.

SECTIONS: Final = ("links", "ports", "conditioners", "diffserv", "recovery", "signalling")
SKIPPED_KEYS: Final = (
    "failures",
    "flow",
    "flows_of",
    "first_fec",
    "orders",
    "sessions",
    "classifier",
)
SKIPPED_LINK_KEYS: Final = ("mtu_bytes", "metric", "from", "to", "port", "ingress", "account")
GROWN_KEYS: Final = (
    "probability",
    "max_p",
    "w_q",
    "alpha",
    "beta",
    "weight",
    "avpkt_bytes",
    "loss",
)
LOWERED_KEYS: Final = ("min_th", "max_th")
FLIPPED_KEYS: Final = ("drop", "gentle", "idle_ageing", "grio", "harddrop", "revertive")
SENDER_KEYS: Final = ("window_packets", "rto_min_ns", "initial_window", "ecn", "ack_bytes")
"""Keys of a TCP flow that are settings of its ends, not traffic."""


@dataclass(frozen=True)
class SingleAlteration:
    """One key with another value."""

    element: str  # Owner of the key: a link, port, conditioner, protection, path or flow.
    key: str  # Name of the key in the compiled network.
    # before, after: Its values.
    before: str
    after: str
    places: Sequence[Place]  # Keys and indices from the network to the values, which are the same.
    new_value: Any  # The other value.

    def alter(self, network: NetworkData) -> NetworkData:
        """Return a network with the other value: the one of the list, or one with other traffic."""
        altered = copy.deepcopy(network)
        for place in self.places:
            _get_value(altered, place[:-1])[place[-1]] = self.new_value
        return altered


def list_alterations(network: NetworkData) -> list[SingleAlteration]:
    """List every alteration of a network, in the order of its sections."""
    return [
        *_alter_values(network),
        *_alter_classifiers(network),
        *_alter_label_models(network),
        *_alter_senders(network),
    ]


def draw_alterations(alterations: Sequence[SingleAlteration], limit: int) -> list[SingleAlteration]:
    """Draw at most so many alterations, in order: those whose names have the lowest hashes.

    So they are spread over all elements, and the same in each run.
    """

    def compute_rank(index: int) -> str:
        name = f"{alterations[index].element} {alterations[index].key}"
        return hashlib.sha256(name.encode()).hexdigest()

    drawn = sorted(range(len(alterations)), key=compute_rank)[:limit]
    return [alterations[index] for index in sorted(drawn)]


def _alter_values(network: NetworkData) -> Iterator[SingleAlteration]:
    """Alter the numbers and words below `SECTIONS`."""
    for section in SECTIONS:
        for place, value in _walk(cast("Any", network).get(section), (section,)):
            new_value = _step_value(place, value)
            if new_value is not None and new_value != value:
                yield make_alteration(network, [place], new_value)


def _walk(value: Any, place: Place) -> Iterator[tuple[Place, Any]]:
    """Yield every leaf and its place."""
    if isinstance(value, dict):
        for key, child in value.items():
            if key not in SKIPPED_KEYS and not (place[0] == "links" and key in SKIPPED_LINK_KEYS):
                yield from _walk(child, (*place, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _walk(child, (*place, index))
    else:
        yield place, value


def _step_value(place: Place, value: Any) -> Any:
    """Another value of a key; None where it has no step."""
    key = next(each for each in reversed(place) if isinstance(each, str))
    if isinstance(value, bool):
        return not value if key in FLIPPED_KEYS else None
    if key == "tunnel":
        return NEXT_MODELS[value]
    if value is None or isinstance(value, str):
        return None
    if place[0] == "diffserv" or key == "dscp":
        return _step_mark(place, key, value)
    return _step_number(place, key, value)


def _step_mark(place: Place, key: str, value: int) -> int | None:
    """Step a DSCP or of an entry of a map between DSCP and TC."""
    if key in ("dscp", "dscp_of_tc"):
        return (value + DSCP_STEP) % CODEPOINT_COUNT
    # Entries of zero are those that nobody wrote, of codepoints that nobody sends.
    if key == "tc_of_dscp" and value:
        return (value + 1) % TRAFFIC_CLASS_COUNT
    return None


def _step_number(place: Place, key: str, value: float) -> float | None:
    """Step a rate, a delay, a size, a share or a weight."""
    if key.endswith("bit_s"):
        return int(value * RATE_SHARE) if value else None
    if key.endswith("_ns"):
        return _step_time(place, key, int(value))
    if key == "header_bytes":
        return value + HEADER_STEP_BYTES
    if key in GROWN_KEYS:
        grown = value * GROWN_SHARE
        return (
            (max(value + 1, round(grown)) if isinstance(value, int) else grown) if value else None
        )
    if key.endswith("_bytes") or key in LOWERED_KEYS:
        lowered = value * SIZE_SHARE
        return (int(lowered) if isinstance(value, int) else lowered) if value > 1 else None
    if key.endswith("_packets"):
        return value - 1 if value > 1 else None
    return value + 1 if key in ("multiplier", "priority") else None


def _step_time(place: Place, key: str, value: int) -> int:
    if place[0] == "links":
        return value + LINK_DELAY_STEP_NS
    if place[0] == "ports":
        return round(value * GROWN_SHARE)
    return value + max(MIN_TIMER_STEP_NS, round(value * (GROWN_SHARE - 1)))


def _alter_classifiers(network: NetworkData) -> Iterator[SingleAlteration]:
    """Alter the class of each codepoint of packets, and of each TC that differs from most."""
    used = {int(flow["dscp"]) for flow in network["flows"]}
    for section, parts in (("ports", "classes"), ("conditioners", "profiles")):
        for number, element in enumerate(cast("Any", network).get(section, ())):
            # The last of a conditioner's classes must be in no profile.
            count = len(element[parts]) + (section == "conditioners")
            for row, entries in enumerate(element["classifier"]["rows"] if count > 1 else ()):
                most = max(entries, key=entries.count)
                for index, entry in enumerate(entries):
                    if index in used or (index >= CODEPOINT_COUNT and entry != most):
                        place = (section, number, "classifier", "rows", row, index)
                        yield make_alteration(
                            network, [place], [(entry[0] + 1) % count, *entry[1:]]
                        )


def _alter_label_models(network: NetworkData) -> Iterator[SingleAlteration]:
    """Alter the TTL model of each path, at all its routers."""
    for path, _ in enumerate(network["paths"]):
        places: list[Place] = [
            ("nhlfe", index, "ttl")
            for index, entry in enumerate(network["nhlfe"])
            if entry["path"] == path
        ]
        if places:
            before = str(_get_value(network, places[0]))
            yield make_alteration(network, places, NEXT_TTL_MODELS[before])


def _alter_senders(network: NetworkData) -> Iterator[SingleAlteration]:
    """Alter the settings of TCP, of all copies of a flow together."""
    copies_by_flow: dict[str, list[int]] = {}
    for index, flow in enumerate(network["flows"]):
        if flow["agent"]["protocol"] == "tcp":
            copies_by_flow.setdefault(str(flow["name"]).partition("[")[0], []).append(index)
    for copies in copies_by_flow.values():
        for key in SENDER_KEYS:
            places: list[Place] = [("flows", index, "agent", key) for index in copies]
            value = _get_value(network, places[0])
            if isinstance(value, bool):
                yield make_alteration(network, places, not value)
            elif value:
                yield make_alteration(network, places, _step_sender(key, value))


def _step_sender(key: str, value: float) -> float:
    """Step a window, a timer, or the size of an acknowledgement."""
    if key == "rto_min_ns":
        return round(value * GROWN_SHARE)
    return value + 12 if key == "ack_bytes" else value - 1


def make_alteration(
    network: NetworkData, places: Sequence[Place], new_value: Any
) -> SingleAlteration:
    """Describe another value at some places, which all have the same.

    places: Keys and indices from the network to the values.
    """
    place = places[0]
    element, key = _describe_place(network, place)
    return SingleAlteration(
        element,
        key,
        format_value(key, _get_value(network, place)),
        format_value(key, new_value),
        places,
        new_value,
    )


def _get_value(network: NetworkData, place: Place) -> Any:
    value: Any = network
    for each in place:
        value = value[each]
    return value


def _describe_place(network: NetworkData, place: Place) -> tuple[str, str]:
    """Describe the element by its name, and the key with what is below the element."""
    if place[0] == "nhlfe":
        entry = network["nhlfe"][cast("int", place[1])]
        return f"path {network['paths'][entry['path']]['name']}", "ttl"
    element, rest = str(place[0]), place[1:]
    names: list[str] = []
    value: Any = cast("Any", network)[place[0]]
    if isinstance(value, dict):
        # Mechanisms that routers share have their parts by name: protections, rerouting, OSPF.
        element, rest = str(place[1]), place[2:]
        value = value[element]
    keys: list[str] = []
    for each in rest:
        value = value[each]
        if isinstance(value, dict) and "name" in value:
            names.append(str(value["name"]))
            keys.clear()
        elif isinstance(each, str):
            keys.append(each)
        else:
            keys.append(str(each))
    singular = element.removesuffix("s")
    return f"{singular} {' '.join(names)}".strip(), " ".join(keys)


def format_value(key: str, value: Any) -> str:
    """Format a value with the unit that the name of its key ends with."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value).lower() if isinstance(value, bool) else str(value)
    for suffix, factor, unit in (
        ("bit_s", 1e-6, "Mbit/s"),
        ("_ns", 1e-6, "ms"),
        ("_bytes", 1, "B"),
        ("_packets", 1, "packets"),
    ):
        if key.endswith(suffix):
            return f"{value * factor:.6g} {unit}"
    return f"{value:.6g}"
