"""Formulas over the values of a study: ``100 * (total / total["0 ms"] - 1)``.

A formula refers to columns by their names, in which everything but letters and digits is written
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

SeedValues = NDArray[np.float64]  # Values of one column of one table: a row of the table by a seed.

EVERY_COLUMN = "every"  # Stands for all columns.
ROW_PARAMETER = "parameter"
"""Stands for the name that varies from row to row, in computed columns."""

_OPERATORS: dict[type[ast.operator], Callable[[SeedValues, SeedValues], SeedValues]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
}
COMPARISON_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
"""Comparisons of claims."""


_MAX_NUMBER = 1e300  # No number of a formula is as large, so that none is infinite.


class FormulaError(ValueError):
    """A formula that cannot be read or worked out."""


@dataclass(frozen=True, slots=True)
class NamedValues:
    """Values with their names."""

    # shape (cells, seeds): The values; a single seed or cell combines with any number.
    values: SeedValues
    # Rows, or columns where these differ; empty if nothing differs.
    names: tuple[str, ...] = ()


class FormulaScope(Protocol):
    """Names that a formula may use."""

    def list_columns(self, table: str | None) -> list[str]:
        """List the names of the columns of a table; None: of the formula's own."""
        ...

    def get_cells(self, table: str | None, column: str) -> NamedValues:
        """Return the rows of a column."""
        ...

    def get_row_parameters(self, table: str | None) -> SeedValues:
        """Return the names that vary from row to row."""
        ...


def to_identifier(name: str) -> str:
    """A column's name as formulas have it."""
    identifier_text = re.sub(r"\W", "_", name)
    return f"_{identifier_text}" if identifier_text[:1].isdigit() else identifier_text


def parse_formula(text: str, *, claim: bool) -> ast.expr:
    """Read a formula.

    claim: Whether it compares, as a claim does, or is a value.
    Raises FormulaError: The text is no formula of this kind.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise FormulaError(f"{text!r} is no formula") from None
    comparison_nodes = list_comparisons(tree)
    if claim and comparison_nodes is None:
        raise FormulaError(f"{text!r} compares nothing; say what is <, <=, > or >= what")
    if not claim and isinstance(tree, ast.Compare | ast.BoolOp):
        raise FormulaError(f"{text!r} compares, which only a claim does; a value is a number")
    for part in comparison_nodes if claim and comparison_nodes is not None else [tree]:
        for side in [part.left, part.comparators[0]] if isinstance(part, ast.Compare) else [part]:
            _check_node(side)
    return tree


def list_comparisons(tree: ast.expr) -> list[ast.Compare] | None:
    """List the comparisons of a claim; None if the formula is no claim."""
    parts = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]
    found = [
        part
        for part in parts
        if isinstance(part, ast.Compare)
        and len(part.ops) == 1
        and type(part.ops[0]) in COMPARISON_SIGNS
    ]
    return found if len(found) == len(parts) else None


def _check_node(node: ast.expr) -> None:
    """Refuse whatever is not of the language."""
    match node:
        case ast.Constant(value=int() | float() as value) if _is_number(value):
            return
        case ast.Name():
            return
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            _check_node(left)
            _check_node(right)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            _check_node(operand)
        case ast.List(elts=parts) if parts:
            for part in parts:
                _check_node(part)
        case ast.Subscript(value=value, slice=chosen) if _quoted_names(chosen):
            if not _is_column_expression(value):
                raise FormulaError(
                    f"{ast.unparse(node)!r} chooses rows of what is worked out; rows are chosen of "
                    f"columns, inside of it"
                )
            _check_node(value)
        case ast.Call(func=ast.Name(id=name), args=[only], keywords=[]) if (
            name in FORMULA_FUNCTIONS
        ):
            _check_node(only)
        case ast.Call(func=ast.Name(), args=[only], keywords=[]) if len(_quoted_names(only)) == 1:
            return
        case _:
            known = ", ".join(FORMULA_FUNCTIONS)
            raise FormulaError(
                f"{ast.unparse(node)!r} is not of the language of formulas: numbers, columns, "
                f'column["row"], column("table"), + - * /, and of one value each: {known}'
            )


def _is_column_expression(node: ast.expr) -> bool:
    """Whether this is a column, one of another table, or a list of such, which have rows."""
    match node:
        case ast.Name():
            return True
        case ast.List(elts=parts):
            return all(_is_column_expression(part) for part in parts)
        case ast.Call(func=ast.Name(id=name)):
            return name not in FORMULA_FUNCTIONS
        case _:
            return False


def is_difference(tree: ast.expr) -> bool:
    """Whether a formula is a difference of two values, or how far values lie apart."""
    match tree:
        case ast.BinOp(op=ast.Sub()):
            return True
        case ast.Call(func=ast.Name(id="steps" | "chance")):
            return True
        case ast.Call(func=ast.Name(id=name), args=[only]) if name in FORMULA_FUNCTIONS:
            return is_difference(only)
        case _:
            return False


def _is_number(value: float) -> bool:
    return type(value) is not bool and abs(value) < _MAX_NUMBER


def _quoted_names(node: ast.expr) -> list[str]:
    """Names in quotes; none if there is anything else."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    found = [part.value for part in parts if isinstance(part, ast.Constant)]
    texts = [text for text in found if isinstance(text, str)]
    return texts if len(texts) == len(parts) else []


