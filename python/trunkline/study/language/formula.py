"""Formulas over the values of a study: ``100 * (total / total["0 ms"] - 1)``.

A formula speaks of columns by their names, in which everything but letters and digits is written
``_``. A column stands for its values in all rows of a table, seed by seed; ``rate["50 ms"]`` for
those of one row, ``rate["50 ms", "250 ms"]`` of several, ``rate("2")`` for the column in another
table, ``every["mean"]`` for all columns, ``[rate, load]`` for two side by side, ``parameter`` for
what varies from row to row. Seeds are paired: every operation is done seed by seed. A formula with
a comparison is a claim.
"""

import ast
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from trunkline.stats import mean_interval

Values = NDArray[np.float64]
"""Values of one column of one table: a row of the table by a seed."""

EVERY = "every"
"""Stands for all columns."""
PARAMETER = "parameter"
"""Stands for what varies from row to row, in columns that are worked out."""

_OPERATORS: dict[type[ast.operator], Callable[[Values, Values], Values]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
}
SIGNS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
"""Comparisons of claims."""


_LARGEST = 1e300
"""No number of a formula is as large, so that none is infinite."""


class FormulaError(ValueError):
    """A formula that says nothing."""


@dataclass(frozen=True, slots=True)
class Cells:
    """Values with what each is called.

    Parameters
    ----------
    values : ndarray of shape (cells, seeds)
        The values; a single seed or cell stands beside any number.
    names : tuple of str
        Rows, or columns where these are what differs; empty if there is nothing to tell apart.
    """

    values: Values
    names: tuple[str, ...] = ()


class Scope(Protocol):
    """What a formula speaks of."""

    def columns(self, table: str | None) -> list[str]:
        """Names of the columns of a table; None: of the formula's own."""
        ...

    def cells(self, table: str | None, column: str) -> Cells:
        """Rows of a column."""
        ...

    def offered(self, table: str | None) -> Values:
        """Give what varies from row to row."""
        ...


def identifier(name: str) -> str:
    """A column's name as formulas have it."""
    made = re.sub(r"\W", "_", name)
    return f"_{made}" if made[:1].isdigit() else made


def parse(text: str, *, claim: bool) -> ast.expr:
    """Read a formula.

    Parameters
    ----------
    claim : bool
        Whether it compares, as a claim does, or is a value.

    Raises
    ------
    FormulaError
        It is none.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise FormulaError(f"{text!r} is no formula") from None
    compared = comparisons(tree)
    if claim and compared is None:
        raise FormulaError(f"{text!r} compares nothing; say what is <, <=, > or >= what")
    if not claim and isinstance(tree, ast.Compare | ast.BoolOp):
        raise FormulaError(f"{text!r} compares, which only a claim does; a value is a number")
    for part in compared if claim and compared is not None else [tree]:
        for side in [part.left, part.comparators[0]] if isinstance(part, ast.Compare) else [part]:
            _check(side)
    return tree


def comparisons(tree: ast.expr) -> list[ast.Compare] | None:
    """Comparisons of a claim; None if it is none."""
    parts = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]
    found = [
        part
        for part in parts
        if isinstance(part, ast.Compare) and len(part.ops) == 1 and type(part.ops[0]) in SIGNS
    ]
    return found if len(found) == len(parts) else None


def _check(node: ast.expr) -> None:
    """Refuse whatever is not of the language."""
    match node:
        case ast.Constant(value=int() | float() as value) if _is_number(value):
            return
        case ast.Name():
            return
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            _check(left)
            _check(right)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            _check(operand)
        case ast.List(elts=parts) if parts:
            for part in parts:
                _check(part)
        case ast.Subscript(value=value, slice=chosen) if _texts(chosen):
            if not _names_columns(value):
                raise FormulaError(
                    f"{ast.unparse(node)!r} chooses rows of what is worked out; rows are chosen of "
                    f"columns, inside of it"
                )
            _check(value)
        case ast.Call(func=ast.Name(id=name), args=[only], keywords=[]) if name in FUNCTIONS:
            _check(only)
        case ast.Call(func=ast.Name(), args=[only], keywords=[]) if len(_texts(only)) == 1:
            return
        case _:
            known = ", ".join(FUNCTIONS)
            raise FormulaError(
                f"{ast.unparse(node)!r} is not of the language of formulas: numbers, columns, "
                f'column["row"], column("table"), + - * /, and of one value each: {known}'
            )


def _names_columns(node: ast.expr) -> bool:
    """Whether this is a column, one of another table, or a list of such, which have rows."""
    match node:
        case ast.Name():
            return True
        case ast.List(elts=parts):
            return all(_names_columns(part) for part in parts)
        case ast.Call(func=ast.Name(id=name)):
            return name not in FUNCTIONS
        case _:
            return False


def _is_number(value: float) -> bool:
    return type(value) is not bool and abs(value) < _LARGEST


def _texts(node: ast.expr) -> list[str]:
    """Names in quotes; none if there is anything else."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    found = [part.value for part in parts if isinstance(part, ast.Constant)]
    texts = [text for text in found if isinstance(text, str)]
    return texts if len(texts) == len(parts) else []


