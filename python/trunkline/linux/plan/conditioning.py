"""Conditioners as ``police``: meters, drops and new codepoints at the far end of a link.

Each profile has its own chain, with its meter first. Packets that it passes continue in the chain
`AFTER`, which marks packets and sends them over the wire.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from trunkline.linux.plan.command_script import CommandScript, ScenarioPart
from trunkline.linux.plan.egress_filters import DSCP_COUNT, format_dscp_rewrite

if TYPE_CHECKING:
    from trunkline.network.types import Action, Conditioner, NetworkData, Profile

FORWARDING_CHAIN: Final = 1  # Chain that comes after conditioning.
_FIRST_CHAIN: Final = 10
_MAX_PACKET_BYTES: Final = 65_535

NEAREST_METER: Final = {
    "srtcm": "rfc4115, whose buckets fill each by itself",
    "tsw2cm": "token-bucket",
    "tsw3cm": "trtcm",
}
"""The nearest meter in the kernel for each that it lacks."""


def list_ingress_filters(
    script: CommandScript, conditioner: Conditioner, flows: Sequence[tuple[int, str]]
) -> list[str]:
    """Ingress filters of a conditioner; other packets continue in chain `AFTER` too.

    flows: Row and keys of ``flower`` of each direction of a flow.
    """
    filter_lines: list[str] = []
    chains: dict[int, int] = {}
    for profile in conditioner["profiles"]:
        chains[len(chains) + 1] = _FIRST_CHAIN + 2 * len(chains)
        filter_lines += _list_profile_filters(
            script, conditioner["name"], profile, chains[len(chains)]
        )
    rows = conditioner["classifier"]["rows"]
    row_keys = flows if conditioner["classifier"]["flow_rows"] else [(0, "")]
    for row, keys in dict.fromkeys(row_keys):
        cells = [int(each[0]) for each in rows[row][:DSCP_COUNT]]
        leading_keys = f" {keys}" if keys else ""
        matches = [("", cells[0])]
        if len(set(cells)) > 1:
            matches = [(f" ip_tos {dscp << 2:#04x}/0xfc", cell) for dscp, cell in enumerate(cells)]
        filter_lines += [
            f"protocol ip prio 10 flower{leading_keys}{match} action goto chain {chains[cell]}"
            for match, cell in matches
            if cell
        ]
    filter_lines.append(f"protocol all prio 90 matchall action goto chain {FORWARDING_CHAIN}")
    return filter_lines


def refuse_labels(
    script: CommandScript, network: NetworkData, link: int, conditioner: Conditioner
) -> None:
    """Refuse a conditioner whose rules ask for packets that arrive there with a label."""
    labelled = any(
        each["link"] == link and (each["push"] or not each["pop"]) for each in network["nhlfe"]
    )
    rows = conditioner["classifier"]["rows"]
    if labelled and any(int(cell[0]) for row in rows for cell in row[DSCP_COUNT:]):
        script.refuse(
            ("conditioners", conditioner["name"]),
            f"conditioner {conditioner['name']}: packets arrive with labels over "
            f"{network['links'][link]['name']}, and Linux's filters see no IP header below them; "
            "nearest: the conditioner where packets arrive without, before their path",
        )


def _list_profile_filters(
    script: CommandScript, name: str, profile: Profile, chain: int
) -> list[str]:
    meter = profile["meter"]
    path = ("conditioners", name, "profiles", profile["name"], "meter")
    part = ScenarioPart(script, f"conditioner {name}, profile {profile['name']}", path)
    if meter["kind"] not in ("token-bucket", "trtcm", "rfc4115"):
        nearest = NEAREST_METER.get(meter["kind"], "token-bucket")
        part.refuse(f"the Linux kernel has no {meter['kind']}; nearest: {nearest}", "kind")
        return []
    if meter["colour_aware"]:
        reason = "Linux's police sees no colours; nearest: colour_aware: false"
        part.refuse(reason, "colour_aware")
    green, yellow, red = (_format_action(action) for action in profile["actions"])
    if meter["kind"] == "token-bucket":
        peak_police = f"mtu {_MAX_PACKET_BYTES}"
        if meter["peak_rate_bit_s"]:
            peak_police = f"peakrate {meter['peak_rate_bit_s']}bit mtu {meter['peak_burst_bytes']}"
        police = f"police rate {meter['rate_bit_s']}bit burst {meter['burst_bytes']}b {peak_police}"
        return _list_meter_filters(chain, police, green, red)
    if meter["kind"] == "rfc4115":
        # RFC 4115 section 3: packets that are not green take only excess tokens.
        committed = _format_police(meter["cir_bit_s"], meter["cbs_bytes"])
        excess = _format_police(meter["eir_bit_s"], meter["ebs_bytes"])
        next_chain = f"action goto chain {chain + 1}"
        return _list_meter_filters(chain, committed, green, next_chain) + _list_meter_filters(
            chain + 1, excess, yellow, red
        )
    peak_police = _format_police(meter["pir_bit_s"], meter["pbs_bytes"])
    committed = _format_police(meter["cir_bit_s"], meter["cbs_bytes"])
    # RFC 2698 section 3: red is judged first and takes nothing from the committed bucket.
    return _list_meter_filters(
        chain, peak_police, f"action goto chain {chain + 1}", red
    ) + _list_meter_filters(chain + 1, committed, green, yellow)


def _format_police(rate: int, burst: int) -> str:
    return f"police rate {rate}bit burst {burst}b mtu {_MAX_PACKET_BYTES}"


def _list_meter_filters(chain: int, police: str, conform: str, exceed: str) -> list[str]:
    prefix = f"protocol ip chain {chain}"
    return [
        f"{prefix} prio 1 matchall action {police} conform-exceed continue/pipe {conform}",
        f"{prefix} prio 2 matchall {exceed}",
    ]


def _format_action(action: Action) -> str:
    if action["drop"]:
        return "action drop"
    rewrite = "" if action["dscp"] is None else format_dscp_rewrite(action["dscp"])
    return f"{rewrite}action goto chain {FORWARDING_CHAIN}"