def iterate_references(tree: ast.expr) -> Iterator[tuple[str | None, str, list[str]]]:
    """Yield the references of a formula: table, column, rows."""
    match tree:
        case ast.Subscript(value=value, slice=chosen):
            for table, column, _ in iterate_references(value):
                yield table, column, _quoted_names(chosen)
        case ast.Call(func=ast.Name(id=name), args=[only]) if name not in FORMULA_FUNCTIONS:
            yield _quoted_names(only)[0], name, []
        case ast.Call(args=[only]):
            yield from iterate_references(only)
        case ast.Name(id=name):
            yield None, name, []
        case _:
            for part in ast.iter_child_nodes(tree):
                if isinstance(part, ast.expr):
                    yield from iterate_references(part)


def order_by_dependency(formulas: Mapping[str, str]) -> list[str]:
    """Order the names of formulas, each after those that it refers to.

    formulas: Formulas of one table by name.
    Raises FormulaError: One refers to itself, perhaps through others.
    """
    dependencies = {
        name: {
            column
            for table, column, _ in iterate_references(parse_formula(text, claim=False))
            if not table
        }
        for name, text in formulas.items()
    }
    ordered: list[str] = []
    while dependencies:
        unknown = {to_identifier(name) for name in dependencies}
        ready = [name for name, referred in dependencies.items() if not referred & unknown]
        if not ready:
            raise FormulaError(f"{', '.join(dependencies)} are given by each other")
        ordered += ready
        for name in ready:
            del dependencies[name]
    return ordered


def evaluate_formula(tree: ast.expr, scope: FormulaScope) -> NamedValues:
    """Work out a formula."""
    match tree:
        case ast.Constant(value=number):
            return NamedValues(np.array([[float(number)]]))  # type: ignore[arg-type]
        case ast.UnaryOp(operand=operand):
            operand_values = evaluate_formula(operand, scope)
            return NamedValues(-operand_values.values, operand_values.names)
        case ast.BinOp(left=left, op=op, right=right):
            return _apply_paired(
                _OPERATORS[type(op)], evaluate_formula(left, scope), evaluate_formula(right, scope)
            )
        case ast.List(elts=parts):
            return _concatenate([evaluate_formula(part, scope) for part in parts])
        case ast.Subscript(value=selected, slice=chosen):
            return _select_rows(_resolve_columns(selected, scope), _quoted_names(chosen))
        case ast.Call(func=ast.Name(id=name), args=[only]) if name in FORMULA_FUNCTIONS:
            return FORMULA_FUNCTIONS[name](evaluate_formula(only, scope), scope)
        case _:
            return _select_rows(_resolve_columns(tree, scope))


def _resolve_columns(node: ast.expr, scope: FormulaScope) -> list[tuple[str, NamedValues]]:
    """Columns that a name, a call of one, or a list of such stands for, each with all its rows."""
    if isinstance(node, ast.List):
        return [each for part in node.elts for each in _resolve_columns(part, scope)]
    table: str | None = None
    if isinstance(node, ast.Call):
        table, node = _quoted_names(node.args[0])[0], node.func
    assert isinstance(node, ast.Name)
    names = scope.list_columns(table)
    if node.id == ROW_PARAMETER:
        return [
            (
                ROW_PARAMETER,
                NamedValues(
                    scope.get_row_parameters(table)[:, None], scope.get_cells(table, names[0]).names
                ),
            )
        ]
    selected_names = (
        names
        if node.id == EVERY_COLUMN
        else [name for name in names if to_identifier(name) == node.id]
    )
    return [(name, scope.get_cells(table, name)) for name in selected_names]


def _select_rows(
    columns: list[tuple[str, NamedValues]], rows: Sequence[str] | None = None
) -> NamedValues:
    """Rows of columns, with distinct names; all rows if none are named."""
    parts = []
    for column, cells in columns:
        names = list(cells.names) if rows is None else list(rows)
        values = cells.values[[cells.names.index(name) for name in names]]
        if len(columns) > 1:
            names = [column] if len(names) == 1 else [f"{column} {name}" for name in names]
        parts.append(NamedValues(values, tuple(names)))
    return _concatenate(parts)


def _concatenate(parts: list[NamedValues]) -> NamedValues:
    if len(parts) == 1:
        return parts[0]
    seeds = _count_common_seeds([part.values for part in parts])
    return NamedValues(
        np.concatenate([part.values[:, :seeds] for part in parts]),
        tuple(name for part in parts for name in part.names),
    )


