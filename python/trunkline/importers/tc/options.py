"""Options of the queueing disciplines and classes of tc.

Source: tc(8), tc-cbq(8), tc-drr(8), tc-htb(8), tc-prio(8), tc-red(8), tc-tbf(8), tc-pfifo(8) and
iproute2's usage texts of gred and dsmark.
"""

from trunkline.importers.common.classify import whole
from trunkline.importers.common.fault import Note, Word, refuse
from trunkline.importers.common.quantities import whole_number
from trunkline.importers.common.tree import Options, Qdisc, Virtual
from trunkline.importers.tc import modern
from trunkline.importers.tc.reads import Read, Table, count, table
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
    minor = word.text.rpartition(":")[2]
    return whole_number(word, "class", "its minor number, hexadecimal", part=minor, base=16)


def _weight(reader: Reader) -> int:
    """Number or rate: only the ratios of weights matter."""
    return max(1, reader.rate() // 8)


def _priomap(reader: Reader) -> list[int]:
    return [reader.number(0, 15) for _ in range(16)]


def _defmap(reader: Reader) -> int:
    word = reader.take("a map")
    bits = word.text.partition("/")[0]
    return whole_number(word, "map", "16 bits, hexadecimal", part=bits, base=16)


_RANGES = {"DPs": count(1, 16), "vqs": count(1, 16), "DP": count(0, 15), "vq": count(0, 15)}
_CBQ = "bandwidth rate avpkt allot weight maxburst ewma prio minburst= mpu= cell= bounded borrow "
_CBQ += "isolated sharing overhead= linklayer="
_CBQ_READS: dict[str, Read] = {
    "weight": _weight,
    "maxburst": count(1, 1_000_000),
    "ewma": count(1, 16),
    "prio": count(0, 8),
    "minburst": count(0, 1_000_000),
}
_RED = "limit min max avpkt burst bandwidth probability ecn="
_RED_BURST = count(1, 2**31 - 1)

QDISCS: dict[str, Table] = {
    "cbq": table(_CBQ, **_CBQ_READS),
    "htb": table(
        "default r2q direct_qlen=",
        default=_hex,
        r2q=count(1, 1_000_000),
        direct_qlen=count(0, 2**31 - 1),
    ),
    "drr": {},
    "prio": table("bands priomap", bands=count(2, 16), priomap=_priomap),
    "dsmark": table(
        "indices default_index set_tc_index",
        indices=count(1, 2**16),
        default_index=count(0, 2**16),
    ),
    "gred": table(
        "setup DPs vqs=DPs default grio limit ecn= harddrop", default=count(0, 15), **_RANGES
    ),
    "red": table(f"{_RED} harddrop", burst=_RED_BURST),
    "tbf": table(
        "rate burst buffer=burst maxburst=burst limit latency peakrate mtu=minburst minburst "
        "mpu= overhead= linklayer="
    ),
    "pfifo": table("limit=packets", limit=count(0, 2**31 - 1)),
    "bfifo": table("limit=bytes"),
    "pfifo_fast": {},
    "ingress": {},
    "clsact": {},
    **modern.QDISCS,
}
"""Options by queueing discipline."""

CLASSES: dict[str, Table] = {
    "cbq": table(f"{_CBQ} defmap split= estimator=", defmap=_defmap, **_CBQ_READS),
    "htb": table(
        "rate ceil burst buffer=burst maxburst=burst cburst cbuffer=cburst prio quantum "
        "mtu= mpu= overhead= linklayer=",
        prio=count(0, 7),
    ),
    "drr": table("quantum"),
}
"""Options by kind of class."""

_VIRTUAL = table(f"{_RED} DP=dp vq=dp prio", burst=_RED_BURST, prio=count(0, 255), **_RANGES)
_MARK = table("mask value", mask=count(0, 255), value=count(0, 255))


def read_options(reader: Reader, known: Table, of: Word, notes: list[Note]) -> Options:
    """All that is left of a command, as options.

    Parameters
    ----------
    notes : list of Note
        Gets those that change nothing.
    """
    options: Options = {}
    while reader.more():
        word = reader.take("an option")
        if word.text not in known:
            listed = ", ".join(known) or "none"
            refuse(word, f"{of.text} has no option {word.text} that is read", listed)
        name, read = known[word.text]
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
    options = read_options(reader, _MARK, of, [])
    return whole(options, "mask", 0xFF), whole(options, "value", 0)
