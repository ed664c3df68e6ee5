"""Workloads: the flows that carry requests for pages, and the files that workloads name."""

from typing import Any

from trunkline.scenario import cdf, schedule
from trunkline.scenario.beside import BesideError
from trunkline.scenario.diagnostic import Path
from trunkline.scenario.flow import Tcp
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved.resolved import Resolved
from trunkline.scenario.workload import MAX_TRANSFER, TransferSize

REQUESTS = ".requests"
"""What the name of a flow of requests ends in."""


def workloads(scenario: Resolved, problems: Problems) -> None:
    """Adds flows of requests for pages and films, and reads the files that workloads name."""
    for name, flow in list(scenario.flows.items()):
        if not isinstance(flow, Tcp):
            continue
        at: Path = ("flows", name)
        if flow.pages is not None or flow.video is not None:
            _requests(scenario, name, flow, problems)
        if flow.pages is not None:
            _size(scenario, flow.pages.main, (*at, "pages", "main"), problems)
            _size(scenario, flow.pages.embedded, (*at, "pages", "embedded"), problems)
        its = flow.transfers
        if its is None:
            continue
        if its.size is not None:
            _size(scenario, its.size, (*at, "transfers", "size"), problems)
        if its.schedule is not None:
            folder = scenario.written._origin.folder
            try:
                scenario.transfers[its.schedule] = schedule.read(
                    its.schedule, folder, lowest=1, highest=MAX_TRANSFER
                )
            except BesideError as error:
                place = (*at, "transfers", "schedule")
                problems.add("file", place, str(error), given=its.schedule)


def _requests(scenario: Resolved, name: str, flow: Tcp, problems: Problems) -> None:
    requests = f"{name}{REQUESTS}"
    if requests in scenario.flows:
        message = f"{requests} is the flow of the requests of {name}: another name is needed"
        problems.add("duplicate-name", ("flows", requests), message, at_key=True)
        return
    said: dict[str, Any] = {key: getattr(flow, key) for key in flow.model_fields_set}
    said |= {"from_": flow.to, "to": flow.from_, "pages": None, "video": None}
    scenario.flows[requests] = Tcp.model_construct(None, **said)
    scenario.requests[requests] = name
    scenario.origins["flows", requests] = ("flows", name)


def _size(scenario: Resolved, size: TransferSize, at: Path, problems: Problems) -> None:
    if size.cdf is None:
        return
    try:
        scenario.cdfs[size.cdf] = cdf.read(size.cdf, scenario.written._origin.folder)
    except BesideError as error:
        problems.add("file", (*at, "cdf"), str(error), given=size.cdf)
