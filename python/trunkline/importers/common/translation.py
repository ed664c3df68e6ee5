"""Translation of a configuration to the ports and conditioners of a scenario."""

from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from trunkline.importers.common import explanation
from trunkline.importers.common.account import ImportAccount
from trunkline.importers.common.classification import (
    CLASSFUL_DISCIPLINES,
    ClassifiedPackets,
    PacketGroup,
    find_leaves,
)
from trunkline.importers.common.classifier_rules import is_labelled
from trunkline.importers.common.conditioners import (
    PacketMarking,
    PolicingResult,
    RemarkTable,
    build_conditioner,
    map_remarked_dscps,
    police_groups,
)
from trunkline.importers.common.conditions import LABELLED, UNLABELLED
from trunkline.importers.common.fault import SourceToken, raise_fault
from trunkline.importers.common.packet_marks import mark_packets
from trunkline.importers.common.ports import (
    build_port,
    get_queueing_discipline,
    make_pfifo_fast_bands,
)
from trunkline.importers.common.queues import ScenarioKeys, SystemDefaults
from trunkline.importers.common.traffic_control import (
    Device,
    Filter,
    Qdisc,
    TrafficControlConfig,
)
from trunkline.scenario.base import Element
from trunkline.scenario.conditioner import Conditioner
from trunkline.scenario.dscp import get_dscp_name
from trunkline.scenario.port import PortConfiguration

DEFAULT_QUEUE_PACKETS = {"plog": 100, "max-p": 1000}
"""Length of a device's transmit queue where nothing sets it: Ethernet's of the age."""


@dataclass(frozen=True, slots=True)
class Imported:
    """A configuration as parts of a scenario."""

    # ports, conditioners: Values of those keys of a scenario, by name.
    ports: dict[str, ScenarioKeys]
    conditioners: dict[str, ScenarioKeys]
    sentences: list[str]  # Their effect, a sentence each.
    account: ImportAccount  # Lines that were read, left out and assumed.

    def to_dict(self) -> dict[str, Any]:
        """The keys of a scenario that are not empty."""
        found = {"ports": self.ports, "conditioners": self.conditioners}
        return {key: value for key, value in found.items() if value}


def translate(configuration: TrafficControlConfig, age: str) -> Imported:
    """Translate the configuration that was read.

    age: one of "plog", "max-p"; how RED of its kernel stores probabilities.
    Raises ImportFault: Something has no counterpart in a scenario.
    """
    configuration.rename_devices()
    groups = _make_packet_groups(configuration)
    policed_by_device = {
        name: police_groups(device.ingress.filters, groups)
        for name, device in configuration.devices.items()
        if device.ingress is not None and device.ingress.filters
    }
    outcomes = [result for results in policed_by_device.values() for result in results]
    devices_with_root = [
        device for device in configuration.devices.values() if device.root is not None
    ]
    new_dscps: dict[tuple[PacketMarking, int], int] = {}
    ports: dict[str, ScenarioKeys] = {}
    conditioners: dict[str, ScenarioKeys] = {}
    for device in devices_with_root:
        assert device.root is not None
        device.root = _unwrap_link_shaper(device.root, configuration.account)
        if device.root.kind == "pfifo_fast":
            device.root = make_pfifo_fast_bands(device.root)
        queue_packets = device.queue_packets
        defaults = SystemDefaults(
            DEFAULT_QUEUE_PACKETS[age] if queue_packets is None else queue_packets,
            age,
            None if queue_packets is not None else configuration.account,
        )
        if outcomes:
            classified = _classify_after_policing(device, outcomes, new_dscps)
        else:
            by_mark = any(results.kind == "fw" for results in _list_filters(device)) or any(
                rule.class_id is not None for rule in configuration.rules
            )
            classified = find_leaves(
                device.root, _make_packet_groups(configuration, device, by_mark=by_mark)
            )
            marking_conditioner = _build_marking_conditioner(device, classified)
            if marking_conditioner is not None:
                conditioners[f"{device.name}-mark"] = marking_conditioner
        _note_direct_packets(device.root, classified, configuration.account)
        ports[device.name] = port_keys = build_port(device.root, classified, defaults)
        _validate_keys(PortConfiguration, port_keys, device.root.at)
    for name, results in policed_by_device.items():
        ingress_conditioner = build_conditioner(results, RemarkTable(new_dscps))
        if ingress_conditioner is not None:
            conditioners[f"{name}-ingress"] = ingress_conditioner
            device = configuration.devices[name]
            assert device.ingress is not None
            _validate_keys(Conditioner, ingress_conditioner, device.ingress.at)
    sentences = explanation.explain_configuration(configuration, ports, conditioners)
    return Imported(ports, conditioners, sentences, configuration.account)


