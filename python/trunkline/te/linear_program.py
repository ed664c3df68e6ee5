"""Linear programs by HiGHS, through SciPy.

Source: Q. Huangfu, J. A. J. Hall, Parallelizing the Dual Revised Simplex Method, Math. Prog. Comp.
10, 2018.
"""

from typing import Any

from scipy.optimize import linprog

MAX_SIMPLEX_COLUMNS = 40_000
"""Columns above which the interior point method is the faster."""


def solve_linear_program(columns: int, **program: Any) -> Any:
    """Solve a linear program given as to `scipy.optimize.linprog`; None if it is infeasible.

    The number of columns decides the method.

    Raises
    ------
    ValueError
        The solver did not end.
    """
    method: Any = "highs" if columns <= MAX_SIMPLEX_COLUMNS else "highs-ipm"
    solution: Any = linprog(method=method, **program)
    if solution.status == 2:
        return None
    if solution.x is None:
        raise ValueError(f"the linear program has no solution: {solution.message}")
    return solution
