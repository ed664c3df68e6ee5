"""A plan as scripts for real routers: one a node, commented with what each command is for.

A script holds what the guest ran at that node: settings, addresses and routes for ``ip``, label
routes, queues and filters for ``tc``. What stands for the wire in the guest (a netem behind each
device) is set apart and only done when the script is called with ``--wire``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from trunkline.linux.plan.compile import Compiled
from trunkline.linux.plan.script import Command

_HEAD: Final = """\
#!/bin/sh
# {node}: router {number} of {scenario}, for Linux with iproute2
#
# Devices: {devices}
# Give yours these names (ip link set OLD name NEW), or change the names below. The MPLS modules
# are needed where labels are: modprobe mpls_router mpls_iptunnel.
# {wire}
set -eu
"""
_WIRE: Final = (
    "With --wire it also holds packets for the rate and delay of the scenario's links, as a test "
    "bed needs"
)
_PLAIN: Final = re.compile(r"[^\x20-\x7e]")


def scripts(compiled: Compiled) -> dict[str, str]:
    """Scripts of all nodes.

    Parameters
    ----------
    compiled : Compiled
        A plan with its commands.

    Returns
    -------
    dict of str to str
        Text by file name, ``n0-NAME.sh``; names are cut to what is safe in a file name.
    """
    made = {}
    for index, node in enumerate(compiled.network["nodes"]):
        safe = re.sub(r"[^A-Za-z0-9._-]", "_", node["name"])[:60]
        made[f"n{index}-{safe}.sh"] = "".join(_script(compiled, index))
    return made


def _script(compiled: Compiled, node: int) -> Iterator[str]:
    commands = compiled.script.commands[node]
    sides = [
        side for pair in compiled.wiring.pairs for side in (pair.a, pair.b) if side.node == node
    ]
    links = compiled.network["links"]
    named = []
    for side in sides:
        sends = [
            link["name"]
            for near, link in zip(compiled.wiring.near, links, strict=True)
            if near is side
        ]
        named.append(f"{side.device} sends {shown(', '.join(sends) or 'nothing')}")
    yield _HEAD.format(
        node=shown(compiled.network["nodes"][node]["name"]),
        number=node,
        scenario=shown(compiled.network["name"]),
        devices="; ".join(named) or "none",
        wire=_WIRE,
    )
    yield "\n# A router, with labels on these devices\n"
    for key, value in compiled.plan.nodes[node].sysctls:
        yield f"sysctl -q -w {key.replace('/', '.')}='{value}'\n"
    plain = [each for each in commands if not each.wire]
    yield from _batch("addresses and routes", "ip", [c for c in plain if c.program == "ip"])
    yield from _batch("labels", "ip -f mpls", [c for c in plain if c.program == "mpls"])
    yield from _batch("queues and filters", "tc", [c for c in plain if c.program == "tc"])
    wire = [each for each in commands if each.wire]
    if wire:
        yield '\n[ "${1:-}" = --wire ] || exit 0\n'
        yield from _batch("the wire", "ip", [c for c in wire if c.program == "ip"])
        yield from _batch("the wire", "tc", [c for c in wire if c.program == "tc"])


def _batch(title: str, program: str, commands: Sequence[Command]) -> Iterator[str]:
    """One program reading its lines; it stops at the first that fails."""
    if not commands:
        return
    yield f"\n# {title}\n{program} -batch - <<'END'\n"
    about = ""
    for each in commands:
        if each.about and each.about != about:
            yield f"# {shown(each.about)}\n"
            about = each.about
        yield f"{each.line}\n"
    yield "END\n"


def shown(text: str) -> str:
    """A text for a comment: printable ASCII in one line, all else escaped."""
    return _PLAIN.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
