"""Tables of a study as soon as their runs have ended, while others still run."""

from bisect import bisect_right
from collections.abc import Mapping
from itertools import accumulate

from trunkline.study.outcome.reproduction import Reproduction, StudySubject
from trunkline.study.run import runner
from trunkline.study.run.data_set import build_frame, list_labels, list_run_places
from trunkline.study.run.journal import RunRecord


class CompletedTables:
    """Finds the tables of a study that are known.

    They come in their order, each once, as a formula may refer to the tables before its own.

    subject: The study.
    names: list of str; tables found so far.
    """

    def __init__(self, subject: StudySubject) -> None:
        self.names: list[str] = []
        self._subject = subject
        self._tables = subject.study.list_tables()
        self._plan = subject.plan.to_json()
        self._places, self._labels = list_run_places(self._plan), list_labels(self._plan)
        runs = [len(point.seeds) for point in subject.plan.points]
        points = list(accumulate(len(table.points) for table in self._tables))
        self._end_runs = [sum(runs[:count]) for count in points]
        self._ended_count = 0
        self._values = runner.StudyValues({}, "", 0)

    def collect_new(self, records: Mapping[int, RunRecord]) -> Reproduction | None:
        """Collect the tables that are known now and were not before; None if there is none.

        records: All runs that have ended, by number.
        """
        while self._ended_count in records:
            self._ended_count += 1
        new_tables = self._tables[len(self.names) : bisect_right(self._end_runs, self._ended_count)]
        if not new_tables:
            return None
        for table in new_tables:
            place = len(self.names)
            numbers = range(self._end_runs[place - 1] if place else 0, self._end_runs[place])
            table_records = {run: records[run] for run in numbers}
            block = build_frame(self._plan, table_records, self._places, self._labels)
            runner.read_table_values(self._subject.study, table, block, self._values)
            self.names.append(table.name)
        new = {table.name for table in new_tables}
        columns = {
            place: values for place, values in self._values.columns.items() if place[0] in new
        }
        return Reproduction(
            self._subject.study, self._subject.seeds, runner.StudyValues(columns, "", 0)
        )
