"""Scripts of simple commands, as /bin/sh splits them: no loops, functions or substitutions.

Source: POSIX.1-2017, Shell Command Language, sections 2.2 (quoting), 2.3 (tokens), 2.6.2
(parameter expansion, ``$X`` and ``${X}``), 2.6.4 (arithmetic), 2.6.5 (field splitting) and
2.7 (redirection, which is left out).
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field

from trunkline.importers.common.fault import ImportFault, Word, refuse
from trunkline.importers.tc.arithmetic import worked_out

MAX_EXPANDED = 1_000_000
"""Characters that the variables of a script may expand to: a short script cannot fill memory."""
_CONTROL = ("if", "for", "while", "until", "case", "function", "do", "done", "then", "fi", "esac")
_TRACED = ("tc", "ip", "ifconfig", "iptables", "ipchains")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=")
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9@*#?]")
_UNSET, _END = "\ue000", "\ue001"
"""Stand before and behind the name of a variable that is not set."""
_REDIRECTION = re.compile(r"(\d?>>?|&>|<)(&\d|-)?")


@dataclass
class _Building:
    """A word being read; a variable outside quotes may make it several."""

    line: int
    column: int
    parts: list[str] = field(default_factory=lambda: [""])
    quoted: bool = False

    def add(self, text: str) -> None:
        self.parts[-1] += text

    def split(self, text: str) -> None:
        """Add the value of a variable outside quotes: blanks in it part words."""
        pieces = re.split(r"[ \t\n]+", text)
        self.parts[-1] += pieces[0]
        self.parts += pieces[1:]

    def words(self) -> list[Word]:
        kept = self.parts if self.quoted else [part for part in self.parts if part]
        return [Word(part, self.line, self.column) for part in kept]


def shown(word: Word) -> str:
    """A word as text, a variable that is not set by its name."""
    return re.sub(f"{_UNSET}(\\w+){_END}", r"$\1", word.text)


def commands(content: str, *, lenient: tuple[str, ...] = ()) -> Iterator[list[Word]]:
    """Split a script into its commands, variables replaced, assignments taken in.

    Parameters
    ----------
    lenient : tuple of str
        Programs whose words may be variables that the script does not set.

    Yields
    ------
    list of Word
        Words of a command; never empty.

    Raises
    ------
    ImportFault
        Something other than simple commands, or a variable that is not set.
    """
    return _Reader(content, lenient).commands()


class _Reader:
    def __init__(self, content: str, lenient: tuple[str, ...]):
        self.lenient = lenient
        self.text = content.replace("\r\n", "\n")
        self.at = 0
        self.ends = [found.start() for found in re.finditer("\n", self.text)]
        self.variables: dict[str, str] = {"TC": "tc", "IP": "ip", "IPTABLES": "iptables"}
        self.found: list[Word] = []
        self.expanded = 0

    def commands(self) -> Iterator[list[Word]]:
        while self.at < len(self.text):
            if self.step():
                yield from self.flush()
        yield from self.flush()

    def flush(self) -> Iterator[list[Word]]:
        words, self.found = self.found, []
        while words:
            given = _ASSIGNED.match(words[0].text)
            if words[0].text == "export" and len(words) > 1 and _ASSIGNED.match(words[1].text):
                words = words[1:]
                continue
            if given is None:
                break
            self.variables[given[1]] = words[0].text[given.end() :]
            words = words[1:]
        if words and set(words[0].text) == {"+"}:
            # The trace of `set -x`, where every command stands as it was run.
            if len(words) == 1 or words[1].text.rpartition("/")[2] not in _TRACED:
                return
            words = words[1:]
        if not words:
            return
        first = words[0]
        if first.text in _CONTROL or first.text.endswith("()") or first.text in ("{", "}", "!"):
            refuse(first, f"{first.text} is not read", "simple commands, one after another")
        if first.text.rpartition("/")[2] not in self.lenient:
            self.refuse_unset(words)
        yield words

    def refuse_unset(self, words: list[Word]) -> None:
        for word in words:
            if _UNSET in word.text:
                found = _NAME.match(word.text, word.text.index(_UNSET) + 1)
                name = found[0] if found is not None else ""
                known = ", ".join(sorted(self.variables))
                refuse(word, f"variable {name} is not set in this file", known)

    def place(self, at: int) -> tuple[int, int]:
        """Line and column of a character, both from 1."""
        line = bisect_left(self.ends, at)
        return line + 1, at - (self.ends[line - 1] if line else -1)

    def step(self) -> bool:
        """Read on; true at the end of a command."""
        here = self.text[self.at]
        if here in " \t":
            self.at += 1
        elif here == "#":
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end
        elif self.text.startswith("\\\n", self.at):
            self.at += 2
        elif here in "\n;" or self.text.startswith(("&&", "||"), self.at):
            self.at += 1 if here in "\n;" else 2
            return True
        elif (redirected := _REDIRECTION.match(self.text, self.at)) is not None:
            self.redirect(redirected)
        elif here in "|&()<":
            known = "simple commands, one after another"
            raise ImportFault(*self.place(self.at), f"{here} is not read", known)
        else:
            self.found += self.word()
        return False

    def redirect(self, found: re.Match[str]) -> None:
        self.at = found.end()
        if found[2] is None:
            while self.text[self.at : self.at + 1] in (" ", "\t"):
                self.at += 1
            if self.at < len(self.text) and self.text[self.at] != "\n":
                self.word()

    def word(self) -> list[Word]:
        built = _Building(*self.place(self.at))
        while self.at < len(self.text):
            here = self.text[self.at]
            if here in " \t\n;|<>" or self.text.startswith("&&", self.at):
                break
            if self.text.startswith("\\\n", self.at):
                self.at += 2
            elif here == "\\":
                built.add(self.text[self.at + 1 : self.at + 2])
                self.at += 2
            elif here == "'":
                self.single(built)
            elif here == '"':
                self.double(built)
            elif here == "$":
                value = self.value()
                (built.add if _ASSIGNED.match(built.parts[0]) else built.split)(value)
            elif here == "`":
                raise self.unread("`")
            else:
                built.add(here)
                self.at += 1
        return built.words()

    def single(self, built: _Building) -> None:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise ImportFault(*self.place(self.at), "this quote has no end")
        built.add(self.text[self.at + 1 : end])
        built.quoted = True
        self.at = end + 1

    def double(self, built: _Building) -> None:
        opened = self.place(self.at)
        built.quoted = True
        self.at += 1
        while self.at < len(self.text):
            here = self.text[self.at]
            if here == '"':
                self.at += 1
                return
            if here == "$":
                built.add(self.value())
            elif here == "`":
                raise self.unread("`")
            elif self.text.startswith("\\\n", self.at):
                self.at += 2
            elif here == "\\" and self.text[self.at + 1 : self.at + 2] in ("$", "`", '"', "\\"):
                built.add(self.text[self.at + 1])
                self.at += 2
            else:
                built.add(here)
                self.at += 1
        raise ImportFault(*opened, "this quote has no end")

    def unread(self, what: str) -> ImportFault:
        return ImportFault(*self.place(self.at), f"{what} is not read", "$NAME and ${NAME}")

    def value(self) -> str:
        """The value of the variable that stands here."""
        begin = self.at
        if self.text.startswith(("$((", "$["), begin):
            return self.arithmetic()
        braced = self.text.startswith("${", begin)
        found = _NAME.match(self.text, begin + 1 + braced)
        if found is None:
            if braced or self.text.startswith("$(", begin):
                raise self.unread(self.text[begin : begin + 2])
            self.at += 1
            return "$"
        self.at = found.end()
        if braced:
            if self.text[self.at : self.at + 1] != "}":
                self.at = begin
                raise self.unread(self.text[begin:].split("}", 1)[0].split("\n", 1)[0] + "}")
            self.at += 1
        if found[0] not in self.variables:
            # A fault where it matters: not in a name of a module to load.
            return f"{_UNSET}{found[0]}{_END}"
        value = self.variables[found[0]]
        self.expanded += len(value)
        if self.expanded > MAX_EXPANDED:
            message = f"variables expand to more than {MAX_EXPANDED} characters"
            raise ImportFault(*self.place(begin), message)
        return value

    def arithmetic(self) -> str:
        """The value of the arithmetic that stands here."""
        opened, closed = ("$((", "))") if self.text.startswith("$((", self.at) else ("$[", "]")
        end = self.text.find(closed, self.at)
        whole = self.text[self.at : max(end, self.at)] + closed
        value = worked_out(whole[len(opened) : -len(closed)], self.variables)
        if value is None:
            known = "whole numbers, variables set in this file, + - * / % << >> and brackets"
            message = f"{whole.splitlines()[0]} is not read"
            raise ImportFault(*self.place(self.at), message, known)
        self.at = end + len(closed)
        return str(value)
