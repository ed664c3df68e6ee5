"""Service curves of tc's hfsc.

Source: tc-hfsc(7), tc-hfsc(8); iproute2 tc/q_hfsc.c for the form with umax and dmax, which is
concave where umax within dmax is faster than the rate, else convex with a first slope of 0.
"""

from trunkline.importers.common.fault import raise_fault
from trunkline.importers.common.quantities import TC_TIMES, parse_quantity
from trunkline.importers.common.traffic_control import TcServiceCurve
from trunkline.importers.tc.word_reader import WordReader

CURVE_WORDS = ("rt", "ls", "sc", "ul")
_SECOND = 10**9


def read_service_curve(reader: WordReader) -> TcServiceCurve:
    """``m1 RATE d TIME m2 RATE``, ``umax BYTES dmax TIME rate RATE``, or ``rate RATE`` alone.

    Raises ImportFault: No such curve, or one with two slopes of zero, which tc refuses.
    """
    at = reader.words[reader.position - 1]
    curve = _read_pieces(reader) if reader.peek_text() in ("m1", "d", "m2") else _read_delay(reader)
    if curve is None:
        known = "[m1 RATE d TIME] m2 RATE, [umax BYTES dmax TIME] rate RATE"
        raise_fault(at, f"{at.text} is followed by no service curve", known)
    if curve.m1 == 0 and curve.m2 == 0:
        raise_fault(at, "a service curve has two zero slopes")
    return curve


def _read_pieces(reader: WordReader) -> TcServiceCurve | None:
    m1 = reader.read_rate_or_zero() if reader.skip_word("m1") else 0
    duration = reader.read_time() if reader.skip_word("d") else 0
    return (
        TcServiceCurve(m1, duration, reader.read_rate_or_zero()) if reader.skip_word("m2") else None
    )


def _read_delay(reader: WordReader) -> TcServiceCurve | None:
    at = reader.words[reader.position - 1]
    largest = reader.read_size() if reader.skip_word("umax") else 0
    longest = (
        parse_quantity(reader.take_word("a time"), TC_TIMES, "a time")
        if reader.skip_word("dmax")
        else 0
    )
    if largest and not longest:
        raise_fault(at, "umax is given but dmax is zero", "umax BYTES dmax TIME rate RATE")
    if not reader.skip_word("rate"):
        return None
    rate = reader.read_rate_or_zero()
    if not longest:
        return TcServiceCurve(0, 0, rate)
    first_rate = -(-largest * 8 * _SECOND // longest)
    if first_rate > rate:
        return TcServiceCurve(first_rate, longest, rate)
    gap = longest - largest * 8 * _SECOND // rate if rate else longest
    return TcServiceCurve(0, gap, rate)
