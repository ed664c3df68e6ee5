"""The configuration of SQM, ``/etc/config/sqm`` of OpenWrt, as the tc commands of its scripts.

Source: OpenWrt's documentation of SQM (options of a queue; what each script sets up); UCI's file
syntax. Rates are kbit/s; 0 leaves a direction alone. What comes in is shaped behind ``ifb4DEVICE``.
"""

import re
from dataclasses import dataclass, field

from trunkline.importers.common.account import ImportAccount
from trunkline.importers.common.fault import SourceToken, raise_fault
from trunkline.importers.common.quantities import read_integer

_LINE = re.compile(
    r"\s*(config|option|list)\s+(?:'([^']*)'|\"([^\"]*)\"|(\S+))"
    r"(?:\s+(?:'([^']*)'|\"([^\"]*)\"|(\S+)))?\s*(?:#.*)?\Z"
)
_SCRIPTS = ("piece_of_cake.qos", "layer_cake.qos", "simple.qos", "simplest.qos", "simplest_tbf.qos")
_OPTIONS_OF_THE_HOST = ("debug_logging", "verbosity", "enabled", "use_mq", "interface")
_HTB_QUANTUM_BYTES = 1500
_TBF_LATENCY = "300ms"
_PRIORITY_TOS = ("0xb8", "0xc0", "0x10")  # Octets of EF, of CS6 and of minimum delay.
_BACKGROUND_TOS = "0x20"  # Octet of CS1.


@dataclass
class _Section:
    """A section: its line, and its options, which a reader takes."""

    line: int
    kind: str
    options: dict[str, SourceToken] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def take(self, name: str, default: str = "") -> SourceToken:
        """The value of an option, or SQM's default."""
        self.taken.add(name)
        return self.options.get(name, SourceToken(default, self.line, 1))

    def take_number(self, name: str, default: int = 0) -> int:
        """A whole number from 0."""
        word = self.take(name, str(default))
        value = read_integer(word, name, "a whole number", base=10)
        if value < 0:
            raise_fault(word, f"{word.text} is no {name}", "0 and more")
        return value


def is_sqm_config(content: str) -> bool:
    """Whether a file has a section ``config queue`` of UCI."""
    return re.search(r"^\s*config\s+['\"]?queue\b", content, re.MULTILINE) is not None


def split_sqm_config(content: str, account: ImportAccount) -> list[list[SourceToken]]:
    """The tc commands of all enabled queues.

    account: Gets each option once: read, or left out with the reason.
    Raises ImportFault: A line is no UCI, or a queue has a script that is not read.
    """
    commands: list[list[SourceToken]] = []
    for section in _read_sections(content):
        if section.kind != "queue":
            account.add_left_out(f"config {section.kind}", "it sets no queue", line=section.line)
            continue
        if section.take("enabled", "1").text != "1":
            account.add_left_out("config queue", "it is not enabled", line=section.line)
            continue
        for text in _write_commands(section):
            commands.append([SourceToken(word, section.line, 1) for word in text.split()])
        for name, word in section.options.items():
            if name in section.taken:
                account.add_read(f"option {name}", line=word.line)
            else:
                is_of_host = name in _OPTIONS_OF_THE_HOST
                reason = "concerns the host" if is_of_host else "not used by this import"
                account.add_left_out(f"option {name}", reason, line=word.line)
    return commands


def _read_sections(content: str) -> list[_Section]:
    sections: list[_Section] = []
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _LINE.match(line)
        word = SourceToken(line.split()[0], number, 1)
        if found is None or (found[1] != "config" and not sections):
            raise_fault(word, f"{line.strip()} is no line of UCI", "config, option, list")
        name = found[2] or found[3] or found[4] or ""
        value = found[5] or found[6] or found[7] or ""
        if found[1] == "config":
            sections.append(_Section(number, name))
        else:
            sections[-1].options[name] = SourceToken(value, number, found.start(5) + 1 or 1)
    return sections


def _write_commands(section: _Section) -> list[str]:
    device = section.take("interface", "wan").text
    script = section.take("script", "simple.qos")
    if script.text not in _SCRIPTS:
        raise_fault(script, f"the script {script.text} is not read", ", ".join(_SCRIPTS))
    upload, download = section.take_number("upload"), section.take_number("download")
    commands: list[str] = []
    if upload:
        commands += _shape(section, script.text, device, upload, is_download=False)
    if download:
        behind = f"ifb4{device}"
        commands += [f"qdisc add dev {device} handle ffff: ingress"]
        commands += _shape(section, script.text, behind, download, is_download=True)
        head = f"filter add dev {device} parent ffff: protocol all prio 10"
        commands.append(f"{head} u32 match u32 0 0 action mirred egress redirect dev {behind}")
    return commands


