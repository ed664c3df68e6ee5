"""Conditioners as ``police``: meters, drops and new codepoints at the far end of a link.

Each profile is a chain of its own with its meter first. What it lets pass goes on to the chain in
which packets are marked and sent over the wire, `AFTER`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from trunkline.linux.plan.classify import DSCPS, remark
from trunkline.linux.plan.script import Part, Script

if TYPE_CHECKING:
    from trunkline.network.types import Action, Conditioner, Network, Profile

AFTER: Final = 1
"""Chain that comes after conditioning."""
_FIRST_CHAIN: Final = 10
_LARGEST_PACKET: Final = 65_535

NEAREST: Final = {
    "srtcm": "rfc4115, whose buckets fill each by itself",
    "tsw2cm": "token-bucket",
    "tsw3cm": "trtcm",
}
"""What comes nearest to meters the kernel lacks."""


def filters(
    script: Script, conditioner: Conditioner, flows: Sequence[tuple[int, str]]
) -> list[str]:
    """Ingress filters of a conditioner; what it does not know goes on to chain `AFTER` too.

    Parameters
    ----------
    flows : sequence of (int, str)
        Row and keys of ``flower`` of each direction of a flow.
    """
    said: list[str] = []
    chains: dict[int, int] = {}
    for profile in conditioner["profiles"]:
        chains[len(chains) + 1] = _FIRST_CHAIN + 2 * len(chains)
        said += _profile(script, conditioner["name"], profile, chains[len(chains)])
    rows = conditioner["classifier"]["rows"]
    chosen = flows if conditioner["classifier"]["flow_rows"] else [(0, "")]
    for row, keys in dict.fromkeys(chosen):
        cells = [int(each[0]) for each in rows[row][:DSCPS]]
        spaced = f" {keys}" if keys else ""
        matches = [("", cells[0])]
        if len(set(cells)) > 1:
            matches = [(f" ip_tos {at << 2:#04x}/0xfc", cell) for at, cell in enumerate(cells)]
        said += [
            f"protocol ip prio 10 flower{spaced}{match} action goto chain {chains[cell]}"
            for match, cell in matches
            if cell
        ]
    said.append(f"protocol all prio 90 matchall action goto chain {AFTER}")
    return said


def refuse_labels(script: Script, data: Network, link: int, conditioner: Conditioner) -> None:
    """Refuses a conditioner whose rules ask for packets that arrive there with a label."""
    labelled = any(
        each["link"] == link and (each["push"] or not each["pop"]) for each in data["nhlfe"]
    )
    rows = conditioner["classifier"]["rows"]
    if labelled and any(int(cell[0]) for row in rows for cell in row[DSCPS:]):
        script.refuse(
            ("conditioners", conditioner["name"]),
            f"conditioner {conditioner['name']}: packets arrive with labels over "
            f"{data['links'][link]['name']}, and Linux's filters see no IP header below them; "
            "nearest: the conditioner where packets arrive without, before their path",
        )


def _profile(script: Script, name: str, profile: Profile, chain: int) -> list[str]:
    meter = profile["meter"]
    path = ("conditioners", name, "profiles", profile["name"], "meter")
    part = Part(script, f"conditioner {name}, profile {profile['name']}", path)
    if meter["kind"] not in ("token-bucket", "trtcm", "rfc4115"):
        nearest = NEAREST.get(meter["kind"], "token-bucket")
        part.refuse(f"the Linux kernel has no {meter['kind']}; nearest: {nearest}", "kind")
        return []
    if meter["colour_aware"]:
        why = "Linux's police sees no colours; nearest: colour_aware: false"
        part.refuse(why, "colour_aware")
    green, yellow, red = (_end(action) for action in profile["actions"])
    if meter["kind"] == "token-bucket":
        peak = f"mtu {_LARGEST_PACKET}"
        if meter["peak_rate_bit_s"]:
            peak = f"peakrate {meter['peak_rate_bit_s']}bit mtu {meter['peak_burst_bytes']}"
        police = f"police rate {meter['rate_bit_s']}bit burst {meter['burst_bytes']}b {peak}"
        return _meter(chain, police, green, red)
    if meter["kind"] == "rfc4115":
        # RFC 4115 section 3: what is not green asks for excess tokens, and takes no others.
        committed = _police(meter["cir_bit_s"], meter["cbs_bytes"])
        excess = _police(meter["eir_bit_s"], meter["ebs_bytes"])
        onward = f"action goto chain {chain + 1}"
        return _meter(chain, committed, green, onward) + _meter(chain + 1, excess, yellow, red)
    peak = _police(meter["pir_bit_s"], meter["pbs_bytes"])
    committed = _police(meter["cir_bit_s"], meter["cbs_bytes"])
    # RFC 2698 section 3: red is judged first and takes nothing from the committed bucket.
    return _meter(chain, peak, f"action goto chain {chain + 1}", red) + _meter(
        chain + 1, committed, green, yellow
    )


def _police(rate: int, burst: int) -> str:
    return f"police rate {rate}bit burst {burst}b mtu {_LARGEST_PACKET}"


def _meter(chain: int, police: str, conform: str, exceed: str) -> list[str]:
    head = f"protocol ip chain {chain}"
    return [
        f"{head} prio 1 matchall action {police} conform-exceed continue/pipe {conform}",
        f"{head} prio 2 matchall {exceed}",
    ]


def _end(action: Action) -> str:
    if action["drop"]:
        return "action drop"
    written = "" if action["dscp"] is None else remark(action["dscp"])
    return f"{written}action goto chain {AFTER}"
