"""``trunkline fit``: fit parameters of a scenario to measurements on a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from trunkline import network as networks, scenario as scenarios
from trunkline.importers.traffic.measured_values import (
    MeasuredValue,
    MeasurementError,
    read_measured_values,
)
from trunkline.network import Network
from trunkline.scenario import Scenario
from trunkline.scenario.diagnostic import suggest_nearest
from trunkline.scenario.yaml_text import parse_yaml
from trunkline.study.errors import StudyError
from trunkline.study.fit.study_fit import StudyFit, fit_study
from trunkline.study.language.model import Study, StudyFile
from trunkline.study.language.parts import PublishedValue

ROW = "as stated"

_COLUMN_OF_MEASURE: dict[str, dict[str, str]] = {
    "sent": {"table": "ports", "measure": "packets_sent", "unit": "packets"},
    "dropped": {"table": "ports", "measure": "packets_dropped", "unit": "packets"},
    "rate": {"table": "flows", "measure": "throughput_bit_s", "unit": "Mbit/s"},
    "round trip": {"table": "echoes", "measure": "rtt_mean_s", "unit": "ms"},
}


def fit_scenario(
    scenario: str | Path,
    measured: str | Path,
    priors: Mapping[str, str | Sequence[str] | Mapping[str, Any]],
    *,
    matches: Mapping[str, str] | None = None,
    replications: int = 2,
    **options: Any,
) -> StudyFit:
    """Infer parameters of a scenario from what was measured.

    Parameters
    ----------
    scenario : str or Path
        Scenario with parameters.
    measured : str or Path
        What ``tc -s qdisc show`` printed, a file of flent, or a capture. Counts are those of the
        run, so the scenario lasts as long as the measurement.
    priors : mapping of str to prior
        Parameter, or path of a value, to what it may be, as a study file has it: a range, a list,
        or a normal law; or the YAML text of one.
    matches : mapping of str to str, optional
        Name in the file to the flow or the direction of a link of the scenario; the same name if
        left out. An empty name leaves it out.
    replications : int, default 2
        Replications of each trial.
    **options
        As of :func:`trunkline.study.fit_study`.

    Raises
    ------
    StudyError
        The file holds nothing measured, a name is not in the scenario, or a prior is wrong.
    """
    file = Path(scenario)
    try:
        values = read_measured_values(Path(measured))
    except MeasurementError as error:
        raise StudyError(str(error)) from None
    except OSError as error:
        raise StudyError(f"{measured}: {error.strerror}") from None
    study = build_measured_study(file, values, priors, matches=matches or {}, runs=replications)
    return fit_study(study, **options)


def build_measured_study(
    file: Path,
    values: Sequence[MeasuredValue],
    priors: Mapping[str, str | Sequence[str] | Mapping[str, Any]],
    *,
    matches: Mapping[str, str],
    runs: int,
) -> Study:
    """Build the study whose published values are the measured ones."""
    loaded = scenarios.load(file)
    network = networks.compile(loaded)
    if not priors:
        raise StudyError("nothing to fit: give a prior, e.g. 'queue=[20 packets, 50 packets]'")
    columns: dict[str, dict[str, Any]] = {}
    published = []
    names = {value.name for value in values}
    for name in matches:
        if name not in names:
            raise StudyError(f"{name!r} was not measured; the file has: {', '.join(sorted(names))}")
    for value in values:
        target = matches.get(value.name, value.name)
        if not target:
            continue
        column = _COLUMN_OF_MEASURE[value.measure]
        _check_target(network, value, target)
        where = {"link": target} if column["table"] == "ports" else {"flow": target}
        name = f"{target} {value.measure}"
        columns[name] = {**column, "where": where}
        published.append(
            PublishedValue(
                table="1", row=ROW, column=name, value=value.value, rounded_to=value.rounded_to
            )
        )
    if not published:
        raise StudyError("no measured value is left: every name was left out")
    fitted = [
        {
            "parameter": name,
            "value": _find_value(loaded, name),
            "prior": _parse_prior(name, prior),
            "reason": "asked for",
        }
        for name, prior in priors.items()
    ]
    document = {
        "study": 1,
        "name": loaded.name or file.stem,
        "title": f"{loaded.name or file.stem}, fitted to measurements",
        "scenario": file.name,
        "runs": max(runs, 5),
        "columns": columns,
        "fitted": fitted,
        "fit": {"runs": runs},
    }
    try:
        parsed = StudyFile.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        place = [str(each) for each in first["loc"]]
        name = list(priors)[int(place[1])] if place[:1] == ["fitted"] else ".".join(place)
        raise StudyError(f"prior of {name}: {first['msg']}") from None
    fields: dict[str, Any] = dict(parsed) | {
        "published": published,
        "file": file.resolve().parent / "study.yaml",
        "document": document,
    }
    return Study.model_construct(parsed.model_fields_set, **fields)


def _check_target(network: Network, value: MeasuredValue, target: str) -> None:
    """Check whether the scenario has the flow or the direction of a link."""
    if value.measure in ("sent", "dropped"):
        known, kind = [str(link["name"]) for link in network.links], "direction of a link"
    else:
        known, kind = [str(flow["name"]) for flow in network.flows], "flow"
    if target not in known:
        hint = suggest_nearest(target, known)
        raise StudyError(
            f"{value.name} ({value.measure}): the scenario has no {kind} {target!r}"
            f"{f'; did you mean {hint}?' if hint else ''}; match it with one of "
            f"{', '.join(known[:20])}, or with nothing to leave it out"
        )


def _find_value(loaded: Scenario, name: str) -> str:
    """Find the value of a parameter in the scenario file; that of a path is not known here."""
    found = loaded.parameters.get(name)
    return "" if found is None else str(found)


def _parse_prior(name: str, prior: str | Sequence[str] | Mapping[str, Any]) -> Any:
    if not isinstance(prior, str):
        return prior
    try:
        parsed, _ = parse_yaml(prior, f"prior of {name}")
    except scenarios.ScenarioError as error:
        raise StudyError(f"prior of {name}: {error.diagnostics[0].message}") from None
    return parsed
