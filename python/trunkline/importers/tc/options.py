"""Options of the queueing disciplines and classes of tc.

Source: tc(8), tc-cbq(8), tc-drr(8), tc-htb(8), tc-prio(8), tc-red(8), tc-tbf(8), tc-pfifo(8) and
iproute2's usage texts of gred and dsmark.
"""

from trunkline.importers.common.classification import get_integer_option
from trunkline.importers.common.fault import OmittedPart, SourceToken, raise_fault
from trunkline.importers.common.quantities import read_integer
from trunkline.importers.common.traffic_control import Options, Qdisc, VirtualQueue
from trunkline.importers.tc import aqm_options
from trunkline.importers.tc.option_values import (
    OptionReader,
    OptionTable,
    make_count_reader,
    make_option_table,
)
from trunkline.importers.tc.word_reader import WordReader

_EXACT_TIMES_NOTE = "times are exact here, tc's are tables of cells"
_IGNORED_OPTIONS = {
    "cell": _EXACT_TIMES_NOTE,
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


def _read_class_minor(reader: WordReader) -> int:
    word = reader.take_word("a class")
    minor = word.text.rpartition(":")[2]
    return read_integer(word, "class", "its minor number, hexadecimal", part=minor, base=16)


def _read_weight(reader: WordReader) -> int:
    """Number or rate: only the ratios of weights matter."""
    return max(1, reader.read_rate() // 8)


def _read_priomap(reader: WordReader) -> list[int]:
    return [reader.read_number(0, 15) for _ in range(16)]


def _read_defmap(reader: WordReader) -> int:
    word = reader.take_word("a map")
    bits = word.text.partition("/")[0]
    return read_integer(word, "map", "16 bits, hexadecimal", part=bits, base=16)


_NUMBER_RANGES = {
    "DPs": make_count_reader(1, 16),
    "vqs": make_count_reader(1, 16),
    "DP": make_count_reader(0, 15),
    "vq": make_count_reader(0, 15),
}
_CBQ_WORDS = (
    "bandwidth rate avpkt allot weight maxburst ewma prio minburst= mpu= cell= bounded borrow "
)
_CBQ_WORDS += "isolated sharing overhead= linklayer="
_CBQ_OPTION_READERS: dict[str, OptionReader] = {
    "weight": _read_weight,
    "maxburst": make_count_reader(1, 1_000_000),
    "ewma": make_count_reader(1, 16),
    "prio": make_count_reader(0, 8),
    "minburst": make_count_reader(0, 1_000_000),
}
_RED_WORDS = "limit min max avpkt burst bandwidth probability ecn="
_RED_BURST = make_count_reader(1, 2**31 - 1)

QDISC_OPTIONS: dict[str, OptionTable] = {
    "cbq": make_option_table(_CBQ_WORDS, **_CBQ_OPTION_READERS),
    "htb": make_option_table(
        "default r2q direct_qlen=",
        default=_read_class_minor,
        r2q=make_count_reader(1, 1_000_000),
        direct_qlen=make_count_reader(0, 2**31 - 1),
    ),
    "drr": {},
    "prio": make_option_table(
        "bands priomap", bands=make_count_reader(2, 16), priomap=_read_priomap
    ),
    "dsmark": make_option_table(
        "indices default_index set_tc_index",
        indices=make_count_reader(1, 2**16),
        default_index=make_count_reader(0, 2**16),
    ),
    "gred": make_option_table(
        "setup DPs vqs=DPs default grio limit ecn= harddrop",
        default=make_count_reader(0, 15),
        **_NUMBER_RANGES,
    ),
    "red": make_option_table(f"{_RED_WORDS} harddrop", burst=_RED_BURST),
    "tbf": make_option_table(
        "rate burst buffer=burst maxburst=burst limit latency peakrate mtu=minburst minburst "
        "mpu= overhead= linklayer="
    ),
    "pfifo": make_option_table("limit=packets", limit=make_count_reader(0, 2**31 - 1)),
    "bfifo": make_option_table("limit=bytes"),
    "pfifo_fast": {},
    "ingress": {},
    "clsact": {},
    **aqm_options.QDISC_OPTIONS,
}
"""Options by queueing discipline."""

CLASS_OPTIONS: dict[str, OptionTable] = {
    "cbq": make_option_table(
        f"{_CBQ_WORDS} defmap split= estimator=", defmap=_read_defmap, **_CBQ_OPTION_READERS
    ),
    "htb": make_option_table(
        "rate ceil burst buffer=burst maxburst=burst cburst cbuffer=cburst prio quantum "
        "mtu= mpu= overhead= linklayer=",
        prio=make_count_reader(0, 7),
    ),
    "drr": make_option_table("quantum"),
}
"""Options by kind of class."""

_VIRTUAL_QUEUE_OPTIONS = make_option_table(
    f"{_RED_WORDS} DP=dp vq=dp prio",
    burst=_RED_BURST,
    prio=make_count_reader(0, 255),
    **_NUMBER_RANGES,
)
_DSMARK_OPTIONS = make_option_table(
    "mask value", mask=make_count_reader(0, 255), value=make_count_reader(0, 255)
)


def read_options(
    reader: WordReader, table: OptionTable, owner: SourceToken, notes: list[OmittedPart]
) -> Options:
    """All that is left of a command, as options.

    Parameters
    ----------
    notes : list of OmittedPart
        Gets those that change nothing.
    """
    options: Options = {}
    while reader.has_more():
        word = reader.take_word("an option")
        if word.text not in table:
            listed = ", ".join(table) or "none"
            raise_fault(word, f"{owner.text} has no option {word.text} that is read", listed)
        name, read = table[word.text]
        value = read(reader)
        if name:
            options[name] = value
        else:
            reasons = (
                aqm_options.IGNORED_OPTIONS
                if owner.text in aqm_options.QDISC_OPTIONS
                else _IGNORED_OPTIONS
            )
            notes.append(OmittedPart(word.line, word.text, reasons[word.text]))
    return options


def read_gred_virtual_queue(reader: WordReader, qdisc: Qdisc, notes: list[OmittedPart]) -> None:
    """A virtual queue: ``gred limit ... DP 1 probability 0.02 prio 2``."""
    at = reader.words[reader.position] if reader.has_more() else qdisc.at
    options = read_options(reader, _VIRTUAL_QUEUE_OPTIONS, qdisc.at, notes)
    number = options.pop("dp", None)
    if not isinstance(number, int):
        raise_fault(at, "a virtual queue of gred needs its number", "DP 0 to DP 15")
    virtual_queue_count = qdisc.options.get("DPs", 16)
    if isinstance(virtual_queue_count, int) and number >= virtual_queue_count:
        why = (
            f"DPs is {virtual_queue_count}: kernels since 2.6 want DP below that, 2.4 "
            f"takes it, as here"
        )
        notes.append(OmittedPart(at.line, f"DP {number}", why))
    qdisc.virtual_queues[number] = VirtualQueue(at, options)


def read_dsmark_value(reader: WordReader, owner: SourceToken) -> tuple[int, int]:
    """What dsmark writes for one index: ``mask 0x3 value 0xb8``."""
    options = read_options(reader, _DSMARK_OPTIONS, owner, [])
    return get_integer_option(options, "mask", 0xFF), get_integer_option(options, "value", 0)
