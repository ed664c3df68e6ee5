"""Demands between two nodes: tables read, matrices computed."""

from collections.abc import Iterator

from trunkline import te
from trunkline.scenario import matrix
from trunkline.scenario.beside import BesideError
from trunkline.scenario.demands import Demand, Gravity
from trunkline.scenario.diagnostic import Path
from trunkline.scenario.dscp import DSCP_NAMES
from trunkline.scenario.fields import MAX_NAME_CHARACTERS
from trunkline.scenario.matrix import Row
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved.replicas import FLOW_MEMORY, MEMORY, TooLarge
from trunkline.scenario.resolved.resolved import Offered, Resolved
from trunkline.scenario.units import MAX_RATE_BIT_S, format_rate

KINDS = ("rate", "file", "gravity", "lognormal")


def demands(scenario: Resolved, problems: Problems) -> None:
    """Writes out every demand; those of matrices are named by their ends, and class if they differ.

    Raises
    ------
    TooLarge
        They do not fit into memory, by estimate.
    """
    for name, demand in scenario.written.demands.items():
        path: Path = ("demands", name)
        given = [kind for kind in KINDS if getattr(demand, kind) is not None]
        if len(given) != 1:
            message = "a demand has one of rate, file, gravity and lognormal"
            problems.add("relation", path, message, given=", ".join(given) or "none", at_key=True)
            continue
        ends = [key for key in ("from_", "to") if getattr(demand, key) is not None]
        if (demand.rate is not None) != (len(ends) == 2) or (demand.rate is None and ends):
            message = "from and to go with rate: matrices say who sends to whom"
            problems.add("relation", path, message, at_key=True)
            continue
        class_known(scenario, demand.class_, (*path, "class"), problems)
        if demand.rate is not None:
            row = Row(str(demand.from_), str(demand.to), demand.rate, "", 0)
            _add(scenario, name, row, demand, path, problems)
            continue
        _matrix(scenario, name, demand, problems)


def class_known(scenario: Resolved, class_: str, path: Path, problems: Problems) -> None:
    """Reports a class that has no template and is no DSCP."""
    if class_ not in scenario.written.traffic and class_ not in DSCP_NAMES:
        problems.unknown(path, "class", class_, [*scenario.written.traffic, *DSCP_NAMES])


def _matrix(scenario: Resolved, name: str, demand: Demand, problems: Problems) -> None:
    path: Path = ("demands", name)
    try:
        rows = list(_rows(scenario, name, demand, problems))
    except BesideError as error:
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
        else:
            if row.class_:
                class_known(scenario, row.class_, (*path, "file"), problems)
            _add(scenario, _free(scenario, row, demand), row, demand, path, problems)
    for count, what in ((zero, "of zero"), (loops, "of a node to itself")):
        if count:
            message = f"{count} demands {what} are left out"
            problems.add("demand", path, message, at_key=True, warning=True)


def _free(scenario: Resolved, row: Row, demand: Demand) -> str:
    """A name of the language that no other demand has."""
    name = f"{row.source}-{row.target}"
    if row.class_ and row.class_ != demand.class_:
        name += f".{row.class_}"
    if len(name) > MAX_NAME_CHARACTERS:
        # Room for a number: a path or a trunk may be called so.
        name = name[: MAX_NAME_CHARACTERS - 6]
    number, free = 1, name
    while free in scenario.demands:
        number += 1
        free = f"{name}.{number}"
    return free


def _rows(scenario: Resolved, name: str, demand: Demand, problems: Problems) -> Iterator[Row]:
    nodes = list(scenario.nodes)
    if demand.file is not None:
        yield from matrix.read(demand.file, scenario.written._origin.folder)
        return
    if demand.gravity is not None:
        nodes = list(dict.fromkeys([*demand.gravity.out, *(demand.gravity.in_ or {})]))
    _fits(len(nodes), ("demands", name), problems)
    if demand.gravity is not None:
        out, into = _masses(demand.gravity, nodes)
        table = te.matrix.between_nodes(out, into)
    else:
        assert demand.lognormal is not None
        its = demand.lognormal
        stream = f"{name}/{its.seed}"
        table = te.matrix.lognormal(max(2, len(nodes)), its.total, its.sigma, stream)
    for i, source in enumerate(nodes):
        for j, target in enumerate(nodes):
            if i != j:
                yield Row(source, target, round(float(table[i, j])), "", 0)


def _masses(gravity: Gravity, nodes: list[str]) -> tuple[list[int], list[int]]:
    into = gravity.out if gravity.in_ is None else gravity.in_
    return [gravity.out.get(each, 0) for each in nodes], [into.get(each, 0) for each in nodes]


def _fits(count: int, path: Path, problems: Problems) -> None:
    """Refuses a matrix too large for memory before any of it is made.

    Raises
    ------
    TooLarge
    """
    pairs = count * (count - 1)
    if pairs * FLOW_MEMORY <= MEMORY.get():
        return
    problems.add(
        "memory",
        path,
        f"a full mesh of {count} nodes has {pairs} demands, which need about "
        f"{pairs * FLOW_MEMORY / 1e9:.0f} GB; the limit is {MEMORY.get() / 1e9:.3g} GB "
        "(--limit-memory)",
        at_key=True,
    )
    raise TooLarge


def _add(
    scenario: Resolved, name: str, row: Row, demand: Demand, path: Path, problems: Problems
) -> None:
    for key, node in (("from", row.source), ("to", row.target)):
        if node not in scenario.nodes:
            of_table = demand.rate is None
            where = (*path, "file" if demand.file else "gravity") if of_table else (*path, key)
            line = f" (line {row.line} of {demand.file})" if demand.file else ""
            problems.unknown(where, "node", node, scenario.nodes, where=line)
            return
    rate = round(row.rate * demand.scale)
    if not 1 <= rate <= MAX_RATE_BIT_S:
        limit = format_rate(MAX_RATE_BIT_S)
        message = f"a demand must be from 1 bit/s to {limit} after its scale"
        problems.add("range", path, message, given=f"{rate} bit/s", at_key=True)
        return
    scenario.demands[name] = Offered(row.source, row.target, rate, row.class_ or demand.class_)
    scenario.origins["demands", name] = path
