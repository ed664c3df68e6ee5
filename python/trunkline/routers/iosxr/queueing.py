"""Class-maps and policy-maps: queues of ports, policers, traffic classes at head ends."""

import math
from collections.abc import Iterator
from typing import Final
from xml.etree import ElementTree

from trunkline.routers.hardware_queues import HardwareQueue, join_ranges
from trunkline.routers.iosxr.names import name_link_shaper
from trunkline.routers.iosxr.xml_elements import XmlWriter, add_element
from trunkline.routers.port_policies import PLAIN_CLASS
from trunkline.routers.router_config import PortPolicy, Router, RouterNetwork, RouterPolicer

_PLAIN_QUEUE_PACKETS: Final = PLAIN_CLASS["queue"]["limit_packets"]
_MAX_MATCH_VALUES: Final = 8  # Values of one `match` line.


def name_class(policy: str, queue: str) -> str:
    """Name of a class-map."""
    return f"{policy}-{queue}"


def list_class_maps(
    network: RouterNetwork, router: Router, queues: dict[str, list[HardwareQueue]]
) -> Iterator[str]:
    """List class-maps of all policies."""
    for policy, classes in queues.items():
        for each in classes:
            if not each.is_default:
                matches = [("dscp", tuple(each.queue.dscps))]
                matches.append(("mpls experimental topmost", tuple(each.queue.tcs)))
                yield from _list_class_map(name_class(policy, each.queue.name), matches)
    for name in router.list_policers():
        for policer in network.policers[name]:
            yield from _list_class_map(name_class(name, policer.name), [("dscp", policer.dscps)])
    for tc, dscps in _group_imposition(router).items():
        yield from _list_class_map(f"imposition-{tc}", [("dscp", dscps)])


def _list_class_map(name: str, matches: list[tuple[str, tuple[int, ...]]]) -> Iterator[str]:
    yield f"class-map match-any {name}"
    for key, values in matches:
        words = join_ranges(values) if key == "dscp" else [str(each) for each in sorted(values)]
        for start in range(0, len(words), _MAX_MATCH_VALUES):
            yield f" match {key} {' '.join(words[start : start + _MAX_MATCH_VALUES])}"
    yield " end-class-map"
    yield "!"


def _group_imposition(router: Router) -> dict[int, tuple[int, ...]]:
    """Group the DSCPs by the TC that the head end writes for them."""
    groups: dict[int, list[int]] = {}
    for dscp, tc in router.imposition.items():
        groups.setdefault(tc, []).append(dscp)
    return {tc: tuple(dscps) for tc, dscps in sorted(groups.items())}


def list_link_shapers(router: Router) -> Iterator[str]:
    """List the shapers of links without queues whose ports are faster."""
    for name, kbps in _find_link_shapers(router).items():
        yield f"policy-map {name}"
        yield from (" class class-default", f"  shape average {kbps} kbps")
        yield from (f"  queue-limit {_PLAIN_QUEUE_PACKETS} packets", " !", " end-policy-map", "!")


def _find_link_shapers(router: Router) -> dict[str, int]:
    """Find the rate of each shaper of a link [kbit/s], by its policy-map."""
    rates = [each.plain_shaper_rate for each in router.interfaces]
    return {name_link_shaper(rate): math.ceil(rate / 1000) for rate in rates if rate is not None}


def list_policy_map(policy: PortPolicy, classes: list[HardwareQueue]) -> Iterator[str]:
    """List the queues of a port, below its shaper where it has one."""
    if policy.shaper_rate is not None:
        yield f"policy-map {policy.name}-port"
        yield from (" class class-default", f"  service-policy {policy.name}")
        yield f"  shape average {math.ceil(policy.shaper_rate / 1000)} kbps"
        yield from (" !", " end-policy-map", "!")
    yield f"policy-map {policy.name}"
    for each in classes:
        yield f" class {_name_queue_class(policy, each)}"
        if each.level is not None:
            yield f"  priority level {each.level}"
        if each.police is not None:
            burst = f" burst {each.queue.burst} bytes" if each.queue.burst else ""
            yield f"  police rate {each.police} kbps{burst}"
            yield "  !"
        if each.bandwidth is not None:
            yield f"  bandwidth {each.bandwidth} kbps"
        if each.ratio is not None:
            yield f"  bandwidth remaining ratio {each.ratio}"
        if each.shape is not None:
            yield f"  shape average {each.shape} kbps"
        for curve in each.curves:
            thresholds = f"{curve.low} {curve.unit} {curve.high} {curve.unit}"
            if len(each.curves) == 1:
                yield f"  random-detect {thresholds}"
                continue
            if curve.dscps:
                yield f"  random-detect dscp {','.join(join_ranges(curve.dscps))} {thresholds}"
            if curve.tcs:
                yield f"  random-detect exp {','.join(map(str, curve.tcs))} {thresholds}"
        limit = _format_limit(each)
        if limit:
            yield f"  queue-limit {' '.join(limit)}"
        yield " !"
    yield from (" end-policy-map", "!")


