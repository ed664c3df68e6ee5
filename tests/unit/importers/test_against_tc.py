"""Scripts given to the tc and the kernel of this machine: accepted alike, refused alike, listed.

Each script runs on a veth device in a network namespace of its own. Where the kernel lacks a
discipline or a filter, tc's own judgement of the words is what counts.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from typing import Any

import pytest

from trunkline.importers import Addresses, ImportFault, read_tc

RUN_SCRIPTS = r"""
import json, subprocess, sys
def run(words):
    return subprocess.run(words, capture_output=True, text=True)
def reset():
    for place in ("root", "ingress"):
        run(["tc", "qdisc", "del", "dev", "d0", place])
made = run(["ip", "link", "add", "d0", "type", "veth"])
if made.returncode:
    sys.exit("no veth: " + made.stderr)
told = []
for script in json.load(sys.stdin):
    reset()
    answers = []
    for line in script.splitlines():
        done = run(line.split())
        answers.append((done.returncode, done.stderr.splitlines()))
    shows = "".join(
        f"+ tc -d {kind} show dev d0\n" + run(["tc", "-d", kind, "show", "dev", "d0"]).stdout
        for kind in ("qdisc", "class", "filter")
    )
    told.append((answers, shows))
print(json.dumps(told))
"""
HTB = "tc qdisc add dev d0 root handle 1: htb default 2\n"
TWO = HTB + "tc class add dev d0 parent 1: classid 1:2 htb rate 1mbit\n"
U32 = "tc filter add dev d0 parent 1: protocol ip prio 1 u32 match ip tos 0xb8 0xfc flowid "
HFSC = "tc qdisc add dev d0 root handle 1: hfsc default 2\n"
CURVE = "tc class add dev d0 parent 1: classid 1:2 hfsc "
RED = "tc qdisc add dev d0 root red limit 100000 min 20000 max 60000 avpkt 1000 "
TBF = "tc qdisc add dev d0 root tbf rate 1mbit "

ACCEPTED = [
    TWO,
    HTB.replace("default 2", ""),
    HTB.replace("default 2", "default 0x2 r2q 5"),
    TWO + "tc class add dev d0 parent 1:77 classid 1:3 htb rate 1mbit",
    TWO + "tc class add dev d0 parent 1: classid 1:3 htb rate 1mbit prio 20",
    TWO + "tc class add dev d0 parent 1: classid 1:3 htb rate 1mbit quantum 1500 ceil 2mbit",
    TWO + "tc class add dev d0 parent 1: classid 1:3 htb rate 1e6 burst 1.5kb cburst 15kbit",
    TWO + "tc class add dev d0 classid 1:3 htb rate 80Kibps",
    TWO + "tc class add dev d0 parent 1:2 classid 1:3 htb rate 500kbit",
    TWO + "tc class change dev d0 classid 1:2 htb rate 2mbit",
    TWO + "tc class replace dev d0 classid 1:2 htb rate 2mbit",
    TWO
    + "tc class add dev d0 parent 1: classid 1:3 htb rate 1mbit\ntc class del dev d0 classid 1:3",
    TWO + "tc qdisc add dev d0 parent 1:2 handle 20: pfifo limit 5",
    TWO + "tc qdisc add dev d0 parent 1:2 handle 20: bfifo limit 5000",
    TWO + U32 + "1:2",
    TWO + U32 + "1:0",
    TWO + U32 + "1:55",
    TWO + U32 + "2",
    TWO + U32 + ":2",
    "tc qdisc add dev d0 root handle 1 htb default 4\n"
    "tc class add dev d0 parent 1 classid 1:1 htb rate 2mbit\n"
    "tc class add dev d0 parent 1 classid 1:4 htb rate 1mbit\n"
    "tc class add dev d0 parent 1:1 classid 5 htb rate 1mbit",
    TWO + "tc qdisc add dev d0 parent 1:2 handle 20: netem delay 20ms 2ms loss 1% limit 50",
    TWO + U32 + "1:2\n" + U32.replace("prio 1 ", "").replace("0xb8", "0x28") + "1:0",
    TWO + U32.replace("match ip tos 0xb8 0xfc", "match u8 0xb8 0xfc at 1") + "1:2",
    TWO + U32.replace("match ip tos 0xb8 0xfc", "match ip src 10.0.0.1/32") + "1:2",
    TWO + U32.replace("match ip tos 0xb8 0xfc", "match ip dst 10.0/16") + "1:0",
    TWO + U32.replace("match ip tos 0xb8 0xfc", "match ip protocol 17 0xff") + "1:2",
    TWO + U32.replace("match ip tos 0xb8 0xfc", "match ip dport 80 0xffff") + "1:2",
    TWO + U32 + "1:2\ntc filter del dev d0 parent 1: prio 1",
    f"{TBF}burst 5k latency 10ms",
    f"{TBF}burst 5k limit 10k",
    f"{TBF}burst 5k latency 10ms peakrate 2mbit mtu 1600",
    "tc qdisc add dev d0 root handle 1: tbf rate 1mbit burst 5k limit 10k\n"
    "tc qdisc add dev d0 parent 1:1 handle 10: pfifo limit 7",
    "tc qdisc add dev d0 root pfifo limit 7\ntc qdisc replace dev d0 root bfifo limit 9000",
    "tc qdisc add dev d0 handle ffff: ingress",
    f"{HFSC}{CURVE}sc m1 2mbit d 10ms m2 1mbit",
    f"{HFSC}{CURVE}rt umax 1500 dmax 10ms rate 1mbit ls rate 1mbit ul rate 2mbit",
    f"{HFSC}{CURVE}ls d 10ms m2 1mbit",
    f"{RED}burst 20 bandwidth 10mbit",
    f"{RED}burst 40 probability 0.1 ecn",
    "tc qdisc add dev d0 root cake bandwidth 1mbit diffserv8 flows rtt 30ms pppoe-ptm mpu 60",
    "tc qdisc add dev d0 root cake unlimited precedence dual-srchost nat wash",
    "tc qdisc add dev d0 root fq_codel limit 1000 target 5ms interval 100ms quantum 300 noecn",
    "tc qdisc add dev d0 root handle 1: prio bands 4 priomap 1 2 2",
]
REFUSED = [
    "tc qdisc add dev d0 root handle 1: htb default 1:2",
    "tc class add dev d0 parent 1: classid 1:2 htb rate 1mbit",
    HTB + "tc class add dev d0 parent 1: classid 1:2 htb",
    HTB + "tc class add dev d0 parent 1: classid 1:2 htb rate 0",
    HTB + "tc class add dev d0 parent 1: classid 1:2 htb rate 1mbit prio -1",
    HTB + "tc class add dev d0 parent 1: classid 1:2 htb rate 1mbit prio 0x3",
    HTB + "tc class add dev d0 parent 1: classid 1:2 htb rate 1mbit wat 3",
    HTB + "tc class add dev d0 parent 1: classid 1:2 htb rate 1mbit rate 2mbit",
    HTB + "tc class add dev d0 parent 1: classid 1:2 htb rate 1.5.5kbit",
    HTB + "tc class add dev d0 parent 1: classid 2:2 htb rate 1mbit",
    HTB + "tc class change dev d0 classid 1:7 htb rate 1mbit",
    TWO + "tc class add dev d0 parent 1: classid 1:2 htb rate 1mbit",
    TWO
    + "tc class add dev d0 parent 1:2 classid 1:3 htb rate 1mbit\ntc class del dev d0 classid 1:2",
    TWO + "tc class del dev d0 classid 1:9",
    TWO + "tc qdisc add dev d0 root handle 1: htb",
    TWO + "tc qdisc add dev d0 parent 1:9 pfifo",
    TWO + "tc qdisc add dev d0 parent 1:2 pfifo limit x",
    TWO + "tc qdisc add dev d0 parent 1:2 pfifo\ntc qdisc add dev d0 parent 1:2 pfifo",
    TWO + "tc class add dev d0 parent 1:2 classid 1:3 htb rate 1mbit\n"
    "tc qdisc add dev d0 parent 1:2 handle 20: pfifo",
    TWO + U32.replace("parent 1:", "parent 9:") + "1:2",
    TWO + U32.replace("parent 1:", "parent 1") + "1:2",
    TWO + "tc qdisc add dev d0 parent 2 pfifo",
    TWO + "tc qdisc add dev d0 parent 1:2 netem delay",
    TWO + U32.replace("match ip tos 0xb8 0xfc", "") + "1:2",
    TWO + U32.replace("match ip tos 0xb8 0xfc", "match ip tos 0xb8") + "1:2",
    TWO + U32.replace("match ip tos 0xb8 0xfc", "match u8 0x1b8 0xff at 1") + "1:2",
    TWO + U32.replace("prio 1", "prio x") + "1:2",
    f"{TBF}burst 5k",
    f"{TBF}limit 5k",
    f"{TBF}burst 5k latency 10ms limit 5k",
    f"{TBF}burst 5k latency 10ms peakrate 2mbit",
    f"{TBF}burst 5k latency 10ms peakrate 500kbit mtu 1600",
    "tc qdisc change dev d0 root pfifo limit 5",
    f"{HFSC}{CURVE}rt m1 2mbit d 10ms",
    f"{HFSC}{CURVE}ul rate 1mbit",
    f"{HFSC}{CURVE}ls 5mbit",
    f"{HFSC}{CURVE}rt m2 0",
    f"{HFSC}{CURVE}",
    f"{HFSC}{CURVE}rt umax 1500 rate 1mbit",
    f"{RED}burst 5 bandwidth 10mbit",
    "tc qdisc add dev d0 root cake bandwidth 1mbit wat",
    "tc qdisc add dev d0 root fq_codel limit x",
    "tc qdisc add dev d0 root handle 1: prio bands x",
]
_ABSENT = ("kind is unknown", "not supported")
HOSTS = Addresses({"10.0.0.1": "A", "10.0.0.2": "B"}, {80: "web"})


@pytest.fixture(scope="module")
def lines() -> dict[str, tuple[list[tuple[int, list[str]]], str]]:
    """What tc answered to each command of each script, and what it lists afterwards."""
    if not shutil.which("tc") or not shutil.which("unshare"):
        pytest.skip("tc and unshare are not installed")
    root = [] if os.geteuid() == 0 else ["--map-root-user"]
    scripts = [*ACCEPTED, *REFUSED]
    done = subprocess.run(
        ["unshare", "--net", *root, sys.executable, "-c", RUN_SCRIPTS],
        input=json.dumps(scripts),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"no network namespace with veth and tc: {done.stderr.strip()[-200:]}")
    return dict(zip(scripts, json.loads(done.stdout), strict=True))


def is_accepted(answers: list[tuple[int, list[str]]]) -> bool:
    """Whether tc took the words, and the kernel what it was asked for, as far as it can."""
    is_absent = False
    for code, messages in answers:
        is_absent = is_absent or any(word in "".join(messages) for word in _ABSENT)
        if code not in (0, 2) or (code and not is_absent):
            return False
    return True


@pytest.mark.parametrize("script", ACCEPTED)
def test_what_tc_accepts_is_read(
    script: str, lines: dict[str, tuple[list[tuple[int, list[str]]], str]]
) -> None:
    assert is_accepted(lines[script][0]), lines[script][0]
    read_tc(script, addresses=HOSTS)


@pytest.mark.parametrize("script", REFUSED)
def test_what_tc_refuses_is_refused(
    script: str, lines: dict[str, tuple[list[tuple[int, list[str]]], str]]
) -> None:
    assert not is_accepted(lines[script][0]), lines[script][0]
    with pytest.raises(ImportFault):
        read_tc(script, addresses=HOSTS)


@pytest.mark.parametrize("script", ACCEPTED)
def test_what_tc_lists_is_what_the_script_says(
    script: str, lines: dict[str, tuple[list[tuple[int, list[str]]], str]]
) -> None:
    answers, listing = lines[script]
    if any(code for code, _ in answers):
        pytest.skip(f"this kernel lacks it: {answers}")
    listed, written = (
        with_defaults(read_tc(text, addresses=HOSTS).to_dict()) for text in (listing, script)
    )
    assert listed.keys() == written.keys()
    for key, value in written.items():
        # The kernel keeps times: bytes come back a little off.
        expected = pytest.approx(value, rel=1e-3) if isinstance(value, float) else value
        assert listed[key] == expected, key


def with_defaults(value: Any, path: str = "") -> dict[str, Any]:
    """Values by path, numbers with units as numbers, htb's defaults filled in."""
    if isinstance(value, list):
        return {path: value}
    if not isinstance(value, dict):
        number = re.fullmatch(r"(\d+) (?:B|bit/s)", str(value))
        return {path: float(number[1]) if number else value}
    if "quantum" in value or "parent" in value or path.endswith("/root"):
        value = {"ceil": value["rate"], "burst": "1600 B", "cburst": "1600 B"} | value
    return {
        key: each
        for name, inner in value.items()
        for key, each in with_defaults(inner, f"{path}/{name}").items()
    }