def _validate_keys(model: type[Element], config: ScenarioKeys, at: SourceToken) -> None:
    """Check that a scenario can hold the result: its keys have ranges that tc does not know."""
    try:
        model.model_validate(config)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise_fault(at, f"{place} = {first['input']}: {first['msg']}")


def _unwrap_link_shaper(root: Qdisc, account: ImportAccount) -> Qdisc:
    """The discipline inside one that is the same for all: htb of one class, tbf, netem.

    Testbeds give a link its rate and its delay so. The link of the scenario has them.
    """
    while True:
        inner, rate = root.inner, root.options.get("rate")
        if root.kind == "htb":
            leaves = [each for each in root.classes.values() if not root.children(each.minor)]
            by_class = any(filter_.priority >= 0 for filter_ in root.filters)
            default = root.options.get("default")
            if len(leaves) != 1 or by_class or default != leaves[0].minor:
                return root
            rate_of_leaf = leaves[0].options.get("rate")
            inner, rate = leaves[0].queue, leaves[0].options.get("ceil", rate_of_leaf)
        elif root.kind not in ("tbf", "netem"):
            return root
        if inner is None or (
            root.kind != "netem" and inner.kind not in (*CLASSFUL_DISCIPLINES, "cake")
        ):
            return root
        if root.kind == "netem":
            # Its account is in its options.
            root = inner
            continue
        why = f"it sets the rate of all: give the link {rate} bit/s"
        account.add_assumption(f"{root.kind} around {inner.kind}", why, line=root.at.line)
        # Filters of clsact choose in whatever discipline has the class.
        inner.filters = [*(each for each in root.filters if each.priority < 0), *inner.filters]
        root = inner


def _note_direct_packets(
    root: Qdisc, classified: list[ClassifiedPackets], account: ImportAccount
) -> None:
    """Note that htb sends packets without a leaf before all classes."""
    if root.kind == "htb" and any(packets.leaf is None for packets in classified):
        why = (
            "what reaches no class goes past htb, unshaped and first: here a class of the link's "
            "rate, with the priorities of the others one lower"
        )
        default = f" default {root.options['default']:x}" if "default" in root.options else ""
        account.add_assumption(f"htb{default}", why, line=root.at.line)


def _list_filters(device: Device) -> list[Filter]:
    filters = list(device.ingress.filters) if device.ingress is not None else []
    root = device.root
    while root is not None:
        filters += root.filters + [
            filter_ for class_ in root.classes.values() for filter_ in class_.filters
        ]
        root = root.inner
    return filters


def _make_packet_groups(
    configuration: TrafficControlConfig, device: Device | None = None, *, by_mark: bool = True
) -> list[PacketGroup]:
    """Make all packets, by their marks unless those do not matter; labelled ones where filters ask.

    device: Device that they leave through, where it is known.
    """
    has_labelled = any(
        dict(filter_condition.tests).get("labelled") == frozenset({1})
        for configured in configuration.devices.values()
        for filter_ in _list_filters(configured)
        for filter_condition in filter_.conditions
    )
    groups = [PacketGroup(LABELLED)] if has_labelled else []
    if not by_mark:
        return [*groups, PacketGroup(UNLABELLED)]
    rules = [rule for rule in configuration.rules if device is None or rule.is_seen_at(device)]
    return groups + [
        PacketGroup(each.condition, 0, each.value, each.class_id) for each in mark_packets(rules)
    ]


