"""Parameters of the disciplines, classes and meters of tcng.

Source: tcng reference manual (2002), "Queuing disciplines" and "Metering". Buckets and the meter
SLB are one token bucket, DLB two that must both hold a packet; srTCM and trTCM are those of RFC
2697 and RFC 2698.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from trunkline.importers.common.account import ImportAccount
from trunkline.importers.common.classification import get_integer_option
from trunkline.importers.common.fault import SourceToken, raise_fault
from trunkline.importers.common.quantities import (
    TCNG_RATES,
    TCNG_SIZES,
    TCNG_TIMES,
    parse_quantity,
    probability,
    read_integer,
)
from trunkline.importers.common.traffic_control import Options, Policer, Qdisc
from trunkline.importers.tc.policers import DEFAULT_PEAK_BURST

GivenParameters = Mapping[str, list[SourceToken]]
ParameterValue = int | float | bool
_EXACT_TIMES_NOTE = "times are exact here, tc's are tables of cells"
_IGNORED_PARAMETERS = {
    "cell": _EXACT_TIMES_NOTE,
    "mpu": "packets count their own length",
    "ecn": "flows say whether they are ECN-capable",
    "minburst": "the scheduler here has no such bound",
}


def _parse_rate(word: SourceToken) -> int:
    return parse_quantity(word, TCNG_RATES, "a rate")


def _parse_size(word: SourceToken) -> int:
    return parse_quantity(word, TCNG_SIZES, "a size")


def _parse_time(word: SourceToken) -> int:
    return parse_quantity(word, TCNG_TIMES, "a time")


def _parse_number(word: SourceToken) -> int:
    return read_integer(word, "whole number")


def _parse_packets(word: SourceToken) -> int:
    if not word.text.removesuffix("p").isdecimal():
        raise_fault(word, f"{word.text} is no number of packets", "10p")
    return _parse_number(replace(word, text=word.text.removesuffix("p")))


def _parse_flag(word: SourceToken) -> bool:
    return True


ParameterParser = Callable[[SourceToken], ParameterValue]


def _assign_parser(words: str, read: ParameterParser) -> dict[str, ParameterParser]:
    return dict.fromkeys(words.split(), read)


_DEFAULT_PARSERS = {
    **_assign_parser("bandwidth rate ceil peakrate cir pir", _parse_rate),
    **_assign_parser(
        "avpkt allot cell mpu limit min max mtu quantum burst cburst cbs pbs ebs", _parse_size
    ),
    **_assign_parser(
        "weight ewma prio r2q default bands indices default_index mask value", _parse_number
    ),
    **_assign_parser("maxburst minburst", _parse_packets),
    "latency": _parse_time,
    "probability": probability,
}
"""Reader of a parameter's value by default; all other parameters are switches."""


def _select_parsers(words: str, **parsers: ParameterParser) -> dict[str, ParameterParser]:
    return {
        word: parsers.get(word) or _DEFAULT_PARSERS.get(word, _parse_flag) for word in words.split()
    }


_CBQ_PARSERS = _select_parsers(
    "bandwidth rate avpkt allot weight maxburst minburst ewma prio bounded isolated cell mpu"
)
_RED_PARSERS = _select_parsers(
    "limit min max avpkt burst bandwidth probability ecn", burst=_parse_packets
)
_QDISC_PARSERS = {
    "cbq": _CBQ_PARSERS,
    "htb": _select_parsers("r2q default"),
    "prio": _select_parsers("bands"),
    "dsmark": _select_parsers("indices default_index set_tc_index"),
    "gred": _RED_PARSERS | _select_parsers("default grio"),
    "red": _RED_PARSERS,
    "tbf": _select_parsers("rate burst limit latency mtu mpu"),
    "fifo": _select_parsers("limit"),
}
_CLASS_PARSERS = {
    "cbq": _CBQ_PARSERS,
    "htb": _select_parsers("rate ceil burst cburst prio quantum"),
    "prio": {},
}
_BUCKET_WORDS, _TWO_RATE_WORDS = "rate burst peakrate mtu", "cir cbs pir pbs"
METER_WORDS = {
    "bucket": _BUCKET_WORDS,
    "police": _BUCKET_WORDS,
    "SLB": "cir cbs",
    "DLB": _TWO_RATE_WORDS,
    "srTCM": "cir cbs ebs",
    "trTCM": _TWO_RATE_WORDS,
}
"""Parameters of each meter."""


def _parse_parameters(
    owner: SourceToken,
    given: GivenParameters,
    parsers: Mapping[str, ParameterParser],
    account: ImportAccount,
) -> Options:
    options: Options = {}
    for name, values in given.items():
        if name not in parsers:
            known_names = ", ".join(parsers) or "none"
            raise_fault(
                values[0], f"{owner.text} has no parameter {name} that is read", known_names
            )
        if parsers[name] is not _parse_flag and values[0].text == name:
            raise_fault(values[0], f"{name} of {owner.text} needs a value")
        if name in _IGNORED_PARAMETERS:
            account.add_left_out(name, _IGNORED_PARAMETERS[name], line=values[0].line)
        else:
            options[name] = parsers[name](values[0])
    return options


