"""Transfers of flows: laws of sizes, and a load as a rate of arrivals."""

from typing import Any

from trunkline.scenario import published_sizes
from trunkline.scenario.flow import Tcp
from trunkline.scenario.resolved import ResolvedScenario
from trunkline.scenario.size_law import compute_mean, compute_mean_segments, make_lognormal_law
from trunkline.scenario.workload import PageWorkload, TransferSize, TransferWorkload, VideoWorkload


def compile_transfers(
    scenario: ResolvedScenario, name: str, flow: Tcp, index: dict[str, int]
) -> dict[str, Any] | None:
    """Compile the transfers of a flow; None for a flow that is one connection.

    ``name`` includes the number of a replica; ``index`` has the index of each flow by such a name.
    """
    base = scenario.get_declared_name(name)
    if base in scenario.page_of_request_flow:
        return _make_transfers(
            _find_workload_of_requests(scenario, scenario.page_of_request_flow[base]), "requests"
        )
    if flow.pages is not None:
        users = _compile_pages(
            scenario, flow.pages, _find_request_flow(scenario, name, base, index)
        )
        return _make_transfers(flow.pages, {"pages": users})
    if flow.video is not None:
        players = _compile_video(flow.video, _find_request_flow(scenario, name, base, index))
        return _make_transfers(flow.video, {"video": players})
    if flow.transfers is not None:
        return _make_transfers(
            flow.transfers, {"arrivals": _compile_arrivals(scenario, flow, flow.transfers)}
        )
    return None


def _find_workload_of_requests(
    scenario: ResolvedScenario, name: str
) -> PageWorkload | VideoWorkload:
    """Find the workload whose requests a flow carries."""
    flow = scenario.flows[name]
    workload = (flow.pages or flow.video) if isinstance(flow, Tcp) else None
    if workload is None:
        raise AssertionError(f"{name} was given requests, so it has pages or films")
    return workload


def _find_request_flow(
    scenario: ResolvedScenario, name: str, base: str, index: dict[str, int]
) -> int:
    """Find the index of the flow that carries the requests of a flow, replica for replica."""
    requests = next(
        request_flow
        for request_flow, requester in scenario.page_of_request_flow.items()
        if requester == base
    )
    return index[requests + name.removeprefix(base)]


def _compile_video(video: VideoWorkload, requests: int) -> dict[str, Any]:
    rule: Any = "rate"
    if video.rule == "buffer":
        reservoir = video.buffer // 4 if video.reservoir is None else video.reservoir
        rule = {
            "buffer": {"reservoir_ns": reservoir, "cushion_ns": video.cushion or video.buffer // 2}
        }
    players = {
        "players": video.players,
        "chunk_ns": video.chunk,
        "ladder_bit_s": list(video.ladder),
        "buffer_ns": video.buffer,
        "start_ns": video.start or video.chunk,
        "rule": rule,
        "spread_ns": video.spread,
    }
    return {"players": players, "requests": requests, "request_bytes": video.request}


def _make_transfers(
    workload: TransferWorkload | PageWorkload | VideoWorkload, opened: Any
) -> dict[str, Any]:
    kept = {"kept": True} if workload.connections == "kept" else {}
    return {
        "opened": _round_floats(opened),
        "bins_bytes": list(workload.bins),
        "record": workload.record,
    } | kept


def _round_floats(value: Any) -> Any:
    """Round numbers to 12 digits, which every reader of JSON reads alike."""
    if isinstance(value, float):
        return float(f"{value:.12g}")
    if isinstance(value, dict):
        return {key: _round_floats(item) for key, item in value.items()}
    return [_round_floats(item) for item in value] if isinstance(value, list) else value


def _compile_pages(
    scenario: ResolvedScenario, pages: PageWorkload, requests: int
) -> dict[str, Any]:
    objects = (
        published_sizes.PAGE_OBJECTS_LAW
        if pages.objects is None
        else {"fixed": {"bytes": pages.objects}}
    )
    users = {
        "users": pages.users,
        "parallel": pages.parallel,
        "main": _compile_size_law(scenario, pages.main),
        "embedded": _compile_size_law(scenario, pages.embedded),
        "objects": objects,
        "reading": {"exponential": float(pages.reading)},
        "parsing": {"exponential": float(pages.parsing)},
    }
    return {"users": users, "requests": requests, "request_bytes": pages.request}


def _compile_arrivals(
    scenario: ResolvedScenario, flow: Tcp, transfers: TransferWorkload
) -> dict[str, Any]:
    if transfers.arrivals == "schedule":
        listed = scenario.transfers[str(transfers.schedule)]
        times, sizes = list(listed.times_ns), list(listed.sizes_bytes)
        gaps: dict[str, Any] = {"schedule": {"times_ns": times, "sizes_bytes": sizes}}
        return {"gaps": gaps, "sizes": {"fixed": {"bytes": 1}}}
    if transfers.size is None:
        raise AssertionError("checked before: a size is given")
    law = _compile_size_law(scenario, transfers.size)
    gap = (
        float(transfers.every)
        if transfers.every is not None
        else _compute_mean_gap(scenario, flow, transfers, law)
    )
    if transfers.arrivals == "poisson":
        return {"gaps": {"poisson": {"mean_ns": gap}}, "sizes": law}
    if transfers.arrivals == "periodic":
        return {"gaps": {"periodic": {"gap_ns": gap}}, "sizes": law}
    mean_on, mean_off = float(transfers.mean_on or 0), float(transfers.mean_off or 0)
    gaps = {
        "mean_ns": gap * mean_on / (mean_on + mean_off),
        "mean_on_ns": mean_on,
        "mean_off_ns": mean_off,
    }
    return {"gaps": {"on-off": gaps}, "sizes": law}


def _compute_mean_gap(
    scenario: ResolvedScenario, flow: Tcp, transfers: TransferWorkload, law: dict[str, Any]
) -> float:
    """Compute the mean time from one transfer to the next that gives the load [ns]."""
    header, rate = flow.header, float(transfers.load or 0)
    if isinstance(transfers.load, float):
        link = scenario.arc_by_name[str(transfers.of)].options
        header, rate = header + link.header, transfers.load * float(link.rate or 0)
    wire_bytes = compute_mean(law) + header * compute_mean_segments(law, flow.mss)
    return wire_bytes * 8e9 / rate


def _compile_size_law(scenario: ResolvedScenario, size: TransferSize) -> dict[str, Any]:
    if size.published is not None:
        return published_sizes.get_published_law(size.published)
    if size.exponential is not None:
        return {"exponential": {"mean_bytes": float(size.exponential)}}
    if size.pareto is not None:
        pareto = size.pareto
        bounds = {"least_bytes": float(pareto.min), "most_bytes": float(pareto.max)}
        return {"pareto": {"shape": pareto.shape, **bounds}}
    if size.lognormal is not None:
        law = size.lognormal
        return make_lognormal_law(law.mean, law.sd, law.min, law.max)
    if size.weibull is not None:
        return {"weibull": {"shape": size.weibull.shape, "scale_bytes": float(size.weibull.scale)}}
    if size.cdf is not None:
        points = scenario.cdfs[size.cdf]
        sizes, shares = [float(each) for each, _ in points], [share for _, share in points]
        return {"table": {"bytes": sizes, "shares": shares}}
    return {"fixed": {"bytes": size.fixed}}
