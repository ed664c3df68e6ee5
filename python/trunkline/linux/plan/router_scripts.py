"""A plan as scripts: one for each router, with the purpose of each command as a comment.

A script notes in a file how each of its steps is undone before it takes it. So a second run begins
by undoing the first, a run that fails undoes itself, and ``--teardown`` leaves nothing behind. A
step that finds something there already (a route, a root queueing discipline) fails: it never
replaces.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from trunkline.linux.plan.command_script import Command
from trunkline.linux.plan.compiled_plan import CompiledPlan

_SCRIPT_HEAD: Final = """\
#!/bin/sh
# {node}: router {number} of {scenario}, for Linux with iproute2
#
# Devices: {devices}
# Alone it sets this router up; with --teardown it undoes that. Either can be repeated.
"""
_SCRIPT_BODY: Final = """\
set -u
state=${TRUNKLINE_STATE:-/run}/trunkline-NAME.undo

# The steps that were taken are undone, the last first.
undo() {
    [ -e "$state" ] || return 0
    sed '1!G;h;$!d' "$state" | while read -r line; do eval "$line" </dev/null >/dev/null 2>&1; done
    rm -f "$state"
}
fail() {
    echo "$0: $1; undone" >&2
    undo
    exit 1
}
# run UNDO COMMAND...: how it is undone is noted first, and struck out if it was refused.
run() {
    printf '%s\\n' "$1" >>"$state"
    shift
    "$@" || { sed '$d' "$state" >"$state.new"; mv "$state.new" "$state"; fail "refused: $*"; }
}
setting() { run "sysctl -q -w $1='$(sysctl -n "$1")'" sysctl -q -w "$1=$2"; }
# value DEVICE WORD: the output of ip behind a word.
value() { ip -d -o link show dev "$1" | sed -n "s/.* $2 \\\\([0-9]*\\\\).*/\\\\1/p"; }
link() { run "ip link set $1 $2 $(value "$1" "${4:-$2}")" ip link set "$1" "$2" "$3"; }
up() {
    case $(ip -o link show dev "$1") in
    *[\\<,]UP[,\\>]*) ;;
    *) run "ip link set $1 down" ip link set "$1" up ;;
    esac
}

