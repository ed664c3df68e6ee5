"""Policers of tc.

Source: tc-police(8). The bucket counts bytes of the IP packet where packets come in; `mtu` is the
depth of the bucket of the peak rate.
"""

from typing import Literal

from trunkline.importers.common.fault import Note, Word, refuse
from trunkline.importers.common.tree import Police
from trunkline.importers.tc.reads import table
from trunkline.importers.tc.words import Reader

DEFAULT_PEAK_BURST = 2000
"""Depth of the bucket of the peak rate where no MTU says it, 2 kB as tc's rate tables [B]."""

Exceed = Literal["drop", "continue", "pass"]
_EXCEED: dict[str, Exceed] = {
    "drop": "drop",
    "shot": "drop",
    "continue": "continue",
    "unspec": "continue",
    "pass": "pass",
    "ok": "pass",
    "reclassify": "pass",
    "pipe": "pass",
}
_BUCKETS = table("rate peakrate burst buffer=burst maxburst=burst mtu")
_KNOWN = "rate, burst, buffer, maxburst, peakrate, mtu, mpu, index, conform-exceed, " + ", ".join(
    _EXCEED
)


def read_police(at: Word, reader: Reader, notes: list[Note], *, is_action: bool = False) -> Police:
    """Read a policer from the word after ``police`` on; stops before the filter's own words.

    Parameters
    ----------
    at : Word
        The word ``police``.
    is_action : bool
        Whether it is one of a chain of actions; then ``action`` begins the next.
    """
    sizes = {"rate": 0, "burst": 0, "peakrate": 0, "mtu": 0}
    index: int | None = None
    # Without an action tc takes `reclassify`, which passes on where packets come in.
    exceed: Exceed = "pass"
    while reader.more() and reader.peek() not in ("flowid", "classid"):
        if reader.peek() == "action" and (is_action or not _is_exceed(reader)):
            break
        word = reader.take("an option")
        if word.text in _BUCKETS:
            name, read = _BUCKETS[word.text]
            sizes[name] = read(reader)
        elif word.text == "index":
            index = reader.number(0, 2**31 - 1)
        elif word.text in ("mpu", "overhead", "avrate"):
            notes.append(Note(word.line, word.text, "packets count their own length"))
            reader.take("a value")
        elif word.text in ("conform-exceed", "action"):
            exceed = _exceed(reader)
        elif word.text in _EXCEED:
            exceed = _EXCEED[word.text]
        else:
            refuse(word, f"police has no option {word.text} that is read", _KNOWN)
    if not sizes["rate"] or not sizes["burst"]:
        refuse(at, "police needs a rate and a burst", "rate RATE burst SIZE")
    peak = 0 if not sizes["peakrate"] else sizes["mtu"] or DEFAULT_PEAK_BURST
    return Police(at, sizes["rate"], sizes["burst"], sizes["peakrate"], peak, exceed, index)


def _is_exceed(reader: Reader) -> bool:
    """Whether ``action`` says what becomes of packets out of profile, not what comes next."""
    behind = reader.words[reader.at + 1 : reader.at + 2]
    return bool(behind) and behind[0].text.partition("/")[0] in _EXCEED


def _exceed(reader: Reader) -> Exceed:
    """``drop``, or of two after a slash the second for what conforms."""
    word = reader.take("an action")
    said, _, conform = word.text.partition("/")
    if said not in _EXCEED or (conform and _EXCEED.get(conform) != "pass"):
        refuse(word, f"{word.text} is no action that is read", ", ".join(_EXCEED))
    return _EXCEED[said]
