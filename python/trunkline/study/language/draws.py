"""What is drawn again for each seed: delays of links, starts of flows, times of packets.

Draws depend on the seed alone, so that all points of a study, which may differ in anything else,
have the same: what is compared is compared under the same draws.
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

from trunkline.scenario.fields import Time, invalid
from trunkline.study.errors import Refused
from trunkline.study.language.part import Part


class Spread(Part):
    """Ends of a uniform distribution; the first is included, the second is not.

    Parameters
    ----------
    low, high : int
        Ends [ns].
    """

    low: Time = Field(alias="from")
    high: Time = Field(alias="to")

    @model_validator(mode="after")
    def _in_order(self) -> Spread:
        if self.high <= self.low:
            message = f"to must be above from, which is {self.low} ns"
            raise invalid("relation", message, given=f"{self.high} ns", at=("to",))
        return self


class Draw(Part):
    """Something that is drawn.

    Parameters
    ----------
    links : list of str
        Links whose `delay` is drawn, the same in both directions; ``S*-A`` stands for several.
    flows : list of str
        Flows whose `start` or `arrivals` are drawn.
    delay, start : Spread, optional
        Uniform between two times, one draw for each link or flow in the scenario's order.
    arrivals : {"uniform"}, optional
        Packets of constant size at independent uniform times until the flow stops, as many as its
        rate makes: a Poisson process of which the number is given.
    cases : list of str, optional
        Cases that have it; all if left out.
    """

    links: list[str] = []
    flows: list[str] = []
    delay: Spread | None = None
    start: Spread | None = None
    arrivals: Literal["uniform"] | None = None
    cases: list[str] | None = None

    @model_validator(mode="after")
    def _one_thing(self) -> Draw:
        of = "links" if self.delay is not None else "flows"
        said = [key for key in ("delay", "start", "arrivals") if getattr(self, key) is not None]
        if len(said) != 1 or not getattr(self, of) or (self.links and self.flows):
            message = "a draw is the delay of links, or the start or the arrivals of flows"
            raise invalid("relation", message, given=", ".join(said) or "none of them")
        return self


def written(study: str, draws: Sequence[Draw]) -> str:
    """Draws as text, which can stand in a manifest; empty if there are none."""
    if not draws:
        return ""
    kept = [draw.model_dump(exclude={"cases"}, exclude_none=True) for draw in draws]
    return json.dumps({"study": study, "draws": kept})


@functools.lru_cache(maxsize=64)
def drawn(network_json: str, draws: str, seed: int) -> str:
    """Put the draws of a seed into a compiled network.

    Raises
    ------
    Refused
        A name fits no link or flow, or the flow cannot have such arrivals.
    """
    network, said = json.loads(network_json), json.loads(draws)
    # Philox is counter-based: a key gives the same numbers on every platform and in every version.
    random = np.random.Generator(np.random.Philox(key=seed))
    for draw in said["draws"]:
        if "delay" in draw:
            links = {link["name"].replace("->", "-"): link for link in network["links"]}
            for name in _named(draw["links"], list(links)):
                delay = _uniform(random, draw["delay"])
                for way in (name, "-".join(reversed(links[name]["name"].split("->")))):
                    if way in links:
                        links[way]["delay_ns"] = delay
            continue
        flows = {flow["name"]: flow for flow in network["flows"]}
        for name in _named(draw["flows"], list(flows)):
            if "start" in draw:
                flows[name]["start_ns"] = _uniform(random, draw["start"])
            else:
                _arrive(flows[name], said["study"], seed)
    return json.dumps(network, sort_keys=True, separators=(",", ":"))


def _named(patterns: list[str], names: list[str]) -> list[str]:
    for pattern in patterns:
        if not fnmatch.filter(names, pattern):
            listed = ", ".join([*names[:12], *(["..."] if len(names) > 12 else [])])
            raise Refused(f"{pattern!r} is no link or flow here; there are {listed}")
    return [name for name in names if any(fnmatch.fnmatchcase(name, each) for each in patterns)]


def _uniform(random: np.random.Generator, spread: dict[str, int]) -> int:
    return spread["low"] + int((spread["high"] - spread["low"]) * random.random())


def _arrive(flow: dict[str, Any], study: str, seed: int) -> None:
    """Given their number, the times of a Poisson process are independent and uniform."""
    agent, start, stop = flow["agent"], flow["start_ns"], flow["stop_ns"]
    size = agent.get("size", {}).get("fixed", {}).get("bytes") if "rate_bit_s" in agent else None
    if size is None or stop is None:
        name = flow["name"]
        raise Refused(f"{name} must have a rate, packets of one size, and a time to stop")
    span = stop - start
    count = round(agent["rate_bit_s"] * span / (8 * size * 10**9))
    # An extendable hash as the stream of (study, flow, seed): the same on every platform.
    stream = hashlib.shake_256(f"{study}/{flow['name']}/{seed}".encode()).digest(8 * count)
    at = np.sort(np.frombuffer(stream, dtype=">u8")).tolist()
    times = [start + (draw * span >> 64) for draw in at]
    agent["arrivals"] = {"schedule": {"times_ns": times, "sizes": [size] * count}}
