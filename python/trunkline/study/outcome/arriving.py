"""Tables of a study as soon as their runs have ended, while others still run."""

from bisect import bisect_right
from collections.abc import Mapping
from itertools import accumulate

from trunkline.study.outcome.reproduction import Reproduction, Subject
from trunkline.study.run import runner
from trunkline.study.run.frames import frame, labels_of, places_of
from trunkline.study.run.journal import Record


class Arriving:
    """Finds the tables of a study that are known.

    They come in their order, each once, as a formula may speak of the tables before its own.

    Parameters
    ----------
    subject : Subject
        The study.

    Attributes
    ----------
    names : list of str
        Tables found so far.
    """

    def __init__(self, subject: Subject) -> None:
        self.names: list[str] = []
        self._subject = subject
        self._tables = subject.study.tables()
        self._plan = subject.plan.to_json()
        self._places, self._labels = places_of(self._plan), labels_of(self._plan)
        runs = [len(point.seeds) for point in subject.plan.points]
        points = list(accumulate(len(table.points) for table in self._tables))
        self._ends = [sum(runs[:count]) for count in points]
        self._ended = 0
        self._measured = runner.Measured({}, "", 0)

    def take(self, records: Mapping[int, Record]) -> Reproduction | None:
        """Tables that are known now and were not before; None if there is none.

        Parameters
        ----------
        records : mapping of int to Record
            All runs that have ended, by number.
        """
        while self._ended in records:
            self._ended += 1
        found = self._tables[len(self.names) : bisect_right(self._ends, self._ended)]
        if not found:
            return None
        for table in found:
            place = len(self.names)
            numbers = range(self._ends[place - 1] if place else 0, self._ends[place])
            done = {run: records[run] for run in numbers}
            block = frame(self._plan, done, self._places, self._labels)
            runner.read_table(self._subject.study, table, block, self._measured)
            self.names.append(table.name)
        new = {table.name for table in found}
        columns = {place: its for place, its in self._measured.columns.items() if place[0] in new}
        return Reproduction(
            self._subject.study, self._subject.seeds, runner.Measured(columns, "", 0)
        )
