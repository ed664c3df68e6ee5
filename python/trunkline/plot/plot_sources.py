"""Sources of named plots: results with their labels, and the choices within them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from trunkline.results import Results


class MissingData(ValueError):
    """The results lack data for a plot; the text names the missing probe of the scenario."""


@dataclass(frozen=True, slots=True)
class PlotSource:
    """Results to draw.

    Parameters
    ----------
    label : str
        What they are called in the picture.
    runs : sequence of Results
        Runs of one scenario with different seeds; none for a reproduction.
    record : dict
        For a reproduction: its JSON object.
    network : dict
        The compiled network, as the engine reads it; empty if it was not kept.
    """

    label: str
    runs: Sequence[Results] = ()
    record: dict[str, Any] = field(default_factory=dict)
    network: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlotChoice:
    """The chosen flows, links and classes of a plot.

    Parameters
    ----------
    only : frozenset of str
        Flows, links or classes; all if empty.
    measure : str or None
        Column of a table, for bars.
    table : str or None
        Table of a study, or of the results.
    fit : str
        Distribution fitted to a histogram.
    title : str or None
        Heading; that of the kind if None.
    since, until : float
        Part of the run that plots over time show [s].
    """

    only: frozenset[str] = frozenset()
    measure: str | None = None
    table: str | None = None
    fit: str = "best"
    title: str | None = None
    since: float = 0.0
    until: float = math.inf

    def is_chosen(self, name: str) -> bool:
        """Whether a flow, link or class should be drawn."""
        return not self.only or name in self.only

    def check_names(self, known: Sequence[str]) -> None:
        """Refuse names that nothing has.

        Raises
        ------
        MissingData
            One is not among them.
        """
        import difflib

        for name in sorted(self.only - set(known)):
            near = difflib.get_close_matches(name, known, 3)
            hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known)}"
            raise MissingData(f"nothing to draw is called {name!r}; {hint}")


def name_line(source: PlotSource, name: str, sources: Sequence[PlotSource]) -> str:
    """Name of a line: with that of its results where there are several."""
    return f"{source.label}: {name}" if len(sources) > 1 else name
