"""Filters of tc: u32, fw, tcindex and flower, and the policers they carry.

Source: tc-u32(8), tc-fw(8), tc-tcindex(8), tc-flower(8), tc-police(8), tc-skbedit(8).
"""

import itertools
from collections.abc import Callable
from dataclasses import replace

from trunkline.importers.common import conditions
from trunkline.importers.common.account import ImportAccount
from trunkline.importers.common.addresses import Addresses
from trunkline.importers.common.fault import SourceToken, make_fault, raise_fault
from trunkline.importers.common.quantities import read_integer
from trunkline.importers.common.traffic_control import ALL_MARK_BITS, Filter, PacketCondition
from trunkline.importers.tc.option_values import (
    make_count_reader,
    make_option_table,
    make_word_reader,
    read_head,
)
from trunkline.importers.tc.policers import read_policer
from trunkline.importers.tc.word_reader import WordReader

_FILTER_KINDS = "u32, fw, tcindex, flower, basic, matchall"
_U32_FIELDS = "ip tos, dsfield, src, dst, protocol, sport, dport; u32, u16, u8 VALUE MASK at OFFSET"
_PASSING_ACTIONS = ("pass", "ok", "pipe", "continue", "reclassify")
_MPLS_PROTOCOLS = ("mpls_uc", "mpls")

EGRESS_FILTER_PRIORITY_OFFSET = 0x10000
"""Filters of clsact on egress run before those of the discipline, whatever their `prio`."""

ParsedFilter = tuple[Filter, str, tuple[int, int] | None, bool]


_FILTER_HEAD = make_option_table(
    "dev parent root=parent ingress=hook egress=hook protocol proto=protocol prio=priority "
    "pref=priority preference=priority priority handle",
    root=lambda _reader: None,
    ingress=lambda _reader: 0xFFF2,
    egress=lambda _reader: 0xFFF3,
    **dict.fromkeys(("protocol", "proto"), make_word_reader("a protocol")),
    **dict.fromkeys(("prio", "pref", "preference", "priority"), make_count_reader(1, 0xFFFF)),
    handle=make_word_reader("a handle"),
)


def read_filter(reader: WordReader, addresses: Addresses, account: ImportAccount) -> ParsedFilter:
    """Read a filter from its device on.

    reader: Words after ``tc filter add``.
    Returns filter: Its priority is 0 if none was given.
    Returns parent: Where it stands; None for the root.
    Returns is_ip: Whether it looks at packets that the simulator has.
    """
    word, head_values = read_head(reader, "a kind of filter", _FILTER_HEAD)
    device = head_values["dev"].text if "dev" in head_values else ""
    if not device:
        raise_fault(word, "the command names no device", "dev DEVICE")
    hook, handle = head_values.get("hook"), head_values.get("handle")
    parent = (0xFFFF, hook) if hook else head_values.get("parent")
    protocol = head_values["protocol"].text if "protocol" in head_values else "all"
    priority = head_values.get("priority", 0)
    is_ip = protocol in ("ip", "all", "0x800", "ipv4", *_MPLS_PROTOCOLS)
    if not is_ip or _matches_routing(reader):
        reader.position = len(reader.words)
        return Filter(word, "match", priority, []), device, parent, False
    base = {"all": PacketCondition()}.get(
        protocol, conditions.LABELLED if protocol in _MPLS_PROTOCOLS else conditions.UNLABELLED
    )
    filter_ = Filter(word, "match", priority, [base])
    if word.text == "u32":
        _read_u32(reader, filter_, addresses)
    elif word.text == "fw":
        filter_.kind = "fw"
        if handle is None:
            raise_fault(word, "fw without a handle is not read", "handle MARK fw classid ID")
        filter_.handle, filter_.mask = _read_masked_mark(handle)
    elif word.text == "tcindex":
        filter_.kind = "tcindex"
        filter_.handle = None if handle is None else _parse_number(handle)
    elif word.text == "flower":
        _read_flower(reader, filter_, addresses)
    elif word.text == "basic" and reader.peek_text() == "match":
        raise_fault(word, "a match of basic is not read", "basic without match; u32, flower")
    elif word.text not in ("matchall", "basic"):
        raise_fault(word, f"there is no filter {word.text} here", _FILTER_KINDS)
    if hook == 0xFFF3:
        # Earlier filters decide before the discipline's own filters do.
        filter_.priority -= EGRESS_FILTER_PRIORITY_OFFSET
    _read_filter_rest(reader, filter_, account)
    return filter_, device, parent, is_ip


