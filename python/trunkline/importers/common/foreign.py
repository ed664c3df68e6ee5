"""Queueing disciplines of Linux that no port configuration stands for, and what is nearest.

Source: tc(8) and the manual pages of the disciplines.
"""

from collections.abc import Iterable
from typing import NoReturn

from trunkline.importers.common.fault import Word, refuse

_FLOWS = "pfifo, or drr with a class for each flow"
_FLOWS_SHORT = f"{_FLOWS}; red for short queues"
_HARDWARE = "prio, or drr where queues take turns"
NEAREST = {
    "atm": "prio",
    "cake": "htb of its bandwidth, with a class for each of its tins",
    "cbs": "htb, with a class for each idleslope",
    "choke": "red",
    "codel": "red",
    "dualpi2": "red",
    "etf": "prio",
    "ets": "prio for the strict bands, drr for those with a quantum",
    "fq": _FLOWS,
    "fq_codel": _FLOWS_SHORT,
    "fq_pie": _FLOWS_SHORT,
    "hfsc": "htb",
    "hhf": _FLOWS,
    "mq": _HARDWARE,
    "mqprio": _HARDWARE,
    "multiq": _HARDWARE,
    "netem": "none; delay and loss are keys of a link",
    "noqueue": "none; a link without a rate has no queue",
    "pfifo_head_drop": "pfifo",
    "pie": "red",
    "qfq": "drr",
    "sfb": "red",
    "sfq": _FLOWS,
    "skbprio": "gred, with a virtual queue for each priority",
    "taprio": "prio",
    "wrr": "drr",
}
"""What comes nearest to each."""


def refuse_discipline(at: Word, known: Iterable[str]) -> NoReturn:
    """Raise the fault of a discipline that is not read."""
    near = NEAREST.get(at.text.lower())
    hint = "" if near is None else f"; nearest: {near}"
    refuse(at, f"there is no queueing discipline {at.text} here{hint}", ", ".join(known))
