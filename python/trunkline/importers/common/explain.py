"""What an imported configuration does, in words."""

from trunkline.importers.common.ports import core
from trunkline.importers.common.queues import Config
from trunkline.importers.common.tree import Configuration

_KINDS = {
    "cake": "CAKE",
    "cbq": "class-based queueing",
    "drr": "deficit round robin",
    "htb": "a hierarchical token bucket",
    "priority": "strict priority",
    "tbf": "a token bucket filter",
    "shaped": "shaping by token buckets, strict priority among those that may send",
}


def sentences(
    made: Configuration, ports: dict[str, Config], conditioners: dict[str, Config]
) -> list[str]:
    """A sentence for each device, class, rule and profile."""
    found: list[str] = []
    for name, port in ports.items():
        found += _port(name, port)
    for name, its in conditioners.items():
        found += _conditioner(name, its)
    for name, device in made.devices.items():
        root = core(device.root)
        if root is not None and root.kind == "cbq" and "bandwidth" in root.options:
            rate = _rate(f"{root.options['bandwidth']} bit/s")
            found.append(f"{name}: give its link the rate of the discipline, {rate}")
    return found


def _port(name: str, port: Config) -> list[str]:
    if "classes" not in port:
        lines = [f"{name}: one queue of {_queue(port['queue'])}"]
    else:
        classes = port["classes"]
        lines = [f"{name}: {_KINDS[port.get('scheduler', 'cake')]} of {len(classes)} class(es)"]
        if "bandwidth" in port:
            lines[0] += f" at {_rate(port['bandwidth'])}"
        lines += [f"{name}, {each}: {_class(its)}" for each, its in classes.items()]
    for rule in port.get("classify", ()):
        asked = _asked(rule)
        to = rule.get("class", "the queue")
        behind = f", drop precedence {rule['precedence']}" if "precedence" in rule else ""
        lines.append(f"{name}: {asked} joins {to}{behind}")
    return lines


def _asked(rule: Config) -> str:
    keys = [key for key in rule if key not in ("class", "precedence", "profile")]
    return " and ".join(f"{key} {_list(rule[key])}" for key in keys) or "every packet"


def _list(value: object) -> str:
    if isinstance(value, list):
        return "/".join(str(each) for each in value)
    return str(value)


def _class(its: Config) -> str:
    said = its | {key: _rate(its[key]) for key in ("rate", "ceil") if key in its}
    if "queue" in its:
        said["queue"] = _queue(its["queue"])
    phrases = (
        ("rate", "{rate}"),
        ("ceil", "up to {ceil}"),
        ("max_burst", f"borrows {'nothing' if its.get('bounded') else 'what others leave'}"),
        ("isolated", "lends nothing"),
        ("parent", "within {parent}"),
        ("priority", "priority {priority}"),
        ("max_burst", "up to {max_burst} back to back after a silence"),
        ("burst", "bursts of {burst}"),
        ("quantum", "{quantum} a round"),
        ("queue", "a queue of {queue}"),
    )
    return ", ".join(phrase.format(**said) for key, phrase in phrases if key in its)


def _queue(queue: Config) -> str:
    aqm, flows = queue.get("aqm"), queue.get("flows")
    if flows is not None:
        kind = flows["kind"] if aqm is None else f"{flows['kind']} with {aqm['kind']}"
        return f"{queue.get('limit', 'the usual limit')}, divided by flow as {kind}"
    if aqm is None:
        return str(queue["limit"])
    if aqm["kind"] in ("codel", "pie"):
        return f"{queue['limit']}, judged by {aqm['kind']}"
    if aqm["kind"] == "red-linux":
        return f"{queue['limit']}, {_red(aqm)}"
    its = "; ".join(f"DP {dp['dp']} of {dp['limit']}, {_red(dp)}" for dp in aqm["dps"])
    return f"GRED with {len(aqm['dps'])} virtual queue(s), {aqm['default_dp']} the default: {its}"


def _red(aqm: Config) -> str:
    chance = f"{100 * aqm['probability']:g} %"
    return f"early drops by RED from an average of {aqm['min']}, up to {chance} at {aqm['max']}"


def _conditioner(name: str, its: Config) -> list[str]:
    end = "far" if name.endswith("-mark") else "near"
    device = name.rpartition("-")[0]
    place = (
        f"`ingress` of the link that leaves {device}: the DSCP is written as packets leave"
        if end == "far"
        else f"`ingress` of the link that comes in at {device}"
    )
    lines = [f"{name}: {place}"]
    for rule in its["rules"]:
        profile = rule.get("profile")
        lines.append(f"{name}: {_asked(rule)} {f'meets {profile}' if profile else 'passes'}")
    lines += [f"{name}, {each}: {_profile(one)}" for each, one in its["profiles"].items()]
    return lines


def _profile(its: Config) -> str:
    meter = its.get("meter", {})
    parts = [
        f"{key} {_rate(value) if str(value).endswith('bit/s') else value}"
        for key, value in meter.items()
    ]
    for colour in ("green", "yellow", "red"):
        if colour in its:
            action = its[colour]
            which = {"green": "in profile", "yellow": "above it", "red": "out of profile"}[colour]
            said = "drop" if action == "drop" else f"write {action['dscp']}"
            parts.append(f"{which}: {said}" if meter else said)
    return ", ".join(parts)


def _rate(text: str) -> str:
    """A rate in bit/s as people say it."""
    if text.endswith("%"):
        return text
    value = int(text.split()[0])
    for scale, unit in ((10**9, "Gbit/s"), (10**6, "Mbit/s"), (10**3, "kbit/s")):
        if value >= scale:
            return f"{value / scale:g} {unit}"
    return f"{value} bit/s"
