"""Marks that a packet filter leaves on packets.

Rules are followed from the last to the first: a bit that a later rule has written is settled. So
packets that a later rule takes come first, and the first kind that fits a packet is its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trunkline.importers.common.conditions import UNLABELLED
from trunkline.importers.common.traffic_control import ALL_MARK_BITS, MarkRule, PacketCondition


@dataclass(frozen=True, slots=True)
class MarkedPackets:
    """Packets with one mark."""

    condition: PacketCondition
    value: int = 0
    settled: int = 0  # Bits of the mark that no earlier rule can change.
    class_id: tuple[int, int] | None = None  # Class that a rule chose for them.


def mark_packets(rules: Sequence[MarkRule]) -> list[MarkedPackets]:
    """Mark packets without a label by the mark that they leave the packet filter with.

    Returns: In an order in which the first that fits a packet is its own.
    """
    chains = list(dict.fromkeys(rule.chain for rule in rules))
    found = [MarkedPackets(UNLABELLED)]
    for chain in reversed(chains):
        behind, chain_groups = found, list(found)
        for rule in reversed([rule for rule in rules if rule.chain == chain]):
            if rule.ends:
                # Later filters of this chain do not see these; later chains do.
                chain_groups = [*_select(behind, rule.condition), *chain_groups]
            if rule.mask or rule.class_id is not None:
                chain_groups = [
                    part for group in chain_groups for part in _split_by_rule(group, rule)
                ]
        found = chain_groups
    return found


def _select(groups: Sequence[MarkedPackets], condition: PacketCondition) -> list[MarkedPackets]:
    overlaps = ((group, group.condition.intersect(condition)) for group in groups)
    return [replace(group, condition=overlap) for group, overlap in overlaps if overlap is not None]


def _split_by_rule(group: MarkedPackets, rule: MarkRule) -> list[MarkedPackets]:
    """Split a rule into the part that it marks and the part that it leaves alone."""
    free = rule.mask & ~group.settled & ALL_MARK_BITS
    class_id = group.class_id or rule.class_id
    overlap = group.condition.intersect(rule.condition)
    if overlap is None or (not free and class_id == group.class_id):
        return [group]
    taken = MarkedPackets(overlap, group.value | rule.value & free, group.settled | free, class_id)
    remaining = group.condition.subtract(rule.condition)
    return [taken] if remaining is None else [taken, replace(group, condition=remaining)]
