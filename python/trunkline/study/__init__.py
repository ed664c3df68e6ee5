"""Studies: many runs of a scenario, on one machine or many, and what they say.

``read`` gives the runs of a study's folder, whether or not all have ended; ``reproduce`` runs a
study and compares it with what was published.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trunkline.lazy import attributes

if TYPE_CHECKING:
    from trunkline.study.language.catalogue import find, names
    from trunkline.study.language.model import Study
    from trunkline.study.outcome.reproduction import Reproduction, Subject, reproduce
    from trunkline.study.outcome.sensitivity import sensitivity
    from trunkline.study.run.execute import How
    from trunkline.study.run.frames import Runs, read
    from trunkline.study.run.merge import merge
    from trunkline.study.run.perform import Incomplete, performed
    from trunkline.study.run.plan import Plan, Point
else:
    __getattr__ = attributes(
        __name__,
        {
            "trunkline.study.language.catalogue": "find names",
            "trunkline.study.language.model": "Study",
            "trunkline.study.outcome.reproduction": "Reproduction Subject reproduce",
            "trunkline.study.outcome.sensitivity": "sensitivity",
            "trunkline.study.run.execute": "How",
            "trunkline.study.run.frames": "Runs read",
            "trunkline.study.run.merge": "merge",
            "trunkline.study.run.perform": "Incomplete performed",
            "trunkline.study.run.plan": "Plan Point",
        },
    )

__all__ = [
    "How",
    "Incomplete",
    "Plan",
    "Point",
    "Reproduction",
    "Runs",
    "Study",
    "Subject",
    "find",
    "merge",
    "names",
    "performed",
    "read",
    "reproduce",
    "sensitivity",
]