def _count_common_seeds(parts: list[SeedValues]) -> int:
    """Count the seeds that all parts have, those with one left out."""
    return min((part.shape[1] for part in parts if part.shape[1] > 1), default=1)


def _apply_paired(
    operation: Callable[[SeedValues, SeedValues], SeedValues], left: NamedValues, right: NamedValues
) -> NamedValues:
    left_values, right_values = match_values(left, right)
    with np.errstate(divide="ignore", invalid="ignore"):
        result = operation(left_values, right_values)
    # A quotient with divisor 0 is not known.
    result[np.isinf(result)] = np.nan
    return NamedValues(result, left.names if len(left.values) > 1 else right.names)


def match_values(left: NamedValues, right: NamedValues) -> tuple[SeedValues, SeedValues]:
    """Pair the values of two operands, with the seeds that both have.

    Raises FormulaError: They are of different number.
    """
    sizes = {len(left.values), len(right.values)} - {1}
    if len(sizes) > 1:
        raise FormulaError(f"{len(left.values)} values cannot be paired with {len(right.values)}")
    seeds = _count_common_seeds([left.values, right.values])
    return left.values[:, :seeds], right.values[:, :seeds]


def _mean(cells: NamedValues, _: FormulaScope) -> NamedValues:
    return NamedValues(cells.values.mean(axis=0, keepdims=True))


def _slope(cells: NamedValues, scope: FormulaScope) -> NamedValues:
    """Least-squares slope over the rows."""
    parameters = scope.get_row_parameters(None)
    deviations = parameters - parameters.mean()
    return NamedValues((deviations @ cells.values / (deviations @ deviations))[None, :])


def _jackknife(statistic: Callable[[SeedValues], SeedValues], values: SeedValues) -> SeedValues:
    """A statistic of all seeds as one value a seed, whose mean it is, so that it has an interval.

    Their deviations are those of Tukey's pseudo-values n T - (n - 1) T_i, T_i being the statistic
    without seed i: the interval of their mean is the jackknife's (Efron, The Jackknife, the
    Bootstrap and Other Resampling Plans, 1982, chapter 3).
    """
    seeds = values.shape[1]
    of_all_seeds = statistic(values)
    if seeds == 1:
        return of_all_seeds
    without = np.concatenate(
        [statistic(np.delete(values, seed, axis=1)) for seed in range(seeds)], axis=1
    )
    deviations: SeedValues = (seeds - 1) * (without.mean(axis=1, keepdims=True) - without)
    return of_all_seeds + deviations


def _max_relative_deviation(cells: NamedValues, _: FormulaScope) -> NamedValues:
    """Greatest distance of a mean from the mean of all, as a share of it."""

    def statistic(values: SeedValues) -> SeedValues:
        means = values.mean(axis=1)
        return np.array([[np.abs(means / means.mean() - 1).max()]])

    return NamedValues(_jackknife(statistic, cells.values))


def _average(cells: NamedValues, _: FormulaScope) -> NamedValues:
    return NamedValues(cells.values.mean(axis=1, keepdims=True), cells.names)


def _prediction_half_width(cells: NamedValues, _: FormulaScope) -> NamedValues:
    """Compute half of the 95 % interval of one further run.

    It is t * s * sqrt(1 + 1/n), where that of the mean is t * s / sqrt(n); its own interval is
    that of s. It is not known of fewer than three seeds, of which s has none.
    """

    def deviation(values: SeedValues) -> SeedValues:
        found: SeedValues = values.std(axis=1, ddof=1, keepdims=True)
        return found

    seeds = cells.values.shape[1]
    if seeds < 3:
        return NamedValues(np.full((len(cells.values), 1), math.nan), cells.names)
    # An interval of the mean of 0, 1, ..., which has its factor t / sqrt(n) whatever the values.
    unit = mean_interval([float(seed) for seed in range(seeds)]).half_width
    assert unit is not None
    factor = unit * math.sqrt(seeds + 1) / float(np.arange(seeds).std(ddof=1))
    return NamedValues(factor * _jackknife(deviation, cells.values), cells.names)


def _steps(cells: NamedValues, _: FormulaScope) -> NamedValues:
    """List the increase of each row over the previous one."""
    return NamedValues(np.diff(cells.values, axis=0), cells.names[1:])


def _abs(cells: NamedValues, _: FormulaScope) -> NamedValues:
    return NamedValues(np.abs(cells.values), cells.names)


FORMULA_FUNCTIONS: dict[str, Callable[[NamedValues, FormulaScope], NamedValues]] = {
    "mean": _mean,
    "slope": _slope,
    "spread": _max_relative_deviation,
    "average": _average,
    "chance": _prediction_half_width,
    "steps": _steps,
    "abs": _abs,
}
