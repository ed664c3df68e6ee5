"""The effect of an imported configuration, in words."""

from trunkline.importers.common.ports import get_queueing_discipline
from trunkline.importers.common.queues import ScenarioKeys
from trunkline.importers.common.traffic_control import TrafficControlConfig

_SCHEDULER_NAMES = {
    "cake": "CAKE",
    "cbq": "class-based queueing",
    "drr": "deficit round robin",
    "hfsc": "hierarchical fair service curves",
    "htb": "a hierarchical token bucket",
    "priority": "strict priority",
    "tbf": "a token bucket filter",
    "shaped": "shaping by token buckets, strict priority among those that may send",
}
_CURVE_KEYS = ("real_time", "link_share", "upper_limit")


def explain_configuration(
    configuration: TrafficControlConfig,
    ports: dict[str, ScenarioKeys],
    conditioners: dict[str, ScenarioKeys],
) -> list[str]:
    """A sentence for each device, class, rule and profile."""
    lines: list[str] = []
    for name, port in ports.items():
        lines += _explain_port(name, port)
    for name, conditioner in conditioners.items():
        lines += _explain_conditioner(name, conditioner)
    for name, device in configuration.devices.items():
        root = get_queueing_discipline(device.root)
        if root is not None and root.kind == "cbq" and "bandwidth" in root.options:
            rate = _describe_rate(f"{root.options['bandwidth']} bit/s")
            lines.append(f"{name}: give its link the rate of the discipline, {rate}")
    return lines


def _explain_port(name: str, port: ScenarioKeys) -> list[str]:
    if "classes" not in port:
        lines = [f"{name}: one queue of {_describe_queue(port['queue'])}"]
    else:
        classes = port["classes"]
        lines = [
            f"{name}: {_SCHEDULER_NAMES[port.get('scheduler', 'cake')]} of {len(classes)} class(es)"
        ]
        if "bandwidth" in port:
            lines[0] += f" at {_describe_rate(port['bandwidth'])}"
        lines += [
            f"{name}, {class_name}: {_describe_class(class_)}"
            for class_name, class_ in classes.items()
        ]
    for rule in port.get("classify", ()):
        conditions = _describe_conditions(rule)
        target_class = rule.get("class", "the queue")
        precedence = f", drop precedence {rule['precedence']}" if "precedence" in rule else ""
        lines.append(f"{name}: {conditions} joins {target_class}{precedence}")
    return lines


def _describe_conditions(rule: ScenarioKeys) -> str:
    keys = [key for key in rule if key not in ("class", "precedence", "profile")]
    return " and ".join(f"{key} {_join_values(rule[key])}" for key in keys) or "every packet"


def _join_values(value: object) -> str:
    if isinstance(value, list):
        return "/".join(str(each) for each in value)
    return str(value)


def _describe_class(class_: ScenarioKeys) -> str:
    shown_values = class_ | {
        key: _describe_rate(class_[key]) for key in ("rate", "ceil") if key in class_
    }
    if "queue" in class_:
        shown_values["queue"] = _describe_queue(class_["queue"])
    for key in _CURVE_KEYS:
        if key in class_:
            shown_values[key] = _describe_curve(class_[key])
    phrases = (
        ("real_time", "{real_time} whatever others send"),
        ("link_share", "of what is left a share of {link_share}"),
        ("upper_limit", "at most {upper_limit}"),
        ("rate", "{rate}"),
        ("ceil", "up to {ceil}"),
        ("max_burst", f"borrows {'nothing' if class_.get('bounded') else 'what others leave'}"),
        ("isolated", "lends nothing"),
        ("parent", "within {parent}"),
        ("priority", "priority {priority}"),
        ("max_burst", "up to {max_burst} back to back after a silence"),
        ("burst", "bursts of {burst}"),
        ("quantum", "{quantum} a round"),
        ("queue", "a queue of {queue}"),
    )
    return ", ".join(phrase.format(**shown_values) for key, phrase in phrases if key in class_)


def _describe_curve(curve: ScenarioKeys | str) -> str:
    if isinstance(curve, str):
        return _describe_rate(curve)
    duration_ms = int(curve["d"].split()[0]) / 10**6
    first = f"{_describe_rate(curve.get('m1', '0 bit/s'))} for {duration_ms:g} ms"
    return f"{first}, then {_describe_rate(curve['m2'])}"


def _describe_queue(queue: ScenarioKeys) -> str:
    aqm, flows = queue.get("aqm"), queue.get("flows")
    if flows is not None:
        kind = flows["kind"] if aqm is None else f"{flows['kind']} with {aqm['kind']}"
        return f"{queue.get('limit', 'the usual limit')}, divided by flow as {kind}"
    if aqm is None:
        return str(queue["limit"])
    if aqm["kind"] in ("codel", "pie"):
        return f"{queue['limit']}, judged by {aqm['kind']}"
    if aqm["kind"] == "red-linux":
        return f"{queue['limit']}, {_describe_red(aqm)}"
    virtual_queues = "; ".join(
        f"DP {dp['dp']} of {dp['limit']}, {_describe_red(dp)}" for dp in aqm["dps"]
    )
    return (
        f"GRED with {len(aqm['dps'])} virtual queue(s), {aqm['default_dp']} the default: "
        f"{virtual_queues}"
    )


def _describe_red(aqm: ScenarioKeys) -> str:
    probability = f"{100 * aqm['probability']:g} %"
    return (
        f"early drops by RED from an average of {aqm['min']}, up to {probability} at {aqm['max']}"
    )


def _explain_conditioner(name: str, conditioner: ScenarioKeys) -> list[str]:
    end = "far" if name.endswith("-mark") else "near"
    device = name.rpartition("-")[0]
    place = (
        f"`ingress` of the link that leaves {device}: the DSCP is written as packets leave"
        if end == "far"
        else f"`ingress` of the link that comes in at {device}"
    )
    lines = [f"{name}: {place}"]
    for rule in conditioner["rules"]:
        profile = rule.get("profile")
        lines.append(
            f"{name}: {_describe_conditions(rule)} {f'meets {profile}' if profile else 'passes'}"
        )
    lines += [
        f"{name}, {profile_name}: {_describe_profile(profile_keys)}"
        for profile_name, profile_keys in conditioner["profiles"].items()
    ]
    return lines


def _describe_profile(profile: ScenarioKeys) -> str:
    meter = profile.get("meter", {})
    parts = [
        f"{key} {_describe_rate(value) if str(value).endswith('bit/s') else value}"
        for key, value in meter.items()
    ]
    for colour in ("green", "yellow", "red"):
        if colour in profile:
            action = profile[colour]
            packets = {"green": "in profile", "yellow": "above it", "red": "out of profile"}[colour]
            action_text = "drop" if action == "drop" else f"write {action['dscp']}"
            parts.append(f"{packets}: {action_text}" if meter else action_text)
    return ", ".join(parts)


def _describe_rate(text: str) -> str:
    """Describe a rate in bit/s as people say it."""
    if text.endswith("%"):
        return text
    value = int(text.split()[0])
    for scale, unit in ((10**9, "Gbit/s"), (10**6, "Mbit/s"), (10**3, "kbit/s")):
        if value >= scale:
            return f"{value / scale:g} {unit}"
    return f"{value} bit/s"
