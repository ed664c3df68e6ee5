"""What links carry while something is down, against the rest of the time: where to add capacity."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trunkline.report.charts import Series, recorded
from trunkline.report.exhibit import Exhibit

NANOS = 1e-9


@dataclass(frozen=True, slots=True)
class Stress:
    """One direction of a link in the first run.

    Parameters
    ----------
    use_up, use_down : float
        Mean utilisation while nothing is down, and while something is, 0 to 1.
    use_most : float
        Greatest utilisation of a step while something is down.
    queue_most : float
        Maximum number of packets seen at its port then.
    dropped : float
        Packets that its port dropped then.
    """

    link: str
    use_up: float
    use_down: float
    use_most: float
    queue_most: float
    dropped: float


def down(exhibit: Exhibit) -> list[tuple[str, float, float]]:
    """Links that were down in the first run: name, from when, until when [s]."""
    names = {str(link["name"]) for link in exhibit.network["links"]}
    since: dict[str, float] = {}
    found: list[tuple[str, float, float]] = []
    for row in exhibit.first.timeline.rows():
        link = str(row["link"])
        if row["protection"] is not None or link not in names:
            continue
        at = float(row["time_s"] or 0)
        if row["event"] == "failed":
            since.setdefault(link, at)
        elif row["event"] == "repaired" and link in since:
            found.append((link, since.pop(link), at))
    end = exhibit.duration_ns / 1e9
    return found + [(link, at, end) for link, at in since.items()]


def stressed(exhibit: Exhibit) -> list[Stress]:
    """Every link that carried anything, the busiest while something was down first.

    Only steps that lie wholly in one of the two times count, and none before counting starts.

    Returns
    -------
    list of Stress
        Empty where nothing failed for a whole step, where something is always down, or where no
        run was repeated.
    """
    spans = down(exhibit)
    watched = exhibit.watched
    if not spans or not watched.runs:
        return []
    of: dict[str, dict[str, Series]] = {"utilisation": {}, "queue-packets": {}, "drops": {}}
    for one in recorded(exhibit):
        if one.of_class is None and one.measure in of:
            of[one.measure][one.target] = one
    step = watched.step_ns / 1e9
    found = []
    for link, use in of["utilisation"].items():
        broken, whole = _parts(use.time_s, step, spans, exhibit.warmup_ns / 1e9)
        if not broken.any() or not whole.any():
            return []
        shares = np.nan_to_num(use.values[0])
        queue = np.nan_to_num(of["queue-packets"][link].values[0])
        drops = np.nan_to_num(of["drops"][link].values[0])
        found.append(
            Stress(
                link,
                float(shares[whole].mean()),
                float(shares[broken].mean()),
                # A packet counts where its last bit leaves, so a step may hold a part of one more.
                min(1.0, float(shares[broken].max())),
                float(queue[broken].max()),
                float(drops[broken].sum() * step),
            )
        )
    return sorted(found, key=lambda each: -each.use_down)


def _parts(
    ends: NDArray[np.float64], step: float, spans: list[tuple[str, float, float]], start: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Steps wholly inside a time in which something is down, and those wholly outside of all."""
    begins = ends - step
    inside = np.zeros(len(ends), dtype=np.bool_)
    touched = np.zeros(len(ends), dtype=np.bool_)
    for _, since, until in spans:
        inside |= (begins >= since - NANOS) & (ends <= until + NANOS)
        touched |= (ends > since + NANOS) & (begins < until - NANOS)
    counted = begins >= start - NANOS
    return inside & counted, ~touched & counted