def references(tree: ast.expr) -> Iterator[tuple[str | None, str, list[str]]]:
    """What a formula speaks of: table, column, rows."""
    match tree:
        case ast.Subscript(value=value, slice=chosen):
            for table, column, _ in references(value):
                yield table, column, _texts(chosen)
        case ast.Call(func=ast.Name(id=name), args=[only]) if name not in FUNCTIONS:
            yield _texts(only)[0], name, []
        case ast.Call(args=[only]):
            yield from references(only)
        case ast.Name(id=name):
            yield None, name, []
        case _:
            for part in ast.iter_child_nodes(tree):
                if isinstance(part, ast.expr):
                    yield from references(part)


def in_order(formulas: Mapping[str, str]) -> list[str]:
    """Names of formulas, each after those that it speaks of.

    Parameters
    ----------
    formulas : mapping of str to str
        Formulas of one table by name.

    Raises
    ------
    FormulaError
        One speaks of itself, perhaps through others.
    """
    waiting = {
        name: {column for table, column, _ in references(parse(text, claim=False)) if not table}
        for name, text in formulas.items()
    }
    ordered: list[str] = []
    while waiting:
        unknown = {identifier(name) for name in waiting}
        ready = [name for name, speaks_of in waiting.items() if not speaks_of & unknown]
        if not ready:
            raise FormulaError(f"{', '.join(waiting)} are given by each other")
        ordered += ready
        for name in ready:
            del waiting[name]
    return ordered


def value(tree: ast.expr, scope: Scope) -> Cells:
    """Work out a formula."""
    match tree:
        case ast.Constant(value=number):
            return Cells(np.array([[float(number)]]))  # type: ignore[arg-type]
        case ast.UnaryOp(operand=operand):
            its = value(operand, scope)
            return Cells(-its.values, its.names)
        case ast.BinOp(left=left, op=op, right=right):
            return _paired(_OPERATORS[type(op)], value(left, scope), value(right, scope))
        case ast.List(elts=parts):
            return _beside([value(part, scope) for part in parts])
        case ast.Subscript(value=of, slice=chosen):
            return _chosen(_columns(of, scope), _texts(chosen))
        case ast.Call(func=ast.Name(id=name), args=[only]) if name in FUNCTIONS:
            return FUNCTIONS[name](value(only, scope), scope)
        case _:
            return _chosen(_columns(tree, scope))


def _columns(node: ast.expr, scope: Scope) -> list[tuple[str, Cells]]:
    """Columns that a name, a call of one, or a list of such stands for, each with all its rows."""
    if isinstance(node, ast.List):
        return [each for part in node.elts for each in _columns(part, scope)]
    table: str | None = None
    if isinstance(node, ast.Call):
        table, node = _texts(node.args[0])[0], node.func
    assert isinstance(node, ast.Name)
    names = scope.columns(table)
    if node.id == PARAMETER:
        return [
            (PARAMETER, Cells(scope.offered(table)[:, None], scope.cells(table, names[0]).names))
        ]
    wanted = names if node.id == EVERY else [name for name in names if identifier(name) == node.id]
    return [(name, scope.cells(table, name)) for name in wanted]


