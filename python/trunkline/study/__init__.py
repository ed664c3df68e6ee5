"""Studies: many runs of a scenario, on one machine or many, and their outcome.

``read`` gives the runs of a study's folder, whether or not all have ended; ``reproduce`` runs a
study and compares it with what was published; ``fit_study`` infers what a document leaves unsaid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trunkline.lazy_imports import make_lazy_getattr

if TYPE_CHECKING:
    from trunkline.study.fit.scenario_fit import fit_scenario
    from trunkline.study.fit.study_fit import StudyFit, fit_study
    from trunkline.study.language.catalogue import find_study, list_study_names
    from trunkline.study.language.model import Study
    from trunkline.study.outcome.reproduction import Reproduction, StudySubject, reproduce
    from trunkline.study.run.data_set import Runs, read
    from trunkline.study.run.execution import RunOptions
    from trunkline.study.run.merge import merge_shards
    from trunkline.study.run.run_plan import RunPlan, StudyPoint
    from trunkline.study.run.session import IncompleteStudy, perform_plan
else:
    __getattr__ = make_lazy_getattr(
        __name__,
        {
            "trunkline.study.fit.scenario_fit": "fit_scenario",
            "trunkline.study.fit.study_fit": "StudyFit fit_study",
            "trunkline.study.language.catalogue": "find_study list_study_names",
            "trunkline.study.language.model": "Study",
            "trunkline.study.outcome.reproduction": "Reproduction StudySubject reproduce",
            "trunkline.study.run.execution": "RunOptions",
            "trunkline.study.run.data_set": "Runs read",
            "trunkline.study.run.merge": "merge_shards",
            "trunkline.study.run.session": "IncompleteStudy perform_plan",
            "trunkline.study.run.run_plan": "RunPlan StudyPoint",
        },
        renamed={
            "How": "RunOptions",
            "Incomplete": "IncompleteStudy",
            "Plan": "RunPlan",
            "Point": "StudyPoint",
            "Subject": "StudySubject",
            "find": "find_study",
            "merge": "merge_shards",
            "names": "list_study_names",
            "performed": "perform_plan",
        },
    )

__all__ = [
    "IncompleteStudy",
    "Reproduction",
    "RunOptions",
    "RunPlan",
    "Runs",
    "Study",
    "StudyFit",
    "StudyPoint",
    "StudySubject",
    "find_study",
    "fit_scenario",
    "fit_study",
    "list_study_names",
    "merge_shards",
    "perform_plan",
    "read",
    "reproduce",
]
