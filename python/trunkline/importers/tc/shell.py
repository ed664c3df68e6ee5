"""Scripts of simple commands, as /bin/sh splits them: no loops and no substitutions.

Source: POSIX.1-2017, Shell Command Language, sections 2.2 (quoting), 2.3 (tokens), 2.6.2
(parameter expansion, ``$X`` and ``${X}``), 2.6.4 (arithmetic), 2.6.5 (field splitting),
2.7 (redirection, which is left out; 2.7.4, a here-document, is read as input of tc -batch) and
2.9.5 (functions, which are passed over where they run no command that is read).
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field

from trunkline.importers.common.account import ImportAccount
from trunkline.importers.common.fault import (
    ImportFault,
    SourceToken,
    make_fault,
    raise_fault,
)
from trunkline.importers.tc.arithmetic import evaluate_arithmetic
from trunkline.importers.tc.wrapped_commands import READ_PROGRAMS, is_batch, unwrap_command

MAX_EXPANDED = 1_000_000
"""Characters that the variables of a script may expand to: a short script cannot fill memory."""
_CONDITIONS = ("[", "test", "[[")
_CONTROL_WORDS = (
    "if",
    "for",
    "while",
    "until",
    "case",
    "function",
    "do",
    "done",
    "then",
    "fi",
    "esac",
)
_PROGRAM_WORD = re.compile(r"(?:^|[\s;&|(/])(?:tc|iptables|ipchains|nft)\s|\$\{?(?:TC|IPT\w*)\b")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=")
_DEFAULT = re.compile(r"(:?)([-=+])([^${}`'\"\n]*)\}")
_VARIABLE_NAME = re.compile(r"[A-Za-z_]\w*|[0-9@*#?]")
_UNSET_START, _UNSET_END = "\ue000", "\ue001"
"""Marks before and after the name of a variable that is not set."""
_REDIRECTION = re.compile(r"(\d?>>?|&>|<)(&\d|-)?")
_HERE_DOCUMENT = re.compile(r"<<(-?)[ \t]*(['\"\\]?)([\w.-]+)['\"]?")
_FUNCTION = re.compile(r"(?:function[ \t]+)?([A-Za-z_]\w*)[ \t]*\(\)[ \t\n]*\{")
_COMPUTED = re.compile(r"([A-Za-z_]\w*)=(\"?)(\$\((?!\()|`)")
_WORDS_BEFORE_NAMES = ("dev", "-o", "-i", "oifname", "oif", "exec", "-n", "-netns", "-t")
"""Words before the name of a device or a namespace."""
_TRACE_HINT = "sh -x SCRIPT 2> trace.tc"
_SIMPLE_COMMANDS = (
    "simple commands, one after another; of a script with loops or functions give the trace, "
    f"{_TRACE_HINT}"
)


@dataclass
class _UnfinishedWord:
    """A word being read; a variable outside quotes may make it several."""

    line: int
    column: int
    parts: list[str] = field(default_factory=lambda: [""])
    quoted: bool = False

    def add(self, text: str) -> None:
        self.parts[-1] += text

    def add_unquoted(self, text: str) -> None:
        """Add the value of a variable outside quotes: blanks in it part words."""
        pieces = re.split(r"[ \t\n]+", text)
        self.parts[-1] += pieces[0]
        self.parts += pieces[1:]

    def words(self) -> list[SourceToken]:
        parts = self.parts if self.quoted else [part for part in self.parts if part]
        return [SourceToken(part, self.line, self.column) for part in parts]


def format_word(word: SourceToken) -> str:
    """Format a word as text, a variable that is not set by its name."""
    return re.sub(f"{_UNSET_START}(\\w+){_UNSET_END}", r"$\1", word.text)


def split_commands(
    content: str, account: ImportAccount | None = None, *, lenient: tuple[str, ...] = ()
) -> Iterator[list[SourceToken]]:
    """Split a script into its commands, variables replaced, assignments taken in.

    account: Gets the functions that are passed over, and their calls.
    lenient: Programs whose words may be variables that the script does not set.
    Yields: Words of a command; never empty.
    Raises ImportFault: Something other than simple commands, or a variable that is not set.
    """
    return _ShellReader(content, account or ImportAccount(), lenient).read_commands()


class _ShellReader:
    def __init__(self, content: str, account: ImportAccount, lenient: tuple[str, ...]):
        self.lenient = lenient
        self.account = account
        self.text = content.replace("\r\n", "\n")
        self.position = 0
        self.line_ends = [found.start() for found in re.finditer("\n", self.text)]
        self.variables: dict[str, str] = {"TC": "tc", "IP": "ip", "IPTABLES": "iptables"}
        self.functions: dict[str, bool] = {}
        """Functions that are passed over, and whether they run their arguments."""
        self.finished_words: list[SourceToken] = []
        self.expanded_characters = 0
        self.computed: set[str] = set()
        """Variables whose values commands printed."""
        self.here_document: tuple[str, bool] | None = None
        """The last line of the here-document, and whether it is input of tc."""
        self.is_conditional = self.is_next_conditional = False

    def read_commands(self) -> Iterator[list[SourceToken]]:
        while self.position < len(self.text):
            if self.read_step():
                yield from self.take_command()
        yield from self.take_command()

    def take_command(self) -> Iterator[list[SourceToken]]:
        words, self.finished_words = self.finished_words, []
        is_conditional, self.is_conditional = self.is_conditional, self.is_next_conditional
        while words:
            assignment = _ASSIGNMENT.match(words[0].text)
            if words[0].text == "export" and len(words) > 1 and _ASSIGNMENT.match(words[1].text):
                words = words[1:]
                continue
            if assignment is None:
                break
            self.set_variable(assignment[1], words[0].text[assignment.end() :])
            words = words[1:]
        if words and words[0].text in self.functions:
            words = self.unwrap_call(words)
        if not words:
            return
        first = words[0]
        if first.text in _CONTROL_WORDS or first.text in ("{", "}", "!"):
            raise_fault(first, f"{first.text} is not read", _SIMPLE_COMMANDS)
        program = unwrap_command(words)[1][0].text.rpartition("/")[2]
        if is_conditional and program in READ_PROGRAMS:
            raise_fault(first, "a command under a condition is not read", _SIMPLE_COMMANDS)
        if program not in (*self.lenient, *_CONDITIONS):
            words = self.name_unknown_devices(words)
        yield words

    def set_variable(self, name: str, value: str) -> None:
        """Keep a value; of a variable that stands for another unknown one, its own name."""
        is_unknown = value.startswith(_UNSET_START) and value.find(_UNSET_END) == len(value) - 1
        self.variables[name] = f"{_UNSET_START}{name}{_UNSET_END}" if is_unknown else value

    def unwrap_call(self, words: list[SourceToken]) -> list[SourceToken]:
        """The command that a function of the script is given to run; empty if there is none."""
        if self.functions[words[0].text]:
            for position, word in enumerate(words):
                if word.text.rpartition("/")[2] in READ_PROGRAMS:
                    return words[position:]
        text = " ".join(format_word(word) for word in words[:3])
        self.account.add_left_out(text, "a function that runs no tc", line=words[0].line)
        return []

    def name_unknown_devices(self, words: list[SourceToken]) -> list[SourceToken]:
        """Call devices that only the run knows by their variables.

        Raises ImportFault: Another word has a variable whose value is not known.
        """
        named = list(words)
        for position, word in enumerate(words):
            if _UNSET_START not in word.text:
                continue
            found = re.search(f"{_UNSET_START}(\\w+|[@*#?]){_UNSET_END}", word.text)
            name = "" if found is None else found[1]
            if position and words[position - 1].text in _WORDS_BEFORE_NAMES:
                text = re.sub(f"[{_UNSET_START}{_UNSET_END}]", "", word.text)
                named[position] = SourceToken(text, word.line, word.column)
                rule = f"variable {name} is not known here: it is called {text}"
                self.account.add_assumption("name of a device", rule, line=word.line)
            elif name in self.computed:
                message = f"the value of variable {name} is what a command printed"
                raise_fault(word, message, f"the trace: {_TRACE_HINT}")
            else:
                known = ", ".join(sorted(self.variables))
                raise_fault(word, f"variable {name} is not set in this file", known)
        return named

    def locate(self, position: int) -> tuple[int, int]:
        """Locate the line and column of a character, both from 1."""
        line = bisect_left(self.line_ends, position)
        return line + 1, position - (self.line_ends[line - 1] if line else -1)

    def read_step(self) -> bool:
        """Read on; true at the end of a command."""
        character = self.text[self.position]
        if character in " \t":
            self.position += 1
        elif character == "#":
            end = self.text.find("\n", self.position)
            self.position = len(self.text) if end < 0 else end
        elif self.text.startswith("\\\n", self.position):
            self.position += 2
        elif character in "\n;":
            self.position += 1
            self.is_next_conditional = False
            if character == "\n":
                self.skip_here_document()
            return True
        elif self.text.startswith(("&&", "||"), self.position):
            self.position += 2
            self.is_next_conditional = self.is_conditional or (
                bool(self.finished_words) and self.finished_words[0].text in _CONDITIONS
            )
            return True
        elif (function := _FUNCTION.match(self.text, self.position)) and not self.finished_words:
            self.skip_function(function)
        elif (computed := _COMPUTED.match(self.text, self.position)) is not None:
            self.skip_substitution(computed)
        elif (document := _HERE_DOCUMENT.match(self.text, self.position)) is not None:
            self.position = document.end()
            self.here_document = (document[3], is_batch(self.finished_words))
        elif (redirection := _REDIRECTION.match(self.text, self.position)) is not None:
            self.skip_redirection(redirection)
        elif character in "|&()<":
            message = f"{character} is not read"
            raise ImportFault(*self.locate(self.position), message, _SIMPLE_COMMANDS)
        else:
            self.finished_words += self.read_word()
        return False

    def skip_redirection(self, redirection: re.Match[str]) -> None:
        self.position = redirection.end()
        if redirection[2] is None:
            while self.text[self.position : self.position + 1] in (" ", "\t"):
                self.position += 1
            if self.position < len(self.text) and self.text[self.position] != "\n":
                self.read_word()

    def skip_substitution(self, computed: re.Match[str]) -> None:
        """Pass over ``NAME=$(command)``: its output is not known here."""
        name = computed[1]
        if computed[3] == "`":
            end = self.text.find("`", computed.end())
        else:
            end = _find_closing(self.text, computed.end(), "()")
        if not 0 <= end < len(self.text):
            raise ImportFault(*self.locate(self.position), "this substitution has no end")
        self.position = end + 1
        if computed[2]:
            self.position = max(self.position, self.text.find('"', end) + 1)
        else:
            while self.position < len(self.text) and self.text[self.position] not in " \t\n;&|":
                self.position += 1
        self.computed.add(name)
        self.variables[name] = f"{_UNSET_START}{name}{_UNSET_END}"

    def skip_here_document(self) -> None:
        """Pass over a here-document; of one that tc reads, over its last line only."""
        if self.here_document is None:
            return
        (delimiter, is_read), self.here_document = self.here_document, None
        end = re.compile(rf"^\t*{re.escape(delimiter)}$", re.MULTILINE).search(
            self.text, self.position
        )
        if end is None:
            message = f"the here-document has no end {delimiter}"
            raise ImportFault(*self.locate(self.position - 1), message)
        if is_read:
            blank = " " * len(end[0])
            self.text = self.text[: end.start()] + blank + self.text[end.end() :]
        else:
            self.position = end.end()

    def skip_function(self, function: re.Match[str]) -> None:
        """Pass over a function that runs no command which is read."""
        body_end = _find_closing(self.text, function.end(), "{}")
        body = self.text[function.end() : body_end]
        if _PROGRAM_WORD.search(body):
            at = SourceToken(f"{function[1]}()", *self.locate(self.position))
            raise make_fault(at, f"{at.text} is not read", _SIMPLE_COMMANDS)
        self.functions[function[1]] = '"$@"' in body
        line, _ = self.locate(self.position)
        self.account.add_left_out(f"{function[1]}()", "a function that runs no tc", line=line)
        self.position = body_end + 1

    def read_word(self) -> list[SourceToken]:
        word = _UnfinishedWord(*self.locate(self.position))
        while self.position < len(self.text):
            character = self.text[self.position]
            if character in " \t\n;|<>" or self.text.startswith("&&", self.position):
                break
            if self.text.startswith("\\\n", self.position):
                self.position += 2
            elif character == "\\":
                word.add(self.text[self.position + 1 : self.position + 2])
                self.position += 2
            elif character == "'":
                self.read_single_quoted(word)
            elif character == '"':
                self.read_double_quoted(word)
            elif character == "$":
                value = self.expand_variable()
                (word.add if _ASSIGNMENT.match(word.parts[0]) else word.add_unquoted)(value)
            elif character == "`":
                raise self.make_unread_fault("`")
            else:
                word.add(character)
                self.position += 1
        return word.words()

    def read_single_quoted(self, word: _UnfinishedWord) -> None:
        end = self.text.find("'", self.position + 1)
        if end < 0:
            raise ImportFault(*self.locate(self.position), "this quote has no end")
        word.add(self.text[self.position + 1 : end])
        word.quoted = True
        self.position = end + 1

    def read_double_quoted(self, word: _UnfinishedWord) -> None:
        opening_place = self.locate(self.position)
        word.quoted = True
        self.position += 1
        while self.position < len(self.text):
            character = self.text[self.position]
            if character == '"':
                self.position += 1
                return
            if character == "$":
                word.add(self.expand_variable())
            elif character == "`":
                raise self.make_unread_fault("`")
            elif self.text.startswith("\\\n", self.position):
                self.position += 2
            elif character == "\\" and self.text[self.position + 1 : self.position + 2] in (
                "$",
                "`",
                '"',
                "\\",
            ):
                word.add(self.text[self.position + 1])
                self.position += 2
            else:
                word.add(character)
                self.position += 1
        raise ImportFault(*opening_place, "this quote has no end")

    def make_unread_fault(self, text: str) -> ImportFault:
        return ImportFault(*self.locate(self.position), f"{text} is not read", "$NAME and ${NAME}")

    def expand_variable(self) -> str:
        """Read a variable here, and return its value."""
        start = self.position
        if self.text.startswith(("$((", "$["), start):
            return self.expand_arithmetic()
        braced = self.text.startswith("${", start)
        name_match = _VARIABLE_NAME.match(self.text, start + 1 + braced)
        if name_match is None:
            if braced or self.text.startswith("$(", start):
                raise self.make_unread_fault(self.text[start : start + 2])
            self.position += 1
            return "$"
        self.position = name_match.end()
        if braced and self.text[self.position : self.position + 1] != "}":
            return self.expand_default(start, name_match[0])
        self.position += braced
        if name_match[0] not in self.variables:
            # A fault where it matters: not in a name of a module to load.
            return f"{_UNSET_START}{name_match[0]}{_UNSET_END}"
        value = self.variables[name_match[0]]
        self.expanded_characters += len(value)
        if self.expanded_characters > MAX_EXPANDED:
            message = f"variables expand to more than {MAX_EXPANDED} characters"
            raise ImportFault(*self.locate(start), message)
        return value

    def expand_default(self, start: int, name: str) -> str:
        """The value of ``${NAME:-WORD}`` and the like (section 2.6.2)."""
        found = _DEFAULT.match(self.text, self.position)
        if found is None:
            self.position = start
            unread = self.text[start:].split("}", 1)[0].split("\n", 1)[0] + "}"
            raise self.make_unread_fault(unread)
        self.position = found.end()
        value = self.variables.get(name)
        is_set = value is not None and not (found[1] and not value)
        if found[2] == "+":
            return found[3] if is_set else ""
        if not is_set and found[2] == "=":
            self.variables[name] = found[3]
        return value if value is not None and is_set else found[3]

    def expand_arithmetic(self) -> str:
        """Read arithmetic here, and return its value."""
        opening, closing = (
            ("$((", "))") if self.text.startswith("$((", self.position) else ("$[", "]")
        )
        end = self.text.find(closing, self.position)
        expression = self.text[self.position : max(end, self.position)] + closing
        value = evaluate_arithmetic(expression[len(opening) : -len(closing)], self.variables)
        if value is None:
            known = "whole numbers, variables set in this file, + - * / % << >> and brackets"
            message = f"{expression.splitlines()[0]} is not read"
            raise ImportFault(*self.locate(self.position), message, known)
        self.position = end + len(closing)
        return str(value)


def _find_closing(text: str, start: int, pair: str) -> int:
    """Find the end of a bracket opened before `start`; quotes and comments are skipped."""
    depth, position = 1, start
    while position < len(text):
        character = text[position]
        if character == "\\":
            position += 1
        elif character in "'\"":
            position = _find_closing_quote(text, position)
        elif character == "#" and text[position - 1] in " \t\n":
            position = text.find("\n", position) if "\n" in text[position:] else len(text)
        elif character in pair:
            depth += 1 if character == pair[0] else -1
            if depth == 0:
                return position
        position += 1
    return len(text)


def _find_closing_quote(text: str, start: int) -> int:
    position = start + 1
    while position < len(text) and text[position] != text[start]:
        position += 2 if text[position] == "\\" and text[start] == '"' else 1
    return position
