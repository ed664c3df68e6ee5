"""Options of the queueing disciplines and classes of tc.

Source: tc(8), tc-cbq(8), tc-drr(8), tc-htb(8), tc-prio(8), tc-red(8), tc-tbf(8), tc-pfifo(8) and
iproute2's usage texts of gred and dsmark.
"""

from trunkline.importers.common.account import ImportAccount
from trunkline.importers.common.classification import DEFAULT_PRIOMAP, get_integer_option
from trunkline.importers.common.fault import SourceToken, raise_fault
from trunkline.importers.common.quantities import read_integer
from trunkline.importers.common.scheduler_classes import MAX_HTB_PRIORITY
from trunkline.importers.common.traffic_control import Options, Qdisc, VirtualQueue
from trunkline.importers.tc import aqm_options, hfsc_curves
from trunkline.importers.tc.option_values import (
    OptionReader,
    OptionTable,
    make_count_reader,
    make_option_table,
)
from trunkline.importers.tc.word_reader import WordReader

_EXACT_TIMES_NOTE = "times are exact here, tc's are tables of cells"
_NETEM_NOTES = {
    "delay": "a port delays nothing: give the link this delay",
    "latency": "a port delays nothing: give the link this delay",
    **dict.fromkeys(("loss", "drop"), "a port loses nothing: give the link this loss"),
    "rate": "the rate is the link's: give it this one",
    **dict.fromkeys(("corrupt", "duplicate", "reorder", "gap"), "packets are sent unchanged here"),
    **dict.fromkeys(("distribution", "slot", "seed"), "of the delay"),
}
"""Effect of each netem option on packets, and how the importer treats it."""
_NETEM_WORDS = tuple(_NETEM_NOTES)
_IGNORED_OPTIONS = {
    **_NETEM_NOTES,
    "cell": _EXACT_TIMES_NOTE,
    "mpu": aqm_options.MPU_NOTE,
    "overhead": aqm_options.OVERHEAD_NOTE,
    "linklayer": aqm_options.OVERHEAD_NOTE,
    "ecn": "flows say whether they are ECN-capable; RED then marks their packets",
    "estimator": "an estimator of tc measures, it changes no packet",
    "split": "where defmap is asked: the discipline or class above, as here",
    "mtu": "the rate tables of tc end there; times are exact here",
    "minburst": "the scheduler here has no such bound on the idle time",
    "cpriority": "tc ignores it too",
    "peakburst": "see mtu",
    "offload": "there is no hardware here",
}


def _read_class_minor(reader: WordReader) -> int:
    """``default 30``: without the major number, which tc refuses."""
    return read_integer(
        reader.take_word("a class"), "class", "its minor number, hexadecimal", base=16
    )


def _read_htb_priority(reader: WordReader) -> int:
    """Decimal, as tc reads it."""
    word = reader.take_word("a number")
    value = read_integer(word, "priority of htb", "a decimal number", base=10)
    if value < 0:
        raise_fault(word, f"{word.text} is no priority of htb", "0 and more; all above 7 is 7")
    return value


def _read_weight(reader: WordReader) -> int:
    """Number or rate: only the ratios of weights matter."""
    return max(1, reader.read_rate() // 8)


def _read_priomap(reader: WordReader) -> list[int]:
    """Read up to 16 bands; those that are not given keep their defaults."""
    bands: list[int] = []
    while len(bands) < len(DEFAULT_PRIOMAP) and reader.peek_text().isdecimal():
        bands.append(reader.read_number(0, 15))
    if not bands:
        reader.read_number(0, 15)
    return bands + list(DEFAULT_PRIOMAP[len(bands) :])


def _read_netem_values(reader: WordReader) -> list[str]:
    values = [reader.take_word("a value").text]
    while reader.has_more() and reader.peek_text() not in (*_NETEM_WORDS, "limit", "ecn"):
        values.append(reader.take_word("a value").text)
    return values


def _read_defmap(reader: WordReader) -> int:
    word = reader.take_word("a map")
    bits = word.text.partition("/")[0]
    return read_integer(word, "map", "16 bits, hexadecimal", part=bits, base=16)


CELLS = ("atm", "adsl")  # Names of ATM as a link layer.
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
        "default r2q direct_qlen offload=",
        default=_read_class_minor,
        r2q=make_count_reader(1, 1_000_000),
        direct_qlen=make_count_reader(0, 2**31 - 1),
    ),
    "hfsc": make_option_table("default", default=_read_class_minor),
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
    "netem": make_option_table(
        f"limit=packets {' '.join(f'{word}=' for word in _NETEM_WORDS)}",
        limit=make_count_reader(0, 2**31 - 1),
        **dict.fromkeys(_NETEM_WORDS, _read_netem_values),
    ),
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
        prio=_read_htb_priority,
    ),
    "hfsc": {word: (word, hfsc_curves.read_service_curve) for word in hfsc_curves.CURVE_WORDS},
    "drr": make_option_table("quantum"),
}
"""Options by kind of class."""

