"""Checks of routing: keys that fit equal-cost paths, and room for entropy labels."""

from trunkline.scenario.check.paths import MAX_LABEL_DEPTH
from trunkline.scenario.diagnostic import DocumentPath
from trunkline.scenario.problems import Problems
from trunkline.scenario.recovery import HelloDetection
from trunkline.scenario.resolved import ResolvedScenario
from trunkline.scenario.routing import LdpOptions, OspfOptions, Rfc8405Backoff
from trunkline.scenario.units import format_time

ENTROPY_LABEL_COUNT = 2
MAX_OSPF_METRIC = 65_535  # A metric has 16 bits in a router-LSA (RFC 2328 section A.4.2).
FIRST_LDP_LABEL = 300_000
MAX_COLOURS = 32  # Administrative groups of a link (RFC 3630 section 2.5.9).


def check(scenario: ResolvedScenario, problems: Problems) -> None:
    """Check the keys of routing."""
    if scenario.routing.ospf is not None:
        _check_ospf(scenario, scenario.routing.ospf, problems)
    if scenario.routing.ldp is not None:
        _check_ldp(scenario, scenario.routing.ldp, problems)
    ecmp = scenario.routing.ecmp
    if ecmp is None:
        return
    for name, protection in scenario.written.protections.items():
        if protection.kind == "ti-lfa":
            problems.add(
                "relation",
                ("protections", name, "kind"),
                "ti-lfa repairs one path: with `ecmp` packets take several",
                related=((("routing", "ecmp"), "asked for here"),),
            )
    if ecmp != "entropy":
        return
    for name in scenario.policies:
        if name not in scenario.routes:
            continue
        deepest = (
            max(each.label_count for each in scenario.routes[name].crossings) + ENTROPY_LABEL_COUNT
        )
        if deepest > MAX_LABEL_DEPTH:
            message = f"packets of path {name} would carry {deepest} labels with the two of entropy"
            problems.add(
                "stack", ("paths", name, "segments"), message, allowed=f"at most {MAX_LABEL_DEPTH}"
            )


def _check_ldp(scenario: ResolvedScenario, ldp: LdpOptions, problems: Problems) -> None:
    section_path: DocumentPath = ("routing", "ldp")
    if len(scenario.nodes) < 2:
        problems.add("relation", section_path, "LDP needs two nodes", at_key=True)
    if ldp.igp_sync and scenario.routing.ospf is None:
        message = "igp_sync does nothing: there is no IGP whose metrics it could change"
        key_path = (*section_path, "igp_sync")
        problems.add("relation", key_path, message, allowed="routing: {ospf: {}}", at_key=True)
    if ldp.igp_sync and ldp.gtsm:
        message = (
            "with gtsm a session waits for routes over its link, with igp_sync they wait for it"
        )
        problems.add(
            "relation", (*section_path, "igp_sync"), message, allowed="one of them", at_key=True
        )
    if ldp.start >= scenario.run.duration:
        problems.add(
            "relation",
            (*section_path, "start"),
            "the run ends before LDP begins",
            given=format_time(ldp.start),
            allowed=f"below {format_time(scenario.run.duration)}",
        )
    others = [scenario.routing.ospf] if scenario.routing.ospf is not None else []
    detections = [protocol_detection.detection for protocol_detection in others]
    if scenario.signalling.kind != "none":
        detections.append(scenario.signalling.detection)
    if ldp.detection is not None and any(other != ldp.detection for other in detections):
        message = "all protocols notice a failure by the same means: their detections differ"
        problems.add("relation", (*section_path, "detection"), message, at_key=True)
    if ldp.hello_hold < 2 * ldp.hello:
        problems.add(
            "relation",
            (*section_path, "hello_hold"),
            "hello_hold must not be below twice hello",
            given=format_time(ldp.hello_hold),
            allowed=f"{format_time(2 * ldp.hello)} or more",
        )
    for name, path in scenario.paths.items():
        for label in path.labels or ():
            if FIRST_LDP_LABEL <= label < FIRST_LDP_LABEL + len(scenario.nodes):
                message = f"{label} is a label that LDP gives out"
                problems.add(
                    "stack", ("paths", name, "labels"), message, allowed=f"below {FIRST_LDP_LABEL}"
                )


