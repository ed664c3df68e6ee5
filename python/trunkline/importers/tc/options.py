"""Options of the queueing disciplines and classes of tc.

Source: tc(8), tc-cbq(8), tc-drr(8), tc-htb(8), tc-prio(8), tc-red(8), tc-tbf(8), tc-pfifo(8) and
iproute2's usage texts of gred and dsmark.
"""

from __future__ import annotations

from collections.abc import Callable

from trunkline.importers.common.fault import Note, Word, refuse
from trunkline.importers.common.tree import Options, Qdisc, Virtual
from trunkline.importers.tc.words import Reader

__all__ = ["CLASSES", "QDISCS", "dsmark_mark", "gred_virtual", "read_options"]

Read = Callable[[Reader], int | float | bool | list[int]]
Table = dict[str, tuple[str, Read]]
"""How each word is read, and the name of the option it sets; an empty name is left out."""

_EXACT = "times are exact here, tc's are tables of cells"
_IGNORED = {
    "cell": _EXACT,
    "mpu": "a packet counts its own length; keep packets at least as long",
    "overhead": "the header of the link says what a packet has on the wire",
    "linklayer": "the header of the link says what a packet has on the wire",
    "ecn": "flows say whether they are ECN-capable; RED then marks their packets",
    "estimator": "an estimator of tc measures, it changes no packet",
    "split": "where defmap is asked: the discipline or class above, as here",
    "mtu": "the rate tables of tc end there; times are exact here",
    "minburst": "the scheduler here has no such bound on the idle time",
    "cpriority": "tc ignores it too",
    "direct_qlen": "no packet goes past the classes here",
    "peakburst": "see mtu",
    "offload": "there is no hardware here",
}


def _rate(reader: Reader) -> int:
    return reader.rate()


def _size(reader: Reader) -> int:
    return reader.size()


def _time(reader: Reader) -> int:
    return reader.time()


def _flag(reader: Reader) -> bool:
    return True


def _probability(reader: Reader) -> float:
    return reader.probability()


def _count(low: int, high: int) -> Read:
    return lambda reader: reader.number(low, high)


def _hex(reader: Reader) -> int:
    word = reader.take("a class")
    try:
        return int(word.text.rpartition(":")[2], 16)
    except ValueError:
        refuse(word, f"{word.text} is no class", "its minor number, hexadecimal")


def _word(reader: Reader) -> bool:
    reader.take("a value")
    return True


