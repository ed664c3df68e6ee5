"""Trunkline: a laboratory for quality of service and traffic engineering in MPLS networks.

A scenario (YAML or Python objects) is compiled to a network of plain numbers, run by the packet
engine, and answered with tables::

    import trunkline as tl

    scenario = tl.load("hello.yaml")
    results = tl.run(scenario, seed=1)
    results.flows.to_polars()

Names are imported when first used, so ``import trunkline`` itself costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trunkline import notebook_form
from trunkline.lazy_imports import make_lazy_getattr

if TYPE_CHECKING:
    from types import ModuleType

    from trunkline.api import decompose, judge, run, run_many
    from trunkline.engine import simulate
    from trunkline.network import Network
    from trunkline.network.compile import compile
    from trunkline.notebook import graph, report_of
    from trunkline.planning.failure_delays import compute_failure_delays
    from trunkline.planning.failure_screening import survive
    from trunkline.planning.growth import grow
    from trunkline.planning.migration import migrate
    from trunkline.planning.placement import place
    from trunkline.planning.protection import protect
    from trunkline.planning.solver import solve
    from trunkline.results import Results, Table
    from trunkline.scenario import Diagnostic, Scenario, ScenarioError, load, loads, schema
    from trunkline.share import check_code, share_page
    from trunkline.study import Reproduction, fit_scenario, fit_study, reproduce
    from trunkline.workbench import (
        compare_runs,
        draw,
        first_difference,
        read,
        run_study,
        save,
        verify,
    )

__all__ = [
    "Diagnostic",
    "Network",
    "Reproduction",
    "Results",
    "Scenario",
    "ScenarioError",
    "Table",
    "__version__",
    "check_code",
    "compare_runs",
    "compile",
    "compute_failure_delays",
    "decompose",
    "draw",
    "first_difference",
    "fit_scenario",
    "fit_study",
    "graph",
    "grow",
    "judge",
    "load",
    "loads",
    "migrate",
    "place",
    "protect",
    "read",
    "report_of",
    "reproduce",
    "run",
    "run_many",
    "run_study",
    "save",
    "schema",
    "share_page",
    "simulate",
    "solve",
    "survive",
    "verify",
]

_attribute = make_lazy_getattr(
    __name__,
    {
        "trunkline.api": "decompose judge run run_many",
        "trunkline.engine": "simulate",
        "trunkline.network": "Network compile",
        "trunkline.notebook": "graph report_of",
        "trunkline.planning": "compute_failure_delays grow migrate place protect solve survive",
        "trunkline.results": "Results Table",
        "trunkline.share": "check_code share_page",
        "trunkline.scenario": "Diagnostic Scenario ScenarioError load loads schema",
        "trunkline.study": "Reproduction fit_scenario fit_study reproduce",
        "trunkline.workbench": "compare_runs draw first_difference read run_study save verify",
    },
)


def _load_notebook_forms() -> ModuleType:
    from trunkline import notebook

    return notebook


notebook_form.use_forms(_load_notebook_forms)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from trunkline import _core

        return _core.version()
    return _attribute(name)


def __dir__() -> list[str]:
    return sorted(__all__)
