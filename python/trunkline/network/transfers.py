"""Transfers of flows: laws of sizes, and a load as a rate of arrivals."""

from typing import Any

from trunkline.scenario import published
from trunkline.scenario.flow import Tcp
from trunkline.scenario.resolved import Resolved
from trunkline.scenario.size_law import lognormal, mean, mean_segments
from trunkline.scenario.workload import Pages, Transfers, TransferSize, Video


def compile(
    scenario: Resolved, name: str, flow: Tcp, index: dict[str, int]
) -> dict[str, Any] | None:
    """What opens the transfers of a flow, as the engine reads it.

    Parameters
    ----------
    scenario : Resolved
        The scenario.
    name : str
        Own name of the flow, that of a replica included.
    flow : Tcp
        The flow.
    index : dict
        Index of each flow by its own name.

    Returns
    -------
    dict or None
        None for a flow that is one connection.
    """
    base = scenario.declared(name)
    if base in scenario.requests:
        return _kept(_asked(scenario, scenario.requests[base]), "requests")
    if flow.pages is not None:
        users = _pages(scenario, flow.pages, _requests(scenario, name, base, index))
        return _kept(flow.pages, {"pages": users})
    if flow.video is not None:
        players = _video(flow.video, _requests(scenario, name, base, index))
        return _kept(flow.video, {"video": players})
    if flow.transfers is not None:
        return _kept(flow.transfers, {"arrivals": _arrivals(scenario, flow, flow.transfers)})
    return None


def _asked(scenario: Resolved, name: str) -> Pages | Video:
    """What the requests of a flow are for."""
    flow = scenario.flows[name]
    its = (flow.pages or flow.video) if isinstance(flow, Tcp) else None
    if its is None:
        msg = f"{name} was given requests, so it has pages or films"
        raise AssertionError(msg)
    return its


def _requests(scenario: Resolved, name: str, base: str, index: dict[str, int]) -> int:
    """Index of the flow that carries the requests of a flow, replica for replica."""
    requests = next(of for of, its in scenario.requests.items() if its == base)
    return index[requests + name.removeprefix(base)]


def _video(its: Video, requests: int) -> dict[str, Any]:
    rule: Any = "rate"
    if its.rule == "buffer":
        reservoir = its.buffer // 4 if its.reservoir is None else its.reservoir
        rule = {"buffer": {"reservoir_ns": reservoir, "cushion_ns": its.cushion or its.buffer // 2}}
    players = {
        "players": its.players,
        "chunk_ns": its.chunk,
        "ladder_bit_s": list(its.ladder),
        "buffer_ns": its.buffer,
        "start_ns": its.start or its.chunk,
        "rule": rule,
        "spread_ns": its.spread,
    }
    return {"players": players, "requests": requests, "request_bytes": its.request}


def _kept(its: Transfers | Pages | Video, opened: Any) -> dict[str, Any]:
    return {"opened": _plain(opened), "bins_bytes": list(its.bins), "record": its.record}


def _plain(value: Any) -> Any:
    """A value whose numbers have 12 digits, which every reader of JSON reads alike."""
    if isinstance(value, float):
        return float(f"{value:.12g}")
    if isinstance(value, dict):
        return {key: _plain(its) for key, its in value.items()}
    return [_plain(its) for its in value] if isinstance(value, list) else value


def _pages(scenario: Resolved, its: Pages, requests: int) -> dict[str, Any]:
    objects = published.OBJECTS if its.objects is None else {"fixed": {"bytes": its.objects}}
    users = {
        "users": its.users,
        "parallel": its.parallel,
        "main": _law(scenario, its.main),
        "embedded": _law(scenario, its.embedded),
        "objects": objects,
        "reading": {"exponential": float(its.reading)},
        "parsing": {"exponential": float(its.parsing)},
    }
    return {"users": users, "requests": requests, "request_bytes": its.request}


def _arrivals(scenario: Resolved, flow: Tcp, its: Transfers) -> dict[str, Any]:
    if its.arrivals == "schedule":
        listed = scenario.transfers[str(its.schedule)]
        times, sizes = list(listed.times_ns), list(listed.sizes_bytes)
        gaps: dict[str, Any] = {"schedule": {"times_ns": times, "sizes_bytes": sizes}}
        return {"gaps": gaps, "sizes": {"fixed": {"bytes": 1}}}
    if its.size is None:
        msg = "checked before: a size is given"
        raise AssertionError(msg)
    law = _law(scenario, its.size)
    gap = float(its.every) if its.every is not None else _gap(scenario, flow, its, law)
    if its.arrivals == "poisson":
        return {"gaps": {"poisson": {"mean_ns": gap}}, "sizes": law}
    on, off = float(its.mean_on or 0), float(its.mean_off or 0)
    gaps = {"mean_ns": gap * on / (on + off), "mean_on_ns": on, "mean_off_ns": off}
    return {"gaps": {"on-off": gaps}, "sizes": law}


def _gap(scenario: Resolved, flow: Tcp, its: Transfers, law: dict[str, Any]) -> float:
    """Mean time from one transfer to the next that makes the load [ns]."""
    header, rate = flow.header, float(its.load or 0)
    if isinstance(its.load, float):
        link = scenario.arc[str(its.of)].options
        header, rate = header + link.header, its.load * float(link.rate or 0)
    each = mean(law) + header * mean_segments(law, flow.mss)
    return each * 8e9 / rate


def _law(scenario: Resolved, size: TransferSize) -> dict[str, Any]:
    if size.published is not None:
        return published.law(size.published)
    if size.exponential is not None:
        return {"exponential": {"mean_bytes": float(size.exponential)}}
    if size.pareto is not None:
        its = size.pareto
        bounds = {"least_bytes": float(its.min), "most_bytes": float(its.max)}
        return {"pareto": {"shape": its.shape, **bounds}}
    if size.lognormal is not None:
        law = size.lognormal
        return lognormal(law.mean, law.sd, law.min, law.max)
    if size.weibull is not None:
        return {"weibull": {"shape": size.weibull.shape, "scale_bytes": float(size.weibull.scale)}}
    if size.cdf is not None:
        points = scenario.cdfs[size.cdf]
        sizes, shares = [float(each) for each, _ in points], [share for _, share in points]
        return {"table": {"bytes": sizes, "shares": shares}}
    return {"fixed": {"bytes": size.fixed}}
