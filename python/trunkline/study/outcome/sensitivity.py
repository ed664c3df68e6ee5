"""Sensitivity of a study to each fitted value."""

from collections.abc import Sequence
from dataclasses import dataclass

from trunkline.results.terminal_tables import add_text_row, begin_table, render_to_text
from trunkline.study.language.catalogue import find_study
from trunkline.study.language.model import Study
from trunkline.study.language.parts import FittedParameter
from trunkline.study.outcome.reproduction import Reproduction
from trunkline.study.run import runner


@dataclass(frozen=True, slots=True)
class SensitivityTrial:
    """A study with one fitted value changed."""

    # parameter, value: The changed parameter and its value; both empty for the unchanged study.
    parameter: str
    value: str
    # Mean ``|ln(ours / published)|`` of each table, doubtful cells left out; of a study that
    # compares by difference, mean ``|ours - published|``.
    errors: dict[str, float | None]
    broken_claims: list[str]  # Names of the claims that do not hold.


def sensitivity(
    name: str, *, runs: int | None = None, threads: int | None = None
) -> list[SensitivityTrial]:
    """Run a study unchanged, then with each fitted value replaced by each of its ``others``.

    name: A study of the package, or a folder with a ``study.yaml``.
    runs: Replications of each point; the study's own number if left out.
    threads: Runs at once; all cores if left out.
    """
    study = find_study(name)
    seeds = list(range(1, (runs or study.runs) + 1))
    trials = [_run_trial(study, seeds, "", "", threads)]
    for item in study.fitted:
        for other_value in item.others:
            changed = _replace_fitted_value(study, item, other_value)
            trials.append(_run_trial(changed, seeds, item.parameter, other_value, threads))
    return trials


def render_sensitivity(
    trials: Sequence[SensitivityTrial], *, width: int | None = None, colour: bool = False
) -> str:
    """Write trials as a table for a terminal."""
    tables = list(trials[0].errors)
    headers = ["changed", "to", *(f"table {table}" for table in tables), "claims not held"]
    rich_table = begin_table("Error by table, and claims not held", headers, names=2)
    for trial in trials:
        errors = [_format_error(trial.errors[table]) for table in tables]
        cells = [trial.parameter or "nothing", trial.value, *errors, str(len(trial.broken_claims))]
        add_text_row(rich_table, cells)
    return render_to_text([rich_table], width=width, colour=colour)


def _format_error(error: float | None) -> str:
    return "–" if error is None else f"{error:.3f}"


def _replace_fitted_value(study: Study, item: FittedParameter, other_value: str) -> Study:
    fitted = [
        each.model_copy(update={"value": other_value}) if each is item else each
        for each in study.fitted
    ]
    return study.model_copy(update={"fitted": fitted})


def _run_trial(
    study: Study, seeds: list[int], parameter: str, value: str, threads: int | None
) -> SensitivityTrial:
    reproduction = Reproduction(study, seeds, runner.run_in_memory(study, seeds, threads=threads))
    relative = study.error == "relative"
    errors = {
        table: error.mean_log_ratio if relative else error.mean_absolute
        for table, error in reproduction.errors().items()
    }
    return SensitivityTrial(
        parameter, value, errors, [claim.name for claim in reproduction.claims if not claim.is_held]
    )
