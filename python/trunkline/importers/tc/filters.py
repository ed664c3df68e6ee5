"""Filters of tc: u32, fw, tcindex and flower, and the policers they carry.

Source: tc-u32(8), tc-fw(8), tc-tcindex(8), tc-flower(8), tc-police(8), tc-skbedit(8).
"""

from dataclasses import replace

from trunkline.importers.common import conditions
from trunkline.importers.common.addresses import Addresses
from trunkline.importers.common.fault import Note, Word, fault, refuse
from trunkline.importers.common.quantities import whole_number
from trunkline.importers.common.tree import Condition, Filter
from trunkline.importers.tc.police import read_police
from trunkline.importers.tc.reads import count, head, table, taken
from trunkline.importers.tc.words import Reader

_KINDS = "u32, fw, tcindex, flower, basic, matchall"
_FIELDS = "ip tos, dsfield, src, dst, protocol, sport, dport; u32, u16, u8 VALUE MASK at OFFSET"
_DONE = ("pass", "ok", "pipe", "continue", "reclassify")
_MPLS = ("mpls_uc", "mpls")

Read = tuple[Filter, str, tuple[int, int] | None, bool]


_HEAD = table(
    "dev parent root=parent ingress=hook egress=hook protocol proto=protocol prio=priority "
    "pref=priority preference=priority priority handle",
    root=lambda _reader: None,
    ingress=lambda _reader: 0xFFF2,
    egress=lambda _reader: 0xFFF3,
    **dict.fromkeys(("protocol", "proto"), taken("a protocol")),
    **dict.fromkeys(("prio", "pref", "preference", "priority"), count(1, 0xFFFF)),
    handle=taken("a handle"),
)


def read_filter(reader: Reader, addresses: Addresses, notes: list[Note]) -> Read:
    """Read a filter from its device on.

    Parameters
    ----------
    reader : Reader
        Words after ``tc filter add``.

    Returns
    -------
    filter : Filter
        Its priority is 0 if none was given.
    parent : (int, int) or None
        Where it stands; None for the root.
    is_ip : bool
        Whether it looks at packets that the simulator has.
    """
    word, its = head(reader, "a kind of filter", _HEAD)
    device = its["dev"].text if "dev" in its else ""
    if not device:
        refuse(word, "the command names no device", "dev DEVICE")
    hook, handle = its.get("hook"), its.get("handle")
    parent = (0xFFFF, hook) if hook else its.get("parent")
    protocol = its["protocol"].text if "protocol" in its else "all"
    priority = its.get("priority", 0)
    is_ip = protocol in ("ip", "all", "0x800", "ipv4", *_MPLS)
    if not is_ip:
        reader.at = len(reader.words)
        return Filter(word, "match", priority, []), device, parent, False
    base = {"all": Condition()}.get(
        protocol, conditions.LABELLED if protocol in _MPLS else conditions.IP
    )
    made = Filter(word, "match", priority, [base])
    if word.text == "u32":
        _u32(reader, made, addresses)
    elif word.text == "fw":
        made.kind = "fw"
        if handle is None:
            refuse(word, "fw without a handle is not read", "handle MARK fw classid ID")
        made.handle = _number(handle)
    elif word.text == "tcindex":
        made.kind = "tcindex"
        made.handle = None if handle is None else _number(handle)
    elif word.text == "flower":
        _flower(reader, made, addresses)
    elif word.text == "basic" and reader.peek() == "match":
        refuse(word, "a match of basic is not read", "basic without match; u32, flower")
    elif word.text not in ("matchall", "basic"):
        refuse(word, f"there is no filter {word.text} here", _KINDS)
    if hook == 0xFFF3:
        # What runs before the discipline decides before the discipline's own filters do.
        made.priority -= 0x10000
    _rest(reader, made, notes)
    return made, device, parent, is_ip


def _narrow(made: Filter, more: Condition) -> None:
    made.conditions = [both for each in made.conditions if (both := each.both(more)) is not None]