def _chosen(columns: list[tuple[str, Cells]], rows: Sequence[str] | None = None) -> Cells:
    """Rows of columns, called after what tells them apart; all rows if none are named."""
    parts = []
    for column, its in columns:
        names = list(its.names) if rows is None else list(rows)
        values = its.values[[its.names.index(name) for name in names]]
        if len(columns) > 1:
            names = [column] if len(names) == 1 else [f"{column} {name}" for name in names]
        parts.append(Cells(values, tuple(names)))
    return _beside(parts)


def _beside(parts: list[Cells]) -> Cells:
    if len(parts) == 1:
        return parts[0]
    seeds = _seeds([part.values for part in parts])
    return Cells(
        np.concatenate([part.values[:, :seeds] for part in parts]),
        tuple(name for part in parts for name in part.names),
    )


def _seeds(parts: list[Values]) -> int:
    """Seeds that all parts have, those with one left out."""
    return min((part.shape[1] for part in parts if part.shape[1] > 1), default=1)


def _paired(act: Callable[[Values, Values], Values], left: Cells, right: Cells) -> Cells:
    ours, theirs = matched(left, right)
    with np.errstate(divide="ignore", invalid="ignore"):
        made = act(ours, theirs)
    # What is divided by nothing is not known.
    made[np.isinf(made)] = np.nan
    return Cells(made, left.names if len(left.values) > 1 else right.names)


def matched(left: Cells, right: Cells) -> tuple[Values, Values]:
    """Values that stand against each other, with the seeds that both have.

    Raises
    ------
    FormulaError
        They are of different number.
    """
    sizes = {len(left.values), len(right.values)} - {1}
    if len(sizes) > 1:
        raise FormulaError(f"{len(left.values)} values stand against {len(right.values)}")
    seeds = _seeds([left.values, right.values])
    return left.values[:, :seeds], right.values[:, :seeds]


def _mean(its: Cells, _: Scope) -> Cells:
    return Cells(its.values.mean(axis=0, keepdims=True))


def _slope(its: Cells, scope: Scope) -> Cells:
    """Least-squares slope over the rows."""
    offered = scope.offered(None)
    x = offered - offered.mean()
    return Cells((x @ its.values / (x @ x))[None, :])


def _spread(its: Cells, _: Scope) -> Cells:
    """Greatest distance of a mean from the mean of all, as a share of it."""
    means = its.values.mean(axis=1)
    return Cells(np.array([[np.abs(means / means.mean() - 1).max()]]))


def _average(its: Cells, _: Scope) -> Cells:
    return Cells(its.values.mean(axis=1, keepdims=True), its.names)


def _chance(its: Cells, _: Scope) -> Cells:
    """How far one further run may be from the mean: half of its 95 % interval.

    It is t * s * sqrt(1 + 1/n), where that of the mean is t * s / sqrt(n).
    """
    halves = [
        math.nan if each.half_width is None else each.half_width * math.sqrt(each.n + 1)
        for each in (mean_interval(row.tolist()) for row in its.values)
    ]
    return Cells(np.array(halves)[:, None], its.names)


def _steps(its: Cells, _: Scope) -> Cells:
    """What each row is above the one before."""
    return Cells(np.diff(its.values, axis=0), its.names[1:])


def _abs(its: Cells, _: Scope) -> Cells:
    return Cells(np.abs(its.values), its.names)


FUNCTIONS: dict[str, Callable[[Cells, Scope], Cells]] = {
    "mean": _mean,
    "slope": _slope,
    "spread": _spread,
    "average": _average,
    "chance": _chance,
    "steps": _steps,
    "abs": _abs,
}
