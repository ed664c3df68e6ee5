"""Plans and outcomes of trials of mutants, kept in files of ``.stamps/mutants``.

``NAME.jsonl`` has a row for each trial of a mutant of a package, ``NAME.sample-S.json`` the mutants
of its sample of seed S or of a run in full (``all``), ``NAME.changed.json`` those of the last run
with ``--changed``.
"""

import csv
import glob
import json
import os
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import setup_steps as steps
from mutant_sample import Mutant, choose_sample

FOLDER = steps.get_stamp_path("mutants")
SAMPLES = "sample-*"
"""Word of the lists of all samples."""
SURVIVORS = os.path.join(steps.ROOT, "tests", "mutants.csv")


@dataclass(frozen=True)
class Plan:
    """A choice of mutants of a package to try, and the share of the machine for it."""

    jobs: int
    difference: str | None = None
    """Path of a difference: only mutants of its lines."""
    sample: int | None = None
    """So many at random of each package, all if None; none that a smaller seed has chosen."""
    seed: int = 1
    limit_s: float | None = None
    """For each package of Python."""

    def choose(self, name: str, mutants: list[Mutant]) -> list[Mutant]:
        """The mutants to try, of those of a package."""
        if self.difference is not None:
            changed = find_changed_lines(self.difference)
            return [each for each in mutants if each.line in changed.get(each.path, ())]
        if self.sample is not None:
            # Tests were added for these, so that they would show nothing of the others.
            known = {
                drop_place(mutant)
                for listed in read_lists(name)
                if listed.seed is not None and listed.seed < self.seed
                for mutant in listed.names.values()
            }
            fresh = [each for each in mutants if drop_place(each.name) not in known]
            return choose_sample(fresh, self.sample, self.seed)
        return mutants

    @property
    def is_partial(self) -> bool:
        """Whether it leaves mutants out."""
        return self.difference is not None or self.sample is not None

    @property
    def list_word(self) -> str:
        """Word of the file that lists the mutants to try."""
        if self.difference is not None:
            return "changed"
        return "sample-all" if self.sample is None else f"sample-{self.seed}"

    def to_words(self) -> list[str]:
        """As arguments of a program."""
        return [json.dumps(self.__dict__)]

    @classmethod
    def from_words(cls, words: list[str]) -> "Plan":
        """From arguments of a program."""
        return cls(**json.loads(words[0]))


@dataclass(frozen=True)
class Listed:
    """The mutants of a package that a run had to try."""

    of: int
    """How many mutants the package has."""
    seed: int | None
    """Of the sample, None for all."""
    names: dict[str, str]
    """By identity."""


@dataclass
class Outcome:
    """The outcome of a mutant's trials."""

    name: str
    is_caught: bool
    is_caught_at_first: bool
    """The first time, with the tests of that day."""
    tests: list[str]
    """That failed."""


def find_changed_lines(difference: str) -> dict[str, set[int]]:
    """Find the lines that a difference adds or changes, by file."""
    lines_by_file: dict[str, set[int]] = {}
    path, line = "", 0
    with open(difference, encoding="utf-8") as stream:
        for text in stream:
            if text.startswith("+++ "):
                path = text[4:].strip().removeprefix("b/")
            elif text.startswith("@@"):
                line = int(text.split("+")[1].split(" ")[0].split(",")[0])
            elif text.startswith("+"):
                lines_by_file.setdefault(path, set()).add(line)
                line += 1
            elif not text.startswith("-"):
                line += 1
    return lines_by_file


def get_journal_path(name: str) -> str:
    """The file with the outcomes of the mutants of a package."""
    return os.path.join(FOLDER, f"{name}.jsonl")