def _check_ospf(scenario: ResolvedScenario, ospf: OspfOptions, problems: Problems) -> None:
    section_path: DocumentPath = ("routing", "ospf")
    if scenario.rerouting is not None:
        message = "`rerouting` and `routing: ospf` both follow failures: one of them"
        problems.add("relation", ("rerouting",), message, at_key=True)
    if len(scenario.nodes) < 2:
        problems.add("relation", section_path, "OSPF needs two nodes", at_key=True)
    signalling = scenario.signalling
    if signalling.kind != "none" and signalling.detection != ospf.detection:
        message = "OSPF and signalling notice a failure by the same means: their detections differ"
        problems.add("relation", (*section_path, "detection"), message, at_key=True)
    for node in ospf.fib_updates:
        if node not in scenario.nodes:
            problems.add_unknown((*section_path, "fib_updates", node), "node", node, scenario.nodes)
    for name, protection in scenario.written.protections.items():
        if protection.kind == "ti-lfa" and not protection.revertive:
            problems.add(
                "relation",
                ("protections", name, "revertive"),
                "with OSPF packets go back when its routes do: repair lists are kept no longer",
                given="off",
                related=((("routing", "ospf"), "asked for here"),),
            )
    _check_label_room(scenario, problems)
    for arc in scenario.arcs:
        if arc.options.metric > MAX_OSPF_METRIC and not arc.backward:
            problems.add(
                "relation",
                ("links", arc.link, "metric"),
                f"the metric of {arc.name} does not fit OSPF",
                given=str(arc.options.metric),
                allowed=f"up to {MAX_OSPF_METRIC}",
            )
    colours = {name for arc in scenario.arcs for name in arc.options.te.colours}
    if signalling.kind != "none" and signalling.flooding is None and len(colours) > MAX_COLOURS:
        message = (
            f"an LSA has a bit for each of {MAX_COLOURS} colours, and there are {len(colours)}"
        )
        problems.add(
            "relation", section_path, message, allowed="signalling: {flooding: 0 s}", at_key=True
        )
    _check_timers(ospf, section_path, problems)


def _check_label_room(scenario: ResolvedScenario, problems: Problems) -> None:
    """Check the room for labels on other routes: no segment ends at the second node there."""
    for name, segments in scenario.policies.items():
        if segments[0].arc is None and len(segments) > MAX_LABEL_DEPTH:
            message = f"packets of path {name} would carry {len(segments)} labels on other routes"
            problems.add(
                "stack", ("paths", name, "segments"), message, allowed=f"at most {MAX_LABEL_DEPTH}"
            )


def _check_timers(ospf: OspfOptions, section_path: DocumentPath, problems: Problems) -> None:
    """Check the times that must be below others."""
    pairs: list[tuple[tuple[str, ...], int, tuple[str, ...], int]] = []
    if ospf.hello:
        # Two hellos must fit, or every second of them is a failure.
        pairs.append((("twice hello",), 2 * ospf.hello, ("dead",), ospf.dead_interval))
    elif ospf.dead is not None:
        message = "dead does nothing: no hellos are sent"
        problems.add("relation", (*section_path, "dead"), message, at_key=True)
    spf = ospf.spf
    if isinstance(spf, Rfc8405Backoff):
        pairs.append((("spf", "initial"), spf.initial, ("spf", "short"), spf.short))
        pairs.append((("spf", "short"), spf.short, ("spf", "long"), spf.long))
        pairs.append((("spf", "learn"), spf.learn, ("spf", "hold_down"), spf.hold_down))
    else:
        pairs.append((("spf", "second"), spf.second, ("spf", "maximum"), spf.maximum))
    if ospf.min_lsa_arrival > ospf.lsa_interval:
        problems.add(
            "relation",
            (*section_path, "lsa_arrival"),
            "LSAs come faster than routers take them in",
            given=format_time(ospf.min_lsa_arrival),
            allowed=f"{format_time(ospf.lsa_interval)} or less, which is lsa_interval",
        )
    if isinstance(ospf.detection, HelloDetection):
        hello_detection = ospf.detection
        pairs.append(
            (
                ("interval",),
                hello_detection.interval,
                ("detection", "timeout"),
                hello_detection.detection_time,
            )
        )
    for small, lower_limit, large, value in pairs:
        if value < lower_limit:
            problems.add(
                "relation",
                (*section_path, *large),
                f"{large[-1]} must not be below {small[-1]}",
                given=format_time(value),
                allowed=f"{format_time(lower_limit)} or more",
            )
