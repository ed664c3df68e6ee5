"""Linear and integer programs by HiGHS, through SciPy.

Source: Q. Huangfu, J. A. J. Hall, Parallelizing the Dual Revised Simplex Method, Math. Prog. Comp.
10, 2018.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_matrix

MAX_SIMPLEX_COLUMNS = 40_000  # Columns above which the interior point method is the faster.


def solve_linear_program(*, columns: int = 0, **program: Any) -> Any:
    """Solve a linear program given as to `scipy.optimize.linprog`; None if it is infeasible.

    ``columns`` decides the method: the simplex method up to `MAX_SIMPLEX_COLUMNS`.

    Raises ValueError: The solver did not end.
    """
    method: Any = "highs" if columns <= MAX_SIMPLEX_COLUMNS else "highs-ipm"
    solution: Any = linprog(method=method, **program)
    if solution.status == 2:
        return None
    if solution.x is None:
        raise ValueError(f"the linear program has no solution: {solution.message}")
    return solution


@dataclass(frozen=True, slots=True, eq=False)
class IntegerSolution:
    """A solution in whole numbers."""

    values: NDArray[np.int64] | None  # None: none was found within the limit.
    bound: float  # No solution costs less.


def solve_integer_program(
    cost: NDArray[np.float64],
    rows: NDArray[np.float64] | csr_matrix,
    least: NDArray[np.float64],
    most: NDArray[np.float64],
    *,
    max_nodes: int,
    is_integer: NDArray[np.bool_] | None = None,
) -> IntegerSolution | None:
    """Find whole numbers from 0 to ``most`` of least cost with ``rows @ values >= least``.

    ``is_integer`` marks the columns that must be whole, by default all; the others are rounded in
    what is returned. None if there are none. The search ends after ``max_nodes`` nodes,
    not after a time: the same input gives the same output.
    """
    constraints = [LinearConstraint(rows, least, np.inf)] if rows.shape[0] else []
    integrality = np.ones(len(cost)) if is_integer is None else is_integer
    with _standard_output_silenced():
        solution: Any = milp(
            cost,
            constraints=constraints,
            integrality=integrality.astype(np.int64),
            bounds=Bounds(0, most),
            options={"node_limit": max_nodes, "mip_rel_gap": 0.0},
        )
    if solution.status == 2:
        return None
    bound = -np.inf if solution.mip_dual_bound is None else float(solution.mip_dual_bound)
    values = None if solution.x is None else np.rint(solution.x).astype(np.int64)
    return IntegerSolution(values, bound)


@contextmanager
def _standard_output_silenced() -> Iterator[None]:
    """HiGHS 1.12 prints a line of its own to the standard output of the process now and then."""
    try:
        sys.stdout.flush()
        kept = os.dup(1)
    except OSError:
        yield
        return
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(sink)
