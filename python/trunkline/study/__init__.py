"""Studies: many runs of a scenario, compared with what was published."""

from trunkline.study.catalogue import find, names
from trunkline.study.model import Study
from trunkline.study.reproduction import Reproduction, reproduce
from trunkline.study.sensitivity import sensitivity

__all__ = ["Reproduction", "Study", "find", "names", "reproduce", "sensitivity"]
