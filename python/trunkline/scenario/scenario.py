"""A scenario: its text, its meaning, and its loading."""

import os
from collections.abc import Mapping
from typing import Any, Self

from trunkline import notebook_form
from trunkline.scenario import loader, parameters, yaml_text
from trunkline.scenario.check import check
from trunkline.scenario.diagnostic import ScenarioError
from trunkline.scenario.garbage_collection import pause_garbage_collection
from trunkline.scenario.model import ScenarioSections
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved import ResolvedScenario, resolve
from trunkline.scenario.sla import SlaBound


class Scenario(ScenarioSections):
    """A whole scenario.

    Built by `trunkline.scenario.load` from a file, or from Python by ``Scenario(...)`` or
    ``Scenario.model_validate({...})``, where quantities are text with units or exact integers in
    base units (bit/s, ns, B).
    """

    def resolve(self) -> ResolvedScenario:
        """Resolve and check the scenario, once.

        Raises
        ------
        ScenarioError
            It was built in Python and has faults.
        """
        if self._resolved is None:
            problems = Problems()
            checked = check(self, problems)
            if checked is None or problems.has_errors:
                raise ScenarioError(each.diagnostic for each in problems.findings)
            self._resolved = checked
        resolved_scenario: ResolvedScenario = self._resolved
        return resolved_scenario

    def list_sla_bounds(self) -> list[SlaBound]:
        """List every bound of its service level agreements, for `trunkline.stats.judge`."""
        worked_out = self._resolved or resolve(self, Problems())
        return [] if worked_out is None else list(worked_out.sla_bounds)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with some sections replaced, to be resolved and checked again."""
        copy = super().model_copy(update=update, deep=deep)
        copy._resolved = None
        return copy

    def _repr_html_(self) -> str:
        return notebook_form.render_html("scenario", self)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return notebook_form.build_mime_bundle("scenario", self)

    def with_(self, overrides: Mapping[str, Any]) -> Self:
        """A copy with some values replaced, as ``--set`` does.

        Parameters
        ----------
        overrides : Mapping[str, Any]
            Parameter name or path (``links.R1-R2.rate``) to the new value: text as it would stand
            in the file, or a plain number.

        Returns
        -------
        Scenario
            The copy; expressions are worked out again.

        Raises
        ------
        ScenarioError
            An override fits nothing, or the new value is wrong.

        Examples
        --------
        >>> slow = scenario.with_({"udp_rate": "8 Mbit/s", "run.seed": 2})  # doctest: +SKIP
        """
        return loader.reload_with(self, overrides)


def load(
    source: str | os.PathLike[str] | Mapping[str, Any],
    *,
    overrides: Mapping[str, str] | None = None,
    strict: bool = False,
) -> Scenario:
    r"""Loads a scenario and checks it.

    Parameters
    ----------
    source : path, str or mapping
        A file; or the text itself, recognised by its line ends; or the document as Python values.
    overrides : Mapping[str, str], optional
        Parameter names or paths (``links.R1-R2.rate``) to new values as YAML text.
    strict : bool, default False
        Whether warnings are errors.

    Returns
    -------
    Scenario
        A scenario without a fault; its `warnings` list doubts.

    Raises
    ------
    ScenarioError
        With every fault found, sorted by place.

    Examples
    --------
    >>> load(
    ...     "trunkline: 1\nnodes: [A, B]\nlinks: {A-B: {rate: 1 Mbit/s}}\nrun: {duration: 1 s}\n"
    ... ).run.duration
    1000000000
    """
    with pause_garbage_collection():
        return loader.load_kind(Scenario, source, overrides or {}, strict)


def loads(
    content: str, *, overrides: Mapping[str, str] | None = None, strict: bool = False
) -> Scenario:
    """Load a scenario from its text; it may name no other files.

    Parameters
    ----------
    content : str
        The text, of any number of lines.
    overrides, strict
        As for `load`.

    Raises
    ------
    ScenarioError
        With every fault found, sorted by place.

    Examples
    --------
    >>> loads("{trunkline: 1, nodes: [A], run: {duration: 1 s}}").run.duration
    1000000000
    """
    # Text with a line end is text to `load`, not the name of a file.
    return load(f"{content}\n", overrides=overrides, strict=strict)


def reload_text(content: str) -> Scenario:
    """A scenario from text that was loaded before, without the files that it names.

    Raises ScenarioError, ValidationError: It is no such text.
    """
    problems = Problems()
    document, _ = yaml_text.parse_yaml(content, "<text>")
    substituted = parameters.substitute_parameters(document, problems)
    return Scenario.model_validate(substituted, context={"text": True, "substituted": True})
