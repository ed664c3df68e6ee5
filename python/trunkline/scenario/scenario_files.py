"""Files next to a scenario that it names: opened in its folder alone."""

import csv
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from trunkline.scenario.units import UnitError

Value = TypeVar("Value")
First = TypeVar("First")
Second = TypeVar("Second")


class ScenarioFileError(ValueError):
    """A file that cannot be used.

    message: Description of the fault.
    line: Line of the file; 0 for the file as a whole.
    """

    def __init__(self, message: str, line: int = 0):
        super().__init__(f"line {line}: {message}" if line else message)
        self.message = message
        self.line = line


def read_scenario_file(
    name: str, folder: str | None, limit: int, parse: Callable[[Iterable[str]], Value]
) -> Value:
    """Read a file under the scenario's folder.

    name: Relative path under `folder`.
    folder: The scenario's folder.
    limit: Largest size [B].
    parse: Takes the lines; its errors are `ScenarioFileError`.
    Returns: The result of `parse`.
    Raises ScenarioFileError: Not a regular file under the folder, too large, not UTF-8, or what
        `parse` raises.
    """
    if folder is None:
        raise ScenarioFileError("only a scenario read from a file can name other files")
    if "\0" in name:
        raise ScenarioFileError("not a file name")
    root = os.path.realpath(folder)
    target = os.path.realpath(os.path.join(root, name))
    if os.path.isabs(name) or os.path.commonpath([root, target]) != root:
        raise ScenarioFileError("the file must be under the scenario's folder")
    try:
        flags = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(target, os.O_RDONLY | flags)
        with open(descriptor, encoding="utf-8", newline="") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ScenarioFileError("not a regular file")
            if status.st_size > limit:
                raise ScenarioFileError(f"larger than {limit} bytes")
            return parse(file)
    except OSError as error:
        raise ScenarioFileError(f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ScenarioFileError("not UTF-8 text") from None
    except csv.Error as error:
        raise ScenarioFileError(f"not CSV: {error}") from None
    except ValueError as error:
        if isinstance(error, ScenarioFileError):
            raise
        raise ScenarioFileError("not a file name") from None


def parse_two_columns(
    lines: Iterable[str],
    names: tuple[str, str],
    parsers: tuple[Callable[[str], First], Callable[[str], Second]],
) -> Iterator[tuple[int, First, Second]]:
    """Line and values of each row of a CSV file of two columns, in whatever order these stand.

    Raises ScenarioFileError: The first line has other names, or a row is not of two values with
        their units.
    """
    rows = csv.reader(lines)
    header = [each.strip() for each in next(rows, [])]
    if sorted(header) != sorted(names):
        raise ScenarioFileError(f"the first line must name the columns {' and '.join(names)}", 1)
    first_column, second_column = map(header.index, names)
    for row in rows:
        if not row:
            continue
        if len(row) != 2:
            raise ScenarioFileError("two values are expected", rows.line_num)
        try:
            values = parsers[0](row[first_column].strip()), parsers[1](row[second_column].strip())
        except UnitError as error:
            hint = f"; {error.hint}" if error.hint else ""
            raise ScenarioFileError(f"{error}{hint}", rows.line_num) from None
        yield rows.line_num, *values
