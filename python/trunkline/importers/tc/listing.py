"""Output of ``tc -s -d qdisc show``, ``class show`` and ``filter show``, as tc commands.

Source: iproute2 tc/tc_qdisc.c, tc_class.c, tc_filter.c and the print functions of q_*.c, f_*.c and
m_*.c. A listing has classes in any order: they are put behind what they depend on. Lines of
statistics are left out.
"""

import re
from collections.abc import Sequence

from trunkline.importers.common.account import ImportAccount
from trunkline.importers.common.fault import SourceToken

_ENTRY = re.compile(
    r"(?P<object>qdisc|class)\s+(?P<kind>[a-z_]\w*)\s+(?P<id>[0-9a-f]*:[0-9a-f]*)(?=\s|$)"
)
_FILTER = re.compile(
    r"filter\s+(?:dev\s+\S+\s+)?(?:parent\s+\S+\s+|ingress\s+|egress\s+|root\s+)?"
    r"(?:protocol\s+(?P<protocol>\S+)\s+)?pref\s+(?P<priority>\d+)\s+(?P<kind>[a-z]\w*)"
)
_SHOWN_COMMAND = re.compile(r"\btc\b.*\b(?:show|list|ls)\b")
_SHOWN_DEVICE = re.compile(r"\bdev\s+(\S+)")
_VALUES_LEFT_OUT = {
    "refcnt": 1,
    "direct_packets_stat": 1,
    "ver": 1,
    "level": 1,
    "leaf": 1,
    "chain": 1,
    "fh": 1,
    "order": 1,
    "key": 2,
    "bkt": 1,
    "not_in_hw": 0,
    "in_hw": 0,
    "skip_hw": 0,
    "terminal": 0,
    "(rule": 4,
}
"""Words of a listing that say nothing, and how many words behind them belong to them."""
_RENAMED = {"lat": "latency", "pref": "prio"}
_COUNTED = re.compile(r"(\d+)p\Z")
_PLACE_OF_QUEUE = re.compile(r" parent ([0-9a-f]*):[0-9a-f]+ ")
_ACTION = re.compile(
    r"\s+(?:action order \d+:\s+)?(?P<action>(?:police|mirred|skbedit|gact|csum|pedit)\b.*)"
)
_REDIRECTION = re.compile(r"mirred \(Egress Redirect to device (\S+)\)")
_U32_MATCH = re.compile(r"\s+match ([0-9a-f]{8})/([0-9a-f]{8}) at (\d+)")
_DEFAULT_KINDS = ("noqueue", "mq")
_STEADY_CLASSES = ("prio", "mq", "fq_codel", "sfq", "tbf", "red", "multiq")
"""Disciplines whose classes exist from the start; a listing shows them, no command makes them."""
UNKNOWN_DEVICE = "port"


def is_listing(content: str) -> bool:
    """Whether a file is a listing of tc: ``qdisc htb 1: root ...``."""
    lines = content.splitlines()
    return any(_ENTRY.match(line) for line in lines) and not any(
        re.match(r"\s*(?:sudo\s+)?(?:/\S*/)?tc\s+(?:\S+\s+)*?(?:add|replace|change)\s", line)
        for line in lines
    )


class _Entry:
    """A discipline, class or filter of a listing."""

    def __init__(self, words: list[SourceToken], needs: tuple[str, str], gives: tuple[str, str]):
        self.words = words
        self.needs = needs
        self.gives = gives


