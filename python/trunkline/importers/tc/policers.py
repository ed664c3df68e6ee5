"""Policers of tc.

Source: tc-police(8). The bucket counts bytes of the IP packet where packets come in; `mtu` is the
depth of the bucket of the peak rate.
"""

from typing import Literal

from trunkline.importers.common.account import ImportAccount
from trunkline.importers.common.fault import SourceToken, raise_fault
from trunkline.importers.common.traffic_control import Policer
from trunkline.importers.tc.option_values import make_option_table
from trunkline.importers.tc.word_reader import WordReader

DEFAULT_PEAK_BURST = 2000
"""Depth of the bucket of the peak rate where no MTU says it, 2 kB as tc's rate tables [B]."""

ExceedAction = Literal["drop", "continue", "pass"]
_EXCEED_ACTIONS: dict[str, ExceedAction] = {
    "drop": "drop",
    "shot": "drop",
    "continue": "continue",
    "unspec": "continue",
    "pass": "pass",
    "ok": "pass",
    "reclassify": "pass",
    "pipe": "pass",
}
_BUCKET_OPTIONS = make_option_table("rate peakrate burst buffer=burst maxburst=burst mtu")
_READ_OPTIONS = (
    "rate, burst, buffer, maxburst, peakrate, mtu, mpu, index, conform-exceed, "
    + ", ".join(_EXCEED_ACTIONS)
)


def read_policer(
    at: SourceToken, reader: WordReader, account: ImportAccount, *, is_action: bool = False
) -> Policer:
    """Read a policer from the word after ``police`` on; stops before the filter's own words.

    at: The word ``police``.
    is_action: Whether it is one of a chain of actions; then ``action`` begins the next.
    """
    sizes = {"rate": 0, "burst": 0, "peakrate": 0, "mtu": 0}
    index: int | None = None
    # Without an action tc takes `reclassify`, which passes on where packets come in.
    exceed: ExceedAction = "pass"
    while reader.has_more() and reader.peek_text() not in ("flowid", "classid"):
        if reader.peek_text() == "action" and (is_action or not _is_exceed_action(reader)):
            break
        word = reader.take_word("an option")
        if word.text in _BUCKET_OPTIONS:
            name, read = _BUCKET_OPTIONS[word.text]
            sizes[name] = read(reader)
        elif word.text == "index":
            index = reader.read_number(0, 2**31 - 1)
        elif word.text in ("mpu", "overhead", "avrate"):
            account.add_left_out(word.text, "packets count their own length", line=word.line)
            reader.take_word("a value")
        elif word.text in ("conform-exceed", "action"):
            exceed = _read_exceed_action(reader)
        elif word.text in _EXCEED_ACTIONS:
            exceed = _EXCEED_ACTIONS[word.text]
        else:
            raise_fault(word, f"police has no option {word.text} that is read", _READ_OPTIONS)
    if not sizes["rate"] or not sizes["burst"]:
        raise_fault(at, "police needs a rate and a burst", "rate RATE burst SIZE")
    peak_burst = 0 if not sizes["peakrate"] else sizes["mtu"] or DEFAULT_PEAK_BURST
    return Policer(at, sizes["rate"], sizes["burst"], sizes["peakrate"], peak_burst, exceed, index)


def _is_exceed_action(reader: WordReader) -> bool:
    """Whether ``action`` is that for packets out of profile, not the next action."""
    next_words = reader.words[reader.position + 1 : reader.position + 2]
    return bool(next_words) and next_words[0].text.partition("/")[0] in _EXCEED_ACTIONS


def _read_exceed_action(reader: WordReader) -> ExceedAction:
    """``drop``, or, of two, the second after a slash for conforming packets."""
    word = reader.take_word("an action")
    exceed, _, conform_action = word.text.partition("/")
    if exceed not in _EXCEED_ACTIONS or (
        conform_action and _EXCEED_ACTIONS.get(conform_action) != "pass"
    ):
        raise_fault(word, f"{word.text} is no action that is read", ", ".join(_EXCEED_ACTIONS))
    return _EXCEED_ACTIONS[exceed]
