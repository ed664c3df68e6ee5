"""Parameters of the disciplines, classes and meters of tcng.

Source: tcng reference manual (2002), "Queuing disciplines" and "Metering". Buckets and the meter
SLB are one token bucket, DLB two that must both hold a packet; srTCM and trTCM are those of RFC
2697 and RFC 2698.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from trunkline.importers.common.classify import whole
from trunkline.importers.common.fault import Note, Word, refuse
from trunkline.importers.common.quantities import TCNG_RATES, TCNG_SIZES, TCNG_TIMES, quantity
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
    try:
        return int(word.text, 0)
    except ValueError:
        refuse(word, f"{word.text} is no whole number")


def _packets(word: Word) -> int:
    if not word.text.removesuffix("p").isdecimal():
        refuse(word, f"{word.text} is no number of packets", "10p")
    return _number(replace(word, text=word.text.removesuffix("p")))


def _flag(word: Word) -> bool:
    return True


def _probability(word: Word) -> float:
    try:
        value = float(word.text)
    except ValueError:
        refuse(word, f"{word.text} is no probability", "above 0, up to 1")
    if not 0 < value <= 1:
        refuse(word, f"{word.text} is no probability", "above 0, up to 1")
    return value


Read = Callable[[Word], Value]
_CBQ: dict[str, Read] = {
    "bandwidth": _rate,
    "rate": _rate,
    "avpkt": _size,
    "allot": _size,
    "weight": _number,
    "maxburst": _packets,
    "minburst": _packets,
    "ewma": _number,
    "prio": _number,
    "bounded": _flag,
    "isolated": _flag,
    "cell": _size,
    "mpu": _size,
}
_RED: dict[str, Read] = {
    "limit": _size,
    "min": _size,
    "max": _size,
    "avpkt": _size,
    "burst": _packets,
    "bandwidth": _rate,
    "probability": _probability,
    "ecn": _flag,
}
_QDISCS: dict[str, dict[str, Read]] = {
    "cbq": _CBQ,
    "htb": {"r2q": _number, "default": _number},
    "prio": {"bands": _number},
    "dsmark": {"indices": _number, "default_index": _number, "set_tc_index": _flag},
    "gred": {**_RED, "default": _number, "grio": _flag},
    "red": _RED,
    "tbf": {
        "rate": _rate,
        "burst": _size,
        "limit": _size,
        "latency": _time,
        "mtu": _size,
        "mpu": _size,
    },
    "fifo": {"limit": _size},
}
_CLASSES: dict[str, dict[str, Read]] = {
    "cbq": _CBQ,
    "htb": {
        "rate": _rate,
        "ceil": _rate,
        "burst": _size,
        "cburst": _size,
        "prio": _number,
        "quantum": _size,
    },
    "prio": {},
}
METERS = ("bucket", "police", "SLB", "DLB", "srTCM", "trTCM")
_PAIRS = {"SLB": ("cir", "cbs"), "DLB": ("cir", "cbs", "pir", "pbs")}
_COLOURED = {"srTCM": ("cir", "cbs", "ebs"), "trTCM": ("cir", "cbs", "pir", "pbs")}


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
    for name in given:
        if name.isdigit() or name.startswith("0x"):
            return _number(given[name][0])
    return default


def _unnumbered(given: Parameters) -> dict[str, list[Word]]:
    return {
        name: words
        for name, words in given.items()
        if not (name.isdigit() or name.startswith("0x"))
    }


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
    known = {**_RED, "prio": _number}
    words = _red_burst(_unnumbered(given))
    common = {k: v for k, v in of.options.items() if k not in ("default", "grio")}
    return common | _read(word, words, known, notes)


def mark(word: Word, given: Parameters) -> tuple[int, int]:
    """Mask and value of a class of dsmark."""
    found = _read(word, _unnumbered(given), {"mask": _number, "value": _number}, [])
    mask, value = found.get("mask", 0xFF), found.get("value", 0)
    assert isinstance(mask, int)
    assert isinstance(value, int)
    return mask, value


def meter(kind: Word, given: Parameters) -> Police:
    """A bucket or meter."""
    name = kind.text
    if name in _COLOURED:
        keys = _COLOURED[name]
        found = _read(kind, given, {key: _unit(key) for key in keys}, [])
        _need(kind, found, keys)
        units = {key: "bit/s" if key.endswith("ir") else "B" for key in keys}
        its = tuple((key, f"{found[key]} {units[key]}") for key in keys)
        return Police(kind, 0, 0, meter=(("kind", name.lower()), *its))
    if name in _PAIRS:
        keys = _PAIRS[name]
        found = _read(kind, given, {key: _unit(key) for key in keys}, [])
        _need(kind, found, keys)
        cir, cbs, pir, pbs = (whole(found, key, 0) for key in _PAIRS["DLB"])
        return Police(kind, cir, cbs, pir, pbs, "continue")
    known: dict[str, Read] = {"rate": _rate, "burst": _size, "peakrate": _rate, "mtu": _size}
    found = _read(kind, given, {**known, "mpu": _size}, [])
    _need(kind, found, ("rate", "burst"))
    rate, burst, peak, mtu = (whole(found, key, 0) for key in known)
    depth = (mtu or DEFAULT_PEAK_BURST) if peak else 0
    return Police(kind, rate, burst, peak, depth, "continue")


def _unit(key: str) -> Read:
    return _rate if key.endswith("ir") else _size


def _need(kind: Word, found: Options, keys: tuple[str, ...]) -> None:
    for key in keys:
        if key not in found:
            refuse(kind, f"{kind.text} needs {key}", ", ".join(keys))


def policer(its: Police, *, else_drop: bool) -> Police:
    """A meter as a filter uses it."""
    if its.meter:
        return its
    return replace(its, exceed="drop" if else_drop else "continue")
