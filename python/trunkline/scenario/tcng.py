"""Configurations of Linux traffic control in the language of tcng, as port configurations.

Source: W. Almesberger, tcng reference manual (2002). Of it this reads what configurations of
routers with CBQ, strict priority, FIFO and RED use: ``#define``, comments, and ``DEVICE cbq (...) {
class (...) if ip_dscp == 46 { fifo (limit 10kB); } }``. In tcng ``bps`` is bit/s, ``B`` bytes and
``p`` packets. Absent: gred, dsmark, police, conditions on other fields, and the commands of tc
itself. Whatever is not read is an error with its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from trunkline.scenario.fields import DSCP_NAMES, dscp_name

__all__ = ["TcngError", "read"]

Config = dict[str, Any]

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r]+|//[^\n]*|/\*.*?\*/)|(?P<line>\n)|(?P<text>"[^"\n]*")
    |(?P<number>0x[0-9a-fA-F]+|[0-9]+(?:\.[0-9]+)?[A-Za-z]*)|(?P<word>[A-Za-z_][\w.-]*)
    |(?P<mark>==|\|\||[(){},;])""",
    re.X | re.S,
)
_RATES = {"bps": 1, "kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9}
_SIZES = {"B": 1, "kB": 10**3, "MB": 10**6}
_DEFINE = re.compile(r"[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n]*)")
TXQUEUELEN = 100
"""Packets that a class without a queue of its own holds: a device's txqueuelen, then."""


class TcngError(ValueError):
    """A configuration that is not read.

    Attributes
    ----------
    line : int
        Line of the file, from 1.
    """

    def __init__(self, line: int, message: str):
        super().__init__(f"line {line}: {message}")
        self.line = line


@dataclass(frozen=True)
class _Token:
    text: str
    line: int


def read(content: str) -> tuple[dict[str, Config], list[str]]:
    """Translates a tcng configuration.

    Parameters
    ----------
    content : str
        Its text.

    Returns
    -------
    dict of str to dict
        Port configurations by device, as they stand under `ports` of a scenario.
    list of str
        What they do, a sentence each.

    Raises
    ------
    TcngError
        Something that is not read; the message begins with its line.
    """
    parser = _Parser(list(_expanded(content)), content.count("\n") + 1)
    ports: dict[str, Config] = {}
    while parser.more():
        device = parser.take()
        ports[device.text.strip('"')] = parser.port()
    return ports, [line for name, port in ports.items() for line in _explained(name, port)]


def _tokens(content: str, line: int) -> Iterator[_Token]:
    at = 0
    while at < len(content):
        found = _TOKEN.match(content, at)
        if found is None:
            raise TcngError(line, f"{content[at : at + 20].split()[0]} is not read")
        if found.lastgroup not in ("space", "line"):
            yield _Token(found[0], line)
        line += found[0].count("\n")
        at = found.end()


def _expanded(content: str) -> Iterator[_Token]:
    """All words, macros replaced by what they stand for."""
    macros: dict[str, list[_Token]] = {}
    kept: list[str] = []
    for number, text in enumerate(content.split("\n"), 1):
        found = _DEFINE.match(text)
        if found is not None:
            macros[found[1]] = list(_tokens(found[2], number))
        elif text.lstrip().startswith("#"):
            raise TcngError(number, f"{text.split()[0]} is not read, only #define")
        kept.append("" if found is not None else text)
    for token in _tokens("\n".join(kept), 1):
        yield from _replaced(token, macros, ())


def _replaced(
    token: _Token, macros: dict[str, list[_Token]], inside: tuple[str, ...]
) -> Iterator[_Token]:
    if token.text not in macros or token.text in inside:
        yield token
        return
    for each in macros[token.text]:
        yield from _replaced(_Token(each.text, token.line), macros, (*inside, token.text))


class _Parser:
    def __init__(self, tokens: list[_Token], lines: int):
        self.tokens = tokens
        self.at = 0
        self.lines = lines

    def more(self) -> bool:
        return self.at < len(self.tokens)

    def peek(self) -> str:
        return self.tokens[self.at].text if self.more() else ""

    def take(self, wanted: str | None = None) -> _Token:
        if not self.more():
            raise TcngError(self.lines, f"ends where {wanted or 'more'} is expected")
        token = self.tokens[self.at]
        if wanted is not None and token.text != wanted:
            raise TcngError(token.line, f"{wanted} is expected, not {token.text}")
        self.at += 1
        return token

    def skip(self, text: str) -> bool:
        if self.peek() == text:
            self.at += 1
            return True
        return False

    def port(self) -> Config:
        """A device's outermost queueing discipline."""
        kind = self.take()
        if kind.text in ("fifo", "red"):
            port: Config = {"queue": _queue(kind, self.parameters())}
        elif kind.text in ("cbq", "prio"):
            port = self.classful(kind)
        else:
            raise TcngError(
                kind.line,
                f"there is no queueing discipline {kind.text} here; cbq, "
                "prio, fifo and red are read",
            )
        self.skip(";")
        return port

    def classful(self, kind: _Token) -> Config:
        common = self.parameters()
        known = ("bandwidth", "avpkt", "allot", "maxburst", "ewma") if kind.text == "cbq" else ()
        _refuse_unknown(kind, common, known)
        port: Config = {"scheduler": "cbq" if kind.text == "cbq" else "priority"}
        classes: dict[str, Config] = {}
        rules: list[Config] = []
        self.take("{")
        while not self.skip("}"):
            word = self.take("class")
            its = self.parameters()
            dscps = self.condition()
            name = "default" if not dscps else str(dscp_name(dscps[0]))
            if name in classes:
                raise TcngError(word.line, f"a second class for {name}")
            rules += [{"dscp": dscp_name(dscp), "class": name} for dscp in dscps]
            classes[name] = _class(word, kind.text, common | its, len(classes))
            if self.skip("{"):
                inner = self.take()
                classes[name]["queue"] = _queue(inner, self.parameters())
                self.skip(";")
                self.take("}")
            else:
                self.skip(";")
        if rules:
            port["classify"] = rules
        return port | {"classes": classes}

    def parameters(self) -> dict[str, _Token]:
        """``(rate 2.8Mbps, bounded)``: values by name; a name alone has itself as value."""
        result: dict[str, _Token] = {}
        if not self.skip("("):
            return result
        while not self.skip(")"):
            name = self.take()
            lone = self.peek() in (",", ")")
            result[name.text] = name if lone else self.take()
            if self.peek() != ")":
                self.take(",")
        return result

    def condition(self) -> list[int]:
        """DSCPs after ``if``; none means all."""
        if not self.skip("if"):
            return []
        dscps: list[int] = []
        while True:
            field = self.take()
            if field.text == "1" and not dscps:
                return []
            if field.text != "ip_dscp":
                raise TcngError(
                    field.line, f"a condition on {field.text} is not read, only ip_dscp == and 1"
                )
            self.take("==")
            value = self.take()
            dscps.append(_dscp(value))
            if not self.skip("||"):
                return dscps


def _class(word: _Token, kind: str, its: dict[str, _Token], order: int) -> Config:
    if kind == "prio":
        _refuse_unknown(word, its, ())
        return {"priority": order}
    keys = ("rate", "bounded", "isolated", "prio", "weight")
    _refuse_unknown(word, its, (*keys, "bandwidth", "avpkt", "allot", "maxburst", "ewma"))
    if "rate" not in its:
        raise TcngError(word.line, "a class of cbq needs a rate")
    result: Config = {"rate": f"{_quantity(its['rate'], _RATES)} bit/s"}
    for name in ("bounded", "isolated"):
        if name in its:
            result[name] = True
    for name, key in (("prio", "priority"), ("weight", "weight"), ("ewma", "ewma_log")):
        if name in its:
            result[key] = _quantity(its[name], {"": 1})
    if "avpkt" in its:
        result["average_packet"] = f"{_quantity(its['avpkt'], _SIZES)} B"
    if "allot" in its:
        result["quantum"] = f"{_quantity(its['allot'], _SIZES)} B"
    if "maxburst" in its:
        result["max_burst"] = f"{_quantity(its['maxburst'], {'p': 1, '': 1})} packets"
    return result | {"queue": {"limit": f"{TXQUEUELEN} packets"}}


def _queue(kind: _Token, its: dict[str, _Token]) -> Config:
    if kind.text == "fifo":
        _refuse_unknown(kind, its, ("limit",))
        if "limit" not in its:
            return {"limit": f"{TXQUEUELEN} packets"}
        if its["limit"].text.endswith("p"):
            return {"limit": f"{_quantity(its['limit'], {'p': 1})} packets"}
        return {"limit": f"{_quantity(its['limit'], _SIZES)} B"}
    if kind.text != "red":
        raise TcngError(kind.line, f"there is no queue {kind.text}; fifo and red are read")
    needed = ("limit", "min", "max", "avpkt", "burst", "bandwidth", "probability")
    _refuse_unknown(kind, its, needed)
    for name in needed:
        if name not in its:
            raise TcngError(kind.line, f"red needs {name}")
    size = {name: f"{_quantity(its[name], _SIZES)} B" for name in ("min", "max", "avpkt")}
    burst = its["burst"]
    packets = (
        _quantity(burst, {"p": 1, "": 1})
        if burst.text.endswith("p") or burst.text.isdigit()
        # tc wants packets; tcng also takes bytes, which it divides by avpkt.
        else _quantity(burst, _SIZES) // _quantity(its["avpkt"], _SIZES)
    )
    aqm = {
        "kind": "red-linux",
        **size,
        "burst": f"{packets} packets",
        "bandwidth": f"{_quantity(its['bandwidth'], _RATES)} bit/s",
        "probability": float(its["probability"].text),
        "age": "plog",
        "idle_ageing": False,
    }
    return {"limit": f"{_quantity(its['limit'], _SIZES)} B", "aqm": aqm}


def _quantity(token: _Token, units: dict[str, int]) -> int:
    found = re.fullmatch(r"(\d+)(?:\.(\d+))?([A-Za-z]*)", token.text)
    if found is None or found[3] not in units:
        wanted = ", ".join(unit for unit in units if unit) or "no unit"
        raise TcngError(token.line, f"{token.text} is no number with {wanted}")
    digits = found[2] or ""
    scaled = int(found[1] + digits) * units[found[3]]
    whole, rest = divmod(scaled, int(10 ** len(digits)))
    if rest:
        raise TcngError(token.line, f"{token.text} is no whole number of base units")
    return whole


def _dscp(token: _Token) -> int:
    if token.text in DSCP_NAMES:
        return DSCP_NAMES[token.text]
    try:
        value = int(token.text, 0)
    except ValueError:
        raise TcngError(token.line, f"{token.text} is no DSCP") from None
    if not 0 <= value <= 63:
        raise TcngError(token.line, f"DSCP {value} is above 63")
    return value


def _refuse_unknown(at: _Token, its: dict[str, _Token], known: tuple[str, ...]) -> None:
    for name, token in its.items():
        if name not in known:
            raise TcngError(token.line, f"{at.text} has no parameter {name} that is read")


def _explained(device: str, port: Config) -> list[str]:
    if "scheduler" not in port:
        return [f"{device}: one queue of {port['queue']['limit']}"]
    kind = {"cbq": "class-based queueing", "priority": "strict priority"}[port["scheduler"]]
    lines = [f"{device}: {kind} of {len(port['classes'])} class(es)"]
    for name, its in port["classes"].items():
        rate = f" at {its['rate']}" if "rate" in its else ""
        lent = ", borrows nothing" if its.get("bounded") else ""
        queue = its.get("queue", {"limit": f"{TXQUEUELEN} packets"})
        red = ", early drops by RED" if "aqm" in queue else ""
        lines.append(f"{device}, {name}:{rate}{lent}; a queue of {queue['limit']}{red}")
    return lines