def _weight(reader: Reader) -> int:
    """Number or rate: only the ratios of weights matter."""
    return max(1, reader.rate() // 8)


def _priomap(reader: Reader) -> list[int]:
    return [reader.number(0, 15) for _ in range(16)]


def _defmap(reader: Reader) -> int:
    word = reader.take("a map")
    try:
        return int(word.text.partition("/")[0], 16)
    except ValueError:
        refuse(word, f"{word.text} is no map", "16 bits, hexadecimal")


_SAME_CBQ: Table = {
    "bandwidth": ("bandwidth", _rate),
    "rate": ("rate", _rate),
    "avpkt": ("avpkt", _size),
    "allot": ("allot", _size),
    "weight": ("weight", _weight),
    "maxburst": ("maxburst", _count(1, 1_000_000)),
    "ewma": ("ewma", _count(1, 16)),
    "prio": ("prio", _count(0, 8)),
    "minburst": ("", _count(0, 1_000_000)),
    "mpu": ("", _size),
    "cell": ("", _size),
    "bounded": ("bounded", _flag),
    "borrow": ("borrow", _flag),
    "isolated": ("isolated", _flag),
    "sharing": ("sharing", _flag),
    "overhead": ("", _word),
    "linklayer": ("", _word),
}
_RED: Table = {
    "limit": ("limit", _size),
    "min": ("min", _size),
    "max": ("max", _size),
    "avpkt": ("avpkt", _size),
    "burst": ("burst", _count(1, 2**31 - 1)),
    "bandwidth": ("bandwidth", _rate),
    "probability": ("probability", _probability),
    "ecn": ("", _flag),
    "harddrop": ("harddrop", _flag),
}

QDISCS: dict[str, Table] = {
    "cbq": _SAME_CBQ,
    "htb": {
        "default": ("default", _hex),
        "r2q": ("r2q", _count(1, 1_000_000)),
        "direct_qlen": ("", _count(0, 2**31 - 1)),
    },
    "drr": {},
    "prio": {"bands": ("bands", _count(2, 16)), "priomap": ("priomap", _priomap)},
    "dsmark": {
        "indices": ("indices", _count(1, 2**16)),
        "default_index": ("default_index", _count(0, 2**16)),
        "set_tc_index": ("set_tc_index", _flag),
    },
    "gred": {
        "setup": ("setup", _flag),
        "DPs": ("DPs", _count(1, 16)),
        "vqs": ("DPs", _count(1, 16)),
        "default": ("default", _count(0, 15)),
        "grio": ("grio", _flag),
        "limit": ("limit", _size),
        "ecn": ("", _flag),
        "harddrop": ("harddrop", _flag),
    },
    "red": _RED,
    "tbf": {
        "rate": ("rate", _rate),
        "burst": ("burst", _size),
        "buffer": ("burst", _size),
        "maxburst": ("burst", _size),
        "limit": ("limit", _size),
        "latency": ("latency", _time),
        "peakrate": ("peakrate", _rate),
        "mtu": ("minburst", _size),
        "minburst": ("minburst", _size),
        "mpu": ("", _size),
        "overhead": ("", _word),
        "linklayer": ("", _word),
    },
    "pfifo": {"limit": ("packets", _count(0, 2**31 - 1))},
    "bfifo": {"limit": ("bytes", _size)},
    "pfifo_fast": {},
    "ingress": {},
    "clsact": {},
}
"""Options by queueing discipline."""

CLASSES: dict[str, Table] = {
    "cbq": {
        **_SAME_CBQ,
        "defmap": ("defmap", _defmap),
        "split": ("", _word),
        "estimator": ("", _word),
    },
    "htb": {
        "rate": ("rate", _rate),
        "ceil": ("ceil", _rate),
        "burst": ("burst", _size),
        "buffer": ("burst", _size),
        "maxburst": ("burst", _size),
        "cburst": ("cburst", _size),
        "cbuffer": ("cburst", _size),
        "prio": ("prio", _count(0, 7)),
        "quantum": ("quantum", _size),
        "mtu": ("", _size),
        "mpu": ("", _size),
        "overhead": ("", _word),
        "linklayer": ("", _word),
    },
    "drr": {"quantum": ("quantum", _size)},
}
"""Options by kind of class."""

_VIRTUAL: Table = {**_RED, "DP": ("dp", _count(0, 15)), "vq": ("dp", _count(0, 15))}
_VIRTUAL["prio"] = ("prio", _count(0, 255))
del _VIRTUAL["harddrop"]


def read_options(reader: Reader, table: Table, of: Word, notes: list[Note]) -> Options:
    """All that is left of a command, as options.

    Parameters
    ----------
    reader : Reader
        The words.
    table : dict
        How each is read.
    of : Word
        What they are options of, for messages.
    notes : list of Note
        Gets those that change nothing.
    """
    options: Options = {}
    while reader.more():
        word = reader.take("an option")
        if word.text not in table:
            known = ", ".join(table) or "none"
            refuse(word, f"{of.text} has no option {word.text} that is read", known)
        name, read = table[word.text]
        value = read(reader)
        if name:
            options[name] = value
        else:
            notes.append(Note(word.line, word.text, _IGNORED[word.text]))
    return options


def gred_virtual(reader: Reader, qdisc: Qdisc, notes: list[Note]) -> None:
    """A virtual queue: ``gred limit ... DP 1 probability 0.02 prio 2``."""
    at = reader.words[reader.at] if reader.more() else qdisc.at
    options = read_options(reader, _VIRTUAL, qdisc.at, notes)
    number = options.pop("dp", None)
    if not isinstance(number, int):
        refuse(at, "a virtual queue of gred needs its number", "DP 0 to DP 15")
    bound = qdisc.options.get("DPs", 16)
    if isinstance(bound, int) and number >= bound:
        why = f"DPs is {bound}: kernels since 2.6 want DP below that, 2.4 takes it, as here"
        notes.append(Note(at.line, f"DP {number}", why))
    qdisc.virtual[number] = Virtual(at, options)


def dsmark_mark(reader: Reader, of: Word) -> tuple[int, int]:
    """What dsmark writes for one index: ``mask 0x3 value 0xb8``."""
    table: Table = {"mask": ("mask", _count(0, 255)), "value": ("value", _count(0, 255))}
    options = read_options(reader, table, of, [])
    mask, value = options.get("mask", 0xFF), options.get("value", 0)
    assert isinstance(mask, int)
    assert isinstance(value, int)
    return mask, value