def _matches_routing(reader: WordReader) -> bool:
    """Whether the next words match OSPF or LDP, which `export` lets pass the queues."""
    texts = [each.text for each in reader.words[reader.position :]]
    return texts[:5] == ["match", "ip", "protocol", "89", "0xff"] or any(
        pair in (("dport", "646"), ("sport", "646")) for pair in itertools.pairwise(texts)
    )


def _narrow_conditions(filter_: Filter, added: PacketCondition) -> None:
    filter_.conditions = [
        overlap
        for condition in filter_.conditions
        if (overlap := condition.intersect(added)) is not None
    ]


def _read_u32(reader: WordReader, filter_: Filter, addresses: Addresses) -> None:
    if reader.skip_word("divisor"):
        # A hash table of filters, which none here refers to.
        reader.read_number(1, 256)
        filter_.conditions = []
        filter_.is_table = True
        return
    if reader.peek_text() != "match":
        at = reader.words[reader.position - 1]
        raise_fault(at, "u32 without a match: the kernel refuses it", "match u32 0 0")
    while reader.skip_word("match"):
        word = reader.take_word("a field")
        if word.text == "ip":
            field = reader.take_word("a field of the IP header")
            _narrow_conditions(filter_, _read_ip_field(field, reader, addresses))
        elif word.text in ("u8", "u16", "u32"):
            _narrow_conditions(filter_, _read_raw_match(word, reader, addresses))
        else:
            raise_fault(word, f"a match on {word.text} is not read", _U32_FIELDS)


def _read_ip_field(field: SourceToken, reader: WordReader, addresses: Addresses) -> PacketCondition:
    name = field.text
    if name in ("src", "dst"):
        key = "source" if name == "src" else "destination"
        return conditions.match_address(reader.take_word("an address"), key, addresses)
    if name not in ("tos", "dsfield", "precedence", "protocol", "sport", "dport"):
        raise_fault(field, f"a match on ip {name} is not read", _U32_FIELDS)
    at = reader.words[reader.position] if reader.has_more() else field
    value, mask = _parse_number(reader.take_word("a number")), _read_mask(reader)
    if mask == 0:
        return PacketCondition()
    if name in ("tos", "dsfield", "precedence"):
        return conditions.match_tos_octet(at, value, mask)
    if name == "protocol" and mask == 0xFF:
        return conditions.match_protocol(at, value)
    if name in ("sport", "dport") and mask == 0xFFFF:
        return conditions.match_port(at, value, addresses)
    raise make_fault(
        at, f"a match on part of {name} is not read", "the whole field: 0xff, of ports 0xffff"
    )


