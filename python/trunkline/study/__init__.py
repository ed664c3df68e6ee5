"""Studies: many runs of a scenario, on one machine or many, and what they say.

``read`` gives the runs of a study's folder, whether or not all have ended; ``reproduce`` runs a
study and compares it with what was published.
"""

from trunkline.study.catalogue import find, names
from trunkline.study.execute import How
from trunkline.study.frames import Runs, read
from trunkline.study.merge import merge
from trunkline.study.model import Study
from trunkline.study.perform import Incomplete, performed
from trunkline.study.plan import Plan, Point
from trunkline.study.reproduction import Reproduction, Subject, reproduce
from trunkline.study.sensitivity import sensitivity

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
