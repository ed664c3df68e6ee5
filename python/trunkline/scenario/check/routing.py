"""Checks of routing: what equal-cost paths go with, and room for entropy labels."""

from trunkline.scenario.check.paths import MAX_STACK
from trunkline.scenario.diagnostic import Path
from trunkline.scenario.problems import Problems
from trunkline.scenario.recovery import Hello
from trunkline.scenario.resolved import Resolved
from trunkline.scenario.routing import Ldp, Ospf, Rfc8405
from trunkline.scenario.units import format_time

ENTROPY_LABELS = 2
LARGEST_METRIC = 65_535
"""A metric has 16 bits in a router-LSA (RFC 2328 section A.4.2)."""
FIRST_LDP_LABEL = 300_000
MOST_COLOURS = 32
"""Administrative groups of a link (RFC 3630 section 2.5.9)."""


def check(scenario: Resolved, problems: Problems) -> None:
    """Checks what a scenario asks of routing."""
    if scenario.routing.ospf is not None:
        _ospf(scenario, scenario.routing.ospf, problems)
    if scenario.routing.ldp is not None:
        _ldp(scenario, scenario.routing.ldp, problems)
    ecmp = scenario.routing.ecmp
    if ecmp is None:
        return
    for name, its in scenario.written.protections.items():
        if its.kind == "ti-lfa":
            problems.add(
                "relation",
                ("protections", name, "kind"),
                "ti-lfa repairs one path: with `ecmp` packets take several",
                related=((("routing", "ecmp"), "asked for here"),),
            )
    if ecmp != "entropy":
        return
    for name in scenario.segmented:
        if name not in scenario.routes:
            continue
        deepest = max(each.labels for each in scenario.routes[name].crossings) + ENTROPY_LABELS
        if deepest > MAX_STACK:
            problems.add(
                "stack",
                ("paths", name, "segments"),
                f"packets of path {name} would carry {deepest} labels with the two of entropy",
                allowed=f"at most {MAX_STACK}",
            )


def _ldp(scenario: Resolved, ldp: Ldp, problems: Problems) -> None:
    at: Path = ("routing", "ldp")
    if len(scenario.nodes) < 2:
        problems.add("relation", at, "LDP needs two nodes", at_key=True)
    if ldp.igp_sync and scenario.routing.ospf is None:
        message = "igp_sync does nothing: there is no IGP whose metrics it could change"
        where = (*at, "igp_sync")
        problems.add("relation", where, message, allowed="routing: {ospf: {}}", at_key=True)
    if ldp.igp_sync and ldp.gtsm:
        message = (
            "with gtsm a session waits for routes over its link, with igp_sync they wait for it"
        )
        problems.add("relation", (*at, "igp_sync"), message, allowed="one of them", at_key=True)
    if ldp.start >= scenario.run.duration:
        problems.add(
            "relation",
            (*at, "start"),
            "the run ends before LDP begins",
            given=format_time(ldp.start),
            allowed=f"below {format_time(scenario.run.duration)}",
        )
    others = [scenario.routing.ospf] if scenario.routing.ospf is not None else []
    told = [its.detection for its in others]
    if scenario.signalling.kind != "none":
        told.append(scenario.signalling.detection)
    if ldp.detection is not None and any(its != ldp.detection for its in told):
        message = "all protocols notice a failure by the same means: their detections differ"
        problems.add("relation", (*at, "detection"), message, at_key=True)
    if ldp.hello_hold < 2 * ldp.hello:
        problems.add(
            "relation",
            (*at, "hello_hold"),
            "hello_hold must not be below twice hello",
            given=format_time(ldp.hello_hold),
            allowed=f"{format_time(2 * ldp.hello)} or more",
        )
    for name, path in scenario.paths.items():
        for label in path.labels or ():
            if FIRST_LDP_LABEL <= label < FIRST_LDP_LABEL + len(scenario.nodes):
                problems.add(
                    "stack",
                    ("paths", name, "labels"),
                    f"{label} is a label that LDP gives out",
                    allowed=f"below {FIRST_LDP_LABEL}",
                )