undo
[ "${1:-}" != --teardown ] || exit 0
umask 077
trap 'fail interrupted' HUP INT TERM
: >"$state" || exit 1
"""
_MPLS_CHECK: Final = """\
modprobe -a mpls_router mpls_iptunnel 2>/dev/null
sysctl -n net.mpls.platform_labels >/dev/null 2>&1 || fail "this kernel has no MPLS (mpls_router)"
"""


def write_router_scripts(compiled: CompiledPlan) -> dict[str, str]:
    """Scripts of all nodes.

    Returns: Text by file name, ``n0-NAME.sh``; names keep only signs that are safe in file names.
    """
    texts = {}
    for index, node in enumerate(compiled.network["nodes"]):
        safe_name = re.sub(r"[^A-Za-z0-9._-]", "_", node["name"])[:60]
        texts[f"n{index}-{safe_name}.sh"] = "".join(
            _write_script(compiled, index, f"n{index}-{safe_name}")
        )
    return texts


def _write_script(compiled: CompiledPlan, node: int, name: str) -> Iterator[str]:
    sides = [
        side for pair in compiled.wiring.pairs for side in (pair.a, pair.b) if side.node == node
    ]
    links = compiled.network["links"]
    device_notes = []
    for side in sides:
        link_names = [
            link["name"]
            for sending_end, link in zip(compiled.wiring.sending_ends, links, strict=True)
            if sending_end is side
        ]
        device_notes.append(
            f"{side.device} sends {escape_comment(', '.join(link_names) or 'nothing')}"
        )
    yield _SCRIPT_HEAD.format(
        node=escape_comment(compiled.network["nodes"][node]["name"]),
        number=node,
        scenario=escape_comment(compiled.network["name"]),
        devices="; ".join(device_notes) or "none",
    )
    yield _SCRIPT_BODY.replace("NAME", name)
    for side in sides:
        device = side.device
        yield f'ip link show dev {device} >/dev/null 2>&1 || fail "there is no device {device}"\n'
    settings = compiled.plan.nodes[node].sysctls
    yield "\n# A router, with labels on these devices\n"
    if any(key.startswith("net/mpls") for key, _ in settings):
        yield _MPLS_CHECK
    yield from (f"setting {key} '{value}'\n" for key, value in settings)
    yield from _write_steps(compiled.script.commands[node])


def _write_steps(commands: Iterable[Command]) -> Iterator[str]:
    """Commands that are undone one by one, then the queues and filters that go with their roots."""
    order = {"ip": 0, "mpls": 1, "tc": 2}
    about = ""
    batch: list[Command] = []
    for each in sorted(commands, key=lambda each: order[each.program]):
        step = _write_step(each)
        if step is None:
            batch.append(each)
            continue
        if each.purpose != about:
            about = each.purpose
            yield f"# {escape_comment(about)}\n" if about else ""
        yield step + "\n"
    if not batch:
        return
    yield "\n# Queues and filters\ntc -batch - <<'END' || fail \"refused: queues and filters\"\n"
    for each in batch:
        if each.purpose and each.purpose != about:
            yield f"# {escape_comment(each.purpose)}\n"
            about = each.purpose
        yield f"{each.line}\n"
    yield "END\n"


_UNDO_PATTERNS: Final = (
    ("ip", r"addr add (.+)", r"ip addr del \1"),
    ("ip", r"neigh replace (\S+) .*(dev \S+) .*", r"ip neigh del \1 \2"),
    ("ip", r"route add (\S+ table \d+|\S+) .+", r"ip route del \1"),
    ("ip", r"rule add (.+)", r"ip rule del \1"),
    ("ip", r"link add (\S+) .+", r"ip link del \1"),
    ("mpls", r"route add (\d+) .+", r"ip -f mpls route del \1"),
    ("tc", r"qdisc add (dev \S+) root .+", r"tc qdisc del \1 root"),
    ("tc", r"qdisc add (dev \S+) clsact", r"tc qdisc del \1 clsact"),
)
_GROUP_NUMBER: Final = re.compile(r"\\(\d)")
_PRINTED_WORDS: Final = {"txqueuelen": "qlen"}
"""Words of ``ip link`` that it prints in another way."""


def _write_step(command: Command) -> str | None:
    """A command with how it is undone; None for those that their root removes."""
    up_match = re.fullmatch(r"link set (\S+) up", command.line)
    if up_match:
        return f"up {up_match[1]}"
    set_match = re.fullmatch(r"link set (\S+) (.+)", command.line)
    if set_match:
        words = set_match[2].split()
        pairs = zip(words[::2], words[1::2], strict=True)
        return "\n".join(
            f"link {set_match[1]} {k} {v} {_PRINTED_WORDS.get(k, '')}".rstrip() for k, v in pairs
        )
    program = {"mpls": "ip -f mpls"}.get(command.program, command.program)
    for pattern_program, pattern, undo in _UNDO_PATTERNS:
        match = re.fullmatch(pattern, command.line) if pattern_program == command.program else None
        if match:
            return f"run '{_fill_groups(undo, match)}' {program} {command.line}"
    assert command.program == "tc", f"how is this undone: {command.line}"
    return None


def _fill_groups(template: str, match: re.Match[str]) -> str:
    """Fill in groups as `re.Match.expand` does, which compiles its template each time."""
    return _GROUP_NUMBER.sub(lambda found: match[int(found[1])], template)


_NOT_PRINTABLE: Final = re.compile(r"[^\x20-\x7e]")


def escape_comment(text: str) -> str:
    """A text for a comment: printable ASCII in one line, all else escaped."""
    return _NOT_PRINTABLE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