def _name_queue_class(policy: PortPolicy, each: HardwareQueue) -> str:
    return "class-default" if each.is_default else name_class(policy.name, each.queue.name)


def _format_limit(each: HardwareQueue) -> tuple[str, str] | None:
    """Format the value and unit of the length of a queue."""
    if each.queue.limit_packets is not None:
        return str(each.queue.limit_packets), "packets"
    if each.queue.limit_bytes is not None:
        return str(each.queue.limit_bytes), "bytes"
    return None


def list_policer_map(name: str, policers: tuple[RouterPolicer, ...]) -> Iterator[str]:
    """List the policer map of an interface's input."""
    yield f"policy-map {name}-in"
    for each in policers:
        yield f" class {name_class(name, each.name)}"
        peak = (
            f" peak-rate {each.peak_rate} bps peak-burst {each.peak_burst} bytes"
            if each.peak_rate
            else f" peak-burst {each.peak_burst} bytes"
            if each.violate is not None
            else ""
        )
        yield f"  police rate {each.rate} bps burst {each.burst} bytes{peak}"
        for colour in ("conform", "exceed", "violate"):
            action = getattr(each, colour)
            if action is None:
                continue
            word = (
                "drop"
                if action.drop
                else "transmit"
                if action.dscp is None
                else f"set dscp {action.dscp}"
            )
            yield f"   {colour}-action {word}"
        yield from ("  !", " !")
    yield from (" class class-default", " !", " end-policy-map", "!")


def list_imposition_map(router: Router) -> Iterator[str]:
    """List the traffic classes that a head end writes."""
    yield "policy-map imposition"
    for tc in _group_imposition(router):
        yield from (f" class imposition-{tc}", f"  set mpls experimental imposition {tc}", " !")
    yield from (" class class-default", " !", " end-policy-map", "!")


def _add_class_map(
    parent: ElementTree.Element, name: str, dscps: tuple[int, ...], tcs: tuple[int, ...]
) -> None:
    entry = add_element(parent, "class-map")
    add_element(entry, "type", "qos")
    add_element(entry, "name", name)
    add_element(entry, "class-map-mode-match-any")
    match = add_element(entry, "match")
    for words in join_ranges(dscps):
        add_element(match, "dscp", words)
    for tc in sorted(tcs):
        add_element(match, "mpls-experimental-topmost", tc)


def _add_rule(parent: ElementTree.Element, name: str) -> ElementTree.Element:
    rule = add_element(parent, "policy-map-rule")
    add_element(rule, "class-name", name)
    add_element(rule, "class-type", "qos")
    return rule


def _add_quantity(
    parent: ElementTree.Element, name: str, value: object, unit: str, *, key: str = "unit"
) -> None:
    quantity = add_element(parent, name)
    add_element(quantity, "value", value)
    add_element(quantity, key, unit)


def _add_policy_map(parent: ElementTree.Element, name: str) -> ElementTree.Element:
    entry = add_element(parent, "policy-map")
    add_element(entry, "type", "qos")
    add_element(entry, "name", name)
    return entry