def split_listing(content: str, account: ImportAccount) -> list[list[SourceToken]]:
    """Translate a listing to the commands that would make it.

    account: Gets the lines that say nothing of the configuration.
    """
    entries: list[_Entry] = []
    current: list[SourceToken] | None = None
    device = ""
    has_assumed_device = False
    hardware_queues: dict[str, tuple[str, list[int]]] = {}
    left_out: list[int] = []
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        if not line[0].isspace():
            current = None
        entry = _ENTRY.match(line)
        found_filter = _FILTER.match(line)
        if entry is not None or found_filter is not None:
            named = _SHOWN_DEVICE.search(line)
            its_device = named[1] if named else device or UNKNOWN_DEVICE
            has_assumed_device = has_assumed_device or not (named or device)
            place = _PLACE_OF_QUEUE.search(line)
            if entry is not None and entry["kind"] == "mq":
                hardware_queues[its_device] = (entry["id"].partition(":")[0].strip("0"), [])
            elif place is not None and place[1] == hardware_queues.get(its_device, ("-",))[0]:
                # One port stands for all queues of the hardware: it gets that of the first.
                its_queues = hardware_queues[its_device][1]
                its_queues.append(number)
                if len(its_queues) > 1:
                    left_out.append(number)
                    continue
                line = line.replace(place[0], " root ", 1)
            made = (
                _read_entry(entry, line, number, its_device)
                if entry is not None
                else _read_filter(line, number, its_device)
            )
            if made is not None:
                entries.append(made)
                current = made.words
            else:
                left_out.append(number)
        elif _SHOWN_COMMAND.search(line):
            named = _SHOWN_DEVICE.search(line)
            device = named[1] if named else ""
            left_out.append(number)
        elif current is None or not _extend(current, line, number):
            left_out.append(number)
    for number in left_out:
        reason = "counters, tables, what the kernel sets itself"
        account.add_left_out("lines of the listing", reason, line=number)
    for name, (_, its_queues) in hardware_queues.items():
        if len(its_queues) > 1:
            rule = f"one port stands for its {len(its_queues)} queues, with what the first has"
            account.add_assumption(f"mq of {name}", rule, line=its_queues[0])
    if has_assumed_device:
        why = f"the listing names no device: it is called {UNKNOWN_DEVICE} here"
        account.add_assumption("device", why, line=1)
    return [each.words for each in _sort_by_need(entries)]


def _tokens(texts: Sequence[str], line: int) -> list[SourceToken]:
    return [SourceToken(text, line, 1) for text in texts]


def _read_entry(entry: re.Match[str], line: str, number: int, device: str) -> _Entry | None:
    """Read a discipline or a class; None for those that the kernel sets itself."""
    kind, own_id = entry["kind"], entry["id"]
    rest = line[entry.end() :].split()
    if kind in _DEFAULT_KINDS or (entry["object"] == "class" and kind in _STEADY_CLASSES):
        return None
    if "dev" in rest:
        position = rest.index("dev")
        rest = rest[:position] + rest[position + 2 :]
    place: list[str] = []
    if rest[:1] == ["root"]:
        place, rest = ["root"], rest[1:]
    elif rest[:1] == ["parent"]:
        place, rest = rest[:2], rest[2:]
    options = _convert_options(kind, rest)
    if kind in ("ingress", "clsact"):
        words = ["qdisc", "add", "dev", device, kind]
        return _Entry(_tokens(words, number), (device, ""), (device, own_id))
    if entry["object"] == "qdisc":
        words = ["qdisc", "add", "dev", device, *place]
        words += [] if own_id.startswith("0:") else ["handle", own_id]
        needs = place[1] if len(place) == 2 else ""
        return _Entry(_tokens([*words, kind, *options], number), (device, needs), (device, own_id))
    major = own_id.partition(":")[0] + ":"
    needs = place[1] if len(place) == 2 else major
    words = ["class", "add", "dev", device, "parent", needs, "classid", own_id, kind, *options]
    return _Entry(_tokens(words, number), (device, needs), (device, own_id))


def _convert_options(kind: str, words: list[str]) -> list[str]:
    """Convert options to those that tc takes, without those that it only prints."""
    converted: list[str] = []
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if word in _VALUES_LEFT_OUT:
            position += _VALUES_LEFT_OUT[word]
        elif (kind, word) == ("sfq", "flows"):
            position += 1
        elif word == "perturb" and position < len(words):
            converted += [word, words[position].removesuffix("sec")]
            position += 1
        elif kind == "pfifo_fast" or word == "[Unknown":
            return []
        elif (counted := _COUNTED.match(word)) is not None:
            converted.append(counted[1])
        else:
            converted.append(_RENAMED.get(word, word.removeprefix("*")))
    return converted


