"""Diagnostics: faults of a scenario, with place and allowed values."""

import difflib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

DocumentPath = tuple[str | int, ...]  # Keys and indices from the root of the document.

CODES: dict[str, str] = {
    "alias": "an alias without its anchor, or inside its own anchor",
    "ambiguous": "two readings are possible; say which",
    "bits-or-bytes": "a rate written as bps, which tc reads as bytes",
    "choice": "a word that is not in the list",
    "classify": "a rule that cannot match, or packets that no rule matches",
    "demand": "demands that are left out, or a template that none uses",
    "duplicate-key": "one key written twice in a mapping",
    "duplicate-name": "two things of one name",
    "empty": "nothing in the file",
    "encoding": "text that is not UTF-8, or a character that YAML forbids",
    "expression": "an expression that cannot be worked out",
    "file": "a file that cannot be read, or has no place here",
    "fluid": "something that formulas for means cannot describe",
    "format": "a version of the language that this program does not read",
    "label": "a label that is reserved, out of range or taken",
    "linux": "something that the Linux kernel has not",
    "limit": "larger, deeper or wider than a scenario may be",
    "memory": "a network that needs more memory than allowed",
    "missing-key": "a key that must be there",
    "mtu": "packets larger than a link carries",
    "name": "a name with characters that names may not have",
    "no-path": "no links lead from one node to another",
    "override": "an override that fits nothing in the scenario",
    "parameter": "a parameter that does not exist",
    "placement": "a path that its constraints leave no route",
    "precision": "a quantity that is no whole number of its base unit",
    "protection": "a backup that cannot protect its path",
    "range": "a number outside its range",
    "reference": "a name that nothing bears",
    "relation": "two values that contradict each other",
    "route": "an explicit route with a gap or a loop",
    "signalling": "signalling that cannot be, or a key that needs it",
    "stack": "more labels on a packet than it can carry",
    "syntax": "text that is not YAML",
    "tag": "a YAML tag",
    "trunk": "a trunk that a flow cannot ride",
    "type": "a value of the wrong kind",
    "unit": "a quantity without its unit, or with a wrong or ambiguous one",
    "unknown-key": "a key that does not exist here",
}
"""Every diagnostic code with its meaning."""


class Place(NamedTuple):
    """A stretch of one line."""

    # line, column: Where it starts, counted from 1.
    line: int
    column: int
    length: int = 0  # Characters; 0 if unknown.
    file: str = ""  # File it is in; empty for the scenario's own.


MAX_WORD_SHOWN = 200
"""Characters of a word in a message; names have 64 at most, longer words are slips or paths."""
_LONG_WORD = re.compile(rf"(\S{{{MAX_WORD_SHOWN}}})\S+")
MAX_DIAGNOSTICS_SHOWN = 50
"""Diagnostics that are written out as text; of more only the number is given."""


@dataclass(frozen=True)
class Diagnostic:
    """One thing wrong.

    Attributes
    ----------
    code : str
        A key of `CODES`.
    message : str
        One sentence, without the place.
    path : str
        Place in the document, e.g. ``links[R1-R2].rate``; empty for the whole of it.
    given : str
        What was written; empty if it adds nothing to the source line.
    allowed : str
        What would be accepted.
    hint : str
        The likely remedy.
    file : str
        File name as the user gave it; empty for a scenario built in Python.
    line, column : int
        Counted from 1; 0 for a scenario built in Python.
    length : int
        Characters to underline.
    severity : {"error", "warning"}
        Errors stop; warnings do not unless asked for.
    related : tuple of (Place, str)
        Other places that matter, each with a word on why.
    """

    code: str
    message: str
    path: str = ""
    given: str = ""
    allowed: str = ""
    hint: str = ""
    file: str = ""
    line: int = 0
    column: int = 0
    length: int = 0
    severity: Literal["error", "warning"] = "error"
    related: tuple[tuple[Place, str], ...] = ()

    def render(self, source: Sequence[str] = ()) -> str:
        """The diagnostic as text: place, message, source line with a caret, path, hint.

        Parameters
        ----------
        source : Sequence[str]
            Lines of the file; without them the source line is left out.

        Returns
        -------
        str
            Several lines without a line end at the last.
        """
        location = escape_unprintable(self.file)
        if self.line:
            location += f":{self.line}:{self.column}"
        head = f"{location}: " if location else ""
        lines = [
            f"{head}{self.severity}[{self.code}]: {escape_unprintable(shortened(self.message))}"
        ]
        places = sorted(
            [(Place(self.line, self.column, self.length), self._format_remark())]
            + [(place, text) for place, text in self.related if not place.file],
            key=lambda item: item[0],
        )
        places_shown = [item for item in places if 0 < item[0].line <= len(source)]
        width = max((len(str(place.line)) for place, _ in places_shown), default=1)
        for place, text in places_shown:
            lines += _render_excerpt(source[place.line - 1], place, text, width)
        if not places_shown:
            lines += [f"  {escape_unprintable(text)}" for _, text in places if text]
        if self.path:
            lines.append(f"  at: {escape_unprintable(self.path)}")
        if self.hint:
            lines.append(f"  hint: {escape_unprintable(self.hint)}")
        return "\n".join(lines)

    def _format_remark(self) -> str:
        given = f"given {self.given}" if self.given else ""
        allowed = f"allowed: {self.allowed}" if self.allowed else ""
        return shortened("; ".join(part for part in (given, allowed) if part))