def _convert_red_burst(given: GivenParameters) -> dict[str, list[SourceToken]]:
    """Convert a burst to packets, as tc needs it; bytes, which tcng takes too, over avpkt."""
    words = dict(given)
    burst = words.get("burst", [])
    if burst and not burst[0].text.rstrip("p").isdigit():
        packet = _parse_size(words["avpkt"][0]) if "avpkt" in words else 1000
        words["burst"] = [replace(burst[0], text=str(_parse_size(burst[0]) // packet))]
    return words


def get_class_number(
    word: SourceToken, given: dict[str, list[SourceToken]], default: int = 0
) -> int:
    """Return the number of a class, if it has one: the parameter that is a bare number."""
    numbers = (words for name, words in given.items() if _is_number(name))
    return next((_parse_number(words[0]) for words in numbers), default)


def _omit_numbers(given: GivenParameters) -> dict[str, list[SourceToken]]:
    return {name: words for name, words in given.items() if not _is_number(name)}


def _is_number(name: str) -> bool:
    return name.isdigit() or name.startswith("0x")


def make_qdisc(
    kind: SourceToken, given: GivenParameters, major: int, account: ImportAccount
) -> Qdisc:
    """Make a discipline with its parameters."""
    qdisc_ = Qdisc(kind, kind.text, major)
    if kind.text == "fifo":
        return _make_fifo(kind, given, major)
    words = _convert_red_burst(given) if kind.text in ("red", "gred") else dict(given)
    qdisc_.options = _parse_parameters(kind, words, _QDISC_PARSERS[kind.text], account)
    if kind.text == "htb":
        qdisc_.options.setdefault("default", 0)
    return qdisc_


def _make_fifo(kind: SourceToken, given: GivenParameters, major: int) -> Qdisc:
    limit = given.get("limit", [])
    if limit and limit[0].text.endswith("p"):
        return Qdisc(kind, "pfifo", major, {"packets": _parse_packets(limit[0])})
    options = _parse_parameters(kind, given, _QDISC_PARSERS["fifo"], ImportAccount())
    return Qdisc(
        kind, "bfifo" if limit else "pfifo", major, {"bytes": options["limit"]} if limit else {}
    )


def parse_class_options(
    kind: str, word: SourceToken, given: GivenParameters, account: ImportAccount
) -> Options:
    """Parse the parameters of a class."""
    return _parse_parameters(word, _omit_numbers(given), _CLASS_PARSERS[kind], account)


def parse_virtual_queue(
    word: SourceToken, given: GivenParameters, gred: Qdisc, account: ImportAccount
) -> Options:
    """Parse a virtual queue of gred; its defaults are those of gred for all."""
    parsers = _RED_PARSERS | _select_parsers("prio")
    words = _convert_red_burst(_omit_numbers(given))
    common = {
        name: value for name, value in gred.options.items() if name not in ("default", "grio")
    }
    return common | _parse_parameters(word, words, parsers, account)


def parse_dsmark_value(word: SourceToken, given: GivenParameters) -> tuple[int, int]:
    """Mask and value of a class of dsmark."""
    options = _parse_parameters(
        word, _omit_numbers(given), _select_parsers("mask value"), ImportAccount()
    )
    return get_integer_option(options, "mask", 0xFF), get_integer_option(options, "value", 0)


def make_meter(kind: SourceToken, given: GivenParameters, account: ImportAccount) -> Policer:
    """Make a bucket or meter."""
    keys = METER_WORDS[kind.text]
    is_bucket = keys == _BUCKET_WORDS
    values = _parse_parameters(
        kind, given, _select_parsers(f"{keys} mpu" if is_bucket else keys), account
    )
    needed = ("rate", "burst") if is_bucket else tuple(keys.split())
    for key in needed:
        if key not in values:
            raise_fault(kind, f"{kind.text} needs {key}", ", ".join(needed))
    if is_bucket:
        rate, burst, peak, mtu = (get_integer_option(values, key, 0) for key in keys.split())
        depth = (mtu or DEFAULT_PEAK_BURST) if peak else 0
        return Policer(kind, rate, burst, peak, depth, "continue")
    if kind.text in ("SLB", "DLB"):
        cir, cbs, pir, pbs = (get_integer_option(values, key, 0) for key in _TWO_RATE_WORDS.split())
        return Policer(kind, cir, cbs, pir, pbs, "continue")
    settings = ((key, f"{values[key]} {'bit/s' if key.endswith('ir') else 'B'}") for key in needed)
    return Policer(kind, 0, 0, meter=(("kind", kind.text.lower()), *settings))


def make_policer(meter_: Policer, *, else_drop: bool) -> Policer:
    """Make a meter as a filter uses it."""
    if meter_.meter:
        return meter_
    return replace(meter_, exceed="drop" if else_drop else "continue")
