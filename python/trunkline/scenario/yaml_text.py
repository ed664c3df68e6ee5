"""YAML text to plain values with their positions.

A subset of YAML 1.2: core scalars (so ``no``, ``1:30``, ``010`` and ``1_000`` stay text), one
document, no tags, no duplicate keys, merge keys allowed. Everything is counted before it is
built, so that a hostile file costs no more than an honest one.
"""

import math
import re
import unicodedata
from collections.abc import Iterator
from typing import Any

import yaml

from trunkline.scenario import units
from trunkline.scenario.diagnostic import Diagnostic, Place, ScenarioError, escape_unprintable

MAX_BYTES = 10_000_000
MAX_DEPTH = 64
MAX_NODES = 1_000_000
_WIDTH = 100

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_INTEGER = re.compile(rf"[-+]?\d{{1,{units.MAX_DIGITS}}}\Z", re.ASCII)
_FLOAT = re.compile(r"[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d{1,4})?\Z", re.ASCII)
_CONSTANTS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


class PlacedMap(dict[str, Any]):
    """A mapping that knows where its keys and values stand."""

    __slots__ = ("key_places", "value_places")

    def __init__(self) -> None:
        super().__init__()
        self.key_places: dict[str, Place] = {}
        self.value_places: dict[str, Place] = {}


class PlacedList(list[Any]):
    """A sequence that knows where its items stand."""

    __slots__ = ("value_places",)

    def __init__(self) -> None:
        super().__init__()
        self.value_places: list[Place] = []


def parse_yaml(text: str, file: str) -> tuple[Any, Place]:
    """Read one YAML document.

    Raises ScenarioError: Not YAML, or beyond what a scenario may hold. One diagnostic: after it,
        nothing is sure.
    """
    builder = _YamlBuilder(text, file)
    try:
        return builder.build_document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(mark.line + 1, mark.column + 1) if mark else Place(1, 1)
        raise builder.make_error("syntax", *_explain_syntax_error(error, text, place)) from None
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        place = Place(before.count("\n") + 1, len(before) - before.rfind("\n"))
        message = f"character {_format_code_point(text, error)} is not allowed in YAML"
        raise builder.make_error("encoding", message, place) from None


class _YamlBuilder:
    def __init__(self, text: str, file: str):
        self.text = text
        self.file = file
        self.nodes = 0
        self.anchors: dict[str, tuple[Any, int, int, Place] | None] = {}
        self.events: Iterator[Any] = iter(())

    def make_error(
        self,
        code: str,
        message: str,
        place: Place,
        hint: str = "",
        related: tuple[tuple[Place, str], ...] = (),
    ) -> ScenarioError:
        diagnostic = Diagnostic(
            code,
            message,
            hint=hint,
            file=self.file,
            line=place.line,
            column=place.column,
            length=place.length,
            related=related,
        )
        return ScenarioError([diagnostic], self.text, self.file)

    def build_document(self) -> tuple[Any, Place]:
        self.events = yaml.parse(self.text, Loader=_Loader)
        next(self.events)  # start of the stream
        event = next(self.events)
        if isinstance(event, yaml.StreamEndEvent):
            return None, Place(1, 1)
        value, _, place = self.build_value(next(self.events), 1)
        next(self.events)  # end of the document
        event = next(self.events)
        if not isinstance(event, yaml.StreamEndEvent):
            raise self.make_error(
                "syntax", "a file holds one scenario, not several", _get_place(event)
            )
        return value, place

    def build_value(self, event: Any, depth: int) -> tuple[Any, int, Place]:
        """Build the value that starts with an event: value, height, place."""
        place = _get_place(event)
        if depth > MAX_DEPTH:
            raise self.make_error("limit", f"nested deeper than {MAX_DEPTH} levels", place)
        if isinstance(event, yaml.AliasEvent):
            return self.resolve_alias(event, depth, place)
        if event.tag is not None and event.tag != "!":
            raise self.make_error("tag", f"tags are not allowed: {event.tag}", place)
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        before = self.nodes
        self.count_nodes(1, place)
        if isinstance(event, yaml.ScalarEvent):
            value, height = _parse_scalar(event), 1
        elif isinstance(event, yaml.SequenceStartEvent):
            value, height = self.build_sequence(depth)
        else:
            value, height = self.build_mapping(depth)
        if event.anchor is not None:
            self.anchors[event.anchor] = (value, height, self.nodes - before, place)
        return value, height, place

    def count_nodes(self, nodes: int, place: Place) -> None:
        self.nodes += nodes
        if self.nodes > MAX_NODES:
            raise self.make_error("limit", f"more than {MAX_NODES} nodes after expansion", place)

    def resolve_alias(self, event: Any, depth: int, place: Place) -> tuple[Any, int, Place]:
        anchor = self.anchors.get(event.anchor)
        if anchor is None:
            inside = event.anchor in self.anchors
            reason = "is inside its own anchor" if inside else "has no anchor before it"
            raise self.make_error("alias", f"alias *{event.anchor} {reason}", place)
        value, height, nodes, anchor_place = anchor
        if depth + height - 1 > MAX_DEPTH:
            raise self.make_error("limit", f"nested deeper than {MAX_DEPTH} levels", place)
        self.count_nodes(nodes, place)
        return value, height, anchor_place

    def build_sequence(self, depth: int) -> tuple[PlacedList, int]:
        items = PlacedList()
        height = 0
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            value, below, place = self.build_value(event, depth + 1)
            items.append(value)
            items.value_places.append(place)
            height = max(height, below)
        return items, height + 1

    def build_mapping(self, depth: int) -> tuple[PlacedMap, int]:
        result = PlacedMap()
        normal: dict[str, str] = {}
        merged: list[PlacedMap] = []
        height = 0
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key_place = _get_place(event)
            if not isinstance(event, yaml.ScalarEvent):
                raise self.make_error(
                    "type", "a key must be a word, not a list or a mapping", key_place
                )
            if event.tag is not None and event.tag != "!":
                raise self.make_error("tag", f"tags are not allowed: {event.tag}", key_place)
            self.count_nodes(1, key_place)
            key = event.value
            value, below, place = self.build_value(next(self.events), depth + 1)
            height = max(height, below)
            if key == "<<" and event.implicit[0]:
                merged += self.list_merge_sources(value, key_place)
                continue
            self.refuse_duplicate(result, normal, key, key_place)
            result[key] = value
            result.key_places[key] = key_place
            result.value_places[key] = place
        for source in merged:  # the first of several wins, and own keys win over all
            for key in source:
                if key not in result:
                    result[key] = source[key]
                    result.key_places[key] = source.key_places[key]
                    result.value_places[key] = source.value_places[key]
        return result, height + 1

    def refuse_duplicate(
        self, result: PlacedMap, normal: dict[str, str], key: str, key_place: Place
    ) -> None:
        same_key = normal.setdefault(unicodedata.normalize("NFKC", key), key)
        if key in result:
            first = result.key_places[key]
            message = f"{escape_unprintable(key)} is written twice (first in line {first.line})"
            raise self.make_error(
                "duplicate-key", message, key_place, related=((first, "first here"),)
            )
        if same_key != key:
            first = result.key_places[same_key]
            message = (
                f"{key} and {same_key} (line {first.line}) are one name in Unicode's normal form"
            )
            raise self.make_error(
                "duplicate-name", message, key_place, related=((first, "first here"),)
            )

    def list_merge_sources(self, value: Any, key_place: Place) -> list[PlacedMap]:
        sources = value if isinstance(value, PlacedList) else [value]
        for source in sources:
            if not isinstance(source, PlacedMap):
                raise self.make_error("type", "<< merges mappings only", key_place)
        return list(sources)