def _shape(
    section: _Section, script: str, device: str, rate: int, *, is_download: bool
) -> list[str]:
    """Commands of one direction; ``rate`` in kbit/s."""
    if script in ("piece_of_cake.qos", "layer_cake.qos"):
        return [_write_cake(section, script, device, rate, is_download=is_download)]
    own_options = section.take("iqdisc_opts" if is_download else "eqdisc_opts").text
    leaf = _write_leaf(section, is_download=is_download) + f" {own_options}"
    if script == "simplest_tbf.qos":
        burst = max(_HTB_QUANTUM_BYTES, rate * 1000 // 8 // 1000)
        return [
            f"qdisc add dev {device} root handle 1: tbf rate {rate}kbit burst {burst} "
            f"latency {_TBF_LATENCY}",
            f"qdisc add dev {device} parent 1: handle 110: {leaf}",
        ]
    classes = {10: (rate, rate, 0)}
    default = 10
    if script == "simple.qos":
        express = 32 if is_download else 128
        shared, most = rate // 6, max(1, rate - 16)
        classes = {11: (express, rate // 3, 1), 12: (shared, most, 2), 13: (shared, most, 3)}
        default = 12
    root = f"qdisc add dev {device} root handle 1: {_write_size_table(section)} htb"
    commands = [f"{root} default {default}"]
    top = f"class add dev {device} parent 1: classid 1:1 htb quantum {_HTB_QUANTUM_BYTES}"
    commands.append(f"{top} rate {rate}kbit ceil {rate}kbit")
    for minor, (promised, ceiling, priority) in classes.items():
        class_text = f"class add dev {device} parent 1:1 classid 1:{minor} htb"
        commands.append(
            f"{class_text} quantum {_HTB_QUANTUM_BYTES} rate {promised}kbit ceil {ceiling}kbit "
            f"prio {priority}"
        )
        commands.append(f"qdisc add dev {device} parent 1:{minor} handle {minor}0: {leaf}")
    ignores_dscps = is_download and section.take("squash_ingress", "1").text == "1"
    if script == "simple.qos" and not ignores_dscps:
        head = f"filter add dev {device} parent 1: protocol ip"
        octets = [*((octet, 11) for octet in _PRIORITY_TOS), (_BACKGROUND_TOS, 13)]
        commands += [
            f"{head} prio {20 + number} u32 match ip tos {octet} 0xfc flowid 1:{minor}"
            for number, (octet, minor) in enumerate(octets)
        ]
    return commands


def _write_cake(
    section: _Section, script: str, device: str, rate: int, *, is_download: bool
) -> str:
    words = ["besteffort"]
    if script == "layer_cake.qos":
        ignores_dscps = is_download and section.take("squash_ingress", "1").text == "1"
        words = ["besteffort" if ignores_dscps else "diffserv3"]
    if is_download and section.take("squash_dscp", "1").text == "1":
        words.append("wash")
    link_layer = section.take("linklayer", "none").text
    if link_layer != "none":
        words += ["atm"] if link_layer == "atm" else []
        words += ["overhead", str(section.take_number("overhead"))]
        if minimum := section.take_number("tcMPU"):
            words += ["mpu", str(minimum)]
    own_options = section.take("iqdisc_opts" if is_download else "eqdisc_opts").text
    section.take("qdisc")
    return f"qdisc add dev {device} root cake bandwidth {rate}kbit {' '.join(words)} {own_options}"


def _write_leaf(section: _Section, *, is_download: bool) -> str:
    kind = section.take("qdisc", "fq_codel")
    if kind.text not in ("fq_codel", "codel", "pie", "sfq", "pfifo"):
        raise_fault(kind, f"{kind.text} is not read here", "fq_codel, codel, pie, sfq, pfifo")
    words = [kind.text]
    if kind.text in ("fq_codel", "codel", "pie"):
        limit = section.take_number("ilimit" if is_download else "elimit") or 1001
        words += ["limit", str(limit)]
        target = section.take("itarget" if is_download else "etarget").text
        words += ["target", target] if target and target != "auto" else []
        ecn = section.take("ingress_ecn" if is_download else "egress_ecn").text.lower()
        words += [ecn] if ecn else []
    return " ".join(words)


def _write_size_table(section: _Section) -> str:
    link_layer = section.take("linklayer", "none").text
    if link_layer == "none":
        return ""
    words = ["stab", "overhead", str(section.take_number("overhead"))]
    words += ["linklayer", link_layer]
    for option, word in (("tcMTU", "mtu"), ("tcTSIZE", "tsize"), ("tcMPU", "mpu")):
        if value := section.take(option).text:
            words += [word, value]
    return " ".join(words)
