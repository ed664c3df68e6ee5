"""Values that each seed draws anew: delays of links, starts of flows, times of packets.

Draws depend on the seed alone, so that all points of a study, which may differ in anything else,
have the same: comparisons use the same draws.
"""

from __future__ import annotations

import fnmatch
import functools
import hashlib
import json
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from pydantic import Field, model_validator

from trunkline.scenario.fields import Time, make_invalid_error
from trunkline.study.errors import StudyError
from trunkline.study.language.part import StudyPart


class UniformRange(StudyPart):
    """Ends of a uniform distribution; the first is included, the second is not.

    Parameters
    ----------
    low, high : int
        Ends [ns].
    """

    low: Time = Field(alias="from")
    high: Time = Field(alias="to")

    @model_validator(mode="after")
    def _check_order(self) -> UniformRange:
        if self.high <= self.low:
            message = f"to must be above from, which is {self.low} ns"
            raise make_invalid_error("relation", message, given=f"{self.high} ns", at=("to",))
        return self


class RandomDraw(StudyPart):
    """Something that is drawn.

    Parameters
    ----------
    links : list of str
        Links whose `delay` is drawn, the same in both directions; ``S*-A`` stands for several.
    flows : list of str
        Flows whose `start` or `arrivals` are drawn.
    delay, start : UniformRange, optional
        Uniform between two times, one draw for each link or flow in the scenario's order.
    arrivals : {"uniform"}, optional
        Packets of constant size at independent uniform times until the flow stops, as many as its
        rate makes: a Poisson process of which the number is given.
    cases : list of str, optional
        Cases that have it; all if left out.
    """

    links: list[str] = []
    flows: list[str] = []
    delay: UniformRange | None = None
    start: UniformRange | None = None
    arrivals: Literal["uniform"] | None = None
    cases: list[str] | None = None

    @model_validator(mode="after")
    def _check_single_target(self) -> RandomDraw:
        target_key = "links" if self.delay is not None else "flows"
        given_keys = [
            key for key in ("delay", "start", "arrivals") if getattr(self, key) is not None
        ]
        if len(given_keys) != 1 or not getattr(self, target_key) or (self.links and self.flows):
            message = "a draw is the delay of links, or the start or the arrivals of flows"
            raise make_invalid_error(
                "relation", message, given=", ".join(given_keys) or "none of them"
            )
        return self


def serialise_draws(study: str, draws: Sequence[RandomDraw]) -> str:
    """Write draws as text for a manifest; empty if there are none."""
    if not draws:
        return ""
    drawn_values = [draw.model_dump(exclude={"cases"}, exclude_none=True) for draw in draws]
    return json.dumps({"study": study, "draws": drawn_values})


@functools.lru_cache(maxsize=64)
def apply_draws(network_json: str, draws: str, seed: int) -> str:
    """Put the draws of a seed into a compiled network.

    Raises StudyError: A name fits no link or flow, or the flow cannot have such arrivals.
    """
    network, decoded = json.loads(network_json), json.loads(draws)
    # Philox is counter-based: a key gives the same numbers on every platform and in every version.
    random = np.random.Generator(np.random.Philox(key=seed))
    for draw in decoded["draws"]:
        if "delay" in draw:
            links = {link["name"].replace("->", "-"): link for link in network["links"]}
            for name in _match_names(draw["links"], list(links)):
                delay = _draw_uniform(random, draw["delay"])
                for direction in (name, "-".join(reversed(links[name]["name"].split("->")))):
                    if direction in links:
                        links[direction]["delay_ns"] = delay
            continue
        flows = {flow["name"]: flow for flow in network["flows"]}
        for name in _match_names(draw["flows"], list(flows)):
            if "start" in draw:
                flows[name]["start_ns"] = _draw_uniform(random, draw["start"])
            else:
                _draw_arrivals(flows[name], decoded["study"], seed)
    return json.dumps(network, sort_keys=True, separators=(",", ":"))


def _match_names(patterns: list[str], names: list[str]) -> list[str]:
    for pattern in patterns:
        if not fnmatch.filter(names, pattern):
            listed = ", ".join([*names[:12], *(["..."] if len(names) > 12 else [])])
            raise StudyError(f"{pattern!r} is no link or flow here; there are {listed}")
    return [name for name in names if any(fnmatch.fnmatchcase(name, each) for each in patterns)]


def _draw_uniform(random: np.random.Generator, spread: dict[str, int]) -> int:
    return spread["low"] + int((spread["high"] - spread["low"]) * random.random())


def _draw_arrivals(flow: dict[str, Any], study: str, seed: int) -> None:
    """Given their number, the times of a Poisson process are independent and uniform."""
    agent, start, stop = flow["agent"], flow["start_ns"], flow["stop_ns"]
    size = agent.get("size", {}).get("fixed", {}).get("bytes") if "rate_bit_s" in agent else None
    if size is None or stop is None:
        name = flow["name"]
        raise StudyError(f"{name} must have a rate, packets of one size, and a time to stop")
    span = stop - start
    count = round(agent["rate_bit_s"] * span / (8 * size * 10**9))
    # An extendable hash as the stream of (study, flow, seed): the same on every platform.
    stream = hashlib.shake_256(f"{study}/{flow['name']}/{seed}".encode()).digest(8 * count)
    draws = np.sort(np.frombuffer(stream, dtype=">u8")).tolist()
    times = [start + (draw * span >> 64) for draw in draws]
    agent["arrivals"] = {"schedule": {"times_ns": times, "sizes": [size] * count}}
