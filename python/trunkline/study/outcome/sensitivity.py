"""How much the outcome of a study depends on each value that had to be fitted."""

from collections.abc import Sequence
from dataclasses import dataclass

from trunkline.results.render import add, draw, frame
from trunkline.study.language.catalogue import find
from trunkline.study.language.model import Study
from trunkline.study.language.parts import Fitted
from trunkline.study.outcome.reproduction import Reproduction
from trunkline.study.run import runner


@dataclass(frozen=True, slots=True)
class Trial:
    """A study with one fitted value changed.

    Parameters
    ----------
    parameter, value : str
        What was changed, and to what; both empty for the study as it is.
    errors : dict of str to float
        Mean ``|ln(ours / published)|`` of each table, doubtful cells left out; of a study that
        compares by difference, mean ``|ours - published|``.
    broken : list of str
        Names of the claims that do not hold.
    """

    parameter: str
    value: str
    errors: dict[str, float]
    broken: list[str]


def sensitivity(name: str, *, runs: int | None = None, threads: int | None = None) -> list[Trial]:
    """Run a study as it is, then with each fitted value replaced by each of its ``others``.

    Parameters
    ----------
    name : str
        A study of the package, or a folder with a ``study.yaml``.
    runs : int, optional
        Replications of each point; the study's own number if left out.
    threads : int, optional
        Runs at once; all cores if left out.
    """
    study = find(name)
    numbers = list(range(1, (runs or study.runs) + 1))
    trials = [_trial(study, numbers, "", "", threads)]
    for item in study.fitted:
        for other in item.others:
            changed = _with(study, item, other)
            trials.append(_trial(changed, numbers, item.parameter, other, threads))
    return trials


def render(trials: Sequence[Trial], *, width: int | None = None, colour: bool = False) -> str:
    """Write trials as a table for a terminal."""
    tables = list(trials[0].errors)
    heads = ["changed", "to", *(f"table {table}" for table in tables), "claims not held"]
    drawn = frame("Error by table, and claims not held", heads, names=2)
    for trial in trials:
        errors = [f"{trial.errors[table]:.3f}" for table in tables]
        cells = [trial.parameter or "nothing", trial.value, *errors, str(len(trial.broken))]
        add(drawn, cells)
    return draw([drawn], width=width, colour=colour)


def _with(study: Study, item: Fitted, other: str) -> Study:
    fitted = [
        each.model_copy(update={"value": other}) if each is item else each for each in study.fitted
    ]
    return study.model_copy(update={"fitted": fitted})


def _trial(
    study: Study, seeds: list[int], parameter: str, value: str, threads: int | None
) -> Trial:
    done = Reproduction(study, seeds, runner.run(study, seeds, threads=threads))
    errors = {
        table: error.mean_absolute if error.mean_log_ratio is None else error.mean_log_ratio
        for table, error in done.errors().items()
    }
    return Trial(parameter, value, errors, [claim.name for claim in done.claims if not claim.held])