def _read_raw_match(word: SourceToken, reader: WordReader, addresses: Addresses) -> PacketCondition:
    """``u8 0xb8 0xfc at 1``: by the offset into the IP header, as fields of its 32-bit words."""
    at = reader.words[reader.position] if reader.has_more() else word
    value, mask = _parse_number(reader.take_word("a number")), _read_mask(reader)
    offset = 0
    if reader.skip_word("at"):
        offset = reader.read_number(0, 255)
    width = int(word.text[1:])
    if not 0 <= value < 2**width or not 0 <= mask < 2**width or offset % (width // 8):
        raise_fault(at, f"{value:#x} {mask:#x} at {offset} is no match of {width} bits")
    shift = 32 - width - 8 * (offset % 4)
    condition: PacketCondition | None = PacketCondition()
    rest = mask << shift
    for field_word, field_mask, make_condition in _HEADER_FIELDS:
        field_value = (value << shift & field_mask) // (field_mask & -field_mask)
        used_mask = (rest & field_mask) // (field_mask & -field_mask)
        if field_word != offset - offset % 4 or not used_mask:
            continue
        added = make_condition(at, field_value, used_mask, addresses)
        if added is not None and condition is not None:
            condition = condition.intersect(added)
            rest &= ~field_mask
    if rest:
        match_text = f"{word.text} {value:#x} {mask:#x} at {offset}"
        raise make_fault(word, f"{match_text} is no field that is read", _U32_FIELDS)
    return PacketCondition() if condition is None else condition


_ConditionMaker = Callable[[SourceToken, int, int, Addresses], PacketCondition | None]
"""A condition from the value and the mask of a field; None if the field is not read so."""


def _match_address_field(key: str) -> _ConditionMaker:
    def make_condition(
        at: SourceToken, value: int, mask: int, addresses: Addresses
    ) -> PacketCondition | None:
        length = f"{mask:032b}".rstrip("0")
        if "0" in length:
            return None
        dotted = ".".join(str(byte) for byte in value.to_bytes(4, "big"))
        prefix = SourceToken(f"{dotted}/{len(length)}", at.line, at.column)
        return conditions.match_address(prefix, key, addresses)

    return make_condition


def _match_port_field(
    at: SourceToken, value: int, mask: int, addresses: Addresses
) -> PacketCondition | None:
    return conditions.match_port(at, value, addresses) if mask == 0xFFFF else None


_HEADER_FIELDS: tuple[tuple[int, int, _ConditionMaker], ...] = (
    (0, 0x00FF0000, lambda at, value, mask, _: conditions.match_tos_octet(at, value, mask)),
    (
        8,
        0x00FF0000,
        lambda at, value, mask, _: conditions.match_protocol(at, value) if mask == 0xFF else None,
    ),
    (12, 0xFFFFFFFF, _match_address_field("source")),
    (16, 0xFFFFFFFF, _match_address_field("destination")),
    (20, 0xFFFF0000, _match_port_field),
    (20, 0x0000FFFF, _match_port_field),
    # A header of 20 B, and of IPv4: all of the simulator's.
    (0, 0x0F000000, lambda at, value, mask, _: PacketCondition() if value == 5 & mask else None),
    (0, 0xF0000000, lambda at, value, mask, _: PacketCondition() if value == 4 & mask else None),
)
"""Fields of the IP header (RFC 791 section 3.1): offset of the word, mask, condition."""


def _read_flower(reader: WordReader, filter_: Filter, addresses: Addresses) -> None:
    while reader.has_more() and reader.peek_text() not in ("action", "classid", "flowid"):
        word = reader.take_word("a key")
        at = reader.words[reader.position] if reader.has_more() else word
        if word.text == "ip_proto":
            _narrow_conditions(
                filter_, conditions.match_protocol_name(reader.take_word("a protocol"))
            )
        elif word.text == "ip_tos":
            value, _, mask = reader.take_word("an octet").text.partition("/")
            at_value, at_mask = replace(at, text=value), replace(at, text=mask or "0xff")
            _narrow_conditions(
                filter_,
                conditions.match_tos_octet(at, _parse_number(at_value), _parse_number(at_mask)),
            )
        elif word.text in ("src_ip", "dst_ip"):
            key = "source" if word.text == "src_ip" else "destination"
            _narrow_conditions(
                filter_, conditions.match_address(reader.take_word("an address"), key, addresses)
            )
        elif word.text in ("src_port", "dst_port"):
            _narrow_conditions(
                filter_, conditions.match_port(at, reader.read_number(0, 65535), addresses)
            )
        elif word.text == "mpls_tc":
            _narrow_conditions(filter_, conditions.match_traffic_class(reader.read_number(0, 7)))
        elif word.text not in ("skip_hw", "skip_sw"):
            known = "ip_proto, ip_tos, src_ip, dst_ip, src_port, dst_port, mpls_tc"
            raise_fault(word, f"flower has no key {word.text} that is read", known)


def _read_filter_rest(reader: WordReader, filter_: Filter, account: ImportAccount) -> None:
    """Read the class, policer, and actions; of tcindex its mask too."""
    while reader.has_more():
        word = reader.take_word("an option")
        if word.text in ("classid", "flowid"):
            major, minor = reader.read_ids()
            # `:1` names no class: it is the traffic control index alone.
            filter_.target, filter_.index = (major, minor) if major else None, minor
        elif word.text == "police":
            filter_.policer = read_policer(word, reader, account)
        elif word.text == "action":
            _read_action(reader, filter_, account)
        elif word.text in ("mask", "shift", "hash") and filter_.kind == "tcindex":
            value = reader.read_number(0, 0xFFFF)
            if word.text != "hash":
                setattr(filter_, word.text, value)
        elif word.text in ("pass_on", "fall_through") and filter_.kind == "tcindex":
            filter_.fall_through = word.text == "fall_through"
        elif word.text == "drop":
            filter_.drop = True
        elif word.text not in ("ok", "pass"):
            known = "classid, flowid, police, action"
            raise_fault(word, f"{word.text} of a filter is not read", known)


def _read_action(reader: WordReader, filter_: Filter, account: ImportAccount) -> None:
    word = reader.take_word("an action")
    if word.text == "police":
        filter_.policer = read_policer(word, reader, account, is_action=True)
    elif word.text == "skbedit":
        while reader.peek_text() in ("priority", "mark"):
            if reader.take_word("a field").text == "priority":
                filter_.target = reader.read_ids()
            else:
                filter_.mark = reader.read_number(0, 2**32 - 1)
    elif word.text == "pedit":
        filter_.dscp = _read_pedit(word, reader)
    elif word.text == "csum":
        reader.skip_word("ip")
    elif word.text == "mpls":
        account.add_left_out(
            "action mpls", "the map of a path writes the TC of its labels", line=word.line
        )
        while reader.has_more() and reader.peek_text() != "action":
            reader.take_word("a word")
    elif word.text == "drop":
        filter_.drop = True
    elif word.text == "mirred":
        _read_mirred(word, reader, filter_)
    elif word.text not in _PASSING_ACTIONS:
        known = "mirred, police, skbedit, pedit, csum, mpls, drop, " + ", ".join(_PASSING_ACTIONS)
        raise_fault(word, f"the action {word.text} is not read", known)
    while reader.has_more() and reader.peek_text() in (*_PASSING_ACTIONS, "index"):
        if reader.take_word("a word").text == "index":
            reader.read_number(0, 2**31 - 1)


def _read_mirred(at: SourceToken, reader: WordReader, filter_: Filter) -> None:
    """``mirred egress redirect dev ifb0``: to the discipline of another device."""
    words = [reader.take_word("egress redirect dev DEVICE").text for _ in range(3)]
    if words != ["egress", "redirect", "dev"]:
        raise_fault(
            at, f"mirred {' '.join(words)} is not read", "mirred egress redirect dev DEVICE"
        )
    filter_.redirect = reader.take_word("a device").text


def _read_pedit(at: SourceToken, reader: WordReader) -> int:
    """DSCP that ``pedit ex munge ip tos set 0x30 retain 0xfc`` writes."""
    reader.skip_word("ex")
    words = [reader.take_word("munge ip tos set VALUE").text for _ in range(4)]
    if words[:2] + words[3:] != ["munge", "ip", "set"] or words[2] not in ("tos", "dsfield"):
        raise_fault(at, f"pedit {' '.join(words)} is not read", "pedit ex munge ip tos set VALUE")
    value = reader.read_number(0, 255)
    if reader.skip_word("retain"):
        given = reader.words[reader.position - 1]
        if reader.read_number(0, 255) & 0xFC != 0xFC:
            raise_fault(given, "part of a DSCP is not written", "retain 0xfc, retain 0xff")
    return value >> 2


def _read_masked_mark(word: SourceToken) -> tuple[int, int]:
    """``MARK`` or ``MARK/MASK`` (cls_fw.c): the mask is of 32 bits."""
    mark, slash, mask = word.text.partition("/")
    known = "MARK, MARK/MASK"
    value = read_integer(word, "mark", known, part=mark)
    return value, read_integer(word, "mask", known, part=mask) if slash else ALL_MARK_BITS


def _parse_number(word: SourceToken) -> int:
    return read_integer(word, "number")


def _read_mask(reader: WordReader) -> int:
    """Hexadecimal, with or without 0x, as tc reads masks."""
    return read_integer(reader.take_word("a mask"), "mask", "hexadecimal: 0xff", base=16)
