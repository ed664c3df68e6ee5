"""Studies: many runs of a scenario, compared with what was published."""

from trunkline.study.catalogue import find, names
from trunkline.study.model import Study
from trunkline.study.reproduction import Reproduction, reproduce

__all__ = ["Reproduction", "Study", "find", "names", "reproduce"]
