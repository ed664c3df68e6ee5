"""Checks of conditioners: names, relations of meters, buckets that no packet fits."""

from collections.abc import Iterator

from trunkline.scenario.check import ports
from trunkline.scenario.conditioner import (
    Conditioner,
    ConditionerRule,
    Meter,
    Rfc4115,
    SrTcm,
    TokenBucket,
    TrafficProfile,
    TrTcm,
    Tsw2cm,
    Tsw3cm,
)
from trunkline.scenario.diagnostic import DocumentPath
from trunkline.scenario.model import LinkOptions, ScenarioSections
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved import ResolvedScenario
from trunkline.scenario.units import format_bytes, format_rate

MAX_PROFILES = 65_534


def check(scenario: ResolvedScenario, problems: Problems) -> None:
    """Check all conditioners, and the links that refer to them."""
    for name, conditioner in scenario.conditioners.items():
        path: DocumentPath = ("conditioners", name)
        for index, rule in enumerate(conditioner.rules):
            _check_rule(scenario, conditioner, rule, (*path, "rules", index), problems)
        for each, profile in conditioner.profiles.items():
            _check_profile(
                scenario, conditioner, each, profile, (*path, "profiles", each), problems
            )
        _check_meter_count(scenario, conditioner, path, problems)
    for path, options in _list_link_options(scenario.written):
        for key in ("conditioner", "ingress"):
            word = getattr(options, key)
            if word is not None and word not in scenario.conditioners:
                problems.add_unknown((*path, key), "conditioner", word, scenario.conditioners)


def _list_link_options(scenario: ScenarioSections) -> Iterator[tuple[DocumentPath, LinkOptions]]:
    if scenario.defaults.link is not None:
        yield ("defaults", "link"), scenario.defaults.link
    for name, link in scenario.links.items():
        yield ("links", name), link
        if link.forward is not None:
            yield ("links", name, "forward"), link.forward
        if link.backward is not None:
            yield ("links", name, "backward"), link.backward


def _check_rule(
    scenario: ResolvedScenario,
    conditioner: Conditioner,
    rule: ConditionerRule,
    path: DocumentPath,
    problems: Problems,
) -> None:
    if rule.profile is not None and rule.profile not in conditioner.profiles:
        problems.add_unknown(
            (*path, "profile"),
            "profile",
            rule.profile,
            conditioner.profiles,
            sentence_end=" in this conditioner",
        )
    ports.check_match(scenario, rule, path, problems)


def _check_meter_count(
    scenario: ResolvedScenario, conditioner: Conditioner, path: DocumentPath, problems: Problems
) -> None:
    per_flow = sum(profile.per == "flow" for profile in conditioner.profiles.values())
    flows = len(scenario.flow_names) + len(scenario.message_flows)
    needed = len(conditioner.profiles) - per_flow + per_flow * flows
    if needed > MAX_PROFILES:
        message = f"{needed} meters are needed; a conditioner has at most {MAX_PROFILES}"
        problems.add("limit", (*path, "profiles"), message, at_key=True)


def _check_profile(
    scenario: ResolvedScenario,
    conditioner: Conditioner,
    name: str,
    profile: TrafficProfile,
    path: DocumentPath,
    problems: Problems,
) -> None:
    for colour in ("green", "yellow", "red"):
        action = getattr(profile, colour)
        if action.drop and action.dscp is not None:
            message = "a packet that is dropped bears no DSCP"
            problems.add("relation", (*path, colour, "dscp"), message, at_key=True)
    meter = profile.meter
    meter_path = (*path, "meter")
    if meter is None:
        return
    _check_meter(meter, meter_path, problems)
    if isinstance(meter, TokenBucket | Tsw2cm) and "yellow" in profile.model_fields_set:
        message = f"{meter.kind} colours nothing yellow"
        problems.add("relation", (*path, "yellow"), message, allowed="green, red", at_key=True)
    largest = _find_largest_packet(scenario, conditioner, name)
    for key, depth, colour in _list_bucket_depths(meter):
        if 0 < depth < largest:
            fate = f"be {colour}" if colour else "conform"
            problems.add(
                "relation",
                (*meter_path, key),
                f"no packet of {largest} B can ever {fate}: {key} is smaller",
                given=format_bytes(depth),
                allowed=f"{format_bytes(largest)} or more",
                warning=True,
            )


def _check_meter(meter: Meter, path: DocumentPath, problems: Problems) -> None:
    if isinstance(meter, TokenBucket):
        if (meter.peak_rate is None) != (meter.peak_burst is None):
            missing = "peak_burst" if meter.peak_burst is None else "peak_rate"
            message = f"{missing} is missing: a second bucket has a rate and a depth"
            problems.add("missing-key", (*path, missing), message, at_key=True)
        elif meter.peak_rate is not None:
            _check_not_below(path, problems, ("peak_rate", meter.peak_rate), ("rate", meter.rate))
    elif isinstance(meter, SrTcm) and meter.cbs == 0 and meter.ebs == 0:
        message = "cbs or ebs must be above 0 (RFC 2697 section 2)"
        problems.add("relation", (*path, "cbs"), message, given="0 B")
    elif isinstance(meter, TrTcm):
        _check_not_below(path, problems, ("pir", meter.pir), ("cir", meter.cir))
    elif isinstance(meter, Tsw3cm):
        _check_not_below(path, problems, ("ptr", meter.ptr), ("ctr", meter.ctr))


def _check_not_below(
    path: DocumentPath, problems: Problems, high: tuple[str, int], low: tuple[str, int]
) -> None:
    if high[1] < low[1]:
        problems.add(
            "relation",
            (*path, high[0]),
            f"{high[0]} must not be below {low[0]}",
            given=format_rate(high[1]),
            allowed=f"{format_rate(low[1])} or more",
            related=(((*path, low[0]), f"{low[0]} is {format_rate(low[1])}"),),
        )


def _list_bucket_depths(meter: Meter) -> list[tuple[str, int, str]]:
    """Buckets of a meter: key, depth [B], the colour that needs its tokens."""
    if isinstance(meter, TokenBucket):
        peak = meter.peak_burst or 0
        return [("burst", meter.burst, ""), ("peak_burst", peak, "")]
    if isinstance(meter, SrTcm | Rfc4115):
        return [("cbs", meter.cbs, "green"), ("ebs", meter.ebs, "yellow")]
    if isinstance(meter, TrTcm):
        return [("cbs", meter.cbs, "green"), ("pbs", meter.pbs, "")]
    return []


def _find_largest_packet(scenario: ResolvedScenario, conditioner: Conditioner, profile: str) -> int:
    """Largest packet of the flows that a profile may meter [B]; 0 without any."""
    rules = [rule for rule in conditioner.rules if rule.profile == profile]
    dscps_written = {
        getattr(each_profile, colour).dscp
        for each in scenario.conditioners.values()
        for each_profile in each.profiles.values()
        for colour in ("green", "yellow", "red")
    }
    sizes = [0]
    for name in scenario.flows:
        flow = scenario.flows[name]
        for rule in rules:
            if (
                (
                    rule.flow is None
                    or name in {scenario.get_declared_name(each) for each in rule.flow}
                )
                and (rule.source is None or flow.from_ in rule.source)
                and (rule.destination is None or flow.to in rule.destination)
                and (rule.protocol is None or flow.agent in rule.protocol)
                and (rule.dscp is None or dscps_written.union([flow.dscp]).intersection(rule.dscp))
            ):
                sizes.append(flow.largest_packet)
                break
    return max(sizes)
