"""Workloads: the flows that carry requests for pages, and the files that workloads name."""

from typing import Any

from trunkline.scenario import cdf, schedule
from trunkline.scenario.diagnostic import DocumentPath
from trunkline.scenario.flow import Tcp
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved.resolved import ResolvedScenario
from trunkline.scenario.scenario_files import ScenarioFileError
from trunkline.scenario.workload import MAX_TRANSFER_BYTES, TransferSize

REQUESTS_SUFFIX = ".requests"  # Suffix of the name of a flow of requests.


def resolve_workloads(scenario: ResolvedScenario, problems: Problems) -> None:
    """Add flows of requests for pages and films, and read the files that workloads name."""
    for name, flow in list(scenario.flows.items()):
        if not isinstance(flow, Tcp):
            continue
        flow_path: DocumentPath = ("flows", name)
        if flow.pages is not None or flow.video is not None:
            _add_request_flow(scenario, name, flow, problems)
        if flow.pages is not None:
            _read_cdf_of_size(scenario, flow.pages.main, (*flow_path, "pages", "main"), problems)
            _read_cdf_of_size(
                scenario, flow.pages.embedded, (*flow_path, "pages", "embedded"), problems
            )
        transfers = flow.transfers
        if transfers is None:
            continue
        if transfers.size is not None:
            _read_cdf_of_size(scenario, transfers.size, (*flow_path, "transfers", "size"), problems)
        if transfers.schedule is not None:
            folder = scenario.written._origin.folder
            try:
                scenario.transfers[transfers.schedule] = schedule.read_schedule(
                    transfers.schedule, folder, lowest=1, highest=MAX_TRANSFER_BYTES
                )
            except ScenarioFileError as error:
                place = (*flow_path, "transfers", "schedule")
                problems.add("file", place, str(error), given=transfers.schedule)


def _add_request_flow(scenario: ResolvedScenario, name: str, flow: Tcp, problems: Problems) -> None:
    requests = f"{name}{REQUESTS_SUFFIX}"
    if requests in scenario.flows:
        message = f"{requests} is the flow of the requests of {name}: another name is needed"
        problems.add("duplicate-name", ("flows", requests), message, at_key=True)
        return
    flow_keys: dict[str, Any] = {key: getattr(flow, key) for key in flow.model_fields_set}
    flow_keys |= {"from_": flow.to, "to": flow.from_, "pages": None, "video": None}
    scenario.flows[requests] = Tcp.model_construct(None, **flow_keys)
    scenario.page_of_request_flow[requests] = name
    scenario.origins["flows", requests] = ("flows", name)


def _read_cdf_of_size(
    scenario: ResolvedScenario, size: TransferSize, size_path: DocumentPath, problems: Problems
) -> None:
    if size.cdf is None:
        return
    try:
        scenario.cdfs[size.cdf] = cdf.read_cdf(size.cdf, scenario.written._origin.folder)
    except ScenarioFileError as error:
        problems.add("file", (*size_path, "cdf"), str(error), given=size.cdf)