def render_diagnostics(
    diagnostics: Sequence[Diagnostic], source: Sequence[str] = (), file: str = ""
) -> str:
    """Diagnostics as text, an empty line between them; of very many the first.

    diagnostics: Sorted by place.
    file: Name of that file; diagnostics of others are shown without their line.
    """
    rendered = [
        each.render(source if each.file == file else ())
        for each in diagnostics[:MAX_DIAGNOSTICS_SHOWN]
    ]
    hidden_count = len(diagnostics) - len(rendered)
    return "\n\n".join(
        [*rendered, f"... and {hidden_count} more"] if hidden_count > 0 else rendered
    )


class ScenarioError(ValueError):
    """A scenario that cannot be run.

    Attributes
    ----------
    diagnostics : list of Diagnostic
        Everything that is wrong, sorted by place.
    """

    def __init__(self, diagnostics: Iterable[Diagnostic], source: str = "", file: str = ""):
        self.diagnostics = sorted(diagnostics, key=_make_sort_key)
        self._source = source.split("\n") if source else []
        self._file = file
        super().__init__(self.render())

    def render(self) -> str:
        """Render all diagnostics as text, an empty line between them."""
        return render_diagnostics(self.diagnostics, self._source, self._file)


def suggest_nearest(word: str, words: Iterable[str]) -> str:
    """A hint naming the closest of some words; empty if none is close.

    Examples
    --------
    >>> nearest("bandwith", ["bandwidth", "delay"])
    'did you mean bandwidth?'
    """
    candidates = list(words)
    by_case = {each.lower(): each for each in reversed(candidates)}
    match = by_case.get(word.lower())
    close = [match] if match else difflib.get_close_matches(word[:100], candidates[:20_000], n=1)
    return f"did you mean {close[0]}?" if close else ""


def escape_unprintable(text: str) -> str:
    """Text without control, format or surrogate characters: each is shown as its escape."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each == " " else _escape_character(each) for each in text
    )


def shortened(text: str) -> str:
    """Text with words of more than `MAX_WORD_SHOWN` characters cut: nobody reads 5,000 digits."""
    return _LONG_WORD.sub(lambda found: f"{found[1]}...", text)


def _escape_character(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _render_excerpt(line: str, place: Place, text: str, width: int) -> list[str]:
    # A long line is cut around the place: nobody reads 10 MB on a terminal.
    start = place.column - 1
    first = max(0, start - 60) if len(line) > 120 else 0
    visible = line[first : first + 120]
    before = _flatten_line(visible[: start - first])
    marked = _flatten_line(visible[start - first : start - first + max(1, place.length)])
    after = _flatten_line(visible[start - first + max(1, place.length) :])
    pad = " " * _count_columns(before)
    carets = "^" * max(1, _count_columns(marked))
    remark = f" {escape_unprintable(text)}" if text else ""
    gutter = " " * width
    return [
        f"  {place.line:>{width}} | {before}{marked}{after}".rstrip(),
        f"  {gutter} | {pad}{carets}{remark}",
    ]


def _flatten_line(text: str) -> str:
    return escape_unprintable(text.replace("\t", " ").rstrip("\r\n"))


def _count_columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)


def _make_sort_key(diagnostic: Diagnostic) -> tuple[bool, str, int, int, str, str]:
    return (
        diagnostic.line == 0,
        diagnostic.file,
        diagnostic.line,
        diagnostic.column,
        diagnostic.path,
        diagnostic.code,
    )


def set_place(diagnostic: Diagnostic, file: str, place: Place | None) -> Diagnostic:
    """The diagnostic at a place of a file."""
    if place is None:
        return replace(diagnostic, file=file)
    return replace(
        diagnostic,
        file=place.file or file,
        line=place.line,
        column=place.column,
        length=place.length,
    )
