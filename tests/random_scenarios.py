"""Random scenarios: workloads, signalling and recovery, in every combination that checks allow.

Keys are drawn from the classes of the language, so that a new key is drawn as soon as it is there.
What the checks refuse is taken out again, key by key, until a valid scenario is left.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import BeforeValidator

from trunkline.scenario import ScenarioError, loads
from trunkline.scenario.base import Element
from trunkline.scenario.dscp import Dscp
from trunkline.scenario.fields import (
    Factor,
    NameReference,
    PlainInteger,
    Probability,
    QuantityField,
    RateOrShareField,
    Share,
    Switch,
)
from trunkline.scenario.flow import Echo, Tcp, Udp
from trunkline.scenario.model import Link, Run
from trunkline.scenario.path import LabelSwitchedPath, Trunk
from trunkline.scenario.probe import Probe
from trunkline.scenario.recovery import Failure, Protection, Rerouting
from trunkline.scenario.routing import RoutingOptions
from trunkline.scenario.signalling import (
    AutoBandwidth,
    OperatorEvent,
    RandomRequests,
    SignallingOptions,
)
from trunkline.scenario.sla import MosScore, Sla
from trunkline.scenario.te import TeOptions
from trunkline.scenario.units import (
    BYTES,
    PACKETS,
    RATE,
    TIME,
    Dimension,
    UnitError,
    format_base,
    parse_base_units,
)
from trunkline.scenario.workload import TransferSize, TransferWorkload

Item = TypeVar("Item")
Pick = Callable[[Sequence[Any]], Any]
"""Draws one of several, the first being the plainest."""
Mapping = dict[str, Any]

QUANTITIES: dict[Dimension, tuple[str, ...]] = {
    TIME: (
        *("100 ms", "1 s", "0 s", "1 ms", "5 ms", "20 ms", "50 ms", "230 ms", "400 ms"),
        *("700 ms", "1500 ms", "2 s", "30 s", "10 us", "1 us"),
    ),
    RATE: ("1 Mbit/s", "2 Mbit/s", "300 kbit/s", "5 Mbit/s", "20 kbit/s", "10 Mbit/s", "1 bit/s"),
    BYTES: (
        *("1000 B", "1 B", "28 B", "40 B", "100 B", "576 B", "1500 B", "3 kB", "20 kB"),
        *("100 kB", "1 MB"),
    ),
    PACKETS: tuple(f"{count} packets" for count in (10, 1, 2, 3, 5, 40, 100, 1000)),
}
FULL_SNAPLEN = (1, 0, 2, 3, 4, 5, 7, 16, 40)
BY_VALIDATOR: dict[Any, tuple[Any, ...]] = {
    Share: ("1 %", "0 %", "10 %", "50 %", "100 %"),
    Factor: (1, 0.1, 0.5, 0.9, 2, "130 %", 10),
    Probability: (0.1, 0, 0.5, 1),
    Switch: (True, False),
    Dscp: ("DF", "EF", "AF11", "AF12", "AF41", "CS6"),
    MosScore: (3.6, 1),
}
EXTREME = 20
"""One quantity in so many is at an end of its range."""
PERIODS = ("sample", "adjust", "reoptimise", "every")
"""Keys of which a run takes a step each; a step each nanosecond would take it minutes."""
SHORTEST_PERIOD_NS = 1_000_000
COLOURS = ("red", "blue")
ELSEWHERE: dict[type[Element], tuple[str, ...]] = {
    Tcp: ("size", "transfers", "pages", "video"),
    TransferWorkload: ("schedule",),
    TransferSize: ("cdf",),
    Udp: ("schedule", "datagrams", "call", "game", "size"),
    Link: ("between", "lose", "port", "conditioner", "ingress", "account", "mtu"),
    LabelSwitchedPath: ("labels", "diffserv", "segments", "through", "from_", "to", "route"),
    Run: ("trace", "events_per_instant", "seed"),
    SignallingOptions: ("kind", "auto_bandwidth"),
    TeOptions: ("srgb", "class_types", "constraints"),
}
"""Keys that are drawn apart, or that name files."""


class ScenarioDrawer:
    """Draws values of keys by their types.

    GivenParameters
    ----------
    pick : callable
        Draws one of several.
    """

    def __init__(self, pick: Pick) -> None:
        self.pick = pick
        self.names: dict[str, Sequence[str]] = {}
        """What a reference may name, by key."""

    def happens(self, one_in: int) -> bool:
        """Whether something happens that happens once in so many times."""
        return bool(self.pick([False] * (one_in - 1) + [True]))

    def draw_element(
        self, kind: type[Element], given: Mapping | None = None, one_in: int = 4
    ) -> Mapping:
        """The keys of an element: those given, the mandatory ones, and some of the others."""
        drawn = dict(given or {})
        for name, field in kind.model_fields.items():
            key = field.alias or name
            if key in drawn or name in ELSEWHERE.get(kind, ()):
                continue
            if field.is_required() or self.happens(one_in):
                drawn[key] = self.draw_value(key, field.annotation, list(field.metadata))
        return drawn

    def draw_value(self, key: str, annotation: Any, marks: Sequence[Any] = ()) -> Any:
        """A value of a key of this type."""
        origin, parts = get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            return self.draw_value(key, parts[0], [*parts[1:], *marks])
        if origin in (Union, UnionType):
            kinds = [part for part in parts if part is not type(None)]
            return self.draw_value(key, self.pick(kinds), marks)
        for mark in marks:
            if isinstance(mark, QuantityField):
                return self.draw_quantity(key, mark)
            if isinstance(mark, PlainInteger):
                fits = [each for each in FULL_SNAPLEN if mark.lowest <= each <= mark.highest]
                return self.pick(fits or [mark.lowest])
            if isinstance(mark, RateOrShareField):
                return self.pick(["30 %", "1 Mbit/s", "120 kbit/s", "90 %"])
            if isinstance(mark, BeforeValidator):
                if mark == get_args(NameReference)[1]:
                    return self.pick(self.names.get(key) or self.names["any"])
                for named, values in BY_VALIDATOR.items():
                    if mark == get_args(named)[1]:
                        return self.pick(values)
        if origin is Literal:
            return self.pick(parts)
        if origin is tuple:
            count = len(parts) if Ellipsis not in parts else self.pick([1, 2, 3, 0])
            return [self.draw_value(key, parts[0]) for _ in range(count)]
        if origin is dict:
            count = self.pick([1, 2])
            return {
                self.draw_value(key, parts[0]): self.draw_value(key, parts[1]) for _ in range(count)
            }
        if isinstance(annotation, type) and issubclass(annotation, Element):
            return self.draw_element(annotation)
        if annotation is float:
            return self.pick([1.0, 0.0, 0.5, 3.0])
        msg = f"no values are known for {key}: {annotation}"
        raise NotImplementedError(msg)

    def draw_quantity(self, key: str, mark: QuantityField) -> str:
        """A quantity within its range; now and then the first or the last of it."""
        lowest = mark.lowest
        if key in PERIODS and mark.dimension is TIME:
            lowest = max(lowest, SHORTEST_PERIOD_NS)
        if self.happens(EXTREME):
            return format_base(self.pick((mark.highest, lowest)), mark.dimension)
        fits = []
        for text in QUANTITIES[mark.dimension]:
            try:
                parse_base_units(text, mark.dimension, lowest, mark.highest)
            except UnitError:
                continue
            fits.append(text)
        return str(self.pick(fits))

    def draw_several(self, most: int, make: Callable[[int], Item]) -> list[Item]:
        """None to so many of something."""
        return [make(number) for number in range(self.pick(range(most + 1)))]


def _draw_flow(draw: ScenarioDrawer, nodes: Sequence[str]) -> Mapping:
    """A flow of any kind, with one of the workloads that it may have."""
    source = draw.pick(nodes)
    ends = {"from": source, "to": draw.pick([node for node in nodes if node != source])}
    times = {} if draw.happens(2) else {"start": "0 s"}
    kind = draw.pick(("tcp", "udp", "transfers", "pages", "video", "call", "game", "echo"))
    if kind == "echo":
        return draw.draw_element(Echo, {"agent": "echo", **ends, **times})
    if kind in ("udp", "call", "game"):
        given = {"agent": "udp", **ends, **times}
        if kind == "udp":
            given |= {"rate": draw.pick(QUANTITIES[RATE]), "size": draw.pick(("1000 B", "100 B"))}
            return draw.draw_element(Udp, given, 8)
        own = draw.draw_value(kind, Udp.model_fields[kind].annotation)
        return draw.draw_element(Udp, given | {kind: own}, 12)
    given = {"agent": "tcp", **ends, **times}
    if kind == "tcp":
        given |= {"size": draw.pick(("20 kB", "1 B", "1 MB"))} if draw.happens(2) else {}
    elif kind == "transfers":
        size = draw.pick(("20 kB", "3gpp-main", "websearch", {"exponential": "10 kB"}))
        much = draw.pick(({"every": "100 ms"}, {"load": "1 Mbit/s"}, {"load": "40 %", "of": "L0"}))
        much = much if "of" not in much else much | {"of": draw.pick(draw.names["of"])}
        own = draw.draw_element(_find_class_of_key(Tcp, kind), {"size": size, **much}, 6)
        given |= {kind: own}
    else:
        given |= {kind: draw.draw_element(_find_class_of_key(Tcp, kind), one_in=2)}
    return draw.draw_element(Tcp, given, 8)


def _find_class_of_key(owner: type[Element], key: str) -> type[Element]:
    (found,) = (it for it in get_args(owner.model_fields[key].annotation) if it is not type(None))
    return found  # type: ignore[no-any-return]


def draw_scenario_text(pick: Pick, *, signalled: bool | None = None) -> str:
    """Text of a valid scenario, drawn.

    GivenParameters
    ----------
    signalled : bool, optional
        Whether paths are signalled; drawn if left out.
    """
    draw = ScenarioDrawer(pick)
    nodes = [f"N{number}" for number in range(pick((3, 2, 4, 5)))]
    pairs = [*pairwise(nodes)]
    if len(nodes) > 2:
        pairs += [(nodes[-1], nodes[0])]
    if len(nodes) > 3 and draw.happens(2):
        pairs.append((nodes[0], nodes[2]))
    links = [f"{one}-{other}" for one, other in pairs]
    arcs = [f"{a}->{b}" for one, other in pairs for a, b in ((one, other), (other, one))]
    flows = [f"f{number}" for number in range(pick((1, 2, 3, 4)))]
    paths = [f"p{number}" for number in range(pick((0, 1, 2, 3)))]
    trunks = [f"t{number}" for number in range(len(paths))]
    named = {
        ("any", "node", "from", "to", "via", "fib_updates"): nodes,
        ("flow", "flows"): [*flows, "all"],
        ("path", "backup", "reverse", "disjoint_from"): [*paths, "all", "auto"],
        ("set_up", "tear", "move", "resize"): [*paths, *trunks],
        ("include_any", "include_all", "exclude", "colours", "risks"): COLOURS,
        ("link",): [*links, *arcs],
        ("of",): arcs,
        ("class",): ("default",),
        ("demands",): ("all",),
    }
    draw.names = {key: names for keys, names in named.items() for key in keys}
    scenario: Mapping = {"trunkline": 1, "nodes": nodes, "links": {}}
    for link in links:
        given = {"rate": pick(("10 Mbit/s", "2 Mbit/s", "500 kbit/s"))}
        given |= {"delay": pick(("1 ms", "10 ms", "0 s", "100 ms"))}
        scenario["links"][link] = draw.draw_element(Link, given, 10)
    scenario["flows"] = {name: _draw_flow(draw, nodes) for name in flows}
    scenario["paths"] = {name: _draw_path(draw, nodes) for name in paths}
    scenario["trunks"] = {
        name: draw.draw_element(Trunk, {"path": pick(paths), "flows": [pick(flows)]}, 12)
        for name in trunks
    }
    scenario["te"] = draw.draw_element(TeOptions, {"unplaced": pick(("igp", "error"))}, 6)
    for key, kind, one_in in (("failures", Failure, 2), ("protections", Protection, 2)):
        if draw.happens(one_in) and (paths or kind is Failure):
            made = draw.draw_several(2, lambda _, kind=kind: draw.draw_element(kind, one_in=3))  # type: ignore[misc]
            scenario[key] = {f"{key}{number}": each for number, each in enumerate(made)}
    routes = pick(("", "rerouting", "routing"))
    if routes:
        kinds: dict[str, type[Element]] = {"rerouting": Rerouting, "routing": RoutingOptions}
        scenario[routes] = draw.draw_element(kinds[routes], one_in=2)
    if paths and (draw.happens(2) if signalled is None else signalled):
        scenario["signalling"] = draw.draw_element(SignallingOptions, {"kind": "rsvp-te"}, 5)
        if draw.happens(2):
            auto = {name: draw.draw_element(AutoBandwidth, one_in=2) for name in paths}
            scenario["signalling"]["auto_bandwidth"] = auto
        scenario["events"] = draw.draw_several(4, lambda _: _check_event(draw, nodes, paths))
        if draw.happens(4):
            scenario["requests"] = {"r": draw.draw_element(RandomRequests)}
    if draw.happens(3):
        scenario["probes"] = draw.draw_several(3, lambda _: draw.draw_element(Probe))
    if draw.happens(3):
        scenario["slas"] = {"s": draw.draw_element(Sla, {"flow": pick(flows)}, 2)}
    given = {"duration": pick(("1 s", "3 s", "100 ms", "1 us"))}
    scenario["run"] = draw.draw_element(Run, given, 3)
    return _remove_refused_keys(scenario)


def _draw_path(draw: ScenarioDrawer, nodes: Sequence[str]) -> Mapping:
    source, *others = (draw.pick(nodes), *nodes)
    target = draw.pick([node for node in others if node != source])
    if draw.happens(2):
        start, end = nodes.index(source), nodes.index(target)
        way = nodes[start : end + 1] if start < end else nodes[end : start + 1][::-1]
        return draw.draw_element(LabelSwitchedPath, {"route": list(way)}, 12)
    return draw.draw_element(LabelSwitchedPath, {"route": "auto", "from": source, "to": target}, 6)


def _check_event(draw: ScenarioDrawer, nodes: Sequence[str], paths: Sequence[str]) -> Mapping:
    at = draw.draw_value(
        "at", OperatorEvent.model_fields["at"].annotation, OperatorEvent.model_fields["at"].metadata
    )
    key = draw.pick(("tear", "set_up", "move", "resize"))
    event = {"at": at, key: draw.pick(draw.names[key])}
    if key == "move":
        event["to"] = draw.pick(("auto", list(nodes), list(reversed(nodes)), draw.pick(paths)))
    if key == "resize":
        event["bandwidth"] = draw.pick(QUANTITIES[RATE])
    return event


ROUNDS = 40
_STEP = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")
_GONE = object()


def _remove_refused_keys(scenario: Mapping) -> str:
    """The text of a scenario, without the keys that its checks refuse.

    Raises ValueError: Nothing valid is left.
    """
    for _ in range(ROUNDS):
        text: str = yaml.safe_dump(scenario, sort_keys=False)
        try:
            loads(text)
        except ScenarioError as error:
            for each in error.diagnostics:
                if each.severity == "error":
                    _mark_key(scenario, [a or b for a, b in _STEP.findall(each.path)])
            scenario = _drop_marked_keys(scenario)
        else:
            return text
    msg = f"nothing valid is left of\n{text}"
    raise ValueError(msg)


def _mark_key(scenario: Any, path: Sequence[str]) -> None:
    """Marks what stands at a path, or the last on the way to it that is there."""
    place: Any = None
    key: Any = None
    here = scenario
    for step in path:
        index: Any = int(step) if isinstance(here, list) and step.isdigit() else step
        if not isinstance(here, list | dict):
            break
        known = index < len(here) if isinstance(index, int) else index in here
        if not known or here[index] is _GONE:
            break
        place, key, here = here, index, here[index]
    if place is not None:
        place[key] = _GONE


def _drop_marked_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _drop_marked_keys(each) for key, each in value.items() if each is not _GONE}
    if isinstance(value, list):
        return [_drop_marked_keys(each) for each in value if each is not _GONE]
    return value