def _u32(reader: Reader, made: Filter, addresses: Addresses) -> None:
    if reader.skip("divisor"):
        # A hash table of filters, which none here refers to.
        reader.number(1, 256)
        made.conditions = []
        made.is_table = True
        return
    while reader.skip("match"):
        word = reader.take("a field")
        if word.text == "ip":
            field = reader.take("a field of the IP header")
            _narrow(made, _ip_field(field, reader, addresses))
        elif word.text in ("u8", "u16", "u32"):
            _narrow(made, _raw(word, reader, addresses))
        else:
            refuse(word, f"a match on {word.text} is not read", _FIELDS)


def _ip_field(field: Word, reader: Reader, addresses: Addresses) -> Condition:
    name = field.text
    if name in ("src", "dst"):
        key = "source" if name == "src" else "destination"
        return conditions.address(reader.take("an address"), key, addresses)
    if name not in ("tos", "dsfield", "precedence", "protocol", "sport", "dport"):
        refuse(field, f"a match on ip {name} is not read", _FIELDS)
    at = reader.words[reader.at] if reader.more() else field
    value, mask = _number(reader.take("a number")), _mask(reader)
    if mask == 0:
        return Condition()
    if name in ("tos", "dsfield", "precedence"):
        return conditions.octet(at, value, mask)
    if name == "protocol" and mask == 0xFF:
        return conditions.protocol(at, value)
    if name in ("sport", "dport") and mask == 0xFFFF:
        return conditions.port(at, value, addresses)
    raise fault(
        at, f"a match on part of {name} is not read", "the whole field: 0xff, of ports 0xffff"
    )


def _raw(word: Word, reader: Reader, addresses: Addresses) -> Condition:
    """``u8 0xb8 0xfc at 1``: by the offset into the IP header."""
    at = reader.words[reader.at] if reader.more() else word
    value, mask = _number(reader.take("a number")), _mask(reader)
    offset = 0
    if reader.skip("at"):
        offset = reader.number(0, 255)
    if mask == 0:
        return Condition()
    if (word.text, offset) == ("u8", 1):
        return conditions.octet(at, value, mask)
    if (word.text, offset, mask) == ("u8", 9, 0xFF):
        return conditions.protocol(at, value)
    if word.text == "u16" and offset in (20, 22) and mask == 0xFFFF:
        return conditions.port(at, value, addresses)
    if word.text == "u32" and offset in (12, 16):
        length = f"{mask:032b}".rstrip("0")
        if "0" not in length:
            dotted = ".".join(str(byte) for byte in value.to_bytes(4, "big"))
            shown = Word(f"{dotted}/{len(length)}", at.line, at.column)
            return conditions.address(shown, "source" if offset == 12 else "destination", addresses)
    given = f"{word.text} {value:#x} {mask:#x} at {offset}"
    raise fault(word, f"{given} is no field that is read", _FIELDS)


def _flower(reader: Reader, made: Filter, addresses: Addresses) -> None:
    while reader.more() and reader.peek() not in ("action", "classid", "flowid"):
        word = reader.take("a key")
        at = reader.words[reader.at] if reader.more() else word
        if word.text == "ip_proto":
            _narrow(made, conditions.protocol_named(reader.take("a protocol")))
        elif word.text == "ip_tos":
            value, _, mask = reader.take("an octet").text.partition("/")
            at_value, at_mask = replace(at, text=value), replace(at, text=mask or "0xff")
            _narrow(made, conditions.octet(at, _number(at_value), _number(at_mask)))
        elif word.text in ("src_ip", "dst_ip"):
            key = "source" if word.text == "src_ip" else "destination"
            _narrow(made, conditions.address(reader.take("an address"), key, addresses))
        elif word.text in ("src_port", "dst_port"):
            _narrow(made, conditions.port(at, reader.number(0, 65535), addresses))
        elif word.text == "mpls_tc":
            _narrow(made, conditions.traffic_class(reader.number(0, 7)))
        elif word.text not in ("skip_hw", "skip_sw"):
            known = "ip_proto, ip_tos, src_ip, dst_ip, src_port, dst_port, mpls_tc"
            refuse(word, f"flower has no key {word.text} that is read", known)


