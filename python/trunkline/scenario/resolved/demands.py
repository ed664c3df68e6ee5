"""Demands between two nodes: tables read, matrices computed."""

from collections.abc import Iterator

from trunkline import te
from trunkline.scenario import demand_tables
from trunkline.scenario.demand_tables import DemandRow
from trunkline.scenario.demands import Demand, GravityDemands
from trunkline.scenario.diagnostic import DocumentPath
from trunkline.scenario.dscp import DSCP_NAMES
from trunkline.scenario.fields import MAX_NAME_CHARACTERS, write_as_name
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved.replicas import BYTES_PER_FLOW, MEMORY_LIMIT, ScenarioTooLarge
from trunkline.scenario.resolved.resolved import ResolvedDemand, ResolvedScenario
from trunkline.scenario.scenario_files import ScenarioFileError
from trunkline.scenario.units import MAX_RATE_BIT_S, format_rate

DEMAND_KINDS = ("rate", "file", "gravity", "lognormal")


def resolve_demands(scenario: ResolvedScenario, problems: Problems) -> None:
    """Write out every demand; those of matrices are named by their ends, and class if they differ.

    Raises ScenarioTooLarge: They do not fit into memory, by estimate.
    """
    for name, demand in scenario.written.demands.items():
        path: DocumentPath = ("demands", name)
        kinds_given = [kind for kind in DEMAND_KINDS if getattr(demand, kind) is not None]
        if len(kinds_given) != 1:
            message = "a demand has one of rate, file, gravity and lognormal"
            problems.add(
                "relation", path, message, given=", ".join(kinds_given) or "none", at_key=True
            )
            continue
        ends = [key for key in ("from_", "to") if getattr(demand, key) is not None]
        if (demand.rate is not None) != (len(ends) == 2) or (demand.rate is None and ends):
            message = "from and to go with rate: matrices say who sends to whom"
            problems.add("relation", path, message, at_key=True)
            continue
        if not _check_class_known(scenario, demand.class_, (*path, "class"), problems):
            continue
        if demand.rate is not None:
            row = DemandRow(str(demand.from_), str(demand.to), demand.rate)
            _add_demand(scenario, name, row, demand, path, problems)
            continue
        _resolve_matrix(scenario, name, demand, problems)


def _check_class_known(
    scenario: ResolvedScenario, class_: str, path: DocumentPath, problems: Problems
) -> bool:
    """Report a class that has no template and is no DSCP, and return False for it."""
    if class_ in scenario.written.traffic or class_ in DSCP_NAMES:
        return True
    problems.add_unknown(path, "class", class_, [*scenario.written.traffic, *DSCP_NAMES])
    return False


def _resolve_matrix(
    scenario: ResolvedScenario, name: str, demand: Demand, problems: Problems
) -> None:
    path: DocumentPath = ("demands", name)
    try:
        rows = list(_read_rows(scenario, name, demand, problems))
    except ScenarioFileError as error:
        problems.add("file", (*path, "file"), str(error), given=str(demand.file))
        return
    except ValueError as error:
        problems.add("relation", (*path, "gravity"), str(error), at_key=True)
        return
    zero = loops = 0
    for row in rows:
        if row.rate == 0:
            zero += 1
        elif row.source == row.target:
            loops += 1
        elif not row.class_ or _check_class_known(scenario, row.class_, (*path, "file"), problems):
            _add_demand(
                scenario, _find_free_name(scenario, row, demand), row, demand, path, problems
            )
    for count, kind in ((zero, "of zero"), (loops, "of a node to itself")):
        if count:
            message = f"{count} demands {kind} are left out"
            problems.add("demand", path, message, at_key=True, warning=True)


