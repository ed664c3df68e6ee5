"""Traces of scripts: the output of ``sh -x SCRIPT 2> trace``, of dash and of bash.

Source: POSIX.1-2017, Shell Command Language, section 2.5.3 (``PS4``, by default ``+ ``); bash(1)
(the first character of ``PS4`` is repeated for each level of substitution; heads of ``for``,
``case`` and ``select`` are printed before expansion). Other lines of the file are what programs
printed.
"""

import re

from trunkline.importers.common.account import ImportAccount
from trunkline.importers.common.fault import SourceToken
from trunkline.importers.tc.wrapped_commands import READ_PROGRAMS, unwrap_command

_MARK = re.compile(r"\++[ \t]+(?=\S)")


def is_trace(content: str) -> bool:
    """Whether a file is a trace: commands follow plus signs, at least one of which is read."""
    return any(_is_read(line) for line in content.splitlines())


def keep_read_commands(content: str, account: ImportAccount) -> str:
    """A trace as a script of the commands that are read, at the same lines and columns.

    account: Gets the other lines: those of other programs, and output of programs.
    """
    lines: list[str] = []
    others: list[int] = []
    printed: list[int] = []
    for number, line in enumerate(content.splitlines(), 1):
        mark = _MARK.match(line)
        if _is_read(line) and mark is not None:
            lines.append(" " * mark.end() + _quote_unclosed(line[mark.end() :]))
            continue
        lines.append("")
        if line.strip():
            (printed if mark is None else others).append(number)
    for numbers, reason in (
        (others, "commands of other programs and heads of loops: they set no queue"),
        (printed, "what programs printed"),
    ):
        if numbers:
            account.add_left_out("lines of the trace", reason, count=len(numbers), line=numbers[0])
    return "\n".join(lines) + "\n"


def _is_read(line: str) -> bool:
    mark = _MARK.match(line)
    if mark is None:
        return False
    words = [SourceToken(text, 0, 0) for text in line[mark.end() :].split()]
    return unwrap_command(words)[1][0].text.rpartition("/")[2] in READ_PROGRAMS


def _quote_unclosed(command: str) -> str:
    """Keep an apostrophe in a word: dash prints words without quotes."""
    return command if command.count("'") % 2 == 0 else command.replace("'", "\\'")