def _parse_scalar(event: Any) -> Any:
    text: str = event.value
    if event.style not in (None, "") or not event.implicit[0]:
        return text
    return _plain(text)


def _plain(text: str) -> Any:
    """Resolve text without quotes to a value."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.match(text) and not re.match(r"[-+]?0\d", text):
        return int(text)
    if _FLOAT.match(text) and not re.match(r"[-+]?0\d", text):
        number = float(text)
        return number if math.isfinite(number) else text
    return text


def _get_place(event: Any) -> Place:
    start, end = event.start_mark, event.end_mark
    same_line = start.line == end.line and isinstance(event, yaml.ScalarEvent | yaml.AliasEvent)
    return Place(start.line + 1, start.column + 1, end.column - start.column if same_line else 0)


def _format_code_point(text: str, error: yaml.reader.ReaderError) -> str:
    character = text[error.position : error.position + 1]
    return f"U+{ord(character):04X}" if character else "at the end"


def _explain_syntax_error(
    error: yaml.MarkedYAMLError, text: str, place: Place
) -> tuple[str, Place, str, tuple[tuple[Place, str], ...]]:
    lines = text.split("\n")
    line = lines[place.line - 1] if place.line <= len(lines) else ""
    if "\t" in line[: len(line) - len(line.lstrip())]:
        tab_place = Place(place.line, line.index("\t") + 1, 1)
        return "a tab cannot indent", tab_place, "use spaces", ()
    problem = (error.problem or "cannot be read as YAML").replace("\n", " ")
    begin = error.context_mark
    if begin is None or error.context is None:
        return problem, place, "", ()
    return problem, place, "", ((Place(begin.line + 1, begin.column + 1), error.context),)


class _Writer(yaml.SafeDumper):
    """Quotes text that would be read back as something else, here or by YAML 1.1."""

    def ignore_aliases(self, data: Any) -> bool:
        """Each value is written out."""
        return True


def _represent_text(writer: _Writer, value: str) -> yaml.ScalarNode:
    # YAML 1.1 has no exponent without a point and a sign: 1e5 is text there and a number here.
    style = None if isinstance(_plain(value), str) else "'"
    return writer.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Writer.add_representer(str, _represent_text)


def block(value: Any) -> str:
    """A value as YAML in lines, which `parse_yaml` reads as the same value."""
    text: str = yaml.dump(value, Dumper=_Writer, sort_keys=False, allow_unicode=True, width=_WIDTH)
    return text


def format_one_line(value: Any) -> str:
    """Format a value on one line of YAML, likewise."""
    text: str = yaml.dump(
        value,
        Dumper=_Writer,
        default_flow_style=True,
        sort_keys=False,
        allow_unicode=True,
        width=10**9,
    )
    return text.removesuffix("\n").removesuffix("\n...")
