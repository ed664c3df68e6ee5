"""Queueing disciplines of Linux without a port configuration, and the nearest one for each.

Source: tc(8) and the manual pages of the disciplines.
"""

from collections.abc import Iterable
from typing import NoReturn

from trunkline.importers.common.fault import SourceToken, raise_fault

_FLOW_QUEUEING_HINT = "pfifo, or drr with a class for each flow"
_SHORT_FLOW_QUEUEING_HINT = f"{_FLOW_QUEUEING_HINT}; red for short queues"
_HARDWARE_HINT = "prio, or drr where queues take turns"
NEAREST_DISCIPLINES = {
    "atm": "prio",
    "cake": "htb of its bandwidth, with a class for each of its tins",
    "cbs": "htb, with a class for each idleslope",
    "choke": "red",
    "codel": "red",
    "dualpi2": "red",
    "etf": "prio",
    "ets": "prio for the strict bands, drr for those with a quantum",
    "fq": _FLOW_QUEUEING_HINT,
    "fq_codel": _SHORT_FLOW_QUEUEING_HINT,
    "fq_pie": _SHORT_FLOW_QUEUEING_HINT,
    "hfsc": "htb",
    "hhf": _FLOW_QUEUEING_HINT,
    "mq": _HARDWARE_HINT,
    "mqprio": _HARDWARE_HINT,
    "multiq": _HARDWARE_HINT,
    "netem": "none; delay and loss are keys of a link",
    "noqueue": "none; a link without a rate has no queue",
    "pfifo_head_drop": "pfifo",
    "pie": "red",
    "qfq": "drr",
    "sfb": "red",
    "sfq": _FLOW_QUEUEING_HINT,
    "skbprio": "gred, with a virtual queue for each priority",
    "taprio": "prio",
    "wrr": "drr",
}
"""The nearest supported discipline of each."""


def raise_unknown_discipline(at: SourceToken, known: Iterable[str]) -> NoReturn:
    """Raise the fault of a discipline that is not read."""
    near = NEAREST_DISCIPLINES.get(at.text.lower())
    hint = "" if near is None else f"; nearest: {near}"
    raise_fault(at, f"there is no queueing discipline {at.text} here{hint}", ", ".join(known))