UNSUPPORTED_OPTIONS: dict[str, dict[str, tuple[int, str]]] = {
    "cake": {
        **dict.fromkeys(
            ("ack-filter", "ack-filter-aggressive"), (0, "acknowledgements are not thinned here")
        ),
        **dict.fromkeys(
            ("srchost", "dsthost", "hosts"), (0, "the flows of a host are queues of their own here")
        ),
        "flowblind": (0, "each flow has its own queue here"),
        "autorate-ingress": (0, "the rate does not follow what comes in"),
        "fwmark": (1, "tins are chosen by the DSCP alone"),
    },
}
"""Options of tc that change the behaviour: their number of values, and the difference
without them."""

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
    reader: WordReader,
    table: OptionTable,
    owner: SourceToken,
    account: ImportAccount,
    *,
    partial: bool = False,
) -> Options:
    """Read all that is left of a command, as options.

    account: Gets those that change nothing.
    partial: Whether options that have no counterpart are left out too.
    """
    unsupported = UNSUPPORTED_OPTIONS.get(owner.text, {})
    options: Options = {}
    while reader.has_more():
        start = reader.position
        word = reader.take_word("an option")
        if word.text in unsupported:
            value_count, reason = unsupported[word.text]
            if not partial:
                raise_fault(word, f"{word.text} of {owner.text} has no counterpart: {reason}")
            reader.position = min(reader.position + value_count, len(reader.words))
            text = " ".join(each.text for each in reader.words[start : reader.position])
            account.add_left_out(text, reason, line=word.line)
            continue
        if word.text not in table:
            listed = ", ".join(table) or "none"
            raise_fault(word, f"{owner.text} has no option {word.text} that is read", listed)
        name, read = table[word.text]
        if owner.text == "htb" and name in ("rate", "ceil") and name in options:
            raise_fault(word, f"{word.text} is given twice, which tc refuses")
        value = read(reader)
        if name:
            options[name] = value
        else:
            reasons = (
                aqm_options.IGNORED_OPTIONS
                if owner.text in aqm_options.QDISC_OPTIONS
                else _IGNORED_OPTIONS
            )
            has_cells = word.text == "linklayer" and reader.words[reader.position - 1].text in CELLS
            reason = aqm_options.CELLS_NOTE if has_cells else reasons[word.text]
            text = " ".join(each.text for each in reader.words[start : reader.position])
            account.add_left_out(text, reason, line=word.line)
    return options


def check_curves(options: Options, owner: SourceToken) -> None:
    """Refuse a class of hfsc that tc refuses.

    Raises ImportFault: It has no curve, or an upper limit alone.
    """
    if not options:
        known = ", ".join(hfsc_curves.CURVE_WORDS)
        raise_fault(owner, "a class of hfsc needs a service curve", known)
    if "ul" in options and not {"ls", "sc"} & set(options):
        raise_fault(owner, "an upper limit without link sharing: tc refuses it", "ul with ls or sc")


def clamp_priority(options: Options, owner: SourceToken, account: ImportAccount) -> None:
    """Take htb's last priority for all above, as sch_htb.c does, and note it."""
    priority = get_integer_option(options, "prio", 0)
    if owner.text == "htb" and priority > MAX_HTB_PRIORITY:
        options["prio"] = MAX_HTB_PRIORITY
        why = f"htb takes its last priority, {MAX_HTB_PRIORITY}, for all above"
        account.add_assumption(f"prio {priority}", why, line=owner.line)


def check_options(qdisc: Qdisc) -> None:
    """Refuse combinations of options that tc or the kernel refuses.

    Raises ImportFault: With the reason that they give.
    """
    options = qdisc.options
    if qdisc.kind == "tbf":
        if "limit" in options and "latency" in options:
            raise_fault(qdisc.at, 'tbf: both "latency" and "limit" are given', "one of them")
        if "peakrate" in options:
            peak_rate, rate = (get_integer_option(options, key, 0) for key in ("peakrate", "rate"))
            if peak_rate <= rate:
                raise_fault(
                    qdisc.at, f"tbf: peakrate {peak_rate} bit/s is not above rate {rate} bit/s"
                )


def read_gred_virtual_queue(reader: WordReader, qdisc: Qdisc, account: ImportAccount) -> None:
    """Read a virtual queue: ``gred limit ... DP 1 probability 0.02 prio 2``."""
    at = reader.words[reader.position] if reader.has_more() else qdisc.at
    options = read_options(reader, _VIRTUAL_QUEUE_OPTIONS, qdisc.at, account)
    number = options.pop("dp", None)
    if not isinstance(number, int):
        raise_fault(at, "a virtual queue of gred needs its number", "DP 0 to DP 15")
    virtual_queue_count = qdisc.options.get("DPs", 16)
    if isinstance(virtual_queue_count, int) and number >= virtual_queue_count:
        why = (
            f"DPs is {virtual_queue_count}: kernels since 2.6 want DP below that, 2.4 "
            f"takes it, as here"
        )
        account.add_assumption(f"DP {number}", why, line=at.line)
    qdisc.virtual_queues[number] = VirtualQueue(at, options)


def read_dsmark_value(reader: WordReader, owner: SourceToken) -> tuple[int, int]:
    """Read the bits that dsmark writes for one index: ``mask 0x3 value 0xb8``."""
    options = read_options(reader, _DSMARK_OPTIONS, owner, ImportAccount())
    return get_integer_option(options, "mask", 0xFF), get_integer_option(options, "value", 0)