def _find_free_name(scenario: ResolvedScenario, row: DemandRow, demand: Demand) -> str:
    """Find a name of the language that no other demand has, written or made."""
    name = f"{row.source}-{row.target}"
    if row.class_ and row.class_ != demand.class_:
        name += f".{row.class_}"
    if len(name) > MAX_NAME_CHARACTERS:
        # Room for a number: a path or a trunk may be called so.
        name = name[: MAX_NAME_CHARACTERS - 6]
    number, free = 1, name
    message_flows = scenario.message_flows
    while free in scenario.demands or free in scenario.written.demands or free in message_flows:
        number += 1
        free = f"{name}.{number}"
    return free


def _read_rows(
    scenario: ResolvedScenario, name: str, demand: Demand, problems: Problems
) -> Iterator[DemandRow]:
    nodes = list(scenario.nodes)
    if demand.file is not None:
        # Tables may have the labels that an import wrote as names.
        node_by_name = {write_as_name(node): node for node in reversed(nodes)}
        for row in demand_tables.read_demand_table(demand.file, scenario.written._origin.folder):
            source, target = (
                end if end in scenario.nodes else node_by_name.get(write_as_name(end), end)
                for end in (row.source, row.target)
            )
            yield row._replace(source=source, target=target)
        return
    if demand.gravity is not None:
        nodes = list(dict.fromkeys([*demand.gravity.out, *(demand.gravity.in_ or {})]))
    _check_memory(len(nodes), ("demands", name), problems)
    if demand.gravity is not None:
        out, into = _list_masses(demand.gravity, nodes)
        table = te.traffic_matrices.fit_gravity_matrix(out, into)
    else:
        assert demand.lognormal is not None
        lognormal = demand.lognormal
        stream = f"{name}/{lognormal.seed}"
        table = te.traffic_matrices.make_lognormal_matrix(
            max(2, len(nodes)), lognormal.total, lognormal.sigma, stream
        )
    for i, source in enumerate(nodes):
        for j, target in enumerate(nodes):
            if i != j:
                yield DemandRow(source, target, round(float(table[i, j])))


def _list_masses(gravity: GravityDemands, nodes: list[str]) -> tuple[list[int], list[int]]:
    into = gravity.out if gravity.in_ is None else gravity.in_
    return [gravity.out.get(each, 0) for each in nodes], [into.get(each, 0) for each in nodes]


def _check_memory(count: int, path: DocumentPath, problems: Problems) -> None:
    """Refuse a matrix too large for memory before any of it is made. Raises ScenarioTooLarge."""
    pairs = count * (count - 1)
    if pairs * BYTES_PER_FLOW <= MEMORY_LIMIT.get():
        return
    message = (
        f"a full mesh of {count} nodes has {pairs} demands, which need about "
        f"{pairs * BYTES_PER_FLOW / 1e9:.0f} GB; the limit is {MEMORY_LIMIT.get() / 1e9:.3g} GB "
        "(--limit-memory)"
    )
    problems.add("memory", path, message, at_key=True)
    raise ScenarioTooLarge


def _add_demand(
    scenario: ResolvedScenario,
    name: str,
    row: DemandRow,
    demand: Demand,
    path: DocumentPath,
    problems: Problems,
) -> None:
    for key, node in (("from", row.source), ("to", row.target)):
        if node not in scenario.nodes:
            is_from_matrix = demand.rate is None
            path_at_fault = (
                (*path, "file" if demand.file else "gravity") if is_from_matrix else (*path, key)
            )
            line = f" (line {row.line} of {demand.file})" if demand.file else ""
            problems.add_unknown(path_at_fault, "node", node, scenario.nodes, sentence_end=line)
            return
    rate = round(row.rate * demand.scale)
    if not 1 <= rate <= MAX_RATE_BIT_S:
        limit = format_rate(MAX_RATE_BIT_S)
        message = f"a demand must be from 1 bit/s to {limit} after its scale"
        problems.add("range", path, message, given=f"{rate} bit/s", at_key=True)
        return
    scenario.demands[name] = ResolvedDemand(
        row.source, row.target, rate, row.class_ or demand.class_
    )
    scenario.origins["demands", name] = path