def _read_filter(line: str, number: int, device: str) -> _Entry | None:
    """Read a filter; None for the head of a list or a hash table."""
    words = line.split()[1:]
    if "dev" in words:
        position = words.index("dev")
        words = words[:position] + words[position + 2 :]
    is_list_head = "handle" not in words and not any("::" in word for word in words)
    if is_list_head or "divisor" in words:
        return None
    converted = _convert_options("", words)
    parent = converted[converted.index("parent") + 1] if "parent" in converted else ""
    # `handle 0x1` follows the kind here; only that of fw and tcindex has a meaning.
    handle: list[str] = []
    if "handle" in converted:
        position = converted.index("handle")
        handle = converted[position : position + 2]
        converted = converted[:position] + converted[position + 2 :]
    is_marked = any(word in ("fw", "tcindex") for word in converted)
    if "flowid" in converted[-1:]:
        converted = converted[:-1]
    texts = ["filter", "add", "dev", device, *(handle if is_marked else []), *converted]
    if not parent and not any(word in ("ingress", "egress") for word in converted):
        texts[4:4] = ["root"]
    # The class follows the matches, which are on the lines below.
    for word in ("flowid", "classid"):
        if word in texts:
            position = texts.index(word)
            texts = texts[:position] + texts[position + 2 :] + texts[position : position + 2]
    return _Entry(_tokens(texts, number), (device, parent), (device, ""))


def _extend(words: list[SourceToken], line: str, number: int) -> bool:
    """Read a line that belongs to the entry above it; whether it says something."""
    texts = [word.text for word in words]
    if texts[0] != "filter":
        return False
    target = next((texts.index(each) for each in ("flowid", "classid") if each in texts), None)
    place = len(words) if target is None else target
    if (match := _U32_MATCH.match(line)) is not None:
        added = ["match", "u32", f"0x{match[1]}", f"0x{match[2]}", "at", match[3]]
        words[place:place] = _tokens(added, number)
        return True
    if (action := _ACTION.match(line)) is not None:
        words += _tokens(["action", *_convert_action(action["action"])], number)
        return True
    keys = line.split()
    if "flower" in texts and len(keys) == 2 and keys[0] not in ("eth_type", "used"):
        words[place:place] = _tokens(keys, number)
        return True
    return "flower" in texts and keys[:1] == ["eth_type"]


def _convert_action(text: str) -> list[str]:
    """An action as tc takes it."""
    if (redirected := _REDIRECTION.match(text)) is not None:
        return ["mirred", "egress", "redirect", "dev", redirected[1]]
    if text.startswith("police"):
        text = re.sub(r"^police (0x[0-9a-f]+)", r"police index \1", text)
        return re.sub(r" overhead 0b", "", text).replace(" action ", " conform-exceed ").split()
    return re.sub(r"^gact action |(?<=^csum) \(.*?\) action \w+", "", text).split()


def _sort_by_need(entries: list[_Entry]) -> list[_Entry]:
    """Sort entries behind their parents; filters last, in their order."""
    filters = [each for each in entries if each.words[0].text == "filter"]
    waiting = [each for each in entries if each.words[0].text != "filter"]
    made: set[tuple[str, str]] = set()
    steady = {
        (each.gives[0], each.gives[1].partition(":")[0])
        for each in waiting
        if any(word.text in ("prio", "tbf", "dsmark") for word in each.words[:9])
    }
    result: list[_Entry] = []
    while waiting:
        ready = [
            each
            for each in waiting
            if not each.needs[1]
            or each.needs in made
            or (
                (each.needs[0], each.needs[1].partition(":")[0]) in steady
                and (each.needs[0], each.needs[1].partition(":")[0] + ":") in made
            )
        ]
        if not ready:
            break
        result += ready
        made |= {each.gives for each in ready}
        waiting = [each for each in waiting if each not in ready]
    return [*result, *waiting, *filters]
