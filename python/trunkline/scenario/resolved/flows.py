"""Flows with the defaults of their kind."""

from typing import Any

from trunkline.scenario.base import merged
from trunkline.scenario.call import LARGEST_DATAGRAM, PAUSE_NS, TALK_NS, Call, datagram_bytes
from trunkline.scenario.flow import LINUX_TCP, Size, Tcp, Udp
from trunkline.scenario.game import GAMES, Game
from trunkline.scenario.model import Defaults
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved.resolved import Resolved


def flows(scenario: Resolved, problems: Problems) -> None:
    """Gives every flow the keys that it leaves to defaults and presets."""
    defaults = scenario.written.defaults
    scenario.flows = {
        name: flow if name in scenario.echoes else _complete(flow, defaults)
        for name, flow in scenario.flows.items()
    }


def _complete(flow: Tcp | Udp, defaults: Defaults) -> Tcp | Udp:
    if isinstance(flow, Tcp):
        own = merged(flow, defaults.tcp)
        return merged(own, LINUX_TCP) if own.preset == "linux" else own
    udp = merged(flow, defaults.udp)
    if udp.game is not None:
        return _game(udp, udp.game)
    return udp if udp.call is None else _call(udp, udp.call)


def _game(flow: Udp, game: Game) -> Udp:
    """A game's mean rate and size; the network has its laws."""
    law = GAMES[game.model]
    size = law.mean_bytes + flow.header
    update: dict[str, Any] = {
        "size": Size(fixed=round(size)),
        "rate": round(size * 8e3 / law.mean_gap_ms),
        "arrivals": "cbr",
        "schedule": None,
        "datagrams": (),
        "jitter": 0.0,
    }
    return flow.model_copy(update=update)


def _call(flow: Udp, call: Call) -> Udp:
    """A call with the packets of its codec."""
    # Of more, which no datagram holds, the checks tell.
    size = min(int(datagram_bytes(call)), LARGEST_DATAGRAM)
    update: dict[str, Any] = {
        "size": Size(fixed=size),
        "rate": round(size * 8e9 / call.packet),
        "arrivals": "on-off" if call.silence else "cbr",
        "mean_on": TALK_NS if call.silence else None,
        "mean_off": PAUSE_NS if call.silence else None,
        "schedule": None,
        "jitter": 0.0,
    }
    return flow.model_copy(update=update)