def _classify_after_policing(
    device: Device, outcomes: list[PolicingResult], new_dscps: dict[tuple[PacketMarking, int], int]
) -> list[ClassifiedPackets]:
    """Find the classes of packets behind the policers, by the DSCP that they then have.

    dsmark writes DSCPs as packets leave; here the conditioner writes them as they come in, so that
    the port's rules see them.
    """
    assert device.root is not None
    classified_by_dscp: dict[tuple[object, int], ClassifiedPackets] = {}
    result: list[ClassifiedPackets] = []
    for policing in outcomes:
        for marking in policing.markings:
            if marking is None:
                continue
            for classified in find_leaves(device.root, [marking.apply_to(policing.group)]):
                if is_labelled(classified.group.condition):
                    result.append(classified)
                    continue
                old_dscps_by_new: dict[int, set[int]] = {}
                for old_dscp, new_dscp in map_remarked_dscps(device.root, classified).items():
                    old_dscps_by_new.setdefault(new_dscp, set()).add(old_dscp)
                    at = policing.policers[0].at if policing.policers else device.root.at
                    original_dscps = (
                        policing.group.condition.dscps if marking.dscp is not None else {old_dscp}
                    )
                    for dscp in original_dscps:
                        _record_new_dscp(new_dscps, (marking, dscp), new_dscp, at)
                for new_dscp in old_dscps_by_new:
                    result += _keep_first_of_dscp(
                        classified_by_dscp,
                        replace(classified, group=_with_dscp(classified.group, new_dscp)),
                        device,
                    )
    return result


def _with_dscp(group: PacketGroup, dscp: int) -> PacketGroup:
    return replace(group, condition=replace(group.condition, dscps=frozenset({dscp})))


def _record_new_dscp(
    new_dscps: dict[tuple[PacketMarking, int], int],
    key: tuple[PacketMarking, int],
    new_dscp: int,
    at: SourceToken,
) -> None:
    if new_dscps.setdefault(key, new_dscp) != new_dscp:
        both_dscps = f"{get_dscp_name(new_dscps[key])} and {get_dscp_name(new_dscp)}"
        raise_fault(at, f"devices write different DSCPs for the same packets: {both_dscps}")


def _keep_first_of_dscp(
    classified_by_dscp: dict[tuple[object, int], ClassifiedPackets],
    classified: ClassifiedPackets,
    device: Device,
) -> list[ClassifiedPackets]:
    """Keep the first group of a DSCP; fail where packets with one DSCP differ."""
    (dscp,) = classified.group.condition.dscps
    key = (classified.group.condition.tests, dscp)
    other = classified_by_dscp.setdefault(key, classified)
    if other is classified:
        return [classified]
    same_leaf = other.leaf is classified.leaf and other.discipline is classified.discipline
    if not same_leaf or other.precedence != classified.precedence:
        at = get_queueing_discipline(device.root) or device.root
        assert at is not None
        raise_fault(
            at.at,
            f"packets with DSCP {get_dscp_name(dscp)} go to several places by what the "
            f"ingress found; "
            "they cannot be told apart by DSCP",
            "dsmark that writes a DSCP for each",
        )
    return []


def _build_marking_conditioner(
    device: Device, classified: list[ClassifiedPackets]
) -> ScenarioKeys | None:
    """Build the conditioner at the far end of the link that writes as dsmark does."""
    assert device.root is not None
    if device.root.kind != "dsmark":
        return None
    results: list[PolicingResult] = []
    new_dscps: dict[tuple[PacketMarking, int], int] = {}
    for packets in classified:
        marking = PacketMarking(packets.group.index)
        for old_dscp, new_dscp in map_remarked_dscps(device.root, packets).items():
            new_dscps[marking, old_dscp] = new_dscp
        results.append(PolicingResult(packets.group, (), (marking,)))
    return build_conditioner(_merge_unchanged(results, new_dscps), RemarkTable(new_dscps))


def _merge_unchanged(
    results: list[PolicingResult], new_dscps: dict[tuple[PacketMarking, int], int]
) -> list[PolicingResult]:
    """Merge kinds that dsmark separates but writes alike."""
    merged: list[PolicingResult] = []
    for policing in results:
        last = merged[-1] if merged else None
        same_tests = (
            last is not None and last.group.condition.tests == policing.group.condition.tests
        )
        if (
            last is not None
            and same_tests
            and _is_unchanged(last, new_dscps)
            and _is_unchanged(policing, new_dscps)
        ):
            dscps = last.group.condition.dscps | policing.group.condition.dscps
            group = PacketGroup(replace(last.group.condition, dscps=dscps))
            merged[-1] = PolicingResult(group, (), (_NO_MARKING,))
        else:
            merged.append(policing)
    return merged


_NO_MARKING = PacketMarking(-1)  # Marking of packets that no rule marks.


def _is_unchanged(
    policing: PolicingResult, new_dscps: dict[tuple[PacketMarking, int], int]
) -> bool:
    (marking,) = policing.markings
    assert marking is not None
    return all(
        new_dscps.get((marking, dscp), dscp) == dscp for dscp in policing.group.condition.dscps
    )