def add_policies(
    writer: XmlWriter,
    network: RouterNetwork,
    router: Router,
    queues: dict[str, list[HardwareQueue]],
) -> None:
    """Add class-maps and policy-maps, if there are any."""
    if not (queues or router.list_policers() or router.imposition or _find_link_shapers(router)):
        return
    manager = writer.add_module("infra-policymgr-cfg", "policy-manager")
    class_maps, policy_maps = ElementTree.Element("class-maps"), ElementTree.Element("policy-maps")
    for name, classes in queues.items():
        policy = network.port_policies[name]
        if policy.shaper_rate is not None:
            rule = _add_rule(_add_policy_map(policy_maps, f"{name}-port"), "class-default")
            kbps = math.ceil(policy.shaper_rate / 1000)
            _add_quantity(add_element(rule, "shape"), "rate", kbps, "kbps")
            service = add_element(rule, "service-policy")
            add_element(service, "policy-name", name)
            add_element(service, "type", "qos")
        entry = _add_policy_map(policy_maps, name)
        for each in classes:
            if not each.is_default:
                matched = tuple(each.queue.dscps), tuple(each.queue.tcs)
                _add_class_map(class_maps, name_class(name, each.queue.name), *matched)
            _add_queue(_add_rule(entry, _name_queue_class(policy, each)), each)
    for name, kbps in _find_link_shapers(router).items():
        rule = _add_rule(_add_policy_map(policy_maps, name), "class-default")
        _add_quantity(add_element(rule, "shape"), "rate", kbps, "kbps")
        _add_quantity(rule, "queue-limit", _PLAIN_QUEUE_PACKETS, "packets")
    for name in router.list_policers():
        entry = _add_policy_map(policy_maps, f"{name}-in")
        for policer in network.policers[name]:
            _add_class_map(class_maps, name_class(name, policer.name), policer.dscps, ())
            _add_policer(_add_rule(entry, name_class(name, policer.name)), policer)
        _add_rule(entry, "class-default")
    if router.imposition:
        entry = _add_policy_map(policy_maps, "imposition")
        for tc, dscps in _group_imposition(router).items():
            _add_class_map(class_maps, f"imposition-{tc}", dscps, ())
            rule = _add_rule(entry, f"imposition-{tc}")
            add_element(add_element(rule, "set"), "mpls-experimental-imposition", tc)
        _add_rule(entry, "class-default")
    manager.extend([class_maps, policy_maps])


def _add_queue(rule: ElementTree.Element, each: HardwareQueue) -> None:
    if each.shape is not None:
        _add_quantity(add_element(rule, "shape"), "rate", each.shape, "kbps")
    if each.bandwidth is not None:
        _add_quantity(rule, "min-bandwidth", each.bandwidth, "kbps")
    if each.ratio is not None:
        _add_quantity(rule, "bandwidth-remaining", each.ratio, "ratio")
    limit = _format_limit(each)
    if limit:
        _add_quantity(rule, "queue-limit", *limit)
    if each.level is not None:
        add_element(rule, "priority-level", each.level)
    for curve in each.curves:
        entry = add_element(rule, "random-detect")
        add_element(entry, "threshold-min-value", curve.low)
        add_element(entry, "threshold-min-units", curve.unit)
        add_element(entry, "threshold-max-value", curve.high)
        add_element(entry, "threshold-max-units", curve.unit)
        if len(each.curves) > 1:
            for words in join_ranges(curve.dscps):
                add_element(entry, "dscp", words)
            for tc in curve.tcs:
                add_element(entry, "mpls-exp", tc)
    if each.police is not None:
        police = add_element(rule, "police")
        _add_quantity(police, "rate", each.police, "kbps", key="units")
        if each.queue.burst:
            _add_quantity(police, "burst", each.queue.burst, "bytes", key="units")


def _add_policer(rule: ElementTree.Element, policer: RouterPolicer) -> None:
    police = add_element(rule, "police")
    _add_quantity(police, "rate", policer.rate, "bps", key="units")
    if policer.peak_rate:
        _add_quantity(police, "peak-rate", policer.peak_rate, "bps", key="units")
    _add_quantity(police, "burst", policer.burst, "bytes", key="units")
    if policer.violate is not None:
        _add_quantity(police, "peak-burst", policer.peak_burst, "bytes", key="units")
    for colour in ("conform", "exceed", "violate"):
        action = getattr(policer, colour)
        if action is None:
            continue
        entry = add_element(police, f"{colour}-action")
        if action.drop:
            add_element(entry, "drop")
        elif action.dscp is None:
            add_element(entry, "Transmit")
        else:
            add_element(add_element(entry, "set"), "dscp", action.dscp)
