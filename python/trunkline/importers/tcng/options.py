"""Parameters of the disciplines, classes and meters of tcng.

Source: tcng reference manual (2002), "Queuing disciplines" and "Metering". Buckets and the meter
SLB are one token bucket, DLB two that must both hold a packet; srTCM and trTCM are those of RFC
2697 and RFC 2698.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from trunkline.importers.common.classify import whole
from trunkline.importers.common.fault import Note, Word, refuse
from trunkline.importers.common.quantities import (
    TCNG_RATES,
    TCNG_SIZES,
    TCNG_TIMES,
    probability,
    quantity,
    whole_number,
)
from trunkline.importers.common.tree import Options, Police, Qdisc
from trunkline.importers.tc.police import DEFAULT_PEAK_BURST

Parameters = Mapping[str, list[Word]]
Value = int | float | bool
_EXACT = "times are exact here, tc's are tables of cells"
_IGNORED = {
    "cell": _EXACT,
    "mpu": "packets count their own length",
    "ecn": "flows say whether they are ECN-capable",
    "minburst": "the scheduler here has no such bound",
}


def _rate(word: Word) -> int:
    return quantity(word, TCNG_RATES, "a rate")


def _size(word: Word) -> int:
    return quantity(word, TCNG_SIZES, "a size")


def _time(word: Word) -> int:
    return quantity(word, TCNG_TIMES, "a time")


def _number(word: Word) -> int:
    return whole_number(word, "whole number")


def _packets(word: Word) -> int:
    if not word.text.removesuffix("p").isdecimal():
        refuse(word, f"{word.text} is no number of packets", "10p")
    return _number(replace(word, text=word.text.removesuffix("p")))


def _flag(word: Word) -> bool:
    return True


Read = Callable[[Word], Value]


def _all(words: str, read: Read) -> dict[str, Read]:
    return dict.fromkeys(words.split(), read)


_USUAL = {
    **_all("bandwidth rate ceil peakrate cir pir", _rate),
    **_all("avpkt allot cell mpu limit min max mtu quantum burst cburst cbs pbs ebs", _size),
    **_all("weight ewma prio r2q default bands indices default_index mask value", _number),
    **_all("maxburst minburst", _packets),
    "latency": _time,
    "probability": probability,
}
"""How a parameter is read wherever nothing else is said; all others are switches."""


def _known(words: str, **own: Read) -> dict[str, Read]:
    return {word: own.get(word) or _USUAL.get(word, _flag) for word in words.split()}


_CBQ = _known(
    "bandwidth rate avpkt allot weight maxburst minburst ewma prio bounded isolated cell mpu"
)
_RED = _known("limit min max avpkt burst bandwidth probability ecn", burst=_packets)
_QDISCS = {
    "cbq": _CBQ,
    "htb": _known("r2q default"),
    "prio": _known("bands"),
    "dsmark": _known("indices default_index set_tc_index"),
    "gred": _RED | _known("default grio"),
    "red": _RED,
    "tbf": _known("rate burst limit latency mtu mpu"),
    "fifo": _known("limit"),
}
_CLASSES = {"cbq": _CBQ, "htb": _known("rate ceil burst cburst prio quantum"), "prio": {}}
_BUCKET, _TWO_RATES = "rate burst peakrate mtu", "cir cbs pir pbs"
METERS = {
    "bucket": _BUCKET,
    "police": _BUCKET,
    "SLB": "cir cbs",
    "DLB": _TWO_RATES,
    "srTCM": "cir cbs ebs",
    "trTCM": _TWO_RATES,
}
"""Parameters of each meter."""


def _read(of: Word, given: Parameters, known: Mapping[str, Read], notes: list[Note]) -> Options:
    found: Options = {}
    for name, values in given.items():
        if name not in known:
            listed = ", ".join(known) or "none"
            refuse(values[0], f"{of.text} has no parameter {name} that is read", listed)
        if known[name] is not _flag and values[0].text == name:
            refuse(values[0], f"{name} of {of.text} needs a value")
        if name in _IGNORED:
            notes.append(Note(values[0].line, name, _IGNORED[name]))
        else:
            found[name] = known[name](values[0])
    return found


def _red_burst(given: Parameters) -> dict[str, list[Word]]:
    """In packets, as tc wants it; of bytes, which tcng takes too, it divides by avpkt."""
    words = dict(given)
    burst = words.get("burst", [])
    if burst and not burst[0].text.rstrip("p").isdigit():
        packet = _size(words["avpkt"][0]) if "avpkt" in words else 1000
        words["burst"] = [replace(burst[0], text=str(_size(burst[0]) // packet))]
    return words


def number_of(word: Word, given: dict[str, list[Word]], default: int = 0) -> int:
    """The number of a class, if it has one: the parameter that is a bare number."""
    numbers = (words for name, words in given.items() if _is_number(name))
    return next((_number(words[0]) for words in numbers), default)


def _unnumbered(given: Parameters) -> dict[str, list[Word]]:
    return {name: words for name, words in given.items() if not _is_number(name)}


def _is_number(name: str) -> bool:
    return name.isdigit() or name.startswith("0x")


def qdisc(kind: Word, given: Parameters, major: int, notes: list[Note]) -> Qdisc:
    """A discipline with its parameters."""
    made = Qdisc(kind, kind.text, major)
    if kind.text == "fifo":
        return _fifo(kind, given, major)
    words = _red_burst(given) if kind.text in ("red", "gred") else dict(given)
    made.options = _read(kind, words, _QDISCS[kind.text], notes)
    if kind.text == "htb":
        made.options.setdefault("default", 0)
    return made


def _fifo(kind: Word, given: Parameters, major: int) -> Qdisc:
    limit = given.get("limit", [])
    if limit and limit[0].text.endswith("p"):
        return Qdisc(kind, "pfifo", major, {"packets": _packets(limit[0])})
    its = _read(kind, given, _QDISCS["fifo"], [])
    return Qdisc(
        kind, "bfifo" if limit else "pfifo", major, {"bytes": its["limit"]} if limit else {}
    )


def of_class(kind: str, word: Word, given: Parameters, notes: list[Note]) -> Options:
    """Parameters of a class."""
    return _read(word, _unnumbered(given), _CLASSES[kind], notes)


def virtual(word: Word, given: Parameters, of: Qdisc, notes: list[Note]) -> Options:
    """A virtual queue of gred: what it does not say, gred says for all."""
    known = _RED | _known("prio")
    words = _red_burst(_unnumbered(given))
    common = {k: v for k, v in of.options.items() if k not in ("default", "grio")}
    return common | _read(word, words, known, notes)


def mark(word: Word, given: Parameters) -> tuple[int, int]:
    """Mask and value of a class of dsmark."""
    found = _read(word, _unnumbered(given), _known("mask value"), [])
    return whole(found, "mask", 0xFF), whole(found, "value", 0)


def meter(kind: Word, given: Parameters) -> Police:
    """A bucket or meter."""
    keys = METERS[kind.text]
    is_bucket = keys == _BUCKET
    found = _read(kind, given, _known(f"{keys} mpu" if is_bucket else keys), [])
    needed = ("rate", "burst") if is_bucket else tuple(keys.split())
    for key in needed:
        if key not in found:
            refuse(kind, f"{kind.text} needs {key}", ", ".join(needed))
    if is_bucket:
        rate, burst, peak, mtu = (whole(found, key, 0) for key in keys.split())
        depth = (mtu or DEFAULT_PEAK_BURST) if peak else 0
        return Police(kind, rate, burst, peak, depth, "continue")
    if kind.text in ("SLB", "DLB"):
        cir, cbs, pir, pbs = (whole(found, key, 0) for key in _TWO_RATES.split())
        return Police(kind, cir, cbs, pir, pbs, "continue")
    its = ((key, f"{found[key]} {'bit/s' if key.endswith('ir') else 'B'}") for key in needed)
    return Police(kind, 0, 0, meter=(("kind", kind.text.lower()), *its))


def policer(its: Police, *, else_drop: bool) -> Police:
    """A meter as a filter uses it."""
    if its.meter:
        return its
    return replace(its, exceed="drop" if else_drop else "continue")