def _ospf(scenario: Resolved, ospf: Ospf, problems: Problems) -> None:
    at: Path = ("routing", "ospf")
    if scenario.rerouting is not None:
        message = "`rerouting` and `routing: ospf` both follow failures: one of them"
        problems.add("relation", ("rerouting",), message, at_key=True)
    if len(scenario.nodes) < 2:
        problems.add("relation", at, "OSPF needs two nodes", at_key=True)
    other = scenario.signalling
    if other.kind != "none" and other.detection != ospf.detection:
        message = "OSPF and signalling notice a failure by the same means: their detections differ"
        problems.add("relation", (*at, "detection"), message, at_key=True)
    for node in ospf.fib_updates:
        if node not in scenario.nodes:
            problems.unknown((*at, "fib_updates", node), "node", node, scenario.nodes)
    for name, its in scenario.written.protections.items():
        if its.kind == "ti-lfa" and not its.revertive:
            problems.add(
                "relation",
                ("protections", name, "revertive"),
                "with OSPF packets go back when its routes do: repair lists are kept no longer",
                given="off",
                related=((("routing", "ospf"), "asked for here"),),
            )
    _room(scenario, problems)
    for arc in scenario.arcs:
        if arc.options.metric > LARGEST_METRIC and not arc.backward:
            problems.add(
                "relation",
                ("links", arc.link, "metric"),
                f"the metric of {arc.name} does not fit OSPF",
                given=str(arc.options.metric),
                allowed=f"up to {LARGEST_METRIC}",
            )
    colours = {name for arc in scenario.arcs for name in arc.options.te.colours}
    if other.kind != "none" and other.flooding is None and len(colours) > MOST_COLOURS:
        message = (
            f"an LSA has a bit for each of {MOST_COLOURS} colours, and there are {len(colours)}"
        )
        problems.add("relation", at, message, allowed="signalling: {flooding: 0 s}", at_key=True)
    _timers(ospf, at, problems)


def _room(scenario: Resolved, problems: Problems) -> None:
    """On other routes no segment ends one hop behind the first node: all labels are on."""
    for name, segments in scenario.segmented.items():
        if segments[0].arc is None and len(segments) > MAX_STACK:
            problems.add(
                "stack",
                ("paths", name, "segments"),
                f"packets of path {name} would carry {len(segments)} labels on other routes",
                allowed=f"at most {MAX_STACK}",
            )


def _timers(ospf: Ospf, at: Path, problems: Problems) -> None:
    """Times that must be below others."""
    pairs: list[tuple[tuple[str, ...], int, tuple[str, ...], int]] = []
    if ospf.hello:
        # Two hellos must fit, or every second of them is a failure.
        pairs.append((("twice hello",), 2 * ospf.hello, ("dead",), ospf.silence))
    elif ospf.dead is not None:
        message = "dead does nothing: no hellos are sent"
        problems.add("relation", (*at, "dead"), message, at_key=True)
    spf = ospf.spf
    if isinstance(spf, Rfc8405):
        pairs.append((("spf", "initial"), spf.initial, ("spf", "short"), spf.short))
        pairs.append((("spf", "short"), spf.short, ("spf", "long"), spf.long))
        pairs.append((("spf", "learn"), spf.learn, ("spf", "hold_down"), spf.hold_down))
    else:
        pairs.append((("spf", "second"), spf.second, ("spf", "maximum"), spf.maximum))
    if ospf.arrival > ospf.lsa_interval:
        problems.add(
            "relation",
            (*at, "lsa_arrival"),
            "LSAs come faster than routers take them in",
            given=format_time(ospf.arrival),
            allowed=f"{format_time(ospf.lsa_interval)} or less, which is lsa_interval",
        )
    if isinstance(ospf.detection, Hello):
        its = ospf.detection
        pairs.append((("interval",), its.interval, ("detection", "timeout"), its.silence))
    for small, least, large, value in pairs:
        if value < least:
            problems.add(
                "relation",
                (*at, *large),
                f"{large[-1]} must not be below {small[-1]}",
                given=format_time(value),
                allowed=f"{format_time(least)} or more",
            )
