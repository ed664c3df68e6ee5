"""Options of the queueing disciplines and classes of tc.

Source: tc(8), tc-cbq(8), tc-drr(8), tc-htb(8), tc-prio(8), tc-red(8), tc-tbf(8), tc-pfifo(8) and
iproute2's usage texts of gred and dsmark.
"""

from trunkline.importers.common.fault import Note, Word, refuse
from trunkline.importers.common.tree import Options, Qdisc, Virtual
from trunkline.importers.tc import modern
from trunkline.importers.tc.reads import Table, count, flag, probability, rate, size, time
from trunkline.importers.tc.words import Reader

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
    "bandwidth": ("bandwidth", rate),
    "rate": ("rate", rate),
    "avpkt": ("avpkt", size),
    "allot": ("allot", size),
    "weight": ("weight", _weight),
    "maxburst": ("maxburst", count(1, 1_000_000)),
    "ewma": ("ewma", count(1, 16)),
    "prio": ("prio", count(0, 8)),
    "minburst": ("", count(0, 1_000_000)),
    "mpu": ("", size),
    "cell": ("", size),
    "bounded": ("bounded", flag),
    "borrow": ("borrow", flag),
    "isolated": ("isolated", flag),
    "sharing": ("sharing", flag),
    "overhead": ("", _word),
    "linklayer": ("", _word),
}
_RED: Table = {
    "limit": ("limit", size),
    "min": ("min", size),
    "max": ("max", size),
    "avpkt": ("avpkt", size),
    "burst": ("burst", count(1, 2**31 - 1)),
    "bandwidth": ("bandwidth", rate),
    "probability": ("probability", probability),
    "ecn": ("", flag),
    "harddrop": ("harddrop", flag),
}

QDISCS: dict[str, Table] = {
    "cbq": _SAME_CBQ,
    "htb": {
        "default": ("default", _hex),
        "r2q": ("r2q", count(1, 1_000_000)),
        "direct_qlen": ("", count(0, 2**31 - 1)),
    },
    "drr": {},
    "prio": {"bands": ("bands", count(2, 16)), "priomap": ("priomap", _priomap)},
    "dsmark": {
        "indices": ("indices", count(1, 2**16)),
        "default_index": ("default_index", count(0, 2**16)),
        "set_tc_index": ("set_tc_index", flag),
    },
    "gred": {
        "setup": ("setup", flag),
        "DPs": ("DPs", count(1, 16)),
        "vqs": ("DPs", count(1, 16)),
        "default": ("default", count(0, 15)),
        "grio": ("grio", flag),
        "limit": ("limit", size),
        "ecn": ("", flag),
        "harddrop": ("harddrop", flag),
    },
    "red": _RED,
    "tbf": {
        "rate": ("rate", rate),
        "burst": ("burst", size),
        "buffer": ("burst", size),
        "maxburst": ("burst", size),
        "limit": ("limit", size),
        "latency": ("latency", time),
        "peakrate": ("peakrate", rate),
        "mtu": ("minburst", size),
        "minburst": ("minburst", size),
        "mpu": ("", size),
        "overhead": ("", _word),
        "linklayer": ("", _word),
    },
    "pfifo": {"limit": ("packets", count(0, 2**31 - 1))},
    "bfifo": {"limit": ("bytes", size)},
    "pfifo_fast": {},
    "ingress": {},
    "clsact": {},
    **modern.QDISCS,
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
        "rate": ("rate", rate),
        "ceil": ("ceil", rate),
        "burst": ("burst", size),
        "buffer": ("burst", size),
        "maxburst": ("burst", size),
        "cburst": ("cburst", size),
        "cbuffer": ("cburst", size),
        "prio": ("prio", count(0, 7)),
        "quantum": ("quantum", size),
        "mtu": ("", size),
        "mpu": ("", size),
        "overhead": ("", _word),
        "linklayer": ("", _word),
    },
    "drr": {"quantum": ("quantum", size)},
}
"""Options by kind of class."""

_VIRTUAL: Table = {**_RED, "DP": ("dp", count(0, 15)), "vq": ("dp", count(0, 15))}
_VIRTUAL["prio"] = ("prio", count(0, 255))
del _VIRTUAL["harddrop"]


def read_options(reader: Reader, table: Table, of: Word, notes: list[Note]) -> Options:
    """All that is left of a command, as options.

    Parameters
    ----------
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
            why = modern.IGNORED if of.text in modern.QDISCS else _IGNORED
            notes.append(Note(word.line, word.text, why[word.text]))
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
    table: Table = {"mask": ("mask", count(0, 255)), "value": ("value", count(0, 255))}
    options = read_options(reader, table, of, [])
    mask, value = options.get("mask", 0xFF), options.get("value", 0)
    assert isinstance(mask, int)
    assert isinstance(value, int)
    return mask, value