def _rest(reader: Reader, made: Filter, notes: list[Note]) -> None:
    """Class, policer, and actions; of tcindex its mask too."""
    while reader.more():
        word = reader.take("an option")
        if word.text in ("classid", "flowid"):
            major, minor = reader.ids()
            # `:1` names no class: it is the traffic control index alone.
            made.target, made.index = (major, minor) if major else None, minor
        elif word.text == "police":
            made.police = read_police(word, reader, notes)
        elif word.text == "action":
            _action(reader, made, notes)
        elif word.text in ("mask", "shift", "hash") and made.kind == "tcindex":
            value = reader.number(0, 0xFFFF)
            if word.text != "hash":
                setattr(made, word.text, value)
        elif word.text in ("pass_on", "fall_through") and made.kind == "tcindex":
            made.fall_through = word.text == "fall_through"
        elif word.text == "drop":
            made.drop = True
        elif word.text not in ("ok", "pass"):
            known = "classid, flowid, police, action"
            refuse(word, f"{word.text} of a filter is not read", known)


def _action(reader: Reader, made: Filter, notes: list[Note]) -> None:
    word = reader.take("an action")
    if word.text == "police":
        made.police = read_police(word, reader, notes, is_action=True)
    elif word.text == "skbedit":
        while reader.peek() in ("priority", "mark"):
            if reader.take("a field").text == "priority":
                made.target = reader.ids()
            else:
                made.mark = reader.number(0, 2**32 - 1)
    elif word.text == "pedit":
        made.dscp = _pedit(word, reader)
    elif word.text == "csum":
        reader.skip("ip")
    elif word.text == "mpls":
        notes.append(
            Note(word.line, "action mpls", "the map of a path writes the TC of its labels")
        )
        while reader.more() and reader.peek() != "action":
            reader.take("a word")
    elif word.text == "drop":
        made.drop = True
    elif word.text == "mirred":
        _mirred(word, reader, made)
    elif word.text not in _DONE:
        known = "mirred, police, skbedit, pedit, csum, mpls, drop, " + ", ".join(_DONE)
        refuse(word, f"the action {word.text} is not read", known)
    while reader.more() and reader.peek() in (*_DONE, "index"):
        if reader.take("a word").text == "index":
            reader.number(0, 2**31 - 1)


def _mirred(at: Word, reader: Reader, made: Filter) -> None:
    """``mirred egress redirect dev ifb0``: to the discipline of another device."""
    words = [reader.take("egress redirect dev DEVICE").text for _ in range(3)]
    if words != ["egress", "redirect", "dev"]:
        refuse(at, f"mirred {' '.join(words)} is not read", "mirred egress redirect dev DEVICE")
    made.redirect = reader.take("a device").text


def _pedit(at: Word, reader: Reader) -> int:
    """DSCP that ``pedit ex munge ip tos set 0x30 retain 0xfc`` writes."""
    reader.skip("ex")
    shape = [reader.take("munge ip tos set VALUE").text for _ in range(4)]
    if shape[:2] + shape[3:] != ["munge", "ip", "set"] or shape[2] not in ("tos", "dsfield"):
        refuse(at, f"pedit {' '.join(shape)} is not read", "pedit ex munge ip tos set VALUE")
    value = reader.number(0, 255)
    if reader.skip("retain"):
        given = reader.words[reader.at - 1]
        if reader.number(0, 255) & 0xFC != 0xFC:
            refuse(given, "part of a DSCP is not written", "retain 0xfc, retain 0xff")
    return value >> 2


def _number(word: Word) -> int:
    return whole_number(word, "number")


def _mask(reader: Reader) -> int:
    """Hexadecimal, with or without 0x, as tc reads masks."""
    return whole_number(reader.take("a mask"), "mask", "hexadecimal: 0xff", base=16)
