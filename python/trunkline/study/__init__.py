"""Studies: many runs of a scenario, on one machine or many, and what they say.

``read`` gives the runs of a study's folder, whether or not all have ended; ``reproduce`` runs a
study and compares it with what was published.
"""

from trunkline.study.language.catalogue import find, names
from trunkline.study.language.model import Study
from trunkline.study.outcome.reproduction import Reproduction, Subject, reproduce
from trunkline.study.outcome.sensitivity import sensitivity
from trunkline.study.run.execute import How
from trunkline.study.run.frames import Runs, read
from trunkline.study.run.merge import merge
from trunkline.study.run.perform import Incomplete, performed
from trunkline.study.run.plan import Plan, Point

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
