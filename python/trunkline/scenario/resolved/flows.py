"""Flows with the defaults of their kind."""

from typing import Any

from trunkline.scenario.base import merge_defaults
from trunkline.scenario.call import (
    LARGEST_DATAGRAM,
    MEAN_PAUSE_NS,
    MEAN_TALK_NS,
    Call,
    compute_datagram_bytes,
)
from trunkline.scenario.flow import LINUX_TCP_OPTIONS, DatagramSize, Tcp, Udp
from trunkline.scenario.game import GAMES, Game
from trunkline.scenario.media import Media
from trunkline.scenario.model import Defaults
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved.resolved import ResolvedScenario


def resolve_flows(scenario: ResolvedScenario, problems: Problems) -> None:
    """Give every flow the keys that it leaves to defaults and presets."""
    defaults = scenario.written.defaults
    scenario.flows = {
        name: flow if name in scenario.echoes else _complete_flow(flow, defaults)
        for name, flow in scenario.flows.items()
    }


def _complete_flow(flow: Tcp | Udp, defaults: Defaults) -> Tcp | Udp:
    if isinstance(flow, Tcp):
        completed = merge_defaults(flow, defaults.tcp)
        return (
            merge_defaults(completed, LINUX_TCP_OPTIONS)
            if completed.preset == "linux"
            else completed
        )
    udp = merge_defaults(flow, defaults.udp)
    if udp.game is not None:
        return _complete_game(udp, udp.game)
    if udp.media is not None:
        return _complete_media(udp, udp.media)
    return udp if udp.call is None else _complete_call(udp, udp.call)


def _complete_game(flow: Udp, game: Game) -> Udp:
    """A game's mean rate and size; the network has its laws."""
    law = GAMES[game.model]
    size = law.mean_bytes + flow.header
    return _set_constant_rate(flow, round(size), round(size * 8e3 / law.mean_gap_ms))


def _complete_media(flow: Udp, media: Media) -> Udp:
    """A media flow's largest rate and packets; the network has its frames."""
    return _set_constant_rate(flow, media.packet, media.largest_rate)


def _set_constant_rate(flow: Udp, size: int, rate: int) -> Udp:
    """Set datagrams of one size [B] at a constant rate [bit/s] in place of any other traffic."""
    update: dict[str, Any] = {"size": DatagramSize(fixed=size), "rate": rate, "arrivals": "cbr"}
    update |= {"schedule": None, "datagrams": (), "jitter": 0.0}
    return flow.model_copy(update=update)


def _complete_call(flow: Udp, call: Call) -> Udp:
    """A call with the packets of its codec."""
    # The checks report more, which no datagram holds.
    size = min(int(compute_datagram_bytes(call)), LARGEST_DATAGRAM)
    update: dict[str, Any] = {
        "size": DatagramSize(fixed=size),
        "rate": round(size * 8e9 / call.packet),
        "arrivals": "on-off" if call.silence else "cbr",
        "mean_on": MEAN_TALK_NS if call.silence else None,
        "mean_off": MEAN_PAUSE_NS if call.silence else None,
        "schedule": None,
        "jitter": 0.0,
    }
    return flow.model_copy(update=update)