def write_outcome(
    name: str, identity: str, mutant: str, failed: list[str], reached_by: int
) -> None:
    """Write the outcome of a mutant, and show it if it lives.

    Parameters
    ----------
    name : str
        Its package.
    identity, mutant : str
        What makes it the one that was tried, and its name.
    failed : list of str
        Tests that catch it.
    reached_by : int
        How many tests run its place.
    """
    outcome = "caught" if failed else "lives"
    row: dict[str, Any] = {"of": identity, "mutant": mutant, "outcome": outcome}
    row |= {"by": failed} if failed else {"reached_by": reached_by}
    os.makedirs(FOLDER, exist_ok=True)
    with open(get_journal_path(name), "a", encoding="utf-8") as journal:
        journal.write(json.dumps(row) + "\n")
    if not failed:
        print(f"lives: {mutant}", flush=True)


def _read_rows(name: str) -> list[dict[str, Any]]:
    try:
        with open(get_journal_path(name), encoding="utf-8") as stream:
            return [json.loads(line) for line in stream]
    except OSError:
        return []


def find_settled(name: str) -> set[str]:
    """Identities of mutants of a package that were caught, or live for a listed reason."""
    reasons = read_reasons(name)
    return {
        row["of"]
        for row in _read_rows(name)
        if row["outcome"] == "caught" or drop_place(row["mutant"]) in reasons
    }


def drop_place(mutant: str) -> str:
    """A mutant's name without line and column, which a change elsewhere in the file moves."""
    return re.sub(r":\d+:\d+: ", ": ", mutant)


def number_alike(names: list[str]) -> list[str]:
    """Number the mutants of the same words in one function by their places.

    Without it the reason of one that lives would hide the next one of the same words.

    Parameters
    ----------
    names : list of str
        Those of a package, each with its place.

    Returns
    -------
    list of str
        In the same order, the second of the same words with `` (2)`` at its end.
    """
    numbered = list(names)
    counts: Counter[str] = Counter()
    for index in sorted(range(len(names)), key=lambda index: _read_place(names[index])):
        words = drop_place(names[index])
        counts[words] += 1
        if counts[words] > 1:
            numbered[index] += f" ({counts[words]})"
    return numbered


def _read_place(name: str) -> tuple[str, int, int]:
    path, line, column, _ = name.split(":", 3)
    return path, int(line), int(column)


def drop_number(name: str) -> str:
    """A mutant's name without its number among those of the same words."""
    return re.sub(r" \(\d+\)$", "", name)


def read_reasons(name: str) -> dict[str, str]:
    """Read the reasons of the listed survivors of a package, by name without its place."""
    with open(SURVIVORS, encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["package"] == name]
    return {row["mutant"]: row["reason"] for row in rows}


def _get_list_path(name: str, word: str) -> str:
    return os.path.join(FOLDER, f"{name}.{word}.json")


def write_list(name: str, count: int, plan: Plan, names: dict[str, str]) -> None:
    """Write the mutants that a run has to try.

    Parameters
    ----------
    name : str
        Their package.
    count : int
        How many it has.
    plan : Plan
        How they were chosen.
    names : dict of str to str
        By identity.
    """
    os.makedirs(FOLDER, exist_ok=True)
    seed = None if plan.sample is None else plan.seed
    with open(_get_list_path(name, plan.list_word), "w", encoding="utf-8") as stream:
        json.dump({"of": count, "seed": seed, "names": names}, stream)


def read_lists(name: str, word: str = SAMPLES) -> list[Listed]:
    """Read the mutants of a package that runs had to try.

    word: Of one plan; of each sample and of a run in full if left out.
    """
    found = []
    for path in sorted(glob.glob(_get_list_path(name, word))):
        with open(path, encoding="utf-8") as stream:
            found.append(Listed(**json.load(stream)))
    return found


def read_outcomes(name: str, listed: Listed) -> list[Outcome]:
    """Read the outcomes of mutants of a package, as far as they were tried."""
    rows_by_identity: dict[str, list[dict[str, Any]]] = {}
    for row in _read_rows(name):
        rows_by_identity.setdefault(row["of"], []).append(row)
    found = []
    for identity, mutant in listed.names.items():
        rows = rows_by_identity.get(identity, [])
        if rows:
            first, last = rows[0], rows[-1]
            is_caught, at_first = (row["outcome"] == "caught" for row in (last, first))
            found.append(Outcome(mutant, is_caught, at_first, last.get("by", [])))
    return found
